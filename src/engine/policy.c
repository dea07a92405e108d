/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas are those of J. W. Young, "A first order approximation to the optimum
 * checkpoint interval", Communications of the ACM 17(9), 1974, and J. T. Daly, "A
 * higher order estimate of the optimum checkpoint interval for restart dumps", Future
 * Generation Computer Systems 22(3), 2006. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/policy.h"

/* how much the newest cost counts against all before it: levels take turns, and one
 * slow checkpoint should not make the next ones rare */
static const double newest_share = 0.25;

/* What one rule says. */
enum answer {
    SILENT, /* not set, or nothing to go by */
    WAIT,
    DUE,
};

struct question {
    const struct vel_conf *conf;
    const struct vel_policy_facts *facts;
    struct vel_policy_verdict *ret;
};

static enum answer due(const struct question *q, enum vel_policy_why why,
                       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static enum answer due(const struct question *q, enum vel_policy_why why,
                       const char *fmt, ...)
{
    va_list ap;

    q->ret->why = why;
    va_start(ap, fmt);
    vsnprintf(q->ret->text, sizeof q->ret->text, fmt, ap);
    va_end(ap);
    return DUE;
}

static enum answer by_interval(const struct question *q)
{
    uint64_t interval = (uint64_t)q->conf->checkpoint_interval;

    if (interval == 0)
        return SILENT;
    if (q->facts->asks % interval != 0)
        return WAIT;
    return due(q, VEL_POLICY_INTERVAL,
               "it was asked %" PRIu64 " times, and CHECKPOINT_INTERVAL is %" PRIu64,
               q->facts->asks, interval);
}

static enum answer by_seconds(const struct question *q)
{
    if (q->conf->checkpoint_seconds <= 0)
        return SILENT;
    if (q->facts->since < q->conf->checkpoint_seconds)
        return WAIT;
    return due(q, VEL_POLICY_SECONDS,
               "the last checkpoint is %.1f s ago, and CHECKPOINT_SECONDS is %.15g",
               q->facts->since, q->conf->checkpoint_seconds);
}

static enum answer measure(const struct question *q, const char *key)
{
    return due(q, VEL_POLICY_MEASURE,
               "%s needs to know what a checkpoint costs, and there was none yet", key);
}

static enum answer by_overhead(const struct question *q)
{
    const struct vel_policy_facts *f = q->facts;
    double share = q->conf->checkpoint_overhead / 100;

    if (share <= 0)
        return SILENT;
    if (f->cost < 0)
        return measure(q, "CHECKPOINT_OVERHEAD");
    if (f->checkpointing >= share * f->compute || f->cost >= share * f->since)
        return WAIT;
    return due(q, VEL_POLICY_OVERHEAD,
               "checkpoints have cost %.3g %% of computing, and CHECKPOINT_OVERHEAD is "
               "%.15g",
               f->checkpointing / f->compute * 100, q->conf->checkpoint_overhead);
}

static enum answer by_optimum(const struct question *q)
{
    const struct vel_policy_facts *f = q->facts;
    bool is_young = q->conf->checkpoint_optimal == VEL_OPTIMAL_YOUNG;

    if (q->conf->checkpoint_optimal == VEL_OPTIMAL_OFF || f->failure_rate <= 0)
        return SILENT;
    if (f->cost < 0)
        return measure(q, "CHECKPOINT_OPTIMAL");
    /* a checkpoint that costs nothing measurable is best made always */
    double best = f->cost == 0 ? 0
                  : is_young   ? vel_policy_young(f->cost, f->failure_rate)
                               : vel_policy_daly(f->cost, f->failure_rate);
    if (f->since < best)
        return WAIT;
    return due(q, VEL_POLICY_OPTIMAL,
               "the last checkpoint is %.1f s ago; at %.3g s each and a failure every "
               "%.3g s the best interval is %.1f s (%s)",
               f->since, f->cost, 1 / f->failure_rate, best,
               is_young ? "Young" : "Daly");
}

void vel_policy_need(const struct vel_conf *conf, const struct vel_policy_facts *facts,
                     const struct vel_halt_verdict *halt,
                     struct vel_policy_verdict *ret)
{
    static enum answer (*const rules[])(const struct question *q) = {
        by_interval, by_seconds, by_overhead, by_optimum};
    const struct question q = {.conf = conf, .facts = facts, .ret = ret};
    bool is_silent = true;

    *ret = (struct vel_policy_verdict){.why = VEL_POLICY_NOT_DUE};
    if (halt->why != VEL_HALT_NONE) {
        due(&q, VEL_POLICY_HALT, "%s", halt->text);
        return;
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        enum answer answer = rules[i](&q);

        if (answer == DUE)
            return;
        is_silent = is_silent && answer == SILENT;
    }
    if (is_silent)
        due(&q, VEL_POLICY_NO_RULE,
            conf->checkpoint_optimal == VEL_OPTIMAL_OFF
                ? "no setting says when to checkpoint: it is up to the program"
                : "CHECKPOINT_OPTIMAL knows no failure rate (MTBF of a STORE or "
                  "GROUPS line, MTBF_FILE): it is up to the program");
    else
        snprintf(ret->text, sizeof ret->text, "no rule asks for a checkpoint yet");
}

double vel_policy_young(double cost, double failure_rate)
{
    assert(cost > 0 && failure_rate > 0);
    return sqrt(2 * cost / failure_rate);
}

double vel_policy_daly(double cost, double failure_rate)
{
    double x = cost * failure_rate / 2; /* C / 2M */

    if (x >= 1)
        return 1 / failure_rate;
    return vel_policy_young(cost, failure_rate) * (1 + sqrt(x) / 3 + x / 9) - cost;
}

double vel_policy_failure_rate(const struct vel_conf *conf, vel_policy_groups_f *groups,
                               void *arg)
{
    const struct vel_line *line;
    double rate = 0;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++) {
        const struct vel_store_line *store = line->data;

        if (store->enabled && store->mtbf > 0)
            rate += (double)groups(arg, store->group) / store->mtbf;
    }
    for (size_t i = 0; (line = vel_conf_line(conf, VEL_GROUPS, i)); i++) {
        const struct vel_groups_line *group = line->data;

        if (group->mtbf > 0)
            rate += (double)groups(arg, line->name) / group->mtbf;
    }
    return rate;
}

