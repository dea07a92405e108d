/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's share of a flush: its files under temporary names, and where an earlier copy
 * has come to. Their own names are in flushing_name.c; what the owner alone does is in
 * flushing_owner.c. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/flushing_in.h"
#include "meta/paths.h"

/* To copy again what a moment has copied costs less than notes that wait for the disk.
 */
static const uint64_t resume_every = UINT64_C(64) << 20;
static const uint64_t resume_apart = 2 * VEL_CLOCK_S;
static const uint64_t look_apart = VEL_CLOCK_S; /* between looks whether it is wanted */

/* --- what owners before us have left --- */

/* Take over a file that the newest of the owners from `oldest` on has left: false when
 * there is none of the right size. */
static bool take_over(struct vel_share *s, size_t i, int64_t oldest, uint64_t least)
{
    bool is_taken = false;

    for (int64_t k = s->job->owner; !is_taken && k >= oldest && k > 0; k--) {
        struct vel_flush_target target = {0};
        struct stat st;

        if (vel_share_target(s, k, i, &target, NULL) < 0)
            continue;
        is_taken =
            vel_fs_lstat(s->crew.fs, target.temporary, &st, NULL) == 0 &&
            S_ISREG(st.st_mode) && (uint64_t)st.st_size >= least &&
            (k == s->job->owner || vel_fs_rename(s->crew.fs, target.temporary,
                                                 s->targets[i].temporary, NULL) == 0);
        vel_flush_target_fini(&target);
    }
    return is_taken;
}

/* The file that a note names; files.n: it is none of these. */
static size_t noted_file(const struct vel_share *s, const struct vel_copying *note)
{
    for (size_t i = 0; i < s->files.n; i++)
        if (vel_share_file(s, i)->listed.rank == note->rank &&
            strcmp(vel_share_file(s, i)->listed.name, note->name) == 0)
            return i;
    return s->files.n;
}

/* What was copied before is ours from here on, as far as it is there: up to the first
 * file that is not. Is it all that was noted? */
static bool resume(struct vel_share *s, const struct vel_copying *note)
{
    size_t last = noted_file(s, note), i;

    if (last == s->files.n || note->files != (int64_t)s->files.n)
        return false; /* of other files */
    for (i = 0; i < last; i++) {
        if (!s->targets[i].temporary)
            continue;
        if (!take_over(s, i, note->owner, vel_share_file(s, i)->listed.size))
            break;
        s->copied.resumed += vel_share_file(s, i)->listed.size;
    }
    s->first = i;
    if (i < last || !take_over(s, i, note->owner, note->offset))
        return i == last && note->offset == 0;
    s->note.offset = note->offset;
    s->note.crc = note->crc;
    return true;
}

/* Go on, or begin; the temporaries of others are gone afterwards. */
static int begin(struct vel_share *s)
{
    struct vel_copying old;
    bool is_all;
    int rc = vel_share_noted(s, &old);

    if (rc < 0)
        return rc;
    is_all = !old.name || (s->job->may_resume && !old.transfer.len && resume(s, &old));
    vel_copying_fini(&old);
    rc = vel_share_remove_past(s);
    return rc < 0 || is_all ? rc : vel_share_forget(s);
}

/* --- copying --- */

struct at {
    struct vel_share *share;
    size_t file;
};

static int note(void *arg, uint64_t offset, uint32_t crc, struct vel_err *err)
{
    struct at *at = arg;

    (void)err; /* the same */
    return offset > 0 ? vel_share_note(at->share, at->file, offset, crc)
                      : vel_share_forget(at->share);
}

struct vel_xfer_file vel_share_what(const struct vel_share *s, size_t i)
{
    const struct vel_flush_file *file = vel_share_file(s, i);

    return (struct vel_xfer_file){.from = file->from,
                                  .to = s->targets[i].temporary,
                                  .size = file->listed.size,
                                  .crc = file->listed.crc,
                                  .has_crc = s->flushing->checks_crc};
}

/* A copy that lasts is of no use any more when the program removes the name. */
struct wanted {
    const struct vel_share *share;
    size_t file;
    uint64_t look_at;
    bool is_not;
};

