/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery of a set. All members go through the same steps:
 *
 *   look     each finds its redundancy files; all learn who has which encoding; the
 *            newest one whose losses the scheme bears is taken
 *   brief    lost members get the lists of their files from those who keep them
 *   rebuild  under temporary names
 *   verify   every byte of every member against its checksum; whoever fails counts as
 *            lost, and the attempt starts over without it
 *   settle   to disk, still under temporary names
 *   commit   rename, once all agree
 *
 * A member that is there is read once, for rebuilding and verifying together. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "red/exec.h"
#include "red/recover.h"

enum {
    CANDIDATES_MOST = 16,             /* encodings of one member that are looked at */
    CANDIDATE = VEL_ENCODING_ID + 16, /* id, sequence, scheme, m */
};

/* --- who is lost
 * ------------------------------------------------------------------------------- */

static const struct vel_redfile *find_mine(const struct vel_recover *r,
                                           const struct vel_encoding *e)
{
    for (size_t i = 0; i < r->found->n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(r->found, i);

        if (memcmp(redfile->header.id, e->id, sizeof e->id) == 0 &&
            redfile->header.layout.n == r->n && redfile->header.member == r->me)
            return redfile;
    }
    return NULL;
}

/* Everybody's state: lost or not, and a sentence for those that are. Lost members stay
 * lost. */
static int share_losses(struct vel_recover *r, bool i_am_lost)
{
    char mine[1 + VEL_ERR_TEXT];
    struct vel_buf all;
    size_t *lens = NULL, at = 0;

    mine[0] = i_am_lost ? 'L' : 'P';
    size_t len = i_am_lost ? strlen(r->why.text) : 0;
    memcpy(mine + 1, r->why.text, len);
    vel_buf_init(&all);
    int rc = vel_comm_allgather(r->set->comm, mine, 1 + len, &all, &lens, r->err);
    vel_buf_clear(&r->report.sentences);
    r->report.lost = 0;
    for (size_t i = 0; rc == 0 && i < r->n; at += lens[i++]) {
        r->is_lost[i] = lens[i] > 0 && all.data[at] == 'L';
        if (!r->is_lost[i])
            continue;
        r->report.lost++;
        vel_buf_printf(&r->report.sentences, "member %zu: %.*s\n", i, (int)lens[i] - 1,
                       all.data + at + 1);
    }
    free(lens);
    vel_buf_fini(&all);
    return rc;
}

static int first_state(struct vel_recover *r, const struct vel_encoding *e)
{
    r->why = (struct vel_err){0};
    r->mine = find_mine(r, e);
    if (!r->mine) {
        vel_fail(&r->why, VEL_ENOENT, "%s has no redundancy file %s", r->set->dir,
                 r->found->n ? "of this encoding" : "that can be read");
        return share_losses(r, true);
    }
    int rc =
        vel_redfile_check_files(r->set->fs, r->set->dir, &r->mine->header, &r->why);
    return share_losses(r, rc < 0);
}

/* --- rebuild, verify, commit
 * ----------------------------------------------------------------- */

static void leave_attempt(struct vel_recover *r)
{
    vel_member_close(&r->member);
    vel_restore_close(&r->restore);
    if (r->has_header)
        vel_red_header_fini(&r->header);
    r->has_header = false;
}

static int open_mine(struct vel_recover *r)
{
    const struct vel_red_set *set = r->set;

    if (r->is_lost[r->me])
        return vel_restore_open(&r->restore, set->fs, set->dir, set->label, &r->header,
                                r->err);
    int rc = vel_member_open(&r->member, set->fs, set->dir, r->mine->path,
                             vel_red_header_size(&r->header), &r->header, NULL,
                             VEL_MEMBER_READ, r->err);
    if (rc < 0)
        r->why = *r->err; /* told to all when verifying finds that it is not open */
    return rc;
}

/* *ret_moved: bytes were asked for, so that a failure may be that of a member which
 * verifying finds. */
static int rebuild(struct vel_recover *r, bool *ret_moved)
{
    struct vel_member *member = r->is_lost[r->me] ? &r->restore.member : &r->member;
    size_t memory = r->set->memory ? r->set->memory : VEL_EXEC_MEMORY_DEFAULT;
    struct vel_plan plan;
    int rc = vel_plan_rebuild(&r->header.layout, r->is_lost, &plan, r->err);
    bool is_planned = rc == 0;

    rc = vel_comm_agree(r->set->comm, rc, r->err);
    *ret_moved = rc == 0;
    if (rc == 0)
        rc = vel_exec_comm(&r->header.layout, &plan, member, r->set->comm, memory,
                           open_mine(r), r->err);
    if (is_planned)
        vel_plan_fini(&plan);
    return rc;
}

