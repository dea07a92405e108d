/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "conf/file.h"
#include "engine/rate_watch.h"

enum { MOST = 64 << 10 }; /* bytes of the file */

void vel_rate_watch_init(struct vel_rate_watch *watch, struct vel_fs *fs,
                         struct vel_clock *clock, const struct vel_conf *conf)
{
    *watch = (struct vel_rate_watch){.fs = fs, .clock = clock, .conf = conf};
}

/* Only how often the job's groups fail can change while it runs. */
static int check_told(const struct vel_rate_watch *watch, const struct vel_conf *told,
                      struct vel_err *err)
{
    const char *path = watch->conf->mtbf_file;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_schema_count(); i++)
        if (told->sources[i].layer != VEL_LAYER_DEFAULT)
            rc = vel_fail(err, VEL_ECONFIG,
                          "%s:%d: %s cannot be changed here: write lines such as "
                          "GROUPS=NODE MTBF=2000h",
                          path, told->sources[i].line, vel_schema_setting(i)->key);
    for (size_t i = 0; rc == 0 && i < told->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&told->lines, i);

        if (line->parent != VEL_GROUPS || !vel_conf_gives(line, "MTBF"))
            rc = vel_fail(err, VEL_ECONFIG,
                          "%s:%d: %s=%s tells no MTBF: write lines such as "
                          "GROUPS=NODE MTBF=2000h",
                          path, line->source.line, vel_schema_parent(line->parent).key,
                          line->name);
        else if ((rc = vel_conf_check_group(watch->conf, line, line->name, err)) < 0)
            rc = vel_wrap(err, rc, "%s:%d", path, line->source.line);
    }
    return rc;
}

static int parse(const struct vel_rate_watch *watch, const struct vel_buf *text,
                 vel_policy_groups_f *groups, void *arg, double *ret_rate,
                 struct vel_err *err)
{
    struct vel_conf *told;
    int rc = vel_conf_create(&told, err);

    if (rc < 0)
        return rc;
    rc = vel_conf_parse(told, VEL_LAYER_USER, watch->conf->mtbf_file, text->data,
                        text->len, NULL, NULL, err);
    if (rc == 0)
        rc = check_told(watch, told, err);
    if (rc == 0)
        *ret_rate = vel_policy_failure_rate(told, groups, arg);
    vel_conf_destroy(told);
    return rc;
}

/* *ret_rate is 0 where there is no file. */
static int read_rate(const struct vel_rate_watch *watch, vel_policy_groups_f *groups,
                     void *arg, double *ret_rate, struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    rc = vel_fs_read_file(watch->fs, watch->conf->mtbf_file, MOST, &text, err);
    if (rc == 0)
        rc = parse(watch, &text, groups, arg, ret_rate, err);
    else if (rc == VEL_ENOENT)
        *ret_rate = rc = 0;
    vel_buf_fini(&text);
    return rc;
}

static void tell_change(const struct vel_rate_watch *watch, double rate)
{
    if (rate == watch->rate)
        return;
    if (rate > 0)
        vel_log(VEL_LOG_INFO, "a failure is expected every %.3g s, as %s says",
                1 / rate, watch->conf->mtbf_file);
    else
        vel_log(VEL_LOG_INFO,
                "%s says nothing of failures any more: those of the settings count",
                watch->conf->mtbf_file);
}

double vel_rate_watch_look(struct vel_rate_watch *watch, vel_policy_groups_f *groups,
                           void *arg)
{
    struct vel_err err = {0};
    double rate = 0;
    int rc;

    if (!watch->conf->mtbf_file || vel_clock_monotonic(watch->clock) < watch->next)
        return watch->rate;
    rc = read_rate(watch, groups, arg, &rate, &err);
    if (rc < 0 && !watch->is_told)
        vel_log(VEL_LOG_WARN, "%s; the failure rate that is known stays in force",
                err.text);
    watch->is_told = rc < 0;
    if (rc == 0) {
        tell_change(watch, rate);
        watch->rate = rate;
    }
    watch->next = vel_clock_deadline(watch->clock, VEL_CLOCK_S);
    return watch->rate;
}
