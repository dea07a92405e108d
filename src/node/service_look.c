/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands at a name, for whoever opens it: a file of this node's caches, one that
 * others have, or whatever the prefix has (doc/life.txt, 11 and 14). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/sweep.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "node/service_bring_in.h"

/* --- places --- */

void vel_service_place_fini(struct vel_service_place *place)
{
    free(place->path);
    free(place->why);
    *place = (struct vel_service_place){0};
}

static int place_here(struct vel_fs *fs, char *path, int64_t id,
                      struct vel_service_place *ret, struct vel_err *err)
{
    struct stat st;
    int rc =
        path ? vel_fs_lstat(fs, path, &st, err) : vel_out_of_memory(err, "a place");

    if (rc < 0) {
        free(path);
        return rc;
    }
    *ret = (struct vel_service_place){.where = VEL_AT_HERE,
                                      .dataset = id,
                                      .size = (uint64_t)st.st_size,
                                      .path = path};
    return 0;
}

static int place_why(unsigned where, struct vel_buf *why, struct vel_service_place *ret,
                     struct vel_err *err)
{
    int rc = vel_buf_status(why, err);

    if (rc == 0)
        *ret =
            (struct vel_service_place){.where = where, .why = vel_buf_take(why, NULL)};
    vel_buf_fini(why);
    return rc;
}

static int place_lost(const struct vel_view *view, const struct vel_view_name *name,
                      const char *path, struct vel_service_place *ret,
                      struct vel_err *err)
{
    struct vel_buf why;

    vel_buf_init(&why);
    if (name)
        vel_view_tell_lost(view, name, &why);
    else
        vel_buf_printf(&why,
                       "%s was never complete in a way that it could be restored: the "
                       "launch that wrote it is over",
                       path);
    return place_why(VEL_AT_LOST, &why, ret, err);
}

/* The view does not know the name, and there is more that it has not seen. */
static int place_unseen(const struct vel_service_job *job, const char *launch,
                        struct vel_service_place *ret, struct vel_err *err)
{
    struct vel_buf why;

    vel_buf_init(&why);
    vel_service_say_unseen(job->service, job->view, job->name, launch, &why);
    return place_why(VEL_AT_LOST, &why, ret, err);
}

/* --- a part of the view --- */

/* Its bytes are what was recorded of them, or are made so: wherever they are, also in a
 * cache of this node. */
static int bring_part(struct vel_service_job *job,
                      const struct vel_view_dataset *dataset, int rank,
                      const char *cached, const struct vel_watch *watch,
                      struct vel_service_place *ret, struct vel_err *err)
{
    struct vel_pulled pulled;
    int rc = vel_service_pull(job, dataset, rank, watch, &pulled, err);

    if (rc < 0)
        return rc;
    if (pulled.way == VEL_PULL_NATIVE)
        ret->where = VEL_AT_NATIVE;
    else
        rc = place_here(job->service->fs, vel_path_join(pulled.dir, cached),
                        dataset->about.id, ret, err);
    vel_pulled_fini(&pulled);
    return rc;
}

static int look_in_view(struct vel_service_job *job, const struct vel_view_name *name,
                        const char *cached, bool pulls, const struct vel_watch *watch,
                        struct vel_service_place *ret, struct vel_err *err)
{
    const struct vel_view_dataset *dataset = vel_view_find_dataset(job->view, name->id);

    if (!dataset)
        return place_lost(job->view, name, job->name, ret, err);
    if (!pulls) {
        *ret = (struct vel_service_place){
            .where = VEL_AT_OTHERS, .dataset = name->id, .size = name->size};
        return 0;
    }
    return bring_part(job, dataset, name->rank, cached, watch, ret, err);
}

/* --- what stands there --- */

/* Is it a batch of this launch? VEL_ENOENT: it is gone. */
static int check_batch(struct vel_service *service, const char *dir, bool *ret_is,
                       struct vel_err *err)
{
    struct vel_batches *batches = vel_service_batches(service, dir);
    struct vel_batch batch;
    int rc = batches ? vel_batches_find(batches, dir, &batch, err) : VEL_ENOENT;

