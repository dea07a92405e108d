/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "base/path.h"
#include "red/header.h"

enum {
    FORMAT_VERSION = 1,
    FIXED = 96, /* bytes before the sizes of the members */
    CRC_AT = 12,
    ROUND = 4096,
    SHIFT_LEAST = 20,
    CRCS_MOST = 4096,
    LABEL_MOST = 128,
};

static const char magic[8] = {'H', '5', 'V', 'R', 'E', 'D', 'U', 'N'};
static const char suffix[] = VEL_RED_SUFFIX;

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

size_t vel_red_lists(const struct vel_layout *layout)
{
    return (layout->m < layout->n - 1 ? layout->m : layout->n - 1) + 1;
}

static uint64_t checksums_of(uint64_t payload, unsigned shift)
{
    return (payload >> shift) + ((payload & (((uint64_t)1 << shift) - 1)) != 0);
}

static unsigned shift_of(uint64_t payload)
{
    unsigned shift = SHIFT_LEAST;

    while (checksums_of(payload, shift) > CRCS_MOST)
        shift++;
    return shift;
}

int vel_red_header_init(struct vel_red_header *header, struct vel_layout *layout,
                        uint32_t member, struct vel_err *err)
{
    struct vel_red_header h = {.layout = *layout, .member = member};
    uint64_t payload = vel_layout_payload(layout, member);

    *layout = (struct vel_layout){.scheme = layout->scheme};
    h.crc_shift = shift_of(payload);
    h.crcs = checksums_of(payload, h.crc_shift);
    h.lists = vel_red_lists(&h.layout);
    h.payload_crc = calloc(h.crcs + 1, sizeof *h.payload_crc);
    h.list = calloc(h.lists, sizeof *h.list);
    if (!h.payload_crc || !h.list) {
        h.lists = h.list ? h.lists : 0;
        vel_red_header_fini(&h);
        return vel_out_of_memory(err, "preparing a redundancy file");
    }
    for (size_t i = 0; i < h.lists; i++)
        vel_manifest_init(&h.list[i], 0);
    *header = h;
    return 0;
}

void vel_red_header_fini(struct vel_red_header *header)
{
    for (size_t i = 0; i < header->lists; i++)
        vel_manifest_fini(&header->list[i]);
    free(header->list);
    free(header->payload_crc);
    vel_layout_fini(&header->layout);
    header->lists = 0;
    header->list = NULL;
    header->payload_crc = NULL;
}

size_t vel_red_header_size_of(const struct vel_layout *layout, uint32_t member,
                              const size_t *list_sizes)
{
    uint64_t payload = vel_layout_payload(layout, member);
    size_t size = FIXED + layout->n * 8 + checksums_of(payload, shift_of(payload)) * 4;

    for (size_t i = 0; i < vel_red_lists(layout); i++)
        size += list_sizes[i];
    return (size + ROUND - 1) / ROUND * ROUND;
}

size_t vel_red_header_size(const struct vel_red_header *header)
{
    size_t sizes[VEL_SET_MAX];

    for (size_t i = 0; i < header->lists; i++)
        sizes[i] = vel_manifest_encoded_size(&header->list[i]);
    return vel_red_header_size_of(&header->layout, header->member, sizes);
}

static void put_fixed(const struct vel_red_header *h, uint64_t size,
                      struct vel_le_writer *w)
{
    vel_le_put_bytes(w, magic, sizeof magic);
    vel_le_put32(w, FORMAT_VERSION);
    vel_le_put32(w, 0); /* the CRC, once all else is there */
    vel_le_put64(w, size);
    vel_le_put64(w, vel_layout_payload(&h->layout, h->member));
    vel_le_put_bytes(w, h->id, sizeof h->id);
    vel_le_put32(w, h->layout.scheme);
    vel_le_put32(w, (uint32_t)h->layout.n);
    vel_le_put32(w, (uint32_t)h->layout.m);
    vel_le_put32(w, h->member);
    vel_le_put32(w, h->set);
    vel_le_put32(w, h->sets);
    vel_le_put32(w, (uint32_t)h->lists);
    vel_le_put32(w, h->crc_shift);
    vel_le_put64(w, h->layout.scheme == VEL_SINGLE ? h->boot : h->layout.block);
    vel_le_put64(w, h->sequence);
}

