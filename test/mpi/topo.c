/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups, stores and levels of eight ranks on whatever nodes a configuration gives
 * them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "comm/mpi.h"
#include "tap/mtap.h"
#include "tap/tap.h"
#include "tap/topolab.h"

/* the four nodes of contract row S-115, the second with its groups the other way round
 */
#define ZIN                                                                            \
    "GROUPS=zin1 POWER=psu1 SWITCH=0\nGROUPS=zin2 SWITCH=1 POWER=psu1\n"               \
    "GROUPS=zin3 POWER=psu2 SWITCH=0\nGROUPS=zin4 POWER=psu2 SWITCH=1\n"

/* Does every rank hold the same sentence, but for "rank 0: " of those who heard it? */
static bool is_shared(struct vel_comm *comm, const char *text)
{
    struct vel_buf all;
    size_t *lens = NULL;
    bool same = true;

    vel_buf_init(&all);
    if (strncmp(text, "rank ", 5) == 0 && strchr(text, ':'))
        text = strchr(text, ':') + 2;
    if (vel_comm_allgather(comm, text, strlen(text), &all, &lens, NULL) < 0)
        bail_out("no sentences");
    for (int i = 0; i < comm->size; i++)
        same = same && lens[i] == strlen(text) &&
               memcmp(all.data + (size_t)i * lens[0], text, lens[0]) == 0;
    free(lens);
    vel_buf_fini(&all);
    return same;
}

static void refused(struct vel_comm *comm, const char *text, const char *node,
                    const char *part)
{
    struct topolab lab;

    mis_int(topolab_open(comm, text, node, &lab), VEL_ECONFIG, "refused: %.160s",
            topolab_line(text));
    mok(strstr(lab.err.text, part) != NULL, "  on all: %s", lab.err.text);
    topolab_close(&lab);
}

/* --- groups and stores */

/* Are the members of this rank's group those whose bits are set? */
static bool has_members(struct vel_comm *comm, const struct topolab *lab,
                        const char *name, unsigned want)
{
    const struct vel_group *group = vel_groups_find(lab->groups, name);
    int64_t members = 1 << comm->rank;

    if (!group || vel_comm_allreduce(group->comm, VEL_COMM_SUM, &members, 1, NULL) < 0)
        return false;
    return members == (int64_t)want && group->comm->size == __builtin_popcount(want);
}

static void four_nodes(struct vel_comm *comm)
{
    static const unsigned power[] = {0x0f, 0x0f, 0xf0, 0xf0};
    static const unsigned switches[] = {0x33, 0xcc, 0x33, 0xcc};
    static const char *const names[] = {"NODE", "WORLD", "POWER", "SWITCH"};
    int node = comm->rank / 2;
    struct topolab lab;

    mis_int(topolab_open(comm,
                         ZIN "STORE=/ssd\nSTORE=/p GROUP=WORLD\nSTORE=/bb GROUP=SWITCH",
                         topolab_node(comm, "zin", 4), &lab),
            0, "four nodes with power supplies and switches %s", lab.err.text);
    bool fine = lab.groups->n == 4;
    for (size_t i = 0; fine && i < 4; i++)
        fine = strcmp(lab.groups->items[i].name, names[i]) == 0;
    mok(fine, "names have one order, whatever that of a node's line");
    mok(has_members(comm, &lab, "NODE", 3u << node * 2), "NODE is two ranks each");
    mok(has_members(comm, &lab, "WORLD", 0xff), "WORLD is all");
    mok(has_members(comm, &lab, "POWER", power[node]), "POWER is zin1,2 and zin3,4");
    mok(has_members(comm, &lab, "SWITCH", switches[node]),
        "SWITCH is zin1,3 and zin2,4");
    const struct vel_group *group = vel_groups_find(lab.groups, "SWITCH");
    mok(group->count == 2 && group->id == (unsigned)node % 2,
        "groups are numbered by their lowest rank");
    mok(lab.stores->n == 4 && vel_stores_find(lab.stores, "/p")->comm->size == 8 &&
            vel_stores_find(lab.stores, "/bb")->comm->size == 4 &&
            vel_stores_find(lab.stores, "/ssd")->comm->size == 2,
        "a store is shared by the members of its group");
    mok(vel_stores_find(lab.stores, "/ssd")->comm !=
            vel_groups_find(lab.groups, "NODE")->comm,
        "on a communicator of its own");
    topolab_close(&lab);
}