static bool step(void *arg, uint64_t bytes)
{
    struct wanted *w = arg;
    const struct vel_share *s = w->share;
    uint64_t now = vel_clock_monotonic(s->crew.clock);

    if (!vel_watch_step(s->job->watch, bytes))
        return false;
    if (now >= w->look_at) {
        w->is_not = !vel_share_is_wanted(s, w->file);
        w->look_at = now + look_apart;
    }
    return !w->is_not;
}

/* *ret_is_over: it is not wanted any more. */
static int copy_from(struct vel_share *s, size_t i, const struct vel_xfer_file *what,
                     struct vel_copy_resume *from, bool *ret_is_over)
{
    uint64_t now = vel_clock_monotonic(s->crew.clock);
    struct wanted w = {.share = s, .file = i, .look_at = now + look_apart};
    const struct vel_watch watch = {step, &w};
    struct vel_copy_how how = s->crew.copy;
    struct vel_xfer_copied copied;
    int rc;

    how.watch = &watch;
    if (s->delta)
        rc = vel_delta_copy(s->delta, &how, what, s->targets[i].dest,
                            s->flushing->may_patch, from, &vel_share_file(s, i)->listed,
                            &copied, s->err);
    else
        rc = vel_copy_resume(&how, what, from, &copied, s->err);
    *ret_is_over = rc == VEL_ECANCEL && w.is_not;
    return rc;
}

/* *ret_next: behind it, or at it, when it was left out. */
static int copy_one(struct vel_share *s, size_t i, size_t *ret_next)
{
    const struct vel_xfer_file what = vel_share_what(s, i);
    uint64_t every = s->flushing->resume_every;
    struct at at = {s, i};
    struct vel_copy_resume from = {.at = s->note.offset,
                                   .crc = s->note.crc,
                                   .every = every ? every : resume_every,
                                   .apart = every ? 0 : resume_apart,
                                   .note = note,
                                   .arg = &at};
    bool is_over;
    int rc = copy_from(s, i, &what, &from, &is_over);

    if (rc == VEL_ECORRUPT &&
        from.at > 0) { /* of what was there from before, perhaps */
        from.at = 0;
        rc = vel_share_forget(s);
        if (rc == 0)
            rc = copy_from(s, i, &what, &from, &is_over);
    }
    *ret_next = is_over ? i : i + 1;
    if (is_over)
        return vel_share_leave_out(s, i);
    if (rc < 0)
        return rc;
    s->copied.resumed += from.at;
    s->since += what.size;
    s->note.offset = s->note.crc = 0;
    return s->since >= from.every && i + 1 < s->files.n ? vel_share_note(s, i + 1, 0, 0)
                                                        : 0;
}

static int copy_here(struct vel_share *s)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && s->delta && i < s->first; i++)
        if (s->targets[i].temporary) {
            const struct vel_xfer_file what = vel_share_what(s, i);

            rc = vel_delta_keep(s->delta, &s->crew.copy, &what,
                                &vel_share_file(s, i)->listed, s->err);
        }
    for (size_t i = s->first, next; rc == 0 && i < s->files.n; i = next) {
        next = i + 1;
        if (s->targets[i].temporary)
            rc = copy_one(s, i, &next);
        s->note.offset = 0;
    }
    return rc;
}

/* --- the share --- */

/* What stands on the prefix now has these times: by them a later removal knows it. */
static int note_times(struct vel_share *s)
{
    struct stat st;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++) {
        struct vel_listed *listed = &vel_share_file(s, i)->listed;

        s->copied.files++;
        s->copied.bytes += listed->size;
        if (!s->targets[i].temporary || listed->container >= 0)
            continue;
        rc = vel_fs_lstat(s->crew.fs, s->targets[i].temporary, &st, s->err);
        if (rc < 0)
            break;
        listed->mtime_s = st.st_mtim.tv_sec;
        listed->mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    }
    return rc;
}

