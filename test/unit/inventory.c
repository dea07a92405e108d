/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/messages.h"
#include "sys/lock.h"
#include "tap/files.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static const struct vel_inventory_of *caches_of(struct pulllab *lab, size_t node)
{
    static struct vel_host host;
    static struct vel_inventory_of of;

    host = (struct vel_host){.node = lab->node[node], .user = (char *)"me"};
    of = (struct vel_inventory_of){.fs = redlab_fs(),
                                   .clock = vel_clock_system(),
                                   .host = &host,
                                   .homes = &lab->home[node],
                                   .n_homes = 1};
    return &of;
}

static void take(struct pulllab *lab, size_t node, struct vel_inventory *ret)
{
    struct vel_err err = {0};

    if (vel_inventory_take(caches_of(lab, node), 0, ret, &err) < 0)
        bail_out("%s", err.text);
}

static const struct vel_stock_encoding *encoding_of(const struct vel_inventory *in)
{
    const struct vel_stock *stock = vel_vec_at(&in->held, 0);

    return vel_vec_at(&stock->encodings, 0);
}

static void what_is_there(void)
{
    struct pulllab lab;
    struct vel_inventory in;
    char path[1100];

    pulllab_make(&lab, tap_path("lab"), VEL_RS, 5, 2, 3, 2000);
    take(&lab, 1, &in);
    const struct vel_stock *stock = vel_vec_at(&in.held, 0);
    const struct vel_stock_encoding *e = encoding_of(&in);
    ok(in.held.n == 1 && stock->id == PULLLAB_DATASET && stock->rank == 1 &&
           stock->has_about && stock->about.ranks == 5,
       "a node tells its parts, and of which dataset they are");
    ok(e->scheme == VEL_RS && e->n == 5 && e->m == 2 && e->member == 1 && e->is_whole &&
           e->lists.n == 3 &&
           ((struct vel_stock_list *)vel_vec_at(&e->lists, 2))->rank == 4,
       "how each is protected, and whose lists it keeps");
    vel_inventory_fini(&in);

    snprintf(path, sizeof path, "%s/file-0.h5", pulllab_dir(&lab, 1, 1));
    ok(truncate(path, 1) == 0, "a file is cut");
    take(&lab, 1, &in);
    ok(in.held.n == 1 && !encoding_of(&in)->is_whole, "then its part is not whole");
    vel_inventory_fini(&in);

    take(&lab, lab.n, &in);
    ok(in.held.n == 0 && !vel_fs_exists(redlab_fs(), lab.home[lab.n]),
       "a cache that is not there holds nothing, and none is made");
    vel_inventory_fini(&in);
    pulllab_fini(&lab);
}

static void locked(void)
{
    struct pulllab lab;
    struct vel_inventory in;
    struct vel_lock *lock;
    struct vel_err err = {0};
    char *path;

    pulllab_make(&lab, tap_path("lab"), VEL_XOR, 2, 1, 3, 2000);
    path = vel_inventory_lock_path(lab.home[0]);
    if (vel_lock_try(redlab_fs(), caches_of(&lab, 0)->host, path, &lock, &err) < 0)
        bail_out("%s", err.text);
    is_int(vel_inventory_take(caches_of(&lab, 0), 0, &in, &err), VEL_ETIMEOUT,
           "while someone removes parts a node cannot tell: %s", err.text);
    vel_lock_release(lock);
    take(&lab, 0, &in);
    is_int(in.held.n, 1, "and all of it afterwards");
    ok(vel_lock_try(redlab_fs(), caches_of(&lab, 0)->host, path, &lock, &err) == 0,
       "the lock is given back");
    vel_lock_release(lock);
    vel_inventory_fini(&in);
    chmod(lab.home[0], 0777);
    take(&lab, 0, &in);
    is_int(in.held.n, 0, "a cache in which others may write is not believed");
    vel_inventory_fini(&in);
    chmod(lab.home[0], 0700);
    free(path);
    pulllab_fini(&lab);
}

static void only_looked_at(void)
{
    struct pulllab lab;
    struct vel_inventory in;
    struct vel_lock *lock;
    struct vel_err err = {0};
    char *path;

    pulllab_make(&lab, tap_path("lab"), VEL_XOR, 2, 1, 3, 2000);
    path = vel_inventory_lock_path(lab.home[0]);
    ok(vel_inventory_look(redlab_fs(), "n0", &lab.home[0], 1, &in, &err) == 0 &&
           in.held.n == 1 && strcmp(in.node, "n0") == 0 &&
           !vel_fs_exists(redlab_fs(), path),
       "who only looks makes no lock");
    vel_inventory_fini(&in);
    if (vel_lock_try(redlab_fs(), caches_of(&lab, 0)->host, path, &lock, &err) < 0)
        bail_out("%s", err.text);
    ok(vel_inventory_look(redlab_fs(), "n0", &lab.home[0], 1, &in, &err) == 0 &&
           in.held.n == 1,
       "and does not wait for one");
    vel_inventory_fini(&in);
    vel_lock_release(lock);
    free(path);
    pulllab_fini(&lab);
}