    *ret_is = rc == 0 && strcmp(batch.key.launch, service->launch) == 0;
    if (rc == 0)
        vel_batch_fini(&batch);
    return rc == VEL_ENOENT && vel_fs_exists(service->fs, dir) ? 0 : rc; /* others' */
}

/* Do files in this directory count: new ones of this launch, and those of datasets that
 * it has sealed, or of the view? */
static int check_counts(struct vel_service *service, const struct vel_view *view,
                        const char *dir, struct vel_err *err)
{
    bool counts = true;
    int64_t number;
    int rc = 0;

    if (vel_batch_is_dir(dir)) {
        rc = check_batch(service, dir, &counts, err);
        if (rc == 0 && !counts && !view) /* it may be sealed anew */
            rc = vel_fail(err, VEL_EBUSY, "it is not known yet what can be restored");
    } else if (!view) {
        return vel_fail(err, VEL_EBUSY, "it is not known yet what can be restored");
    } else if (vel_number_behind(vel_path_base(dir), "dataset.", &number)) {
        counts = number > view->highest || vel_view_find_dataset(view, number) != NULL;
    }
    return rc < 0 || counts ? rc
                            : vel_fail(err, VEL_ENOENT, "%s counts for nothing", dir);
}

/* A closed file of this node. */
struct here {
    char *dir, *name;
    int64_t rank;
    int64_t id; /* of its dataset; 0: none yet */
};

static void here_fini(struct here *here)
{
    free(here->dir);
    free(here->name);
}

static int find_here(struct vel_service *service, const struct vel_view *view,
                     const char *called, struct here *ret, struct vel_err *err)
{
    struct here here = {0};
    int rc = vel_placeholders_whose(service->placeholders, called, &here.dir,
                                    &here.rank, &here.name, err);

    if (rc == VEL_ENOENT && vel_service_renew_at(service, called))
        rc = vel_placeholders_whose(service->placeholders, called, &here.dir,
                                    &here.rank, &here.name, err);
    if (rc == 0)
        rc = check_counts(service, view, here.dir, err);
    if (rc == 0) {
        vel_number_behind(vel_path_base(here.dir), "dataset.", &here.id);
        *ret = here;
    } else {
        here_fini(&here);
    }
    return rc;
}

static int place_found(struct vel_service *service, const struct here *here,
                       struct vel_service_place *ret, struct vel_err *err)
{
    char *path = NULL;
    int rc = vel_batch_path(here->dir, here->rank, here->name, &path, err);

    return rc == 0 ? place_here(service->fs, path, here->id, ret, err) : rc;
}

int vel_service_here(struct vel_service *service, const struct vel_view *view,
                     const char *called, struct vel_service_place *ret,
                     struct vel_err *err)
{
    struct here here;
    int rc = find_here(service, view, called, &here, err);

    if (rc < 0)
        return rc;
    rc = place_found(service, &here, ret, err);
    here_fini(&here);
    return rc;
}

/* A stub that no file of this node has. */
static int look_for_stub(struct vel_service_job *job, const struct vel_stub *stub,
                         const char *cached, bool pulls, const struct vel_watch *watch,
                         struct vel_service_place *ret, struct vel_err *err)
{
    struct vel_service *service = job->service;
    const struct vel_view_name *name;
    bool is_over = true;

    if (strcmp(stub->launch, service->launch) == 0)
        return vel_fail(err, VEL_EBUSY, "%s is on another node until it is flushed",
                        job->name);
    if (!job->view)
        return vel_fail(err, VEL_EBUSY, "it is not known yet what can be restored");
    name = vel_view_find_name(job->view, cached);
    if (name && name->id > 0)
        return look_in_view(job, name, cached, pulls, watch, ret, err);
    if (!name &&
        vel_service_is_launch_over(service, stub->launch, &is_over, NULL) == 0 &&
        !is_over)
        return vel_fail(err, VEL_EBUSY, "%s is a file of another program that runs",
                        job->name);
    return !name && vel_sweep_has_unseen_files(service->fs, service->dir, job->view)
               ? place_unseen(job, stub->launch, ret, err)
               : place_lost(job->view, name, job->name, ret, err);
}

/* Of the view's file `name`: this node has its own record of what it was to replace,
 * and *ret tells that this does not stand there, nor an older version that we have put
 * in its place. VEL_ENOENT: it has none. */
