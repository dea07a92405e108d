/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts come here: to whoever opens one of their files, and to a flush that has found
 * one damaged (doc/life.txt, 10 and 14). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/paths.h"
#include "node/service_bring_in.h"
#include "node/service_call.h"
#include "node/service_mover.h"
#include "node/service_room.h"
#include "view/view_in.h"

/* --- other nodes --- */

enum { ASKED_MOST = 64 }; /* that are waited for at once */

/* A question under way. */
struct asked {
    struct vel_service_call call;
    struct vel_get *get;
    struct vel_msg want;
    struct vel_buf room;
    struct vel_err err;
};

struct asker {
    struct vel_pull_source source;
    struct vel_service *service;
    struct vel_paced paced; /* the files of this node */
    struct vel_vec asked;   /* struct asked * */
    struct vel_vec done;    /* struct vel_get *: that were read here */
    pthread_cond_t answered;
};

static void give_here(struct asker *asker, struct vel_get *get)
{
    const struct vel_service *service = asker->service;
    const struct vel_giver giver = {.fs = &asker->paced.twin.fs,
                                    .homes = service->homes,
                                    .n_homes = service->n_homes};

    get->rc =
        vel_give(&giver, &get->want, get->bytes, &get->size, &get->got, &get->err);
}

static int ask(struct asker *asker, struct vel_get *get, struct vel_err *err)
{
    struct asked *asked = calloc(1, sizeof *asked);

    if (!asked || !vel_vec_push(&asker->asked, &asked)) {
        free(asked);
        return vel_out_of_memory(err, "a pull");
    }
    vel_buf_init(&asked->room);
    asked->get = get;
    asked->want = (struct vel_msg){.kind = VEL_MSG_WANT,
                                   .u.want = {.dataset = (uint64_t)get->want.dataset,
                                              .rank = (uint64_t)get->want.rank,
                                              .what = get->want.what,
                                              .at = get->want.at,
                                              .len = get->want.len,
                                              .name = get->want.name}};
    asked->call = (struct vel_service_call){.node = get->node,
                                            .ask = &asked->want,
                                            .room = &asked->room,
                                            .err = &asked->err,
                                            .done = &asker->answered};
    vel_service_call_begin(asker->service, &asked->call);
    return 0;
}

static int begin(struct vel_pull_source *source, struct vel_get *get,
                 struct vel_err *err)
{
    struct asker *asker = (struct asker *)source;

    if (strcmp(get->node, asker->service->host.node) != 0)
        return ask(asker, get, err);
    give_here(asker, get);
    return vel_vec_push(&asker->done, &get) ? 0 : vel_out_of_memory(err, "a pull");
}

/* It is over; its get, when that is still wanted, has the answer. */
static struct vel_get *end(struct asker *asker, size_t i)
{
    struct asked *asked = *(struct asked **)vel_vec_at(&asker->asked, i);
    struct vel_get *get = asked->get;
    struct vel_msg answer;

    vel_vec_remove(&asker->asked, i);
    vel_service_call_end(asker->service, &asked->call);
    if (asked->call.is_done && asked->call.rc == 0)
        asked->call.rc =
            vel_msg_decode(asked->room.data, asked->room.len, &answer, &asked->err);
    if (asked->call.is_done && asked->call.rc == 0)
        vel_get_answer(get, &answer);
    else if (asked->call.is_done)
        get->rc =
            vel_fail(&get->err, (enum vel_status)asked->call.rc, "%s", asked->err.text);
    vel_buf_fini(&asked->room);
    free(asked);
    return get;
}

static struct vel_get *next(struct vel_pull_source *source)
{
    struct asker *asker = (struct asker *)source;
    struct vel_service_call *calls[ASKED_MOST];
    size_t n = asker->asked.n < ASKED_MOST ? asker->asked.n : ASKED_MOST;
    struct vel_get *get;

    if (asker->done.n > 0) {
        get = *(struct vel_get **)vel_vec_at(&asker->done, 0);
        vel_vec_remove(&asker->done, 0);
        return get;
    }
    for (size_t i = 0; i < n; i++)
        calls[i] = &(*(struct asked **)vel_vec_at(&asker->asked, i))->call;
    return end(asker, vel_service_call_await(asker->service, calls, n));
}

static void drop(struct vel_pull_source *source)
{
    struct asker *asker = (struct asker *)source;

    asker->done.n = 0;
    while (asker->asked.n > 0) {
        struct asked *asked =
            *(struct asked **)vel_vec_at(&asker->asked, asker->asked.n - 1);

        vel_service_call_end(asker->service, &asked->call);
        asked->call.is_done = false;
        end(asker, asker->asked.n - 1);
    }
}

static const struct vel_pull_source_ops asker_ops = {
    .begin = begin, .next = next, .drop = drop};

/* --- one part --- */

