/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger that was read before: what was appended since, and one line of it again. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_in.h"

struct vel_ledger_stamp vel_ledger_stamp(const struct stat *st)
{
    return (struct vel_ledger_stamp){.inode = (int64_t)st->st_ino,
                                     .size = (int64_t)st->st_size,
                                     .seconds = (int64_t)st->st_mtim.tv_sec,
                                     .nanoseconds = (int64_t)st->st_mtim.tv_nsec};
}

static int look(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                struct stat *ret)
{
    char *path = vel_ledger_path(dir, name);
    int rc = path ? vel_fs_lstat(dir->fs, path, ret, NULL) : VEL_ENOMEM;

    free(path);
    return rc;
}

/* In this order: whoever makes the next one may remove this one. */
bool vel_ledger_is_as_read(const struct vel_ledger_dir *dir,
                           struct vel_ledger_name name,
                           const struct vel_ledger_stamp *stamp)
{
    const struct vel_ledger_name next = {name.launch, name.term + 1};
    struct vel_ledger_stamp now;
    struct stat st;

    if (look(dir, next, &st) != VEL_ENOENT || look(dir, name, &st) < 0)
        return false;
    now = vel_ledger_stamp(&st);
    return now.inode == stamp->inode && now.size == stamp->size &&
           now.seconds == stamp->seconds && now.nanoseconds == stamp->nanoseconds;
}

/* Open the ledger of this name and salt. */
static int open_same(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     uint64_t salt, int *ret_fd, struct vel_ledger_text *ret,
                     struct vel_err *err)
{
    int rc = vel_title_open(dir, name, O_RDONLY, ret_fd, ret, err);

    if (rc < 0 || ret->salt == salt)
        return rc;
    vel_fs_close(dir->fs, *ret_fd, dir->path, NULL);
    vel_ledger_text_fini(ret);
    return vel_fail(err, VEL_ENOENT, "another ledger is there");
}

/* `len` bytes, or to the end. */
static int read_from(const struct vel_ledger_dir *dir, int fd, uint64_t at, size_t len,
                     struct vel_buf *ret, struct vel_err *err)
{
    char bytes[1 << 16];
    ssize_t n = 1;

    while (n > 0 && ret->len < len) {
        size_t left = len - ret->len;

        n = dir->fs->ops->pread(dir->fs, fd, bytes,
                                left < sizeof bytes ? left : sizeof bytes,
                                (off_t)(at + ret->len));
        if (n < 0)
            return vel_fail_errno(err, (int)-n, "cannot read a ledger in %s",
                                  dir->path);
        vel_buf_append(ret, bytes, (size_t)n);
    }
    return vel_buf_status(ret, err);
}

int vel_ledger_load_more(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                         uint64_t salt, uint64_t end, struct vel_ledger_text *ret,
                         struct vel_err *err)
{
    struct vel_ledger_text text;
    struct vel_buf bytes;
    struct stat st;
    int fd, rc = open_same(dir, name, salt, &fd, &text, err);

    if (rc < 0)
        return rc;
    vel_buf_init(&bytes);
    vel_vec_init(&text.facts, sizeof(struct vel_ledger_fact));
    vel_vec_init(&text.bytes, sizeof(struct vel_buf));
    rc = vel_fs_stat(dir->fs, fd, dir->path, &st, err);
    if (rc == 0)
        text.stamp = vel_ledger_stamp(&st);
    if (rc == 0)
        rc = read_from(dir, fd, end, SIZE_MAX, &bytes, err);
    vel_fs_close(dir->fs, fd, dir->path, NULL);
    text.end = end;
    if (rc == 0 && !vel_vec_push(&text.bytes, &bytes))
        rc = vel_out_of_memory(err, "a ledger");
    if (rc == 0) {
        const struct vel_lines lines = {.bytes = bytes.data,
                                        .len = bytes.len,
                                        .at = end,
                                        .salt = salt,
                                        .are_behind = true};

        vel_buf_init(&bytes); /* it has moved */
        rc = vel_ledger_read_facts(lines, 0, 0, &text, err);
    }
    vel_buf_fini(&bytes);
    if (rc < 0)
        vel_ledger_text_fini(&text);
    else
        *ret = text;
    return rc;
}

int vel_ledger_load_line(const struct vel_ledger_dir *dir,
                         const struct vel_ledger_spot *spot, struct vel_buf *ret,
                         struct vel_err *err)
{
    uint64_t at = spot->at - VEL_LINE_MORE;
    struct vel_ledger_line line = {0};
    struct vel_ledger_text title;
    struct vel_lines lines;
    struct vel_buf bytes;
    int fd, rc = open_same(dir, spot->name, spot->salt, &fd, &title, err);

    if (rc < 0)
        return rc;
    vel_buf_init(&bytes);
    rc = read_from(dir, fd, at, VEL_LINE_MORE + spot->len + VEL_LINE_JOINT + 1, &bytes,
                   err);
    vel_fs_close(dir->fs, fd, dir->path, NULL);
    lines = (struct vel_lines){
        .bytes = bytes.data, .len = bytes.len, .at = at, .salt = spot->salt};
    if (rc == 0 && (!vel_lines_next(&lines, &line) || !line.text))
        rc = vel_fail(err, VEL_ECORRUPT,
                      "a line of a ledger in %s is not there any more", dir->path);
    if (rc == 0) {
        vel_buf_append(ret, line.text, line.len);
        rc = vel_buf_status(ret, err);
    }
    vel_buf_fini(&bytes);
    vel_ledger_text_fini(&title);
    return rc;
}
