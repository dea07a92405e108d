/* SPDX-License-Identifier: BSD-3-Clause */
/* member - one member's bytes as executors see them: its lofi and its payload, read or
 * written in any order, with the checksums of everything that passes. */
#ifndef VEL_RED_MEMBER_H
#define VEL_RED_MEMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "red/crcmap.h"
#include "red/header.h"
#include "red/lofi.h"
#include "red/plan.h"
#include "sys/fs.h"

struct vel_member {
    struct vel_fs *fs; /* NULL: not open */
    struct vel_lofi *lofi;
    char *payload_path;
    int payload_fd;
    uint64_t payload_begin; /* H */
    uint64_t payload_size;
    struct vel_crcmap lofi_crc;    /* a segment per file */
    struct vel_crcmap payload_crc; /* a segment per recorded checksum */
    struct vel_member
        *older; /* NULL, or what it differs from, see vel_member_differ() */
    const uint32_t *older_crc; /* then: of its payload's segments; borrowed, */
    uint8_t *scratch;          /* and VEL_MEMBER_SCRATCH bytes */
};

enum { VEL_MEMBER_SCRATCH = 1 << 20 };

/* Whether the files and the redundancy file are there, or are to be made. */
enum vel_member_mode {
    VEL_MEMBER_READ,   /* both are there */
    VEL_MEMBER_ENCODE, /* files are there, the redundancy file is made */
    VEL_MEMBER_WRITE,  /* both are made */
};

/* Open member header->list[0] with its files in `dir` (as `names` says, or as in the
 * list when NULL) and its redundancy file at `payload_path`. What is made is made with
 * O_EXCL. */
int vel_member_open(struct vel_member *member, struct vel_fs *fs, const char *dir,
                    const char *payload_path, uint64_t begin,
                    const struct vel_red_header *header, char *const *names,
                    enum vel_member_mode mode, struct vel_err *err);

/* Close without a check; files that were made and not synced may be removed then. */
void vel_member_close(struct vel_member *member);

int vel_member_read(struct vel_member *member, enum vel_region region, uint64_t at,
                    void *bytes, size_t len, struct vel_err *err);
int vel_member_write(struct vel_member *member, enum vel_region region, uint64_t at,
                     const void *bytes, size_t len, struct vel_err *err);

/* All bytes of the files have passed, and all of those of `older`, which has the same
 * sizes and this header. The payload becomes a copy of the older one: VEL_ECORRUPT when
 * that is not what the header says. From now on what is read of the files is by how
 * much they differ (XOR) from the older ones, and what is written to the payload is
 * added to what it is: the code is linear. No more checksums are taken of what is read.
 */
int vel_member_differ(struct vel_member *member, struct vel_member *older,
                      const struct vel_red_header *header, struct vel_err *err);

/* As if nothing had been read or written. */
void vel_member_restart(struct vel_member *member);

/* The checksum of file i, of which nothing has passed, from who wrote it. */
int vel_member_sum(struct vel_member *member, size_t i, uint32_t crc,
                   struct vel_err *err);

/* Read what has not passed yet, so that every checksum is known. */
int vel_member_read_rest(struct vel_member *member, struct vel_err *err);

/* Put the checksums into a header (after encoding), or compare them with it:
 * VEL_ECORRUPT names the first file that differs. All bytes must have passed. */
void vel_member_store_crcs(struct vel_member *member, struct vel_red_header *header);
int vel_member_check_files(struct vel_member *member,
                           const struct vel_red_header *header,
                           struct vel_err *err); /* those of the files alone */
int vel_member_check_crcs(struct vel_member *member,
                          const struct vel_red_header *header, struct vel_err *err);

#endif
