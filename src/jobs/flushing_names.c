/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's files get their names on the prefix. Whoever knows better than their cached
 * names where those are now says so (struct vel_flushing_names); then the list tells
 * where they are, and not where they were to be. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/anchor.h"
#include "jobs/flushing_in.h"
#include "jobs/stub.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "xfer/stands.h"

/* An empty file beside the lists. */
static int mark(struct vel_share *s, char *path)
{
    int fd = -1,
        rc = vel_filelist_make_dir(s->crew.fs, s->crew.dir, s->job->id, s->err);

    if (rc >= 0)
        rc = path ? vel_fs_open(s->crew.fs, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600,
                                &fd, s->err)
                  : vel_out_of_memory(s->err, "flushing");
    if (rc == 0)
        rc = vel_fs_close(s->crew.fs, fd, path, s->err);
    free(path);
    return rc;
}

/* What was marked outlives a loss of power. */
static int sync_mark(struct vel_share *s)
{
    char *its = vel_dataset_dir(s->crew.dir, s->job->id);
    int rc = its ? vel_fs_sync_dir(s->crew.fs, its, s->err)
                 : vel_out_of_memory(s->err, "flushing");

    free(its);
    return rc == 0 ? vel_fs_sync_dir(s->crew.fs, s->crew.dir, s->err) : rc;
}

/* Somebody's file stands at the name of one of ours: whose that was is looked for when
 * all have theirs. A stub is nobody's. */
static int note_taken(struct vel_share *s)
{
    struct vel_stub stub;

    for (size_t i = 0; i < s->files.n; i++)
        if (s->targets[i].temporary && vel_share_file(s, i)->listed.container < 0 &&
            vel_fs_exists(s->crew.fs, s->targets[i].dest) &&
            vel_stub_read(s->crew.fs, s->targets[i].dest, &stub, NULL) < 0)
            return mark(s, vel_taken_path(s->crew.dir, s->job->id));
    return 0;
}

/* The mark comes first: whoever finds the temporary gone after a crash knows why. */
int vel_share_leave_out(struct vel_share *s, size_t i)
{
    int rc = mark(s, vel_left_path(s->crew.dir, s->job->id));

    if (rc == 0)
        rc = sync_mark(s);
    if (rc == 0)
        rc = vel_share_remove_file(s, i);
    if (rc < 0)
        return rc;
    vel_listed_fini(&vel_share_file(s, i)->listed);
    free(vel_share_file(s, i)->from);
    vel_vec_remove(&s->files, i);
    vel_flush_target_fini(&s->targets[i]);
    memmove(s->targets + i, s->targets + i + 1, (s->files.n - i) * sizeof *s->targets);
    s->targets[s->files.n] = (struct vel_flush_target){0};
    return 0;
}

bool vel_share_is_wanted(const struct vel_share *s, size_t i)
{
    const struct vel_flushing *f = s->flushing;

    return !f->names || !s->targets[i].temporary ||
           vel_share_file(s, i)->listed.container >= 0 ||
           f->names->is_wanted(f->arg, s->job, &vel_share_file(s, i)->listed);
}

int vel_share_drop_unwanted(struct vel_share *s)
{
    int rc = 0;

    for (size_t i = s->files.n; rc == 0 && i-- > 0;)
        if (!vel_share_is_wanted(s, i))
            rc = vel_share_leave_out(s, i);
    return rc;
}

static int rename_listed(struct vel_share *s, size_t i, const char *path)
{
    struct vel_listed *listed = &vel_share_file(s, i)->listed;
    char *name = NULL;
    int rc = vel_cachename_of(s->crew.prefix, path, &name, s->err);

    if (rc < 0)
        return rc;
    free(listed->name);
    listed->name = name;
    return 0;
}

/* A file that has got its name already, which is another one than it was to be: where
 * its placeholder had moved, or beside what somebody has put there. */
