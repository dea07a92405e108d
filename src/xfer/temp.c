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
    return vel_xfer_temp_owned(dest, dataset_id, 0, ret_name, err);
}

int vel_xfer_temp_owned(const char *dest, uint64_t dataset_id, uint64_t owner,
                        char **ret_name, struct vel_err *err)
{
    const char *base = vel_path_base(dest);
    struct vel_buf buf;
    char tail[96], of[24] = "";
    size_t len = strlen(base);

    if (len == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return vel_fail(err, VEL_EINVAL, "cannot write '%s': that names no file", dest);
    if (owner)
        snprintf(of, sizeof of, ".%" PRIu64, owner);
    int n =
        snprintf(tail, sizeof tail, "%s%" PRIu64 "%s%s", mark, dataset_id, of, ending);
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

/* A number as it is written: no sign, no blank, no leading zero. *at is behind it. */
static bool take_number(const char **at, uintmax_t most, uintmax_t *ret_number)
{
    const char *digits = *at;
    char *end;

    if (digits[0] < '0' || digits[0] > '9' ||
        (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'))
        return false;
    errno = 0;
    *ret_number = strtoumax(digits, &end, 10);
    *at = end;
    return !errno && *ret_number <= most;
}

bool vel_xfer_temp_parse_owned(const char *name, uint64_t *ret_id, uint64_t *ret_owner)
{
    const char *at = NULL, *next;
    uintmax_t id, owner = 0;

    if (name[0] != '.')
        return false;
    for (next = strstr(name + 1, mark); next; next = strstr(next + 1, mark))
        at = next; /* the last one: the base itself may have such a part */
    if (!at || at == name + 1)
        return false;
    at += sizeof mark - 1;
    if (!take_number(&at, UINT64_MAX, &id))
        return false;
    if (at[0] == '.' && at[1] >= '1' && at[1] <= '9') {
        at++;
        if (!take_number(&at, UINT64_MAX, &owner))
            return false;
    }
    if (strcmp(at, ending) != 0)
        return false;
    *ret_id = id;
    *ret_owner = owner;
    return true;
}

bool vel_xfer_temp_parse(const char *name, uint64_t *ret_id)
{
    uint64_t id, owner;
    bool is = vel_xfer_temp_parse_owned(name, &id, &owner);

    if (is && ret_id)
        *ret_id = id;
    return is;
}
