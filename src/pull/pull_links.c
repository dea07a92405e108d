/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident/endpoint.h"
#include "link/link.h"
#include "meta/launch.h"
#include "pull/pull_links.h"

/* A node's leader. */
struct peer {
    char *node;
    struct vel_link *link; /* NULL: not yet, or gone */
};

/* A question under way. Its answer is kept as bytes until the puller takes it: his room
 * is written just then. */
struct asked {
    struct vel_get *get;
    size_t peer;
    uint64_t seq; /* 0: not sent */
    bool is_answered;
    struct vel_buf answer; /* empty: the node is gone */
};

struct pull_links {
    struct vel_pull_source source; /* the first */
    struct vel_pull_links_of of;
    char *launch_dir;
    struct vel_links *links;
    struct vel_vec peers; /* struct peer */
    struct vel_vec asked; /* struct asked, as they were asked */
};

enum { TURN_MS = 1000 };

static struct peer *peer_at(const struct pull_links *p, size_t i)
{
    return vel_vec_at(&p->peers, i);
}

static struct asked *asked_at(const struct pull_links *p, size_t i)
{
    return vel_vec_at(&p->asked, i);
}

/* --- connections --- */

static void lose(struct pull_links *p, size_t peer)
{
    peer_at(p, peer)->link = NULL;
    for (size_t i = 0; i < p->asked.n; i++)
        if (asked_at(p, i)->peer == peer)
            asked_at(p, i)->is_answered = true;
}

static size_t peer_of(const struct pull_links *p, const struct vel_link *link)
{
    size_t i = 0;

    while (i < p->peers.n && peer_at(p, i)->link != link)
        i++;
    return i;
}

static void send_one(struct pull_links *p, struct asked *asked)
{
    const struct vel_want *want = &asked->get->want;
    struct vel_link *link = peer_at(p, asked->peer)->link;
    struct vel_msg msg = {.kind = VEL_MSG_WANT, .seq = vel_link_seq(link)};

    msg.u.want.dataset = (uint64_t)want->dataset;
    msg.u.want.rank = (uint64_t)want->rank;
    msg.u.want.what = want->what;
    msg.u.want.at = want->at;
    msg.u.want.len = want->len;
    msg.u.want.name = want->name;
    asked->seq = msg.seq;
    asked->is_answered = vel_link_send(link, &msg, NULL) < 0;
}

static void met(void *arg, struct vel_link *link, const struct vel_peer *who)
{
    struct pull_links *p = arg;
    size_t peer = peer_of(p, link);

    (void)who;
    for (size_t i = 0; i < p->asked.n; i++)
        if (asked_at(p, i)->peer == peer && !asked_at(p, i)->seq)
            send_one(p, asked_at(p, i));
}

static void message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct pull_links *p = arg;
    size_t peer = peer_of(p, link);

    for (size_t i = 0; i < p->asked.n; i++) {
        struct asked *asked = asked_at(p, i);

        if (asked->peer != peer || asked->seq != msg->seq || asked->is_answered)
            continue;
        if (vel_msg_encode(msg, &asked->answer, NULL) < 0)
            vel_buf_clear(&asked->answer);
        asked->is_answered = true;
    }
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    struct pull_links *p = arg;
    size_t peer = peer_of(p, link);

    (void)why;
    if (peer < p->peers.n)
        lose(p, peer);
}

static const struct vel_links_ops links_ops = {
    .met = met, .message = message, .gone = gone};

/* The leader of a node, met or on its way. */
static int reach(struct pull_links *p, const char *node, size_t *ret_peer,
                 struct vel_err *err)
{
    struct vel_endpoint endpoint = {0};
    struct peer fresh = {0};
    size_t i = 0;
    int rc = 0;

    while (i < p->peers.n && strcmp(peer_at(p, i)->node, node) != 0)
        i++;
    if (i == p->peers.n) {
        fresh.node = strdup(node);
        if (!fresh.node || !vel_vec_push(&p->peers, &fresh)) {
            free(fresh.node);
            return vel_out_of_memory(err, "pulling a part");
        }
    }
    if (!peer_at(p, i)->link) {
        rc = vel_endpoint_load(p->of.fs, p->launch_dir, node, &endpoint, err);
        if (rc == 0)
            rc = vel_links_connect(p->links, endpoint.endpoints, node,
                                   &peer_at(p, i)->link, err);
        vel_endpoint_fini(&endpoint);
    }
    if (rc == 0)
        *ret_peer = i;
    return rc < 0 && rc != VEL_ENOMEM
               ? vel_wrap(err, VEL_ELOST, "the leader of %s cannot be reached", node)
               : rc;
}

