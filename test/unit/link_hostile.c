/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and those who are not ours, or not well: strangers, liars, floods, peers that
 * take nothing in, a process without descriptors. Each is ended alone, and what is well
 * goes on. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/link_in.h"
#include "sys/sock.h"
#include "tap/manual_clock.h"
#include "tap/linklab.h"
#include "tap/tap.h"

static const char *how;
static struct vel_err err;

static void say(int fd, const void *bytes, size_t len)
{
    struct iovec part = {(void *)bytes, len};
    size_t sent;

    vel_sock_send(fd, &part, 1, &sent, NULL);
}

static void say_msg(int fd, const struct vel_msg *msg)
{
    struct vel_buf buf;

    vel_buf_init(&buf);
    if (vel_msg_encode(msg, &buf, &err) < 0)
        bail_out("%s", err.text);
    say(fd, buf.data, buf.len);
    vel_buf_fini(&buf);
}

static struct vel_msg hello_of(unsigned role)
{
    static const uint8_t nonce[16];
    struct vel_msg hello = {.kind = VEL_MSG_HELLO};

    hello.u.hello.role = role;
    hello.u.hello.launch = "L";
    hello.u.hello.node = "x";
    hello.u.hello.nonce = (struct vel_msg_bytes){nonce, 16};
    return hello;
}

/* Is the other end closed, after some turns? What comes before is thrown away. */
static bool is_closed(struct linklab *lab, int fd)
{
    char bytes[4096];
    size_t got;

    for (int i = 0; i < 2000; i++) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        linklab_turn(lab);
        poll(&wait, 1, i > 100);
        if (vel_sock_recv(fd, bytes, sizeof bytes, &got, NULL) < 0)
            return true;
    }
    return false;
}

static uint64_t sent_away(const struct linklab_side *side)
{
    struct vel_links_count count;

    vel_links_count(side->links, &count);
    return count.sent_away;
}

/* --- first words --- */

static void first_words(void)
{
    static const uint8_t noise[64] = "GET / HTTP/1.1\r\n";
    struct linklab lab;
    struct linklab_side *side = linklab_alone(&lab, how);
    struct vel_msg msg = {.kind = VEL_MSG_PING};
    struct vel_buf buf;
    int fd = linklab_knock(side);

    say(fd, noise, sizeof noise);
    ok(is_closed(&lab, fd), "%s: who speaks another protocol is closed", how);
    vel_sock_close(fd);

    fd = linklab_knock(side);
    say_msg(fd, &msg);
    ok(is_closed(&lab, fd), "%s: so is who says something before hello", how);
    vel_sock_close(fd);

    vel_buf_init(&buf);
    msg = hello_of(1);
    vel_msg_encode(&msg, &buf, &err);
    buf.data[4] = 2; /* version */
    fd = linklab_knock(side);
    say(fd, buf.data, buf.len);
    ok(is_closed(&lab, fd), "%s: who speaks another version", how);
    vel_sock_close(fd);

    vel_buf_clear(&buf);
    vel_msg_encode(&msg, &buf, &err);
    memset(buf.data + 16, 0xff, 4); /* length */
    fd = linklab_knock(side);
    say(fd, buf.data, VEL_MSG_HEAD);
    ok(is_closed(&lab, fd), "%s: who announces more than the table allows", how);
    vel_sock_close(fd);

    vel_buf_clear(&buf);
    msg.u.hello.node = "../x";
    vel_msg_encode(&msg, &buf, &err);
    fd = linklab_knock(side);
    say(fd, buf.data, buf.len);
    ok(is_closed(&lab, fd), "%s: whose name is a path", how);
    vel_sock_close(fd);
    vel_buf_fini(&buf);
    ok(side->met == 0 && side->gone == 0 && sent_away(side) == 5,
       "%s: nobody is told of strangers", how);
    ok(linklab_is_well(&lab, side), "%s: and the leader takes in its own", how);
    linklab_fini(&lab);
}

