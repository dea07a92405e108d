/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes from whoever connects to a leader, or listens to a process: as a stranger's
 * first words, and behind a meeting. The first byte says which and who. What is handed
 * on is within its table and may be said by that peer; an end has a sentence. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "link/link_in.h"

enum { TURNS = 1000 };

static void met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    (void)arg, (void)link;
    if (!peer->node[0] || !peer->launch[0] || strchr(peer->node, '/'))
        abort();
}

static void message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    const struct vel_msg_row *row = vel_msg_row(msg->kind);
    struct vel_msg yes = {.kind = row->reply, .seq = msg->seq};

    (void)arg;
    if (msg->kind <= VEL_MSG_PROOF ||
        (vel_link_peer(link)->role == VEL_PEER_PROCESS &&
         (row->way == VEL_MSG_WAY_DOWN || row->way == VEL_MSG_WAY_UP ||
          row->way == VEL_MSG_WAY_PEER)))
        abort();
    /* some are answered, some close the link, the others wait */
    if (yes.kind == VEL_MSG_YES)
        vel_link_send(link, &yes, NULL);
    else if (yes.kind == VEL_MSG_PLACE)
        vel_link_close(link);
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    (void)arg, (void)link;
    if (!why->text[0])
        abort();
}

static const struct vel_links_ops ops = {.met = met, .message = message, .gone = gone};

/* What a peer of that role says until it is met. */
static void meet(struct vel_links *links, int fd, unsigned role)
{
    static const uint8_t nonce[16];
    struct vel_msg msg = {.kind = VEL_MSG_HELLO};
    struct vel_buf buf;

    vel_buf_init(&buf);
    msg.u.hello.role = role;
    msg.u.hello.launch = "L";
    msg.u.hello.node = "x";
    msg.u.hello.nonce = (struct vel_msg_bytes){nonce, sizeof nonce};
    vel_msg_encode(&msg, &buf, NULL);
    msg = (struct vel_msg){.kind = VEL_MSG_PROOF};
    vel_msg_encode(&msg, &buf, NULL);
    if (send(fd, buf.data, buf.len, MSG_NOSIGNAL) < 0)
        abort();
    vel_buf_fini(&buf);
    for (int i = 0; i < 4; i++)
        vel_links_turn(links, 0, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct vel_links_me me = {.role = VEL_PEER_LEADER,
                                    .launch = "L",
                                    .node = "n",
                                    .user = geteuid(),
                                    .limit_ms = 1000,
                                    .clock = vel_clock_system()};
    struct vel_links *links = NULL;
    int ends[2];

    if (len == 0)
        return 0;
    if (vel_links_create(&me, &ops, NULL, &links, NULL) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0 ||
        vel_links_adopt(links, ends[0], NULL) < 0)
        abort();
    if (bytes[0] % 4 != 3)
        meet(links, ends[1], bytes[0] % 4);
    bytes++;
    len--;
    while (len > 0) {
        size_t part = len > 1000 ? 1000 : len;

        if (send(ends[1], bytes, part, MSG_NOSIGNAL) < 0)
            break;
        vel_links_turn(links, 0, NULL);
        bytes += part;
        len -= part;
    }
    close(ends[1]);
    for (int i = 0; i < TURNS && links->conns.n > 0; i++)
        vel_links_turn(links, 0, NULL);
    if (links->conns.n > 0)
        abort(); /* whoever hangs up is gone */
    vel_links_destroy(links);
    return 0;
}
