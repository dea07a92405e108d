/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are protected and not brought to the disk: in the boot of their machine
 * their sizes tell whether they are whole, in another one their bytes do. Whoever
 * protects them again brings them to the disk. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/files.h"
#include "tap/fs_fault.h"
#include "tap/tap.h"

static char name[] = "file";
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

/* Protect the file under an identity: how often something was brought to the disk. */
static uint64_t protect(const char *dir, uint8_t identity, bool is_unsynced, bool again)
{
    const struct vel_fs_fault_plan syncs = {.kinds = VEL_FS_KIND_SYNC};
    const uint8_t id[VEL_ENCODING_ID] = {identity};
    struct vel_red_set set = {.scheme = VEL_SINGLE,
                              .sets = 1,
                              .dir = dir,
                              .label = "set",
                              .id = id,
                              .is_unsynced = is_unsynced};
    char *names[] = {name};
    struct vel_fs_fault *fault;
    struct vel_comm *alone;
    uint64_t n;

    must(vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err));
    must(vel_comm_self(&alone, &err));
    vel_fs_fault_arm(fault, &syncs);
    set.fs = vel_fs_fault_fs(fault);
    set.comm = alone;
    must(again ? vel_red_apply_again(&set, 0, "d", 1, NULL, &err)
               : vel_red_apply(&set, names, 1, "d", 1, NULL, &err));
    n = vel_fs_fault_count(fault);
    vel_comm_destroy(alone);
    vel_fs_fault_destroy(fault);
    return n;
}

/* The newest redundancy file's header, as it would be `boots` boots later. */
static int check(const char *dir, unsigned boots)
{
    struct vel_vec found;
    int rc;

    must(vel_redfile_scan(vel_fs_posix(), dir, "set", 0, &found, &err));
    if (found.n == 0)
        bail_out("nothing is protected");
    vel_redfile_at(&found, 0)->header.boot += boots;
    rc = vel_redfile_check_files(vel_fs_posix(), dir,
                                 &vel_redfile_at(&found, 0)->header, &err);
    vel_redfiles_fini(&found);
    return rc;
}

int main(void)
{
    const char *dir = tap_path("part");
    char file[1200];

    tap_fresh_dir(dir);
    snprintf(file, sizeof file, "%s/%s", dir, name);
    tap_put_file(file, "as it was written");
    is_int((long long)protect(dir, 1, true, false), 0,
           "nothing is brought to the disk");
    ok(check(dir, 0) == 0 && check(dir, 1) == 0, "what is there is whole");
    tap_put_file(file, "as it was wrXXXXX");
    is_int(check(dir, 0), 0, "in its boot nobody reads it for that");
    ok(check(dir, 1) == VEL_ECORRUPT && strstr(err.text, "other bytes"),
       "in another one its bytes are looked at: %s", err.text);
    tap_put_file(file, "as it was written");
    ok(protect(dir, 2, false, true) >= 3, "protected again it is brought to the disk");
    tap_put_file(file, "as it was wrXXXXX");
    is_int(check(dir, 0), 0, "and its size tells");
    return done_testing();
}
