/* SPDX-License-Identifier: BSD-3-Clause */
/* ledger - a file of facts with one writer in its life (doc/format-ledger.txt).
 *
 * Ledgers of a launch are a chain of terms; the highest with a begin counts. Whoever
 * takes over claims the next term, reads what counts (carry.h), and begins. A ledger
 * knows bytes and numbers; facts are lines of text to it (line.h).
 */
#ifndef VEL_LEDGER_LEDGER_H
#define VEL_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* Where ledgers are. */
struct vel_ledger_dir {
    struct vel_fs *fs;
    const char *path;
    bool is_shared; /* other machines write there, too */
    bool has_all;   /* of each launch a ledger was here: it is the prefix */
};

/* Ledger N.K: term K, from 0, of launch N, from 1. */
struct vel_ledger_name {
    int64_t launch, term;
};

/* Who writes it, and where that listens. */
struct vel_ledger_self {
    const char *node, *address;
    int64_t process;
};

struct vel_carry;
struct vel_ledger;

/* --- to claim --- */

/* Make N.K; whoever made it is its writer. VEL_EEXIST: that is another; or it is N.0,
 * and N was used before. */
int vel_ledger_claim(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     const struct vel_ledger_self *self, struct vel_ledger **ret,
                     struct vel_err *err);

/* Make N.0 with a begin of these facts, where nothing is carried, and no other number
 * carries N; a look comes next. */
int vel_ledger_claim_first(const struct vel_ledger_dir *dir, int64_t launch,
                           const struct vel_ledger_self *self,
                           const struct vel_buf *facts, struct vel_ledger **ret,
                           struct vel_err *err);

/* Make N.0 of a launch whose number nobody else has, or had. It begins later: a name
 * that is left, since others have had the number, must not count. */
int vel_ledger_number(const struct vel_ledger_dir *dir,
                      const struct vel_ledger_self *self, struct vel_ledger **ret,
                      struct vel_err *err);

/* Make the next term of a launch. VEL_ECANCEL: it has an end, or no ledger; VEL_EEXIST:
 * another was faster. */
int vel_ledger_next(const struct vel_ledger_dir *dir, int64_t launch,
                    const struct vel_ledger_self *self, struct vel_ledger **ret,
                    struct vel_err *err);

/* Make N.K the end of launch N, whose heir is a higher one. VEL_EEXIST: N.K is there.
 */
int vel_ledger_end(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   const struct vel_ledger_self *self, int64_t heir,
                   struct vel_err *err);

void vel_ledger_close(struct vel_ledger *ledger);

struct vel_ledger_name vel_ledger_name(const struct vel_ledger *ledger);

/* --- to write: `facts` is the text of lines, with a line feed behind each ---
 *
 * VEL_ECANCEL: another writes in its place; it is out, and writes, tells and removes
 * nothing any more. After a write or a sync that failed nothing can be written, either:
 * VEL_ESTATE; the next term is to be claimed. */

/* Once, above all: the begin, synced, and a look. */
int vel_ledger_begin(struct vel_ledger *ledger, const struct vel_carry *carry,
                     const char *facts, size_t len, struct vel_err *err);

int vel_ledger_append(struct vel_ledger *ledger, const char *facts, size_t len,
                      struct vel_err *err);
/* Of these none counts for any reader where a loss of power has taken one that was
 * appended before them, and not synced. */
int vel_ledger_append_joined(struct vel_ledger *ledger, const char *facts, size_t len,
                             struct vel_err *err);
int vel_ledger_sync(struct vel_ledger *ledger, struct vel_err *err);

/* Is it still the one that counts? After another failure than VEL_ECANCEL and
 * VEL_ESTATE one does not know: look again. */
int vel_ledger_look(struct vel_ledger *ledger, struct vel_err *err);

/* Append, sync, look: what may be told then. */
int vel_ledger_tell(struct vel_ledger *ledger, const char *facts, size_t len,
                    struct vel_err *err);

/* Can it be written? Not after a failure, or when it is out. */
bool vel_ledger_is_good(const struct vel_ledger *ledger);

/* It has grown so long that its writer should claim the next one. */
bool vel_ledger_is_long(const struct vel_ledger *ledger);

/* --- names --- */

/* Those in a directory, by launch and term: struct vel_ledger_name. It is not of one
 * moment. VEL_EIO: there is no directory. */
int vel_ledger_list(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                    struct vel_err *err);

/* The highest term of a launch in such a list; -1: none. */
int64_t vel_ledger_highest(const struct vel_vec *list, int64_t launch);

#endif
