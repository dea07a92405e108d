/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "meta/cache.h"
#include "meta/prefix.h"
#include "red/redfile.h"
#include "sys/host.h"
#include "tap/behindlab.h"
#include "tap/crowd.h"
#include "tap/tap.h"

void behindlab_init(struct behindlab *l)
{
    memset(l, 0, sizeof *l);
    seslab_init(&l->lab, 1);
    seslab_set(&l->lab, "MODE", "ASYNC");
    seslab_set(&l->lab, "VIRTUAL_NODES", "4");
    seslab_set(&l->lab, "SET_SIZE", "4");
    seslab_set(&l->lab, "FLUSH", "0");
}

struct running {
    struct behindlab *l;
    struct standin *standin;
    behindlab_f *play;
};

static int member(struct vel_comm *comm, void *arg)
{
    const struct running *r = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc = seslab_open_with(&r->l->lab, comm, vel_fs_posix(),
                              standin_seat(r->standin, comm->rank), &s, &err);

    if (rc == 0)
        rc = r->play(r->l, s, comm->rank, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    if (vel_session_close(s, r->l->reason, &err) < 0 && rc == 0)
        note("rank %d: %s", comm->rank, err.text);
    return rc;
}

bool behindlab_run(struct behindlab *l, behindlab_f *play)
{
    struct running r = {.l = l, .standin = l->standin, .play = play};
    bool is_mine = !l->standin, is_good;

    if (is_mine)
        l->standin = r.standin = standin_create(BEHINDLAB_RANKS);
    is_good = crowd_run(BEHINDLAB_RANKS, NULL, member, &r, NULL) == 0;
    if (is_mine) {
        standin_destroy(l->standin);
        l->standin = NULL;
    }
    return is_good;
}

bool behindlab_all(const struct behindlab *l, int what, int64_t value)
{
    for (int i = 0; i < BEHINDLAB_RANKS; i++)
        if (l->note[i][what] != value) {
            note("rank %d noted %" PRId64, i, l->note[i][what]);
            return false;
        }
    return true;
}

int behindlab_alone(struct behindlab *l, struct vel_session *s,
                    void (*act)(struct standin *standin))
{
    struct vel_comm *world = vel_session_world(s);
    int rc = vel_comm_barrier(world, NULL);

    if (rc == 0 && world->rank == 0)
        act(l->standin);
    return rc == 0 ? vel_comm_barrier(world, NULL) : rc;
}

void behindlab_hold(struct standin *standin)
{
    standin_hold(standin, true);
}

void behindlab_let_go(struct standin *standin)
{
    standin_hold(standin, false);
}

/* A rank's directory of a dataset; false when there is none. */
static bool find_part(const struct seslab *lab, int rank, int64_t id, char ret[2048])
{
    char veloc[600], prefix_id[VEL_PREFIX_ID];
    struct vel_host host = {0};

    snprintf(veloc, sizeof veloc, "%s/.veloc", lab->prefix);
    if (!id || vel_host_init(&host, NULL) < 0 ||
        vel_prefix_look(vel_fs_posix(), veloc, prefix_id, NULL) < 0)
        return false;
    snprintf(ret, 2048, "%s/%s.v%d/%s/%s/index.0/dataset.%" PRId64 "/rank.%d",
             lab->cache, host.node, rank, host.user, prefix_id, id, rank);
    vel_host_fini(&host);
    return true;
}

static int scheme_of(const struct behindlab *l, int rank, int64_t id)
{
    int scheme = 0;
    char dir[2048];
    struct vel_vec red = {0};

    if (!find_part(&l->lab, rank, id, dir) ||
        vel_redfile_scan(vel_fs_posix(), dir, VEL_CACHE_LABEL, (uint32_t)rank, &red,
                         NULL) < 0)
        return 0;
    if (red.n)
        scheme = red.n > 1 ? -1 : (int)vel_redfile_at(&red, 0)->header.layout.scheme;
    vel_redfiles_fini(&red);
    return scheme;
}

int behindlab_scheme(const struct behindlab *l, struct vel_session *s, int64_t version)
{
    struct vel_comm *world = vel_session_world(s);

    vel_comm_barrier(world, NULL); /* rank 0 enters it */
    return scheme_of(l, world->rank, seslab_id(&l->lab, version));
}

int behindlab_last_scheme(const struct behindlab *l, struct vel_session *s)
{
    struct vel_comm *world = vel_session_world(s);

    vel_comm_barrier(world, NULL);
    return scheme_of(l, world->rank, seslab_last_id(&l->lab));
}
