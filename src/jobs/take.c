/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "base/siphash.h"
#include "jobs/take_in.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "jobs/part_files.h"
#include "red/redfile.h"
#include "red/set.h"
#include "topo/seats.h"
#include "view/batch.h"
#include "xfer/flush.h"

/* A take under way. */
struct work {
    const struct vel_take *take;
    struct vel_err *err;
    struct vel_vec sources; /* struct vel_batch, of the key */
    char *level;
    char *home; /* LEVEL/dataset.D */
    uint8_t id[VEL_ENCODING_ID];
    struct vel_batches *debtor; /* the ledger that says what is owed; NULL: none does */
    bool is_moved;              /* to another cache than that of the files */
    bool gives;                 /* another member has a file of the one that is taken */
    bool has_links;             /* it has files of the dataset before */
};

static const struct vel_seal_member *member_at(const struct work *w, size_t i)
{
    return vel_seal_member(w->take->seal, i);
}

static bool is_here(const struct work *w, const struct vel_seal_member *member)
{
    return strcmp(member->node, w->take->node) == 0;
}

/* --- where to --- */

static int choose_level(struct work *w, const char *home)
{
    const struct vel_take *take = w->take;
    int rc;

    free(w->level);
    free(w->home);
    w->level = w->home = NULL;
    rc = vel_take_level(take, &w->sources, home, &w->level, w->err);
    if (rc < 0)
        return rc;
    w->is_moved = vel_take_is_moved(take, &w->sources, w->level);
    w->home = vel_cache_dataset_dir(w->level, take->seal->id);
    return w->home ? 0 : vel_out_of_memory(w->err, "a dataset");
}

/* All nodes draw the same one. */
static void make_identity(struct work *w)
{
    static const char text[] = "taken";

    vel_siphash(w->take->seal->encoding, text, sizeof text, w->id);
}

/* --- files --- */

/* A program that writes under one name and renames has done so by now: the file is that
 * of the name where its placeholder stands. New string. */
static int present_name(struct work *w, const struct vel_placeholder_file *file,
                        char **ret_name)
{
    enum vel_anchor_now now = VEL_ANCHOR_HIDDEN;
    char *path = NULL, *name = NULL;

    if (vel_placeholders_follow(w->take->placeholders, file, &now, &path, NULL) == 0 &&
        now == VEL_ANCHOR_STANDS)
        vel_cachename_of(w->take->prefix, path, &name, NULL);
    free(path);
    if (!name)
        name = strdup(file->name);
    *ret_name = name;
    return name ? 0 : vel_out_of_memory(w->err, "a file");
}

static int take_file(struct work *w, const struct vel_batch *from, const char *dir,
                     int64_t rank, const struct vel_batch_file *file)
{
    struct vel_placeholder_file was = {from->dir, rank, file->name},
                                is = {w->home, rank, NULL};
    char *source = NULL, *name = NULL, *path = NULL;
    int rc = vel_batch_path(from->dir, rank, file->name, &source, w->err);

    if (rc == 0)
        rc = present_name(w, &was, &name);
    path = name ? vel_path_join(dir, name) : NULL;
    if (rc == 0 && !path)
        rc = vel_out_of_memory(w->err, "a file");
    /* the old name goes when the part is whole: until then nothing is lost by a loss of
     * power; a file system without links has to do without that */
    if (rc == 0 && vel_fs_exists(w->take->fs, source))
        rc = vel_take_add(w->take->fs, source, path,
                          w->is_moved ? VEL_TAKE_COPY : VEL_TAKE_MOVE, w->err);
    if (rc == 0)
        rc = vel_take_check_size(w->take->fs, path, file->size, w->err);
    is.name = name;
    if (rc == 0)
        rc = vel_placeholders_share(w->take->placeholders, &was, &is, NULL, w->err);
    free(path);
    free(name);
    free(source);
    return rc;
}

/* What was said of it may be lost with a part that was not told. */
static int share_again(struct work *w, const struct vel_batch *from, const char *dir,
                       int64_t rank, const struct vel_batch_file *file)
{
    const struct vel_placeholder_file was = {from->dir, rank, file->name};
    struct vel_placeholder_file is = {w->home, rank, NULL};
    char *name = NULL, *path = NULL;
    int rc = present_name(w, &was, &name);

    path = name ? vel_path_join(dir, name) : NULL;
    if (path && vel_fs_exists(w->take->fs, path)) {
        is.name = name;
        rc = vel_placeholders_share(w->take->placeholders, &was, &is, NULL, w->err);
    }
    free(path);
    free(name);
    return rc;
}

