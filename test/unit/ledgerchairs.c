/* SPDX-License-Identifier: BSD-3-Clause */
/* Chairs of several launches on one prefix, by the real code: before each operation on
 * a file any of them may be held up, for ever or until others have taken its place; the
 * client of a network file system shows some of them a directory as it was, and answers
 * get lost. What was told is there for everybody who reads, always; and what a launch
 * has carried of another one is what counts of that for good. Rules of
 * doc/format-ledger.txt 4 that are broken here, on purpose, are found. SEEDS=a-b. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "ledger/carry.h"
#include "tap/files.h"
#include "tap/tap.h"
#include "tap/turns.h"

enum { FACTS = 64, LAUNCHES = 32, STEPS = 6000 };

enum fault { NONE, TELL_BLIND, BEGIN_BLIND, ACT_BLIND, REMOVE_EARLY, STALE, FAULTS };

static struct lab {
    int64_t launches[TURNS_MOST]; /* of actors; 0: a new one; -1: it reads */
    int n;
    struct vel_rng rng;
    enum fault fault;
    struct vel_ledger_dir dir;
    uint64_t told, of_launch[LAUNCHES];
    uint64_t fixed[LAUNCHES]; /* of a launch that was carried */
    bool is_fixed[LAUNCHES];
    int facts;
    char wrong[VEL_ERR_TEXT + 40];
} lab;

static bool coin(uint64_t of)
{
    return vel_rng_below(&lab.rng, of) == 0;
}

/* --- facts --- */

static uint64_t facts_of(const struct vel_ledger_text *text)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_fields fields;

        if (vel_line_is(&fact->line, "fact", &fields))
            bits |= (uint64_t)1 << vel_fields_int(&fields);
    }
    return bits;
}

static void put_facts(uint64_t bits, struct vel_buf *ret)
{
    for (int i = 0; i < FACTS; i++)
        if (bits >> i & 1)
            vel_buf_printf(ret, "fact %d\n", i);
}

static void is_wrong(const char *what, uint64_t bits)
{
    if (!lab.wrong[0])
        snprintf(lab.wrong, sizeof lab.wrong, "%s: facts %llx", what,
                 (unsigned long long)bits);
}

/* --- a chair --- */

/* Only the actor whose turn it is runs: the lab is its own. */
static void note_carried(const struct vel_carry *carry)
{
    for (size_t i = 0; i < carry->texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&carry->texts, i);
        int64_t m = text->name.launch;
        uint64_t bits = 0;

        if (m == carry->own.launch || m >= LAUNCHES || !text->has_begin)
            continue;
        for (size_t k = 0; k < carry->texts.n; k++)
            bits |= facts_of(vel_vec_at(&carry->texts, k));
        bits &= lab.of_launch[m];
        if (lab.is_fixed[m] && bits != lab.fixed[m])
            is_wrong("what counts of a launch that was carried is another",
                     bits ^ lab.fixed[m]);
        lab.is_fixed[m] = true;
        lab.fixed[m] = bits;
    }
}

static int carry_others(struct vel_carry *carry, const struct vel_ledger_self *self)
{
    struct vel_vec names;
    int64_t before = carry->own.launch;
    int rc = vel_ledger_list(carry->dir, &names, NULL);

    if (rc < 0)
        return rc;
    for (size_t i = names.n; rc == 0 && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(&names, i);

        if (name->launch >= before)
            continue;
        before = name->launch;
        if (!coin(3)) /* it is taken to be over, rightly or not */
            rc = vel_carry_launch(carry, self, before, NULL);
    }
    vel_vec_fini(&names);
    return rc;
}

static int begin(struct vel_ledger *ledger, const struct vel_carry *carry)
{
    struct vel_buf facts;
    uint64_t bits = 0;
    int rc;

    vel_buf_init(&facts);
    for (size_t i = 0; i < carry->texts.n; i++)
        bits |= facts_of(vel_vec_at(&carry->texts, i));
    put_facts(bits, &facts);
    if (lab.fault == REMOVE_EARLY)
        vel_carry_remove(carry, NULL);
    rc = vel_ledger_begin(ledger, carry, vel_buf_text(&facts), facts.len, NULL);
    vel_buf_fini(&facts);
    if (lab.fault == BEGIN_BLIND && rc == VEL_ECANCEL)
        rc = 0;
    return rc;
}

static int tell(struct vel_ledger *ledger)
{
    int64_t launch = vel_ledger_name(ledger).launch;
    char text[20];
    int fact, rc;

    if (lab.facts == FACTS || launch >= LAUNCHES)
        return VEL_ECANCEL;
    fact = lab.facts++;
    lab.of_launch[launch] |= (uint64_t)1 << fact;
    snprintf(text, sizeof text, "fact %d\n", fact);
    if (lab.fault == TELL_BLIND) {
        rc = vel_ledger_append(ledger, text, strlen(text), NULL);
        if (rc == 0)
            rc = vel_ledger_sync(ledger, NULL);
    } else {
        rc = vel_ledger_tell(ledger, text, strlen(text), NULL);
    }
    if (rc == 0)
        lab.told |= (uint64_t)1 << fact;
    return rc;
}

