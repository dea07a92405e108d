/* SPDX-License-Identifier: BSD-3-Clause */
/* probe - what a program on a node sees of its clock and of other nodes.
 *
 *   probe clock               prints the seconds of the monotonic clock
 *   probe serve PORT          prints "ready", then sends back what anybody sends it
 *   probe ask HOST PORT MS    prints "answer", "refused" or "silence" (nothing for MS
 * ms) probe hold HOST PORT MS   prints "answer" and waits for the other side's end:
 * "closed", or "silence" when nothing can be seen of it for MS ms
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int say(const char *word)
{
    puts(word);
    fflush(stdout);
    return 0;
}

static int give_up(const char *what)
{
    fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
    return 1;
}

/* Child per connection: a client that never goes must not keep the next one waiting. */
static void echo(int fd)
{
    char c;

    while (read(fd, &c, 1) == 1 && write(fd, &c, 1) == 1)
        ;
    _exit(0);
}

static int serve(int port)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) < 0 ||
        listen(fd, 5) < 0)
        return give_up("serve");
    say("ready");
    for (;;) {
        int client = accept(fd, NULL, NULL);

        if (client < 0)
            return give_up("accept");
        if (fork() == 0)
            echo(client);
        close(client);
    }
}

/* A byte there and back within ms. Returns the word for what happened. */
static const char *exchange(int fd, int ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char c = 'x';

    if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
        return "closed";
    if (poll(&wait, 1, ms) == 0)
        return "silence";
    return recv(fd, &c, 1, 0) == 1 ? "answer" : "closed";
}

/* A connected, blocking socket in ret_fd, or the word for why not. */
static const char *reach(const char *host, const char *port, int ms, int *ret_fd)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *there;
    int why = 0;
    socklen_t len = sizeof why;

    if (getaddrinfo(host, port, &hints, &there) != 0)
        return "unknown";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int rc = connect(fd, there->ai_addr, there->ai_addrlen);
    freeaddrinfo(there);
    if (rc < 0 && errno == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};

        if (poll(&wait, 1, ms) == 0)
            return "silence";
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len);
        errno = why;
        rc = why ? -1 : 0;
    }
    if (rc < 0) /* a lost neighbour is unreachable once ARP has given up */
        return errno == ECONNREFUSED ? "refused" : "silence";
    fcntl(fd, F_SETFL, 0);
    *ret_fd = fd;
    return NULL;
}

static int hold(int fd, int ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    say(exchange(fd, ms));
    if (poll(&wait, 1, ms) == 0)
        return say("silence");
    return say("closed"); /* nobody sends unasked */
}

static int tell_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%lld\n", (long long)now.tv_sec);
    return 0;
}

int main(int argc, char **argv)
{
    int fd = -1;

    if (argc == 2 && strcmp(argv[1], "clock") == 0)
        return tell_clock();
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(atoi(argv[2]));
    if (argc != 5) {
        fprintf(stderr, "usage: probe clock | serve PORT | {ask|hold} HOST PORT MS\n");
        return 2;
    }
    int ms = atoi(argv[4]);
    const char *word = reach(argv[2], argv[3], ms, &fd);
    if (word)
        return say(word);
    if (strcmp(argv[1], "hold") == 0)
        return hold(fd, ms);
    return say(exchange(fd, ms));
}
