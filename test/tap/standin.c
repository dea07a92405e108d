/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "sys/host.h"
#include "tap/crewlab.h"
#include "tap/launchlab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/standin_in.h"
#include "tap/tap.h"

/* --- datasets --- */

static struct one *find(struct standin *st, int64_t id)
{
    for (size_t i = 0; i < st->n; i++)
        if (st->all[i].id == id)
            return &st->all[i];
    if (st->n == DATASETS)
        bail_out("too many datasets for a stand-in");
    st->all[st->n].id = id;
    return &st->all[st->n++];
}

static int put_file(struct standin *st, const char *path, const char *text,
                    struct vel_err *err)
{
    return vel_fs_replace(st->fs, path, text, strlen(text), 0600, err);
}

/* So that the next one finds the part: a file in the directory of the launch. */
static int note_part(struct standin *st, int64_t id, int rank, const char *dir,
                     struct vel_err *err)
{
    char path[TEXT * 2];

    snprintf(path, sizeof path, "%s/launch.%s/part.%" PRId64 ".%d", st->dir, st->launch,
             id, rank);
    return put_file(st, path, dir, err);
}

/* --- launches --- */

static void end_over(struct standin *st, const char *launch)
{
    struct vel_host host = {0};
    struct vel_lock *lock = NULL;
    char path[TEXT * 2];

    snprintf(path, sizeof path, "%s/%s/alive", st->dir, launch);
    if (vel_host_init(&host, NULL) == 0 &&
        vel_lock_try(vel_fs_posix(), &host, path, &lock, NULL) == 0) {
        snprintf(path, sizeof path, "%s/%s", st->dir, launch);
        tap_end_launch(path);
    }
    vel_lock_release(lock);
    vel_host_fini(&host);
}

/* What others have noted of their parts. */
static void find_parts(struct standin *st, const char *launch)
{
    struct vel_vec names = {0};
    char dir[TEXT], path[TEXT * 2];

    snprintf(dir, sizeof dir, "%s/%s", st->dir, launch);
    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        int64_t id;
        size_t len;
        int rank;

        if (sscanf(name, "part.%" SCNd64 ".%d", &id, &rank) != 2 || rank >= RANKS_MOST)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, name);
        free(find(st, id)->dir[rank]);
        find(st, id)->dir[rank] = tap_get_file(path, &len);
    }
    vel_fs_names_fini(&names);
}

/* What was killed in the middle of a flush. */
static void undo(struct standin *st)
{
    struct crewlab lab = {.nodes = 1};
    struct crewlab_rank rank;
    struct vel_comm *self = NULL;
    struct vel_vec entries = {0};

    snprintf(lab.prefix, sizeof lab.prefix, "%s", st->prefix);
    snprintf(lab.dir, sizeof lab.dir, "%s", st->dir);
    if (vel_comm_self(&self, NULL) < 0 || crewlab_join(&lab, self, st->fs, &rank) < 0)
        bail_out("no crew");
    if (indexlab_load_all(st->fs, st->dir, &entries, NULL) == 0)
        for (size_t i = 0; i < entries.n; i++) {
            struct vel_entry *e = vel_vec_at(&entries, i);

            if (e->place == VEL_ON_FLUSHING)
                vel_flush_take_back(&rank.crew, e, NULL);
        }
    vel_index_fini(&entries);
    crewlab_leave(&rank);
    vel_comm_destroy(self);
}

