/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's work: caches that are encoded, copied, renamed; and the program. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/tap.h"

enum { PART_BYTES = 1000 };

/* --- jobs --- */

static struct lab_job *job_at(struct lab *lab, size_t i)
{
    return vel_vec_at(&lab->jobs, i);
}

static struct lab_job *job_of(struct lab *lab, int leader, uint64_t number)
{
    for (size_t i = 0; i < lab->jobs.n; i++)
        if (job_at(lab, i)->leader == leader && job_at(lab, i)->job.number == number &&
            !job_at(lab, i)->is_over)
            return job_at(lab, i);
    return NULL;
}

/* event.len: what it comes to */
static void finish(struct lab *lab, const struct lab_job *job, int rc, uint64_t delay)
{
    struct lab_event event = {.kind = LAB_DONE,
                              .leader = job->leader,
                              .job = job->job.number,
                              .len = (size_t)-rc};

    lab_post(lab, &event, delay);
}

static bool is_same_set(const struct lab_job *a, const struct lab_job *b)
{
    return a->job.work == VEL_WORK_ENCODE && b->job.work == VEL_WORK_ENCODE &&
           !a->is_over && !b->is_over && a->job.id == b->job.id &&
           a->job.set == b->job.set && a->job.attempt == b->job.attempt;
}

/* Are the parts of the set there, or can they be rebuilt? */
static bool can_encode(struct lab *lab, const struct lab_job *job)
{
    uint64_t nodes = 0;

    for (int i = 0; i < lab->nnodes; i++)
        nodes |= lab->nodes[i].is_alive ? LAB_BIT(i) : 0;
    for (size_t i = 0; i < job->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&job->seal, i);
        if (member->set == job->job.set &&
            !(lab->nodes[lab_node_of(member->node)].caches[job->job.id].here &
              LAB_BIT(member->rank)) &&
            !lab_is_restorable(lab, job->job.id, nodes))
            return false;
    }
    return true;
}

/* A set is encoded when all its nodes have come. */
static void meet(struct lab *lab, const struct lab_job *job)
{
    uint64_t come = 0, time = lab_chance(lab, LAB_MS, 300 * LAB_MS);

    for (size_t i = 0; i < lab->jobs.n; i++)
        if (is_same_set(job_at(lab, i), job))
            come |= LAB_BIT(lab->leaders[job_at(lab, i)->leader].node);
    if (job->members & ~lab->launches[lab->leaders[job->leader].launch].nodes) {
        finish(lab, job, VEL_ENOENT, LAB_MS); /* no endpoint: none to meet with */
        return;
    }
    if (come != job->members) {
        finish(lab, job, VEL_ETIMEOUT, 3 * LAB_T);
        return;
    }
    for (size_t i = 0; i < lab->jobs.n; i++)
        if (is_same_set(job_at(lab, i), job)) {
            job_at(lab, i)->is_going = true;
            finish(lab, job_at(lab, i), can_encode(lab, job) ? 0 : VEL_ECORRUPT,
                   time + lab_chance(lab, 0, 5 * LAB_MS));
        }
}

static void lose_set(struct lab *lab, const struct lab_job *job)
{
    for (size_t i = 0; i < lab->jobs.n; i++)
        if (job_at(lab, i) != job && is_same_set(job_at(lab, i), job))
            finish(lab, job_at(lab, i), VEL_ELOST, lab_chance(lab, 0, 50 * LAB_MS));
}

void lab_start(struct lab_leader *of, const struct vel_leader_job *job)
{
    struct lab *lab = of->lab;
    struct lab_job fresh = {.leader = (int)(of - lab->leaders), .job = *job};
    bool fails = lab_chance(lab, 0, 99) < (uint64_t)lab->errors;

    vel_seal_init(&fresh.seal);
    if (job->seal && vel_seal_copy(job->seal, &fresh.seal, NULL) < 0)
        bail_out("no memory");
    for (size_t i = 0; i < fresh.seal.members.n; i++)
        if (vel_seal_member(&fresh.seal, i)->set == job->set)
            fresh.members |=
                LAB_BIT(lab_node_of(vel_seal_member(&fresh.seal, i)->node));
    lab_file_copy(&fresh.file, job);
    fresh.file.launch = of->launch;
    fresh.job.seal = NULL;
    fresh.job.node = NULL;
    fresh.job.file = NULL;
    fresh.job.key = NULL;
    fresh.job.name = NULL;
    fresh.job.rate = (uint64_t)(job->node ? lab_node_of(job->node) : of->node);
    if (!vel_vec_push(&lab->jobs, &fresh))
        bail_out("no memory");
    struct lab_job *made = job_at(lab, lab->jobs.n - 1);
    if (fails && job->work != VEL_WORK_HOLD && job->work != VEL_WORK_DROP)
        finish(lab, made, VEL_EIO, lab_chance(lab, LAB_MS, 100 * LAB_MS));
    else if (job->work == VEL_WORK_ENCODE)
        meet(lab, made);
    else
        finish(lab, made, 0, lab_chance(lab, LAB_MS, 500 * LAB_MS));
}

