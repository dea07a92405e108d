/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "record/record.h"

enum { FORMAT = 1, WHAT_ALL = VEL_PROMISE_ENCODE | VEL_PROMISE_FLUSH };
enum { NODE_MOST = 200, RANK_MOST = 1 << 30 };

int vel_promise_init(struct vel_promise *promise, int64_t id, const char *node,
                     const char *launch, struct vel_err *err)
{
    struct vel_promise p = {.id = id, .node = strdup(node), .launch = strdup(launch)};

    vel_vec_init(&p.part, sizeof(struct vel_promise_part));
    if (!p.node || !p.launch) {
        vel_promise_fini(&p);
        return vel_out_of_memory(err, "a promise");
    }
    *promise = p;
    return 0;
}

void vel_promise_fini(struct vel_promise *promise)
{
    free(promise->node);
    free(promise->launch);
    vel_vec_fini(&promise->part);
}

unsigned vel_promise_what(const struct vel_promise *promise)
{
    const struct vel_promise_part *p = promise->part.items;
    unsigned what = 0;

    for (size_t i = 0; i < promise->part.n; i++)
        what |= p[i].what;
    return what;
}

/* "HOME/owed.NODE", a new string. */
static int find_path(const char *home, const char *node, char **ret_path,
                     struct vel_err *err)
{
    struct vel_buf path;
    char *text;

    if (!*node || strchr(node, '/') || strlen(node) > NODE_MOST)
        return vel_fail(err, VEL_EINVAL, "'%s' cannot be the name of a node", node);
    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/owed.%s", home, node);
    text = vel_buf_take(&path, NULL);
    if (!text)
        return vel_out_of_memory(err, "a promise");
    *ret_path = text;
    return 0;
}

/* --- the record --- */

