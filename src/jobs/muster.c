/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "comm/sock.h"
#include "jobs/muster.h"
#include "sys/entropy.h"

/* one member that waits */
struct comer {
    uint64_t link, seq, member;
    uint64_t since;
    char *node, *endpoint;
};

struct meeting {
    uint64_t dataset, set, attempt, members;
    struct vel_vec comers; /* struct comer, by member */
};

struct vel_muster {
    uint64_t wait;
    const struct vel_muster_ops *ops;
    void *arg;
    struct vel_vec meetings; /* struct meeting, by dataset and set */
    size_t waiting;
};

static struct meeting *meeting_at(const struct vel_muster *m, size_t i)
{
    return (struct meeting *)m->meetings.items + i;
}

static struct comer *comer_at(const struct meeting *meeting, size_t i)
{
    return (struct comer *)meeting->comers.items + i;
}

static int meeting_order(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;

    if (x->dataset != y->dataset)
        return x->dataset < y->dataset ? -1 : 1;
    return x->set < y->set ? -1 : x->set > y->set;
}

static int comer_order(const void *a, const void *b)
{
    const struct comer *x = a, *y = b;

    return x->member < y->member ? -1 : x->member > y->member;
}

int vel_muster_create(uint64_t limit, const struct vel_muster_ops *ops, void *arg,
                      struct vel_muster **ret_muster, struct vel_err *err)
{
    struct vel_muster *m = calloc(1, sizeof *m);

    if (!m)
        return vel_out_of_memory(err, "meetings of sets");
    *m = (struct vel_muster){.wait = limit / 4 * 3, .ops = ops, .arg = arg};
    vel_vec_init(&m->meetings, sizeof(struct meeting));
    *ret_muster = m;
    return 0;
}

/* --- who goes
 * ---------------------------------------------------------------------------------- */

static void refuse(struct vel_muster *m, uint64_t link, uint64_t seq,
                   const struct vel_err *why)
{
    const struct vel_msg no = {
        .kind = VEL_MSG_NO,
        .seq = seq,
        .u.no = {.status = (uint64_t) - (int)why->status, .text = why->text}};

    m->ops->answer(m->arg, link, &no);
}

static void comer_forget(struct vel_muster *m, struct meeting *meeting, size_t i)
{
    free(comer_at(meeting, i)->node);
    free(comer_at(meeting, i)->endpoint);
    vel_vec_remove(&meeting->comers, i);
    m->waiting--;
}

static void meeting_forget(struct vel_muster *m, size_t i)
{
    struct meeting *meeting = meeting_at(m, i);

    while (meeting->comers.n > 0)
        comer_forget(m, meeting, meeting->comers.n - 1);
    vel_vec_fini(&meeting->comers);
    vel_vec_remove(&m->meetings, i);
}

static void send_home(struct vel_muster *m, struct meeting *meeting,
                      const struct vel_err *why)
{
    while (meeting->comers.n > 0) {
        const struct comer c = *comer_at(meeting, 0);

        refuse(m, c.link, c.seq, why);
        comer_forget(m, meeting, 0);
    }
}

void vel_muster_destroy(struct vel_muster *muster)
{
    if (!muster)
        return;
    while (muster->meetings.n > 0)
        meeting_forget(muster, muster->meetings.n - 1);
    vel_vec_fini(&muster->meetings);
    free(muster);
}

/* --- all are there
 * ----------------------------------------------------------------------------- */

/* Everybody's endpoint, by blanks, and a token that nobody else has seen. */
static int invite(struct meeting *meeting, uint8_t token[VEL_COMM_TOKEN],
                  struct vel_buf *endpoints, struct vel_err *err)
{
    for (size_t i = 0; i < meeting->comers.n; i++)
        vel_buf_printf(endpoints, "%s%s", i > 0 ? " " : "",
                       comer_at(meeting, i)->endpoint);
    int rc = vel_buf_status(endpoints, err);
    return rc < 0 ? rc : vel_entropy(token, VEL_COMM_TOKEN, err);
}