int vel_red_header_encode(const struct vel_red_header *header, struct vel_buf *ret,
                          struct vel_err *err)
{
    size_t size = vel_red_header_size(header);
    size_t n = header->layout.n;
    struct vel_le_writer w;

    if (size > VEL_RED_HEADER_MAX)
        return vel_fail(err, VEL_EINVAL,
                        "the names of the files need %zu bytes, more than a "
                        "redundancy file may use for them",
                        size);
    if (vel_buf_reserve(ret, size) < 0)
        return vel_out_of_memory(err, "writing a redundancy file");
    uint8_t *at = (uint8_t *)ret->data + ret->len;
    memset(at, 0, size);
    vel_le_write_init(&w, at, size);
    put_fixed(header, size, &w);
    for (size_t i = 0; i < n; i++)
        vel_le_put64(&w, header->layout.lofi_size[(header->member + i) % n]);
    for (size_t i = 0; i < header->lists; i++)
        vel_manifest_encode(&header->list[i], &w);
    for (size_t i = 0; i < header->crcs; i++)
        vel_le_put32(&w, header->payload_crc[i]);
    assert(!w.is_short);
    vel_le_write_init(&w, at + CRC_AT, 4);
    vel_le_put32(&w, vel_crc32c(0, at, size));
    ret->len += size;
    ret->data[ret->len] = '\0';
    return 0;
}

int vel_red_header_peek(const void *bytes, size_t len, uint64_t *ret_header,
                        uint64_t *ret_payload, struct vel_err *err)
{
    struct vel_le_reader r;

    if (len < VEL_RED_PREFIX || memcmp(bytes, magic, sizeof magic) != 0)
        return vel_fail(err, VEL_ECORRUPT, "not a redundancy file of h5veloc");
    vel_le_read_init(&r, bytes, len);
    vel_le_get_bytes(&r, sizeof magic);
    uint32_t version = vel_le_get32(&r);
    if (version != FORMAT_VERSION)
        return vel_fail(err, VEL_EUNSUP,
                        "a redundancy file of version %" PRIu32
                        ", and this h5veloc knows version %d",
                        version, FORMAT_VERSION);
    vel_le_get32(&r);
    *ret_header = vel_le_get64(&r);
    *ret_payload = vel_le_get64(&r);
    if (*ret_header < VEL_RED_PREFIX || *ret_header > VEL_RED_HEADER_MAX ||
        *ret_header % ROUND != 0 || *ret_payload > INT64_MAX - *ret_header)
        return vel_fail(err, VEL_ECORRUPT, "impossible sizes in the header");
    return 0;
}

static int check_crc(const uint8_t *bytes, size_t len, struct vel_err *err)
{
    static const uint8_t zero[4];
    struct vel_le_reader r;
    uint32_t crc = vel_crc32c(0, bytes, CRC_AT);

    crc = vel_crc32c(crc, zero, sizeof zero);
    crc = vel_crc32c(crc, bytes + CRC_AT + 4, len - CRC_AT - 4);
    vel_le_read_init(&r, bytes + CRC_AT, 4);
    if (crc_is_checked && crc != vel_le_get32(&r))
        return vel_fail(err, VEL_ECORRUPT, "checksum mismatch in the header");
    return 0;
}

/* sizes in the order of this member, then of the others: into the order of members */
static int get_layout(struct vel_le_reader *r, uint32_t scheme, size_t n, size_t m,
                      size_t member, struct vel_layout *ret, struct vel_err *err)
{
    uint64_t sizes[VEL_SET_MAX];

    if (n < 1 || n > VEL_SET_MAX || member >= n)
        return vel_fail(err, VEL_ECORRUPT, "member %zu of %zu", member, n);
    for (size_t i = 0; i < n; i++)
        sizes[(member + i) % n] = vel_le_get64(r);
    if (r->is_short)
        return vel_fail(err, VEL_ECORRUPT, "the header is cut short");
    int rc = vel_layout_init(ret, (enum vel_scheme)scheme, n, m, sizes, err);
    return rc == VEL_EINVAL ? vel_wrap(err, VEL_ECORRUPT, "impossible header") : rc;
}

