/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

/* One scenario: a fresh directory with a durable file "old", a twin, a loss at the end.
 */
static struct vel_fs_fault *fault;
static struct vel_fs *fs;

static const char *at(const char *name)
{
    char below[256];

    snprintf(below, sizeof below, "area/%s", name);
    return tap_path(below);
}

static void begin(void)
{
    struct vel_err err = {0};

    tap_fresh_dir(tap_path("area"));
    tap_put_file(at("old"), "old");
    tap_fresh_dir(at("dir"));
    tap_put_file(at("dir/inner"), "inner");
    if (vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &fault, &err) < 0)
        bail_out("%s", err.text);
    fs = vel_fs_fault_fs(fault);
}

static void lose(enum vel_fs_loss loss, uint64_t seed)
{
    struct vel_err err = {0};

    if (vel_fs_fault_power_loss(fault, loss, seed, &err) < 0)
        ok(false, "the loss of power failed: %s", err.text);
    vel_fs_fault_destroy(fault);
}

static bool is_there(const char *name)
{
    return access(at(name), F_OK) == 0;
}

/* Create or open, write, perhaps sync. */
static void put(const char *name, const char *text, int flags, bool is_synced)
{
    struct vel_err err = {0};
    int fd = -1;

    if (vel_fs_open(fs, at(name), O_WRONLY | O_CREAT | flags, 0600, &fd, &err) < 0 ||
        vel_fs_write_at(fs, fd, text, strlen(text), 0, name, &err) < 0 ||
        (is_synced && vel_fs_sync(fs, fd, name, &err) < 0) ||
        vel_fs_close(fs, fd, name, &err) < 0)
        bail_out("%s", err.text);
}

static void sync_area(const char *name)
{
    if (vel_fs_sync_dir(fs, at(name), NULL) < 0)
        bail_out("cannot sync %s", name);
}

static void bytes(void)
{
    begin();
    put("old", "new", 0, false);
    ok(tap_file_is(at("old"), "new"), "a write is seen before the loss");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "bytes without fsync are lost");

    begin();
    put("old", "new", 0, true);
    put("old", "newest", 0, false);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "new"), "bytes before the fsync stay");

    begin();
    put("old", "x", O_TRUNC, false);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "a truncation by open is lost");

    begin();
    put("old", "newest", 0, false);
    lose(VEL_FS_LOSS_KEEP, 0);
    ok(tap_file_is(at("old"), "newest"), "a kill loses nothing");
}

static void other_bytes(void)
{
    struct vel_err err = {0};
    int fd = -1, from = -1;

    begin();
    vel_fs_open(fs, at("old"), O_WRONLY | O_APPEND, 0, &fd, &err);
    vel_fs_append(fs, fd, "er", 2, "old", &err);
    ok(tap_file_is(at("old"), "older"), "an append is seen before the loss");
    vel_fs_close(fs, fd, "old", NULL);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "an append is lost");

    begin();
    vel_fs_open(fs, at("old"), O_WRONLY, 0, &fd, &err);
    vel_fs_truncate(fs, fd, 1, "old", &err);
    vel_fs_truncate(fs, fd, 9, "old", &err);
    vel_fs_close(fs, fd, "old", NULL);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "truncations are lost");

    begin();
    vel_fs_open(fs, at("dir/inner"), O_RDONLY, 0, &from, &err);
    vel_fs_open(fs, at("old"), O_WRONLY, 0, &fd, &err);
    vel_fs_copy_at(fs, from, 0, "inner", fd, 1, "old", 5, &err);
    ok(tap_file_is(at("old"), "oinner"), "a copy is seen before the loss");
    vel_fs_close(fs, fd, "old", NULL);
    vel_fs_close(fs, from, "inner", NULL);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "a copy is lost");
}

static void new_names(void)
{
    begin();
    put("new", "new", O_EXCL, true);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("new"), "the fsync of a new file does not keep its name");

    begin();
    put("new", "new", O_EXCL, true);
    sync_area("");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("new"), "new"), "the fsync of its directory does");

    begin();
    put("new", "new", O_EXCL, false);
    sync_area("");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("new"), ""), "a durable name without durable bytes is empty");

    begin();
    vel_fs_link(fs, at("old"), at("second"), NULL);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("second") && tap_file_is(at("old"), "old"), "a second name is lost");
}

