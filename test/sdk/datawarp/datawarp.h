/* SPDX-License-Identifier: BSD-3-Clause */
/* datawarp - stands in for Cray's DataWarp: the functions that our plug-in calls, as
 * the public programs that use them do. */
#ifndef TEST_SDK_DATAWARP_DATAWARP_H
#define TEST_SDK_DATAWARP_DATAWARP_H

enum dw_stage_type {
    DW_STAGE_IMMEDIATE,
    DW_STAGE_AT_JOB_END,
    DW_REVOKE_STAGE_AT_JOB_END,
    DW_ACTIVATE_DEFERRED_STAGE,
};

/* 0 or a negative errno */
int dw_set_stage_concurrency(const char *dw_instance_path,
                             unsigned int concurrent_stages);
int dw_stage_file_out(const char *dw_file_path, const char *pfs_file_path,
                      enum dw_stage_type stage_type);
int dw_query_file_stage(const char *dw_file_path, int *complete, int *pending,
                        int *deferred, int *failed);
int dw_wait_file_stage(const char *dw_file_path);
int dw_terminate_file_stage(const char *dw_file_path);

#endif
