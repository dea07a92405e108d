/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L /* fileno */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "vfd/opened.h"

static struct vel_vec all = {.item_size = sizeof(struct vel_opened)};

struct vel_opened *vel_opened_at(size_t i)
{
    return i < all.n ? vel_vec_at(&all, i) : NULL;
}

bool vel_opened_add(const struct vel_opened *opened)
{
    return vel_vec_push(&all, opened);
}

void vel_opened_remove(struct vel_opened *opened)
{
    vel_vec_remove(&all, (size_t)(opened - vel_opened_at(0)));
}

void vel_opened_forget_all(void)
{
    vel_vec_fini(&all);
}

/* The newest is asked for most. */
struct vel_opened *vel_opened_find(const H5FD_t *file)
{
    for (size_t i = all.n; i-- > 0;)
        if (vel_opened_at(i)->file == file)
            return vel_opened_at(i);
    return NULL;
}

static int descriptor_of(const struct vel_opened *opened)
{
    void *handle = NULL;

    if (!opened->class->get_handle ||
        opened->class->get_handle(opened->file, H5P_DEFAULT, &handle) < 0 || !handle)
        return -1;
    if (opened->is_sec2)
        return *(const int *)handle;
    return strcmp(opened->class->name, "stdio") == 0 ? fileno(*(FILE **)handle) : -1;
}

bool vel_opened_descriptor(size_t i, int *ret_fd)
{
    const struct vel_opened *opened = vel_opened_at(i);

    if (opened)
        *ret_fd = descriptor_of(opened);
    return opened;
}

struct vel_opened *vel_opened_find_handle(const void *handle)
{
    for (size_t i = all.n; handle && i-- > 0;) {
        const struct vel_opened *opened = vel_opened_at(i);
        void *its = NULL;

        if (opened->class->get_handle &&
            opened->class->get_handle(opened->file, H5P_DEFAULT, &its) >= 0 &&
            its == handle)
            return vel_opened_at(i);
    }
    return NULL;
}
