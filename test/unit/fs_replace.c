/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fs.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static const char old_text[] = "the old content";
static const char new_text[] = "the new content, which is longer than the old one";

static void path_of(const char *dir, char path[1200])
{
    snprintf(path, 1200, "%s/record", dir);
}

static void prepare_nothing(const char *dir, void *arg)
{
    (void)dir, (void)arg;
}

static void prepare_old(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    path_of(dir, path);
    tap_put_file(path, old_text);
}

static void prepare_crashed(const char *dir, void *arg)
{
    char path[1200];

    prepare_old(dir, arg);
    snprintf(path, sizeof path, "%s/.record.h5v-tmp", dir);
    tap_put_file(path, "half of something lon");
}

static int replace(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char path[1200];

    (void)arg;
    path_of(dir, path);
    return vel_fs_replace(fs, path, new_text, strlen(new_text), 0600, err);
}

static enum sweep_state check_absent(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    path_of(dir, path);
    if (tap_file_is(path, new_text))
        return SWEEP_NEW;
    return access(path, F_OK) < 0 ? SWEEP_OLD : SWEEP_BROKEN;
}

static enum sweep_state check_old(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    path_of(dir, path);
    if (tap_file_is(path, new_text))
        return SWEEP_NEW;
    return tap_file_is(path, old_text) ? SWEEP_OLD : SWEEP_BROKEN;
}

static void sweeps(void)
{
    const struct sweep fresh = {.name = "a new file",
                                .prepare = prepare_nothing,
                                .action = replace,
                                .check = check_absent};
    const struct sweep existing = {.name = "an existing file",
                                   .prepare = prepare_old,
                                   .action = replace,
                                   .check = check_old};
    const struct sweep crashed = {.name = "a file whose last replace crashed",
                                  .prepare = prepare_crashed,
                                  .action = replace,
                                  .check = check_old,
                                  .has_temporary = true};

    sweep_run(&fresh);
    sweep_run(&existing);
    sweep_run(&crashed);
}

static void names(void)
{
    char longest[256], path[2048];
    struct vel_err err = {0};

    ok(vel_fs_is_temporary(".record.h5v-tmp"), "a temporary is known by its name");
    ok(!vel_fs_is_temporary("record.h5v-tmp"), "only a hidden file is a temporary");
    ok(!vel_fs_is_temporary(".h5v-tmp"), "the bare suffix is no temporary");
    ok(!vel_fs_is_temporary(".record.h5v-tmp.h5"), "the suffix stands at the end");
    memset(longest, 'n', 255);
    longest[255] = '\0';
    snprintf(path, sizeof path, "%s/%s", tap_dir(), longest);
    is_int(vel_fs_replace(vel_fs_posix(), path, "x", 1, 0600, &err), 0,
           "a file with the longest possible name is replaced");
    ok(tap_file_is(path, "x"), "and has the new content");
    snprintf(path, sizeof path, "%s/", tap_dir());
    is_int(vel_fs_replace(vel_fs_posix(), path, "x", 1, 0600, &err), VEL_EINVAL,
           "a path that ends with a slash names no file");
}

static void links(void)
{
    struct vel_err err = {0};
    struct stat st;

    tap_put_file(tap_path("target"), old_text);
    if (symlink(tap_path("target"), tap_path("link")) < 0 ||
        symlink(tap_path("target"), tap_path(".link.h5v-tmp")) < 0)
        bail_out("cannot make a link");
    is_int(vel_fs_replace(vel_fs_posix(), tap_path("link"), new_text, strlen(new_text),
                          0640, &err),
           0, "a link is replaced");
    ok(lstat(tap_path("link"), &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_mode & 0777) == 0640,
       "a file of the given mode stands there now");
    ok(tap_file_is(tap_path("target"), old_text),
       "neither the link nor a link at the temporary name is followed");
}

static void failures(void)
{
    struct vel_err err = {0};

    is_int(vel_fs_replace(vel_fs_posix(), tap_path("no/where"), "x", 1, 0600, &err),
           VEL_ENOENT, "a directory that is missing fails the replace");
    ok(strstr(err.text, tap_dir()) != NULL, "the sentence names the path");
    tap_fresh_dir(tap_path("directory"));
    is_int(vel_fs_replace(vel_fs_posix(), tap_path("directory"), "x", 1, 0600, &err),
           VEL_EINVAL, "a directory is not replaced by a file");
    ok(access(tap_path(".directory.h5v-tmp"), F_OK) < 0, "and no temporary is left");
    is_int(vel_fs_replace(vel_fs_posix(), tap_path("empty"), NULL, 0, 0600, &err), 0,
           "a file may become empty");
    ok(tap_file_is(tap_path("empty"), ""), "and then is");
}

int main(void)
{
    umask(022);
    sweeps();
    names();
    links();
    failures();
    return done_testing();
}
