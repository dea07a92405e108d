/* SPDX-License-Identifier: BSD-3-Clause */
/* What workers do for files of the connector: a place in a batch, complete there, given
 * up; and what their names on the prefix are when they are flushed. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "node/service_bring_in.h"

/* --- names on the prefix --- */

/* As its placeholder is known; there is none of what another node has. */
static struct vel_placeholder_file of_job(const struct vel_flush_job *job,
                                          const struct vel_listed *file)
{
    return (struct vel_placeholder_file){job->home ? job->home : "", file->rank,
                                         file->name};
}

/* Unlinked may also mean that an older version came there a moment ago: seen twice, it
 * is. */
static bool is_wanted(void *arg, const struct vel_flush_job *job,
                      const struct vel_listed *file)
{
    struct vel_service *service = arg;
    const struct vel_placeholder_file of = of_job(job, file);
    enum vel_anchor_now now = VEL_ANCHOR_UNLINKED;

    for (int look = 0; look < 2 && now == VEL_ANCHOR_UNLINKED; look++) {
        char *path = NULL;

        vel_service_renew(service, job->id, &of);
        if (vel_placeholders_follow(service->placeholders, &of, &now, &path, NULL) < 0)
            return true;
        free(path);
    }
    return now != VEL_ANCHOR_UNLINKED;
}

/* Somebody else's file stands at the path, which is freed: ours comes beside it. That
 * of a newer dataset of ours is nobody else's. */
static int publish_left(struct vel_service *service, const struct vel_flush_job *job,
                        const char *temporary, char *path, char **ret_path,
                        struct vel_err *err)
{
    char *name = NULL;
    bool is_newer = vel_cachename_of(service->prefix, path, &name, NULL) == 0 &&
                    vel_service_has_put(service, job->id, INT64_MAX, name, path);
    int rc = is_newer ? VEL_EEXIST
                      : vel_anchor_publish_beside(service->fs, path, job->id, temporary,
                                                  ret_path, err);

    if (rc == 0)
        vel_log(
            VEL_LOG_WARN,
            "%s was written by someone else, and stays: the file of dataset %" PRId64
            " that was to come there is %s",
            path, job->id, *ret_path);
    free(name);
    free(path);
    return rc;
}

/* A part that is on another node, has come from there, or was made again, has no record
 * here of what its files were to replace. VEL_ENOENT: this one may take the place of
 * what is there. */
static int publish_unrecorded(struct vel_service *service,
                              const struct vel_flush_job *job, const char *temporary,
                              const struct vel_placeholder_file *of, char **ret_path,
                              struct vel_err *err)
{
    char *path = NULL;
    int rc = vel_cachename_path(service->prefix, of->name, &path, err);

    if (rc == 0)
        rc = vel_flushing_find_since(&service->flushing, job->id, of->name, path, err);
    if (rc > 0 && !vel_service_renew_touched(service, job->id, of, path))
        return publish_left(service, job, temporary, path, ret_path, err);
    free(path);
    return rc < 0 ? rc : VEL_ENOENT;
}

/* Unlinked is believed when it is seen twice, as above; so is that it is somebody
 * else's. */
static int publish(void *arg, const struct vel_flush_job *job, const char *temporary,
                   const struct vel_listed *file, char **ret_path, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_placeholder_file of = of_job(job, file);
    enum vel_anchor_end end = VEL_ANCHOR_CANCELLED;
    char *path = NULL;

    for (int look = 0;
         look < 2 && (end == VEL_ANCHOR_CANCELLED || end == VEL_ANCHOR_LEFT); look++) {
        int rc;

        if (end == VEL_ANCHOR_CANCELLED)
            vel_service_renew(service, job->id, &of);
        else if (!vel_service_renew_touched(service, job->id, &of, path))
            break;
        free(path);
        path = NULL;
        rc = vel_placeholders_publish(service->placeholders, &of, job->id, temporary,
                                      &end, &path, err);
        if (rc == VEL_ENOENT)
            return publish_unrecorded(service, job, temporary, &of, ret_path, err);
        if (rc < 0)
            return rc;
    }
    if (end == VEL_ANCHOR_CANCELLED)
        return VEL_EEXIST;
    if (end == VEL_ANCHOR_LEFT)
        return publish_left(service, job, temporary, path, ret_path, err);
    *ret_path = path;
    return 0;
}

