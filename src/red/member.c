/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "red/member.h"

enum { READ_SIZE = 1 << 20 };

static int open_payload(struct vel_member *member, enum vel_member_mode mode,
                        struct vel_err *err)
{
    int flags = mode == VEL_MEMBER_READ ? O_RDONLY : O_RDWR | O_CREAT | O_EXCL;

    return vel_fs_open(member->fs, member->payload_path, flags | O_NOFOLLOW, 0600,
                       &member->payload_fd, err);
}

static int add_segments(struct vel_member *member, const struct vel_red_header *header,
                        char *const *names, struct vel_err *err)
{
    const struct vel_manifest *list = &header->list[0];
    uint64_t left = member->payload_size;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < list->files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(list, i);

        rc = vel_lofi_add(member->lofi, names ? names[i] : file->name, file->size, err);
        if (rc == 0)
            rc = vel_crcmap_segment(&member->lofi_crc, file->size, err);
    }
    for (size_t i = 0; rc == 0 && i < header->crcs; i++) {
        uint64_t len = (uint64_t)1 << header->crc_shift;

        len = len < left ? len : left;
        rc = vel_crcmap_segment(&member->payload_crc, len, err);
        left -= len;
    }
    return rc;
}

int vel_member_open(struct vel_member *member, struct vel_fs *fs, const char *dir,
                    const char *payload_path, uint64_t begin,
                    const struct vel_red_header *header, char *const *names,
                    enum vel_member_mode mode, struct vel_err *err)
{
    int rc;

    *member = (struct vel_member){
        .fs = fs,
        .lofi = vel_lofi_create(fs, dir, mode == VEL_MEMBER_WRITE),
        .payload_path = strdup(payload_path),
        .payload_fd = -1,
        .payload_begin = begin,
        .payload_size = vel_layout_payload(&header->layout, header->member),
    };
    vel_crcmap_init(&member->lofi_crc);
    vel_crcmap_init(&member->payload_crc);
    if (member->lofi && member->payload_path)
        rc = add_segments(member, header, names, err);
    else
        rc = vel_out_of_memory(err, "opening a member");
    if (rc == 0)
        rc = open_payload(member, mode, err);
    if (rc < 0)
        vel_member_close(member);
    return rc;
}

void vel_member_close(struct vel_member *member)
{
    if (!member->fs)
        return;
    if (member->payload_path)
        vel_fs_close(member->fs, member->payload_fd, member->payload_path, NULL);
    vel_lofi_destroy(member->lofi);
    free(member->payload_path);
    free(member->scratch);
    vel_crcmap_fini(&member->lofi_crc);
    vel_crcmap_fini(&member->payload_crc);
    *member = (struct vel_member){.payload_fd = -1};
}

/* what of a span lies inside the lofi */
static size_t inside(const struct vel_member *member, uint64_t at, size_t len)
{
    uint64_t size = vel_lofi_size(member->lofi);

    return at >= size ? 0 : size - at < len ? (size_t)(size - at) : len;
}

/* --- what differs --- */

static int read_payload(struct vel_member *member, uint64_t at, void *bytes, size_t len,
                        struct vel_err *err)
{
    return vel_fs_read_at(member->fs, member->payload_fd, bytes, len,
                          (off_t)(member->payload_begin + at), member->payload_path,
                          err);
}

/* In GF(2^8), byte by byte. */
static void add(uint8_t *to, const uint8_t *what, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] ^= what[i];
}

static int read_difference(struct vel_member *member, uint64_t at, uint8_t *bytes,
                           size_t len, struct vel_err *err)
{
    int rc = vel_lofi_read(member->lofi, at, bytes, len, err);

    for (size_t i = 0, n; rc == 0 && i < len; i += n) {
        n = len - i < VEL_MEMBER_SCRATCH ? len - i : VEL_MEMBER_SCRATCH;
        rc = vel_lofi_read(member->older->lofi, at + i, member->scratch, n, err);
        if (rc == 0)
            add(bytes + i, member->scratch, n);
    }
    return rc;
}

