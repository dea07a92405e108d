/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is expected of a key, and missing; when nobody comes any more. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/expect_in.h"

#define PATIENCE 2 /* times T for nodes that may come back */

/* --- who is expected --- */

static int compare_seats(const void *a, const void *b)
{
    const struct vel_seat_of *left = a, *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool tell_own(const struct vel_leader *leader, struct vel_roster_member *self)
{
    struct vel_buf own;

    vel_buf_init(&own);
    vel_present_print(leader, &own);
    bool is_told = vel_roster_tell(self, vel_buf_text(&own));
    vel_buf_fini(&own);
    return is_told;
}

/* The ranks that have been seen in the launch. */
static int collect_present(struct vel_leader *leader, struct vel_vec *ret)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (strcmp(member->node, leader->conf.node) == 0 && !tell_own(leader, member))
            return VEL_ENOMEM;
        for (const char *at = member->present ? member->present : ""; *at;) {
            char *end;
            int64_t rank = strtoll(at, &end, 10);
            struct vel_seat_of seat = {.rank = rank,
                                       .node = member->is_here ? member->node : NULL};

            if (end == at || rank < 0 || rank >= VEL_MSG_NO_RANK)
                break;
            seat.has_left = *end == '-';
            seat.has_vanished = *end == '!';
            at = end + strspn(end, "-! ");
            if (!vel_vec_push(ret, &seat))
                return VEL_ENOMEM;
        }
    }
    vel_vec_sort(ret, compare_seats);
    return 0;
}

const struct vel_seat_of *vel_seat_find(const struct vel_vec *seats, int64_t rank)
{
    struct vel_seat_of key = {.rank = rank};
    bool is_there;
    size_t i = vel_vec_place(seats, &key, compare_seats, &is_there);

    return is_there ? vel_vec_at(seats, i) : NULL;
}

int vel_census_take(struct vel_leader *leader, const struct vel_expect *expect,
                    struct vel_census *ret)
{
    vel_vec_init(&ret->closed, sizeof(struct vel_tally_one));
    vel_vec_init(&ret->seats, sizeof(struct vel_seat_of));
    if (collect_present(leader, &ret->seats) == 0 &&
        vel_tally_collect(&expect->tally, &ret->closed) == 0)
        return 0;
    vel_leader_fail(leader, "the ranks of a dataset");
    return VEL_ENOMEM;
}

void vel_census_fini(struct vel_census *census)
{
    vel_vec_fini(&census->closed);
    vel_vec_fini(&census->seats);
}

const struct vel_tally_one *vel_census_closed_by(const struct vel_census *census,
                                                 const struct vel_expect *expect,
                                                 int64_t rank)
{
    for (size_t i = 0; expect->is_alone && i < census->closed.n; i++) {
        const struct vel_tally_one *one = vel_vec_at(&census->closed, i);

        if (one->rank.files > 0)
            return one->rank.rank == rank ? one : NULL;
    }
    return vel_tally_find(&census->closed, rank);
}

/* A rank that has closed a later generation has passed this one by. */
static bool has_passed(const struct vel_leader *leader, size_t i, int64_t rank)
{
    const struct vel_expect *expect = vel_expect_at(leader, i);

    for (size_t k = 0; k < leader->connector->expects.n; k++) {
        const struct vel_expect *later = vel_expect_at(leader, k);

        if (later->generation > expect->generation &&
            strcmp(later->template, expect->template) == 0 &&
            strcmp(later->step, expect->step) == 0 &&
            vel_tally_has(&later->tally, rank))
            return true;
    }
    return false;
}

static bool is_closed(const struct vel_leader *leader, size_t i,
                      const struct vel_census *census, int64_t rank, int64_t least)
{
    return vel_tally_has_closed(&census->closed, rank, least) ||
           (!vel_tally_find(&census->closed, rank) && has_passed(leader, i, rank));
}

/* Then it is looked at again. */
static bool is_too_early(struct vel_leader *leader, uint64_t at)
{
    if (leader->now < at && at < leader->connector->check_at)
        leader->connector->check_at = at;
    return leader->now < at;
}

/* What nodes have closed they tell before they leave; but where other nodes pass it on
 * it may still be on its way through the tree. */
static uint64_t reports_until(const struct vel_leader *leader)
{
    return leader->roster.members.n > VEL_ROSTER_FAN + 1
               ? leader->connector->present_at + leader->conf.limit / 4
               : 0;
}

/* The first of its template in this launch: of all ranks, as many files as each had in
 * the launch before. Who has fewer now is waited for as one who does not come. */
