/* SPDX-License-Identifier: BSD-3-Clause */
/* proglab - programs of several ranks without MPI, as a launcher starts them: their
 * words, what they print, when they are ready, and their end. */
#ifndef TEST_TAP_PROGLAB_H
#define TEST_TAP_PROGLAB_H

#include <stdbool.h>
#include <sys/types.h>

enum { PROGLAB_WORDS = 40, PROGLAB_MOST = 16, PROGLAB_LIMIT_S = 100 };

struct proglab_words {
    char text[PROGLAB_WORDS][80];
    int n;
};

struct proglab {
    pid_t pid[PROGLAB_MOST];
    int n;
};

void proglab_add(struct proglab_words *words, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A rank of a launch with the connector, whose output is that of `number`; launch NULL:
 * a program without it. */
void proglab_start(struct proglab *p, int number, int rank, int of, const char *launch,
                   const char *command, const struct proglab_words *words);
void proglab_kill(struct proglab *p);

/* Until all have ended; those that have not after PROGLAB_LIMIT_S are killed: false. */
bool proglab_join(struct proglab *p);

/* Until all have said "ready", the first one as number `first`; or have ended, or said
 * what they cannot do and are about to end, if they may. False: one has ended, or
 * PROGLAB_LIMIT_S is over. */
bool proglab_await(const struct proglab *p, int first, bool may_end);

/* Where "out", "err" of a number is; the last 8 results stay good. */
const char *proglab_output(int number, const char *what);

/* A new string; NULL: there is no such file. */
char *proglab_read(const char *path);

/* Of what a program has printed to "err" the sentences of h5veloc. */
char *proglab_sentences(int number);

void proglab_pause(void);
double proglab_seconds(void);

#endif
