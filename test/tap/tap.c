/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tap/tap.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int checks, failures;
static char dir[512];

static void print_line(bool pass, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void print_line(bool pass, const char *fmt, va_list ap)
{
    checks++;
    failures += !pass;
    printf("%sok %d - ", pass ? "" : "not ", checks);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
}

void tap_line(bool pass, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_line(pass, fmt, ap);
    va_end(ap);
}

static bool verdict(bool pass, const char *file, int line, const char *code,
                    const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

static bool verdict(bool pass, const char *file, int line, const char *code,
                    const char *fmt, va_list ap)
{
    print_line(pass, fmt, ap);
    if (!pass)
        printf("# %s:%d: %s\n", file, line, code);
    fflush(stdout);
    return pass;
}

bool tap_ok(bool cond, const char *file, int line, const char *code, const char *fmt,
            ...)
{
    va_list ap;

    va_start(ap, fmt);
    verdict(cond, file, line, code, fmt, ap);
    va_end(ap);
    return cond;
}

bool tap_is_int(long long got, long long want, const char *file, int line,
                const char *fmt, ...)
{
    char code[96];
    va_list ap;

    snprintf(code, sizeof code, "got %lld, want %lld", got, want);
    va_start(ap, fmt);
    verdict(got == want, file, line, code, fmt, ap);
    va_end(ap);
    return got == want;
}

bool tap_is_str(const char *got, const char *want, const char *file, int line,
                const char *fmt, ...)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    va_list ap;

    va_start(ap, fmt);
    verdict(same, file, line, "texts differ", fmt, ap);
    va_end(ap);
    if (!same)
        note("got  '%s'\nwant '%s'", got ? got : "(null)", want ? want : "(null)");
    return same;
}

void note(const char *fmt, ...)
{
    char text[8192];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        printf("# %s\n", line);
    }
    fflush(stdout);
}

void skip(int count, const char *fmt, ...)
{
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    while (count-- > 0)
        printf("ok %d # SKIP %s\n", ++checks, why);
}

void skip_all(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("1..0 # SKIP ");
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    exit(0);
}

void bail_out(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("Bail out! ");
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    exit(99);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int done_testing(void)
{
    printf("1..%d\n", checks);
    if (dir[0] && failures)
        note("files are kept in %s", dir);
    else if (dir[0])
        nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failures != 0;
}

const char *tap_dir(void)
{
    if (!dir[0]) {
        const char *tmp = getenv("TMPDIR");

        snprintf(dir, sizeof dir, "%s/h5veloc-test.XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(dir))
            bail_out("cannot make %s", dir);
    }
    return dir;
}

const char *tap_path(const char *name)
{
    static char paths[8][1024];
    static unsigned turn;
    char *path = paths[turn++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", tap_dir(), name);
    return path;
}

int tap_open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -1; /* the directory's own descriptor */

    if (!d)
        bail_out("cannot read /proc/self/fd");
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}
