/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an anchor is now, and a file that takes its place.
 *
 * An O_PATH descriptor keeps the inode and not its name: the link count tells that all
 * names are gone, the kernel knows the present one. The kernel's answer, and every
 * path, is only a hint: what stands there is looked at. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/path.h"
#include "jobs/anchor.h"

/* --- is it the anchor? --- */

static bool is_later(const struct stat *st, const struct vel_anchor *anchor)
{
    return st->st_mtim.tv_sec != anchor->mtime_s
               ? st->st_mtim.tv_sec > anchor->mtime_s
               : st->st_mtim.tv_nsec > (long)anchor->mtime_ns;
}

/* Untouched: of a stub its content tells, of a version its size and time, but while we
 * change it ourselves. A stub that is empty has lost its bytes with the power when
 * nobody has written there since it was made. */
static bool is_untouched(struct vel_fs *fs, const char *path, const struct stat *st,
                         const struct vel_anchor *anchor)
{
    struct vel_stub stub;

    if (anchor->is_stub && st->st_size == 0)
        return !is_later(st, anchor);
    if (anchor->is_stub)
        return vel_stub_read(fs, path, &stub, NULL) == 0 && stub.mark == anchor->mark;
    if (anchor->is_patched)
        return true;
    return (uint64_t)st->st_size == anchor->size &&
           st->st_mtim.tv_sec == anchor->mtime_s &&
           (uint32_t)st->st_mtim.tv_nsec == anchor->mtime_ns;
}

