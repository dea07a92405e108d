/* SPDX-License-Identifier: BSD-3-Clause */
/* With POINTS some flushes are more than version points: what was flushed becomes a
 * version, closed where it is, that leaders protect and publish as any. The file stays
 * open, and goes on as the next one (doc/life.txt, 4). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "conf/rules.h"
#include "process/files_open_in.h"

bool vel_file_ends_version(struct vel_file *file)
{
    struct vel_file_points *points = &file->points;
    struct vel_rule_fit fit;

    if (!points->knows_rule)
        points->every =
            vel_rules_find(vel_files_conf(), vel_files_prefix(), file->path, &fit)
                ? fit.rule->points
                : 0;
    points->knows_rule = true;
    return points->every > 0 && points->flushes % points->every == 0;
}

static int find_next(const struct vel_file *file, struct vel_client *client,
                     struct vel_place *ret, struct vel_err *err)
{
    struct vel_place next = {0};
    int rc = vel_client_file_create(client, VEL_CREATE_NEW, file->path, &next, err);

    if (rc == 0 && next.where == 1) {
        *ret = next;
        return 0;
    }
    if (rc == 0)
        rc = vel_fail(err, VEL_EUNSUP, "its next version has no place in the cache: %s",
                      next.why);
    vel_place_fini(&next);
    return rc;
}

/* It is at a point. */
static int part(struct vel_file *file, struct vel_client *client, struct vel_err *err)
{
    struct vel_place next = {0};
    struct vel_err why = {0};
    int64_t whole = 0;
    int rc = vel_point_copy(file->points.point, err);

    if (rc == 0)
        rc = find_next(file, client, &next, err);
    if (rc < 0)
        return rc;
    rc = vel_point_part(file->points.point, next.path, err);
    if (rc < 0) {
        vel_client_file_close(client, next.file, VEL_CLOSE_GIVEN_UP, 0, NULL, NULL);
        vel_place_fini(&next);
        return rc;
    }
    if (vel_file_complete(file, client, &whole, &why) < 0)
        vel_log(VEL_LOG_WARN, "%s: version point %" PRId64 " is lost: %s", file->path,
                file->points.flushes, why.text);
    vel_file_end_points(file);
    free(file->place);
    file->place = next.path;
    file->handle = next.file;
    next.path = NULL;
    vel_place_fini(&next);
    if (vel_files_wait_for(client, file->path, whole, &why) < 0)
        vel_log(VEL_LOG_WARN, "%s", why.text);
    return 0;
}

/* The others are a version ahead of who could not: what it closes would be of another
 * time than what they close. */
void vel_file_end_version(struct vel_file *file, vel_file_head_f *head)
{
    struct vel_client *client = vel_files_client();
    struct vel_err why = {0};
    int rc = VEL_ESTATE;

    if (!client)
        return; /* when it is closed it comes to its own path */
    if (vel_file_point(file, head))
        rc = part(file, client, &why);
    if (rc == 0)
        return;
    file->is_astray = true;
    vel_log(
        VEL_LOG_WARN,
        "%s: version point %" PRId64
        " was not kept: %s; from here on the file is not protected, and comes to its "
        "own path when it is closed",
        file->path, file->points.flushes,
        *why.text ? why.text : "its leader does not answer");
}
