/* SPDX-License-Identifier: BSD-3-Clause */
/* What a prefix says of one dataset. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "meta/ids.h"
#include "meta/index_in.h"

static int by_first(const void *a, const void *b)
{
    int64_t x = ((const struct vel_ids_block *)a)->first,
            y = ((const struct vel_ids_block *)b)->first;

    return (x > y) - (x < y);
}

/* A block goes, and its ids may be claimed anew. */
static bool is_there(const struct vel_index *index, const struct vel_index_half *half,
                     struct vel_ids_block *block)
{
    bool is_still = vel_index_is_still(half);

    if (is_still && block->looked == half->stills)
        return true;
    block->looked = is_still ? half->stills : 0;
    return vel_ids_has(index->fs, index->dir, block);
}

static bool is_known(struct vel_index *index, struct vel_index_half *half, int64_t id,
                     const struct vel_ids_block **ret)
{
    struct vel_ids_block *block;
    size_t at;

    *ret = vel_ids_find(&half->blocks, id);
    if (!*ret)
        return false;
    at = (size_t)(*ret - (const struct vel_ids_block *)half->blocks.items);
    block = vel_vec_at(&half->blocks, at);
    if (is_there(index, half, block))
        return true;
    free(block->launch);
    vel_vec_remove(&half->blocks, at);
    return false;
}

static int find_block(struct vel_index *index, struct vel_index_half *half, int64_t id,
                      const struct vel_ids_block **ret, struct vel_err *err)
{
    struct vel_ids_block block;
    bool is_there;
    size_t at;
    int rc;

    if (is_known(index, half, id, ret))
        return 0;
    rc = vel_ids_load(index->fs, index->dir, id, &block, err);
    if (rc < 0)
        return rc;
    at = vel_vec_place(&half->blocks, &block, by_first, &is_there);
    if (!vel_vec_insert(&half->blocks, at, &block)) {
        free(block.launch);
        return vel_out_of_memory(err, "the index");
    }
    *ret = vel_vec_at(&half->blocks, at);
    return 0;
}

int vel_index_maker(struct vel_index *index, int64_t id, char **ret_launch,
                    bool *ret_is_leaders, struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    const struct vel_ids_block *block;
    int rc = find_block(index, half, id, &block, err);

    *ret_launch = rc == 0 ? strdup(block->launch) : NULL;
    if (rc == 0 && !*ret_launch)
        rc = vel_out_of_memory(err, "the index");
    if (rc == 0 && ret_is_leaders)
        *ret_is_leaders = block->is_leaders;
    vel_index_unlock_half(half);
    return rc;
}

static int said_once(struct vel_index *index, struct vel_index_half *half,
                     const char *launch, int64_t id, struct vel_index_word *ret,
                     struct vel_err *err)
{
    const struct vel_index_spot *spot;
    struct vel_index_launch *of;
    int rc = vel_index_read_launch(index, half, launch, &of, err);

    if (rc < 0)
        return rc;
    spot = vel_index_find_spot(of, id);
    ret->is_gone = vel_ranges_has(&of->gone, id);
    ret->has_said = spot && !spot->is_doubtful;
    ret->is_doubtful = of->is_doubtful;
    rc = ret->has_said ? vel_index_load_spot(of, spot, &ret->said, err) : 0;
    if (rc == VEL_EBUSY)
        of->looked = 0;
    return rc;
}

/* Of leaders nothing is needed any more when the directory of their launch is removed,
 * nor of anybody when the block is. */
static bool is_gone_with_launch(struct vel_index *index, int64_t id)
{
    bool is_leaders = false;
    char *launch = NULL;
    int rc = vel_id_launch(index->fs, index->dir, id, &launch, &is_leaders, NULL);

    if (rc == 0)
        free(launch);
    return rc == VEL_ENOENT || is_leaders;
}

int vel_index_said(struct vel_index *index, const char *launch, int64_t id,
                   struct vel_index_word *ret, struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    struct vel_err why = {0};
    int rc = VEL_EBUSY;

    *ret = (struct vel_index_word){.has_said = false};
    for (int round = 0; rc == VEL_EBUSY && round < VEL_INDEX_ROUNDS; round++)
        rc = said_once(index, half, launch, id, ret, &why);
    vel_index_unlock_half(half);
    ret->has_said = ret->has_said && rc == 0;
    if (rc == VEL_ENOENT)
        ret->is_gone = is_gone_with_launch(index, id);
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

/* Of what is known. VEL_ENOENT also of what is gone. */
static int load_said(struct vel_index *index, int64_t id, struct vel_index_word *ret,
                     struct vel_err *err)
{
    char *launch;
    int rc = vel_index_maker(index, id, &launch, NULL, err);

    *ret = (struct vel_index_word){.has_said = false};
    if (rc < 0)
        return rc;
    rc = vel_index_said(index, launch, id, ret, err);
    if (rc == 0 && !ret->has_said && !ret->is_gone && ret->is_doubtful)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "the ledger of launch %s is damaged: lines of it cannot be read",
                      launch);
    else if (rc == 0 && (!ret->has_said || ret->is_gone))
        rc = vel_fail(err, VEL_ENOENT, "nothing is known of dataset %" PRId64, id);
    if (rc < 0)
        vel_said_fini(&ret->said);
    free(launch);
    return rc;
}

