/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "head.h"
#include "mpi_rank.h"
#include "object.h"
#include "push.h"
#include "route.h"
#include "vfd/driver.h"
#include "vfd/opened.h"

/* Why a file stays where it is whatever the engine would say; NULL: it may be asked. */
static const char *is_own(unsigned flags, hid_t fapl_id, bool *ret_is_self)
{
    int sharers = vel_mpi_sharers(fapl_id);

    *ret_is_self = sharers == 1;
    if (sharers > 1)
        return "MPI-IO opens it for a communicator";
    if (!*ret_is_self && !vel_driver_fits(fapl_id))
        return "its file driver has no file of its own there";
    if (flags & (H5F_ACC_SWMR_WRITE | H5F_ACC_SWMR_READ))
        return "it is read while it is written (SWMR)";
    return NULL;
}

/* A file for this process alone that is at its own path is MPI-IO's. */
static void note_self(struct vel_route *route)
{
    if (!route->is_self || route->answer.at != VEL_FILE_OWN)
        return;
    route->answer.has_journal = false;
    if (!route->answer.why)
        route->answer.why = strdup("MPI-IO writes it at its own path");
}

/* The list for where the file is. */
static int place(struct vel_route *route, const struct vel_info *info, hid_t *fapl_id)
{
    hid_t placed;

    if (route->answer.is_off || (route->is_self ? route->answer.at == VEL_FILE_OWN
                                                : !vel_driver_fits(*fapl_id)))
        return 0;
    placed = vel_info_fapl_below(info, *fapl_id);
    if (placed < 0)
        return -1;
    if ((route->is_self && vel_mpi_leave(placed) < 0) ||
        vel_driver_place(placed, &route->placed) < 0) {
        H5Pclose(placed);
        return -1;
    }
    *fapl_id = placed;
    return 0;
}

static int fail(const struct vel_err *err)
{
    return vel_push(H5E_CANTOPENFILE, "%s", err->text);
}

static void begin(struct vel_route *route, const char *name, hid_t fapl_id)
{
    *route = (struct vel_route){.answer.at = VEL_FILE_OWN,
                                .placed = {.name = name, .answer = &route->answer},
                                .own_id = fapl_id};
}

int vel_route_create(struct vel_route *route, const struct vel_info *info,
                     const char *name, unsigned flags, hid_t *fapl_id)
{
    struct vel_files_of files_of = vel_info_files_of(info);
    struct vel_err err = {0};
    const char *why;

    begin(route, name, *fapl_id);
    why = is_own(flags, *fapl_id, &route->is_self);
    files_of.is_shared = route->is_self;
    files_of.locks = !route->is_self && vel_driver_locks(*fapl_id);
    files_of.descriptor = vel_opened_descriptor;
    route->is_new = true;
    if (why) {
        vel_files_native(&files_of, name, why, &route->answer);
        return place(route, info, fapl_id);
    }
    if (vel_files_create(&files_of, name, flags & H5F_ACC_EXCL, &route->answer, &err) <
        0)
        return fail(&err);
    note_self(route);
    return place(route, info, fapl_id);
}

int vel_route_open(struct vel_route *route, const struct vel_info *info,
                   const char *name, unsigned flags, hid_t *fapl_id)
{
    struct vel_files_of files_of = vel_info_files_of(info);
    struct vel_err err = {0};
    const char *why;

    begin(route, name, *fapl_id);
    why = is_own(flags, *fapl_id, &route->is_self);
    files_of.is_shared = route->is_self;
    files_of.locks = !route->is_self && vel_driver_locks(*fapl_id);
    files_of.descriptor = vel_opened_descriptor;
    if ((why ? vel_files_open_own(&files_of, name, vel_driver_fits(*fapl_id),
                                  &route->answer, &err)
             : vel_files_open(&files_of, name, flags & H5F_ACC_RDWR, &route->answer,
                              &err)) < 0 ||
        (route->answer.at == VEL_FILE_OWN &&
         vel_files_mend(&files_of, name, vel_head_closed, &err) < 0))
        return fail(&err);
    if (why && flags & H5F_ACC_RDWR && route->answer.at == VEL_FILE_OWN)
        vel_files_native(&files_of, name, why, &route->answer);
    note_self(route);
    route->is_read = !why && !route->answer.file;
    return place(route, info, fapl_id);
}

int vel_route_look(struct vel_route *route, const struct vel_info *info,
                   const char *name, hid_t *fapl_id)
{
    struct vel_files_of files_of = vel_info_files_of(info);
    struct vel_err err = {0};

    begin(route, name, *fapl_id);
    if (is_own(0, *fapl_id, &route->is_self))
        return 0;
    files_of.is_shared = route->is_self;
    if (vel_files_look(&files_of, name, &route->answer, &err) < 0)
        return fail(&err);
    route->is_read = !route->answer.file;
    return route->answer.at == VEL_FILE_AWAY ? 0 : place(route, info, fapl_id);
}

/* What the system refuses is refused again, and then without a word of ours in HDF5's
 * errors. */
bool vel_route_settle(struct vel_route *route, hid_t fapl_id, bool is_open)
{
    struct vel_file *file = route->answer.file;
    hid_t stack = vel_stack_save();
    bool may_retry = !is_open && fapl_id != route->own_id &&
                     route->answer.at == VEL_FILE_OWN && route->placed.is_refused;

    if (file && vel_file_settle(file, is_open))
        may_retry = route->is_new;
    if (is_open)
        vel_files_tell(&route->answer);
    else
        route->answer.file = NULL;
    vel_stack_restore(stack);
    return may_retry;
}

bool vel_route_is_stale(const struct vel_route *route)
{
    return route->is_read && route->answer.at == VEL_FILE_CACHED &&
           route->placed.is_refused;
}

void vel_route_end(struct vel_route *route, hid_t fapl_id)
{
    hid_t stack = vel_stack_save();

    if (fapl_id != route->own_id)
        H5Pclose(fapl_id);
    vel_file_answer_fini(&route->answer);
    vel_stack_restore(stack);
}

int vel_route_remove(const struct vel_info *info, const char *name, hid_t fapl_id,
                     bool *ret_is_gone)
{
    struct vel_files_of files_of = vel_info_files_of(info);
    struct vel_err err = {0};
    bool is_self;

    *ret_is_gone = false;
    if (is_own(0, fapl_id, &is_self))
        return 0;
    if (vel_files_remove(&files_of, name, ret_is_gone, &err) < 0)
        return vel_push(H5E_CANTDELETEFILE, "%s", err.text);
    return 0;
}
