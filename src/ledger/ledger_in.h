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
 * empty. false: it is none of this name. *ret_lines is behind it. */
bool vel_title_get(const void *bytes, size_t len, struct vel_ledger_name name,
                   struct vel_ledger_text *ret, struct vel_lines *ret_lines);

/* A ledger of these bytes, which are taken (*bytes is empty then). What a torn begin
 * comes from is read in the directory. */
int vel_ledger_decode(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                      struct vel_buf *bytes, struct vel_ledger_text *ret,
                      struct vel_err *err);

#endif
