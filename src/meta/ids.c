/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "meta/paths.h"
#include "record/record.h"

enum { FORMAT = 1 };

char *vel_id_launch_path(const char *dir, int64_t id)
{
    char *of = vel_dataset_dir(dir, id);
    char *path = of ? vel_path_join(of, "launch") : NULL;

    free(of);
    return path;
}

int vel_id_say(struct vel_fs *fs, const char *dir, int64_t id,
               const struct vel_id_owner *owner, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = vel_id_launch_path(dir, id);
    int rc = !body || !path || vel_node_set_text(body, "launch", owner->launch) ||
                     (owner->is_leaders && vel_node_set_bool(body, "leaders", true))
                 ? vel_out_of_memory(err, "a dataset")
                 : vel_record_save(fs, path, "launch", FORMAT, body, err);

    vel_node_destroy(body);
    free(path);
    return rc;
}

/* Above all that is there, or just goes; two programs may look at the same time. */
static int last_above(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                      struct vel_err *err)
{
    struct vel_vec names;
    int64_t id = 0;
    int rc = vel_fs_list(fs, dir, &names, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        if ((vel_number_behind(name, "dataset.", &id) ||
             vel_number_behind(name, "dropped.", &id) || vel_id_is_going(name, &id)) &&
            id > *ret_id)
            *ret_id = id;
    }
    vel_fs_names_fini(&names);
    return 0;
}

int vel_id_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                struct vel_err *err)
{
    int64_t id = 0;
    int rc = last_above(fs, dir, &id, err);

    if (rc == 0)
        *ret_id = id;
    return rc;
}

/* Whoever makes the directory has the id, for good: its name is on disk before anybody
 * is told of it. One whose name cannot be brought there is nobody's. */
static int make_dir(struct vel_fs *fs, const char *dir, int64_t *id,
                    struct vel_err *err)
{
    for (;;) {
        char *path = vel_dataset_dir(dir, ++*id);
        int rc = path ? fs->ops->mkdir(fs, path, 0777) : -ENOMEM;
        bool is_taken = rc == -EEXIST;

        if (rc < 0 && !is_taken) {
            rc = vel_fail_errno(err, -rc, "cannot make %s", path ? path : dir);
        } else if (!is_taken) {
            rc = vel_fs_sync_dir(fs, dir, err);
            if (rc < 0)
                fs->ops->rmdir(fs, path);
        }
        free(path);
        if (!is_taken)
            return rc;
    }
}

int vel_id_claim(struct vel_fs *fs, const char *dir, int64_t above,
                 const struct vel_id_owner *owner, int64_t *ret_id, struct vel_err *err)
{
    int64_t id = above;
    int rc = last_above(fs, dir, &id, err);

    if (rc == 0)
        rc = make_dir(fs, dir, &id, err);
    if (rc == 0)
        rc = vel_id_say(fs, dir, id, owner, err);
    if (rc == 0)
        *ret_id = id;
    return rc;
}

bool vel_id_is_going(const char *name, int64_t *ret_id)
{
    size_t len = strlen(name), tail = strlen(VEL_GONE);
    char stem[64];

    if (len <= tail || len - tail >= sizeof stem ||
        strcmp(name + len - tail, VEL_GONE) != 0)
        return false;
    memcpy(stem, name, len - tail);
    stem[len - tail] = '\0';
    return vel_number_behind(stem, ".dataset.", ret_id);
}

int vel_id_launch(struct vel_fs *fs, const char *dir, int64_t id, char **ret_launch,
                  bool *ret_is_leaders, struct vel_err *err)
{
    char *path = vel_id_launch_path(dir, id), *copy = NULL;
    struct vel_node *body = NULL;
    const char *launch;
    bool is_leaders = false;
    int version,
        rc = path ? vel_record_load(fs, path, "launch", FORMAT, &version, &body, err)
                  : vel_out_of_memory(err, "a dataset");

    if (rc == 0)
        rc = vel_node_get_text(body, "launch", &launch, err);
    if (rc == 0 && ret_is_leaders && vel_node_has(body, "leaders"))
        rc = vel_node_get_bool(body, "leaders", &is_leaders, err);
    if (rc == 0 && !vel_launch_is_name(launch))
        rc = vel_fail(err, VEL_ECORRUPT, "dataset %lld: '%s' is no launch",
                      (long long)id, launch);
    if (rc == 0) {
        copy = strdup(launch);
        rc = copy ? 0 : vel_out_of_memory(err, "a dataset");
    }
    if (rc == 0)
        *ret_launch = copy;
    if (rc == 0 && ret_is_leaders)
        *ret_is_leaders = is_leaders;
    vel_node_destroy(body);
    free(path);
    return rc;
}

bool vel_id_is_of_leaders(struct vel_fs *fs, const char *dir, int64_t id)
{
    bool is_leaders = false;
    char *launch = NULL;

    vel_id_launch(fs, dir, id, &launch, &is_leaders, NULL);
    free(launch);
    return is_leaders;
}