static bool is_first_whole(struct vel_leader *leader, size_t i,
                           const struct vel_expect_template *template,
                           const struct vel_census *census)
{
    const struct vel_leader_previous *previous = &template->previous;
    uint64_t patience = PATIENCE * leader->conf.limit;
    size_t n = 0;

    if (leader->conf.ranks == 0 && is_too_early(leader, leader->claimed_at + patience))
        return false; /* others may be on their way */
    if (census->closed.n == 0)
        return false;
    for (size_t k = 0; k < census->seats.n; k++) {
        const struct vel_seat_of *seat = vel_vec_at(&census->seats, k);
        bool had_none = template->has_previous && seat->rank < previous->ranks;
        bool has_none = seat->has_left &&
                        !vel_tally_find(&census->closed, seat->rank) &&
                        !is_too_early(leader, reports_until(leader));

        if (!had_none && !has_none && !is_closed(leader, i, census, seat->rank, 1))
            return false;
        n += seat->rank < leader->conf.ranks;
    }
    for (size_t k = 0; template->has_previous && k < previous->ones.n; k++) {
        const struct vel_leader_one *one = vel_vec_at(&previous->ones, k);

        if (!is_closed(leader, i, census, one->rank, one->files))
            return false;
    }
    return template->has_previous || (int64_t)n >= leader->conf.ranks;
}

/* Is there a file to be sealed? */
static bool has_files(const struct vel_census *census)
{
    for (size_t i = 0; i < census->closed.n; i++)
        if (((struct vel_tally_one *)vel_vec_at(&census->closed, i))->rank.files > 0)
            return true;
    return false;
}

bool vel_census_is_whole(struct vel_leader *leader, size_t i,
                         const struct vel_expect_template *template,
                         const struct vel_census *census)
{
    if (vel_expect_at(leader, i)->is_alone)
        return has_files(census);
    if (!template->has_previous || !template->previous.is_ours)
        return is_first_whole(leader, i, template, census);
    for (size_t k = 0; k < template->previous.ones.n; k++) {
        const struct vel_leader_one *one = vel_vec_at(&template->previous.ones, k);

        if (!vel_tally_has_closed(&census->closed, one->rank, one->files))
            return false;
    }
    return true;
}

/* Has a rank left, or gone past this one to a later generation? */
static bool has_skipped(struct vel_leader *leader, size_t i)
{
    const struct vel_expect *expect = vel_expect_at(leader, i);
    struct vel_roster_member *self = vel_roster_get(&leader->roster, leader->conf.node);

    if (!self || !tell_own(leader, self))
        return true;
    for (size_t k = 0; k < leader->roster.members.n; k++) {
        const char *present = vel_roster_at(&leader->roster, k)->present;

        if (present && strchr(present, '-'))
            return true;
    }
    for (size_t k = 0; k < leader->connector->expects.n; k++) {
        const struct vel_expect *later = vel_expect_at(leader, k);

        if (later->generation > expect->generation &&
            strcmp(later->template, expect->template) == 0 &&
            strcmp(later->step, expect->step) == 0)
            return true;
    }
    return false;
}

bool vel_census_may_be_whole(struct vel_leader *leader, size_t i,
                             const struct vel_expect_template *template)
{
    const struct vel_expect *expect = vel_expect_at(leader, i);
    size_t expected =
        template->has_previous ? template->previous.ones.n : (size_t)leader->conf.ranks;

    return expect->is_alone || vel_tally_closed(&expect->tally) >= expected ||
           has_skipped(leader, i);
}

/* What somebody has not closed, or has written elsewhere, makes it no checkpoint. */
static bool is_broken(const struct vel_census *census)
{
    for (size_t i = 0; i < census->closed.n; i++)
        if (((struct vel_tally_one *)vel_vec_at(&census->closed, i))->rank.is_open)
            return true;
    return false;
}

/* --- when nobody comes any more --- */

static bool had_files(const struct vel_expect_template *template, int64_t rank)
{
    for (size_t i = 0; i < template->previous.ones.n; i++)
        if (((struct vel_leader_one *)vel_vec_at(&template->previous.ones, i))->rank ==
            rank)
            return true;
    return false;
}

static bool is_first(const struct vel_expect *expect,
                     const struct vel_expect_template *template)
{
    return expect->is_late || !template->has_previous || !template->previous.is_ours;
}

/* Might the rank have closed it, as far as is known? */
static bool is_missing(const struct vel_expect_template *template,
                       const struct vel_census *census, const struct vel_seat_of *seat)
{
    bool had_none = template->has_previous && seat->rank < template->previous.ranks &&
                    !had_files(template, seat->rank);

    return !had_none && !vel_tally_has_closed(&census->closed, seat->rank, 1);
}

/* Whoever has not left in good order, and has not closed it, stays expected. */
static bool has_lost(const struct vel_expect_template *template,
                     const struct vel_census *census)
{
    for (size_t i = 0; i < census->seats.n; i++) {
        const struct vel_seat_of *seat = vel_vec_at(&census->seats, i);

        if (seat->has_vanished && is_missing(template, census, seat))
            return true;
    }
    return false;
}

static bool is_quiet(struct vel_leader *leader, const struct vel_expect *expect,
                     const struct vel_expect_template *template,
                     const struct vel_census *census)
{
    uint64_t at = expect->heard_at + leader->conf.seal_after;

    if (!is_first(expect, template) || is_broken(census) || has_lost(template, census))
        return false;
    return !is_too_early(leader, at);
}

