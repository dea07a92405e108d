/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes "move" at its word: a file that has arrived is gone where it came from. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "sdk/cppr/cppr.h"
#include "sdk/sdk.h"

static char sources[64][1200];

cppr_return_t cppr_status(void)
{
    return (cppr_return_t)sdk_call("cppr_status", "%s", "");
}

const char *cppr_err_to_str(cppr_return_t code)
{
    return code == CPPR_SUCCESS ? "success" : "an error of the stand-in";
}

cppr_return_t cppr_mv(struct cppr_op_info *info, void *group, int flags, void *unknown,
                      const char *dst, const char *src, const char *file)
{
    char from[1200], to[1200];
    int rc =
        sdk_call("cppr_mv", "%s %s %s %d", sdk_base(dst), sdk_base(src), file, flags);

    if (rc != 0 || group || unknown)
        return rc ? (cppr_return_t)rc : CPPR_STAND_IN_FAILURE;
    snprintf(from, sizeof from, "%s/%s", src, file);
    snprintf(to, sizeof to, "%s/%s", dst, file);
    int copy = sdk_begin(from, to);
    if (copy < 0)
        return CPPR_STAND_IN_FAILURE;
    snprintf(sources[copy], sizeof sources[copy], "%s", from);
    *info = (struct cppr_op_info){
        .handle = (unsigned)copy, .retcode = CPPR_OP_EXECUTING, .progress = 50};
    return CPPR_SUCCESS;
}

static void look(uint32_t count, struct cppr_op_info info[])
{
    for (uint32_t i = 0; i < count; i++) {
        enum sdk_state state = sdk_look((int)info[i].handle);

        if (state == SDK_PENDING)
            continue;
        info[i].status = CPPR_STATUS_COMPLETE;
        info[i].retcode = state == SDK_DONE ? CPPR_SUCCESS : CPPR_STAND_IN_FAILURE;
        info[i].progress = 100;
        unlink(sources[info[i].handle]);
    }
}

cppr_return_t cppr_test_all(uint32_t count, struct cppr_op_info info[])
{
    int rc = sdk_call("cppr_test_all", "%u", count);

    if (rc == 0)
        look(count, info);
    return (cppr_return_t)rc;
}

cppr_return_t cppr_wait_all(uint32_t count, struct cppr_op_info info[],
                            uint32_t timeoutMS)
{
    int rc = sdk_call("cppr_wait_all", "%u", count);

    (void)timeoutMS;
    if (rc == 0)
        look(count, info);
    return (cppr_return_t)rc;
}
