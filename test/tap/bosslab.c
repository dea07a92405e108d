/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/bosslab.h"
#include "tap/tap.h"

enum { MOVES = 4 };

static struct vel_err err;

static void boss_send(struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_err why = {0};

    if (vel_link_send(link, msg, &why) < 0)
        note("boss: %s", why.text);
}

static void boss_place(struct boss *boss, struct vel_link *link,
                       const struct vel_msg *msg)
{
    struct vel_msg place = {.kind = VEL_MSG_PLACE, .seq = msg->seq};
    char path[200];

    place.u.place.where = 1;
    if (msg->u.create.how == VEL_CREATE_IS_OPEN) {
        atomic_fetch_add(&boss->told, 1);
        place.u.place.where = boss->knows_nothing ? 0 : 1;
    }
    snprintf(path, sizeof path, "/cache/%.100s", msg->u.create.name);
    place.u.place.file = (uint64_t)boss->epoch * 1000 + ++boss->files;
    place.u.place.path = path;
    boss_send(link, &place);
}

static void boss_state(struct boss *boss, struct vel_link *link, uint64_t seq,
                       uint64_t dataset)
{
    struct vel_msg state = {.kind = VEL_MSG_STATE, .seq = seq};

    state.u.state.dataset = dataset;
    state.u.state.state = 3;
    state.u.state.left = 10;
    state.u.state.moved = 20;
    state.u.state.status = (uint64_t)-VEL_ENOSPC;
    state.u.state.text = "no room";
    if (!boss->reverses) {
        boss_send(link, &state);
        return;
    }
    boss->held_link[boss->n_held] = link;
    boss->held[boss->n_held++] = seq;
    for (int i = BOSS_HELD; boss->n_held == BOSS_HELD && i-- > 0;) {
        state.seq = boss->held[i];
        boss_send(boss->held_link[i], &state);
    }
    boss->n_held %= BOSS_HELD;
}

/* An inventory in two pieces, of which the second may say that there is one more. */
static void boss_stock(const struct boss *boss, struct vel_link *link,
                       const struct vel_msg *msg)
{
    struct vel_msg stocked = {.kind = VEL_MSG_STOCKED, .seq = msg->seq};
    struct vel_stock held = {.id = 7, .rank = 3};
    struct vel_inventory inventory;
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    if (vel_inventory_init(&inventory, "n1", &err) < 0 ||
        !vel_vec_push(&inventory.held, &held) ||
        vel_inventory_encode(&inventory, &bytes, &err) < 0)
        bail_out("boss: %s", err.text);
    size_t half = bytes.len / 2, part = (size_t)msg->u.stock.part;
    stocked.u.stocked.part = part;
    stocked.u.stocked.parts = part && boss->changes ? 3 : 2;
    stocked.u.stocked.record.at = bytes.data + part * half;
    stocked.u.stocked.record.len = part ? bytes.len - half : half;
    boss_send(link, &stocked);
    vel_inventory_fini(&inventory);
    vel_buf_fini(&bytes);
}

static void boss_hear(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct boss *boss = arg;
    struct vel_msg yes = {.kind = VEL_MSG_YES, .seq = msg->seq};
    struct vel_msg no = {.kind = VEL_MSG_NO, .seq = msg->seq};
    struct vel_msg pong = {.kind = VEL_MSG_PONG, .seq = msg->seq};

    if (msg->kind == boss->dies_at) {
        atomic_store(&boss->is_dead, true);
        return;
    }
    if (msg->kind == boss->deaf_to || atomic_load(&boss->is_dead))
        return;
    no.u.no.status = (uint64_t)-VEL_ENOENT;
    no.u.no.text = "there is no such thing";
    switch (msg->kind) {
    case VEL_MSG_CREATE:
        boss_place(boss, link, msg);
        break;
    case VEL_MSG_LOOK:
        boss->mover = link;
        boss->moving = msg->seq;
        boss->moves = msg->u.look.how == 1 ? MOVES : 0;
        boss->next_move = 0;
        break;
    case VEL_MSG_CLOSE:
        boss_send(link, msg->u.close.file / 1000 == (uint64_t)boss->epoch ? &yes : &no);
        break;
    case VEL_MSG_ASK:
    case VEL_MSG_DRAIN:
        boss_state(boss, link, msg->seq, msg->u.ask.dataset);
        break;
    case VEL_MSG_STOCK:
        boss_stock(boss, link, msg);
        break;
    case VEL_MSG_REMOVE:
        boss_send(link, strcmp(msg->u.remove.name, "lie") == 0 ? &pong : &no);
        break;
    case VEL_MSG_OWE:
        yes.u.yes.value = 2;
        boss_send(link, &yes);
        break;
    case VEL_MSG_PING:
        pong.u.pong.value = 42;
        boss_send(link, &pong);
        break;
    default:
        boss_send(link, &yes);
    }
}

