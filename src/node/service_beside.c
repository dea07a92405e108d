/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that others have, and that are to replace what stands at their names: other
 * nodes of this launch, launches that run beside it. Their leaders are asked for the
 * newest closed one, all at once; on this node it is read where it lies, from others it
 * is copied (doc/life.txt, 14, "Beside"). */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "node/service_bring_in.h"
#include "pull/pull_links.h"

enum { WHERE_MOST = VEL_PATH_MAX + 32 };

struct asking {
    struct vel_service *service;
    const char *name;   /* as programs call it */
    const char *launch; /* that is asked */
    enum vel_want_what what;
    struct vel_pull_source *source;
    struct vel_vec gets;           /* struct vel_get *: of each node */
    struct vel_service_found best; /* path NULL: nobody has it */
    bool has_silent, is_undecided;
    struct vel_err why; /* somebody says no, or nothing */
};

/* --- the giving side --- */

/* "ID PATH", of a file of this launch: those of others are told by views. */
static int tell(struct vel_service *service, const char *name, void *room,
                struct vel_msg *ret, struct vel_err *err)
{
    struct vel_service_place place = {0};
    int len, rc;

    /* of a program that was killed the next view tells what counts, alike on all nodes
     */
    if (vel_leader_has_lost(service->leader))
        return vel_fail(err, VEL_ENOENT, "a process that may have written %s is gone",
                        name);
    rc = vel_service_here(service, service->view, name, &place, err);

    if (rc < 0)
        return rc;
    if (place.dataset > 0 && place.dataset <= service->view->highest) {
        vel_service_place_fini(&place);
        return vel_fail(err, VEL_ENOENT, "the view tells of %s", name);
    }
    len = snprintf(room, WHERE_MOST, "%" PRId64 " %s",
                   place.dataset > 0 ? place.dataset : INT64_MAX, place.path);
    ret->u.give.size = place.size;
    vel_service_place_fini(&place);
    if (len >= WHERE_MOST)
        return vel_fail(err, VEL_EINVAL, "its path is too long");
    ret->u.give.bytes = (struct vel_msg_bytes){.at = room, .len = (uint32_t)len};
    ret->u.give.crc = vel_crc32c(0, room, (size_t)len);
    return 0;
}

void vel_service_tell_where(struct vel_service *service, const struct vel_msg *want,
                            void *room, struct vel_msg *ret)
{
    struct vel_err why = {0};
    int rc;

    *ret = (struct vel_msg){.kind = VEL_MSG_GIVE, .seq = want->seq};
    if (want->u.want.what == VEL_WANT_GIVEN)
        rc = vel_leader_give(service->leader, want->u.want.name, &why);
    else
        rc = want->u.want.len < WHERE_MOST
                 ? vel_fail(&why, VEL_EINVAL, "there is no room for the answer")
                 : tell(service, want->u.want.name, room, ret, &why);
    if (rc == 0)
        return;
    ret->kind = VEL_MSG_NO;
    ret->u.no.status = (uint64_t)-rc;
    ret->u.no.term = 0;
    ret->u.no.text = memcpy(room, why.text, sizeof why.text);
}

/* --- who has it? --- */

static struct vel_get *get_at(const struct asking *a, size_t i)
{
    return *(struct vel_get **)vel_vec_at(&a->gets, i);
}

static void forget_gets(struct asking *a)
{
    if (a->source)
        a->source->ops->drop(a->source);
    for (size_t i = 0; i < a->gets.n; i++) {
        free((char *)(uintptr_t)get_at(a, i)->node);
        free(get_at(a, i)->bytes);
        free(get_at(a, i));
    }
    a->gets.n = 0;
}

static int ask_node(struct asking *a, const char *node, struct vel_err *err)
{
    struct vel_get *get = calloc(1, sizeof *get);
    int rc;

    if (get) {
        get->node = strdup(node);
        get->bytes = malloc(WHERE_MOST);
        get->want =
            (struct vel_want){.what = a->what, .name = a->name, .len = WHERE_MOST};
        get->rc = 1;
    }
    if (!get || !get->node || !get->bytes || !vel_vec_push(&a->gets, &get)) {
        if (get) {
            free((char *)(uintptr_t)get->node);
            free(get->bytes);
        }
        free(get);
        return vel_out_of_memory(err, "a question");
    }
    rc = a->source->ops->begin(a->source, get, &get->err);
    get->rc = rc < 0 ? rc : get->rc;
    return 0;
}

/* It has answered: is that the newest? */
static void weigh(struct asking *a, const struct vel_get *get)
{
    struct vel_service_found found = {.size = get->size};
    char *text, *path;

    a->has_silent |= get->rc == VEL_ELOST;
    if (get->rc < 0 && !a->why.status)
        a->why = get->err;
    if (get->rc < 0 || !(text = calloc(1, get->got + 1)))
        return;
    memcpy(text, get->bytes, get->got);
    found.id = strtoll(text, &path, 10);
    a->is_undecided |= found.id == INT64_MAX && a->best.id == INT64_MAX;
    if (path != text && found.id > 0 && path[0] == ' ' && path[1] == '/' &&
        found.id > a->best.id) {
        found.node = strdup(get->node);
        found.path = strdup(path + 1);
        if (found.node && found.path) {
            free(a->best.node);
            free(a->best.path);
            a->best = found;
        } else {
            free(found.node);
            free(found.path);
        }
    }
    free(text);
}

