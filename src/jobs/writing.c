/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/writing.h"
#include "meta/paths.h"
#include "record/record.h"
#include "sys/entropy.h"
#include "xfer/temp.h"

enum { FORMAT = 1 };

static const char type[] = "writing", prefix[] = "writing.";

static char *record_path(const char *dir, uint64_t number)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s%" PRIu64, dir, prefix, number);
    return vel_buf_take(&path, NULL);
}

/* Without one a file is left behind when we are killed: no reason to write nothing. */
static void save(struct vel_fs *fs, const char *dir, uint64_t number,
                 struct vel_writing *writing)
{
    struct vel_node *body = vel_node_object();
    char *path = record_path(dir, number);

    if (body && path && vel_node_set_name(body, "temporary", writing->temporary) == 0 &&
        vel_record_save(fs, path, type, FORMAT, body, NULL) == 0) {
        writing->record = path;
        path = NULL;
    }
    free(path);
    vel_node_destroy(body);
}

int vel_writing_begin(struct vel_fs *fs, const char *launch_dir, const char *dest,
                      struct vel_writing *ret, struct vel_err *err)
{
    uint64_t number = 0;
    int rc = vel_entropy(&number, sizeof number, err);

    *ret = (struct vel_writing){0};
    number >>= 1;
    if (rc == 0)
        rc = vel_xfer_temp_name(dest, number, &ret->temporary, err);
    if (rc == 0 && launch_dir && vel_fs_exists(fs, launch_dir))
        save(fs, launch_dir, number, ret);
    return rc;
}

void vel_writing_end(struct vel_fs *fs, struct vel_writing *writing)
{
    if (writing->record)
        vel_fs_unlink(fs, writing->record, NULL);
    free(writing->record);
    free(writing->temporary);
    *writing = (struct vel_writing){0};
}

/* It names what only its process can have made. */
static void remove_one(struct vel_fs *fs, const char *path, int64_t number)
{
    struct vel_node *body = NULL;
    char *temporary = NULL;
    uint64_t id = 0;
    struct stat st;
    int version, rc = vel_record_load(fs, path, type, FORMAT, &version, &body, NULL);

    if (rc == 0)
        rc = vel_node_get_name(body, "temporary", &temporary, NULL);
    if (rc == 0 && temporary[0] == '/' &&
        vel_xfer_temp_parse(vel_path_base(temporary), &id) && id == (uint64_t)number &&
        vel_fs_lstat(fs, temporary, &st, NULL) == 0 && S_ISREG(st.st_mode))
        rc = vel_fs_unlink(fs, temporary, NULL);
    if (rc == 0 || rc == VEL_ECORRUPT)
        vel_fs_unlink(fs, path, NULL);
    free(temporary);
    vel_node_destroy(body);
}

void vel_writing_sweep(struct vel_fs *fs, const char *launch_dir)
{
    struct vel_vec names;
    int64_t number;

    vel_vec_init(&names, sizeof(char *));
    vel_fs_list(fs, launch_dir, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = vel_number_behind(name, prefix, &number)
                         ? vel_path_join(launch_dir, name)
                         : NULL;

        if (path)
            remove_one(fs, path, number);
        free(path);
    }
    vel_fs_names_fini(&names);
}
