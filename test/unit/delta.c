/* SPDX-License-Identifier: BSD-3-Clause */
/* A delta flush: the same bytes as a whole one whatever has changed, and a whole one
 * whenever anything is in doubt. Crashes are in deltakill.c. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tap/deltalab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { BLOCK = 65536, SIZE = 20 * BLOCK + 1234, VERSIONS = 9 };

/* Flush it, and say what did not work. */
static struct vel_delta_counts flushed(const struct deltalab *d, int64_t id)
{
    struct vel_flush_copied copied = {0};
    struct vel_err err = {0};

    deltalab_part(d, id);
    if (deltalab_flush(d, deltalab_fs(d), id, 1, &copied, &err) < 0)
        note("version %" PRId64 ": %s", id, err.text);
    return copied.delta;
}

/* --- the same bytes --- */

static void random_edits(bool can_clone, bool may_patch, const char *how)
{
    static const uint64_t seeds[] = {1, 2, 3, 4, 5, 6};
    uint64_t cloned = 0, written = 0, compared = 0;
    int wrong = 0;

    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
        struct deltalab d;
        char name[32];

        snprintf(name, sizeof name, "edit%d%d.%zu", can_clone, may_patch, s);
        deltalab_init(&d, name, seeds[s], SIZE);
        d.can_clone = can_clone;
        d.may_patch = may_patch;
        for (int64_t id = 1; id <= VERSIONS; id++) {
            struct vel_delta_counts c = flushed(&d, id);
            struct stat st;

            cloned += c.cloned;
            written += c.written;
            compared += c.compared;
            if (!deltalab_is(&d, id) && ++wrong == 1)
                note("seed %d: version %" PRId64 " is not there", (int)seeds[s], id);
            if (stat(deltalab_path(&d), &st) < 0 || st.st_mtime != 1000000000 + id)
                wrong++;
        }
        wrong += flushlab_strays(&d.lab) > 0;
    }
    is_int(wrong, 0, "%s: every version is what it was, with its time", how);
    ok(can_clone || may_patch ? cloned > 0 && compared >= cloned
                              : cloned == 0 && compared == 0,
       "%" PRIu64 " bytes were written, %" PRIu64 " were not", written, cloned);
}

static bool count(void *arg, uint64_t bytes)
{
    (void)bytes;
    ++*(int *)arg;
    return true;
}

static void one_byte(bool can_clone, const char *how)
{
    int steps = 0;
    const struct vel_watch watch = {count, &steps};
    struct deltalab d;
    struct stat before, after;
    struct vel_delta_counts c;

    deltalab_init(&d, can_clone ? "byte" : "bytepatch", 7, SIZE);
    d.edit = DELTALAB_ONE;
    d.can_clone = can_clone;
    d.may_patch = true;
    flushed(&d, 1);
    stat(deltalab_path(&d), &before);
    d.watch = &watch;
    c = flushed(&d, 2);
    stat(deltalab_path(&d), &after);
    if (!can_clone)
        ok(steps > 0, "while it is carried out the worker asks what else waits");
    is_int(deltalab_shows(&d), 2, "%s: a byte that has changed is there", how);
    is_int((long long)c.compared, SIZE, "all of the file was compared");
    is_int((long long)c.cloned, SIZE - BLOCK, "all blocks but one were left");
    is_int((long long)c.written, BLOCK + 100,
           "and one was written, with the small file");
    ok((before.st_ino == after.st_ino) != can_clone, "%s",
       can_clone ? "in a file of its own, that was renamed" : "in the same file");
    is_int(after.st_nlink, 1, "which has one name");
}

/* --- doubt --- */

static void put_back_times(const char *path, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};

    utimensat(AT_FDCWD, path, times, 0);
}

static void touch(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};

    utimensat(AT_FDCWD, path, times, 0);
}

static void append(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "a");

    stat(path, &st);
    if (!f || fputc('x', f) == EOF || fclose(f) != 0)
        bail_out("cannot append");
    put_back_times(path, &st);
}

/* Another file, of the same size and time, and with other bytes. */
static void exchange(const char *path)
{
    struct stat st;
    size_t len;
    char *bytes = tap_get_file(path, &len), other[700];

    stat(path, &st);
    snprintf(other, sizeof other, "%s.other", path);
    memset(bytes, 'x', len);
    tap_put_bytes(other, bytes, len);
    put_back_times(other, &st);
    rename(other, path);
    free(bytes);
}

static void take_away(const char *path)
{
    unlink(path);
}

static void make_link(const char *path)
{
    char other[700];

    snprintf(other, sizeof other, "%s.moved", path);
    rename(path, other);
    if (symlink(other, path) < 0)
        bail_out("cannot make a link");
}

static void foreign(bool can_clone, const char *name, void (*change)(const char *),
                    const char *how)
{
    struct deltalab d;
    struct vel_delta_counts c;
    char where[64];

    snprintf(where, sizeof where, "%s%d", name, can_clone);
    deltalab_init(&d, where, 8, SIZE);
    d.edit = DELTALAB_ONE;
    d.can_clone = can_clone;
    d.may_patch = true;
    flushed(&d, 1);
    change(deltalab_path(&d));
    c = flushed(&d, 2);
    ok(deltalab_shows(&d) == 2 && c.compared == 0 && c.written == SIZE + 100,
       "a file that somebody else has %s is written whole", how);
    c = flushed(&d, 3);
    ok(deltalab_shows(&d) == 3 && c.written < SIZE, "and known again from then on");
}

