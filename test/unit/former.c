/* SPDX-License-Identifier: BSD-3-Clause */
/* A leader that has taken the role on its node replaces the former one everywhere:
 * nobody waits for that one, which may be frozen. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "ident/endpoint.h"
#include "ident/key.h"
#include "link/link.h"
#include "tap/filelab.h"
#include "tap/tap.h"

enum { T_MS = 20000, MANY_TURNS = 1000 };

/* A leader of a node, as others see it. */
struct other {
    struct vel_links *links;
    bool is_met, is_gone;
};

static void met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    (void)link, (void)peer;
    ((struct other *)arg)->is_met = true;
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    (void)link, (void)why;
    ((struct other *)arg)->is_gone = true;
}

static void connect_to(const struct filelab *lab, struct other *other, int64_t epoch)
{
    static const struct vel_links_ops ops = {.met = met, .gone = gone};
    struct vel_endpoint endpoint = {0};
    struct vel_link *link;
    struct vel_key key;
    struct vel_err err = {0};
    const struct vel_links_me me = {.role = VEL_PEER_LEADER,
                                    .epoch = epoch,
                                    .rank = VEL_MSG_NO_RANK,
                                    .launch = lab->launch,
                                    .node = "other",
                                    .user = geteuid(),
                                    .key = &key,
                                    .limit_ms = T_MS,
                                    .clock = vel_clock_system()};
    char dir[300];

    snprintf(dir, sizeof dir, "%s/launch.%s", lab->dir, lab->launch);
    if (vel_key_get(vel_fs_posix(), lab->dir, geteuid(), &key, &err) < 0 ||
        vel_endpoint_load(vel_fs_posix(), dir, "n0", &endpoint, &err) < 0 ||
        vel_links_create(&me, &ops, other, &other->links, &err) < 0 ||
        vel_links_connect(other->links, endpoint.endpoints, "n0", &link, &err) < 0)
        bail_out("%s", err.text);
    vel_endpoint_fini(&endpoint);
}

static bool until(struct other *all, size_t n, const bool *flag)
{
    for (int i = 0; !*flag && i < MANY_TURNS; i++)
        for (size_t k = 0; k < n; k++)
            vel_links_turn(all[k].links, 5, NULL);
    return *flag;
}

int main(void)
{
    struct filelab lab;
    struct other all[3] = {{0}};

    filelab_init(&lab, "former", 1, 1, "DATASET=ck PATTERN=ck.{step}\n");
    filelab_begin(&lab, "L1");
    connect_to(&lab, &all[0], 5);
    ok(until(all, 1, &all[0].is_met), "a leader of another node is met");
    connect_to(&lab, &all[1], 6);
    ok(until(all, 2, &all[1].is_met), "so is the next one of that node");
    ok(until(all, 2, &all[0].is_gone), "the former one is let go");
    connect_to(&lab, &all[2], 6);
    ok(until(all, 3, &all[2].is_met) && !all[1].is_gone,
       "a leader may have more than one connection");
    for (size_t i = 0; i < 3; i++)
        vel_links_destroy(all[i].links);
    filelab_end(&lab);
    filelab_fini(&lab);
    return done_testing();
}
