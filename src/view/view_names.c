/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of all datasets, sorted; of each name the newest dataset that is restored wins.
 * A list is kept by several members: what they say twice falls together here. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "view/view_in.h"

static int by_name(const void *a, const void *b)
{
    const struct vel_view_noted *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order)
        return order;
    if (x->is_restored != y->is_restored)
        return x->is_restored ? -1 : 1;
    if (x->id != y->id)
        return x->id > y->id ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

int vel_view_note_names(struct vel_view_making *making, const struct vel_view_ref *refs,
                        size_t n, bool is_restored, struct vel_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct vel_stock_encoding *e = refs[i].encoding;

        for (size_t l = 0; e && l < e->lists.n; l++) {
            const struct vel_stock_list *list = vel_vec_at(&e->lists, l);
            const struct vel_stock_file *f = list->files.items;

            for (size_t k = 0; k < list->files.n; k++) {
                struct vel_view_noted noted = {.name = f[k].name,
                                               .id = making->id,
                                               .rank = list->rank,
                                               .size = f[k].size,
                                               .is_restored = is_restored};

                if (!vel_vec_push(&making->names, &noted))
                    return vel_out_of_memory(err, "a view");
            }
        }
    }
    return 0;
}

/* `n` of the same name, the one that counts first */
static int settle_one(struct vel_view *view, const struct vel_view_noted *noted,
                      size_t n, struct vel_err *err)
{
    struct vel_view_name name = {.name = strdup(noted->name),
                                 .id = noted->is_restored ? noted->id : 0,
                                 .rank = noted->rank,
                                 .size = noted->size};

    for (size_t i = 0; i < n && !name.lost; i++)
        if (!noted[i].is_restored && noted[i].id > name.id)
            name.lost = noted[i].id;
    if (name.name && vel_vec_push(&view->names, &name))
        return 0;
    free(name.name);
    return vel_out_of_memory(err, "a view");
}

int vel_view_settle_names(struct vel_view_making *making, struct vel_err *err)
{
    const struct vel_view_noted *noted;
    int rc = 0;

    vel_vec_sort(&making->names, by_name);
    noted = making->names.items;
    for (size_t i = 0, end; rc == 0 && i < making->names.n; i = end) {
        for (end = i + 1;
             end < making->names.n && strcmp(noted[i].name, noted[end].name) == 0;)
            end++;
        rc = settle_one(making->view, noted + i, end - i, err);
    }
    return rc;
}
