/* SPDX-License-Identifier: BSD-3-Clause */
/* The chair seals a key: every rank has a part, empty where it wrote nothing. What is
 * safe makes room. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "brain/expect_in.h"

enum {
    BY_ITSELF = 64,
    BY_ITSELF_OF_RANK = 4, /* so many more */
    EVICT_AFTER = 2,       /* times T of a chair that follows a dead one */
};

/* --- its members --- */

static int64_t highest(const struct vel_vec *seats, const struct vel_vec *closed)
{
    const struct vel_seat_of *seat =
        seats->n > 0 ? vel_vec_at(seats, seats->n - 1) : NULL;
    const struct vel_tally_one *one =
        closed->n > 0 ? vel_vec_at(closed, closed->n - 1) : NULL;
    int64_t rank = seat ? seat->rank : -1;

    return one && one->rank.rank > rank ? one->rank.rank : rank;
}

static int64_t ranks_of(const struct vel_leader *leader,
                        const struct vel_expect_template *template,
                        const struct vel_census *census)
{
    int64_t ranks = highest(&census->seats, &census->closed) + 1;

    if (leader->conf.ranks > ranks)
        ranks = leader->conf.ranks;
    if (template->has_previous && template->previous.is_ours &&
        template->previous.ranks > ranks)
        ranks = template->previous.ranks;
    return ranks;
}

static bool has_ranks(const struct vel_leader *leader,
                      const struct vel_roster_member *member)
{
    struct vel_buf own;
    bool has;

    if (strcmp(member->node, leader->conf.node) != 0)
        return member->present && *member->present;
    vel_buf_init(&own);
    vel_present_print(leader, &own);
    has = own.len > 0;
    vel_buf_fini(&own);
    return has;
}

/* Where a rank that nobody has seen has its part: on the nodes in turn that have none,
 * for they are here to keep redundancy; else with the chair. */
static const char *node_for(const struct vel_leader *leader, int64_t rank)
{
    const struct vel_roster *roster = &leader->roster;
    const char *node = leader->conf.node;
    int64_t n = 0, turn;

    for (size_t i = 0; i < roster->members.n; i++)
        n += vel_roster_at(roster, i)->is_here &&
             !has_ranks(leader, vel_roster_at(roster, i));
    turn = n > 0 ? rank % n : -1;
    for (size_t i = 0; turn >= 0 && i < roster->members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(roster, i);

        if (member->is_here && !has_ranks(leader, member) && turn-- == 0)
            node = member->node;
    }
    return node;
}

/* What it has closed; else what the dataset before has of it; else nothing. */
static int add_member(const struct vel_leader *leader, const struct vel_expect *expect,
                      const struct vel_census *census, int64_t rank,
                      const struct vel_lead *after, struct vel_seal *ret)
{
    const struct vel_tally_one *one = vel_census_closed_by(census, expect, rank);
    const struct vel_seat_of *seat = vel_seat_find(&census->seats, rank);
    const struct vel_seal_member *before =
        after ? vel_seal_find(&after->seal, rank) : NULL;
    struct vel_seal_member member = {.rank = rank};

    if (one && (one->rank.files > 0 || one->rank.has_given)) {
        member.node = (char *)one->node;
        member.files = one->rank.files;
        member.upto = one->rank.upto;
        member.bytes = one->rank.bytes;
    } else if (before && vel_roster_has(&leader->roster, before->node)) {
        member.node = before->node;
        member.files = before->files;
        member.bytes = before->bytes;
    } else if (seat && seat->node) {
        member.node = (char *)seat->node;
    } else {
        member.node = (char *)node_for(leader, rank);
    }
    return vel_seal_add(ret, &member, NULL);
}

/* The dataset that the late files of a key come after, which a chair before this one
 * may have sealed; NULL: none. Where one file is all, a later one takes its place. */
static int find_before(struct vel_leader *leader, const struct vel_expect *expect,
                       struct vel_lead **ret)
{
    int rc = VEL_ENOENT;

    *ret = NULL;
    if (!expect->is_late || expect->is_alone)
        return 0;
    for (int64_t i = expect->generation - 1; !*ret && i > 0; i--) {
        enum vel_verdict verdict = VEL_VERDICT_VOID;
        int64_t id = 0;

        rc = leader->ops->sealed(leader->arg, expect->template, expect->step, i, &id,
                                 &verdict, NULL);
        if (rc < 0 && rc != VEL_ENOENT)
            return rc;
        if (rc < 0 || verdict == VEL_VERDICT_VOID)
            continue;
        if (!vel_lead_get(leader, id) || vel_lead_get(leader, id)->seal.is_cut)
            vel_lead_find(leader, VEL_LOOK_ONE, id, NULL);
        *ret = vel_lead_get(leader, id);
        if (!*ret || (*ret)->seal.is_cut)
            return VEL_EIO;
    }
    return 0;
}