static void crowds(void)
{
    enum { CROWD = 150 };
    struct linklab lab;
    struct linklab_side *side = linklab_alone(&lab, how);
    int fds[CROWD], closed = 0;

    for (int i = 0; i < CROWD; i++) {
        fds[i] = linklab_knock(side);
        for (int k = 0; k < 3; k++)
            linklab_turn(&lab);
        vel_manual_clock_advance(&lab.clock, 1000);
    }
    for (int i = 0; i < 50; i++)
        linklab_turn(&lab);
    ok(side->links->conns.n == VEL_LINK_STRANGERS && sent_away(side) == 0,
       "%s: of a crowd 64 are listened to, and not thrown out at once (%zu)", how,
       side->links->conns.n);
    linklab_pass(&lab, LINKLAB_T / 100, 10);
    ok(side->links->conns.n == VEL_LINK_STRANGERS &&
           sent_away(side) == CROWD - VEL_LINK_STRANGERS,
       "%s: then others have their turn", how);
    ok(linklab_is_well(&lab, side), "%s: one of ours still finds a place", how);
    linklab_pass(&lab, LINKLAB_T, 10);
    for (int i = 0; i < CROWD; i++) {
        closed += is_closed(&lab, fds[i]);
        vel_sock_close(fds[i]);
    }
    is_int(closed, CROWD, "%s: for T at most", how);
    is_int(side->links->conns.n, 1, "%s: then only the one is left", how);
    linklab_fini(&lab);
}

static void users(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *a = linklab_alone(&lab, how), *b;
    uint64_t knocked = sent_away(a);

    me = linklab_me(&lab, "b");
    a->links->me.user++;
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    if (strcmp(how, "unix") == 0) {
        ok(linklab_until(&lab, &b->gone, 1) && a->met == 0 &&
               sent_away(a) == knocked + 1,
           "unix: another user is closed without a word: %s", b->why.text);
        a->links->me.user--;
        b->links->me.user++;
        linklab_connect(b, vel_links_endpoints(a->links), "a");
        ok(linklab_until(&lab, &b->gone, 2) && b->why.status == VEL_EUNSAFE,
           "unix: and nobody talks to another user's leader: %s", b->why.text);
    } else {
        ok(linklab_until(&lab, &b->met, 1), "tcp: the key tells, and not the user");
    }
    linklab_fini(&lab);
}

/* A second user of this machine, with all the rights that a name can give him. */
static void second_user(void)
{
    struct linklab lab;
    int status = -1;

    if (geteuid() != 0) {
        skip(1, "only root can be two users");
        return;
    }
    how = "unix";
    struct linklab_side *side = linklab_alone(&lab, how);
    const char *path = vel_links_endpoints(side->links) + strlen("unix:");
    chmod(tap_dir(), 0755);
    if (chmod(path, 0777) < 0)
        bail_out("no mode");
    pid_t pid = fork();
    if (pid == 0) {
        struct vel_msg hello = hello_of(1);
        char byte;

        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(3);
        int fd = -1;
        if (vel_sock_connect(vel_links_endpoints(side->links), 1000, &fd, &err) < 0)
            _exit(2);
        say_msg(fd, &hello);
        fcntl(fd, F_SETFL, 0);
        _exit(read(fd, &byte, 1) <= 0 ? 0 : 1);
    }
    for (int i = 0; i < 20000 && waitpid(pid, &status, WNOHANG) == 0; i++) {
        struct pollfd none = {.fd = -1};

        linklab_turn(&lab);
        poll(&none, 1, 1);
    }
    /* 2: not even the path leads there */
    ok(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2) &&
           side->met == 0,
       "a second user gets not a byte (%d)", status);
    linklab_fini(&lab);
}

