/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tap/files.h"
#include "tap/tap.h"

void tap_put_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "we");

    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        bail_out("cannot write %s: %s", path, strerror(errno));
}

void tap_put_file(const char *path, const char *text)
{
    tap_put_bytes(path, text, strlen(text));
}

char *tap_get_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t len = 0, n;

    if (!file)
        return NULL;
    do {
        text = realloc(text, len + 4096 + 1);
        if (!text)
            bail_out("no memory to read %s", path);
        n = fread(text + len, 1, 4096, file);
        len += n;
    } while (n > 0);
    fclose(file);
    text[len] = '\0';
    if (ret_len)
        *ret_len = len;
    return text;
}

bool tap_file_is(const char *path, const char *text)
{
    size_t len = 0;
    char *got = tap_get_file(path, &len);
    bool is_same = got && len == strlen(text) && memcmp(got, text, len) == 0;

    free(got);
    return is_same;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void tap_fresh_dir(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(path, 0700) < 0)
        bail_out("cannot make %s: %s", path, strerror(errno));
}