/* Does the inode of the anchor have this name? */
static bool is_name(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                    const char *path, struct stat *ret_st)
{
    if (fs->ops->lstat(fs, path, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
        return false;
    if (hold->fd >= 0)
        return ret_st->st_ino == hold->inode && ret_st->st_dev == hold->device;
    return ret_st->st_ino == hold->anchor->inode;
}

/* Names in the directory of `path`, other than `path`, that the anchor's inode has:
 * appended to *ret (items char *). */
static int list_names(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                      const char *path, struct vel_vec *ret, struct vel_err *err)
{
    char *dir = vel_path_dir(path);
    struct vel_vec names = {0};
    int rc = dir ? vel_fs_list(fs, dir, &names, err) : vel_out_of_memory(err, path);

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char *name = vel_path_join(dir, ((char **)names.items)[i]);
        struct stat st;

        if (!name)
            rc = vel_out_of_memory(err, path);
        else if (strcmp(name, path) != 0 && is_name(fs, hold, name, &st)) {
            if (vel_vec_push(ret, &name))
                continue;
            rc = vel_out_of_memory(err, path);
        }
        free(name);
    }
    vel_fs_names_fini(&names);
    free(dir);
    return rc;
}

/* Then there is none to be looked for, which takes longer the more files are there. */
static bool has_one_name(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                         const char *path)
{
    struct stat st;

    return is_name(fs, hold, path, &st) && st.st_nlink == 1;
}

/* --- holding --- */

void vel_anchor_hold(struct vel_fs *fs, const struct vel_anchor *anchor,
                     struct vel_anchor_hold *ret)
{
    struct vel_anchor_hold hold = {.anchor = anchor, .fd = -1};
    struct stat st, there;

    hold.fd = fs->ops->open(fs, anchor->path, O_PATH | O_NOFOLLOW, 0);
    if (hold.fd >= 0 && fs->ops->fstat(fs, hold.fd, &st) == 0) {
        hold.inode = st.st_ino;
        hold.device = st.st_dev;
        if (st.st_ino == anchor->inode && is_name(fs, &hold, anchor->path, &there) &&
            is_untouched(fs, anchor->path, &there, anchor)) {
            *ret = hold;
            return;
        }
    }
    if (hold.fd >= 0)
        fs->ops->close(fs, hold.fd);
    *ret = (struct vel_anchor_hold){.anchor = anchor, .fd = -1};
}

void vel_anchor_release(struct vel_fs *fs, struct vel_anchor_hold *hold)
{
    if (hold->fd >= 0)
        fs->ops->close(fs, hold->fd);
    hold->fd = -1;
}

/* --- following --- */

/* A name in that directory; *ret_path stays NULL when there is none. */
static int find_in(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                   const char *path, char **ret_path, struct vel_err *err)
{
    struct vel_vec names;
    struct stat st;
    int rc = 0;

    if (is_name(fs, hold, path, &st)) {
        *ret_path = strdup(path);
        return *ret_path ? 0 : vel_out_of_memory(err, path);
    }
    vel_vec_init(&names, sizeof(char *));
    rc = list_names(fs, hold, path, &names, err);
    if (rc == VEL_ENOENT)
        rc = 0; /* the directory itself is gone */
    for (size_t i = 0; rc == 0 && !*ret_path && i < names.n; i++) {
        char **name = vel_vec_at(&names, i);

        /* a number of an inode alone may be another file's by now */
        if (hold->fd < 0 && (fs->ops->lstat(fs, *name, &st) < 0 ||
                             !is_untouched(fs, *name, &st, hold->anchor)))
            continue;
        *ret_path = *name;
        *name = NULL;
    }
    vel_fs_names_fini(&names);
    return rc;
}

/* What the kernel says, without what it says of names that are gone. */
static char *kernel_path(const struct vel_anchor_hold *hold)
{
    static const char gone[] = " (deleted)";
    char *path = NULL;
    size_t len, end = sizeof gone - 1;

    if (vel_fs_path_of(hold->fd, &path, NULL) < 0)
        return NULL;
    len = strlen(path);
    if (len > end && strcmp(path + len - end, gone) == 0)
        path[len - end] = 0;
    return path;
}

static int find_held(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                     char **ret_path, struct vel_err *err)
{
    char *path = kernel_path(hold);
    int rc = path ? find_in(fs, hold, path, ret_path, err) : 0;

    free(path);
    if (rc < 0 || *ret_path)
        return rc;
    return find_in(fs, hold, hold->anchor->path, ret_path, err);
}

/* 1: no name is left; 0: some are, or nobody knows */
static int is_unlinked(struct vel_fs *fs, const struct vel_anchor_hold *hold)
{
    struct stat st;

    if (hold->anchor->inode == 0) /* published already, and nothing to wait for */
        return true;
    return hold->fd >= 0 && fs->ops->fstat(fs, hold->fd, &st) == 0 && st.st_nlink == 0;
}

/* Nothing is held and the inode has no name where it was: whoever has taken the name
 * has it, else the program has removed it while nobody looked. */
static int miss(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                enum vel_anchor_now *ret_now, char **ret_path, struct vel_err *err)
{
    if (hold->fd >= 0) {
        *ret_now = VEL_ANCHOR_HIDDEN;
        return 0;
    }
    *ret_now = VEL_ANCHOR_UNLINKED;
    if (!vel_fs_exists(fs, hold->anchor->path))
        return 0;
    *ret_now = VEL_ANCHOR_FOREIGN;
    *ret_path = strdup(hold->anchor->path);
    return *ret_path ? 0 : vel_out_of_memory(err, hold->anchor->path);
}

int vel_anchor_follow(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                      enum vel_anchor_now *ret_now, char **ret_path,
                      struct vel_err *err)
{
    char *path = NULL;
    struct stat st;
    int rc;

    if (is_unlinked(fs, hold)) {
        *ret_now = VEL_ANCHOR_UNLINKED;
        *ret_path = NULL;
        return 0;
    }
    rc = hold->fd >= 0 ? find_held(fs, hold, &path, err)
                       : find_in(fs, hold, hold->anchor->path, &path, err);
    if (rc == 0 && !path)
        rc = miss(fs, hold, ret_now, &path, err);
    else if (rc == 0)
        *ret_now = fs->ops->lstat(fs, path, &st) == 0 &&
                           is_untouched(fs, path, &st, hold->anchor)
                       ? VEL_ANCHOR_STANDS
                       : VEL_ANCHOR_FOREIGN;
    if (rc < 0)
        free(path);
    else
        *ret_path = path;
    return rc;
}

/* --- publishing --- */

/* A further link becomes one of the new file; what fails keeps the old version and is
 * told. */
static void relink(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                   const char *path, const char *other)
{
    struct vel_err why = {0};
    struct vel_buf temporary;
    struct stat st;
    int rc;

    vel_buf_init(&temporary);
    vel_buf_printf(&temporary, "%s.h5veloc-link", other);
    rc = vel_buf_status(&temporary, &why);
    if (rc == 0 && is_name(fs, hold, other, &st)) {
        const char *name = vel_buf_text(&temporary);

        rc = vel_fs_unlink(fs, name, &why);
        if (rc == 0)
            rc = vel_fs_link(fs, path, name, &why);
        if (rc == 0)
            rc = vel_fs_rename(fs, name, other, &why);
        if (rc < 0)
            vel_fs_unlink(fs, name, NULL);
    }
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "%s is still the version before %s: %s", other, path,
                why.text);
    vel_buf_fini(&temporary);
}

