/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/current.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

static const char lab[] = "lab", node[] = "labnode";

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("the index: %s", err->text);
}

static struct vel_index *open_only(struct vel_fs *fs, const char *dir)
{
    struct vel_index *index = NULL;
    struct vel_err err = {0};

    must(vel_index_open(fs, dir, &index, &err), &err);
    return index;
}

struct vel_index *indexlab_open(struct vel_fs *fs, const char *dir)
{
    struct vel_index *index = open_only(fs, dir);
    struct vel_err err = {0};

    must(vel_index_sign(index, lab, node, NULL, NULL, &err), &err);
    return index;
}

/* What nobody has made is of this launch, which is there from then on. */
static void make_launch(const char *dir, int64_t id)
{
    char *launch = vel_launch_dir(dir, lab), *maker = NULL;
    struct vel_err err = {0};

    if (vel_id_launch(vel_fs_posix(), dir, id, &maker, NULL, NULL) < 0 ||
        strcmp(maker, lab) == 0)
        must(vel_fs_make_dirs(vel_fs_posix(), launch, 0700, &err), &err);
    free(maker);
    free(launch);
}

static struct vel_index *kept[4096];
static size_t n_kept, next;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

static void close_kept(void)
{
    while (n_kept > 0)
        vel_index_close(kept[--n_kept]);
}

/* A lab makes many, mostly one after the other. */
struct vel_index *indexlab_keep(struct vel_fs *fs, const char *dir)
{
    struct vel_index *index = indexlab_open(fs, dir), **place, *old = NULL;

    pthread_mutex_lock(&keeping);
    place = &kept[next++ % (sizeof kept / sizeof *kept)];
    if (n_kept == 0)
        atexit(close_kept);
    if (n_kept < sizeof kept / sizeof *kept)
        n_kept++;
    else
        old = *place;
    *place = index;
    pthread_mutex_unlock(&keeping);
    vel_index_close(old);
    return index;
}

int indexlab_save(struct vel_fs *fs, const char *dir, const struct vel_entry *entry,
                  struct vel_err *err)
{
    struct vel_index *index = indexlab_open(fs, dir);
    int rc;

    make_launch(dir, entry->dataset.id);
    rc = vel_entry_enter(index, entry, err);

    vel_index_close(index);
    return rc;
}

int indexlab_load(struct vel_fs *fs, const char *dir, int64_t id, struct vel_entry *ret,
                  struct vel_err *err)
{
    struct vel_index *index = open_only(fs, dir);
    int rc = vel_entry_load(index, id, ret, err);

    vel_index_close(index);
    return rc;
}

int indexlab_files(struct vel_fs *fs, const char *dir, int64_t id, int list,
                   struct vel_vec *ret, struct vel_err *err)
{
    struct vel_index *index = open_only(fs, dir);
    int rc = vel_index_files(index, id, list, ret, err);

    vel_index_close(index);
    return rc;
}

int indexlab_remove(struct vel_fs *fs, const char *dir, int64_t id, struct vel_err *err)
{
    struct vel_index *index = indexlab_open(fs, dir);
    int rc = vel_index_forget(index, &id, 1, err);

    vel_index_close(index);
    return rc;
}

int indexlab_load_all(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct vel_index *index = open_only(fs, dir);
    int rc = vel_index_load(index, NULL, ret, err);

    vel_index_close(index);
    return rc;
}

int64_t indexlab_claim(struct vel_fs *fs, const char *dir, int64_t id)
{
    struct vel_index *index = indexlab_open(fs, dir);
    struct vel_err err = {0};
    int64_t owner = 0;

    must(vel_index_claim(index, id, &owner, &err), &err);
    vel_index_close(index);
    return owner;
}

void indexlab_claim_up_to(struct vel_fs *fs, const char *dir, int64_t id, int64_t owner)
{
    struct vel_index *index = indexlab_open(fs, dir);
    const struct vel_id_owner maker = {.launch = lab};
    struct vel_err err = {0};
    int64_t now = 0;
    char *launch = NULL;

    if (vel_id_launch(fs, dir, id, &launch, NULL, NULL) < 0)
        must(vel_ids_claim_late(fs, dir, id, &maker, &err), &err);
    free(launch);
    make_launch(dir, id);
    must(vel_index_owner(index, id, &now, NULL, &err), &err);
    while (now < owner)
        must(vel_index_claim(index, id, &now, &err), &err);
    vel_index_close(index);
}

static bool damage(const char *path, const char *text)
{
    size_t len;
    char *bytes = tap_get_file(path, &len),
         *at = bytes ? memmem(bytes, len, text, strlen(text)) : NULL;

    if (at) {
        *at ^= 1;
        tap_put_bytes(path, bytes, len);
    }
    free(bytes);
    return at;
}

/* What a term does not say for certain is taken from the one before it. */
void indexlab_damage(const char *dir, const char *launch, const char *text)
{
    char *of = vel_launch_dir(dir, launch), path[4400];
    const struct vel_ledger_dir ledgers = {.fs = vel_fs_posix(), .path = of};
    struct vel_vec list;
    struct vel_err err = {0};
    int damaged = 0;

    must(vel_ledger_list(&ledgers, &list, &err), &err);
    for (size_t i = 0; i < list.n; i++) {
        const struct vel_ledger_name *name = vel_vec_at(&list, i);

        snprintf(path, sizeof path, "%s/%lld.%lld", of, (long long)name->launch,
                 (long long)name->term);
        damaged += damage(path, text);
    }
    if (!damaged)
        bail_out("no ledger in %s has %s", of, text);
    vel_vec_fini(&list);
    free(of);
}

bool indexlab_is_temporary(const char *name)
{
    return vel_fs_is_temporary(name) && strncmp(name, ".look.", 6) != 0 &&
           strncmp(name, ".1.", 3) != 0;
}

int64_t indexlab_current(struct vel_fs *fs, const char *dir)
{
    struct vel_index *index = open_only(fs, dir);
    int64_t id = 0;

    vel_current_find(index, &id, NULL);
    vel_index_close(index);
    return id;
}

int indexlab_choose(struct vel_fs *fs, const char *dir, int64_t id, struct vel_err *err)
{
    struct vel_index *index = open_only(fs, dir);
    int rc = vel_current_choose(index, id, err);

    vel_index_close(index);
    return rc;
}
