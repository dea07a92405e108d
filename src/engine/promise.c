/* SPDX-License-Identifier: BSD-3-Clause */
/* What the background is to do for a dataset, promised: by each rank to the leader of
 * its node, and the whole of it by rank 0 (doc/life.txt, 15). */
#include "config.h"

#include <inttypes.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "engine/settle.h"
#include "recover/recovery.h"

bool vel_session_is_plain(const struct vel_session *s,
                          const struct vel_dataset *dataset)
{
    return s->conf->global_restart || dataset->ranks != s->world->size;
}

/* Collective. Its sets are those of a level; below 0: its own. `rc`: of this rank,
 * until now. */
static int promise(struct vel_session *s, int rc, const struct vel_filemap *map,
                   const struct vel_brought_part *parts, size_t n, int level,
                   unsigned owed, struct vel_err *err)
{
    struct vel_settle settle = {.comm = s->world,
                                .background = s->background,
                                .node = s->node,
                                .map = map,
                                .parts = parts,
                                .n = n,
                                .owed = owed,
                                .is_plain = vel_session_is_plain(s, &map->dataset)};

    if (level >= 0) {
        settle.seats = &s->seats[level];
        settle.is_seated = &s->is_seated[level];
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_settle(&settle, err);
    s->is_settling = settle.is_settling;
    return rc;
}

int vel_session_promise(struct vel_session *s, const struct vel_filemap *map, char *dir,
                        int level, unsigned owed, struct vel_err *err)
{
    struct vel_brought_part own = {.rank = s->world->rank, .dir = dir};
    struct vel_reddesc desc;
    int rc = vel_reddesc_from_node(map->descriptor, &desc, err);

    if (rc == 0) {
        own.place = desc.place;
        vel_reddesc_fini(&desc);
    }
    return promise(s, rc, map, &own, 1, level, owed, err);
}

/* A dataset of other ranks: each owes for the parts that it speaks for. */
static int promise_parts(struct vel_session *s, const struct vel_held *held,
                         unsigned owed, struct vel_err *err)
{
    int64_t lacks;
    int rc = vel_settle_look(s->fs, held->map.dataset.ranks, held->parts.items,
                             held->parts.n, &lacks, err);

    return promise(s, rc, &held->map, held->parts.items, held->parts.n, -1, owed, err);
}

int vel_session_owe_flush(struct vel_session *s, struct vel_held *held,
                          struct vel_err *err)
{
    unsigned owed = held->owed | VEL_OWE_FLUSH;
    int rc;

    if (held->owed & VEL_OWE_FLUSH || held->entry.place == VEL_ON_PREFIX)
        return 0;
    if (!held->dir && !held->parts.n && held->map.dataset.ranks == s->world->size)
        return vel_session_finish_held(s, held, err); /* it was written there */
    rc = held->dir ? vel_session_promise(s, &held->map, held->dir, -1, owed, err)
                   : promise_parts(s, held, owed, err);
    if (rc == 0)
        held->owed = owed;
    return rc;
}

int vel_session_take_back(struct vel_session *s, int64_t id, unsigned what,
                          const char *dir, unsigned *ret_before, struct vel_err *err)
{
    unsigned before = 0;
    int rc = s->background->ops->owe(s->background, id, s->world->rank, what, dir,
                                     &before, err);

    if (rc == 0 && ret_before)
        *ret_before = before;
    return rc;
}

static bool lacks_scheme(struct vel_session *s, const struct vel_held *held)
{
    struct vel_brought_part own = {.rank = s->world->rank, .dir = held->dir};
    int64_t lacks;

    return vel_settle_look(s->fs, s->world->size, &own, 1, &lacks, NULL) == 0 && lacks;
}

int vel_session_rest(struct vel_session *s, int64_t id, unsigned *ret_before,
                     struct vel_err *err)
{
    unsigned before = 0;
    int64_t all[2];
    int rc = 0;

    *ret_before = 0;
    rc = vel_session_take_back(s, id, VEL_OWE_REST, NULL, &before, err);
    all[0] = !!(before & VEL_OWE_ENCODE);
    all[1] = !!(before & VEL_OWE_FLUSH);
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MAX, all, 2, err);
    if (rc == 0)
        *ret_before = (all[0] ? VEL_OWE_ENCODE : 0) | (all[1] ? VEL_OWE_FLUSH : 0);
    return rc;
}

int vel_session_go_on(struct vel_session *s, int64_t id, unsigned before,
                      struct vel_err *err)
{
    int rc = 0;

    if (!before)
        return 0;
    rc = vel_session_take_back(s, id, before, NULL, NULL, err);
    return vel_comm_agree(s->world, rc, err);
}

int vel_session_owe_again(struct vel_session *s, struct vel_held *held, unsigned before,
                          struct vel_err *err)
{
    struct vel_err why = {0};
    int64_t lacks = held->dir && lacks_scheme(s, held);
    unsigned owed = before;
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &lacks, 1, err);

    if (rc < 0)
        return rc;
    /* what was encoded twice, or is on the prefix, need not be again */
    owed = (owed & VEL_OWE_FLUSH) | (lacks ? VEL_OWE_ENCODE : 0);
    if (held->entry.place == VEL_ON_PREFIX)
        owed &= ~(unsigned)VEL_OWE_FLUSH;
    if (!held->dir && owed & VEL_OWE_FLUSH) /* other ranks are to read it there */
        rc = promise_parts(s, held, owed = before, &why);
    else if (!held->dir)
        rc = vel_session_go_on(s, held->map.dataset.id, before, &why);
    else if (owed)
        rc = vel_session_promise(s, &held->map, held->dir, -1, owed, &why);
    else if (before)
        rc = vel_session_take_back_held(s, held, &why);
    if (rc == 0) {
        held->owed = held->dir ? owed : before;
        return 0;
    }
    vel_log_shared(VEL_LOG_WARN, "%s: it stays as it is", why.text);
    return vel_comm_barrier(s->world, err);
}

int vel_session_take_back_held(struct vel_session *s, struct vel_held *held,
                               struct vel_err *err)
{
    int rc = vel_session_take_back(s, held->map.dataset.id, VEL_OWE_NOTHING, held->dir,
                                   NULL, err);

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        held->owed = VEL_OWE_NOTHING;
    return rc;
}
