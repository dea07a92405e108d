/* SPDX-License-Identifier: BSD-3-Clause */
/* Files protected in the sets of a descriptor, in its own run and in a later one. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"
#include "red/set.h"
#include "tap/mtap.h"
#include "tap/redlab.h"
#include "tap/tap.h"
#include "tap/topolab.h"

static struct vel_red_set set_of(const struct vel_reddesc *desc, uint32_t rank,
                                 const char *root)
{
    return (struct vel_red_set){.comm = desc->comm,
                                .scheme = desc->scheme,
                                .m = desc->m,
                                .set = desc->place.set,
                                .sets = desc->place.sets,
                                .rank = rank,
                                .fs = vel_fs_posix(),
                                .dir = redlab_dir(root, rank),
                                .label = "topo",
                                .memory = 1 << 20};
}

/* Files of this rank, protected with the descriptor's bytes; what they are. */
static uint64_t protect(struct vel_comm *comm, const struct vel_reddesc *desc,
                        const char *root)
{
    struct vel_red_set set = set_of(desc, (uint32_t)comm->rank, root);
    struct vel_vec names;
    struct vel_buf bytes;
    struct vel_err err = {0};

    vel_buf_init(&bytes);
    redlab_lose(root, set.rank);
    redlab_make(root, set.rank, 5, 30000, &names);
    int rc = vel_reddesc_encode(desc, &bytes, &err);
    if (rc == 0)
        rc = vel_red_apply(&set, names.items, names.n, bytes.data, bytes.len, NULL,
                           &err);
    mis_int(rc, 0, "files are protected %s", err.text);
    vel_fs_names_fini(&names);
    vel_buf_fini(&bytes);
    return redlab_state(root, set.rank);
}

/* Ranks first and first + 1 lose all; *ret_whole: are my files as they were? */
static int lose_two(struct vel_comm *comm, const struct vel_reddesc *desc, int first,
                    uint64_t state, const char *root, bool *ret_whole)
{
    struct vel_red_set set = set_of(desc, (uint32_t)comm->rank, root);
    struct vel_red_report report;

    if (comm->rank == first || comm->rank == first + 1)
        redlab_lose(root, set.rank);
    int rc = vel_red_recover(&set, &report, NULL);
    if (rc == 0)
        vel_red_report_fini(&report);
    *ret_whole = redlab_state(root, set.rank) == state;
    return rc;
}

static void hop_distance(struct vel_comm *comm)
{
    char root[512], text[64];
    struct topolab lab;
    bool is_whole;

    for (int hop = 1; hop <= 2; hop++) {
        snprintf(text, sizeof text, "SET_SIZE=4\nHOP_DISTANCE=%d", hop);
        snprintf(root, sizeof root, "%s/hop%d", mtap_dir(), hop);
        mis_int(topolab_open(comm, text, topolab_node(comm, "n", 8), &lab), 0,
                "XOR over eight nodes, %s %s", topolab_line(text), lab.err.text);
        uint64_t state = protect(comm, lab.descs->items, root);
        int rc = lose_two(comm, lab.descs->items, 2, state, root, &is_whole);
        if (hop == 1)
            mok(comm->rank < 4 ? rc == VEL_EINVAL && (comm->rank / 2 == 1) != is_whole
                               : rc == 0 && is_whole,
                "two neighbouring nodes are too much for their set");
        else
            mok(rc == 0 && is_whole, "two neighbouring nodes come back");
        topolab_close(&lab);
    }
}

/* --- a later run */

/* This rank's descriptor as a later run finds it. */
static struct vel_reddesc reread(const struct vel_reddesc *desc)
{
    struct vel_reddesc again;
    struct vel_buf bytes;
    struct vel_err err = {0};

    vel_buf_init(&bytes);
    if (vel_reddesc_encode(desc, &bytes, &err) < 0 ||
        vel_reddesc_decode(bytes.data, bytes.len, &again, &err) < 0)
        bail_out("%s", err.text);
    vel_buf_fini(&bytes);
    return again;
}