static int check_replaced(struct vel_service *service, const char *path,
                          const char *cached, const struct vel_view_name *name,
                          bool *ret)
{
    char *home = vel_service_home_of(service, name->id), *at = NULL;
    const struct vel_placeholder_file of = {home, name->rank, cached};
    enum vel_anchor_now now = VEL_ANCHOR_STANDS;
    struct stat its, st;
    int rc = VEL_ENOENT;

    if (home) {
        vel_service_renew(service, name->id, &of);
        rc = vel_placeholders_follow(service->placeholders, &of, &now, &at, NULL);
    }
    if (rc == 0)
        *ret =
            now != VEL_ANCHOR_STANDS || vel_fs_lstat(service->fs, at, &its, NULL) < 0 ||
            vel_fs_lstat(service->fs, path, &st, NULL) < 0 || its.st_ino != st.st_ino;
    free(at);
    free(home);
    return rc;
}

/* Has somebody else written over what it was to replace? */
static bool is_replaced(struct vel_service_job *job, const char *cached,
                        const struct vel_view_name *name,
                        const struct vel_view_dataset *dataset)
{
    struct vel_service *service = job->service;
    bool is = false;

    return check_replaced(service, job->name, cached, name, &is) == 0
               ? is
               : vel_flushing_is_since(&service->flushing, &dataset->about, cached,
                                       job->name);
}

/* While nobody knows yet what can be restored: is there anything newer than what stands
 * on the prefix? */
static int check_all_stands(struct vel_service *service, struct vel_err *err)
{
    struct vel_vec seals;
    int rc;

    vel_vec_init(&seals, sizeof(struct vel_seal));
    rc = vel_service_old_seals(service, VEL_VERDICT_SEALED, &seals, err);
    if (rc == 0 && seals.n > 0)
        rc =
            vel_fail(err, VEL_EBUSY, "it is not known yet what is newer in the caches");
    for (size_t i = 0; i < seals.n; i++)
        vel_seal_fini(vel_vec_at(&seals, i));
    vel_vec_fini(&seals);
    return rc;
}

/* Also when it is so long ago that nothing is recorded of it any more. */
static bool is_flushed(struct vel_service *service, int64_t id)
{
    struct vel_index_where where;
    int rc = vel_index_where(service->index, id, &where, NULL);

    return rc == 0 ? where.place == VEL_ON_PREFIX || where.is_replaced
                   : rc == VEL_ENOENT && vel_index_is_gone(service->index, id);
}

/* A version stands there: what a dataset in the caches has of the name is newer when it
 * is still to replace it. */
static int look_for_version(struct vel_service_job *job, const char *cached, bool pulls,
                            const struct vel_watch *watch,
                            struct vel_service_place *ret, struct vel_err *err)
{
    const struct vel_view_name *name =
        job->view ? vel_view_find_name(job->view, cached) : NULL;
    const struct vel_view_dataset *dataset =
        name && name->id > 0 ? vel_view_find_dataset(job->view, name->id) : NULL;
    int rc = job->view ? 0 : check_all_stands(job->service, err);

    if (rc < 0)
        return rc;
    if (dataset && dataset->is_cached && !dataset->is_published &&
        !is_flushed(job->service, name->id) && !is_replaced(job, cached, name, dataset))
        return look_in_view(job, name, cached, pulls, watch, ret, err);
    ret->where = VEL_AT_NATIVE;
    return 0;
}

static int64_t age_of(const struct vel_service_place *place)
{
    return place->dataset > 0 ? place->dataset : INT64_MAX;
}

/* *ret is what this node has. */
static int look_for_newer(struct vel_service_job *job, enum vel_beside how,
                          const struct vel_watch *watch, struct vel_service_place *ret,
                          struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_service_place other = {0};
    int rc = job->others == VEL_OTHERS_ALSO
                 ? vel_service_beside(service, service->launch, job->name, age_of(ret),
                                      how, watch, &other, err)
                 : VEL_ENOENT;

    if (rc == 0) {
        vel_service_place_fini(ret);
        *ret = other;
    }
    return rc == VEL_EBUSY || rc == VEL_ECANCEL ? rc : 0;
}

