/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset of the connector's files is called, which level it takes, and who sits
 * with whom: the same as topo/reddesc.h says where all ranks can be asked. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/compose.h"
#include "tap/tap.h"
#include "tap/topolab.h"
#include "topo/seats.h"

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* Ranks on nodes, `per` on each. */
static void make_seal(struct vel_seal *seal, const char *step, int ranks, int per)
{
    struct vel_err err = {0};

    vel_seal_init(seal);
    seal->template = strdup("out/ck.{n}.h5");
    seal->step = strdup(step);
    seal->generation = 3;
    for (int i = 0; i < ranks; i++) {
        char node[16];
        struct vel_seal_member member = {
            .rank = i, .node = node, .files = i % 2, .bytes = i % 2 * 10};

        snprintf(node, sizeof node, "n%d", i / per);
        must(vel_seal_add(seal, &member, &err), &err);
    }
}

static const double *since; /* each level was used last, s */

static int compose(const struct vel_conf *conf, int64_t checkpoint,
                   struct vel_seal *seal, struct vel_err *why)
{
    const struct vel_compose of = {.conf = conf,
                                   .line = vel_conf_line(conf, VEL_DATASET, 0),
                                   .id = 7,
                                   .checkpoint = checkpoint,
                                   .seconds_since = since};
    struct vel_err err = {0};
    int rc = vel_compose(&of, seal, why, &err);

    if (rc < 0)
        note("%s", err.text);
    return rc;
}

static bool has_seat(const struct vel_seal *seal, int64_t set, int64_t place)
{
    for (size_t i = 0; i < seal->members.n; i++)
        if (vel_seal_member(seal, i)->set == set &&
            (place < 0 || vel_seal_member(seal, i)->place == place))
            return true;
    return false;
}

/* Numbered from 0, as are the places of each. */
static bool are_sets_whole(const struct vel_seal *seal)
{
    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *m = vel_seal_member(seal, i);

        if ((m->set > 0 && !has_seat(seal, m->set - 1, -1)) ||
            (m->place > 0 && !has_seat(seal, m->set, m->place - 1)))
            return false;
    }
    return true;
}

static void whole(void)
{
    struct vel_conf *conf = topolab_conf("COPY_TYPE=XOR\nSET_SIZE=4\n");
    struct vel_seal seal;
    struct vel_err why = {0};
    int bad = 0;

    make_seal(&seal, "0042", 8, 2);
    is_int(compose(conf, 5, &seal, &why), 0, "a dataset is composed");
    is_str(seal.about.name, "out_ck.{n}.h5", "its name is its template, readable");
    ok(seal.about.is_leaders && seal.about.version == 42 &&
           seal.about.checkpoint == 5 && seal.about.ranks == 8 &&
           seal.about.nodes == 4 && seal.about.files == 4 && seal.about.bytes == 40,
       "its version is the step, its numbers are those of all ranks");
    ok(vel_seal_member(&seal, 0)->scheme == VEL_XOR &&
           vel_seal_member(&seal, 0)->failures == 1 && seal.id == 7 &&
           seal.what == (VEL_OWED_ENCODE | VEL_OWED_FLUSH),
       "it is encoded and flushed");
    for (size_t i = 0; i < seal.members.n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct vel_seal_member *a = vel_seal_member(&seal, i),
                                         *b = vel_seal_member(&seal, k);

            bad += a->set == b->set &&
                   (strcmp(a->node, b->node) == 0 || a->place == b->place);
        }
    is_int(bad, 0, "no two of a set are on one node, or in one place");
    ok(are_sets_whole(&seal), "and the sets are whole");
    vel_seal_fini(&seal);
    vel_conf_destroy(conf);
}

static void exposed(void)
{
    struct vel_conf *conf = topolab_conf("COPY_TYPE=XOR\nSET_SIZE=4\n");
    struct vel_seal seal;
    struct vel_err why = {0};

    make_seal(&seal, "", 4, 4);
    is_int(compose(conf, 1, &seal, &why), 0, "all files on one node");
    ok(vel_seal_member(&seal, 0)->scheme == VEL_SINGLE && seal.what == VEL_OWED_FLUSH &&
           *why.text,
       "have no redundancy, and a sentence says why: %s", why.text);
    is_int(seal.about.version, 3, "without a step the generation is the version");
    vel_seal_fini(&seal);
    vel_conf_destroy(conf);
}

static int64_t level_by(const struct vel_conf *conf, int64_t checkpoint,
                        enum vel_verdict verdict)
{
    struct vel_seal seal;
    struct vel_err why = {0};
    int64_t level = -1;

    make_seal(&seal, "1", 4, 1);
    seal.verdict = verdict;
    if (compose(conf, checkpoint, &seal, &why) == 0)
        level = vel_seal_member(&seal, 0)->level;
    vel_seal_fini(&seal);
    return level;
}

static int64_t level_of(const struct vel_conf *conf, int64_t checkpoint)
{
    return level_by(conf, checkpoint, VEL_VERDICT_SEALED);
}

