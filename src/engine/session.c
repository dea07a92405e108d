/* SPDX-License-Identifier: BSD-3-Clause */
/* A session begins and ends here; what it does in between is in the other files. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/load.h"
#include "conf/texts.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "meta/nodes.h"
#include "meta/paths.h"
#include "sys/queue.h"

/* --- settings --- */

static int bcast_texts(struct vel_session *s, const struct vel_conf_layers *layers,
                       struct vel_vec *texts, struct vel_err *err)
{
    struct vel_buf bytes;
    int rc = 0;

    vel_buf_init(&bytes);
    if (s->world->rank == 0) {
        rc = vel_conf_gather(s->conf, s->fs, layers, texts, err);
        if (rc == 0)
            rc = vel_conf_texts_encode(texts, &bytes, err);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, 0, &bytes, err);
    if (rc == 0 && s->world->rank != 0)
        rc = vel_conf_texts_decode(bytes.data, bytes.len, texts, err);
    vel_buf_fini(&bytes);
    return rc;
}

static int read_settings(struct vel_session *s, const char *user_file,
                         struct vel_err *err)
{
    struct vel_conf_layers layers = {.user_file = user_file};
    struct vel_vec texts;
    int rc;

    vel_conf_texts_init(&texts);
    rc = bcast_texts(s, &layers, &texts, err);
    if (rc == 0)
        rc = vel_conf_apply(s->conf, &texts, &layers, err);
    vel_conf_texts_fini(&texts);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0 && !s->conf->enable)
        rc = vel_fail(err, VEL_ECANCEL, "h5veloc is switched off (ENABLE=0)");
    return rc;
}

/* A file system that hangs is told of; without that, it hangs in silence. */
static void watch_files(struct vel_session *s)
{
    uint64_t limit = (uint64_t)s->conf->flush_stall * VEL_CLOCK_S;
    struct vel_err why = {0};

    if (vel_fs_watch_create(s->fs, limit, &s->watch, &why) == 0)
        s->fs = vel_fs_watch_fs(s->watch);
    else
        vel_log(VEL_LOG_WARN, "%s", why.text);
    s->patient = s->fs;
}

/* --- who and where --- */

/* Parts of a job that keep their datasets apart have directories of their own. */
static int name_dir(struct vel_session *s, struct vel_err *err)
{
    char *veloc = s->prefix ? vel_veloc_dir(s->prefix) : NULL;

    free(s->dir);
    s->dir = veloc && s->unit ? vel_path_join(veloc, s->unit) : veloc;
    if (s->dir != veloc)
        free(veloc);
    vel_index_close(s->index);
    s->index = NULL;
    return s->dir ? vel_index_open(s->fs, s->dir, &s->index, err)
                  : vel_out_of_memory(err, "the prefix");
}

static int name_things(struct vel_session *s, struct vel_err *err)
{
    char *cwd = NULL;
    int rc = vel_host_init(&s->host, err);

    if (rc == 0)
        rc = vel_node_name(s->conf, &s->host, s->world->rank, s->world->size, &s->node,
                           err);
    if (rc == 0)
        rc = vel_fs_working_dir(&cwd, err);
    if (rc == 0) {
        s->prefix = vel_path_absolute(cwd, s->conf->prefix ? s->conf->prefix : ".");
        s->owner.fs = s->fs;
        s->owner.user = s->conf->user_name ? s->conf->user_name : s->host.user;
        s->owner.prefix_id = s->prefix_id;
        if (!s->prefix)
            rc = vel_out_of_memory(err, "the prefix");
    }
    free(cwd);
    if (rc == 0 && !vel_host_is_name(s->owner.user))
        rc = vel_fail(
            err, VEL_ECONFIG,
            "USER_NAME: '%s' cannot be part of a path: use letters, digits and "
            "\"._-\"",
            s->owner.user);
    return rc < 0 ? rc : name_dir(s, err);
}

