/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/vec.h"
#include "comm/sock_mesh.h"
#include "sys/sock.h"

enum {
    NOTE_MOST = 64 << 10, /* a longer message waits at its sender */
    NOTES_MOST = 4 << 20, /* kept of one peer */
    ALARMS_MOST = 4096,   /* broken comms that are remembered */
    READS_AT_ONCE = 256   /* then the other peers have their turn */
};

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

static struct sock_alarm *alarm_find(const struct sock_mesh *mesh, uint64_t comm)
{
    for (size_t i = 0; i < mesh->alarms.n; i++) {
        struct sock_alarm *alarm = vel_vec_at(&mesh->alarms, i);
        if (alarm->comm == comm)
            return alarm;
    }
    return NULL;
}

static void alarm_add(struct sock_mesh *mesh, uint64_t comm,
                      const struct vel_err *cause, bool is_heard)
{
    struct sock_alarm alarm = {.comm = comm, .is_heard = is_heard, .err = *cause};
    if (alarm_find(mesh, comm) != NULL)
        return;
    if (mesh->alarms.n >= ALARMS_MOST || vel_vec_push(&mesh->alarms, &alarm) == NULL)
        vel_mesh_break(mesh, cause, NULL);
}

int vel_mesh_status(const struct sock_mesh *mesh, uint64_t comm, struct vel_err *err)
{
    const struct sock_alarm *alarm = alarm_find(mesh, comm);
    /* its own cause came first */
    const struct vel_err *cause = alarm != NULL             ? &alarm->err
                                  : mesh->broken.status < 0 ? &mesh->broken
                                                            : NULL;
    return cause == NULL ? 0 : vel_fail(err, cause->status, "%s", cause->text);
}

bool vel_mesh_cause(const struct sock_mesh *mesh, uint64_t comm,
                    struct vel_err *ret_cause)
{
    const struct sock_alarm *alarm = alarm_find(mesh, comm);
    if (alarm != NULL && !alarm->is_heard)
        vel_fail(ret_cause, alarm->err.status, "rank %d: %s", mesh->rank,
                 alarm->err.text);
    else if (alarm != NULL || mesh->broken.status < 0)
        *ret_cause = alarm != NULL ? alarm->err : mesh->broken;
    return alarm != NULL || mesh->broken.status < 0;
}

void vel_mesh_fail(struct sock_mesh *mesh, uint64_t comm, const int *members, int n,
                   const struct vel_err *cause)
{
    struct vel_err words = {0};
    alarm_add(mesh, comm, cause, false);
    vel_mesh_cause(mesh, comm, &words);
    for (int i = 0; mesh->broken.status == 0 && i < n; i++) {
        if (members[i] == mesh->rank)
            continue;
        vel_mesh_say(mesh, members[i], FRAME_ALARM, comm, (uint32_t)-words.status,
                     words.text);
        vel_mesh_write(mesh, members[i]);
    }
}

/* The first posted receive of this tag, out of the queue. */
static struct vel_req *recv_take(struct sock_peer *p, uint64_t comm, uint32_t tag)
{
    struct vel_req **at = &p->recvs;
    while (*at != NULL && ((*at)->comm != comm || (*at)->tag != tag))
        at = &(*at)->next;
    struct vel_req *req = *at;
    if (req != NULL)
        *at = req->next;
    return req;
}

static bool length_fits(struct sock_mesh *mesh, const struct vel_req *req, uint64_t len)
{
    struct vel_err cause = {0};
    if (req->len == len)
        return true;
    vel_fail(&cause, VEL_ECORRUPT,
             "message from rank %d (tag %u): %llu bytes came where %zu were expected",
             req->peer, req->tag, (unsigned long long)len, req->len);
    alarm_add(mesh, req->comm, &cause, false);
    return false;
}

/* A message in memory goes to the receive that waits for it, else it is kept. */
static void note_deliver(struct sock_mesh *mesh, struct sock_peer *p,
                         struct sock_note *note)
{
    struct vel_req *req = recv_take(p, note->comm, note->tag);
    if (req == NULL) {
        struct sock_note **end = &p->notes;
        while (*end != NULL)
            end = &(*end)->next;
        *end = note;
        p->note_bytes += sizeof *note + note->len;
        return;
    }
    if (length_fits(mesh, req, note->len)) {
        if (note->len > 0)
            memcpy(req->bytes, note->bytes, note->len);
        req->is_done = true;
    }
    free(note);
}

static struct sock_note *note_create(const struct frame *frame)
{
    struct sock_note *note = malloc(sizeof *note + (size_t)frame->len + 1);
    if (note != NULL)
        *note = (struct sock_note){
            .comm = frame->comm, .tag = frame->tag, .len = (size_t)frame->len};
    return note;
}

