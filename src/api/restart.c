/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Restart_* and VELOC_Recover_*. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory.h"
#include "api/state.h"
#include "veloc.h"

int VELOC_Restart_test(const char *name, int version)
{
    struct vel_api *api = vel_api_enter();
    int64_t newest;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = vel_session_restart_test(api->session, name, version, &newest, &api->err);
    if (rc == VEL_ENOENT)
        return VELOC_FAILURE; /* nothing is wrong: there is no checkpoint yet */
    if (rc == 0 && newest > INT_MAX)
        rc = vel_fail(&api->err, VEL_EINVAL, "checkpoint '%s': version %lld is no int",
                      name, (long long)newest);
    return vel_api_leave(rc) == VELOC_SUCCESS ? (int)newest : VELOC_FAILURE;
}

int VELOC_Restart_begin(const char *name, int version)
{
    struct vel_api *api = vel_api_enter();
    char *copy = NULL;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    copy = name ? strdup(name) : NULL; /* without memory it is refused on all ranks */
    rc = vel_session_restart_begin(api->session, copy, version, &api->err);
    if (rc < 0) {
        free(copy);
        return vel_api_leave(rc);
    }
    vel_api_forget(api);
    api->name = copy;
    api->version = version;
    return vel_api_leave(0);
}

enum how { BAD, GOOD, UNFIT };

static int end(enum how how)
{
    struct vel_api *api = vel_api_enter();
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = how == UNFIT ? vel_session_restart_decline(api->session, &api->err)
                      : vel_session_restart_end(api->session, how == GOOD, &api->err);
    if (rc != VEL_ESTATE)
        vel_api_forget(api);
    return vel_api_leave(rc);
}

int VELOC_Restart_end(int success)
{
    return end(success ? GOOD : BAD);
}

/* --- memory --- */

static int image_of(struct vel_api *api, const char *region, struct vel_image **ret)
{
    const char *key = region ? region : "";
    char *path = NULL;
    int rc;

    if (!api->name || !vel_session_is_reading(api->session))
        return vel_fail(&api->err, VEL_ESTATE,
                        "no restart was begun: call VELOC_Restart_begin first");
    if (!api->images && !(api->images = vel_map_create()))
        return vel_out_of_memory(&api->err, "a restart");
    *ret = vel_map_get(api->images, key);
    if (*ret)
        return 0;
    rc = vel_api_image_path(api, region, &path, &api->err);
    if (rc == 0)
        rc = vel_image_open(vel_session_fs(api->session), path, ret, &api->err);
    free(path);
    if (rc == 0 && vel_map_set(api->images, key, *ret, NULL) < 0) {
        vel_image_close(*ret);
        rc = vel_out_of_memory(&api->err, "a restart");
    }
    return rc;
}

static int recover(struct vel_api *api, const struct vel_selection *selection)
{
    struct vel_selection all = {.mode = VEL_SELECT_ALL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_regions_lists(api->regions); i++) {
        const struct vel_region_list *list = vel_regions_at(api->regions, i);
        struct vel_image *image;

        rc = image_of(api, list->name, &image);
        if (rc == 0)
            rc = vel_image_read(image, list, list->name ? &all : selection, &api->err);
    }
    return rc;
}

int VELOC_Recover_selective(int mode, int *ids, int id_count)
{
    struct vel_api *api = vel_api_enter();
    struct vel_selection selection;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = vel_selection_init(&selection, mode, ids, id_count, &api->err);
    if (rc < 0)
        return vel_api_leave_local(rc);
    rc = recover(api, &selection);
    vel_selection_fini(&selection);
    return vel_api_leave_local(rc);
}

int VELOC_Recover_mem(void)
{
    return VELOC_Recover_selective(VELOC_RECOVER_ALL, NULL, 0);
}

int VELOC_Mem_recover(int mode, int *ids, int id_count)
{
    return VELOC_Recover_selective(mode, ids, id_count);
}

int VELOC_Recover_size(int id)
{
    struct vel_api *api = vel_api_enter();
    struct vel_image *image;
    uint64_t bytes = 0;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = image_of(api, NULL, &image);
    if (rc == 0)
        rc = vel_image_size_of(image, id, &bytes, &api->err);
    if (rc == 0 && bytes > INT_MAX)
        rc = vel_fail(&api->err, VEL_EINVAL,
                      "region %d has more bytes than an int tells", id);
    return vel_api_leave_local(rc) == VELOC_SUCCESS ? (int)bytes : VELOC_FAILURE;
}

/* What this rank could not read is what it hears of, not that all have ended. */
int VELOC_Restart(const char *name, int version)
{
    struct vel_err why;
    int recovered;

    if (VELOC_Restart_begin(name, version) != VELOC_SUCCESS)
        return VELOC_FAILURE;
    recovered = vel_api_agree(VELOC_Recover_mem());
    why = vel_api()->err;
    if (recovered == VELOC_SUCCESS)
        return end(GOOD);
    end(why.status == VEL_ECORRUPT || why.status == VEL_EIO ? BAD : UNFIT);
    vel_api()->err = why;
    return VELOC_FAILURE;
}