static int by_rank(const void *a, const void *b)
{
    const struct vel_promise_part *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct vel_node *parts_to_node(const struct vel_vec *parts)
{
    const struct vel_promise_part *p = parts->items;
    struct vel_node *list = vel_node_list();

    for (size_t i = 0; list && i < parts->n; i++) {
        struct vel_node *one = vel_node_object();

        if (!one || vel_node_set_int(one, "rank", p[i].rank) ||
            vel_node_set_int(one, "what", p[i].what)) {
            vel_node_destroy(one);
            vel_node_destroy(list);
            return NULL;
        }
        if (vel_node_append(list, one)) {
            vel_node_destroy(list);
            return NULL;
        }
    }
    return list;
}

static int put(struct vel_node *body, const struct vel_promise *p)
{
    return vel_node_set_int(body, "dataset", p->id) ||
           vel_node_set_name(body, "node", p->node) ||
           vel_node_set_name(body, "launch", p->launch) ||
           vel_node_adopt(body, "parts", parts_to_node(&p->part)) ||
           (p->last.status != VEL_OK &&
            (vel_node_set_int(body, "status", -(int64_t)p->last.status) ||
             vel_node_set_name(body, "why", p->last.text)));
}

int vel_promise_save(struct vel_fs *fs, const char *home,
                     const struct vel_promise *promise, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = NULL;
    int rc = find_path(home, promise->node, &path, err);

    if (rc == 0)
        rc = !body || put(body, promise)
                 ? vel_out_of_memory(err, "a promise")
                 : vel_record_save(fs, path, "owed", FORMAT, body, err);
    free(path);
    vel_node_destroy(body);
    return rc;
}

static int get_part(const struct vel_node *list, size_t i, struct vel_vec *parts,
                    struct vel_err *err)
{
    const struct vel_promise_part *last =
        parts->n ? vel_vec_at(parts, parts->n - 1) : NULL;
    const struct vel_node *one;
    struct vel_promise_part part;
    int64_t rank, what;
    int rc;

    if ((rc = vel_node_object_at(list, i, &one, err)) < 0 ||
        (rc = vel_node_get_int(one, "rank", last ? last->rank + 1 : 0, RANK_MOST, &rank,
                               err)) < 0 ||
        (rc = vel_node_get_int(one, "what", 1, WHAT_ALL, &what, err)) < 0)
        return rc;
    part = (struct vel_promise_part){.rank = (int)rank, .what = (unsigned)what};
    return vel_vec_push(parts, &part) ? 0 : vel_out_of_memory(err, "a promise");
}

static int get_last(const struct vel_node *body, struct vel_err *ret_last,
                    struct vel_err *err)
{
    char *text = NULL;
    int64_t status;
    int rc;

    if (!vel_node_has(body, "status"))
        return 0;
    rc = vel_node_get_int(body, "status", 1, 255, &status, err);
    if (rc == 0)
        rc = vel_node_get_name(body, "why", &text, err);
    if (rc == 0)
        vel_fail(ret_last, (enum vel_status)(-status), "%s", text);
    free(text);
    return rc;
}

static int get(const struct vel_node *body, struct vel_promise *p, struct vel_err *err)
{
    const struct vel_node *list;
    int rc;

    vel_vec_init(&p->part, sizeof(struct vel_promise_part));
    if ((rc = vel_node_get_int(body, "dataset", 1, INT64_MAX - 1, &p->id, err)) < 0 ||
        (rc = vel_node_get_name(body, "node", &p->node, err)) < 0 ||
        (rc = vel_node_get_name(body, "launch", &p->launch, err)) < 0 ||
        (rc = get_last(body, &p->last, err)) < 0 ||
        (rc = vel_node_get_list(body, "parts", &list, err)) < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++)
        rc = get_part(list, i, &p->part, err);
    return rc;
}

int vel_promise_load(struct vel_fs *fs, const char *home, const char *node,
                     struct vel_promise *ret, struct vel_err *err)
{
    struct vel_promise p = {0};
    struct vel_node *body = NULL;
    char *path = NULL;
    int version, rc = find_path(home, node, &path, err);

    if (rc < 0)
        return rc;
    rc = vel_record_load(fs, path, "owed", FORMAT, &version, &body, err);
    if (rc == 0)
        rc = get(body, &p, err);
    if (rc == 0 && strcmp(p.node, node) != 0)
        rc = vel_fail(err, VEL_ECORRUPT, "it is what %s owes", p.node);
    if (rc < 0)
        vel_promise_fini(&p);
    else
        *ret = p;
    vel_node_destroy(body);
    rc = rc < 0 && rc != VEL_ENOENT ? vel_wrap(err, rc, "%s", path) : rc;
    free(path);
    return rc;
}

/* --- what is owed --- */

int vel_promise_owe(struct vel_fs *fs, const char *home, int64_t id, const char *node,
                    const char *launch, int rank, unsigned what, struct vel_err *err)
{
    struct vel_promise_part part = {.rank = rank, .what = what}, *known;
    struct vel_promise p;
    struct vel_err why = {0};
    bool is_there, is_new = false;
    int rc = vel_promise_load(fs, home, node, &p, &why);
    size_t at;

    if (rc < 0 && rc != VEL_ENOENT && rc != VEL_ECORRUPT)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    if (rc == 0 && (p.id != id || strcmp(p.launch, launch) != 0)) {
        free(p.launch);
        p.launch = strdup(launch);
        p.id = id;
        is_new = true;
        rc = p.launch ? 0 : vel_out_of_memory(err, "a promise");
    } else if (rc < 0) {
        if (rc != VEL_ENOENT)
            vel_log(VEL_LOG_WARN, "a promise cannot be read and is made anew: %s",
                    why.text);
        is_new = true;
        rc = vel_promise_init(&p, id, node, launch, err);
        if (rc < 0)
            return rc;
    }
    at = vel_vec_place(&p.part, &part, by_rank, &is_there);
    known = is_there ? vel_vec_at(&p.part, at) : NULL;
    if (known) {
        is_new |= (known->what | what) != known->what;
        known->what |= what;
    } else if (rc == 0) {
        is_new = true;
        rc = vel_vec_insert(&p.part, at, &part) ? 0
                                                : vel_out_of_memory(err, "a promise");
    }
    if (rc == 0 && is_new)
        rc = vel_promise_save(fs, home, &p, err);
    vel_promise_fini(&p);
    return rc;
}

static int remove_record(struct vel_fs *fs, const char *home, const char *node,
                         struct vel_err *err)
{
    char *path = NULL;
    int rc = find_path(home, node, &path, err);

    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    free(path);
    return rc;
}

int vel_promise_keep(struct vel_fs *fs, const char *home, const char *node, int rank,
                     unsigned what, struct vel_err *err)
{
    struct vel_promise p;
    struct vel_err why = {0};
    bool is_changed = false;
    int rc = vel_promise_load(fs, home, node, &p, &why);

    if (rc == VEL_ENOENT)
        return 0;
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = p.part.n; i-- > 0;) {
        struct vel_promise_part *part = vel_vec_at(&p.part, i);

        if ((rank >= 0 && part->rank != rank) || !(part->what & what))
            continue;
        is_changed = true;
        part->what &= ~what;
        if (!part->what)
            vel_vec_remove(&p.part, i);
    }
    if (!p.part.n)
        rc = remove_record(fs, home, node, err);
    else if (rc == 0 && is_changed)
        rc = vel_promise_save(fs, home, &p, err);
    vel_promise_fini(&p);
    return rc;
}

