/* SPDX-License-Identifier: BSD-3-Clause */
/* ledgerlab - ledgers in directories of a test. */
#ifndef TEST_TAP_LEDGERLAB_H
#define TEST_TAP_LEDGERLAB_H

#include "ledger/carry.h"

extern const struct vel_ledger_self ledgerlab_self;

/* An empty one, as on a prefix that nobody else has mounted. */
struct vel_ledger_dir ledgerlab_fresh(const char *name);

/* The test ends when that fails. */
struct vel_ledger *ledgerlab_claim(const struct vel_ledger_dir *dir, int64_t launch,
                                   int64_t term);

/* A begin that comes from nothing. */
int ledgerlab_begin(struct vel_ledger *ledger, const struct vel_ledger_dir *dir,
                    const char *facts, struct vel_err *err);
int ledgerlab_tell(struct vel_ledger *ledger, const char *facts, struct vel_err *err);

/* Empty when it cannot be read; a note says why. */
struct vel_ledger_text ledgerlab_load(const struct vel_ledger_dir *dir, int64_t launch,
                                      int64_t term);

/* All facts, with a line feed behind each; "" when it has no begin. A string that the
 * next call changes. */
const char *ledgerlab_facts(const struct vel_ledger_text *text);

#endif
