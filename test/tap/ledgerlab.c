/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tap/files.h"
#include "tap/ledgerlab.h"
#include "tap/tap.h"

const struct vel_ledger_self ledgerlab_self = {"n1", "unix:/a b", 4711};

struct vel_ledger_dir ledgerlab_fresh(const char *name)
{
    const struct vel_ledger_dir dir = {vel_fs_posix(), tap_path(name), false, true};

    tap_fresh_dir(dir.path);
    return dir;
}

struct vel_ledger *ledgerlab_claim(const struct vel_ledger_dir *dir, int64_t launch,
                                   int64_t term)
{
    struct vel_ledger *ledger = NULL;
    struct vel_err err = {0};

    if (vel_ledger_claim(dir, (struct vel_ledger_name){launch, term}, &ledgerlab_self,
                         &ledger, &err) < 0)
        bail_out("%s", err.text);
    return ledger;
}

int ledgerlab_begin(struct vel_ledger *ledger, const struct vel_ledger_dir *dir,
                    const char *facts, struct vel_err *err)
{
    struct vel_carry carry;
    int rc;

    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    rc = vel_ledger_begin(ledger, &carry, facts, strlen(facts), err);
    vel_carry_fini(&carry);
    return rc;
}

int ledgerlab_tell(struct vel_ledger *ledger, const char *facts, struct vel_err *err)
{
    return vel_ledger_tell(ledger, facts, strlen(facts), err);
}

const char *ledgerlab_facts(const struct vel_ledger_text *text)
{
    static char ret[4096];

    ret[0] = '\0';
    for (size_t i = 0; i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);

        snprintf(ret + strlen(ret), sizeof ret - strlen(ret), "%.*s\n",
                 (int)fact->line.len, fact->line.text);
    }
    return ret;
}

struct vel_ledger_text ledgerlab_load(const struct vel_ledger_dir *dir, int64_t launch,
                                      int64_t term)
{
    struct vel_ledger_text text = {0};
    struct vel_err err = {0};

    if (vel_ledger_load(dir, (struct vel_ledger_name){launch, term}, &text, &err) < 0)
        note("%s", err.text);
    return text;
}
