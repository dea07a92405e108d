/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "red/plan.h"
#include "red/set.h"
#include "tap/fs_fault.h"
#include "tap/redcases.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static struct vel_red_set set_of(const struct redcase *c, struct vel_comm *comm)
{
    size_t me = (size_t)comm->rank;

    return (struct vel_red_set){.comm = comm,
                                .scheme = c->scheme,
                                .m = c->m,
                                .set = 0,
                                .sets = 1,
                                .rank = (uint32_t)me,
                                .fs = redlab_fs(),
                                .dir = redlab_dir(c->root, me),
                                .label = "case",
                                .memory = 1 << 20};
}

/* everybody's verdict */
static bool all_fine(struct vel_comm *comm, bool mine)
{
    int64_t bad = !mine;

    if (vel_comm_allreduce(comm, VEL_COMM_SUM, &bad, 1, NULL) < 0)
        return false;
    return bad == 0;
}

static int protect(const struct redcase *c, struct vel_comm *comm)
{
    struct vel_red_set set = set_of(c, comm);
    struct vel_vec names;
    struct vel_err err = {0};

    redlab_lose(c->root, set.rank);
    redlab_make(c->root, set.rank, c->seed, c->most, &names);
    int rc = vel_red_apply(&set, names.items, names.n, "descriptor", 10, NULL, &err);
    if (rc < 0)
        note("rank %d: apply: %s", comm->rank, err.text);
    vel_fs_names_fini(&names);
    return rc;
}

static void next_pattern(const struct redcase *c, size_t n, unsigned i,
                         struct vel_rng *rng, bool *is_lost)
{
    if (c->patterns == 0) {
        for (size_t r = 0; r < n; r++)
            is_lost[r] = (i + 1) >> r & 1;
        return;
    }
    /* mostly as many losses as the scheme bears, at times one more, often neighbours */
    size_t losses = 1 + vel_rng_below(rng, c->m + 1);
    size_t at = vel_rng_below(rng, n),
           step = vel_rng_below(rng, 2) ? 1 : 1 + vel_rng_below(rng, n);

    memset(is_lost, 0, n * sizeof *is_lost);
    for (size_t k = 0; k < losses; k++)
        is_lost[(at + k * step) % n] = true;
}

static bool one_pattern(const struct redcase *c, struct vel_comm *comm,
                        const bool *is_lost, uint64_t state)
{
    const struct vel_layout shape = {
        .scheme = c->scheme, .n = (size_t)comm->size, .m = c->m};
    struct vel_red_set set = set_of(c, comm);
    bool bears = vel_plan_check(&shape, is_lost, NULL) == 0, fine;
    struct vel_red_report report;
    struct vel_err err = {0};

    if (is_lost[comm->rank])
        redlab_put_aside(c->root, set.rank);
    uint64_t before = redlab_state(c->root, set.rank);
    int rc = vel_red_recover(&set, &report, &err);
    if (rc == 0)
        vel_red_report_fini(&report);
    if (bears)
        fine = rc == 0 && redlab_state(c->root, set.rank) == state;
    else
        fine = (rc == VEL_EINVAL || rc == VEL_ENOENT) && err.text[0] &&
               redlab_state(c->root, set.rank) == before;
    if (!fine)
        note("rank %d: %s m=%zu: recover returned %d: %s", comm->rank,
             vel_scheme_name(c->scheme), c->m, rc, err.text);
    fine = all_fine(comm, fine);
    if (is_lost[comm->rank] && !bears)
        redlab_put_back(c->root, set.rank);
    if (!fine)
        protect(c, comm); /* one that goes wrong does not spoil the next */
    return fine;
}

int redcase_losses(const struct redcase *c, struct vel_comm *comm, int *ret_tried)
{
    size_t n = (size_t)comm->size;
    unsigned patterns = c->patterns ? c->patterns : (1u << n) - 1;
    struct vel_rng rng;
    int bad = 0;

    *ret_tried = 0;
    if (protect(c, comm) < 0)
        return 1;
    vel_rng_init(&rng, c->seed);
    for (unsigned i = 0; i < patterns; i++) {
        bool is_lost[VEL_SET_MAX] = {false};
        uint64_t state = redlab_state(c->root, (size_t)comm->rank);

        next_pattern(c, n, i, &rng, is_lost);
        bad += !one_pattern(c, comm, is_lost, state);
        (*ret_tried)++;
    }
    redlab_lose(c->root, (size_t)comm->rank);
    return bad;
}

