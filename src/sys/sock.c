/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4, struct ucred */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/sock.h"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } at;
    socklen_t len;
};

static int unix_parse(const char *path, struct address *ret, struct vel_err *err)
{
    size_t len = strlen(path);
    if (path[0] != '/')
        return vel_fail(err, VEL_EINVAL, "socket %s: not an absolute path", path);
    if (len >= sizeof ret->at.un.sun_path)
        return vel_fail(err, VEL_EINVAL,
                        "socket %s: the path has %zu bytes and sockets have at most "
                        "%zu: use a shorter directory",
                        path, len, sizeof ret->at.un.sun_path - 1);
    ret->at.un.sun_family = AF_UNIX;
    memcpy(ret->at.un.sun_path, path, len + 1);
    ret->len = sizeof ret->at.un;
    return 0;
}

static int tcp_parse(const char *text, struct address *ret, struct vel_err *err)
{
    char host[INET_ADDRSTRLEN] = "", *end = NULL;
    const char *colon = strrchr(text, ':');
    unsigned long port = 0;
    if (colon != NULL && colon > text && (size_t)(colon - text) < sizeof host) {
        memcpy(host, text, (size_t)(colon - text));
        errno = 0;
        port = strtoul(colon + 1, &end, 10);
    }
    ret->at.in.sin_family = AF_INET;
    if (end == NULL || end == colon + 1 || *end != '\0' || errno != 0 || port > 65535 ||
        inet_pton(AF_INET, host, &ret->at.in.sin_addr) != 1)
        return vel_fail(err, VEL_EINVAL,
                        "endpoint tcp:%s: not a numeric address and a port", text);
    ret->at.in.sin_port = htons((uint16_t)port);
    ret->len = sizeof ret->at.in;
    return 0;
}

static int address_parse(const char *endpoint, struct address *ret, struct vel_err *err)
{
    memset(ret, 0, sizeof *ret);
    if (strncmp(endpoint, "unix:", 5) == 0)
        return unix_parse(endpoint + 5, ret, err);
    if (strncmp(endpoint, "tcp:", 4) == 0)
        return tcp_parse(endpoint + 4, ret, err);
    return vel_fail(err, VEL_EINVAL,
                    "endpoint %s: begins neither with tcp: nor unix:", endpoint);
}

static int stream_open(const struct address *address, int *ret_fd, struct vel_err *err)
{
    int fd = socket(address->at.any.sa_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return vel_fail_errno(err, errno, "making a socket");
    *ret_fd = fd;
    return 0;
}

/* Small messages leave at once, and a dead peer is noticed. A setting that is refused
 * changes speed only: the communicator has time limits of its own. */
static void tcp_tune(int fd, unsigned limit_ms)
{
    int on = 1, idle = (int)(limit_ms / 2000) + 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

static char *endpoint_text(int fd, const char *asked)
{
    struct sockaddr_in in = {0};
    socklen_t len = sizeof in;
    char host[INET_ADDRSTRLEN] = "", text[64];
    if (strncmp(asked, "unix:", 5) == 0)
        return strdup(asked);
    if (getsockname(fd, (struct sockaddr *)&in, &len) < 0 ||
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof host) == NULL)
        return NULL;
    snprintf(text, sizeof text, "tcp:%s:%u", host, ntohs(in.sin_port));
    return strdup(text);
}

int vel_sock_listen(const char *endpoint, int *ret_fd, char **ret_endpoint,
                    struct vel_err *err)
{
    struct address address;
    int fd = -1, rc = address_parse(endpoint, &address, err);
    if (rc < 0)
        return rc;
    rc = stream_open(&address, &fd, err);
    if (rc < 0)
        return rc;
    bool is_unix = address.at.any.sa_family == AF_UNIX;
    /* the mode of the descriptor is that of the file bind makes: no moment is open to
     * others */
    if ((is_unix && fchmod(fd, 0600) < 0) ||
        bind(fd, &address.at.any, address.len) < 0 || listen(fd, 1024) < 0) {
        rc = vel_fail_errno(err, errno, "listening at %s", endpoint);
        vel_sock_close(fd);
        return rc;
    }
    char *text = endpoint_text(fd, endpoint);
    if (text == NULL) {
        vel_sock_close(fd);
        return vel_out_of_memory(err, "an endpoint");
    }
    *ret_fd = fd;
    *ret_endpoint = text;
    return 0;
}

int vel_sock_connect(const char *endpoint, unsigned limit_ms, int *ret_fd,
                     struct vel_err *err)
{
    struct address address;
    int fd = -1, rc = address_parse(endpoint, &address, err);
    if (rc < 0)
        return rc;
    rc = stream_open(&address, &fd, err);
    if (rc < 0)
        return rc;
    if (address.at.any.sa_family == AF_INET)
        tcp_tune(fd, limit_ms);
    if (connect(fd, &address.at.any, address.len) < 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        int cause = errno;
        vel_sock_close(fd);
        vel_fail_errno(err, cause, "connecting to %s", endpoint);
        /* a Unix socket whose queue is full: worth another try */
        return cause == EAGAIN ? VEL_EBUSY : vel_status_of_errno(cause);
    }
    *ret_fd = fd;
    return 0;
}

int vel_sock_connected(int fd, const char *endpoint, struct vel_err *err)
{
    int cause = 0;
    socklen_t len = sizeof cause;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &len) < 0)
        cause = errno;
    return cause == 0 ? 0 : vel_fail_errno(err, cause, "connecting to %s", endpoint);
}

int vel_sock_accept(int listener, unsigned limit_ms, int *ret_fd, struct vel_err *err)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd =
        accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return vel_fail_errno(err, errno, "accepting a connection");
    if (fd >= 0 && from.ss_family == AF_INET)
        tcp_tune(fd, limit_ms);
    *ret_fd = fd < 0 ? -1 : fd; /* whoever gave up before we looked is nobody */
    return 0;
}

