/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "cmd/agent_ask.h"
#include "cmd/tool.h"
#include "node/agent.h"
#include "process/affairs.h"
#include "sys/clock.h"

enum { TURN_MS = 500, LOOK_MS = 50, HAND_OVERS = 4 };

static unsigned limit_of(const struct vel_conf *conf)
{
    return (unsigned)(conf->peer_timeout * 1000);
}

static void load(const struct vel_conf *conf, const struct vel_host *host,
                 struct vel_affairs *ret)
{
    struct vel_err err = {0};

    if (vel_affairs_load(vel_fs_posix(), host, conf, limit_of(conf), ret, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
}

static struct vel_affair *launch_at(const struct vel_affairs *affairs, size_t i)
{
    return vel_vec_at(&affairs->launches, i);
}

static const struct vel_affair_owed *owed_at(const struct vel_affairs *affairs,
                                             size_t i)
{
    return vel_vec_at(&affairs->owed, i);
}

static const char *things(const struct vel_affair_owed *owed)
{
    return owed->is_encode && owed->is_flush ? "encode and flush"
           : owed->is_encode                 ? "encode"
                                             : "flush";
}

/* --- status --- */

static const char *const leaders[] = {[VEL_LED_BY_NOBODY] = "nobody",
                                      [VEL_LED_BY_PROCESS] = "process",
                                      [VEL_LED_BY_AGENT] = "agent"};

static void print_launch(const struct vel_affair *a)
{
    static const char *const by[] = {[VEL_LED_BY_NOBODY] = "nobody leads",
                                     [VEL_LED_BY_PROCESS] =
                                         "one of its processes leads",
                                     [VEL_LED_BY_AGENT] = "the agent leads"};

    printf("launch %s on %s: %s, %s; prefix %s", a->launch, a->node, by[a->leader],
           a->has_processes ? "processes run" : "no process runs", a->prefix);
    if (a->leader != VEL_LED_BY_NOBODY)
        printf("; %" PRIu64 " bytes left, %" PRIu64 " moved", a->left, a->moved);
    printf("%s%s\n", a->err.status ? ": " : "", a->err.status ? a->err.text : "");
}

static void print_owed(const struct vel_affair_owed *o)
{
    printf("owed: %s dataset %" PRId64 " on %s, launch %s, in %s%s%s%s\n", things(o),
           o->dataset, o->node, o->launch, o->dir, o->is_aside ? " (set aside)" : "",
           o->last.status ? ": " : "", o->last.status ? o->last.text : "");
}

static void print_text(const struct vel_affairs *affairs, const struct vel_host *host)
{
    printf("%s on %s for %s\n",
           affairs->has_agent ? "an h5veloc-agent runs" : "no h5veloc-agent answers",
           host->node, host->user);
    for (size_t i = 0; i < affairs->launches.n; i++)
        print_launch(launch_at(affairs, i));
    for (size_t i = 0; i < affairs->owed.n; i++)
        print_owed(owed_at(affairs, i));
}

static json_t *reason(const struct vel_err *err)
{
    return err->status ? json_string(err->text) : json_null();
}

static void print_json(const struct vel_affairs *affairs, const struct vel_host *host)
{
    json_t *launches = json_array(), *owed = json_array();

    for (size_t i = 0; i < affairs->launches.n; i++) {
        const struct vel_affair *a = launch_at(affairs, i);

        json_array_append_new(
            launches, json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:o}", "launch",
                                a->launch, "node", a->node, "prefix", a->prefix,
                                "leader", leaders[a->leader], "processes",
                                a->has_processes, "left", (json_int_t)a->left, "moved",
                                (json_int_t)a->moved, "error", reason(&a->err)));
    }
    for (size_t i = 0; i < affairs->owed.n; i++) {
        const struct vel_affair_owed *o = owed_at(affairs, i);

        json_array_append_new(
            owed, json_pack("{s:I, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:o}", "dataset",
                            (json_int_t)o->dataset, "node", o->node, "launch",
                            o->launch, "directory", o->dir, "encode", o->is_encode,
                            "flush", o->is_flush, "led", o->is_led, "aside",
                            o->is_aside, "error", reason(&o->last)));
    }
    vel_tool_print_json(json_pack("{s:s, s:s, s:b, s:o, s:o}", "node", host->node,
                                  "user", host->user, "agent", affairs->has_agent,
                                  "launches", launches, "owed", owed));
}

