/* SPDX-License-Identifier: BSD-3-Clause */
/* What is compared is bytes with bytes, of files whose checksums are those that the
 * older encoding has recorded, and so are its redundancy's: else a byte that has rotted
 * since would become a difference that never was. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "red/older.h"

enum { CHUNK = 1 << 20 };

/* --- what there is --- */

void vel_older_none(int64_t words[VEL_OLDER_WORDS])
{
    for (int i = 0; i < VEL_OLDER_WORDS; i++)
        words[i] = INT64_MIN;
}

bool vel_older_is_none(const int64_t words[VEL_OLDER_WORDS])
{
    int64_t none[VEL_OLDER_WORDS];

    vel_older_none(none);
    return memcmp(words, none, sizeof none) == 0;
}

/* Of the encodings in a directory the newest by this set's scheme, of as many bytes. */
static bool fits(const struct vel_red_set *set, const struct vel_manifest *own,
                 const struct vel_red_header *h)
{
    size_t n = (size_t)set->comm->size, me = (size_t)set->comm->rank;

    return h->layout.scheme == set->scheme && h->layout.n == n &&
           h->layout.m == set->m && h->member == me && h->set == set->set &&
           h->layout.lofi_size[me] == own->total;
}

static void find_in(struct vel_older *o, const char *dir,
                    const struct vel_manifest *own)
{
    const struct vel_red_set *set = o->set;
    struct vel_vec all;

    if (vel_redfile_scan(set->fs, dir, set->label, set->rank, &all, NULL) < 0)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (fits(set, own, &vel_redfile_at(&all, i)->header) &&
            vel_vec_push(&o->found, vel_redfile_at(&all, i))) {
            vel_vec_remove(&all, i); /* the other list's now */
            break;
        }
    vel_redfiles_fini(&all);
}

void vel_older_init(struct vel_older *older, const struct vel_red_set *set,
                    const struct vel_manifest *own, int64_t ret_words[VEL_OLDER_WORDS])
{
    older->set = set;
    vel_vec_init(&older->found, sizeof(struct vel_redfile));
    vel_older_none(ret_words);
    if (set->scheme == VEL_SINGLE)
        return;
    for (size_t i = 0; set->older && set->older[i]; i++)
        find_in(older, set->older[i], own);
    if (older->found.n > 0 && own->total > 0)
        memcpy(ret_words, vel_redfile_at(&older->found, 0)->header.id, VEL_ENCODING_ID);
}

void vel_older_fini(struct vel_older *older)
{
    vel_member_close(&older->member);
    vel_changes_fini(&older->changes);
    vel_redfiles_fini(&older->found);
}

static bool is_same_layout(const struct vel_layout *a, const struct vel_layout *b)
{
    return a->scheme == b->scheme && a->n == b->n && a->m == b->m &&
           a->block == b->block &&
           memcmp(a->lofi_size, b->lofi_size, a->n * sizeof *a->lofi_size) == 0;
}

static bool choose(struct vel_older *o, const int64_t words[VEL_OLDER_WORDS],
                   const struct vel_red_header *header)
{
    for (size_t i = 0; !o->chosen && i < o->found.n; i++) {
        const struct vel_redfile *f = vel_redfile_at(&o->found, i);

        if (memcmp(f->header.id, words, VEL_ENCODING_ID) == 0 &&
            is_same_layout(&f->header.layout, &header->layout))
            o->chosen = f;
    }
    return o->chosen != NULL;
}

/* --- what differs --- */

static char *dir_of(const struct vel_redfile *redfile)
{
    return vel_path_dir(redfile->path);
}

static int open_older(struct vel_older *o, struct vel_err *err)
{
    const struct vel_red_header *h = &o->chosen->header;
    char *dir = dir_of(o->chosen);
    int rc =
        dir ? vel_member_open(&o->member, o->set->fs, dir, o->chosen->path,
                              vel_red_header_size(h), h, NULL, VEL_MEMBER_READ, err)
            : vel_out_of_memory(err, "comparing with an older encoding");

    free(dir);
    return rc;
}

/* Blocks of a chunk, of which every one begins a bit or lies in that of the one before.
 * Returns the bytes of those that differ. */
static uint64_t mark_chunk(struct vel_older *o, size_t me, uint64_t at,
                           const uint8_t *now, const uint8_t *then, size_t len)
{
    uint64_t changed = 0;

    for (size_t i = 0, n; i < len; i += n) {
        n = len - i < VEL_CHANGES_BLOCK ? len - i : VEL_CHANGES_BLOCK;
        if (memcmp(now + i, then + i, n) == 0)
            continue;
        vel_changes_mark(&o->changes, me, at + i);
        changed += n;
    }
    return changed;
}