/* All have left: what is not known to lack anybody is as good as whole. */
static enum vel_dataset_event left(const struct vel_expect *expect,
                                   const struct vel_expect_template *template,
                                   const struct vel_census *census)
{
    bool is_whole =
        is_first(expect, template) && !is_broken(census) && !has_lost(template, census);

    for (size_t i = 0; is_whole && i < template->previous.ones.n; i++) {
        const struct vel_leader_one *one = vel_vec_at(&template->previous.ones, i);

        is_whole = expect->is_late || !template->has_previous ||
                   vel_tally_has_closed(&census->closed, one->rank, 1);
    }
    return is_whole ? VEL_DATASET_ON_QUIET : VEL_DATASET_ON_LEFT;
}

/* Have all ranks that there are been seen? */
static bool is_full(const struct vel_leader *leader, const struct vel_vec *seats)
{
    int64_t n = 0, last = -1;

    for (size_t i = 0; i < seats->n; i++) {
        int64_t rank = ((const struct vel_seat_of *)vel_vec_at(seats, i))->rank;

        n += rank != last && rank < leader->conf.ranks;
        last = rank;
    }
    return leader->conf.ranks > 0 && n == leader->conf.ranks;
}

bool vel_census_have_all_come(struct vel_leader *leader)
{
    struct vel_vec seats;

    vel_vec_init(&seats, sizeof(struct vel_seat_of));
    bool have = collect_present(leader, &seats) == 0 && is_full(leader, &seats);
    vel_vec_fini(&seats);
    return have;
}

bool vel_leader_has_ended_well(struct vel_leader *leader)
{
    struct vel_vec seats;

    vel_vec_init(&seats, sizeof(struct vel_seat_of));
    bool is_well = collect_present(leader, &seats) == 0;
    for (size_t i = 0; i < seats.n; i++)
        is_well =
            is_well && ((const struct vel_seat_of *)vel_vec_at(&seats, i))->has_left;
    is_well = is_well && seats.n > 0;
    vel_vec_fini(&seats);
    return is_well;
}

bool vel_census_goes_on(const struct vel_census *census)
{
    for (size_t i = 0; i < census->seats.n; i++) {
        const struct vel_seat_of *seat = vel_vec_at(&census->seats, i);

        if (seat->node && !seat->has_left && !seat->has_vanished)
            return true;
    }
    return false;
}

/* Who has left in good order has no file open: what his leader still has for open he
 * has brought to its own path. A rank that was never seen is as good as those that
 * were. */
bool vel_census_excuses(const struct vel_expect_template *template,
                        const struct vel_census *census)
{
    bool is_well = true;

    for (size_t i = 0; i < census->seats.n; i++) {
        const struct vel_seat_of *seat = vel_vec_at(&census->seats, i);

        if (!seat->has_left && is_missing(template, census, seat))
            return false;
        is_well = is_well && seat->has_left;
    }
    for (size_t i = 0; !is_well && i < template->previous.ones.n; i++) {
        const struct vel_leader_one *one = vel_vec_at(&template->previous.ones, i);
        const struct vel_seat_of *seat = vel_seat_find(&census->seats, one->rank);

        if (!vel_tally_has_closed(&census->closed, one->rank, one->files) &&
            (!seat || !seat->has_left))
            return false;
    }
    return true;
}

/* Until when somebody might come of whom nothing is known yet. When all ranks have been
 * here nobody will. */
static uint64_t comers_until(const struct vel_leader *leader,
                             const struct vel_census *census)
{
    return is_full(leader, &census->seats)
               ? reports_until(leader)
               : leader->claimed_at + PATIENCE * leader->conf.limit;
}

static bool have_left(struct vel_leader *leader, const struct vel_census *census)
{
    const struct vel_roster_member *missed = NULL;
    uint64_t patience = PATIENCE * leader->conf.limit,
             at = comers_until(leader, census);

    if (!vel_present_has_left(leader))
        return false;
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (member->has_left || strcmp(member->node, leader->conf.node) == 0)
            continue;
        if (member->is_here)
            return false;
        if (vel_ending_is_dead(leader, member))
            continue;
        at = member->gone_at + patience > at ? member->gone_at + patience : at;
        missed = member;
    }
    if (is_too_early(leader, at))
        return false;
    if (leader->left_at < at && missed)
        vel_leader_in_vain(leader, missed->gone_at, "node ", missed->node);
    else if (leader->left_at < at && !is_full(leader, &census->seats))
        vel_leader_in_vain(leader, leader->claimed_at, "ranks that have not come", "");
    return true;
}

bool vel_census_event(struct vel_leader *leader, size_t i,
                      const struct vel_expect_template *template,
                      const struct vel_census *census, enum vel_dataset_event *ret)
{
    const struct vel_expect *expect = vel_expect_at(leader, i);

    if (!has_files(census))
        return false;
    if (vel_census_is_whole(leader, i, template, census))
        *ret = VEL_DATASET_ON_REPORT;
    else if (is_quiet(leader, expect, template, census)) {
        *ret = VEL_DATASET_ON_QUIET;
        if (vel_present_has_left(leader))
            vel_leader_in_vain(leader, expect->heard_at, "more files of ",
                               expect->template);
    } else if (have_left(leader, census))
        *ret = left(expect, template, census);
    else
        return false;
    return true;
}
