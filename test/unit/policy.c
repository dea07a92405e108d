/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <math.h>
#include <string.h>

#include "conf/file.h"
#include "engine/policy.h"
#include "tap/manual_clock.h"
#include "tap/tap.h"

static const struct vel_halt_verdict go_on = {.why = VEL_HALT_NONE};

/* settings with defaults, and what is given as "KEY", "value" pairs */
static struct vel_conf *settings(const char *const *pairs)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0)
        bail_out("%s", err.text);
    for (; pairs && pairs[0]; pairs += 2)
        if (vel_conf_set_by_program(conf, pairs[0], pairs[1], &err) < 0)
            bail_out("%s", err.text);
    return conf;
}

static enum vel_policy_why asked(const struct vel_conf *conf,
                                 const struct vel_policy_facts *facts)
{
    struct vel_policy_verdict verdict;

    vel_policy_need(conf, facts, &go_on, &verdict);
    if (!verdict.text[0])
        note("an answer without a sentence");
    return verdict.text[0] ? verdict.why : (enum vel_policy_why) - 1;
}

#define CONF(...) settings((const char *const[]){__VA_ARGS__, NULL})

static void no_rule(void)
{
    struct vel_conf *conf = settings(NULL);
    struct vel_policy_facts f = {.asks = 1, .cost = -1};
    const struct vel_halt_verdict halt = {VEL_HALT_ASKED, "the operator wants it"};
    struct vel_policy_verdict verdict;

    is_int(asked(conf, &f), VEL_POLICY_NO_RULE,
           "without any rule it is up to the program, and every ask is a yes");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_OPTIMAL", "DALY");
    vel_policy_need(conf, &f, &go_on, &verdict);
    is_int(verdict.why, VEL_POLICY_NO_RULE,
           "the best interval without failure rates is no rule");
    ok(strstr(verdict.text, "MTBF") != NULL, "and the sentence says what is missing");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_INTERVAL", "1000");
    vel_policy_need(conf, &f, &halt, &verdict);
    is_int(verdict.why, VEL_POLICY_HALT, "a checkpoint is due before a halt");
    is_str(verdict.text, "the operator wants it", "whose sentence is passed on");
    vel_conf_destroy(conf);
}

static void by_count(void)
{
    struct vel_conf *conf = CONF("CHECKPOINT_INTERVAL", "3");
    struct vel_policy_facts f = {.cost = -1};
    unsigned yes = 0;

    for (f.asks = 1; f.asks <= 9; f.asks++)
        yes |= (unsigned)(asked(conf, &f) == VEL_POLICY_INTERVAL) << f.asks;
    is_int(yes, 1 << 3 | 1 << 6 | 1 << 9, "every third ask is a yes");
    vel_conf_destroy(conf);
}

static void by_time(void)
{
    struct vel_conf *conf = CONF("CHECKPOINT_SECONDS", "60");
    struct vel_policy_facts f = {.asks = 5, .since = 59.9, .cost = 1};

    is_int(asked(conf, &f), VEL_POLICY_NOT_DUE, "not before the seconds have passed");
    f.since = 60;
    is_int(asked(conf, &f), VEL_POLICY_SECONDS, "and then");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_SECONDS", "60", "CHECKPOINT_INTERVAL", "5");
    f.since = 1;
    is_int(asked(conf, &f), VEL_POLICY_INTERVAL, "one rule of several is enough");
    vel_conf_destroy(conf);
}