static void virtual_nodes(struct vel_comm *comm)
{
    static const char text[] = "VIRTUAL_NODES=4\nGROUPS=host SWITCH=0\n"
                               "GROUPS=host.v1 SWITCH=1\nGROUPS=host.v3 SWITCH=1\n";
    struct vel_conf *conf = topolab_conf(text);
    char name[] = "host";
    struct vel_host host = {.node = name};
    struct topolab lab;
    char *node;

    if (vel_node_name(conf, &host, comm->rank, comm->size, &node, NULL) < 0)
        bail_out("no name");
    mis_int(topolab_open(comm, text, node, &lab), 0, "four virtual nodes %s",
            lab.err.text);
    mok(has_members(comm, &lab, "NODE", 3u << comm->rank / 2 * 2),
        "are nodes like others");
    mok(has_members(comm, &lab, "SWITCH", comm->rank / 2 % 2 ? 0xcc : 0x33),
        "and have groups by their own name or that of the host");
    mok(strstr(lab.descs->items[0].directory, node) != NULL,
        "each has a cache directory of its own");
    free(node);
    topolab_close(&lab);
    vel_conf_destroy(conf);
}

static void missing_lines(struct vel_comm *comm)
{
    char name[200];
    struct topolab lab;

    refused(comm, "GROUPS=zin1 POWER=1", topolab_node(comm, "zin", 4),
            "nodes zin2, zin3, zin4:");
    refused(comm, "GROUPS=a1 POWER=1\nGROUPS=a2 POWER=1 SWITCH=1\nGROUPS=x RACK=2",
            topolab_node(comm, "a", 2),
            "group SWITCH is missing on the GROUPS line of a1,");
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mis_int(topolab_open(comm, "GROUPS=x POWER=1", topolab_node(comm, name, 8), &lab),
            VEL_ECONFIG, "many long names");
    mok(strstr(lab.err.text, "and 6 more: ") != NULL, "are not all in the sentence");
    mok(is_shared(comm, lab.err.text), "which is the same on all ranks");
    topolab_close(&lab);
}

static void other_settings(struct vel_comm *comm)
{
    const char *node = topolab_node(comm, "n", 8);
    bool is_odd = comm->rank == 3;

    refused(comm, is_odd ? "STORE=/a COUNT=2" : "STORE=/a COUNT=1", node, "COUNT=2");
    refused(comm, is_odd ? "SET_SIZE=4" : "SET_SIZE=5", node, "SET_SIZE=4");
    refused(comm, is_odd ? "CKPT=0\nCKPT=1 INTERVAL=2" : "CKPT=0", node, "INTERVAL=2");
    refused(comm, is_odd ? "GROUPS=n4 A=1" : "FETCH=1", node, "GROUPS line");
    refused(comm, is_odd ? "STORE=/a GROUP=B" : "STORE=/a", node, "GROUP=B");
    refused(comm, is_odd ? "GROUP=B" : "FETCH=1", node, "GROUP=B");
}

/* --- levels */

/* A job that goes on with few nodes must not fail for that. */
static void exposed(struct vel_comm *comm, const char *text, const char *node,
                    int level, const char *part)
{
    struct topolab_log log;
    struct topolab lab;

    topolab_listen(&log, comm->rank == 0);
    mis_int(topolab_open(comm, text, node, &lab), 0, "too few groups: %.160s",
            topolab_line(text));
    mok(lab.descs->items[level].scheme == VEL_SINGLE &&
            lab.descs->items[level].is_exposed,
        "  are a single copy that is to be flushed at once");
    mok(comm->rank != 0 || (log.warnings == 1 && strstr(log.last, part)),
        "  and told: %s", comm->rank == 0 ? log.last : "");
    topolab_close(&lab);
    topolab_listen(NULL, false);
}

