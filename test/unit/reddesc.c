/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors as one process sees them: which level is chosen, what is persisted, and
 * what is refused when it is read. test/mpi/topo.c has sets. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "tap/topolab.h"
#include "topo/level.h"
#include "topo/reddesc.h"

/* --- which level */

static int64_t chosen(const struct vel_reddescs *descs, int64_t id, bool is_output,
                      const double *seconds_since)
{
    const struct vel_reddesc_use use = {
        .id = id, .is_output = is_output, .seconds_since = seconds_since};
    const struct vel_reddesc *desc = vel_reddesc_choose(descs, &use);

    return desc ? (int64_t)desc->index : -1;
}

static void open_or_bail(const char *text, struct topolab *lab)
{
    struct vel_comm *self;

    if (vel_comm_self(&self, NULL) < 0 || topolab_open(self, text, "h", lab) < 0)
        bail_out("%s", lab->err.text);
    vel_comm_destroy(self);
}

static void by_count(void)
{
    struct topolab lab;

    open_or_bail("GROUPS=h SWITCH=0\n"
                 "CKPT=0 INTERVAL=1 GROUP=NODE   STORE=/tmp TYPE=XOR     SET_SIZE=16\n"
                 "CKPT=1 INTERVAL=4 GROUP=NODE   STORE=/ssd TYPE=XOR     SET_SIZE=8\n"
                 "CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=/ssd TYPE=PARTNER\n",
                 &lab);
    static const int want[] = {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2};
    int bad = 0;
    for (int id = 1; id <= 16; id++)
        bad += chosen(lab.descs, id, false, NULL) != want[id];
    is_int(bad, 0, "of intervals 1, 4 and 8 the largest that divides the number");
    is_str(lab.descs->items[2].directory, "/ssd/user/uuid/index.2",
           "each level has a directory of its own");
    topolab_close(&lab);
    open_or_bail("GROUPS=h SWITCH=0 POWER=p\n"
                 "CKPT=2 INTERVAL=4 GROUP=POWER STORE=/tmp TYPE=XOR\n"
                 "CKPT=0 INTERVAL=1 GROUP=NODE STORE=/tmp TYPE=SINGLE\n"
                 "CKPT=1 INTERVAL=3 GROUP=SWITCH STORE=/tmp TYPE=XOR\n",
                 &lab);
    is_int(lab.descs->items[2].interval, 4, "levels are sorted by their numbers");
    is_int(chosen(lab.descs, 12, false, NULL), 2, "12: by 4 rather than by 3");
    is_int(chosen(lab.descs, 9, false, NULL), 1, "9: by 3");
    is_int(chosen(lab.descs, 7, false, NULL), 0, "7: by 1");
    topolab_close(&lab);
}

static void by_time_and_use(void)
{
    struct topolab lab;

    open_or_bail("CKPT=0 INTERVAL=1\nCKPT=1 INTERVAL=60s STORE=/a\n"
                 "CKPT=2 INTERVAL=10m STORE=/b\nCKPT=3 INTERVAL=2 OUTPUT=1\n"
                 "CKPT=4 INTERVAL=5 ENABLED=0",
                 &lab);
    double since[5] = {0, 59.9, 599, 0, 0};
    is_int(chosen(lab.descs, 3, false, since), 0, "no level by time is due");
    since[1] = 60;
    is_int(chosen(lab.descs, 2, false, since), 1,
           "a level that is due goes before those by count");
    since[2] = INFINITY;
    is_int(chosen(lab.descs, 2, false, since), 2, "of two that are due the longer");
    is_int(chosen(lab.descs, 3, false, NULL), 0, "without a clock none is due");
    is_int(chosen(lab.descs, 7, true, since), 3, "outputs have a level of their own");
    is_int(chosen(lab.descs, 5, false, NULL), 0, "a disabled level is passed over");
    ok(!lab.descs->items[4].enabled && lab.descs->items[4].comm == NULL &&
           lab.descs->items[4].place.sets == 0,
       "and has no sets");
    lab.descs->items[0].enabled = false;
    is_int(chosen(lab.descs, 7, false, NULL), -1, "there may be no level at all");
    topolab_close(&lab);
}