/* --- what is given of it --- */

static int give(const struct vel_giver *giver, unsigned what, const char *name,
                uint64_t at, uint32_t len, uint32_t *ret_got)
{
    static char room[VEL_WANT_MOST];
    const struct vel_want want = {PULLLAB_DATASET, 1, what, name, at, len};
    uint64_t size;

    *ret_got = 0;
    return vel_give(giver, &want, room, &size, ret_got, NULL);
}

static void giving(void)
{
    static char room[VEL_WANT_MOST];
    struct pulllab lab;
    struct vel_msg want = {.kind = VEL_MSG_WANT, .seq = 9}, answer;
    uint32_t got;
    char path[1100];

    pulllab_make(&lab, tap_path("lab"), VEL_XOR, 2, 1, 3, 2000);
    const struct vel_giver giver = {redlab_fs(), &lab.home[1], 1};
    snprintf(path, sizeof path, "%s/plain", pulllab_dir(&lab, 1, 1));
    tap_put_file(path, "0123456789");
    ok(give(&giver, VEL_WANT_FILE, "plain", 2, 5, &got) == 0 && got == 5,
       "bytes of a file are given");
    ok(give(&giver, VEL_WANT_FILE, "plain", 8, 5, &got) == 0 && got == 2 &&
           give(&giver, VEL_WANT_FILE, "plain", 80, 5, &got) == 0 && got == 0,
       "and no more behind its end");
    is_int(give(&giver, VEL_WANT_FILE, "none", 0, 5, &got), VEL_ENOENT,
           "a file that is not there is not given");
    ok(give(&giver, VEL_WANT_FILE, "../rank.1/plain", 0, 5, &got) == VEL_EINVAL &&
           give(&giver, VEL_WANT_FILE, "/etc/passwd", 0, 5, &got) == VEL_EINVAL &&
           give(&giver, VEL_WANT_FILE, "", 0, 5, &got) == VEL_EINVAL,
       "nor one that is elsewhere");
    is_int(give(&giver, VEL_WANT_REDUNDANCY, "plain", 0, 5, &got), VEL_EINVAL,
           "no file is a redundancy file by being asked for as one");
    snprintf(path, sizeof path, "%s/link", pulllab_dir(&lab, 1, 1));
    ok(symlink("/etc", path) == 0 &&
           give(&giver, VEL_WANT_FILE, "link/passwd", 0, 5, &got) == VEL_EUNSAFE &&
           give(&giver, VEL_WANT_FILE, "link", 0, 5, &got) < 0,
       "links are not followed");
    snprintf(path, sizeof path, "%s/fifo", pulllab_dir(&lab, 1, 1));
    ok(mkfifo(path, 0600) == 0 &&
           give(&giver, VEL_WANT_FILE, "fifo", 0, 5, &got) == VEL_EUNSAFE,
       "nobody waits for a FIFO");
    ok(give(&giver, VEL_WANT_FILE, "plain", 0, VEL_WANT_MOST + 1, &got) == VEL_EINVAL &&
           give(&giver, VEL_WANT_FILE, "plain", UINT64_MAX, 1, &got) == VEL_EINVAL &&
           give(&giver, 2, "plain", 0, 1, &got) == VEL_EINVAL,
       "numbers that cannot be are refused");
    want.u.want = (struct vel_msg_want){
        .dataset = PULLLAB_DATASET, .rank = 1, .len = 5, .name = "plain"};
    vel_give_answer(&giver, &want, room, &answer);
    ok(answer.kind == VEL_MSG_GIVE && answer.seq == 9 && answer.u.give.size == 10 &&
           answer.u.give.bytes.len == 5,
       "a message is answered by one");
    struct vel_get get = {.node = "n1", .want = {.len = 5}, .bytes = path};
    vel_get_answer(&get, &answer);
    ok(get.rc == 0 && get.got == 5 && memcmp(path, "01234", 5) == 0,
       "that whoever asked understands");
    answer.u.give.crc ^= 1;
    vel_get_answer(&get, &answer);
    is_int(get.rc, VEL_ECORRUPT, "unless it was changed on its way");
    want.u.want.name = "none";
    vel_give_answer(&giver, &want, room, &answer);
    vel_get_answer(&get, &answer);
    ok(get.rc == VEL_EREMOTE && strstr(get.err.text, "node n1"),
       "what cannot be given is told with its reason");
    pulllab_fini(&lab);
}

int main(void)
{
    what_is_there();
    locked();
    only_looked_at();
    giving();
    return done_testing();
}