static void renames(void)
{
    begin();
    put("new", "new", O_EXCL, true);
    sync_area("");
    vel_fs_rename(fs, at("new"), at("old"), NULL);
    ok(!is_there("new") && tap_file_is(at("old"), "new"),
       "a rename is seen before the loss");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("new"), "new") && tap_file_is(at("old"), "old"),
       "a rename without sync is taken back, and what it replaced too");

    begin();
    put("new", "new", O_EXCL, false);
    vel_fs_rename(fs, at("new"), at("old"), NULL);
    sync_area("");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), ""), "renaming unsynced bytes loses both files");

    begin();
    vel_fs_rename(fs, at("old"), at("dir/moved"), NULL);
    sync_area("dir");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("old") && tap_file_is(at("dir/moved"), "old"),
       "no half of a rename between directories is lost");

    begin();
    put("dir/inner", "changed", 0, false);
    vel_fs_rename(fs, at("dir"), at("moved"), NULL);
    put("moved/fresh", "fresh", O_EXCL, true);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("moved") && !is_there("dir/fresh") &&
           tap_file_is(at("dir/inner"), "inner"),
       "a renamed directory goes back with what is in it");

    begin();
    put("dir/inner", "changed", 0, false);
    vel_fs_rename(fs, at("dir"), at("moved"), NULL);
    sync_area("");
    put("moved/fresh", "fresh", O_EXCL, true);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("moved/fresh") && tap_file_is(at("moved/inner"), "inner"),
       "a durably renamed directory stays, and what is unsynced in it is lost");
}

static void removals(void)
{
    begin();
    put("old", "changed", 0, false);
    vel_fs_unlink(fs, at("old"), NULL);
    ok(!is_there("old"), "a removal is seen before the loss");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("old"), "old"), "a removal is taken back");

    begin();
    vel_fs_unlink(fs, at("old"), NULL);
    sync_area("");
    put("old", "again", O_EXCL, true);
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("old"), "a durable removal stays, what came after it is lost");

    begin();
    vel_fs_make_dirs(fs, at("made"), 0700, NULL);
    fs->ops->mkdir(fs, at("lost"), 0700);
    put("lost/file", "file", O_EXCL, true);
    sync_area("lost");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(is_there("made"), "a durable directory stays");
    ok(!is_there("lost"), "an unsynced one is lost, whatever was synced in it");

    begin();
    vel_fs_remove_tree(fs, at("dir"), NULL);
    ok(!is_there("dir"), "a removed tree is gone before the loss");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(tap_file_is(at("dir/inner"), "inner"), "a removed tree is taken back");

    begin();
    vel_fs_remove_tree(fs, at("dir"), NULL);
    sync_area("");
    lose(VEL_FS_LOSS_DROP, 0);
    ok(!is_there("dir"), "a durably removed tree stays removed");
}

static void random_names(void)
{
    unsigned seen = 0;
    bool is_suffix = true, is_whole = true;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin();
        for (int i = 0; i < 4; i++) {
            const char name[] = {(char)('a' + i), '\0'};
            put(name, "x", O_EXCL, true);
        }
        lose(VEL_FS_LOSS_RANDOM, seed);
        unsigned n = 0;
        while (n < 4 && is_there((const char[]){(char)('a' + n), '\0'}))
            n++;
        for (unsigned i = n; i < 4; i++)
            is_suffix &= !is_there((const char[]){(char)('a' + i), '\0'});
        seen |= 1u << n;
    }
    ok(is_suffix, "names are lost from the end");
    is_int(seen, 0x1f, "every cut comes up");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        begin();
        put("new", "new", O_EXCL, true);
        vel_fs_rename(fs, at("new"), at("old"), NULL);
        lose(VEL_FS_LOSS_RANDOM, seed);
        is_whole &= tap_file_is(at("old"), is_there("new") ? "old" : "new") ||
                    tap_file_is(at("old"), "old");
    }
    ok(is_whole, "a rename is never half lost");
    begin();
    put("a", "x", O_EXCL, true);
    put("dir/b", "x", O_EXCL, true);
    sync_area("dir");
    lose(VEL_FS_LOSS_RANDOM, 1);
    ok(is_there("a"), "a journal keeps what happened before something durable");
}

