/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "push.h"

herr_t vel_push(hid_t minor, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    H5Epush2(H5E_DEFAULT, "h5veloc", "connector veloc", 0, H5E_ERR_CLS, H5E_VOL, minor,
             "%s", text);
    return -1;
}
