/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer's side: nothing is on disk before something has to be undone. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "log/journal_in.h"
#include "sys/entropy.h"
#include "sys/pages.h"

#define TWO_WRITERS "another process has it open to be written, too"

enum { FAILED_MOST = 16 };

struct range {
    uint64_t from, to;
};

struct vel_journal {
    struct vel_journal_of of; /* dir and path: our own */
    struct vel_vec saved;     /* struct range, by place, apart from each other */
    struct vel_vec failed;    /* struct range, of metadata */
    bool has_many_failed;
    bool is_given_up, is_ended;
    bool knows_size; /* of the file, which only we change */
    bool keeps_tail; /* of the last change */
    char *name;
    int fd;                                 /* -1: it has no entry yet */
    struct vel_journal_head head;           /* as it stands there */
    volatile struct vel_journal_head *page; /* the same as memory, where it may be */
    char *piece;                            /* an entry, and what is compared with it */
    size_t room;                            /* in it */
};

int vel_journal_create(const struct vel_journal_of *of, struct vel_journal **ret,
                       struct vel_err *err)
{
    struct vel_journal *j = calloc(1, sizeof *j);
    struct stat st = {0};
    int rc = 0;

    if (!j)
        return vel_out_of_memory(err, "a journal");
    *j = (struct vel_journal){.of = *of, .fd = -1};
    memcpy(j->head.magic, VEL_JOURNAL_MAGIC, sizeof j->head.magic);
    vel_vec_init(&j->saved, sizeof(struct range));
    vel_vec_init(&j->failed, sizeof(struct range));
    j->of.path = strdup(of->path);
    j->of.dir = strdup(of->dir);
    if (!j->of.path || !j->of.dir)
        rc = vel_out_of_memory(err, "a journal");
    if (rc == 0)
        rc = vel_fs_stat(of->fs, of->fd, of->path, &st, err);
    j->head.writer = (uint64_t)getpid();
    j->head.device = (uint64_t)st.st_dev;
    j->head.inode = (uint64_t)st.st_ino;
    if (rc == 0 && !(j->name = vel_journal_name(of->dir, &st)))
        rc = vel_out_of_memory(err, "a journal");
    if (rc == 0)
        *ret = j;
    else
        vel_journal_destroy(j);
    return rc;
}

void vel_journal_tell_none(const char *path, const char *why)
{
    vel_log(VEL_LOG_INFO,
            "%s is not brought back to its newest H5Fflush if this process is killed: "
            "%s",
            path, why);
}

static void close_file(struct vel_journal *j)
{
    vel_pages_free((void *)j->page, VEL_JOURNAL_PAGE);
    vel_fs_close(j->of.fs, j->fd, j->name, NULL);
    j->page = NULL;
    j->fd = -1;
}

void vel_journal_give_up(struct vel_journal *j, const char *why)
{
    if (j->is_given_up)
        return;
    j->is_given_up = true;
    vel_journal_tell_none(j->of.path, why);
    if (j->fd >= 0 && vel_journal_is_named(j->of.fs, j->fd, j->name))
        vel_fs_unlink(j->of.fs, j->name, NULL);
    close_file(j);
}

/* --- its file --- */

/* What does not change from one entry to the next, and all behind it. */
static int write_head(struct vel_journal *j, int fd, const char *name,
                      struct vel_err *err)
{
    j->head.crc = vel_journal_head_crc(&j->head);
    return vel_fs_write_at(j->of.fs, fd, &j->head, sizeof j->head, 0, name, err);
}

static int write_page(struct vel_journal *j, int fd, const char *name,
                      struct vel_err *err)
{
    char page[VEL_JOURNAL_PAGE] = {0};
    int rc = vel_host_boot(j->of.fs, j->head.boot, err);

    j->head.crc = vel_journal_head_crc(&j->head);
    memcpy(page, &j->head, sizeof j->head);
    strncpy(page + VEL_JOURNAL_AT_PATH, j->of.path, VEL_JOURNAL_PATH - 1);
    return rc < 0 ? rc : vel_fs_write_at(j->of.fs, fd, page, sizeof page, 0, name, err);
}

