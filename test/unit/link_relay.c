/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and somebody between two leaders, who sees and passes on all that they say:
 * what he changes, makes up, repeats or keeps is noticed at once, ends this connection
 * and harms nothing else. A relay with an address of its own hears not even that. */
#define _GNU_SOURCE /* syscall */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/le.h"
#include "base/proof.h"
#include "link/link_in.h"
#include "sys/sock.h"
#include "tap/linklab.h"
#include "tap/tap.h"

static struct vel_err err;

/* --- whom nobody sees --- */

/* A router, or who has taken the place of one: the relay's address is to both sides the
 * listener's own. */
static struct {
    bool is_hidden;
    in_port_t real, shown;
} address;

int getsockname(int fd, struct sockaddr *at, socklen_t *len)
{
    long rc = syscall(SYS_getsockname, fd, at, len);
    struct sockaddr_in *in = (struct sockaddr_in *)at;

    if (rc == 0 && address.is_hidden && in->sin_family == AF_INET &&
        in->sin_port == address.real)
        in->sin_port = address.shown;
    return (int)rc;
}

static in_port_t port_of(const char *endpoint)
{
    return htons((in_port_t)atoi(strrchr(endpoint, ':') + 1));
}

/* --- the relay --- */

struct relay;

/* One direction. */
struct way {
    int from, to;
    struct vel_buf in;
    struct vel_buf kept; /* a frame that somebody wants later */
    unsigned frames;     /* messages of those who have met, pings left out */
};

typedef void tamper_f(struct way *way, struct vel_buf *frame);

struct relay {
    int listener;
    char *endpoint;
    struct way up, down; /* from b, who connects; to b */
    tamper_f *tamper;    /* with what b says */
};

static void put(int fd, const char *bytes, size_t len)
{
    struct iovec part = {(void *)bytes, len};
    size_t sent = 0;

    while (len > 0 && vel_sock_send(fd, &part, 1, &sent, NULL) == 0) {
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len = len -= sent;
    }
}

static void pass(struct way *way, const struct vel_buf *frame)
{
    put(way->to, frame->data, frame->len);
}

static enum vel_msg_kind kind_of(const struct vel_buf *frame)
{
    struct vel_msg_head head;

    if (vel_msg_head((const uint8_t *)frame->data, &head, &err) < 0)
        bail_out("%s", err.text);
    return head.kind;
}

/* The next whole frame out of what came, with what belongs to it. */
static bool take_frame(struct way *way, struct vel_buf *ret)
{
    struct vel_msg_head head;

    if (way->in.len < VEL_MSG_HEAD ||
        vel_msg_head((const uint8_t *)way->in.data, &head, &err) < 0)
        return false;
    size_t whole = VEL_MSG_HEAD + head.len + (head.kind > VEL_MSG_PROOF ? VEL_MAC : 0);
    if (way->in.len < whole)
        return false;
    vel_buf_clear(ret);
    vel_buf_append(ret, way->in.data, whole);
    memmove(way->in.data, way->in.data + whole, way->in.len - whole);
    way->in.len -= whole;
    return true;
}

static void relay_way(struct way *way, tamper_f *tamper)
{
    struct vel_buf frame;
    size_t got = 0;

    vel_buf_init(&frame);
    vel_buf_reserve(&way->in, 65536);
    if (way->from >= 0 &&
        vel_sock_recv(way->from, way->in.data + way->in.len, 65536, &got, NULL) < 0) {
        vel_sock_close(way->from);
        shutdown(way->to, SHUT_WR);
        way->from = -1;
    }
    way->in.len += got;
    while (take_frame(way, &frame)) {
        enum vel_msg_kind kind = kind_of(&frame);
        bool is_message =
            kind > VEL_MSG_NO && kind != VEL_MSG_PING && kind != VEL_MSG_PONG;

        way->frames += is_message;
        if (tamper && is_message)
            tamper(way, &frame);
        else
            pass(way, &frame);
    }
    vel_buf_fini(&frame);
}

static void relay_turn(struct relay *relay, const char *real)
{
    if (relay->up.from < 0 && relay->up.frames == 0 && relay->up.in.len == 0) {
        if (vel_sock_accept(relay->listener, 1000, &relay->up.from, &err) < 0)
            bail_out("%s", err.text);
        if (relay->up.from < 0)
            return;
        if (vel_sock_connect(real, 1000, &relay->up.to, &err) < 0)
            bail_out("%s", err.text);
        relay->down.from = dup(relay->up.to);
        relay->down.to = dup(relay->up.from);
    }
    relay_way(&relay->up, relay->tamper);
    relay_way(&relay->down, NULL);
}

