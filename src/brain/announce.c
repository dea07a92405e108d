/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node tells of its files, and passes on of those below it: a line for each key
 * when nothing of it is open any more, values and not differences. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"

enum {
    LINES_MOST = 1048575,
    ASKED_MOST = 128 /* a link has room for 256 that are not answered */
};

void vel_announce_changed(struct vel_leader *leader, struct vel_generation *generation)
{
    if (!generation->is_decided)
        generation->is_dirty = true;
    leader->steps++;
}

/* --- a line of this node --- */

static struct vel_tally_rank *rank_in(struct vel_vec *ranks, int64_t rank)
{
    struct vel_tally_rank fresh = {.rank = rank};

    for (size_t i = 0; i < ranks->n; i++)
        if (((struct vel_tally_rank *)vel_vec_at(ranks, i))->rank == rank)
            return vel_vec_at(ranks, i);
    return vel_vec_push(ranks, &fresh);
}

static bool has_name(const struct vel_generation *generation,
                     const struct vel_file *like)
{
    for (size_t i = 0; i < generation->files.n; i++) {
        const struct vel_file *file = vel_generation_file(generation, i);

        if (file != like && file->rank == like->rank &&
            strcmp(file->name, like->name) == 0)
            return true;
    }
    return false;
}

/* Of files that came late: what the datasets before it have of this rank, too. */
static int64_t linked(const struct vel_leader *leader,
                      const struct vel_generation *late, int64_t rank)
{
    int64_t n = 0;

    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *older = vel_generation_at(leader, i);

        if (older->number >= late->number || strcmp(older->step, late->step) != 0 ||
            strcmp(older->template, late->template) != 0)
            continue;
        for (size_t k = 0; k < older->files.n; k++) {
            const struct vel_file *file = vel_generation_file(older, k);

            n += file->state == VEL_FILE_TAKEN && file->rank == rank &&
                 !file->is_given && !has_name(late, file);
        }
    }
    return n;
}

/* Another of its name was closed later, or after its process had ended. */
static bool is_replaced(const struct vel_generation *generation,
                        const struct vel_file *file)
{
    for (size_t i = 0; !file->link && i < generation->files.n; i++) {
        const struct vel_file *other = vel_generation_file(generation, i);

        if (other->rank == file->rank && other->order > file->order &&
            other->state == VEL_FILE_CLOSED && file->state != VEL_FILE_NATIVE &&
            strcmp(other->name, file->name) == 0)
            return true;
    }
    return false;
}

static int64_t collect(const struct vel_leader *leader,
                       const struct vel_generation *generation, struct vel_vec *ret)
{
    int64_t open = 0;

    for (size_t i = 0; i < generation->files.n; i++) {
        const struct vel_file *file = vel_generation_file(generation, i);
        struct vel_tally_rank *rank = rank_in(ret, file->rank);

        if (!rank)
            return -1;
        if (is_replaced(generation, file))
            continue;
        if (file->state == VEL_FILE_CLOSED) {
            rank->files++;
            rank->bytes += file->size;
            rank->upto = file->order > rank->upto ? file->order : rank->upto;
        } else if (file->state == VEL_FILE_GIVEN) {
            rank->has_given = true;
            rank->upto = file->order > rank->upto ? file->order : rank->upto;
        } else if (file->state != VEL_FILE_TAKEN) {
            rank->is_open = true;
            open += file->link && file->state != VEL_FILE_NATIVE;
        }
    }
    for (size_t i = 0; generation->is_late && i < ret->n; i++) {
        struct vel_tally_rank *rank = vel_vec_at(ret, i);

        if (rank->files > 0)
            rank->files += linked(leader, generation, rank->rank);
    }
    return open;
}

/* Who has sealed one of a template before knows that nobody asks what is still open. */
static bool has_sealed(const struct vel_leader *leader, const char *template)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        const struct vel_generation *other = vel_generation_at(leader, i);

        if (other->is_decided && other->id && strcmp(other->template, template) == 0)
            return true;
    }
    return false;
}

/* --- to the parent --- */

static unsigned how_of(const struct vel_generation *generation)
{
    return (generation->is_alone ? VEL_REPORT_ALONE : 0) |
           (generation->is_late ? VEL_REPORT_LATE : 0);
}

static struct vel_leader_report *report_at(const struct vel_leader *leader, size_t i)
{
    return vel_vec_at(&leader->connector->reports, i);
}

static struct vel_leader_report *report_of(struct vel_leader *leader,
                                           const struct vel_msg_report *report)
{
    struct vel_leader_report fresh = {.generation = (int64_t)report->generation};

    for (size_t i = 0; i < leader->connector->reports.n; i++) {
        struct vel_leader_report *at = report_at(leader, i);

        if (at->generation == (int64_t)report->generation &&
            strcmp(at->template, report->template) == 0 &&
            strcmp(at->step, report->step) == 0)
            return at;
    }
    fresh.template = strdup(report->template);
    fresh.step = strdup(report->step);
    vel_buf_init(&fresh.nodes);
    struct vel_leader_report *made =
        fresh.template && fresh.step ? vel_vec_push(&leader->connector->reports, &fresh)
                                     : NULL;
    if (!made) {
        free(fresh.template);
        free(fresh.step);
        vel_leader_fail(leader, "a report");
    }
    return made;
}