/* VEL_EUNSUP: too much differs. When all does, that is seen after a quarter. */
static int compare_files(struct vel_older *o, struct vel_member *member, size_t me,
                         uint64_t size, uint8_t *buffer, struct vel_err *err)
{
    uint64_t changed = 0;
    int rc = 0;

    for (uint64_t at = 0; rc == 0 && at < size; at += CHUNK) {
        size_t len = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

        rc = vel_member_read(member, VEL_REGION_LOFI, at, buffer, len, err);
        if (rc == 0)
            rc = vel_member_read(&o->member, VEL_REGION_LOFI, at, buffer + CHUNK, len,
                                 err);
        if (rc == 0)
            changed += mark_chunk(o, me, at, buffer, buffer + CHUNK, len);
        if (rc == 0 && 2 * changed > at + len + size / 4)
            rc = vel_fail(err, VEL_EUNSUP, "too much has changed");
    }
    return rc;
}

static int compare(struct vel_older *o, const struct vel_red_header *header,
                   struct vel_member *member, struct vel_err *err)
{
    size_t me = header->member;
    uint8_t *buffer = malloc(2 * CHUNK);
    int rc = buffer ? open_older(o, err) : vel_out_of_memory(err, "comparing files");

    if (rc == 0)
        rc = compare_files(o, member, me, header->layout.lofi_size[me], buffer, err);
    if (rc == 0)
        rc = vel_member_check_files(&o->member, &o->chosen->header, err);
    if (rc == 0)
        rc = vel_member_differ(member, &o->member, &o->chosen->header, err);
    free(buffer);
    return rc;
}

/* --- all of them --- */

/* A member that can take part sends a 1 and its bits. */
static int tell(struct vel_older *o, const struct vel_layout *layout, bool can,
                struct vel_buf *ret, size_t **ret_lens)
{
    const struct vel_comm *comm = o->set->comm;
    size_t me = (size_t)comm->rank;
    struct vel_buf mine;
    int rc;

    vel_buf_init(&mine);
    if (can) {
        vel_buf_append(&mine, "\1", 1);
        vel_buf_append(&mine, o->changes.bits[me],
                       vel_changes_bytes(&o->changes, layout, me));
        if (vel_buf_status(&mine, NULL) < 0)
            vel_buf_clear(&mine);
    }
    rc = vel_comm_allgather(o->set->comm, mine.data, mine.len, ret, ret_lens, NULL);
    vel_buf_fini(&mine);
    return rc;
}

/* Other members' words are input. */
static bool take(struct vel_older *o, const struct vel_layout *layout,
                 const struct vel_buf *all, const size_t *lens, bool has_room)
{
    const char *at = all->data;
    bool can = true;

    for (size_t i = 0; i < layout->n; at += lens[i], i++) {
        size_t bytes = has_room ? vel_changes_bytes(&o->changes, layout, i) : 0;

        can = can && has_room && lens[i] == 1 + bytes && at[0] == 1;
        if (can && bytes > 0)
            memcpy(o->changes.bits[i], at + 1, bytes);
    }
    return can;
}

bool vel_older_agree(struct vel_older *older, const int64_t words[VEL_OLDER_WORDS],
                     const struct vel_red_header *header, struct vel_member *member)
{
    const struct vel_layout *layout = &header->layout;
    struct vel_err why = {0};
    struct vel_buf all;
    size_t *lens = NULL;
    bool has_room = vel_changes_init(&older->changes, layout, NULL) == 0;
    bool can = has_room && member && choose(older, words, header);

    if (can && compare(older, header, member, &why) < 0) {
        vel_log(VEL_LOG_DEBUG, "%s is no beginning for the next encoding: %s",
                older->chosen->path, why.text);
        can = false;
    }
    vel_buf_init(&all);
    can = tell(older, layout, can, &all, &lens) == 0 &&
          take(older, layout, &all, lens, has_room);
    free(lens);
    vel_buf_fini(&all);
    if (!can && member)
        vel_member_restart(member);
    return can;
}

struct vel_red_saved vel_older_saved(const struct vel_older *older,
                                     const struct vel_layout *layout,
                                     const struct vel_member *member)
{
    struct vel_red_saved saved = {.computed = vel_crcmap_passed(&member->payload_crc)};
    uint64_t block = older->changes.block;
    size_t me = (size_t)older->set->comm->rank;

    if (!member->older)
        return saved;
    saved.compared = layout->lofi_size[me];
    for (uint64_t at = 0; at < saved.compared; at += block)
        if (!vel_changes_has(&older->changes, layout, me, at, block))
            saved.same += saved.compared - at < block ? saved.compared - at : block;
    saved.copied = member->payload_size - saved.computed;
    return saved;
}