/* Something moves, more often than T and longer than T. */
static void boss_move(struct boss *boss)
{
    struct vel_msg msg = {.kind = VEL_MSG_MOVES, .seq = boss->moving};
    uint64_t now = vel_clock_monotonic(vel_clock_system());

    if (!boss->mover || now < boss->next_move)
        return;
    boss->next_move = now + BOSS_SHORT_T / 2 * VEL_CLOCK_MS;
    if (boss->moves-- > 0) {
        boss_send(boss->mover, &msg);
        return;
    }
    msg.kind = VEL_MSG_PLACE;
    msg.u.place = (struct vel_msg_place){.where = 2, .path = "/p/x"};
    boss_send(boss->mover, &msg);
    boss->mover = NULL;
}

static void boss_met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    struct boss *boss = arg;

    (void)link, (void)peer;
    atomic_fetch_add(&boss->met, 1);
}

static void boss_gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    struct boss *boss = arg;

    (void)why;
    if (boss->mover == link)
        boss->mover = NULL;
}

static const struct vel_links_ops boss_ops = {
    .met = boss_met, .message = boss_hear, .gone = boss_gone};

static void *boss_run(void *arg)
{
    struct boss *boss = arg;
    struct vel_err why = {0};

    while (!atomic_load(&boss->stops) && !atomic_load(&boss->is_dead)) {
        struct pollfd none = {.fd = -1};

        if (atomic_load(&boss->is_frozen)) {
            poll(&none, 1, 1);
            continue;
        }
        if (vel_links_turn(boss->links, 5, &why) < 0)
            note("boss: %s", why.text);
        boss_move(boss);
    }
    vel_links_destroy(boss->links);
    return NULL;
}

void boss_start(struct boss *boss, const char *endpoint, int64_t epoch)
{
    const struct vel_links_me me = {.role = VEL_PEER_LEADER,
                                    .epoch = epoch,
                                    .rank = VEL_MSG_NO_RANK,
                                    .launch = "L",
                                    .node = "n1",
                                    .user = geteuid(),
                                    .limit_ms = BOSS_T,
                                    .clock = vel_clock_system()};

    boss->epoch = epoch;
    if (vel_links_create(&me, &boss_ops, boss, &boss->links, &err) < 0 ||
        vel_links_listen(boss->links, endpoint, &err) < 0 ||
        pthread_create(&boss->thread, NULL, boss_run, boss) != 0)
        bail_out("no leader: %s", err.text);
}

void boss_end(struct boss *boss)
{
    atomic_store(&boss->stops, true);
    pthread_join(boss->thread, NULL);
}

void boss_join(struct boss *boss)
{
    pthread_join(boss->thread, NULL);
}

/* --- clients --- */

const char *boss_leader_at(void)
{
    static char at[300];

    snprintf(at, sizeof at, "unix:%.200s/s", tap_dir());
    return at;
}

const char *boss_agent_at(void)
{
    static char at[300];

    snprintf(at, sizeof at, "unix:%.200s/a", tap_dir());
    return at;
}

struct vel_client_conf boss_client(unsigned limit_ms)
{
    return (struct vel_client_conf){.role = VEL_PEER_PROCESS,
                                    .rank = 3,
                                    .launch = "L",
                                    .node = "n1",
                                    .leader = boss_leader_at(),
                                    .user = geteuid(),
                                    .limit_ms = limit_ms};
}

struct vel_client *boss_open_client(const struct vel_client_conf *conf)
{
    struct vel_client *client = NULL;

    if (vel_client_open(conf, &client, &err) < 0)
        bail_out("cannot open: %s", err.text);
    return client;
}

static int lead(void *arg, struct vel_err *why)
{
    struct heirs *heirs = arg;

    if (heirs->n == heirs->most)
        return heirs->rc == 0
                   ? VEL_EBUSY
                   : vel_fail(why, (enum vel_status)heirs->rc, "nobody can lead");
    boss_start(&heirs->boss[heirs->n], boss_leader_at(), heirs->n + 1);
    heirs->n++;
    return 0;
}

static const struct vel_client_ops heirs_ops = {.lead = lead};

struct vel_client *heirs_open(struct heirs *heirs, unsigned limit_ms)
{
    struct vel_client_conf conf = boss_client(limit_ms);

    conf.ops = &heirs_ops;
    conf.arg = heirs;
    return boss_open_client(&conf);
}

void heirs_end(struct heirs *heirs)
{
    for (int i = 0; i < heirs->n; i++)
        boss_end(&heirs->boss[i]);
}
