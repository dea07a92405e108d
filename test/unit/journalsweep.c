/* SPDX-License-Identifier: BSD-3-Clause */
/* Journals that nobody will ask for go; all others stay. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/journal_in.h"
#include "log/mend.h"
#include "tap/tap.h"

static const char *dir;

static int put(const char *name, const char *boot)
{
    struct vel_journal_head head = {0};
    char path[500];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    memcpy(head.magic, VEL_JOURNAL_MAGIC, sizeof head.magic);
    strncpy(head.boot, boot, sizeof head.boot - 1);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || write(fd, &head, sizeof head) != sizeof head)
        bail_out("cannot write %s", path);
    return fd;
}

static bool is_there(const char *name)
{
    char path[500];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

int main(void)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char boot[VEL_HOST_BOOT];
    int locked;

    dir = tap_path("journal");
    mkdir(dir, 0700);
    if (vel_host_boot(vel_fs_posix(), boot, NULL) < 0)
        bail_out("no boot id");
    close(put("1-1", boot));
    close(put("1-2", "another boot"));
    close(put("1-3.5", boot));
    locked = put("1-4.5", boot);
    futimens(locked, long_ago);
    close(put("1-5.5", boot));
    utimensat(AT_FDCWD, tap_path("journal/1-5.5"), long_ago, 0);
    flock(locked, LOCK_EX);
    vel_mend_sweep(vel_fs_posix(), dir);
    ok(is_there("1-1"),
       "the journal of a writer that died stays for who opens the file");
    ok(!is_there("1-2"), "one of before the node was started goes");
    ok(is_there("1-3.5"), "one that is being made stays");
    ok(is_there("1-4.5"), "one that somebody has locked stays");
    ok(!is_there("1-5.5"), "one whose writer died while it made it goes");
    close(locked);
    return done_testing();
}
