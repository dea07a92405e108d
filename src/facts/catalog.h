/* SPDX-License-Identifier: BSD-3-Clause */
/* catalog - what facts say together (doc/facts.txt, 1).
 *
 * Facts are folded one after the other, in any order and as often as one likes: the
 * same facts give the same catalog. It does no input or output.
 */
#ifndef VEL_FACTS_CATALOG_H
#define VEL_FACTS_CATALOG_H

#include "facts/facts.h"

struct vel_catalog;

/* NULL when out of memory. */
struct vel_catalog *vel_catalog_create(void);
void vel_catalog_destroy(struct vel_catalog *catalog);

/* Fold a fact. VEL_ECORRUPT: it is none. */
int vel_catalog_fold(struct vel_catalog *catalog, const struct vel_ledger_line *line,
                     struct vel_err *err);

/* Facts of a kind, in the order in which their subjects were first folded. */
size_t vel_catalog_count(const struct vel_catalog *catalog, enum vel_fact_kind kind);
int vel_catalog_at(const struct vel_catalog *catalog, enum vel_fact_kind kind, size_t i,
                   struct vel_fact *ret, struct vel_err *err);

/* The fact of this kind and subject; the other fields of *subject do not matter.
 * VEL_ENOENT: there is none. */
int vel_catalog_find(const struct vel_catalog *catalog, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err);

/* Only those of a kind that are wanted stay. */
typedef bool vel_fact_wanted_f(void *arg, const struct vel_fact *fact);
int vel_catalog_keep(struct vel_catalog *catalog, enum vel_fact_kind kind,
                     vel_fact_wanted_f *is_wanted, void *arg, struct vel_err *err);

/* Fold the facts of a kind of another catalog. */
int vel_catalog_copy(struct vel_catalog *catalog, const struct vel_catalog *from,
                     enum vel_fact_kind kind, struct vel_err *err);

/* All facts as lines, for a begin. */
int vel_catalog_put(const struct vel_catalog *catalog, struct vel_buf *ret,
                    struct vel_err *err);

#endif
