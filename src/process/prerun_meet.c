/* SPDX-License-Identifier: BSD-3-Clause */
/* Tools find each other by records in the directory of their launch: each says where it
 * listens, tool 0 tells all of all. What tools that were killed have left is replaced.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "comm/sock.h"
#include "conf/load.h"
#include "ident/launchid.h"
#include "ident/once.h"
#include "meta/launch.h"
#include "meta/terms.h"
#include "process/launcher.h"
#include "process/prerun_in.h"
#include "record/record.h"
#include "sys/entropy.h"
#include "sys/sock.h"

enum {
    FORMAT = 1,
    MARK = 8,     /* random bytes by which a tool knows its own record */
    LOOK_MS = 10, /* first wait between two looks, */
    LOOK_MOST = 500,
    BUSY_MS = 24 * 3600 * 1000, /* a node may pull for long */
};

struct meeting {
    struct vel_prerun *p;
    struct vel_comm_listener *listener;
    char mark[VEL_HEX_ROOM(MARK)];
    char *self; /* "ENDPOINT MARK" */
    uint64_t until;
    uint8_t token[VEL_COMM_TOKEN];
    char **told; /* as self, of all */
};

/* --- records --- */

static char *path_of(const struct meeting *m, int tool)
{
    char name[32] = "tools";

    if (tool >= 0)
        snprintf(name, sizeof name, "tool.%d", tool);
    return vel_launch_path(m->p->dir, m->p->launch, name);
}

static int save_self(const struct meeting *m, struct vel_err *err)
{
    char *path = path_of(m, m->p->of->node);
    struct vel_node *body = vel_node_object();
    int rc = !path || !body || vel_node_set_text(body, "at", m->self)
                 ? vel_out_of_memory(err, "meeting the other tools")
                 : vel_record_save(m->p->of->fs, path, "tool", FORMAT, body, err);

    vel_node_destroy(body);
    free(path);
    return rc;
}

/* VEL_ENOENT: it has not come. */
static int load_one(const struct meeting *m, int tool, char **ret, struct vel_err *err)
{
    char *path = path_of(m, tool);
    struct vel_node *body = NULL;
    const char *text;
    int version;
    int rc =
        path ? vel_record_load(m->p->of->fs, path, "tool", FORMAT, &version, &body, err)
             : vel_out_of_memory(err, "meeting the other tools");

    if (rc == 0)
        rc = vel_node_get_text(body, "at", &text, err);
    if (rc == 0 && !(*ret = strdup(text)))
        rc = vel_out_of_memory(err, "meeting the other tools");
    vel_node_destroy(body);
    free(path);
    return rc;
}

static int save_all(const struct meeting *m, struct vel_err *err)
{
    char *path = path_of(m, -1);
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    bool is_made = path && body && list;
    int rc;

    for (int i = 0; is_made && i < m->p->of->nodes; i++)
        is_made = vel_node_append_text(list, m->told[i]) == 0;
    is_made =
        is_made && vel_node_set_bytes(body, "token", m->token, sizeof m->token) == 0;
    if (is_made) {
        is_made = vel_node_adopt(body, "tools", list) == 0;
        list = NULL;
    }
    rc = is_made ? vel_record_save(m->p->of->fs, path, "tools", FORMAT, body, err)
                 : vel_out_of_memory(err, "meeting the other tools");
    vel_node_destroy(list);
    vel_node_destroy(body);
    free(path);
    return rc;
}

static int read_all(struct meeting *m, const struct vel_node *body, struct vel_err *err)
{
    const struct vel_node *list;
    const char *text;
    int nodes = m->p->of->nodes;
    int rc = vel_node_get_bytes(body, "token", m->token, sizeof m->token, err);

    if (rc == 0)
        rc = vel_node_get_list(body, "tools", &list, err);
    if (rc == 0 && vel_node_count(list) != (size_t)nodes)
        rc = vel_fail(err, VEL_ECORRUPT, "the tools of this launch are %zu, not %d",
                      vel_node_count(list), nodes);
    for (int i = 0; rc == 0 && i < nodes; i++) {
        rc = vel_node_text_at(list, (size_t)i, &text, err);
        free(m->told[i]);
        m->told[i] = rc == 0 ? strdup(text) : NULL;
        if (rc == 0 && !m->told[i])
            rc = vel_out_of_memory(err, "meeting the other tools");
    }
    return rc;
}

