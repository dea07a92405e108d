/* SPDX-License-Identifier: BSD-3-Clause */
/* header - what a redundancy file says about itself, its set and the files protected
 * (doc/format-parity.txt, 2 to 4). */
#ifndef VEL_RED_HEADER_H
#define VEL_RED_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "red/layout.h"
#include "red/manifest.h"

enum { VEL_ENCODING_ID = 16 };

struct vel_red_header {
    uint8_t id[VEL_ENCODING_ID];
    uint64_t sequence;
    uint64_t boot; /* of SINGLE: of its machine, in which the files were not brought to
                      the disk; 0: they were */
    struct vel_layout layout;
    uint32_t member;
    uint32_t set;
    uint32_t sets;
    size_t lists;              /* 1 + how many members before this one are listed */
    struct vel_manifest *list; /* list[0] is its own */
    unsigned crc_shift;        /* a payload checksum covers 1 << crc_shift bytes */
    size_t crcs;
    uint32_t *payload_crc;
};

/* What tells an encoding from others: one apply, in all its sets. */
struct vel_encoding {
    uint8_t id[VEL_ENCODING_ID];
    uint64_t sequence;
    uint32_t scheme;
    uint32_t m; /* of the set at hand */
};

/* How many lists a member of this layout keeps. */
size_t vel_red_lists(const struct vel_layout *layout);

/* Allocate lists and checksums (zeroed) for a layout, which is taken over also on
 * failure. */
int vel_red_header_init(struct vel_red_header *header, struct vel_layout *layout,
                        uint32_t member, struct vel_err *err);
void vel_red_header_fini(struct vel_red_header *header);

/* The same from the encoded sizes of the lists, before the lists are there. */
size_t vel_red_header_size_of(const struct vel_layout *layout, uint32_t member,
                              const size_t *list_sizes);

/* H: known as soon as the lists have their names, whatever the checksums are. */
size_t vel_red_header_size(const struct vel_red_header *header);

/* Append the H bytes to *ret. */
int vel_red_header_encode(const struct vel_red_header *header, struct vel_buf *ret,
                          struct vel_err *err);

/* The fixed part alone: H and P from the first VEL_RED_PREFIX bytes, so that a reader
 * knows how much to read. Nothing else is trusted yet. */
enum { VEL_RED_PREFIX = 96, VEL_RED_HEADER_MAX = 1 << 30 };
int vel_red_header_peek(const void *bytes, size_t len, uint64_t *ret_header,
                        uint64_t *ret_payload, struct vel_err *err);

/* All H bytes; file_size is that of the whole file. */
int vel_red_header_decode(const void *bytes, size_t len, uint64_t file_size,
                          struct vel_red_header *ret, struct vel_err *err);

/* "LABEL.RANK.XOR.grp_G_of_GS.mem_M_of_N.EEEEEEEE.h5vr", a new string; NULL when out of
 * memory. */
char *vel_red_file_name(const struct vel_red_header *header, const char *label);

/* VEL_EINVAL unless these names can begin so. */
int vel_red_check_label(const char *label, struct vel_err *err);

#define VEL_RED_SUFFIX ".h5vr"

/* Does a file of this name look like ours? */
bool vel_red_is_file_name(const char *name);

#endif
