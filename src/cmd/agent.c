/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-agent - leads the launches of a user on this machine. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/agent_ask.h"
#include "cmd/tool.h"
#include "conf/load.h"
#include "engine/logsink.h"
#include "node/agent.h"
#include "process/guest.h"
#include "sys/host.h"
#include "sys/sock.h"

enum { TURN_MS = 500, POLL_MS = 1000, OPT_DRAIN = 256, OPT_STOP };

static const char SERVES[] = "serves";

struct options {
    bool detach, drain, stop, status, json;
};

static const struct argp_option option_rows[] = {
    {"detach", 'd', NULL, 0, "Return when it serves, and go on in the background", 0},
    {"drain", OPT_DRAIN, NULL, 0,
     "Do not serve: wait until nothing is left to encode or flush here", 0},
    {"stop", OPT_STOP, NULL, 0, "End the agent that runs (after --drain, if given)", 0},
    {"status", 's', NULL, 0, "Tell who leads what, and what is left", 0},
    {"json", 'j', NULL, 0, "The same as JSON", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'd':
        o->detach = true;
        return 0;
    case OPT_DRAIN:
        o->drain = true;
        return 0;
    case OPT_STOP:
        o->stop = true;
        return 0;
    case 'j':
        o->json = true;
        o->status = true;
        return 0;
    case 's':
        o->status = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: there is nothing but options", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->detach && (o->drain || o->stop || o->status))
            argp_error(state, "--detach is for an agent that serves");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .doc = "Encode, flush and find checkpoints beside your programs on this machine, "
           "and go on when they have ended or were killed.\v"
           "Without options it serves until SIGTERM or --stop: one agent for each user "
           "and machine, started before or during programs. It gives back what it "
           "leads then; what is owed stays on record.\n\n"
           "Exit status: 0 done, nothing is left; 1 failed, something is left; 2 wrong "
           "usage.",
};

/* --- serve --- */

static struct vel_agent *the_agent;
static struct vel_guest *guest; /* NULL: there is no prefix to look at */
static volatile sig_atomic_t is_asked_to_end;

static void on_signal(int signal)
{
    (void)signal;
    is_asked_to_end = 1;
    if (the_agent)
        vel_agent_wake(the_agent);
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGHUP, SIG_IGN); /* of the session that started us */
    signal(SIGPIPE, SIG_IGN);
}

static void ignore_signals(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

/* To whom waits until we serve, at the other end of `ready`; -1: nobody. NULL: we do.
 */
static void tell(int ready, const char *why)
{
    struct iovec part = {(void *)(why ? why : SERVES), strlen(why ? why : SERVES)};
    size_t sent;

    if (ready >= 0)
        vel_sock_send(ready, &part, 1, &sent, NULL); /* he may not wait any more */
    else if (why)
        vel_tool_say("%s", why);
    vel_sock_close(ready);
}

static int serve(const struct vel_conf *conf, const struct vel_host *host, int ready)
{
    struct vel_agent *agent = NULL;
    struct vel_err err = {0};
    int rc;

    watch_signals();
    rc = vel_agent_create(vel_fs_posix(), host, conf, VEL_AGENT_FOR_ALL, &agent, &err);
    if (rc == VEL_EBUSY)
        vel_wrap(&err, rc, "an agent is here already");
    tell(ready, rc < 0 ? err.text : NULL);
    if (rc < 0)
        return VEL_EXIT_FAILED;
    the_agent = agent;
    vel_log(VEL_LOG_INFO, "an agent serves %s", host->user);
    while (rc == 0 && !is_asked_to_end && !vel_agent_is_asked_to_end(agent)) {
        rc = vel_agent_turn(agent, TURN_MS, &err);
        if (guest)
            vel_guest_look(guest);
    }
    ignore_signals();
    the_agent = NULL;
    /* Said before the role is given back: who waits for that may read it. */
    if (rc < 0)
        vel_log(VEL_LOG_ERROR, "the agent ends: %s", err.text);
    else
        vel_log(VEL_LOG_INFO, "the agent ends");
    vel_agent_destroy(agent);
    return rc < 0 ? VEL_EXIT_FAILED : VEL_EXIT_DONE;
}

/* What the agent says of itself; it has closed its end then. */
static void hear(int ready, char *ret, size_t room)
{
    struct pollfd fd = {.fd = ready, .events = POLLIN};
    size_t len = 0, got;

    while (len + 1 < room && vel_sock_poll(&fd, 1, POLL_MS, NULL) == 0 &&
           vel_sock_recv(ready, ret + len, room - 1 - len, &got, NULL) == 0)
        len += got;
    ret[len] = '\0';
}

/* This process ends when the agent, in a session of its own, serves or has failed. */
static int detach(const struct vel_conf *conf, const struct vel_host *host)
{
    struct vel_err err = {0};
    char said[sizeof err.text];
    int ends[2];
    pid_t pid;

    if (vel_sock_pair(ends, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    pid = fork();
    if (pid == 0) {
        vel_sock_close(ends[0]);
        if (daemon(0, 0) == 0)
            return serve(conf, host, ends[1]);
        vel_fail_errno(&err, errno, "cannot detach");
        tell(ends[1], err.text);
        return VEL_EXIT_FAILED;
    }
    vel_sock_close(ends[1]);
    hear(ends[0], said, sizeof said);
    vel_sock_close(ends[0]);
    if (strcmp(said, SERVES) == 0)
        return VEL_EXIT_DONE;
    vel_tool_say("%s", said[0] ? said : "the agent could not be started");
    return VEL_EXIT_FAILED;
}

/* --- main --- */

static int ask(const struct options *o, const struct vel_conf *conf,
               const struct vel_host *host)
{
    int code = o->drain ? vel_cmd_agent_drain(conf, host) : VEL_EXIT_DONE;
    int stopped = o->stop ? vel_cmd_agent_stop(conf, host) : VEL_EXIT_DONE;

    if (o->status)
        vel_cmd_agent_status(conf, host, o->json);
    return code == VEL_EXIT_DONE ? stopped : code;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct vel_conf *conf = NULL;
    struct vel_logfile *file = NULL;
    struct vel_host host = {0};
    struct vel_err err = {0};
    int code, rc;

    vel_tool_parse(&argp, argc, argv, &o);
    rc = vel_conf_create(&conf, &err);
    if (rc == 0)
        rc = vel_conf_load(conf, vel_fs_posix(), &(struct vel_conf_layers){0}, &err);
    if (rc == 0)
        rc = vel_host_init(&host, &err);
    if (rc == 0 && conf->user_name)
        rc = vel_host_set_user(&host, conf->user_name, &err);
    if (rc == 0) {
        char who[300];
        const struct vel_log_sink sink = {.who = who, .is_speaker = true};

        snprintf(who, sizeof who, "h5veloc-agent on %s", host.node);
        rc = vel_logsink_open(conf, vel_fs_posix(), host.node, &sink, &file, &err);
    }
    if (rc < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    if (o.drain || o.stop || o.status) {
        code = ask(&o, conf, &host);
    } else {
        vel_guest_create(&host, conf, &guest, NULL);
        code = o.detach ? detach(conf, &host) : serve(conf, &host, -1);
        vel_guest_destroy(guest);
    }
    vel_log_open(NULL);
    if (file)
        vel_logfile_close(file, NULL);
    vel_host_fini(&host);
    vel_conf_destroy(conf);
    return vel_tool_finish(code);
}