bool vel_policy_flush_due(const struct vel_conf *conf,
                          const struct vel_policy_flush *facts)
{
    if (facts->kind != VEL_KIND_CHECKPOINT)
        return true;
    if (conf->flush == 0 || conf->flush_seconds < 0)
        return false;
    if (facts->is_last)
        return true;
    if (facts->checkpoint / conf->flush <= facts->flushed / conf->flush)
        return false;
    return facts->since < 0 || facts->since >= (double)conf->flush_seconds;
}

bool vel_policy_encode_due(const struct vel_conf *conf, double since)
{
    return conf->encode_seconds >= 0 &&
           (since < 0 || since >= (double)conf->encode_seconds);
}

void vel_policy_init(struct vel_policy *policy, struct vel_clock *clock,
                     double failure_rate, int64_t newest)
{
    uint64_t now = vel_clock_monotonic(clock);

    *policy = (struct vel_policy){
        .clock = clock,
        .failure_rate = failure_rate,
        .section = now,
        .last = now,
        .cost = -1,
        .flushed = newest,
        .flush_time = UINT64_MAX,
        .encode_time = UINT64_MAX,
    };
}

void vel_policy_ask(struct vel_policy *policy)
{
    policy->asks++;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)VEL_CLOCK_S;
}

/* The present section ends; its length in ns. */
static uint64_t next_section(struct vel_policy *policy)
{
    uint64_t now = vel_clock_monotonic(policy->clock);
    uint64_t length = now - policy->section;

    policy->section = now;
    policy->is_checkpointing = !policy->is_checkpointing;
    return length;
}

double vel_policy_begin_checkpoint(struct vel_policy *policy)
{
    assert(!policy->is_checkpointing);
    uint64_t length = next_section(policy);

    policy->compute += length;
    return seconds(length);
}

double vel_policy_end_checkpoint(struct vel_policy *policy, bool is_complete)
{
    assert(policy->is_checkpointing);
    uint64_t length = next_section(policy);
    double cost = seconds(length);

    policy->checkpointing += length;
    policy->last = policy->section;
    if (is_complete)
        policy->cost = policy->cost < 0
                           ? cost
                           : policy->cost + newest_share * (cost - policy->cost);
    return cost;
}

void vel_policy_note_flush(struct vel_policy *policy, int64_t checkpoint)
{
    if (checkpoint > policy->flushed)
        policy->flushed = checkpoint;
    policy->flush_time = vel_clock_monotonic(policy->clock);
}

void vel_policy_note_encode(struct vel_policy *policy)
{
    policy->encode_time = vel_clock_monotonic(policy->clock);
}

static double since(const struct vel_policy *policy, uint64_t moment)
{
    return moment == UINT64_MAX ? -1
                                : seconds(vel_clock_monotonic(policy->clock) - moment);
}

void vel_policy_get_facts(const struct vel_policy *policy, struct vel_policy_facts *ret)
{
    uint64_t now = vel_clock_monotonic(policy->clock);
    uint64_t present = now - policy->section;

    *ret = (struct vel_policy_facts){
        .asks = policy->asks,
        .since = seconds(now - policy->last),
        .compute = seconds(policy->compute + (policy->is_checkpointing ? 0 : present)),
        .checkpointing =
            seconds(policy->checkpointing + (policy->is_checkpointing ? present : 0)),
        .cost = policy->cost,
        .failure_rate = policy->failure_rate,
    };
}

void vel_policy_get_flush(const struct vel_policy *policy, int kind, int64_t checkpoint,
                          bool is_last, struct vel_policy_flush *ret)
{
    *ret = (struct vel_policy_flush){
        .kind = kind,
        .checkpoint = checkpoint,
        .flushed = policy->flushed,
        .since = since(policy, policy->flush_time),
        .is_last = is_last,
    };
}

double vel_policy_since_encode(const struct vel_policy *policy)
{
    return since(policy, policy->encode_time);
}

void vel_policy_exit(const struct vel_policy *policy, const struct vel_conf *conf,
                     const struct vel_halt *halt, int64_t end,
                     struct vel_halt_verdict *ret)
{
    const struct vel_halt_now now = {
        .wall = (double)vel_clock_wall(policy->clock) / (double)VEL_CLOCK_S,
        .end = (double)end,
        .seconds = conf->halt_seconds,
        .cost = policy->cost > 0 ? policy->cost : 0,
    };

    vel_halt_test(halt, VEL_HALT_PROGRAM, &now, ret);
}