/* Called for files of a member in a batch. */
typedef int file_f(struct work *w, const struct vel_batch *from, const char *dir,
                   int64_t rank, const struct vel_batch_file *file);

static int each_file(struct work *w, const struct vel_seal_member *member,
                     const char *dir, bool only_last, file_f *each)
{
    int rc = 0;

    for (size_t i = 0; i < w->sources.n; i++) {
        const struct vel_batch *from = vel_vec_at(&w->sources, i);

        for (size_t r = 0; r < from->ranks.n; r++) {
            const struct vel_batch_rank *rank = vel_vec_at(&from->ranks, r);

            for (size_t k = 0; rc == 0 && k < rank->files.n; k++) {
                const struct vel_batch_file *file = vel_vec_at(&rank->files, k);

                if (!vel_take_is_file(member, rank, file))
                    continue;
                if (only_last &&
                    (vel_batch_is_given_before(file) ||
                     vel_take_has_later(w->take, &w->sources, file->name, file->order)))
                    w->gives = true;
                else
                    rc = each(w, from, dir, rank->rank, file);
            }
        }
    }
    return rc;
}

static int look_for(struct work *w, const struct vel_batch *from, const char *dir,
                    int64_t rank, const struct vel_batch_file *file)
{
    char *path = NULL;
    int rc = vel_batch_path(from->dir, rank, file->name, &path, w->err);

    (void)dir;
    if (rc == 0 && !vel_fs_exists(w->take->fs, path))
        rc = VEL_ENOENT;
    free(path);
    return rc;
}

static int there_is_one(struct work *w, const struct vel_batch *from, const char *dir,
                        int64_t rank, const struct vel_batch_file *file)
{
    (void)w, (void)from, (void)dir, (void)rank, (void)file;
    return 1;
}

/* What an earlier attempt has made of them, under names of then, is made anew. When
 * their old names are gone it is all there is of them, and stays. */
static int begin_anew(struct work *w, const struct vel_seal_member *member,
                      const char *dir)
{
    int rc = each_file(w, member, dir, true, look_for);

    if (rc == 0 && each_file(w, member, dir, false, there_is_one) == 0)
        return 0;
    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
    rc = vel_fs_remove_tree(w->take->fs, dir, w->err);
    if (rc == 0)
        vel_placeholders_forget(w->take->placeholders, w->home, member->rank);
    return rc;
}

static int hand_over(struct work *w, const struct vel_batch *from, const char *dir,
                     int64_t rank, const struct vel_batch_file *file)
{
    const struct vel_placeholder_file was = {from->dir, rank, file->name};

    (void)dir;
    return vel_placeholders_hand_over(w->take->placeholders, &was, w->home, w->err);
}

/* A file of the dataset before, of which there is no newer one. */
static int link_file(struct work *w, const struct vel_flush_file *file, const char *dir,
                     int64_t rank)
{
    const struct vel_placeholder_file was = {w->take->after, rank, file->listed.name},
                                      is = {w->home, rank, file->listed.name};
    char *path = vel_path_join(dir, file->listed.name), *called = NULL;
    int rc =
        path ? vel_cachename_path(w->take->prefix, file->listed.name, &called, w->err)
             : vel_out_of_memory(w->err, "a file");
    bool is_others = vel_take_has_later(w->take, &w->sources, file->listed.name, 0) ||
                     vel_take_is_given(w->take, rank, file->listed.name);

    w->gives |= is_others;
    if (rc == 0 && !is_others && !vel_fs_exists(w->take->fs, path)) {
        w->has_links = true;
        rc = vel_take_add(w->take->fs, file->from, path, VEL_TAKE_COPY, w->err);
        if (rc == 0)
            rc = vel_placeholders_share(w->take->placeholders, &was, &is, called,
                                        w->err);
    }
    free(called);
    free(path);
    return rc;
}

static int link_before(struct work *w, const char *dir,
                       const struct vel_seal_member *member)
{
    struct vel_vec files;
    char *before;
    int rc;

    if (!w->take->after)
        return 0;
    vel_vec_init(&files, sizeof(struct vel_flush_file));
    before = vel_batch_numbered(w->take->after, "rank", member->rank);
    rc = before ? vel_part_files(w->take->fs, w->take->prefix, before,
                                 (int)member->rank, &files, w->err)
                : vel_out_of_memory(w->err, "a part");
    free(before);
    for (size_t i = 0; rc == 0 && i < files.n; i++)
        if (!((struct vel_flush_file *)vel_vec_at(&files, i))->listed.is_through)
            rc = link_file(w, vel_vec_at(&files, i), dir, member->rank);
    vel_flush_files_fini(&files);
    return rc;
}

