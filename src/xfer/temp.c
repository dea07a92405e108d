/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc.h"
#include "base/path.h"
#include "xfer/temp.h"

static const char mark[] = ".h5v-", ending[] = ".tmp";

enum { NAME_MOST = 255, SUM_LEN = 9 }; /* of a file name; of "~" and a checksum */

int vel_xfer_temp_name(const char *dest, uint64_t dataset_id, char **ret_name,
                       struct vel_err *err)
{
    const char *base = vel_path_base(dest);
    struct vel_buf buf;
    char tail[48];
    size_t len = strlen(base);

    if (len == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return vel_fail(err, VEL_EINVAL, "cannot write '%s': that names no file", dest);
    int n = snprintf(tail, sizeof tail, "%s%" PRIu64 "%s", mark, dataset_id, ending);
    size_t most = NAME_MOST - 1 - (size_t)n;
    vel_buf_init(&buf);
    vel_buf_append(&buf, dest, (size_t)(base - dest));
    vel_buf_putc(&buf, '.');
    vel_buf_append(&buf, base, len <= most ? len : most - SUM_LEN);
    if (len > most)
        vel_buf_printf(&buf, "~%08x", (unsigned)vel_crc32c(0, base, len));
    vel_buf_puts(&buf, tail);
    char *name = vel_buf_take(&buf, &len);
    if (!name)
        return vel_out_of_memory(err, dest);
    *ret_name = name;
    return 0;
}

bool vel_xfer_temp_parse(const char *name, uint64_t *ret_id)
{
    const char *at = NULL, *next;
    char *end;

    if (name[0] != '.')
        return false;
    for (next = strstr(name + 1, mark); next; next = strstr(next + 1, mark))
        at = next; /* the last one: the base itself may have such a part */
    if (!at || at == name + 1)
        return false;
    at += sizeof mark - 1;
    /* as it is written: no sign, no blank, no leading zero */
    if (at[0] < '0' || at[0] > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
        return false;
    errno = 0;
    uintmax_t id = strtoumax(at, &end, 10);
    if (errno || id > UINT64_MAX || strcmp(end, ending) != 0)
        return false;
    if (ret_id)
        *ret_id = id;
    return true;
}
