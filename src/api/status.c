/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Need_checkpoint, VELOC_Status, VELOC_Check_* and what else is asked or told
 * about checkpoints. */
#include "config.h"

#include "api/state.h"
#include "engine/health.h"
#include "veloc.h"

typedef int decide_f(struct vel_session *session, bool *ret, struct vel_err *err);

/* Said after the others were answered, who would wait for this rank. */
static int no_place(void)
{
    return vel_api_refuse("there is no place for the answer");
}

static int decide(decide_f *ask, int *flag)
{
    struct vel_api *api = vel_api_enter();
    bool answer = false;
    int rc;

    if (flag)
        *flag = 0;
    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = ask(api->session, &answer, &api->err);
    if (!flag)
        return no_place();
    *flag = answer;
    return vel_api_leave(rc);
}

int VELOC_Need_checkpoint(int *flag)
{
    return decide(vel_session_need_checkpoint, flag);
}

int VELOC_Exit_test(int *flag)
{
    return decide(vel_session_exit_test, flag);
}

int VELOC_Status(const char *name, int *status)
{
    struct vel_api *api = vel_api_enter();
    enum vel_session_where where = VEL_WHERE_NONE;
    int rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    rc = vel_session_where(api->session, name, &where, &api->err);
    if (!status)
        return no_place();
    if (rc == 0)
        *status = (int)where;
    return vel_api_leave(rc);
}

static int manage(const char *name, int version, bool with_files, bool is_drop)
{
    struct vel_api *api = vel_api_enter();

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    return vel_api_leave(
        is_drop ? vel_session_drop(api->session, name, version, with_files, &api->err)
                : vel_session_set_current(api->session, name, version, &api->err));
}

int VELOC_Current(const char *name, int version)
{
    return manage(name, version, false, false);
}

int VELOC_Drop(const char *name, int version)
{
    return manage(name, version, false, true);
}

int VELOC_Delete(const char *name, int version)
{
    return manage(name, version, true, true);
}

/* --- health --- */

typedef int health_f(struct vel_session *session, const char *dir, int *ret_status,
                     struct vel_err *err);

static int examine(health_f *check, const char *dir, int *status)
{
    struct vel_api *api = vel_api_enter();
    int answer = 0, rc;

    if (!api)
        return vel_api_leave_local(VEL_ESTATE);
    vel_session_expect(api->session, vel_regions_bytes(api->regions));
    rc = check(api->session, dir, &answer, &api->err);
    if (!status)
        return no_place();
    if (rc == 0)
        *status = answer;
    return vel_api_leave(rc);
}

/* Settings that are no good open no session: then it is those that are asked about. */
int VELOC_Check_Configuration(int *status)
{
    struct vel_api *api = vel_api();

    if (!api->session && api->fault) {
        if (!status)
            return no_place();
        *status = api->fault;
        return VELOC_SUCCESS;
    }
    return examine(vel_health_configuration, NULL, status);
}

int VELOC_Check_Storage_Availability(const char *dir, int *status)
{
    return examine(vel_health_storage, dir, status);
}

int VELOC_Check_Backend_Aliveness(int *status)
{
    return examine(vel_health_listeners, NULL, status);
}

int VELOC_Check_Backup_Nodes(int *status)
{
    return examine(vel_health_nodes, NULL, status);
}
