/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of launches: where leaders listen, which launches there are, and what they
 * have left (doc/protocol.txt, 3, 4 and 10). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/endpoint.h"
#include "meta/index.h"
#include "meta/paths.h"
#include "node/about.h"
#include "node/service_in.h"
#include "view/seals.h"

/* --- this launch --- */

/* Agents of nodes without a process: that they can help is no condition. */
static void tell_about(struct vel_service *service)
{
    const struct vel_service_of of = {.fs = service->fs,
                                      .host = &service->host,
                                      .conf = service->conf,
                                      .launch = service->launch,
                                      .prefix = service->prefix,
                                      .dir = service->dir,
                                      .prefix_id = service->prefix_id,
                                      .named = service->named,
                                      .ranks = service->ranks,
                                      .homes = service->homes,
                                      .n_homes = service->n_homes};
    struct vel_err why = {0};

    if (service->has_told_about)
        return;
    service->has_told_about = true;
    if (vel_about_share(&of, service->launch_dir, &why) < 0)
        vel_log(VEL_LOG_DEBUG, "agents on nodes without a process cannot help: %s",
                why.text);
}

int vel_service_endpoint(void *arg, const char *present, struct vel_err *err)
{
    struct vel_service *service = arg;
    int rc = vel_endpoint_add_ranks(&service->endpoint, present, err);

    if (rc == 0 && service->endpoint.epoch == 0)
        rc = vel_endpoint_inherit(service->fs, service->launch_dir, &service->endpoint,
                                  err);
    if (rc < 0)
        return rc;
    rc = vel_endpoint_save(service->fs, service->launch_dir, &service->endpoint, err);
    if (rc < 0)
        return rc;
    vel_links_set_epoch(service->links, service->endpoint.epoch);
    tell_about(service);
    return 0;
}

int64_t vel_service_epoch(void *arg)
{
    return (int64_t)((struct vel_service *)arg)->endpoint.epoch;
}

int vel_service_beat(void *arg, int64_t count, const char *living, bool is_new,
                     struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_beat beat = {count, (char *)living, is_new};

    /* what is published others see at the latest now, wherever they are */
    vel_index_sync(service->index);
    return vel_beat_save(service->fs, service->launch_dir, &beat, err);
}

/* --- other launches --- */

/* Of launches that have a directory here, char *. */
static int list_others(struct vel_service *service, struct vel_vec *ret,
                       struct vel_err *err)
{
    int rc = vel_launch_list(service->fs, service->dir, ret, err);

    for (size_t i = ret->n; rc == 0 && i-- > 0;)
        if (strcmp(*(char **)vel_vec_at(ret, i), service->launch) == 0) {
            free(*(char **)vel_vec_at(ret, i));
            vel_vec_remove(ret, i);
        }
    return rc;
}

/* Has a leader of that launch been on this node, and is nobody of it there any more? A
 * launch has a directory before it has processes that are known here: one without a
 * leader of ours may have just begun. */
static bool is_over_here(struct vel_service *service, const char *launch)
{
    struct vel_endpoint endpoint;
    char *dir = vel_launch_dir(service->dir, launch);
    int rc =
        dir ? vel_endpoint_load(service->fs, dir, service->host.node, &endpoint, NULL)
            : VEL_ENOMEM;

    if (rc == 0)
        vel_endpoint_fini(&endpoint);
    free(dir);
    return rc != VEL_ENOENT && rc != VEL_ENOMEM &&
           !vel_role_is_alive(service->fs, &service->host, service->conf->cntl_base,
                              launch);
}

int vel_service_over(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_vec launches;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = list_others(service, &launches, err);
    for (size_t i = 0; rc == 0 && i < launches.n; i++) {
        const char *launch = *(char **)vel_vec_at(&launches, i);

        if (is_over_here(service, launch))
            vel_buf_printf(ret, "%s%s", ret->len ? " " : "", launch);
    }
    vel_fs_names_fini(&launches);
    return rc < 0 ? rc : vel_buf_status(ret, err);
}

static int is_left(struct vel_service *service, const char *dir, bool *ret_is,
                   struct vel_err *err)
{
    struct vel_vec left;
    int rc = vel_endpoint_list_left(service->fs, dir, &left, err);

    if (rc < 0)
        return rc;
    *ret_is = left.n > 0;
    vel_endpoint_list_fini(&left);
    return 0;
}

static int describe(struct vel_service *service, char *launch,
                    struct vel_leader_other *ret, struct vel_err *err)
{
    char *dir = vel_launch_dir(service->dir, launch);
    struct vel_beat beat = {0};
    struct vel_vec nodes;
    struct vel_buf text;
    int rc;

