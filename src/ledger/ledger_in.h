/* SPDX-License-Identifier: BSD-3-Clause */
/* ledger_in - what writers and readers of ledgers share. */
#ifndef VEL_LEDGER_LEDGER_IN_H
#define VEL_LEDGER_LEDGER_IN_H

#include "ledger/read.h"

enum {
    VEL_LEDGER_FORMAT = 1,
    VEL_LEDGER_TITLE = 4096, /* bytes of a title, at most */
};

/* DIR/N.K, a new string. */
char *vel_ledger_path(const struct vel_ledger_dir *dir, struct vel_ledger_name name);

/* The text of a title. */
void vel_title_put(struct vel_buf *ret, const struct vel_ledger_text *title);

/* The title of bytes that begin with one, whose strings are new; the rest of *ret is
 * empty. 1; 0: it is none of this name. *ret_lines is behind it. */
int vel_title_get(const void *bytes, size_t len, struct vel_ledger_name name,
                  struct vel_ledger_text *ret, struct vel_lines *ret_lines,
                  struct vel_err *err);

/* VEL_ECORRUPT, with a sentence. */
int vel_title_none(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   struct vel_err *err);

/* Open a ledger and read its title. VEL_ENOENT, VEL_ECORRUPT: as vel_ledger_load(). */
int vel_title_open(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   int flags, int *ret_fd, struct vel_ledger_text *ret,
                   struct vel_err *err);

/* Is that an end? Whose is it to carry? 0: it is none. */
int vel_ledger_heir(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    int64_t *ret_heir, struct vel_err *err);

/* Where a launch stands in a list: items *ret_first to behind. */
void vel_ledger_chain(const struct vel_vec *list, int64_t launch, size_t *ret_first,
                      size_t *ret_behind);

struct vel_ledger_stamp vel_ledger_stamp(const struct stat *st);

/* struct vel_ledger_from, by launch */
int vel_ledger_from_compare(const void *a, const void *b);

/* As vel_fs_see_anew(), where other machines write. */
int vel_ledger_see_anew(const struct vel_ledger_dir *dir, struct vel_err *err);

/* Not the first time that ledgers change while somebody reads them: 0, or VEL_EBUSY
 * when that does not end. */
int vel_ledger_again(const struct vel_ledger_dir *dir, int *round, struct vel_err *err);

/* Facts in these lines, into *ret; those of the begin lie from one place to the other.
 */
int vel_ledger_read_facts(struct vel_lines lines, uint64_t facts_at, uint64_t tail_at,
                          struct vel_ledger_text *ret, struct vel_err *err);

/* A ledger of these bytes, which are taken (*bytes is empty then). What a torn begin
 * comes from is read in the directory. */
int vel_ledger_decode(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                      struct vel_buf *bytes, struct vel_ledger_text *ret,
                      struct vel_err *err);

#endif
