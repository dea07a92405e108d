/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Mem_* and VELOC_Region_*: which memory is saved. All local. */
#include "config.h"

#include "api/state.h"
#include "veloc.h"

/* Regions may be registered before VELOC_Init, and stay until VELOC_Finalize. */
static struct vel_regions *regions(void)
{
    struct vel_api *api = vel_api();

    vel_api_leave_local(0);
    if (!api->regions)
        api->regions = vel_regions_create();
    if (!api->regions)
        vel_out_of_memory(&api->err, "protected memory");
    return api->regions;
}

static int protect(const char *name, int id, void *ptr, size_t count, size_t size)
{
    struct vel_regions *all = regions();

    return vel_api_leave_local(
        all ? vel_regions_protect(all, name, id, ptr, count, size, &vel_api()->err)
            : VEL_ENOMEM);
}

static int unprotect(const char *name, int id)
{
    struct vel_regions *all = regions();

    return vel_api_leave_local(
        all ? vel_regions_unprotect(all, name, id, &vel_api()->err) : VEL_ENOMEM);
}

static int clear(const char *name)
{
    struct vel_regions *all = regions();

    if (all)
        vel_regions_clear(all, name);
    return vel_api_leave_local(all ? 0 : VEL_ENOMEM);
}

int VELOC_Mem_type(size_t size, VELOC_type *type)
{
    if (!type || size == 0)
        return vel_api_refuse("a type needs a size of 1 or more bytes and a place for "
                              "the result");
    *type = size;
    return vel_api_leave_local(0);
}

int VELOC_Mem_protect(int id, void *ptr, size_t count, VELOC_type base_size)
{
    return protect(NULL, id, ptr, count, base_size);
}

int VELOC_Mem_unprotect(int id)
{
    return unprotect(NULL, id);
}

int VELOC_Mem_clear(void)
{
    return clear(NULL);
}

int VELOC_Region_protect(int id, void *ptr, size_t count, VELOC_type base_size,
                         const char *name)
{
    if (!name)
        return vel_api_refuse("a named region needs a name");
    return protect(name, id, ptr, count, base_size);
}

int VELOC_Region_unprotect(int id, const char *name)
{
    if (!name)
        return vel_api_refuse("a named region needs a name");
    return unprotect(name, id);
}

int VELOC_Region_clear(const char *name)
{
    if (!name)
        return vel_api_refuse("a named region needs a name");
    return clear(name);
}
