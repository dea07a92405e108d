/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/client_in.h"

void vel_place_fini(struct vel_place *place)
{
    free(place->path);
    free(place->why);
    *place = (struct vel_place){0};
}

/* Ask what is answered by yes, with a value if that matters. */
static int ask_value(struct vel_client *client, struct call *call, uint64_t *ret_value,
                     struct vel_err *err)
{
    struct vel_msg reply;
    int rc = vel_client_call(client, call, &reply, err);

    if (rc == 0)
        *ret_value = reply.u.yes.value;
    vel_call_fini(call);
    return rc;
}

static int ask_yes(struct vel_client *client, struct call *call, struct vel_err *err)
{
    uint64_t value;

    return ask_value(client, call, &value, err);
}

/* --- files --- */

static int take_place(const struct vel_msg_place *place, uint64_t handle,
                      struct vel_place *ret, struct vel_err *err)
{
    struct vel_place found = {.where = (unsigned)place->where,
                              .file = handle,
                              .dataset = (int64_t)place->dataset,
                              .size = place->size,
                              .path = strdup(place->path),
                              .why = strdup(place->why)};

    if (!found.path || !found.why) {
        vel_place_fini(&found);
        return vel_out_of_memory(err, "a place");
    }
    *ret = found;
    return 0;
}

static int ask_place(struct vel_client *client, struct call *call,
                     struct vel_place *ret, struct vel_err *err)
{
    struct vel_msg reply;
    int rc = vel_client_call(client, call, &reply, err);

    if (rc == 0)
        rc = take_place(&reply.u.place, call->handle, ret, err);
    vel_call_fini(call);
    return rc;
}

/* Makes it more, and says how often it is then. */
static int64_t count_made(struct vel_client *client, const char *name, int more)
{
    int64_t *made, now;

    pthread_mutex_lock(&client->lock);
    made = vel_names_number(&client->made, name);
    now = made ? *made + more : 0;
    if (made)
        *made = now > 0 ? now : 0;
    pthread_mutex_unlock(&client->lock);
    return now;
}

int vel_client_file_create(struct vel_client *client, enum vel_create how,
                           const char *name, struct vel_place *ret, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_CREATE};

    call.msg.u.create.how = (uint64_t)how;
    call.msg.u.create.count = (uint64_t)count_made(client, name, 0) + 1;
    call.msg.u.create.name = name;
    int rc = ask_place(client, &call, ret, err);
    if (rc == 0 && (ret->where == 1 || ret->where == 5))
        count_made(client, name, 1);
    return rc;
}

int vel_client_file_close(struct vel_client *client, uint64_t file, enum vel_close how,
                          uint64_t size, int64_t *ret_dataset, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_CLOSE, .handle = file};
    uint64_t value = 0;

    call.msg.u.close.how = (uint64_t)how;
    call.msg.u.close.size = size;
    int rc = ask_value(client, &call, &value, err);
    if (rc == 0 && how != VEL_CLOSE_VERSION)
        vel_client_forget_file(client, file, how == VEL_CLOSE_GIVEN_UP);
    if (rc == 0 && ret_dataset)
        *ret_dataset = (int64_t)value;
    return rc;
}

int vel_client_file_look(struct vel_client *client, enum vel_look how, const char *name,
                         struct vel_place *ret, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_LOOK};

    call.msg.u.look.how = how;
    call.msg.u.look.name = name;
    return ask_place(client, &call, ret, err);
}

int vel_client_file_remove(struct vel_client *client, const char *name,
                           struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_REMOVE};

    call.msg.u.remove.name = name;
    return ask_yes(client, &call, err);
}

/* --- datasets --- */

int vel_client_owe(struct vel_client *client, int64_t dataset, int64_t rank,
                   unsigned what, const char *dir, unsigned *ret_before,
                   struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_OWE};
    uint64_t before = 0;

    call.msg.u.owe.dataset = (uint64_t)dataset;
    call.msg.u.owe.rank = (uint64_t)rank;
    call.msg.u.owe.what = what;
    call.msg.u.owe.dir = dir;
    int rc = ask_value(client, &call, &before, err);
    if (rc == 0)
        *ret_before = (unsigned)before;
    return rc;
}

int vel_client_settle(struct vel_client *client, int64_t dataset, const void *record,
                      size_t len, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_SETTLE};

    call.msg.u.settle.dataset = (uint64_t)dataset;
    call.msg.u.settle.record = (struct vel_msg_bytes){record, len};
    return ask_yes(client, &call, err);
}

