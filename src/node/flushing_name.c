/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a node's share get their names, or are taken back. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "meta/paths.h"
#include "node/flushing_in.h"

/* Somebody's file stands at the name of one of ours: whose that was is looked for when
 * all have theirs. */
static int note_taken(struct vel_share *s)
{
    char *path = vel_taken_path(s->crew.dir, s->job->id);
    int fd = -1;
    int rc = path ? vel_fs_open(s->crew.fs, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600,
                                &fd, s->err)
                  : vel_out_of_memory(s->err, "flushing");

    if (rc == 0)
        rc = vel_fs_close(s->crew.fs, fd, path, s->err);
    free(path);
    return rc;
}

/* The list has the time already that the file will have. */
static int set_time(struct vel_share *s, const char *path,
                    const struct vel_listed *file)
{
    struct vel_fs *fs = s->crew.fs;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)file->mtime_s, .tv_nsec = (long)file->mtime_ns}};
    int fd = -1, rc = vel_fs_open(fs, path, O_WRONLY | O_NOFOLLOW, 0, &fd, s->err);

    if (rc < 0)
        return rc;
    rc = fs->ops->set_times(fs, fd, times);
    if (rc < 0)
        rc = vel_fail_errno(s->err, -rc, "cannot set the times of %s", path);
    int closed = vel_fs_close(fs, fd, path, rc == 0 ? s->err : NULL);
    return rc < 0 ? rc : closed;
}

/* Where the file of a patch is not what that was made for any more, a whole copy takes
 * the name: its own publish. */
static int publish_whole(struct vel_share *s, size_t i)
{
    const struct vel_flushing *f = s->flushing;
    const struct vel_listed *file = &vel_share_file(s, i)->listed;
    const struct vel_flush_target *target = &s->targets[i];
    struct vel_xfer_file what = vel_share_what(s, i);
    struct vel_xfer_copied copied;
    char *work = NULL;
    int rc = vel_share_find_source(s, i)
                 ? vel_patch_work(target->temporary, s->job->id, &work, s->err)
                 : vel_fail(s->err, VEL_ENOENT, "%s is not in the cache", file->name);

    if (rc < 0)
        return rc;
    what.from = vel_share_file(s, i)->from;
    what.to = work;
    rc = vel_copy_file(&s->crew.copy, &what, &copied, s->err);
    if (rc == 0)
        rc = set_time(s, work, file);
    if (rc == 0)
        rc = f->publish ? f->publish(f->arg, work, target->dest, file, s->err)
                        : vel_copy_publish(s->crew.fs, work, target->dest, s->err);
    if (rc == VEL_EEXIST)
        rc = vel_fs_unlink(s->crew.fs, work, s->err);
    if (rc == 0)
        rc = vel_fs_unlink(s->crew.fs, target->temporary, s->err);
    free(work);
    return rc;
}

static int name_patch(struct vel_share *s, size_t i)
{
    struct vel_err why = {0};
    int rc = vel_flush_patch(&s->crew, s->job->id, &s->targets[i],
                             &vel_share_file(s, i)->listed, s->job->may_resume, &why);

    if (rc == VEL_EEXIST || rc == VEL_ECORRUPT)
        return publish_whole(s, i);
    return rc < 0 ? vel_fail(s->err, (enum vel_status)rc, "%s", why.text) : 0;
}

static int name_one(struct vel_share *s, size_t i)
{
    const struct vel_flushing *f = s->flushing;
    const struct vel_entry entry = {.dataset = {.id = s->job->id},
                                    .owner = s->job->owner};
    const struct vel_listed *file = &vel_share_file(s, i)->listed;
    struct stat st;

    if (file->is_patch &&
        vel_fs_lstat(s->crew.fs, s->targets[i].temporary, &st, NULL) == 0)
        return name_patch(s, i);
    if (f->publish &&
        vel_fs_lstat(s->crew.fs, s->targets[i].temporary, &st, NULL) == 0) {
        int rc = f->publish(f->arg, s->targets[i].temporary, s->targets[i].dest, file,
                            s->err);

        if (rc != VEL_ENOENT)
            return rc == VEL_EEXIST ? 0 : rc;
    }
    return vel_flush_name_one(&s->crew, &entry, file, s->err);
}

int vel_flushing_name(const struct vel_flushing *flushing,
                      const struct vel_flush_job *job, struct vel_err *err)
{
    struct vel_share s;
    bool is_taken = false;
    int rc = vel_share_init(&s, flushing, job, err);

    if (rc == 0)
        rc = vel_flushing_check_owner(flushing, job->id, job->owner, err);
    if (rc == 0)
        rc = vel_share_list(&s);
    for (size_t i = 0; rc == 0 && i < s.files.n && !is_taken; i++)
        is_taken =
            s.targets[i].temporary && vel_fs_exists(flushing->fs, s.targets[i].dest);
    if (rc == 0 && is_taken)
        rc = note_taken(&s);
    for (size_t i = 0; rc == 0 && i < s.files.n; i++)
        if (s.targets[i].temporary)
            rc = name_one(&s, i);
    if (rc == 0)
        rc = vel_share_remove_past(&s);
    if (rc == 0)
        rc = vel_copying_remove(flushing->fs, job->home, flushing->node, err);
    vel_share_fini(&s);
    return rc < 0 ? vel_wrap(err, rc, "publishing dataset %" PRId64, job->id) : 0;
}

int vel_flushing_retreat(const struct vel_flushing *flushing,
                         const struct vel_flush_job *job, struct vel_err *err)
{
    struct vel_share s;
    struct vel_err why = {0};
    char *path = vel_files_path(flushing->dir, job->id, job->list);
    int rc = vel_share_init(&s, flushing, job, err);

    if (rc == 0 && !path)
        rc = vel_out_of_memory(err, "flushing");
    s.err = &why;
    if (rc == 0) {
        rc = vel_share_list(&s);
        if (rc == 0) {
            vel_share_stop(&s);
            rc = vel_share_remove_past(&s);
        }
        if (rc == 0)
            rc = vel_share_remove_of(&s, job->owner);
        rc = rc == VEL_ENOENT ? 0 : rc; /* nothing was copied */
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    if (rc == 0)
        rc = vel_fs_unlink(flushing->fs, path, err);
    if (rc == 0)
        rc = vel_copying_remove(flushing->fs, job->home, flushing->node, err);
    free(path);
    vel_share_fini(&s);
    return rc < 0 ? vel_wrap(err, rc, "taking back dataset %" PRId64, job->id) : 0;
}
