/* SPDX-License-Identifier: BSD-3-Clause */
/* A terminated stage leaves the half that was written; a wait for a pending one would
 * block, so here it is refused: the plug-in shall not do that. */
#include "config.h"

#include <errno.h>

#include "sdk/datawarp/datawarp.h"
#include "sdk/sdk.h"

/* the stage of a file, -EINVAL when it has none */
static int stage_of(const char *path)
{
    int copy = sdk_find(path);

    return copy < 0 || sdk_state(copy) == SDK_CANCELLED ? -EINVAL : copy;
}

int dw_set_stage_concurrency(const char *dw_instance_path,
                             unsigned int concurrent_stages)
{
    return sdk_call("dw_set_stage_concurrency", "%s %u", sdk_base(dw_instance_path),
                    concurrent_stages);
}

int dw_stage_file_out(const char *dw_file_path, const char *pfs_file_path,
                      enum dw_stage_type stage_type)
{
    int rc = sdk_call("dw_stage_file_out", "%s %s %d", sdk_base(dw_file_path),
                      sdk_base(pfs_file_path), (int)stage_type);
    int copy = stage_of(dw_file_path);

    if (rc != 0)
        return rc;
    if (copy >= 0 && sdk_state(copy) == SDK_PENDING)
        return -EBUSY;
    return sdk_begin(dw_file_path, pfs_file_path) < 0 ? -ENOENT : 0;
}

int dw_query_file_stage(const char *dw_file_path, int *complete, int *pending,
                        int *deferred, int *failed)
{
    int rc = sdk_call("dw_query_file_stage", "%s", sdk_base(dw_file_path));
    int copy = stage_of(dw_file_path);

    if (rc != 0 || copy < 0)
        return rc ? rc : copy;
    enum sdk_state state = sdk_look(copy);
    *complete = state == SDK_DONE;
    *pending = state == SDK_PENDING;
    *deferred = 0;
    *failed = state == SDK_LOST;
    return 0;
}

int dw_wait_file_stage(const char *dw_file_path)
{
    int rc = sdk_call("dw_wait_file_stage", "%s", sdk_base(dw_file_path));
    int copy = stage_of(dw_file_path);

    if (rc != 0 || copy < 0)
        return rc == SDK_LIE ? 0 : rc ? rc : copy;
    return sdk_state(copy) == SDK_PENDING ? -EDEADLK
           : sdk_state(copy) == SDK_LOST  ? -ENOSPC
                                          : 0;
}

int dw_terminate_file_stage(const char *dw_file_path)
{
    int rc = sdk_call("dw_terminate_file_stage", "%s", sdk_base(dw_file_path));
    int copy = stage_of(dw_file_path);

    if (rc != 0 || copy < 0)
        return rc ? rc : copy;
    sdk_cancel(copy);
    return 0;
}