/* Where do the bytes of this message go? Into a receive, a note, nowhere when its comm
 * is broken; or they wait. */
static void frame_place(struct sock_mesh *mesh, struct sock_peer *p)
{
    const struct frame *f = &p->frame;
    struct vel_req *req = recv_take(p, f->comm, f->tag);
    p->is_paused = false;
    if (req != NULL) {
        p->into = length_fits(mesh, req, f->len) ? req : NULL;
        return;
    }
    if (alarm_find(mesh, f->comm) != NULL)
        return;
    if (f->len <= NOTE_MOST && p->note_bytes < NOTES_MOST)
        p->into_note = note_create(f);
    p->is_paused = p->into_note == NULL;
}

/* What nobody takes is as it may. */
static bool body_is_right(const struct sock_peer *p)
{
    const void *bytes = p->into        ? p->into->bytes
                        : p->into_note ? p->into_note->bytes
                                       : NULL;

    if (!bytes)
        return true;
    return vel_frame_sum_is(&p->frame,
                            p->frame.len > FRAME_BULK
                                ? p->crc
                                : vel_frame_sum(&p->hears, bytes, p->frame.len));
}

/* All of a frame is here. */
static int frame_end(struct sock_mesh *mesh, int i, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[i];
    struct sock_note *note = p->into_note;
    const struct frame f = p->frame;

    if (!body_is_right(p))
        return vel_mesh_blame(mesh, i, VEL_ECORRUPT, "a message was changed on its way",
                              err);
    if (p->into != NULL)
        p->into->is_done = true;
    p->into = NULL;
    p->into_note = NULL;
    p->header_got = p->body_got = 0;
    if (f.kind == FRAME_BYE)
        p->has_left = true;
    if (f.kind == FRAME_DATA)
        vel_mesh_count(mesh, 1);
    if (note != NULL && f.kind == FRAME_DATA) {
        note_deliver(mesh, p, note);
    } else if (note != NULL) {
        struct vel_err cause = {0};
        note->bytes[note->len] = '\0';
        /* any number may have come; the sentence is what matters */
        enum vel_status status = f.tag >= 1 && f.tag <= -VEL_EUNSAFE
                                     ? (enum vel_status)(-(int)f.tag)
                                     : VEL_EREMOTE;
        if (note->bytes[0] != '\0')
            vel_fail(&cause, status, "%s", note->bytes);
        else
            vel_fail(&cause, status, "rank %d gave up and did not say why", i);
        free(note);
        if (f.comm == 0)
            return vel_mesh_break(mesh, &cause, err);
        alarm_add(mesh, f.comm, &cause, true);
    }
    return 0;
}

static int frame_begin(struct sock_mesh *mesh, int i, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[i];
    struct vel_err why = {0};
    int rc = vel_frame_decode(p->header, (uint32_t)i, &p->hears, &p->frame, &why);
    if (rc < 0)
        return vel_mesh_blame(mesh, i, rc, why.text, err);
    p->crc = 0;
    if (p->frame.kind == FRAME_DATA)
        frame_place(mesh, p);
    if (p->frame.kind == FRAME_ALARM)
        p->into_note = note_create(&p->frame);
    if (p->frame.kind == FRAME_ALIVE)
        return vel_mesh_hear_alive(mesh, i, err);
    return 0;
}

/* One read of what comes; *ret_more when there may be more. */
static int peer_read_once(struct sock_mesh *mesh, int i, bool *ret_more,
                          struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[i];
    struct vel_err why = {0};
    char nowhere[4096];
    char *at = nowhere;
    size_t want = FRAME_LEN - p->header_got, got = 0;
    bool is_header = p->header_got < FRAME_LEN;

    if (is_header) {
        at = (char *)p->header + p->header_got;
    } else {
        uint64_t left = p->frame.len - p->body_got;
        want = (size_t)left;
        if (p->into != NULL)
            at = p->into->bytes + p->body_got;
        else if (p->into_note != NULL)
            at = p->into_note->bytes + p->body_got;
        else if (want > sizeof nowhere)
            want = sizeof nowhere;
    }
    int rc = vel_sock_recv(p->fd, at, want, &got, &why);
    if (rc < 0 && p->has_left) {
        vel_sock_close(p->fd);
        p->fd = -1;
        return 0;
    }
    if (rc < 0)
        return vel_mesh_blame(mesh, i, rc, why.text, err);
    if (got == 0)
        return 0;
    p->heard = now();
    *ret_more = true;
    *(is_header ? &p->header_got : &p->body_got) += got;
    if (!is_header && p->frame.len > FRAME_BULK)
        p->crc = vel_crc32c(p->crc, at, got);
    if (!is_header && p->frame.kind == FRAME_DATA)
        vel_mesh_count(mesh, got);
    if (is_header && p->header_got == FRAME_LEN)
        rc = frame_begin(mesh, i, err);
    if (rc == 0 && p->header_got == FRAME_LEN && !p->is_paused &&
        p->body_got == p->frame.len)
        rc = frame_end(mesh, i, err);
    return rc;
}

