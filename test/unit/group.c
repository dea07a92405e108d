/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups as one process sees them; test/mpi/topo.c has many. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "tap/topolab.h"
#include "topo/group.h"

static void node_names(void)
{
    struct vel_host host = {.node = strdup("h")};
    struct vel_conf *real = topolab_conf(""), *some = topolab_conf("VIRTUAL_NODES=3");
    static const char *const want[] = {"h.v0", "h.v0", "h.v0", "h.v1",
                                       "h.v1", "h.v1", "h.v2", "h.v2"};
    char *name, longest[201];
    struct vel_err err = {0};

    if (vel_node_name(real, &host, 3, 8, &name, NULL) < 0)
        bail_out("no name");
    is_str(name, "h", "a node has the name of its host");
    free(name);
    for (int rank = 0; rank < 8; rank++) {
        if (vel_node_name(some, &host, rank, 8, &name, NULL) < 0)
            bail_out("no name");
        is_str(name, want[rank], "rank %d of 8 is on virtual node %s of 3", rank,
               want[rank]);
        free(name);
    }
    memset(longest, 'x', 200);
    longest[200] = '\0';
    free(host.node);
    host.node = longest;
    is_int(vel_node_name(some, &host, 0, 8, &name, &err), VEL_EINVAL,
           "a name that gets too long is refused");
    ok(strstr(err.text, "VIRTUAL_NODES") != NULL, "  %s", err.text);
    vel_conf_destroy(real);
    vel_conf_destroy(some);
}

/* The groups of one rank on `node`; returns the status of vel_groups_create(). */
static int groups_of(const char *text, const char *node, struct vel_groups **ret,
                     struct vel_err *err)
{
    struct vel_conf *conf = topolab_conf(text);
    struct vel_comm *self;

    if (vel_comm_self(&self, NULL) < 0)
        bail_out("no communicator");
    *err = (struct vel_err){0};
    int rc = vel_groups_create(self, conf, node, ret, err);
    vel_comm_destroy(self);
    vel_conf_destroy(conf);
    return rc;
}

static void lines(void)
{
    struct vel_groups *groups;
    struct vel_err err;

    is_int(groups_of("", "h1", &groups, &err), 0, "no GROUPS lines are no fault");
    ok(groups->n == 2 && strcmp(groups->items[0].name, "NODE") == 0 &&
           strcmp(groups->items[1].name, "WORLD") == 0,
       "NODE comes first, then WORLD");
    is_str(vel_groups_node(groups), "h1", "NODE is the name of the node");
    ok(vel_groups_find(groups, "POWER") == NULL, "nobody defines POWER");
    vel_groups_destroy(groups);

    is_int(groups_of("GROUPS=h1 POWER=p SWITCH=0", "h1", &groups, &err), 0,
           "a node with a line");
    const struct vel_group *power = vel_groups_find(groups, "POWER");
    const struct vel_group *other = vel_groups_find(groups, "SWITCH");
    ok(power && strcmp(power->value, "p") == 0 && power->index == 2 && power->id == 0 &&
           power->count == 1 && power->comm->size == 1,
       "has the groups of its line");
    ok(other && other->index == 3, "in the order of the line");
    vel_groups_destroy(groups);

    is_int(groups_of("GROUPS=h1 POWER=p", "h2", &groups, &err), VEL_ECONFIG,
           "a node without a line, where there are lines");
    ok(strstr(err.text, "GROUPS line for node h2") != NULL, "  %s", err.text);
}

/* How often groups fail stands on lines of GROUPS, too. */
static void lines_of_no_host(void)
{
    struct vel_groups *groups;
    struct vel_err err;

    is_int(groups_of("GROUPS=NODE MTBF=500h", "h1", &groups, &err), 0,
           "a line with MTBF lists no host, so that others would lack theirs");
    ok(groups->n == 2, "and defines no group");
    vel_groups_destroy(groups);
    is_int(groups_of("GROUPS=SWITCH MTBF=500h\nGROUPS=SWITCH.a SWITCH=0", "SWITCH.a",
                     &groups, &err),
           0, "beside those of hosts");
    ok(groups->n == 3, "whose groups are as ever");
    vel_groups_destroy(groups);
    is_int(groups_of("GROUPS=WORLD MTBF=5h\nGROUPS=x POWER=0", "WORLD", &groups, &err),
           VEL_ECONFIG, "nor is it the line of a host of that name");
}

static void lines_of_virtual_nodes(void)
{
    static const char text[] = "VIRTUAL_NODES=2\nGROUPS=h POWER=p\nGROUPS=h.v1 POWER=q";
    struct vel_groups *groups;
    struct vel_err err;

    is_int(groups_of(text, "h.v1", &groups, &err), 0, "a virtual node");
    is_str(vel_groups_find(groups, "POWER")->value, "q", "has its own line");
    vel_groups_destroy(groups);
    is_int(groups_of(text, "h.v0", &groups, &err), 0, "another one");
    is_str(vel_groups_find(groups, "POWER")->value, "p", "has that of its host");
    vel_groups_destroy(groups);
    is_int(groups_of("GROUPS=h POWER=p", "h.v0", &groups, &err), VEL_ECONFIG,
           "a real node of such a name does not");
}

int main(void)
{
    node_names();
    lines();
    lines_of_no_host();
    lines_of_virtual_nodes();
    return done_testing();
}