/* Rank 0's prefix is everyone's, wherever the others were started. */
static int open_prefix(struct vel_session *s, struct vel_err *err)
{
    struct vel_buf bytes;
    char *real = NULL;
    int rc = 0;

    vel_buf_init(&bytes);
    if (s->world->rank == 0) {
        rc = vel_prefix_open(s->fs, s->dir, s->prefix_id, err);
        if (rc == 0 && vel_fs_real_path(s->prefix, &real, NULL) == 0) {
            free(s->prefix); /* as files of the connector know it */
            s->prefix = real;
        }
        if (rc == 0) {
            vel_buf_append(&bytes, s->prefix_id, VEL_PREFIX_ID);
            vel_buf_append(&bytes, s->prefix, strlen(s->prefix) + 1);
            rc = vel_buf_status(&bytes, err);
        }
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, 0, &bytes, err);
    if (rc == 0) {
        memcpy(s->prefix_id, bytes.data, VEL_PREFIX_ID);
        free(s->prefix);
        s->prefix = strdup(bytes.data + VEL_PREFIX_ID);
        rc = vel_comm_agree(s->world, name_dir(s, err), err);
    }
    vel_buf_fini(&bytes);
    return rc;
}

/* A store that some rank cannot use is used by none, and that is said once. */
static int make_caches(struct vel_session *s, struct vel_err *err)
{
    size_t n = s->stores->n;
    int64_t *usable = calloc(n + 1, sizeof *usable);
    int rc = 0;

    s->store_homes = calloc(n + 1, sizeof *s->store_homes);
    s->is_usable = calloc(n + 1, sizeof *s->is_usable);
    s->is_full = calloc(n + 1, sizeof *s->is_full);
    s->refused = malloc((n + 1) * sizeof *s->refused);
    if (!usable || !s->store_homes || !s->is_usable || !s->is_full || !s->refused)
        rc = vel_out_of_memory(err, "the caches");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct vel_store *store = &s->stores->items[i];
        struct vel_err why = {0};
        char **home = &s->store_homes[i];

        usable[i] = vel_store_check(store, s->fs, &why) == 0 &&
                    vel_cache_make_home(s->fs, store->base, s->owner.user, s->prefix_id,
                                        home, &why) == 0;
        if (!usable[i]) { /* but what lies there is looked at */
            vel_log(VEL_LOG_WARN, "store %s is not used: %s", store->name, why.text);
            *home = vel_cache_home(s->fs, store->base, s->owner.user, s->prefix_id);
        }
        if (!*home)
            rc = vel_out_of_memory(err, "the caches");
        s->refused[i] = UINT64_MAX;
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, usable, n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        s->is_usable[i] = usable[i];
    free(usable);
    return rc;
}

static int describe(struct vel_session *s, struct vel_err *err)
{
    const struct vel_group *node;
    int rc = vel_groups_create(s->world, s->conf, s->node, &s->groups, err);

    if (rc == 0)
        rc = vel_stores_create(s->world, s->conf, s->groups, &s->stores, err);
    if (rc == 0)
        rc = make_caches(s, err);
    if (rc == 0)
        rc = vel_reddescs_create(s->world, s->conf, s->stores, s->groups, &s->owner,
                                 &s->descs, &s->fault, err);
    if (rc < 0)
        return rc;
    s->last_use = calloc(s->descs->n + 1, sizeof *s->last_use);
    s->ballot = calloc(s->descs->n + VEL_SESSION_BALLOT, sizeof *s->ballot);
    s->is_spilling = calloc(s->descs->n + 1, sizeof *s->is_spilling);
    rc = s->last_use && s->ballot && s->is_spilling
             ? vel_comm_self(&s->alone, err)
             : vel_out_of_memory(err, "the levels");
    rc = vel_comm_agree(s->world, rc, err);
    if (rc < 0)
        return rc;
    node = vel_groups_find(s->groups, "NODE");
    return vel_comm_split(s->world, node->comm->rank == 0 ? 0 : -1, (int)node->id,
                          &s->leaders, err);
}

/* --- books --- */

size_t vel_session_count_groups(void *arg, const char *name)
{
    const struct vel_session *s = arg;
    const struct vel_group *group = vel_groups_find(s->groups, name);

    return group ? group->count : 1;
}

/* No checkpoint waits for a prefix that hangs: when something does not come back, it is
 * away. Without that, it waits. */
static void limit_prefix(struct vel_session *s, struct vel_fs *fs)
{
    struct vel_err why = {0};

    if (s->world->rank == 0 &&
        vel_fs_limit_create(fs, s->dir, (uint64_t)s->conf->peer_timeout * VEL_CLOCK_S,
                            &s->limit, &why) < 0)
        vel_log(VEL_LOG_WARN, "%s", why.text);
}