int vel_said_decode(const struct vel_said *said, struct vel_entry *ret,
                    struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_entry_decode(said->text, strlen(said->text), ret, &why);

    if (rc == 0 && ret->dataset.id != said->id) {
        vel_entry_fini(ret);
        rc = vel_fail(&why, VEL_ECORRUPT, "it is that of another");
    }
    return rc < 0 ? vel_fail(err, (enum vel_status)rc,
                             "the entry of dataset %" PRId64 ": %s", said->id, why.text)
                  : 0;
}

int vel_entry_load(struct vel_index *index, int64_t id, struct vel_entry *ret,
                   struct vel_err *err)
{
    struct vel_index_word word;
    int rc = load_said(index, id, &word, err);

    if (rc < 0)
        return rc;
    rc = *word.said.text
             ? vel_said_decode(&word.said, ret, err)
             : vel_fail(err, VEL_ENOENT, "nothing is known of dataset %" PRId64, id);
    vel_said_fini(&word.said);
    return rc;
}

int vel_index_where(struct vel_index *index, int64_t id, struct vel_index_where *ret,
                    struct vel_err *err)
{
    struct vel_entry entry;
    int rc = vel_entry_load(index, id, &entry, err);

    if (rc < 0)
        return rc;
    *ret = (struct vel_index_where){.place = entry.place,
                                    .is_replaced = entry.replaced > 0,
                                    .is_fetchable = vel_entry_is_fetchable(&entry),
                                    .is_encoded = entry.is_encoded};
    vel_entry_fini(&entry);
    return 0;
}

/* VEL_ENOENT: it has none. */
static int load_list(struct vel_index *index, int64_t id, int list, struct vel_vec *ret,
                     enum vel_place_on_prefix *ret_place, struct vel_err *err)
{
    struct vel_index_word word;
    struct vel_entry entry;
    int rc = load_said(index, id, &word, err);

    if (rc < 0)
        return rc;
    rc = vel_entry_decode_list(word.said.text, list, ret, err);
    if (rc == 0 && (rc = vel_said_decode(&word.said, &entry, err)) < 0) {
        vel_filelist_fini(ret);
    } else if (rc == 0) {
        *ret_place = entry.place;
        vel_entry_fini(&entry);
    }
    vel_said_fini(&word.said);
    return rc;
}

int vel_index_told_files(struct vel_index *index, int64_t id, int list,
                         struct vel_vec *ret)
{
    enum vel_place_on_prefix place;

    return load_list(index, id, list, ret, &place, NULL);
}

bool vel_index_has_list(struct vel_index *index, int64_t id, int list)
{
    struct vel_vec files;
    int rc = vel_index_told_files(index, id, list, &files);

    if (rc == 0)
        vel_filelist_fini(&files);
    return rc == 0;
}

static bool are_same_but_names(const struct vel_listed *a, const struct vel_listed *b)
{
    return a->rank == b->rank && a->size == b->size && a->mtime_s == b->mtime_s &&
           a->mtime_ns == b->mtime_ns && a->container == b->container &&
           a->offset == b->offset && a->crc == b->crc && a->is_patch == b->is_patch;
}

/* Are files those that were staged, of which some may have other names, and some were
 * left out? */
static bool are_of(const struct vel_vec *files, const struct vel_vec *staged)
{
    size_t n = 0;

    for (size_t i = 0; n < files->n && i < staged->n; i++)
        n += are_same_but_names(vel_vec_at(files, n), vel_vec_at(staged, i));
    return n == files->n;
}

/* Is a record newer than what the entry has? While files are copied that is of
 * a flush before; and when they get their names the record tells them, unless it is an
 * older one, that has come back with a loss of power. */
static bool is_newer(const struct vel_vec *record, const struct vel_vec *staged,
                     enum vel_place_on_prefix place)
{
    return place == VEL_ON_FLUSHING || are_of(record, staged);
}

int vel_index_files(struct vel_index *index, int64_t id, int list, struct vel_vec *ret,
                    struct vel_err *err)
{
    enum vel_place_on_prefix place = VEL_ON_CACHE;
    struct vel_err of_entry = {0}, of_record = {0};
    struct vel_vec record;
    int rc = load_list(index, id, list, ret, &place, &of_entry), got;