/* As with a file that is written anew in its place: the mode is that of what stands
 * there. */
static void keep_mode(struct vel_fs *fs, const char *path, const char *temporary)
{
    struct stat st, now;
    int fd;

    if (fs->ops->lstat(fs, path, &st) < 0 ||
        vel_fs_open(fs, temporary, O_RDONLY | O_NOFOLLOW, 0, &fd, NULL) < 0)
        return;
    if (fs->ops->fstat(fs, fd, &now) == 0 &&
        (st.st_mode & 0777) != (now.st_mode & 0777))
        fs->ops->set_mode(fs, fd, st.st_mode & 0777);
    vel_fs_close(fs, fd, temporary, NULL);
}

static int publish_at(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                      const char *temporary, const char *path, struct vel_err *err)
{
    struct vel_vec others;
    char **other;
    int rc;

    vel_vec_init(&others, sizeof(char *));
    rc = has_one_name(fs, hold, path) ? 0 : list_names(fs, hold, path, &others, err);
    if (rc == 0) {
        keep_mode(fs, path, temporary);
        rc = vel_fs_rename(fs, temporary, path, err);
    }
    other = others.items;
    for (size_t i = 0; rc == 0 && i < others.n; i++)
        relink(fs, hold, path, other[i]);
    vel_fs_names_fini(&others);
    return rc < 0 ? rc : vel_fs_sync_parent(fs, path, err);
}

char *vel_anchor_beside(const char *path, int64_t id)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s.h5veloc-%" PRId64, path, id);
    return vel_buf_take(&text, NULL);
}

int vel_anchor_publish_beside(struct vel_fs *fs, const char *path, int64_t id,
                              const char *temporary, char **ret_path,
                              struct vel_err *err)
{
    char *beside = vel_anchor_beside(path, id);
    int rc = beside ? vel_fs_rename(fs, temporary, beside, err)
                    : vel_out_of_memory(err, path);

    if (rc == 0)
        rc = vel_fs_sync_parent(fs, beside, err);
    if (rc == 0)
        *ret_path = beside;
    else
        free(beside);
    return rc;
}

static int publish_hidden(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                          int64_t id, const char *temporary, char **ret_path,
                          struct vel_err *err)
{
    int rc =
        vel_anchor_publish_beside(fs, hold->anchor->path, id, temporary, ret_path, err);

    if (rc == 0)
        vel_log(VEL_LOG_WARN,
                "what was to be %s has been renamed to where nobody finds it: the file "
                "is %s now",
                hold->anchor->path, *ret_path);
    return rc;
}

int vel_anchor_publish(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                       int64_t id, const char *temporary, enum vel_anchor_end *ret_end,
                       char **ret_path, struct vel_err *err)
{
    enum vel_anchor_now now;
    char *path = NULL;
    int rc = vel_anchor_follow(fs, hold, &now, &path, err);

    if (rc < 0)
        return rc;
    switch (now) {
    case VEL_ANCHOR_UNLINKED:
        *ret_end = VEL_ANCHOR_CANCELLED;
        break;
    case VEL_ANCHOR_FOREIGN:
        *ret_end = VEL_ANCHOR_LEFT;
        break;
    case VEL_ANCHOR_STANDS:
        rc = publish_at(fs, hold, temporary, path, err);
        *ret_end = VEL_ANCHOR_PUBLISHED;
        break;
    case VEL_ANCHOR_HIDDEN:
        rc = publish_hidden(fs, hold, id, temporary, &path, err);
        *ret_end = VEL_ANCHOR_BESIDE;
        break;
    }
    if (rc < 0)
        free(path);
    else
        *ret_path = path;
    return rc;
}