static void relay_init(struct relay *relay, tamper_f *tamper)
{
    *relay = (struct relay){
        .up = {.from = -1, .to = -1}, .down = {.from = -1, .to = -1}, .tamper = tamper};
    if (vel_sock_listen("tcp:127.0.0.1:0", &relay->listener, &relay->endpoint, &err) <
        0)
        bail_out("%s", err.text);
}

static void relay_fini(struct relay *relay)
{
    struct way *ways[] = {&relay->up, &relay->down};

    for (int i = 0; i < 2; i++) {
        vel_sock_close(ways[i]->from);
        vel_sock_close(ways[i]->to);
        vel_buf_fini(&ways[i]->in);
        vel_buf_fini(&ways[i]->kept);
    }
    vel_sock_close(relay->listener);
    free(relay->endpoint);
}

/* --- two leaders with somebody between them --- */

struct between {
    struct linklab lab;
    struct linklab_side *a, *b;
    struct relay relay;
};

static void turn(struct between *x, int times)
{
    for (int i = 0; i < times; i++) {
        struct pollfd none = {.fd = -1};

        relay_turn(&x->relay, vel_links_endpoints(x->a->links));
        linklab_turn(&x->lab);
        if (i > 100)
            poll(&none, 1, 1);
    }
}

static void until(struct between *x, const int *what, int value)
{
    for (int i = 0; i < 2000 && *what < value; i++)
        turn(x, i < 100 ? 1 : 101);
}

static void begin(struct between *x, tamper_f *tamper, bool is_hidden)
{
    x->a = linklab_alone(&x->lab, "tcp");
    struct vel_links_me me = linklab_me(&x->lab, "b");
    x->b = linklab_add(&x->lab, &me);
    relay_init(&x->relay, tamper);
    address.real = port_of(vel_links_endpoints(x->a->links));
    address.shown = port_of(x->relay.endpoint);
    address.is_hidden = is_hidden;
    linklab_connect(x->b, x->relay.endpoint, "a");
}

static void end(struct between *x)
{
    address.is_hidden = false;
    relay_fini(&x->relay);
    linklab_fini(&x->lab);
}

static void say_steps(struct between *x, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct vel_msg msg = linklab_step(i);

        vel_link_send(x->b->link, &msg, &err);
    }
}

/* --- what he may do --- */

static void seen(void)
{
    struct between x;

    begin(&x, NULL, false);
    for (int i = 0; i < 50 && x.b->gone == 0; i++)
        turn(&x, 100);
    ok(x.a->met == 0 && x.b->met == 0 && x.b->gone == 1,
       "a relay with another address than the listener's passes nobody on: %s",
       x.b->why.text);
    address.is_hidden = false;
    ok(linklab_is_well(&x.lab, x.a), "the leader takes in who comes without it");
    end(&x);
}

static void router(void)
{
    struct between x;

    begin(&x, NULL, true);
    until(&x, &x.a->met, 1);
    until(&x, &x.b->met, 1);
    say_steps(&x, 1, 100);
    until(&x, &x.a->messages, 100);
    ok(x.a->messages == 100 && x.a->disorder == 0 && x.a->gone == 0,
       "who passes all on is the network");
    end(&x);
}

/* The lie is about the third message. */
static bool is_due(const struct way *way)
{
    return way->frames == 3;
}

static void put_crc(struct vel_buf *frame)
{
    struct vel_le_writer w;
    uint8_t *at = (uint8_t *)frame->data;
    size_t len = frame->len - VEL_MAC;
    uint32_t crc = vel_crc32c(0, at, VEL_MSG_HEAD - 4);

    vel_le_write_init(&w, at + VEL_MSG_HEAD - 4, 4);
    vel_le_put32(&w, vel_crc32c(crc, at + VEL_MSG_HEAD, len - VEL_MSG_HEAD));
}

static void change(struct way *way, struct vel_buf *frame)
{
    if (is_due(way)) {
        frame->data[VEL_MSG_HEAD + 16] ^= 64; /* the owner of a step */
        put_crc(frame);
    }
    pass(way, frame);
}

static void make_up(struct way *way, struct vel_buf *frame)
{
    static const uint8_t mac[VEL_SIPHASH_LEN];
    struct vel_msg msg = linklab_step(3);
    struct vel_buf own;

    vel_buf_init(&own);
    vel_msg_encode(&msg, &own, &err);
    vel_buf_append(&own, mac, VEL_MAC);
    if (is_due(way))
        pass(way, &own);
    pass(way, frame);
    vel_buf_fini(&own);
}