/* --- a part --- */

static int make_part(struct work *w, const struct vel_seal_member *member,
                     const char *dir)
{
    struct vel_seal_member left = *member;
    struct vel_filemap map;
    int rc = vel_take_map(w->take, w->level, member, &map, w->err);

    if (rc < 0)
        return rc;
    w->gives = w->has_links = false;
    rc = begin_anew(w, member, dir);
    if (rc == 0)
        rc = vel_fs_make_dirs_unsynced(w->take->fs, dir, 0700, w->err);
    if (rc == 0)
        rc = each_file(w, member, dir, true, take_file);
    if (rc == 0)
        rc = link_before(w, dir, member);
    if (w->gives)
        left.files = 0; /* it may have none at all then */
    for (size_t i = 0; rc == 0 && w->has_links && i < w->take->n_homes; i++)
        rc = vel_batches_settle(w->take->batches[i], w->err); /* said once, now */
    if (rc == 0)
        rc = vel_take_protect(w->take, w->id, &map, &left, dir, w->err);
    vel_filemap_fini(&map);
    return rc;
}

/* Is it taken, and encoded in whichever way since? */
static bool is_done(struct work *w, const struct vel_seal_member *member,
                    const char *dir)
{
    return vel_take_holds(w->take, w->id, member->rank, dir);
}

/* Was it taken, and is not as it was then? Its checksums of then, or its set, know what
 * was written: it does not get others. So it is where a loss of power has taken what
 * said that its files are whole: they may be anything. */
static bool is_lost(struct work *w, const struct vel_seal_member *member,
                    const char *dir)
{
    return member->files > 0 && member->upto > 0 &&
           each_file(w, member, dir, false, there_is_one) == 0 &&
           (w->take->seal->is_encoded || vel_take_was_protected(w->take, dir) ||
            !vel_take_was_synced(w->take, member->rank));
}

static int take_part(struct work *w, const struct vel_seal_member *member)
{
    char *dir = vel_cache_rank_dir(w->level, w->take->seal->id, (int)member->rank);
    int rc = dir ? 0 : vel_out_of_memory(w->err, "a part");

    /* what is nowhere any more comes when its set is formed again, or is copied */
    if (rc == 0 && !vel_seal_is_again(w->take->seal, member->set) &&
        !is_done(w, member, dir) && !is_lost(w, member, dir))
        rc = make_part(w, member, dir);
    if (rc == 0)
        rc = each_file(w, member, dir, true, share_again);
    free(dir);
    return rc < 0 ? vel_wrap(w->err, rc, "the part of rank %" PRId64, member->rank) : 0;
}

static int is_ours_to_tell(struct work *w, const struct vel_batch *from,
                           const char *dir, int64_t rank,
                           const struct vel_batch_file *file)
{
    (void)dir, (void)rank, (void)file;
    for (size_t i = 0; i < w->take->n_homes; i++)
        if (vel_batches_has(w->take->batches[i], from->dir))
            return 1;
    return 0;
}

/* *ret_is_told: and no part has files that we have still to tell to be in it. */
static bool is_all_done(struct work *w, bool *ret_is_told)
{
    bool done = true;

    *ret_is_told = true;
    for (size_t i = 0; i < w->take->seal->members.n; i++) {
        const struct vel_seal_member *member = member_at(w, i);
        char *dir;

        if (!is_here(w, member))
            continue;
        dir = vel_cache_rank_dir(w->level, w->take->seal->id, (int)member->rank);
        done = done && dir && is_done(w, member, dir);
        free(dir);
        if (each_file(w, member, NULL, false, is_ours_to_tell) != 0)
            *ret_is_told = false;
    }
    return done;
}

/* On the disk before the first part is told, and where there is none to be told before
 * any is made. Not again when all was done, and told, before. */
static int promise(struct work *w)
{
    bool is_told, is_done = is_all_done(w, &is_told);

    w->debtor = NULL;
    return is_done && is_told
               ? 0
               : vel_take_promise(w->take, w->home, is_told, &w->debtor, w->err);
}

/* Said in all caches, that of the parts first, before the first name goes: a later one
 * may be in another cache. Until then a part may be made anew, with the placeholders of
 * its files. */