int vel_sock_peer_uid(int fd, uid_t *ret_uid, struct vel_err *err)
{
    struct sockaddr_storage own;
    socklen_t own_len = sizeof own;
    struct ucred cred;
    socklen_t len = sizeof cred;
    if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0)
        return vel_fail_errno(err, errno, "asking for a socket's name");
    if (own.ss_family != AF_UNIX)
        return vel_fail(err, VEL_EUNSUP, "a TCP connection does not tell its user");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return vel_fail_errno(err, errno, "asking who is connected");
    *ret_uid = cred.uid;
    return 0;
}

int vel_sock_place(int fd, bool is_accepted, char ret_place[VEL_SOCK_PLACE],
                   struct vel_err *err)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;
    struct sockaddr_in in;
    char host[INET_ADDRSTRLEN] = "";
    int rc = is_accepted ? getsockname(fd, (struct sockaddr *)&at, &len)
                         : getpeername(fd, (struct sockaddr *)&at, &len);

    if (rc < 0)
        return vel_fail_errno(err, errno, "asking where a connection leads to");
    ret_place[0] = '\0';
    if (at.ss_family != AF_INET)
        return 0;
    memcpy(&in, &at, sizeof in);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
    snprintf(ret_place, VEL_SOCK_PLACE, "%s:%u", host, ntohs(in.sin_port));
    return 0;
}

static int add_address(const struct ifaddrs *at, struct vel_vec *addresses)
{
    char text[INET_ADDRSTRLEN];
    struct sockaddr_in in;

    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
        !(at->ifa_flags & IFF_UP) || (at->ifa_flags & IFF_LOOPBACK))
        return 0;
    memcpy(&in, at->ifa_addr, sizeof in);
    if (!inet_ntop(AF_INET, &in.sin_addr, text, sizeof text))
        return 0;
    char *copy = strdup(text);
    if (copy && vel_vec_push(addresses, &copy))
        return 0;
    free(copy);
    return VEL_ENOMEM;
}

int vel_sock_addresses(struct vel_vec *ret_addresses, struct vel_err *err)
{
    struct vel_vec addresses;
    struct ifaddrs *all;
    int rc = 0;

    if (getifaddrs(&all) < 0)
        return vel_fail_errno(err, errno, "asking for the addresses of interfaces");
    vel_vec_init(&addresses, sizeof(char *));
    for (const struct ifaddrs *at = all; at && rc == 0; at = at->ifa_next)
        rc = add_address(at, &addresses);
    freeifaddrs(all);
    if (rc < 0) {
        for (size_t i = 0; i < addresses.n; i++)
            free(*(char **)vel_vec_at(&addresses, i));
        vel_vec_fini(&addresses);
        return vel_out_of_memory(err, "addresses");
    }
    *ret_addresses = addresses;
    return 0;
}

int vel_sock_pair(int ret_fds[2], struct vel_err *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret_fds) < 0)
        return vel_fail_errno(err, errno, "making a pair of sockets");
    return 0;
}

/* What errno means for a stream that was open. */
static int stream_error(const char *what, struct vel_err *err)
{
    int cause = errno;
    vel_fail_errno(err, cause, "%s", what);
    if (err != NULL)
        err->status = cause == ETIMEDOUT ? VEL_ETIMEOUT : VEL_ELOST;
    return cause == ETIMEDOUT ? VEL_ETIMEOUT : VEL_ELOST;
}

static bool is_later(int errnum)
{
    return errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR ||
           errnum == ENOBUFS;
}

int vel_sock_send(int fd, const struct iovec *parts, int n, size_t *ret_sent,
                  struct vel_err *err)
{
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && !is_later(errno))
        return stream_error("sending", err);
    *ret_sent = sent < 0 ? 0 : (size_t)sent;
    return 0;
}

int vel_sock_recv(int fd, void *bytes, size_t len, size_t *ret_got, struct vel_err *err)
{
    if (len == 0) {
        *ret_got = 0;
        return 0;
    }
    ssize_t got = recv(fd, bytes, len, 0);
    if (got < 0 && !is_later(errno))
        return stream_error("receiving", err);
    if (got == 0)
        return vel_fail(err, VEL_ELOST, "the connection was closed");
    *ret_got = got < 0 ? 0 : (size_t)got;
    return 0;
}

int vel_sock_poll(struct pollfd *fds, size_t n, unsigned limit_ms, struct vel_err *err)
{
    struct vel_clock *clock = vel_clock_system();
    uint64_t end = vel_clock_deadline(clock, limit_ms * VEL_CLOCK_MS), now;
    for (;;) {
        now = vel_clock_monotonic(clock);
        int left = now >= end ? 0 : (int)((end - now) / VEL_CLOCK_MS) + 1;
        if (poll(fds, n, left) >= 0)
            return 0;
        if (errno != EINTR)
            return vel_fail_errno(err, errno, "waiting for %zu connections", n);
    }
}

void vel_sock_drain(int fd, unsigned limit_ms)
{
    int left = 0, domain = AF_UNIX;
    socklen_t len = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
    if (domain == AF_UNIX) /* what was sent is at the peer already */
        return;
    for (unsigned ms = 0; ms < limit_ms; ms++) {
        struct tcp_info info = {0};
        len = sizeof info;
        /* a connection that the peer has reset keeps its bytes for ever */
        if (ioctl(fd, SIOCOUTQ, &left) < 0 || left == 0 ||
            getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
            (info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_CLOSE_WAIT))
            return;
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    }
}

void vel_sock_close(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
}
