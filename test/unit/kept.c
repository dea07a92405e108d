/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that a process keeps: which they are, and how they come to its node. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recover/kept.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

enum { MEMBERS = 4, SEED = 11, FILE_MOST = 60000 };

struct bench {
    struct pulllab lab;
    struct pulllab_source source;
    struct vel_comm *comm; /* of this process alone, which is 0 */
    struct vel_store store;
    struct vel_stores stores;
    int keeper[MEMBERS]; /* by rank */
};

static void begin(struct bench *b, const char *store, bool can_mkdir)
{
    static char name[600];

    snprintf(name, sizeof name, "%s", tap_path(store));
    *b = (struct bench){.store = {.name = name, .can_mkdir = can_mkdir},
                        .stores = {&b->store, 1}};
    pulllab_make(&b->lab, tap_path("kept"), VEL_RS, MEMBERS, 2, SEED, FILE_MOST);
    pulllab_source_init(&b->source, &b->lab, SEED);
    if (vel_comm_self(&b->comm, NULL) < 0)
        bail_out("no communicator");
}

static void end(struct bench *b)
{
    pulllab_source_fini(&b->source);
    pulllab_fini(&b->lab);
    vel_comm_destroy(b->comm);
}

static int place(const void *arg, const struct vel_view_dataset *d,
                 const struct vel_view_place *part)
{
    const struct bench *b = arg;

    (void)d;
    return b->keeper[part->rank];
}

/* Those of process 0, on this node. */
static int list(struct bench *b, size_t node, struct vel_kept *ret, struct vel_err *err)
{
    pulllab_look(&b->lab);
    *ret = (struct vel_kept){
        .comm = b->comm,
        .stores = &b->stores,
        .how = {.fs = redlab_fs(),
                .node = b->lab.node[node],
                .homes = &b->lab.home[node],
                .n_homes = 1,
                .trusts_sizes = true},
        .what = {.dataset = vel_view_find_dataset(&b->lab.view, PULLLAB_DATASET),
                 .view = &b->lab.view}};
    return vel_kept_list(ret, place, b, err);
}

static const struct vel_brought_part *part_at(const struct vel_kept *kept, size_t i)
{
    return vel_vec_at(&kept->parts, i);
}

static void whose(void)
{
    static const int two_here[] = {0, 1, 2, 0}, apart[] = {1, 2, 3, 4},
                     no_memory[] = {0, 1, -1, 2};
    struct bench b;
    struct vel_kept kept;
    struct vel_err err = {0};

    begin(&b, ".", true);
    memcpy(b.keeper, two_here, sizeof two_here);
    ok(list(&b, 0, &kept, &err) == 0 && kept.parts.n == 2 &&
           part_at(&kept, 0)->rank == 0 && part_at(&kept, 1)->rank == 3,
       "a process keeps the parts that are placed at it, in the order of the sets");
    is_int(kept.exposed, 1, "and a set of which it keeps two is exposed");
    vel_kept_fini(&kept);
    memcpy(b.keeper, apart, sizeof apart);
    ok(list(&b, 0, &kept, &err) == 0 && kept.parts.n == 0 && kept.exposed == 0,
       "one may keep nothing, and a set whose parts are apart is not exposed");
    vel_kept_fini(&kept);
    memcpy(b.keeper, no_memory, sizeof no_memory);
    is_int(list(&b, 0, &kept, &err), VEL_ENOMEM, "who cannot tell has no memory");
    vel_kept_fini(&kept);
    end(&b);
}

static int keeper_of(const struct vel_view_dataset *d, int rank, const int *place_of,
                     int places)
{
    const struct vel_view_set *set = vel_vec_at(&d->sets, 0);

    return vel_view_keeper(d, (struct vel_view_place *)set->places.items + rank,
                           place_of, places);
}

static void holders(void)
{
    static const int places[] = {-1, 0, 1, 2, 3};
    struct bench b;
    struct vel_kept kept;
    struct vel_err err = {0};
    const struct vel_view_dataset *d;

    begin(&b, ".", true);
    pulllab_lose(&b.lab, 2);
    list(&b, 0, &kept, &err);
    d = kept.what.dataset;
    is_int(keeper_of(d, 1, NULL, MEMBERS + 1), 1, "who has a part keeps it");
    is_int(keeper_of(d, 2, NULL, MEMBERS + 1), 2,
           "one that nobody has goes to a node that has nothing of its set");
    is_int(keeper_of(d, 1, places, 4), 0, "where nodes have places, to one of these");
    is_int(keeper_of(d, 0, places, 4), 1,
           "one on a node without a place is made again where nothing of its set is");
    vel_kept_fini(&kept);
    end(&b);
}

static void come(void)
{
    struct bench b;
    struct vel_kept kept;
    struct vel_err err = {0};
    int rc;

    begin(&b, ".", true); /* all are placed at this process, on node 1 */
    pulllab_lose(&b.lab, 3);
    rc = list(&b, 1, &kept, &err);
    pulllab_damage(&b.lab, 1, 0, SEED);
    if (rc == 0)
        rc = vel_kept_bring(&kept, &b.source.source, &err);
    ok(rc == 0 && kept.came[VEL_PULL_HERE] == 1 && kept.came[VEL_PULL_OWNER] == 2 &&
           kept.came[VEL_PULL_REBUILT] == 1,
       "parts come by the first way that works");
    if (rc < 0)
        note("%s", err.text);
    ok(part_at(&kept, 1)->way == VEL_PULL_HERE && !part_at(&kept, 1)->has_come &&
           redlab_state_of(part_at(&kept, 1)->dir) != b.lab.state[1],
       "one that is here stays as it is: its sizes are right");
    ok(part_at(&kept, 3)->way == VEL_PULL_REBUILT && part_at(&kept, 3)->has_come &&
           redlab_state_of(part_at(&kept, 3)->dir) == b.lab.state[3],
       "one that nobody has comes as it was");
    vel_kept_fini(&kept);
    end(&b);
}

static void no_store(void)
{
    static const int mine[] = {1, 0, 1, 1}, other[] = {0, 1, 1, 1};
    struct bench b;
    struct vel_kept kept;
    struct vel_err err = {0};

    begin(&b, "not/mounted", false);
    memcpy(b.keeper, mine, sizeof mine);
    list(&b, 1, &kept, &err);
    ok(vel_kept_bring(&kept, &b.source.source, &err) == 0,
       "what is here is kept also when the store of its level is not there");
    vel_kept_fini(&kept);
    memcpy(b.keeper, other, sizeof other);
    list(&b, 1, &kept, &err);
    ok(vel_kept_bring(&kept, &b.source.source, &err) < 0 &&
           strstr(err.text, "not/mounted is not there") && part_at(&kept, 0)->way < 0,
       "but nothing comes to where it would be");
    vel_kept_fini(&kept);
    end(&b);
}

int main(void)
{
    whose();
    holders();
    come();
    no_store();
    return done_testing();
}
