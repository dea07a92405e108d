/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Checkpoint_*, and the files and the memory that go into one. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "api/image_name.h"
#include "api/memory.h"
#include "api/state.h"
#include "base/path.h"
#include "process/files.h"
#include "veloc.h"

/* --- begin, end --- */

static int start(const char *name, int64_t version, unsigned use)
{
    struct vel_api *api = vel_api_enter();
    char *copy = NULL;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    copy = name ? strdup(name) : NULL; /* without memory it is refused on all ranks */
    vel_session_expect(api->session, vel_regions_bytes(api->regions));
    rc = vel_session_start(api->session, copy, version, use, &api->err);
    if (rc < 0) {
        free(copy);
        return vel_api_leave(rc);
    }
    vel_api_forget(api);
    api->name = copy;
    api->version = (int)version;
    return vel_api_leave(0);
}

static int complete(int is_valid)
{
    struct vel_api *api = vel_api_enter();
    struct vel_err own = {0};
    int committed, rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    committed = vel_api_commit(api);
    if (committed == VEL_ENOSPC)
        vel_session_note_full(api->session);
    if (committed == 0)
        committed = vel_files_settle(&api->err);
    own = api->err;
    memset(&api->err, 0, sizeof api->err);
    rc = vel_session_complete(api->session, is_valid && committed == 0, &api->err);
    if (rc != VEL_ESTATE)
        vel_api_forget(api);
    if (committed < 0)
        api->err = own;
    return vel_api_leave(rc);
}

int VELOC_Checkpoint_begin(const char *name, int version)
{
    return start(name, version, VEL_USE_CHECKPOINT);
}

int VELOC_Checkpoint_end(int success)
{
    return complete(success);
}

int VELOC_Start_checkpoint(void)
{
    struct vel_api *api = vel_api();
    int64_t newest = -1;

    if (api->session && api->started == 0 &&
        vel_session_restart_test(api->session, "checkpoint", 0, &newest, NULL) == 0)
        api->started = newest;
    if (start("checkpoint", api->started + 1, VEL_USE_CHECKPOINT) != VELOC_SUCCESS)
        return VELOC_FAILURE;
    api->started++;
    return VELOC_SUCCESS;
}

int VELOC_Complete_checkpoint(int valid)
{
    return complete(valid);
}

int VELOC_Start_output(const char *name, int version, int use)
{
    return start(name, version, (unsigned)use);
}

int VELOC_Complete_output(int valid)
{
    return complete(valid);
}

/* --- its files --- */

typedef int route_f(struct vel_session *session, const char *path, char **ret_path,
                    struct vel_err *err);

static int route(route_f *how, const char *original, char *routed)
{
    struct vel_api *api = vel_api_enter();
    char *path = NULL;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    if (!original || !routed)
        return vel_api_refuse("a file was to be routed without %s",
                              original ? "room for the result" : "a name");
    rc = how(api->session, original, &path, &api->err);
    if (rc == 0 && strlen(path) >= VELOC_MAX_NAME)
        rc = vel_fail(&api->err, VEL_EINVAL,
                      "'%s': where it goes has a path of more than %d bytes", original,
                      VELOC_MAX_NAME - 1);
    if (rc == 0)
        memcpy(routed, path, strlen(path) + 1);
    free(path);
    return vel_api_leave_local(rc);
}

int VELOC_Route_file(const char *original, char *routed)
{
    return route(vel_session_route, original, routed);
}

int VELOC_Route_through(const char *original, char *routed)
{
    return route(vel_session_route_through, original, routed);
}

/* --- its memory --- */

int vel_api_image_path(struct vel_api *api, const char *region, char **ret_path,
                       struct vel_err *err)
{
    char *name = NULL, *path = NULL;
    int rc = vel_image_name(api->name, region, api->rank, api->version, &name, err);

    if (rc == 0) {
        path = vel_path_join(vel_session_prefix(api->session), name);
        rc = path ? vel_session_route(api->session, path, ret_path, err)
                  : vel_out_of_memory(err, "a checkpoint");
    }
    free(path);
    free(name);
    return rc;
}

