/* SPDX-License-Identifier: BSD-3-Clause */
/* bbapi - stands in for IBM's burst buffer API: the part of its interface that our
 * plug-in calls, after IBM's documentation of it. */
#ifndef TEST_SDK_BBAPI_BBAPI_H
#define TEST_SDK_BBAPI_BBAPI_H

#include <stddef.h>
#include <stdint.h>

#define BBAPI_CLIENTVERSIONSTR "{\"stand-in\":1}"

typedef unsigned long BBTAG;
typedef uint64_t BBTransferHandle_t;
typedef void *BBTransferDef_t;
typedef enum BBFILEFLAGS { BBRecursive = 1 } BBFILEFLAGS;
typedef enum BBCANCELSCOPE { BBSCOPETRANSFER = 1, BBSCOPETAG = 2 } BBCANCELSCOPE;
typedef enum BBERRORFORMAT {
    BBERRORJSON = 1,
    BBERRORXML = 2,
    BBERRORFLAT = 3
} BBERRORFORMAT;
typedef enum BBSTATUS {
    BBNONE = 0x0,
    BBNOTSTARTED = 0x1,
    BBINPROGRESS = 0x2,
    BBPARTIALSUCCESS = 0x4,
    BBFULLSUCCESS = 0x8,
    BBCANCELED = 0x10,
    BBFAILED = 0x20,
    BBSTOPPED = 0x40,
} BBSTATUS;

typedef struct {
    BBTransferHandle_t handle;
    uint32_t contribid;
    uint64_t jobid;
    uint64_t jobstepid;
    BBTAG tag;
    uint64_t numcontrib;
    BBSTATUS status;
    uint64_t numreportingcontribs;
    size_t totalTransferKeyLength;
    size_t totalTransferSize;
    BBSTATUS localstatus;
    size_t localTransferSize;
} BBTransferInfo_t;

int BB_InitLibrary(uint32_t contribId, const char *clientVersion);
int BB_TerminateLibrary(void);
int BB_GetLastErrorDetails(BBERRORFORMAT format, size_t *numAvailBytes,
                           size_t buffersize, char *bufferForErrorDetails);
int BB_CreateTransferDef(BBTransferDef_t **transfer);
int BB_AddFiles(BBTransferDef_t *transfer, const char *source, const char *target,
                BBFILEFLAGS flags);
int BB_FreeTransferDef(BBTransferDef_t *transfer);
int BB_GetTransferHandle(BBTAG tag, uint64_t numcontrib, uint32_t contrib[],
                         BBTransferHandle_t *handle);
int BB_StartTransfer(BBTransferDef_t *transfer, BBTransferHandle_t handle);
int BB_CancelTransfer(BBTransferHandle_t handle, BBCANCELSCOPE scope);
int BB_GetTransferInfo(BBTransferHandle_t handle, BBTransferInfo_t *info);

#endif