static void by_cost(void)
{
    struct vel_conf *conf = CONF("CHECKPOINT_OVERHEAD", "5");
    struct vel_policy_facts f = {.asks = 1, .since = 1, .compute = 1, .cost = -1};

    is_int(asked(conf, &f), VEL_POLICY_MEASURE,
           "the first checkpoint is due, to know its cost");
    f = (struct vel_policy_facts){
        .since = 199, .compute = 200, .checkpointing = 10, .cost = 10};
    is_int(asked(conf, &f), VEL_POLICY_NOT_DUE,
           "its share is spent: no checkpoint until more is computed");
    f.since = 201;
    f.compute = 201;
    is_int(asked(conf, &f), VEL_POLICY_OVERHEAD, "then one is due");
    f = (struct vel_policy_facts){
        .since = 10, .compute = 10000, .checkpointing = 10, .cost = 10};
    is_int(asked(conf, &f), VEL_POLICY_NOT_DUE,
           "computing without asks saves up no burst of checkpoints");
    f = (struct vel_policy_facts){.cost = 0};
    is_int(asked(conf, &f), VEL_POLICY_NOT_DUE,
           "no time at all divides nothing by zero");
    vel_conf_destroy(conf);
}

static bool near(double got, double want, double share)
{
    if (fabs(got - want) <= share * want)
        return true;
    note("got %.9g, want %.9g", got, want);
    return false;
}

static void formulas(void)
{
    /* computed by hand: C = 10 s, M = 500000 s, so that 2 C M = 10^7 */
    ok(near(vel_policy_young(10, 2e-6), 3162.27766, 1e-8), "Young's interval");
    ok(near(vel_policy_daly(10, 2e-6), 3155.61451, 1e-8), "Daly's interval");
    /* C = M / 2: sqrt(C M 2) = 1 M, (1 + 1/6 + 1/36) M - M / 2 */
    ok(near(vel_policy_daly(50, 0.01), 100 * (1 + 1 / 6.0 + 1 / 36.0) - 50, 1e-12),
       "also where checkpoints are as long as failures are rare");
    ok(near(vel_policy_daly(200, 0.01), 100, 1e-12) &&
           near(vel_policy_daly(1e9, 0.01), 100, 1e-12),
       "from C = 2M on it is the time between failures");
    ok(near(vel_policy_daly(199.999999, 0.01), 200 * (1 + 1 / 3.0 + 1 / 9.0) - 200,
            1e-6),
       "and close to that point the long form");
}

static size_t groups(void *arg, const char *group)
{
    (void)arg;
    return strcmp(group, "NODE") == 0 ? 100 : strcmp(group, "WORLD") == 0 ? 1 : 7;
}

static void rates(void)
{
    struct vel_conf *conf = settings(NULL);
    struct vel_store_line lines[] = {
        {.group = (char *)"NODE", .mtbf = 1e6, .enabled = true},
        {.group = (char *)"WORLD", .mtbf = 1e4, .enabled = true},
        {.group = (char *)"SWITCH", .mtbf = 7e6, .enabled = true},
        {.group = (char *)"NODE", .mtbf = 1, .enabled = false},
        {.group = (char *)"NODE", .enabled = true},
    };

    ok(vel_policy_failure_rate(conf, groups, NULL) == 0,
       "without a STORE line no failure is known");
    struct vel_vec none = conf->lines;
    vel_vec_init(&conf->lines, none.item_size);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct vel_line *line = vel_vec_push(&conf->lines, NULL);

        if (!line)
            bail_out("out of memory");
        line->parent = VEL_STORE;
        line->data = &lines[i];
    }
    ok(near(vel_policy_failure_rate(conf, groups, NULL), 1e-4 + 1e-4 + 1e-6, 1e-12),
       "the rates of all groups of all stores in use add up");
    vel_vec_fini(&conf->lines);
    conf->lines = none;
    vel_conf_destroy(conf);
}

