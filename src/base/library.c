/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* RTLD_DEEPBIND */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/library.h"

static struct {
    const char *file; /* as the linker found it when this was built */
    void *handle;
    char why_not[300];
} libraries[] = {
    [VEL_LIBRARY_ISAL] = {.file = ISAL_SONAME},
    [VEL_LIBRARY_JANSSON] = {.file = JANSSON_SONAME},
};

enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* These end a program that loads a library with RTLD_DEEPBIND. */
static bool has_sanitizer(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
           dlsym(RTLD_DEFAULT, "__msan_init");
}

static void open_all(void)
{
    int how = RTLD_NOW | RTLD_LOCAL;

#ifdef RTLD_DEEPBIND
    /* what the library calls of its own is not the program's either */
    if (!has_sanitizer())
        how |= RTLD_DEEPBIND;
#else
    (void)has_sanitizer;
#endif
    for (int i = 0; i < LIBRARIES; i++) {
        libraries[i].handle = dlopen(libraries[i].file, how);
        if (!libraries[i].handle)
            snprintf(libraries[i].why_not, sizeof libraries[i].why_not, "%s",
                     dlerror());
    }
}

int vel_library_check(struct vel_err *err)
{
    pthread_once(&once, open_all);
    for (int i = 0; i < LIBRARIES; i++)
        if (!libraries[i].handle)
            return vel_fail(err, VEL_EUNSUP, "h5veloc cannot work without %s: %s",
                            libraries[i].file, libraries[i].why_not);
    return 0;
}

void *vel_library_find(enum vel_library library, const char *name)
{
    pthread_once(&once, open_all);
    return libraries[library].handle ? dlsym(libraries[library].handle, name) : NULL;
}
