/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/prefix.h"
#include "record/record.h"
#include "sys/entropy.h"

enum { FORMAT = 2 };

static bool is_uuid(const char *text)
{
    size_t i;

    for (i = 0; text[i]; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23
                ? text[i] != '-'
                : !strchr("0123456789abcdef", text[i]))
            return false;
    return i == VEL_PREFIX_ID - 1;
}

static int load(struct vel_fs *fs, const char *path, char ret_id[VEL_PREFIX_ID],
                struct vel_err *err)
{
    struct vel_node *body = NULL;
    const char *text;
    int version, rc;

    rc = vel_record_load(fs, path, "prefix", FORMAT, &version, &body, err);
    if (rc == 0 && version < FORMAT)
        rc = vel_fail(err, VEL_EUNSUP,
                      "%s is of an earlier h5veloc, and nothing there is read: move "
                      "that directory away",
                      path);
    if (rc == 0)
        rc = vel_node_get_text(body, "id", &text, err);
    if (rc == 0 && !is_uuid(text))
        rc = vel_fail(err, VEL_ECORRUPT, "%s: '%s' is no identity", path, text);
    if (rc == 0)
        memcpy(ret_id, text, VEL_PREFIX_ID);
    vel_node_destroy(body);
    return rc;
}

static int make_uuid(char ret[VEL_PREFIX_ID], struct vel_err *err)
{
    uint8_t b[16];
    int rc = vel_entropy(b, sizeof b, err);

    if (rc < 0)
        return rc;
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4: random */
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0, at = 0; i < sizeof b; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret[at++] = '-';
        at += (size_t)snprintf(ret + at, VEL_PREFIX_ID - at, "%02x", b[i]);
    }
    return 0;
}

/* Several may do this at once: a name that is linked to the final one only once makes
 * one of them the first, and a record is never seen half written. */
static int make(struct vel_fs *fs, const char *dir, const char *path,
                struct vel_err *err)
{
    char uuid[VEL_PREFIX_ID];
    struct vel_node *body = vel_node_object();
    struct vel_buf own;
    struct vel_err why = {0};
    int rc = make_uuid(uuid, err);

    vel_buf_init(&own);
    vel_buf_printf(&own, "%s.%s", path, uuid);
    if (rc == 0 &&
        (!body || vel_node_set_text(body, "id", uuid) || vel_buf_status(&own, NULL)))
        rc = vel_out_of_memory(err, "the identity of the prefix");
    if (rc == 0)
        rc = vel_record_save(fs, own.data, "prefix", FORMAT, body, err);
    if (rc == 0) {
        rc = vel_fs_link(fs, own.data, path, &why);
        if (rc < 0 && rc != VEL_EEXIST)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
        else
            rc = vel_fs_sync_dir(fs, dir, err);
        vel_fs_unlink(fs, own.data, NULL);
    }
    vel_buf_fini(&own);
    vel_node_destroy(body);
    return rc;
}

static int open_prefix(struct vel_fs *fs, const char *dir, bool may_make,
                       char ret_id[VEL_PREFIX_ID], struct vel_err *err)
{
    char *path = vel_path_join(dir, "id");
    struct vel_err why = {0};
    int rc;

    if (!path) {
        rc = vel_out_of_memory(err, "the identity of the prefix");
        goto out;
    }
    rc = load(fs, path, ret_id, &why);
    if (rc != VEL_ENOENT || !may_make) {
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
        goto out;
    }
    rc = vel_fs_make_dirs(fs, dir, 0777, err);
    if (rc == 0)
        rc = make(fs, dir, path, err);
    /* who was the first may have swept our half of it away */
    if (rc == 0 || rc == VEL_ENOENT)
        rc = load(fs, path, ret_id, err);
out:
    free(path);
    return rc < 0 ? vel_wrap(err, rc, "opening the prefix") : 0;
}

int vel_prefix_open(struct vel_fs *fs, const char *dir, char ret_id[VEL_PREFIX_ID],
                    struct vel_err *err)
{
    return open_prefix(fs, dir, true, ret_id, err);
}

int vel_prefix_look(struct vel_fs *fs, const char *dir, char ret_id[VEL_PREFIX_ID],
                    struct vel_err *err)
{
    return open_prefix(fs, dir, false, ret_id, err);
}

/* "id.UUID" before it becomes "id", or its temporary. */
static bool is_unfinished(const char *name)
{
    return (strncmp(name, "id.", 3) == 0 && is_uuid(name + 3)) ||
           (vel_fs_is_temporary(name) && strncmp(name, ".id.", 4) == 0);
}

void vel_prefix_sweep(struct vel_fs *fs, const char *dir)
{
    char *ids = vel_path_join(dir, "ids");
    struct vel_vec names = {0};

    if (ids)
        vel_fs_sweep_looks(fs, ids, NULL);
    free(ids);

    if (vel_fs_list(fs, dir, &names, NULL) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            const char *name = ((char **)names.items)[i];
            char *path = is_unfinished(name) ? vel_path_join(dir, name) : NULL;

            if (path)
                vel_fs_unlink(fs, path, NULL);
            free(path);
        }
        vel_fs_names_fini(&names);
    }
}
