/* SPDX-License-Identifier: BSD-3-Clause */
/* links - the connections of a process as a whole: made, listened for, found, ended. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "link/link_in.h"
#include "sys/fs.h"
#include "sys/sock.h"

static const char unix_prefix[] = "unix:", any_prefix[] = "tcp:0.0.0.0:";

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

uint64_t vel_links_now(const struct vel_links *links)
{
    return vel_clock_monotonic(links->me.clock);
}

uint64_t vel_links_limit(const struct vel_links *links)
{
    return links->me.limit_ms * VEL_CLOCK_MS;
}

/* --- create and destroy --- */

static int links_init(struct vel_links *links, const struct vel_links_me *me,
                      struct vel_err *err)
{
    links->me = *me;
    links->launch = strdup(me->launch);
    links->node = strdup(me->node);
    links->endpoints = strdup("");
    if (!links->launch || !links->node || !links->endpoints)
        return vel_out_of_memory(err, "connections");
    links->me.launch = links->launch;
    links->me.node = links->node;
    if (me->key) {
        links->key = *me->key;
        links->me.key = &links->key;
    }
    return vel_sock_pair(links->wake, err);
}

int vel_links_create(const struct vel_links_me *me, const struct vel_links_ops *ops,
                     void *arg, struct vel_links **ret_links, struct vel_err *err)
{
    struct vel_links *links = calloc(1, sizeof *links);

    if (!links)
        return vel_out_of_memory(err, "connections");
    links->ops = *ops;
    links->arg = arg;
    links->wake[0] = links->wake[1] = -1;
    vel_vec_init(&links->listeners, sizeof(struct listener));
    vel_vec_init(&links->conns, sizeof(struct conn *));
    vel_vec_init(&links->links, sizeof(struct vel_link *));
    vel_vec_init(&links->fds, sizeof(struct pollfd));
    int rc = links_init(links, me, err);
    if (rc < 0)
        vel_links_destroy(links);
    else
        *ret_links = links;
    return rc;
}

/* Without a trace on disk. */
static void links_free(struct vel_links *links)
{
    for (size_t i = 0; i < links->conns.n; i++)
        vel_conn_destroy(*(struct conn **)vel_vec_at(&links->conns, i));
    for (size_t i = 0; i < links->links.n; i++)
        vel_link_destroy(*(struct vel_link **)vel_vec_at(&links->links, i));
    for (size_t i = 0; i < links->listeners.n; i++) {
        struct listener *listener = vel_vec_at(&links->listeners, i);

        vel_sock_close(listener->fd);
        free(listener->endpoint);
    }
    vel_sock_close(links->wake[0]);
    vel_sock_close(links->wake[1]);
    vel_vec_fini(&links->conns);
    vel_vec_fini(&links->links);
    vel_vec_fini(&links->listeners);
    vel_vec_fini(&links->fds);
    free(links->endpoints);
    free(links->launch);
    free(links->node);
    free(links);
}

void vel_links_destroy(struct vel_links *links)
{
    if (!links)
        return;
    for (size_t i = 0; i < links->listeners.n; i++) {
        const struct listener *listener = vel_vec_at(&links->listeners, i);

        if (listener->is_near)
            vel_fs_unlink(vel_fs_posix(), listener->endpoint + strlen(unix_prefix),
                          NULL);
    }
    links_free(links);
}

void vel_links_abandon(struct vel_links *links)
{
    if (links)
        links_free(links);
}

/* --- where we listen --- */

static void put_endpoint(struct vel_buf *text, const char *endpoint)
{
    vel_buf_printf(text, "%s%s", text->len > 0 ? " " : "", endpoint);
}

/* One at every address: what others can connect to is each of them. */
static int put_addresses(struct vel_buf *text, const char *port, struct vel_err *err)
{
    struct vel_vec addresses;
    int rc = vel_sock_addresses(&addresses, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < addresses.n; i++) {
        char *address = *(char **)vel_vec_at(&addresses, i);

        vel_buf_printf(text, "%stcp:%s:%s", text->len > 0 ? " " : "", address, port);
        free(address);
    }
    vel_vec_fini(&addresses);
    return 0;
}

