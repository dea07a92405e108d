/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "api/image_name.h"
#include "base/buf.h"

int vel_image_name_check(const char *what, const char *text, struct vel_err *err)
{
    if (!text || !text[0])
        return vel_fail(err, VEL_EINVAL, "%s is empty", what);
    if (strlen(text) > VEL_IMAGE_NAME_MOST)
        return vel_fail(err, VEL_EINVAL,
                        "%s has %zu bytes, and a file name has room for %d", what,
                        strlen(text), VEL_IMAGE_NAME_MOST);
    for (size_t i = 0; text[i]; i++) {
        unsigned char c = (unsigned char)text[i];

        /* a name with control characters is no text to show in a sentence */
        if (c < 0x20 || c == 0x7f)
            return vel_fail(err, VEL_EINVAL,
                            "%s has the control character 0x%02x as byte %zu", what, c,
                            i + 1);
    }
    if (strchr(text, '/'))
        return vel_fail(err, VEL_EINVAL, "%s, \"%s\", has a slash: use another letter",
                        what, text);
    return 0;
}

int vel_image_name(const char *name, const char *region, int rank, int version,
                   char **ret_name, struct vel_err *err)
{
    struct vel_buf buf;
    int rc;

    assert(rank >= 0);
    vel_buf_init(&buf);
    rc = vel_image_name_check("the name of a checkpoint", name, err);
    if (rc == 0 && region)
        rc = vel_image_name_check("the name of a region", region, err);
    if (rc == 0 && version < 0)
        rc = vel_fail(err, VEL_EINVAL,
                      "checkpoint \"%s\" with version %d: versions begin at 0", name,
                      version);
    if (rc < 0)
        goto out;
    vel_buf_printf(&buf, "%s%s%s-%d-%d.dat", name, region ? "-" : "",
                   region ? region : "", rank, version);
    rc = vel_buf_status(&buf, err);
    if (rc == 0 && buf.len > VEL_IMAGE_NAME_MOST)
        rc = vel_fail(err, VEL_EINVAL,
                      "a file name of %zu bytes, more than %d: shorten the name of the "
                      "checkpoint%s (%s)",
                      buf.len, VEL_IMAGE_NAME_MOST, region ? " or the region" : "",
                      buf.data);
    if (rc == 0)
        *ret_name = vel_buf_take(&buf, &(size_t){0});
out:
    vel_buf_fini(&buf);
    return rc;
}
