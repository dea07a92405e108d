/* SPDX-License-Identifier: BSD-3-Clause */
/* H5VLveloc.h - the h5veloc connector, for programs that choose it themselves, or want
 * to know what has become of their files. A program that sets HDF5_VOL_CONNECTOR=veloc
 * needs nothing of this. See H5VLveloc(3).
 *
 * Nothing is linked: HDF5 loads the connector by its name from HDF5_PLUGIN_PATH, and
 * these functions call it through HDF5. They fail as HDF5's own do, with the cause on
 * its error stack.
 */
#ifndef H5VLVELOC_H
#define H5VLVELOC_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hdf5.h>

#define H5VL_VELOC_NAME "veloc"

/* 256 to 511 are the values of connectors that are not registered with The HDF Group.
 */
#define H5VL_VELOC_VALUE 455

#ifdef __cplusplus
extern "C" {
#endif

/* --- to choose it --- */

/* The connector, to be closed by H5VLclose(). */
static inline hid_t H5VL_veloc_register(void)
{
    return H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
}

/* After clean-up, which would clear it, the error stack is as it was. */
static inline void H5VL_veloc_release_(hid_t connector_id, void *info)
{
    hid_t stack = H5Eget_current_stack();

    if (info)
        H5VLfree_connector_info(connector_id, info);
    H5VLclose(connector_id);
    if (stack >= 0)
        H5Eset_current_stack(stack);
}

/* Files of the list go through the connector. `info` is what may follow its name in
 * HDF5_VOL_CONNECTOR; NULL: nothing. */
static inline herr_t H5Pset_vol_veloc(hid_t fapl_id, const char *info)
{
    hid_t connector_id = H5VL_veloc_register();
    void *parsed = NULL;
    herr_t rc = -1;

    if (connector_id < 0)
        return -1;
    if (!info || H5VLconnector_str_to_info(info, connector_id, &parsed) >= 0)
        rc = H5Pset_vol(fapl_id, connector_id, parsed);
    H5VL_veloc_release_(connector_id, parsed);
    return rc;
}

/* The same with the settings in a file, over HDF5's own connector; NULL: settings are
 * where they are else. */
static inline herr_t H5Pset_fapl_veloc(hid_t fapl_id, const char *settings)
{
    char info[4200];
    int len = snprintf(info, sizeof info, "config=%s", settings ? settings : "");

    if (len < 0 || (size_t)len >= sizeof info) {
        H5Epush2(H5E_DEFAULT, __FILE__, "H5Pset_fapl_veloc", __LINE__, H5E_ERR_CLS,
                 H5E_ARGS, H5E_BADVALUE, "the name of the settings is too long");
        return -1;
    }
    return H5Pset_vol_veloc(fapl_id, info);
}

/* --- to ask it --- */

/* How safe the newest version of a file is: each includes those before it. */
typedef enum H5VL_veloc_safety_t {
    H5VL_VELOC_LOST = -1,      /* it cannot be had any more */
    H5VL_VELOC_ABSENT = 0,     /* there is no such file */
    H5VL_VELOC_INCOMPLETE = 1, /* it, or another file of its dataset, is written */
    H5VL_VELOC_COMPLETE = 2,   /* all files of its dataset are closed */
    H5VL_VELOC_PROTECTED = 3,  /* and survive the loss of nodes, as was set */
    H5VL_VELOC_FLUSHED = 4     /* it stands at its own path */
} H5VL_veloc_safety_t;

typedef struct H5VL_veloc_status_t {
    H5VL_veloc_safety_t safety;
    int64_t dataset; /* 0: none yet, or not known any more */
    uint64_t left;   /* bytes of it that this node has still to move */
    char why[1024];  /* it is lost, or comes no further; "": nothing to say */
} H5VL_veloc_status_t;

/* A file that can be restored, or could be. */
typedef struct H5VL_veloc_version_t {
    const char *name; /* whole path */
    int64_t dataset;  /* that is the newest with it; a higher one is newer */
    int64_t created;  /* seconds since 1970; 0: not known */
    uint64_t size;
    hbool_t is_own;       /* this rank wrote it */
    hbool_t is_cached;    /* its dataset can be had from the caches */
    hbool_t is_published; /* from the prefix */
    const char *why;      /* it cannot be restored; NULL: it can */
} H5VL_veloc_version_t;

/* 0: go on; else that is the result. */
typedef herr_t (*H5VL_veloc_version_op_t)(const H5VL_veloc_version_t *version,
                                          void *op_data);

/* Optional operations on files, by names for H5VLfind_opt_operation(). A later version
 * of a structure has another `version`. */
#define H5VL_VELOC_OP_STATUS "h5veloc.file.status"
#define H5VL_VELOC_OP_VERSIONS "h5veloc.file.versions"
#define H5VL_VELOC_ARGS_VERSION 1

typedef struct H5VL_veloc_status_args_t {
    unsigned version;
    const char *name;
    hid_t fapl_id;
    H5VL_veloc_safety_t wanted;
    double seconds;
    H5VL_veloc_status_t *status;
} H5VL_veloc_status_args_t;

typedef struct H5VL_veloc_versions_args_t {
    unsigned version;
    const char *pattern;
    hid_t fapl_id;
    size_t most; /* datasets; 0: all, and what is lost */
    H5VL_veloc_version_op_t op;
    void *op_data;
    herr_t result; /* of the last call of op */
} H5VL_veloc_versions_args_t;

/* No file need be open: then the arguments are all that the connector looks at. */
static inline herr_t H5VL_veloc_ask_(const char *operation, void *args)
{
    hid_t connector_id = H5VL_veloc_register();
    H5VL_optional_args_t optional;
    herr_t rc;

    if (connector_id < 0)
        return -1;
    optional.op_type = -1;
    optional.args = args;
    rc = H5VLfind_opt_operation(H5VL_SUBCLS_FILE, operation, &optional.op_type);
    if (rc >= 0)
        rc = H5VLfile_optional(args, connector_id, &optional, H5P_DEFAULT, NULL);
    H5VL_veloc_release_(connector_id, NULL);
    return rc;
}

/* How safe is the newest version of a file? Waits until it is as safe as `wanted`, but
 * not longer than `seconds`: less than that is no failure. */
static inline herr_t H5VL_veloc_wait(const char *name, hid_t fapl_id,
                                     H5VL_veloc_safety_t wanted, double seconds,
                                     H5VL_veloc_status_t *status)
{
    H5VL_veloc_status_args_t args;

    args.version = H5VL_VELOC_ARGS_VERSION;
    args.name = name;
    args.fapl_id = fapl_id;
    args.wanted = wanted;
    args.seconds = seconds;
    args.status = status;
    return H5VL_veloc_ask_(H5VL_VELOC_OP_STATUS, &args);
}

static inline herr_t H5VL_veloc_test(const char *name, hid_t fapl_id,
                                     H5VL_veloc_status_t *status)
{
    return H5VL_veloc_wait(name, fapl_id, H5VL_VELOC_LOST, 0, status);
}

static inline herr_t H5VL_veloc_list_(const char *pattern, hid_t fapl_id, size_t most,
                                      H5VL_veloc_version_op_t op, void *op_data)
{
    H5VL_veloc_versions_args_t args;

    args.version = H5VL_VELOC_ARGS_VERSION;
    args.pattern = pattern;
    args.fapl_id = fapl_id;
    args.most = most;
    args.op = op;
    args.op_data = op_data;
    args.result = 0;
    return H5VL_veloc_ask_(H5VL_VELOC_OP_VERSIONS, &args) < 0 ? -1 : args.result;
}

/* Files that programs before this launch have left and that fit a pattern of
 * veloc.conf(5): the newest dataset first, of each this rank's files first, and what is
 * lost in the end. The result of the last call of op; 0: none was. */
static inline herr_t H5VL_veloc_versions(const char *pattern, hid_t fapl_id,
                                         H5VL_veloc_version_op_t op, void *op_data)
{
    return H5VL_veloc_list_(pattern, fapl_id, 0, op, op_data);
}

struct H5VL_veloc_newest_ {
    int64_t dataset;
    hbool_t has_rank, is_long;
    char *name;
    size_t size;
};

static inline herr_t H5VL_veloc_take_(const H5VL_veloc_version_t *version, void *data)
{
    struct H5VL_veloc_newest_ *newest = (struct H5VL_veloc_newest_ *)data;
    size_t len = strlen(version->name) + 1;

    newest->dataset = version->dataset;
    if (!version->is_own && (newest->has_rank || newest->name[0]))
        return 0;
    newest->is_long = len > newest->size;
    if (!newest->is_long)
        memcpy(newest->name, version->name, len);
    return version->is_own || newest->is_long;
}

/* The file to restart from: of the newest dataset that can be restored and has files
 * that fit the pattern, that of this rank; of a pattern without {rank} any, when this
 * rank has none. "": there is none. *dataset (may be NULL) is the same on all ranks; 0:
 * there is no such dataset. */
static inline herr_t H5VL_veloc_restart(const char *pattern, hid_t fapl_id, char *name,
                                        size_t size, int64_t *dataset)
{
    struct H5VL_veloc_newest_ newest;

    memset(&newest, 0, sizeof newest);
    newest.name = name;
    newest.size = size;
    newest.has_rank = pattern && strstr(pattern, "{rank}") != NULL;
    if (size > 0)
        name[0] = '\0';
    else
        newest.is_long = 1;
    if (size > 0 &&
        H5VL_veloc_list_(pattern, fapl_id, 1, H5VL_veloc_take_, &newest) < 0)
        return -1;
    if (newest.is_long) {
        H5Epush2(H5E_DEFAULT, __FILE__, "H5VL_veloc_restart", __LINE__, H5E_ERR_CLS,
                 H5E_ARGS, H5E_BADVALUE, "the name needs more room than it was given");
        return -1;
    }
    if (dataset)
        *dataset = newest.dataset;
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
