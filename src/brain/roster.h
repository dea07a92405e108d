/* SPDX-License-Identifier: BSD-3-Clause */
/* roster - who the chair has taken in: places in a tree whose nodes have 16 children
 * each, by which everybody hears and tells in O(log n) steps with O(1) messages.
 *
 * Pure: knows no link and no time.
 */
#ifndef VEL_BRAIN_ROSTER_H
#define VEL_BRAIN_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

enum { VEL_ROSTER_FAN = 16, VEL_ROSTER_NAME = 201 };

struct vel_roster_member {
    char *node;
    char *present;      /* ranks that it said are there */
    int64_t place;      /* kept when it comes back */
    char *over;         /* launches that it calls over */
    bool is_here;       /* else: gone */
    bool has_left;      /* no process is there any more, or that writes */
    uint64_t gone_at;   /* when */
    bool is_dead;       /* it will not come back, as was seen */
    uint64_t looked_at; /* and is looked for again then */
    bool is_direct;     /* the chair tells it itself, not by its parent */
    bool is_awaited;    /* asked what it holds, has not told all */
    int64_t parts;      /* of what it holds, that have come */
    struct vel_buf held;
};

struct vel_roster {
    struct vel_vec members;  /* struct vel_roster_member, by place */
    struct vel_map *numbers; /* node: its number among them, from 1; NULL: none */
};

void vel_roster_init(struct vel_roster *roster);
void vel_roster_fini(struct vel_roster *roster);

/* Take a node in, or back in: at its old place, else at the next. NULL: out of memory.
 * What is returned is good until the next one is taken in. */
struct vel_roster_member *vel_roster_join(struct vel_roster *roster, const char *node,
                                          const char *present, const char *over);

/* What it says of its ranks. A leader that is new on its node has not met those that
 * ended before ("4-", "5!"): they stay known. false: out of memory. */
bool vel_roster_tell(struct vel_roster_member *member, const char *present);

/* A node that had left before this roster was opened, and which ranks had been there:
 * nothing but that becomes known of one that is in it. false: out of memory. */
bool vel_roster_left(struct vel_roster *roster, const char *node, const char *present,
                     uint64_t now);

/* NULL: never joined. */
struct vel_roster_member *vel_roster_get(const struct vel_roster *roster,
                                         const char *node);
struct vel_roster_member *vel_roster_at(const struct vel_roster *roster, size_t i);

/* Is it here now? */
bool vel_roster_has(const struct vel_roster *roster, const char *node);
size_t vel_roster_here(const struct vel_roster *roster);

/* Nodes of the ancestors that are here, nearest first, by blanks; without the chair, at
 * place 0, whom everybody knows. */
void vel_roster_parents(const struct vel_roster *roster, int64_t place,
                        struct vel_buf *ret);

/* Is a word among words by blanks? */
bool vel_words_have(const char *words, const char *word);

/* Take the next word off *words, into ret_word; false at the end, and at a word that is
 * no name of a node. */
bool vel_words_next(const char **words, char ret_word[VEL_ROSTER_NAME]);

/* Of nodes by blanks: are all here? */
bool vel_roster_has_all(const struct vel_roster *roster, const char *nodes);

#endif
