/* SPDX-License-Identifier: BSD-3-Clause */
/* messages - what processes, leaders and tools say to each other, as bytes
 * (doc/protocol.txt, 6 and 7). messages.def is the table.
 *
 * Pure data: knows no connection. What is decoded here was sent by anybody: lengths and
 * ranges are those of the table, or it is VEL_ECORRUPT. Whether a message makes sense
 * now is for others to know.
 */
#ifndef VEL_BRAIN_MESSAGES_H
#define VEL_BRAIN_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "meta/dataset.h"

enum { VEL_MSG_VERSION = 1, VEL_MSG_HEAD = 24 };

#define VEL_MSG_ANY_NUMBER INT64_MAX
#define VEL_MSG_NO_RANK VEL_RANKS_MAX /* of a process that has none */

enum vel_msg_kind {
    VEL_MSG_NONE = 0,
#define MESSAGE(NAME, name, number, WAY, REPLY, LIMIT) VEL_MSG_##NAME = (number),
#include "brain/messages.def"
};

enum vel_msg_way {
    VEL_MSG_WAY_ANY,
    VEL_MSG_WAY_ASK,   /* process or tool to leader */
    VEL_MSG_WAY_UP,    /* leader to its parent or the chair */
    VEL_MSG_WAY_DOWN,  /* chair or parent to leaders */
    VEL_MSG_WAY_PEER,  /* leader to leader */
    VEL_MSG_WAY_REPLY, /* to whoever asked */
};

enum vel_msg_limit { VEL_MSG_LIMIT_NONE, VEL_MSG_LIMIT_T, VEL_MSG_LIMIT_MOVES };

struct vel_msg_bytes {
    const void *at;
    size_t len;
};

/* One struct for each: numbers, texts and bytes as the table has them. */
#define MESSAGE(NAME, name, number, WAY, REPLY, LIMIT) struct vel_msg_##name {
#define NUMBER(name, field, least, most) uint64_t field;
#define TEXT(name, field, least, most) const char *field;
#define BYTES(name, field, least, most) struct vel_msg_bytes field;
#define END(name)                                                                      \
    }                                                                                  \
    ;
#include "brain/messages.def"

struct vel_msg {
    enum vel_msg_kind kind;
    uint64_t seq; /* number of a request on its connection; a reply has that of its
                     request; 0 where none is waited for */
    union {
#define MESSAGE(NAME, name, number, WAY, REPLY, LIMIT) struct vel_msg_##name name;
#include "brain/messages.def"
    } u;
};

/* how of `create`, of `close`, of `look`, and of the work that they ask for */
enum vel_create {
    VEL_CREATE_NEW = 0,
    VEL_CREATE_OPEN = 1,   /* to write what is there */
    VEL_CREATE_IS_OPEN = 2 /* told to a leader that came after the file was opened */
};
enum vel_close {
    VEL_CLOSE_COMPLETE = 0,
    VEL_CLOSE_VERSION = 1,
    VEL_CLOSE_GIVEN_UP = 2
};
enum vel_look {
    VEL_LOOK_THERE = 0, /* is it there? */
    VEL_LOOK_HERE = 1,  /* bring it here, however long it moves */
    VEL_LOOK_HOME = 2,  /* is it at its own path? What another program has comes there
                         * first; VEL_EBUSY: somebody writes it */
    VEL_LOOK_WRITER = 3 /* it is to be written: VEL_EBUSY, another launch does so */
};

/* what who drains one dataset waits for: that nothing is left, or it has failed once
 * more, or it is encoded as it should be */
enum vel_drain_until {
    VEL_UNTIL_DONE = 0,
    VEL_UNTIL_TRIED = 1,
    VEL_UNTIL_PROTECTED = 2
};

/* how of `leave`: MPI_Finalize was reached, where there is MPI, and no exit status but
 * 0 is known, or not */
enum vel_leave {
    VEL_LEAVE_IN_ORDER = 0,
    VEL_LEAVE_FAILING = 1,
    VEL_LEAVE_LAST = 2 /* in order, and no rank begins any more */
};

/* The beginning of a message, by which a reader knows how much follows. */
struct vel_msg_head {
    enum vel_msg_kind kind;
    uint64_t seq;
    uint32_t len; /* of what follows: at most what the table allows */
};

/* Append a message. A NULL text is an empty one. VEL_EINVAL: it breaks the table; then
 * and when out of memory nothing is appended. */
int vel_msg_encode(const struct vel_msg *msg, struct vel_buf *ret, struct vel_err *err);

/* VEL_EUNSUP: another version; VEL_ECORRUPT: no message of ours. */
int vel_msg_head(const uint8_t bytes[VEL_MSG_HEAD], struct vel_msg_head *ret,
                 struct vel_err *err);

/* From exactly `len` bytes, the head included. Texts and bytes of *ret point into them.
 */
int vel_msg_decode(const void *bytes, size_t len, struct vel_msg *ret,
                   struct vel_err *err);

/* --- the table --- */

enum vel_msg_type { VEL_MSG_NUMBER, VEL_MSG_TEXT, VEL_MSG_BYTES };

struct vel_msg_field {
    enum vel_msg_kind kind;
    enum vel_msg_type type;
    const char *name;
    size_t offset; /* in struct vel_msg.u */
    uint64_t least, most;
};

struct vel_msg_row {
    enum vel_msg_kind kind;
    const char *name;
    enum vel_msg_way way;
    enum vel_msg_kind reply;
    enum vel_msg_limit limit;
};

/* The row of a kind, or NULL when there is none; all of them by i, NULL behind the
 * last.
 */
const struct vel_msg_row *vel_msg_row(unsigned kind);
const struct vel_msg_row *vel_msg_row_at(size_t i);

/* Its fields in their order; *ret_n of them. */
const struct vel_msg_field *vel_msg_fields(enum vel_msg_kind kind, size_t *ret_n);

/* The most bytes that may follow the head. */
uint32_t vel_msg_most(enum vel_msg_kind kind);

#endif