int vel_promise_failed(struct vel_fs *fs, const char *home, const char *node,
                       const struct vel_err *why, bool *ret_is_new, struct vel_err *err)
{
    struct vel_promise p;
    bool is_new;
    int rc = vel_promise_load(fs, home, node, &p, err);

    if (rc < 0)
        return rc;
    is_new = p.last.status != why->status || strcmp(p.last.text, why->text) != 0;
    p.last = *why;
    if (is_new)
        rc = vel_promise_save(fs, home, &p, err);
    vel_promise_fini(&p);
    if (rc == 0)
        *ret_is_new = is_new;
    return rc;
}

/* --- all of them --- */

void vel_promises_fini(struct vel_vec *owing)
{
    struct vel_owing *o = owing->items;

    for (size_t i = 0; i < owing->n; i++) {
        free(o[i].home);
        vel_promise_fini(&o[i].promise);
    }
    vel_vec_fini(owing);
}

static int add_promise(struct vel_fs *fs, const char *home, int64_t id,
                       const char *node, struct vel_vec *ret, struct vel_err *err)
{
    struct vel_owing owing = {.home = strdup(home)};
    struct vel_err why = {0};
    int rc = owing.home ? vel_promise_load(fs, home, node, &owing.promise, &why)
                        : vel_out_of_memory(&why, "promises");

    if (rc == 0 && owing.promise.id != id) {
        vel_promise_fini(&owing.promise);
        rc = vel_fail(&why, VEL_ECORRUPT, "%s: what is owed is dataset %" PRId64, home,
                      owing.promise.id);
    }
    if (rc == 0 && vel_vec_push(ret, &owing))
        return 0;
    if (rc == 0) {
        vel_promise_fini(&owing.promise);
        rc = VEL_ENOMEM;
    }
    free(owing.home);
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "promises");
    if (rc != VEL_ENOENT)
        vel_log(VEL_LOG_WARN, "a promise left out: %s", why.text);
    return 0;
}

static int scan_home(struct vel_fs *fs, const char *home, int64_t id, const char *node,
                     struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec names = {0};
    int rc = 0;

    if (vel_fs_list(fs, home, &names, NULL) < 0)
        return 0;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        if (strncmp(name, "owed.", 5) == 0 && name[5] &&
            (!node || strcmp(name + 5, node) == 0))
            rc = add_promise(fs, home, id, name + 5, ret, err);
    }
    vel_fs_names_fini(&names);
    return rc;
}

static int by_dataset(const void *a, const void *b)
{
    const struct vel_owing *x = a, *y = b;

    if (x->promise.id != y->promise.id)
        return x->promise.id < y->promise.id ? -1 : 1;
    return strcmp(x->home, y->home);
}

int vel_promises_scan(struct vel_fs *fs, const char *cache, const char *node,
                      struct vel_vec *ret, struct vel_err *err)
{
    const struct vel_part *p;
    struct vel_vec parts;
    int rc;

    vel_vec_init(&parts, sizeof *p);
    rc = vel_cache_scan(fs, cache, &parts, err);
    p = parts.items;
    for (size_t i = 0; rc == 0 && i < parts.n; i++) {
        char *home;

        if (i > 0 && p[i].id == p[i - 1].id && strcmp(p[i].level, p[i - 1].level) == 0)
            continue;
        home = vel_cache_dataset_dir(p[i].level, p[i].id);
        rc = home ? scan_home(fs, home, p[i].id, node, ret, err)
                  : vel_out_of_memory(err, "promises");
        free(home);
    }
    vel_parts_fini(&parts);
    if (rc == 0)
        vel_vec_sort(ret, by_dataset);
    return rc;
}