static int patching(void *arg, const struct vel_flush_job *job,
                    const struct vel_listed *file, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_placeholder_file of = of_job(job, file);

    return vel_placeholders_patching(service->placeholders, &of, err);
}

static int patched(void *arg, const struct vel_flush_job *job,
                   const struct vel_listed *file, const char *path, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_placeholder_file of = of_job(job, file);

    return vel_placeholders_patched(service->placeholders, &of, path, err);
}

static char *recorded(void *arg, const struct vel_flush_job *job,
                      const struct vel_listed *file)
{
    struct vel_service *service = arg;
    const struct vel_placeholder_file of = of_job(job, file);

    return vel_placeholders_recorded(service->placeholders, &of);
}

const struct vel_flushing_names vel_service_names = {.is_wanted = is_wanted,
                                                     .publish = publish,
                                                     .patching = patching,
                                                     .patched = patched,
                                                     .recorded = recorded};

/* --- create --- */

static int place_native(struct vel_service_job *job, const char *why,
                        struct vel_err *err)
{
    job->place.where = 2;
    job->place.why = strdup(why);
    return job->place.why ? 0 : vel_out_of_memory(err, "a place");
}

/* Whoever opens it natively hears what is wrong with its name. */
static const char *why_native(struct vel_service_job *job)
{
    struct vel_fs *fs = job->service->fs;
    char *dir = vel_path_dir(job->name);
    const char *why = NULL;
    struct stat st;

    if (!dir || vel_fs_lstat(fs, dir, &st, NULL) < 0)
        why = "its directory is not there";
    else if (vel_fs_lstat(fs, job->name, &st, NULL) == 0 && !S_ISREG(st.st_mode))
        why = "something that is no regular file stands there";
    free(dir);
    return why;
}

/* Of the datasets here with a file of this name the newest: where it lies. */
static int find_newest(struct vel_service *service, const char *name, char **ret_path,
                       int64_t *ret_id, struct vel_err *err)
{
    struct vel_vec parts;
    char *path = NULL;
    int64_t id = 0;
    int rc = 0;

    vel_vec_init(&parts, sizeof(struct vel_part));
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++)
        rc = vel_cache_scan(service->fs, service->homes[i], &parts, err);
    for (size_t i = 0; rc == 0 && i < parts.n; i++) {
        const struct vel_part *part = vel_vec_at(&parts, i);
        char *dir = part->id > id
                        ? vel_cache_rank_dir(part->level, part->id, part->rank)
                        : NULL;
        char *file = dir ? vel_path_join(dir, name) : NULL;

        free(dir);
        if (file && vel_fs_exists(service->fs, file)) {
            free(path);
            path = file;
            id = part->id;
        } else {
            free(file);
        }
    }
    vel_parts_fini(&parts);
    if (rc == 0 && !path)
        rc = vel_fail(err, VEL_ENOENT, "no dataset here has a file %s", name);
    if (rc < 0) {
        free(path);
        return rc;
    }
    *ret_path = path;
    *ret_id = id;
    return 0;
}

/* Where a file went that no batch has any more. */
static int find_taken(struct vel_service_job *job, const char *name,
                      struct vel_err *err)
{
    struct vel_service_place place = {.where = VEL_AT_HERE};
    int rc = find_newest(job->service, name, &place.path, &place.dataset, err);

    if (rc == 0)
        job->place = place;
    return rc;
}

/* Is a file on the prefix that no line has a version of ours all the same: are its
 * bytes in a cache, or has this launch put it there? */
static bool is_known(struct vel_service_job *job, const char *name)
{
    struct vel_service *service = job->service;
    const struct vel_view_name *at =
        job->view ? vel_view_find_name(job->view, name) : NULL;
    const struct vel_view_dataset *of =
        at && at->id > 0 ? vel_view_find_dataset(job->view, at->id) : NULL;
    int64_t id;
    char *path = NULL;
    bool is = find_newest(service, name, &path, &id, NULL) == 0;

    free(path);
    return is || (of && of->is_cached) ||
           vel_service_has_put(service, job->view ? job->view->highest : 0, INT64_MAX,
                               name, job->name);
}

static bool has_line(struct vel_service_job *job)
{
    struct vel_leader_rule rule = {0};
    bool has =
        vel_service_rule(job->service, job->name, &rule, NULL) == 0 && rule.is_there;

    free(rule.template);
    free(rule.step);
    return has;
}