static void under_another_configuration(struct vel_comm *comm)
{
    static const char before[] = "SET_SIZE=4\nHOP_DISTANCE=2\nCACHE_BASE=/ssd";
    static const char after[] = "COPY_TYPE=PARTNER\nREPLICAS=2\nCACHE_BASE=/new\n"
                                "GROUPS=m1 SWITCH=1\nGROUPS=m2 SWITCH=2\nSET_SIZE=3\n"
                                "GROUPS=m3 SWITCH=3\nGROUPS=m4 SWITCH=4";
    struct vel_comm *world = NULL;
    struct topolab lab;
    struct vel_err err = {0};
    char root[512];
    bool is_whole;

    snprintf(root, sizeof root, "%s/later", mtap_dir());
    mis_int(topolab_open(comm, before, topolab_node(comm, "n", 8), &lab), 0,
            "one run %s", lab.err.text);
    uint64_t state = protect(comm, lab.descs->items, root);
    struct vel_reddesc desc = reread(lab.descs->items);
    int32_t place = (int32_t)lab.descs->items[0].place.rank;
    topolab_close(&lab);

    /* ranks in another order, on other nodes */
    if (vel_comm_split(comm, 0, -comm->rank, &world, NULL) < 0)
        bail_out("no communicator");
    mis_int(topolab_open(world, after, topolab_node(world, "m", 4), &lab), 0,
            "another run, with other nodes and settings %s", lab.err.text);
    mis_int(vel_reddesc_join(world, lab.stores, lab.groups, &desc, &err), 0,
            "finds the sets of the first one %s", err.text);
    mok(desc.scheme == VEL_XOR && desc.hop_distance == 2 && desc.set_size == 4 &&
            desc.place.ranks == 4 && desc.comm->rank == place,
        "with their scheme and places");
    mok(topolab_is_ring(world, &desc, "m", 4), "and the neighbours of now");
    mok(desc.store == NULL && desc.group == vel_groups_find(lab.groups, "NODE"),
        "the store is gone, the group is not");
    mis_int(lose_two(comm, &desc, 4, state, root, &is_whole), 0,
            "what the first run protected");
    mok(is_whole, "comes back");
    vel_reddesc_fini(&desc);
    topolab_close(&lab);
    vel_comm_destroy(world);
}

static void change_first(struct vel_reddesc *desc)
{
    desc->place.rank = 0;
}
static void change_rank(struct vel_reddesc *desc)
{
    desc->place.rank = 2;
}
static void change_set(struct vel_reddesc *desc)
{
    desc->place.set = 1 - desc->place.set;
}
static void change_size(struct vel_reddesc *desc)
{
    desc->place.ranks = 5;
}
static void change_sets(struct vel_reddesc *desc)
{
    desc->place.sets = 3;
}
static void change_scheme(struct vel_reddesc *desc)
{
    desc->scheme = VEL_XOR;
}
static void change_losses(struct vel_reddesc *desc)
{
    desc->m = 1;
}
static void change_index(struct vel_reddesc *desc)
{
    desc->index++;
}

/* Every descriptor is good by itself, and they do not fit together. */
static void contradictions(struct vel_comm *comm)
{
    static const struct {
        const char *what;
        void (*change)(struct vel_reddesc *desc);
    } changes[] = {
        {"the first place", change_first}, {"the place of another", change_rank},
        {"another set", change_set},       {"a larger set", change_size},
        {"more sets", change_sets},        {"another scheme", change_scheme},
        {"fewer losses", change_losses},   {"another level", change_index}};
    struct topolab lab;

    mis_int(topolab_open(comm, "COPY_TYPE=RS\nSET_FAILURES=2\nSET_SIZE=4",
                         topolab_node(comm, "n", 8), &lab),
            0, "descriptors of two sets %s", lab.err.text);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct vel_reddesc desc = reread(lab.descs->items);
        struct vel_err err = {0};

        if (comm->rank == 5)
            changes[i].change(&desc);
        int rc = vel_reddesc_join(comm, lab.stores, lab.groups, &desc, &err);
        mok(rc == VEL_ECORRUPT && err.text[0] && !desc.comm && !desc.members,
            "one rank tells of %s: %s", changes[i].what, err.text);
        vel_reddesc_fini(&desc);
    }
    topolab_close(&lab);
}

int main(int argc, char **argv)
{
    struct topolab_log log;
    struct vel_comm *comm;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    if (!mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, &err) == 0 && comm->size == 8,
             "a communicator of eight %s", err.text))
        return mtap_done();
    topolab_listen(&log, false); /* losses have their warnings */
    hop_distance(comm);
    under_another_configuration(comm);
    contradictions(comm);
    vel_comm_destroy(comm);
    return mtap_done();
}
