/* SPDX-License-Identifier: BSD-3-Clause */
/* expect_in - the chair's table of keys: expect (what is heard of them), census (who is
 * missing), settle (the seal).
 */
#ifndef VEL_BRAIN_EXPECT_IN_H
#define VEL_BRAIN_EXPECT_IN_H

#include "brain/connector_in.h"

struct vel_expect {
    char *template, *step;
    int64_t generation;
    bool is_alone, is_late;
    struct vel_tally tally;
    bool is_looked;  /* for a seal that is there already */
    bool is_decided; /* sealed, or void */
    bool is_over;    /* and may be forgotten */
    int64_t id;      /* 0: void */
    uint64_t heard_at, retry_at;
};

struct vel_expect_template {
    bool is_looked, has_previous;
    struct vel_leader_previous previous;
};

/* A rank that has been seen, and its node; NULL: that is gone. */
struct vel_seat_of {
    int64_t rank;
    const char *node;
    bool has_left;     /* in good order, or is about to */
    bool has_vanished; /* or has left otherwise */
};

/* Who is there, and what they have of a key. */
struct vel_census {
    struct vel_vec closed; /* struct vel_tally_one, by rank */
    struct vel_vec seats;  /* struct vel_seat_of, by rank */
};

struct vel_expect *vel_expect_at(const struct vel_leader *leader, size_t i);
struct vel_expect_template *vel_expect_template(struct vel_leader *leader,
                                                const char *name);

/* --- census --- */

/* Who is there, and has what of a key. */
int vel_census_take(struct vel_leader *leader, const struct vel_expect *expect,
                    struct vel_census *ret);
void vel_census_fini(struct vel_census *census);
const struct vel_seat_of *vel_seat_find(const struct vel_vec *seats, int64_t rank);

/* What a rank has closed of a key, or NULL. Where one file is all, it is that of the
 * first rank that has one: what others have closed at the same time is late, and comes
 * after it. */
const struct vel_tally_one *vel_census_closed_by(const struct vel_census *census,
                                                 const struct vel_expect *expect,
                                                 int64_t rank);

/* Have all who are missing left in good order? */
bool vel_census_excuses(const struct vel_expect_template *template,
                        const struct vel_census *census);

/* Have all ranks that there are been seen, here or gone? No other will come then. */
bool vel_census_have_all_come(struct vel_leader *leader);

/* Somebody is there who may write more. */
bool vel_census_goes_on(const struct vel_census *census);

/* To take a census is much work where there are many ranks: may it come out that key i
 * is whole? Not while fewer have closed it than are expected. */
bool vel_census_may_be_whole(struct vel_leader *leader, size_t i,
                             const struct vel_expect_template *template);

/* Has everybody who is expected of key i closed it, as far as is known? */
bool vel_census_is_whole(struct vel_leader *leader, size_t i,
                         const struct vel_expect_template *template,
                         const struct vel_census *census);

/* Is key i to be sealed now, and by which event? false: not yet; the time when that is
 * to be asked again is noted. */
bool vel_census_event(struct vel_leader *leader, size_t i,
                      const struct vel_expect_template *template,
                      const struct vel_census *census, enum vel_dataset_event *ret);

/* --- expect --- */

/* It is tried again. */
void vel_expect_later(struct vel_leader *leader, struct vel_expect *expect);

/* --- settle --- */

/* Seal it by this event: whole, by quiet, or partial since all have left. */
void vel_expect_seal(struct vel_leader *leader, struct vel_expect *expect,
                     const struct vel_census *census, enum vel_dataset_event event);
/* A newer one is sealed: it never will be. */
void vel_expect_void(struct vel_leader *leader, struct vel_expect *expect);

/* Who reports what is decided has missed it; link 0: this node. */
void vel_expect_answer(struct vel_leader *leader, const struct vel_expect *expect,
                       uint64_t link);

#endif