/* Only a DATASET line makes a file ours that was made without us. */
static bool stays(struct vel_service_job *job, const char *name)
{
    return !job->is_of_many && !has_line(job) && !is_known(job, name);
}

/* Ranks may write a file in turn where one of a name is all, and where each has its own
 * for all that is known; but for that it waits until what others have is flushed. */
static bool takes_turns(struct vel_service_job *job)
{
    return job->is_of_many || !has_line(job);
}

/* A file that another node has closed stands there. */
static bool is_others(struct vel_service_job *job)
{
    char *dir = NULL, *name = NULL;
    struct vel_stub stub;
    int64_t rank;
    bool is = job->is_of_many &&
              vel_stub_read(job->service->fs, job->name, &stub, NULL) == 0 &&
              strcmp(stub.launch, job->service->launch) == 0 &&
              vel_placeholders_whose(job->service->placeholders, job->name, &dir, &rank,
                                     &name, NULL) == VEL_ENOENT;

    free(dir);
    free(name);
    return is;
}

/* What stands at its name becomes what is in the file; *ret_is_done: it is not to have
 * a place here, because nothing does, or job->place tells why. VEL_ELOST: the bytes
 * that it is to begin with are not what stands there, and cannot be had. path NULL: it
 * has no place, *err says why. */
static int begin_with(struct vel_service_job *job, const char *name, const char *path,
                      const struct vel_watch *watch, bool *ret_is_done,
                      struct vel_err *err)
{
    struct vel_service_place found = {0};
    struct vel_err why = {0};
    int rc =
        vel_service_look(job, takes_turns(job) ? VEL_BESIDE_TURN : VEL_BESIDE_WRITE,
                         watch, &found, &why);

    if (rc < 0)
        return vel_fail(err, rc == VEL_EBUSY ? VEL_EBUSY : VEL_ELOST, "%s", why.text);
    *ret_is_done = found.where == VEL_AT_NONE || found.where == VEL_AT_LOST;
    if (*ret_is_done) {
        job->place = found;
        return 0;
    }
    if (found.where == VEL_AT_NATIVE && stays(job, name)) {
        *ret_is_done = true;
        return place_native(
            job, "h5veloc has no record of it, and no DATASET line has it", err);
    }
    if (!path)
        rc = err->status;
    else if (found.where == VEL_AT_NATIVE)
        rc = vel_fs_copy(job->service->fs, job->name, path, err);
    else if (strcmp(found.path, path) != 0)
        rc = vel_fs_copy(job->service->fs, found.path, path, err);
    if (rc < 0 && found.where != VEL_AT_NATIVE)
        rc = vel_wrap(err, VEL_ELOST, "what a cache has of it cannot be changed");
    job->is_from_others =
        found.file != 0 || (job->is_of_many && found.where == VEL_AT_NATIVE);
    vel_service_place_fini(&found);
    return rc;
}

static struct vel_batches *batches_of(const struct vel_service_job *job)
{
    return vel_service_batches(job->service, job->dir);
}

static int make_file(struct vel_service_job *job, const char *name,
                     const struct vel_watch *watch, struct vel_err *err)
{
    struct vel_fs *fs = job->service->fs;
    char *path = NULL;
    bool is_done = false;
    int rc = vel_batches_open(batches_of(job), job->dir, job->rank, name, &path, err);

    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    if (job->how == VEL_CREATE_OPEN)
        rc = begin_with(job, name, rc == 0 ? path : NULL, watch, &is_done, err);
    else if (rc == 0)
        job->is_from_others = is_others(job);
    if (rc == 0 && !is_done)
        rc = vel_placeholders_open(
            job->service->placeholders,
            &(struct vel_placeholder_file){job->dir, job->rank, name}, job->name, err);
    if (rc == 0 && !is_done) {
        job->place = (struct vel_service_place){
            .where = 1, .file = job->is_from_others, .path = path};
        return 0;
    }
    if (path)
        vel_batches_give_up(batches_of(job), job->dir, job->rank, name, NULL);
    free(path);
    return rc;
}

int vel_service_create(struct vel_service_job *job, const struct vel_watch *watch,
                       struct vel_err *err)
{
    const char *why = job->how == VEL_CREATE_IS_OPEN ? NULL : why_native(job);
    char *name = NULL;
    int rc = vel_cachename_of(job->service->prefix, job->name, &name, err);

