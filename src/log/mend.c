/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/path.h"
#include "base/vec.h"
#include "log/journal_in.h"
#include "log/mend.h"

#define SOON VEL_CLOCK_S          /* after a change began, it was over */
#define APART (120 * VEL_CLOCK_S) /* clocks of nodes, at most */
#define DRAFT (60 * VEL_CLOCK_S)  /* for one to get its name, at most */
#define PAUSE (10 * VEL_CLOCK_MS) /* between two looks at a lock */

struct entry {
    struct vel_journal_entry is;
    uint64_t from; /* where its bytes are in the journal */
};

struct mending {
    const struct vel_mend_of *of;
    int file, journal;
    struct stat stat; /* of the file */
    char *name;       /* of the journal */
    struct vel_journal_head head;
    struct vel_vec entries;
    char *old, *now; /* bytes of one entry: in the journal, in the file */
};

/* --- the journal --- */

/* Locked here, and at its name; VEL_MEND_DONE: so it is. */
static int take_journal(struct mending *m, enum vel_mended *ret, struct vel_err *err)
{
    struct vel_fs *fs = m->of->fs;
    int rc = vel_fs_open(fs, m->name, O_RDWR | O_NOFOLLOW, 0, &m->journal, err);

    *ret = VEL_MEND_NOTHING;
    if (rc == VEL_ENOENT)
        return 0;
    if (rc == 0 && fs->ops->flock(fs, m->journal, LOCK_EX | LOCK_NB) < 0)
        *ret = VEL_MEND_HELD;
    else if (rc == 0 && vel_journal_is_named(m->of->fs, m->journal, m->name))
        *ret = VEL_MEND_DONE;
    return rc;
}

static bool is_gone(uint64_t process)
{
    return process > INT_MAX || (kill((pid_t)process, 0) < 0 && errno == ESRCH);
}

/* Who has it locked is no writer, so it is a mender who may not have said so yet; or a
 * child that the writer has left. */
static bool is_mended(const struct mending *m)
{
    struct vel_journal_head head;

    return vel_fs_read_at(m->of->fs, m->journal, &head, sizeof head, 0, m->name,
                          NULL) == 0 &&
           (head.mender || is_gone(head.writer));
}

static bool is_ours(const struct mending *m)
{
    char boot[VEL_HOST_BOOT];

    return memcmp(m->head.magic, VEL_JOURNAL_MAGIC, sizeof m->head.magic) == 0 &&
           m->head.crc == vel_journal_head_crc(&m->head) &&
           vel_host_boot(m->of->fs, boot, NULL) == 0 &&
           memcmp(boot, m->head.boot, sizeof boot) == 0 &&
           m->head.device == (uint64_t)m->stat.st_dev &&
           m->head.inode == (uint64_t)m->stat.st_ino;
}

static bool read_entry(struct mending *m, uint64_t at, struct entry *ret)
{
    struct vel_fs *fs = m->of->fs;

    ret->from = at + sizeof ret->is;
    if (m->head.end - at < sizeof ret->is ||
        vel_fs_read_at(fs, m->journal, &ret->is, sizeof ret->is, (off_t)at, m->name,
                       NULL) < 0)
        return false;
    return ret->is.len > 0 && ret->is.len <= VEL_JOURNAL_PIECE &&
           m->head.end - ret->from >= ret->is.len &&
           ret->is.at + ret->is.len <= m->head.point &&
           vel_fs_read_at(fs, m->journal, m->old, ret->is.len, (off_t)ret->from,
                          m->name, NULL) == 0 &&
           ret->is.crc == vel_journal_entry_crc(&ret->is, m->old);
}

/* All of it, or it says nothing. */
static bool read_journal(struct mending *m)
{
    uint64_t at = VEL_JOURNAL_PAGE;

    if (vel_fs_read_at(m->of->fs, m->journal, &m->head, sizeof m->head, 0, m->name,
                       NULL) < 0 ||
        !is_ours(m) || m->head.point > INT64_MAX || m->head.end < at)
        return false;
    while (at < m->head.end) {
        struct entry entry;

        if (!read_entry(m, at, &entry) || !vel_vec_push(&m->entries, &entry))
            return false;
        at = entry.from + entry.is.len;
    }
    return true;
}

/* --- is the file as its writer left it? --- */

static bool is_between(uint64_t size, uint64_t a, uint64_t b)
{
    return a < b ? a <= size && size <= b : b <= size && size <= a;
}