/* A switch, a power supply or a node may fail without a store of its own. */
static void rates_of_groups(void)
{
    static const char text[] = "GROUPS=n1 SWITCH=0\nGROUPS=n2 SWITCH=1\n"
                               "GROUPS=SWITCH MTBF=7000000\n";
    static const char more[] = "GROUPS=NODE MTBF=1000000\nGROUPS=SWITCH MTBF=70000\n"
                               "STORE=/ssd GROUP=WORLD MTBF=10000\n";
    struct vel_conf *conf = settings(NULL);
    struct vel_err err = {0};

    if (vel_conf_parse(conf, VEL_LAYER_SYSTEM, "system", text, strlen(text), NULL, NULL,
                       &err) < 0)
        bail_out("%s", err.text);
    ok(near(vel_policy_failure_rate(conf, groups, NULL), 7 / 7e6, 1e-12),
       "of switches without a store as many may fail as the job has");
    if (vel_conf_parse(conf, VEL_LAYER_USER, "user", more, strlen(more), NULL, NULL,
                       &err) < 0 ||
        vel_conf_finish(conf, &err) < 0)
        bail_out("%s", err.text);
    ok(near(vel_policy_failure_rate(conf, groups, NULL), 7 / 7e4 + 100 / 1e6 + 1 / 1e4,
            1e-12),
       "with those of nodes and stores, and the user's word counts");
    is_int(vel_conf_check_groups(conf, &err), 0, "such lines are no hosts");
    vel_conf_destroy(conf);
}

/* A program that computes in steps of `step` seconds, asks after each, and checkpoints
 * in `cost` seconds when told: the mean seconds between its last checkpoints. */
static double simulate(const struct vel_conf *conf, double rate, double step,
                       double cost)
{
    struct vel_manual_clock clock;
    struct vel_policy policy;
    struct vel_policy_verdict verdict;
    struct vel_policy_facts facts;
    double computed = 0, from = 0;
    int n = 0;

    vel_manual_clock_init(&clock, 0, 0);
    vel_policy_init(&policy, &clock.clock, rate, 0);
    while (n < 40) {
        vel_manual_clock_advance(&clock, (uint64_t)(step * (double)VEL_CLOCK_S));
        computed += step;
        vel_policy_ask(&policy);
        vel_policy_get_facts(&policy, &facts);
        vel_policy_need(conf, &facts, &go_on, &verdict);
        if (verdict.why == VEL_POLICY_NOT_DUE)
            continue;
        vel_policy_begin_checkpoint(&policy);
        vel_manual_clock_advance(&clock, (uint64_t)(cost * (double)VEL_CLOCK_S));
        vel_policy_end_checkpoint(&policy, true);
        if (++n == 20)
            from = computed;
    }
    vel_manual_clock_fini(&clock);
    return (computed - from) / 20;
}

static void on_a_clock(void)
{
    struct vel_conf *conf = CONF("CHECKPOINT_OPTIMAL", "DALY");

    ok(near(simulate(conf, 1e-5, 1, 30), vel_policy_daly(30, 1e-5), 0.02),
       "a program that asks checkpoints at Daly's interval");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_OPTIMAL", "YOUNG");
    ok(near(simulate(conf, 1e-4, 1, 30), vel_policy_young(30, 1e-4), 0.02),
       "or at Young's");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_OVERHEAD", "2");
    ok(near(simulate(conf, 0, 1, 30), 30 / 0.02, 0.02),
       "or so that it spends the share it may");
    vel_conf_destroy(conf);
    conf = CONF("CHECKPOINT_SECONDS", "90");
    ok(near(simulate(conf, 0, 1, 30), 90, 0.02),
       "the time of checkpoints does not count as time since the last");
    vel_conf_destroy(conf);
    conf = settings(NULL);
    ok(near(simulate(conf, 0, 5, 30), 5, 1e-9), "without a rule, after each step");
    vel_conf_destroy(conf);
}

static void advance(struct vel_manual_clock *clock, unsigned seconds)
{
    vel_manual_clock_advance(clock, seconds * VEL_CLOCK_S);
}

