/* SPDX-License-Identifier: BSD-3-Clause */
/* The record view.L (doc/format-view.txt, 2). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "record/record.h"
#include "sys/host.h"
#include "view/view_in.h"

char *vel_view_path(const char *dir, const char *launch)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s/view.%s", dir, launch);
    return vel_buf_take(&text, NULL);
}

/* --- out --- */

/* Members as pairs rank, node in one list of numbers. */
static int put_set(struct vel_node *sets, const struct vel_view_set *from)
{
    struct vel_node *node = vel_node_object(), *places = vel_node_list();
    int rc = node && places ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->places.n; i++) {
        const struct vel_view_place *p = vel_view_place_at(from, i);

        rc = vel_node_append_int(places, p->rank);
        if (rc == 0)
            rc = vel_node_append_int(places, p->node);
    }
    if (rc == 0)
        rc = vel_node_set_int(node, "failures", from->m);
    if (rc == 0) {
        rc = vel_node_adopt(node, "places", places);
        places = NULL;
    }
    vel_node_destroy(places);
    if (rc == 0)
        return vel_node_append(sets, node);
    vel_node_destroy(node);
    return VEL_ENOMEM;
}

static int put_cached(struct vel_node *node, const struct vel_view_dataset *from)
{
    struct vel_node *sets = vel_node_list();
    const struct vel_view_set *s = from->sets.items;
    int rc = sets ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->sets.n; i++)
        rc = put_set(sets, &s[i]);
    if (rc < 0 || vel_node_set_int(node, "index", from->index) ||
        vel_node_set_bytes(node, "encoding", from->encoding, sizeof from->encoding) ||
        vel_node_set_text(node, "scheme", vel_scheme_name(from->scheme))) {
        vel_node_destroy(sets);
        return VEL_ENOMEM;
    }
    return vel_node_adopt(node, "sets", sets);
}

static struct vel_node *dataset_node(const void *item)
{
    const struct vel_view_dataset *from = item;
    struct vel_node *node = vel_node_object();

    if (node && vel_node_adopt(node, "about", vel_dataset_to_node(&from->about)) == 0 &&
        vel_node_set_bool(node, "published", from->is_published) == 0 &&
        (!from->is_cached || put_cached(node, from) == 0))
        return node;
    vel_node_destroy(node);
    return NULL;
}

static struct vel_node *lost_node(const void *item)
{
    const struct vel_view_lost *from = item;
    struct vel_node *node = vel_node_object();

    if (node && vel_node_set_int(node, "dataset", from->id) == 0 &&
        vel_node_set_int(node, "reason", from->reason) == 0 &&
        vel_node_set_name(node, "why", from->why) == 0)
        return node;
    vel_node_destroy(node);
    return NULL;
}

static struct vel_node *name_node(const void *item)
{
    const struct vel_view_name *from = item;
    struct vel_node *node = vel_node_object();

    if (node && vel_node_set_name(node, "name", from->name) == 0 &&
        vel_node_set_int(node, "dataset", from->id) == 0 &&
        vel_node_set_int(node, "rank", from->rank) == 0 &&
        vel_node_set_int(node, "size", (int64_t)from->size) == 0 &&
        (!from->lost || vel_node_set_int(node, "lost", from->lost) == 0))
        return node;
    vel_node_destroy(node);
    return NULL;
}

/* A list of what `to_node` makes of each item. */
static int put_all(struct vel_node *body, const char *key, const struct vel_vec *from,
                   struct vel_node *(*to_node)(const void *item))
{
    struct vel_node *list = vel_node_list();
    int rc = list ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->n; i++)
        rc = vel_node_append(list, to_node(vel_vec_at(from, i)));
    if (rc == 0)
        return vel_node_adopt(body, key, list);
    vel_node_destroy(list);
    return rc;
}

static int put_plain(struct vel_node *body, const struct vel_view *view)
{
    struct vel_node *nodes = vel_node_list(), *alive = vel_node_list();
    char **name = view->nodes.items;
    const int64_t *id = view->alive.items;
    int rc = nodes && alive ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < view->nodes.n; i++)
        rc = vel_node_append_text(nodes, name[i]);
    for (size_t i = 0; rc == 0 && i < view->alive.n; i++)
        rc = vel_node_append_int(alive, id[i]);
    if (rc == 0)
        rc = vel_node_set_text(body, "launch", view->launch);
    if (rc == 0)
        rc = vel_node_set_int(body, "highest", view->highest);
    if (rc < 0) {
        vel_node_destroy(nodes);
        vel_node_destroy(alive);
        return rc;
    }
    rc = vel_node_adopt(body, "nodes", nodes);
    return vel_node_adopt(body, "alive", alive) || rc ? VEL_ENOMEM : 0;
}