static int leave(struct work *w)
{
    const struct vel_take *take = w->take;
    bool is_synced = !vel_take_is_unsynced(take);
    struct vel_vec taken;
    int rc = 0;

    vel_vec_init(&taken, sizeof(struct vel_batches_taken));
    for (size_t i = 0; rc == 0 && i < w->sources.n; i++)
        for (size_t k = 0; rc == 0 && k < take->seal->members.n; k++) {
            const struct vel_seal_member *member = member_at(w, k);
            const struct vel_batches_taken one = {
                ((struct vel_batch *)vel_vec_at(&w->sources, i))->dir, member->rank,
                member->upto};

            if (is_here(w, member) && !vel_vec_push(&taken, &one))
                rc = vel_out_of_memory(w->err, "a part");
        }
    if (rc == 0 && w->debtor)
        rc = vel_batches_part(w->debtor, take->seal->id, taken.items, taken.n,
                              is_synced, w->err);
    for (size_t i = 0; rc == 0 && i < take->n_homes; i++)
        if (take->batches[i] != w->debtor)
            rc = vel_batches_part(take->batches[i], take->seal->id, taken.items,
                                  taken.n, is_synced, w->err);
    for (size_t k = 0; rc == 0 && k < take->seal->members.n; k++)
        if (is_here(w, member_at(w, k)))
            rc = each_file(w, member_at(w, k), NULL, false, hand_over);
    for (size_t i = 0; rc == 0 && i < take->n_homes; i++)
        rc = vel_batches_leave(take->batches[i], taken.items, taken.n, w->err);
    vel_vec_fini(&taken);
    return rc;
}

static int make_parts(struct work *w)
{
    const struct vel_seal *seal = w->take->seal;
    int rc = vel_take_make_home(w->take, w->level, w->home, w->err);

    if (rc == 0)
        rc = promise(w);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        if (is_here(w, member_at(w, i)))
            rc = take_part(w, member_at(w, i));
    if (rc < 0 || vel_take_is_unsynced(w->take))
        return rc;
    rc = vel_fs_sync_dir(w->take->fs, w->home, w->err);
    return rc == 0 ? vel_fs_sync_dir(w->take->fs, w->level, w->err) : rc;
}

/* Nothing was there before, so what is there now is a copy. */
static int remove_copy(struct work *w)
{
    int rc;

    vel_placeholders_forget(w->take->placeholders, w->home, -1);
    rc = vel_fs_remove_tree(w->take->fs, w->home, w->err);
    if (rc == 0 && vel_fs_exists(w->take->fs, w->level))
        rc = vel_fs_sync_dir(w->take->fs, w->level, w->err);
    return rc;
}

/* The store of the level refuses: a program never fails because of that. Where files
 * are in several, another may have room. */
static int stay(struct work *w, struct vel_err *why)
{
    int rc = vel_fail(w->err, (enum vel_status)why->status, "%s", why->text);

    vel_log(VEL_LOG_WARN,
            "dataset %" PRId64 " stays in the store where it was written: %s",
            w->take->seal->id, why->text);
    for (size_t i = 0; rc < 0 && i < w->sources.n; i++) {
        const char *home = vel_take_home(w->take, vel_vec_at(&w->sources, i));

        if (vel_path_below(home, w->level))
            continue;
        rc = remove_copy(w);
        if (rc == 0)
            rc = choose_level(w, home);
        if (rc < 0)
            return rc;
        rc = make_parts(w);
    }
    return rc;
}

static int take_all(struct work *w)
{
    struct vel_err *err = w->err, why = {0};
    int rc = 0;

    /* what is made anew below is removed first: it is ours to remove, if it is */
    for (size_t i = 0; rc == 0 && i < w->take->n_homes; i++)
        rc = vel_batches_look(w->take->batches[i], w->err);
    if (rc < 0)
        return rc;
    w->err = &why;
    rc = make_parts(w);
    w->err = err;
    if (rc < 0 && w->is_moved && !w->take->home)
        rc = stay(w, &why);
    else if (rc < 0)
        rc = vel_fail(err, (enum vel_status)rc, "%s", why.text);
    return rc == 0 ? leave(w) : rc;
}

int vel_take(const struct vel_take *take, struct vel_err *err)
{
    struct work w = {.take = take, .err = err};
    int rc;

    vel_vec_init(&w.sources, sizeof(struct vel_batch));
    make_identity(&w);
    rc = vel_take_find_sources(take, &w.sources, err);
    if (rc == 0)
        rc = choose_level(&w, NULL);
    if (rc == 0)
        rc = take_all(&w);
    vel_batch_list_fini(&w.sources);
    free(w.level);
    free(w.home);
    return rc < 0 ? vel_wrap(err, rc, "dataset %" PRId64, take->seal->id) : 0;
}