static void books(void)
{
    struct vel_manual_clock clock;
    struct vel_policy policy;
    struct vel_policy_facts f;

    vel_manual_clock_init(&clock, 12345, 0);
    vel_policy_init(&policy, &clock.clock, 0.5, 0);
    advance(&clock, 100);
    vel_policy_ask(&policy);
    vel_policy_get_facts(&policy, &f);
    ok(f.asks == 1 && f.since == 100 && f.compute == 100 && f.checkpointing == 0 &&
           f.cost < 0 && f.failure_rate == 0.5,
       "a launch begins computing, without a known cost");
    ok(vel_policy_begin_checkpoint(&policy) == 100,
       "a checkpoint tells what was computed before it");
    advance(&clock, 8);
    vel_policy_get_facts(&policy, &f);
    ok(f.compute == 100 && f.checkpointing == 8, "its time is no computing");
    ok(vel_policy_end_checkpoint(&policy, true) == 8, "its end tells what it took");
    vel_policy_get_facts(&policy, &f);
    ok(f.since == 0 && f.cost == 8, "which is the first known cost");
    advance(&clock, 10);
    vel_policy_begin_checkpoint(&policy);
    advance(&clock, 16);
    vel_policy_end_checkpoint(&policy, true);
    vel_policy_get_facts(&policy, &f);
    ok(f.cost == 10 && f.checkpointing == 24 && f.compute == 110,
       "a newer cost counts for a quarter, and the sums are whole");
    vel_policy_begin_checkpoint(&policy);
    advance(&clock, 1);
    vel_policy_end_checkpoint(&policy, false);
    vel_policy_get_facts(&policy, &f);
    ok(f.cost == 10 && f.checkpointing == 25 && f.since == 0,
       "one that failed took its time, and tells nothing of the cost");
    vel_manual_clock_set_wall(&clock, INT64_C(-1000000000000));
    vel_policy_get_facts(&policy, &f);
    ok(f.since == 0 && f.compute == 110, "a wall clock that jumps changes nothing");
    vel_manual_clock_fini(&clock);
}

static bool flush(const struct vel_conf *conf, struct vel_policy_flush facts)
{
    return vel_policy_flush_due(conf, &facts);
}

static void flushes(void)
{
    struct vel_conf *conf = CONF("FLUSH", "10");
    struct vel_policy_flush f = {.since = -1};
    int n = 0;

    for (f.checkpoint = 1; f.checkpoint <= 30; f.checkpoint++)
        if (flush(conf, f)) {
            n += f.checkpoint % 10 == 0;
            f.flushed = f.checkpoint;
        }
    is_int(n, 3, "every tenth checkpoint is flushed");
    is_int(f.flushed, 30, "and no other");
    f = (struct vel_policy_flush){.checkpoint = 21, .flushed = 19, .since = -1};
    ok(flush(conf, f), "one that was missed is made up for by the next");
    f = (struct vel_policy_flush){.checkpoint = 22, .flushed = 21, .since = 0};
    ok(!flush(conf, f), "once");
    f.is_last = true;
    ok(flush(conf, f), "the last one is always flushed");
    f = (struct vel_policy_flush){.kind = VEL_KIND_OUTPUT, .since = 0};
    ok(flush(conf, f), "an output is flushed");
    f = (struct vel_policy_flush){.kind = VEL_KIND_BOTH, .checkpoint = 1, .since = 0};
    ok(flush(conf, f), "so is a checkpoint that is one");
    vel_conf_destroy(conf);

    conf = CONF("FLUSH", "1", "FLUSH_SECONDS", "600");
    f = (struct vel_policy_flush){.checkpoint = 5, .flushed = 4, .since = 599};
    ok(!flush(conf, f), "not before FLUSH_SECONDS are over");
    f.since = 600;
    ok(flush(conf, f), "and then");
    f.since = -1;
    ok(flush(conf, f), "the first flush of a launch waits for nothing");
    vel_conf_destroy(conf);

    f.is_last = true;
    conf = CONF("FLUSH", "0");
    ok(!flush(conf, f), "FLUSH=0 is never, not even the last");
    f.kind = VEL_KIND_OUTPUT;
    ok(flush(conf, f), "except for outputs");
    vel_conf_destroy(conf);
    conf = CONF("FLUSH_SECONDS", "-1");
    ok(flush(conf, f), "FLUSH_SECONDS=-1 is never");
    f.kind = VEL_KIND_CHECKPOINT;
    ok(!flush(conf, f), "in the same way");
    vel_conf_destroy(conf);
}

