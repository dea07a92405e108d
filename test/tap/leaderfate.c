/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab - what befalls leaders, nodes and processes. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "jobs/mark.h"
#include "tap/leaderlab.h"
#include "tap/tap.h"

bool lab_has_process(const struct lab *lab, int node, int launch)
{
    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = vel_vec_at(&lab->processes, i);
        if (process->is_alive && process->node == node && process->launch == launch)
            return true;
    }
    return false;
}

/* All nodes are of one machine, whose locks tell of each, or each is another one. */
static bool is_gone(const struct lab_leader *of, int node)
{
    return of->lab->launches[of->launch].left & LAB_BIT(node) ||
           (of->lab->has_locks && !lab_leader_of(of->lab, node, of->launch) &&
            !lab_has_process(of->lab, node, of->launch));
}

bool lab_is_gone(void *arg, const char *node)
{
    return is_gone(arg, lab_node_of(node));
}

bool lab_is_last(void *arg, struct vel_buf *ret_other)
{
    const struct lab_leader *of = arg;

    for (int i = 0; i < LAB_NODES; i++)
        if (i != of->node && of->lab->launches[of->launch].nodes & LAB_BIT(i) &&
            !is_gone(of, i)) {
            vel_buf_printf(ret_other, "node %d", i);
            return false;
        }
    return true;
}

void lab_left(void *arg, struct vel_roster *ret, uint64_t now)
{
    const struct lab_leader *of = arg;
    const struct lab_launch *launch = &of->lab->launches[of->launch];
    char ranks[16];

    for (int i = 0; i < LAB_NODES; i++) {
        snprintf(ranks, sizeof ranks, "%d-", i);
        if (launch->left & ~launch->lost & LAB_BIT(i) &&
            !vel_roster_left(ret, lab_node_name(i), ranks, now))
            bail_out("no memory");
    }
}

int lab_over(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct lab_leader *of = arg;

    (void)err;
    for (int i = 0; i < LAB_LAUNCHES; i++)
        if (i != of->launch && of->lab->launches[i].nodes & LAB_BIT(of->node) &&
            !lab_has_process(of->lab, of->node, i)) /* else it is an agent's */
            vel_buf_printf(ret, "%sL%d", ret->len > 0 ? " " : "", i);
    return 0;
}

void lab_bury(struct lab_leader *of, uint64_t delay)
{
    struct lab *lab = of->lab;
    int leader = (int)(of - lab->leaders);

    of->is_alive = false;
    for (size_t i = 0; i < lab->links.n; i++)
        for (int end = 0; end < 2; end++)
            if (lab_link_at(lab, (int)i + 1)->ends[end] == leader)
                lab_close(lab, (int)i + 1, end, delay);
    lab_job_lost(lab, leader);
    vel_leader_destroy(of->leader);
    of->leader = NULL;
}

void lab_kill_leader(struct lab *lab, int node, int launch)
{
    struct lab_leader *of = lab_leader_of(lab, node, launch);
    struct lab_event event = {.kind = LAB_BEGIN, .node = node, .launch = launch};

    if (!of || !lab_has_process(lab, node, launch))
        return;
    lab_bury(of, lab_chance(lab, LAB_MS / 10, 5 * LAB_MS));
    lab_post(lab, &event, lab_chance(lab, LAB_MS, 300 * LAB_MS));
}

void lab_end_process(struct lab *lab, int i)
{
    struct lab_process *process = vel_vec_at(&lab->processes, (size_t)i);
    struct vel_msg msg = {.kind = VEL_MSG_LEAVE, .seq = 1};

    if (lab->failing & LAB_BIT(process->node))
        msg.u.leave.how = VEL_LEAVE_FAILING;
    lab_send(lab, process->link, -1 - i, &msg);
    lab_close(lab, process->link, 1, lab_chance(lab, LAB_MS, 100 * LAB_MS));
    process->is_alive = false;
    process->link = 0;
}

static void end_process(struct lab *lab, size_t i)
{
    struct lab_process *process = vel_vec_at(&lab->processes, i);

    process->is_alive = false;
    if (process->link)
        lab_close(lab, process->link, 1, LAB_MS);
    process->link = 0;
}

void lab_kill_process(struct lab *lab, int node, int launch)
{
    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = vel_vec_at(&lab->processes, i);
        if (process->node == node && process->launch == launch)
            end_process(lab, i);
    }
}

static void stop_program(struct lab *lab)
{
    lab->checkpoints = -1;
    lab->making = 0;
}

void lab_kill_node(struct lab *lab, int node)
{
    lab->nodes[node].is_alive = false;
    memset(lab->nodes[node].caches, 0, sizeof lab->nodes[node].caches);
    lab->nodes[node].files.n = 0;
    for (size_t i = 0; i < lab->processes.n; i++)
        if (((struct lab_process *)vel_vec_at(&lab->processes, i))->node == node)
            end_process(lab, i);
    for (int i = 0; i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && lab->leaders[i].node == node)
            lab_bury(&lab->leaders[i], LAB_T); /* nobody is told: it is silent */
    lab->checkpoints = 0;                      /* the job is broken */
    lab->making = 0;
}

