/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands at a name, for whoever opens it: a file of this node's caches, one that
 * others have, or whatever the prefix has (doc/protocol-leader.txt, 9 and 10). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "node/service_in.h"

/* --- other nodes, for a pull --- */

/* One question at a time: its answer is there when begin() returns. */
struct asker {
    struct vel_pull_source source;
    struct vel_service *service;
    struct vel_vec done; /* struct vel_get * */
};

static void give_here(struct vel_service *service, struct vel_get *get)
{
    const struct vel_giver giver = {
        .fs = service->fs, .homes = service->homes, .n_homes = service->n_homes};

    get->rc =
        vel_give(&giver, &get->want, get->bytes, &get->size, &get->got, &get->err);
}

static void ask(struct vel_service *service, struct vel_get *get)
{
    const struct vel_msg want = {.kind = VEL_MSG_WANT,
                                 .u.want = {.dataset = (uint64_t)get->want.dataset,
                                            .rank = (uint64_t)get->want.rank,
                                            .what = get->want.what,
                                            .at = get->want.at,
                                            .len = get->want.len,
                                            .name = get->want.name}};
    struct vel_buf room;
    struct vel_msg answer;
    int rc;

    vel_buf_init(&room);
    rc = vel_service_call(service, NULL, get->node, &want, &answer, &room, &get->err);
    if (rc == 0)
        vel_get_answer(get, &answer);
    else
        get->rc = rc;
    vel_buf_fini(&room);
}

static int begin(struct vel_pull_source *source, struct vel_get *get,
                 struct vel_err *err)
{
    struct asker *asker = (struct asker *)source;

    if (strcmp(get->node, asker->service->host.node) == 0)
        give_here(asker->service, get);
    else
        ask(asker->service, get);
    return vel_vec_push(&asker->done, &get) ? 0 : vel_out_of_memory(err, "a pull");
}

static struct vel_get *next(struct vel_pull_source *source)
{
    struct asker *asker = (struct asker *)source;
    struct vel_get *get = *(struct vel_get **)vel_vec_at(&asker->done, 0);

    vel_vec_remove(&asker->done, 0);
    return get;
}

static void drop(struct vel_pull_source *source)
{
    struct asker *asker = (struct asker *)source;

    while (asker->done.n > 0)
        vel_vec_remove(&asker->done, asker->done.n - 1);
}

static const struct vel_pull_source_ops asker_ops = {
    .begin = begin, .next = next, .drop = drop};

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

/* --- a part of the view --- */

/* Where it comes to lie: where parts of the dataset are, else in the first cache. */
static int pull(struct vel_service_job *job, const struct vel_view_dataset *dataset,
                int rank, const struct vel_watch *watch, struct vel_pulled *ret,
                struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct asker asker = {.source.ops = &asker_ops, .service = service};
    const struct vel_pull_how how = {.fs = service->fs,
                                     .node = service->host.node,
                                     .homes = service->homes,
                                     .n_homes = service->n_homes,
                                     .prefix = service->prefix,
                                     .source = &asker.source,
                                     .watch = watch,
                                     .pulls = service->pulls};
    struct vel_pull what = {.dataset = dataset, .view = job->view, .rank = rank};
    struct vel_entry entry = {0};
    bool has_entry =
        vel_entry_load(service->fs, service->dir, dataset->about.id, &entry, NULL) == 0;
    int rc;

    if (service->n_homes == 0)
        return vel_fail(err, VEL_ENOENT, "this node has no cache");
    what.entry = has_entry ? &entry : NULL;
    what.home = service->homes[0];
    vel_vec_init(&asker.done, sizeof(struct vel_get *));
    rc = vel_pull(&how, &what, ret, err);
    vel_vec_fini(&asker.done);
    if (has_entry)
        vel_entry_fini(&entry);
    return rc;
}

static int look_in_view(struct vel_service_job *job, const struct vel_view_name *name,
                        const char *cached, bool pulls, const struct vel_watch *watch,
                        struct vel_service_place *ret, struct vel_err *err)
{
    const struct vel_view_dataset *dataset = vel_view_find_dataset(job->view, name->id);
    struct vel_pulled pulled;
    int rc;

    if (!dataset)
        return place_lost(job->view, name, job->name, ret, err);
    if (!pulls) {
        *ret = (struct vel_service_place){
            .where = VEL_AT_OTHERS, .dataset = name->id, .size = name->size};
        return 0;
    }
    rc = pull(job, dataset, name->rank, watch, &pulled, err);
    if (rc < 0)
        return rc;
    if (pulled.way == VEL_PULL_NATIVE)
        ret->where = VEL_AT_NATIVE;
    else
        rc = place_here(job->service->fs, vel_path_join(pulled.dir, cached), name->id,
                        ret, err);
    vel_pulled_fini(&pulled);
    return rc;
}

/* --- what stands there --- */

/* Do files in this directory count: new ones of this launch, and those of datasets that
 * it has sealed, or of the view? */