static int write_payload(struct vel_member *member, uint64_t at, const void *bytes,
                         size_t len, struct vel_err *err)
{
    int rc =
        vel_fs_write_at(member->fs, member->payload_fd, bytes, len,
                        (off_t)(member->payload_begin + at), member->payload_path, err);

    return rc < 0 ? rc : vel_crcmap_bytes(&member->payload_crc, at, bytes, len, err);
}

static int write_sum(struct vel_member *member, uint64_t at, const uint8_t *bytes,
                     size_t len, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0, n; rc == 0 && i < len; i += n) {
        n = len - i < VEL_MEMBER_SCRATCH ? len - i : VEL_MEMBER_SCRATCH;
        rc = read_payload(member, at + i, member->scratch, n, err);
        if (rc < 0)
            return rc;
        add(member->scratch, bytes + i, n);
        rc = write_payload(member, at + i, member->scratch, n, err);
    }
    return rc;
}

/* As the header of the older one says it is; and it is written to, not counted. */
static int copy_segment(struct vel_member *member, size_t i, uint64_t at, uint64_t end,
                        struct vel_err *err)
{
    uint32_t crc = 0;
    int rc = 0;

    for (size_t n; rc == 0 && at < end; at += n) {
        n = end - at < VEL_MEMBER_SCRATCH ? (size_t)(end - at) : VEL_MEMBER_SCRATCH;
        rc = read_payload(member->older, at, member->scratch, n, err);
        crc = vel_crc32c(crc, member->scratch, n);
        if (rc == 0)
            rc = vel_fs_write_at(member->fs, member->payload_fd, member->scratch, n,
                                 (off_t)(member->payload_begin + at),
                                 member->payload_path, err);
    }
    return rc == 0 && crc != member->older_crc[i]
               ? vel_fail(err, VEL_ECORRUPT,
                          "%s: block %zu of the redundancy has changed",
                          member->older->payload_path, i)
               : rc;
}

int vel_member_differ(struct vel_member *member, struct vel_member *older,
                      const struct vel_red_header *header, struct vel_err *err)
{
    uint64_t at = 0, segment = (uint64_t)1 << header->crc_shift;
    int rc = 0;

    assert(older->payload_size == member->payload_size);
    member->scratch = malloc(VEL_MEMBER_SCRATCH);
    if (!member->scratch)
        return vel_out_of_memory(err, "encoding what differs");
    member->older = older;
    member->older_crc = header->payload_crc;
    for (size_t i = 0; rc == 0 && i < header->crcs; i++, at += segment) {
        uint64_t left = member->payload_size - at;

        rc = copy_segment(member, i, at, at + (left < segment ? left : segment), err);
    }
    return rc;
}

void vel_member_restart(struct vel_member *member)
{
    vel_crcmap_forget(&member->lofi_crc);
    vel_crcmap_forget(&member->payload_crc);
    free(member->scratch);
    member->scratch = NULL;
    member->older = NULL;
    member->older_crc = NULL;
}

/* --- bytes --- */

int vel_member_read(struct vel_member *member, enum vel_region region, uint64_t at,
                    void *bytes, size_t len, struct vel_err *err)
{
    int rc;

    if (region == VEL_REGION_LOFI && member->older)
        return read_difference(member, at, bytes, len, err);
    if (region == VEL_REGION_LOFI) {
        rc = vel_lofi_read(member->lofi, at, bytes, len, err);
        if (rc < 0)
            return rc;
        return vel_crcmap_bytes(&member->lofi_crc, at, bytes, inside(member, at, len),
                                err);
    }
    assert(at + len <= member->payload_size);
    rc = read_payload(member, at, bytes, len, err);
    return rc < 0 ? rc : vel_crcmap_bytes(&member->payload_crc, at, bytes, len, err);
}

int vel_member_write(struct vel_member *member, enum vel_region region, uint64_t at,
                     const void *bytes, size_t len, struct vel_err *err)
{
    int rc;

    if (region == VEL_REGION_LOFI) {
        rc = vel_lofi_write(member->lofi, at, bytes, len, err);
        if (rc < 0)
            return rc;
        return vel_crcmap_bytes(&member->lofi_crc, at, bytes, inside(member, at, len),
                                err);
    }
    assert(at + len <= member->payload_size);
    return member->older ? write_sum(member, at, bytes, len, err)
                         : write_payload(member, at, bytes, len, err);
}

