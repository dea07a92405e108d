/* SPDX-License-Identifier: BSD-3-Clause */
/* The plug-in is found by name in HDF5_PLUGIN_PATH, as a user's program finds it. */
#include "config.h"

#include <string.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "tap/tap.h"

static herr_t look_for(unsigned n, const H5E_error2_t *entry, void *found)
{
    (void)n;
    if (entry->desc && strstr(entry->desc, "cannot route files yet"))
        *(bool *)found = true;
    return 0;
}

int main(void)
{
    bool found = false;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    if (!ok(connector >= 0, "HDF5 loads the connector by its name"))
        return done_testing();
    is_int(H5VLis_connector_registered_by_value(H5VL_VELOC_VALUE), 1,
           "it has the value that H5VLveloc.h tells");
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    is_int(H5Pset_vol(fapl, connector, NULL), 0, "a file access list takes it");
    is_int(H5Fcreate(tap_path("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl),
           H5I_INVALID_HID, "a create through it fails");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look_for, &found);
    ok(found, "and HDF5's error stack says what to do");
    H5Pclose(fapl);
    is_int(H5VLclose(connector), 0, "it is closed again");
    return done_testing();
}
