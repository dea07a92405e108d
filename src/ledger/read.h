/* SPDX-License-Identifier: BSD-3-Clause */
/* read - a ledger as anybody reads it (doc/format-ledger.txt, 2). */
#ifndef VEL_LEDGER_READ_H
#define VEL_LEDGER_READ_H

#include "ledger/ledger.h"
#include "ledger/line.h"

/* What a begin says of a launch: its facts are those of this term and those behind, or,
 * with term -1, it is carried, and has no ledger that would have to be read. */
struct vel_ledger_from {
    int64_t launch, term;
};

struct vel_ledger_fact {
    struct vel_ledger_name of; /* the ledger that has it */
    struct vel_ledger_line line;
};

/* Which file it was, how long, for it only grows, and when it was written last. */
struct vel_ledger_stamp {
    int64_t inode, size, seconds, nanoseconds;
};

struct vel_ledger_text {
    struct vel_ledger_name name;
    struct vel_ledger_stamp stamp; /* before it was read */
    uint64_t salt;
    int64_t heir; /* of an end; else 0 */
    int64_t process;
    char *node, *address;

    bool has_begin;       /* else there is nothing below */
    int64_t floor;        /* launches below are carried, */
    struct vel_vec from;  /* and these: struct vel_ledger_from, by launch; its own, too,
                             when it is not of term 0 */
    struct vel_vec facts; /* struct vel_ledger_fact, in order; where a fact of the begin
                             is wrong those of the ledgers that it comes from first */
    size_t wrong;         /* lines that are wrong, with right ones behind */
    bool is_torn;         /* one of them has a fact of the begin, */
    bool is_lossy;        /* and nobody else has it any more */
    struct vel_vec bytes; /* struct vel_buf, where the facts lie */
    uint64_t end;         /* behind the last line that is right */
};

/* Who writes it, or has: its title alone, which is as a text without a begin. */
int vel_ledger_title(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     struct vel_ledger_text *ret, struct vel_err *err);

/* VEL_ENOENT: there is none of that name. VEL_ECORRUPT: nobody can say whose it is, or
 * where its begin ends. */
int vel_ledger_load(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    struct vel_ledger_text *ret, struct vel_err *err);
void vel_ledger_text_fini(struct vel_ledger_text *text);

/* What was appended since to a ledger that was read up to `end` and has begun: facts
 * alone, and how far they go. VEL_ENOENT, VEL_ECORRUPT: it is not there any more. */
int vel_ledger_load_more(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                         uint64_t salt, uint64_t end, struct vel_ledger_text *ret,
                         struct vel_err *err);

/* Is a ledger that was read the last one of its launch, and was not written since? By
 * two lstat(2). */
bool vel_ledger_is_as_read(const struct vel_ledger_dir *dir,
                           struct vel_ledger_name name,
                           const struct vel_ledger_stamp *stamp);

/* One line more of it, that stands so: its text becomes *ret. VEL_ENOENT, VEL_ECORRUPT:
 * it is not there any more. */
struct vel_ledger_spot {
    struct vel_ledger_name name;
    uint64_t salt, at; /* of the ledger, and of the text in it */
    size_t len;
};
int vel_ledger_load_line(const struct vel_ledger_dir *dir,
                         const struct vel_ledger_spot *spot, struct vel_buf *ret,
                         struct vel_err *err);

/* Does it say that another launch is carried? */
bool vel_ledger_carries(const struct vel_ledger_text *text, int64_t launch);

/* The one that counts below a term: of the list, the highest with a begin; *ret_has
 * false: none is. VEL_ENOENT: one that is in the list is gone; list again. */
int vel_ledger_counting(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                        struct vel_ledger_name below, struct vel_ledger_text *ret,
                        bool *ret_has, struct vel_err *err);

/* What counts of all launches, as items of *ret by launch: struct vel_ledger_text. */
int vel_ledger_read_all(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                        struct vel_err *err);
void vel_ledger_texts_fini(struct vel_vec *texts);

/* Before somebody acts on what he has read, and was not told: sync it, and look whether
 * it still counts. VEL_ECANCEL: it does not. */
int vel_ledger_trust(const struct vel_ledger_dir *dir,
                     const struct vel_ledger_text *text, struct vel_err *err);

#endif
