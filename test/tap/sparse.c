/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/redlab.h"
#include "tap/sparse.h"

enum { SPOT = 100, CHUNK = 1 << 20 };

static ssize_t write_or_skip(struct vel_fs *fs, int fd, const void *buf, size_t len,
                             off_t at)
{
    const uint8_t *bytes = buf;

    if (len > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0)
        return (ssize_t)len;
    return vel_fs_posix()->ops->pwrite(fs, fd, buf, len, at);
}

struct vel_fs *sparse_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs;

    if (!fs.ops) {
        ops = *redlab_fs()->ops;
        ops.pwrite = write_or_skip;
        fs.ops = &ops;
    }
    return &fs;
}

bool sparse_make(const char *path, uint64_t size, uint64_t seed)
{
    uint8_t bytes[SPOT];
    struct vel_rng rng;
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

    if (fd < 0)
        return false;
    vel_rng_init(&rng, seed);
    bool is_made = ftruncate(fd, (off_t)size) == 0;
    for (uint64_t at = 0; is_made && at < size + SPOT / 2; at += (uint64_t)1 << 30) {
        uint64_t begin = at < SPOT / 2 ? 0 : at - SPOT / 2;
        size_t len = size - begin < SPOT ? (size_t)(size - begin) : SPOT;

        vel_rng_fill(&rng, bytes, len);
        is_made = pwrite(fd, bytes, len, (off_t)begin) == (ssize_t)len;
    }
    if (is_made && size >= SPOT)
        is_made = pwrite(fd, "the end", 7, (off_t)size - 7) == 7;
    is_made = is_made && fstat(fd, &st) == 0 && (uint64_t)st.st_size == size &&
              (uint64_t)st.st_blocks * 512 <= size / 16 + CHUNK;
    return close(fd) == 0 && is_made;
}

static bool same_bytes(int a, int b, uint8_t *x, uint8_t *y)
{
    for (;;) {
        ssize_t n = read(a, x, CHUNK), m = read(b, y, CHUNK);

        if (n != m || n < 0 || memcmp(x, y, (size_t)n) != 0)
            return false;
        if (n == 0)
            return true;
    }
}

bool sparse_same(const char *a, const char *b)
{
    uint8_t *bytes = malloc(2 * CHUNK);
    int x = open(a, O_RDONLY), y = open(b, O_RDONLY);
    bool is_same = bytes && x >= 0 && y >= 0 && same_bytes(x, y, bytes, bytes + CHUNK);

    if (x >= 0)
        close(x);
    if (y >= 0)
        close(y);
    free(bytes);
    return is_same;
}
