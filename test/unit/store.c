/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores as one process sees them; test/mpi/topo.c has many. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "tap/topolab.h"
#include "topo/store.h"

struct made {
    struct vel_groups *groups;
    struct vel_stores *stores;
    struct vel_err err;
};

/* The stores of one rank on node "h.v1", which has a line of its own. */
static int make(const char *text, struct made *ret)
{
    struct vel_conf *conf = topolab_conf(text);
    struct vel_comm *self;

    *ret = (struct made){0};
    if (vel_comm_self(&self, NULL) < 0 ||
        vel_groups_create(self, conf, "h.v1", &ret->groups, &ret->err) < 0)
        bail_out("no groups: %s", ret->err.text);
    int rc = vel_stores_create(self, conf, ret->groups, &ret->stores, &ret->err);
    vel_comm_destroy(self);
    vel_conf_destroy(conf);
    return rc;
}

static void unmake(struct made *made)
{
    vel_stores_destroy(made->stores);
    vel_groups_destroy(made->groups);
}

static void implied(void)
{
    struct made made;

    is_int(make("CACHE_SIZE=3\nCNTL_BASE=/var/c", &made), 0, "without STORE lines");
    const struct vel_store *store = &made.stores->items[0];
    ok(made.stores->n == 1 && strcmp(store->name, "/tmp") == 0 && store->enabled &&
           store->can_mkdir && store->index == 0,
       "CACHE_BASE is a store");
    is_int(store->count, 3, "it holds CACHE_SIZE datasets");
    ok(strcmp(store->group->name, "NODE") == 0 && store->type == VEL_STORE_SSD &&
           store->comm->size == 1,
       "a node shares it");
    unmake(&made);
}

static void listed(void)
{
    struct made made;

    is_int(make("STORE=/ssd COUNT=2 BYTES=1GB BANDWIDTH=5MB MTBF=1h FLUSH=PTHREAD\n"
                "STORE=/bb/ GROUP=SWITCH TYPE=BURSTBUFFER MKDIR=0\n"
                "STORE=/tmp ENABLED=0\nGROUPS=h.v1 SWITCH=0\n"
                "CACHE_BASE=/a\nCKPT=0 STORE=/bb/ TYPE=SINGLE\n"
                "CACHEDIR=/a BYTES=7MB",
                &made),
           0, "with STORE lines");
    static const char *const want[] = {"/a", "/bb", "/ssd", "/tmp"};
    bool fine = made.stores->n == 4;
    for (uint32_t i = 0; fine && i < 4; i++)
        fine = strcmp(made.stores->items[i].name, want[i]) == 0 &&
               made.stores->items[i].index == i;
    ok(fine, "they are sorted by their normalised names, CACHE_BASE among them");
    const struct vel_store *ssd = vel_stores_find(made.stores, "/ssd");
    ok(ssd->count == 2 && ssd->bytes == 1 << 30 && ssd->bandwidth == 5 << 20 &&
           ssd->mtbf == 3600 && ssd->flush == 2,
       "a line says what a store is like");
    const struct vel_store *bb = vel_stores_find(made.stores, "/x/../bb/.");
    ok(bb && bb->type == VEL_STORE_BURSTBUFFER && !bb->can_mkdir &&
           strcmp(bb->group->name, "SWITCH") == 0,
       "a store is found by any name of its directory");
    ok(!vel_stores_find(made.stores, "/tmp")->enabled, "one may be switched off");
    is_int(vel_stores_find(made.stores, "/a")->bytes, 7 << 20,
           "CACHEDIR tells the size of one without a line");
    unmake(&made);
}

static void of_virtual_nodes(void)
{
    struct made made;

    is_int(make("VIRTUAL_NODES=2\nSTORE=/p GROUP=WORLD\nSTORE=/b GROUP=SWITCH\n"
                "GROUPS=h SWITCH=../..\nCOPY_TYPE=SINGLE",
                &made),
           0, "stores of virtual nodes");
    is_str(vel_stores_find(made.stores, "/tmp")->base, "/tmp/h.v1",
           "each has its own part of a node's store");
    is_str(vel_stores_find(made.stores, "/p")->base, "/p", "but not of a shared one");
    const char *base = vel_stores_find(made.stores, "/b")->base;
    ok(strncmp(base, "/b/group.", 9) == 0 && strlen(base) == 17,
       "the value of a group does not lead out of the store: %s", base);
    unmake(&made);
}

static void bad(const char *text, const char *part)
{
    struct made made;

    is_int(make(text, &made), VEL_ECONFIG, "refused: %s", topolab_line(text));
    ok(strstr(made.err.text, part) != NULL, "  %s", made.err.text);
    unmake(&made);
}

int main(void)
{
    implied();
    listed();
    of_virtual_nodes();
    bad("STORE=/s GROUP=SWITCH", "GROUP=SWITCH");
    return done_testing();
}