void lab_cancel(struct lab_leader *of, uint64_t number)
{
    struct lab_job *job = job_of(of->lab, (int)(of - of->lab->leaders), number);

    if (!job) {
        lab_is_wrong(of->lab, "a job that is not there is cancelled");
        return;
    }
    lose_set(of->lab, job);
    job->is_over = true;
}

void lab_job_lost(struct lab *lab, int leader)
{
    for (size_t i = 0; i < lab->jobs.n; i++)
        if (job_at(lab, i)->leader == leader && !job_at(lab, i)->is_over) {
            lose_set(lab, job_at(lab, i));
            job_at(lab, i)->is_over = true;
        }
}

/* --- what a job does when it is done --- */

static int encode(struct lab *lab, const struct lab_job *job, int node)
{
    struct lab_cache *cache = &lab->nodes[node].caches[job->job.id];

    for (size_t i = 0; i < job->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&job->seal, i);
        if (member->set != job->job.set || lab_node_of(member->node) != node)
            continue;
        cache->here |= LAB_BIT(member->rank);
        cache->red |= LAB_BIT(member->rank);
    }
    return 0;
}

static int copy(struct lab *lab, const struct lab_job *job, int node)
{
    struct lab_dataset *dataset = &lab->datasets[job->job.id];
    int64_t owner = lab->fault == LAB_TEMP_SHARED ? 0 : job->job.owner;

    for (size_t i = 0; i < job->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&job->seal, i);
        uint64_t rank = LAB_BIT(member->rank);
        if (lab_node_of(member->node) != node)
            continue;
        if (!(lab->nodes[node].caches[job->job.id].here & rank))
            return VEL_ENOENT;
        for (int64_t k = 0; k < owner; k++)
            dataset->temps[k] &= ~rank; /* of former owners */
        dataset->temps[owner] |= rank;
    }
    return 0;
}

static int rename_rank(struct lab *lab, int64_t id, int64_t owner, int64_t rank)
{
    struct lab_dataset *dataset = &lab->datasets[id];
    int64_t *name = &lab->groups[id % LAB_GROUPS][rank];

    for (int64_t k = owner; k >= 0; k--)
        if (dataset->temps[k] & LAB_BIT(rank)) {
            dataset->temps[k] &= ~LAB_BIT(rank);
            if (dataset->is_keyed)
                lab_publish(lab, id, rank);
            else if (*name > id)
                lab_is_wrong(lab,
                             "a name of rank %lld goes back from dataset %lld to %lld",
                             (long long)rank, (long long)*name, (long long)id);
            *name = id;
            dataset->renamed |= LAB_BIT(rank);
            return 0;
        }
    return dataset->renamed & LAB_BIT(rank) ? 0 : VEL_ENOENT;
}

static int rename_all(struct lab *lab, const struct lab_job *job)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->seal.members.n; i++)
        if (lab_node_of(vel_seal_member(&job->seal, i)->node) == (int)job->job.rate)
            rc = rename_rank(lab, job->job.id, job->job.owner,
                             vel_seal_member(&job->seal, i)->rank);
    return rc;
}

static void remove_temps(struct lab *lab, const struct lab_job *job, int node)
{
    for (size_t i = 0; i < job->seal.members.n; i++)
        if (lab_node_of(vel_seal_member(&job->seal, i)->node) == node)
            for (int64_t k = 0; k <= job->job.owner; k++)
                lab->datasets[job->job.id].temps[k] &=
                    ~LAB_BIT(vel_seal_member(&job->seal, i)->rank);
}

static int do_job(struct lab *lab, const struct lab_job *job)
{
    int node = lab->leaders[job->leader].node;
    const struct lab_dataset *dataset = &lab->datasets[job->job.id];

    switch (job->job.work) {
    case VEL_WORK_MARK:
        lab->marked |= LAB_BIT(job->job.id);
        return lab->claimed & LAB_BIT(job->job.id) ? VEL_ESTATE : 0;
    case VEL_WORK_HOLD:
        lab_take_old(lab, node, lab->leaders[job->leader].launch);
        return 0;
    case VEL_WORK_ENCODE:
        return encode(lab, job, node);
    case VEL_WORK_COPY:
        return lab_is_rivalled(lab, job) ? VEL_ESTATE : copy(lab, job, node);
    case VEL_WORK_RENAME:
        return lab_is_rivalled(lab, job) ? VEL_ESTATE : rename_all(lab, job);
    case VEL_WORK_REMOVE_TEMPS:
        remove_temps(lab, job, node);
        return 0;
    case VEL_WORK_REMOVE_PARTS:
        if (!dataset->is_dropped && !dataset->is_keyed)
            lab_is_wrong(lab, "parts of dataset %lld are removed",
                         (long long)job->job.id);
        lab->nodes[node].caches[job->job.id].here = 0;
        return 0;
    case VEL_WORK_SETTLE_ENCODING:
        if (!lab_entry(lab, job->job.id)->is_there)
            lab_is_wrong(lab, "old encodings of dataset %lld go too early",
                         (long long)job->job.id);
        if (!(job->seal.what & VEL_OWED_ENCODE))
            lab_is_wrong(lab, "dataset %lld was not to be encoded",
                         (long long)job->job.id);
        return 0;
    default:
        return 0;
    }
}

