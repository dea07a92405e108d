/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims of meetings, and of names that a launch writes (doc/protocol.txt, 2;
 * doc/life.txt, 2), of which only the highest is looked at. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/sweep_in.h"
#include "meta/launch.h"
#include "meta/paths.h"
#include "record/record.h"

enum { FORMAT = 1 };

static const char meet[] = "meet", writer[] = "writer";

/* The type of the record; NULL: it is no claim. */
static const char *type_of(const char *name)
{
    const char *const types[] = {meet, writer};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strncmp(name, types[i], strlen(types[i])) == 0 &&
            name[strlen(types[i])] == '.')
            return types[i];
    return NULL;
}

/* ".K" of "meet.H.K"; NULL: it is no claim. */
static const char *number_of(const char *name)
{
    const char *type = type_of(name);

    return type ? strchr(name + strlen(type) + 1, '.') : NULL;
}

bool vel_sweep_is_claim(const char *name)
{
    int64_t k;

    return number_of(name) && vel_number_behind(number_of(name), ".", &k);
}

static bool is_past(const struct vel_vec *names, const char *name)
{
    const char *dot = number_of(name);
    size_t len = (size_t)(dot - name) + 1;
    int64_t k, other;

    if (!vel_number_behind(dot, ".", &k))
        return false;
    for (size_t i = 0; i < names->n; i++) {
        const char *that = *(char **)vel_vec_at(names, i);

        if (strncmp(that, name, len) == 0 &&
            vel_number_behind(that + len - 1, ".", &other) && other > k)
            return true;
    }
    return false;
}

/* Launchers give names that never come again: each would leave its last claim. One of a
 * program without a name stays for its next launch. */
static bool is_over(const struct vel_sweeping *s, const char *name, const char *path)
{
    const char *type = type_of(name);
    struct vel_node *record = NULL;
    const char *launch;
    char *dir = NULL;
    int version;

    if (vel_record_load(s->of->fs, path, type, FORMAT, &version, &record, NULL) == 0 &&
        (type == writer || vel_node_has(record, "name")) &&
        vel_node_get_text(record, "launch", &launch, NULL) == 0 &&
        vel_launch_is_name(launch))
        dir = vel_launch_dir(s->of->dir, launch);
    bool is = vel_sweep_is_absent(s, dir);
    free(dir);
    vel_node_destroy(record);
    return is;
}

int vel_sweep_claim(struct vel_sweeping *s, const char *name, const char *path,
                    struct vel_err *err)
{
    int rc;

    if (!is_past(&s->names, name) && !is_over(s, name, path))
        return 0;
    rc = vel_fs_unlink(s->of->fs, path, err);
    s->ret.meetings += rc == 0;
    return rc;
}
