/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_mesh_out - the beginning and the end of a mesh, and what it says. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "comm/sock_mesh.h"
#include "sys/sock.h"

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

int vel_mesh_create(int rank, int size, unsigned limit_ms, struct sock_mesh **ret_mesh,
                    struct vel_err *err)
{
    struct sock_mesh *mesh = calloc(1, sizeof *mesh);
    if (mesh == NULL)
        return vel_out_of_memory(err, "connections");
    *mesh = (struct sock_mesh){
        .users = 1, .rank = rank, .limit_ms = limit_ms, .awaits = -1};
    vel_vec_init(&mesh->alarms, sizeof(struct sock_alarm));
    mesh->peers = calloc((size_t)size, sizeof *mesh->peers);
    mesh->fds = calloc((size_t)size, sizeof *mesh->fds);
    if (mesh->peers == NULL || mesh->fds == NULL) {
        vel_mesh_release(mesh);
        return vel_out_of_memory(err, "connections");
    }
    mesh->size = size;
    for (int i = 0; i < size; i++) {
        mesh->peers[i].fd = -1;
        mesh->peers[i].awaits = -1;
    }
    *ret_mesh = mesh;
    return 0;
}

void vel_mesh_say(struct sock_mesh *mesh, int to, enum frame_kind kind, uint64_t comm,
                  uint32_t tag, const char *text)
{
    struct sock_peer *p = &mesh->peers[to];
    size_t len = strlen(text);
    struct vel_req *req =
        p->fd >= 0 && !p->is_mute ? calloc(1, sizeof *req + len) : NULL;
    if (req == NULL) /* without memory there is no courtesy: others notice the close */
        return;
    req->is_control = true;
    req->bytes = (char *)(req + 1);
    req->len = len;
    memcpy(req->bytes, text, len);
    req->frame = (struct frame){.kind = kind,
                                .comm = comm,
                                .from = (uint32_t)mesh->rank,
                                .tag = tag,
                                .len = len,
                                .sum = vel_frame_sum(&p->says, text, len)};
    /* before all others, but never into the middle of a frame */
    struct vel_req **at = &p->sends;
    if (kind != FRAME_BYE && *at != NULL && (*at)->moved > 0)
        at = &(*at)->next;
    while (kind == FRAME_BYE && *at != NULL)
        at = &(*at)->next;
    req->next = *at;
    *at = req;
}

void vel_mesh_write(struct sock_mesh *mesh, int i)
{
    struct sock_peer *p = &mesh->peers[i];
    while (p->sends != NULL && p->fd >= 0 && !p->is_mute) {
        struct vel_req *req = p->sends;
        size_t sent = 0, head = req->moved < FRAME_LEN ? FRAME_LEN - req->moved : 0;
        size_t body = req->moved > FRAME_LEN ? req->moved - FRAME_LEN : 0;
        if (req->moved == 0) /* now it is certain that it is the next one */
            vel_frame_encode(&req->frame, &p->says, req->header);
        struct iovec parts[2] = {
            {req->header + FRAME_LEN - head, head},
            {req->len > 0 ? req->bytes + body : NULL, req->len - body}};
        if (vel_sock_send(p->fd, parts, 2, &sent, NULL) < 0) {
            p->is_mute = true;
            return;
        }
        if (sent == 0)
            return;
        if (!req->is_control) { /* our own signs of life say nothing about the peer */
            p->heard = now();
            vel_mesh_count(mesh, sent);
        }
        p->says.n += req->moved == 0;
        req->moved += sent;
        if (req->moved < FRAME_LEN + req->len)
            continue;
        p->sends = req->next;
        req->is_done = true;
        if (req->is_control)
            free(req);
    }
}

/* What came is of no use any more; a peer that sends it may take our words after. */
static void peer_discard(struct sock_peer *p)
{
    char nowhere[4096];
    size_t got = 0;
    if (vel_sock_recv(p->fd, nowhere, sizeof nowhere, &got, NULL) < 0)
        p->is_mute = true;
}

static unsigned ms_until(uint64_t end)
{
    uint64_t t = now();
    return t < end ? (unsigned)((end - t) / VEL_CLOCK_MS) + 1 : 0;
}

/* The alarms go out, behind what is half sent already, and arrive: without them a
 * closed connection would be taken for the cause. Whoever takes nothing does not hold
 * us for long. */
