/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <sys/random.h>

#include "sys/entropy.h"

int vel_entropy(void *bytes, size_t len, struct vel_err *err)
{
    char *at = bytes;

    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);

        if (n < 0 && errno != EINTR)
            return vel_fail_errno(err, errno, "getting random bytes");
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}
