/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_dir - directories: made, synced, listed, walked and removed.
 *
 * Everything goes by path. What is found by a walk is looked at with lstat and listed
 * without following a link in the last place, so nothing but a directory of ours could
 * lead a walk elsewhere; that those cannot be exchanged under it is for
 * vel_fs_check_private_dir() to say.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "sys/entropy.h"
#include "sys/fs.h"

/* 0 or a negative errno */
static int sync_dir(struct vel_fs *fs, const char *dir)
{
    int fd = fs->ops->open(fs, dir, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return fd;
    int rc = fs->ops->fsync(fs, fd);
    fs->ops->close(fs, fd);
    /* what a file system says that has no such thing; there is nothing to be done */
    return rc == -EINVAL || rc == -EOPNOTSUPP ? 0 : rc;
}

int vel_fs_sync_dir(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    int rc = sync_dir(fs, dir);

    return rc < 0
               ? vel_fail_errno(err, -rc, "cannot bring directory %s to its disk", dir)
               : 0;
}

int vel_fs_sync_parent(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *dir = vel_path_dir(path);
    int rc = dir ? vel_fs_sync_dir(fs, dir, err) : vel_out_of_memory(err, path);

    free(dir);
    return rc;
}

/* Has anybody put something into it? */
static bool is_used(struct vel_fs *fs, const char *dir)
{
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    fs->ops->list(fs, dir, &names);
    bool is = names.n > 0;
    vel_fs_names_fini(&names);
    return is;
}

/* A directory that was there. Everything above it is on disk, because each directory is
 * synced into the one above before anything is made in it; but whoever made this one
 * may have died before he did so, or be just about to. 0 or a negative errno. */
static int adopt_dir(struct vel_fs *fs, const char *dir, bool is_own)
{
    struct stat st;
    char *itself = vel_path_join(dir, ".");
    char *above = vel_path_join(dir, "..");
    int rc = -ENOMEM;

    if (!itself || !above)
        goto out;
    rc = fs->ops->lstat(fs, itself, &st);
    if (rc < 0) {
        rc = rc == -ENOENT ? -ENOTDIR : rc; /* a link that leads nowhere */
        goto out;
    }
    rc = is_own && is_used(fs, itself) ? 0 : sync_dir(fs, above);
    if (rc == -EACCES || rc == -EPERM || rc == -EROFS)
        rc = 0; /* where we may not look we have made nothing */
out:
    free(itself);
    free(above);
    return rc;
}

/* One directory, its name on disk: 1 when it was made, 0 when it was there; -ENOENT
 * when the one above is missing. */
static int make_dir(struct vel_fs *fs, const char *dir, const char *parent, mode_t mode,
                    bool is_own)
{
    int rc = fs->ops->mkdir(fs, dir, mode);

    if (rc == -EEXIST)
        return adopt_dir(fs, dir, is_own);
    if (rc < 0)
        return rc;
    rc = sync_dir(fs, parent);
    if (rc < 0)
        fs->ops->rmdir(fs, dir); /* whoever tries again shall make it and sync it */
    return rc < 0 ? rc : 1;
}

int vel_fs_make_dirs_unsynced(struct vel_fs *fs, const char *dir, mode_t mode,
                              struct vel_err *err)
{
    int made = fs->ops->mkdir(fs, dir, mode), rc = 0;

    if (made == -ENOENT) {
        char *above = vel_path_dir(dir);

        rc = above ? vel_fs_make_dirs_unsynced(fs, above, mode, err)
                   : vel_out_of_memory(err, dir);
        free(above);
        made = rc == 0 ? fs->ops->mkdir(fs, dir, mode) : made;
    }
    return rc == 0 && made < 0 && made != -EEXIST
               ? vel_fail_errno(err, -made, "cannot make directory %s", dir)
               : rc;
}

int vel_fs_make_dirs(struct vel_fs *fs, const char *dir, mode_t mode,
                     struct vel_err *err)
{
    char *parent = vel_path_dir(dir);

    if (!parent)
        return vel_out_of_memory(err, dir);
    int rc = make_dir(fs, dir, parent, mode, false);
    if (rc == -ENOENT && strcmp(parent, dir) != 0) {
        int above = vel_fs_make_dirs(fs, parent, mode, err);
        if (above < 0) {
            free(parent);
            return above;
        }
        rc = make_dir(fs, dir, parent, mode, false);
    } else if (rc == 1) {
        rc = adopt_dir(fs, parent, false);
    }
    free(parent);
    return rc < 0 ? vel_fail_errno(err, -rc, "cannot make directory %s", dir) : 0;
}

int vel_fs_make_own_dir(struct vel_fs *fs, const char *dir, mode_t mode,
                        struct vel_err *err)
{
    char *parent = vel_path_dir(dir);
    int rc = parent ? make_dir(fs, dir, parent, mode, true) : -ENOMEM;

    free(parent);
    if (rc == -ENOENT)
        return vel_fs_make_dirs(fs, dir, mode, err);
    return rc < 0 ? vel_fail_errno(err, -rc, "cannot make directory %s", dir) : 0;
}

int vel_fs_check_private_dir(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(fs, dir, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISDIR(st.st_mode))
        return vel_fail(err, VEL_EUNSAFE, "%s is %s: remove it or name another place",
                        dir, S_ISLNK(st.st_mode) ? "a link" : "no directory");
    if (st.st_uid != geteuid())
        return vel_fail(err, VEL_EUNSAFE,
                        "%s belongs to user %ld, not to us: name another place", dir,
                        (long)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return vel_fail(err, VEL_EUNSAFE,
                        "others may write in %s: make it private (chmod 700)", dir);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* sorted; 0 or a negative errno, and then *ret_names is empty */
static int list_dir(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names)
{
    vel_vec_init(ret_names, sizeof(char *));
    int rc = fs->ops->list(fs, dir, ret_names);
    if (rc == 0)
        vel_vec_sort(ret_names, compare_names);
    return rc;
}

int vel_fs_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names,
                struct vel_err *err)
{
    char *inside = vel_path_join(dir, "."); /* should dir be a link */

    if (!inside)
        return vel_out_of_memory(err, dir);
    struct vel_vec names;
    int rc = list_dir(fs, inside, &names);
    free(inside);
    if (rc < 0) {
        vel_vec_fini(&names);
        return rc == -ENOTDIR
                   ? vel_fail(err, VEL_ENOENT, "cannot list %s: it is no directory",
                              dir)
                   : vel_fail_errno(err, -rc, "cannot list directory %s", dir);
    }
    *ret_names = names;
    return 0;
}

void vel_fs_names_fini(struct vel_vec *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(*(char **)vel_vec_at(names, i));
    vel_vec_fini(names);
}

/* a walk under way; path grows and shrinks with the depth */
struct walk {
    struct vel_fs *fs;
    struct vel_buf path;
    size_t below; /* where the part below the root begins */
    vel_fs_visit_f *visit;
    void *arg;
};

static int visit(struct walk *w, enum vel_fs_visit what, const struct stat *st,
                 struct vel_err *err)
{
    size_t at = w->path.len < w->below ? w->path.len : w->below;

    return w->visit(w->arg, what, w->path.data + at, st, err);
}

static int walk_entry(struct walk *w, bool is_root, struct vel_err *err);

/* The depth of this recursion is bounded: a path that is too long for the system ends
 * it. */
static int walk_dir(struct walk *w, const struct stat *st, struct vel_err *err)
{
    struct vel_vec names;
    size_t len = w->path.len;
    int rc = visit(w, VEL_FS_ENTER, st, err);

    if (rc < 0)
        return rc;
    rc = list_dir(w->fs, w->path.data, &names);
    if (rc < 0 && rc != -ENOENT) {
        rc = vel_fail_errno(err, -rc, "cannot list directory %s", w->path.data);
        goto out;
    }
    rc = 0;
    for (size_t i = 0; i < names.n && rc >= 0; i++) {
        vel_buf_putc(&w->path, '/');
        vel_buf_puts(&w->path, *(char **)vel_vec_at(&names, i));
        rc = vel_buf_status(&w->path, err);
        if (rc == 0)
            rc = walk_entry(w, false, err);
        w->path.len = len;
        w->path.data[len] = '\0';
    }
    if (rc >= 0)
        rc = visit(w, VEL_FS_LEAVE, st, err);
out:
    vel_fs_names_fini(&names);
    return rc;
}

static int walk_entry(struct walk *w, bool is_root, struct vel_err *err)
{
    struct stat st;
    int rc = w->fs->ops->lstat(w->fs, w->path.data, &st);

    if (rc == -ENOENT && !is_root)
        return 0; /* gone since it was listed */
    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot look at %s", w->path.data);
    return S_ISDIR(st.st_mode) ? walk_dir(w, &st, err)
                               : visit(w, VEL_FS_FILE, &st, err);
}

int vel_fs_walk(struct vel_fs *fs, const char *root, vel_fs_visit_f *visit_entry,
                void *arg, struct vel_err *err)
{
    struct walk w = {.fs = fs, .visit = visit_entry, .arg = arg};

    vel_buf_init(&w.path);
    vel_buf_puts(&w.path, root);
    while (w.path.len > 1 && w.path.data[w.path.len - 1] == '/')
        w.path.data[--w.path.len] = '\0'; /* a slash would lead through a link */
    w.below = w.path.len + 1;
    int rc = vel_buf_status(&w.path, err);
    if (rc == 0)
        rc = walk_entry(&w, true, err);
    vel_buf_fini(&w.path);
    return rc < 0 ? rc : 0;
}

struct removal {
    struct vel_fs *fs;
    const char *root;
};

static int remove_visited(void *arg, enum vel_fs_visit what, const char *below,
                          const struct stat *st, struct vel_err *err)
{
    const struct removal *r = arg;

    (void)st;
    if (what == VEL_FS_ENTER)
        return 0;
    char *path = below[0] ? vel_path_join(r->root, below) : strdup(r->root);
    if (!path)
        return vel_out_of_memory(err, r->root);
    int rc = what == VEL_FS_FILE ? r->fs->ops->unlink(r->fs, path)
                                 : r->fs->ops->rmdir(r->fs, path);
    if (rc < 0 && rc != -ENOENT)
        rc = vel_fail_errno(err, -rc, "cannot remove %s", path);
    else
        rc = 0;
    free(path);
    return rc;
}

int vel_fs_remove_tree(struct vel_fs *fs, const char *root, struct vel_err *err)
{
    struct removal r = {.fs = fs, .root = root};
    int rc = vel_fs_walk(fs, root, remove_visited, &r, err);

    return rc == VEL_ENOENT ? 0
                            : rc; /* of the root alone: the walk passes over others */
}

/* --- what others have done --- */

static const char look[] = ".look.";

bool vel_fs_is_look(const char *name)
{
    return strncmp(name, look, strlen(look)) == 0 && vel_fs_is_temporary(name);
}

int vel_fs_sweep_looks(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    struct vel_vec names;
    int rc = vel_fs_list(fs, dir, &names, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = vel_fs_is_look(name) ? vel_path_join(dir, name) : NULL;

        if (path)
            vel_fs_unlink(fs, path, NULL);
        free(path);
    }
    vel_fs_names_fini(&names);
    return 0;
}

static int time_of(struct vel_fs *fs, int fd, const char *path, struct timespec *ret,
                   struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_stat(fs, fd, path, &st, err);

    if (rc == 0)
        *ret = st.st_mtim;
    return rc;
}

static int make_look(struct vel_fs *fs, const char *path, struct timespec *ret_now,
                     struct vel_err *err)
{
    int fd = -1, unlinked;
    int rc =
        vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &fd, err);

    if (rc < 0)
        return rc;
    rc = ret_now ? time_of(fs, fd, path, ret_now, err) : 0;
    vel_fs_close(fs, fd, path, NULL);
    unlinked = vel_fs_unlink(fs, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : unlinked;
}

/* A sweep of somebody else may take it away before its time is read. */
int vel_fs_see_anew(struct vel_fs *fs, const char *dir, struct timespec *ret_now,
                    struct vel_err *err)
{
    int rc = -1;

    if (!ret_now && fs->ops->shows_all(fs, dir) == 1)
        return 0;
    for (int round = 0; rc < 0 && round < 2; round++) {
        struct vel_buf path;
        uint64_t random;

        vel_buf_init(&path);
        rc = vel_entropy(&random, sizeof random, err);
        vel_buf_printf(&path, "%s/%s%016" PRIx64 ".h5v-tmp", dir, look, random);
        if (rc == 0)
            rc = vel_buf_status(&path, err);
        if (rc == 0)
            rc = make_look(fs, path.data, ret_now, err);
        vel_buf_fini(&path);
        if (!ret_now)
            break;
    }
    return rc;
}
