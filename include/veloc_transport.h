/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc_transport.h - how a transfer plug-in tells h5veloc what it can do.
 *
 * A transfer plug-in moves whole files from node-local storage to the parallel file
 * system by means of a vendor's service, while the program computes. It is a shared
 * object with one symbol, veloc_transport_entry. See veloc_transport(7).
 *
 * h5veloc checks, syncs and renames every file itself after it was moved; a plug-in
 * only moves bytes.
 */
#ifndef VELOC_TRANSPORT_H
#define VELOC_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. What is added later stands at the end of a struct, and
 * `size` tells how much of it the other side knows; the version changes only when old
 * plug-ins cannot be used any more. */
#define VELOC_TRANSPORT_ABI 1

/* Room for a sentence: why a call failed. */
#define VELOC_TRANSPORT_TEXT 512

/* What is to be moved together. Nothing of it need be kept: it stays as it is until the
 * transfer is freed. */
struct veloc_transport_file {
    const char *source;      /* absolute; a regular file that nobody changes */
    const char *destination; /* absolute; its directory exists, it does not */
    uint64_t size;           /* in bytes */
};

struct veloc_transport_batch {
    size_t size;       /* of this struct, as h5veloc knows it */
    const char *store; /* directory of the storage that the sources lie on */
    const struct veloc_transport_file *files;
    size_t n;
    unsigned width; /* how many nodes or servers should write at once; 0: all */
};

struct veloc_transport_progress {
    int is_done;    /* 1: every file has arrived */
    uint64_t bytes; /* arrived so far, never less than before; 0 when not known */
};

/* The operations of a plug-in. Each returns 0 or a negative errno, and then a sentence
 * in `text`, which has room for VELOC_TRANSPORT_TEXT bytes and is "" before: what could
 * not be done with what and why, lower case, without a period.
 *
 * A process has at most one instance of a plug-in. Calls with one instance come from
 * one thread at a time, not always the same one. An operation never prints, exits,
 * forks or installs signal handlers. Those that may be NULL are optional. */
struct veloc_transport_ops {
    unsigned abi;        /* VELOC_TRANSPORT_ABI */
    size_t size;         /* of this struct, as the plug-in knows it */
    const char *name;    /* such as "BBAPI", for messages */
    const char *version; /* of the plug-in, for people */

    /* Reach the service. `rank` tells the processes of a job apart. */
    int (*open)(unsigned rank, void **ret_instance, char *text);
    /* All transfers were freed. */
    void (*close)(void *instance);

    /* Begin to move all files, or none when it fails: h5veloc then copies them itself.
     * -ENOTSUP is the right answer for files that the service cannot reach. Returns
     * soon, long before the files have arrived. */
    int (*start)(void *instance, const struct veloc_transport_batch *batch,
                 void **ret_transfer, char *text);
    /* How far is it? Does not wait. A failure means that the transfer has failed. */
    int (*test)(void *instance, void *transfer,
                struct veloc_transport_progress *ret_progress, char *text);
    /* The same, but wait up to `ms` milliseconds for it to be done. NULL: h5veloc asks
     * test again and again. */
    int (*wait)(void *instance, void *transfer, unsigned ms,
                struct veloc_transport_progress *ret_progress, char *text);
    /* Stop. When it returns 0 nothing writes to any destination any more; what stands
     * there is removed by h5veloc. Also called after a failure. NULL: a transfer cannot
     * be stopped, and h5veloc waits for its end instead. */
    int (*cancel)(void *instance, void *transfer, char *text);
    /* Forget a transfer, which goes on if it is neither done nor cancelled. */
    void (*free)(void *instance, void *transfer);

    /* What another process needs to take the transfer over when this one is gone: into
     * `bytes`, which has room for *len; *len becomes what is used. -ENOSPC and the
     * length that is needed when that is more. Together with resume, or both NULL: a
     * transfer ends with its process. */
    int (*save)(void *instance, void *transfer, void *bytes, size_t *len, char *text);
    /* Take over a transfer of this batch from what save gave, or without any (`len` is
     * 0) when its process died before that. -ENOENT: there is no such transfer any
     * more, and nothing of it writes; -EINVAL: these bytes do not tell. */
    int (*resume)(void *instance, const struct veloc_transport_batch *batch,
                  const void *bytes, size_t len, void **ret_transfer, char *text);
};

/* What a plug-in exports, and nothing else. `host_abi` is the VELOC_TRANSPORT_ABI of
 * the h5veloc that asks; NULL when the plug-in does not serve it. What is returned
 * lives as long as the plug-in is loaded. */
const struct veloc_transport_ops *veloc_transport_entry(unsigned host_abi);

#ifdef __cplusplus
}
#endif

#endif