static void damage(const char *name, void (*act)(const char *), const char *how)
{
    struct deltalab d;
    struct vel_delta_counts c;
    char path[700];

    deltalab_init(&d, name, 9, SIZE);
    d.edit = DELTALAB_ONE;
    flushed(&d, 1);
    snprintf(path, sizeof path, "%s/dataset.1/hashes.0", d.lab.dir);
    act(path);
    c = flushed(&d, 2);
    ok(deltalab_shows(&d) == 2 && c.compared == 0, "hashes that are %s: a whole file",
       how);
}

static void flip(const char *path)
{
    size_t len;
    char *bytes = tap_get_file(path, &len);

    bytes[len / 2] ^= 1;
    tap_put_bytes(path, bytes, len);
    free(bytes);
}

static void cut(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0 || truncate(path, st.st_size / 2) < 0)
        bail_out("cannot cut %s", path);
}

static void make_dir(const char *path)
{
    unlink(path);
    mkdir(path, 0700);
}

static void changed_all(void)
{
    struct deltalab d;
    struct vel_delta_counts c;

    deltalab_init(&d, "all", 10, SIZE);
    d.edit = DELTALAB_ALL;
    d.can_clone = false;
    d.may_patch = true;
    flushed(&d, 1);
    c = flushed(&d, 2);
    ok(deltalab_shows(&d) == 2 && c.compared == 0 && c.written == SIZE + 100,
       "of a file of which more than half has changed no patch is made");
}

static void two_names(void)
{
    struct deltalab d;
    char other[700];
    struct vel_delta_counts c;

    deltalab_init(&d, "names", 11, SIZE);
    d.edit = DELTALAB_ONE;
    d.can_clone = false;
    d.may_patch = true;
    flushed(&d, 1);
    snprintf(other, sizeof other, "%s.kept", deltalab_path(&d));
    if (link(deltalab_path(&d), other) < 0)
        bail_out("cannot link");
    c = flushed(&d, 2);
    ok(deltalab_shows(&d) == 2 && c.compared == 0,
       "a file that has another name is not patched in place");
    unlink(deltalab_path(&d));
    rename(other, deltalab_path(&d));
    is_int(deltalab_shows(&d), 1, "under which the older version stays");
}

static void off(void)
{
    struct deltalab d;
    char path[700];

    deltalab_init(&d, "off", 12, SIZE);
    d.edit = DELTALAB_ONE;
    d.has_delta = false;
    d.may_patch = true;
    flushed(&d, 1);
    snprintf(path, sizeof path, "%s/dataset.1/hashes.0", d.lab.dir);
    ok(flushed(&d, 2).written == 0 && deltalab_shows(&d) == 2 && access(path, F_OK) < 0,
       "without FLUSH_DELTA nothing is compared, and nothing kept for it");
    deltalab_init(&d, "never", 12, SIZE);
    d.can_clone = false;
    flushed(&d, 1);
    snprintf(path, sizeof path, "%s/dataset.1/hashes.0", d.lab.dir);
    ok(access(path, F_OK) < 0, "nor where it would not help");
}

/* A dataset in between may still take the name. */
static void between(void)
{
    struct deltalab d;
    struct vel_delta_counts c;

    deltalab_init(&d, "between", 13, SIZE);
    d.edit = DELTALAB_ONE;
    d.can_clone = false;
    d.may_patch = true;
    flushed(&d, 1);
    flushlab_claim(&d.lab, 2, 1);
    flushlab_entry(&d.lab, 2, 1, 1, VEL_ON_FLUSHING);
    c = flushed(&d, 3);
    ok(deltalab_shows(&d) == 3 && c.compared == 0,
       "nor is one patched that a dataset before may still replace");
}

static void swallow(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    const struct vel_log_sink deaf = {.level = VEL_LOG_ERROR, .write = swallow};

    vel_log_open(&deaf);
    note("clones are %s", deltalab_is_real() ? "real" : "copies here");
    random_edits(true, false, "clones");
    random_edits(false, true, "patches");
    random_edits(false, false, "neither");
    one_byte(true, "a clone");
    one_byte(false, "a patch");
    for (int can_clone = 0; can_clone < 2; can_clone++) {
        foreign(can_clone, "touch", touch, "touched");
        foreign(can_clone, "append", append, "made longer");
        foreign(can_clone, "exchange", exchange, "replaced");
        foreign(can_clone, "away", take_away, "removed");
        foreign(can_clone, "symlink", make_link, "replaced by a link");
    }
    damage("flip", flip, "damaged");
    damage("cut", cut, "torn");
    damage("gone", take_away, "gone");
    damage("dir", make_dir, "a directory");
    changed_all();
    two_names();
    off();
    between();
    return done_testing();
}
