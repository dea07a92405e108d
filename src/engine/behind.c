/* SPDX-License-Identifier: BSD-3-Clause */
/* What the background has done meanwhile: asked for, waited for, and what follows from
 * it for the datasets that are held. All ranks hear of it from rank 0, so that they
 * hold the same. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "engine/settlement.h"
#include "meta/cache.h"
#include "sys/entropy.h"

/* --- the leader --- */

enum { DIFFERS, FROM }; /* what a rank says of its launch */

/* A name for a launch that has none. */
static int make_fresh(struct vel_buf *ret, struct vel_err *err)
{
    uint8_t random[8];
    int rc = vel_entropy(random, sizeof random, err);

    for (size_t i = 0; rc == 0 && i < sizeof random; i++)
        vel_buf_printf(ret, "%02x", random[i]);
    return rc;
}

/* The launch that this process is in by its files, if it still lives; NULL: none. */
static const char *find_joined(struct vel_session *s,
                               const struct vel_background_of *of, bool *ret_differs)
{
    const char *own = s->background->ops->joined
                          ? s->background->ops->joined(s->background, of, ret_differs)
                          : NULL;

    return own && !vel_session_is_over(s, own) ? own : NULL;
}

/* What one rank says is everyone's: who has a launch already, the lowest such rank, or
 * rank 0. Where caches differ the launches stay two. */
static int choose_launch(struct vel_session *s, const struct vel_background_of *of,
                         char ret[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    bool differs = false;
    const char *own = find_joined(s, of, &differs);
    int64_t least = differs ? DIFFERS : own ? FROM + s->world->rank : INT64_MAX;
    struct vel_buf bytes;
    int from, rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &least, 1, err);

    if (rc < 0)
        return rc;
    if (least == DIFFERS)
        vel_log_shared(VEL_LOG_WARN,
                       "the settings of VELOC_Init and those of HDF5 files name other "
                       "caches: they are protected apart from each other");
    from = least >= FROM && least < INT64_MAX ? (int)(least - FROM) : 0;
    vel_buf_init(&bytes);
    if (s->world->rank == from && least >= FROM && own)
        vel_buf_puts(&bytes, own);
    else if (s->world->rank == from)
        rc = make_fresh(&bytes, err);
    vel_buf_append(&bytes, "", 1);
    rc = vel_comm_agree(s->world, rc < 0 ? rc : vel_buf_status(&bytes, err), err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, from, &bytes, err);
    if (rc == 0)
        snprintf(ret, VEL_LAUNCH_ROOM, "%s", bytes.data);
    if (rc == 0 && own && strcmp(own, ret) != 0)
        vel_log(VEL_LOG_WARN,
                "HDF5 files of this process are in launch %s, its session in %s: they "
                "are protected apart from those of other ranks (is VELOC_LAUNCH not "
                "the same everywhere?)",
                own, ret);
    vel_buf_fini(&bytes);
    return rc;
}

/* Where datasets of this prefix are on this node. */
static int list_homes(struct vel_session *s, struct vel_err *err)
{
    s->homes = calloc(s->stores->n + 1, sizeof *s->homes);
    for (size_t i = 0; s->homes && i < s->stores->n; i++) {
        char *home = vel_cache_home(s->fs, s->stores->items[i].base, s->owner.user,
                                    s->prefix_id);

        if (!home)
            return vel_out_of_memory(err, "the background");
        s->homes[s->n_homes++] = home;
    }
    return s->homes ? 0 : vel_out_of_memory(err, "the background");
}

static int meet(struct vel_session *s, const struct vel_background_of *of,
                struct vel_err *err)
{
    int rc;

    s->seats = calloc(s->descs->n + 1, sizeof *s->seats);
    s->is_seated = calloc(s->descs->n + 1, sizeof *s->is_seated);
    if (!s->seats || !s->is_seated)
        return vel_out_of_memory(err, "the background");
    rc = s->background->ops->open(s->background, of, s->launch, err);
    s->is_met = rc == 0;
    return rc;
}

