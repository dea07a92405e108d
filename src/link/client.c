/* SPDX-License-Identifier: BSD-3-Clause */
/* client - many threads, one connection, and no thread of its own: of those who wait
 * for an answer one turns the links (link/link.h) for all, and hands that on when it
 * has its own.
 *
 * The lock guards calls and files, and is never held while anything is waited for. The
 * links and what is known of the leader belong to the thread that turns.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "link/client_in.h"
#include "sys/thread.h"

enum { PATIENCE_MS = 10 }; /* with a leader that is known to be silent, at least */

/* --- open and close --- */

static int copy_text(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? VEL_ENOMEM : 0;
}

static int client_init(struct vel_client *client, const struct vel_client_conf *conf,
                       struct vel_err *err)
{
    if (copy_text(conf->launch, &client->launch) < 0 ||
        copy_text(conf->node, &client->node) < 0 ||
        copy_text(conf->agent, &client->agent) < 0 ||
        copy_text(conf->leader, &client->leader) < 0)
        return vel_out_of_memory(err, "a client");
    const struct vel_links_me me = {.role = conf->role,
                                    .rank = conf->rank,
                                    .launch = client->launch,
                                    .node = client->node,
                                    .user = conf->user,
                                    .key = conf->key,
                                    .limit_ms = conf->limit_ms,
                                    .clock = vel_clock_system()};
    client->target = client->agent ? TO_AGENT : TO_LEADER;
    return vel_links_create(&me, &vel_client_links_ops, client, &client->links, err);
}

/* But for the links. */
static void client_free(struct vel_client *client)
{
    for (size_t i = 0; i < client->files.n; i++)
        free(((struct open_file *)vel_vec_at(&client->files, i))->name);
    vel_vec_fini(&client->files);
    vel_names_fini(&client->made);
    vel_vec_fini(&client->calls);
    free(client->launch);
    free(client->node);
    free(client->agent);
    free(client->leader);
    free(client);
}

int vel_client_open(const struct vel_client_conf *conf, struct vel_client **ret_client,
                    struct vel_err *err)
{
    struct vel_client *client = NULL;
    uint64_t value;

    if (!conf->agent && !conf->leader)
        return vel_fail(err, VEL_EINVAL, "a client without a leader's endpoint");
    client = calloc(1, sizeof *client);
    if (!client)
        return vel_out_of_memory(err, "a client");
    client->conf = *conf;
    if (conf->ops)
        client->ops = *conf->ops;
    client->pid = getpid();
    vel_vec_init(&client->calls, sizeof(struct call *));
    vel_vec_init(&client->files, sizeof(struct open_file));
    vel_names_init(&client->made, VEL_NAMES_MOST);
    pthread_mutex_init(&client->lock, NULL);
    vel_cond_init(&client->changed);
    int rc = client_init(client, conf, err);
    if (rc == 0)
        rc = vel_client_ping(client, 0, &value, err);
    if (rc < 0)
        vel_client_close(client);
    else
        *ret_client = client;
    return rc;
}

/* Who would wait for another leader may wait for ever: none need to lead any more. */
static int lead_never(void *arg, struct vel_err *err)
{
    (void)arg;
    return vel_fail(err, VEL_ENOENT, "the leader that was there has ended");
}

int vel_client_open_tool(const struct vel_client_conf *conf,
                         struct vel_client **ret_client, struct vel_err *err)
{
    static const struct vel_client_ops ops = {.lead = lead_never};
    struct vel_client_conf tool = *conf;

    tool.role = VEL_PEER_TOOL;
    tool.user = geteuid();
    tool.ops = &ops;
    return vel_client_open(&tool, ret_client, err);
}

void vel_client_close(struct vel_client *client)
{
    if (!client)
        return;
    vel_links_destroy(client->links);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    client_free(client);
}

void vel_client_abandon(struct vel_client *client)
{
    if (!client)
        return;
    /* the lock may be held by a thread that is not here: it is left alone */
    vel_links_abandon(client->links);
    client_free(client);
}

/* --- files and calls --- */

static struct call *call_at(const struct vel_client *client, size_t i)
{
    return *(struct call **)vel_vec_at(&client->calls, i);
}

void vel_call_done(struct vel_client *client, struct call *call, int rc,
                   const struct vel_err *why)
{
    call->state = CALL_DONE;
    call->rc = rc;
    if (rc < 0)
        call->err = *why;
    pthread_cond_broadcast(&client->changed);
}

