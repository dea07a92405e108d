/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of datasets: an event to its row, its record, its action, which is one of
 * the chair's or one of every node's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/leader_in.h"

enum { DATASETS_MANY = 64 };

/* --- the datasets that are known --- */

struct vel_lead *vel_lead_at(const struct vel_leader *leader, size_t i)
{
    return *(struct vel_lead **)vel_vec_at(&leader->leads, i);
}

static int compare_ids(const void *a, const void *b)
{
    const struct vel_lead *const *left = a, *const *right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

static size_t place_of(const struct vel_leader *leader, int64_t id, bool *ret_is_there)
{
    struct vel_lead key = {.id = id};
    const struct vel_lead *at = &key;

    return vel_vec_place(&leader->leads, &at, compare_ids, ret_is_there);
}

struct vel_lead *vel_lead_get(const struct vel_leader *leader, int64_t id)
{
    bool is_there;
    size_t i = place_of(leader, id, &is_there);

    return is_there ? vel_lead_at(leader, i) : NULL;
}

void vel_lead_destroy(struct vel_lead *lead)
{
    if (!lead)
        return;
    for (size_t step = 0; step < VEL_DID_STEPS; step++) {
        vel_map_destroy(lead->done[step], NULL);
        vel_buf_fini(&lead->up[step].nodes);
    }
    vel_map_destroy(lead->nodes, NULL);
    vel_vec_fini(&lead->sets);
    vel_seal_fini(&lead->seal);
    free(lead->text);
    free(lead);
}

struct vel_lead *vel_lead_create(int64_t id)
{
    struct vel_lead *lead = calloc(1, sizeof *lead);
    bool is_made;

    if (!lead)
        return NULL;
    lead->id = id;
    lead->attempt = -1;
    vel_vec_init(&lead->sets, sizeof(int64_t));
    vel_seal_init(&lead->seal);
    lead->seal.id = id;
    lead->nodes = vel_map_create();
    is_made = lead->nodes;
    for (size_t step = 0; step < VEL_DID_STEPS; step++) {
        lead->done[step] = vel_map_create();
        is_made = is_made && lead->done[step];
        vel_buf_init(&lead->up[step].nodes);
    }
    if (is_made)
        return lead;
    vel_lead_destroy(lead);
    return NULL;
}

void vel_lead_sealed(struct vel_leader *leader, struct vel_lead *lead)
{
    struct vel_map *nodes = vel_map_create();
    int rc = nodes ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < lead->seal.members.n; i++)
        rc = vel_map_set(nodes, vel_seal_member(&lead->seal, i)->node, lead, NULL);
    if (rc < 0) {
        vel_map_destroy(nodes, NULL);
        vel_leader_fail(leader, "the nodes of a dataset");
        return;
    }
    vel_map_destroy(lead->nodes, NULL);
    lead->nodes = nodes;
    lead->has_seal = true;
}

bool vel_lead_insert(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_there;
    size_t i = place_of(leader, lead->id, &is_there);

    if (vel_vec_insert(&leader->leads, i, &lead))
        return true;
    vel_lead_destroy(lead);
    vel_leader_fail(leader, "a dataset");
    return false;
}

struct vel_lead *vel_lead_make(struct vel_leader *leader, int64_t id)
{
    struct vel_lead *lead = vel_lead_get(leader, id);

    if (lead)
        return lead;
    lead = vel_lead_create(id);
    if (lead)
        return vel_lead_insert(leader, lead) ? lead : NULL;
    vel_leader_fail(leader, "a dataset");
    return NULL;
}

void vel_lead_remove(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_there;
    size_t i = place_of(leader, lead->id, &is_there);

    if (is_there)
        vel_vec_remove(&leader->leads, i);
    vel_lead_destroy(lead);
    leader->steps++;
}

