/* SPDX-License-Identifier: BSD-3-Clause */
/* A flush meets a part that has changed: it makes it again, on whichever node that is.
 * Where a reader has done so by the time the flush would, it goes on, and does not give
 * the dataset up. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

#define RULE "DATASET=ck PATTERN=ck.{step}.{rank}.h5\nCOPY_TYPE=XOR\n"

/* --- a part that changes while it is copied --- */

static struct {
    pthread_mutex_t lock;
    char file[32];            /* "": none is to change */
    bool is_read;             /* by somebody who makes it good */
    char part[1000];          /* that has it; "": not seen yet */
    bool is_changed, is_over; /* its first byte is, or has been made good again */
} damage = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_damage(const char *file, bool is_read)
{
    pthread_mutex_lock(&damage.lock);
    snprintf(damage.file, sizeof damage.file, "%s", file);
    damage.is_read = is_read;
    damage.part[0] = '\0';
    damage.is_changed = damage.is_over = false;
    pthread_mutex_unlock(&damage.lock);
}

/* Nobody sees it by the time of the file. */
static void change_first(const char *path)
{
    int fd = open(path, O_RDWR);
    struct stat st;
    char byte;

    if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, &byte, 1, 0) != 1)
        bail_out("no part at %s", path);
    byte ^= 1;
    if (pwrite(fd, &byte, 1, 0) != 1 ||
        futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}) < 0)
        bail_out("%s cannot be changed", path);
    close(fd);
}

static bool is_copy(const char *path)
{
    char name[64];
    int len = snprintf(name, sizeof name, ".%s.h5v-", damage.file);

    return strncmp(vel_path_base(path), name, (size_t)len) == 0;
}

/* The source has been opened before its copy is created. */
static int open_watched(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    pthread_mutex_lock(&damage.lock);
    if (strcmp(vel_path_base(path), damage.file) == 0 && !(flags & O_CREAT) &&
        strstr(path, "/dataset."))
        snprintf(damage.part, sizeof damage.part, "%s", path);
    if (is_copy(path) && flags & O_CREAT && damage.part[0] && !damage.is_over &&
        !damage.is_changed) {
        change_first(damage.part);
        damage.is_changed = true;
    }
    pthread_mutex_unlock(&damage.lock);
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

/* A copy that has failed is removed: by now somebody else has read the part. */
static int unlink_watched(struct vel_fs *fs, const char *path)
{
    (void)fs;
    pthread_mutex_lock(&damage.lock);
    if (is_copy(path) && damage.is_read && damage.is_changed && !damage.is_over) {
        change_first(damage.part);
        damage.is_over = true;
    }
    pthread_mutex_unlock(&damage.lock);
    return vel_fs_posix()->ops->unlink(vel_fs_posix(), path);
}

/* --- scenarios --- */

static void read_meanwhile(struct vel_fs *fs)
{
    struct vel_err err = {0};
    struct filelab lab;

    begin_damage("ck.1.0.h5", true);
    filelab_init(&lab, "mended", 2, 2, RULE);
    lab.fs = fs;
    filelab_begin(&lab, "L1");
    is_int(filelab_write(&lab, 0, "ck.1.0.h5", "of rank 0\n", &err), 0,
           "rank 0 writes");
    is_int(filelab_write(&lab, 1, "ck.1.1.h5", "of rank 1\n", &err), 0,
           "rank 1 writes");
    filelab_end(&lab);
    ok(damage.is_over, "the flush has met a part that had changed, and was good then");
    ok(filelab_stands(&lab, "ck.1.0.h5", "of rank 0\n") &&
           filelab_stands(&lab, "ck.1.1.h5", "of rank 1\n"),
       "both files stand on the prefix when the launch ends");
    filelab_fini(&lab);
}

/* In step r + 1 that of rank r changes: with sets of two nodes each set is met, and of
 * each a node that is not the chair. */
static void in_each_set(struct vel_fs *fs)
{
    struct vel_err err = {0};
    struct filelab lab;

    filelab_init(&lab, "sets", 4, 4, RULE "SET_SIZE=2\n");
    lab.fs = fs;
    filelab_begin(&lab, "L1");
    for (int met = 0; met < 4; met++) {
        char name[32], text[32];
        bool are_good = true;

        snprintf(name, sizeof name, "ck.%d.%d.h5", met + 1, met);
        begin_damage(name, false);
        for (int rank = 0; rank < 4; rank++) {
            snprintf(name, sizeof name, "ck.%d.%d.h5", met + 1, rank);
            snprintf(text, sizeof text, "of rank %d\n", rank);
            if (filelab_write(&lab, rank, name, text, &err) < 0)
                bail_out("%s: %s", name, err.text);
        }
        filelab_drain(&lab);
        for (int rank = 0; rank < 4; rank++) {
            snprintf(name, sizeof name, "ck.%d.%d.h5", met + 1, rank);
            snprintf(text, sizeof text, "of rank %d\n", rank);
            are_good = are_good && filelab_stands(&lab, name, text);
        }
        ok(damage.is_changed && are_good,
           "the flush makes the part of rank %d again from those of its set", met);
    }
    filelab_end(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs watched = {&ops};

    ops.open = open_watched;
    ops.unlink = unlink_watched;
    read_meanwhile(&watched);
    in_each_set(&watched);
    return done_testing();
}