void vel_client_forget_file(struct vel_client *client, uint64_t handle,
                            bool is_not_made)
{
    int64_t *made;

    pthread_mutex_lock(&client->lock);
    for (size_t i = 0; i < client->files.n; i++) {
        struct open_file *file = vel_vec_at(&client->files, i);

        if (file->handle != handle)
            continue;
        made = is_not_made ? vel_names_number(&client->made, file->name) : NULL;
        if (made && *made > 0)
            --*made;
        free(file->name);
        vel_vec_remove(&client->files, i);
        break;
    }
    pthread_mutex_unlock(&client->lock);
}

/* --- a call --- */

/* How long a call waits at first. */
static uint64_t patience(const struct vel_client *client)
{
    uint64_t least = PATIENCE_MS * VEL_CLOCK_MS, some = vel_client_limit(client) / 100;

    if (!client->is_silent)
        return vel_client_limit(client);
    return some > least ? some : least;
}

static void wait_for_others(struct vel_client *client, uint64_t until)
{
    struct timespec at = {.tv_sec = (time_t)(until / VEL_CLOCK_S),
                          .tv_nsec = (long)(until % VEL_CLOCK_S)};

    pthread_cond_timedwait(&client->changed, &client->lock, &at);
}

/* Nothing came in time. A leader that has said nothing at all since it was asked is
 * not waited for again. */
static int timed_out(struct vel_client *client, const struct call *call,
                     struct vel_err *err)
{
    bool was_silent = client->is_silent;

    if (call->state == CALL_SENT && client->heard < call->sent) {
        client->is_silent = client->is_refused = true;
        vel_fail(&client->why, VEL_ETIMEOUT, "it is silent");
    } else if (call->state == CALL_QUEUED) {
        client->is_silent = true; /* nobody was there for T: the same */
    }
    if (was_silent)
        return vel_fail(err, VEL_ETIMEOUT,
                        "the leader of %s does not answer since an earlier call",
                        client->node);
    return vel_fail(err, VEL_ETIMEOUT, "the leader of %s does not answer in %.1f s%s%s",
                    client->node, (double)client->conf.limit_ms / 1000,
                    client->why.text[0] ? ": " : "", client->why.text);
}

static void remove_call(struct vel_client *client, const struct call *call)
{
    for (size_t i = 0; i < client->calls.n; i++)
        if (call_at(client, i) == call) {
            vel_vec_remove(&client->calls, i);
            return;
        }
}

/* Under the lock, until the call is done or its time is over. */
static int wait_for(struct vel_client *client, struct call *call, struct vel_err *err)
{
    int rc = 0;

    while (call->state != CALL_DONE && rc == 0) {
        if (vel_client_now() >= call->deadline) {
            rc = timed_out(client, call, err);
        } else if (client->is_turned) {
            wait_for_others(client, call->deadline);
        } else {
            client->is_turned = true;
            while (call->state != CALL_DONE && vel_client_now() < call->deadline) {
                uint64_t until = call->deadline;

                pthread_mutex_unlock(&client->lock);
                vel_client_turn(client, until);
                pthread_mutex_lock(&client->lock);
            }
            client->is_turned = false;
            pthread_cond_broadcast(&client->changed); /* the next one turns */
        }
    }
    if (call->state == CALL_DONE && call->rc < 0) {
        rc = call->rc;
        vel_fail(err, (enum vel_status)rc, "%s", call->err.text);
    }
    return rc;
}

int vel_client_call(struct vel_client *client, struct call *call, struct vel_msg *ret,
                    struct vel_err *err)
{
    int rc;

    vel_buf_init(&call->bytes);
    if (getpid() != client->pid)
        return vel_fail(err, VEL_ESTATE,
                        "this process was forked from the one that is connected");
    pthread_mutex_lock(&client->lock);
    call->deadline = vel_client_now() + patience(client);
    if (!vel_vec_push(&client->calls, &call)) {
        pthread_mutex_unlock(&client->lock);
        return vel_out_of_memory(err, "a request");
    }
    if (client->is_turned)
        vel_links_wake(client->links);
    rc = wait_for(client, call, err);
    remove_call(client, call);
    pthread_mutex_unlock(&client->lock);
    if (rc < 0)
        return rc;
    *ret = (struct vel_msg){.kind = VEL_MSG_YES}; /* by the leader's end */
    if (call->bytes.len > 0)
        rc = vel_msg_decode(call->bytes.data, call->bytes.len, ret, err);
    return rc;
}

void vel_call_fini(struct call *call)
{
    vel_buf_fini(&call->bytes);
}

bool vel_client_leader(struct vel_client *client, int64_t *ret_epoch,
                       bool *ret_is_agent)
{
    pthread_mutex_lock(&client->lock);
    bool is_met = client->is_met;
    if (is_met) {
        *ret_epoch = client->epoch;
        *ret_is_agent = client->is_agent;
    }
    pthread_mutex_unlock(&client->lock);
    return is_met;
}
