/* SPDX-License-Identifier: BSD-3-Clause */
/* client_turn - the leader is looked for, told which files are open, asked, and asked
 * again when another has come. What runs here is run by the one thread that turns. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "link/client_in.h"

enum {
    LOST_MOST = 4,  /* leaders that may end during one call */
    SEARCH_MS = 10, /* nobody leads: so long until we look again */
};

uint64_t vel_client_now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

uint64_t vel_client_limit(const struct vel_client *client)
{
    return client->conf.limit_ms * VEL_CLOCK_MS;
}

/* --- calls, under the lock --- */

static struct call *call_at(const struct vel_client *client, size_t i)
{
    return *(struct call **)vel_vec_at(&client->calls, i);
}

static struct open_file *file_of(const struct vel_client *client, uint64_t handle)
{
    for (size_t i = 0; i < client->files.n; i++) {
        struct open_file *file = vel_vec_at(&client->files, i);

        if (file->handle == handle)
            return file;
    }
    return NULL;
}

/* The leader has given a place in the cache: from here on the next one is told. */
static int keep_file(struct vel_client *client, struct call *call,
                     const struct vel_msg_place *place, struct vel_err *err)
{
    struct open_file file = {.handle = client->handles + 1,
                             .file = place->file,
                             .name = strdup(call->msg.u.create.name)};

    if (!file.name || !vel_vec_push(&client->files, &file)) {
        free(file.name);
        return vel_out_of_memory(err, "an open file");
    }
    call->handle = ++client->handles;
    return 0;
}

static int send_call(struct vel_client *client, struct call *call, struct vel_err *err)
{
    if (call->msg.kind == VEL_MSG_CLOSE) {
        const struct open_file *file = file_of(client, call->handle);

        if (!file)
            return vel_fail(err, VEL_EINVAL, "the file is not open");
        if (file->is_unknown)
            return vel_fail(err, VEL_ESTATE,
                            "%s: the leader that came does not know the file",
                            file->name);
        call->msg.u.close.file = file->file;
    }
    call->msg.seq = call->seq = vel_link_seq(client->link);
    call->state = CALL_SENT;
    call->sent = vel_client_now();
    return vel_link_send(client->link, &call->msg, err);
}

/* A new leader first hears of all files that are open, then what is asked. */
static bool is_told(const struct vel_client *client)
{
    for (size_t i = 0; i < client->files.n; i++)
        if (((struct open_file *)vel_vec_at(&client->files, i))->asked != 0)
            return false;
    return true;
}

static void send_calls(struct vel_client *client)
{
    struct vel_err why = {0};

    pthread_mutex_lock(&client->lock);
    for (size_t i = 0; client->is_met && is_told(client) && i < client->calls.n; i++) {
        struct call *call = call_at(client, i);

        if (call->state != CALL_QUEUED)
            continue;
        int rc = send_call(client, call, &why);
        if (rc == VEL_EBUSY) { /* too many wait: when some are answered */
            call->state = CALL_QUEUED;
            break;
        }
        if (rc < 0)
            vel_call_done(client, call, rc, &why);
    }
    pthread_mutex_unlock(&client->lock);
}

/* --- what the links tell --- */

static void tell_files(struct vel_client *client, struct vel_link *link)
{
    for (size_t i = 0; i < client->files.n; i++) {
        struct open_file *file = vel_vec_at(&client->files, i);
        struct vel_msg msg = {.kind = VEL_MSG_CREATE, .seq = vel_link_seq(link)};

        msg.u.create.how = VEL_CREATE_IS_OPEN;
        msg.u.create.name = file->name;
        file->asked = vel_link_send(link, &msg, NULL) == 0 ? msg.seq : 0;
        file->is_unknown = file->asked == 0;
    }
}

