/* SPDX-License-Identifier: BSD-3-Clause */
/* journal_in - the bytes of a journal, for who writes and who mends. */
#ifndef VEL_LOG_JOURNAL_IN_H
#define VEL_LOG_JOURNAL_IN_H

#include <stdint.h>

#include "log/journal.h"
#include "sys/host.h"

enum {
    VEL_JOURNAL_PAGE = 4096, /* entries begin behind it */
    VEL_JOURNAL_PIECE = 1 << 20,
    VEL_JOURNAL_PATH = 3072,
    VEL_JOURNAL_AT_PATH = 152,
    VEL_JOURNAL_TAIL = 64,
    VEL_JOURNAL_AT_TAIL = 3328,
    VEL_JOURNAL_ROOM = 1024, /* more than any head */
};

#define VEL_JOURNAL_MAGIC "h5vjour1"

/* Bytes 0 to 151, in the machine's own order. */
struct vel_journal_head {
    char magic[8];
    uint64_t zero;
    char boot[VEL_HOST_BOOT]; /* ends with zeros */
    uint64_t device, inode;
    uint64_t point; /* S */
    uint32_t crc, zero_too;
    uint64_t end;
    struct vel_journal_state {
        uint64_t size, next_size;
        int64_t before, after, start;
    } state;
    uint64_t mender; /* a process; 0: none */
    uint64_t writer; /* the process that has made it */
};

struct vel_journal_entry {
    uint64_t at;
    uint32_t len, crc;
};

uint32_t vel_journal_head_crc(const struct vel_journal_head *head);
uint32_t vel_journal_entry_crc(const struct vel_journal_entry *entry,
                               const void *bytes);

/* The head that says its file is open, at 0, 512, 1024 and so on: `bytes` as they are
 * of a closed one, so many from *ret_at on. False: there is none. */
bool vel_journal_find_open(struct vel_fs *fs, int fd, uint64_t size,
                           vel_journal_head_f *close_head, char bytes[VEL_JOURNAL_ROOM],
                           uint64_t *ret_at, size_t *ret_len);

/* When the file was changed, in ns since 1970. */
int64_t vel_journal_stamp(const struct stat *st);

/* Does the name of a journal lead to it? Others may have taken it away. */
bool vel_journal_is_named(struct vel_fs *fs, int fd, const char *name);

/* DIR/DEVICE-INODE, a new string. */
char *vel_journal_name(const char *dir, const struct stat *of);

#endif