static int check_counts(struct vel_service *service, const struct vel_view *view,
                        const char *dir, struct vel_err *err)
{
    const char *name = vel_path_base(dir);
    struct vel_part_new part;
    bool counts = true;
    int64_t number;
    int rc = 0;

    if (vel_number_behind(name, "new.", &number)) {
        rc = vel_part_new_load(service->fs, dir, &part, err);
        if (rc == 0) {
            counts = strcmp(part.key.launch, service->launch) == 0;
            vel_part_new_fini(&part);
        }
        if (rc == 0 && !counts && !view) /* it may be sealed anew */
            rc = vel_fail(err, VEL_EBUSY, "it is not known yet what can be restored");
    } else if (!view) {
        return vel_fail(err, VEL_EBUSY, "it is not known yet what can be restored");
    } else if (vel_number_behind(name, "dataset.", &number)) {
        counts = number > view->highest || vel_view_find_dataset(view, number) != NULL;
    }
    return rc < 0 || counts ? rc
                            : vel_fail(err, VEL_ENOENT, "%s counts for nothing", dir);
}

int vel_service_here(struct vel_service *service, const struct vel_view *view,
                     const char *called, struct vel_service_place *ret,
                     struct vel_err *err)
{
    char *dir = NULL, *name = NULL, *path = NULL;
    int64_t rank = 0, id = 0;
    int rc =
        vel_placeholders_whose(service->placeholders, called, &dir, &rank, &name, err);

    if (rc == VEL_ENOENT && vel_service_renew_at(service, called))
        rc = vel_placeholders_whose(service->placeholders, called, &dir, &rank, &name,
                                    err);
    if (rc == 0)
        rc = check_counts(service, view, dir, err);
    if (rc == 0)
        rc = vel_part_new_path(dir, rank, name, &path, err);
    if (rc == 0) {
        vel_number_behind(vel_path_base(dir), "dataset.", &id);
        rc = place_here(service->fs, path, id, ret, err);
    }
    free(dir);
    free(name);
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
    return place_lost(job->view, name, job->name, ret, err);
}

/* Is it somebody else's: has this node its own record of what the file was to replace,
 * and that does not stand there, nor an older version that we have put in its place? */
static bool is_foreign(struct vel_service_job *job, const char *cached,
                       const struct vel_view_name *name)
{
    struct vel_service *service = job->service;
    char *home = vel_service_home_of(service, name->id), *path = NULL;
    const struct vel_placeholder_file of = {home, name->rank, cached};
    enum vel_anchor_now now = VEL_ANCHOR_STANDS;
    struct stat its, st;
    bool is = false;

    if (home)
        vel_service_renew(service, name->id, &of);
    if (home &&
        vel_placeholders_follow(service->placeholders, &of, &now, &path, NULL) == 0)
        is = now != VEL_ANCHOR_STANDS ||
             vel_fs_lstat(service->fs, path, &its, NULL) < 0 ||
             vel_fs_lstat(service->fs, job->name, &st, NULL) < 0 ||
             its.st_ino != st.st_ino;
    free(path);
    free(home);
    return is;
}

/* While nobody knows yet what can be restored: is there anything newer than what stands
 * on the prefix? */
static int check_all_stands(struct vel_service *service, struct vel_err *err)
{
    struct vel_vec seals;
    int rc;

    vel_vec_init(&seals, sizeof(struct vel_seal));
    rc = vel_service_old_seals(service, &seals, err);
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
    struct vel_entry entry = {0};
    char *dir = vel_dataset_dir(service->dir, id);
    struct stat st;
    int rc = vel_entry_load(service->fs, service->dir, id, &entry, NULL);
    bool is = rc == 0 && (entry.place == VEL_ON_PREFIX || entry.replaced > 0);

    if (rc == 0)
        vel_entry_fini(&entry);
    else if (rc == VEL_ENOENT)
        is = dir && vel_fs_lstat(service->fs, dir, &st, NULL) == VEL_ENOENT;
    free(dir);
    return is;
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
        !is_flushed(job->service, name->id) && !is_foreign(job, cached, name))
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

/* What this node has, unless the view knows of a newer one that is elsewhere. */
static int look_here(struct vel_service_job *job, const char *cached,
                     struct vel_service_place *ret, struct vel_err *err)
{
    int rc = vel_service_here(job->service, job->view, job->name, ret, err);
    const struct vel_view_name *name =
        rc == 0 && job->view ? vel_view_find_name(job->view, cached) : NULL;

    if (!name || ret->dataset == 0 || ret->dataset >= name->id)
        return rc;
    vel_service_place_fini(ret);
    return vel_fail(err, VEL_ENOENT, "dataset %" PRId64 " has a newer one", name->id);
}

static int look(struct vel_service_job *job, const char *cached, enum vel_beside how,
                const struct vel_watch *watch, struct vel_service_place *ret,
                struct vel_err *err)
{
    struct vel_fs *fs = job->service->fs;
    bool pulls = how != VEL_BESIDE_LOOK, is_stub;
    struct vel_err why = {0};
    struct vel_stub stub;
    struct stat st;
    int rc = vel_fs_lstat(fs, job->name, &st, err);

    if (rc == VEL_ENOENT)
        return 0;
    if (rc < 0)
        return rc;
    rc = look_here(job, cached, ret, &why);
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
