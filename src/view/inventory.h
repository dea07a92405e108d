/* SPDX-License-Identifier: BSD-3-Clause */
/* inventory - what the caches of one node hold, as its leader tells the chair: every
 * part with its encodings and the names that they list (doc/format-view.txt, 1).
 *
 * Names of the neighbours whose lists a redundancy file keeps are told, too: of a lost
 * node that is all that is left of its names.
 */
#ifndef VEL_VIEW_INVENTORY_H
#define VEL_VIEW_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "meta/cache.h"
#include "meta/dataset.h"
#include "meta/filemap.h"
#include "red/header.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/host.h"
#include "view/left.h"

enum {
    VEL_STOCK_PIECE = 1 << 20,  /* bytes of an inventory in one message */
    VEL_STOCK_MOST = 512 << 20, /* bytes of all of it */
};

struct vel_stock_file {
    char *name; /* cached name */
    uint64_t size;
};

struct vel_stock_list {
    int rank;
    struct vel_vec files; /* struct vel_stock_file */
};

/* One redundancy file of a part, and with it the part as it was protected then. */
struct vel_stock_encoding {
    uint8_t id[VEL_ENCODING_ID];
    uint64_t sequence;
    enum vel_scheme scheme;
    uint32_t n, m;   /* members of its set; how many it may lose */
    uint32_t member; /* this part's place */
    uint32_t set, sets;
    bool is_whole;        /* all files are there, with their sizes */
    struct vel_vec lists; /* struct vel_stock_list: its own, then of those before it */
};

struct vel_stock {
    int64_t id;
    int rank;
    int64_t index; /* of the level */
    bool is_aside;
    bool has_about; /* something tells what dataset it is */
    struct vel_dataset about;
    struct vel_vec encodings; /* struct vel_stock_encoding, the newest first */
};

struct vel_inventory {
    char *node;
    struct vel_vec held; /* struct vel_stock, by id and rank */
    struct vel_vec left; /* struct vel_left: what was never sealed */
};

/* Where a node keeps its parts. Everything is borrowed. */
struct vel_inventory_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const struct vel_host *host;
    char *const *homes; /* "CACHE/USER/ID" (vel_cache_home), each once */
    size_t n_homes;
};

/* Begin with an empty one. */
int vel_inventory_init(struct vel_inventory *inventory, const char *node,
                       struct vel_err *err);
void vel_inventory_fini(struct vel_inventory *inventory);

/* What is in one of its items, and in one of those. */
void vel_stock_fini(struct vel_stock *held);
void vel_stock_encoding_fini(struct vel_stock_encoding *encoding);

/* Read the caches while holding their locks, so that nothing goes meanwhile: within
 * `limit` ns altogether, or the inventory fails. A home that is not there holds
 * nothing, and none is made. */
int vel_inventory_take(const struct vel_inventory_of *of, uint64_t limit,
                       struct vel_inventory *ret, struct vel_err *err);

/* The same without locks and without a trace, for who only tells people: of what goes
 * meanwhile it may tell some. */
int vel_inventory_look(struct vel_fs *fs, const char *node, char *const *homes,
                       size_t n_homes, struct vel_inventory *ret, struct vel_err *err);

/* The lock of a home, "HOME/lock": held by whoever reads an inventory or removes parts.
 */
char *vel_inventory_lock_path(const char *home);

/* The record, as bytes. What is decoded was sent by anybody. */
int vel_inventory_encode(const struct vel_inventory *inventory, struct vel_buf *ret,
                         struct vel_err *err);
int vel_inventory_decode(const void *bytes, size_t len, struct vel_inventory *ret,
                         struct vel_err *err);

/* What a part is, of which level, and where in its sets, as its newest redundancy file
 * says (`red`: vel_redfile_scan() of it). VEL_ENOENT: it has none. */
int vel_part_map(const struct vel_part *part, const struct vel_vec *red,
                 struct vel_filemap *ret, struct vel_err *err);

/* The same of the part in `dir`, as its redundancy file of one encoding says (NULL: the
 * newest), and how that protects it (may be NULL). VEL_ECORRUPT: there is none. */
int vel_part_map_of(struct vel_fs *fs, const char *dir, int rank,
                    const uint8_t *encoding, struct vel_filemap *ret,
                    enum vel_scheme *ret_scheme, struct vel_err *err);

/* Of a dataset, as the first of these parts says that has this encoding of it. Items of
 * `parts` begin with a struct vel_part. False: none has. */
bool vel_parts_map(struct vel_fs *fs, const struct vel_vec *parts, int64_t id,
                   const uint8_t encoding[VEL_ENCODING_ID], struct vel_filemap *ret);

#endif