void lab_job_event(struct lab *lab, const struct lab_event *event)
{
    struct lab_job *job = job_of(lab, event->leader, event->job);
    int rc = -(int)event->len;
    struct vel_msg_place place = {0};

    if (!job || !lab->leaders[event->leader].is_alive ||
        (rc == VEL_ETIMEOUT && job->is_going))
        return;
    struct vel_leader *leader = lab->leaders[event->leader].leader;
    if (rc == 0)
        rc = job->job.work >= VEL_WORK_CREATE ? lab_file_work(lab, job, &place)
                                              : do_job(lab, job);
    if (rc < 0)
        lose_set(lab, job);
    job->is_over = true;
    enum vel_leader_work work = job->job.work;
    vel_leader_job_moved(leader, event->job, PART_BYTES);
    if (rc == 0 &&
        (work == VEL_WORK_CREATE || work == VEL_WORK_LOOK || work == VEL_WORK_REMOVE))
        vel_leader_job_placed(leader, event->job, &place);
    else
        vel_leader_job_done(leader, event->job, rc, NULL, "held", 4);
}

static struct lab_process *process_at(struct lab *lab, int i)
{
    return vel_vec_at(&lab->processes, (size_t)i);
}

static bool is_of_program(struct lab *lab, size_t i)
{
    return process_at(lab, (int)i)->is_alive &&
           process_at(lab, (int)i)->launch == lab->program;
}

/* --- the program: its ranks owe, rank 0 settles when all do --- */

enum { ASK_OWE = 0, ASK_SETTLE = 1, ASKS = 2 };

static void ask_owe(struct lab *lab, int i, int64_t id)
{
    const struct lab_process *process = process_at(lab, i);
    struct vel_msg msg = {.kind = VEL_MSG_OWE, .seq = (uint64_t)(id * ASKS + ASK_OWE)};

    msg.u.owe.dataset = (uint64_t)id;
    msg.u.owe.rank = (uint64_t)process->node;
    msg.u.owe.what = lab->what;
    msg.u.owe.dir = "/cache";
    if (process->link)
        lab_send(lab, process->link, -1 - i, &msg);
}

static void make_settled(struct lab *lab, int64_t id, struct vel_buf *ret)
{
    struct vel_seal seal;

    vel_seal_init(&seal);
    seal.id = seal.about.id = id;
    seal.what = lab->what;
    seal.about.name = strdup("state");
    seal.about.use = VEL_USE_CHECKPOINT;
    seal.about.ranks = seal.about.nodes = lab->nnodes;
    for (int rank = 0; rank < lab->nnodes; rank++) {
        struct vel_seal_member member = {.rank = rank,
                                         .node = (char *)lab_node_name(rank),
                                         .set = rank / LAB_SET,
                                         .place = rank % LAB_SET,
                                         .scheme = VEL_XOR,
                                         .failures = 1,
                                         .bytes = PART_BYTES};
        if (vel_seal_add(&seal, &member, NULL) < 0)
            bail_out("no memory");
    }
    if (vel_seal_encode(&seal, ret, NULL) < 0)
        bail_out("no memory");
    vel_seal_fini(&seal);
}

static void ask_settle(struct lab *lab, int i)
{
    const struct lab_process *process = process_at(lab, i);
    int64_t id = process->settles;
    struct vel_msg msg = {.kind = VEL_MSG_SETTLE,
                          .seq = (uint64_t)(id * ASKS + ASK_SETTLE)};
    struct vel_buf record;

    if (!process->link)
        return;
    vel_buf_init(&record);
    make_settled(lab, id, &record);
    msg.u.settle.dataset = (uint64_t)id;
    msg.u.settle.record = (struct vel_msg_bytes){record.data, record.len};
    lab_send(lab, process->link, -1 - i, &msg);
    vel_buf_fini(&record);
}

void lab_leave_one(struct lab *lab, int i)
{
    struct lab_process *process = process_at(lab, i);

    process->is_leaving = true;
    if (!process->link || !lab_leader_of(lab, process->node, process->launch))
        return; /* `leave` is not answered */
    lab_end_process(lab, i);
}

