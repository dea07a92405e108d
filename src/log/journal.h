/* SPDX-License-Identifier: BSD-3-Clause */
/* journal - what a live file had at its newest point, to undo what was written since
 * (doc/format-journal.txt).
 *
 * Whoever writes the file tells of each change before and after it. A journal never
 * fails its file: what cannot be kept is given up, and the file goes on as without it.
 * One thread at a time.
 */
#ifndef VEL_LOG_JOURNAL_H
#define VEL_LOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/clock.h"
#include "sys/fs.h"

/* Makes of the head of an open file that of a closed one, and says how many bytes of it
 * count; 0: it says nothing of being open. */
typedef size_t vel_journal_head_f(void *bytes, size_t len);

struct vel_journal_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *dir;  /* where journals are; it is there */
    const char *path; /* of the file, for sentences */
    int fd;           /* of the file, to read what stands there; the caller's */
    uint64_t most;    /* bytes of entries */
    bool may_map;     /* vel_fs_overwrites_in_place(dir) */
    vel_journal_head_f *close_head; /* NULL: no head says that its file is open */
};

/* What is about to happen to the file. */
struct vel_change {
    uint64_t at, len;  /* a truncate to `at`: len 0, and bytes NULL */
    const void *bytes; /* that are written */
    bool is_free;      /* raw data of a plain file: nothing of it is to be undone */
};

struct vel_journal;

/* Of a file that is open to be written. There is no point yet, and nothing on disk. */
int vel_journal_create(const struct vel_journal_of *of, struct vel_journal **ret,
                       struct vel_err *err);

/* The file is whole, and ends at `size`. False: it does not count, for a change of
 * metadata has failed that none has made good. */
bool vel_journal_point(struct vel_journal *journal, uint64_t size);

/* Before a change, and after it: in this order, for each. */
void vel_journal_before(struct vel_journal *journal, const struct vel_change *change);
void vel_journal_after(struct vel_journal *journal, const struct vel_change *change,
                       bool is_done);

/* There is none, or no longer, and that is why: a line of INFO. */
void vel_journal_tell_none(const char *path, const char *why);

/* From now on the file is as without a journal. */
void vel_journal_give_up(struct vel_journal *journal, const char *why);

/* All is written, and the file about to be closed: nothing is to be undone, if that
 * counts as a point would. */
void vel_journal_end(struct vel_journal *journal);

/* The file is closed; what ended goes, what did not stays for who opens it next. NULL
 * is nothing. */
void vel_journal_destroy(struct vel_journal *journal);

/* In a forked child: forget it, it is the parent's. */
void vel_journal_abandon(struct vel_journal *journal);

#endif