bool vel_lead_is_over(const struct vel_lead *lead)
{
    if (lead->is_aside || lead->is_taken)
        return true;
    switch (lead->state) {
    case VEL_DATASET_FLUSHED:
    case VEL_DATASET_SUPERSEDED:
    case VEL_DATASET_LOST:
        return true;
    case VEL_DATASET_ENCODED:
        return lead->is_led ? !(lead->seal.what & VEL_OWED_FLUSH) : !lead->owed;
    default:
        return false;
    }
}

static bool is_asked_for(const struct vel_leader *leader, int64_t id)
{
    for (size_t i = 0; i < leader->tasks.n; i++)
        if (((struct vel_leader_task *)vel_vec_at(&leader->tasks, i))->id == id)
            return true;
    for (size_t i = 0; i < leader->waits.n; i++)
        if (((struct vel_leader_wait *)vel_vec_at(&leader->waits, i))->id == id)
            return true;
    return vel_owe_rests(leader, id);
}

static bool may_be_forgotten(const struct vel_leader *leader,
                             const struct vel_lead *lead)
{
    /* what could not be read may be owed */
    return !leader->unread && vel_lead_is_over(lead) && !lead->is_taken &&
           lead->owed == 0 && (lead->is_removed || !lead->is_here) &&
           (lead->is_told || !lead->is_led) && !is_asked_for(leader, lead->id);
}

void vel_lead_forget_over(struct vel_leader *leader)
{
    size_t least = leader->conf.many ? leader->conf.many : DATASETS_MANY, n = 0,
           kept = 0;
    struct vel_lead **items = leader->leads.items;

    if (leader->leads.n <= (leader->many > least ? leader->many : least))
        return;
    /* from the oldest on: while one is not over, newer ones tell that its names are
     * replaced */
    for (; n < leader->leads.n && vel_lead_is_over(items[n]); n++) {
        if (!may_be_forgotten(leader, items[n])) {
            items[kept++] = items[n];
            continue;
        }
        leader->moved_before += items[n]->moved;
        vel_lead_destroy(items[n]);
    }
    memmove(items + kept, items + n, (leader->leads.n - n) * sizeof *items);
    leader->leads.n -= n - kept;
    leader->many = 2 * leader->leads.n;
}

/* Bytes that this node has still to move; never 0 before it is over. */
uint64_t vel_lead_left(const struct vel_lead *lead)
{
    bool is_here = lead->owed || lead->is_led;
    uint64_t left = lead->bytes > lead->moved ? lead->bytes - lead->moved : 1;

    return vel_lead_is_over(lead) || !is_here ? 0 : left;
}

bool vel_lead_is_broken(const struct vel_lead *lead, int rc)
{
    return lead->state == VEL_DATASET_SEALED &&
           (rc == VEL_ELOST || rc == VEL_ETIMEOUT || rc == VEL_EREMOTE ||
            rc == VEL_ECANCEL);
}

void vel_lead_failed(struct vel_leader *leader, struct vel_lead *lead, int rc,
                     const char *text)
{
    struct vel_err why = {0};

    lead->status = rc;
    lead->failures++;
    vel_leader_text(leader, &lead->text, text);
    /* of a launch that is over others take care, and a newer owner of what it has */
    if (vel_lead_is_broken(lead, rc) || rc == VEL_ESTATE ||
        !vel_launch_may_tell(leader))
        return;
    vel_fail(&why, (enum vel_status)rc, "%s", text ? text : vel_status_text(rc));
    leader->ops->failed(leader->arg, lead->id, &why);
}

/* --- the table --- */

static unsigned facts_of(const struct vel_leader *leader, const struct vel_lead *lead)
{
    bool is_owed = (lead->is_led ? lead->seal.what : lead->owed) & VEL_OWED_FLUSH;

    return (leader->is_chair && lead->is_led ? VEL_DATASET_IF(CHAIR) : 0) |
           (leader->is_ended ? 0 : VEL_DATASET_IF(LIVE)) |
           (is_owed ? VEL_DATASET_IF(OWED) : 0) |
           (lead->seal.is_encoded ? VEL_DATASET_IF(ENCODED) : 0) |
           (lead->is_staged ? VEL_DATASET_IF(STAGED) : 0);
}