static void pass_on(struct vel_leader *leader, const struct vel_msg_report *report)
{
    struct vel_leader_report *up = report_of(leader, report);

    if (!up)
        return;
    vel_buf_puts(&up->nodes, report->nodes);
    up->how |= (unsigned)report->how;
    vel_tree_tell_soon(leader, ++up->reports);
}

static void forget_reports(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->connector->reports.n; i++) {
        struct vel_leader_report *report = report_at(leader, i);

        free(report->template);
        free(report->step);
        vel_buf_fini(&report->nodes);
    }
    leader->connector->reports.n = 0;
}

/* In pieces that fit: of lines, a later one counts. */
static void tell_up(struct vel_leader *leader, const struct vel_leader_link *link,
                    const struct vel_leader_report *report)
{
    char *rest = report->nodes.data;

    while (rest && *rest) {
        struct vel_msg msg = {.kind = VEL_MSG_REPORT,
                              .seq = vel_leader_next_seq(leader)};
        char *end = strlen(rest) > LINES_MOST ? rest + LINES_MOST : NULL;
        char after = '\0';

        while (end && end > rest && end[-1] != '\n')
            end--;
        if (end) {
            after = *end;
            *end = '\0';
        }
        msg.u.report.term = (uint64_t)leader->term;
        msg.u.report.generation = (uint64_t)report->generation;
        msg.u.report.how = report->how;
        msg.u.report.template = report->template;
        msg.u.report.step = report->step;
        msg.u.report.nodes = rest;
        vel_leader_send(leader, link->number, &msg);
        if (end)
            *end = after;
        rest = end;
    }
}

void vel_announce_flush(struct vel_leader *leader)
{
    const struct vel_leader_link *link = vel_tree_up(leader);

    if (!link)
        return;
    for (size_t i = 0; i < leader->connector->reports.n; i++)
        tell_up(leader, link, report_at(leader, i));
    forget_reports(leader);
}

static void tell(struct vel_leader *leader, const struct vel_generation *generation,
                 const char *line)
{
    struct vel_msg_report report = {.generation = (uint64_t)generation->number,
                                    .how = how_of(generation),
                                    .template = generation->template,
                                    .step = generation->step,
                                    .nodes = line};

    if (leader->conf.is_sync)
        vel_sync_tell(leader, generation, &report);
    else if (leader->is_chair)
        vel_expect_hear(leader, 0, &report);
    else
        pass_on(leader, &report);
}

static void announce(struct vel_leader *leader, struct vel_generation *generation)
{
    struct vel_vec ranks;
    struct vel_buf line;

    vel_vec_init(&ranks, sizeof(struct vel_tally_rank));
    vel_buf_init(&line);
    int64_t open = collect(leader, generation, &ranks);
    vel_tally_print(leader->conf.node, open, &ranks, &line);
    if (open < 0 || vel_buf_status(&line, NULL) < 0)
        vel_leader_fail(leader, "a report");
    generation->is_dirty = false;
    if (open <= 0 || !has_sealed(leader, generation->template)) {
        bool is_new =
            !generation->told || strcmp(generation->told, vel_buf_text(&line)) != 0;

        vel_leader_text(leader, &generation->told, vel_buf_text(&line));
        if (is_new)
            tell(leader, generation, vel_buf_text(&line));
    }
    vel_buf_fini(&line);
    vel_vec_fini(&ranks);
}

/* --- names without a rule --- */

const struct vel_leader_family *vel_announce_learn(struct vel_leader *leader,
                                                   const char *template,
                                                   struct vel_leader_family family)
{
    struct vel_map *families = leader->connector->families;
    struct vel_leader_family *known = vel_map_get(families, template);

    if (!known && family.steps) {
        known = calloc(1, sizeof *known);
        if (known && vel_map_set(families, template, known, NULL) < 0) {
            free(known);
            known = NULL;
        }
    }
    if (!known || !family.steps) {
        free(family.steps);
        vel_leader_fail(leader, "a family");
        return NULL;
    }
    free(known->steps);
    *known = family;
    return known;
}

static size_t count_asked(const struct vel_leader *leader)
{
    size_t n = 0;

    for (size_t i = 0; i < leader->waits.n; i++)
        n += ((struct vel_leader_wait *)vel_vec_at(&leader->waits, i))->passed_on != 0;
    return n;
}

/* While there is no chair it is waited for, T at most. */
static bool ask_chair(struct vel_leader *leader, struct vel_leader_wait *wait,
                      struct vel_msg *msg)
{
    const struct vel_leader_link *chair = vel_leader_link_to(leader, leader->chair);