/* VEL_ENOENT: tool 0 has not told it, or not of us. */
static int load_all(struct meeting *m, struct vel_err *err)
{
    char *path = path_of(m, -1);
    struct vel_node *body = NULL;
    int version;
    int rc = path ? vel_record_load(m->p->of->fs, path, "tools", FORMAT, &version,
                                    &body, err)
                  : vel_out_of_memory(err, "meeting the other tools");

    if (rc == 0)
        rc = read_all(m, body, err);
    if (rc == 0 && strcmp(m->told[m->p->of->node], m->self) != 0)
        rc = vel_fail(err, VEL_ENOENT, "it is of tools that were here before");
    vel_node_destroy(body);
    free(path);
    return rc;
}

/* --- waiting --- */

/* False: the time is over. */
static bool wait_a_bit(const struct meeting *m, uint64_t *ms)
{
    struct vel_clock *clock = m->p->of->clock;

    if (vel_clock_monotonic(clock) > m->until)
        return false;
    vel_clock_sleep(clock, *ms * VEL_CLOCK_MS);
    *ms = *ms * 2 < LOOK_MOST ? *ms * 2 : LOOK_MOST;
    return true;
}

static int fail_absent(const struct meeting *m, struct vel_err *err)
{
    struct vel_buf absent;
    int here = 0;

    vel_buf_init(&absent);
    for (int i = 0; i < m->p->of->nodes; i++)
        if (m->told[i])
            here++;
        else if (absent.len < 200)
            vel_buf_printf(&absent, "%s%d", absent.len ? ", " : "", i);
    vel_fail(err, VEL_ETIMEOUT,
             "of %d tools %d came; missing: number %s. Start one on each node, at the "
             "same time",
             m->p->of->nodes, here, vel_buf_text(&absent));
    vel_buf_fini(&absent);
    return VEL_ETIMEOUT;
}

