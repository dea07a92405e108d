/* SPDX-License-Identifier: BSD-3-Clause */
/* MTBF_FILE: who predicts failures tells them to a program that runs. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/file.h"
#include "engine/rate_watch.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_manual_clock hands;
static struct vel_rate_watch watch;
static const char *path;
static int warnings;
static char last[1000];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg;
    warnings += level <= VEL_LOG_WARN;
    snprintf(last, sizeof last, "%.*s", (int)len, line);
}

/* A job of 100 nodes with 7 switches. */
static size_t groups(void *arg, const char *group)
{
    (void)arg;
    return strcmp(group, "NODE") == 0 ? 100 : strcmp(group, "SWITCH") == 0 ? 7 : 1;
}

static bool is_rate(double wanted)
{
    double is;

    vel_manual_clock_advance(&hands, 2 * VEL_CLOCK_S);
    is = vel_rate_watch_look(&watch, groups, NULL);
    note("%.9g", is);
    return fabs(is - wanted) <= wanted * 1e-9;
}

/* What is written is no good: one warning with these words, and the rate stays. */
static void refused(const char *text, const char *words)
{
    int before = warnings;

    tap_put_file(path, text);
    ok(is_rate(0.5) && is_rate(0.5) && warnings == before + 1 && strstr(last, words),
       "of what is no good one warning tells, and what was told stays: %s", last);
    tap_put_file(path, "GROUPS=WORLD MTBF=2s\n");
    ok(is_rate(0.5) && warnings == before + 1, "until it is good again");
}

int main(void)
{
    static const char lines[] = "GROUPS=h1 SWITCH=0\nGROUPS=h2 SWITCH=1\n";
    const struct vel_log_sink sink = {.level = VEL_LOG_INFO, .write = hear};
    struct vel_conf *conf;
    struct vel_err err = {0};

    path = tap_path("predicted");
    if (vel_conf_create(&conf, &err) < 0 ||
        vel_conf_parse(conf, VEL_LAYER_USER, "conf", lines, strlen(lines), NULL, NULL,
                       &err) < 0)
        bail_out("%s", err.text);
    vel_manual_clock_init(&hands, 5 * VEL_CLOCK_S, 0);
    vel_log_open(&sink);
    vel_rate_watch_init(&watch, vel_fs_posix(), &hands.clock, conf);
    ok(is_rate(0), "without MTBF_FILE nothing is told");
    if (vel_conf_set_by_program(conf, "MTBF_FILE", path, &err) < 0)
        bail_out("%s", err.text);
    ok(is_rate(0) && warnings == 0, "nor as long as it is not there");
    tap_put_file(path, "# all of it\nGROUPS=NODE MTBF=1000\nGROUPS=SWITCH MTBF=700s\n");
    ok(is_rate(100 / 1e3 + 7 / 7e2), "then its rates count for all groups of the job");
    ok(strstr(last, "every 9.09 s") && strstr(last, path), "which is told: %s", last);
    tap_put_file(path, "GROUPS=WORLD MTBF=2s\n");
    ok(vel_rate_watch_look(&watch, groups, NULL) < 0.2 && is_rate(0.5),
       "what changes is seen after a second");
    refused("GROUPS=WORLD MTBF=soon\n", "MTBF=soon");
    refused("GROUPS=SWICH MTBF=2s\n", "did you mean SWITCH?");
    refused("GROUPS=h1 SWITCH=0\n", "tells no MTBF");
    refused("STORE=/ssd MTBF=2s\n", "tells no MTBF");
    refused("FLUSH=0\n", "FLUSH cannot be changed here");
    tap_put_file(path, "# nothing\n");
    ok(is_rate(0), "where it says nothing the settings count");
    unlink(path);
    ok(is_rate(0), "as where it goes");
    vel_log_open(NULL);
    vel_conf_destroy(conf);
    vel_manual_clock_fini(&hands);
    return done_testing();
}
