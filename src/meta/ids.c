/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "meta/paths.h"

/* "DIR/ids/FIRST/NAME", or less of it; NULL without memory. */
static char *path_of(const char *dir, int64_t first, const char *name)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/ids", dir);
    if (first > 0)
        vel_buf_printf(&path, "/%" PRId64, first);
    if (name)
        vel_buf_printf(&path, "/%s", name);
    return vel_buf_take(&path, NULL);
}

/* --- a block --- */

static const char *const kinds[] = {"session", "leaders"};

/* "COUNT.KIND.LAUNCH": the launch, in the name; NULL: it is none. */
static const char *parse(const char *name, struct vel_ids_block *block)
{
    char *end;
    long long count = strtoll(name, &end, 10);

    if (count < 1 || count > VEL_IDS_MOST || *end++ != '.')
        return NULL;
    for (int kind = 0; kind < 2; kind++) {
        size_t len = strlen(kinds[kind]);

        if (strncmp(end, kinds[kind], len) != 0 || end[len] != '.' ||
            !vel_launch_is_name(end + len + 1))
            continue;
        block->last = block->first + count - 1;
        block->is_leaders = kind == 1;
        return end + len + 1;
    }
    return NULL;
}

static void put_name(int64_t count, bool is_leaders, const char *launch,
                     struct vel_buf *ret)
{
    vel_buf_printf(ret, "%" PRId64 ".%s.%s", count, kinds[is_leaders], launch);
}

/* One of which nobody has said how many there are has as many as there may be. Of two
 * that were said, by who came late, the lower one counts. */
static int load(struct vel_fs *fs, const char *dir, int64_t first,
                struct vel_ids_block *ret, struct vel_err *err)
{
    char *path = path_of(dir, first, NULL);
    const char *launch = NULL;
    struct vel_err why = {0};
    struct vel_vec names;
    int rc;

    *ret = (struct vel_ids_block){.first = first, .last = first + VEL_IDS_MOST - 1};
    vel_vec_init(&names, sizeof(char *));
    rc = path ? vel_fs_list(fs, path, &names, &why) : vel_out_of_memory(&why, "ids");
    for (size_t i = 0; !launch && i < names.n; i++)
        launch = parse(*(char **)vel_vec_at(&names, i), ret);
    if (launch && !(ret->launch = strdup(launch)))
        rc = vel_out_of_memory(&why, "ids");
    vel_fs_names_fini(&names);
    free(path);
    return rc < 0 && rc != VEL_ENOENT /* it is just removed */
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

/* Its name, when it was not made now, and whose it is are on the disk then. */
static int say(struct vel_fs *fs, const char *dir, int64_t first, int64_t count,
               const struct vel_id_owner *owner, struct vel_err *err)
{
    char *ids = path_of(dir, 0, NULL), *block = path_of(dir, first, NULL), *path = NULL;
    struct vel_buf name;
    int rc;

    vel_buf_init(&name);
    put_name(count, owner->is_leaders, owner->launch, &name);
    if (ids && block && vel_buf_status(&name, NULL) == 0)
        path = path_of(dir, first, name.data);
    rc = path ? fs->ops->mkdir(fs, path, 0700) : -ENOMEM;
    rc = rc < 0 && rc != -EEXIST
             ? vel_fail_errno(err, -rc, "cannot claim ids in %s", dir)
             : vel_fs_sync_dir(fs, block, err);
    if (rc == 0)
        rc = vel_fs_sync_dir(fs, ids, err);
    vel_buf_fini(&name);
    free(path);
    free(block);
    free(ids);
    return rc;
}

/* --- all of them --- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Where they begin, ascending. */
static int list_firsts(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                       struct vel_err *err)
{
    char *ids = path_of(dir, 0, NULL);
    struct vel_vec names;
    int64_t first;
    int rc;

    vel_vec_init(ret, sizeof first);
    vel_vec_init(&names, sizeof(char *));
    rc = ids ? vel_fs_list(fs, ids, &names, err) : vel_out_of_memory(err, "ids");
    rc = rc == VEL_ENOENT ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "", &first) &&
            first > 0 && !vel_vec_push(ret, &first))
            rc = vel_out_of_memory(err, "ids");
    vel_fs_names_fini(&names);
    vel_vec_sort(ret, by_number);
    if (rc < 0)
        vel_vec_fini(ret);
    free(ids);
    return rc;
}