/* COPY_TYPE says all, and lines are not looked at. */
static void of_copy_type(void)
{
    struct topolab lab;
    struct vel_ckpt level;

    open_or_bail("COPY_TYPE=PARTNER\nCKPT=0\nCKPT=1 INTERVAL=2", &lab);
    ok(lab.descs->n == 1 && vel_level_count(lab.conf) == 1 &&
           vel_level_at(lab.conf, 0, &level) && level.id == VEL_LEVEL_IMPLIED &&
           vel_level_scheme(&level) == VEL_PARTNER,
       "COPY_TYPE=PARTNER beside CKPT lines is one level of that scheme");
    is_int(chosen(lab.descs, 2, false, NULL), 0, "which every checkpoint has");
    topolab_close(&lab);
}

/* --- the persisted form */

static char *str(const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        bail_out("out of memory");
    return copy;
}

static struct vel_reddesc sample(void)
{
    return (struct vel_reddesc){.enabled = true,
                                .index = 2,
                                .interval = -600,
                                .store_name = str("/s%\xff"),
                                .group_name = str("POWER\xc3\xa4"),
                                .base = str("/s%\xff/n1"),
                                .directory = str("/s%\xff/n1/u/id/index.2"),
                                .scheme = VEL_RS,
                                .m = 3,
                                .set_size = 8,
                                .hop_distance = 2,
                                .is_output = true,
                                .is_bypass = true,
                                .place = {.set = 4, .sets = 5, .rank = 0, .ranks = 9},
                                .lhs = {.place = 8, .rank = 70, .node = str("n8")},
                                .rhs = {.place = 1, .rank = 11, .node = str("n2")}};
}

static bool is_same(const struct vel_reddesc *a, const struct vel_reddesc *b)
{
    return a->enabled == b->enabled && a->index == b->index &&
           a->interval == b->interval && strcmp(a->store_name, b->store_name) == 0 &&
           strcmp(a->group_name, b->group_name) == 0 && strcmp(a->base, b->base) == 0 &&
           strcmp(a->directory, b->directory) == 0 && a->scheme == b->scheme &&
           a->m == b->m && a->set_size == b->set_size &&
           a->hop_distance == b->hop_distance && a->is_output == b->is_output &&
           a->is_bypass == b->is_bypass &&
           memcmp(&a->place, &b->place, sizeof a->place) == 0 &&
           a->lhs.place == b->lhs.place && a->lhs.rank == b->lhs.rank &&
           strcmp(a->lhs.node, b->lhs.node) == 0 && a->rhs.place == b->rhs.place &&
           a->rhs.rank == b->rhs.rank && strcmp(a->rhs.node, b->rhs.node) == 0;
}

static void there_and_back(void)
{
    struct vel_reddesc desc = sample(), again;
    struct vel_err err = {0};
    struct vel_node *node = vel_reddesc_to_node(&desc);

    is_int(vel_reddesc_from_node(node, &again, &err), 0, "a descriptor is read back");
    ok(is_same(&desc, &again), "with all that is persisted");
    ok(again.comm == NULL && again.store == NULL, "and nothing that is of a run");
    vel_reddesc_fini(&again);
    vel_node_destroy(node);
    desc.enabled = false;
    desc.place = (struct vel_place){0};
    node = vel_reddesc_to_node(&desc);
    is_int(vel_reddesc_from_node(node, &again, &err), 0, "a disabled level, too,");
    ok(!again.enabled && again.place.sets == 0 && again.lhs.node == NULL,
       "without a set");
    vel_reddesc_fini(&again);
    vel_node_destroy(node);
    vel_reddesc_fini(&desc);
}

static const char good[] =
    "{\"ENABLED\":true,\"INDEX\":0,\"INTERVAL\":1,\"GROUP\":\"NODE\",\"STORE\":\"/s\","
    "\"BASE\":\"/s\",\"DIRECTORY\":\"/s/u/i/index.0\",\"TYPE\":\"PARTNER\","
    "\"LOSSES\":2,\"SET_SIZE\":4,\"HOP_DISTANCE\":1,\"OUTPUT\":false,\"BYPASS\":false,"
    "\"GROUPS\":3,\"GROUP_ID\":2,\"GROUP_SIZE\":4,\"GROUP_RANK\":3,"
    "\"LEFT\":{\"RANK\":0,\"NODE\":\"a\"},\"RIGHT\":{\"RANK\":2,\"NODE\":\"b\"}}";