/* VEL_EEXIST: there is another one. */
static int begin(struct vel_journal *j, struct vel_err *err)
{
    struct vel_fs *fs = j->of.fs;
    struct vel_buf draft;
    uint64_t number;
    int fd = -1;
    int rc = vel_entropy(&number, sizeof number, err);

    vel_buf_init(&draft);
    vel_buf_printf(&draft, "%s.%" PRIx64, j->name, number);
    j->head.end = VEL_JOURNAL_PAGE;
    if (rc == 0)
        rc = vel_buf_status(&draft, err);
    if (rc == 0)
        rc = vel_fs_open(fs, draft.data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                         &fd, err);
    if (fd >= 0 && fs->ops->flock(fs, fd, LOCK_EX | LOCK_NB) < 0)
        rc = vel_fail(err, VEL_EUNSUP, "%s cannot be locked", draft.data);
    if (rc == 0)
        rc = write_page(j, fd, draft.data, err);
    if (rc == 0)
        rc = vel_fs_link(fs, draft.data, j->name, err);
    if (fd >= 0)
        vel_fs_unlink(fs, draft.data, NULL);
    if (rc < 0) {
        vel_fs_close(fs, fd, draft.data, NULL);
    } else {
        j->fd = fd;
        if (j->of.may_map)
            j->page = vel_pages_map(fd, VEL_JOURNAL_PAGE);
        j->keeps_tail = !vel_fs_is_local(j->of.path);
    }
    vel_buf_fini(&draft);
    return rc;
}

/* Another writer of the file, or one that died and was not looked for: nobody can tell
 * who wrote what since. */
static int begin_alone(struct vel_journal *j, struct vel_err *err)
{
    int rc = begin(j, err);

    if (rc != VEL_EEXIST)
        return rc;
    vel_fs_unlink(j->of.fs, j->name, NULL);
    return vel_fail(err, VEL_EEXIST, TWO_WRITERS);
}

/* Killed between two stores it tells of the file as it is, too (doc/format-journal.txt,
 * 4): `start` is the last. */
static int write_state(struct vel_journal *j, struct vel_err *err)
{
    if (j->page) {
        j->page->state.next_size = j->head.state.next_size;
        j->page->state.size = j->head.state.size;
        j->page->state.before = j->head.state.before;
        j->page->state.after = j->head.state.after;
        j->page->state.start = j->head.state.start;
        return 0;
    }
    return vel_fs_write_at(j->of.fs, j->fd, &j->head.state, sizeof j->head.state,
                           offsetof(struct vel_journal_head, state), j->name, err);
}

static int write_end(struct vel_journal *j, struct vel_err *err)
{
    if (j->page) {
        j->page->end = j->head.end;
        return 0;
    }
    return vel_fs_write_at(j->of.fs, j->fd, &j->head.end, sizeof j->head.end,
                           offsetof(struct vel_journal_head, end), j->name, err);
}

/* --- what is saved --- */

static struct range *range_at(const struct vel_vec *ranges, size_t i)
{
    return (struct range *)ranges->items + i;
}

