/* SPDX-License-Identifier: BSD-3-Clause */
/* Who does what when members are lost: everything once, and most of it by those who
 * have the least to do. */
#include "config.h"

#include <string.h>

#include "red/plan.h"
#include "tap/tap.h"

enum { SIZE = 1000003, N_MOST = 12 };

/* What is true of a plan of rebuilding. */
struct findings {
    uint64_t rebuilt[N_MOST]; /* bytes of each member that are outputs */
    uint64_t taken[N_MOST];   /* bytes that come to it from others */
    bool has_lost_worker;
    bool has_lost_source;
};

static void look_at(const struct vel_plan *plan, const bool *is_lost,
                    struct findings *ret)
{
    *ret = (struct findings){.has_lost_worker = false};
    for (size_t j = 0; j < plan->jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(plan, j);

        ret->has_lost_worker |= is_lost[job->worker];
        for (size_t i = 0; i < job->sources; i++) {
            ret->has_lost_source |= is_lost[job->source[i].member];
            if (job->source[i].member != job->worker)
                ret->taken[job->worker] += job->len;
        }
        for (size_t o = 0; o < job->outputs; o++) {
            ret->rebuilt[job->output[o].member] += job->len;
            if (job->output[o].member != job->worker)
                ret->taken[job->output[o].member] += job->len;
        }
    }
}

/* Does a member take much more than what is rebuilt of one? Who works for a stripe
 * takes as many blocks of it as a lost member has lost, or fewer; and a share of the
 * others' per lost member. */
static bool is_even(const struct vel_layout *layout, const struct findings *f,
                    size_t lost)
{
    uint64_t own = layout->n * layout->block;

    for (size_t r = 0; r < layout->n; r++)
        if (f->taken[r] > own + lost * (own / (layout->n - lost) + layout->n * 512))
            return false;
    return true;
}

static void rebuild(enum vel_scheme scheme, size_t n, size_t m, const bool *is_lost,
                    size_t lost, size_t bad[3])
{
    uint64_t sizes[N_MOST];
    struct vel_layout layout;
    struct vel_plan plan;
    struct findings f;

    for (size_t r = 0; r < n; r++)
        sizes[r] = SIZE - r;
    if (vel_layout_init(&layout, scheme, n, m, sizes, NULL) < 0 ||
        vel_plan_rebuild(&layout, is_lost, &plan, NULL) < 0)
        bail_out("no plan");
    look_at(&plan, is_lost, &f);
    for (size_t r = 0; r < n; r++)
        bad[0] += f.rebuilt[r] != (is_lost[r] ? n * layout.block : 0);
    bad[1] += f.has_lost_worker || f.has_lost_source;
    bad[2] += !is_even(&layout, &f, lost);
    vel_plan_fini(&plan);
    vel_layout_fini(&layout);
}

int main(void)
{
    static const struct {
        enum vel_scheme scheme;
        size_t n, m;
    } sets[] = {{VEL_XOR, 2, 1}, {VEL_XOR, 8, 1}, {VEL_RS, 3, 2},
                {VEL_RS, 8, 2},  {VEL_RS, 8, 4},  {VEL_RS, 12, 3}};

    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        size_t bad[3] = {0}, n = sets[i].n, m = sets[i].m;

        for (size_t set = 1; set < (size_t)1 << n; set++) {
            bool is_lost[N_MOST];
            size_t lost = 0;

            for (size_t r = 0; r < n; r++) {
                is_lost[r] = set >> r & 1;
                lost += is_lost[r];
            }
            if (lost <= m)
                rebuild(sets[i].scheme, n, m, is_lost, lost, bad);
        }
        const char *name = vel_scheme_name(sets[i].scheme);
        is_int(bad[0], 0, "%s(%zu) of %zu: each lost block is rebuilt once", name, m,
               n);
        is_int(bad[1], 0, "%s(%zu) of %zu: lost members take, and do nothing else",
               name, m, n);
        is_int(bad[2], 0, "%s(%zu) of %zu: nobody takes much more than a lost member",
               name, m, n);
    }
    return done_testing();
}