/* Who is there reads what the rebuild did not need, and is compared with its checksums.
 * *ret_more: somebody failed that test and is lost now, so all was in vain. */
static int verify(struct vel_recover *r, int built, bool *ret_more)
{
    size_t before = r->report.lost;
    bool was_lost = r->is_lost[r->me], is_lost = was_lost;
    int rc = 0;

    if (!was_lost && !r->member.fs) {
        is_lost = true; /* it could not even be opened; open_mine has told why */
    } else if (!was_lost) {
        r->why = (struct vel_err){0};
        rc = vel_member_read_rest(&r->member, &r->why);
        if (rc == 0)
            rc = vel_member_check_crcs(&r->member, &r->header, &r->why);
        is_lost = rc < 0;
    }
    rc = share_losses(r, is_lost);
    *ret_more = rc == 0 && r->report.lost > before;
    if (rc < 0 || *ret_more || built < 0)
        return rc;
    if (was_lost)
        rc = vel_restore_check(&r->restore, r->err);
    return vel_comm_agree(r->set->comm, rc, r->err);
}

static int settle(struct vel_recover *r)
{
    int rc = 0;

    if (r->is_lost[r->me])
        rc = vel_restore_settle(&r->restore, r->err);
    return vel_comm_agree(r->set->comm, rc, r->err);
}

int vel_recover_commit(struct vel_recover *r)
{
    int rc = 0;

    if (r->is_lost[r->me])
        rc = vel_restore_commit(&r->restore, r->err);
    rc = vel_comm_agree(r->set->comm, rc, r->err);
    for (size_t i = 0; rc == 0 && !r->set->id && i < r->found->n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(r->found, i);

        /* other encodings protect files as they no longer are */
        if (memcmp(redfile->header.id, r->header.id, sizeof r->header.id) != 0)
            vel_fs_unlink(r->set->fs, redfile->path, NULL);
    }
    return rc;
}

/* the sentence of vel_plan_check, and why each member counts as lost */
static int unbearable(struct vel_recover *r)
{
    struct vel_err check = *r->err;
    struct vel_buf reasons;
    int rc;

    vel_buf_init(&reasons);
    for (const char *c = vel_buf_text(&r->report.sentences); *c; c++)
        if (*c != '\n')
            vel_buf_putc(&reasons, *c);
        else if (c[1])
            vel_buf_puts(&reasons, "; ");
    rc = vel_fail(r->err, VEL_EINVAL, "%s (%s)", check.text, vel_buf_text(&reasons));
    vel_buf_fini(&reasons);
    return rc;
}

int vel_recover_prepare(struct vel_recover *r, const struct vel_encoding *e)
{
    const struct vel_layout shape = {
        .scheme = (enum vel_scheme)e->scheme, .n = r->n, .m = e->m};
    bool more = true;
    int rc = first_state(r, e);

    while (rc == 0 && more) {
        rc = vel_plan_check(&shape, r->is_lost, r->err);
        if (rc < 0) {
            rc = unbearable(r);
            break;
        }
        rc = vel_recover_brief(r);
        if (rc < 0)
            break;
        struct vel_err why = {0};
        struct vel_err *err = r->err;
        r->err = &why;
        bool is_moved;
        int built = rebuild(r, &is_moved);
        r->err = err;
        /* whoever could not be read is found by verifying, and is lost in the next
         * round */
        more = false;
        if (is_moved)
            rc = verify(r, built, &more);
        if (rc == 0 && !more)
            rc = built < 0 ? vel_fail(err, why.status, "%s", why.text) : settle(r);
        if (more)
            leave_attempt(r);
    }
    if (rc < 0)
        leave_attempt(r);
    return rc;
}

void vel_red_report_fini(struct vel_red_report *report)
{
    vel_buf_fini(&report->sentences);
}

int vel_recover_begin(const struct vel_red_set *set, const struct vel_vec *found,
                      struct vel_recover **ret_recover, struct vel_err *err)
{
    struct vel_recover *r = calloc(1, sizeof *r);
    int rc = vel_comm_agree(set->comm,
                            r ? 0 : vel_out_of_memory(err, "recovering files"), err);

    if (rc < 0) {
        free(r);
        return rc;
    }
    *r = (struct vel_recover){.set = set,
                              .n = (size_t)set->comm->size,
                              .me = (size_t)set->comm->rank,
                              .found = found,
                              .err = err};
    vel_buf_init(&r->report.sentences);
    *ret_recover = r;
    return 0;
}

