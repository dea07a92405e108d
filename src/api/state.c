/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/state.h"
#include "base/log.h"
#include "veloc.h"

/* The API has no handles, so that a process has one session, and it is here. */
static struct vel_api the_api;

struct vel_api *vel_api(void)
{
    return &the_api;
}

struct vel_api *vel_api_enter(void)
{
    memset(&the_api.err, 0, sizeof the_api.err);
    if (the_api.session)
        return &the_api;
    vel_fail(&the_api.err, VEL_ESTATE, "call VELOC_Init first");
    return NULL;
}

static int leave(int rc, void (*tell)(enum vel_log_level, const char *, ...))
{
    if (rc >= 0) {
        memset(&the_api.err, 0, sizeof the_api.err);
        return VELOC_SUCCESS;
    }
    if (!the_api.err.text[0])
        vel_fail(&the_api.err, (enum vel_status)rc, "%s", vel_status_text(rc));
    if (the_api.session || rc != VEL_ESTATE || !the_api.is_missing_told)
        tell(VEL_LOG_ERROR, "%s", the_api.err.text);
    the_api.is_missing_told |= !the_api.session && rc == VEL_ESTATE;
    return VELOC_FAILURE;
}

int vel_api_leave(int rc)
{
    return leave(rc, vel_log_shared);
}

int vel_api_leave_local(int rc)
{
    return leave(rc, vel_log);
}

int vel_api_agree(int returned)
{
    int rc = returned == VELOC_SUCCESS ? 0 : (int)the_api.err.status;

    rc = vel_comm_agree(vel_session_world(the_api.session), rc, &the_api.err);
    return rc == 0 ? VELOC_SUCCESS : VELOC_FAILURE;
}

int vel_api_refuse(const char *fmt, ...)
{
    va_list ap;

    memset(&the_api.err, 0, sizeof the_api.err);
    the_api.err.status = VEL_EINVAL;
    va_start(ap, fmt);
    vsnprintf(the_api.err.text, sizeof the_api.err.text, fmt, ap);
    va_end(ap);
    return vel_api_leave_local(VEL_EINVAL);
}

/* What is known of an image need not be found out by reading it. */
static void note_sum(struct vel_api *api, const struct vel_image_writer *writer)
{
    uint64_t size;
    uint32_t crc;

    if (vel_image_sum(writer, &size, &crc))
        vel_session_note_sum(api->session, vel_image_writer_path(writer), size, crc);
}

int vel_api_commit(struct vel_api *api)
{
    int rc = 0;

    for (size_t i = 0; api->writers && i < vel_map_count(api->writers); i++) {
        struct vel_err *err = rc == 0 ? &api->err : NULL;
        struct vel_image_writer *writer = vel_map_value(api->writers, i);
        int committed = vel_image_commit(writer, err);

        if (committed == 0)
            note_sum(api, writer);
        rc = rc == 0 ? committed : rc;
    }
    return rc;
}

static void destroy_writer(void *writer)
{
    vel_image_destroy(writer);
}

static void close_image(void *image)
{
    vel_image_close(image);
}

void vel_api_forget(struct vel_api *api)
{
    vel_map_destroy(api->writers, destroy_writer);
    vel_map_destroy(api->images, close_image);
    free(api->name);
    api->writers = api->images = NULL;
    api->name = NULL;
}

const char *VELOC_Error(void)
{
    return the_api.err.text;
}
