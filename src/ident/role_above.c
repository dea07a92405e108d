/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that a rank has started has its environment, and is not that rank. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ident/role_in.h"
#include "sys/host.h"

enum { LOCKS_MOST = 1 << 22 };

/* Lines of /proc/locks are "N: FLOCK ADVISORY READ PID MAJOR:MINOR:INODE 0 EOF". */
static bool is_locked_above(struct vel_fs *fs, uint64_t inode)
{
    struct vel_buf text;
    bool is = false;

    vel_buf_init(&text);
    if (vel_fs_read_file(fs, "/proc/locks", LOCKS_MOST, &text, NULL) == 0)
        for (const char *line = vel_buf_text(&text); !is && *line;) {
            int64_t pid;
            uint64_t of;

            is = sscanf(line, "%*d: FLOCK %*s READ %" SCNd64 " %*x:%*x:%" SCNu64, &pid,
                        &of) == 2 &&
                 of == inode && vel_host_is_above(fs, pid);
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
    vel_buf_fini(&text);
    return is;
}

bool vel_role_is_above(struct vel_fs *fs, const struct vel_host *host, const char *base,
                       const char *launch)
{
    struct vel_role *role = NULL;
    struct stat st;

    if (vel_role_find(fs, host, base, launch, &role, NULL) < 0)
        return false;
    bool is = vel_fs_lstat(fs, role->alive_path, &st, NULL) == 0 &&
              is_locked_above(fs, st.st_ino);
    vel_role_close(role);
    return is;
}