int vel_session_meet(struct vel_session *s, struct vel_err *err)
{
    char launch[VEL_LAUNCH_ROOM] = "";
    struct vel_background_of of = {.conf = s->conf,
                                   .fs = s->fs,
                                   .clock = s->clock,
                                   .prefix = s->prefix,
                                   .dir = s->dir,
                                   .prefix_id = s->prefix_id,
                                   .user = s->owner.user,
                                   .node = s->node,
                                   .rank = s->world->rank,
                                   .ranks = s->world->size,
                                   .fresh = launch};
    int rc;

    if (!s->background)
        return 0;
    rc = vel_comm_agree(s->world, list_homes(s, err), err);
    of.homes = s->homes;
    of.n_homes = s->n_homes;
    if (rc == 0)
        rc = choose_launch(s, &of, launch, err);
    return rc < 0 ? rc : vel_comm_agree(s->world, meet(s, &of, err), err);
}

void vel_session_part(struct vel_session *s, bool is_well)
{
    struct vel_err why = {0};

    if (s->is_met && s->background->ops->leave(s->background, is_well, &why) < 0)
        vel_log(VEL_LOG_INFO, "%s", why.text);
    s->is_met = false;
    for (size_t i = 0; s->seats && i < s->descs->n; i++)
        vel_settlement_fini(&s->seats[i]);
    for (size_t i = 0; i < s->n_homes; i++)
        free(s->homes[i]);
    free(s->homes);
    s->homes = NULL;
    s->n_homes = 0;
    free(s->seats);
    free(s->is_seated);
    s->seats = NULL;
    s->is_seated = NULL;
}

/* --- news --- */

/* Of each of which anything is owed, oldest first, two bits. */
enum news {
    NO_NEWS,
    IS_ENCODED,
    IS_FLUSHED,
    IS_OVER, /* nothing more will be done */
    NEWS_BITS = 2,
    NEWS_MOST = 31, /* of the others one hears later */
};

/* The leader has forgotten it, as it does when all is done; the index remembers. */
static enum news look_up(struct vel_session *s, int64_t id)
{
    struct vel_entry entry;
    bool is_flushed;

    if (vel_entry_load(s->fs, s->dir, id, &entry, NULL) < 0)
        return IS_OVER;
    is_flushed = entry.place == VEL_ON_PREFIX;
    vel_entry_fini(&entry);
    return is_flushed ? IS_FLUSHED : IS_OVER;
}

static enum news news_of(struct vel_session *s, const struct vel_held *held,
                         const struct vel_background_state *state)
{
    switch (state->behind) {
    case VEL_BEHIND_ANNOUNCED:
    case VEL_BEHIND_SEALED:
    case VEL_BEHIND_FLUSHING: /* perhaps because it could not be encoded */
        return NO_NEWS;
    case VEL_BEHIND_ENCODED:
        return IS_ENCODED;
    case VEL_BEHIND_FLUSHED:
        return IS_FLUSHED;
    case VEL_BEHIND_NONE:
        return state->left ? NO_NEWS : look_up(s, held->map.dataset.id);
    case VEL_BEHIND_SUPERSEDED:
    case VEL_BEHIND_LOST:
        break;
    }
    return IS_OVER;
}

bool vel_session_is_owing(const struct vel_session *s)
{
    for (size_t i = 0; i < s->held.n; i++)
        if (vel_session_held(s, i)->owed)
            return true;
    return false;
}

static int ask(struct vel_session *s, const struct vel_held *held,
               struct vel_background_state *ret, struct vel_err *err)
{
    memset(ret, 0, sizeof *ret);
    return s->background->ops->ask(s->background, held->map.dataset.id, ret, err);
}

int64_t vel_session_news(struct vel_session *s)
{
    int64_t all = 0;
    int n = 0;

    if (!s->background || s->world->rank != 0)
        return VEL_NO_NEWS;
    for (size_t i = 0; i < s->held.n && n < NEWS_MOST; i++) {
        struct vel_held *held = vel_session_held(s, i);
        struct vel_background_state state;
        struct vel_err why = {0};

        if (!held->owed)
            continue;
        if (ask(s, held, &state, &why) == 0)
            all |= (int64_t)news_of(s, held, &state) << NEWS_BITS * n;
        else
            vel_log(VEL_LOG_INFO, "%s", why.text);
        n++;
    }
    return all;
}