static int64_t last_first(const struct vel_vec *firsts)
{
    return firsts->n > 0 ? *(int64_t *)vel_vec_at(firsts, firsts->n - 1) : 0;
}

static int by_first(const void *a, const void *b)
{
    return by_number(&((const struct vel_ids_block *)a)->first,
                     &((const struct vel_ids_block *)b)->first);
}

static int load_unknown(struct vel_fs *fs, const char *dir, const struct vel_vec *known,
                        int64_t first, struct vel_ids_block *ret, struct vel_err *err)
{
    const struct vel_ids_block key = {.first = first};
    bool is_known = false;
    size_t at = known ? vel_vec_place(known, &key, by_first, &is_known) : 0;

    if (!is_known || !vel_ids_has(fs, dir, vel_vec_at(known, at)))
        return load(fs, dir, first, ret, err);
    *ret = *(const struct vel_ids_block *)vel_vec_at(known, at);
    ret->launch = strdup(ret->launch);
    return ret->launch ? 0 : vel_out_of_memory(err, "ids");
}

int vel_ids_list(struct vel_fs *fs, const char *dir, const struct vel_vec *known,
                 struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec firsts;
    int rc = list_firsts(fs, dir, &firsts, err);

    vel_vec_init(ret, sizeof(struct vel_ids_block));
    for (size_t i = 0; rc == 0 && i < firsts.n; i++) {
        struct vel_ids_block block;

        rc = load_unknown(fs, dir, known, *(int64_t *)vel_vec_at(&firsts, i), &block,
                          err);
        if (rc == 0 && !vel_vec_push(ret, &block))
            rc = vel_out_of_memory(err, "ids");
        if (rc < 0)
            free(block.launch);
    }
    vel_vec_fini(&firsts);
    if (rc < 0)
        vel_ids_list_fini(ret);
    return rc;
}

void vel_ids_list_fini(struct vel_vec *blocks)
{
    for (size_t i = 0; i < blocks->n; i++)
        free(((struct vel_ids_block *)vel_vec_at(blocks, i))->launch);
    vel_vec_fini(blocks);
}

const struct vel_ids_block *vel_ids_find(const struct vel_vec *blocks, int64_t id)
{
    for (size_t i = blocks->n; i-- > 0;) {
        const struct vel_ids_block *block = vel_vec_at(blocks, i);

        if (block->first <= id && block->launch)
            return id <= block->last ? block : NULL;
    }
    return NULL;
}

/* --- to claim --- */

/* Where the next block begins. */
static int look_behind(struct vel_fs *fs, const char *dir, const char *ids,
                       int64_t above, int64_t *ret_first, struct vel_err *err)
{
    struct vel_ids_block last = {.last = 0};
    struct vel_vec firsts;
    int rc = vel_fs_see_anew(fs, ids, NULL, err);

    if (rc == 0)
        rc = list_firsts(fs, dir, &firsts, err);
    if (rc < 0)
        return rc;
    if (firsts.n > 0)
        rc = load(fs, dir, last_first(&firsts), &last, err);
    *ret_first = (last.last > above ? last.last : above) + 1;
    free(last.launch);
    vel_vec_fini(&firsts);
    return rc;
}

/* Whoever makes the directory has the block, for good. 1: another one has. */
static int make(struct vel_fs *fs, const char *dir, int64_t first, struct vel_err *err)
{
    char *path = path_of(dir, first, NULL);
    int rc = path ? fs->ops->mkdir(fs, path, 0700) : -ENOMEM;

    free(path);
    return rc == -EEXIST ? 1
           : rc < 0      ? vel_fail_errno(err, -rc, "cannot claim ids in %s", dir)
                         : 0;
}

int vel_ids_claim(struct vel_fs *fs, const char *dir, int64_t above, int64_t count,
                  const struct vel_id_owner *owner, int64_t *ret_first,
                  struct vel_err *err)
{
    char *ids = path_of(dir, 0, NULL);
    int64_t first = above;
    int rc =
        ids ? vel_fs_make_own_dir(fs, ids, 0700, err) : vel_out_of_memory(err, "ids");
    bool is_taken = true;