static void alarms_flush(struct sock_mesh *mesh)
{
    uint64_t end = now() + mesh->limit_ms * VEL_CLOCK_MS / 4;
    bool is_busy = true;
    while (is_busy && ms_until(end) > 0) {
        is_busy = false;
        for (int i = 0; i < mesh->size; i++) {
            const struct sock_peer *p = &mesh->peers[i];
            bool waits = p->fd >= 0 && p->sends != NULL && !p->is_mute;
            mesh->fds[i] =
                (struct pollfd){.fd = waits ? p->fd : -1, .events = POLLIN | POLLOUT};
            is_busy = is_busy || waits;
        }
        if (!is_busy ||
            vel_sock_poll(mesh->fds, (size_t)mesh->size, ms_until(end), NULL) < 0)
            break;
        for (int i = 0; i < mesh->size; i++) {
            if ((mesh->fds[i].revents & POLLOUT) != 0)
                vel_mesh_write(mesh, i);
            if ((mesh->fds[i].revents & ~POLLOUT) != 0)
                peer_discard(&mesh->peers[i]);
        }
    }
    for (int i = 0; i < mesh->size; i++) {
        if (mesh->peers[i].fd >= 0 && !mesh->peers[i].is_mute)
            vel_sock_drain(mesh->peers[i].fd, ms_until(end));
    }
}

static void alarm_say(struct sock_mesh *mesh, int i)
{
    vel_mesh_say(mesh, i, FRAME_ALARM, 0, (uint32_t)-mesh->broken.status,
                 mesh->broken.text);
    vel_mesh_write(mesh, i);
}

/* All are told, and the connections closed; the culprit, if there is one, is not waited
 * for. */
static int mesh_break(struct sock_mesh *mesh, const struct vel_err *cause, int culprit,
                      struct vel_err *err)
{
    if (mesh->broken.status == 0) {
        mesh->broken = *cause;
        if (mesh->broken.status >= 0)
            mesh->broken.status = VEL_EREMOTE;
        for (int i = 0; i < mesh->size; i++)
            alarm_say(mesh, i);
        if (culprit >= 0)
            mesh->peers[culprit].is_mute = true;
        alarms_flush(mesh);
        for (int i = 0; i < mesh->size; i++) {
            vel_sock_close(mesh->peers[i].fd);
            mesh->peers[i].fd = -1;
        }
    }
    return vel_fail(err, mesh->broken.status, "%s", mesh->broken.text);
}

int vel_mesh_break(struct sock_mesh *mesh, const struct vel_err *cause,
                   struct vel_err *err)
{
    return mesh_break(mesh, cause, -1, err);
}

int vel_mesh_blame(struct sock_mesh *mesh, int i, int status, const char *why,
                   struct vel_err *err)
{
    const char *name = mesh->peers[i].name;
    struct vel_err cause = {0};
    vel_fail(&cause, status, "rank %d (%s): %s", i, name ? name : "itself", why);
    return mesh_break(mesh, &cause, i, err);
}

/* The last words: what is queued goes out, within the limit. */
static void mesh_leave(struct sock_mesh *mesh)
{
    uint64_t end = now() + mesh->limit_ms * VEL_CLOCK_MS;
    bool is_busy = true;
    for (int i = 0; i < mesh->size; i++) {
        vel_mesh_say(mesh, i, FRAME_BYE, 0, 0, "");
        vel_mesh_write(mesh, i);
    }
    while (is_busy && mesh->broken.status == 0 && now() < end) {
        is_busy = false;
        for (int i = 0; i < mesh->size; i++)
            is_busy = is_busy || (mesh->peers[i].sends != NULL &&
                                  mesh->peers[i].fd >= 0 && !mesh->peers[i].is_mute);
        if (is_busy && vel_mesh_move(mesh, 100, NULL) < 0)
            break;
    }
    for (int i = 0; i < mesh->size; i++) {
        if (mesh->peers[i].fd >= 0 && !mesh->peers[i].is_mute)
            vel_sock_drain(mesh->peers[i].fd, mesh->limit_ms);
    }
}

void vel_mesh_release(struct sock_mesh *mesh)
{
    if (mesh == NULL || --mesh->users > 0)
        return;
    vel_mesh_keep_end(mesh);
    if (mesh->broken.status == 0)
        mesh_leave(mesh);
    for (int i = 0; i < mesh->size; i++) {
        struct sock_peer *p = &mesh->peers[i];
        vel_sock_close(p->fd);
        while (p->sends != NULL) {
            struct vel_req *req = p->sends;
            p->sends = req->next;
            if (req->is_control)
                free(req);
        }
        while (p->notes != NULL) {
            struct sock_note *note = p->notes;
            p->notes = note->next;
            free(note);
        }
        free(p->into_note);
        free(p->name);
    }
    vel_vec_fini(&mesh->alarms);
    free(mesh->peers);
    free(mesh->fds);
    free(mesh);
}