void lab_revive_node(struct lab *lab, int node)
{
    lab->nodes[node].is_alive = true;
}

void lab_freeze(struct lab *lab, int node, int launch, uint64_t time)
{
    struct lab_leader *of = lab_leader_of(lab, node, launch);

    if (!of)
        return;
    of->thaws = lab->now + time;
    for (size_t i = 0; time > LAB_T && i < lab->links.n; i++)
        for (int end = 0; end < 2; end++)
            if (lab_link_at(lab, (int)i + 1)->ends[end] == (int)(of - lab->leaders) &&
                lab_link_at(lab, (int)i + 1)->ends[1 - end] >= 0) {
                struct lab_event event = {.kind = LAB_GONE, .link = (int)i + 1};
                for (event.end = 0; event.end < 2; event.end++)
                    lab_post(lab, &event,
                             LAB_T); /* its own end sees it when it thaws */
            }
}

void lab_kill_processes(struct lab *lab, int launch, bool with_leaders)
{
    for (size_t i = 0; i < lab->processes.n; i++)
        if (((struct lab_process *)vel_vec_at(&lab->processes, i))->launch == launch)
            end_process(lab, i);
    for (int i = 0; with_leaders && i < lab->nleaders; i++)
        if (lab->leaders[i].is_alive && lab->leaders[i].launch == launch)
            lab_bury(&lab->leaders[i], LAB_MS);
    if (launch == lab->program)
        stop_program(lab);
}

void lab_program(struct lab *lab, int launch, int checkpoints, unsigned what)
{
    lab->program = launch;
    lab->checkpoints = checkpoints;
    lab->what = what;
    lab_next_checkpoint(lab);
}

/* A process that has a leader says this to it; false: there is none. */
static bool say(struct lab *lab, int launch, int node, const struct vel_msg *msg)
{
    bool is_said = false;

    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *process = vel_vec_at(&lab->processes, i);

        if (process->launch != launch || process->node != node || !process->link)
            continue;
        lab_send(lab, process->link, -1 - (int)i, msg);
        is_said = true;
    }
    return is_said;
}

void lab_rest(struct lab *lab, int launch, int node, int64_t id)
{
    struct vel_msg msg = {.kind = VEL_MSG_OWE, .seq = LAB_REST + (uint64_t)id};

    msg.u.owe.dataset = (uint64_t)id;
    msg.u.owe.rank = (uint64_t)node;
    msg.u.owe.what = 4;
    msg.u.owe.dir = ".";
    say(lab, launch, node, &msg);
}

void lab_mark(struct lab *lab, int launch, int node, int64_t id, bool waits)
{
    struct vel_msg msg = {.kind = VEL_MSG_MARK, .seq = LAB_MARK + (uint64_t)id};

    msg.u.mark.dataset = (uint64_t)id;
    msg.u.mark.what = VEL_MARK_FETCH;
    msg.u.mark.waits = waits;
    lab->marks_left += say(lab, launch, node, &msg);
}

void lab_launch(struct lab *lab, int launch, uint64_t nodes)
{
    lab->launches[launch].is_begun = true;
    for (int node = 0; node < lab->nnodes; node++) {
        struct lab_event event = {.kind = LAB_BEGIN, .node = node, .launch = launch};
        struct lab_process process = {.launch = launch, .node = node, .is_alive = true};

        if (!(nodes & LAB_BIT(node)))
            continue;
        if (!vel_vec_push(&lab->processes, &process))
            bail_out("no memory");
        lab_post(lab, &event, lab_chance(lab, 0, 50 * LAB_MS));
    }
}

/* Operators of the world do not read: what they are told is counted. */
static void hear_log(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    struct lab *lab = arg;
    const char *launch = strstr(line, "launch ");

    (void)level;
    if (!launch || !strstr(line, " in vain for "))
        return;
    if (lab->vain++ == 0)
        snprintf(lab->vainly, sizeof lab->vainly, "%.*s",
                 (int)(len - 1 - (size_t)(launch - line)), launch);
}

bool lab_is_rivalled(const struct lab *lab, const struct lab_job *job)
{
    const struct lab_dataset *dataset = &lab->datasets[job->job.id];

    return job->job.owner < dataset->owner &&
           dataset->owner_launch != lab->leaders[job->leader].launch;
}

void lab_listen(struct lab *lab)
{
    const struct vel_log_sink sink = {
        .level = VEL_LOG_INFO, .is_speaker = true, .write = hear_log, .arg = lab};

    vel_log_open(lab ? &sink : NULL);
}

void lab_nobody_awaited(struct lab *lab)
{
    if (lab->has_locks && lab->vain)
        lab_is_wrong(lab, "%s", lab->vainly);
}
