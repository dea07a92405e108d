/* SPDX-License-Identifier: BSD-3-Clause */
/* What other nodes hold: the leaders of launches that are not over are asked. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/ls.h"
#include "ident/endpoint.h"
#include "link/client.h"
#include "meta/launch.h"

/* As long as this many do not answer each is given its time; then no more are asked. */
enum { MISSING_MOST = 3 };

struct asking {
    struct vel_ls *ls;
    struct vel_ls_unit *unit;
    const struct vel_key *key; /* NULL: none is there */
    const char *launch;
    unsigned missing; /* leaders that did not answer */
};

static bool is_told(const struct vel_ls_unit *unit, const char *node)
{
    for (size_t i = 0; i < unit->nodes.n; i++)
        if (strcmp(((struct vel_inventory *)vel_vec_at(&unit->nodes, i))->node, node) ==
            0)
            return true;
    return false;
}

static int ask(const struct asking *a, const struct vel_endpoint *endpoint,
               struct vel_inventory *ret, struct vel_err *err)
{
    const struct vel_client_conf conf = {
        .rank = VEL_MSG_NO_RANK,
        .launch = a->launch,
        .node = endpoint->node,
        .leader = endpoint->endpoints,
        .key = a->key,
        .limit_ms = (unsigned)(a->ls->conf->peer_timeout * 1000)};
    struct vel_client *client = NULL;
    int rc = vel_client_open_tool(&conf, &client, err);

    if (rc == 0)
        rc = vel_client_stock(client, ret, err);
    vel_client_close(client);
    if (rc == 0 && strcmp(ret->node, endpoint->node) != 0) {
        rc = vel_fail(err, VEL_EUNSAFE, "node %s answers in its place", ret->node);
        vel_inventory_fini(ret);
    }
    return rc;
}

static void ask_node(struct asking *a, const struct vel_endpoint *endpoint)
{
    struct vel_inventory inventory;
    struct vel_err err = {0};
    struct vel_ls_silent silent;
    int rc;

    if (is_told(a->unit, endpoint->node))
        return;
    if (a->missing >= MISSING_MOST)
        rc = vel_fail(&err, VEL_ETIMEOUT, "others did not answer");
    else if (!endpoint->endpoints[0])
        rc = vel_fail(&err, VEL_ECORRUPT,
                      "the record of where it listens cannot be "
                      "read");
    else
        rc = ask(a, endpoint, &inventory, &err);
    if (rc == 0) {
        const struct vel_ls_teller teller = {.node = vel_ls_copy(endpoint->node),
                                             .launch = vel_ls_copy(a->launch)};

        vel_ls_told_opened(a->ls, a->unit, &inventory);
        vel_ls_push(&a->unit->nodes, &inventory);
        vel_ls_push(&a->unit->tellers, &teller);
        return;
    }
    a->missing += rc == VEL_ETIMEOUT;
    silent = (struct vel_ls_silent){.node = vel_ls_copy(endpoint->node),
                                    .why = vel_ls_copy(err.text)};
    vel_ls_push(&a->unit->silent, &silent);
}

static void ask_launch(struct asking *a)
{
    char *dir = vel_ls_need(vel_launch_dir(a->unit->dir, a->launch));
    struct vel_vec nodes;
    bool is_over;

    vel_launch_is_over(a->ls->fs, a->unit->dir, a->launch, &is_over, NULL);
    if (!is_over && vel_endpoint_list(a->ls->fs, dir, &nodes, NULL) == 0) {
        for (size_t i = 0; i < nodes.n; i++)
            ask_node(a, vel_vec_at(&nodes, i));
        vel_endpoint_list_fini(&nodes);
    }
    free(dir);
}

/* Nobody makes one because somebody looks. */
static bool has_key(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                    struct vel_key *ret)
{
    struct vel_buf path;
    bool has;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/key.%ld", unit->dir, (long)geteuid());
    has = vel_fs_exists(ls->fs, vel_buf_text(&path)) &&
          vel_key_get(ls->fs, unit->dir, geteuid(), ret, NULL) == 0;
    vel_buf_fini(&path);
    return has;
}

void vel_ls_ask(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    struct vel_key key;
    struct asking a = {.ls = ls, .unit = unit};

    if (!unit->dir || unit->is_given)
        return;
    a.key = has_key(ls, unit, &key) ? &key : NULL;
    for (size_t i = 0; i < unit->evidence.over.n; i++) {
        a.launch = *(char **)vel_vec_at(&unit->evidence.over, i);
        ask_launch(&a);
    }
}
