/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_in.h"

int vel_view_init(struct vel_view *view, const char *launch, struct vel_err *err)
{
    *view = (struct vel_view){.launch = strdup(launch)};
    vel_vec_init(&view->nodes, sizeof(char *));
    vel_vec_init(&view->alive, sizeof(int64_t));
    vel_vec_init(&view->datasets, sizeof(struct vel_view_dataset));
    vel_vec_init(&view->lost, sizeof(struct vel_view_lost));
    vel_vec_init(&view->names, sizeof(struct vel_view_name));
    return view->launch ? 0 : vel_out_of_memory(err, "a view");
}

void vel_view_dataset_init(struct vel_view_dataset *dataset)
{
    *dataset = (struct vel_view_dataset){.scheme = VEL_SINGLE};
    vel_vec_init(&dataset->sets, sizeof(struct vel_view_set));
}

void vel_view_dataset_fini(struct vel_view_dataset *dataset)
{
    struct vel_view_set *s = dataset->sets.items;

    for (size_t i = 0; i < dataset->sets.n; i++)
        vel_vec_fini(&s[i].places);
    vel_vec_fini(&dataset->sets);
    vel_dataset_fini(&dataset->about);
}

void vel_view_fini(struct vel_view *view)
{
    struct vel_view_dataset *d = view->datasets.items;
    struct vel_view_lost *l = view->lost.items;
    struct vel_view_name *n = view->names.items;

    for (size_t i = 0; i < view->datasets.n; i++)
        vel_view_dataset_fini(&d[i]);
    for (size_t i = 0; i < view->lost.n; i++)
        free(l[i].why);
    for (size_t i = 0; i < view->names.n; i++)
        free(n[i].name);
    vel_vec_fini(&view->datasets);
    vel_vec_fini(&view->lost);
    vel_vec_fini(&view->names);
    vel_vec_fini(&view->alive);
    vel_fs_names_fini(&view->nodes);
    free(view->launch);
    view->launch = NULL;
}

/* --- answers --- */

static int compare_name(const void *key, const void *item)
{
    return strcmp(((const struct vel_view_name *)key)->name,
                  ((const struct vel_view_name *)item)->name);
}

const struct vel_view_name *vel_view_find_name(const struct vel_view *view,
                                               const char *name)
{
    const struct vel_view_name key = {.name = (char *)name};
    bool is_there;
    size_t at = vel_vec_place(&view->names, &key, compare_name, &is_there);

    return is_there ? vel_vec_at(&view->names, at) : NULL;
}

/* Both lists have the newest first. */
static int compare_dataset(const void *key, const void *item)
{
    int64_t a = ((const struct vel_view_dataset *)key)->about.id;
    int64_t b = ((const struct vel_view_dataset *)item)->about.id;

    return (a < b) - (a > b);
}

static int compare_lost(const void *key, const void *item)
{
    int64_t a = ((const struct vel_view_lost *)key)->id;
    int64_t b = ((const struct vel_view_lost *)item)->id;

    return (a < b) - (a > b);
}

const struct vel_view_dataset *vel_view_find_dataset(const struct vel_view *view,
                                                     int64_t id)
{
    const struct vel_view_dataset key = {.about.id = id};
    bool is_there;
    size_t at = vel_vec_place(&view->datasets, &key, compare_dataset, &is_there);

    return is_there ? vel_vec_at(&view->datasets, at) : NULL;
}

const struct vel_view_lost *vel_view_find_lost(const struct vel_view *view, int64_t id)
{
    const struct vel_view_lost key = {.id = id};
    bool is_there;
    size_t at = vel_vec_place(&view->lost, &key, compare_lost, &is_there);

    return is_there ? vel_vec_at(&view->lost, at) : NULL;
}

bool vel_view_is_unseen(const struct vel_view *view, int64_t id)
{
    const struct vel_view_lost *lost = vel_view_find_lost(view, id);

    return lost && lost->reason == VEL_VIEW_UNSEEN;
}

bool vel_view_is_unread(const struct vel_view *view, int64_t id)
{
    const struct vel_view_lost *lost = vel_view_find_lost(view, id);

    return lost && strstr(lost->why, VEL_VIEW_NEVER);
}

bool vel_view_find_place(const struct vel_view_dataset *dataset, int rank,
                         size_t *ret_set, size_t *ret_place)
{
    const struct vel_view_set *s = dataset->sets.items;

    for (size_t set = 0; set < dataset->sets.n; set++)
        for (size_t i = 0; i < s[set].places.n; i++)
            if (vel_view_place_at(&s[set], i)->rank == rank) {
                *ret_set = set;
                *ret_place = i;
                return true;
            }
    return false;
}

bool vel_view_has_node(const struct vel_view *view, const char *node)
{
    for (size_t i = 0; i < view->nodes.n; i++)
        if (strcmp(*(char **)vel_vec_at(&view->nodes, i), node) == 0)
            return true;
    return false;
}

void vel_view_tell_lost(const struct vel_view *view, const struct vel_view_name *name,
                        struct vel_buf *ret)
{
    const struct vel_view_lost *lost = vel_view_find_lost(view, name->lost);
    const struct vel_view_dataset *d = view->datasets.items;

    vel_buf_printf(
        ret, "%s is part of dataset %" PRId64 ", which %s%s%s", name->name, name->lost,
        vel_view_is_unseen(view, name->lost) ? "cannot be restored now" : "is lost",
        lost ? ": " : "", lost ? lost->why : "");
    if (name->id > 0)
        vel_buf_printf(ret, "; the newest that can be restored with it is %" PRId64,
                       name->id);
    else if (view->datasets.n > 0)
        vel_buf_printf(ret, "; the newest that can be restored is %s (%" PRId64 ")",
                       d[0].about.name, d[0].about.id);
    else
        vel_buf_puts(ret, "; nothing can be restored");
}