/* one of the bits that can flip at a member: in file f, or in the header */
static bool flip_one(const struct redcase *c, uint32_t member, size_t f)
{
    if (f <= REDLAB_FILES)
        return redlab_damage(c->root, member, f, c->seed + f);
    return redlab_damage_header(c->root, member, c->seed * 7919 % (8 * 4096));
}

int redcase_flips(const struct redcase *c, struct vel_comm *comm, int *ret_tried)
{
    struct vel_red_set set = set_of(c, comm);
    int bad = 0;

    *ret_tried = 0;
    if (protect(c, comm) < 0)
        return 1;
    uint64_t state = redlab_state(c->root, set.rank);
    for (int victim = 0; victim < comm->size; victim++)
        for (size_t f = 0; f <= REDLAB_FILES + 1; f++) {
            struct vel_red_report report = {.lost = 0};
            struct vel_err err = {0};
            int64_t hit = victim == comm->rank && flip_one(c, set.rank, f);

            if (vel_comm_allreduce(comm, VEL_COMM_SUM, &hit, 1, NULL) < 0)
                return bad + 1;
            int rc = vel_red_recover(&set, &report, &err);
            bool fine = rc == 0 && report.lost == (size_t)hit &&
                        redlab_state(c->root, set.rank) == state;
            if (!fine)
                note("rank %d: member %d file %zu: recover returned %d, %zu lost: %s",
                     comm->rank, victim, f, rc, report.lost, err.text);
            if (rc == 0)
                vel_red_report_fini(&report);
            bad += !all_fine(comm, fine);
            *ret_tried += (int)hit;
        }
    redlab_lose(c->root, set.rank);
    return bad;
}

/* Has every "member N: " in a text something behind it? */
static bool has_reasons(const char *text)
{
    for (const char *at = text; (at = strstr(at, "member "));) {
        size_t digits = strspn(at += strlen("member "), "0123456789");

        if (digits > 0 && strncmp(at + digits, ": ", 2) == 0 &&
            strchr("\n;)", at[digits + 2]))
            return false;
    }
    return true;
}

/* One recovery with the fault at one member, and one without. */
static bool one_fault(struct vel_comm *comm, struct vel_red_set *set,
                      const struct redcase *c, int lost, uint64_t state)
{
    struct vel_fs *faulty = set->fs;
    struct vel_red_report report;
    struct vel_err err = {0};

    if (lost == comm->rank)
        redlab_lose(c->root, set->rank);
    uint64_t before = redlab_state(c->root, set->rank);
    int rc = vel_red_recover(set, &report, &err);
    bool fine = rc == 0 ? has_reasons(vel_buf_text(&report.sentences))
                        : err.text[0] && has_reasons(err.text);
    /* of a lost member some files may stand already when it fails among its renames */
    bool is_between = rc < 0 && lost == comm->rank;
    if (!is_between)
        fine = fine && redlab_state(c->root, set->rank) == (rc == 0 ? state : before);
    if (!fine)
        note("rank %d: recover returned %d: %s%s", comm->rank, rc, err.text,
             rc == 0 ? vel_buf_text(&report.sentences) : "");
    if (rc == 0)
        vel_red_report_fini(&report);
    set->fs = redlab_fs();
    fine = vel_red_recover(set, NULL, &err) == 0 &&
           redlab_state(c->root, set->rank) == state && fine;
    set->fs = faulty;
    return all_fine(comm, fine);
}

int redcase_faults(const struct redcase *c, struct vel_comm *comm, int lost, int faulty,
                   int *ret_tried)
{
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE};
    struct vel_red_set set = set_of(c, comm);
    struct vel_fs_fault *fault;
    int64_t fired = 1;
    int bad = 0;

    *ret_tried = 0;
    if (protect(c, comm) < 0 ||
        vel_fs_fault_create(redlab_fs(), NULL, &fault, NULL) < 0)
        return 1;
    set.fs = vel_fs_fault_fs(fault);
    uint64_t state = redlab_state(c->root, set.rank);
    for (plan.at = 1; fired > 0; plan.at++) {
        vel_fs_fault_arm(
            fault, faulty == comm->rank ? &plan : &(struct vel_fs_fault_plan){.at = 0});
        if (!one_fault(comm, &set, c, lost, state)) {
            bad++;
            note("rank %d: with operation %d of member %d failing", comm->rank,
                 (int)plan.at, faulty);
        }
        fired = vel_fs_fault_fired(fault);
        if (vel_comm_allreduce(comm, VEL_COMM_SUM, &fired, 1, NULL) < 0)
            break;
        *ret_tried += (int)fired;
    }
    vel_fs_fault_destroy(fault);
    redlab_lose(c->root, set.rank);
    return bad;
}