/* Can all nodes link what they have of the dataset before? Who is away has no part in
 * this one then, and what was evicted nobody. */
static bool can_link(const struct vel_leader *leader, const struct vel_lead *after)
{
    for (size_t i = 0; i < after->seal.members.n; i++) {
        const struct vel_seal_member *before = vel_seal_member(&after->seal, i);

        if (before->files > 0 && !vel_roster_has(&leader->roster, before->node))
            return false;
    }
    return !after->is_evicted;
}

/* Late files that lack the others of their dataset are no checkpoint, and need none of
 * them: what is older has those. */
static int fill(struct vel_leader *leader, const struct vel_expect *expect,
                const struct vel_census *census, struct vel_seal *ret)
{
    const struct vel_expect_template *template =
        vel_expect_template(leader, expect->template);
    struct vel_lead *after = NULL;
    int rc = census ? find_before(leader, expect, &after) : 0;

    if (after && !can_link(leader, after))
        ret->verdict = VEL_VERDICT_PARTIAL;
    if (ret->verdict == VEL_VERDICT_PARTIAL)
        after = NULL;
    ret->template = strdup(expect->template);
    ret->step = strdup(expect->step);
    ret->generation = expect->generation;
    ret->after = after ? after->id : 0;
    if (!template || !ret->template || !ret->step)
        return VEL_ENOMEM;
    for (int64_t rank = 0;
         census && rc == 0 && rank < ranks_of(leader, template, census); rank++)
        rc = add_member(leader, expect, census, rank, after, ret);
    return rc;
}

/* --- what follows --- */

static void remember(struct vel_leader *leader, const struct vel_seal *seal)
{
    struct vel_expect_template *template = vel_expect_template(leader, seal->template);

    if (!template || seal->verdict != VEL_VERDICT_SEALED)
        return;
    template->has_previous = template->is_looked = true;
    template->previous.id = seal->id;
    template->previous.is_ours = true;
    template->previous.ranks = (int64_t)seal->members.n;
    template->previous.ones.n = 0;
    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        struct vel_leader_one one = {member->rank, vel_seal_expected(member)};

        if (one.files > 0 && !vel_vec_push(&template->previous.ones, &one))
            vel_leader_fail(leader, "a template");
    }
}

/* As its record says, which may be that of a chair before this one. */
static void decided(struct vel_leader *leader, struct vel_expect *expect,
                    struct vel_lead *lead)
{
    bool is_void = lead->seal.verdict == VEL_VERDICT_VOID;

    expect->is_decided = true;
    expect->id = lead->seal.id;
    remember(leader, &lead->seal);
    vel_generation_sealed(leader, &lead->seal);
    if (is_void || vel_lead_get(leader, lead->id))
        vel_lead_destroy(lead);
    else if (lead->state == VEL_DATASET_LOST)
        lead->state = VEL_DATASET_SEALED; /* it was to be void */
    if (!is_void && !vel_lead_get(leader, expect->id))
        vel_lead_insert(leader, lead);
    vel_tally_fini(&expect->tally);
    vel_tally_init(&expect->tally);
    leader->connector->has_changed = true;
    leader->moved_at = leader->now; /* what it was waited for is over */
    leader->steps++;
}

/* What is partial never takes the place of what is whole, unless no line calls it a
 * checkpoint and all who are missing have left in good order: then it is as the program
 * has left it. Where nothing whole is it comes to its names, a checkpoint only after
 * such an end: ranks that look for the newest step must all find the same. Late files
 * are flushed while their program runs, for somebody may wait for them. */
static int weigh_partial(struct vel_leader *leader, const struct vel_expect *expect,
                         const struct vel_census *census, struct vel_seal *seal,
                         struct vel_err *err)
{
    const struct vel_expect_template *template =
        vel_expect_template(leader, expect->template);
    bool is_promise = leader->ops->is_promise(leader->arg, expect->template);
    bool is_excused = template && vel_census_excuses(template, census);
    bool may_replace =
        (expect->is_late && vel_census_goes_on(census)) || (is_excused && !is_promise);
    bool gives_way = is_promise && !is_excused && !may_replace;
    int rc = may_replace || gives_way
                 ? 0
                 : leader->ops->has_whole(leader->arg, expect->template, expect->step,
                                          expect->generation, &gives_way, err);

