/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a node's share that came as a patch takes its name. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>

#include "jobs/flushing_in.h"

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
static int publish_whole(struct vel_share *s, size_t i, char **ret_path)
{
    const struct vel_flushing *f = s->flushing;
    const struct vel_listed *file = &vel_share_file(s, i)->listed;
    const struct vel_flush_target *target = &s->targets[i];
    struct vel_xfer_file what = vel_share_what(s, i);
    struct vel_xfer_copied copied;
    char *work = NULL;
    int rc = vel_patch_work(target->temporary, s->job->id, &work, s->err);

    if (rc < 0)
        return rc;
    what.from = vel_share_file(s, i)->from;
    what.to = work;
    rc = vel_copy_file(&s->crew.copy, &what, &copied, s->err);
    if (rc == 0)
        rc = set_time(s, work, file);
    if (rc == 0)
        rc = f->names ? f->names->publish(f->arg, s->job, work, file, ret_path, s->err)
                      : VEL_ENOENT;
    if (rc == VEL_ENOENT)
        rc = vel_copy_publish(s->crew.fs, work, target->dest, s->err);
    else if (rc == VEL_EEXIST)
        vel_fs_unlink(s->crew.fs, work, NULL);
    if (rc == 0)
        rc = vel_fs_unlink(s->crew.fs, target->temporary, s->err);
    free(work);
    return rc;
}

static int tell_patched(struct vel_share *s, size_t i, const char *path)
{
    const struct vel_flushing *f = s->flushing;

    return f->names ? f->names->patched(f->arg, s->job, &vel_share_file(s, i)->listed,
                                        path, s->err)
                    : 0;
}

int vel_share_name_patch(struct vel_share *s, size_t i, char **ret_path)
{
    const struct vel_flushing *f = s->flushing;
    const struct vel_listed *file = &vel_share_file(s, i)->listed;
    struct vel_err why = {0};
    int rc = f->names ? f->names->patching(f->arg, s->job, file, &why) : 0;

    if (rc == 0)
        rc = vel_flush_patch(&s->crew, s->job->id, &s->targets[i], file,
                             s->job->may_resume, &why);
    if (rc == VEL_EEXIST || rc == VEL_ECORRUPT) {
        rc = tell_patched(s, i, NULL);
        if (rc == 0 && !vel_share_find_source(s, i)) /* nor is a whole copy here */
            rc = vel_fail(s->err, VEL_ECORRUPT, "%s", why.text);
        return rc == 0 ? publish_whole(s, i, ret_path) : rc;
    }
    if (rc < 0) /* part of it may be there: whoever goes on with it comes here again */
        return vel_fail(s->err, (enum vel_status)rc, "%s", why.text);
    return tell_patched(s, i, s->targets[i].dest);
}