    while (rc == 0 && is_taken) {
        rc = look_behind(fs, dir, ids, first, &first, err);
        if (rc == 0)
            rc = make(fs, dir, first, err);
        is_taken = rc > 0;
        rc = is_taken ? 0 : rc;
    }
    free(ids);
    if (rc == 0)
        rc = say(fs, dir, first, count, owner, err);
    if (rc == 0)
        *ret_first = first;
    return rc;
}

/* Another one may claim it at the same time, or have died before he said whose it is.
 */
static int claim_one(struct vel_fs *fs, const char *dir, int64_t id,
                     const struct vel_id_owner *owner, struct vel_err *err)
{
    struct vel_ids_block block = {.launch = NULL};
    int rc = make(fs, dir, id, err);

    if (rc > 0)
        rc = load(fs, dir, id, &block, err);
    if (rc == 0 && !block.launch) {
        rc = say(fs, dir, id, 1, owner, err);
        if (rc == 0)
            rc = load(fs, dir, id, &block, err);
    }
    if (rc == 0 && (!block.launch || strcmp(block.launch, owner->launch) != 0))
        rc = vel_fail(err, VEL_EEXIST, "id %" PRId64 " is another launch's", id);
    free(block.launch);
    return rc;
}

int vel_ids_claim_late(struct vel_fs *fs, const char *dir, int64_t id,
                       const struct vel_id_owner *owner, struct vel_err *err)
{
    char *ids = path_of(dir, 0, NULL), *launch = NULL;
    struct vel_err why = {0};
    int rc = ids ? vel_id_launch(fs, dir, id, &launch, NULL, &why)
                 : vel_out_of_memory(&why, "ids");

    if (rc == 0 && strcmp(launch, owner->launch) != 0)
        rc = vel_fail(&why, VEL_EEXIST, "id %" PRId64 " is launch %s's", id, launch);
    else if (rc == VEL_ENOENT) {
        rc = vel_fs_make_own_dir(fs, ids, 0700, &why);
        if (rc == 0)
            rc = claim_one(fs, dir, id, owner, &why);
    }
    free(launch);
    free(ids);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

/* --- to give --- */

/* Has nobody claimed a block after this one? */
static int is_last(struct vel_fs *fs, const char *dir, const struct vel_ids *ids,
                   struct timespec *ret_now, bool *ret_is, struct vel_err *err)
{
    char *path = path_of(dir, 0, NULL);
    struct vel_vec firsts;
    int rc =
        path ? vel_fs_see_anew(fs, path, ret_now, err) : vel_out_of_memory(err, "ids");

    free(path);
    if (rc == 0)
        rc = list_firsts(fs, dir, &firsts, err);
    if (rc < 0)
        return rc;
    *ret_is = last_first(&firsts) == ids->first;
    vel_vec_fini(&firsts);
    return 0;
}

/* Each block is twice as large as the one before, so that few names are needed for
 * many ids, and few ids are left over; but not where others want some in between. */
static int claim_more(struct vel_fs *fs, const char *dir, struct vel_ids *ids,
                      int64_t above, const struct vel_id_owner *owner,
                      struct vel_err *err)
{
    bool is_used_up = ids->end > 0 && ids->next >= ids->end;
    int64_t count = is_used_up ? 2 * (ids->end - ids->first) : 1, first;
    int rc;

    count = count < VEL_IDS_MOST ? count : VEL_IDS_MOST;
    rc = vel_ids_claim(fs, dir, above, count, owner, &first, err);
    if (rc == 0)
        *ids = (struct vel_ids){.first = first, .next = first, .end = first + count};
    return rc;
}

int vel_ids_give(struct vel_fs *fs, const char *dir, struct vel_ids *ids, int64_t above,
                 const struct vel_id_owner *owner, int64_t *ret_id,
                 struct timespec *ret_now, struct vel_err *err)
{
    bool is_ours = ids->next > above && ids->next < ids->end;
    int rc = is_ours ? is_last(fs, dir, ids, ret_now, &is_ours, err) : 0;

    if (rc == 0 && !is_ours) {
        rc = claim_more(fs, dir, ids, above, owner, err);
        if (rc == 0)
            rc = is_last(fs, dir, ids, ret_now, &is_ours, err);
    }
    if (rc == 0)
        *ret_id = ids->next++;
    return rc;
}

/* --- to ask --- */

/* The last one that begins at an id or below, and is somebody's, or all zeros. */
static int find_below(struct vel_fs *fs, const char *dir, int64_t id,
                      struct vel_ids_block *ret, struct vel_err *err)
{
    struct vel_vec firsts;
    int rc = list_firsts(fs, dir, &firsts, err);

    *ret = (struct vel_ids_block){.launch = NULL};
    if (rc < 0)
        return rc;
    for (size_t i = firsts.n; rc == 0 && !ret->launch && i-- > 0;)
        if (*(int64_t *)vel_vec_at(&firsts, i) <= id)
            rc = load(fs, dir, *(int64_t *)vel_vec_at(&firsts, i), ret, err);
    vel_vec_fini(&firsts);
    return rc;
}

/* What others have done since is seen, where this one may write. */
static int find_anew(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_ids_block *ret, struct vel_err *err)
{
    char *ids = path_of(dir, 0, NULL);

    if (ids)
        vel_fs_see_anew(fs, ids, NULL, NULL);
    free(ids);
    return find_below(fs, dir, id, ret, err);
}

int vel_ids_last(struct vel_fs *fs, const char *dir, struct vel_ids_block *ret,
                 struct vel_err *err)
{
    int rc = find_anew(fs, dir, INT64_MAX, ret, err);

    return rc == 0 && !ret->launch ? vel_fail(err, VEL_ENOENT, "there are no ids") : rc;
}

int vel_ids_load(struct vel_fs *fs, const char *dir, int64_t id,
                 struct vel_ids_block *ret, struct vel_err *err)
{
    int rc = find_below(fs, dir, id, ret, err);

    if (rc == 0 && (!ret->launch || id > ret->last)) {
        free(ret->launch);
        rc = find_anew(fs, dir, id, ret, err);
    }
    if (rc == 0 && (!ret->launch || id > ret->last)) {
        free(ret->launch);
        rc = vel_fail(err, VEL_ENOENT, "nobody has claimed id %" PRId64, id);
    }
    return rc;
}

/* What says whose it is. */
static char *path_of_name(const char *dir, const struct vel_ids_block *block)
{
    struct vel_buf name;
    char *path = NULL;

    vel_buf_init(&name);
    put_name(block->last - block->first + 1, block->is_leaders, block->launch, &name);
    if (vel_buf_status(&name, NULL) == 0)
        path = path_of(dir, block->first, name.data);
    vel_buf_fini(&name);
    return path;
}

bool vel_ids_has(struct vel_fs *fs, const char *dir, const struct vel_ids_block *block)
{
    char *path = path_of_name(dir, block);
    struct stat st;
    bool has = !path || vel_fs_lstat(fs, path, &st, NULL) != VEL_ENOENT;

    free(path);
    return has;
}

int vel_id_launch(struct vel_fs *fs, const char *dir, int64_t id, char **ret_launch,
                  bool *ret_is_leaders, struct vel_err *err)
{
    struct vel_ids_block block;
    int rc = vel_ids_load(fs, dir, id, &block, err);

    if (rc == 0 && ret_is_leaders)
        *ret_is_leaders = block.is_leaders;
    if (rc == 0)
        *ret_launch = block.launch;
    return rc;
}

bool vel_id_is_of_leaders(struct vel_fs *fs, const char *dir, int64_t id)
{
    bool is_leaders = false;
    char *launch = NULL;

    if (vel_id_launch(fs, dir, id, &launch, &is_leaders, NULL) == 0)
        free(launch);
    return is_leaders;
}

int vel_ids_remove(struct vel_fs *fs, const char *dir,
                   const struct vel_ids_block *block, struct vel_err *err)
{
    char *path = path_of(dir, block->first, NULL),
         *name = block->launch ? path_of_name(dir, block) : NULL;
    int rc = 0;

    if (!path || (block->launch && !name))
        rc = vel_out_of_memory(err, "ids");
    else if (name)
        rc = vel_fs_unlink(fs, name, err);
    if (rc == 0) /* not, if somebody has it since */
        fs->ops->rmdir(fs, path);
    free(name);
    free(path);
    return rc;
}