static bool stands_elsewhere(const struct vel_share *s, size_t i, char **ret_path)
{
    const struct vel_flushing *f = s->flushing;
    const struct vel_listed *listed = &vel_share_file(s, i)->listed;
    const char *dest = s->targets[i].dest;
    char *path = f->names->recorded(f->arg, s->job, listed);
    char *beside = vel_anchor_beside(path ? path : dest, s->job->id);
    bool is_moved = path && strcmp(path, dest) != 0 &&
                    vel_stands_untouched(s->crew.fs, path, listed);
    bool is_beside =
        !is_moved && beside && vel_stands_untouched(s->crew.fs, beside, listed);

    if (is_moved || is_beside)
        *ret_path = is_moved ? path : beside;
    if (!is_moved)
        free(path);
    if (!is_beside)
        free(beside);
    return is_moved || is_beside;
}

/* The temporary of a file is gone, and it has no name: it was left out before a crash,
 * or the program has removed its name and all that was beside it. */
static bool is_left_out(const struct vel_share *s, size_t i)
{
    char *left = vel_left_path(s->crew.dir, s->job->id);
    bool is = !vel_stands_untouched(s->crew.fs, s->targets[i].dest,
                                    &vel_share_file(s, i)->listed) &&
              ((left && vel_fs_exists(s->crew.fs, left)) || !vel_share_is_wanted(s, i));

    free(left);
    return is;
}

/* By who knows better; *ret_path: where it is. VEL_ENOENT: nobody does. VEL_EEXIST: it
 * gets no name. */
static int name_by(struct vel_share *s, size_t i, char **ret_path)
{
    const struct vel_flushing *f = s->flushing;
    struct stat st;

    if (!f->names)
        return VEL_ENOENT;
    if (vel_fs_lstat(s->crew.fs, s->targets[i].temporary, &st, NULL) < 0)
        return stands_elsewhere(s, i, ret_path) ? 0
               : is_left_out(s, i)              ? VEL_EEXIST
                                                : VEL_ENOENT;
    return f->names->publish(f->arg, s->job, s->targets[i].temporary,
                             &vel_share_file(s, i)->listed, ret_path, s->err);
}

static int name_as_listed(struct vel_share *s, size_t i)
{
    const struct vel_entry entry = {.dataset = {.id = s->job->id},
                                    .owner = vel_share_whose(s)};

    return vel_flush_name_one(&s->crew, &entry, &vel_share_file(s, i)->listed, s->err);
}

/* Perhaps another one than it was to have, or none. */
static int name_one(struct vel_share *s, size_t i, bool *is_other)
{
    const struct vel_listed *listed = &vel_share_file(s, i)->listed;
    struct stat st;
    char *path = NULL;
    bool is_patch = listed->is_patch &&
                    vel_fs_lstat(s->crew.fs, s->targets[i].temporary, &st, NULL) == 0;
    int rc = listed->container >= 0 ? VEL_ENOENT /* nobody else knows its name */
             : is_patch             ? vel_share_name_patch(s, i, &path)
                                    : name_by(s, i, &path);

    if (rc == VEL_ENOENT && !is_patch)
        return name_as_listed(s, i);
    if (rc == VEL_EEXIST) {
        *is_other = true;
        return vel_share_leave_out(s, i);
    }
    if (rc == 0 && path && strcmp(path, s->targets[i].dest) != 0) {
        *is_other = true;
        rc = rename_listed(s, i, path);
    }
    free(path);
    return rc;
}

/* The list goes on to hold where all have got the names that it tells. */
static int name_all(struct vel_share *s)
{
    bool is_other = false;
    int rc = 0;

    for (size_t i = s->files.n; rc == 0 && i-- > 0;)
        if (s->targets[i].temporary)
            rc = name_one(s, i, &is_other);
    return rc == 0 && is_other ? vel_share_save(s, true) : rc;
}

int vel_flushing_name(const struct vel_flushing *flushing,
                      const struct vel_flush_job *job, struct vel_err *err)
{
    struct vel_share s;
    int rc = vel_share_init(&s, flushing, job, err);

    if (rc == 0)
        rc = vel_flushing_check_owner(flushing, job->id, job->owner, err);
    if (rc == 0)
        rc = vel_share_list(&s);
    if (rc == 0)
        rc = note_taken(&s);
    if (rc == 0) /* by the names that they had */
        rc = vel_share_remove_past(&s);
    if (rc == 0)
        rc = name_all(&s);
    vel_share_fini(&s);
    return rc < 0 ? vel_wrap(err, rc, "publishing dataset %lld", (long long)job->id)
                  : 0;
}