static void begin(struct vel_muster *m, size_t i)
{
    struct meeting *meeting = meeting_at(m, i);
    uint8_t token[VEL_COMM_TOKEN];
    struct vel_buf endpoints;
    struct vel_err err = {0};

    vel_buf_init(&endpoints);
    int rc = invite(meeting, token, &endpoints, &err);
    struct vel_msg met = {.kind = VEL_MSG_MET,
                          .u.met = {.token = {token, sizeof token},
                                    .endpoints = vel_buf_text(&endpoints)}};
    for (size_t k = 0; rc == 0 && k < meeting->comers.n; k++) {
        met.seq = comer_at(meeting, k)->seq;
        m->ops->answer(m->arg, comer_at(meeting, k)->link, &met);
    }
    if (rc < 0)
        send_home(m, meeting, &err);
    vel_buf_fini(&endpoints);
    meeting_forget(m, i);
}

/* --- who comes
 * --------------------------------------------------------------------------------- */

/* Before anything is kept of it: does it fit the meeting that gathers? */
static int check(const struct meeting *meeting, const struct vel_msg_meet *meet,
                 struct vel_err *err)
{
    if (meet->member >= meet->members)
        return vel_fail(err, VEL_EINVAL, "member %llu of %llu: there is no such",
                        (unsigned long long)meet->member,
                        (unsigned long long)meet->members);
    if (strchr(meet->endpoint, ' '))
        return vel_fail(err, VEL_EINVAL, "endpoint %s: it has a blank", meet->endpoint);
    if (!meeting)
        return 0;
    if (meet->attempt < meeting->attempt)
        return vel_fail(
            err, VEL_ECANCEL, "attempt %llu: the others are at attempt %llu",
            (unsigned long long)meet->attempt, (unsigned long long)meeting->attempt);
    if (meet->attempt == meeting->attempt && meet->members != meeting->members)
        return vel_fail(
            err, VEL_EINVAL, "a set of %llu members, where others count %llu",
            (unsigned long long)meet->members, (unsigned long long)meeting->members);
    return 0;
}

/* The meeting of this attempt; those of an earlier one go home. */
static struct meeting *gather(struct vel_muster *m, const struct vel_msg_meet *meet,
                              size_t *ret_i)
{
    const struct meeting key = {.dataset = meet->dataset, .set = meet->set};
    struct vel_err why = {0};
    bool is_there;
    size_t i = vel_vec_place(&m->meetings, &key, meeting_order, &is_there);
    struct meeting *meeting =
        is_there ? meeting_at(m, i) : vel_vec_insert(&m->meetings, i, &key);

    if (!meeting)
        return NULL;
    if (!is_there)
        vel_vec_init(&meeting->comers, sizeof(struct comer));
    if (is_there && meeting->attempt < meet->attempt) {
        vel_fail(&why, VEL_ECANCEL, "attempt %llu: another begins, %llu",
                 (unsigned long long)meeting->attempt,
                 (unsigned long long)meet->attempt);
        send_home(m, meeting, &why);
    }
    meeting->attempt = meet->attempt;
    meeting->members = meet->members;
    *ret_i = i;
    return meeting;
}

/* It has a place; whoever had that place has given up, as a rule itself. */
static int seat(struct vel_muster *m, struct meeting *meeting,
                const struct comer *newcomer, const char *endpoint, struct vel_err *err)
{
    struct comer c = *newcomer;
    bool is_there;
    size_t i = vel_vec_place(&meeting->comers, &c, comer_order, &is_there);

    if (is_there) {
        const struct comer before = *comer_at(meeting, i);
        struct vel_err why = {0};

        vel_fail(&why, VEL_ECANCEL, "member %llu has come again",
                 (unsigned long long)c.member);
        refuse(m, before.link, before.seq, &why);
        comer_forget(m, meeting, i);
    }
    c.node = strdup(newcomer->node);
    c.endpoint = strdup(endpoint);
    if (!c.node || !c.endpoint || !vel_vec_insert(&meeting->comers, i, &c)) {
        free(c.node);
        free(c.endpoint);
        return vel_out_of_memory(err, "a meeting of a set");
    }
    m->waiting++;
    return 0;
}

