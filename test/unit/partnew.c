/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that have no dataset yet, while another launch of the node looks at them. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/tap.h"
#include "view/part_new.h"

static char template[] = "t.{rank}", step[] = "1", launch[] = "another";
static const struct vel_new_key key = {
    .launch = launch, .template = template, .step = step, .generation = 1};

/* Who looks for a key finds none; then the maker goes on, which `goes_on` does. */
static void (*goes_on)(void);

static int open_late(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct vel_fs *posix = vel_fs_posix();
    int fd = posix->ops->open(posix, path, flags, mode);

    (void)fs;
    if (fd == -ENOENT && strstr(path, "/about"))
        goes_on();
    return fd;
}

static int look(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs late = {.ops = &ops};
    struct vel_vec found;
    struct vel_err err = {0};
    int rc, n;

    ops.open = open_late;
    vel_vec_init(&found, sizeof(struct vel_part_new));
    rc = vel_parts_new_scan(&late, tap_path("home"), &found, &err);
    n = rc < 0 ? rc : (int)found.n;
    vel_parts_new_fini(&found);
    return n;
}

/* The whole of making it, and the next record half way. */
static void is_made(void)
{
    struct vel_err err = {0};
    int64_t number;
    char *first;

    if (vel_part_new_make(vel_fs_posix(), tap_path("home/index.0"), &key, &number,
                          &err) < 0)
        bail_out("%s", err.text);
    first = vel_part_new_dir(tap_path("home/index.0"), number);
    rmdir(tap_path("home/index.0/new.1"));
    if (!first || rename(first, tap_path("home/index.0/new.1")) < 0)
        bail_out("no new part");
    free(first);
    tap_put_file(tap_path("home/index.0/new.1/.closed.0.h5v-tmp"), "half");
}

static void nothing_follows(void)
{
}

int main(void)
{
    struct vel_fs *fs = vel_fs_posix();

    mkdir(tap_path("home"), 0700);
    mkdir(tap_path("home/index.0"), 0700);
    mkdir(tap_path("home/index.0/new.1"), 0700);
    goes_on = is_made;
    is_int(look(), 0, "what had no key when it was looked for is left out");
    ok(vel_fs_exists(fs, tap_path("home/index.0/new.1/.closed.0.h5v-tmp")),
       "what its maker has begun meanwhile stays");
    is_int(look(), 1, "and it is found the next time");

    mkdir(tap_path("home/index.0/new.2"), 0700);
    tap_put_file(tap_path("home/index.0/new.2/.about.h5v-tmp"), "half");
    goes_on = nothing_follows;
    is_int(look(), 1, "what a crash has left without a key is no part");
    ok(!vel_fs_exists(fs, tap_path("home/index.0/new.2")), "and goes");
    return done_testing();
}