static void on_met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    struct vel_client *client = arg;

    pthread_mutex_lock(&client->lock);
    client->is_met = true;
    client->is_silent = false;
    client->is_agent = client->target == TO_AGENT;
    client->epoch = peer->epoch;
    client->heard = vel_client_now();
    for (size_t i = 0; i < client->calls.n; i++)
        if (call_at(client, i)->lost > 0) /* it was waiting for the next leader */
            call_at(client, i)->deadline = client->heard + vel_client_limit(client);
    tell_files(client, link);
    bool is_agent = client->is_agent;
    pthread_mutex_unlock(&client->lock);
    if (client->ops.met)
        client->ops.met(client->conf.arg, peer, is_agent);
}

/* Of a name that is open twice a new leader finds the newer file alone: it is not to
 * take that for the older. */
static void forget_older(struct vel_client *client, struct open_file *file)
{
    for (size_t i = 0; i < client->files.n; i++) {
        struct open_file *other = vel_vec_at(&client->files, i);
        struct open_file *older = other->handle < file->handle ? other : file;

        if (other != file && other->asked == 0 && other->file == file->file)
            older->is_unknown = true;
    }
}

static bool hear_file(struct vel_client *client, const struct vel_msg *msg)
{
    for (size_t i = 0; i < client->files.n; i++) {
        struct open_file *file = vel_vec_at(&client->files, i);

        if (file->asked == 0 || file->asked != msg->seq)
            continue;
        if (msg->kind == VEL_MSG_MOVES)
            return true;
        file->asked = 0;
        file->is_unknown = msg->kind != VEL_MSG_PLACE || msg->u.place.where != 1;
        if (!file->is_unknown) {
            file->file = msg->u.place.file;
            forget_older(client, file);
        }
        return true;
    }
    return false;
}

static void hear_call(struct vel_client *client, struct call *call,
                      const struct vel_msg *msg)
{
    const struct vel_msg_row *row = vel_msg_row(call->msg.kind);
    struct vel_err why = {0};
    int rc;

    if (msg->kind == VEL_MSG_MOVES) {
        if (row->limit == VEL_MSG_LIMIT_MOVES)
            call->deadline = vel_client_now() + vel_client_limit(client);
        return;
    }
    if (msg->kind == VEL_MSG_NO) {
        int status = (int)msg->u.no.status;

        rc = vel_fail(&why,
                      status <= -VEL_EUNSAFE ? (enum vel_status) - status : VEL_EREMOTE,
                      "%s", msg->u.no.text);
    } else if (msg->kind != row->reply) {
        rc = vel_fail(&why, VEL_ECORRUPT, "the leader of %s answers '%s' with '%s'",
                      client->node, row->name, vel_msg_row(msg->kind)->name);
    } else {
        rc = vel_msg_encode(msg, &call->bytes, &why);
    }
    if (rc == 0 && call->msg.kind == VEL_MSG_CREATE && msg->u.place.where == 1)
        rc = keep_file(client, call, &msg->u.place, &why);
    vel_call_done(client, call, rc, &why);
}

static void on_message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_client *client = arg;

    (void)link;
    pthread_mutex_lock(&client->lock);
    client->heard = vel_client_now();
    if (!hear_file(client, msg))
        for (size_t i = 0; i < client->calls.n; i++) {
            struct call *call = call_at(client, i);

            if (call->state != CALL_SENT || call->seq != msg->seq)
                continue;
            hear_call(client, call, msg);
            break;
        }
    pthread_mutex_unlock(&client->lock);
}

/* Under the lock. The connection that stood does no more. */
static void lose_calls(struct vel_client *client, const struct vel_err *why,
                       bool gives_time)
{
    for (size_t i = 0; i < client->calls.n; i++) {
        struct call *call = call_at(client, i);

        if (call->state != CALL_SENT)
            continue;
        call->state = CALL_QUEUED;
        call->lost++;
        if (gives_time)
            call->deadline = vel_client_now() + vel_client_limit(client);
        if (call->ends_by_loss)
            vel_call_done(client, call, 0, NULL);
        else if (call->lost >= LOST_MOST)
            vel_call_done(client, call, VEL_ELOST, why);
    }
    for (size_t i = 0; i < client->files.n; i++)
        ((struct open_file *)vel_vec_at(&client->files, i))->asked = 0;
}

