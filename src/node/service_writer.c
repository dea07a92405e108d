/* SPDX-License-Identifier: BSD-3-Clause */
/* Record "writer": which launch writes files of all its ranks under names that differ
 * in rank and step alone, claims writer.H.K (doc/life.txt, 2, Two programs).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/rules.h"
#include "ident/once.h"
#include "node/service_in.h"
#include "view/seals.h"

enum { FORMAT = 1, ROUNDS = 64 };

static const char type[] = "writer";

/* --- which launch --- */

/* Of a launch that has no end yet: does anybody live who could write? Whom this
 * machine's locks do not show lives, until a view has found out. */
static bool is_dead(struct vel_service *service, const char *launch)
{
    const struct vel_role_here here = vel_service_locks(service);
    char *dir = vel_launch_dir(service->dir, launch);
    struct vel_vec nodes, left = {0};
    bool is = false;

    if (dir && vel_endpoint_list(service->fs, dir, &nodes, NULL) == 0) {
        is = nodes.n > 0;
        for (size_t i = 0; is && i < nodes.n; i++) {
            enum vel_role_life life =
                vel_role_ask(&here, launch, vel_vec_at(&nodes, i));

            is = life == VEL_ROLE_DEAD || life == VEL_ROLE_LED;
        }
        if (nodes.n == 0 &&
            vel_endpoint_list_left(service->fs, dir, &left, NULL) == 0) {
            is = left.n > 0;
            vel_endpoint_list_fini(&left);
        }
        vel_endpoint_list_fini(&nodes);
    }
    free(dir);
    return is;
}

/* 0: it is ours, or over. */
static int check(struct vel_service *service, const struct vel_node *record,
                 const char *shape, bool *ret_is_ours, struct vel_err *err)
{
    const char *launch, *node;
    int64_t process;
    bool is_over = false;
    int rc = vel_node_get_text(record, "launch", &launch, err);

    if (rc == 0)
        rc = vel_node_get_text(record, "node", &node, err);
    if (rc == 0)
        rc = vel_node_get_int(record, "process", 0, INT64_MAX, &process, err);
    if (rc == 0 && !vel_launch_is_name(launch))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a launch", launch);
    if (rc < 0)
        return rc;
    *ret_is_ours = strcmp(launch, service->launch) == 0;
    if (*ret_is_ours)
        return 0;
    rc = vel_service_is_launch_over(service, launch, &is_over, err);
    if (rc < 0 || is_over || is_dead(service, launch))
        return rc;
    return vel_fail(err, VEL_EBUSY,
                    "another program that runs writes %s (process %" PRId64
                    " of %s, launch %s): wait for its end, or give this one another "
                    "directory, or other names",
                    shape, process, node, launch);
}

/* --- claims --- */

/* VEL_EEXIST: another was faster, look again. */
static int claim(struct vel_service *service, const char *name, int64_t above,
                 struct vel_err *err)
{
    struct vel_node *record = vel_node_object();
    int64_t k;
    int rc = !record || vel_node_set_text(record, "launch", service->launch) ||
                     vel_node_set_text(record, "node", service->host.node) ||
                     vel_node_set_int(record, "process", getpid())
                 ? vel_out_of_memory(err, "a claim")
                 : vel_claim(service->fs, service->dir, name, above, type, FORMAT,
                             record, &k, err);

    vel_node_destroy(record);
    return rc;
}

/* One look at the highest claim; VEL_EEXIST: again. */
static int look(struct vel_service *service, const char *name, const char *shape,
                struct vel_err *err)
{
    struct vel_node *record = NULL;
    bool is_ours = false;
    int64_t k;
    int rc = vel_claim_newest(service->fs, service->dir, name, &k, err);

    if (rc == 0 && k > 0) {
        rc = vel_claim_load(service->fs, service->dir, name, k, type, FORMAT, &record,
                            err);
        if (rc == 0)
            rc = check(service, record, shape, &is_ours, err);
        vel_node_destroy(record);
    }
    if (rc == VEL_ENOENT || rc == VEL_ECORRUPT) /* it was swept, or tells nothing */
        rc = rc == VEL_ENOENT ? VEL_EEXIST : 0;
    return rc == 0 && !is_ours ? claim(service, name, k, err) : rc;
}

static bool is_written(const struct vel_service *service, const char *shape)
{
    for (size_t i = 0; i < service->written.n; i++)
        if (strcmp(*(char **)vel_vec_at(&service->written, i), shape) == 0)
            return true;
    return false;
}

static int take(struct vel_service *service, const char *shape, struct vel_err *err)
{
    char name[32], *copy;
    int rc = VEL_EEXIST;

    snprintf(name, sizeof name, "%s.%016" PRIx64, type, vel_seals_hash(shape, ""));
    for (int i = 0; rc == VEL_EEXIST && i < ROUNDS; i++)
        rc = look(service, name, shape, err);
    copy = rc == 0 ? strdup(shape) : NULL;
    if (copy && !vel_vec_push(&service->written, &copy))
        free(copy);
    return rc;
}

int vel_service_writer(void *arg, const char *name, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_buf shape;
    int rc = 0;

    vel_buf_init(&shape);
    if (service->ranks > 1 &&
        vel_rules_shape(service->conf, service->prefix, name, &shape))
        rc = vel_buf_status(&shape, err);
    if (rc == 0 && shape.len > 0 && !is_written(service, vel_buf_text(&shape)))
        rc = take(service, vel_buf_text(&shape), err);
    vel_buf_fini(&shape);
    return rc;
}