void vel_recover_end(struct vel_recover *r, struct vel_red_report *ret_report)
{
    if (!r)
        return;
    leave_attempt(r);
    if (ret_report)
        *ret_report = r->report;
    else
        vel_red_report_fini(&r->report);
    free(r);
}

/* --- a set by itself
 * ---------------------------------------------------------------------------- */

static int newest_first(const void *a, const void *b)
{
    const struct vel_encoding *x = a, *y = b;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? 1 : -1;
    return memcmp(x->id, y->id, sizeof x->id);
}

static int add_encodings(struct vel_vec *encodings, const struct vel_buf *all,
                         struct vel_err *err)
{
    struct vel_le_reader reader;

    vel_le_read_init(&reader, all->data, all->len);
    while (reader.left >= CANDIDATE) {
        struct vel_encoding e;
        bool is_known = false;

        memcpy(e.id, vel_le_get_bytes(&reader, sizeof e.id), sizeof e.id);
        e.sequence = vel_le_get64(&reader);
        e.scheme = vel_le_get32(&reader);
        e.m = vel_le_get32(&reader);
        for (size_t i = 0; i < encodings->n && !is_known; i++)
            is_known = memcmp(vel_vec_at(encodings, i), e.id, sizeof e.id) == 0;
        if (!is_known && !vel_vec_push(encodings, &e))
            return vel_out_of_memory(err, "looking for redundancy files");
    }
    vel_vec_sort(encodings, newest_first);
    return 0;
}

/* this member's redundancy files, and the encodings that any member has, newest first
 */
static int look(const struct vel_red_set *set, struct vel_vec *found,
                struct vel_vec *encodings, struct vel_err *err)
{
    uint8_t mine[CANDIDATES_MOST * CANDIDATE];
    struct vel_le_writer w;
    struct vel_buf all;
    size_t *lens = NULL;
    int rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, found, err);

    if (rc < 0)
        vel_vec_init(found, sizeof(struct vel_redfile));
    rc = vel_comm_agree(set->comm, rc, err);
    if (rc < 0)
        return rc;
    vel_le_write_init(&w, mine, sizeof mine);
    for (size_t i = 0; i < found->n && w.left >= CANDIDATE; i++) {
        const struct vel_red_header *h = &vel_redfile_at(found, i)->header;

        if (set->id && memcmp(h->id, set->id, sizeof h->id) != 0)
            continue;
        if (h->layout.n != (size_t)set->comm->size ||
            h->member != (uint32_t)set->comm->rank)
            continue; /* of another set, brought here with the files of another run */
        vel_le_put_bytes(&w, h->id, sizeof h->id);
        vel_le_put64(&w, h->sequence);
        vel_le_put32(&w, h->layout.scheme);
        vel_le_put32(&w, (uint32_t)h->layout.m);
    }
    vel_buf_init(&all);
    rc = vel_comm_allgather(set->comm, mine, sizeof mine - w.left, &all, &lens, err);
    if (rc == 0)
        rc = add_encodings(encodings, &all, err);
    free(lens);
    vel_buf_fini(&all);
    rc = vel_comm_agree(set->comm, rc, err);
    if (rc == 0 && encodings->n == 0)
        rc = vel_fail(err, VEL_ENOENT, "no member has a redundancy file named %s.*",
                      set->label);
    return rc;
}

static int try_all(struct vel_recover *r, const struct vel_vec *encodings)
{
    struct vel_err newest = {0}, why = {0};
    struct vel_err *err = r->err;
    int rc = 0;

    for (size_t i = 0; i < encodings->n; i++) {
        why = (struct vel_err){0};
        r->err = &why;
        rc = vel_recover_prepare(r, vel_vec_at(encodings, i));
        if (rc == 0)
            rc = vel_recover_commit(r);
        if (i == 0)
            newest = why;
        if (rc != VEL_EINVAL)
            break; /* it went well, or the communicator or a disk did not */
    }
    r->err = err;
    if (rc < 0 && err)
        *err = rc == VEL_EINVAL ? newest : why;
    return rc;
}

int vel_red_recover(const struct vel_red_set *set, struct vel_red_report *ret_report,
                    struct vel_err *err)
{
    struct vel_recover *r = NULL;
    struct vel_vec found, encodings;

    vel_vec_init(&encodings, sizeof(struct vel_encoding));
    int rc = look(set, &found, &encodings, err);
    if (rc == 0)
        rc = vel_recover_begin(set, &found, &r, err);
    if (rc == 0)
        rc = try_all(r, &encodings);
    vel_recover_end(r, rc == 0 ? ret_report : NULL);
    vel_redfiles_fini(&found);
    vel_vec_fini(&encodings);
    return rc < 0 ? vel_wrap(err, rc, "recovering the files in %s", set->dir) : 0;
}