    vel_vec_init(&nodes, sizeof(struct vel_endpoint));
    vel_buf_init(&text);
    rc = dir ? vel_endpoint_list(service->fs, dir, &nodes, err)
             : vel_out_of_memory(err, "a path");
    if (rc == 0 && nodes.n == 0)
        rc = is_left(service, dir, &ret->is_left, err);
    if (rc == 0)
        rc = vel_beat_load(service->fs, dir, &beat, err);
    ret->beat = beat.count;
    ret->living = beat.living;
    ret->is_new = beat.is_new;
    for (size_t i = 0; i < nodes.n; i++)
        vel_buf_printf(&text, "%s%s", i ? " " : "",
                       ((struct vel_endpoint *)vel_vec_at(&nodes, i))->node);
    vel_buf_puts(&text, "");
    if (rc == 0)
        rc = vel_buf_status(&text, err);
    ret->nodes = strdup(vel_buf_text(&text));
    ret->launch = strdup(launch);
    if (rc == 0 && (!ret->nodes || !ret->launch))
        rc = vel_out_of_memory(err, "launches");
    vel_buf_fini(&text);
    vel_endpoint_list_fini(&nodes);
    free(dir);
    return rc;
}

int vel_service_others(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_vec launches;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = list_others(service, &launches, err);
    for (size_t i = 0; rc == 0 && i < launches.n; i++) {
        struct vel_leader_other other = {0};
        bool over = false;

        /* one that cannot be read now may live, and keeps nobody waiting */
        int known = vel_service_is_launch_over(
            service, *(char **)vel_vec_at(&launches, i), &over, NULL);
        if ((known < 0 && known != VEL_EBUSY) || over)
            continue;
        rc = describe(service, *(char **)vel_vec_at(&launches, i), &other, err);
        if (rc < 0 || !vel_vec_push(ret, &other)) {
            free(other.launch);
            free(other.nodes);
            free(other.living);
            rc = rc < 0 ? rc : vel_out_of_memory(err, "launches");
        }
    }
    vel_fs_names_fini(&launches);
    return rc;
}

/* --- what earlier launches have left --- */

static int list_some(struct vel_service *service, bool are_over, struct vel_vec *ret,
                     struct vel_err *err)
{
    struct vel_vec launches;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = list_others(service, &launches, err);
    for (size_t i = 0; rc == 0 && i < launches.n; i++) {
        char **launch = vel_vec_at(&launches, i);
        bool over = false;

        rc = vel_service_is_launch_over(service, *launch, &over, err);
        if (rc == VEL_EBUSY) { /* somebody is just at it, or has died there */
            rc = vel_service_end_other(service, *launch, err);
            over = rc == 0;
        }
        if (rc < 0 || over != are_over)
            continue;
        if (!vel_vec_push(ret, launch))
            rc = vel_out_of_memory(err, "launches");
        else
            *launch = NULL;
    }
    vel_fs_names_fini(&launches);
    return rc;
}

int vel_service_ended(struct vel_service *service, struct vel_vec *ret,
                      struct vel_err *err)
{
    return list_some(service, true, ret, err);
}

int vel_service_living(struct vel_service *service, struct vel_vec *ret,
                       struct vel_err *err)
{
    return list_some(service, false, ret, err);
}

/* Is there nothing to wait for: is the dataset on the prefix, or gone? Who evicts one
 * that is nowhere else says so. */
static bool is_settled(struct vel_service *service, int64_t id)
{
    char *dropped = vel_dropped_path(service->dir, id);
    bool settled = !dropped || vel_index_is_gone(service->index, id) ||
                   vel_fs_exists(service->fs, dropped);
    struct vel_index_where where;

    if (!settled && vel_index_where(service->index, id, &where, NULL) == 0)
        settled = where.place == VEL_ON_PREFIX || where.is_replaced;
    free(dropped);
    return settled;
}

/* Takes the seal. */
static int add_old_seal(struct vel_service *service, struct vel_seal *seal,
                        enum vel_verdict verdict, struct vel_vec *ret,
                        struct vel_err *err)
{
    if (seal->verdict != verdict || vel_seal_gives_way(seal) ||
        is_settled(service, seal->id)) {
        vel_seal_fini(seal);
        return 0;
    }
    if (vel_vec_push(ret, seal))
        return 0;
    vel_seal_fini(seal);
    return vel_out_of_memory(err, "seals");
}

/* What nobody can read seals nothing. */
static int add_old_seals(struct vel_service *service, const char *launch,
                         enum vel_verdict verdict, struct vel_vec *ret,
                         struct vel_err *err)
{
    struct vel_seals *seals;
    int rc = vel_seals_load_by(service->index, launch, &seals, err);

    if (rc == VEL_ENOENT || rc == VEL_ECORRUPT) /* it was removed meanwhile */
        return 0;
    for (size_t i = 0; rc == 0 && i < seals->items.n; i++) {
        struct vel_seal seal;

        rc = vel_seals_at(seals, i, &seal, err);
        if (rc == 0)
            rc = add_old_seal(service, &seal, verdict, ret, err);
        else if (rc == VEL_ECORRUPT)
            rc = 0;
    }
    vel_seals_destroy(seals);
    return rc;
}

int vel_service_old_seals(struct vel_service *service, enum vel_verdict verdict,
                          struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec launches;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = list_others(service, &launches, err);
    vel_index_stand_still(service->index);
    for (size_t i = 0; rc == 0 && i < launches.n; i++)
        rc = add_old_seals(service, *(char **)vel_vec_at(&launches, i), verdict, ret,
                           err);
    vel_index_go_on(service->index);
    vel_fs_names_fini(&launches);
    return rc;
}
