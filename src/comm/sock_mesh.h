/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_mesh - the connections between members, shared by all comms split from one.
 *
 * Moves frames: queues of what is to be sent, receives that are posted, and notes,
 * which are messages that came before anyone asked for them. Notes are small and few: a
 * message that is neither wanted nor small stays where it is, and its sender with it.
 */
#ifndef VEL_COMM_SOCK_MESH_H
#define VEL_COMM_SOCK_MESH_H

#include <poll.h>
#include <stdbool.h>

#include "comm/sock_wire.h"
#include "sys/clock.h"

struct sock_note {
    struct sock_note *next;
    uint64_t comm;
    uint32_t tag;
    size_t len;
    char bytes[];
};

/* One message on its way: a send in the queue of its peer, or a posted receive. */
struct vel_req {
    struct vel_req *next;
    int peer;
    uint64_t comm;
    uint32_t tag;
    bool is_recv;
    bool is_done;
    bool is_control; /* ours: freed when sent, its bytes with it */
    char *bytes;
    size_t len;
    size_t moved;              /* of the header, then of the bytes */
    struct frame frame;        /* of a send, */
    uint8_t header[FRAME_LEN]; /* as bytes, once it is its turn */
};

struct sock_peer {
    int fd;        /* -1: none, or gone */
    char *name;    /* for sentences */
    bool has_left; /* it said goodbye */
    bool is_mute;  /* it does not take bytes any more; what it said is still read */
    struct vel_mac says, hears; /* of what we say to it, and it to us */
    struct vel_req *sends;
    struct vel_req *recvs;
    struct sock_note *notes;
    size_t note_bytes;
    /* the frame that comes in */
    uint8_t header[FRAME_LEN];
    size_t header_got;
    struct frame frame;
    struct vel_req *into;        /* a receive that takes it, or */
    struct sock_note *into_note; /* a note that keeps it */
    size_t body_got;
    uint32_t crc;   /* of that, when it is long */
    bool is_paused; /* nobody takes it yet */
    uint64_t heard; /* when something moved last */
    /* what it said when it was waiting, see sock_alive.c */
    int awaits;           /* whom it waits for; -1: nobody */
    uint64_t moved;       /* its count of what it moved */
    uint64_t still_since; /* both have been so since then */
    uint64_t told;        /* when it said so last */
};

struct sock_alarm {
    uint64_t comm;
    bool is_heard; /* another member said so */
    struct vel_err err;
};

struct sock_mesh {
    int users; /* comms */
    int rank;
    int size;
    unsigned limit_ms;
    struct sock_keeper *keeper; /* NULL: nobody speaks for this member while it works */
    struct sock_peer *peers;
    struct pollfd *fds; /* one per peer */
    uint64_t said;      /* when the others were told last that we live */
    uint64_t looked;    /* when it was looked last what they say */
    uint64_t awake;     /* since then it was looked often enough to judge them */
    int awaits;         /* whom this member waits for; -1: nobody */
    uint64_t moved;     /* a count of bytes of messages, and of their ends */
    uint64_t moved_at;  /* when it grew last */
    struct vel_err broken;
    struct vel_vec alarms; /* struct sock_alarm: comms that are broken */
};

int vel_mesh_create(int rank, int size, unsigned limit_ms, struct sock_mesh **ret_mesh,
                    struct vel_err *err);

/* One user less; the last one says goodbye and closes. */
void vel_mesh_release(struct sock_mesh *mesh);

/* Queue a send, or post a receive; what can be done at once is. */
int vel_mesh_send(struct sock_mesh *mesh, struct vel_req *req, struct vel_err *err);
int vel_mesh_recv(struct sock_mesh *mesh, struct vel_req *req, struct vel_err *err);

/* Why the comm is broken, or 0. */
int vel_mesh_status(const struct sock_mesh *mesh, uint64_t comm, struct vel_err *err);

/* The same in words for the others; false when it is not broken. */
bool vel_mesh_cause(const struct sock_mesh *mesh, uint64_t comm,
                    struct vel_err *ret_cause);

/* Move what can be moved, waiting for at most `ms`. Fails when the mesh breaks. */
int vel_mesh_move(struct sock_mesh *mesh, unsigned ms, struct vel_err *err);

/* Some of a message has moved. */
void vel_mesh_count(struct sock_mesh *mesh, size_t n);

/* Break everything because of one peer, and this is why. */
int vel_mesh_blame(struct sock_mesh *mesh, int peer, int status, const char *why,
                   struct vel_err *err);

/* Tell the others, now and then, that we live and whom we wait for; hear it of one. */
void vel_mesh_say_alive(struct sock_mesh *mesh);
int vel_mesh_hear_alive(struct sock_mesh *mesh, int peer, struct vel_err *err);

/* It was looked what the others say. */
void vel_mesh_note_look(struct sock_mesh *mesh);

/* A thread says so while this member works (sock_keep.c): it is started when the mesh
 * is whole. From then on whoever uses the mesh enters and leaves. */
int vel_mesh_keep(struct sock_mesh *mesh, unsigned busy_ms, struct vel_err *err);
void vel_mesh_keep_end(struct sock_mesh *mesh);
void vel_mesh_enter(struct sock_mesh *mesh);
void vel_mesh_leave(struct sock_mesh *mesh);

/* A peer is waited for since `since`: fails when it is gone, silent for too long, or
 * itself waits for something that never comes because all of a circle wait. */
int vel_mesh_expect(struct sock_mesh *mesh, int peer, uint64_t since,
                    struct vel_err *err);

/* Break one comm: the listed members are told. */
void vel_mesh_fail(struct sock_mesh *mesh, uint64_t comm, const int *members, int n,
                   const struct vel_err *cause);

/* Break everything: all are told, all connections closed. Returns the status. */
int vel_mesh_break(struct sock_mesh *mesh, const struct vel_err *cause,
                   struct vel_err *err);

/* Take a request out of its queue. Not while bytes of it are on their way: half a
 * message cannot be taken back, so that everything must be broken before. */
bool vel_mesh_is_moving(const struct sock_mesh *mesh, const struct vel_req *req);
void vel_mesh_forget(struct sock_mesh *mesh, struct vel_req *req);

/* Queue a frame of our own; a text is for alarms. */
void vel_mesh_say(struct sock_mesh *mesh, int to, enum frame_kind kind, uint64_t comm,
                  uint32_t tag, const char *text);

/* Send what the peer takes now. */
void vel_mesh_write(struct sock_mesh *mesh, int peer);

#endif
