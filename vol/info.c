/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "info.h"
#include "mpi_rank.h"
#include "object.h"
#include "push.h"

/* A reference of the connector that has this value, loaded if need be. That of HDF5
 * that passes through is in the library, where nobody finds it by its value. */
static hid_t find_connector(int value)
{
    hid_t id;

    if (value != H5VL_PASSTHRU_VALUE)
        return H5VLregister_connector_by_value((H5VL_class_value_t)value, H5P_DEFAULT);
    id = H5VL_PASSTHRU;
    if (id >= 0)
        H5Iinc_ref(id);
    return id;
}

/* --- the callbacks --- */

herr_t vel_info_free(void *data)
{
    struct vel_info *info = data;
    hid_t stack;

    if (!info)
        return 0;
    stack = vel_stack_save();
    if (info->under_info)
        H5VLfree_connector_info(info->under_id, info->under_info);
    if (info->under_id > 0)
        H5Idec_ref(info->under_id);
    vel_stack_restore(stack);
    vel_info_text_fini(&info->said);
    free(info);
    return 0;
}

static struct vel_info *create(hid_t under_id)
{
    struct vel_info *info = calloc(1, sizeof *info);

    if (info)
        info->under_id = under_id;
    else if (under_id > 0)
        H5Idec_ref(under_id);
    return info;
}

static bool copy_text(const char *from, char **ret)
{
    *ret = from ? strdup(from) : NULL;
    return *ret || !from;
}

static void *copy(const void *data)
{
    const struct vel_info *from = data;
    struct vel_info *info;

    H5Iinc_ref(from->under_id);
    info = create(from->under_id);
    if (!info)
        return NULL;
    info->said.word = from->said.word;
    if (!copy_text(from->said.config, &info->said.config) ||
        !copy_text(from->said.dataset, &info->said.dataset) ||
        (from->under_info && H5VLcopy_connector_info(info->under_id, &info->under_info,
                                                     from->under_info) < 0)) {
        vel_info_free(info);
        return NULL;
    }
    return info;
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static herr_t compare(int *ret, const void *data1, const void *data2)
{
    const struct vel_info *a = data1, *b = data2;

    *ret = 0;
    if (H5VLcmp_connector_cls(ret, a->under_id, b->under_id) < 0)
        return -1;
    if (*ret == 0 &&
        H5VLcmp_connector_info(ret, a->under_id, a->under_info, b->under_info) < 0)
        return -1;
    if (*ret == 0)
        *ret = compare_texts(a->said.config, b->said.config);
    if (*ret == 0)
        *ret = compare_texts(a->said.dataset, b->said.dataset);
    if (*ret == 0)
        *ret = (int)a->said.word - (int)b->said.word;
    return 0;
}

/* In memory of HDF5's, which frees it. */
static herr_t to_string(const void *data, char **ret)
{
    static const char *const words[] = {"", "behind;", "live;"};
    const struct vel_info *info = data;
    const char *config = info->said.config, *dataset = info->said.dataset;
    H5VL_class_value_t value;
    struct vel_buf text;
    char *below = NULL;

    if (H5VLget_value(info->under_id, &value) < 0 ||
        H5VLconnector_info_to_str(info->under_info, info->under_id, &below) < 0)
        return -1;
    vel_buf_init(&text);
    vel_buf_puts(&text, words[info->said.word]);
    if (dataset)
        vel_buf_printf(&text, "dataset=%s;", dataset);
    if (config)
        vel_buf_printf(&text, "config=%s;", config);
    vel_buf_printf(&text, "under_vol=%d;under_info={%s}", (int)value,
                   below ? below : "");
    *ret = vel_buf_status(&text, NULL) == 0 ? H5allocate_memory(text.len + 1, 0) : NULL;
    if (*ret)
        memcpy(*ret, vel_buf_text(&text), text.len + 1);
    vel_buf_fini(&text);
    H5free_memory(below);
    return *ret ? 0 : -1;
}

static herr_t from_string(const char *str, void **ret)
{
    struct vel_info_text text;
    struct vel_info *info = NULL;
    const char *why;
    hid_t id;

    if (vel_info_text_parse(str ? str : "", &text, &why) < 0)
        return vel_push(H5E_BADVALUE, "the information '%s' of connector veloc: %s",
                        str, why);
    id = find_connector(text.under_value);
    if (id < 0)
        vel_push(H5E_NOTREGISTERED,
                 "the information of connector veloc: there is no connector with "
                 "under_vol=%d in HDF5_PLUGIN_PATH",
                 text.under_value);
    else
        info = create(id);
    if (info && text.under_info &&
        H5VLconnector_str_to_info(text.under_info, id, &info->under_info) < 0) {
        vel_info_free(info);
        info = NULL;
    }
    if (info) {
        info->said = text;
        info->said.under_info = NULL;
        text = (struct vel_info_text){.under_info = text.under_info};
    }
    vel_info_text_fini(&text);
    *ret = info;
    return info ? 0 : -1;
}

const H5VL_info_class_t vel_info_class = {
    .size = sizeof(struct vel_info),
    .copy = copy,
    .cmp = compare,
    .free = vel_info_free,
    .to_str = to_string,
    .from_str = from_string,
};

/* --- property lists --- */

int vel_info_of_fapl(hid_t fapl_id, struct vel_info **ret)
{
    void *info = NULL;

    if (H5Pget_vol_info(fapl_id, &info) < 0)
        return -1;
    if (!info) {
        hid_t id = find_connector(H5_VOL_NATIVE);

        info = id < 0 ? NULL : create(id);
    }
    *ret = info;
    return info ? 0 : -1;
}

hid_t vel_info_fapl_below(const struct vel_info *info, hid_t fapl_id)
{
    hid_t below = H5Pcopy(fapl_id);

    if (below >= 0 && H5Pset_vol(below, info->under_id, info->under_info) < 0) {
        hid_t stack = vel_stack_save();

        H5Pclose(below);
        vel_stack_restore(stack);
        below = -1;
    }
    return below;
}

struct vel_files_of vel_info_files_of(const struct vel_info *info)
{
    static const char *const unlisted[] = {NULL, "BEHIND", "LIVE"};

    return (struct vel_files_of){.config = info ? info->said.config : NULL,
                                 .dataset = info ? info->said.dataset : NULL,
                                 .unlisted = info ? unlisted[info->said.word] : NULL,
                                 .rank = vel_mpi_rank,
                                 .mpi = vel_mpi_orderly()};
}
