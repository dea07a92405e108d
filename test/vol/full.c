/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache gets full while a file is written: the program does not notice. */
#define _GNU_SOURCE /* unshare */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "process/files.h"
#include "tap/placelab.h"
#include "tap/tap.h"

enum { STEPS = 24, INTS = 32 << 10 }; /* 3 MiB */

static int data[INTS];

static int *fill(int step)
{
    for (int i = 0; i < INTS; i++)
        data[i] = step * INTS + i;
    return data;
}

static int write_steps(hid_t file)
{
    hsize_t size = INTS;
    hid_t space = H5Screate_simple(1, &size, NULL);
    int failed = 0;

    for (int step = 0; step < STEPS; step++) {
        char name[] = {(char)('a' + step), '\0'};
        hid_t dset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT,
                                H5P_DEFAULT, H5P_DEFAULT);

        failed += dset < 0 || H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL,
                                       H5P_DEFAULT, fill(step)) < 0;
        H5Dclose(dset);
    }
    H5Sclose(space);
    return failed;
}

static int wrong_steps(const char *path, hid_t fapl)
{
    static int back[INTS];
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    int wrong = 0;

    for (int step = 0; step < STEPS; step++) {
        char name[] = {(char)('a' + step), '\0'};
        hid_t dset = H5Dopen2(file, name, H5P_DEFAULT);

        wrong +=
            dset < 0 ||
            H5Dread(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) < 0 ||
            memcmp(back, fill(step), sizeof back) != 0;
        H5Dclose(dset);
    }
    H5Fclose(file);
    return wrong;
}

/* Somebody cleans up below /tmp. */
static void test_removed(const struct placelab *lab, hid_t ours, hid_t native)
{
    hid_t file = H5Fcreate("b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, ours);

    ok(unlink(placelab_place(lab, "b.h5")) == 0,
       "a file is removed from the cache while it is open");
    is_int(write_steps(file), 0, "it is written all the same, also when that is full");
    ok(H5Fclose(file) >= 0, "and closed");
    is_int(wrong_steps("b.h5", native), 0, "and is where it belongs, whole");
    file = H5Fcreate("c.h5", H5F_ACC_TRUNC, H5P_DEFAULT, ours);
    unlink(placelab_place(lab, "c.h5"));
    ok(H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0 &&
           H5Fclose(file) >= 0,
       "or when it is closed");
    file = H5Fopen("c.h5", H5F_ACC_RDONLY, native);
    ok(file >= 0 && H5Lexists(file, "g", H5P_DEFAULT) > 0, "with what was written");
    H5Fclose(file);
}

int main(void)
{
    static struct placelab lab;
    hid_t connector, ours, native, file;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
        skip_all("no mount namespace: %s", strerror(errno));
    placelab_start(&lab);
    setenv("VELOC_LOG_LEVEL", "ERROR", 1);
    if (chdir(lab.prefix) < 0 || mount("tmpfs", lab.cache, "tmpfs", 0, "size=1m") < 0)
        bail_out("no small cache: %s", strerror(errno));
    connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    ours = H5Pcreate(H5P_FILE_ACCESS);
    native = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_vol(ours, connector, NULL);
    file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, ours);
    ok(access(placelab_place(&lab, "a.h5"), F_OK) == 0, "a file begins in the cache");
    is_int(write_steps(file), 0,
           "all of it can be written, though the cache gets full");
    ok(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && H5Fclose(file) >= 0,
       "flushed and closed");
    is_str(placelab_heard(&lab), "create a.h5; close2 a.h5; ", "it is given up");
    is_int(wrong_steps("a.h5", native), 0, "and is where it belongs, whole");
    is_int(wrong_steps("a.h5", ours), 0, "for the program as well");
    test_removed(&lab, ours, native);
    H5Pclose(ours);
    H5Pclose(native);
    H5VLclose(connector);
    vel_files_leave();
    umount2(lab.cache, MNT_DETACH);
    placelab_end(&lab);
    return done_testing();
}
