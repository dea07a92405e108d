/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/paths.h"

static char *make(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *make(const char *fmt, ...)
{
    struct vel_buf text;
    va_list ap;

    vel_buf_init(&text);
    va_start(ap, fmt);
    vel_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    return vel_buf_take(&text, NULL);
}

char *vel_veloc_dir(const char *prefix)
{
    return vel_path_join(prefix, ".veloc");
}

char *vel_dataset_dir(const char *dir, int64_t id)
{
    return make("%s/dataset.%" PRId64, dir, id);
}

char *vel_dropped_path(const char *dir, int64_t id)
{
    return make("%s/dropped.%" PRId64, dir, id);
}

char *vel_files_path(const char *dir, int64_t id, int list)
{
    return make("%s/dataset.%" PRId64 "/files.%d", dir, id, list);
}

char *vel_hashes_path(const char *dir, int64_t id, int list)
{
    return make("%s/dataset.%" PRId64 "/hashes.%d", dir, id, list);
}

char *vel_taken_path(const char *dir, int64_t id)
{
    return make("%s/dataset.%" PRId64 "/taken", dir, id);
}

char *vel_left_path(const char *dir, int64_t id)
{
    return make("%s/dataset.%" PRId64 "/left", dir, id);
}

char *vel_container_path(const char *dir, int64_t id, int container)
{
    return make("%s/dataset.%" PRId64 "/container.%d", dir, id, container);
}

char *vel_cache_dataset_dir(const char *level, int64_t id)
{
    return make("%s/dataset.%" PRId64, level, id);
}

char *vel_cache_rank_dir(const char *level, int64_t id, int rank)
{
    return make("%s/dataset.%" PRId64 "/rank.%d", level, id, rank);
}

char *vel_cache_aside_path(const char *level, int64_t id)
{
    return make("%s/dataset.%" PRId64 "/aside", level, id);
}

/* A decimal number as we write it, up to `end` or the end of the text: where it ends,
 * NULL when it is none. */
static const char *scan_number(const char *digits, char end, int64_t *ret_number)
{
    const char *c = digits;
    int64_t n = 0;

    if (*digits == '0' && digits[1] && digits[1] != end)
        return NULL;
    for (; *c && *c != end; c++) {
        if (*c < '0' || *c > '9' || n > (INT64_MAX - 9) / 10)
            return NULL;
        n = 10 * n + (*c - '0');
    }
    if (c == digits)
        return NULL;
    *ret_number = n;
    return c;
}

bool vel_number_behind(const char *name, const char *text, int64_t *ret_number)
{
    size_t len = strlen(text);

    return strncmp(name, text, len) == 0 && scan_number(name + len, '\0', ret_number);
}