/* --- the source --- */

static int begin(struct vel_pull_source *source, struct vel_get *get,
                 struct vel_err *err)
{
    struct pull_links *p = (struct pull_links *)source;
    struct asked asked = {.get = get};
    int rc = reach(p, get->node, &asked.peer, err);

    if (rc < 0)
        return rc;
    vel_buf_init(&asked.answer);
    if (!vel_vec_push(&p->asked, &asked))
        return vel_out_of_memory(err, "pulling a part");
    if (vel_link_peer(peer_at(p, asked.peer)->link))
        send_one(p, asked_at(p, p->asked.n - 1));
    return 0;
}

static struct vel_get *take(struct pull_links *p, size_t i)
{
    struct asked asked = *asked_at(p, i);
    struct vel_msg msg;
    bool has = asked.answer.len > 0 &&
               vel_msg_decode(asked.answer.data, asked.answer.len, &msg, NULL) == 0;

    vel_vec_remove(&p->asked, i);
    vel_get_answer(asked.get, has ? &msg : NULL);
    vel_buf_fini(&asked.answer);
    return asked.get;
}

/* Whoever has said nothing since then has had his time. */
static void give_up(struct pull_links *p)
{
    for (size_t i = 0; i < p->peers.n; i++) {
        bool is_asked = false;

        for (size_t k = 0; k < p->asked.n; k++)
            is_asked |= asked_at(p, k)->peer == i && !asked_at(p, k)->is_answered;
        if (!is_asked || !peer_at(p, i)->link)
            continue;
        vel_link_close(peer_at(p, i)->link);
        lose(p, i);
    }
}

static struct vel_get *next(struct vel_pull_source *source)
{
    struct pull_links *p = (struct pull_links *)source;
    uint64_t until = vel_clock_deadline(p->of.clock, p->of.limit_ms * VEL_CLOCK_MS);
    unsigned turn = p->of.limit_ms < TURN_MS ? p->of.limit_ms : TURN_MS;

    for (;;) {
        for (size_t i = 0; i < p->asked.n; i++)
            if (asked_at(p, i)->is_answered)
                return take(p, i);
        if (vel_clock_monotonic(p->of.clock) >= until ||
            vel_links_turn(p->links, turn, NULL) < 0)
            give_up(p);
    }
}

static void drop(struct vel_pull_source *source)
{
    struct pull_links *p = (struct pull_links *)source;

    for (size_t i = 0; i < p->asked.n; i++)
        vel_buf_fini(&asked_at(p, i)->answer);
    p->asked.n = 0;
}

static const struct vel_pull_source_ops ops = {
    .begin = begin, .next = next, .drop = drop};

/* --- life --- */

void vel_pull_links_destroy(struct vel_pull_source *source)
{
    struct pull_links *p = (struct pull_links *)source;

    if (!p)
        return;
    drop(source);
    vel_links_destroy(p->links);
    for (size_t i = 0; i < p->peers.n; i++)
        free(peer_at(p, i)->node);
    vel_vec_fini(&p->peers);
    vel_vec_fini(&p->asked);
    free(p->launch_dir);
    free(p);
}

static int connect(struct pull_links *p, struct vel_err *err)
{
    struct vel_key key;
    struct vel_links_me me = {.role = VEL_PEER_TOOL,
                              .rank = VEL_MSG_NO_RANK,
                              .launch = p->of.launch,
                              .node = p->of.node,
                              .user = geteuid(),
                              .key = &key,
                              .limit_ms = p->of.limit_ms,
                              .clock = p->of.clock};
    int rc = vel_key_get(p->of.fs, p->of.dir, geteuid(), &key, err);

    return rc < 0 ? rc : vel_links_create(&me, &links_ops, p, &p->links, err);
}

int vel_pull_links_create(const struct vel_pull_links_of *of,
                          struct vel_pull_source **ret_source, struct vel_err *err)
{
    struct pull_links *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return vel_out_of_memory(err, "pulling a part");
    p->source.ops = &ops;
    p->of = *of;
    vel_vec_init(&p->peers, sizeof(struct peer));
    vel_vec_init(&p->asked, sizeof(struct asked));
    p->launch_dir = vel_launch_dir(of->dir, of->launch);
    rc = p->launch_dir ? connect(p, err) : vel_out_of_memory(err, "pulling a part");
    p->of.dir = p->of.launch = p->of.node = NULL; /* borrowed until here */
    if (rc < 0)
        vel_pull_links_destroy(&p->source);
    else
        *ret_source = &p->source;
    return rc;
}
