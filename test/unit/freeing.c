/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that replaces an older one takes no time for the bytes of that: they are
 * freed when the last descriptor of a file without a name is closed, which the calling
 * thread never does. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/comm.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { BYTES = 4 << 20 };

static pthread_t caller;
static atomic_int by_caller, by_others;

/* Closes and removals that free a large file. */
static void count(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= BYTES &&
        st.st_nlink == 0)
        ++*(pthread_equal(caller, pthread_self()) ? &by_caller : &by_others);
}

static int counted_close(struct vel_fs *fs, int fd)
{
    (void)fs;
    count(fd);
    return vel_fs_posix()->ops->close(vel_fs_posix(), fd);
}

static bool is_open_elsewhere(int fd, const struct stat *st)
{
    struct stat other;

    for (int i = 3; i < 256; i++)
        if (i != fd && fstat(i, &other) == 0 && other.st_ino == st->st_ino &&
            other.st_dev == st->st_dev)
            return true;
    return false;
}

/* Who has it open frees it, and not who removes its name. */
static int counted_unlink(struct vel_fs *fs, const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    (void)fs;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= BYTES &&
        !is_open_elsewhere(fd, &st))
        by_caller++;
    if (fd >= 0)
        close(fd);
    return vel_fs_posix()->ops->unlink(vel_fs_posix(), path);
}

static void save(const struct seslab *lab, struct vel_session *s, int64_t version)
{
    char original[1024], *path = NULL;
    struct vel_err err = {0};
    int rc = vel_session_start(s, "big", version, VEL_USE_CHECKPOINT, &err);

    snprintf(original, sizeof original, "%s/big.%d", lab->prefix, (int)version);
    if (rc == 0)
        rc = vel_session_route(s, original, &path, &err);
    if (rc == 0) {
        tap_put_file(path, "a beginning");
        rc = truncate(path, BYTES) == 0 ? vel_session_complete(s, true, &err) : -1;
    }
    if (rc < 0)
        bail_out("checkpoint %d: %s", (int)version, err.text);
    free(path);
}

int main(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    struct seslab lab;
    struct vel_session *s = NULL;
    struct vel_comm *self;
    struct vel_err err = {0};

    caller = pthread_self();
    ops.close = counted_close;
    ops.unlink = counted_unlink;
    seslab_init(&lab, 5);
    seslab_set(&lab, "FLUSH", "0");
    if (vel_comm_self(&self, &err) < 0 || seslab_open(&lab, self, &fs, &s, &err) < 0)
        bail_out("%s", err.text);
    for (int64_t version = 1; version <= 4; version++)
        save(&lab, s, version);
    vel_session_close(s, "the end", &err);
    is_int(by_caller, 0, "no call frees the bytes of an older checkpoint");
    is_int(by_others, 3, "another thread does, of each of them");
    vel_comm_destroy(self);
    return done_testing();
}