int vel_cmd_agent_status(const struct vel_conf *conf, const struct vel_host *host,
                         bool json)
{
    struct vel_affairs affairs;

    load(conf, host, &affairs);
    if (json)
        print_json(&affairs, host);
    else
        print_text(&affairs, host);
    vel_affairs_fini(&affairs);
    return VEL_EXIT_DONE;
}

/* --- drain --- */

/* Until those whose program is gone are over, or stall. */
static void lead_deserted(const struct vel_conf *conf, const struct vel_host *host)
{
    struct vel_agent *agent = NULL;
    struct vel_err err = {0};
    int rc = vel_agent_create(vel_fs_posix(), host, conf, VEL_AGENT_FOR_DESERTED,
                              &agent, &err);

    do {
        if (rc == 0)
            rc = vel_agent_turn(agent, TURN_MS, &err);
    } while (rc == 0 && !vel_agent_is_idle(agent));
    vel_agent_destroy(agent);
    if (rc < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
}

static const struct vel_affair *same_launch(const struct vel_affairs *among,
                                            const struct vel_affair *a)
{
    for (size_t i = 0; i < among->launches.n; i++)
        if (strcmp(launch_at(among, i)->endpoint, a->endpoint) == 0)
            return launch_at(among, i);
    return NULL;
}

/* One that nobody leads yet. */
static const struct vel_affair *find_alone(const struct vel_affairs *drained,
                                           const struct vel_affairs *now)
{
    (void)drained;
    for (size_t i = 0; i < now->launches.n; i++)
        if (launch_at(now, i)->leader == VEL_LED_BY_NOBODY)
            return launch_at(now, i);
    return NULL;
}

static bool is_done(const struct vel_affair *a)
{
    return a->left == 0 && a->err.status == VEL_OK;
}

/* Is anything left of its directory? Those who remove it take away what it is first. */
static bool has_traces(const struct vel_affair *a)
{
    char *dir = vel_path_dir(a->endpoint + strlen("unix:"));
    bool has = dir && vel_fs_exists(vel_fs_posix(), dir);

    free(dir);
    return has;
}

/* One that is done, whose program is gone, and that is still about to end. */
static const struct vel_affair *find_ending(const struct vel_affairs *drained,
                                            const struct vel_affairs *now)
{
    for (size_t i = 0; i < drained->launches.n; i++) {
        const struct vel_affair *a = launch_at(drained, i), *b = same_launch(now, a);

        if (is_done(a) &&
            (b ? !b->has_processes && is_done(b) : !a->has_processes && has_traces(a)))
            return a;
    }
    return NULL;
}

/* An agent takes a role as soon as it sees that nobody leads, and removes the traces of
 * a launch that is over: what there is when it has done so, or PEER_TIMEOUT has passed.
 */
static void load_when(const struct vel_conf *conf, const struct vel_host *host,
                      const struct vel_affair *find(const struct vel_affairs *,
                                                    const struct vel_affairs *),
                      const struct vel_affairs *drained, const char *what,
                      struct vel_affairs *ret)
{
    struct vel_clock *clock = vel_clock_system();
    uint64_t limit = limit_of(conf) * VEL_CLOCK_MS,
             until = vel_clock_deadline(clock, limit);
    const struct vel_affair *missed;

    load(conf, host, ret);
    while ((missed = find(drained, ret)) && vel_clock_monotonic(clock) < until) {
        vel_affairs_fini(ret);
        vel_clock_sleep(clock, LOOK_MS * VEL_CLOCK_MS);
        load(conf, host, ret);
    }
    if (missed)
        vel_log_in_vain(missed->launch, limit, what, missed->node);
}

static int tell_left(const struct vel_affairs *drained, const struct vel_affairs *now)
{
    int code = VEL_EXIT_DONE;

    for (size_t i = 0; i < drained->launches.n; i++) {
        const struct vel_affair *a = launch_at(drained, i);

        /* of one that is over, too, what it owed is told below */
        if (is_done(a) || a->err.status == VEL_ECANCEL || !same_launch(now, a))
            continue;
        if (a->left > 0)
            vel_tool_say("launch %s on %s has %" PRIu64 " bytes left: %s", a->launch,
                         a->node, a->left,
                         a->err.status ? a->err.text : "it is not known why");
        else
            vel_tool_say("launch %s on %s does not tell what it has left: %s: try "
                         "again when its program goes on, or has ended",
                         a->launch, a->node, a->err.text);
        code = VEL_EXIT_FAILED;
    }
    for (size_t i = 0; i < now->owed.n; i++) {
        const struct vel_affair_owed *o = owed_at(now, i);

        if (o->is_led)
            continue;
        if (o->is_aside) { /* nobody can do it, and nobody needs to */
            vel_tool_say("dataset %" PRId64
                         " of launch %s in %s is set aside: the last "
                         "launch did not find all of it, and one that does goes on "
                         "with it",
                         o->dataset, o->launch, o->dir);
            continue;
        }
        vel_tool_say("nobody is here to %s dataset %" PRId64 " of launch %s in %s; the "
                     "next launch of its program does it%s%s",
                     things(o), o->dataset, o->launch, o->dir,
                     o->last.status ? ": " : "", o->last.status ? o->last.text : "");
        code = VEL_EXIT_FAILED;
    }
    return code;
}

/* Has the role of one gone to another leader meanwhile? */
static bool is_handed_over(const struct vel_affairs *drained,
                           const struct vel_affairs *now)
{
    for (size_t i = 0; i < drained->launches.n; i++) {
        const struct vel_affair *a = launch_at(drained, i);

        if (a->err.status == VEL_ENOENT && same_launch(now, a))
            return true;
    }
    return false;
}

int vel_cmd_agent_drain(const struct vel_conf *conf, const struct vel_host *host)
{
    unsigned limit = limit_of(conf);
    struct vel_affairs drained, now;
    bool again = true;
    int code = VEL_EXIT_DONE;

    for (int round = 0; again && round < HAND_OVERS; round++) {
        if (vel_agent_knock(vel_fs_posix(), host, conf->cntl_base, NULL, limit, NULL) <
            0)
            lead_deserted(conf, host);
        load_when(conf, host, find_alone, NULL, "a leader on ", &drained);
        for (size_t i = 0; i < drained.launches.n; i++)
            if (launch_at(&drained, i)->leader != VEL_LED_BY_NOBODY)
                vel_affair_drain(launch_at(&drained, i), limit);
        load_when(conf, host, find_ending, &drained, "its end on ", &now);
        again = is_handed_over(&drained, &now);
        if (!again || round + 1 == HAND_OVERS)
            code = tell_left(&drained, &now);
        vel_affairs_fini(&now);
        vel_affairs_fini(&drained);
    }
    return code;
}

/* --- stop --- */

int vel_cmd_agent_stop(const struct vel_conf *conf, const struct vel_host *host)
{
    struct vel_err err = {0};
    int rc =
        vel_agent_stop(vel_fs_posix(), host, conf->cntl_base, limit_of(conf), &err);

    if (rc == VEL_ENOENT)
        vel_tool_say("no h5veloc-agent of %s is on %s", host->user, host->node);
    else if (rc < 0)
        vel_tool_say("the h5veloc-agent of %s on %s does not end: %s", host->user,
                     host->node, err.text);
    return rc == 0 || rc == VEL_ENOENT ? VEL_EXIT_DONE : VEL_EXIT_FAILED;
}
