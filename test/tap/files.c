/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
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

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

size_t tap_decode_hex(unsigned char *bytes, size_t len, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '#') {
            while (i < len && bytes[i] != '\n')
                i++;
        } else if (bytes[i] == '@') {
            size_t to = strtoul((char *)bytes + i + 1, NULL, 10);
            if (to < n || to > room || i + 1 + strcspn((char *)bytes + i, "\n") < len)
                bail_out("@N must end the file, with N up to %zu", room);
            memset(bytes + n, 0, to - n);
            return to;
        } else if (digit((char)bytes[i]) >= 0 && i + 1 < len) {
            bytes[n++] =
                (unsigned char)(digit((char)bytes[i]) << 4 | digit((char)bytes[i + 1]));
            i++;
        }
    }
    return n;
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

int tap_damage(const char *dir, const char *text)
{
    char pattern[700];
    glob_t found;
    int damaged = 0;

    snprintf(pattern, sizeof pattern, "%s/*", dir);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t len;
        char *bytes = tap_get_file(found.gl_pathv[i], &len);

        for (char *at = bytes; at && (at = strstr(at, text)); damaged++)
            *at ^= 1;
        tap_put_bytes(found.gl_pathv[i], bytes, len);
        free(bytes);
    }
    globfree(&found);
    return damaged;
}