struct vel_fs *vel_session_limited(struct vel_session *s)
{
    if (!s->limit)
        return s->fs;
    vel_fs_limit_bind(s->limit);
    return vel_fs_limit_fs(s->limit);
}

/* What begins or ends a session reads the prefix however long that takes. Ends with
 * limit_all(). */
static void limit_changes(struct vel_session *s)
{
    if (!s->limit)
        return;
    s->fs = vel_session_limited(s);
    vel_fs_limit_let_read(s->limit, true);
}

static void limit_all(struct vel_session *s)
{
    if (s->limit)
        vel_fs_limit_let_read(s->limit, false);
    s->fs = s->patient;
}

static void begin_books(struct vel_session *s)
{
    vel_policy_init(&s->policy, s->clock,
                    vel_policy_failure_rate(s->conf, vel_session_count_groups, s),
                    s->last_checkpoint);
}

static int keep_books(struct vel_session *s, struct vel_err *err)
{
    const struct vel_group *node = vel_groups_find(s->groups, "NODE");
    struct vel_fs *prefix = vel_session_limited(s);
    struct vel_err why = {0};
    int rc;

    if (s->world->rank != 0)
        return 0;
    rc = vel_event_log_init(&s->events, prefix, s->clock,
                            s->conf->log_enable ? s->dir : NULL,
                            vel_conf_job_id(s->conf), s->owner.user, err);
    if (rc == 0)
        rc = vel_halt_watch_init(&s->halt, prefix, s->clock, &s->host, s->dir, err);
    if (rc < 0)
        return rc;
    s->has_halt = true;
    vel_rate_watch_init(&s->rates, s->fs, s->clock, s->conf);
    vel_halt_watch_begin(&s->halt);
    if (vel_nodes_save(s->fs, s->dir, node->count, &why) < 0)
        vel_log(VEL_LOG_WARN, "number of nodes not recorded: %s", why.text);
    return 0;
}

/* Collective. What there is must be known, however long it takes to read it; where
 * nothing can be written the session goes on in the caches. */
static int take_part(struct vel_session *s, struct vel_err *err)
{
    int rc;

    limit_changes(s);
    rc = vel_comm_agree(s->world, keep_books(s, err), err);
    if (rc == 0) {
        begin_books(s); /* a fetch looks at them */
        rc = vel_session_meet(s, err);
    }
    if (rc == 0)
        rc = vel_session_recover(s, err);
    vel_session_begin_claims(s);
    limit_all(s);
    return rc;
}

/* --- open and close --- */

static int set_up(struct vel_session *s, const struct vel_session_setup *setup,
                  struct vel_err *err)
{
    uint64_t begun = vel_clock_monotonic(s->clock);
    int rc;

    if ((rc = read_settings(s, setup->user_file, err)) < 0)
        return rc;
    watch_files(s);
    if ((rc = vel_comm_agree(s->world, name_things(s, err), err)) < 0 ||
        (rc = vel_comm_agree(s->world, vel_session_log_open(s, err), err)) < 0 ||
        (rc = open_prefix(s, err)) < 0)
        return rc;
    if ((rc = describe(s, err)) < 0 ||
        (rc = vel_comm_agree(s->world, vel_session_make_crew(s, err), err)) < 0)
        return rc;
    limit_prefix(s, setup->fs);
    rc = take_part(s, err);
    begin_books(s); /* the program computes from now on */
    vel_session_begin_halt(s);
    if (rc == 0)
        vel_session_tell(s,
                         (struct vel_event){.kind = VEL_EVENT_INIT,
                                            .seconds = vel_session_seconds(s, begun)},
                         NULL);
    return rc;
}