void vel_muster_come(struct vel_muster *muster, uint64_t link, const char *node,
                     const struct vel_msg *meet, uint64_t now)
{
    const struct vel_msg_meet *ask = &meet->u.meet;
    const struct comer c = {.link = link,
                            .seq = meet->seq,
                            .member = ask->member,
                            .since = now,
                            .node = (char *)node};
    const struct meeting key = {.dataset = ask->dataset, .set = ask->set};
    struct meeting *meeting = NULL;
    struct vel_err err = {0};
    bool is_there;
    size_t i = vel_vec_place(&muster->meetings, &key, meeting_order, &is_there);
    int rc = check(is_there ? meeting_at(muster, i) : NULL, ask, &err);

    if (rc == 0 && muster->waiting >= VEL_MUSTER_MOST)
        rc = vel_fail(&err, VEL_EBUSY, "%d members of sets wait here already",
                      VEL_MUSTER_MOST);
    if (rc == 0) {
        meeting = gather(muster, ask, &i);
        rc = meeting ? seat(muster, meeting, &c, ask->endpoint, &err)
                     : vel_out_of_memory(&err, "a meeting of a set");
    }
    if (rc < 0)
        refuse(muster, link, meet->seq, &err);
    if (meeting && meeting->comers.n == meeting->members)
        begin(muster, i);
    else if (meeting && meeting->comers.n == 0)
        meeting_forget(muster, i);
}

/* --- who is missed
 * ----------------------------------------------------------------------------- */

void vel_muster_gone(struct vel_muster *muster, uint64_t link,
                     const struct vel_err *why)
{
    for (size_t i = muster->meetings.n; i-- > 0;) {
        struct meeting *meeting = meeting_at(muster, i);
        struct vel_err told = {0};

        for (size_t k = meeting->comers.n; k-- > 0;) {
            const struct comer *c = comer_at(meeting, k);

            if (c->link != link)
                continue;
            vel_fail(&told, VEL_ELOST, "member %llu, node %s, is gone: %s",
                     (unsigned long long)c->member, c->node, why->text);
            comer_forget(muster, meeting, k);
        }
        if (told.status == 0)
            continue;
        send_home(muster, meeting, &told);
        meeting_forget(muster, i);
    }
}

/* "member 2 of 4, and 1 more": nobody has said on which nodes they are. */
static void name_missing(const struct meeting *meeting, struct vel_err *err)
{
    uint64_t first = 0, missing = meeting->members - meeting->comers.n;

    while (first < meeting->comers.n && comer_at(meeting, first)->member == first)
        first++;
    if (missing == 1)
        vel_fail(err, VEL_EBUSY, "member %llu of %llu has not come yet",
                 (unsigned long long)first, (unsigned long long)meeting->members);
    else
        vel_fail(err, VEL_EBUSY, "member %llu of %llu has not come yet, nor %llu more",
                 (unsigned long long)first, (unsigned long long)meeting->members,
                 (unsigned long long)missing - 1);
}

void vel_muster_tick(struct vel_muster *muster, uint64_t now)
{
    for (size_t i = muster->meetings.n; i-- > 0;) {
        struct meeting *meeting = meeting_at(muster, i);
        struct vel_err why = {0};

        name_missing(meeting, &why);
        for (size_t k = meeting->comers.n; k-- > 0;) {
            const struct comer c = *comer_at(meeting, k);

            if (now < c.since + muster->wait) /* `since` may be after `now` */
                continue;
            refuse(muster, c.link, c.seq, &why);
            comer_forget(muster, meeting, k);
        }
        if (meeting->comers.n == 0)
            meeting_forget(muster, i);
    }
}

uint64_t vel_muster_due(const struct vel_muster *muster)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < muster->meetings.n; i++)
        for (size_t k = 0; k < meeting_at(muster, i)->comers.n; k++)
            if (comer_at(meeting_at(muster, i), k)->since < first)
                first = comer_at(meeting_at(muster, i), k)->since;
    return first == UINT64_MAX ? first : first + muster->wait;
}