int vel_flushing_copy(const struct vel_flushing *flushing,
                      const struct vel_flush_job *job,
                      struct vel_flush_copied *ret_copied, struct vel_err *err)
{
    struct vel_share s;
    bool packs = job->container_size > 0;
    int rc = vel_share_init(&s, flushing, job, err);

    if (rc == 0)
        rc = vel_flushing_check_owner(flushing, job->id, job->owner, err);
    if (rc == 0)
        rc = vel_share_find(&s);
    if (rc == 0 && packs)
        rc = vel_share_pack(&s);
    if (rc == 0)
        rc = vel_share_drop_unwanted(&s);
    /* already now, so that what a crash leaves can be found and removed */
    if (rc == 0)
        rc = vel_share_save(&s, false);
    if (rc == 0 && packs) {
        rc = vel_share_fill(&s);
    } else if (rc == 0 && vel_share_is_moved(&s)) {
        rc = vel_share_move(&s);
    } else if (rc == 0) {
        rc = begin(&s);
        if (rc == 0 && flushing->has_delta)
            rc = vel_delta_open(flushing->index, job->id, job->list, &s.delta, err);
        if (rc == 0)
            rc = copy_here(&s);
    }
    if (rc == 0)
        rc = note_times(&s);
    if (rc == 0)
        rc = vel_flush_sync_names(&s.crew, s.targets, s.files.n, err);
    if (rc == 0 && s.delta) {
        s.copied.delta = vel_delta_counts(s.delta);
        rc = vel_delta_save(s.delta, err);
    }
    if (rc == 0)
        rc = vel_share_save(&s, false);
    if (rc == 0) /* else what has come since is nobody's */
        rc = vel_flushing_check_owner(flushing, job->id, job->owner, err);
    if (rc == 0)
        *ret_copied = s.copied;
    /* the next owner may have looked before, whatever has stopped us */
    if (rc < 0 && s.targets &&
        (rc == VEL_ESTATE ||
         vel_flushing_check_owner(flushing, job->id, job->owner, NULL) == VEL_ESTATE)) {
        s.err = NULL;
        vel_share_remove_of(&s, job->owner);
    }
    vel_share_fini(&s);
    if (rc == VEL_EINVAL && err) /* something is in the way, and may go */
        err->status = VEL_EIO;
    rc = rc == VEL_EINVAL ? VEL_EIO : rc;
    return rc < 0 ? vel_wrap(err, rc, "flushing dataset %" PRId64, job->id) : 0;
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
        if (rc == VEL_ENOENT || rc == VEL_ECORRUPT) /* a loss of power took it */
            rc = vel_share_guess(&s);
        if (rc == 0) {
            vel_share_stop(&s);
            rc = vel_share_remove_past(&s);
        }
        if (rc == 0)
            rc = vel_share_remove_of(&s, job->owner);
        if (rc == VEL_ENOENT || rc == VEL_ECORRUPT) /* the cache is lost as well */
            rc = 0;
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    if (rc == 0)
        rc = vel_fs_unlink(flushing->fs, path, err);
    if (rc == 0)
        vel_filelist_remove_dir(flushing->fs, flushing->dir, job->id);
    s.err = err;
    if (rc == 0)
        rc = vel_share_forget(&s);
    free(path);
    vel_share_fini(&s);
    return rc < 0 ? vel_wrap(err, rc, "taking back dataset %" PRId64, job->id) : 0;
}

void vel_flushing_init(struct vel_flushing *flushing, const struct vel_conf *conf,
                       struct vel_fs *fs, struct vel_clock *clock)
{
    *flushing = (struct vel_flushing){.fs = fs,
                                      .clock = clock,
                                      .checks_crc = conf->crc_on_flush,
                                      .has_delta = conf->flush_delta != VEL_DELTA_OFF,
                                      .may_patch = conf->flush_delta == VEL_DELTA_PATCH,
                                      .percent = conf->flush_percent,
                                      .copy = {.fs = fs,
                                               .clock = clock,
                                               .chunk = (size_t)conf->file_buf_size,
                                               .keeps_metadata = conf->copy_metadata,
                                               .wants_crc = conf->crc_on_flush,
                                               .leaves_dirs = true}};
}