/* A part that had to be made again, or read back from the prefix; or is lost. */
static void tell(struct vel_service *service, const struct vel_pull *what, int rc,
                 const struct vel_pulled *pulled, double seconds,
                 const struct vel_err *why)
{
    const struct vel_view_dataset *dataset = what->dataset;
    bool is_fetched = rc == 0 ? pulled->way == VEL_PULL_FETCHED : !dataset->is_cached;
    struct vel_event event = {.kind = is_fetched ? VEL_EVENT_FETCH : VEL_EVENT_REBUILD,
                              .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                              .id = dataset->about.id,
                              .name = dataset->about.name,
                              .bytes = rc == 0 ? (int64_t)pulled->bytes : 0,
                              .seconds = seconds,
                              .nodes = 1};
    struct vel_buf text;

    if (rc == VEL_ECANCEL || rc == VEL_ENOMEM || rc == VEL_EBUSY ||
        (rc == 0 && pulled->way != VEL_PULL_REBUILT && !is_fetched))
        return;
    vel_buf_init(&text);
    if (rc == 0)
        vel_buf_printf(&text, "the part of rank %d", what->rank);
    else
        vel_buf_puts(&text, why->text);
    event.text = vel_buf_text(&text);
    vel_books_tell(service->books, &event);
    vel_buf_fini(&text);
}

/* Where it comes to lie: where parts of the dataset are, since all of a node's are in
 * one cache; else where there is room. */
static const char *choose_home(const struct vel_service *service,
                               const struct vel_view_dataset *dataset)
{
    char *there = vel_service_home_of(service, dataset->about.id);
    const struct vel_dataset *about = &dataset->about;
    int64_t bytes = about->ranks > 0 ? about->bytes / about->ranks : 0;
    const char *home = NULL;

    for (size_t i = 0; there && !home && i < service->n_homes; i++)
        if (vel_path_below(service->homes[i], there))
            home = service->homes[i];
    free(there);
    return home
               ? home
               : vel_service_home_for(service, (size_t)dataset->index, (uint64_t)bytes);
}

static int pull(struct vel_service *service, struct vel_pull *what,
                const struct vel_watch *watch, struct vel_pulled *ret,
                struct vel_err *err)
{
    struct asker asker = {.source.ops = &asker_ops, .service = service};
    const struct vel_pull_how how = {.fs = &asker.paced.twin.fs,
                                     .may_fetch = service->conf->fetch,
                                     .node = service->host.node,
                                     .homes = service->homes,
                                     .n_homes = service->n_homes,
                                     .prefix = service->prefix,
                                     .index = service->index,
                                     .source = &asker.source,
                                     .watch = watch,
                                     .pulls = service->pulls};
    uint64_t begun = vel_clock_monotonic(service->clock);
    struct vel_err why = {0};
    int rc;

    if (service->n_homes == 0)
        return vel_fail(err, VEL_ENOENT, "this node has no cache");
    what->home = choose_home(service, what->dataset);
    vel_service_pace(service, watch, &asker.paced);
    vel_vec_init(&asker.asked, sizeof(struct asked *));
    vel_vec_init(&asker.done, sizeof(struct vel_get *));
    pthread_cond_init(&asker.answered, NULL);
    rc = vel_pull(&how, what, ret, &why);
    drop(&asker.source);
    vel_paced_fini(&asker.paced);
    pthread_cond_destroy(&asker.answered);
    vel_vec_fini(&asker.asked);
    vel_vec_fini(&asker.done);
    tell(service, what, rc, ret,
         (double)(vel_clock_monotonic(service->clock) - begun) / (double)VEL_CLOCK_S,
         &why);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

int vel_service_pull(struct vel_service_job *job,
                     const struct vel_view_dataset *dataset, int rank,
                     const struct vel_watch *watch, struct vel_pulled *ret,
                     struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_pull what = {.dataset = dataset, .view = job->view, .rank = rank};
    struct vel_entry entry = {0};
    struct vel_err why = {0};
    int rc;

    if (vel_entry_load(service->index, dataset->about.id, &entry, NULL) == 0)
        what.entry = &entry;
    rc = pull(service, &what, watch, ret, &why);
    if (what.entry)
        vel_entry_fini(&entry);
    /* it is somewhere, and nobody is to look for another */
    return rc < 0 ? vel_fail(err, rc == VEL_ENOENT ? VEL_ELOST : why.status, "%s",
                             why.text)
                  : 0;
}

/* --- all parts of a dataset that belong here --- */

static int add_node(struct vel_view *view, const char *node, int *ret_node,
                    struct vel_err *err)
{
    char *copy;