/* Do the members of this rank's set, as the descriptor tells them, all have other
 * values under its group? */
static bool is_spread(const struct vel_reddesc *desc)
{
    int64_t of[8] = {0};
    bool apart = true;

    of[desc->group->id] = 1;
    if (vel_comm_allreduce(desc->comm, VEL_COMM_SUM, of, 8, NULL) < 0)
        return false;
    for (int i = 0; i < 8; i++)
        apart = apart && of[i] <= 1;
    return apart;
}

static void three_levels(struct vel_comm *comm)
{
    struct topolab lab;

    mis_int(topolab_open(
                comm,
                ZIN
                "CKPT=0 INTERVAL=1 GROUP=NODE   STORE=/tmp TYPE=XOR     SET_SIZE=16\n"
                "CKPT=1 INTERVAL=4 GROUP=NODE   STORE=/ssd TYPE=XOR     SET_SIZE=2\n"
                "CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=/ssd TYPE=PARTNER\n",
                topolab_node(comm, "zin", 4), &lab),
            0, "three levels %s", lab.err.text);
    const struct vel_reddesc *descs = lab.descs->items;
    mok(lab.descs->n == 3 && descs[0].scheme == VEL_XOR && descs[0].m == 1 &&
            descs[0].place.ranks == 4 && descs[0].place.sets == 2,
        "SET_SIZE is a minimum: four nodes are one set for each rank of a node");
    mok(descs[1].place.ranks == 2 && descs[1].place.sets == 4,
        "of 2 there are twice as many");
    mok(descs[2].scheme == VEL_PARTNER && descs[2].m == 1 && descs[2].place.ranks == 2,
        "partners are on two switches");
    mok(is_spread(&descs[0]) && is_spread(&descs[1]) && is_spread(&descs[2]),
        "no set has two members in one failure group");
    mok(topolab_is_ring(comm, &descs[0], "zin", 4) &&
            topolab_is_ring(comm, &descs[1], "zin", 4) &&
            topolab_is_ring(comm, &descs[2], "zin", 4),
        "a set is a ring whose members know their neighbours and their nodes");
    topolab_close(&lab);
}

static void schema_example(struct vel_comm *comm)
{
    const struct vel_reddesc_use twelve = {.id = 12};
    struct topolab lab;

    mis_int(topolab_open(comm,
                         ZIN "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/tmp TYPE=SINGLE\n"
                             "CKPT=1 INTERVAL=3 GROUP=SWITCH STORE=/tmp TYPE=XOR\n"
                             "CKPT=2 INTERVAL=4 GROUP=POWER STORE=/tmp TYPE=XOR\n",
                         topolab_node(comm, "zin", 4), &lab),
            0, "the example of the VELOC schema %s", lab.err.text);
    const struct vel_reddesc *descs = lab.descs->items;
    mok(vel_reddesc_choose(lab.descs, &twelve) == &descs[2],
        "12, which 3 and 4 divide, takes level 2");
    mok(descs[0].place.ranks == 1 && descs[0].place.set == (unsigned)comm->rank &&
            descs[0].place.sets == 8,
        "under SINGLE everybody is alone");
    mok(is_spread(&descs[1]) && is_spread(&descs[2]) && descs[1].place.ranks == 2,
        "sets go across switches, and across power supplies");
    topolab_close(&lab);
}