static int decode(const char *text, struct vel_reddesc *ret, struct vel_err *err)
{
    struct vel_node *node = NULL;

    *err = (struct vel_err){0};
    int rc = vel_node_parse(text, strlen(text), &node, err);
    if (rc == 0)
        rc = vel_reddesc_from_node(node, ret, err);
    vel_node_destroy(node);
    return rc;
}

/* the good text with something else in the place of `from` */
static const char *edited(const char *from, const char *to)
{
    static char text[2048];
    const char *at = strstr(good, from);

    if (!at)
        bail_out("no %s", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to,
             at + strlen(from));
    return text;
}

static void hostile_values(void)
{
    static const struct {
        const char *from, *to;
        const char *part; /* of the sentence */
    } bad[] = {
        {"\"ENABLED\":true", "\"ENABLED\":1", "ENABLED"},
        {"\"INDEX\":0", "\"INDEX\":-1", "INDEX"},
        {"\"INTERVAL\":1", "\"INTERVAL\":0", "INTERVAL"},
        {"\"INTERVAL\":1", "\"INTERVAL\":9e99", "INTERVAL"},
        {"\"/s/u/i/index.0\"", "\"/t/u/i/index.0\"", "does not lie in"},
        {"\"/s/u/i/index.0\"", "\"/s/../etc\"", "DIRECTORY"},
        {"\"/s/u/i/index.0\"", "\"/s/%0A\"", "DIRECTORY"},
        {"\"/s/u/i/index.0\"", "\"s/u\"", "DIRECTORY"},
        {"\"BASE\":\"/s\"", "\"BASE\":\"/\"", "BASE"},
        {"\"BASE\":\"/s\"", "\"BASE\":\"/sd\"", "BASE"},
        {"\"STORE\":\"/s\"", "\"STORE\":\"/s/\"", "STORE"},
        {"\"STORE\":\"/s\"", "\"STORE\":7", "STORE"},
        {"\"PARTNER\"", "\"RAID\"", "TYPE"},
        {"\"PARTNER\"", "\"XOR\"", "LOSSES"},
        {"\"PARTNER\"", "\"SINGLE\"", "LOSSES"},
        {"\"LOSSES\":2", "\"LOSSES\":4", "LOSSES"},
        {"\"LOSSES\":2", "\"LOSSES\":0", "LOSSES"},
        {"\"LOSSES\":2", "\"LOSSES\":-1", "LOSSES"},
        {"\"SET_SIZE\":4", "\"SET_SIZE\":257", "SET_SIZE"},
        {"\"HOP_DISTANCE\":1", "\"HOP_DISTANCE\":0", "HOP_DISTANCE"},
        {"\"GROUPS\":3", "\"GROUPS\":0", "GROUPS"},
        {"\"GROUPS\":3", "\"GROUPS\":2147483647", "GROUPS"},
        {"\"GROUP_ID\":2", "\"GROUP_ID\":3", "GROUP_ID"},
        {"\"GROUP_ID\":2", "\"GROUP_ID\":-1", "GROUP_ID"},
        {"\"GROUP_SIZE\":4", "\"GROUP_SIZE\":0", "GROUP_SIZE"},
        {"\"GROUP_SIZE\":4", "\"GROUP_SIZE\":1000000000", "GROUP_SIZE"},
        {"\"GROUP_RANK\":3", "\"GROUP_RANK\":4", "GROUP_RANK"},
        {"\"RANK\":0", "\"RANK\":-1", "LEFT"},
        {"\"NODE\":\"b\"", "\"NODE\":\"../b\"", "RIGHT"},
        {"{\"RANK\":2,\"NODE\":\"b\"}", "[]", "RIGHT"},
    };
    struct vel_reddesc desc;
    struct vel_err err;

    is_int(decode(good, &desc, &err), 0, "a good descriptor is read");
    vel_reddesc_fini(&desc);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int rc = decode(edited(bad[i].from, bad[i].to), &desc, &err);

        ok(rc == VEL_ECORRUPT && strstr(err.text, bad[i].part), "%s: %s", bad[i].to,
           err.text);
    }
}

