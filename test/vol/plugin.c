/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in is found by name in HDF5_PLUGIN_PATH, as a user's program finds it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "tap/tap.h"

/* The list that a file gives back names us, with what we were told. */
static void check_list(hid_t file, hid_t connector)
{
    hid_t fapl = H5Fget_access_plist(file), named = -1;
    char text[64] = "";
    int is_other = 1;

    ok(fapl >= 0 && H5Pget_vol_id(fapl, &named) >= 0 &&
           H5VLcmp_connector_cls(&is_other, named, connector) >= 0 && !is_other,
       "the access list of a file names the connector");
    ok(H5VLget_connector_name(file, text, sizeof text) > 0 &&
           strcmp(text, H5VL_VELOC_NAME) == 0,
       "and the file tells its name");
    H5VLclose(named);
    H5Pclose(fapl);
}

static void check_info(hid_t connector, const char *text, const char *want)
{
    void *info = NULL, *again = NULL;
    char *back = NULL, *twice = NULL;

    ok(H5VLconnector_str_to_info(text, connector, &info) >= 0 &&
           H5VLconnector_info_to_str(info, connector, &back) >= 0 && back &&
           strcmp(back, want) == 0,
       "'%s' is understood", text);
    ok(H5VLcopy_connector_info(connector, &again, info) >= 0 &&
           H5VLconnector_info_to_str(again, connector, &twice) >= 0 && twice &&
           strcmp(twice, want) == 0,
       "and copied");
    H5free_memory(back);
    H5free_memory(twice);
    H5VLfree_connector_info(connector, info);
    H5VLfree_connector_info(connector, again);
}

/* --- nobody has chosen it, and it lies in the path of plug-ins --- */

static size_t n_frames;
static unsigned long sum; /* of the texts of all frames */

static herr_t add_frame(unsigned n, const H5E_error2_t *entry, void *data)
{
    (void)n, (void)data;
    n_frames++;
    for (const char *c = entry->func_name; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    for (const char *c = entry->desc; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return 0;
}

static hid_t frames_of_open(const char *path, hid_t fapl)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl);

    n_frames = sum = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, add_frame, NULL);
    return file;
}

/* HDF5 asks plug-ins when it cannot open a file, unless it may not load them. */
static void check_refused(const char *path, hid_t fapl, const char *what)
{
    unsigned may = 0;

    H5PLget_loading_state(&may);
    H5PLset_loading_state(0);
    ok(frames_of_open(path, fapl) < 0 && n_frames > 0, "%s is refused without plug-ins",
       what);
    size_t frames = n_frames;
    unsigned long native = sum;
    H5PLset_loading_state(may);
    ok(frames_of_open(path, fapl) < 0, "so it is with one in the path");
    ok(n_frames == frames && sum == native, "with the same %zu frames (%zu)", frames,
       n_frames);
}

static void check_beside(void)
{
    const char *path = tap_path("beside.h5");
    hid_t other = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    H5Fflush(file, H5F_SCOPE_GLOBAL);
    H5Pset_file_locking(other, false, false);
    check_refused(path, other, "a file that is open with other locking");
    H5Fclose(file);
    H5Pclose(other);
    check_refused(tap_path("none.h5"), H5P_DEFAULT, "a file that is not there");
}

int main(void)
{
    const char *path = tap_path("a.h5");

    setenv("VELOC_PREFIX", tap_dir(), 1);
    setenv("VELOC_CACHE_BASE", tap_path("cache"), 1);
    setenv("VELOC_CNTL_BASE", tap_dir(), 1);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    check_beside();
    hid_t connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    if (!ok(connector >= 0, "HDF5 loads the connector by its name"))
        return done_testing();
    is_int(H5VLis_connector_registered_by_value(H5VL_VELOC_VALUE), 1,
           "it has the value that H5VLveloc.h tells");
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    is_int(H5Pset_vol(fapl, connector, NULL), 0, "a file access list takes it");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    ok(file >= 0, "a file is created through it");
    check_list(file, connector);
    is_int(H5Fclose(file), 0, "and closed");
    is_int(H5Fis_accessible(path, fapl), 1, "it is accessible through it");
    is_int(H5Fis_accessible(path, H5P_DEFAULT), 1, "and to HDF5 without it");
    check_info(connector, "", "under_vol=0;under_info={}");
    check_info(connector, "under_info={};config=/a b/c=d.conf;under_vol=0",
               "config=/a b/c=d.conf;under_vol=0;under_info={}");
    check_info(connector, "under_vol=1;under_info={under_vol=0;under_info={}}",
               "under_vol=1;under_info={under_vol=0;under_info={}}");
    is_int(H5Fdelete(path, fapl), 0, "the file is deleted through it");
    is_int(H5Fis_accessible(path, fapl), -1, "and is no longer there");
    H5Pclose(fapl);
    is_int(H5VLclose(connector), 0, "it is closed again");
    return done_testing();
}