static void leave(struct lab *lab)
{
    struct vel_msg msg = {.kind = VEL_MSG_DRAIN, .seq = 1};

    for (size_t i = 0; i < lab->processes.n; i++) {
        if (!is_of_program(lab, i))
            continue;
        if (lab->drains)
            lab_send(lab, process_at(lab, (int)i)->link, -1 - (int)i, &msg);
        else
            lab_leave_one(lab, (int)i);
    }
}

/* All that it was told complete is over. */
static void drained(struct lab *lab, int i, const struct vel_msg_state *state)
{
    for (int id = 1; id < LAB_DATASETS; id++)
        if (lab->datasets[id].is_complete && !lab->datasets[id].is_dropped &&
            (!lab_is_over(lab, id) || state->left > 0 || state->status != 0))
            lab_is_wrong(lab, "dataset %d is drained too early", id);
    lab_leave_one(lab, i);
}

void lab_next_checkpoint(struct lab *lab)
{
    if (lab->checkpoints < 0)
        return; /* it was killed */
    if (lab->checkpoints-- == 0 || lab->last_id + 1 >= LAB_DATASETS) {
        leave(lab);
        return;
    }
    lab->making = ++lab->last_id;
    for (size_t i = 0; i < lab->processes.n; i++) {
        struct lab_process *process = process_at(lab, (int)i);
        if (!is_of_program(lab, i))
            continue;
        lab->nodes[process->node].caches[lab->making].here |= LAB_BIT(process->node);
        if (lab->encodes)
            lab->nodes[process->node].caches[lab->making].red |= LAB_BIT(process->node);
        process->owes |= LAB_BIT(lab->making);
        ask_owe(lab, (int)i, lab->making);
    }
}

static void pause_then_next(struct lab *lab)
{
    struct lab_event event = {.kind = LAB_CHECKPOINT};

    lab->making = 0;
    lab_post(lab, &event, lab_chance(lab, 0, lab->pause));
}

static void all_owe(struct lab *lab)
{
    int first = -1;

    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = process_at(lab, (int)i);
        if (!is_of_program(lab, i))
            continue;
        if (!(process->owe_answered & LAB_BIT(lab->making)))
            return;
        first = first < 0 ? (int)i : first;
    }
    if (first >= 0 && process_at(lab, first)->settles != lab->making) {
        process_at(lab, first)->settles = (int)lab->making;
        ask_settle(lab, first);
    }
}

void lab_process_hear(struct lab *lab, int i, const struct vel_msg *msg)
{
    struct lab_process *process = process_at(lab, i);
    int64_t id = (int64_t)msg->seq / ASKS;

    if (msg->seq >= LAB_MARK)
        lab->marks_left -= msg->kind == VEL_MSG_YES || msg->kind == VEL_MSG_NO;
    else if (msg->seq >= LAB_REST && msg->kind == VEL_MSG_YES)
        process->rests |= LAB_BIT(msg->seq - LAB_REST);
    if (msg->seq >= LAB_REST || lab_writer_hear(lab, i, msg))
        return;
    if (process->is_alive && msg->kind == VEL_MSG_STATE)
        drained(lab, i, &msg->u.state);
    if (!process->is_alive || id != lab->making || id == 0 ||
        msg->kind == VEL_MSG_MOVES)
        return;
    if (msg->kind == VEL_MSG_NO) {
        lab->datasets[id].is_refused = true;
        process->settles = 0;
        pause_then_next(lab);
    } else if (msg->seq % ASKS == ASK_OWE) {
        process->owe_answered |= LAB_BIT(id);
        all_owe(lab);
    } else if (process->settles == id) {
        process->settles = 0;
        if (!lab->datasets[id].is_sealed)
            lab_is_wrong(lab, "dataset %lld is complete without a seal", (long long)id);
        if (lab->launches[lab->datasets[id].launch].is_ended &&
            !(lab->launches[lab->datasets[id].launch].listed & LAB_BIT(id)))
            lab_is_wrong(lab, "dataset %lld is told though it never counts",
                         (long long)id);
        lab->datasets[id].is_complete = true;
        pause_then_next(lab);
    }
}

void lab_process_met(struct lab *lab, int i, int link)
{
    const struct lab_process *process = process_at(lab, i);

    if (process->link != link)
        return;
    if (process->owes & ~process->owe_answered & LAB_BIT(lab->making) && lab->making)
        ask_owe(lab, i, lab->making);
    if (process->settles)
        ask_settle(lab, i);
    lab_writer_met(lab, i);
    if (process->is_leaving)
        lab_leave_one(lab, i);
}

void lab_process_lost(struct lab *lab, int i)
{
    process_at(lab, i)->link = 0;
    process_at(lab, i)->is_met = false;
    lab_process_connect(lab, i);
}
