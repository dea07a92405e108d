/* SPDX-License-Identifier: BSD-3-Clause */
/* What launches before this one have left, by the names of files: datasets of the view,
 * whose names it knows if they are in the caches, and the prefix if they are there. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "conf/rules.h"
#include "meta/cachename.h"
#include "meta/filelist.h"
#include "process/files_ask.h"
#include "process/files_in.h"

struct listing {
    const char *pattern;
    size_t most; /* 0: no end */
    struct vel_view view;
    struct vel_vec fits; /* struct fit: names of the view */
    struct vel_map *seen;
    struct vel_vec *found; /* struct vel_file_version */
};

struct fit {
    const struct vel_view_name *name;
    char *path;
};

static void version_fini(struct vel_file_version *version)
{
    free(version->path);
    free(version->why);
}

/* --- names --- */

/* *ret_path NULL: it does not fit. */
static int fit_name(const struct listing *l, const char *name, char **ret_path,
                    struct vel_err *err)
{
    int rc = vel_cachename_path(vel_files_prefix(), name, ret_path, err);

    if (rc == 0 && !vel_rule_fits(l->pattern, vel_files_prefix(), *ret_path)) {
        free(*ret_path);
        *ret_path = NULL;
    }
    return rc;
}

static int find_fits(struct listing *l, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->view.names.n; i++) {
        struct fit fit = {.name = vel_vec_at(&l->view.names, i)};

        rc = fit_name(l, fit.name->name, &fit.path, err);
        if (rc == 0 && fit.path && !vel_vec_push(&l->fits, &fit)) {
            free(fit.path);
            rc = vel_out_of_memory(err, "a list of files");
        }
    }
    return rc;
}

/* --- versions --- */

/* Takes the path. */
static int add(struct listing *l, const struct vel_view_dataset *dataset, char *path,
               int rank, uint64_t size, struct vel_err *err)
{
    struct vel_file_version version = {.path = path,
                                       .dataset = dataset->about.id,
                                       .created = dataset->about.created,
                                       .size = size,
                                       .is_own = rank == vel_files_launcher()->rank,
                                       .is_cached = dataset->is_cached,
                                       .is_published = dataset->is_published};

    if (!vel_map_has(l->seen, path)) {
        if (vel_map_set(l->seen, path, l->seen, NULL) == 0 &&
            vel_vec_push(l->found, &version))
            return 0;
        free(path);
        return vel_out_of_memory(err, "a list of files");
    }
    free(path);
    return 0;
}

static int add_cached(struct listing *l, const struct vel_view_dataset *dataset,
                      struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->fits.n; i++) {
        const struct fit *fit = vel_vec_at(&l->fits, i);
        char *path;

        if (fit->name->id != dataset->about.id)
            continue;
        path = strdup(fit->path);
        rc = path ? add(l, dataset, path, fit->name->rank, fit->name->size, err)
                  : vel_out_of_memory(err, "a list of files");
    }
    return rc;
}

static int add_listed(struct listing *l, const struct vel_view_dataset *dataset,
                      int list, struct vel_err *err)
{
    struct vel_vec files;
    int rc;

    vel_vec_init(&files, sizeof(struct vel_listed));
    rc = vel_index_files(vel_files_index(), dataset->about.id, list, &files, err);
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        const struct vel_listed *file = vel_vec_at(&files, i);
        char *path;

        rc = fit_name(l, file->name, &path, err);
        if (rc == 0 && path)
            rc = add(l, dataset, path, file->rank, file->size, err);
    }
    vel_filelist_fini(&files);
    return rc;
}

static int add_published(struct listing *l, const struct vel_view_dataset *dataset,
                         struct vel_err *err)
{
    struct vel_entry entry = {0};
    int rc = vel_entry_load(vel_files_index(), dataset->about.id, &entry, err);

    for (int list = 0; rc == 0 && list < entry.lists; list++)
        rc = add_listed(l, dataset, list, err);
    vel_entry_fini(&entry);
    return rc;
}

/* --- datasets --- */

static int own_first(const void *a, const void *b)
{
    const struct vel_file_version *x = a, *y = b;

    return x->is_own != y->is_own ? y->is_own - x->is_own : strcmp(x->path, y->path);
}

static void cut(struct listing *l, size_t begin)
{
    while (l->found->n > begin) {
        version_fini(vel_vec_at(l->found, l->found->n - 1));
        vel_vec_remove(l->found, l->found->n - 1);
    }
}

