/* SPDX-License-Identifier: BSD-3-Clause */
/* What fails below the connector fails for the program as without it: the first cause
 * is the same, the last caller is the same, and everything is printed once. Run through
 * the connector by HDF5_VOL_CONNECTOR, and once without. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "tap/tap.h"

struct ends {
    char first[512], last[512];
};

static herr_t look(unsigned n, const H5E_error2_t *entry, void *data)
{
    struct ends *ends = data;

    if (n == 0)
        snprintf(ends->last, sizeof ends->last, "%s: %s", entry->func_name,
                 entry->desc);
    snprintf(ends->first, sizeof ends->first, "%s: %s", entry->func_name, entry->desc);
    return 0;
}

static int printed;

static herr_t print(hid_t stack, void *arg)
{
    (void)stack;
    printed += arg == &printed;
    return 0;
}

typedef hid_t fails_f(hid_t file, hid_t fapl);

static hid_t open_missing(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("missing.h5"), H5F_ACC_RDONLY, fapl);
}

static hid_t create_again(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fcreate(tap_path("there.h5"), H5F_ACC_EXCL, H5P_DEFAULT, fapl);
}

static hid_t create_nowhere(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fcreate(tap_path("no/where.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
}

static hid_t open_dataset(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Dopen2(file, "nope", H5P_DEFAULT);
}

static hid_t open_attribute(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Aopen(file, "nope", H5P_DEFAULT);
}

static hid_t delete_link(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Ldelete(file, "nope", H5P_DEFAULT);
}

static hid_t copy_object(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Ocopy(file, "nope", file, "there", H5P_DEFAULT, H5P_DEFAULT);
}

static const struct {
    const char *what;
    fails_f *fails;
} cases[] = {
    {"a file that is not there", open_missing},
    {"a file that is there already", create_again},
    {"a file in no directory", create_nowhere},
    {"a dataset that is not there", open_dataset},
    {"an attribute that is not there", open_attribute},
    {"a link that is not there", delete_link},
    {"a copy of nothing", copy_object},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void collect(hid_t fapl, struct ends ends[CASES])
{
    hid_t file = H5Fopen(tap_path("there.h5"), H5F_ACC_RDWR, fapl);

    for (size_t i = 0; i < CASES; i++) {
        memset(&ends[i], 0, sizeof ends[i]);
        if (cases[i].fails(file, fapl) < 0)
            H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &ends[i]);
    }
    H5Fclose(file);
}

static hid_t list_of(hid_t connector)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    return H5Pset_vol(fapl, connector, NULL) < 0 ? -1 : fapl;
}

int main(void)
{
    struct ends native[CASES], ours[CASES];
    hid_t connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    hid_t without = list_of(H5VL_NATIVE), with = list_of(connector);
    H5E_auto2_t kept = NULL;
    void *arg = NULL;

    H5Fclose(H5Fcreate(tap_path("there.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, without));
    H5Eset_auto2(H5E_DEFAULT, print, &printed);
    collect(without, native);
    is_int(printed, CASES, "without the connector HDF5 prints each failure");
    printed = 0;
    collect(with, ours);
    is_int(printed, CASES, "with it also, and each once");
    for (size_t i = 0; i < CASES; i++) {
        is_str(ours[i].first, native[i].first, "%s", cases[i].what);
        is_str(ours[i].last, native[i].last, "and the call is named that failed");
    }
    ok(H5Eget_auto2(H5E_DEFAULT, &kept, &arg) >= 0 && kept == print && arg == &printed,
       "who prints errors is left as it was");
    H5Pclose(with);
    H5Pclose(without);
    H5VLclose(connector);
    return done_testing();
}