    job->is_placed = true;
    if (rc == 0 && why)
        rc = place_native(job, why, err);
    else if (rc == 0 && job->how == VEL_CREATE_IS_OPEN)
        rc = find_taken(job, name, err);
    else if (rc == 0)
        rc = job->dir ? make_file(job, name, watch, err)
                      : vel_fail(err, VEL_ENOENT, "%s has no batch", job->name);
    free(name);
    return rc;
}

/* --- closed, given up, removed --- */

/* As HDF5 has made it; 0: that is not known. */
static mode_t mode_of(struct vel_fs *fs, const struct vel_service_job *job,
                      const char *name)
{
    char *path = NULL;
    struct stat st;
    bool is_known = vel_batch_path(job->dir, job->rank, name, &path, NULL) == 0 &&
                    vel_fs_lstat(fs, path, &st, NULL) == 0;

    free(path);
    return is_known ? st.st_mode & 0777 : 0;
}

int vel_service_close_file(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_placeholder_file of = {.dir = job->dir, .rank = job->rank};
    struct vel_stub_maker maker = {.launch = service->launch,
                                   .drafts = service->launch_dir};
    char *name = NULL;
    int rc = 0;

    if (!job->dir)
        return vel_fail(err, VEL_ENOENT, "%s has no batch", job->name);
    if (job->how == VEL_CLOSE_COMPLETE && job->is_from_others)
        rc = vel_service_claim(service, job->name, err);
    if (rc == 0)
        rc = vel_cachename_of(service->prefix, job->name, &name, err);
    of.name = name;
    if (rc == 0)
        maker.mode = mode_of(service->fs, job, name);
    /* first: what is closed is offered to its rank only where something stands */
    if (rc == 0)
        rc = vel_placeholders_close(service->placeholders, &of, job->name, &maker, err);
    if (rc == 0 && job->how == VEL_CLOSE_COMPLETE) /* else it is still open */
        rc = vel_batches_close(batches_of(job), job->dir, job->rank, name, job->order,
                               job->size, err);
    free(name);
    return rc;
}

int vel_service_drop(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_placeholder_file of = {.dir = job->dir, .rank = job->rank};
    char *name = NULL;
    int rc = vel_cachename_of(service->prefix, job->name, &name, err);

    of.name = name;
    if (rc == 0 && job->dir)
        rc = vel_placeholders_give_up(service->placeholders, &of,
                                      job->how != VEL_DROP_NAME_STAYS, err);
    if (rc == 0 && job->dir)
        rc = vel_batches_give_up(batches_of(job), job->dir, job->rank, name, err);
    free(name);
    return rc;
}

int vel_service_remove(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    char *dir = NULL, *name = NULL;
    int64_t rank = 0;
    int rc = vel_placeholders_whose(service->placeholders, job->name, &dir, &rank,
                                    &name, err);

    job->is_placed = true;
    if (rc == VEL_ENOENT)
        return 0;
    if (rc == 0 && vel_service_batches(service, dir)) /* 0: it is of a dataset */
        job->place.file = (uint64_t)vel_batches_order(vel_service_batches(service, dir),
                                                      dir, rank, name);
    free(dir);
    free(name);
    return rc;
}

/* --- by the loop --- */

/* A file of the connector: where it is, and what is told of it. */
int vel_service_note_file(struct vel_service_job *job,
                          const struct vel_leader_job *asked, struct vel_err *err)
{
    struct vel_service *service = job->service;
    const struct vel_leader_file *file = asked->file;
    struct vel_service_part *part = file ? vel_service_part(service, file->part) : NULL;
    const char *name = file ? file->name : asked->name;

    job->how = asked->how;
    job->is_of_many = asked->key && !asked->key->is_alone;
    job->view = service->view;
    job->others = name ? vel_leader_others(service->leader, name) : VEL_OTHERS_NONE;
    job->name = name ? strdup(name) : NULL;
    job->dir = part ? strdup(part->dir) : NULL;
    if ((name && !job->name) || (part && !job->dir))
        return vel_out_of_memory(err, "a job");
    if (!file)
        return 0;
    job->rank = file->rank;
    job->is_from_others = file->is_from_others;
    job->order = file->order;
    job->size = file->size;
    if (part && asked->work == VEL_WORK_CLOSE && asked->how == VEL_CLOSE_COMPLETE) {
        part->bytes += (uint64_t)file->size;
        if (part->bytes > service->largest_part)
            service->largest_part = part->bytes;
    }
    return 0;
}
