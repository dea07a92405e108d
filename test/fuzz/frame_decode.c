/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the words of a member over sockets, authenticated or not: they are
 * decoded, and read by a mesh that has receives posted, until it has enough. An error
 * with a sentence or messages, never a crash, and nothing behind a receive's end. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/sock_mesh.h"
#include "fuzz/fuzz.h"

enum { SPEAKER = 1, SIZE = 3, MOVES_MOST = 64, RECVS_MOST = 8, RECV_MOST = 100000 };

static void decode(const uint8_t *bytes, size_t len)
{
    uint8_t again[HELLO_LEN > FRAME_LEN ? HELLO_LEN : FRAME_LEN];
    struct vel_mac first = {{0}, 0}, second = first;
    struct frame frame, same;
    struct hello hello;
    struct vel_err err = {0};

    if (len >= FRAME_LEN) {
        int rc = vel_frame_decode(bytes, SPEAKER, &first, &frame, &err);
        if (rc < 0 && !err.text[0])
            abort();
        if (rc == 0) {
            vel_frame_encode(&frame, &second, again);
            if (vel_frame_decode(again, SPEAKER, &second, &same, NULL) < 0 ||
                same.kind != frame.kind || same.comm != frame.comm ||
                same.tag != frame.tag || same.len != frame.len || same.sum != frame.sum)
                abort();
        }
    }
    if (len >= HELLO_LEN && vel_hello_decode(bytes, &hello, NULL) == 0) {
        vel_hello_encode(&hello, again);
        if (memcmp(again, bytes, HELLO_LEN) != 0)
            abort();
    }
}

/* A receive for what the speaker says next, or for its first two tags. */
static void post(struct sock_mesh *mesh, struct vel_req *req, int n)
{
    const struct sock_peer *p = &mesh->peers[SPEAKER];
    uint64_t len = p->is_paused ? p->frame.len : n == 0 ? 8 : RECV_MOST;

    *req = (struct vel_req){.is_recv = true,
                            .peer = SPEAKER,
                            .comm = p->is_paused ? p->frame.comm : 1,
                            .tag = p->is_paused ? p->frame.tag : (uint32_t)n + 1,
                            .len = len < RECV_MOST ? (size_t)len : RECV_MOST};
    req->bytes = malloc(req->len + 1); /* exactly, for a sanitizer's eyes */
    if (!req->bytes)
        abort();
    vel_mesh_recv(mesh, req, NULL);
}

static void listen_to(const uint8_t *bytes, size_t len)
{
    struct sock_mesh *mesh;
    struct vel_req reqs[RECVS_MOST];
    struct vel_err err = {0};
    int ends[2], n = 0, rc = 0;

    if (vel_mesh_create(0, SIZE, 1000, &mesh, NULL) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
        abort();
    mesh->peers[SPEAKER].fd = ends[0];
    /* what does not fit is not said */
    if (len > 0 && send(ends[1], bytes, len, MSG_NOSIGNAL) < 0)
        len = 0;
    close(ends[1]);
    for (int i = 0; rc == 0 && i < MOVES_MOST && mesh->peers[SPEAKER].fd >= 0; i++) {
        if (n < 2 || (n < RECVS_MOST && mesh->peers[SPEAKER].is_paused)) {
            post(mesh, &reqs[n], n);
            n++;
        }
        rc = vel_mesh_move(mesh, 0, &err);
    }
    if (rc < 0 && !err.text[0])
        abort();
    for (int i = 0; i < n; i++) {
        vel_mesh_forget(mesh, &reqs[i]);
        free(reqs[i].bytes);
    }
    vel_mesh_release(mesh);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    decode(bytes, len);
    listen_to(bytes, len);
    return 0;
}