static void encodings(void)
{
    struct vel_conf *conf = settings(NULL);

    ok(vel_policy_encode_due(conf, 0) && vel_policy_encode_due(conf, -1),
       "every dataset is encoded");
    vel_conf_destroy(conf);
    conf = CONF("ENCODE_SECONDS", "30");
    ok(vel_policy_encode_due(conf, -1) && !vel_policy_encode_due(conf, 29) &&
           vel_policy_encode_due(conf, 30),
       "or so often that ENCODE_SECONDS lie between");
    vel_conf_destroy(conf);
    conf = CONF("ENCODE_SECONDS", "-1");
    ok(!vel_policy_encode_due(conf, -1) && !vel_policy_encode_due(conf, 1e9),
       "or never");
    vel_conf_destroy(conf);
}

static void notes(void)
{
    struct vel_manual_clock clock;
    struct vel_policy policy;
    struct vel_policy_flush f;

    vel_manual_clock_init(&clock, 0, 0);
    vel_policy_init(&policy, &clock.clock, 0, 56);
    vel_policy_get_flush(&policy, VEL_KIND_CHECKPOINT, 57, false, &f);
    ok(f.flushed == 56 && f.since < 0 && vel_policy_since_encode(&policy) < 0,
       "a launch counts from the newest checkpoint, and remembers no time");
    vel_policy_note_flush(&policy, 57);
    vel_policy_note_encode(&policy);
    advance(&clock, 5);
    vel_policy_get_flush(&policy, VEL_KIND_CHECKPOINT, 58, true, &f);
    ok(f.flushed == 57 && f.since == 5 && f.is_last && f.checkpoint == 58 &&
           vel_policy_since_encode(&policy) == 5,
       "a flush and an encoding are noted with their time");
    vel_policy_note_flush(&policy, 40);
    vel_policy_get_flush(&policy, VEL_KIND_CHECKPOINT, 58, true, &f);
    is_int(f.flushed, 57, "flushing an older one counts nothing back");
    vel_manual_clock_fini(&clock);
}

static void ends(void)
{
    struct vel_conf *conf = CONF("HALT_SECONDS", "100");
    struct vel_manual_clock clock;
    struct vel_policy policy;
    struct vel_halt halt;
    struct vel_halt_verdict verdict;

    vel_halt_init(&halt);
    vel_manual_clock_init(&clock, 0, 1000 * (int64_t)VEL_CLOCK_S);
    vel_policy_init(&policy, &clock.clock, 0, 0);
    vel_policy_begin_checkpoint(&policy);
    advance(&clock, 20);
    vel_policy_end_checkpoint(&policy, true);
    vel_policy_exit(&policy, conf, &halt, 1140, &verdict);
    is_int(verdict.why, VEL_HALT_NONE,
           "there is time for one more checkpoint and to end in");
    vel_policy_exit(&policy, conf, &halt, 1139, &verdict);
    is_int(verdict.why, VEL_HALT_END, "a second later there is not");
    vel_policy_exit(&policy, conf, &halt, 0, &verdict);
    is_int(verdict.why, VEL_HALT_NONE, "an unknown end is none");
    halt.seconds = 0;
    vel_policy_exit(&policy, conf, &halt, 1139, &verdict);
    is_int(verdict.why, VEL_HALT_NONE, "the operator's seconds override the settings");
    vel_manual_clock_fini(&clock);
    vel_conf_destroy(conf);
}

int main(void)
{
    no_rule();
    by_count();
    by_time();
    by_cost();
    formulas();
    rates();
    rates_of_groups();
    on_a_clock();
    books();
    flushes();
    encodings();
    notes();
    ends();
    return done_testing();
}