static int read_gaps(struct vel_member *member, enum vel_region region, uint8_t *bytes,
                     struct vel_err *err)
{
    struct vel_crcmap *map =
        region == VEL_REGION_LOFI ? &member->lofi_crc : &member->payload_crc;

    vel_crcmap_close(map);
    for (size_t i = 0; i < map->ends.n; i++) {
        uint64_t at, len;

        while (vel_crcmap_gap(map, i, &at, &len)) {
            while (len > 0) {
                size_t n = len < READ_SIZE ? (size_t)len : READ_SIZE;
                int rc = vel_member_read(member, region, at, bytes, n, err);

                if (rc < 0)
                    return rc;
                at += n;
                len -= n;
            }
            vel_crcmap_close(map);
        }
    }
    return 0;
}

int vel_member_sum(struct vel_member *member, size_t i, uint32_t crc,
                   struct vel_err *err)
{
    return vel_crcmap_sum(&member->lofi_crc, i, crc, err);
}

/* Segments of the payload to which nothing was added. */
static int keep_sums(struct vel_member *member, struct vel_err *err)
{
    struct vel_crcmap *map = &member->payload_crc;
    bool *is_kept = calloc(map->ends.n + 1, sizeof *is_kept);
    int rc = is_kept ? 0 : vel_out_of_memory(err, "checking a member");

    vel_crcmap_close(map);
    for (size_t i = 0; rc == 0 && i < map->ends.n; i++)
        is_kept[i] = vel_crcmap_is_untouched(map, i);
    for (size_t i = 0; rc == 0 && i < map->ends.n; i++)
        if (is_kept[i])
            rc = vel_crcmap_sum(map, i, member->older_crc[i], err);
    free(is_kept);
    return rc;
}

int vel_member_read_rest(struct vel_member *member, struct vel_err *err)
{
    uint8_t *bytes = malloc(READ_SIZE);
    int rc;

    if (!bytes)
        return vel_out_of_memory(err, "checking a member");
    rc = member->older ? keep_sums(member, err) : 0;
    if (rc == 0)
        rc = read_gaps(member, VEL_REGION_LOFI, bytes, err);
    if (rc == 0)
        rc = read_gaps(member, VEL_REGION_PAYLOAD, bytes, err);
    free(bytes);
    return rc;
}

void vel_member_store_crcs(struct vel_member *member, struct vel_red_header *header)
{
    vel_crcmap_close(&member->lofi_crc);
    vel_crcmap_close(&member->payload_crc);
    for (size_t i = 0; i < header->list[0].files.n; i++) {
        struct vel_red_file *file = vel_manifest_file(&header->list[0], i);

        if (!file->is_dated)
            vel_crcmap_get(&member->lofi_crc, i, &file->crc);
    }
    for (size_t i = 0; i < header->crcs; i++)
        vel_crcmap_get(&member->payload_crc, i, &header->payload_crc[i]);
}

int vel_member_check_files(struct vel_member *member,
                           const struct vel_red_header *header, struct vel_err *err)
{
    uint32_t crc;

    vel_crcmap_close(&member->lofi_crc);
    for (size_t i = 0; i < header->list[0].files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(&header->list[0], i);

        if (file->is_dated)
            continue;
        if (!vel_crcmap_get(&member->lofi_crc, i, &crc) || crc != file->crc)
            return vel_fail(err, VEL_ECORRUPT,
                            "%s: its bytes have changed (checksum mismatch)",
                            file->name);
    }
    return 0;
}

int vel_member_check_crcs(struct vel_member *member,
                          const struct vel_red_header *header, struct vel_err *err)
{
    uint32_t crc;
    int rc = vel_member_check_files(member, header, err);

    vel_crcmap_close(&member->payload_crc);
    for (size_t i = 0; rc == 0 && i < header->crcs; i++)
        if (!vel_crcmap_get(&member->payload_crc, i, &crc) ||
            crc != header->payload_crc[i])
            rc = vel_fail(err, VEL_ECORRUPT,
                          "%s: block %zu of the redundancy has changed "
                          "(checksum mismatch)",
                          member->payload_path, i);
    return rc;
}
