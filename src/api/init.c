/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Init, VELOC_Init_single, VELOC_Finalize. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/state.h"
#include "comm/mpi.h"
#include "engine/background.h"
#include "process/attend.h"
#include "process/files.h"
#include "sys/clock.h"
#include "veloc.h"

enum { UNIT = 32 };

/* Who works beside the session: the leader of this node. */
static struct vel_background *background(void)
{
    struct vel_background *offered = vel_background_offered();

    return offered ? offered : vel_attend();
}

static int open_session(struct vel_comm *world, const char *unit, const char *cfg_file)
{
    struct vel_api *api = vel_api();
    struct vel_session_setup setup = {.world = world,
                                      .fs = vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .user_file = cfg_file,
                                      .unit = unit,
                                      .background = background(),
                                      .ret_fault = &api->fault};
    bool is_speaker = world->rank == 0;
    int rc;

    api->fault = 0;
    api->regions = api->regions ? api->regions : vel_regions_create();
    rc = api->regions ? vel_conf_create(&setup.conf, &api->err)
                      : vel_out_of_memory(&api->err, "VELOC_Init");
    rc = vel_comm_agree(world, rc, &api->err);
    if (rc < 0) {
        vel_conf_destroy(setup.conf);
        vel_comm_destroy(world);
        return vel_api_leave(rc);
    }
    rc = vel_session_open(&setup, &api->session, &api->err);
    api->is_missing_told = rc < 0;
    if (rc == 0)
        vel_files_join(api->session);
    /* without a session the log knows of no ranks: one of them speaks */
    return rc < 0 && !is_speaker ? VELOC_FAILURE : vel_api_leave(rc);
}

static int may_begin(void)
{
    struct vel_api *api = vel_api();

    memset(&api->err, 0, sizeof api->err);
    if (api->session)
        return vel_api_refuse(
            "VELOC_Init was called before: call VELOC_Finalize between two");
    return VELOC_SUCCESS;
}

/* The ranks in the job of a communicator's first process and of this one; false when
 * some of its processes are of another job, which has joined this one. */
static int rank_in_job(MPI_Comm comm, struct vel_comm *world, int ret_ranks[2],
                       bool *ret_is_one_job, struct vel_err *err)
{
    int of[2] = {0, world->rank};
    MPI_Group job, group;
    int64_t is_other;
    int rc;

    MPI_Comm_group(MPI_COMM_WORLD, &job);
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(group, 2, of, job, ret_ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&job);
    is_other = ret_ranks[0] == MPI_UNDEFINED;
    rc = vel_comm_allreduce(world, VEL_COMM_MAX, &is_other, 1, err);
    *ret_is_one_job = !is_other;
    return rc;
}

/* Ranks that are not all of the job keep their datasets apart from those of others: by
 * the rank of their first one, which is the same when the job runs again. So do the
 * images of their memory: their names have ranks of the whole job then. */
static int name_unit(MPI_Comm comm, struct vel_comm *world, char text[UNIT],
                     const char **ret_unit, struct vel_err *err)
{
    int ranks[2], all, rc;
    bool is_one_job;

    vel_api()->rank = world->rank;
    *ret_unit = NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    rc = rank_in_job(comm, world, ranks, &is_one_job, err);
    if (rc < 0 || !is_one_job || world->size == all)
        return rc;
    vel_api()->rank = ranks[1];
    snprintf(text, UNIT, "part.%d", ranks[0]);
    *ret_unit = text;
    return 0;
}

int VELOC_Init(MPI_Comm comm, const char *cfg_file)
{
    struct vel_comm *world;
    char text[UNIT];
    const char *unit;
    int is_up = 0, is_down = 0, rc;

    if (may_begin() != VELOC_SUCCESS)
        return VELOC_FAILURE;
    MPI_Initialized(&is_up);
    MPI_Finalized(&is_down);
    if (!is_up || is_down)
        return vel_api_refuse(is_down ? "VELOC_Init was called after MPI_Finalize"
                                      : "call MPI_Init before VELOC_Init");
    if (comm == MPI_COMM_NULL)
        return vel_api_refuse("VELOC_Init was given MPI_COMM_NULL");
    rc = vel_comm_mpi(comm, &world, &vel_api()->err);
    if (rc < 0)
        return vel_api_leave(rc);
    rc = name_unit(comm, world, text, &unit, &vel_api()->err);
    if (rc < 0) {
        vel_comm_destroy(world);
        return vel_api_leave(rc);
    }
    rc = open_session(world, unit, cfg_file);
    /* Programs end now, all at once: not before one rank has told them why. */
    if (rc != VELOC_SUCCESS)
        MPI_Barrier(comm);
    return rc;
}

int VELOC_Init_single(unsigned int id, const char *cfg_file)
{
    struct vel_comm *self;
    char unit[UNIT];
    int rc;

    if (may_begin() != VELOC_SUCCESS)
        return VELOC_FAILURE;
    if (id > INT_MAX)
        return vel_api_refuse("VELOC_Init_single: an id is at most %d, not %u", INT_MAX,
                              id);
    rc = vel_comm_self(&self, &vel_api()->err);
    if (rc < 0)
        return vel_api_leave(rc);
    snprintf(unit, sizeof unit, "single.%u", id);
    vel_api()->rank = (int)id;
    return open_session(self, unit, cfg_file);
}

int VELOC_Finalize(int cleanup)
{
    struct vel_api *api = vel_api_enter();
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    vel_api_forget(api);
    vel_regions_destroy(api->regions);
    api->regions = NULL;
    api->started = 0;
    vel_files_join(NULL);
    rc = vel_session_close(api->session, cleanup ? "the program has finalized" : NULL,
                           &api->err);
    api->session = NULL;
    rc = vel_api_leave(rc);
    vel_files_go_on();
    return rc;
}
