/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a new dataset goes: its level by INTERVAL, and another place when the store of
 * that level has no room. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"

enum { NEARLY_FULL = 65536 };

/* So many bytes of a rank with the redundancy that comes on top. */
static uint64_t with_scheme(const struct vel_reddesc *desc, uint64_t bytes)
{
    uint64_t n = desc->place.ranks;

    switch (desc->scheme) {
    case VEL_SINGLE:
        return bytes;
    case VEL_PARTNER:
        return bytes * (desc->m + 1);
    case VEL_XOR:
    case VEL_RS:
        return bytes + bytes * desc->m / (n - desc->m) + 1;
    }
    return bytes;
}

/* What the background will still need for redundancy in that store. */
static uint64_t promised(const struct vel_session *s, const struct vel_reddesc *desc)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->held.n; i++) {
        const struct vel_held *held = vel_session_held(s, i);
        const struct vel_dataset *d = &held->map.dataset;

        if (held->owed & VEL_OWE_ENCODE && held->store == desc->store->index &&
            d->ranks > 0) {
            uint64_t part = (uint64_t)(d->bytes / d->ranks);

            bytes += with_scheme(desc, part) - part;
        }
    }
    return bytes;
}

/* Room is asked for a little more than the last dataset of this rank took, since what
 * is written grows, and for what the program knows that it has grown by. */
static uint64_t needed(const struct vel_session *s, const struct vel_reddesc *desc)
{
    uint64_t more = s->expected > s->last_expected ? s->expected - s->last_expected : 0;
    uint64_t bytes = s->last_bytes + more;

    return bytes ? with_scheme(desc, bytes + bytes / 16) + promised(s, desc) : 0;
}

/* What complete datasets take already of a store of which those that share it may use
 * so many bytes: on average, since no rank knows what the others have. */
static uint64_t taken(const struct vel_session *s, const struct vel_reddesc *desc)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->held.n; i++) {
        const struct vel_held *held = vel_session_held(s, i);
        const struct vel_dataset *d = &held->map.dataset;

        if (held->store == desc->store->index && d->ranks > 0)
            bytes += with_scheme(desc, (uint64_t)(d->bytes / d->ranks)) *
                     (uint64_t)desc->store->comm->size;
    }
    return bytes;
}

/* The ranks that fill the file system of a store: nodes that are virtual have one. */
static uint64_t sharers(const struct vel_session *s, const struct vel_store *store)
{
    return (uint64_t)(s->conf->virtual_nodes ? s->world->size : store->comm->size);
}

/* Whoever cannot be asked has it. */
static bool has_bytes(const struct vel_session *s, const char *path, uint64_t bytes)
{
    uint64_t free_bytes;

    return vel_fs_space(s->fs, path, &free_bytes, NULL) < 0 || bytes <= free_bytes;
}

static bool has_space(struct vel_session *s, const struct vel_store *store,
                      uint64_t need)
{
    uint64_t bytes = need * sharers(s, store);

    if (has_bytes(s, store->base, bytes))
        return true;
    vel_freeing_wait(s);
    return has_bytes(s, store->base, bytes);
}

static bool has_room(struct vel_session *s, const struct vel_reddesc *desc)
{
    const struct vel_store *store = desc->store;
    uint64_t need = needed(s, desc), limit = (uint64_t)store->bytes;

    if (need == 0)
        return true;
    if (need >= s->refused[store->index])
        return false;
    if (limit && need * (uint64_t)store->comm->size + taken(s, desc) > limit)
        return false;
    return has_space(s, store, need);
}

static bool are_on_one(const struct vel_session *s, const char *a, const char *b)
{
    struct stat of_a, of_b;

    return vel_fs_lstat(s->fs, a, &of_a, NULL) == 0 &&
           vel_fs_lstat(s->fs, b, &of_b, NULL) == 0 && of_a.st_dev == of_b.st_dev;
}

/* Of several levels whose stores fill it any may be the next one. */
bool vel_session_fits(struct vel_session *s, const char *dir)
{
    uint64_t bytes = s->expected > s->last_bytes ? s->expected : s->last_bytes;
    bool is_store = false, fits = true;

    for (size_t i = 0; i < s->descs->n; i++) {
        const struct vel_reddesc *desc = &s->descs->items[i];

        if (!desc->enabled || !desc->store || !are_on_one(s, dir, desc->store->base))
            continue;
        is_store = true;
        fits = fits && has_room(s, desc);
    }
    return is_store ? fits : has_bytes(s, dir, bytes);
}