static void too_few_groups(struct vel_comm *comm)
{
    struct topolab_log log;
    struct topolab lab;

    topolab_listen(&log, comm->rank == 0);
    mis_int(topolab_open(comm, "CKPT=0\nCKPT=1 INTERVAL=2 TYPE=RS SET_FAILURES=1", "n",
                         &lab),
            0, "on a single node %s", lab.err.text);
    mok(lab.descs->items[0].scheme == VEL_SINGLE && lab.descs->items[0].m == 0 &&
            lab.descs->items[1].scheme == VEL_SINGLE &&
            lab.descs->items[1].place.ranks == 1,
        "every level keeps a single copy");
    mok(log.infos == (comm->rank == 0) && log.warnings == 0, "one line tells: %s",
        log.last);
    topolab_close(&lab);

    topolab_listen(&log, comm->rank == 0);
    mis_int(topolab_open(comm,
                         "GROUPS=n1 SWITCH=a\nGROUPS=n2 SWITCH=a\nCKPT=0\n"
                         "CKPT=1 INTERVAL=2 GROUP=SWITCH",
                         topolab_node(comm, "n", 2), &lab),
            0, "two nodes on one switch %s", lab.err.text);
    mok(lab.descs->items[0].scheme == VEL_XOR &&
            lab.descs->items[1].scheme == VEL_SINGLE,
        "only the level that needs two switches is single");
    mok(log.warnings == (comm->rank == 0) && log.infos == 0,
        "and that is a warning: %s", log.last);
    topolab_close(&lab);
    topolab_listen(NULL, false);

    exposed(comm, "COPY_TYPE=PARTNER\nREPLICAS=3", topolab_node(comm, "n", 2), 0,
            "needs 4");
    exposed(comm, "CKPT=0\nCKPT=7 INTERVAL=2 TYPE=RS SET_FAILURES=4",
            topolab_node(comm, "n", 4), 1, "needs 5");
}

/* On `n` ranks of the eight, each on a node of its own. */
static void rs_sets(struct vel_comm *comm, int n, const char *text, int sets, int m)
{
    struct vel_comm *some = NULL;
    struct topolab lab;

    if (vel_comm_split(comm, comm->rank < n, comm->rank, &some, NULL) < 0)
        bail_out("no communicator");
    bool is_in = comm->rank < n;
    int rc = is_in ? topolab_open(some, text, topolab_node(some, "n", n), &lab) : 0;
    if (m == 0) {
        mis_int(rc, is_in ? VEL_ECONFIG : 0, "%d nodes: refused: %s", n,
                topolab_line(text));
        mok(!is_in || strstr(lab.err.text, "multiple of 4"), "  %s",
            is_in ? lab.err.text : "");
    } else {
        const struct vel_reddesc *desc = rc == 0 && is_in ? lab.descs->items : NULL;

        mok(!is_in || (desc && desc->m == (size_t)m && desc->scheme == VEL_RS &&
                       desc->place.sets == (unsigned)sets &&
                       desc->place.ranks == (unsigned)(n / sets)),
            "%d nodes, %s: %d sets bear %d losses %s", n, topolab_line(text), sets, m,
            is_in ? lab.err.text : "");
    }
    if (is_in)
        topolab_close(&lab);
    vel_comm_destroy(some);
}

static void reed_solomon(struct vel_comm *comm)
{
    rs_sets(comm, 8, "COPY_TYPE=RS", 1, 4);
    rs_sets(comm, 8, "COPY_TYPE=RS\nSET_SIZE=4", 2, 2);
    rs_sets(comm, 8, "COPY_TYPE=RS\nSET_SIZE=4\nSET_FAILURES=3", 2, 3);
    rs_sets(comm, 6, "COPY_TYPE=RS\nSET_FAILURES=5", 1, 5);
    rs_sets(comm, 6, "COPY_TYPE=RS", 0, 0);
    rs_sets(comm, 7, "COPY_TYPE=RS\nSET_SIZE=4", 0, 0);
    rs_sets(comm, 8, "COPY_TYPE=RS\nSET_SIZE=6", 0, 0);
}

int main(int argc, char **argv)
{
    struct vel_comm *comm;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    if (!mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, &err) == 0 && comm->size == 8,
             "a communicator of eight %s", err.text))
        return mtap_done();
    four_nodes(comm);
    virtual_nodes(comm);
    missing_lines(comm);
    other_settings(comm);
    three_levels(comm);
    schema_example(comm);
    too_few_groups(comm);
    reed_solomon(comm);
    vel_comm_destroy(comm);
    return mtap_done();
}