/* every key of the good text in turn under another name */
static void missing_keys(void)
{
    struct vel_reddesc desc;
    struct vel_err err;
    int keys = 0, bad = 0;

    for (const char *at = good; (at = strchr(at, '"')); at = strchr(at + 1, '"') + 1) {
        char key[32], gone[40];

        snprintf(key, sizeof key, "%.*s", (int)strcspn(at + 1, "\"") + 3, at);
        if (key[strlen(key) - 1] != ':')
            continue; /* a value */
        snprintf(gone, sizeof gone, "\"_%s", key + 1);
        keys++;
        bad += decode(edited(key, gone), &desc, &err) != VEL_ECORRUPT;
        key[strlen(key) - 2] = '\0';
        bad += strstr(err.text, key + 1) == NULL;
    }
    is_int(bad, 0, "each of %d keys is missed by name", keys);
}

/* --- one node */

static void one_node(void)
{
    struct topolab_log log;
    struct topolab lab;

    topolab_listen(&log, true);
    open_or_bail("", &lab);
    const struct vel_reddesc *desc = &lab.descs->items[0];
    ok(lab.descs->n == 1 && desc->scheme == VEL_SINGLE && desc->m == 0 &&
           desc->interval == 1 && desc->enabled,
       "without settings, on one node: one level of single copies");
    ok(strcmp(desc->directory, "/tmp/user/uuid/index.0") == 0 &&
           strcmp(desc->base, "/tmp") == 0,
       "in %s", desc->directory);
    ok(desc->place.ranks == 1 && desc->comm->size == 1 && desc->lhs.rank == 0 &&
           strcmp(desc->rhs.node, "h") == 0,
       "a set of one is its own neighbour");
    is_int(log.infos * 10 + log.warnings, 10, "one line tells: %s", log.last);
    topolab_close(&lab);
    topolab_listen(&log, true);
    open_or_bail("COPY_TYPE=SINGLE", &lab);
    is_int(log.infos + log.warnings, 0, "who asks for single copies hears nothing");
    topolab_close(&lab);
    topolab_listen(NULL, false);
}

static void bad(const char *text, const char *part)
{
    struct vel_comm *self;
    struct topolab lab;

    if (vel_comm_self(&self, NULL) < 0)
        bail_out("no communicator");
    is_int(topolab_open(self, text, "h", &lab), VEL_ECONFIG, "refused: %s",
           topolab_line(text));
    ok(strstr(lab.err.text, part) != NULL, "  %s", lab.err.text);
    topolab_close(&lab);
    vel_comm_destroy(self);
}

static void owners(void)
{
    const struct vel_reddesc_owner evil = {
        .fs = vel_fs_posix(), .user = "../root", .prefix_id = "uuid"};
    struct vel_reddescs *descs;
    struct vel_comm *self;
    struct topolab lab;

    open_or_bail("", &lab);
    if (vel_comm_self(&self, NULL) < 0)
        bail_out("no communicator");
    is_int(vel_reddescs_create(self, lab.conf, lab.stores, lab.groups, &evil, &descs,
                               NULL, &lab.err),
           VEL_ECONFIG, "a user's name cannot lead out of the store");
    ok(strstr(lab.err.text, "../root") != NULL, "  %s", lab.err.text);
    vel_comm_destroy(self);
    topolab_close(&lab);
}

int main(void)
{
    by_count();
    by_time_and_use();
    of_copy_type();
    there_and_back();
    hostile_values();
    missing_keys();
    one_node();
    owners();
    bad("GROUP=SWITCH", "GROUP=SWITCH");
    bad("STORE=/tmp ENABLED=0", "not enabled");
    bad("STORE=/p TYPE=PFS\nCACHE_BASE=/p", "parallel file system");
    bad("CACHE_BASE=/", "cannot be a directory");
    return done_testing();
}
