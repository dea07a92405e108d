/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/crc.h"
#include "record/record.h"

enum {
    TYPE_MAX = 32,
    LENGTH_MAX = 1 << 30,
    HEADER_MAX = 128, /* the longest valid first line is 101 bytes */
};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* a fuzzer cannot guess checksums; let it reach what lies behind them */
static const bool crc_is_checked = false;
#else
static const bool crc_is_checked = true;
#endif

static bool is_type(const char *type)
{
    size_t len = strspn(type, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return len > 0 && len <= TYPE_MAX && type[len] == '\0';
}

int vel_record_encode(const char *type, int version, const struct vel_node *body,
                      struct vel_buf *ret, struct vel_err *err)
{
    char head[HEADER_MAX];
    struct vel_buf rest;
    int rc;

    assert(is_type(type) && version >= 1 && version <= VEL_RECORD_VERSION_MAX);
    vel_buf_init(&rest);
    vel_buf_puts(&rest, "\"body\":");
    vel_node_print(body, &rest);
    vel_buf_puts(&rest, "}\n");
    rc = vel_buf_status(&rest, err);
    if (rc < 0)
        goto out;
    if (rest.len > LENGTH_MAX) {
        rc = vel_fail(err, VEL_EINVAL,
                      "%s record: %zu bytes are more than a record may have", type,
                      rest.len);
        goto out;
    }
    int n = snprintf(head, sizeof head,
                     "{\"h5veloc\":\"%s\",\"version\":%d,\"length\":%zu,", type,
                     version, rest.len);
    uint32_t crc = vel_crc32c(vel_crc32c(0, head, (size_t)n), rest.data, rest.len);
    vel_buf_append(ret, head, (size_t)n);
    vel_buf_printf(ret, "\"crc32c\":\"%08" PRIx32 "\",\n", crc);
    vel_buf_append(ret, rest.data, rest.len);
    rc = vel_buf_status(ret, err);
out:
    vel_buf_fini(&rest);
    return rc;
}

struct header {
    char type[TYPE_MAX + 1];
    unsigned version;
    unsigned long length;
    uint32_t crc;
    size_t crc_begin; /* bytes before "crc32c" */
    size_t size;      /* bytes of the whole line */
};

/* Read the first line; the caller prints it again and compares, so that only one form
 * passes. */
static bool scan_header(const char *line, struct header *h)
{
    int crc_begin = 0, end = 0;

    int n = sscanf(line,
                   "{\"h5veloc\":\"%32[a-z0-9-]\",\"version\":%5u,\"length\":%11lu,"
                   "%n\"crc32c\":\"%8" SCNx32 "\",\n%n",
                   h->type, &h->version, &h->length, &crc_begin, &h->crc, &end);
    h->crc_begin = (size_t)crc_begin;
    h->size = (size_t)end;
    return n == 4 && end > 0;
}

static bool parse_header(const char *bytes, size_t len, struct header *h)
{
    char line[HEADER_MAX + 1], again[HEADER_MAX + 1];
    const char *newline = memchr(bytes, '\n', len < HEADER_MAX ? len : HEADER_MAX);

    if (!newline)
        return false;
    size_t size = (size_t)(newline - bytes) + 1;
    memcpy(line, bytes, size);
    line[size] = '\0';
    if (!scan_header(line, h))
        return false;
    snprintf(again, sizeof again,
             "{\"h5veloc\":\"%s\",\"version\":%u,\"length\":%lu,\"crc32c\":\"%08" PRIx32
             "\",\n",
             h->type, h->version, h->length, h->crc);
    return h->size == size && strcmp(line, again) == 0;
}

static int check_rest(const char *bytes, size_t len, const struct header *h,
                      struct vel_err *err)
{
    const char *rest = bytes + h->size;

    if (h->length > LENGTH_MAX || h->length != len - h->size)
        return vel_fail(err, VEL_ECORRUPT, "%zu bytes where %lu were recorded",
                        len - h->size, h->length);
    uint32_t crc = vel_crc32c(vel_crc32c(0, bytes, h->crc_begin), rest, h->length);
    if (crc_is_checked && crc != h->crc)
        return vel_fail(err, VEL_ECORRUPT, "checksum mismatch");
    if (h->length < 10 || memcmp(rest, "\"body\":", 7) != 0 ||
        memcmp(rest + h->length - 2, "}\n", 2) != 0)
        return vel_fail(err, VEL_ECORRUPT, "the body is not where it should be");
    return 0;
}

int vel_record_decode(const void *bytes, size_t len, const char *type, int newest,
                      int *ret_version, struct vel_node **ret_body, struct vel_err *err)
{
    struct header h = {.size = 0};
    int rc;

    if (!parse_header(bytes, len, &h))
        return vel_fail(err, VEL_ECORRUPT, "not an h5veloc record");
    if (strcmp(h.type, type) != 0)
        return vel_fail(err, VEL_ECORRUPT,
                        "a record of type '%s' where '%s' was expected", h.type, type);
    rc = check_rest(bytes, len, &h, err);
    if (rc < 0)
        return rc;
    if (h.version > (unsigned)newest)
        return vel_fail(
            err, VEL_EUNSUP,
            "%s record of version %u, written by a newer h5veloc (this one knows "
            "up to %d)",
            type, h.version, newest);
    if (h.version == 0)
        return vel_fail(err, VEL_ECORRUPT, "%s record of version 0", type);
    rc = vel_node_parse((const char *)bytes + h.size + 7, h.length - 9, ret_body, err);
    if (rc < 0)
        return vel_wrap(err, rc, "body");
    *ret_version = (int)h.version;
    return 0;
}

typedef int replace_f(struct vel_fs *fs, const char *path, int64_t writer,
                      const void *bytes, size_t len, mode_t mode, struct vel_err *err);

static int save(struct vel_fs *fs, const char *path, int64_t writer, replace_f *replace,
                const char *type, int version, const struct vel_node *body,
                struct vel_err *err)
{
    struct vel_buf buf;
    int rc;

    vel_buf_init(&buf);
    rc = vel_record_encode(type, version, body, &buf, err);
    if (rc == 0)
        rc = replace(fs, path, writer, buf.data, buf.len, 0600, err);
    vel_buf_fini(&buf);
    return rc < 0 ? vel_wrap(err, rc, "saving %s record", type) : 0;
}

int vel_record_save(struct vel_fs *fs, const char *path, const char *type, int version,
                    const struct vel_node *body, struct vel_err *err)
{
    return save(fs, path, 0, vel_fs_replace_by, type, version, body, err);
}

int vel_record_save_unsynced(struct vel_fs *fs, const char *path, int64_t writer,
                             const char *type, int version, const struct vel_node *body,
                             struct vel_err *err)
{
    return save(fs, path, writer, vel_fs_replace_unsynced, type, version, body, err);
}

int vel_record_load(struct vel_fs *fs, const char *path, const char *type, int newest,
                    int *ret_version, struct vel_node **ret_body, struct vel_err *err)
{
    struct vel_buf buf;
    int rc;

    vel_buf_init(&buf);
    rc = vel_fs_read_file(fs, path, (size_t)LENGTH_MAX + HEADER_MAX, &buf, err);
    if (rc < 0)
        goto out;
    rc = vel_record_decode(vel_buf_text(&buf), buf.len, type, newest, ret_version,
                           ret_body, err);
    if (rc < 0)
        rc = vel_wrap(err, rc, "%s", path);
out:
    vel_buf_fini(&buf);
    return rc < 0 ? vel_wrap(err, rc, "loading %s record", type) : 0;
}
