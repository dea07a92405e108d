/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc.h"
#include "log/journal_in.h"

_Static_assert(offsetof(struct vel_journal_head, end) == 88, "as the page says");
_Static_assert(sizeof(struct vel_journal_head) == 152, "as the page says");
_Static_assert(sizeof(struct vel_journal_entry) == 16, "as the page says");

uint32_t vel_journal_head_crc(const struct vel_journal_head *head)
{
    return vel_crc32c(0, head, offsetof(struct vel_journal_head, crc));
}

uint32_t vel_journal_entry_crc(const struct vel_journal_entry *entry, const void *bytes)
{
    return vel_crc32c(vel_crc32c(0, entry, offsetof(struct vel_journal_entry, crc)),
                      bytes, entry->len);
}

bool vel_journal_find_open(struct vel_fs *fs, int fd, uint64_t size,
                           vel_journal_head_f *close_head, char bytes[VEL_JOURNAL_ROOM],
                           uint64_t *ret_at, size_t *ret_len)
{
    for (uint64_t at = 0; close_head && at < size; at = at ? 2 * at : 512) {
        size_t n = size - at < VEL_JOURNAL_ROOM ? size - at : VEL_JOURNAL_ROOM;

        if (vel_fs_read_at(fs, fd, bytes, n, (off_t)at, "", NULL) < 0)
            return false;
        *ret_at = at;
        *ret_len = close_head(bytes, n);
        if (*ret_len > 0)
            return true;
        if (n >= 8 && memcmp(bytes, "\211HDF\r\n\032\n", 8) == 0)
            return false;
    }
    return false;
}

int64_t vel_journal_stamp(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * (int64_t)VEL_CLOCK_S + st->st_mtim.tv_nsec;
}

char *vel_journal_name(const char *dir, const struct stat *of)
{
    struct vel_buf name;

    vel_buf_init(&name);
    vel_buf_printf(&name, "%s/%" PRIx64 "-%" PRIx64, dir, (uint64_t)of->st_dev,
                   (uint64_t)of->st_ino);
    return vel_buf_take(&name, NULL);
}

bool vel_journal_is_named(struct vel_fs *fs, int fd, const char *name)
{
    struct stat mine, there;

    return vel_fs_stat(fs, fd, name, &mine, NULL) == 0 &&
           vel_fs_lstat(fs, name, &there, NULL) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}