/* Tool 0: who is there now says so again. */
static int gather(struct meeting *m, struct vel_err *err)
{
    int nodes = m->p->of->nodes, rc = 0;
    uint64_t ms = LOOK_MS;

    for (int i = -1; rc == 0 && i < nodes; i++) {
        char *path = path_of(m, i);

        rc = path ? vel_fs_unlink(m->p->of->fs, path, err)
                  : vel_out_of_memory(err, "meeting the other tools");
        rc = rc == VEL_ENOENT ? 0 : rc;
        free(path);
    }
    m->told[0] = strdup(m->self);
    if (rc == 0 && !m->told[0])
        rc = vel_out_of_memory(err, "meeting the other tools");
    for (int next = 1; rc == 0 && next < nodes;) {
        struct vel_err why = {0};

        rc = load_one(m, next, &m->told[next], &why);
        next += rc == 0;
        if (rc == VEL_ENOENT)
            rc = wait_a_bit(m, &ms) ? 0 : fail_absent(m, err);
        else if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    return rc == 0 ? save_all(m, err) : rc;
}

static int wait_for_all(struct meeting *m, struct vel_err *err)
{
    char *path = path_of(m, m->p->of->node);
    uint64_t ms = LOOK_MS;
    int rc = path ? VEL_ENOENT : vel_out_of_memory(err, "meeting the other tools");

    while (rc == VEL_ENOENT) {
        struct vel_err why = {0};

        rc = vel_fs_exists(m->p->of->fs, path) ? 0 : save_self(m, err);
        if (rc < 0)
            break;
        rc = load_all(m, &why);
        if (rc == VEL_ENOENT && !wait_a_bit(m, &ms))
            rc = vel_fail(err, VEL_ETIMEOUT,
                          "the tool of number 0 has not come, or waits for others: "
                          "start one on each node, at the same time");
        else if (rc < 0 && rc != VEL_ENOENT)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    free(path);
    return rc;
}

/* --- the world --- */

/* At the first address that others reach; without a network all nodes are here. */
static int listen_here(struct meeting *m, struct vel_err *err)
{
    struct vel_vec addresses;
    struct vel_buf self;
    uint8_t mark[MARK];
    char at[64] = "tcp:127.0.0.1:0";
    int rc = vel_sock_addresses(&addresses, err);

    if (rc < 0)
        return rc;
    if (addresses.n > 0)
        snprintf(at, sizeof at, "tcp:%s:0", *(char **)vel_vec_at(&addresses, 0));
    vel_fs_names_fini(&addresses);
    rc = vel_comm_sock_listen(at, &m->listener, err);
    if (rc == 0)
        rc = vel_entropy(mark, sizeof mark, err);
    if (rc == 0)
        rc = vel_entropy(m->token, sizeof m->token, err);
    if (rc < 0)
        return rc;
    vel_hex(mark, sizeof mark, m->mark);
    vel_buf_init(&self);
    vel_buf_printf(&self, "%s %s", vel_comm_listener_endpoint(m->listener), m->mark);
    m->self = vel_buf_take(&self, NULL);
    return m->self ? 0 : vel_out_of_memory(err, "meeting the other tools");
}

static int make_world(struct meeting *m, struct vel_err *err)
{
    const struct vel_prerun_of *of = m->p->of;
    const struct vel_comm_sock_conf conf = {.limit_ms = vel_prerun_limit(m->p),
                                            .busy_ms = BUSY_MS};
    int rc = listen_here(m, err);

    m->told = calloc((size_t)of->nodes, sizeof *m->told);
    if (rc == 0 && !m->told)
        rc = vel_out_of_memory(err, "meeting the other tools");
    if (rc == 0)
        rc = of->node == 0 ? gather(m, err) : wait_for_all(m, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < of->nodes; i++)
        m->told[i][strcspn(m->told[i], " ")] = '\0';
    return vel_comm_sock_meet(m->listener, of->node, of->nodes,
                              (const char *const *)m->told, m->token, &conf,
                              &m->p->world, err);
}

static int name_launch(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_prerun_of *of = p->of;
    struct vel_launcher launcher;
    char named[VEL_LAUNCH_ROOM];
    struct vel_launch_self self = {.dir = p->dir,
                                   .user = geteuid(),
                                   .program = "h5veloc-prerun",
                                   .working_dir = named,
                                   .rank = of->node,
                                   .ranks = of->nodes,
                                   .clock = of->clock,
                                   .limit = vel_prerun_limit(p) * VEL_CLOCK_MS};
    bool is_child;
    int rc;

    if (of->nodes == 1)
        return vel_launchid_fresh(p->launch, err);
    vel_launcher_ask(vel_conf_variable, NULL, &launcher);
    launcher.texts.launch = of->conf->launch;
    /* a name may be that of the program, too: ours is another launch */
    rc = vel_launchid_named(&launcher.texts, named, err);
    return rc < 0 ? rc : vel_launchid_meet(of->fs, &self, p->launch, &is_child, err);
}

int vel_prerun_meet(struct vel_prerun *p, struct vel_err *err)
{
    const struct vel_conf *conf = p->of->conf;
    uint64_t limit = vel_prerun_limit(p) * VEL_CLOCK_MS +
                     (uint64_t)(conf->view_wait * (double)VEL_CLOCK_S);
    struct meeting m = {.p = p, .until = vel_clock_deadline(p->of->clock, limit)};
    int rc = name_launch(p, err);

    if (rc < 0)
        return rc;
    rc = p->of->nodes == 1 ? vel_comm_self(&p->world, err) : make_world(&m, err);
    vel_comm_listener_destroy(m.listener);
    for (int i = 0; m.told && i < p->of->nodes; i++)
        free(m.told[i]);
    free(m.told);
    free(m.self);
    return rc;
}

void vel_prerun_forgo(const struct vel_prerun *p)
{
    const struct vel_terms_self self = {.launch = p->launch,
                                        .node = p->node ? p->node : ""};
    char *dir = p->launch[0] ? vel_launch_dir(p->dir, p->launch) : NULL;
    bool is_mine;

    if (dir)
        vel_terms_end(p->of->fs, dir, &self, NULL, &is_mine, NULL);
    free(dir);
}