struct vel_node *vel_view_to_node(const struct vel_view *view, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();

    if (body && put_plain(body, view) == 0 &&
        put_all(body, "datasets", &view->datasets, dataset_node) == 0 &&
        put_all(body, "lost", &view->lost, lost_node) == 0 &&
        put_all(body, "names", &view->names, name_node) == 0)
        return body;
    vel_node_destroy(body);
    vel_out_of_memory(err, "a view");
    return NULL;
}

int vel_view_encode(const struct vel_view *view, struct vel_buf *ret,
                    struct vel_err *err)
{
    struct vel_node *body = vel_view_to_node(view, err);
    int rc = body ? vel_record_encode(VEL_VIEW_TYPE, VEL_VIEW_FORMAT, body, ret, err)
                  : VEL_ENOMEM;

    vel_node_destroy(body);
    return rc;
}

/* --- in --- */

static int get_set(const struct vel_node *node, size_t n_nodes,
                   struct vel_view_set *ret, struct vel_err *err)
{
    const struct vel_node *places;
    int64_t m, rank, at;
    int rc;

    vel_vec_init(&ret->places, sizeof(struct vel_view_place));
    if ((rc = vel_node_get_int(node, "failures", 0, VEL_SET_MAX - 1, &m, err)) < 0 ||
        (rc = vel_node_get_list(node, "places", &places, err)) < 0)
        return rc;
    size_t n = vel_node_count(places);
    if (n == 0 || n % 2 != 0 || n / 2 > VEL_SET_MAX || (size_t)m >= n / 2)
        return vel_fail(err, VEL_ECORRUPT, "a set of %zu numbers that loses %lld", n,
                        (long long)m);
    ret->m = (uint32_t)m;
    for (size_t i = 0; i < n; i += 2) {
        if ((rc = vel_node_int_at(places, i, 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
            (rc = vel_node_int_at(places, i + 1, -1, (int64_t)n_nodes - 1, &at, err)) <
                0)
            return rc;
        struct vel_view_place place = {.rank = (int)rank, .node = (int)at};
        if (!vel_vec_push(&ret->places, &place))
            return vel_out_of_memory(err, "a view");
    }
    return 0;
}

static int get_cached(const struct vel_node *node, size_t n_nodes,
                      struct vel_view_dataset *ret, struct vel_err *err)
{
    const struct vel_node *sets, *item;
    const char *scheme;
    int rc;

    if ((rc = vel_node_get_int(node, "index", 0, INT64_MAX, &ret->index, err)) < 0 ||
        (rc = vel_node_get_bytes(node, "encoding", ret->encoding, sizeof ret->encoding,
                                 err)) < 0 ||
        (rc = vel_node_get_text(node, "scheme", &scheme, err)) < 0 ||
        (rc = vel_node_get_list(node, "sets", &sets, err)) < 0)
        return rc;
    if (vel_scheme_parse(scheme, &ret->scheme, NULL) < 0)
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no scheme", scheme);
    ret->is_cached = true;
    for (size_t i = 0; rc == 0 && i < vel_node_count(sets); i++) {
        struct vel_view_set *set = vel_vec_push(&ret->sets, NULL);

        if (!set)
            return vel_out_of_memory(err, "a view");
        rc = vel_node_object_at(sets, i, &item, err);
        if (rc == 0)
            rc = get_set(item, n_nodes, set, err);
    }
    return rc;
}

static int get_dataset(const struct vel_node *node, struct vel_view *view,
                       struct vel_err *err)
{
    struct vel_view_dataset *d = vel_vec_push(&view->datasets, NULL);
    const struct vel_node *about;
    int rc;

    if (!d)
        return vel_out_of_memory(err, "a view");
    vel_view_dataset_init(d);
    if ((rc = vel_node_get_object(node, "about", &about, err)) < 0 ||
        (rc = vel_dataset_from_node(about, &d->about, err)) < 0 ||
        (rc = vel_node_get_bool(node, "published", &d->is_published, err)) < 0)
        return rc;
    if (view->datasets.n > 1 && d[-1].about.id <= d->about.id)
        return vel_fail(err, VEL_ECORRUPT, "the datasets are in no order");
    return vel_node_has(node, "sets") ? get_cached(node, view->nodes.n, d, err) : 0;
}

static int get_lost(const struct vel_node *node, struct vel_view *view,
                    struct vel_err *err)
{
    struct vel_view_lost *l = vel_vec_push(&view->lost, NULL);
    int64_t reason;
    int rc;

    if (!l)
        return vel_out_of_memory(err, "a view");
    if ((rc = vel_node_get_int(node, "dataset", 1, INT64_MAX - 1, &l->id, err)) < 0 ||
        (rc = vel_node_get_int(node, "reason", VEL_VIEW_DROPPED, VEL_VIEW_UNSEEN,
                               &reason, err)) < 0 ||
        (rc = vel_node_get_name(node, "why", &l->why, err)) < 0)
        return rc;
    l->reason = (enum vel_view_reason)reason;
    return view->lost.n > 1 && l[-1].id <= l->id
               ? vel_fail(err, VEL_ECORRUPT, "what is lost is in no order")
               : 0;
}

static int get_name(const struct vel_node *node, struct vel_view *view,
                    struct vel_err *err)
{
    struct vel_view_name *n = vel_vec_push(&view->names, NULL);
    int64_t rank, size;
    int rc;

    if (!n)
        return vel_out_of_memory(err, "a view");
    if ((rc = vel_node_get_int(node, "dataset", 0, INT64_MAX - 1, &n->id, err)) < 0 ||
        (rc = vel_node_get_int(node, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_int(node, "size", 0, INT64_MAX / 2, &size, err)) < 0 ||
        (vel_node_has(node, "lost") &&
         (rc = vel_node_get_int(node, "lost", 1, INT64_MAX - 1, &n->lost, err)) < 0) ||
        (rc = vel_node_get_name(node, "name", &n->name, err)) < 0)
        return rc;
    n->rank = (int)rank;
    n->size = (uint64_t)size;
    if (!vel_path_is_inner(n->name))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a cached file", n->name);
    if (n->id > 0 && !vel_view_find_dataset(view, n->id))
        return vel_fail(err, VEL_ECORRUPT, "%s is in a dataset that is not there",
                        n->name);
    return view->names.n > 1 && strcmp(n[-1].name, n->name) >= 0
               ? vel_fail(err, VEL_ECORRUPT, "the names are in no order")
               : 0;
}

static int get_all(const struct vel_node *body, const char *key, struct vel_view *view,
                   int (*get)(const struct vel_node *node, struct vel_view *view,
                              struct vel_err *err),
                   struct vel_err *err)
{
    const struct vel_node *list, *item;
    int rc = vel_node_get_list(body, key, &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        rc = vel_node_object_at(list, i, &item, err);
        if (rc == 0)
            rc = get(item, view, err);
    }
    return rc;
}

static int get_nodes(const struct vel_node *body, struct vel_view *view,
                     struct vel_err *err)
{
    const struct vel_node *list;
    const char *text;
    int rc = vel_node_get_list(body, "nodes", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        char *name;

        rc = vel_node_text_at(list, i, &text, err);
        if (rc == 0 && !vel_host_is_name(text))
            rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a node", text);
        if (rc < 0)
            break;
        name = strdup(text);
        if (!name || !vel_vec_push(&view->nodes, &name)) {
            free(name);
            rc = vel_out_of_memory(err, "a view");
        }
    }
    return rc;
}

static int get_alive(const struct vel_node *body, struct vel_view *view,
                     struct vel_err *err)
{
    const struct vel_node *list;
    int64_t id, before = 0;
    int rc = vel_node_get_list(body, "alive", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++, before = id) {
        rc = vel_node_int_at(list, i, before + 1, INT64_MAX - 1, &id, err);
        if (rc == 0 && !vel_vec_push(&view->alive, &id))
            rc = vel_out_of_memory(err, "a view");
        if (rc < 0)
            break;
    }
    return rc;
}

static int get_view(const struct vel_node *body, struct vel_view *ret,
                    struct vel_err *err)
{
    struct vel_view view;
    const char *launch;
    int rc = vel_node_get_text(body, "launch", &launch, err);

    if (rc < 0 || (rc = vel_view_init(&view, launch, err)) < 0)
        return rc;
    if ((rc = vel_node_get_int(body, "highest", 0, INT64_MAX, &view.highest, err)) <
            0 ||
        (rc = get_nodes(body, &view, err)) < 0 ||
        (rc = get_alive(body, &view, err)) < 0 ||
        (rc = get_all(body, "datasets", &view, get_dataset, err)) < 0 ||
        (rc = get_all(body, "lost", &view, get_lost, err)) < 0 ||
        (rc = get_all(body, "names", &view, get_name, err)) < 0) {
        vel_view_fini(&view);
        return rc;
    }
    *ret = view;
    return 0;
}

int vel_view_decode(const void *bytes, size_t len, struct vel_view *ret,
                    struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version, rc;

    rc = vel_record_decode(bytes, len, VEL_VIEW_TYPE, VEL_VIEW_FORMAT, &version, &body,
                           err);
    if (rc == 0)
        rc = get_view(body, ret, err);
    vel_node_destroy(body);
    return rc < 0 ? vel_wrap(err, rc, "reading a view") : 0;
}

int vel_view_load(struct vel_fs *fs, const char *path, struct vel_view *ret,
                  struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version, rc;

    rc =
        vel_record_load(fs, path, VEL_VIEW_TYPE, VEL_VIEW_FORMAT, &version, &body, err);
    if (rc == 0) {
        rc = get_view(body, ret, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", path);
    }
    vel_node_destroy(body);
    return rc;
}