static void act(struct vel_leader *leader, struct vel_lead *lead, unsigned action)
{
    switch ((enum vel_dataset_action)action) {
    case VEL_DATASET_DO_TELL_SEAL:
    case VEL_DATASET_DO_TELL_ENCODED:
    case VEL_DATASET_DO_ENCODE_AGAIN:
    case VEL_DATASET_DO_TELL_FLUSH:
    case VEL_DATASET_DO_TELL_PUBLISH:
    case VEL_DATASET_DO_TELL_FLUSHED:
    case VEL_DATASET_DO_REBUILD:
    case VEL_DATASET_DO_RETRY:
    case VEL_DATASET_DO_TELL_RETREAT:
    case VEL_DATASET_DO_TELL_SUPERSEDED:
    case VEL_DATASET_DO_TELL_STATE:
        vel_chair_act(leader, lead, action);
        break;
    default:
        vel_part_act(leader, lead, action);
        break;
    }
}

/* What people may read of. A step that was tried again fails once for all nodes. */
static const struct {
    enum vel_dataset_event on;
    enum vel_dataset_state from, to;
    enum vel_event_kind kind;
    enum vel_event_result result;
} steps[] = {
    {VEL_DATASET_ON_DONE, VEL_DATASET_SEALED, VEL_DATASET_ENCODED, VEL_EVENT_ENCODE,
     VEL_EVENT_OK},
    {VEL_DATASET_ON_FAIL, VEL_DATASET_SEALED, VEL_DATASET_FLUSHING, VEL_EVENT_ENCODE,
     VEL_EVENT_FAILED},
    {VEL_DATASET_ON_FAIL, VEL_DATASET_SEALED, VEL_DATASET_FLUSHING,
     VEL_EVENT_FLUSH_START, VEL_EVENT_OPEN},
    {VEL_DATASET_ON_FLUSH, VEL_DATASET_ENCODED, VEL_DATASET_FLUSHING,
     VEL_EVENT_FLUSH_START, VEL_EVENT_OPEN},
    {VEL_DATASET_ON_DONE, VEL_DATASET_FLUSHING, VEL_DATASET_FLUSHED, VEL_EVENT_FLUSH,
     VEL_EVENT_OK},
    {VEL_DATASET_ON_FAIL, VEL_DATASET_FLUSHING, VEL_DATASET_ENCODED, VEL_EVENT_FLUSH,
     VEL_EVENT_FAILED},
    {VEL_DATASET_ON_FAIL, VEL_DATASET_FLUSHING, VEL_DATASET_FLUSHING, VEL_EVENT_FLUSH,
     VEL_EVENT_FAILED},
};

static void tell(const struct vel_leader *leader, const struct vel_lead *lead,
                 enum vel_dataset_event on, enum vel_dataset_state from)
{
    bool is_encoded = lead->seal.what & VEL_OWED_ENCODE;

    if (!leader->ops->tell || !leader->is_chair || !lead->is_led)
        return;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        bool has_failed = steps[i].result == VEL_EVENT_FAILED;
        struct vel_event event = {.kind = steps[i].kind,
                                  .result = steps[i].result,
                                  .text = has_failed ? lead->text : NULL};

        if (steps[i].on != on || steps[i].from != from || steps[i].to != lead->state ||
            (event.kind == VEL_EVENT_ENCODE && !is_encoded) ||
            (from == lead->state && !lead->is_told))
            continue;
        vel_event_about(&event, &lead->seal.about);
        event.id = lead->id;
        if (event.result != VEL_EVENT_OPEN && lead->since > 0)
            event.seconds = (double)(leader->now - lead->since) / 1e9;
        leader->ops->tell(leader->arg, &event);
    }
}

bool vel_lead_event(struct vel_leader *leader, struct vel_lead *lead,
                    enum vel_dataset_event event, unsigned facts)
{
    const struct vel_machine_row *row = vel_machine_step(
        &vel_dataset_machine, lead->state, event, facts | facts_of(leader, lead));
    enum vel_dataset_state from = lead->state;