static int put_endpoints(const struct vel_links *links, bool is_unix,
                         struct vel_buf *text, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < links->listeners.n; i++) {
        const struct listener *listener = vel_vec_at(&links->listeners, i);

        if (listener->is_near != is_unix)
            continue;
        if (begins(listener->endpoint, any_prefix))
            rc = put_addresses(text, listener->endpoint + strlen(any_prefix), err);
        else
            put_endpoint(text, listener->endpoint);
    }
    return rc;
}

static int tell_endpoints(struct vel_links *links, struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    vel_buf_puts(&text, "");
    rc = put_endpoints(links, true, &text, err);
    if (rc == 0)
        rc = put_endpoints(links, false, &text, err);
    if (rc == 0)
        rc = vel_buf_status(&text, err);
    if (rc == 0) {
        free(links->endpoints);
        links->endpoints = vel_buf_take(&text, NULL);
    }
    vel_buf_fini(&text);
    return rc;
}

int vel_links_listen(struct vel_links *links, const char *endpoint, struct vel_err *err)
{
    struct listener listener = {.fd = -1, .is_near = begins(endpoint, unix_prefix)};
    int rc;

    if (!listener.is_near && !links->me.key)
        return vel_fail(err, VEL_EINVAL, "listening at %s: there is no key", endpoint);
    rc = vel_sock_listen(endpoint, &listener.fd, &listener.endpoint, err);
    if (rc < 0)
        return rc;
    if (!vel_vec_push(&links->listeners, &listener)) {
        vel_sock_close(listener.fd);
        free(listener.endpoint);
        return vel_out_of_memory(err, "a listener");
    }
    links->is_hasty = true;
    return tell_endpoints(links, err);
}

const char *vel_links_endpoints(const struct vel_links *links)
{
    return links->endpoints;
}

void vel_links_set_epoch(struct vel_links *links, int64_t epoch)
{
    links->me.epoch = epoch;
}

/* --- connect --- */

/* One of the endpoints. What cannot even begin is no failure: others may. */
static int add_attempt(struct vel_links *links, struct vel_link *link,
                       const char *endpoint, size_t len, struct vel_err *err)
{
    char *text = strndup(endpoint, len);
    struct conn *conn;
    int fd = -1, rc;

    if (!text)
        return vel_out_of_memory(err, "an endpoint");
    bool is_near = begins(text, unix_prefix);
    if (is_near || links->me.key)
        rc = vel_sock_connect(text, links->me.limit_ms, &fd, &link->why);
    else
        rc = vel_fail(&link->why, VEL_EUNSUP, "%s: there is no key", text);
    if (rc < 0 && rc != VEL_EBUSY) {
        free(text);
        return rc == VEL_EINVAL ? vel_fail(err, rc, "%s", link->why.text) : 0;
    }
    conn = vel_conn_create(links, link, rc == 0 ? CONN_CONNECTS : CONN_AGAIN, fd);
    if (!conn) {
        free(text);
        return vel_out_of_memory(err, "a connection");
    }
    conn->endpoint = text;
    conn->is_near = is_near;
    link->attempts++;
    return 0;
}

int vel_links_connect(struct vel_links *links, const char *endpoints, const char *node,
                      struct vel_link **ret_link, struct vel_err *err)
{
    struct vel_link *link = vel_link_create(links);
    int rc = 0;

    if (!link)
        return vel_out_of_memory(err, "a connection");
    vel_fail(&link->why, VEL_ENOENT, "%s has no endpoint", node ? node : "a leader");
    link->want_node = node ? strdup(node) : NULL;
    if (node && !link->want_node)
        rc = vel_out_of_memory(err, "a connection");
    for (const char *at = endpoints; rc == 0 && *at;) {
        size_t len = strcspn(at, " ");

        if (len > 0)
            rc = add_attempt(links, link, at, len, err);
        at += len + (at[len] == ' ');
    }
    links->is_hasty = true;
    if (rc < 0)
        vel_link_close(link);
    else
        *ret_link = link;
    return rc;
}

/* --- find --- */

void vel_links_count(const struct vel_links *links, struct vel_links_count *ret)
{
    *ret = links->count;
}

void vel_links_wake(struct vel_links *links)
{
    struct iovec part = {(void *)"w", 1};
    size_t sent;

    /* when it is full, it wakes already */
    vel_sock_send(links->wake[1], &part, 1, &sent, NULL);
}