static int ask_nodes(struct asking *a, const struct vel_vec *nodes, bool is_own,
                     struct vel_err *err)
{
    const char *here = a->service->host.node;
    size_t left = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nodes->n; i++) {
        const struct vel_endpoint *of = vel_vec_at(nodes, i);

        if (of->endpoints[0] && !(is_own && strcmp(of->node, here) == 0))
            rc = ask_node(a, of->node, err);
    }
    for (size_t i = 0; i < a->gets.n; i++)
        left += get_at(a, i)->rc > 0;
    for (; rc == 0 && left > 0; left--)
        a->source->ops->next(a->source);
    for (size_t i = 0; rc == 0 && i < a->gets.n; i++)
        weigh(a, get_at(a, i));
    forget_gets(a);
    return rc;
}

/* --- all of it --- */

static int ask_launch(struct asking *a, struct vel_err *err)
{
    struct vel_service *service = a->service;
    const struct vel_pull_links_of of = {.fs = service->fs,
                                         .clock = service->clock,
                                         .dir = service->dir,
                                         .launch = a->launch,
                                         .node = service->host.node,
                                         .limit_ms = service->limit_ms / 4};
    bool is_own = strcmp(a->launch, service->launch) == 0;
    char *dir = vel_launch_dir(service->dir, a->launch);
    struct vel_vec nodes;
    int rc = dir ? vel_endpoint_list(service->fs, dir, &nodes, err)
                 : vel_out_of_memory(err, "a launch");

    free(dir);
    if (rc < 0)
        return rc;
    if (nodes.n > (is_own ? 1 : 0))
        rc = vel_pull_links_create(&of, &a->source, err);
    if (rc == 0 && a->source)
        rc = ask_nodes(a, &nodes, is_own, err);
    vel_endpoint_list_fini(&nodes);
    return rc;
}

static int bring(struct asking *a, bool pulls, const struct vel_watch *watch,
                 struct vel_service_place *ret, struct vel_err *err)
{
    struct vel_service *service = a->service;
    struct vel_service_place place = {.where = VEL_AT_OTHERS, .size = a->best.size};
    struct stat st;
    int rc = 0;

    if (pulls && strcmp(a->best.node, service->host.node) == 0) {
        place.path = strdup(a->best.path);
        rc = place.path ? vel_fs_lstat(service->fs, place.path, &st, err)
                        : vel_out_of_memory(err, "a place");
    } else if (pulls) {
        rc = vel_service_copy(service, a->name, &a->best, a->source, watch, &place.path,
                              err);
    }
    if (rc < 0) {
        free(place.path);
        return rc == VEL_ENOENT || rc == VEL_ENOSPC
                   ? vel_fail(err, VEL_EBUSY, "%s cannot be read before it is flushed",
                              a->name)
                   : rc;
    }
    place.where = pulls ? VEL_AT_HERE : VEL_AT_OTHERS;
    *ret = place;
    return 0;
}

/* Who asked in vain of somebody who is silent does not ask for a while, so that those
 * who wait for workers are not kept by it. */
static bool is_deaf(struct vel_service *service, const struct asking *asked)
{
    uint64_t now = vel_clock_monotonic(service->clock);
    bool is;

    pthread_mutex_lock(&service->lock);
    if (asked && asked->has_silent && !asked->best.path)
        service->deaf_until = now + service->limit_ms * VEL_CLOCK_MS;
    is = now < service->deaf_until;
    pthread_mutex_unlock(&service->lock);
    return is;
}

int vel_service_beside(struct vel_service *service, const char *launch,
                       const char *name, int64_t than, enum vel_beside how,
                       const struct vel_watch *watch, struct vel_service_place *ret,
                       struct vel_err *err)
{
    struct asking a = {.service = service,
                       .name = name,
                       .launch = launch,
                       .what = VEL_WANT_WHERE,
                       .best.id = than};
    bool waits;
    int rc;

    vel_vec_init(&a.gets, sizeof(struct vel_get *));
    rc = is_deaf(service, NULL) ? 0 : ask_launch(&a, err);
    is_deaf(service, &a);
    if (rc == 0 && a.is_undecided)
        rc = vel_fail(err, VEL_EBUSY, "%s was closed on two nodes just now", name);
    else if (rc == 0 && !a.best.path)
        rc = vel_fail(err, VEL_ENOENT, "nobody of launch %s has %s", launch, name);
    waits = how == VEL_BESIDE_WRITE || how == VEL_BESIDE_HOME ||
            (how == VEL_BESIDE_TURN && a.best.id != INT64_MAX);
    if (rc == 0 && waits)
        rc = vel_fail(err, VEL_EBUSY, "%s is in a cache of node %s until it is flushed",
                      name, a.best.node);
    else if (rc == 0)
        rc = bring(&a, how != VEL_BESIDE_LOOK, watch, ret, err);
    if (rc == 0)
        ret->file = how == VEL_BESIDE_TURN;
    vel_pull_links_destroy(a.source);
    vel_vec_fini(&a.gets);
    free(a.best.node);
    free(a.best.path);
    return rc;
}

int vel_service_claim(struct vel_service *service, const char *name,
                      struct vel_err *err)
{
    struct asking a = {.service = service,
                       .name = name,
                       .launch = service->launch,
                       .what = VEL_WANT_GIVEN};
    int rc;

    vel_vec_init(&a.gets, sizeof(struct vel_get *));
    rc = ask_launch(&a, err);
    if (rc == 0 && a.why.status)
        rc = vel_fail(err, a.why.status, "a node may have closed it before: %s",
                      a.why.text);
    vel_pull_links_destroy(a.source);
    vel_vec_fini(&a.gets);
    return rc;
}
