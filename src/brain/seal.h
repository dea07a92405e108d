/* SPDX-License-Identifier: BSD-3-Clause */
/* seal - what a sealed dataset consists of: which rank's part is on which node, and in
 * which set it is protected (doc/life.txt, 8).
 *
 * Made once as a record by whoever seals; told to all nodes in the message `sealed`,
 * then with what changes: who owns it, which attempt to encode it this is, and the
 * nodes that took the parts of lost ones. Pure data.
 */
#ifndef VEL_BRAIN_SEAL_H
#define VEL_BRAIN_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scheme.h"
#include "base/vec.h"
#include "meta/dataset.h"

/* as in the message `sealed` */
enum vel_verdict {
    VEL_VERDICT_SEALED = 1,
    VEL_VERDICT_PARTIAL = 2, /* never restorable, but flushed */
    VEL_VERDICT_VOID = 3,    /* never complete */
};

/* as in the message `owe`: bits */
enum vel_owed {
    VEL_OWED_ENCODE = 1,
    VEL_OWED_FLUSH = 2,
};

enum { VEL_SEAL_ENCODING = 16, VEL_SEAL_MOST = 8 << 20, VEL_SEAL_RANKS = 1 << 20 };

/* A rank's part. */
struct vel_seal_member {
    int64_t rank;
    char *node;     /* that holds it, or is to have it */
    int64_t set;    /* number of its set, over all of the dataset */
    int64_t place;  /* in the set */
    int64_t level;  /* index of the CKPT line: which cache */
    int64_t scheme; /* enum vel_scheme */
    int64_t failures;
    int64_t bytes;
    int64_t files; /* of the connector: how many; 0: an empty part */
    int64_t upto;  /* and the order of closing of the last one */
};

enum { VEL_SEAL_LAUNCH = 64 }; /* the longest name of one */

struct vel_seal {
    int64_t id; /* 0: void */
    enum vel_verdict verdict;
    unsigned what;  /* bits of enum vel_owed */
    char *template; /* of its key; "" for a dataset of the API */
    char *step;
    int64_t generation;
    int64_t after; /* the dataset whose files are its own where there are no newer ones,
                      since it is of files that came late; 0: none */
    int64_t anew;  /* the newest dataset of its template and step that could not be
                      restored when it was sealed, and is not any more when this one can
                      be: their files are not mixed; 0: none */
    int64_t
        point; /* its files were open: they are as at this version point; 0: closed */
    char by[VEL_SEAL_LAUNCH + 1]; /* the launch that has sealed what an older one had
                                     closed; "": its own */
    struct vel_dataset about;     /* what it is; name NULL: void */
    bool is_plain; /* of the API: it is not to come into containers, for it is to be
                      read on the prefix by name */
    uint8_t encoding[VEL_SEAL_ENCODING]; /* identity of the background encoding */
    struct vel_vec members;              /* struct vel_seal_member, by rank */

    /* not of the record, but told */
    int64_t owner;        /* K of who leads it; 0: nobody */
    int64_t attempt;      /* to encode it */
    bool is_encoded;      /* the background encoding is applied in all sets */
    struct vel_vec again; /* int64_t: then only these sets are formed again, since a
                             part of theirs has another node now */

    /* one that is cut, and then: */
    bool is_cut;
    int64_t sets;         /* of all members */
    int64_t level;        /* of the first of them */
    size_t n_nodes;       /* and theirs: */
    struct vel_buf nodes; /* names, each with a zero behind it */
};

void vel_seal_init(struct vel_seal *seal);
void vel_seal_fini(struct vel_seal *seal);
int vel_seal_copy(const struct vel_seal *seal, struct vel_seal *ret,
                  struct vel_err *err);

/* Member i; there are seal->members.n. */
const struct vel_seal_member *vel_seal_member(const struct vel_seal *seal, size_t i);

/* That of a rank, or NULL. */
const struct vel_seal_member *vel_seal_find(const struct vel_seal *seal, int64_t rank);

/* Append a member; `node` is copied. */
int vel_seal_add(struct vel_seal *seal, const struct vel_seal_member *member,
                 struct vel_err *err);

/* How many files it is expected to close of the next one: who has closed one that
 * another rank has now writes one, too. */
int64_t vel_seal_expected(const struct vel_seal_member *member);

/* A set is to be formed again; is it? */
int vel_seal_form_again(struct vel_seal *seal, int64_t set, struct vel_err *err);
bool vel_seal_is_again(const struct vel_seal *seal, int64_t set);

/* It is partial, and its names have a whole version, which stays there: it is kept in
 * the caches until there is a newer one. */
bool vel_seal_gives_way(const struct vel_seal *seal);

bool vel_seal_has_node(const struct vel_seal *seal, const char *node);

/* How many sets all its members are in, and at which level they are, which is one. */
int64_t vel_seal_sets(const struct vel_seal *seal);
int64_t vel_seal_level(const struct vel_seal *seal);

/* Its nodes, each once, in the order of their lowest ranks; the names are the seal's.
 * None, when that fails. */
struct vel_seal_nodes {
    const char **names;
    size_t n;
    size_t *of; /* that of member i is names[of[i]] */
};
int vel_seal_nodes(const struct vel_seal *seal, struct vel_seal_nodes *ret,
                   struct vel_err *err);
void vel_seal_nodes_fini(struct vel_seal_nodes *nodes);

/* The bytes, at most VEL_SEAL_MOST of them, and back: VEL_ECORRUPT for anything that no
 * encode makes. *ret is to be finished by the caller. */
int vel_seal_encode(const struct vel_seal *seal, struct vel_buf *ret,
                    struct vel_err *err);
int vel_seal_decode(const void *bytes, size_t len, struct vel_seal *ret,
                    struct vel_err *err);

/* What a session tells of its dataset `id` when all ranks have their parts.
 * VEL_ECORRUPT also when a rank has no part, or the sets are not numbered from 0 on, or
 * the places of one are not. */
int vel_seal_decode_settled(int64_t id, const void *bytes, size_t len,
                            struct vel_seal *ret, struct vel_err *err);

/* Cut for a node: with only the members of sets that it is in. It needs no others, and
 * there may be very many: of 160,000 ranks 18 MB. How many sets there are, and which
 * nodes, is still known. It cannot be encoded. */
int vel_seal_decode_for(const void *bytes, size_t len, const char *node,
                        struct vel_seal *ret, struct vel_err *err);

#endif
