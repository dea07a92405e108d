/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/image_format.h"
#include "base/crc.h"
#include "base/le.h"

enum {
    FORMAT_VERSION = 1,
    CRC_AT = 12,
    USED = 44, /* bytes of the header that mean something */
    FLAG_CRC = 1,
};

static const char magic[8] = {'H', '5', 'V', 'I', 'M', 'A', 'G', 'E'};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

void vel_image_table_init(struct vel_image_table *table, bool has_crc)
{
    *table = (struct vel_image_table){.has_crc = has_crc};
    vel_vec_init(&table->lines, sizeof(struct vel_image_line));
}

void vel_image_table_fini(struct vel_image_table *table)
{
    vel_vec_fini(&table->lines);
}

uint64_t vel_image_line_bytes(const struct vel_image_line *line)
{
    return line->size * line->count;
}

static int compare_lines(const void *a, const void *b)
{
    const struct vel_image_line *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

size_t vel_image_table_find(const struct vel_image_table *table, int id,
                            bool *ret_is_there)
{
    const struct vel_image_line key = {.id = id};

    return vel_vec_place(&table->lines, &key, compare_lines, ret_is_there);
}

/* of the header with its own field 0, followed by the table */
static uint32_t crc_of(const uint8_t header[VEL_IMAGE_HEADER], const void *table,
                       size_t len)
{
    static const uint8_t zero[4];
    uint32_t crc = vel_crc32c(0, header, CRC_AT);

    crc = vel_crc32c(crc, zero, sizeof zero);
    crc = vel_crc32c(crc, header + CRC_AT + 4, VEL_IMAGE_HEADER - CRC_AT - 4);
    return vel_crc32c(crc, table, len);
}

static void put_header(const struct vel_image_table *table, const void *bytes,
                       size_t len, uint8_t header[VEL_IMAGE_HEADER])
{
    struct vel_le_writer w;

    memset(header, 0, VEL_IMAGE_HEADER);
    vel_le_write_init(&w, header, VEL_IMAGE_HEADER);
    vel_le_put_bytes(&w, magic, sizeof magic);
    vel_le_put32(&w, FORMAT_VERSION);
    vel_le_put32(&w, 0); /* the CRC, once all else is there */
    vel_le_put32(&w, VEL_IMAGE_HEADER);
    vel_le_put32(&w, table->has_crc ? FLAG_CRC : 0);
    vel_le_put64(&w, table->at);
    vel_le_put64(&w, table->at + len);
    vel_le_put32(&w, (uint32_t)table->lines.n);
    vel_le_write_init(&w, header + CRC_AT, 4);
    vel_le_put32(&w, crc_of(header, bytes, len));
}

int vel_image_encode(const struct vel_image_table *table, struct vel_buf *ret,
                     uint8_t ret_header[VEL_IMAGE_HEADER], struct vel_err *err)
{
    size_t len = table->lines.n * VEL_IMAGE_LINE;
    struct vel_le_writer w;

    if (vel_buf_reserve(ret, len) < 0)
        return vel_out_of_memory(err, "the table of a checkpoint image");
    vel_le_write_init(&w, ret->data + ret->len, len);
    for (size_t i = 0; i < table->lines.n; i++) {
        const struct vel_image_line *line = vel_image_line_at(&table->lines, i);

        vel_le_put32(&w, (uint32_t)line->id);
        vel_le_put32(&w, line->crc);
        vel_le_put64(&w, line->size);
        vel_le_put64(&w, line->count);
        vel_le_put64(&w, line->at);
    }
    assert(!w.is_short);
    put_header(table, ret->data + ret->len, len, ret_header);
    ret->len += len;
    ret->data[ret->len] = '\0';
    return 0;
}

/* A file whose writer never came to its header has zeros there. */
static int check_magic(const uint8_t *header, struct vel_err *err)
{
    static const uint8_t zero[VEL_IMAGE_HEADER];

    if (memcmp(header, magic, sizeof magic) == 0)
        return 0;
    if (memcmp(header, zero, sizeof zero) == 0)
        return vel_fail(err, VEL_ECORRUPT,
                        "a checkpoint image that was never finished");
    return vel_fail(err, VEL_ECORRUPT, "no checkpoint image of h5veloc");
}

/* what a newer h5veloc may have put where this one knows nothing */
static int check_known(uint32_t version, uint32_t flags, const uint8_t *rest,
                       struct vel_err *err)
{
    static const uint8_t zero[VEL_IMAGE_HEADER - USED];

    if (version != FORMAT_VERSION)
        return vel_fail(err, VEL_EUNSUP,
                        "a checkpoint image of version %" PRIu32
                        ", and this h5veloc knows version %d",
                        version, FORMAT_VERSION);
    if ((flags & ~(uint32_t)FLAG_CRC) != 0 || memcmp(rest, zero, sizeof zero) != 0)
        return vel_fail(err, VEL_EUNSUP,
                        "a checkpoint image with something that this h5veloc does not "
                        "know");
    return 0;
}

int vel_image_peek(const uint8_t header[VEL_IMAGE_HEADER], uint64_t file_size,
                   uint64_t *ret_at, size_t *ret_bytes, struct vel_err *err)
{
    struct vel_le_reader r;
    int rc = check_magic(header, err);

    if (rc < 0)
        return rc;
    vel_le_read_init(&r, header + sizeof magic, VEL_IMAGE_HEADER - sizeof magic);
    uint32_t version = vel_le_get32(&r);
    vel_le_get32(&r); /* the CRC waits for the table */
    uint32_t length = vel_le_get32(&r), flags = vel_le_get32(&r);
    uint64_t at = vel_le_get64(&r), size = vel_le_get64(&r);
    uint32_t n = vel_le_get32(&r);
    rc = check_known(version, flags, header + USED, err);
    if (rc < 0)
        return rc;
    if (length != VEL_IMAGE_HEADER || at < VEL_IMAGE_HEADER ||
        at % VEL_IMAGE_ALIGN != 0 || at >> VEL_IMAGE_SHIFT_MOST != 0 ||
        n > VEL_IMAGE_MOST || size != at + (uint64_t)n * VEL_IMAGE_LINE)
        return vel_fail(err, VEL_ECORRUPT, "impossible sizes in the header");
    if (size != file_size)
        return vel_fail(err, VEL_ECORRUPT,
                        "%" PRIu64 " bytes where %" PRIu64 " were written", file_size,
                        size);
    *ret_at = at;
    *ret_bytes = (size_t)n * VEL_IMAGE_LINE;
    return 0;
}

/* one line; `last` is the one before, or NULL */
static int check_line(const struct vel_image_line *line,
                      const struct vel_image_line *last,
                      const struct vel_image_table *table, struct vel_err *err)
{
    uint64_t bytes;

    if (last && line->id <= last->id)
        return vel_fail(err, VEL_ECORRUPT, "region %d comes behind region %d", line->id,
                        last->id);
    if (__builtin_mul_overflow(line->size, line->count, &bytes) || bytes == 0 ||
        bytes > table->at || line->at < VEL_IMAGE_HEADER ||
        line->at > table->at - bytes)
        return vel_fail(err, VEL_ECORRUPT, "region %d does not fit into the file",
                        line->id);
    if (!table->has_crc && line->crc != 0)
        return vel_fail(err, VEL_ECORRUPT,
                        "region %d has a checksum where none have one", line->id);
    return 0;
}

static int get_lines(struct vel_le_reader *r, struct vel_image_table *table,
                     struct vel_err *err)
{
    int rc = 0;

    while (rc == 0 && r->left > 0) {
        struct vel_image_line line = {.id = (int32_t)vel_le_get32(r)};

        line.crc = vel_le_get32(r);
        line.size = vel_le_get64(r);
        line.count = vel_le_get64(r);
        line.at = vel_le_get64(r);
        rc = check_line(&line,
                        table->lines.n
                            ? vel_image_line_at(&table->lines, table->lines.n - 1)
                            : NULL,
                        table, err);
        if (rc == 0 && !vel_vec_push(&table->lines, &line))
            rc = vel_out_of_memory(err, "the table of a checkpoint image");
    }
    return rc;
}

int vel_image_decode(const uint8_t header[VEL_IMAGE_HEADER], const void *bytes,
                     size_t len, uint64_t file_size, struct vel_image_table *ret,
                     struct vel_err *err)
{
    struct vel_image_table table;
    struct vel_le_reader r;
    size_t wanted;
    uint64_t at;
    int rc = vel_image_peek(header, file_size, &at, &wanted, err);

    if (rc < 0)
        return rc;
    if (len != wanted)
        return vel_fail(err, VEL_ECORRUPT,
                        "a table of %zu bytes where %zu were written", len, wanted);
    vel_le_read_init(&r, header + CRC_AT, 4);
    if (crc_is_checked && crc_of(header, bytes, len) != vel_le_get32(&r))
        return vel_fail(err, VEL_ECORRUPT, "checksum mismatch in header or table");
    vel_le_read_init(&r, header + CRC_AT + 8, 4);
    vel_image_table_init(&table, (vel_le_get32(&r) & FLAG_CRC) != 0);
    table.at = at;
    vel_le_read_init(&r, bytes, len);
    rc = get_lines(&r, &table, err);
    if (rc < 0)
        vel_image_table_fini(&table);
    else
        *ret = table;
    return rc;
}
