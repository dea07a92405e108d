/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program of the VELOC API gets when its storage fails it: a cache or a prefix
 * that is full, read-only, away or never was one, by file systems that are so in
 * earnest, mounted where only this test sees them. It goes on, with one warning, or is
 * refused with a sentence that names path and cause; and what was complete is restored.
 */
#define _GNU_SOURCE /* unshare */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/tap.h"
#include "veloc.h"

enum { PATH = 600, MIB = 1 << 20 };

/* --- the scene ---------------------------------------------------------------------
 */

static char root[PATH];
static unsigned char *memory; /* what the program saves: all bytes of one value */
static size_t size;

static const char *at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A path of the case; the last 8 results stay good. */
static const char *at(const char *fmt, ...)
{
    static char paths[8][2 * PATH];
    static unsigned next;
    char *path = paths[next++ % 8], name[PATH];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void must(int rc, const char *what)
{
    if (rc < 0)
        bail_out("%s: %s", what, strerror(errno));
}

/* A new case: fresh directories, so many bytes to save, and FLUSH. */
static void begin_case(const char *name, size_t bytes, int flush)
{
    FILE *f;

    VELOC_Finalize(0); /* of a case that failed */
    snprintf(root, sizeof root, "%s", tap_path(name));
    tap_fresh_dir(root);
    tap_fresh_dir(at("prefix"));
    tap_fresh_dir(at("cache"));
    f = fopen(at("veloc.conf"), "w");
    if (!f)
        bail_out("no file of settings");
    fprintf(f, "MODE=SYNC\nPREFIX=%s\nCACHE_BASE=%s\nLOG_FILE=%s\nFLUSH=%d\n",
            at("prefix"), at("cache"), at("log"), flush);
    fclose(f);
    size = bytes;
    memory = realloc(memory, size);
    if (!memory)
        bail_out("no memory");
}

static void mount_tmpfs(const char *dir, const char *options)
{
    must(mount("tmpfs", at("%s", dir), "tmpfs", 0, options), "mounting a tmpfs");
}

static void unmount(const char *dir)
{
    must(umount2(at("%s", dir), MNT_DETACH), "unmounting");
}

/* The directory as it is, mounted onto itself: who has files open in it for writing, as
 * a session has its lock, keeps them. */
static void make_read_only(const char *dir, bool is_read_only)
{
    if (!is_read_only) {
        unmount(dir);
        return;
    }
    must(mount(at("%s", dir), at("%s", dir), NULL, MS_BIND, NULL), "binding");
    must(mount(NULL, at("%s", dir), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL),
         "remounting");
}

/* --- the program --------------------------------------------------------------------
 */

static bool begin(void)
{
    if (VELOC_Init_single(0, at("veloc.conf")) == VELOC_SUCCESS &&
        VELOC_Mem_protect(0, memory, size, 1) == VELOC_SUCCESS)
        return true;
    note("VELOC_Init_single: %s", VELOC_Error());
    return false;
}

static bool end(int cleanup)
{
    if (VELOC_Finalize(cleanup) == VELOC_SUCCESS)
        return true;
    note("VELOC_Finalize: %s", VELOC_Error());
    return false;
}

static bool save(int version)
{
    memset(memory, version, size);
    if (VELOC_Checkpoint("state", version) == VELOC_SUCCESS)
        return true;
    note("version %d: %s", version, VELOC_Error());
    return false;
}

static bool restores(int version)
{
    int newest = VELOC_Restart_test("state", 0);

    memset(memory, 0, size);
    if (newest != version) {
        note("version %d is the newest, not %d: %s", newest, version, VELOC_Error());
        return false;
    }
    if (VELOC_Restart("state", version) != VELOC_SUCCESS) {
        note("restart of version %d: %s", version, VELOC_Error());
        return false;
    }
    for (size_t i = 0; i < size; i++)
        if (memory[i] != (unsigned char)version) {
            note("byte %zu is %d, not %d", i, memory[i], version);
            return false;
        }
    return true;
}

static bool says(const char *path, const char *cause)
{
    const char *error = VELOC_Error();

    if (strstr(error, path) && strstr(error, cause))
        return true;
    note("'%s' does not name %s, '%s'", error, path, cause);
    return false;
}

static long apparent_size(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* Lines of the log that have the words. */
static int lines(const char *words)
{
    char *text = tap_get_file(at("log"), NULL), *line, *rest;
    int n = 0;

    for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        n += strstr(line, words) != NULL;
    free(text);
    return n;
}

/* --- full ---------------------------------------------------------------------------
 */

static void cache_gets_full(void)
{
    begin_case("full", MIB, 1);
    mount_tmpfs("cache", "size=2m");
    ok(begin() && save(1) && save(2) && save(3) && save(4),
       "a cache that has no room for one more fails no checkpoint");
    is_int(lines("has no room for another dataset"), 1, "and one warning says so");
    is_int(lines(at("cache")), 1, "with the path");
    ok(restores(4), "the newest is restored from the prefix");
    ok(end(1) && begin() && restores(4) && end(1), "and by the next launch");
    unmount("cache");
}

static void cache_is_too_small(void)
{
    begin_case("small", 4 * MIB, 1);
    mount_tmpfs("cache", "size=2m");
    ok(begin() && save(1) && restores(1), "the first checkpoint may be larger than all "
                                          "of the cache");
    is_int(lines("has no room for another dataset"), 1, "one warning says so");
    is_int(lines("error"), 0, "and nothing is an error");
    ok(end(0) && begin() && restores(1) && end(1), "the next launch has it");
    unmount("cache");
}

/* A file of the program's own: 0, or what the program makes of its failure. */
static bool save_file(int version, size_t bytes)
{
    char path[VELOC_MAX_NAME];
    bool is_written = false;
    FILE *f;

    if (VELOC_Checkpoint_begin("file", version) != VELOC_SUCCESS)
        return false;
    if (VELOC_Route_file(at("prefix/file.%d", version), path) == VELOC_SUCCESS &&
        (f = fopen(path, "w"))) {
        for (size_t i = 0; i < bytes; i++)
            fputc(version, f);
        is_written = fclose(f) == 0 && (size_t)apparent_size(path) == bytes;
    }
    return VELOC_Checkpoint_end(is_written) == VELOC_SUCCESS;
}

static void files_do_not_fit(void)
{
    begin_case("files", MIB, 1);
    mount_tmpfs("cache", "size=2m");
    begin();
    ok(!save_file(1, 3 * MIB), "files that a program writes itself may not fit");
    ok(says("not valid", ""), "then it says so, and hears it: %s", VELOC_Error());
    ok(save_file(2, 3 * MIB), "the next ones go elsewhere");
    is_int(apparent_size(at("prefix/file.2")), 3 * MIB, "and are whole");
    is_int(lines("has no room for another dataset"), 1, "with one warning");
    ok(end(1), "the program ends well");
    unmount("cache");
}

/* Not a byte is free below the directory. */
static void fill(const char *dir)
{
    static char zeros[4096];
    int fd = open(at("%s/filler", dir), O_WRONLY | O_CREAT, 0600);

    while (write(fd, zeros, sizeof zeros) > 0)
        continue;
    close(fd);
}

static void redundancy_does_not_fit(void)
{
    char path[VELOC_MAX_NAME];

    begin_case("encode", MIB, 1);
    mount_tmpfs("cache", "size=3m");
    ok(begin() && save(1), "a checkpoint is in the cache");
    VELOC_Checkpoint_begin("file", 2);
    VELOC_Route_file(at("prefix/sub/file"), path);
    tap_put_file(path, "whole");
    fill("cache");
    is_int(VELOC_Checkpoint_end(1), VELOC_SUCCESS,
           "one whose redundancy finds no room is no failure: '%s'", VELOC_Error());
    is_int(lines("no room for the redundancy"), 1, "one warning says so");
    ok(tap_file_is(at("prefix/sub/file"), "whole"), "its files are on the prefix");
    ok(!tap_get_file(path, NULL), "and not in the cache any more");
    VELOC_Finalize(0);
    ok(begin() && VELOC_Restart_begin("file", 2) == VELOC_SUCCESS &&
           VELOC_Route_file(at("prefix/sub/file"), path) == VELOC_SUCCESS &&
           tap_file_is(path, "whole") && VELOC_Restart_end(1) == VELOC_SUCCESS,
       "the next launch has it");
    ok(restores(1) && end(1), "and the older one");
    unmount("cache");
}

/* Room was asked for, and another one takes it. */
static void room_is_taken(void)
{
    begin_case("taken", MIB, 1);
    mount_tmpfs("cache", "size=3m");
    ok(begin() && save(1), "a checkpoint is in the cache");
    VELOC_Checkpoint_begin("state", 2);
    fill("cache");
    memset(memory, 2, size);
    ok(VELOC_Checkpoint_mem() == VELOC_FAILURE &&
           says(at("cache"), "No space left on device"),
       "room may be gone when the memory is written: %s", VELOC_Error());
    ok(VELOC_Checkpoint_end(0) == VELOC_FAILURE, "that checkpoint is not kept");
    ok(save(3) && restores(3), "the next one goes elsewhere");
    ok(end(1), "the program ends well");
    unmount("cache");
}

/* Bytes there are, as the file system says, and no names for them. */
static void cache_has_no_inodes(void)
{
    int bad = 0;

    for (int inodes = 2; inodes <= 16; inodes++) {
        char options[64];

        begin_case("inodes", MIB, 1);
        snprintf(options, sizeof options, "size=8m,nr_inodes=%d", inodes);
        mount_tmpfs("cache", options);
        if (!begin() || !save(1) || !restores(1) || !save(2) || !end(1) || !begin() ||
            !restores(2) || !end(1)) {
            note("with %d inodes", inodes);
            bad++;
        }
        VELOC_Finalize(0);
        unmount("cache");
    }
    is_int(bad, 0, "whatever step finds no inode in the cache, none fails");
}

static void prefix_gets_full(void)
{
    begin_case("prefix", MIB, 1);
    mount_tmpfs("prefix", "size=2500k");
    ok(begin() && save(1) && save(2) && save(3),
       "a prefix that gets full fails no checkpoint");
    is_int(lines("it stays in the cache"), 1, "one warning says where it is");
    ok(lines("No space left on device") == 1 && lines(at("prefix")) == 1,
       "which path it was, and why");
    ok(end(0) && begin() && restores(3), "it is restored from there");
    unlink(at("prefix/state-0-1.dat"));
    ok(end(1) && lines("it stays") == 1, "once there is room again it is flushed");
    tap_fresh_dir(at("cache"));
    ok(begin() && restores(3) && end(1), "and restored without the cache");
    unmount("prefix");
}

/* --- read-only
 * ------------------------------------------------------------------------
 */

static void cache_becomes_read_only(void)
{
    begin_case("rocache", MIB, 1);
    ok(begin() && save(1), "a checkpoint is in the cache");
    make_read_only("cache", true);
    ok(save(2) && save(3), "a cache that becomes read-only fails no checkpoint");
    is_int(lines("Read-only file system"), 1, "one warning tells the cause");
    ok(restores(3), "what went to the prefix is restored");
    ok(end(1) && begin() && restores(3) && save(4) && restores(4) && end(1),
       "the next launch goes on");
    unmount("cache");
}

static void read_only_cache_is_read(void)
{
    begin_case("roread", MIB, 0);
    ok(begin() && save(1) && end(0), "a checkpoint is in the cache only");
    make_read_only("cache", true);
    ok(begin() && restores(1), "it is restored when the cache cannot be written");
    ok(save(2) && restores(2) && end(1), "and the next one goes to the prefix");
    unmount("cache");
}

static void cache_is_none(void)
{
    begin_case("nocache", MIB, 1);
    rmdir(at("cache"));
    tap_put_file(at("cache"), "in the way");
    ok(begin() && save(1) && restores(1) && end(1),
       "a cache that cannot be made fails no checkpoint");
    is_int(lines("is not used"), 1, "one warning names it");
    ok(lines("in the way") + lines("ot a directory") > 0, "and the cause");
}

static void prefix_becomes_read_only(void)
{
    begin_case("roprefix", MIB, 1);
    ok(begin() && save(1), "a checkpoint is everywhere");
    make_read_only("prefix", true);
    ok(save(2) && restores(2), "a prefix that becomes read-only fails no checkpoint");
    is_int(lines("it stays in the cache"), 1, "a warning says where it is");
    is_int(lines("event not recorded"), 1, "that no event is recorded is told once");
    ok(end(0) && begin() && restores(2) && save(3) && restores(3),
       "the next launch goes on in the cache");
    make_read_only("prefix", false);
    ok(end(1), "it ends when the prefix can be written again");
    tap_fresh_dir(at("cache"));
    ok(begin() && restores(3) && end(1), "and has flushed what was owed");
}

static void prefix_is_none(void)
{
    begin_case("unwritable", MIB, 1);
    make_read_only("prefix", true);
    ok(!begin() && says(at("prefix"), "Read-only file system"),
       "a prefix that was never written and cannot be is refused: %s", VELOC_Error());
    unmount("prefix");
    begin_case("inplace", MIB, 1);
    rmdir(at("prefix"));
    tap_put_file(at("prefix"), "in the way");
    ok(!begin() && says(at("prefix"), "Not a directory"),
       "and so is one where a file is: %s", VELOC_Error());
    is_int(VELOC_Checkpoint_begin("state", 1), VELOC_FAILURE,
           "a program that goes on all the same gets no checkpoint");
    ok(says("VELOC_Init", ""), "and hears why: %s", VELOC_Error());
}

/* --- gone ---------------------------------------------------------------------------
 */

static void cache_vanishes(void)
{
    begin_case("gone", MIB, 1);
    ok(begin() && save(1), "a checkpoint is in the cache and on the prefix");
    tap_fresh_dir(at("cache"));
    ok(restores(1), "without the cache it is restored from the prefix");
    ok(lines("is gone") == 1 && lines(at("cache")) == 1, "with one warning");
    tap_fresh_dir(at("cache"));
    ok(save(2), "and the next one is written to a cache that is made again");
    VELOC_Checkpoint_begin("state", 3);
    VELOC_Checkpoint_mem();
    tap_fresh_dir(at("cache"));
    ok(VELOC_Checkpoint_end(1) == VELOC_FAILURE && says(at("cache"), "is gone"),
       "what is removed while it is written cannot be kept: %s", VELOC_Error());
    ok(restores(2), "what was complete before it can");
    ok(save(4) && end(1) && begin() && restores(4) && end(1),
       "and the program goes on");
}

int main(void)
{
    if (unshare(CLONE_NEWNS) < 0)
        skip_all("no mount namespace: %s", strerror(errno));
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "making mounts private");
    cache_gets_full();
    cache_is_too_small();
    files_do_not_fit();
    redundancy_does_not_fit();
    room_is_taken();
    cache_has_no_inodes();
    prefix_gets_full();
    cache_becomes_read_only();
    read_only_cache_is_read();
    cache_is_none();
    prefix_becomes_read_only();
    prefix_is_none();
    cache_vanishes();
    free(memory);
    return done_testing();
}
