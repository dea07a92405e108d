/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/shelf.h"

/* The label is what the name has before the part that follows from the header. */
static char *label_of(const struct vel_redfile *redfile)
{
    const char *name = vel_path_base(redfile->path);
    char *tail = vel_red_file_name(&redfile->header, "");
    size_t n = tail ? strlen(tail) : 0, len = strlen(name);
    char *label = NULL;

    if (tail)
        label = len > n && strcmp(name + len - n, tail) == 0 ? strndup(name, len - n)
                                                             : strdup("renamed");
    free(tail);
    return label;
}

static int compare(const void *a, const void *b)
{
    const struct vel_found *x = a, *y = b;
    const struct vel_red_header *p = vel_found_header(x), *q = vel_found_header(y);
    int order = strcmp(x->label, y->label);

    if (order == 0)
        order = (p->set > q->set) - (p->set < q->set);
    if (order == 0)
        order = (p->sequence < q->sequence) - (p->sequence > q->sequence);
    if (order == 0)
        order = memcmp(p->id, q->id, sizeof p->id);
    if (order == 0)
        order = (p->member > q->member) - (p->member < q->member);
    return order;
}

static int add_dir(struct vel_shelf *shelf, const char *dir, const struct vel_vec *scan,
                   struct vel_err *err)
{
    for (size_t i = 0; i < scan->n; i++) {
        struct vel_found found = {.dir = dir, .redfile = vel_redfile_at(scan, i)};

        found.label = label_of(found.redfile);
        if (!found.label || !vel_vec_push(&shelf->found, &found)) {
            free(found.label);
            return vel_out_of_memory(err, "looking for redundancy files");
        }
    }
    return 0;
}

int vel_shelf_fill(struct vel_shelf *shelf, struct vel_fs *fs, char *const *dirs,
                   size_t n_dirs, struct vel_err *err)
{
    int rc = 0;

    *shelf =
        (struct vel_shelf){.dirs = dirs, .scans = calloc(n_dirs, sizeof *shelf->scans)};
    vel_vec_init(&shelf->found, sizeof(struct vel_found));
    if (!shelf->scans)
        rc = vel_out_of_memory(err, "looking for redundancy files");
    for (size_t i = 0; rc == 0 && i < n_dirs; i++) {
        if (!vel_fs_exists(fs, dirs[i])) {
            rc = vel_fail(err, VEL_ENOENT, "%s: there is no such directory", dirs[i]);
            break;
        }
        rc = vel_redfile_scan_all(fs, dirs[i], &shelf->scans[i], err);
        if (rc == 0) {
            shelf->n_dirs++;
            rc = add_dir(shelf, dirs[i], &shelf->scans[i], err);
        }
    }
    if (rc < 0)
        vel_shelf_fini(shelf);
    else
        vel_vec_sort(&shelf->found, compare);
    return rc;
}

void vel_shelf_fini(struct vel_shelf *shelf)
{
    for (size_t i = 0; i < shelf->found.n; i++)
        free(((struct vel_found *)shelf->found.items)[i].label);
    vel_vec_fini(&shelf->found);
    for (size_t i = 0; i < shelf->n_dirs; i++)
        vel_redfiles_fini(&shelf->scans[i]);
    free(shelf->scans);
    shelf->scans = NULL;
    shelf->n_dirs = 0;
}

bool vel_found_same_set(const struct vel_found *a, const struct vel_found *b)
{
    return strcmp(a->label, b->label) == 0 &&
           vel_found_header(a)->set == vel_found_header(b)->set;
}

bool vel_found_same_encoding(const struct vel_found *a, const struct vel_found *b)
{
    return vel_found_same_set(a, b) &&
           memcmp(vel_found_header(a)->id, vel_found_header(b)->id, VEL_ENCODING_ID) ==
               0;
}

static bool same_id(const struct vel_found *a, const struct vel_found *b)
{
    return memcmp(vel_found_header(a)->id, vel_found_header(b)->id, VEL_ENCODING_ID) ==
           0;
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The ranks that the lists of one encoding name, or of all of them (model NULL). */
static int ranks_of(const struct vel_shelf *shelf, size_t begin, size_t end,
                    const struct vel_found *model, struct vel_vec *ret,
                    struct vel_err *err)
{
    vel_vec_init(ret, sizeof(uint32_t));
    for (size_t i = begin; i < end; i++) {
        const struct vel_found *found = vel_shelf_at(shelf, i);
        const struct vel_red_header *h = vel_found_header(found);

        for (size_t k = 0; k < h->lists && (!model || same_id(found, model)); k++) {
            bool is_there;
            size_t at = vel_vec_place(ret, &h->list[k].rank, compare_ranks, &is_there);

            if (!is_there && !vel_vec_insert(ret, at, &h->list[k].rank)) {
                vel_vec_fini(ret);
                return vel_out_of_memory(err, "looking for redundancy files");
            }
        }
    }
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct vel_red_header *x =
        vel_found_header(*(const struct vel_found *const *)a);
    const struct vel_red_header *y =
        vel_found_header(*(const struct vel_found *const *)b);

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? 1 : -1;
    return memcmp(x->id, y->id, sizeof x->id);
}

static int add_encodings(const struct vel_shelf *shelf, size_t begin, size_t end,
                         struct vel_vec *encodings, struct vel_err *err)
{
    for (size_t i = begin; i < end; i++) {
        const struct vel_found *found = vel_shelf_at(shelf, i);
        bool is_known = false;

        for (size_t k = 0; k < encodings->n && !is_known; k++)
            is_known = same_id(((const struct vel_found **)encodings->items)[k], found);
        if (!is_known && !vel_vec_push(encodings, &found))
            return vel_out_of_memory(err, "looking for redundancy files");
    }
    vel_vec_sort(encodings, newest_first);
    return 0;
}

int vel_shelf_encodings(const struct vel_shelf *shelf, size_t begin, size_t end,
                        struct vel_vec *ret, size_t *ret_all, struct vel_err *err)
{
    struct vel_vec all, own;
    int rc;

    vel_vec_init(ret, sizeof(const struct vel_found *));
    rc = ranks_of(shelf, begin, end, NULL, &all, err);
    if (rc < 0)
        return rc;
    rc = add_encodings(shelf, begin, end, ret, err);
    *ret_all = ret->n;
    for (size_t i = 0; rc == 0 && i < ret->n;) {
        rc = ranks_of(shelf, begin, end, ((const struct vel_found **)ret->items)[i],
                      &own, err);
        if (rc < 0)
            break;
        if (own.n == all.n)
            i++;
        else
            vel_vec_remove(ret, i);
        vel_vec_fini(&own);
    }
    vel_vec_fini(&all);
    if (rc < 0)
        vel_vec_fini(ret);
    return rc;
}