static int writer_of(struct vel_api *api, const struct vel_region_list *list,
                     struct vel_image_writer **ret)
{
    const char *key = list->name ? list->name : "";
    bool has_crc = vel_session_conf(api->session)->crc_on_copy;
    char *path = NULL;
    int rc = 0;

    if (!api->writers && !(api->writers = vel_map_create()))
        return vel_out_of_memory(&api->err, "a checkpoint");
    *ret = vel_map_get(api->writers, key);
    if (*ret)
        return 0;
    rc = vel_api_image_path(api, list->name, &path, &api->err);
    if (rc == 0)
        rc = vel_image_create(vel_session_fs(api->session), path, has_crc, ret,
                              &api->err);
    free(path);
    if (rc == 0 && vel_map_set(api->writers, key, *ret, NULL) < 0) {
        vel_image_destroy(*ret);
        rc = vel_out_of_memory(&api->err, "a checkpoint");
    }
    return rc;
}

/* The ids are those of the regions without a name; those with one are always saved. */
static int save(struct vel_api *api, const struct vel_selection *selection)
{
    struct vel_selection all = {.mode = VEL_SELECT_ALL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_regions_lists(api->regions); i++) {
        const struct vel_region_list *list = vel_regions_at(api->regions, i);
        struct vel_image_writer *writer;

        rc = writer_of(api, list, &writer);
        if (rc == 0)
            rc = vel_image_append(writer, list, list->name ? &all : selection,
                                  &api->err);
    }
    return rc;
}

int VELOC_Checkpoint_selective(int mode, int *ids, int id_count)
{
    struct vel_api *api = vel_api_enter();
    struct vel_selection selection;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    if (!api->name || !vel_session_is_writing(api->session))
        return vel_api_refuse(
            "no checkpoint was begun: call VELOC_Checkpoint_begin first");
    rc = vel_selection_init(&selection, mode, ids, id_count, &api->err);
    if (rc < 0)
        return vel_api_leave_local(rc);
    rc = save(api, &selection);
    if (rc == VEL_ENOSPC)
        vel_session_note_full(api->session);
    vel_selection_fini(&selection);
    return vel_api_leave_local(rc);
}

int VELOC_Checkpoint_mem(void)
{
    return VELOC_Checkpoint_selective(VELOC_CKPT_ALL, NULL, 0);
}

int VELOC_Mem_save(void)
{
    return VELOC_Checkpoint_mem();
}

/* --- all of it --- */

int VELOC_Checkpoint_wait(void)
{
    struct vel_api *api = vel_api_enter();

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    return vel_api_leave(vel_session_wait(api->session, &api->err));
}

int VELOC_Checkpoint_finished(void)
{
    struct vel_api *api = vel_api_enter();
    bool is_finished = true;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = vel_session_finished(api->session, &is_finished, &api->err);
    return vel_api_leave_local(rc) == VELOC_SUCCESS ? is_finished : VELOC_FAILURE;
}

/* Collective. Did any rank fail for lack of room? */
static bool is_full(void)
{
    struct vel_api *api = vel_api();
    int64_t full = api->err.status == VEL_ENOSPC;

    return api->session &&
           vel_comm_allreduce(vel_session_world(api->session), VEL_COMM_MAX, &full, 1,
                              NULL) == 0 &&
           full;
}

static int checkpoint(const char *name, int version)
{
    struct vel_err why;
    int saved, ended;

    if (VELOC_Checkpoint_begin(name, version) != VELOC_SUCCESS)
        return VELOC_FAILURE;
    saved = vel_api_agree(VELOC_Checkpoint_mem());
    why = vel_api()->err;
    ended = VELOC_Checkpoint_end(saved == VELOC_SUCCESS);
    if (saved == VELOC_SUCCESS)
        return ended;
    vel_api()->err = why;
    return VELOC_FAILURE;
}

/* Where it goes is known before how large it is. When there was no room the session
 * knows better, and another place may have some. */
int VELOC_Checkpoint(const char *name, int version)
{
    int rc = checkpoint(name, version);

    return rc == VELOC_FAILURE && is_full() ? checkpoint(name, version) : rc;
}

int VELOC_Cleanup(const char *name)
{
    struct vel_api *api = vel_api_enter();

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    return vel_api_leave(vel_session_clean(api->session, name, &api->err));
}