void vel_session_expect(struct vel_session *session, uint64_t bytes)
{
    if (session->state != VEL_WRITING)
        session->expected = bytes;
}

void vel_session_note_full(struct vel_session *session)
{
    session->writing.was_full = session->state == VEL_WRITING;
}

/* So many bytes of this rank were more than there was room for. */
static void need_more_than(struct vel_session *s, uint64_t bytes)
{
    if (s->last_bytes <= bytes)
        s->last_bytes = bytes + 1;
    s->last_expected = s->expected < s->last_bytes ? s->expected : s->last_bytes;
}

void vel_session_learn_size(struct vel_session *s)
{
    const struct vel_writing *w = &s->writing;
    uint64_t free_bytes, written = vel_session_written(s);
    const struct vel_store *store = w->desc->store;

    if (!w->level || vel_fs_space(s->fs, w->level, &free_bytes, NULL) < 0)
        return;
    if (free_bytes <= NEARLY_FULL || free_bytes <= written / 8) {
        need_more_than(s, written + free_bytes / sharers(s, store));
    } else if (w->was_full) { /* not of bytes, or others have removed theirs since */
        need_more_than(s, written);
        s->refused[store->index] = needed(s, w->desc);
    }
}

/* What is voted on: the level that is due, whether to encode, what is begun, its id
 * and when that was, what the background has done meanwhile, and which levels have
 * room. The least of what the ranks say is taken. */
enum { LEVEL, ENCODE, MEANT, ID = MEANT + VEL_SESSION_MEANT, CREATED, NEWS, ROOM };

/* Rank 0's clock decides which levels by seconds are due, and whether to encode. */
static int ask_what_is_due(struct vel_session *s, const struct vel_dataset *dataset,
                           int64_t *ballot, struct vel_err *err)
{
    double *since = calloc(s->descs->n + 1, sizeof *since);
    const struct vel_reddesc *desc;
    bool is_output = !(dataset->use & VEL_USE_CHECKPOINT);
    struct vel_reddesc_use use = {.id = is_output ? dataset->id : dataset->checkpoint,
                                  .is_output = is_output,
                                  .seconds_since = since};

    if (!since)
        return vel_out_of_memory(err, "a level");
    for (size_t i = 0; i < s->descs->n; i++)
        since[i] = s->last_use[i] ? vel_session_seconds(s, s->last_use[i]) : INFINITY;
    desc = vel_reddesc_choose(s->descs, &use);
    ballot[LEVEL] = desc ? desc - s->descs->items : -1;
    ballot[ID] = dataset->id;
    ballot[CREATED] = dataset->created * (int64_t)VEL_CLOCK_S + dataset->created_ns;
    ballot[ENCODE] =
        vel_policy_encode_due(s->conf, vel_policy_since_encode(&s->policy));
    free(since);
    return 0;
}

static void ask_for_room(struct vel_session *s, int64_t *fits)
{
    for (size_t i = 0; i < s->descs->n; i++) {
        const struct vel_reddesc *desc = &s->descs->items[i];

        fits[i] = desc->enabled && desc->store && s->is_usable[desc->store->index] &&
                  !s->is_full[desc->store->index] && has_room(s, desc);
    }
}

static int vote(struct vel_session *s, const struct vel_dataset *dataset, int rc,
                int64_t *meant, struct vel_err *err)
{
    int64_t *ballot = s->ballot;

    ballot[LEVEL] = ballot[ENCODE] = ballot[ID] = ballot[CREATED] = INT64_MAX;
    ballot[NEWS] = vel_session_news(s);
    if (meant)
        memcpy(ballot + MEANT, meant, VEL_SESSION_MEANT * sizeof *meant);
    if (rc == 0 && s->world->rank == 0)
        rc = ask_what_is_due(s, dataset, ballot, err);
    if (rc == 0)
        ask_for_room(s, ballot + ROOM);
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MIN, ballot, ROOM + s->descs->n,
                             err);
    if (meant)
        memcpy(meant, ballot + MEANT, VEL_SESSION_MEANT * sizeof *meant);
    if (rc == 0)
        rc = vel_session_learn(s, ballot[NEWS], err);
    if (rc == 0 && (ballot[LEVEL] < 0 || ballot[LEVEL] >= (int64_t)s->descs->n))
        rc = vel_fail(err, VEL_ECONFIG,
                      "no level is for checkpoint %" PRId64
                      ": one CKPT line needs INTERVAL=1",
                      dataset->checkpoint);
    return rc;
}