static void keys(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct vel_key other = {{1}};
    struct linklab_side *a, *b;

    how = "tcp";
    a = linklab_alone(&lab, how);
    me = linklab_me(&lab, "b");
    me.key = &other;
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    ok(linklab_until(&lab, &b->gone, 1) && b->why.status == VEL_ELOST && a->met == 0 &&
           strstr(b->why.text, "another user"),
       "tcp: a listener without our key says nothing: %s", b->why.text);
    me.key = NULL;
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    ok(linklab_until(&lab, &b->gone, 1) && b->why.status == VEL_EUNSUP,
       "tcp: without a key nobody connects: %s", b->why.text);
    int fd = linklab_knock(a);
    struct vel_msg msg = hello_of(1);
    static const uint8_t proof[16];
    say_msg(fd, &msg);
    for (int i = 0; i < 100; i++)
        linklab_turn(&lab);
    msg = (struct vel_msg){.kind = VEL_MSG_PROOF};
    msg.u.proof.proof = (struct vel_msg_bytes){proof, 16};
    say_msg(fd, &msg);
    ok(is_closed(&lab, fd) && a->met == 0, "tcp: a wrong proof is none");
    vel_sock_close(fd);
    fd = linklab_knock(a);
    msg = hello_of(1);
    say_msg(fd, &msg);
    msg = (struct vel_msg){.kind = VEL_MSG_PROOF};
    say_msg(fd, &msg);
    ok(is_closed(&lab, fd) && a->met == 0, "tcp: no proof is none, too");
    vel_sock_close(fd);
    linklab_fini(&lab);
}

/* --- ours, in the wrong place --- */

static void places(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *a = linklab_alone(&lab, how), *b, *tool;

    me = linklab_me(&lab, "b");
    me.launch = "M";
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    ok(linklab_until(&lab, &b->gone, 1) && strstr(b->why.text, "launch L on node a"),
       "%s: a leader of another launch is told so: %s", how, b->why.text);
    me.role = VEL_PEER_TOOL;
    tool = linklab_add(&lab, &me);
    linklab_connect(tool, vel_links_endpoints(a->links), "a");
    ok(linklab_until(&lab, &tool->met, 1), "%s: a tool may be of any", how);
    a->links->me.serves_any = true;
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    ok(linklab_until(&lab, &b->met, 1) && strcmp(a->launch, "M") == 0,
       "%s: an agent serves all", how);
    linklab_fini(&lab);
}

static void overreach(enum vel_peer_role role, const struct vel_msg *msg,
                      bool is_allowed, const char *text)
{
    struct linklab lab;
    struct linklab_side *a = linklab_alone(&lab, how), *b;
    struct vel_links_me me = linklab_me(&lab, "a");

    me.role = role;
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), NULL);
    linklab_until(&lab, &b->met, 1);
    if (vel_link_send(b->link, msg, &err) < 0)
        bail_out("%s", err.text);
    if (is_allowed)
        ok(linklab_until(&lab, &a->messages, 1) && a->gone == 0, "%s: %s", how, text);
    else
        ok(linklab_until(&lab, &b->gone, 1) && a->messages == 0 &&
               a->why.status == VEL_ECORRUPT,
           "%s: %s: %s", how, text, a->why.text);
    linklab_fini(&lab);
}

static void ways(void)
{
    struct vel_msg step = linklab_step(1), resign = {.kind = VEL_MSG_RESIGN, .seq = 1},
                   settle = {.kind = VEL_MSG_SETTLE}, hello = hello_of(0),
                   ask = {.kind = VEL_MSG_ASK};

    settle.u.settle.dataset = 1;
    settle.u.settle.record = (struct vel_msg_bytes){"x", 1};
    overreach(VEL_PEER_PROCESS, &step, false, "a process is not the chair");
    overreach(VEL_PEER_PROCESS, &resign, false, "a process cannot dismiss its leader");
    overreach(VEL_PEER_TOOL, &resign, true, "an agent can");
    overreach(VEL_PEER_LEADER, &settle, true, "a leader hands settle on");
    overreach(VEL_PEER_LEADER, &ask, false, "but asks for itself nothing");
    overreach(VEL_PEER_LEADER, &hello, false, "nobody says hello twice");
}

int main(void)
{
    static const char *const hows[] = {"unix", "tcp"};
    int fds = tap_open_fds();

    for (int i = 0; i < 2; i++) {
        how = hows[i];
        first_words();
        crowds();
        users();
        places();
        ways();
    }
    second_user();
    keys();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