/* The first that ends behind `at`. */
static size_t first_behind(const struct vel_vec *ranges, uint64_t at)
{
    size_t low = 0, high = ranges->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (range_at(ranges, middle)->to <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* It touches no other. */
static int add_saved(struct vel_journal *j, struct range r, struct vel_err *err)
{
    size_t i = first_behind(&j->saved, r.from);

    if (i > 0 && range_at(&j->saved, i - 1)->to == r.from) {
        range_at(&j->saved, i - 1)->to = r.to;
        return 0;
    }
    return vel_vec_insert(&j->saved, i, &r) ? 0 : vel_out_of_memory(err, "a journal");
}

static int make_room(struct vel_journal *j, size_t size, struct vel_err *err)
{
    char *larger = size > j->room ? realloc(j->piece, size) : j->piece;

    if (!larger)
        return vel_out_of_memory(err, "a journal");
    if (size > j->room)
        j->room = size;
    j->piece = larger;
    return 0;
}

/* One entry, unless what is written stands there already. */
static int save_piece(struct vel_journal *j, struct range r,
                      const struct vel_change *change, struct vel_err *err)
{
    struct vel_journal_entry entry = {.at = r.from, .len = (uint32_t)(r.to - r.from)};
    char *old;
    int rc = make_room(j, sizeof entry + entry.len, err);

    if (rc < 0)
        return rc;
    old = j->piece + sizeof entry;
    rc = vel_fs_read_at(j->of.fs, j->of.fd, old, entry.len, (off_t)r.from, j->of.path,
                        err);
    if (rc < 0)
        return rc;
    if (change->bytes &&
        memcmp(old, (const char *)change->bytes + (r.from - change->at), entry.len) ==
            0)
        return 0;
    if (j->fd < 0 && (rc = begin_alone(j, err)) < 0)
        return rc;
    if (j->head.end + sizeof entry + entry.len > VEL_JOURNAL_PAGE + j->of.most)
        return vel_fail(err, VEL_ENOSPC, "more was overwritten than may be kept");
    entry.crc = vel_journal_entry_crc(&entry, old);
    memcpy(j->piece, &entry, sizeof entry);
    rc = vel_fs_write_at(j->of.fs, j->fd, j->piece, sizeof entry + entry.len,
                         (off_t)j->head.end, j->name, err);
    if (rc < 0)
        return rc;
    j->head.end += sizeof entry + entry.len;
    rc = write_end(j, err);
    return rc < 0 ? rc : add_saved(j, r, err);
}

/* What no entry has yet. */
static int save(struct vel_journal *j, struct range r, const struct vel_change *change,
                struct vel_err *err)
{
    int rc = 0;

    while (rc == 0 && r.from < r.to) {
        size_t i = first_behind(&j->saved, r.from);
        const struct range *next =
            i < j->saved.n ? range_at(&j->saved, i) : &(struct range){r.to, r.to};
        struct range piece = {r.from, next->from < r.to ? next->from : r.to};

        if (piece.from >= next->from) { /* it has this */
            r.from = next->to;
            continue;
        }
        if (piece.to - piece.from > VEL_JOURNAL_PIECE)
            piece.to = piece.from + VEL_JOURNAL_PIECE;
        rc = save_piece(j, piece, change, err);
        r.from = piece.to;
    }
    return rc;
}

static bool is_heap(const struct vel_change *change)
{
    return change->bytes && change->len >= 4 && memcmp(change->bytes, "GCOL", 4) == 0;
}

/* Of what it overwrites, or cuts, what stood there at the point. */
static struct range to_be_saved(const struct vel_journal *j,
                                const struct vel_change *change)
{
    uint64_t to = change->bytes ? change->at + change->len : UINT64_MAX;

    if (change->is_free && !is_heap(change))
        to = 0;
    return (struct range){change->at, to < j->head.point ? to : j->head.point};
}

/* --- changes --- */

static int look_at_size(const struct vel_journal *j, uint64_t *ret, struct vel_err *err)
{
    struct stat now = {0};
    int rc = vel_fs_stat(j->of.fs, j->of.fd, j->of.path, &now, err);

    *ret = (uint64_t)now.st_size;
    return rc;
}

void vel_journal_before(struct vel_journal *j, const struct vel_change *change)
{
    struct range r = to_be_saved(j, change);
    struct vel_err why = {0};
    int rc;

    if (j->is_given_up)
        return;
    rc = save(j, r, change, &why);
    if (rc == 0 && j->fd >= 0) {
        if (!j->knows_size)
            rc = look_at_size(j, &j->head.state.size, &why);
        j->knows_size = true;
        j->head.state.next_size =
            change->bytes && change->at + change->len < j->head.state.size
                ? j->head.state.size
                : change->at + change->len;
        j->head.state.start = vel_clock_stamp(j->of.clock);
        rc = rc == 0 ? write_state(j, &why) : rc;
    }
    if (rc < 0)
        vel_journal_give_up(j, why.text);
}

/* Later changes of the same place may make it good. */
static void note_failed(struct vel_journal *j, struct range r)
{
    j->has_many_failed = j->has_many_failed || j->failed.n >= FAILED_MOST ||
                         !vel_vec_push(&j->failed, &r);
}

static void note_done(struct vel_journal *j, struct range r)
{
    for (size_t i = j->failed.n; i-- > 0;)
        if (r.from <= range_at(&j->failed, i)->from &&
            range_at(&j->failed, i)->to <= r.to)
            vel_vec_remove(&j->failed, i);
}

static int keep_tail(struct vel_journal *j, const struct vel_change *change,
                     struct vel_err *err)
{
    char tail[16 + VEL_JOURNAL_TAIL] = {0};
    uint64_t n = change->len < VEL_JOURNAL_TAIL ? change->len : VEL_JOURNAL_TAIL;
    uint64_t at = change->at + change->len - n;

    memcpy(tail, &at, sizeof at);
    memcpy(tail + 8, &n, sizeof n);
    if (n > 0)
        memcpy(tail + 16, (const char *)change->bytes + change->len - n, n);
    return vel_fs_write_at(j->of.fs, j->fd, tail, sizeof tail, VEL_JOURNAL_AT_TAIL,
                           j->name, err);
}

void vel_journal_after(struct vel_journal *j, const struct vel_change *change,
                       bool is_done)
{
    const struct range r = {change->at, change->at + change->len};
    struct vel_err why = {0};
    int rc = 0;

    if (is_done)
        note_done(j, r);
    else if (!change->is_free)
        note_failed(j, r);
    if (j->fd < 0)
        return;
    if (!is_done)
        rc = look_at_size(j, &j->head.state.next_size, &why);
    if (rc == 0 && j->keeps_tail)
        rc = keep_tail(j, change, &why);
    j->head.state.size = j->head.state.next_size;
    if (is_done) /* else the time of the file may be that of the change before */
        j->head.state.before = j->head.state.start;
    j->head.state.after = vel_clock_wall(j->of.clock);
    j->head.state.start = 0;
    if (rc == 0)
        rc = write_state(j, &why);
    if (rc < 0)
        vel_journal_give_up(j, why.text);
}

/* --- points --- */

/* Nothing is to be undone any more. */
static bool forget_all(struct vel_journal *j)
{
    struct vel_err why = {0};

    if (j->failed.n > 0 || j->has_many_failed)
        return false;
    j->saved.n = 0;
    if (j->fd < 0)
        return true;
    j->head.end = VEL_JOURNAL_PAGE;
    if (write_end(j, &why) < 0)
        vel_journal_give_up(j, why.text);
    else if (!vel_journal_is_named(j->of.fs, j->fd, j->name))
        vel_journal_give_up(j, TWO_WRITERS);
    return true;
}

/* A file whose head says that it is open is opened by nobody: where it has no entry
 * yet, that is to be undone. Who has changed nothing may only be looking at a file that
 * another one writes: what that one keeps is left alone. */
static int begin_for_head(struct vel_journal *j, struct vel_err *err)
{
    char bytes[VEL_JOURNAL_ROOM];
    struct stat now;
    uint64_t at;
    size_t n;
    int rc = vel_fs_stat(j->of.fs, j->of.fd, j->of.path, &now, err);

    if (rc < 0 || !vel_journal_find_open(j->of.fs, j->of.fd, (uint64_t)now.st_size,
                                         j->of.close_head, bytes, &at, &n))
        return rc;
    rc = begin(j, err);
    if (rc == VEL_EEXIST)
        return 0;
    j->head.state = (struct vel_journal_state){.size = (uint64_t)now.st_size,
                                               .before = vel_journal_stamp(&now),
                                               .after = vel_journal_stamp(&now)};
    return rc < 0 ? rc : write_state(j, err);
}

bool vel_journal_point(struct vel_journal *j, uint64_t size)
{
    struct vel_err why = {0};
    int rc = 0;

    if (!forget_all(j))
        return false;
    j->head.point = size;
    if (j->fd >= 0)
        rc = write_head(j, j->fd, j->name, &why);
    else if (!j->is_given_up)
        rc = begin_for_head(j, &why);
    if (rc < 0)
        vel_journal_give_up(j, why.text);
    return true;
}

void vel_journal_end(struct vel_journal *j)
{
    j->is_ended = forget_all(j);
    if (j->is_ended)
        j->head.point = 0;
}

void vel_journal_destroy(struct vel_journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0 && j->is_ended && vel_journal_is_named(j->of.fs, j->fd, j->name))
        vel_fs_unlink(j->of.fs, j->name, NULL);
    vel_journal_abandon(j);
}

void vel_journal_abandon(struct vel_journal *j)
{
    if (!j)
        return;
    close_file(j);
    vel_vec_fini(&j->saved);
    vel_vec_fini(&j->failed);
    free((char *)j->of.path);
    free((char *)j->of.dir);
    free(j->name);
    free(j->piece);
    free(j);
}