    if (!row)
        return false;
    if (!vel_chair_record(leader, lead, row->record)) {
        lead->retry_at = leader->now + leader->conf.limit / 4;
        return false;
    }
    lead->state = (enum vel_dataset_state)row->next;
    tell(leader, lead, event, from);
    if (lead->state != from) {
        lead->since = leader->now;
        leader->steps++;
    }
    act(leader, lead, row->action);
    return true;
}

/* --- what records say --- */

static void take_found(struct vel_leader *leader, const struct vel_leader_found *found)
{
    struct vel_dataset_found undropped = found->found;
    struct vel_lead *lead = vel_owe_rests(leader, found->seal.id)
                                ? NULL
                                : vel_lead_make(leader, found->seal.id);
    struct vel_seal seal;

    undropped.is_dropped = false; /* that is an event, below */
    undropped.owes_encode = found->seal.what & VEL_OWED_ENCODE;
    enum vel_dataset_state state = vel_dataset_found(&undropped);
    if (!lead)
        return;
    lead->is_here = lead->is_here || found->is_here;
    lead->is_aside = found->is_aside;
    lead->owed |= found->owed;
    if (found->seal.members.n > 0 &&
        (!lead->has_seal ||
         (leader->is_chair && (!lead->is_led || lead->seal.is_cut)))) {
        if (vel_seal_copy(&found->seal, &seal, NULL) < 0) {
            vel_leader_fail(leader, "a seal");
            return;
        }
        if (lead->is_led) {
            seal.owner = lead->seal.owner;
            seal.attempt = lead->seal.attempt;
        }
        vel_seal_fini(&lead->seal);
        lead->seal = seal;
        vel_lead_sealed(leader, lead);
    }
    /* states only grow, but for a flush that was taken back */
    if (state > lead->state) {
        lead->state = state;
        leader->steps++;
    }
    lead->is_staged = lead->is_staged ||
                      (found->found.has_entry && found->found.place == VEL_ON_STAGED);
    /* what owes no encoding was protected before anybody was told of it */
    lead->seal.is_encoded =
        lead->seal.is_encoded || found->seal.is_encoded ||
        (lead->state >= VEL_DATASET_ENCODED && !undropped.owes_encode);
    /* whoever made the promise was gone before it heard that it is kept */
    if (lead->state >= VEL_DATASET_ENCODED && lead->seal.is_encoded)
        vel_part_forget(leader, lead, VEL_OWED_ENCODE);
    if (lead->state >= VEL_DATASET_FLUSHED)
        vel_part_forget(leader, lead, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
    if (found->found.is_dropped && lead->is_here)
        vel_lead_event(leader, lead, VEL_DATASET_ON_DROP, 0);
}

static void forget_found(struct vel_vec *found)
{
    for (size_t i = 0; i < found->n; i++)
        vel_seal_fini(&((struct vel_leader_found *)vel_vec_at(found, i))->seal);
    vel_vec_fini(found);
}

bool vel_lead_find(struct vel_leader *leader, enum vel_leader_look where, int64_t id,
                   struct vel_err *err)
{
    const struct vel_lead *lead = vel_lead_get(leader, id);
    const struct vel_seal unknown = {.id = id};
    const struct vel_seal *of = lead && lead->has_seal ? &lead->seal : &unknown;
    struct vel_vec found;

    vel_vec_init(&found, sizeof(struct vel_leader_found));
    int rc = leader->ops->find(leader->arg, where, of, &found, err);
    bool is_read = rc == 0 || vel_status_is_final(rc);
    if (!is_read && where != VEL_LOOK_ONE)
        leader->unread |= 1U << where;
    if (!is_read) /* it is looked for again then, by whoever looks for one */
        vel_leader_at(leader, VEL_TIMER_CHECK, leader->now + leader->conf.limit / 4);
    for (size_t i = 0; i < found.n; i++)
        take_found(leader, vel_vec_at(&found, i));
    forget_found(&found);
    return is_read;
}
