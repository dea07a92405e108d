/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a launch over? That is asked often, and for all launches, of which a term may be
 * long: `done` is the last fact of a begin, or of a term, so its end tells. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>

#include "ledger/ledger_in.h"
#include "meta/terms_in.h"

enum { END = 4096 }; /* bytes that are read */

/* What a term says of that. */
enum word {
    EMPTY, /* nothing: it has no begin */
    GOES_ON,
    OVER,
    UNKNOWN, /* by its end alone */
};

/* Of what stands from `at` on to the end. A line may be joined to what is before that,
 * or be so long. */
static enum word judge(const char *bytes, size_t len, uint64_t at, uint64_t salt)
{
    struct vel_lines lines = {
        .bytes = bytes, .len = len, .at = at, .salt = salt, .wrong = at};
    bool has_line = false, has_begin = false, has_done = false, is_wrong = false;
    struct vel_ledger_line line;
    struct vel_fields fields;

    for (bool is_first = true; vel_lines_next(&lines, &line); is_first = false) {
        if (!line.text) { /* the first one is cut, or the title */
            is_wrong = is_wrong || !is_first;
            continue;
        }
        has_line = true;
        has_begin =
            has_begin || lines.are_behind || vel_line_is(&line, "tail", &fields);
        has_done = has_done || vel_line_is(&line, "done", &fields);
    }
    if (at > 0 && (!has_line || is_wrong))
        return UNKNOWN;
    return !has_begin ? EMPTY : has_done ? OVER : GOES_ON;
}

static int read_end(const struct vel_ledger_dir *dir, int fd, uint64_t salt,
                    enum word *ret, struct vel_err *err)
{
    char bytes[END];
    struct stat st;
    ssize_t n = 1;
    size_t len = 0;
    off_t at;
    int rc = dir->fs->ops->fstat(dir->fs, fd, &st);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot look at a ledger in %s", dir->path);
    at = st.st_size > END ? st.st_size - END : 0;
    while (n > 0 && len < sizeof bytes) {
        n = dir->fs->ops->pread(dir->fs, fd, bytes + len, sizeof bytes - len,
                                at + (off_t)len);
        if (n < 0)
            return vel_fail_errno(err, (int)-n, "cannot read a ledger in %s",
                                  dir->path);
        len += (size_t)n;
    }
    *ret = judge(bytes, len, (uint64_t)at, salt);
    return 0;
}

static int read_whole(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                      enum word *ret, struct vel_err *err)
{
    struct vel_ledger_text text;
    int rc = vel_ledger_load(dir, name, &text, err);

    if (rc < 0)
        return rc;
    *ret = !text.has_begin ? EMPTY : vel_terms_has_done(&text) ? OVER : GOES_ON;
    vel_ledger_text_fini(&text);
    return 0;
}

/* What is over is on the disk when this returns. A term that is damaged is as none. */
static int look_at(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   enum word *ret, enum vel_terms_by *ret_by, struct vel_err *err)
{
    struct vel_ledger_text title;
    const char *node;
    int64_t chair;
    int fd = -1, rc = vel_title_open(dir, name, O_RDONLY, &fd, &title, err);

    *ret = EMPTY;
    *ret_by = VEL_TERMS_OTHER;
    if (rc < 0)
        return rc == VEL_ECORRUPT ? 0 : rc;
    vel_terms_get_address(title.address, ret_by, &chair, &node);
    rc = read_end(dir, fd, title.salt, ret, err);
    if (rc == 0 && *ret == UNKNOWN)
        rc = read_whole(dir, name, ret, err);
    if (rc == VEL_ECORRUPT) {
        *ret = EMPTY;
        rc = 0;
    }
    if (rc == 0 && *ret == OVER)
        rc = vel_fs_sync(dir->fs, fd, dir->path, err);
    vel_ledger_text_fini(&title);
    vel_fs_close(dir->fs, fd, dir->path, NULL);
    return rc;
}

/* Who has claimed a term above the one that counts, and not begun it, says `done` as
 * well when he is of a later launch; a chair or a leader of this one may have read that
 * one before it said so. VEL_EBUSY: such a term is there. */
static int look_down(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                     bool *ret_are, struct vel_err *err)
{
    enum word word = EMPTY;
    bool is_sure = true;
    int rc = 0;

    for (size_t i = list->n; rc == 0 && word == EMPTY && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        enum vel_terms_by by;

        if (name->launch != VEL_TERMS_NUMBER)
            continue;
        rc = look_at(dir, *name, &word, &by, err);
        is_sure = is_sure && (word != EMPTY || by == VEL_TERMS_OTHER);
    }
    *ret_are = rc == 0 && word == OVER;
    return *ret_are && !is_sure
               ? vel_fail(err, VEL_EBUSY, "the launch of %s is just being ended",
                          dir->path)
               : rc;
}

/* VEL_ENOENT: terms come or go meanwhile. */
static int check_over(const struct vel_ledger_dir *dir, bool *ret_are,
                      struct vel_err *err)
{
    struct vel_vec list, again;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    rc = look_down(dir, &list, ret_are, err);
    if (rc == 0 && *ret_are) { /* somebody may have claimed one before that was said */
        rc = vel_ledger_list(dir, &again, err);
        if (rc == 0) {
            if (vel_ledger_highest(&again, VEL_TERMS_NUMBER) !=
                vel_ledger_highest(&list, VEL_TERMS_NUMBER))
                rc = VEL_ENOENT;
            vel_vec_fini(&again);
        }
    }
    vel_vec_fini(&list);
    return rc;
}

int vel_terms_are_over(struct vel_fs *fs, const char *launch_dir, bool *ret_are,
                       struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, false);
    struct vel_err why = {0};
    int rc = VEL_ENOENT;

    *ret_are = false;
    for (int round = 0; round < VEL_TERMS_ROUNDS && rc == VEL_ENOENT; round++) {
        rc = vel_terms_check_dir(&dir, err);
        if (rc < 0)
            return rc;
        rc = check_over(&dir, ret_are, &why);
    }
    *ret_are = *ret_are && rc == 0;
    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_EBUSY, "the terms in %s change all the time",
                        launch_dir);
    if (rc < 0 && vel_terms_check_dir(&dir, NULL) == VEL_ENOENT)
        rc = VEL_ENOENT; /* meanwhile */
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}
