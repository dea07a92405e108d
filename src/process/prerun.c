/* SPDX-License-Identifier: BSD-3-Clause */
/* A launch of tools from its beginning to its end. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/load.h"
#include "jobs/stub.h"
#include "jobs/sweep.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/events.h"
#include "meta/launch.h"
#include "meta/paths.h"
#include "process/attend.h"
#include "process/prerun_in.h"
#include "pull/pull_links.h"
#include "sys/lock.h"

/* --- who and where --- */

static int name_things(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_prerun_of *of = p->of;
    int rc;

    p->dir = vel_veloc_dir(of->prefix);
    if (!p->dir)
        return vel_out_of_memory(err, "the prefix");
    rc = vel_index_open(of->fs, p->dir, &p->index, err);
    if (rc == 0)
        rc = vel_prefix_look(of->fs, p->dir, p->prefix_id, err);
    if (rc == 0)
        rc = vel_node_name(of->conf, of->host, of->node, of->nodes, &p->node, err);
    if (rc < 0)
        return rc;
    p->host.node = strdup(p->node);
    p->host.user = strdup(of->host->user);
    return p->host.node && p->host.user ? 0 : vel_out_of_memory(err, "a tool");
}

/* A text of each tool, by number; freed by free_texts(). */
static int tell_all(struct vel_prerun *p, const char *text, char ***ret,
                    struct vel_err *err)
{
    size_t *lens = NULL, at = 0;
    char **texts = calloc((size_t)p->of->nodes, sizeof *texts);
    struct vel_buf told;
    int rc = texts ? 0 : vel_out_of_memory(err, "the tools");

    vel_buf_init(&told);
    rc = vel_comm_agree(p->world, rc, err);
    if (rc == 0)
        rc = vel_comm_allgather(p->world, text, strlen(text), &told, &lens, err);
    for (int i = 0; rc == 0 && i < p->of->nodes; at += lens[i++]) {
        texts[i] = strndup(told.data ? told.data + at : "", lens[i]);
        if (!texts[i])
            rc = vel_out_of_memory(err, "the tools");
    }
    *ret = texts;
    free(lens);
    vel_buf_fini(&told);
    return rc;
}

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* Two tools on a node would each take the other for a node of its own. */
static int check_names(const struct vel_prerun *p, struct vel_err *err)
{
    for (int i = 0; i < p->of->nodes; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(p->names[i], p->names[k]) == 0)
                return vel_fail(err, VEL_EINVAL,
                                "numbers %d and %d are both on %s: start one tool on "
                                "each node",
                                k, i, p->names[i]);
    return 0;
}

static int list_homes(struct vel_prerun *p, struct vel_err *err)
{
    p->homes = calloc(p->stores->n + 1, sizeof *p->homes);
    if (!p->homes)
        return vel_out_of_memory(err, "the caches");
    for (size_t i = 0; i < p->stores->n; i++) {
        p->homes[i] = vel_cache_home(p->of->fs, p->stores->items[i].base, p->host.user,
                                     p->prefix_id);
        if (!p->homes[i])
            return vel_out_of_memory(err, "the caches");
        p->n_homes++;
    }
    return 0;
}

static int describe(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_prerun_of *of = p->of;
    int rc = tell_all(p, p->node, &p->names, err);

    if (rc == 0)
        rc = tell_all(p, of->ranks ? of->ranks : "", &p->lists, err);
    rc = vel_comm_agree(p->world, rc, err);
    for (int i = 0; rc == 0 && i < of->nodes; i++)
        p->has_lists |= p->lists[i][0] != '\0';
    if (rc == 0)
        rc = vel_comm_agree(p->world, check_names(p, err), err);
    if (rc == 0)
        rc = vel_comm_agree(p->world, of->node == 0 ? vel_prerun_roll(p, true, err) : 0,
                            err);
    if (rc == 0)
        rc = vel_groups_create(p->world, of->conf, p->node, &p->groups, err);
    if (rc == 0)
        rc = vel_stores_create(p->world, of->conf, p->groups, &p->stores, err);
    return rc == 0 ? vel_comm_agree(p->world, list_homes(p, err), err) : rc;
}