/* Whom to try next. */
static void step(struct vel_client *client)
{
    if (client->target == TO_AGENT)
        client->target = client->leader ? TO_LEADER : TO_LEAD;
    else if (client->target == TO_LEADER)
        client->target = TO_LEAD;
}

static void start_over(struct vel_client *client, uint64_t pause_ms)
{
    client->target = client->agent ? TO_AGENT : TO_LEADER;
    client->not_before = vel_client_now() + pause_ms * VEL_CLOCK_MS;
}

static void on_gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    struct vel_client *client = arg;

    (void)link;
    client->link = NULL;
    pthread_mutex_lock(&client->lock);
    client->why = *why;
    bool was_met = client->is_met;
    client->is_met = false;
    if (was_met)
        lose_calls(client, why, true);
    pthread_mutex_unlock(&client->lock);
    if (was_met)
        start_over(client, 0);
    else if (client->has_led) /* what we lead does not listen */
        start_over(client, SEARCH_MS);
    else
        step(client);
    client->has_led = false;
}

const struct vel_links_ops vel_client_links_ops = {
    .met = on_met, .message = on_message, .gone = on_gone};

/* --- finding the leader: by the thread that turns --- */

/* Nothing that we could wait for: whoever waits is told. */
static void fail_calls(struct vel_client *client, int rc, const struct vel_err *why)
{
    pthread_mutex_lock(&client->lock);
    for (size_t i = 0; i < client->calls.n; i++)
        if (call_at(client, i)->state == CALL_QUEUED)
            vel_call_done(client, call_at(client, i), rc, why);
    pthread_mutex_unlock(&client->lock);
}

/* true: there is somebody to connect to. */
static bool lead(struct vel_client *client)
{
    struct vel_err why = {0};
    int rc = VEL_EBUSY;

    if (client->ops.lead)
        rc = client->ops.lead(client->conf.arg, &why);
    if (rc == 0) {
        client->target = TO_LEADER;
        client->has_led = true;
        return true;
    }
    start_over(client, SEARCH_MS);
    if (rc != VEL_EBUSY)
        fail_calls(client, rc, &why);
    return false;
}

static void search(struct vel_client *client)
{
    struct vel_err why = {0};
    int rc = 0;

    if (client->link) {
        /* an agent that is stopped must not keep us from the node's own leader */
        if (client->target == TO_AGENT && !client->is_met && client->leader &&
            vel_client_now() - client->begun > vel_client_limit(client) / 4) {
            vel_link_close(client->link);
            client->link = NULL;
            step(client);
        }
        return;
    }
    if (vel_client_now() < client->not_before)
        return;
    if (client->target == TO_LEAD && !lead(client))
        return;
    client->begun = vel_client_now();
    rc = vel_links_connect(client->links,
                           client->target == TO_AGENT ? client->agent : client->leader,
                           NULL, &client->link, &why);
    if (rc < 0)
        fail_calls(client, rc, &why);
}

/* A leader that does not answer is left; whether it comes back is asked beside. */
static void reset(struct vel_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool is_refused = client->is_refused;
    client->is_refused = false;
    if (is_refused && client->is_met) {
        client->is_met = false;
        lose_calls(client, &client->why, false);
    }
    pthread_mutex_unlock(&client->lock);
    if (!is_refused || !client->link)
        return;
    vel_link_close(client->link);
    client->link = NULL;
    start_over(client, 0);
}

void vel_client_turn(struct vel_client *client, uint64_t until)
{
    uint64_t left;
    int rc;
    struct vel_err why = {0};

    reset(client);
    search(client);
    send_calls(client);
    left = until > vel_client_now() ? (until - vel_client_now()) / VEL_CLOCK_MS + 1 : 0;
    /* while nobody is met there is something to be done soon */
    if (!client->is_met && left > SEARCH_MS)
        left = SEARCH_MS;
    if (left > client->conf.limit_ms)
        left = client->conf.limit_ms;
    rc = vel_links_turn(client->links, (unsigned)left, &why);
    if (rc < 0)
        fail_calls(client, rc, &why);
}
