/* SPDX-License-Identifier: BSD-3-Clause */
/* The split among ranks that hold a record each.
 *
 * Sorting the names brings those of a group together. Then rank a becomes the clerk of
 * the group that stands at place a of the rule's order (there are no more groups than
 * ranks): clerks of a block are neighbours, so scans among them tell what is before a
 * group in its block and in front of the block. The clerk's answer goes to the head of
 * the group among the sorted names, from there to all its positions, and from each
 * position to the rank whose name lies there.
 */
#include "config.h"

#include "topo/deal.h"
#include "topo/sorted.h"
#include "topo/spread.h"

/* What a clerk is told about its group. */
struct notice {
    uint32_t ranks;
    uint32_t head; /* position to answer to */
};

/* What a clerk answers: where the ranks of the group begin. */
struct lot {
    struct vel_deal_ranks of_block;
    uint32_t nth; /* of its first rank in the block */
    uint32_t set; /* the block's first one */
    uint32_t sets;
};

/* Part of a block, in a scan over clerks. */
struct share {
    uint32_t block; /* UINT32_MAX: no clerk */
    struct vel_deal_ranks of;
};

static void share_fold(void *record, const void *before)
{
    struct share *mine = record;
    const struct share *other = before;

    if (other->block != mine->block)
        return;
    mine->of.ranks += other->of.ranks;
    if (other->of.largest > mine->of.largest)
        mine->of.largest = other->of.largest;
}

/* The clerk's block, and what of it lies before the clerk's group. */
static int block_survey(struct vel_comm *comm, uint32_t block, uint32_t ranks,
                        struct lot *lot, struct vel_err *err)
{
    struct share up = {.block = block, .of = {ranks, ranks}}, down = up;
    int rc = vel_spread_scan(comm, VEL_SPREAD_UP, &up, sizeof up, share_fold, err);

    if (rc == 0)
        rc =
            vel_spread_scan(comm, VEL_SPREAD_DOWN, &down, sizeof down, share_fold, err);
    lot->nth = up.of.ranks - ranks;
    lot->of_block.ranks = lot->nth + down.of.ranks;
    lot->of_block.largest =
        up.of.largest > down.of.largest ? up.of.largest : down.of.largest;
    return rc;
}

/* The first clerk of a block counts its sets. */
static int sets_number(struct vel_comm *comm, bool is_first, struct lot *lot,
                       struct vel_err *err)
{
    int64_t own = is_first ? lot->of_block.largest : 0, before = 0, sets = own;
    int rc = vel_comm_exscan(comm, own, &before, err);

    if (rc == 0)
        rc = vel_comm_allreduce(comm, VEL_COMM_SUM, &sets, 1, err);
    lot->set = (uint32_t)(is_first ? before : before - lot->of_block.largest);
    lot->sets = (uint32_t)sets;
    return rc;
}

/* The first block that cannot be, described by all ranks in the same words:
 * *ret_verdict, in err. The result tells whether they could communicate. */
static int blocks_judge(struct vel_comm *comm, const struct vel_deal *deal,
                        uint32_t block, const struct lot *lot,
                        const struct vel_split_rule *rule, int *ret_verdict,
                        struct vel_err *err)
{
    bool is_clerk = block != UINT32_MAX;
    int64_t worst =
        is_clerk && !vel_deal_suffices(lot->of_block, rule) ? block : INT64_MAX;
    int rc = vel_comm_allreduce(comm, VEL_COMM_MIN, &worst, 1, err);

    if (rc < 0 || worst == INT64_MAX) {
        *ret_verdict = 0;
        return rc;
    }
    int64_t of[2] = {0, 0};
    if (block == worst) {
        of[0] = lot->of_block.ranks;
        of[1] = lot->of_block.largest;
    }
    rc = vel_comm_allreduce(comm, VEL_COMM_MAX, of, 2, err);
    if (rc < 0)
        return rc;
    const struct vel_deal_ranks of_block = {(uint32_t)of[0], (uint32_t)of[1]};
    *ret_verdict = vel_deal_refuse(deal, (uint32_t)worst, of_block, rule, err);
    return 0;
}

