/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "sys/fs.h"
#include "tap/bundle.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { LINE = 96, PATH = 2048, ZEROS = 8 };

/* --- to a text --- */

static bool is_plain(unsigned char c, bool is_path)
{
    return c > 0x20 - !is_path && c < 0x7f && c != '%';
}

/* A record ends its lines with a newline, so that an end of line behind each of them
 * keeps it readable; a blank there would be lost on the way to a mail. */
static void put(struct vel_buf *text, const char *bytes, size_t len, bool is_path)
{
    size_t column = 0, zeros;

    for (size_t i = 0; i < len; i++) {
        for (zeros = 0; i + zeros < len && !bytes[i + zeros]; zeros++)
            ;
        if (zeros >= ZEROS) {
            vel_buf_printf(text, "%%{%zu}\n", zeros);
            i += zeros - 1;
            column = 0;
            continue;
        }
        unsigned char c = (unsigned char)bytes[i];
        bool is_last = !is_path && (column >= LINE || c == '\n' || i + 1 == len);

        if (is_plain(c, is_path) && !(c == ' ' && is_last))
            vel_buf_putc(text, (char)c);
        else
            vel_buf_printf(text, "%%%02X", c);
        column = is_last ? 0 : column + 1;
        if (is_last)
            vel_buf_putc(text, '\n');
    }
}

struct packing {
    const char *dir;
    struct vel_buf *text;
};

static int pack_one(void *arg, enum vel_fs_visit what, const char *below,
                    const struct stat *st, struct vel_err *err)
{
    const struct packing *p = arg;
    char path[PATH], *bytes;
    size_t len;

    (void)err;
    if (what == VEL_FS_LEAVE || !*below)
        return 0;
    vel_buf_puts(p->text, what == VEL_FS_ENTER ? "== d " : "== f ");
    put(p->text, below, strlen(below), true);
    vel_buf_printf(p->text, " %o", (unsigned)st->st_mode & 07777);
    if (what == VEL_FS_ENTER) {
        vel_buf_putc(p->text, '\n');
        return 0;
    }
    vel_buf_printf(p->text, " %lld %ld\n", (long long)st->st_mtim.tv_sec,
                   st->st_mtim.tv_nsec);
    snprintf(path, sizeof path, "%s/%s", p->dir, below);
    bytes = tap_get_file(path, &len);
    if (!bytes)
        bail_out("%s cannot be read", path);
    put(p->text, bytes, len, false);
    free(bytes);
    return 0;
}

void bundle_pack(const char *dir, struct vel_buf *text)
{
    struct packing packing = {dir, text};
    struct vel_err err = {0};

    if (vel_fs_walk(vel_fs_posix(), dir, pack_one, &packing, &err) < 0 ||
        vel_buf_status(text, &err) < 0)
        bail_out("%s: %s", dir, err.text);
}

/* --- and back --- */

static void decode(const char *text, size_t len, struct vel_buf *ret)
{
    for (size_t i = 0; i < len; i++) {
        unsigned byte = (unsigned char)text[i];
        size_t zeros;

        if (byte == '\n')
            continue;
        if (sscanf(text + i, "%%{%5zu}", &zeros) == 1) {
            while (zeros--)
                vel_buf_putc(ret, '\0');
            i += strcspn(text + i, "}");
            continue;
        }
        if (byte == '%' && (len - i < 3 || sscanf(text + i + 1, "%2x", &byte) != 1))
            bail_out("a bundle has no two digits behind %%");
        i += text[i] == '%' ? 2 : 0;
        vel_buf_putc(ret, (char)byte);
    }
}

/* The path of an entry, with its replacement. */
static void place(const char *encoded, const char *dir, const char *from,
                  const char *to, char path[PATH])
{
    struct vel_buf name;
    const char *at;

    vel_buf_init(&name);
    decode(encoded, strlen(encoded), &name);
    if (!vel_path_is_inner(vel_buf_text(&name)))
        bail_out("a bundle has the path %s", encoded);
    at = from ? strstr(vel_buf_text(&name), from) : NULL;
    if (at)
        snprintf(path, PATH, "%s/%.*s%s%s", dir, (int)(at - vel_buf_text(&name)),
                 vel_buf_text(&name), to, at + strlen(from));
    else
        snprintf(path, PATH, "%s/%s", dir, vel_buf_text(&name));
    vel_buf_fini(&name);
}

static void make_file(const char *path, const char *text, size_t len, unsigned mode,
                      struct timespec time)
{
    const struct timespec times[2] = {time, time};
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    decode(text, len, &bytes);
    tap_put_bytes(path, vel_buf_text(&bytes), bytes.len);
    if (chmod(path, (mode_t)mode) < 0 || utimensat(AT_FDCWD, path, times, 0) < 0)
        bail_out("%s: mode and time cannot be set", path);
    vel_buf_fini(&bytes);
}

void bundle_unpack(const char *text, const char *dir, const char *from, const char *to)
{
    const char *entry = strncmp(text, "== ", 3) == 0 ? text : strstr(text, "\n== ");

    while (entry) {
        char kind, encoded[PATH], path[PATH];
        unsigned mode;
        long long seconds = 0;
        long nano = 0;

        entry += *entry == '\n';
        const char *body = strchr(entry, '\n'), *next = strstr(entry, "\n== ");
        int n = sscanf(entry, "== %c %2047s %o %lld %ld", &kind, encoded, &mode,
                       &seconds, &nano);
        if (!body || n != (n > 0 && kind == 'd' ? 3 : 5))
            bail_out("a bundle has the line %.80s", entry);
        place(encoded, dir, from, to, path);
        if (kind == 'f')
            make_file(path, body + 1,
                      next ? (size_t)(next > body ? next - body : 0) : strlen(body + 1),
                      mode,
                      (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = nano});
        else if ((mkdir(path, 0700) < 0 && errno != EEXIST) ||
                 chmod(path, (mode_t)mode) < 0)
            bail_out("%s cannot be made", path);
        entry = next;
    }
}