static bool has_tail(const struct mending *m)
{
    char tail[16 + VEL_JOURNAL_TAIL], there[VEL_JOURNAL_TAIL];
    uint64_t at, n;

    if (vel_fs_read_at(m->of->fs, m->journal, tail, sizeof tail, VEL_JOURNAL_AT_TAIL,
                       m->name, NULL) < 0)
        return false;
    memcpy(&at, tail, sizeof at);
    memcpy(&n, tail + 8, sizeof n);
    return at <= INT64_MAX && n <= VEL_JOURNAL_TAIL &&
           vel_fs_read_at(m->of->fs, m->file, there, n, (off_t)at, m->of->path, NULL) ==
               0 &&
           memcmp(there, tail + 16, n) == 0;
}

static bool is_as_left(const struct mending *m)
{
    const struct vel_journal_state *state = &m->head.state;
    uint64_t size = (uint64_t)m->stat.st_size;
    int64_t second = (int64_t)VEL_CLOCK_S, at = vel_journal_stamp(&m->stat);
    bool is_local = vel_fs_is_local(m->of->path);
    int64_t last = at, apart = is_local ? 0 : (int64_t)APART;

    if (at % second == 0) /* maybe it has no fractions */
        last = at + second - 1;
    if (size == state->size && state->before <= last + apart &&
        at <= state->after + apart)
        return is_local || has_tail(m);
    return is_local && state->start && state->start <= last &&
           at <= state->start + (int64_t)SOON &&
           is_between(size, state->size, state->next_size);
}

/* Bytes of entry i: in the journal, and in the file. */
static int load(struct mending *m, const struct entry *entry, struct vel_err *err)
{
    int rc = vel_fs_read_at(m->of->fs, m->journal, m->old, entry->is.len,
                            (off_t)entry->from, m->name, err);

    memset(m->now, 0, entry->is.len);
    if (rc == 0 && entry->is.at + entry->is.len <= (uint64_t)m->stat.st_size)
        rc = vel_fs_read_at(m->of->fs, m->file, m->now, entry->is.len,
                            (off_t)entry->is.at, m->of->path, err);
    return rc;
}

/* Its head says that it is open. */
static bool is_open(const struct mending *m)
{
    char bytes[VEL_JOURNAL_ROOM];
    uint64_t at;
    size_t n;

    return vel_journal_find_open(m->of->fs, m->file, (uint64_t)m->stat.st_size,
                                 m->of->close_head, bytes, &at, &n);
}

static bool differs(struct mending *m)
{
    for (size_t i = 0; i < m->entries.n; i++) {
        const struct entry *entry = vel_vec_at(&m->entries, i);

        if (entry->is.at + entry->is.len > (uint64_t)m->stat.st_size ||
            load(m, entry, NULL) < 0 || memcmp(m->old, m->now, entry->is.len) != 0)
            return true;
    }
    return is_open(m);
}

/* --- the mending --- */

static int lock_file(struct mending *m, struct vel_err *err)
{
    struct vel_fs *fs = m->of->fs;
    uint64_t until = vel_clock_deadline(m->of->clock, m->of->limit);

    vel_fs_close(fs, m->file, m->of->path, NULL);
    m->file = -1;
    int rc = vel_fs_open(fs, m->of->path, O_RDWR, 0, &m->file, err);
    if (rc < 0)
        return vel_wrap(err, rc,
                        "its process was killed while it wrote it, and it must be "
                        "mended by who may write it");
    while ((rc = fs->ops->flock(fs, m->file, LOCK_EX | LOCK_NB)) == -EAGAIN &&
           vel_clock_monotonic(m->of->clock) < until)
        vel_clock_sleep(m->of->clock, PAUSE);
    if (rc == -EAGAIN)
        return vel_fail(err, VEL_EBUSY,
                        "%s: its process was killed while it wrote it, and it cannot "
                        "be mended, since another process has it open",
                        m->of->path);
    /* a file system without locks has nobody who would mind */
    rc = vel_fs_stat(fs, m->file, m->of->path, &m->stat, err);
    if (rc == 0 && ((uint64_t)m->stat.st_ino != m->head.inode || !is_as_left(m)))
        rc = vel_fail(err, VEL_ESTATE, "%s has just been changed by another process",
                      m->of->path);
    return rc;
}

/* NAME.TIME in the directory, in milliseconds since 1970 or a little later. */
static int open_replaced(struct mending *m, char **ret, int *ret_fd,
                         struct vel_err *err)
{
    int64_t number = vel_clock_wall(m->of->clock) / (int64_t)VEL_CLOCK_MS;
    int rc = vel_fs_make_dirs(m->of->fs, m->of->replaced, 0700, err);