    if (rc < 0)
        return rc;
    seal->what = gives_way ? 0 : VEL_OWED_FLUSH;
    vel_log(VEL_LOG_WARN, "%s, step '%s': not all ranks have written their files: %s",
            expect->template, expect->step,
            gives_way ? "what there is stays in the caches until all have written a "
                        "newer one, and what was whole before it at its path"
                      : "what there is comes to its path, and is no checkpoint");
    return 0;
}

static void decide(struct vel_leader *leader, struct vel_expect *expect,
                   const struct vel_census *census, enum vel_verdict verdict,
                   enum vel_dataset_event event)
{
    struct vel_lead *lead = vel_lead_create(0);
    struct vel_leader_key key = {.template = expect->template,
                                 .step = expect->step,
                                 .generation = expect->generation,
                                 .is_alone = expect->is_alone,
                                 .is_late = expect->is_late};
    struct vel_err err = {0};
    int rc = VEL_ENOMEM;

    if (lead) {
        lead->seal.verdict = verdict;
        rc = fill(leader, expect, census, &lead->seal);
    }
    if (rc < 0) {
        vel_lead_destroy(lead);
        if (rc == VEL_ENOMEM)
            vel_leader_fail(leader, "a seal");
        vel_expect_later(leader, expect);
        return;
    }
    lead->state = VEL_DATASET_ANNOUNCED;
    if (lead->seal.verdict == VEL_VERDICT_PARTIAL)
        rc = weigh_partial(leader, expect, census, &lead->seal, &err);
    if (rc == 0 && verdict != VEL_VERDICT_VOID)
        rc = leader->ops->compose(leader->arg, &lead->seal, &key, &err);
    lead->id = lead->seal.id;
    if (rc == 0 && vel_lead_event(leader, lead, event,
                                  VEL_DATASET_IF(CHAIR) | VEL_DATASET_IF(WHOLE) |
                                      VEL_DATASET_IF(FIRST))) {
        decided(leader, expect, lead);
        return;
    }
    if (rc < 0 && vel_launch_may_tell(leader))
        vel_log(VEL_LOG_WARN, "%s, step %s: it cannot be sealed yet: %s",
                expect->template, expect->step, err.text);
    vel_lead_destroy(lead);
    vel_expect_later(leader, expect);
}

void vel_expect_seal(struct vel_leader *leader, struct vel_expect *expect,
                     const struct vel_census *census, enum vel_dataset_event event)
{
    bool is_partial = event == VEL_DATASET_ON_LEFT && !expect->is_alone;

    /* what is older and never became whole must not come back over this one's names */
    for (size_t i = 0; i < leader->connector->expects.n; i++) {
        struct vel_expect *older = vel_expect_at(leader, i);

        if (older->is_decided || older->generation >= expect->generation ||
            strcmp(older->template, expect->template) != 0 ||
            strcmp(older->step, expect->step) != 0)
            continue;
        vel_expect_void(leader, older);
        if (!older->is_decided) {
            vel_expect_later(leader, expect);
            return;
        }
    }
    decide(leader, expect, census,
           is_partial ? VEL_VERDICT_PARTIAL : VEL_VERDICT_SEALED, event);
}

void vel_expect_void(struct vel_leader *leader, struct vel_expect *expect)
{
    decide(leader, expect, NULL, VEL_VERDICT_VOID, VEL_DATASET_ON_NEWER);
}

static void answer_void(struct vel_leader *leader, const struct vel_expect *expect,
                        uint64_t link)
{
    struct vel_lead *lead = vel_lead_create(0);

    if (!lead || fill(leader, expect, NULL, &lead->seal) < 0) {
        vel_leader_fail(leader, "a seal");
    } else {
        lead->seal.verdict = VEL_VERDICT_VOID;
        if (link)
            vel_chair_tell_seal(leader, lead, link);
        else
            vel_generation_sealed(leader, &lead->seal);
    }
    vel_lead_destroy(lead);
}

void vel_expect_answer(struct vel_leader *leader, const struct vel_expect *expect,
                       uint64_t link)
{
    if (expect->id)
        vel_chair_report(leader, expect->id, link);
    else
        answer_void(leader, expect, link);
}

/* --- room --- */

/* Is it safe, wherever its parts are? */
static bool is_safe(const struct vel_lead *lead)
{
    return lead->is_led && lead->is_told &&
           (lead->state == VEL_DATASET_ENCODED || lead->state == VEL_DATASET_FLUSHED);
}