/* A head learns where the ranks of its group begin. */
static int lot_draw(struct vel_comm *comm, const struct vel_sorted *sorted,
                    const struct vel_split_rule *rule, struct lot *ret_lot,
                    int *ret_verdict, struct vel_err *err)
{
    const struct notice mine = {sorted->ranks, (uint32_t)comm->rank};
    struct notice notice = {0, 0};
    struct lot lot = {.nth = 0};
    struct vel_deal deal;
    uint32_t me = (uint32_t)comm->rank, block = UINT32_MAX;

    vel_deal_init(&deal, sorted->groups, rule);
    bool is_clerk = me < sorted->groups;
    if (is_clerk)
        block = vel_deal_block(&deal, me);
    int to = sorted->is_head ? (int)vel_deal_at(&deal, sorted->group) : -1;
    int rc = vel_spread_deliver(comm, to, &mine, &notice, sizeof mine, is_clerk, err);
    if (rc == 0)
        rc = block_survey(comm, block, notice.ranks, &lot, err);
    bool is_first = is_clerk && vel_deal_first(&deal, block) == me;
    if (rc == 0)
        rc = sets_number(comm, is_first, &lot, err);
    if (rc == 0)
        rc = blocks_judge(comm, &deal, block, &lot, rule, ret_verdict, err);
    if (rc < 0 || *ret_verdict < 0)
        return rc;
    return vel_spread_deliver(comm, is_clerk ? (int)notice.head : -1, &lot, ret_lot,
                              sizeof lot, sorted->is_head, err);
}

/* *ret_verdict: is the split possible? The result: could the ranks communicate? */
static int split_run(struct vel_comm *comm, const char *group,
                     const struct vel_split_rule *rule, struct vel_place *ret_place,
                     int *ret_verdict, struct vel_err *err)
{
    struct vel_sorted sorted;
    struct lot lot = {.nth = 0};
    int rc = vel_sorted(comm, group, &sorted, err);

    if (rc == 0)
        rc = lot_draw(comm, &sorted, rule, &lot, ret_verdict, err);
    if (rc < 0 || *ret_verdict < 0)
        return rc;
    rc = vel_sorted_share(comm, &sorted, &lot, sizeof lot, err);
    if (rc < 0)
        return rc;
    const struct vel_place place =
        vel_deal_place(lot.of_block, lot.nth + sorted.place, lot.set, lot.sets);
    return vel_spread_deliver(comm, sorted.owner, &place, ret_place, sizeof place, true,
                              err);
}

/* Ranks with other rules would be members of sets that nobody else knows. */
static int rules_compare(struct vel_comm *comm, const struct vel_split_rule *rule,
                         struct vel_err *err)
{
    enum { N = VEL_DEAL_NUMBERS };
    struct vel_deal_number numbers[N];
    int64_t both[2 * N]; /* the greatest, and the least with its sign changed */

    vel_deal_numbers(rule, numbers);
    for (size_t i = 0; i < N; i++) {
        both[i] = (int64_t)numbers[i].value;
        both[N + i] = -both[i];
    }
    int rc = vel_comm_allreduce(comm, VEL_COMM_MAX, both, 2 * N, err);
    for (size_t i = 0; rc == 0 && i < N; i++)
        if (both[i] != -both[N + i])
            rc = vel_fail(err, VEL_EINVAL,
                          "%s is %lld on one rank and %lld on another; it must be the "
                          "same on all",
                          numbers[i].name, (long long)-both[N + i], (long long)both[i]);
    return rc;
}

int vel_split(struct vel_comm *comm, const char *group,
              const struct vel_split_rule *rule, struct vel_place *ret_place,
              struct vel_err *err)
{
    struct vel_place place = {.sets = 0};
    struct vel_err cause = {0};
    int verdict = 0, rc = vel_deal_check(rule, err);

    if (rc == 0)
        rc = vel_deal_check_group(rule, group, err);
    rc = vel_comm_agree(comm, rc, err);
    if (rc == 0)
        rc = rules_compare(comm, rule, err);
    if (rc < 0)
        return rc;
    rc = split_run(comm, group, rule, &place, &verdict, &cause);
    if (rc < 0)
        vel_comm_fail(comm, &cause);
    else
        rc = verdict;
    if (rc == 0)
        *ret_place = place;
    else if (err)
        *err = cause;
    return rc;
}

int vel_place_comm(struct vel_comm *comm, const struct vel_place *place,
                   struct vel_comm **ret_set, struct vel_err *err)
{
    return vel_comm_split(comm, (int)place->set, (int)place->rank, ret_set, err);
}
