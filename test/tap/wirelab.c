/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap/redlab.h"
#include "tap/tap.h"
#include "tap/wirelab.h"

/* --- a node at the other end --- */

static bool get_bytes(int fd, void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(fd, (char *)bytes + at, len - at);

        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* The bytes of one message, which it points into; NULL: the other end is gone. */
static char *get_message(int fd, struct vel_msg *ret)
{
    uint8_t head[VEL_MSG_HEAD];
    struct vel_msg_head told;
    char *bytes;

    if (!get_bytes(fd, head, sizeof head) || vel_msg_head(head, &told, NULL) < 0)
        return NULL;
    bytes = malloc(sizeof head + told.len + 1);
    memcpy(bytes, head, sizeof head);
    if (get_bytes(fd, bytes + sizeof head, told.len) &&
        vel_msg_decode(bytes, sizeof head + told.len, ret, NULL) == 0)
        return bytes;
    free(bytes);
    return NULL;
}

static bool put_message(int fd, const struct vel_msg *msg, bool is_cut)
{
    struct vel_buf bytes;
    struct vel_err err = {0};
    bool is_sent;
    size_t len;

    vel_buf_init(&bytes);
    if (vel_msg_encode(msg, &bytes, &err) < 0)
        bail_out("%s", err.text);
    len = is_cut ? bytes.len / 2 : bytes.len;
    is_sent = send(fd, bytes.data, len, MSG_NOSIGNAL) == (ssize_t)len;
    vel_buf_fini(&bytes);
    return is_sent;
}

static bool is_waiting(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) > 0;
}

/* Takes what has come, and answers one of that by chance. */
static void *serve(void *arg)
{
    struct wirelab_peer *peer = arg;
    struct vel_giver giver = {redlab_fs(), &peer->lab->home[peer->node], 1};
    struct vel_vec asked;
    struct vel_rng rng;
    char *room = malloc(VEL_WANT_MOST), *next;
    struct vel_msg want, answer;
    size_t answers = 0;
    bool is_open = true;

    vel_rng_init(&rng, peer->seed);
    vel_vec_init(&asked, sizeof(char *));
    while (is_open) {
        while (asked.n == 0 || is_waiting(peer->fd)) {
            next = get_message(peer->fd, &want);
            is_open = next && vel_vec_push(&asked, &next);
            if (!is_open)
                break;
        }
        if (asked.n == 0)
            break;
        size_t i = vel_rng_below(&rng, asked.n);
        next = *(char **)vel_vec_at(&asked, i);
        vel_vec_remove(&asked, i);
        struct vel_msg_head head;
        vel_msg_head((uint8_t *)next, &head, NULL);
        vel_msg_decode(next, VEL_MSG_HEAD + head.len, &want, NULL);
        vel_give_answer(&giver, &want, room, &answer);
        bool is_last = ++answers == peer->dies_at;
        if (is_last && peer->lies)
            answer = (struct vel_msg){.kind = VEL_MSG_PONG, .seq = want.seq};
        is_open = put_message(peer->fd, &answer, is_last && !peer->lies) &&
                  (!is_last || peer->lies);
        free(next);
    }
    for (size_t i = 0; i < asked.n; i++)
        free(*(char **)vel_vec_at(&asked, i));
    vel_vec_fini(&asked);
    free(room);
    close(peer->fd);
    return NULL;
}

/* --- the source over all of them --- */

struct asked {
    uint64_t seq;
    struct vel_get *get;
    size_t node;
};

static int wire_begin(struct vel_pull_source *source, struct vel_get *get,
                      struct vel_err *err)
{
    struct wirelab *w = (struct wirelab *)source;
    struct asked asked = {.seq = ++w->seq, .get = get};
    struct vel_msg msg = {.kind = VEL_MSG_WANT, .seq = asked.seq};

    while (strcmp(w->lab->node[asked.node], get->node) != 0)
        asked.node++;
    msg.u.want = (struct vel_msg_want){.dataset = (uint64_t)get->want.dataset,
                                       .rank = (uint64_t)get->want.rank,
                                       .what = get->want.what,
                                       .at = get->want.at,
                                       .len = get->want.len,
                                       .name = get->want.name};
    if (w->peer[asked.node].mine < 0 ||
        !put_message(w->peer[asked.node].mine, &msg, false))
        return vel_fail(err, VEL_ELOST, "node %s is gone", get->node);
    vel_vec_push(&w->asked, &asked);
    return 0;
}

static struct vel_get *answer(struct wirelab *w, size_t i, const struct vel_msg *msg)
{
    struct asked asked = *(struct asked *)vel_vec_at(&w->asked, i);

    vel_vec_remove(&w->asked, i);
    vel_get_answer(asked.get, msg);
    return asked.get;
}

static struct vel_get *wire_next(struct vel_pull_source *source)
{
    struct wirelab *w = (struct wirelab *)source;

    for (;;) {
        struct pollfd fds[PULLLAB_NODES];
        struct vel_get *get = NULL;
        struct vel_msg msg;

        /* a node that is gone answers nothing more */
        for (size_t i = 0; i < w->asked.n; i++)
            if (w->peer[((struct asked *)vel_vec_at(&w->asked, i))->node].mine < 0)
                return answer(w, i, NULL);
        for (size_t i = 0; i < w->lab->n; i++)
            fds[i] = (struct pollfd){.fd = w->peer[i].mine, .events = POLLIN};
        poll(fds, w->lab->n, -1);
        for (size_t i = 0; !get && i < w->lab->n; i++) {
            char *bytes;

            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            bytes = get_message(fds[i].fd, &msg);
            if (!bytes) {
                close(fds[i].fd);
                w->peer[i].mine = -1;
                continue;
            }
            for (size_t k = 0; !get && k < w->asked.n; k++)
                if (((struct asked *)vel_vec_at(&w->asked, k))->seq == msg.seq)
                    get = answer(w, k, &msg);
            free(bytes);
        }
        if (get)
            return get;
    }
}

static void wire_drop(struct vel_pull_source *source)
{
    ((struct wirelab *)source)->asked.n = 0;
}

static const struct vel_pull_source_ops wire_ops = {wire_begin, wire_next, wire_drop};

void wirelab_connect(struct wirelab *w, struct pulllab *lab, uint64_t seed)
{
    *w = (struct wirelab){.source.ops = &wire_ops, .lab = lab};
    vel_vec_init(&w->asked, sizeof(struct asked));
    for (size_t i = 0; i < lab->n; i++) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
            bail_out("no socket");
        w->peer[i] = (struct wirelab_peer){
            .lab = lab, .node = i, .fd = fds[0], .mine = fds[1], .seed = seed * 31 + i};
    }
}

void wirelab_start(struct wirelab *w)
{
    for (size_t i = 0; i < w->lab->n; i++)
        if (pthread_create(&w->peer[i].thread, NULL, serve, &w->peer[i]) != 0)
            bail_out("no thread");
}

void wirelab_close(struct wirelab *w)
{
    for (size_t i = 0; i < w->lab->n; i++)
        if (w->peer[i].mine >= 0)
            close(w->peer[i].mine);
    for (size_t i = 0; i < w->lab->n; i++)
        pthread_join(w->peer[i].thread, NULL);
    vel_vec_fini(&w->asked);
}