int vel_client_mark(struct vel_client *client, int64_t dataset, unsigned what,
                    bool waits, const void *record, size_t len, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_MARK};

    call.msg.u.mark.dataset = (uint64_t)dataset;
    call.msg.u.mark.what = what;
    call.msg.u.mark.waits = waits;
    call.msg.u.mark.record = (struct vel_msg_bytes){record, len};
    return ask_yes(client, &call, err);
}

static int ask_state(struct vel_client *client, struct call *call,
                     struct vel_progress *ret, struct vel_err *err)
{
    struct vel_msg reply;
    int rc = vel_client_call(client, call, &reply, err);

    if (rc == 0) {
        const struct vel_msg_state *state = &reply.u.state;

        *ret = (struct vel_progress){.dataset = (int64_t)state->dataset,
                                     .state = (unsigned)state->state,
                                     .is_encoded = state->encoded,
                                     .left = state->left,
                                     .moved = state->moved,
                                     .status = -(int)state->status};
        snprintf(ret->text, sizeof ret->text, "%s", state->text);
    }
    vel_call_fini(call);
    return rc;
}

int vel_client_ask(struct vel_client *client, int64_t dataset, struct vel_progress *ret,
                   struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_ASK};

    call.msg.u.ask.dataset = (uint64_t)dataset;
    return ask_state(client, &call, ret, err);
}

int vel_client_drain(struct vel_client *client, int64_t dataset, uint64_t patience,
                     struct vel_progress *ret, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_DRAIN};

    call.msg.u.drain.dataset = (uint64_t)dataset;
    call.msg.u.drain.until = patience == VEL_DRAIN_ONCE        ? VEL_UNTIL_TRIED
                             : patience == VEL_DRAIN_PROTECTED ? VEL_UNTIL_PROTECTED
                                                               : VEL_UNTIL_DONE;
    call.msg.u.drain.patience = call.msg.u.drain.until ? 0 : patience;
    return ask_state(client, &call, ret, err);
}

/* --- the leader itself --- */

int vel_client_ping(struct vel_client *client, unsigned what, uint64_t *ret_value,
                    struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_PING};
    struct vel_msg reply;

    call.msg.u.ping.what = what;
    int rc = vel_client_call(client, &call, &reply, err);
    if (rc == 0)
        *ret_value = reply.u.pong.value;
    vel_call_fini(&call);
    return rc;
}

/* Piece `next` of as many as the first one says. */
static int ask_stock(struct vel_client *client, uint64_t next, uint64_t *ret_pieces,
                     struct vel_buf *all, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_STOCK, .msg.u.stock.part = next};
    struct vel_msg reply;
    int rc = vel_client_call(client, &call, &reply, err);

    if (rc == 0) {
        const struct vel_msg_stocked *stocked = &reply.u.stocked;

        *ret_pieces = next ? *ret_pieces : stocked->parts;
        vel_buf_append(all, stocked->record.at, stocked->record.len);
        rc = stocked->part == next && stocked->parts == *ret_pieces &&
                     all->len <= VEL_STOCK_MOST
                 ? vel_buf_status(all, err)
                 : vel_fail(err, VEL_ECORRUPT,
                            "piece %" PRIu64 " of %" PRIu64
                            " of an inventory, and %" PRIu64 " of %" PRIu64
                            " was asked for",
                            stocked->part, stocked->parts, next, *ret_pieces);
    }
    vel_call_fini(&call);
    return rc;
}

int vel_client_stock(struct vel_client *client, struct vel_inventory *ret,
                     struct vel_err *err)
{
    struct vel_buf all;
    uint64_t pieces = 1;
    int rc = 0;

    vel_buf_init(&all);
    for (uint64_t i = 0; rc == 0 && i < pieces; i++)
        rc = ask_stock(client, i, &pieces, &all, err);
    if (rc == 0)
        rc = vel_inventory_decode(vel_buf_text(&all), all.len, ret, err);
    vel_buf_fini(&all);
    return rc;
}

int vel_client_leave(struct vel_client *client, enum vel_leave how, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_LEAVE, .ends_by_loss = true};

    call.msg.u.leave.how = how;
    return ask_yes(client, &call, err);
}

int vel_client_resign(struct vel_client *client, int64_t epoch, struct vel_err *err)
{
    struct call call = {.msg.kind = VEL_MSG_RESIGN, .ends_by_loss = true};

    call.msg.u.resign.epoch = (uint64_t)epoch;
    return ask_yes(client, &call, err);
}
