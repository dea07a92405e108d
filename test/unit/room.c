/* SPDX-License-Identifier: BSD-3-Clause */
/* BYTES of a store is a promise: where nobody can see what is in the store, a file goes
 * to its own path. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tap/filelab.h"
#include "tap/tap.h"

enum { AT_ITS_OWN_PATH = 2, IN_THE_CACHE = 1 };

static atomic_bool is_blind;

static int list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    (void)fs;
    return is_blind && strstr(path, "/cache/")
               ? -EIO
               : vel_fs_posix()->ops->list(vel_fs_posix(), path, ret_names);
}

/* A file is created, and written if it got a place in the cache. */
static void place(struct filelab *lab, const char *name, unsigned where,
                  const char *why, const char *what)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    is_int(filelab_create(lab, 0, name, &place, &err), 0, "%s: %s is created %s", what,
           name, err.text);
    is_int((int)place.where, (int)where, "%s", what);
    if (why)
        ok(place.why && strstr(place.why, why), "which is told: %s",
           place.why ? place.why : "nothing");
    if (place.where == IN_THE_CACHE)
        is_int(filelab_close(lab, 0, &place, "some bytes", &err), 0, "and is closed %s",
               err.text);
    vel_place_fini(&place);
}

int main(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {&ops};
    struct filelab lab;
    char text[400];

    ops.list = list;
    snprintf(text, sizeof text,
             "DATASET=ck PATTERN=ck.{step}\nSTORE=%s/cache BYTES=1048576\n",
             tap_path("room"));
    filelab_init(&lab, "room", 1, 1, text);
    lab.fs = &fs;
    filelab_begin(&lab, "L1");
    place(&lab, "ck.1", IN_THE_CACHE, NULL, "a store with room takes a file");
    filelab_drain(&lab);
    is_blind = true;
    place(&lab, "ck.2", AT_ITS_OWN_PATH, "cannot list",
          "one that nobody can look at does not");
    is_blind = false;
    place(&lab, "ck.3", IN_THE_CACHE, NULL, "until it can be seen again");
    filelab_end(&lab);
    filelab_fini(&lab);
    return done_testing();
}