/* The background writes the index then; this session may have to write there later. */
static void learn_entry(struct vel_session *s, struct vel_held *held)
{
    struct vel_entry entry;

    if (s->world->rank != 0 ||
        vel_entry_load(s->fs, s->dir, held->map.dataset.id, &entry, NULL) < 0)
        return;
    vel_dataset_fini(&entry.dataset);
    held->entry = entry;
    memset(&held->entry.dataset, 0, sizeof entry.dataset);
}

static bool learn(struct vel_session *s, struct vel_held *held, enum news news)
{
    enum vel_place_on_prefix place = held->entry.place;

    if (news == NO_NEWS)
        return false;
    held->owed = news == IS_ENCODED ? held->owed & ~(unsigned)VEL_OWE_ENCODE : 0;
    if (news == IS_ENCODED)
        return true;
    learn_entry(s, held);
    /* whatever rank 0 has read there meanwhile: all decide by what all have heard */
    held->entry.place = news == IS_FLUSHED ? VEL_ON_PREFIX : place;
    return true;
}

int vel_session_learn(struct vel_session *s, int64_t news, struct vel_err *err)
{
    bool is_any = false, is_flushed = false;
    int n = 0;

    if (!s->background || news == VEL_NO_NEWS)
        return 0;
    for (size_t i = 0; i < s->held.n && n < NEWS_MOST; i++) {
        struct vel_held *held = vel_session_held(s, i);
        enum news one;

        if (!held->owed)
            continue;
        one = (enum news)(news >> NEWS_BITS * n++ & ((1 << NEWS_BITS) - 1));
        is_any |= learn(s, held, one);
        is_flushed |= one == IS_FLUSHED;
    }
    if (!is_any)
        return 0;
    vel_session_evict_old(s);
    vel_session_sweep(s);
    return is_flushed ? vel_session_slide(s, err) : 0;
}

int64_t vel_session_newest_safe(const struct vel_session *s)
{
    for (size_t i = s->held.n; i-- > 0;)
        if (!(vel_session_held(s, i)->owed & VEL_OWE_ENCODE))
            return vel_session_held(s, i)->map.dataset.id;
    return 0;
}

/* --- what went wrong --- */

int vel_session_tell_failed(struct vel_session *s, struct vel_err *err)
{
    int64_t failed = 0;
    int rc = 0;

    if (!s->background || !s->conf->strict || !vel_session_is_owing(s))
        return 0;
    for (size_t i = 0; i < s->held.n && !failed; i++) {
        struct vel_held *held = vel_session_held(s, i);
        struct vel_background_state state;

        if (held->owed && !held->is_told && ask(s, held, &state, NULL) == 0 &&
            state.err.status != VEL_OK) {
            failed = held->map.dataset.id;
            rc = vel_fail(err, state.err.status, "%s", state.err.text);
        }
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (vel_comm_allreduce(s->world, VEL_COMM_MAX, &failed, 1, NULL) < 0 || !failed)
        return rc;
    for (size_t i = 0; i < s->held.n; i++)
        if (vel_session_held(s, i)->map.dataset.id == failed)
            vel_session_held(s, i)->is_told = true;
    return rc;
}

/* --- waiting --- */

/* Collective. Until nothing is left of one, or it cannot be done now: that is this
 * rank's result, in *err. *ret_news: the same on all ranks. */
static int drain(struct vel_session *s, const struct vel_held *held, int64_t patience,
                 int *ret_rc, enum news *ret_news, struct vel_err *err)
{
    struct vel_background_state state = {0};
    const struct vel_dataset *d = &held->map.dataset;
    int64_t news = INT64_MAX;
    struct vel_err why = {0};
    int rc = s->background->ops->drain(s->background, d->id, patience, &state, &why);

    if (rc == 0 && state.left > 0)
        rc = vel_fail(&why, state.err.status ? state.err.status : VEL_EIO, "%s",
                      state.err.status ? state.err.text : "it is not known why");
    if (rc < 0)
        vel_fail(err, (enum vel_status)rc,
                 "dataset %" PRId64 " (%s %" PRId64 ") is complete, but what was left "
                 "to do for it has failed: %s",
                 d->id, d->name, d->version, why.text);
    if (s->world->rank == 0)
        news = news_of(s, held, &state);
    *ret_rc = rc;
    rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &news, 1, err);
    *ret_news = rc == 0 ? (enum news)news : NO_NEWS;
    return rc;
}