/* Has anybody a file that is to replace it, who is not to be found in the view? Of a
 * stub its launch has, if anybody; VEL_ENOENT: nobody. */
static int look_beside(struct vel_service_job *job, const struct vel_stub *stub,
                       enum vel_beside how, const struct vel_watch *watch,
                       struct vel_service_place *ret, struct vel_err *err)
{
    struct vel_service *service = job->service;
    bool is_own = stub ? strcmp(stub->launch, service->launch) == 0
                       : job->others != VEL_OTHERS_NONE;
    struct vel_vec launches;
    int rc = VEL_ENOENT;

    if (is_own)
        rc = vel_service_beside(service, service->launch, job->name, 0, how, watch, ret,
                                err);
    if (rc != VEL_ENOENT || (stub && is_own))
        return rc;
    vel_vec_init(&launches, sizeof(char *));
    if (vel_service_living(service, &launches, NULL) < 0)
        launches.n = 0;
    for (size_t i = 0; rc == VEL_ENOENT && i < launches.n; i++) {
        const char *launch = *(char **)vel_vec_at(&launches, i);

        if (!stub || strcmp(stub->launch, launch) == 0)
            rc =
                vel_service_beside(service, launch, job->name, 0, how, watch, ret, err);
    }
    vel_fs_names_fini(&launches);
    return rc;
}

/* What this node has, unless the view knows of a newer one that is elsewhere. What this
 * launch has written is read as it lies. */
static int look_here(struct vel_service_job *job, const char *cached, bool pulls,
                     const struct vel_watch *watch, struct vel_service_place *ret,
                     struct vel_err *err)
{
    const struct vel_view_dataset *dataset;
    const struct vel_view_name *name;
    struct here here;
    int rc = find_here(job->service, job->view, job->name, &here, err);

    if (rc < 0)
        return rc;
    name = job->view ? vel_view_find_name(job->view, cached) : NULL;
    dataset = job->view ? vel_view_find_dataset(job->view, here.id) : NULL;
    if (name && here.id > 0 && here.id < name->id)
        rc = vel_fail(err, VEL_ENOENT, "dataset %" PRId64 " has a newer one", name->id);
    else if (dataset && pulls)
        rc = bring_part(job, dataset, (int)here.rank, here.name, watch, ret, err);
    else
        rc = place_found(job->service, &here, ret, err);
    here_fini(&here);
    return rc;
}

static int look(struct vel_service_job *job, const char *cached, enum vel_beside how,
                const struct vel_watch *watch, struct vel_service_place *ret,
                struct vel_err *err)
{
    struct vel_fs *fs = job->service->fs;
    bool pulls = how != VEL_BESIDE_LOOK && how != VEL_BESIDE_HOME, is_stub;
    struct vel_err why = {0};
    struct vel_stub stub;
    struct stat st;
    int rc = vel_fs_lstat(fs, job->name, &st, err);

    if (rc == VEL_ENOENT)
        return 0;
    if (rc < 0)
        return rc;
    rc = look_here(job, cached, pulls, watch, ret, &why);
    if (rc == 0)
        rc = look_for_newer(job, how, watch, ret, &why);
    if (rc != VEL_ENOENT)
        return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
    is_stub = vel_stub_read(fs, job->name, &stub, NULL) == 0;
    rc = look_beside(job, is_stub ? &stub : NULL, how, watch, ret, &why);
    if (rc == 0 || rc == VEL_EBUSY || rc == VEL_ECANCEL)
        return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
    if (is_stub)
        return look_for_stub(job, &stub, cached, pulls, watch, ret, err);
    return look_for_version(job, cached, pulls, watch, ret, err);
}

int vel_service_look(struct vel_service_job *job, enum vel_beside how,
                     const struct vel_watch *watch, struct vel_service_place *ret,
                     struct vel_err *err)
{
    struct vel_service_place place = {0};
    char *cached = NULL;
    int rc = vel_cachename_of(job->service->prefix, job->name, &cached, err);

    if (rc == 0)
        rc = look(job, cached, how, watch, &place, err);
    free(cached);
    if (rc == 0)
        *ret = place;
    else /* what is here counts for nothing while who has a newer one is busy */
        vel_service_place_fini(&place);
    return rc;
}