/* What was found from `begin` on is of one dataset. */
static void settle(struct listing *l, size_t begin)
{
    size_t n = l->found->n - begin;
    struct vel_file_version *first = n > 0 ? vel_vec_at(l->found, begin) : NULL;

    if (n == 0)
        return;
    qsort(first, n, sizeof *first, own_first);
    if (!vel_fs_exists(vel_fs_posix(), first->path))
        cut(l, begin);
}

/* Records that went meanwhile, or cannot be read, make that one dataset none. */
static int add_dataset(struct listing *l, const struct vel_view_dataset *dataset,
                       struct vel_err *err)
{
    size_t begin = l->found->n;
    struct vel_err why = {0};
    int rc = dataset->is_cached ? add_cached(l, dataset, &why)
                                : add_published(l, dataset, &why);

    if (rc == VEL_ENOMEM)
        return vel_fail(err, VEL_ENOMEM, "%s", why.text);
    if (rc == 0) {
        settle(l, begin);
        return 0;
    }
    vel_log(rc == VEL_ENOENT ? VEL_LOG_DEBUG : VEL_LOG_WARN,
            "dataset %" PRId64 " is not listed: %s", dataset->about.id, why.text);
    cut(l, begin);
    return 0;
}

static int add_datasets(struct listing *l, struct vel_err *err)
{
    size_t datasets = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->view.datasets.n; i++) {
        size_t before = l->found->n;

        if (l->most > 0 && datasets == l->most)
            break;
        rc = add_dataset(l, vel_vec_at(&l->view.datasets, i), err);
        datasets += l->found->n > before;
    }
    return rc;
}

static int add_lost(struct listing *l, const struct fit *fit, struct vel_err *err)
{
    struct vel_file_version version = {.dataset = fit->name->lost,
                                       .size = fit->name->size,
                                       .is_own = fit->name->rank ==
                                                 vel_files_launcher()->rank};
    struct vel_buf why;
    int rc;

    vel_buf_init(&why);
    vel_view_tell_lost(&l->view, fit->name, &why);
    rc = vel_buf_status(&why, err);
    if (rc == 0) {
        version.why = vel_buf_take(&why, NULL);
        version.path = strdup(fit->path);
        rc = version.why && version.path && vel_vec_push(l->found, &version)
                 ? 0
                 : vel_out_of_memory(err, "a list of files");
    }
    if (rc < 0)
        version_fini(&version);
    vel_buf_fini(&why);
    return rc;
}

/* What nobody has any more: neither the caches nor the prefix. */
static int add_losses(struct listing *l, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->fits.n; i++) {
        const struct fit *fit = vel_vec_at(&l->fits, i);

        if (fit->name->id == 0 && !vel_map_has(l->seen, fit->path))
            rc = add_lost(l, fit, err);
    }
    return rc;
}

static int list(struct listing *l, struct vel_err *err)
{
    int rc;

    vel_vec_init(&l->fits, sizeof(struct fit));
    l->seen = vel_map_create();
    rc = l->seen ? find_fits(l, err) : vel_out_of_memory(err, "a list of files");
    if (rc == 0)
        rc = add_datasets(l, err);
    if (rc == 0 && l->most == 0)
        rc = add_losses(l, err);
    for (size_t i = 0; i < l->fits.n; i++)
        free(((struct fit *)vel_vec_at(&l->fits, i))->path);
    vel_vec_fini(&l->fits);
    vel_map_destroy(l->seen, NULL);
    return rc;
}

int vel_files_list(const struct vel_files_of *of, const char *pattern, size_t most,
                   struct vel_vec *ret, struct vel_err *err)
{
    struct listing l = {.pattern = pattern, .most = most, .found = ret};
    int rc = vel_rule_check(pattern, err);

    vel_vec_init(ret, sizeof(struct vel_file_version));
    if (rc < 0)
        return rc;
    vel_files_here(of, VEL_FILES_LOOKS);
    rc = vel_files_view(&l.view, err);
    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
    rc = list(&l, err);
    vel_view_fini(&l.view);
    if (rc < 0)
        vel_file_versions_fini(ret);
    return rc;
}

void vel_file_versions_fini(struct vel_vec *versions)
{
    for (size_t i = 0; i < versions->n; i++)
        version_fini(vel_vec_at(versions, i));
    vel_vec_fini(versions);
}
