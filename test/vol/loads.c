/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is not linked with HDF5, and loads it as an interpreter does:
 * loads LIBHDF5 local|global FILE */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CODE = 7 };

typedef int64_t create_f(const char *name, unsigned flags, int64_t fcpl, int64_t fapl);
typedef int close_f(int64_t file);

int main(int argc, char **argv)
{
    int scope = argc == 4 && strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
    void *hdf5 = argc == 4 ? dlopen(argv[1], RTLD_NOW | scope) : NULL;
    create_f *create;
    close_f *close_file;

    if (!hdf5) {
        fprintf(stderr, "%s\n", argc == 4 ? dlerror() : "three words");
        return 1;
    }
    *(void **)&create = dlsym(hdf5, "H5Fcreate");
    *(void **)&close_file = dlsym(hdf5, "H5Fclose");
    return create && close_file && close_file(create(argv[3], 2, 0, 0)) >= 0 ? CODE : 1;
}
