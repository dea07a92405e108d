/* SPDX-License-Identifier: BSD-3-Clause */
/* err - status codes and the sentence that goes with them.
 *
 * The first function to see a failure calls vel_fail(); a caller that knows more puts
 * its context in front with vel_wrap(). A sentence reads outside-in and ends with the
 * cause: reading filemap: /ssd/c/7.map: block 3: checksum mismatch
 */
#ifndef VEL_BASE_ERR_H
#define VEL_BASE_ERR_H

#include <stdbool.h>

/* name, value, what a status means when nothing better is known */
#define VEL_STATUS_MAP(X)                                                              \
    X(EINVAL, -1, "invalid argument")                                                  \
    X(ENOMEM, -2, "out of memory")                                                     \
    X(EIO, -3, "input/output error")                                                   \
    X(ENOENT, -4, "not found")                                                         \
    X(EEXIST, -5, "already exists")                                                    \
    X(ENOSPC, -6, "no space left")                                                     \
    X(EACCESS, -7, "permission denied")                                                \
    X(ECORRUPT, -8, "data is corrupt")                                                 \
    X(EREMOTE, -9, "failed on another process")                                        \
    X(ECONFIG, -10, "configuration error")                                             \
    X(ETIMEOUT, -11, "time limit passed")                                              \
    X(ELOST, -12, "peer is lost")                                                      \
    X(EBUSY, -13, "busy")                                                              \
    X(ESTATE, -14, "call out of order")                                                \
    X(EUNSUP, -15, "not supported")                                                    \
    X(ECANCEL, -16, "cancelled")                                                       \
    X(EUNSAFE, -17, "not trusted")

enum vel_status {
    VEL_OK = 0,
#define X(name, value, text) VEL_##name = (value),
    VEL_STATUS_MAP(X)
#undef X
};

enum { VEL_ERR_TEXT = 1024 };

/* Caller's storage; start it as { 0 }. Every function below accepts err == NULL. */
struct vel_err {
    enum vel_status status;
    char text[VEL_ERR_TEXT];
};

/* Describe a failure; returns status, so that callers can `return vel_fail(...)`. */
int vel_fail(struct vel_err *err, enum vel_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: ": " and the system's reason are appended, and the
 * status follows from errnum (a positive errno). */
int vel_fail_errno(struct vel_err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put context in front of a failure already described; returns rc. When the text grows
 * too long its middle is left out, never its end: the cause is always kept. */
int vel_wrap(struct vel_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What a status means, as text; 0 and unknown values too. Never NULL. */
const char *vel_status_text(int rc);

/* Of a record that was read: it is not there, or nobody can read it. It says nothing,
 * and to read it again is in vain. After other failures it may say something later. */
bool vel_status_is_final(int rc);

/* The status for a positive errno. */
enum vel_status vel_status_of_errno(int errnum);

/* `what` could not be allocated; returns VEL_ENOMEM. */
int vel_out_of_memory(struct vel_err *err, const char *what);

#endif