    if (rc == 0 && place == VEL_ON_PREFIX)
        return 0;
    if (rc < 0 && rc != VEL_ENOENT && rc != VEL_ECORRUPT)
        return vel_fail(err, (enum vel_status)rc, "%s", of_entry.text);
    if (rc < 0)
        vel_vec_init(ret, sizeof(struct vel_listed));
    got = vel_filelist_load(index->fs, index->dir, id, list, &record, &of_record);
    if (got == 0) {
        struct vel_vec entrys = *ret;
        bool is = rc < 0 || is_newer(&record, ret, place);

        *ret = is ? record : entrys;
        vel_filelist_fini(is ? &entrys : &record);
    } else if (rc == 0 && got != VEL_ENOENT && got != VEL_ECORRUPT) {
        vel_filelist_fini(ret);
        return vel_fail(err, (enum vel_status)got, "%s", of_record.text);
    } else if (rc == VEL_ECORRUPT && got == VEL_ENOENT) {
        return vel_fail(err, VEL_ECORRUPT, "%s", of_entry.text);
    } else if (rc < 0) {
        return vel_fail(err, (enum vel_status)got, "%s", of_record.text);
    }
    return 0;
}

int vel_index_each_file(struct vel_index *index, const struct vel_entry *entry,
                        vel_index_files_f *each, void *arg)
{
    int rc = 0;

    for (int l = 0; rc == 0 && l < entry->lists; l++) {
        struct vel_vec files;

        if (vel_index_files(index, entry->dataset.id, l, &files, NULL) < 0)
            continue;
        for (size_t i = 0; rc == 0 && i < files.n; i++)
            rc = each(arg, vel_vec_at(&files, i));
        vel_filelist_fini(&files);
    }
    return rc;
}

bool vel_index_is_gone(struct vel_index *index, int64_t id)
{
    struct vel_index_word word;
    char *launch = NULL;
    bool is = false;
    int rc = vel_index_maker(index, id, &launch, NULL, NULL);

    if (rc == VEL_ENOENT)
        return true;
    if (rc == 0 && vel_index_said(index, launch, id, &word, NULL) == 0) {
        is = word.is_gone;
        vel_said_fini(&word.said);
    }
    free(launch);
    return is;
}

/* Whoever leads a launch knows what it has said itself. */
static bool is_own(struct vel_index *index, int64_t id)
{
    char *launch = NULL;
    bool is = index->launch && vel_index_maker(index, id, &launch, NULL, NULL) == 0 &&
              strcmp(launch, index->launch) == 0;

    free(launch);
    return is;
}

/* The directory is listed, marked or not: a client of NFS may be told late that it has
 * changed, and who asks is about to act. */
void vel_index_look_anew(struct vel_index *index, const char *launch)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    struct vel_index_launch *of = vel_map_get(half->launches, launch);

    if (of)
        of->looked = 0;
    if (of && of->is_past && !vel_follow_is_last(&of->follow))
        vel_index_forget_said(of);
    vel_index_unlock_half(half);
}

int vel_index_owner(struct vel_index *index, int64_t id, int64_t *ret_owner,
                    char **ret_launch, struct vel_err *err)
{
    struct vel_index_word word;
    struct vel_err why = {0};
    char *launch = NULL;
    int rc = vel_index_maker(index, id, &launch, NULL, err);

    if (rc < 0)
        return rc;
    vel_index_look_anew(index, launch);
    rc = load_said(index, id, &word, &why);
    if (rc < 0 && word.is_gone)
        rc = vel_fail(err, VEL_ENOENT, "dataset %" PRId64 " is gone", id);
    else if (rc < 0 && rc != VEL_ENOENT && !(rc == VEL_ECORRUPT && is_own(index, id)))
        rc = vel_fail(err, (enum vel_status)rc, "%s", why.text);
    else
        rc = 0;
    if (rc == 0)
        *ret_owner = word.said.owner > 1 ? word.said.owner : 1;
    if (rc == 0 && ret_launch) {
        char **of = word.said.owner > 1 ? &word.said.launch : &launch;

        *ret_launch = *of;
        *of = NULL;
    }
    free(launch);
    vel_said_fini(&word.said);
    return rc;
}

/* Of a launch whose ledger nobody can read all of the last block. */
int vel_index_last(struct vel_index *index, int64_t *ret_id, struct vel_err *err)
{
    struct vel_index_half *half;
    struct vel_index_launch *of;
    struct vel_ids_block block;
    struct vel_err why = {0};
    int rc = vel_ids_last(index->fs, index->dir, &block, &why);

    *ret_id = 0;
    if (rc == 0) {
        half = vel_index_lock_half(index);
        rc = vel_index_read_launch(index, half, block.launch, &of, &why);
        *ret_id = rc == VEL_ECORRUPT                   ? block.last
                  : rc == 0 && of->last >= block.first ? of->last
                                                       : block.first - 1;
        vel_index_unlock_half(half);
        free(block.launch);
    }
    return rc < 0 && rc != VEL_ENOENT && rc != VEL_ECORRUPT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}