static int peer_read(struct sock_mesh *mesh, int i, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[i];
    size_t known = mesh->alarms.n;
    bool more = true;
    int rc = 0;
    for (int n = 0; rc == 0 && more && n < READS_AT_ONCE && mesh->alarms.n == known;
         n++) {
        more = false;
        if (p->fd >= 0 && !p->is_paused)
            rc = peer_read_once(mesh, i, &more, err);
    }
    return rc;
}

int vel_mesh_send(struct sock_mesh *mesh, struct vel_req *req, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[req->peer];
    struct frame frame = {.kind = FRAME_DATA,
                          .comm = req->comm,
                          .from = (uint32_t)mesh->rank,
                          .tag = req->tag,
                          .len = req->len};
    if (req->peer == mesh->rank) {
        struct sock_note *note = note_create(&frame);
        if (note == NULL)
            return vel_out_of_memory(err, "a message");
        if (req->len > 0)
            memcpy(note->bytes, req->bytes, req->len);
        note_deliver(mesh, p, note);
        req->is_done = true;
        return 0;
    }
    frame.sum = vel_frame_sum(&p->says, req->bytes, req->len);
    req->frame = frame;
    struct vel_req **end = &p->sends;
    while (*end != NULL)
        end = &(*end)->next;
    *end = req;
    if (p->sends == req)
        vel_mesh_write(mesh, req->peer);
    return 0;
}

int vel_mesh_recv(struct sock_mesh *mesh, struct vel_req *req, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[req->peer];
    struct sock_note **at = &p->notes;
    while (*at != NULL && ((*at)->comm != req->comm || (*at)->tag != req->tag))
        at = &(*at)->next;
    struct sock_note *note = *at;
    struct vel_req **end = &p->recvs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = req;
    if (note != NULL) {
        *at = note->next;
        p->note_bytes -= sizeof *note + note->len;
        note_deliver(mesh, p, note);
    }
    if (p->is_paused) {
        frame_place(mesh, p);
        if (!p->is_paused && p->frame.len == 0)
            return frame_end(mesh, req->peer, err);
    }
    return 0;
}

bool vel_mesh_is_moving(const struct sock_mesh *mesh, const struct vel_req *req)
{
    return req == mesh->peers[req->peer].into ||
           (!req->is_recv && !req->is_done && req->moved > 0);
}

void vel_mesh_forget(struct sock_mesh *mesh, struct vel_req *req)
{
    struct sock_peer *p = &mesh->peers[req->peer];
    struct vel_req **at = req->is_recv ? &p->recvs : &p->sends;
    while (*at != NULL && *at != req)
        at = &(*at)->next;
    if (*at != NULL)
        *at = req->next;
    if (req == p->into)
        p->into = NULL;
}

int vel_mesh_move(struct sock_mesh *mesh, unsigned ms, struct vel_err *err)
{
    unsigned most = mesh->limit_ms / 4 + 1;
    size_t known = mesh->alarms.n;
    vel_mesh_say_alive(mesh);
    for (int i = 0; i < mesh->size; i++) {
        struct sock_peer *p = &mesh->peers[i];
        int events = (p->is_paused ? 0 : POLLIN) |
                     (p->sends != NULL && !p->is_mute ? POLLOUT : 0);
        /* poll tells a hang-up unasked, and for ever */
        bool is_known = p->is_paused && p->is_mute;
        mesh->fds[i] =
            (struct pollfd){.fd = is_known ? -1 : p->fd, .events = (short)events};
    }
    int rc = vel_sock_poll(mesh->fds, (size_t)mesh->size, ms < most ? ms : most, err);
    vel_mesh_note_look(mesh);
    /* an alarm goes to the others first: what comes behind what is wrong, the end of
     * its connection for one, would be told as the cause */
    for (int i = 0; rc == 0 && i < mesh->size && mesh->alarms.n == known; i++) {
        struct sock_peer *p = &mesh->peers[i];
        int got = mesh->fds[i].revents;
        if ((got & POLLOUT) != 0)
            vel_mesh_write(mesh, i);
        /* one that is paused may have left in good order: what it sent is still there,
         * and how it ended is read behind that */
        if (p->is_paused && (got & (POLLHUP | POLLERR)) != 0)
            p->is_mute = true;
        else if ((got & (POLLIN | POLLHUP | POLLERR)) != 0 && !p->is_paused)
            rc = peer_read(mesh, i, err);
    }
    return rc;
}