    for (*ret_node = 0; (size_t)*ret_node < view->nodes.n; ++*ret_node)
        if (strcmp(*(char **)vel_vec_at(&view->nodes, (size_t)*ret_node), node) == 0)
            return 0;
    copy = strdup(node);
    if (copy && vel_vec_push(&view->nodes, &copy))
        return 0;
    free(copy);
    return vel_out_of_memory(err, "a dataset");
}

/* So many items of a vector, at least. */
static bool grow(struct vel_vec *vec, size_t n, const void *item)
{
    while (vec->n < n)
        if (!vel_vec_push(vec, item))
            return false;
    return true;
}

static int add_member(struct vel_view *view, struct vel_view_dataset *dataset,
                      const struct vel_seal_member *member, struct vel_err *err)
{
    const struct vel_view_place nobody = {.rank = -1, .node = -1};
    struct vel_view_set *set = vel_vec_at(&dataset->sets, (size_t)member->set);
    struct vel_view_place *place;
    int node, rc = add_node(view, member->node, &node, err);

    if (rc < 0)
        return rc;
    if (!grow(&set->places, (size_t)member->place + 1, &nobody))
        return vel_out_of_memory(err, "a dataset");
    set->m = (uint32_t)member->failures;
    place = vel_vec_at(&set->places, (size_t)member->place);
    *place = (struct vel_view_place){.rank = (int)member->rank, .node = node};
    dataset->scheme = (enum vel_scheme)member->scheme;
    return 0;
}

/* As a view would say it: where its parts are now, be it of this launch, or one whose
 * parts have moved since the view was made. Of sets that this node is in, as far as its
 * leader knows no others. */
static int describe(const struct vel_service_job *job, struct vel_view *view,
                    struct vel_view_dataset *dataset, struct vel_err *err)
{
    const struct vel_seal *seal = &job->seal;
    struct vel_view_set nobody = {0};
    char *home = vel_service_home_of(job->service, seal->id);
    char *level = home ? vel_path_dir(home) : NULL;
    int rc = vel_dataset_copy(&seal->about, &dataset->about, err);

    /* all of them: redundancy files say how many there are */
    vel_vec_init(&nobody.places, sizeof(struct vel_view_place));
    if (rc == 0 && !grow(&dataset->sets, (size_t)vel_seal_sets(seal), &nobody))
        rc = vel_out_of_memory(err, "a dataset");
    dataset->index = vel_seal_level(seal);
    if (level)
        vel_number_behind(vel_path_base(level), "index.", &dataset->index);
    dataset->is_cached = true;
    memcpy(dataset->encoding, seal->encoding, sizeof dataset->encoding);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        rc = add_member(view, dataset, vel_seal_member(seal, i), err);
    free(level);
    free(home);
    return rc;
}

/* Who reads one may make it again at the same time. */
static int pull_own(struct vel_service_job *job, const struct vel_view *view,
                    const struct vel_view_dataset *dataset,
                    const struct vel_watch *watch, struct vel_err *err)
{
    const struct vel_seal *seal = &job->seal;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        struct vel_pull what = {.dataset = dataset,
                                .view = view,
                                .rank = (int)member->rank,
                                .is_suspect = true};
        struct vel_pulled pulled;

        if (strcmp(member->node, job->service->host.node) != 0)
            continue;
        rc = pull(job->service, &what, watch, &pulled, err);
        if (rc == 0)
            vel_pulled_fini(&pulled);
    }
    return rc;
}

/* There is no set to make them again from. */
static int check_own(struct vel_service_job *job, const struct vel_err *found,
                     struct vel_err *err)
{
    const struct vel_seal *seal = &job->seal;
    char *home = vel_service_home_of(job->service, seal->id);
    int rc = found->status == VEL_ECORRUPT || !home ? VEL_ECORRUPT : 0;

    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        if (strcmp(vel_seal_member(seal, i)->node, job->service->host.node) == 0)
            rc = vel_pull_check_part(job->service->fs, home,
                                     vel_seal_member(seal, i)->rank, NULL);
    free(home);
    return rc < 0 ? vel_fail(err, VEL_ECORRUPT, "it is kept nowhere else") : 0;
}

int vel_service_mend(struct vel_service_job *job, const struct vel_watch *watch,
                     struct vel_err *why)
{
    struct vel_err found = *why, err = {0};
    struct vel_view_dataset dataset;
    struct vel_view view;
    bool has_set = job->seal.is_encoded && job->seal.what & VEL_OWED_ENCODE;
    int rc = vel_view_init(&view, job->service->launch, &err);

    vel_view_dataset_init(&dataset);
    if (rc == 0 && !has_set)
        rc = check_own(job, &found, &err);
    else if (rc == 0)
        rc = describe(job, &view, &dataset, &err);
    if (rc == 0 && has_set)
        rc = pull_own(job, &view, &dataset, watch, &err);
    vel_view_dataset_fini(&dataset);
    vel_view_fini(&view);
    if (rc == VEL_ECANCEL || rc == VEL_ENOMEM)
        *why = err;
    else if (rc < 0)
        vel_fail(why, VEL_ECORRUPT, "%s; it cannot be made again: %s", found.text,
                 err.text);
    return rc == 0 && has_set ? 1 : (int)why->status;
}