/* --- the leaders --- */

static int attend(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_prerun_of *of = p->of;
    char launch[VEL_LAUNCH_ROOM];
    const struct vel_background_of told = {.conf = of->conf,
                                           .fs = of->fs,
                                           .clock = of->clock,
                                           .prefix = of->prefix,
                                           .dir = p->dir,
                                           .prefix_id = p->prefix_id,
                                           .user = p->host.user,
                                           .node = p->node,
                                           .homes = p->homes,
                                           .n_homes = p->n_homes,
                                           .rank = of->node,
                                           .ranks = of->nodes,
                                           .fresh = p->launch};
    int rc;

    p->background = vel_attend();
    rc = p->background->ops->open(p->background, &told, launch, err);
    p->is_met = rc == 0;
    return rc;
}

/* When there is a view: before it was made the leaders have made parts of what was left
 * of launches that are over. */
static int list_parts(struct vel_prerun *p, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->n_homes; i++)
        rc = vel_cache_scan(p->of->fs, p->homes[i], &p->parts, err);
    return rc;
}

static int load_view(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_pull_links_of links = {.fs = p->of->fs,
                                            .clock = p->of->clock,
                                            .dir = p->dir,
                                            .launch = p->launch,
                                            .node = p->node,
                                            .limit_ms = vel_prerun_limit(p)};
    char *path = vel_view_path(p->dir, p->launch);
    int rc = path ? vel_view_load(p->of->fs, path, &p->view, err)
                  : vel_out_of_memory(err, "the view");

    free(path);
    if (rc < 0)
        return rc;
    p->has_view = true;
    rc = list_parts(p, err);
    if (rc < 0)
        return rc;
    p->tools = malloc((p->view.nodes.n + 1) * sizeof *p->tools);
    if (!p->tools)
        return vel_out_of_memory(err, "the view");
    for (size_t i = 0; i < p->view.nodes.n; i++) {
        p->tools[i] = -1;
        for (int k = 0; k < p->of->nodes; k++)
            if (strcmp(p->names[k], *(char **)vel_vec_at(&p->view.nodes, i)) == 0)
                p->tools[i] = k;
    }
    return vel_pull_links_create(&links, &p->source, err);
}

/* --- datasets --- */

static void say_how(const struct vel_prerun_dataset *d, struct vel_buf *ret)
{
    if (d->failed)
        vel_buf_puts(ret, d->failed->text);
    else
        vel_buf_printf(ret,
                       "before the program starts: %" PRId64 " parts here, %" PRId64
                       " copied, %" PRId64 " rebuilt, %" PRId64 " on the prefix",
                       d->here, d->copied, d->rebuilt, d->on_prefix);
}

static void record(struct vel_prerun *p, const struct vel_prerun_dataset *d)
{
    const struct vel_prerun_of *of = p->of;
    struct vel_event_log log;
    struct vel_buf how;
    struct vel_err err = {0};
    int rc = vel_event_log_init(&log, of->fs, of->clock,
                                of->conf->log_enable ? p->dir : NULL,
                                vel_conf_job_id(of->conf), p->host.user, &err);

    vel_buf_init(&how);
    say_how(d, &how);
    if (rc == 0) {
        const struct vel_event event = {.kind = VEL_EVENT_REBUILD,
                                        .result =
                                            d->failed ? VEL_EVENT_FAILED : VEL_EVENT_OK,
                                        .id = d->about->id,
                                        .name = d->about->name,
                                        .files = d->about->files,
                                        .bytes = d->about->bytes,
                                        .ranks = d->about->ranks,
                                        .nodes = of->nodes,
                                        .seconds = d->seconds,
                                        .text = vel_buf_text(&how)};

        rc = vel_event_log_add(&log, &event, &err);
        vel_event_log_fini(&log);
    }
    vel_buf_fini(&how);
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "%s", err.text);
}

