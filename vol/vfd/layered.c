/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "vfd/layered.h"

static bool may_move(const struct vel_layered *file)
{
    return file->file && !file->is_own &&
           H5Pget_driver(file->ticket->fapl_id) == H5FD_SEC2;
}

/* Somebody may have emptied the cache: then its bytes go with the last descriptor.
 * NULL: they are in its place. */
static const char *bytes_of(const struct vel_layered *file, char *buffer, size_t size)
{
    void *handle;

    if (!vel_file_is_gone(file->file) ||
        H5FDget_vfd_handle(file->below, file->ticket->fapl_id, &handle) < 0)
        return NULL;
    snprintf(buffer, size, "/proc/self/fd/%d", *(int *)handle);
    return buffer;
}

bool vel_layered_move_home(struct vel_layered *file)
{
    struct vel_err why = {0};
    char buffer[40];
    const char *path;
    haddr_t eoa;
    H5FD_t *home;

    if (!may_move(file))
        return false;
    if (vel_file_move_home(file->file, bytes_of(file, buffer, sizeof buffer), &path,
                           &why) < 0) {
        vel_log(VEL_LOG_WARN, "%s", why.text);
        return false;
    }
    home = H5FDopen(path, H5F_ACC_RDWR, file->ticket->fapl_id, HADDR_UNDEF);
    if (!home)
        return false;
    eoa = file->below->cls->get_eoa(file->below, H5FD_MEM_DEFAULT);
    home->cls->set_eoa(home, H5FD_MEM_DEFAULT, eoa);
    H5FDclose(file->below);
    file->below = home;
    file->is_own = true;
    return true;
}

void vel_layered_rescue(const struct vel_layered *file)
{
    struct vel_err why = {0};
    const char *from, *path;
    char buffer[40];

    if (file->was != VEL_FILE_WRITTEN || !may_move(file))
        return;
    from = bytes_of(file, buffer, sizeof buffer);
    if (from && vel_file_move_home(file->file, from, &path, &why) < 0)
        vel_log(VEL_LOG_WARN, "%s", why.text);
}
