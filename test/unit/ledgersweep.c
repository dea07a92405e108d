/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation of a chair that takes over fails, or is its last one before the
 * machine loses power: what was told before is there, and what it tells when it ends
 * well. Begins are longer than the blocks that a disk writes at once. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/carry.h"
#include "tap/sweep.h"
#include "tap/tap.h"

enum { OLD = 3, PAD = 3000 };

static const struct vel_ledger_self self = {"n", "unix:/a", 1};

/* --- facts: "fact I PAD" --- */

static void put_fact(int i, struct vel_buf *ret)
{
    vel_buf_printf(ret, "fact %d ", i);
    for (int k = 0; k < PAD; k++)
        vel_buf_putc(ret, 'a');
    vel_buf_putc(ret, '\n');
}

static unsigned facts_of(const struct vel_ledger_text *text)
{
    unsigned bits = 0;

    for (size_t i = 0; i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_fields fields;

        if (vel_line_is(&fact->line, "fact", &fields))
            bits |= 1U << vel_fields_int(&fields);
    }
    return bits;
}

static int tell(struct vel_ledger *ledger, int i, struct vel_err *err)
{
    struct vel_buf fact;
    int rc;

    vel_buf_init(&fact);
    put_fact(i, &fact);
    rc = vel_ledger_tell(ledger, fact.data, fact.len, err);
    vel_buf_fini(&fact);
    return rc;
}

static int begin(struct vel_ledger *ledger, const struct vel_carry *carry,
                 struct vel_err *err)
{
    unsigned bits = 0;
    struct vel_buf facts;
    int rc;

    vel_buf_init(&facts);
    for (size_t i = 0; i < carry->texts.n; i++)
        bits |= facts_of(vel_vec_at(&carry->texts, i));
    for (int i = 0; i <= OLD; i++)
        if (bits >> i & 1)
            put_fact(i, &facts);
    rc = vel_ledger_begin(ledger, carry, vel_buf_text(&facts), facts.len, err);
    vel_buf_fini(&facts);
    return rc;
}

/* --- chairs --- */

/* The ledger of a launch, which carries what it can, begins, removes and tells. */
static int lead(struct vel_ledger *ledger, const struct vel_ledger_dir *dir, int fact,
                struct vel_err *err)
{
    struct vel_carry carry;
    int rc = 0;

    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    if (carry.own.term > 0)
        rc = vel_carry_own(&carry, err);
    for (int64_t m = carry.own.launch; rc == 0 && --m > 0;)
        rc = vel_carry_launch(&carry, &self, m, err);
    if (rc == 0)
        rc = begin(ledger, &carry, err);
    if (rc == 0)
        rc = vel_carry_remove(&carry, err);
    vel_carry_fini(&carry);
    if (rc == 0)
        rc = tell(ledger, fact, err);
    vel_ledger_close(ledger);
    return rc;
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* Two launches, and of the second two terms. */
static void prepare(const char *path, void *arg)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), path, false, true};
    struct vel_ledger *ledger = NULL;
    struct vel_carry carry;
    struct vel_err err = {0};

    (void)arg;
    for (int64_t m = 1; m <= 2; m++) {
        const struct vel_ledger_name name = {m, 0};

        must(vel_ledger_claim(&dir, name, &self, &ledger, &err), &err);
        vel_carry_init(&carry, &dir, name);
        must(begin(ledger, &carry, &err), &err);
        vel_carry_fini(&carry);
        must(tell(ledger, (int)m - 1, &err), &err);
        vel_ledger_close(ledger);
    }
    must(vel_ledger_next(&dir, 2, &self, &ledger, &err), &err);
    vel_carry_init(&carry, &dir, vel_ledger_name(ledger));
    must(vel_carry_own(&carry, &err), &err);
    must(begin(ledger, &carry, &err), &err);
    vel_carry_fini(&carry);
    must(tell(ledger, 2, &err), &err);
    vel_ledger_close(ledger);
}

static int take_over(struct vel_fs *fs, const char *path, void *arg,
                     struct vel_err *err)
{
    const struct vel_ledger_dir dir = {fs, path, true, true};
    struct vel_ledger *ledger = NULL;
    int rc;

    (void)arg;
    do /* a claim of its own may be there whose answer was lost */
        rc = vel_ledger_next(&dir, 2, &self, &ledger, err);
    while (rc == VEL_EEXIST);
    return rc == 0 ? lead(ledger, &dir, OLD, err) : rc;
}

static int begin_new(struct vel_fs *fs, const char *path, void *arg,
                     struct vel_err *err)
{
    const struct vel_ledger_dir dir = {fs, path, true, true};
    struct vel_ledger *ledger = NULL;
    int rc = vel_ledger_number(&dir, &self, &ledger, err);

    (void)arg;
    return rc == 0 ? lead(ledger, &dir, OLD, err) : rc;
}

static enum sweep_state check(const char *path, void *arg)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), path, false, true};
    struct vel_err err = {0};
    struct vel_vec texts;
    unsigned bits = 0;

    (void)arg;
    if (vel_ledger_read_all(&dir, &texts, &err) < 0) {
        note("%s", err.text);
        return SWEEP_BROKEN;
    }
    for (size_t i = 0; i < texts.n; i++)
        bits |= facts_of(vel_vec_at(&texts, i));
    vel_ledger_texts_fini(&texts);
    if ((bits & ((1U << OLD) - 1)) != (1U << OLD) - 1) {
        note("there are facts %x", bits);
        return SWEEP_BROKEN;
    }
    return bits >> OLD & 1 ? SWEEP_NEW : SWEEP_OLD;
}

static bool is_temporary(const char *name) /* those of claims may stay */
{
    (void)name;
    return false;
}

int main(void)
{
    sweep_run(&(struct sweep){.name = "a chair takes over, and ends another launch",
                              .prepare = prepare,
                              .action = take_over,
                              .check = check,
                              .is_temporary = is_temporary});
    sweep_run(&(struct sweep){.name = "a launch begins, and ends two others",
                              .prepare = prepare,
                              .action = begin_new,
                              .check = check,
                              .is_temporary = is_temporary});
    return done_testing();
}
