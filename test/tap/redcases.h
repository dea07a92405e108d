/* SPDX-License-Identifier: BSD-3-Clause */
/* redcases - the life of a redundancy set, played by its members over any communicator.
 * Each function is collective and returns the same on all members. */
#ifndef TEST_TAP_REDCASES_H
#define TEST_TAP_REDCASES_H

#include <stdint.h>

#include "comm/comm.h"
#include "red/layout.h"

struct redcase {
    const char *root; /* a directory that all members reach */
    enum vel_scheme scheme;
    size_t m;
    uint64_t seed;
    size_t most;       /* bytes of a file */
    unsigned patterns; /* loss patterns to try; 0: all */
};

/* Protect, then for each pattern: lose the members, recover, compare with what was.
 * Patterns that the scheme bears must come back byte for byte, files and redundancy;
 * the others must fail and change nothing. Returns the number of patterns that went
 * wrong; *ret_tried tells how many. */
int redcase_losses(const struct redcase *c, struct vel_comm *comm, int *ret_tried);

/* A bit flips in each file and redundancy file and in the header of that one, of each
 * member in turn; each is found and repaired. Returns how often that went wrong. */
int redcase_flips(const struct redcase *c, struct vel_comm *comm, int *ret_tried);

/* Member `lost` is lost, and the n-th file operation of member `faulty` fails while all
 * recover, for n = 1, 2, 3 ... until none fails any more. Each recovery brings
 * everything back, or fails with a sentence and changes nothing at members that are
 * there; the next one without fault succeeds; every member that counts as lost has a
 * reason. Returns how often that went wrong. */
int redcase_faults(const struct redcase *c, struct vel_comm *comm, int lost, int faulty,
                   int *ret_tried);

#endif