static void repeat(struct way *way, struct vel_buf *frame)
{
    pass(way, frame);
    if (is_due(way))
        pass(way, frame);
}

static void leave_out(struct way *way, struct vel_buf *frame)
{
    if (!is_due(way))
        pass(way, frame);
}

static void exchange(struct way *way, struct vel_buf *frame)
{
    if (is_due(way)) {
        vel_buf_append(&way->kept, frame->data, frame->len);
        return;
    }
    pass(way, frame);
    if (way->kept.len > 0)
        pass(way, &way->kept);
    vel_buf_clear(&way->kept);
}

/* To b, what b has said. */
static void turn_round(struct way *way, struct vel_buf *frame)
{
    if (is_due(way))
        put(way->from, frame->data, frame->len);
    else
        pass(way, frame);
}

static struct vel_buf earlier; /* a frame of another connection */

static void keep_one(struct way *way, struct vel_buf *frame)
{
    if (is_due(way))
        vel_buf_append(&earlier, frame->data, frame->len);
    pass(way, frame);
}

static void bring_earlier(struct way *way, struct vel_buf *frame)
{
    pass(way, is_due(way) ? &earlier : frame);
}

static void lie(tamper_f *tamper, const char *what)
{
    struct between x;

    begin(&x, tamper, true);
    until(&x, &x.a->met, 1);
    until(&x, &x.b->met, 1);
    say_steps(&x, 1, 5);
    for (int i = 0; i < 20 && x.a->gone == 0 && x.b->gone == 0; i++)
        turn(&x, 110);
    struct linklab_side *who = tamper == turn_round ? x.b : x.a;
    ok(who->gone == 1 && who->why.status == VEL_ECORRUPT,
       "who %s ends the connection: %s", what, who->why.text);
    ok(x.a->messages <= 3 && x.a->disorder == 0 && x.b->messages == 0 &&
           (x.a->messages < 3 || tamper == repeat),
       "and nothing of it is heard (of 5 messages %d)", x.a->messages);
    address.is_hidden = false;
    ok(linklab_is_well(&x.lab, x.a), "the leader goes on");
    end(&x);
}

/* A hello that was overheard is no use to anybody. */
static void old_hello(void)
{
    struct between x;
    struct vel_buf hello;
    struct vel_links_count before, after;

    begin(&x, NULL, true);
    vel_buf_init(&hello);
    for (int i = 0; i < 2000 && x.relay.up.in.len == 0; i++) {
        linklab_turn(&x.lab);
        if (x.relay.up.from < 0) {
            vel_sock_accept(x.relay.listener, 1000, &x.relay.up.from, &err);
        } else {
            size_t got = 0;

            vel_buf_reserve(&x.relay.up.in, 4096);
            vel_sock_recv(x.relay.up.from, x.relay.up.in.data, 4096, &got, &err);
            x.relay.up.in.len += got;
        }
    }
    vel_buf_append(&hello, x.relay.up.in.data, x.relay.up.in.len);
    enum { MANY = 100 };
    int fds[MANY];
    vel_links_count(x.a->links, &before);
    for (int i = 0; i < MANY; i++) {
        fds[i] = linklab_knock(x.a);
        put(fds[i], hello.data, hello.len);
        linklab_turn(&x.lab);
    }
    for (int i = 0; i < 200; i++)
        linklab_turn(&x.lab);
    vel_links_count(x.a->links, &after);
    ok(hello.len > 0 && x.a->links->conns.n == 1 &&
           after.sent_away - before.sent_away == MANY - 1 && x.a->met == 0,
       "of a hello that was overheard one is listened to (%zu)", x.a->links->conns.n);
    for (int i = 0; i < MANY; i++)
        vel_sock_close(fds[i]);
    vel_buf_fini(&hello);
    end(&x);
}

int main(void)
{
    int fds = tap_open_fds();

    seen();
    router();
    lie(change, "changes a frame");
    lie(make_up, "makes one up");
    lie(repeat, "repeats one");
    lie(leave_out, "keeps one back");
    lie(exchange, "lets one come later");
    lie(turn_round, "sends one back to who has said it");
    vel_buf_init(&earlier);
    struct between x;
    begin(&x, keep_one, true);
    until(&x, &x.a->met, 1);
    until(&x, &x.b->met, 1);
    say_steps(&x, 1, 5);
    until(&x, &x.a->messages, 5);
    end(&x);
    lie(bring_earlier, "brings one from an earlier connection");
    vel_buf_fini(&earlier);
    old_hello();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