    if (rc < 0)
        return rc;
    do {
        struct vel_buf path;

        vel_buf_init(&path);
        vel_buf_printf(&path, "%s/%s.%" PRId64, m->of->replaced,
                       vel_path_base(m->of->path), number++);
        rc = vel_buf_status(&path, err);
        if (rc == 0)
            rc = vel_fs_open(m->of->fs, path.data, O_WRONLY | O_CREAT | O_EXCL, 0600,
                             ret_fd, err);
        if (rc == 0)
            *ret = vel_buf_take(&path, NULL);
        vel_buf_fini(&path);
    } while (rc == VEL_EEXIST);
    return rc;
}

/* In the form of a journal, of the bytes that go. */
static int keep_replaced(struct mending *m, char **ret, struct vel_err *err)
{
    struct vel_journal_head head = m->head;
    uint64_t at = VEL_JOURNAL_PAGE;
    int fd = -1;
    int rc = open_replaced(m, ret, &fd, err);

    for (size_t i = 0; rc == 0 && i < m->entries.n; i++) {
        struct entry entry = *(struct entry *)vel_vec_at(&m->entries, i);

        rc = load(m, &entry, err);
        entry.is.crc = vel_journal_entry_crc(&entry.is, m->now);
        if (rc == 0)
            rc = vel_fs_write_at(m->of->fs, fd, &entry.is, sizeof entry.is, (off_t)at,
                                 *ret, err);
        at += sizeof entry.is;
        if (rc == 0)
            rc = vel_fs_write_at(m->of->fs, fd, m->now, entry.is.len, (off_t)at, *ret,
                                 err);
        at += entry.is.len;
    }
    head.end = at;
    if (rc == 0)
        rc = vel_fs_write_at(m->of->fs, fd, &head, sizeof head, 0, *ret, err);
    if (rc == 0)
        rc = vel_fs_sync(m->of->fs, fd, *ret, err);
    vel_fs_close(m->of->fs, fd, *ret ? *ret : "", NULL);
    return rc < 0 ? rc : vel_fs_sync_parent(m->of->fs, *ret, err);
}

/* And who changes it. */
static int write_state(struct mending *m, struct vel_err *err)
{
    const size_t len = sizeof m->head.state + sizeof m->head.mender;

    m->head.mender = (uint64_t)getpid();
    return vel_fs_write_at(m->of->fs, m->journal, &m->head.state, len,
                           offsetof(struct vel_journal_head, state), m->name, err);
}

/* As its writer would: whoever comes after a mender that dies goes on. */
static int change(struct mending *m, const void *bytes, size_t len, uint64_t at,
                  struct vel_err *err)
{
    struct vel_journal_state *state = &m->head.state;

    state->size = (uint64_t)m->stat.st_size;
    state->next_size = at + len > state->size ? at + len : state->size;
    state->start = vel_clock_stamp(m->of->clock);
    int rc = write_state(m, err);
    if (rc == 0)
        rc = vel_fs_write_at(m->of->fs, m->file, bytes, len, (off_t)at, m->of->path,
                             err);
    *state = (struct vel_journal_state){.size = state->next_size,
                                        .before = state->start,
                                        .after = vel_clock_wall(m->of->clock)};
    m->stat.st_size = (off_t)state->size;
    return rc < 0 ? rc : write_state(m, err);
}

/* It was open when it was flushed, and is open no more. */
static int close_head(struct mending *m, struct vel_err *err)
{
    char bytes[VEL_JOURNAL_ROOM];
    uint64_t at;
    size_t n;

    return vel_journal_find_open(m->of->fs, m->file, (uint64_t)m->stat.st_size,
                                 m->of->close_head, bytes, &at, &n)
               ? change(m, bytes, n, at, err)
               : 0;
}

/* Nobody else changes it now: just what it is. Else the next mender could not tell a
 * change that was under way from one of ours. */
static int take_over(struct mending *m, struct vel_err *err)
{
    int64_t at = vel_journal_stamp(&m->stat);

    m->head.state = (struct vel_journal_state){
        .size = (uint64_t)m->stat.st_size, .before = at, .after = at};
    return write_state(m, err);
}

static int write_back(struct mending *m, struct vel_err *err)
{
    int rc = take_over(m, err);

    for (size_t i = 0; rc == 0 && i < m->entries.n; i++) {
        const struct entry *entry = vel_vec_at(&m->entries, i);

        rc = load(m, entry, err);
        if (rc == 0)
            rc = change(m, m->old, entry->is.len, entry->is.at, err);
    }
    if (rc == 0)
        rc = close_head(m, err);
    return rc < 0 ? rc : vel_fs_sync(m->of->fs, m->file, m->of->path, err);
}

static int mend(struct mending *m, enum vel_mended *ret, char **ret_replaced,
                struct vel_err *err)
{
    uint64_t until = vel_clock_deadline(m->of->clock, m->of->limit);
    int rc = take_journal(m, ret, err);

