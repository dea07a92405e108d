/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "conf/file.h"
#include "tap/tap.h"
#include "tap/topolab.h"

struct vel_conf *topolab_conf(const char *text)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0 ||
        vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text), NULL, NULL,
                       &err) < 0 ||
        vel_conf_finish(conf, &err) < 0)
        bail_out("settings: %s", err.text);
    return conf;
}

const char *topolab_line(const char *text)
{
    static char line[1024];

    snprintf(line, sizeof line, "%s", text);
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = ';';
    return line;
}

const char *topolab_node(const struct vel_comm *comm, const char *name, int n)
{
    static char node[300];

    snprintf(node, sizeof node, "%s%d", name, comm->rank * n / comm->size + 1);
    return node;
}

int topolab_open(struct vel_comm *world, const char *text, const char *node,
                 struct topolab *ret)
{
    const struct vel_reddesc_owner owner = {
        .fs = vel_fs_posix(), .user = "user", .prefix_id = "uuid"};

    *ret = (struct topolab){.conf = topolab_conf(text)};
    int rc = vel_groups_create(world, ret->conf, node, &ret->groups, &ret->err);
    if (rc == 0)
        rc = vel_stores_create(world, ret->conf, ret->groups, &ret->stores, &ret->err);
    if (rc == 0)
        rc = vel_reddescs_create(world, ret->conf, ret->stores, ret->groups, &owner,
                                 &ret->descs, NULL, &ret->err);
    return rc;
}

void topolab_close(struct topolab *lab)
{
    vel_reddescs_destroy(lab->descs);
    vel_stores_destroy(lab->stores);
    vel_groups_destroy(lab->groups);
    vel_conf_destroy(lab->conf);
}

bool topolab_is_ring(const struct vel_comm *world, const struct vel_reddesc *desc,
                     const char *name, int n)
{
    uint32_t ranks = desc->place.ranks, rank = desc->place.rank;
    int64_t members[VEL_SET_MAX] = {0};
    char node[32];

    members[rank] = world->rank;
    if (vel_comm_allreduce(desc->comm, VEL_COMM_SUM, members, ranks, NULL) < 0)
        return false;
    snprintf(node, sizeof node, "%s%d", name, desc->rhs.rank * n / world->size + 1);
    return desc->comm->size == (int)ranks && desc->comm->rank == (int)rank &&
           desc->lhs.place == (rank + ranks - 1) % ranks &&
           desc->rhs.place == (rank + 1) % ranks &&
           desc->lhs.rank == members[desc->lhs.place] &&
           desc->rhs.rank == members[desc->rhs.place] &&
           strcmp(desc->rhs.node, node) == 0;
}

static void count(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    struct topolab_log *log = arg;

    log->infos += level == VEL_LOG_INFO;
    log->warnings += level == VEL_LOG_WARN;
    snprintf(log->last, sizeof log->last, "%.*s", (int)len - 1, line);
}

void topolab_listen(struct topolab_log *log, bool is_speaker)
{
    const struct vel_log_sink sink = {
        .level = VEL_LOG_INFO, .is_speaker = is_speaker, .write = count, .arg = log};

    if (log)
        *log = (struct topolab_log){0};
    vel_log_open(log ? &sink : NULL);
}
