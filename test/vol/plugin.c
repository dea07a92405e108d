/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in is found by name in HDF5_PLUGIN_PATH, as a user's program finds it. */
#include "config.h"

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

int main(void)
{
    const char *path = tap_path("a.h5");

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
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