    while (rc == 0 && *ret == VEL_MEND_HELD && is_mended(m) &&
           vel_clock_monotonic(m->of->clock) < until) {
        vel_fs_close(m->of->fs, m->journal, m->name, NULL);
        m->journal = -1;
        vel_clock_sleep(m->of->clock, PAUSE);
        rc = take_journal(m, ret, err);
    }
    if (rc < 0 || *ret != VEL_MEND_DONE)
        return rc;
    m->old = malloc(VEL_JOURNAL_PIECE);
    m->now = malloc(VEL_JOURNAL_PIECE);
    if (!m->old || !m->now)
        return vel_out_of_memory(err, m->of->path);
    if (!read_journal(m) || !is_as_left(m) || !differs(m)) {
        *ret = VEL_MEND_LEFT;
        return vel_fs_unlink(m->of->fs, m->name, err);
    }
    rc = lock_file(m, err);
    if (rc == 0 && m->entries.n > 0)
        rc = keep_replaced(m, ret_replaced, err);
    if (rc == 0)
        rc = write_back(m, err);
    return rc < 0 ? rc : vel_fs_unlink(m->of->fs, m->name, err);
}

int vel_mend(const struct vel_mend_of *of, enum vel_mended *ret, char **ret_replaced,
             struct vel_err *err)
{
    struct mending m = {.of = of, .file = -1, .journal = -1};
    enum vel_mended mended = VEL_MEND_NOTHING;
    char *replaced = NULL;
    int rc = 0;

    vel_vec_init(&m.entries, sizeof(struct entry));
    /* what cannot be opened or is no file is HDF5's to refuse */
    if (vel_fs_open(of->fs, of->path, O_RDONLY | O_NONBLOCK, 0, &m.file, NULL) == 0 &&
        vel_fs_stat(of->fs, m.file, of->path, &m.stat, NULL) == 0 &&
        S_ISREG(m.stat.st_mode)) {
        m.name = vel_journal_name(of->dir, &m.stat);
        rc = m.name ? mend(&m, &mended, &replaced, err)
                    : vel_out_of_memory(err, of->path);
    }
    vel_fs_close(of->fs, m.journal, m.name ? m.name : "", NULL);
    vel_fs_close(of->fs, m.file, of->path, NULL);
    vel_vec_fini(&m.entries);
    free(m.name);
    free(m.old);
    free(m.now);
    if (rc < 0) {
        free(replaced);
        return rc;
    }
    *ret = mended;
    *ret_replaced = replaced;
    return 0;
}

void vel_mend_forget(struct vel_fs *fs, const char *dir, const struct stat *file)
{
    const struct vel_mend_of of = {.fs = fs};
    struct mending m = {.of = &of, .journal = -1, .name = vel_journal_name(dir, file)};
    enum vel_mended mended;

    if (m.name && take_journal(&m, &mended, NULL) == 0 && mended == VEL_MEND_DONE)
        vel_fs_unlink(fs, m.name, NULL);
    if (m.name)
        vel_fs_close(fs, m.journal, m.name, NULL);
    free(m.name);
}

/* One that is made has another name for a moment, and is locked a little later. */
static bool is_left(struct vel_fs *fs, int fd, const char *path, const char *boot)
{
    struct vel_journal_head head;
    struct stat st;

    if (strchr(vel_path_base(path), '.'))
        return vel_fs_stat(fs, fd, path, &st, NULL) == 0 &&
               vel_journal_stamp(&st) + (int64_t)DRAFT <
                   (int64_t)vel_clock_wall(vel_clock_system());
    return vel_fs_read_at(fs, fd, &head, sizeof head, 0, path, NULL) == 0 &&
           memcmp(head.boot, boot, sizeof head.boot) != 0;
}

static void sweep_one(struct vel_fs *fs, const char *path, const char *boot)
{
    int fd;

    if (vel_fs_open(fs, path, O_RDWR | O_NOFOLLOW, 0, &fd, NULL) < 0)
        return;
    if (is_left(fs, fd, path, boot) && fs->ops->flock(fs, fd, LOCK_EX | LOCK_NB) == 0)
        vel_fs_unlink(fs, path, NULL);
    vel_fs_close(fs, fd, path, NULL);
}

void vel_mend_sweep(struct vel_fs *fs, const char *dir)
{
    char boot[VEL_HOST_BOOT];
    struct vel_vec names;

    if (vel_host_boot(fs, boot, NULL) < 0 || vel_fs_list(fs, dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = vel_path_join(dir, *(char **)vel_vec_at(&names, i));

        if (path)
            sweep_one(fs, path, boot);
        free(path);
    }
    vel_fs_names_fini(&names);
}