static void random_bytes(void)
{
    enum { BLOCK = 4096, NBLOCKS = 6 };
    char *text = calloc(1, BLOCK * NBLOCKS + 1);
    bool is_whole = true, has_mixed = false;

    if (!text)
        bail_out("no memory");
    memset(text, 'n', BLOCK * NBLOCKS);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        unsigned kept = 0;
        size_t len = 0;

        begin();
        put("old", text, 0, false);
        lose(VEL_FS_LOSS_RANDOM, seed);
        char *got = tap_get_file(at("old"), &len);
        for (size_t i = 0; i < len; i += BLOCK) {
            size_t n = len - i < BLOCK ? len - i : BLOCK;
            bool is_new = n == BLOCK && memcmp(got + i, text, BLOCK) == 0;
            bool is_old = i == 0
                              ? memcmp(got, "old", 3) == 0 && (n == 3 || !got[3])
                              : got[i] == 0 && memcmp(got + i, got + i + 1, n - 1) == 0;
            is_whole &= is_new || is_old;
            kept += is_new;
        }
        has_mixed |= kept > 0 && kept < NBLOCKS;
        free(got);
    }
    ok(is_whole, "each block is there or not");
    ok(has_mixed, "one may be lost without the other");
    free(text);
}

static void plans(void)
{
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE,
                                     .kinds = VEL_FS_KIND_MKDIR | VEL_FS_KIND_RMDIR,
                                     .at = 2,
                                     .errnum = EDQUOT};
    struct stat st;

    begin();
    vel_fs_fault_arm(fault, &plan);
    is_int(fs->ops->mkdir(fs, at("x"), 0700), 0, "the first is let through");
    is_int(fs->ops->lstat(fs, at("x"), &st), 0, "other kinds do not count");
    ok(!vel_fs_fault_fired(fault), "nothing has fired yet");
    is_int(fs->ops->rmdir(fs, at("x")), -EDQUOT, "the second fails as told");
    ok(vel_fs_fault_fired(fault) && is_there("x"), "it has fired, and done nothing");
    is_int(fs->ops->rmdir(fs, at("x")), 0, "the third is let through");
    is_int((long long)vel_fs_fault_count(fault), 3, "three were counted");
    plan.mode = VEL_FS_FAULT_LASTING;
    vel_fs_fault_arm(fault, &plan);
    is_int(fs->ops->mkdir(fs, at("x"), 0700), 0, "arming begins anew");
    is_int(fs->ops->mkdir(fs, at("y"), 0700), -EDQUOT, "a lasting fault begins");
    is_int(fs->ops->mkdir(fs, at("y"), 0700), -EDQUOT, "and lasts");
    is_int(fs->ops->unlink(fs, at("old")), 0, "for its kinds");
    plan.mode = VEL_FS_FAULT_CRASH;
    vel_fs_fault_arm(fault, &plan);
    int fds = tap_open_fds(),
        fd = fs->ops->open(fs, at("new"), O_WRONLY | O_CREAT, 0600);
    is_int(fs->ops->rmdir(fs, at("x")), 0, "before the crash all is well");
    is_int(fs->ops->mkdir(fs, at("y"), 0700), -EIO, "the crash");
    is_int(fs->ops->pwrite(fs, fd, "x", 1, 0), -EIO, "the dead do not write");
    is_int(fs->ops->lstat(fs, at("new"), &st), -EIO, "nor see");
    is_int(fs->ops->close(fs, fd), -EIO, "and a close fails");
    is_int(tap_open_fds(), fds, "but closes");
    lose(VEL_FS_LOSS_KEEP, 0);
}

static void without_aside(void)
{
    struct vel_err err = {0};

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
        bail_out("%s", err.text);
    is_int(vel_fs_fault_power_loss(fault, VEL_FS_LOSS_DROP, 0, &err), VEL_EUNSUP,
           "without a directory aside no power is lost");
    vel_fs_fault_destroy(fault);
    is_int(vel_fs_fault_create(vel_fs_posix(), tap_path("area"), &fault, &err),
           VEL_EEXIST, "the directory aside is one of its own");
    vel_fs_fault_destroy(NULL);
    ok(!vel_fs_exists(vel_fs_posix(), tap_path("aside")), "and goes with the twin");
}

int main(void)
{
    bytes();
    other_bytes();
    new_names();
    renames();
    removals();
    random_names();
    random_bytes();
    plans();
    without_aside();
    return done_testing();
}