/* News of the dataset with that id alone. */
static int learn_one(struct vel_session *s, int64_t id, enum news news,
                     struct vel_err *err)
{
    int64_t all = news;

    for (size_t i = 0; i < s->held.n; i++) {
        struct vel_held *held = vel_session_held(s, i);

        if (held->map.dataset.id == id)
            return vel_session_learn(s, all, err);
        if (held->owed)
            all = (int64_t)((uint64_t)all << NEWS_BITS);
    }
    return 0;
}

/* The first that is owed behind that id, or NULL. */
static struct vel_held *next_owed(const struct vel_session *s, int64_t behind)
{
    for (size_t i = 0; i < s->held.n; i++) {
        struct vel_held *held = vel_session_held(s, i);

        if (held->owed && held->map.dataset.id > behind)
            return held;
    }
    return NULL;
}

int vel_session_wait_oldest(struct vel_session *s, int64_t patience, bool *ret_moved,
                            struct vel_err *err)
{
    struct vel_held *held = s->background ? next_owed(s, 0) : NULL;
    struct vel_err why = {0};
    enum news news;
    unsigned before = held ? held->owed : 0;
    int64_t id = held ? held->map.dataset.id : 0;
    int mine = 0, rc;

    *ret_moved = false;
    if (!held)
        return 0;
    rc = drain(s, held, patience, &mine, &news, &why);
    if (mine < 0)
        vel_log(patience ? VEL_LOG_INFO : VEL_LOG_WARN, "%s", why.text);
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    rc = learn_one(s, id, news, err);
    held = next_owed(s, 0);
    *ret_moved = !held || held->map.dataset.id != id || held->owed != before;
    s->stuck = *ret_moved ? 0 : id;
    return rc;
}

bool vel_session_is_stuck(const struct vel_session *s)
{
    const struct vel_held *held = next_owed(s, 0);

    return held && held->map.dataset.id == s->stuck;
}

int vel_session_wait(struct vel_session *session, struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_held *held;
    struct vel_err first = {0};
    int64_t id = 0;
    int rc = 0, result = 0;

    if (!s->background)
        return 0;
    while (rc == 0 && (held = next_owed(s, id))) {
        struct vel_err why = {0};
        enum news news;
        int mine = 0;

        id = held->map.dataset.id;
        rc = drain(s, held, 0, &mine, &news, &why);
        if (mine < 0 && result == 0) {
            result = mine;
            first = why;
        }
        if (rc == 0)
            rc = learn_one(s, id, news, err);
        else
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    if (rc < 0)
        return rc;
    if (result < 0)
        vel_fail(err, (enum vel_status)result, "%s", first.text);
    return vel_comm_agree(s->world, result, err);
}

int vel_session_finished(struct vel_session *session, bool *ret_finished,
                         struct vel_err *err)
{
    struct vel_session *s = session;
    bool is_finished = true;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->held.n; i++) {
        struct vel_held *held = vel_session_held(s, i);
        struct vel_background_state state;

        if (!s->background || !held->owed)
            continue;
        rc = ask(s, held, &state, err);
        if (rc == 0 && state.left > 0 && state.err.status == VEL_OK)
            is_finished = false;
    }
    if (rc == 0)
        *ret_finished = is_finished;
    return rc;
}