/* The level itself, another one with room, or none: the prefix. */
static size_t place(const struct vel_session *s, size_t wanted, const int64_t *fits)
{
    if (fits[wanted])
        return wanted;
    for (size_t i = 0; i < s->descs->n; i++)
        if (fits[i] && s->descs->items[i].store != s->descs->items[wanted].store)
            return i;
    return s->descs->n;
}

/* Once, until datasets have a place there again. */
static void tell_spill(struct vel_session *s, size_t wanted, size_t chosen)
{
    const struct vel_reddesc *desc = &s->descs->items[wanted];
    bool is_usable = desc->store && s->is_usable[desc->store->index];
    const char *why = is_usable ? "has no room for another dataset: until it has"
                                : "cannot be used: instead";

    if (chosen == wanted || s->is_spilling[wanted])
        return;
    s->is_spilling[wanted] = true;
    if (chosen == s->descs->n)
        vel_log_shared(VEL_LOG_WARN, "store %s %s, files go straight to the prefix",
                       desc->store_name, why);
    else
        vel_log_shared(VEL_LOG_WARN, "store %s %s, they go to %s", desc->store_name,
                       why, s->descs->items[chosen].store_name);
}

static bool is_full(const struct vel_session *s)
{
    return !s->ballot[ROOM + s->ballot[LEVEL]];
}

/* More of them are there than COUNT, since the background is slower than the program:
 * it is waited for while that leads to something. */
static bool is_overfull(const struct vel_session *s)
{
    const struct vel_reddesc *due = &s->descs->items[s->ballot[LEVEL]];

    return !due->is_bypass && due->store && !vel_session_is_stuck(s) &&
           vel_session_is_overfull(s, due->store->index);
}

/* Collective. A level that has no room gets what is kept of datasets that this launch
 * cannot restore, and what may leave when the background has done its work. */
static int find_room(struct vel_session *s, const struct vel_dataset *dataset, int rc,
                     int64_t *meant, struct vel_err *err)
{
    bool has_moved = true;

    rc = vote(s, dataset, rc, meant, err);
    if (rc == 0 && is_full(s) && s->has_leftovers) {
        vel_session_sweep_aside(s);
        rc = vel_comm_barrier(s->world, err);
        rc = rc < 0 ? rc : vote(s, dataset, 0, NULL, err);
    }
    while (rc == 0 && (is_full(s) || is_overfull(s)) && has_moved &&
           vel_session_is_owing(s)) {
        rc = vel_session_wait_oldest(s, is_full(s) ? 0 : s->conf->peer_timeout,
                                     &has_moved, err);
        rc = rc < 0 ? rc : vote(s, dataset, 0, NULL, err);
    }
    return rc;
}

int vel_session_choose(struct vel_session *s, struct vel_writing *w, int rc,
                       int64_t *meant, struct vel_err *err)
{
    size_t due, chosen;

    rc = find_room(s, &w->map.dataset, rc, meant, err);
    if (rc < 0)
        return rc;
    w->map.dataset.id = s->ballot[ID];
    w->map.dataset.created = s->ballot[CREATED] / (int64_t)VEL_CLOCK_S;
    w->map.dataset.created_ns = (int)(s->ballot[CREATED] % (int64_t)VEL_CLOCK_S);
    due = (size_t)s->ballot[LEVEL];
    w->is_bypass = s->descs->items[due].is_bypass;
    chosen = w->is_bypass ? due : place(s, due, s->ballot + ROOM);
    if (!w->is_bypass)
        tell_spill(s, due, chosen);
    if (chosen == s->descs->n) {
        w->is_bypass = true;
        chosen = due;
    }
    w->due = due;
    w->desc = &s->descs->items[chosen];
    w->is_encoded = s->ballot[ENCODE] != 0;
    w->is_later = s->conf->mode != VEL_MODE_SYNC && w->is_encoded && !w->is_bypass &&
                  w->desc->scheme != VEL_SINGLE;
    s->last_use[due] = vel_clock_monotonic(s->clock);
    return 0;
}
