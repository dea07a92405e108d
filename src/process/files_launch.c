/* SPDX-License-Identifier: BSD-3-Clause */
/* Which launch the files of this process are in, when no session is in one. */
#define _GNU_SOURCE /* program_invocation_name */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "process/files_in.h"
#include "process/launcher.h"

static int meet(const struct vel_files_self *self, const char *name,
                struct vel_launcher *launcher, char ret[VEL_LAUNCH_ROOM],
                struct vel_err *err)
{
    const struct vel_launch_self of = {
        .name = name,
        .dir = self->dir,
        .host = &(struct vel_host){.node = self->node, .user = self->user},
        .is_virtual = self->conf->virtual_nodes > 0,
        .cntl_base = self->conf->cntl_base,
        .user = geteuid(),
        .program = program_invocation_name,
        .working_dir = self->cwd,
        .rank = launcher->rank,
        .ranks = launcher->ranks,
        .clock = vel_clock_system(),
        .limit = (uint64_t)(self->conf->peer_timeout * (double)VEL_CLOCK_S)};
    bool is_child = false;
    int rc = vel_launchid_meet(vel_fs_posix(), &of, ret, &is_child, err);

    if (is_child) { /* it has inherited what its launcher says */
        launcher->rank = 0;
        launcher->ranks = 1;
    }
    return rc;
}

int vel_files_name_launch(const struct vel_files_self *self,
                          struct vel_launcher *launcher, char ret[VEL_LAUNCH_ROOM],
                          struct vel_err *err)
{
    struct vel_launch_texts texts = launcher->texts;
    char name[VEL_LAUNCH_ROOM];
    struct vel_buf starter;
    int rc;

    vel_buf_init(&starter);
    vel_launcher_find(vel_fs_posix(), launcher, &starter);
    texts.launch = self->conf->launch;
    texts.starter = vel_buf_text(&starter);
    rc = vel_buf_status(&starter, err);
    if (rc == 0)
        rc = vel_launchid_named(&texts, name, err);
    vel_buf_fini(&starter);
    if (rc < 0)
        return rc;
    return name[0] || launcher->ranks > 1 ? meet(self, name, launcher, ret, err)
                                          : vel_launchid_fresh(ret, err);
}