static int lead(struct vel_ledger *ledger, const struct vel_ledger_self *self)
{
    struct vel_carry carry;
    int rc = 0;

    vel_carry_init(&carry, &lab.dir, vel_ledger_name(ledger));
    if (carry.own.term > 0)
        rc = vel_carry_own(&carry, NULL);
    if (rc == 0)
        rc = carry_others(&carry, self);
    if (rc == 0)
        rc = begin(ledger, &carry);
    if (rc == 0) {
        note_carried(&carry);
        vel_carry_remove(&carry, NULL);
    }
    vel_carry_fini(&carry);
    for (int i = 0; rc == 0 && i < 1; i++)
        rc = tell(ledger);
    return rc;
}

static void be_chair(int i)
{
    const struct vel_ledger_self self = {"n", "a", i};
    struct vel_ledger *ledger = NULL;
    int rc;

    for (int round = 0; round < 6 && turns_step(); round++) {
        rc = lab.launches[i]
                 ? vel_ledger_next(&lab.dir, lab.launches[i], &self, &ledger, NULL)
                 : vel_ledger_number(&lab.dir, &self, &ledger, NULL);
        if (rc < 0)
            continue;
        lab.launches[i] = vel_ledger_name(ledger).launch;
        rc = lead(ledger, &self);
        vel_ledger_close(ledger);
        ledger = NULL;
        if (rc < 0 && coin(2))
            lab.launches[i] = 0;
    }
}

/* Reads what counts, and acts on it. */
static void be_reader(void)
{
    for (int round = 0; round < 4 && turns_step(); round++) {
        struct vel_vec texts;

        if (vel_ledger_read_all(&lab.dir, &texts, NULL) < 0)
            continue;
        for (size_t i = 0; i < texts.n; i++) {
            const struct vel_ledger_text *text = vel_vec_at(&texts, i);

            if (lab.fault == ACT_BLIND || vel_ledger_trust(&lab.dir, text, NULL) == 0)
                lab.told |= facts_of(text);
        }
        vel_ledger_texts_fini(&texts);
    }
}

static void act(int i)
{
    if (lab.launches[i] < 0)
        be_reader();
    else
        be_chair(i);
}

/* --- what must hold --- */

/* For whoever reads all now, while nobody moves. */
static void check_all(void)
{
    struct vel_err err = {0};
    struct vel_vec texts;
    uint64_t sum = 0;

    if (vel_ledger_read_all(
            &(struct vel_ledger_dir){vel_fs_posix(), lab.dir.path, false, true}, &texts,
            &err) < 0) {
        is_wrong(err.text, 0);
        return;
    }
    for (size_t i = 0; i < texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&texts, i);

        if (text->wrong > 0)
            is_wrong("a line is damaged", 0);
        sum |= facts_of(text);
    }
    vel_ledger_texts_fini(&texts);
    if (lab.told & ~sum)
        is_wrong("what was told is not there", lab.told & ~sum);
    for (int m = 0; m < LAUNCHES; m++)
        if (lab.is_fixed[m] && (sum & lab.of_launch[m]) != lab.fixed[m])
            is_wrong("of a launch that was carried something else counts",
                     (sum & lab.of_launch[m]) ^ lab.fixed[m]);
}

static uint64_t read_sum(const struct vel_ledger_dir *dir, size_t *ret_launches)
{
    struct vel_vec texts;
    uint64_t sum = 0;

    if (vel_ledger_read_all(dir, &texts, NULL) < 0)
        return 0;
    for (size_t i = 0; i < texts.n; i++)
        sum |= facts_of(vel_vec_at(&texts, i));
    *ret_launches = texts.n;
    vel_ledger_texts_fini(&texts);
    return sum;
}

/* A ledger that takes over all that it can. */
static int begin_last(const struct vel_ledger_dir *dir, struct vel_ledger *ledger)
{
    const struct vel_ledger_self self = {"n", "a", -1};
    struct vel_carry carry;
    struct vel_vec names;
    int rc;

    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    rc = vel_ledger_list(dir, &names, NULL);
    if (rc == 0 && carry.own.term > 0)
        rc = vel_carry_own(&carry, NULL);
    for (size_t i = names.n; rc == 0 && i-- > 0;)
        rc = vel_carry_launch(&carry, &self,
                              ((struct vel_ledger_name *)vel_vec_at(&names, i))->launch,
                              NULL);
    vel_vec_fini(&names);
    if (rc == 0)
        rc = begin(ledger, &carry);
    if (rc == 0)
        rc = vel_carry_remove(&carry, NULL);
    vel_carry_fini(&carry);
    vel_ledger_close(ledger);
    return rc;
}

