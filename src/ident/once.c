/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ident/once.h"
#include "record/record.h"
#include "sys/entropy.h"

enum { MAKER = 16 }; /* hex digits */

static int random_hex(char ret[MAKER + 1], struct vel_err *err)
{
    uint64_t number;
    int rc = vel_entropy(&number, sizeof number, err);

    if (rc == 0)
        snprintf(ret, MAKER + 1, "%016" PRIx64, number);
    return rc;
}

static int make(struct vel_fs *fs, const char *path, const char *type, int version,
                const struct vel_node *record, enum vel_fs_lasts lasts,
                bool *ret_is_mine, struct vel_err *err)
{
    struct vel_node *body = vel_node_copy(record);
    struct vel_buf bytes;
    char maker[MAKER + 1];
    int rc;

    vel_buf_init(&bytes);
    rc = body ? random_hex(maker, err) : vel_out_of_memory(err, path);
    if (rc == 0 && vel_node_set_text(body, "maker", maker) < 0)
        rc = vel_out_of_memory(err, path);
    if (rc == 0)
        rc = vel_record_encode(type, version, body, &bytes, err);
    if (rc == 0)
        rc = vel_fs_once(fs, path, bytes.data, bytes.len, lasts, ret_is_mine, err);
    vel_buf_fini(&bytes);
    vel_node_destroy(body);
    return rc;
}

int vel_once(struct vel_fs *fs, const char *path, const char *type, int version,
             const struct vel_node *record, bool *ret_is_mine, struct vel_err *err)
{
    return make(fs, path, type, version, record, VEL_FS_LASTS, ret_is_mine, err);
}

int vel_once_unsynced(struct vel_fs *fs, const char *path, const char *type,
                      int version, const struct vel_node *record, bool *ret_is_mine,
                      struct vel_err *err)
{
    return make(fs, path, type, version, record, VEL_FS_LASTS_NOT, ret_is_mine, err);
}

/* --- claims --- */

static char *claim_path(const char *dir, const char *name, int64_t k)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s.%" PRId64, dir, name, k);
    return vel_buf_take(&path, NULL);
}

/* K of "NAME.K" as we write it, else 0. */
static int64_t claim_number(const char *entry, const char *name)
{
    size_t len = strlen(name);
    int64_t k = 0;

    if (strncmp(entry, name, len) != 0 || entry[len] != '.')
        return 0;
    const char *digit = entry + len + 1;
    if (*digit == '0')
        return 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (k > (INT64_MAX - 9) / 10)
            return 0;
        k = k * 10 + (*digit - '0');
    }
    return *digit == '\0' ? k : 0;
}

int vel_claim_newest(struct vel_fs *fs, const char *dir, const char *name,
                     int64_t *ret_k, struct vel_err *err)
{
    struct vel_vec names;
    int64_t newest = 0;
    int rc;

    rc = vel_fs_list(fs, dir, &names, err);
    if (rc == VEL_ENOENT) {
        *ret_k = 0;
        return 0;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < names.n; i++) {
        int64_t k = claim_number(*(char **)vel_vec_at(&names, i), name);

        if (k > newest)
            newest = k;
    }
    vel_fs_names_fini(&names);
    *ret_k = newest;
    return 0;
}

int vel_claim(struct vel_fs *fs, const char *dir, const char *name, int64_t above,
              const char *type, int version, const struct vel_node *record,
              int64_t *ret_k, struct vel_err *err)
{
    bool is_mine = false;

    if (above < 0 || above == INT64_MAX)
        return vel_fail(err, VEL_EINVAL, "a claim above %" PRId64 " of %s", above,
                        name);
    char *path = claim_path(dir, name, above + 1);
    if (!path)
        return vel_out_of_memory(err, name);
    int rc = vel_once(fs, path, type, version, record, &is_mine, err);
    if (rc == 0 && !is_mine)
        rc = vel_fail(err, VEL_EEXIST, "%s was claimed by another", path);
    if (rc == 0)
        *ret_k = above + 1;
    free(path);
    return rc;
}

int vel_claim_load(struct vel_fs *fs, const char *dir, const char *name, int64_t k,
                   const char *type, int newest, struct vel_node **ret_record,
                   struct vel_err *err)
{
    char *path = claim_path(dir, name, k);
    int version, rc;

    if (!path)
        return vel_out_of_memory(err, name);
    rc = vel_record_load(fs, path, type, newest, &version, ret_record, err);
    free(path);
    return rc;
}
