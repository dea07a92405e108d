/* SPDX-License-Identifier: BSD-3-Clause */
/* writer - a program that writes f.h5, as a seed says, and is killed at one of its
 * writes, in the middle of it: what it has created, changed, resized, removed, flushed
 * and closed is noted in memory that it shares with its parent. Each function runs in a
 * process of its own. */
#ifndef TEST_VOL_WRITER_H
#define TEST_VOL_WRITER_H

#include <stdint.h>

struct writer_told {
    int points;      /* 0: it was never flushed */
    char wrong[400]; /* "": nothing is */
};

/* Of a new file. */
struct writer_told *writer_told(void);

void writer_begin(uint64_t seed); /* makes it */
void writer_go_on(uint64_t seed); /* opens what is there: it is right */
void writer_read(uint64_t seed);  /* it is as at its newest point, or at one that was
                                     under way; raw data may be newer */
void writer_open_and_die(uint64_t seed);

#endif