/* All others are frozen for good: a launch that begins now carries all, and after its
 * next term nothing else is left. */
static void check_heir(void)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), lab.dir.path, false, true};
    const struct vel_ledger_self self = {"n", "a", -1};
    struct vel_ledger *first = NULL, *second = NULL;
    struct vel_vec names;
    uint64_t sum;
    size_t n = 0;

    if (vel_ledger_number(&dir, &self, &first, NULL) < 0)
        bail_out("no number");
    int64_t launch = vel_ledger_name(first).launch;
    if (begin_last(&dir, first) < 0)
        is_wrong("a launch that begins last cannot begin", 0);
    sum = read_sum(&dir, &n);
    if (n != 1 || lab.told & ~sum)
        is_wrong("a launch that begins last has not all that was told",
                 lab.told & ~sum);
    if (vel_ledger_next(&dir, launch, &self, &second, NULL) < 0 ||
        begin_last(&dir, second) < 0)
        is_wrong("a launch that began last cannot go on", 0);
    sum = read_sum(&dir, &n);
    if (n != 1 || lab.told & ~sum)
        is_wrong("a launch that began last loses something", lab.told & ~sum);
    vel_ledger_list(&dir, &names, NULL);
    if (names.n != 2)
        is_wrong("ledgers are left that nobody needs", 0);
    vel_vec_fini(&names);
}

/* --- schedules --- */

static void forget_run(void)
{
    lab.told = 0;
    lab.facts = 0;
    lab.wrong[0] = '\0';
    memset(lab.of_launch, 0, sizeof lab.of_launch);
    memset(lab.fixed, 0, sizeof lab.fixed);
    memset(lab.is_fixed, 0, sizeof lab.is_fixed);
}

/* The actors in turn, some of them held up for long. */
static void schedule(void)
{
    uint64_t told = 0;
    unsigned held = 0;

    for (int steps = 0; steps < STEPS && !lab.wrong[0]; steps++) {
        int i = (int)vel_rng_below(&lab.rng, (uint64_t)lab.n), left = 0;

        if (coin(150))
            held = (unsigned)vel_rng_below(&lab.rng, 1U << lab.n);
        for (int k = 0; k < lab.n; k++)
            left += !turns_are_done(k) && !(held >> k & 1);
        if (left == 0 && held == 0)
            break;
        if (left == 0)
            held = 0;
        if (held >> i & 1 || !turns_give(i))
            continue;
        if (turns_have_changed() || lab.told != told)
            check_all();
        told = lab.told;
    }
}

/* What was wrong, or "". */
static const char *run_seed(uint64_t seed, enum fault fault)
{
    forget_run();
    vel_rng_init(&lab.rng, seed);
    lab.fault = fault;
    lab.dir =
        (struct vel_ledger_dir){turns_fs(), tap_path("ledger"), fault != STALE, true};
    tap_fresh_dir(lab.dir.path);
    lab.n = 2 + (int)vel_rng_below(&lab.rng, TURNS_MOST - 1);
    for (int i = 0; i < lab.n; i++)
        lab.launches[i] = i == 0 ? 0 : (int64_t)vel_rng_below(&lab.rng, 4) - 1;
    turns_begin(lab.n, act, lab.dir.path, &lab.rng);
    schedule();
    if (!lab.wrong[0])
        check_heir();
    turns_end();
    return lab.wrong;
}

int main(void)
{
    static const struct {
        const char *text;
        uint64_t seed; /* that has found it before; another one may now */
    } faults[FAULTS] = {
        [TELL_BLIND] = {"to tell without a look", 3},
        [BEGIN_BLIND] = {"to go on without a look behind the begin", 185},
        [ACT_BLIND] = {"to act on what was read, without a look", 5707},
        [REMOVE_EARLY] = {"to remove before the begin", 463},
        [STALE] = {"to believe what the client remembers", 216},
    };
    const char *seeds = getenv("SEEDS");
    uint64_t first = 1, last = 100, wrong = 0;
    char found[sizeof lab.wrong];
    int fds = tap_open_fds();

    if (seeds && sscanf(seeds, "%lu-%lu", &first, &last) < 2)
        last = first;
    for (uint64_t seed = first; seed <= last; seed++) {
        const char *what = run_seed(seed, NONE);

        if (*what && wrong++ < 5)
            note("seed %lu: %s", seed, what);
    }
    is_int((long long)wrong, 0,
           "chairs of several launches, held up anywhere: nothing that was told is "
           "lost, seeds %lu to %lu",
           first, last);
    for (enum fault fault = NONE + 1; fault < FAULTS; fault++) {
        uint64_t seed = faults[fault].seed, most = seed + 3000;

        while (seed < most && !*run_seed(seed, fault))
            seed++;
        snprintf(found, sizeof found, "%s", lab.wrong);
        ok(seed < most && !*run_seed(seed, NONE),
           "found by seed %lu, and by the fault alone: %s (%s)", seed,
           faults[fault].text, found);
    }
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