/* What the program restarts from, of those that came. */
static void note_newest(struct vel_prerun_work **works, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!works[i]->ret.failed && works[i]->d->about.use & VEL_USE_CHECKPOINT) {
            works[i]->is_newest = true;
            return;
        }
}

/* The newest first, for that is what the program begins with. What is owed is told the
 * oldest first: then workers go on with the next, and nowhere wait for each other. */
static int work_on_all(struct vel_prerun *p, struct vel_prerun_work **works, size_t *n,
                       struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->view.datasets.n; i++) {
        const struct vel_view_dataset *d = vel_vec_at(&p->view.datasets, i);

        if (!d->is_cached)
            continue;
        rc = vel_prerun_bring(p, d, &works[*n], err);
        *n += works[*n] != NULL;
    }
    note_newest(works, *n);
    for (size_t i = *n; rc == 0 && i-- > 0;)
        rc = vel_prerun_owe(works[i], err);
    return rc;
}

static int recover_all(struct vel_prerun *p, struct vel_prerun_done *ret,
                       struct vel_err *err)
{
    struct vel_prerun_work **works = calloc(p->view.datasets.n + 1, sizeof *works);
    size_t n = 0;
    int rc = works ? 0 : vel_out_of_memory(err, "recovering");

    rc = vel_comm_agree(p->world, rc, err);
    if (rc == 0)
        rc = work_on_all(p, works, &n, err);
    for (size_t i = 0; i < n; i++) {
        const struct vel_prerun_dataset *done = &works[i]->ret;

        ret->datasets++;
        ret->failed += done->failed != NULL;
        if (rc == 0 && !done->failed && !vel_vec_push(&p->brought, &done->about->id))
            rc = vel_out_of_memory(err, "recovering");
        if (rc == 0 && p->of->node == 0) {
            record(p, done);
            p->of->tell(p->of->arg, done);
        }
        vel_prerun_work_destroy(works[i]);
    }
    free(works);
    return vel_comm_agree(p->world, rc, err);
}

/* --- stubs --- */

/* What no cache gives and a launch that is over only announced is not there. But what
 * is no checkpoint may still come. */
static bool remove_stub(const struct vel_prerun *p, const struct vel_view_name *name)
{
    struct vel_stub stub;
    struct vel_err why = {0};
    bool is_removed = false, is_over = false;
    char *path = NULL;
    int rc = vel_cachename_path(p->of->prefix, name->name, &path, &why);

    if (rc == 0 && vel_stub_read(p->of->fs, path, &stub, NULL) == 0)
        rc = vel_launch_is_over(p->of->fs, p->dir, stub.launch, &is_over, &why);
    if (rc == 0 && is_over)
        rc = vel_stub_remove(p->of->fs, path, stub.launch, &is_removed, &why);
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "the placeholder of a file that is lost stays: %s",
                why.text);
    else if (is_removed)
        vel_log(VEL_LOG_WARN, "%s is lost: its placeholder was removed", path);
    free(path);
    return is_removed;
}

/* Each tool looks at its share of the names. */
static int remove_stubs(struct vel_prerun *p, struct vel_prerun_done *ret,
                        struct vel_err *err)
{
    bool is_any = vel_sweep_has_unseen_files(p->of->fs, p->dir, &p->view);
    int64_t removed = 0;
    int rc;

    for (size_t i = (size_t)p->of->node; !is_any && i < p->view.names.n;
         i += (size_t)p->of->nodes) {
        const struct vel_view_name *name = vel_vec_at(&p->view.names, i);
        const struct vel_view_lost *lost = vel_view_find_lost(&p->view, name->lost);

        if (name->id == 0 && (!lost || lost->reason != VEL_VIEW_PARTIAL))
            removed += remove_stub(p, name);
    }
    rc = vel_comm_allreduce(p->world, VEL_COMM_SUM, &removed, 1, err);
    ret->stubs = removed;
    return rc;
}

/* --- the end --- */

