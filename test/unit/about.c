/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leader is told of its launch: by all processes of the node at once, who need
 * not know of each other. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/lines.h"
#include "conf/shared.h"
#include "node/about.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { PROCESSES = 8, ROUNDS = 25 };

static struct vel_host host;
static struct vel_conf *conf;
static char base[2048];

static struct vel_role *open_role(const char *launch)
{
    struct vel_role *role = NULL;
    struct vel_err err = {0};

    if (vel_role_open(vel_fs_posix(), &host, base, launch, &role, &err) < 0)
        bail_out("%s", err.text);
    return role;
}

static int save(const char *launch, const char *endpoint)
{
    char home[] = "/cache/user/id", *homes[] = {home};
    const struct vel_service_of of = {.fs = vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .host = &host,
                                      .conf = conf,
                                      .launch = launch,
                                      .prefix = "/prefix",
                                      .dir = "/prefix/.veloc",
                                      .prefix_id = "id",
                                      .named = "",
                                      .who = "rank 1 on n",
                                      .homes = homes,
                                      .n_homes = 1};
    struct vel_err err = {0};
    int rc = vel_about_save(&of, endpoint, &err);

    if (rc < 0)
        note("%s", err.text);
    return rc;
}

/* How many of them failed. All wait for the same end of a pipe, and begin together. */
static int save_at_once(const char *launch, const char *endpoint)
{
    int ends[2], failed = 0, status;
    char byte;

    if (pipe(ends) < 0)
        bail_out("no pipe");
    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();

        if (pid < 0)
            bail_out("no process");
        if (pid == 0) {
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) != 0 || save(launch, endpoint) < 0);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < PROCESSES; i++)
        failed += wait(&status) < 0 || status != 0;
    return failed;
}

/* As the program has them, byte by byte; and a key that was left open is so still. */
static bool has_lines(const struct vel_conf *told)
{
    const struct vel_line *level = vel_conf_line(told, VEL_CKPT, 0),
                          *rule = vel_conf_line(told, VEL_DATASET, 0),
                          *groups = vel_conf_line(told, VEL_GROUPS, 0);
    const struct vel_group_pair *group;

    if (told->lines.n != 3 || !level || !rule || !groups)
        return false;
    group = vel_vec_at(&((struct vel_groups_line *)groups->data)->pairs, 0);
    return ((struct vel_ckpt *)level->data)->type == VEL_CKPT_SINGLE &&
           !vel_conf_gives(level, "SET_SIZE") && strcmp(rule->name, "#1") == 0 &&
           strcmp(((struct vel_dataset_rule *)rule->data)->pattern,
                  "a b=$c\\d\n\t{step}.h5") == 0 &&
           strcmp(group->name, "SWITCH") == 0 && strcmp(group->value, "s1") == 0;
}

/* Who reads it does not take it for other settings. */
static bool means_the_same(const struct vel_about *about)
{
    struct vel_buf there, here;
    bool is;

    vel_buf_init(&there);
    vel_buf_init(&here);
    is = !vel_conf_differ(about->conf, conf, &there, &here);
    vel_buf_fini(&there);
    vel_buf_fini(&here);
    return is;
}

static bool is_told(const char *endpoint, const char *launch)
{
    struct vel_about about;
    struct vel_err err = {0};
    char dir[2200];
    bool is;

    snprintf(dir, sizeof dir, "%.*s", (int)(strlen(endpoint) - strlen("unix:/s")),
             endpoint + strlen("unix:"));
    if (vel_about_load(vel_fs_posix(), dir, &about, &err) < 0) {
        note("%s", err.text);
        return false;
    }
    is = strcmp(about.launch, launch) == 0 && strcmp(about.prefix, "/prefix") == 0 &&
         about.n_homes == 1 && strcmp(about.homes[0], "/cache/user/id") == 0 &&
         about.conf->flush == 3 && has_lines(about.conf) && means_the_same(&about) &&
         about.who && strcmp(about.who, "rank 1 on n") == 0;
    vel_about_fini(&about);
    return is;
}

static const char lines[] = "CKPT=0 TYPE=SINGLE\n"
                            "DATASET=\\#1 PATTERN=a\\ b\\=\\$c\\\\d\\n\\t{step}.h5\n"
                            "GROUPS=h1 SWITCH=s1\n";

int main(void)
{
    struct vel_err err = {0};
    int failed = 0, wrong = 0, left = 0;

    snprintf(base, sizeof base, "%s", tap_path("cntl"));
    if (vel_host_init(&host, &err) < 0 || vel_conf_create(&conf, &err) < 0 ||
        vel_conf_set_by_program(conf, "FLUSH", "3", &err) < 0 ||
        vel_conf_set_by_program(conf, "SEAL_AFTER", "1.25m", &err) < 0 ||
        vel_conf_set_by_program(conf, "MODE", "SYNC", &err) < 0 ||
        vel_conf_lines_take(conf, "lines", lines, &err) < 0)
        bail_out("%s", err.text);
    tap_fresh_dir(base);
    for (int i = 0; i < ROUNDS; i++) {
        char launch[16];

        snprintf(launch, sizeof launch, "L%d", i);
        struct vel_role *role = open_role(launch);
        failed += save_at_once(launch, vel_role_endpoint(role));
        wrong += !is_told(vel_role_endpoint(role), launch);
        vel_role_close(role);
        left += vel_role_remove(vel_fs_posix(), &host, base, launch, &err) < 0 ||
                vel_role_is_alive(vel_fs_posix(), &host, base, launch);
    }
    is_int(failed, 0, "many processes tell of a launch at once");
    is_int(wrong, 0, "and what they tell is there, whole");
    is_int(left, 0, "and goes with the launch");
    vel_conf_destroy(conf);
    vel_host_fini(&host);
    return done_testing();
}
