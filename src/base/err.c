/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Both POSIX and GNU declare strerror_r; the GNU one may return a text of its own. */
static const char *reason(int errnum, char *buf, size_t size)
{
    return strerror_r(errnum, buf, size);
}

/* head + ": " + tail into text, leaving out the middle when it does not fit: the
 * outermost context says where, the end says why, and both are worth more than what is
 * between. */
static void join(char text[VEL_ERR_TEXT], const char *head, const char *tail)
{
    char all[2 * VEL_ERR_TEXT + 2];
    int n = snprintf(all, sizeof all, "%s: %s", head, tail);

    if (n < 0)
        return;
    size_t len = (size_t)n < sizeof all ? (size_t)n : sizeof all - 1;
    if (len < VEL_ERR_TEXT) {
        memcpy(text, all, len + 1);
        return;
    }
    static const char gap[] = " ... ";
    size_t keep_head = VEL_ERR_TEXT / 4;
    size_t keep_tail = VEL_ERR_TEXT - 1 - keep_head - (sizeof gap - 1);
    memcpy(text, all, keep_head);
    memcpy(text + keep_head, gap, sizeof gap - 1);
    memcpy(text + keep_head + sizeof gap - 1, all + len - keep_tail, keep_tail + 1);
}

int vel_fail(struct vel_err *err, enum vel_status status, const char *fmt, ...)
{
    if (err) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        err->status = status;
    }
    return status;
}

int vel_fail_errno(struct vel_err *err, int errnum, const char *fmt, ...)
{
    enum vel_status status = vel_status_of_errno(errnum);

    if (err) {
        char what[VEL_ERR_TEXT], buf[128];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(what, sizeof what, fmt, ap);
        va_end(ap);
        join(err->text, what, reason(errnum, buf, sizeof buf));
        err->status = status;
    }
    return status;
}

int vel_wrap(struct vel_err *err, int rc, const char *fmt, ...)
{
    if (err) {
        char head[VEL_ERR_TEXT], tail[VEL_ERR_TEXT];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(head, sizeof head, fmt, ap);
        va_end(ap);
        memcpy(tail, err->text[0] ? err->text : vel_status_text(rc),
               err->text[0] ? sizeof tail : strlen(vel_status_text(rc)) + 1);
        join(err->text, head, tail);
    }
    return rc;
}

const char *vel_status_text(int rc)
{
    switch (rc) {
    case VEL_OK:
        return "success";
#define X(name, value, text)                                                           \
    case VEL_##name:                                                                   \
        return text;
        VEL_STATUS_MAP(X)
#undef X
    default:
        return "unknown status";
    }
}

bool vel_status_is_final(int rc)
{
    return rc == VEL_ENOENT || rc == VEL_ECORRUPT || rc == VEL_EUNSUP ||
           rc == VEL_EINVAL;
}

enum vel_status vel_status_of_errno(int errnum)
{
    static const struct {
        int errnum;
        enum vel_status status;
    } map[] = {
        {EINVAL, VEL_EINVAL},     {ENAMETOOLONG, VEL_EINVAL},
        {EISDIR, VEL_EINVAL},     {ENOTDIR, VEL_EINVAL},
        {ENOMEM, VEL_ENOMEM},     {ENOENT, VEL_ENOENT},
        {EEXIST, VEL_EEXIST},     {ENOTEMPTY, VEL_EEXIST},
        {ENOSPC, VEL_ENOSPC},     {EDQUOT, VEL_ENOSPC},
        {EFBIG, VEL_ENOSPC},      {EACCES, VEL_EACCESS},
        {EPERM, VEL_EACCESS},     {EROFS, VEL_EACCESS},
        {ELOOP, VEL_EUNSAFE},     {ETIMEDOUT, VEL_ETIMEOUT},
        {EBUSY, VEL_EBUSY},       {EAGAIN, VEL_EBUSY},
        {ENOSYS, VEL_EUNSUP},     {EOPNOTSUPP, VEL_EUNSUP},
        {ECANCELED, VEL_ECANCEL}, {EPIPE, VEL_ELOST},
        {ECONNRESET, VEL_ELOST},  {ECONNREFUSED, VEL_ELOST},
    };

    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (map[i].errnum == errnum)
            return map[i].status;
    return VEL_EIO;
}

int vel_out_of_memory(struct vel_err *err, const char *what)
{
    return vel_fail(err, VEL_ENOMEM, "%s: out of memory", what);
}