static bool may_go(const struct vel_lead *lead)
{
    bool is_owed = lead->seal.what & VEL_OWED_FLUSH;

    return lead->is_led && lead->is_told && !lead->is_evicted && lead->seal.template &&
           *lead->seal.template &&
           (lead->state == VEL_DATASET_FLUSHED ||
            lead->state == VEL_DATASET_SUPERSEDED ||
            (lead->state == VEL_DATASET_ENCODED && !is_owed));
}

/* Are late files to come after it, whose dataset links what it has? */
static bool is_linked(const struct vel_leader *leader, const struct vel_lead *lead)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *late = vel_lead_at(leader, i);

        /* who is not to be encoded may still be taken */
        if (late->seal.after == lead->id && late->state < VEL_DATASET_FLUSHED)
            return true;
    }
    for (size_t i = 0; i < leader->connector->expects.n; i++) {
        const struct vel_expect *late = vel_expect_at(leader, i);

        if (late->is_late && !late->is_decided &&
            strcmp(late->template, lead->seal.template) == 0 &&
            strcmp(late->step, lead->seal.step) == 0)
            return true;
    }
    return false;
}

static bool is_kept_by(const struct vel_lead *lead)
{
    return is_safe(lead) && lead->seal.verdict == VEL_VERDICT_SEALED;
}

/* A file that no DATASET line has, and no other belongs to. What has its own name stays
 * in the caches for ever if nothing else makes it go. */
static bool is_by_itself(const struct vel_lead *lead, bool has_line)
{
    return !has_line && lead->state == VEL_DATASET_FLUSHED &&
           !strstr(lead->seal.template, "{rank}");
}

struct newer { /* that are safe, from a dataset on */
    int64_t same, by_itself, keep, store;
    const struct newer *next; /* of its template */
};

/* That have gone into the same store. */
static int64_t same_of(const struct newer *newer, int64_t store)
{
    while (newer && newer->store != store)
        newer = newer->next;
    return newer ? newer->same : 0;
}

/* There may be thousands, of one template or of as many. NULL: no memory. */
static struct newer *count_safe(const struct vel_leader *leader)
{
    struct vel_map *newest = vel_map_create(); /* template: its newer one seen last */
    struct newer *counts = calloc(leader->leads.n + 1, sizeof *counts);
    bool is_done = newest && counts;
    int64_t by_itself = 0;

    for (size_t i = leader->leads.n; is_done && i-- > 0;) {
        const struct vel_lead *lead = vel_lead_at(leader, i);
        bool has_line;

        if (!lead->seal.template)
            continue;
        counts[i].next = vel_map_get(newest, lead->seal.template);
        counts[i].keep =
            leader->ops->keep(leader->arg, &lead->seal, &counts[i].store, &has_line);
        counts[i].same = same_of(counts[i].next, counts[i].store) + is_kept_by(lead);
        if (is_by_itself(lead, has_line))
            counts[i].by_itself = ++by_itself;
        is_done = vel_map_set(newest, lead->seal.template, &counts[i], NULL) == 0;
    }
    vel_map_destroy(newest, NULL);
    if (is_done)
        return counts;
    free(counts);
    return NULL;
}

int64_t vel_leader_by_itself(int64_t ranks)
{
    return BY_ITSELF + BY_ITSELF_OF_RANK * ranks;
}

static bool is_enough(const struct vel_leader *leader, const struct vel_lead *lead,
                      const struct newer *newer)
{
    bool is_on_prefix = lead->state != VEL_DATASET_ENCODED;
    int64_t keep = newer->keep > 0 || is_on_prefix ? newer->keep : 1;

    return newer->same - is_kept_by(lead) >= keep ||
           newer->by_itself > vel_leader_by_itself(leader->conf.ranks);
}

void vel_expect_evict(struct vel_leader *leader)
{
    size_t n = leader->leads.n; /* that are counted */
    struct newer *counts;

    if (!leader->connector->may_evict)
        return;
    /* a new chair has not heard yet of what is late */
    if (leader->term > 1 &&
        leader->now < leader->claimed_at + EVICT_AFTER * leader->conf.limit)
        return;
    counts = count_safe(leader);
    leader->connector->may_evict = !counts;
    for (size_t i = 0; counts && i < n && i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);

        if (may_go(lead) && is_enough(leader, lead, &counts[i]) &&
            !is_linked(leader, lead))
            vel_chair_evict(leader, lead);
    }
    free(counts);
}