/* The worst node's trouble is everyone's. */
static int drain(struct vel_prerun *p, struct vel_prerun_done *ret, struct vel_err *err)
{
    struct vel_background_state state = {0};
    int64_t left;
    int rc = p->background->ops->drain(p->background, 0, 0, &state, err);

    left = (int64_t)state.left;
    rc = vel_comm_agree_fold(p->world, rc, VEL_COMM_SUM, &left, 1, err);
    if (rc < 0)
        return rc;
    ret->left = (uint64_t)left;
    vel_comm_agree(p->world, state.err.status, &state.err);
    ret->why = state.err;
    return 0;
}

/* As of a session: one recovers at a time. */
static int lock_recovery(struct vel_prerun *p, struct vel_lock **ret_lock,
                         struct vel_err *err)
{
    struct vel_err why = {0};
    char *path = NULL;
    int rc = 0;

    if (p->of->node == 0) {
        path = vel_path_join(p->dir, "recovery");
        rc = path ? vel_lock_try(p->of->fs, &p->host, path, ret_lock, &why)
                  : vel_out_of_memory(err, "the prefix");
        if (rc == VEL_EBUSY)
            vel_fail(err, VEL_EBUSY, "another program recovers: %s", why.text);
        else if (path) /* not every file system has locks */
            rc = 0;
        free(path);
    }
    return vel_comm_agree(p->world, rc, err);
}

static int run(struct vel_prerun *p, struct vel_prerun_done *ret, struct vel_err *err)
{
    struct vel_lock *lock = NULL;
    int rc = vel_comm_agree(p->world, attend(p, err), err);

    if (rc == 0)
        rc = vel_comm_agree(p->world, load_view(p, err), err);
    if (rc == 0)
        rc = lock_recovery(p, &lock, err);
    if (rc == 0)
        rc = recover_all(p, ret, err);
    if (rc == 0)
        rc = remove_stubs(p, ret, err);
    if (rc == 0)
        rc = drain(p, ret, err);
    vel_lock_release(lock);
    if (rc == 0 && p->of->node == 0)
        rc = vel_prerun_roll(p, false, err);
    rc = vel_comm_agree(p->world, rc, err);
    if (rc == 0) /* nobody's leader goes while another needs it */
        rc = vel_comm_barrier(p->world, err);
    return rc;
}

static void tear_down(struct vel_prerun *p, bool is_well)
{
    struct vel_err why = {0};

    vel_pull_links_destroy(p->source);
    if (p->is_met && p->background->ops->leave(p->background, is_well, &why) < 0)
        vel_log(VEL_LOG_INFO, "%s", why.text);
    if (p->has_view)
        vel_view_fini(&p->view);
    free(p->tools);
    vel_parts_fini(&p->parts);
    vel_vec_fini(&p->brought);
    free_texts(p->homes, p->n_homes);
    if (p->of) {
        free_texts(p->names, (size_t)p->of->nodes);
        free_texts(p->lists, (size_t)p->of->nodes);
    }
    vel_stores_destroy(p->stores);
    vel_groups_destroy(p->groups);
    vel_comm_destroy(p->world);
    vel_host_fini(&p->host);
    free(p->node);
    vel_index_close(p->index);
    free(p->dir);
}

int vel_prerun_recover(const struct vel_prerun_of *of, struct vel_prerun_done *ret,
                       struct vel_err *err)
{
    struct vel_prerun p = {.of = of};
    struct vel_prerun_done done = {0};
    int rc;

    vel_vec_init(&p.parts, sizeof(struct vel_part));
    vel_vec_init(&p.brought, sizeof(int64_t));
    rc = name_things(&p, err);
    if (rc == 0)
        rc = vel_prerun_meet(&p, err);
    if (rc == 0)
        rc = describe(&p, err);
    if (rc == 0)
        rc = run(&p, &done, err);
    if (rc < 0 && !p.is_met)
        vel_prerun_forgo(&p);
    tear_down(&p, rc == 0);
    if (rc == 0)
        *ret = done;
    return rc;
}