static void levels_by_time(void)
{
    static const double used[] = {1, 59, INFINITY}, later[] = {1, 60, 1};
    struct vel_conf *conf = topolab_conf("CKPT=0 INTERVAL=1 STORE=/tmp/a TYPE=SINGLE\n"
                                         "CKPT=1 INTERVAL=60s STORE=/tmp/b TYPE=XOR\n"
                                         "CKPT=2 INTERVAL=10m STORE=/tmp/a TYPE=XOR\n");

    is_int(level_of(conf, 1), 0,
           "where nobody has told how long ago levels were used, "
           "none is due by time");
    since = used;
    is_int(level_of(conf, 1), 2, "one that never was is due");
    since = later;
    is_int(level_of(conf, 1), 1, "or whose seconds have passed");
    is_int(level_by(conf, 1, VEL_VERDICT_PARTIAL), 0,
           "but not for what is no checkpoint, which stays where it is");
    since = NULL;
    vel_conf_destroy(conf);
    conf = topolab_conf("CKPT=0 INTERVAL=1 STORE=/tmp/a TYPE=SINGLE\n"
                        "CKPT=1 INTERVAL=2 STORE=/tmp/a TYPE=SINGLE BYPASS=1\n");
    is_int(level_of(conf, 2), 0, "what is in a cache does not go past it");
    vel_conf_destroy(conf);
}

static void levels(void)
{
    struct vel_conf *conf = topolab_conf("CKPT=0 INTERVAL=1 STORE=/tmp/a TYPE=SINGLE\n"
                                         "CKPT=5 INTERVAL=4 STORE=/tmp/a TYPE=XOR\n"
                                         "CKPT=6 INTERVAL=8 STORE=/tmp/b TYPE=XOR\n");

    ok(level_of(conf, 1) == 0 && level_of(conf, 4) == 1,
       "the level is the one whose interval divides the number");
    is_int(level_of(conf, 8), 2, "whichever store it has");
    vel_conf_destroy(conf);
    conf = topolab_conf("CKPT=0 INTERVAL=1 STORE=/tmp/a TYPE=SINGLE\n"
                        "CKPT=6 INTERVAL=8 STORE=/tmp/b TYPE=XOR\n"
                        "DATASET=x PATTERN=* LEVEL=6\n");
    is_int(level_of(conf, 1), 1, "LEVEL= is that CKPT line");
    vel_conf_destroy(conf);
}

static void homes(void)
{
    struct vel_conf *conf = topolab_conf("CKPT=0 INTERVAL=1 STORE=/a TYPE=SINGLE\n"
                                         "CKPT=1 INTERVAL=2 STORE=/a/b TYPE=SINGLE\n"
                                         "STORE=/a MKDIR=0\nSTORE=/a/b\n");
    char deep[] = "/a/b/u/id", flat[] = "/a/u/id";
    char *both[] = {deep, flat};

    ok(vel_seats_home(conf, 0, both, 2) == 1 && vel_seats_home(conf, 1, both, 2) == 0 &&
           vel_seats_home(conf, 1, both + 1, 1) == 1,
       "the cache of a level is that of its store");
    ok(vel_seats_foreign_store(conf, 0) && !vel_seats_foreign_store(conf, 1),
       "MKDIR=0: its directory is made by others");
    vel_conf_destroy(conf);
}

/* The levels whose stores take files of a level, in turn. */
static bool spills(const struct vel_conf *conf, size_t first, const char *levels)
{
    size_t k = 0, level;

    while (vel_seats_spill(conf, first, k, &level))
        if (levels[k++] != (char)('0' + level))
            return false;
    return levels[k] == '\0';
}

static void next_stores(void)
{
    struct vel_conf *conf = topolab_conf(
        "CKPT=0 STORE=/a TYPE=SINGLE\nCKPT=1 INTERVAL=2 STORE=/b TYPE=XOR ENABLED=0\n"
        "CKPT=2 INTERVAL=2 STORE=/a TYPE=XOR\nCKPT=3 INTERVAL=4 STORE=/b TYPE=XOR\n"
        "CKPT=4 INTERVAL=4 STORE=/c TYPE=XOR BYPASS=1\n"
        "CKPT=5 INTERVAL=8 STORE=/d TYPE=XOR\nCKPT=6 INTERVAL=8 STORE=/b TYPE=XOR\n");

    ok(spills(conf, 0, "035"), "what a store cannot take goes to the next CKPT line's");
    ok(spills(conf, 2, "235"), "of another store, each once");
    ok(spills(conf, 5, "503"), "or to one before it");
    vel_conf_destroy(conf);
    conf = topolab_conf("STORE=/a\nSTORE=/b\nCACHE_BASE=/a\n");
    ok(spills(conf, 0, "0"), "without CKPT lines there is one");
    vel_conf_destroy(conf);
}

int main(void)
{
    whole();
    exposed();
    levels();
    levels_by_time();
    homes();
    next_stores();
    return done_testing();
}
