/* SPDX-License-Identifier: BSD-3-Clause */
/* What the background has done meanwhile: asked for, waited for, and what follows from
 * it for the datasets that are held. All ranks hear of it from rank 0, so that they
 * hold the same. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"

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
    struct vel_index_where where;

    if (vel_index_where(s->index, id, &where, NULL) < 0)
        return IS_OVER;
    return where.place == VEL_ON_PREFIX ? IS_FLUSHED : IS_OVER;
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

    if (s->world->rank != 0)
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
        vel_entry_load(s->index, held->map.dataset.id, &entry, NULL) < 0)
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

    if (news == VEL_NO_NEWS)
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

    if (!s->conf->strict || !vel_session_is_owing(s))
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

    if (patience == VEL_BEHIND_PROTECTED && state.is_protected)
        memset(&state.err, 0, sizeof state.err); /* that of its flush */
    else if (rc == 0 && (state.left > 0 ||
                         (state.err.status && state.behind <= VEL_BEHIND_FLUSHING)))
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
    struct vel_held *held = vel_session_held_of(s, id);
    struct vel_err why = {0};

    if (!held || !learn(s, held, news))
        return 0;
    vel_session_evict_old(s);
    vel_session_sweep(s);
    if (news != IS_FLUSHED || vel_session_slide(s, &why) == 0)
        return 0;
    vel_log_shared(VEL_LOG_WARN, "%s", why.text);
    return vel_comm_barrier(s->world, err);
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

/* In the calls of MODE=SYNC once is enough: it is tried again behind them. */
static int64_t patience_of(const struct vel_session *s, int64_t patience)
{
    return s->conf->mode == VEL_MODE_SYNC ? VEL_BEHIND_ONCE : patience;
}

int vel_session_wait_oldest(struct vel_session *s, int64_t patience, bool *ret_moved,
                            struct vel_err *err)
{
    struct vel_held *held = next_owed(s, 0);
    struct vel_err why = {0};
    enum news news;
    unsigned before = held ? held->owed : 0;
    int64_t id = held ? held->map.dataset.id : 0;
    int mine = 0, rc;

    *ret_moved = false;
    if (!held)
        return 0;
    rc = drain(s, held, patience_of(s, patience), &mine, &news, &why);
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

/* Collective. *ret_mine: this rank's result, in *why. */
static int wait_for(struct vel_session *s, const struct vel_held *held,
                    int64_t patience, int *ret_mine, struct vel_err *why,
                    struct vel_err *err)
{
    int64_t id = held->map.dataset.id;
    enum news news;
    int rc = drain(s, held, patience, ret_mine, &news, why);

    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why->text)
                  : learn_one(s, id, news, err);
}

/* Collective. What went wrong for any rank is everyone's result. */
static int end_wait(struct vel_session *s, int mine, const struct vel_err *why,
                    struct vel_err *err)
{
    if (mine < 0)
        vel_fail(err, (enum vel_status)mine, "%s", why->text);
    return vel_comm_agree(s->world, mine, err);
}

int vel_session_wait_for(struct vel_session *s, int64_t id, struct vel_err *err)
{
    struct vel_held *held = vel_session_held_of(s, id);
    struct vel_err why = {0};
    int mine = 0;
    int rc =
        held && held->owed ? wait_for(s, held, VEL_BEHIND_ONCE, &mine, &why, err) : 0;

    rc = rc < 0 ? rc : end_wait(s, mine, &why, err);
    held = vel_session_held_of(s, id);
    if (rc < 0 && held)
        held->is_told = true;
    return rc;
}

static int wait_for_all(struct vel_session *s, int64_t patience, struct vel_err *err)
{
    struct vel_held *held;
    struct vel_err first = {0};
    int64_t id = 0;
    int result = 0;

    while ((held = next_owed(s, id))) {
        struct vel_err why = {0};
        int mine = 0, rc;

        id = held->map.dataset.id;
        if (patience == VEL_BEHIND_PROTECTED && !(held->owed & VEL_OWE_ENCODE))
            continue;
        rc = wait_for(s, held, patience, &mine, &why, err);
        if (rc < 0)
            return rc;
        if (mine < 0 && result == 0) {
            result = mine;
            first = why;
        }
    }
    return end_wait(s, result, &first, err);
}

int vel_session_wait(struct vel_session *session, struct vel_err *err)
{
    return wait_for_all(session, patience_of(session, 0), err);
}

int vel_session_wait_protected(struct vel_session *s, struct vel_err *err)
{
    return wait_for_all(s, VEL_BEHIND_PROTECTED, err);
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

        if (!held->owed)
            continue;
        rc = ask(s, held, &state, err);
        if (rc == 0 && state.left > 0 && state.err.status == VEL_OK)
            is_finished = false;
    }
    if (rc == 0)
        *ret_finished = is_finished;
    return rc;
}