    if (leader->now >= wait->since + leader->conf.limit)
        return false;
    if (!leader->is_welcome || !chair || wait->passed_on ||
        count_asked(leader) >= ASKED_MOST)
        return true;
    msg->seq = vel_leader_next_seq(leader);
    wait->passed_on = msg->seq;
    vel_leader_send(leader, chair->number, msg);
    return true;
}

const struct vel_leader_family *vel_announce_guess(struct vel_leader *leader,
                                                   struct vel_leader_wait *wait,
                                                   const char *template,
                                                   const char *numbers, bool *ret_waits)
{
    const struct vel_leader_family *known =
        vel_map_get(leader->connector->families, template);
    struct vel_msg msg = {.kind = VEL_MSG_GUESS};

    *ret_waits = false;
    if (known || wait->is_noted)
        return known;
    msg.u.guess.term = (uint64_t)leader->term;
    msg.u.guess.rank = (uint64_t)wait->rank;
    msg.u.guess.count = (uint64_t)wait->count;
    msg.u.guess.template = template;
    msg.u.guess.numbers = numbers;
    if (!leader->is_chair) {
        *ret_waits = ask_chair(leader, wait, &msg);
        return NULL;
    }
    known = vel_expect_guess(leader, &msg.u.guess);
    wait->is_noted = !known;
    return known;
}

/* The chair is asked by another leader. */
static void answer_guess(struct vel_leader *leader, uint64_t link,
                         const struct vel_msg *asked)
{
    struct vel_msg msg = {.kind = VEL_MSG_PATTERN, .seq = asked->seq};
    const struct vel_leader_family *known;

    if (!leader->is_chair) {
        vel_leader_no(leader, link, asked->seq, VEL_ESTATE,
                      "this leader is not the chair");
        return;
    }
    known = vel_expect_guess(leader, &asked->u.guess);
    msg.u.pattern.term = (uint64_t)leader->term;
    msg.u.pattern.place = known ? (uint64_t)known->place : 0;
    msg.u.pattern.template = asked->u.guess.template;
    msg.u.pattern.steps = known ? known->steps : "";
    vel_leader_send(leader, link, &msg);
}

void vel_announce_answered(struct vel_leader *leader, struct vel_leader_wait *wait,
                           const struct vel_msg *msg)
{
    const struct vel_msg_pattern *pattern = &msg->u.pattern;

    wait->passed_on = 0;
    wait->is_noted = msg->kind != VEL_MSG_PATTERN || pattern->place == 0;
    if (!wait->is_noted)
        vel_announce_learn(leader, pattern->template,
                           (struct vel_leader_family){.place = (int)pattern->place,
                                                      .steps = strdup(pattern->steps)});
}

/* --- what is told --- */

static void hear_report(struct vel_leader *leader, const struct vel_leader_link *from,
                        const struct vel_msg *msg)
{
    const struct vel_msg_report *report = &msg->u.report;
    enum vel_sync_verdict verdict = VEL_SYNC_LACKS;
    uint64_t link = from->number;

    if (leader->is_chair) {
        vel_expect_hear(leader, link, report);
        if (leader->conf.is_sync)
            verdict = vel_sync_judge(leader, report);
    } else if (leader->conf.is_sync && !from->is_child) {
        vel_leader_no(leader, link, msg->seq, VEL_ESTATE,
                      "this leader is not the chair");
        return;
    } else {
        pass_on(leader, report);
    }
    vel_leader_yes(leader, link, msg->seq, verdict);
}

void vel_announce_hear(struct vel_leader *leader, const struct vel_leader_link *from,
                       const struct vel_msg *msg)
{
    switch (msg->kind) {
    case VEL_MSG_REPORT:
        hear_report(leader, from, msg);
        break;
    case VEL_MSG_PRESENT:
        vel_leader_yes(leader, from->number, msg->seq, 0);
        vel_present_hear(leader, from, &msg->u.present);
        break;
    case VEL_MSG_GUESS:
        answer_guess(leader, from->number, msg);
        break;
    default:
        break;
    }
}

void vel_announce_all(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        struct vel_generation *generation = vel_generation_at(leader, i);

        vel_leader_text(leader, &generation->told, NULL);
        vel_announce_changed(leader, generation);
    }
    vel_leader_text(leader, &leader->connector->present_told, NULL);
}

void vel_announce_reset(struct vel_leader *leader)
{
    forget_reports(leader);
}

/* Who has left, and has not said that he has closed a file, has none: what ranks have
 * closed is told before that they are gone. */
void vel_announce_advance(struct vel_leader *leader)
{
    bool can_tell = leader->conf.is_sync ? vel_sync_can_tell(leader)
                                         : leader->is_chair || vel_tree_up(leader);
    bool is_told = can_tell || leader->connector->reports.n == 0;
    for (size_t i = 0; i < leader->connector->generations.n; i++) {
        struct vel_generation *generation = vel_generation_at(leader, i);

        if (!generation->is_dirty || generation->is_decided)
            continue;
        if (can_tell)
            announce(leader, generation);
        else
            is_told = false;
    }
    if (is_told)
        vel_present_tell(leader);
}