static void tear_down(struct vel_session *s)
{
    vel_session_part(s, false); /* counts the levels */
    for (size_t i = 0; i < s->held.n; i++)
        vel_held_fini(vel_session_held(s, i));
    vel_vec_fini(&s->held);
    vel_vec_fini(&s->declined);
    if (s->has_halt)
        vel_halt_watch_fini(&s->halt);
    vel_event_log_fini(&s->events);
    vel_session_leave_crew(s);
    vel_comm_destroy(s->leaders);
    vel_comm_destroy(s->alone);
    vel_reddescs_destroy(s->descs);
    for (size_t i = 0; s->store_homes && i < s->stores->n; i++)
        free(s->store_homes[i]);
    free(s->store_homes);
    vel_stores_destroy(s->stores);
    vel_groups_destroy(s->groups);
    vel_freeing_wait(s);
    vel_session_log_close(s);
    vel_fs_limit_destroy(s->limit);
    vel_fs_watch_destroy(s->watch);
    free(s->last_use);
    free(s->ballot);
    free(s->is_spilling);
    free(s->is_usable);
    free(s->is_full);
    free(s->refused);
    free(s->why_missed);
    vel_index_close(s->index);
    free(s->dir);
    free(s->prefix);
    free(s->node);
    vel_host_fini(&s->host);
    vel_conf_destroy(s->conf);
    vel_comm_destroy(s->world);
    free(s);
}

/* Settings that were refused as they were read have not come to the levels. */
static enum vel_topo_fault fault_of(const struct vel_session *s)
{
    enum vel_topo_fault fault = s->fault;

    if (fault == VEL_TOPO_VALID)
        fault = vel_topo_check(s->conf, NULL);
    return fault == VEL_TOPO_VALID ? VEL_TOPO_OTHER : fault;
}

int vel_session_open(const struct vel_session_setup *setup,
                     struct vel_session **ret_session, struct vel_err *err)
{
    struct vel_session *s = calloc(1, sizeof *s);
    int rc;

    if (!s) {
        rc = vel_out_of_memory(err, "a session");
        vel_comm_fail(setup->world, err);
        vel_comm_destroy(setup->world);
        vel_conf_destroy(setup->conf);
        return rc;
    }
    s->world = setup->world;
    s->conf = setup->conf;
    s->fs = setup->fs;
    s->clock = setup->clock;
    s->unit = setup->unit;
    s->offered = setup->background ? setup->background : vel_background_nobody();
    s->is_alone = true;
    vel_vec_init(&s->held, sizeof(struct vel_held));
    vel_vec_init(&s->declined, sizeof(int64_t));
    vel_session_log_begin(s);
    rc = set_up(s, setup, err);
    if (rc == VEL_ECONFIG && setup->ret_fault)
        *setup->ret_fault = (int)fault_of(s);
    if (rc < 0)
        tear_down(s);
    else
        *ret_session = s;
    return rc;
}

int vel_session_close(struct vel_session *session, const char *reason,
                      struct vel_err *err)
{
    struct vel_session *s = session;
    int64_t is_well = reason != NULL;
    int rc;

    if (!s)
        return 0;
    if (s->state == VEL_WRITING)
        vel_session_complete(s, false, NULL);
    limit_changes(s);
    /* what is not well for one is not well */
    rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &is_well, 1, err);
    reason = rc == 0 && is_well ? reason : NULL;
    if (rc == 0)
        rc = reason ? vel_session_flush_owed(s, err) : vel_session_protect_owed(s, err);
    if (rc == 0) { /* so the next launch finds what this one has recorded */
        vel_session_mark_all(s);
        rc = vel_comm_barrier(s->world, err); /* whoever leaves may be the chair */
    }
    vel_session_part(s, reason != NULL);
    limit_all(s);
    vel_session_limited(s);
    if (s->has_halt && reason)
        vel_halt_watch_finish(&s->halt, reason);
    tear_down(s);
    return rc;
}

/* --- asked about --- */

const struct vel_conf *vel_session_conf(const struct vel_session *session)
{
    return session->conf;
}

struct vel_comm *vel_session_world(const struct vel_session *session)
{
    return session->world;
}

struct vel_fs *vel_session_fs(const struct vel_session *session)
{
    return session->fs;
}

const char *vel_session_prefix(const struct vel_session *session)
{
    return session->prefix;
}

bool vel_session_is_writing(const struct vel_session *session)
{
    return session->state == VEL_WRITING;
}

bool vel_session_is_reading(const struct vel_session *session)
{
    return session->state == VEL_READING;
}

int64_t vel_session_writing_id(const struct vel_session *session)
{
    return session->state == VEL_WRITING ? session->writing.map.dataset.id : 0;
}
