/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "vfd/home.h"

static const char removed[] = "it was removed from the cache while it was open";

static bool may_move(const struct vel_opened *opened)
{
    return opened->is_sec2 && opened->track && opened->track->file &&
           !opened->track->is_own;
}

static int *descriptor_of(const struct vel_opened *opened)
{
    void *handle = NULL;

    opened->class->get_handle(opened->file, H5P_DEFAULT, &handle);
    return handle;
}

/* Somebody may have emptied the cache: then its bytes go with the last descriptor. The
 * driver has the file at its own path afterwards, and knows nothing of it. */
static bool move_home(struct vel_opened *opened, bool is_gone, bool locks,
                      const char *reason)
{
    struct vel_err why = {0};
    char from[40];
    int fd;

    snprintf(from, sizeof from, "/proc/self/fd/%d", *descriptor_of(opened));
    if (vel_file_move_home(opened->track->file, is_gone ? from : NULL, reason, locks,
                           &fd, &why) < 0) {
        vel_log(VEL_LOG_WARN, "%s", why.text);
        return false;
    }
    opened->track->is_own = dup2(fd, *descriptor_of(opened)) >= 0;
    close(fd);
    return opened->track->is_own;
}

bool vel_home_goes_on(struct vel_opened *opened)
{
    bool is_gone = may_move(opened) && vel_file_is_gone(opened->track->file);

    return may_move(opened) &&
           move_home(opened, is_gone, true,
                     is_gone ? removed
                             : "it cannot be written in the cache, which may be full");
}

bool vel_home_lets_read(const void *handle)
{
    struct vel_opened *opened = vel_opened_find_handle(handle);

    return !opened || !may_move(opened) ||
           move_home(opened, vel_file_is_gone(opened->track->file), false,
                     "it is read while it is written (SWMR)");
}

void vel_home_rescue(struct vel_opened *opened)
{
    if (may_move(opened) && opened->track->was == VEL_FILE_WRITTEN &&
        vel_file_is_gone(opened->track->file))
        move_home(opened, true, true, removed);
}