/* lists, checksums and the rule that every number must follow from the others */
static int get_rest(struct vel_le_reader *r, struct vel_red_header *h, size_t lists,
                    unsigned shift, struct vel_err *err)
{
    if (lists != h->lists || shift != h->crc_shift)
        return vel_fail(err, VEL_ECORRUPT, "lists or checksums do not fit the set");
    for (size_t i = 0; i < h->lists; i++) {
        size_t of = (h->member + h->layout.n - i) % h->layout.n;
        struct vel_manifest manifest;
        int rc = vel_manifest_decode(r, &manifest, err);

        if (rc < 0)
            return rc;
        vel_manifest_fini(&h->list[i]);
        h->list[i] = manifest;
        if (manifest.total != h->layout.lofi_size[of])
            return vel_fail(err, VEL_ECORRUPT, "the files of member %zu do not add up",
                            of);
    }
    for (size_t i = 0; i < h->crcs; i++)
        h->payload_crc[i] = vel_le_get32(r);
    return r->is_short ? vel_fail(err, VEL_ECORRUPT, "the header is cut short") : 0;
}

int vel_red_header_decode(const void *bytes, size_t len, uint64_t file_size,
                          struct vel_red_header *ret, struct vel_err *err)
{
    struct vel_red_header h = {.lists = 0};
    struct vel_layout layout = {.n = 0};
    uint64_t size, payload;
    struct vel_le_reader r;
    int rc = vel_red_header_peek(bytes, len, &size, &payload, err);

    if (rc < 0)
        return rc;
    if (size != len || payload != file_size - len)
        return vel_fail(err, VEL_ECORRUPT,
                        "%" PRIu64 " bytes where %" PRIu64 " were recorded", file_size,
                        size + payload);
    rc = check_crc(bytes, len, err);
    if (rc < 0)
        return rc;
    vel_le_read_init(&r, (const uint8_t *)bytes + 32, len - 32);
    const void *id = vel_le_get_bytes(&r, VEL_ENCODING_ID);
    uint32_t scheme = vel_le_get32(&r), n = vel_le_get32(&r), m = vel_le_get32(&r);
    uint32_t member = vel_le_get32(&r), set = vel_le_get32(&r), sets = vel_le_get32(&r);
    uint32_t lists = vel_le_get32(&r), shift = vel_le_get32(&r);
    uint64_t block = vel_le_get64(&r), sequence = vel_le_get64(&r);
    rc = get_layout(&r, scheme, n, m, member, &layout, err);
    if (rc < 0)
        return rc;
    bool is_single = layout.scheme == VEL_SINGLE;
    if ((!is_single && block != layout.block) ||
        payload != vel_layout_payload(&layout, member) || set >= sets ||
        sequence >= INT64_MAX) {
        vel_layout_fini(&layout);
        return vel_fail(err, VEL_ECORRUPT, "numbers in the header do not fit the set");
    }
    rc = vel_red_header_init(&h, &layout, member, err);
    if (rc < 0)
        return rc;
    h.set = set;
    h.sets = sets;
    h.sequence = sequence;
    h.boot = is_single ? block : 0;
    memcpy(h.id, id, sizeof h.id);
    rc = get_rest(&r, &h, lists, shift, err);
    if (rc < 0)
        vel_red_header_fini(&h);
    else
        *ret = h;
    return rc;
}

char *vel_red_file_name(const struct vel_red_header *header, const char *label)
{
    struct vel_buf buf;
    size_t len;

    vel_buf_init(&buf);
    vel_buf_printf(&buf,
                   "%s.%" PRIu32 ".%s.grp_%" PRIu32 "_of_%" PRIu32 ".mem_%" PRIu32
                   "_of_%zu.",
                   label, header->list[0].rank, vel_scheme_name(header->layout.scheme),
                   header->set, header->sets, header->member, header->layout.n);
    for (size_t i = 0; i < 4; i++)
        vel_buf_printf(&buf, "%02x", header->id[i]);
    vel_buf_puts(&buf, suffix);
    return vel_buf_take(&buf, &len);
}

int vel_red_check_label(const char *label, struct vel_err *err)
{
    if (!vel_path_is_inner(label) || strchr(label, '/') || strlen(label) > LABEL_MOST)
        return vel_fail(
            err, VEL_EINVAL,
            "'%s' cannot label redundancy files: it must be the beginning of a file's "
            "name, of %d bytes at most",
            label, LABEL_MOST);
    return 0;
}

bool vel_red_is_file_name(const char *name)
{
    size_t len = strlen(name), end = sizeof suffix - 1;

    return len > end && strcmp(name + len - end, suffix) == 0;
}
