/* SPDX-License-Identifier: BSD-3-Clause */
/* cppr - stands in for Intel's CPPR. Its header was never published: what is here is
 * what public programs use of it, and types that fit. Arguments that those leave NULL
 * are pointers to something we do not know. */
#ifndef TEST_SDK_CPPR_CPPR_H
#define TEST_SDK_CPPR_CPPR_H

#include <stdint.h>

typedef enum {
    CPPR_SUCCESS,
    CPPR_OP_EXECUTING,
    CPPR_STAND_IN_FAILURE,
} cppr_return_t;

enum { CPPR_STATUS_COMPLETE = 1 };
enum { CPPR_FLAG_TRACK_PROGRESS = 1 };

struct cppr_op_info {
    unsigned handle;
    int status;
    cppr_return_t retcode;
    int progress; /* in percent */
};

cppr_return_t cppr_status(void);
const char *cppr_err_to_str(cppr_return_t code);
cppr_return_t cppr_mv(struct cppr_op_info *info, void *group, int flags, void *unknown,
                      const char *dst, const char *src, const char *file);
cppr_return_t cppr_test_all(uint32_t count, struct cppr_op_info info[]);
cppr_return_t cppr_wait_all(uint32_t count, struct cppr_op_info info[],
                            uint32_t timeoutMS);

#endif
