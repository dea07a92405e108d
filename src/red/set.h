/* SPDX-License-Identifier: BSD-3-Clause */
/* set - protect the files of a redundancy set, bring them back, take the protection
 * off. */
#ifndef VEL_RED_SET_H
#define VEL_RED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "red/layout.h"
#include "sys/fs.h"

/* What a file was when it was written, says who wrote it. */
struct vel_red_sum {
    uint64_t size;
    uint32_t crc;
};

/* What encoding by difference has saved: bytes. */
struct vel_red_saved {
    uint64_t compared; /* of files, with older versions */
    uint64_t same;     /* of these, in blocks that were the same: sent to nobody */
    uint64_t copied;   /* of redundancy that nobody computed */
    uint64_t computed; /* and of all that was */
};

/* A set as its members see it, and this member's part in it. Everything is borrowed. */
struct vel_red_set {
    struct vel_comm *comm; /* the members; a rank there is a place in the set */
    enum vel_scheme scheme;
    size_t m;      /* parity blocks or replicas; 0 for SINGLE, 1 for XOR */
    uint32_t set;  /* number of this set */
    uint32_t sets; /* of so many */
    uint32_t rank; /* this member's rank among all */
    struct vel_fs *fs;
    const char *dir; /* where its files and its redundancy file lie */
    const char *
        label; /* begins the names of redundancy files; tells apart what shares a dir */
    size_t memory;        /* for buffers; 0: the default */
    struct vel_comm *all; /* everybody, when this set is one of several; else NULL */
    const uint8_t *id;    /* VEL_ENCODING_ID bytes: the identity of the encoding, when
                             somebody has drawn it for all sets, which then need not wait
                             for each other; NULL: the first of all draws it */
    const struct vel_map
        *sums;        /* struct vel_red_sum, by the names of files: those are
                         not read where no byte of them is needed; may be NULL */
    bool is_unsynced; /* of SINGLE: nothing is brought to the disk, so that in another
                         boot of the machine the bytes have to be looked at */
    bool is_dated; /* the others are not read there either: their times count until they
                      are protected again */
    char *const *older; /* directories, a NULL behind the last, in which older versions
                           of these files may be protected under this label, the newest
                           first: then what differs from one is encoded, where all
                           members have that and it is worth it; may be NULL */
    struct vel_red_saved *saved; /* by that, of this member; may be NULL */
};

/* Collective over the set, and over `all` when it is not NULL. Protect `n` files of
 * this member (names relative to dir); descriptor are bytes to keep with them, at most
 * VEL_DESCRIPTOR_MAX. What protected an earlier state under the same label stays until
 * the new protection is in place everywhere (in all sets), and stays when this fails
 * (in any). With set->id nobody here knows when that is: earlier encodings stay until
 * vel_red_drop_older(). *ret_name (may be NULL) is the name of this member's redundancy
 * file, freed by the caller. */
int vel_red_apply(const struct vel_red_set *set, char *const *names, size_t n,
                  const void *descriptor, size_t descriptor_len, char **ret_name,
                  struct vel_err *err);

/* The same, where members come with what they did before: a failure `rc` of one, with
 * its sentence in *err, is the failure of all. */
int vel_red_apply_after(const struct vel_red_set *set, int rc, char *const *names,
                        size_t n, const void *descriptor, size_t descriptor_len,
                        char **ret_name, struct vel_err *err);

/* Collective over the set. Protect once more, by this set's scheme and under set->id,
 * what is protected under this label already: the newest redundancy file of each member
 * says which files that are, and what their bytes were. VEL_ECORRUPT: they are others
 * now. A member of which nothing is protected takes part without files, and with this
 * descriptor. Members that do this again after a failure, or a part of them, end up
 * with the same bytes under the same names: what earlier attempts have left fits. */
int vel_red_apply_again(const struct vel_red_set *set, int rc, const void *descriptor,
                        size_t descriptor_len, char **ret_name, struct vel_err *err);

/* Local. Has this member a redundancy file of set->id, and all its files with their
 * sizes? Looks at fs, dir, label, rank and id. */
int vel_red_holds(const struct vel_red_set *set, bool *ret_holds, struct vel_err *err);

/* Local. All sets have the encoding set->id: what is older under this label goes here.
 * VEL_ENOENT, and nothing is removed, when this member does not hold that one. */
int vel_red_drop_older(const struct vel_red_set *set, struct vel_err *err);

/* What a recovery found and did, the same on all members. */
struct vel_red_report {
    size_t lost;              /* members that were rebuilt */
    struct vel_buf sentences; /* a line for each of them: why it counted as lost */
};

/* Collective over the set. Every member gets its files back: members whose files or
 * redundancy file are missing, short or corrupt are rebuilt from the others with the
 * scheme that was applied. The set's scheme and m are not looked at. VEL_ENOENT:
 * nothing was ever protected under this label; VEL_EINVAL: more is lost than the scheme
 * bears, with the reasons; nothing has changed then. With set->id that encoding alone
 * is looked at, and what others have left stays. */
int vel_red_recover(const struct vel_red_set *set, struct vel_red_report *ret_report,
                    struct vel_err *err);

/* Collective over set->all: the same for everybody of a run that need not know how an
 * earlier one formed its sets. They are found again in the redundancy files, rank by
 * rank: rank r finds the directory of rank r then, or nothing in it. All sets go back
 * to the same state, or none is changed; the newest that can be made whole is taken. Of
 * *set are used all, fs, dir, label and memory; completed are scheme, m, set, sets,
 * rank and comm, which is the caller's, and NULL for a rank that was in no set.
 * VEL_ENOENT: no rank has a redundancy file of this label. */
int vel_red_recover_all(struct vel_red_set *set, struct vel_red_report *ret_report,
                        struct vel_err *err);
void vel_red_report_fini(struct vel_red_report *report);

/* Collective over the set. Remove the redundancy files of this label; the files stay.
 */
int vel_red_unapply(const struct vel_red_set *set, struct vel_err *err);

/* This member's protected files and its redundancy file (the last one) as found in the
 * newest encoding in dir: items of *ret_names are char *, freed with
 * vel_fs_names_fini(). Local. */
int vel_red_list(const struct vel_red_set *set, struct vel_vec *ret_names,
                 struct vel_err *err);

#endif
