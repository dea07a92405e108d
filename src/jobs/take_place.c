/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the parts of a dataset are made, and how a file gets there. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "jobs/take_in.h"
#include "topo/seats.h"

/* --- where --- */

const char *vel_take_home(const struct vel_take *take, const struct vel_batch *batch)
{
    for (size_t i = 0; i < take->n_homes; i++)
        if (vel_path_below(take->homes[i], batch->dir))
            return take->homes[i];
    return NULL;
}

bool vel_take_is_moved(const struct vel_take *take, const struct vel_vec *sources,
                       const char *level)
{
    for (size_t i = 0; i < sources->n; i++) {
        const char *home = vel_take_home(take, vel_vec_at(sources, i));

        if (!home || !vel_path_below(home, level))
            return true;
    }
    return false;
}

int vel_take_level(const struct vel_take *take, const struct vel_vec *sources,
                   const char *home, char **ret_level, struct vel_err *err)
{
    int64_t index = vel_seal_level(take->seal);
    size_t at = vel_seats_home(take->conf, (size_t)index, take->homes, take->n_homes);
    const char *from =
        sources->n > 0 ? vel_take_home(take, vel_vec_at(sources, 0)) : NULL;

    if (take->n_homes == 0)
        return vel_fail(err, VEL_ENOENT, "%s has no cache", take->node);
    if (!home && !take->home && take->choose)
        home = take->choose(take->arg, take->seal, from);
    else if (!home)
        home = at < take->n_homes ? take->homes[at] : from;
    if (!home)
        home = take->homes[0];
    *ret_level = take->home ? vel_path_dir(take->home) : vel_path_level(home, index);
    return *ret_level ? 0 : vel_out_of_memory(err, "a dataset");
}

int vel_take_make_home(const struct vel_take *take, const char *level, const char *home,
                       struct vel_err *err)
{
    struct vel_batches *ledger = vel_take_ledger(take, home);
    int rc = ledger ? vel_batches_make_level(ledger, level, err)
                    : vel_fs_make_own_dir(take->fs, level, 0700, err);

    if (rc == 0)
        rc = vel_fs_check_private_dir(take->fs, level, err);
    if (rc == 0)
        rc = vel_fs_make_dirs_unsynced(take->fs, home, 0700, err);
    return rc == 0 ? vel_fs_check_private_dir(take->fs, home, err) : rc;
}

/* --- how --- */

/* All of a part's directories are synced with its list, and their names at the end. */
static int make_above(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *above = vel_path_dir(path);
    int rc = above ? vel_fs_make_dirs_unsynced(fs, above, 0700, err)
                   : vel_out_of_memory(err, "a file");

    free(above);
    return rc;
}

/* As old as the file itself. The bytes are synced with the list of the part. */
static int copy(struct vel_fs *fs, const char *source, const char *path,
                struct vel_err *err)
{
    struct stat st;
    int fd = -1, rc = vel_fs_lstat(fs, source, &st, err);

    if (rc == 0)
        rc = vel_fs_copy(fs, source, path, err);
    if (rc == 0)
        rc = vel_fs_open(fs, path, O_WRONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc < 0)
        return rc;
    rc = fs->ops->set_times(fs, fd, (const struct timespec[]){st.st_atim, st.st_mtim});
    if (rc < 0)
        rc = vel_fail_errno(err, -rc, "cannot set the times of %s", path);
    int closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

int vel_take_add(struct vel_fs *fs, const char *source, const char *path,
                 enum vel_take_how how, struct vel_err *err)
{
    int rc = make_above(fs, path, err);

    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    if (rc < 0 || vel_fs_link(fs, source, path, NULL) == 0)
        return rc;
    return how == VEL_TAKE_MOVE ? vel_fs_rename(fs, source, path, err)
                                : copy(fs, source, path, err);
}