static void begin_launch(struct standin *st, const struct vel_background_of *of)
{
    struct vel_host host = {0};
    struct vel_vec names = {0};
    char path[TEXT * 2];

    snprintf(st->prefix, sizeof st->prefix, "%s", of->prefix);
    snprintf(st->dir, sizeof st->dir, "%s", of->dir);
    snprintf(st->launch, sizeof st->launch, "%s", of->fresh);
    if (vel_fs_list(vel_fs_posix(), st->dir, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++)
            if (strncmp(((char **)names.items)[i], "launch.", 7) == 0) {
                end_over(st, ((char **)names.items)[i]);
                find_parts(st, ((char **)names.items)[i]);
            }
    vel_fs_names_fini(&names);
    snprintf(path, sizeof path, "%s/launch.%s", st->dir, st->launch);
    if (vel_fs_make_dirs(vel_fs_posix(), path, 0700, NULL) < 0)
        bail_out("%s cannot be made", path);
    snprintf(path, sizeof path, "%s/launch.%s/alive", st->dir, st->launch);
    if (vel_host_init(&host, NULL) < 0 ||
        vel_lock_try(vel_fs_posix(), &host, path, &st->alive, NULL) < 0)
        bail_out("%s cannot be locked", path);
    vel_host_fini(&host);
    st->packs = of->conf->containers;
    st->is_open = true;
    undo(st);
}

/* --- what a session asks --- */

static struct standin *enter(struct vel_background *b, struct vel_err *err)
{
    struct standin *st = ((struct seat *)b)->of;

    pthread_mutex_lock(&st->lock);
    if (!st->is_dead)
        return st;
    vel_fail(err, VEL_ELOST, "the leader of %s does not answer",
             ((struct seat *)b)->node);
    pthread_mutex_unlock(&st->lock);
    return NULL;
}

static int leave(struct standin *st, int rc)
{
    pthread_cond_broadcast(&st->news);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

static int do_open(struct vel_background *b, const struct vel_background_of *of,
                   char ret_launch[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    struct seat *seat = (struct seat *)b;
    struct standin *st = enter(b, err);

    if (!st)
        return VEL_ELOST;
    snprintf(seat->node, sizeof seat->node, "%s", of->node);
    if (!st->is_open)
        begin_launch(st, of);
    memcpy(ret_launch, st->launch, VEL_LAUNCH_ROOM);
    return leave(st, 0);
}

/* Of an earlier launch: where the caches have this rank's part. What is known stays:
 * the thread may be at work with it. */
static void adopt(struct one *d, int rank, const char *dir)
{
    if (dir && (!d->dir[rank] || strcmp(d->dir[rank], dir) != 0)) {
        free(d->dir[rank]);
        d->dir[rank] = strdup(dir);
    }
    if (d->dir[rank] && !d->owed[rank])
        d->owed[rank] = standin_load_promise(d->dir[rank]);
}

static int do_owe(struct vel_background *b, int64_t dataset, int rank, unsigned what,
                  const char *dir, unsigned *ret_before, struct vel_err *err)
{
    struct standin *st = enter(b, err);
    struct one *d;
    int rc = 0;

    if (!st)
        return VEL_ELOST;
    d = find(st, dataset);
    adopt(d, rank, dir);
    *ret_before = d->owed[rank];
    if (what == VEL_OWE_REST || what == VEL_OWE_NOTHING) {
        d->is_resting = true;
        while (st->under_way == d)
            pthread_cond_wait(&st->news, &st->lock);
    }
    if (what != VEL_OWE_REST) {
        if (d->dir[rank] && vel_fs_exists(st->fs, d->dir[rank]))
            rc = standin_save_promise(st, d->dir[rank], what, err);
        if (rc == 0 && dir)
            rc = note_part(st, dataset, rank, dir, err);
        if (rc == 0)
            d->owed[rank] = what;
        d->is_settled &= what != VEL_OWE_NOTHING;
    }
    return leave(st, rc);
}

static int do_settle(struct vel_background *b, int64_t dataset, const void *record,
                     size_t len, struct vel_err *err)
{
    struct standin *st = enter(b, err);
    struct vel_seal whole;
    struct one *d;
    char path[TEXT * 2];
    int rc;

    if (!st)
        return VEL_ELOST;
    rc = vel_seal_decode_settled(dataset, record, len, &whole, err);
    if (rc < 0)
        return leave(st, rc);
    d = find(st, dataset);
    while (st->under_way == d) /* it reads what was settled before */
        pthread_cond_wait(&st->news, &st->lock);
    vel_seal_fini(&d->whole);
    d->whole = whole;
    snprintf(path, sizeof path, "%s/launch.%s/seal.%" PRId64, st->dir, st->launch,
             dataset);
    rc = vel_fs_replace(st->fs, path, record, len, 0600, err);
    d->is_settled = rc == 0;
    d->is_resting = false;
    st->settled = &d->whole;
    st->done.settled++;
    return leave(st, rc);
}

static int do_mark(struct vel_background *b, int64_t dataset, enum vel_mark what,
                   bool waits, const void *record, size_t len, struct vel_err *err)
{
    struct standin *st = enter(b, err);

    (void)waits;
    if (!st)
        return VEL_ELOST;
    return leave(st, standin_mark(st, dataset, what, record, len, err));
}

static void tell(const struct standin *st, const struct one *d,
                 struct vel_background_state *ret)
{
    unsigned what = standin_owed(st, d);

    *ret = (struct vel_background_state){
        .left = what && d->is_settled ? (uint64_t)d->whole.about.bytes + 1 : 0,
        .is_protected = d->is_settled && !(what & VEL_OWE_ENCODE),
        .err = d->err};
    if (d->is_flushed)
        ret->behind = VEL_BEHIND_FLUSHED;
    else if (!d->is_settled)
        ret->behind = what ? VEL_BEHIND_ANNOUNCED : VEL_BEHIND_NONE;
    else if (what & VEL_OWE_ENCODE)
        ret->behind = VEL_BEHIND_SEALED;
    else
        ret->behind = st->under_way == d ? VEL_BEHIND_FLUSHING : VEL_BEHIND_ENCODED;
}

static int do_ask(struct vel_background *b, int64_t dataset,
                  struct vel_background_state *ret, struct vel_err *err)
{
    struct standin *st = enter(b, err);

    if (!st)
        return VEL_ELOST;
    tell(st, find(st, dataset), ret);
    return leave(st, 0);
}

static int do_drain(struct vel_background *b, int64_t dataset, int64_t patience,
                    struct vel_background_state *ret, struct vel_err *err)
{
    struct standin *st = enter(b, err);
    bool ends = patience == VEL_BEHIND_PROTECTED; /* nobody lets it go on then */
    unsigned what = ends ? VEL_OWE_ENCODE : ~0u;
    struct one *d;
    int rc = 0;

    if (!st)
        return VEL_ELOST;
    d = find(st, dataset);
    if (patience == VEL_BEHIND_ONCE) /* it is tried again */
        memset(&d->err, 0, sizeof d->err);
    d->waiters++;
    pthread_cond_broadcast(&st->news);
    while (!st->is_dead && standin_owed(st, d) & what && d->is_settled &&
           !d->err.status && !(ends && st->is_held))
        pthread_cond_wait(&st->news, &st->lock);
    d->waiters--;
    if (st->is_dead)
        rc = vel_fail(err, VEL_ELOST, "the leader has died");
    else
        tell(st, d, ret);
    return leave(st, rc);
}

static int do_ping(struct vel_background *b, enum vel_background_ping what,
                   int64_t *ret_value, struct vel_err *err)
{
    struct standin *st = enter(b, err);

    if (!st)
        return VEL_ELOST;
    *ret_value = st->answers[what];
    return leave(st, 0);
}

static bool do_outlives(struct vel_background *b)
{
    return ((struct seat *)b)->of->outlives;
}

static void let_go(struct standin *st, int holders);

static int do_leave(struct vel_background *b, bool is_well, struct vel_err *err)
{
    struct standin *st = enter(b, err);

    if (!st)
        return VEL_ELOST;
    st->done.left += is_well;
    ((struct seat *)b)->has_left = true;
    leave(st, 0);
    let_go(st, 1);
    return 0;
}

static const struct vel_background_ops ops = {.open = do_open,
                                              .owe = do_owe,
                                              .settle = do_settle,
                                              .mark = do_mark,
                                              .ask = do_ask,
                                              .drain = do_drain,
                                              .ping = do_ping,
                                              .outlives = do_outlives,
                                              .leave = do_leave};

/* --- begin, end, and what a test wants of it --- */

struct standin *standin_create(int ranks)
{
    struct standin *st = calloc(1, sizeof *st);

    if (!st || ranks > RANKS_MOST)
        bail_out("no stand-in for %d ranks", ranks);
    st->ranks = ranks;
    st->fs = vel_fs_posix();
    for (int i = 0; i < ranks; i++)
        st->seats[i] = (struct seat){.base = {.ops = &ops}, .of = st, .rank = i};
    for (int i = 0; i < VEL_PING_BACKUP; i++)
        st->answers[i] = 1;
    pthread_mutex_init(&st->lock, NULL);
    pthread_cond_init(&st->news, NULL);
    if (pthread_create(&st->thread, NULL, standin_work, st) != 0)
        bail_out("no thread");
    return st;
}

struct standin *standin_create_for(int ranks)
{
    struct standin *st = standin_create(ranks);

    st->holders = 2 * ranks; /* each while it opens, and its session */
    return st;
}

static void let_go(struct standin *st, int holders)
{
    bool is_last;

    pthread_mutex_lock(&st->lock);
    is_last = st->holders > 0 && (st->holders -= holders) == 0;
    leave(st, 0);
    if (is_last)
        standin_destroy(st);
}

void standin_opened(struct standin *st, int rank, bool is_open)
{
    let_go(st, is_open || st->seats[rank].has_left ? 1 : 2);
}

void standin_destroy(struct standin *st)
{
    pthread_mutex_lock(&st->lock);
    st->is_over = true;
    leave(st, 0);
    pthread_join(st->thread, NULL);
    for (size_t i = 0; i < st->n; i++) {
        vel_seal_fini(&st->all[i].whole);
        for (int k = 0; k < RANKS_MOST; k++)
            free(st->all[i].dir[k]);
    }
    vel_lock_release(st->alive);
    pthread_cond_destroy(&st->news);
    pthread_mutex_destroy(&st->lock);
    free(st);
}

struct vel_background *standin_seat(struct standin *st, int rank)
{
    return &st->seats[rank].base;
}

void standin_use(struct standin *st, struct vel_fs *fs)
{
    st->fs = fs;
}

void standin_hold(struct standin *st, bool is_held)
{
    pthread_mutex_lock(&st->lock);
    st->is_held = is_held;
    leave(st, 0);
}

void standin_fail(struct standin *st, int encodings, int flushes)
{
    pthread_mutex_lock(&st->lock);
    st->failing_encodings = encodings;
    st->failing_flushes = flushes;
    leave(st, 0);
}

void standin_retry(struct standin *st)
{
    pthread_mutex_lock(&st->lock);
    for (size_t i = 0; i < st->n; i++)
        memset(&st->all[i].err, 0, sizeof st->all[i].err);
    leave(st, 0);
}

void standin_die(struct standin *st)
{
    pthread_mutex_lock(&st->lock);
    st->is_dead = true;
    leave(st, 0);
}

void standin_be_lazy(struct standin *st)
{
    st->is_lazy = true;
}

void standin_outlive(struct standin *st)
{
    st->outlives = true;
}

void standin_answer(struct standin *st, enum vel_background_ping what, int64_t value)
{
    pthread_mutex_lock(&st->lock);
    st->answers[what] = value;
    leave(st, 0);
}

struct standin_done standin_done(struct standin *st)
{
    struct standin_done done;

    pthread_mutex_lock(&st->lock);
    done = st->done;
    leave(st, 0);
    return done;
}

const struct vel_seal *standin_settled(struct standin *st)
{
    return st->settled;
}
