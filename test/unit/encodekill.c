/* SPDX-License-Identifier: BSD-3-Clause */
/* A node is killed at every step of an encoding in the background, and of dropping what
 * is older afterwards. Whatever is left then is brought back, by the ranks of a later
 * launch or by one process, to one encoding that is whole in all sets; the program's
 * files are the same in every case. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "red/plan.h"
#include "red/rebuild.h"
#include "red/set.h"
#include "tap/fs_fault.h"
#include "tap/crowd.h"
#include "tap/encodelab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

enum { NODES = 4, RANKS = 8, VICTIM = 1 };

static const uint8_t id[16] = "one encoding";

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

struct task {
    unsigned attempt;
    uint64_t at; /* the victim dies at this operation; 0: nobody dies */
    bool settles;
};

static void die(void *unused)
{
    (void)unused;
    kill(getpid(), SIGKILL);
}

static struct vel_fs *mortal(struct encodelab_node *node, const struct task *t)
{
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH,
        .kinds = VEL_FS_KIND_WRITE | VEL_FS_KIND_SYNC | VEL_FS_KIND_RENAME |
                 VEL_FS_KIND_UNLINK | VEL_FS_KIND_TRUNCATE,
        .at = t->at,
        .crash = die};
    struct vel_fs_fault *fault = NULL;

    if (t->at == 0 || node->node != VICTIM)
        return node->fs;
    if (vel_fs_fault_create(node->fs, NULL, &fault, NULL) < 0)
        _exit(3);
    vel_fs_fault_arm(fault, &plan);
    return vel_fs_fault_fs(fault);
}

/* The others either are done or know who is lost. */
static int work(struct encodelab_node *node, void *arg)
{
    const struct task *t = arg;
    int bad = 0;

    node->fs = mortal(node, t);
    for (size_t s = 0; s < node->lab->n_sets; s++) {
        const struct encodelab_set *set = &node->lab->sets[s];
        enum vel_encode_outcome outcome;
        struct vel_err err = {0};
        int rc = VEL_EBUSY, tries = 0;

        if (t->settles) {
            bad += encodelab_settle(node, set, id, &err) != 0;
            continue;
        }
        while (rc == VEL_EBUSY && tries++ < 4) {
            err = (struct vel_err){0};
            rc = encodelab_encode(node, set, id, t->attempt, &outcome, &err);
        }
        if (rc == 0)
            continue;
        bool is_told = t->at > 0 && (rc == VEL_ELOST || rc == VEL_ETIMEOUT) &&
                       (strstr(err.text, "(n1)") || strstr(err.text, "node n1"));
        if (!is_told)
            fprintf(stderr, "# node %zu: %d %s\n", node->node, rc, err.text);
        return !is_told; /* the dead node comes to no other set either */
    }
    return bad;
}

/* --- what is left is brought back
 * -------------------------------------------------------------- */

static int recover_rank(struct vel_comm *comm, void *arg)
{
    const struct encodelab *lab = arg;
    char *dir = encodelab_dir(lab, 3, (uint32_t)comm->rank);
    struct vel_red_set set = {
        .all = comm, .fs = redlab_fs(), .dir = dir, .label = "part", .memory = 1 << 20};
    struct vel_err err = {0};
    int rc = vel_red_recover_all(&set, NULL, &err);

    if (rc < 0)
        fprintf(stderr, "# rank %d: %s\n", comm->rank, err.text);
    else
        vel_comm_destroy(set.comm);
    free(dir);
    return rc;
}

static int rebuild_all(const struct encodelab *lab)
{
    const struct vel_rebuild_options options = {.memory = 1 << 20};
    char *dirs[RANKS];
    struct vel_err err = {0};
    struct vel_vec sets;
    size_t n = 0;

    for (uint32_t r = 0; r < RANKS; r++) {
        dirs[n] = encodelab_dir(lab, 3, r);
        if (vel_fs_exists(redlab_fs(), dirs[n]))
            n++;
        else
            free(dirs[n]);
    }
    int rc = vel_rebuild(redlab_fs(), dirs, n, &options, &sets, &err), bad = rc < 0;
    for (size_t i = 0; rc == 0 && i < sets.n; i++) {
        const struct vel_rebuilt_set *set = vel_vec_at(&sets, i);

        /* all of one encoding: two sets of this one, or eight of the commit */
        bad += set->rc < 0 ||
               (set->scheme == VEL_SINGLE ? sets.n != RANKS : sets.n != lab->n_sets);
        if (set->rc < 0)
            fprintf(stderr, "# set %u: %s\n", set->set, set->err.text);
    }
    if (rc == 0)
        vel_rebuilt_fini(&sets);
    for (size_t i = 0; i < n; i++)
        free(dirs[i]);
    return bad;
}

/* Could the members that have the encoding bring back those that have not, in all sets?
 */
static bool is_whole(const struct encodelab *lab)
{
    bool whole = true;

    for (size_t s = 0; s < lab->n_sets; s++) {
        const struct encodelab_set *set = &lab->sets[s];
        const struct vel_layout shape = {
            .scheme = lab->scheme, .n = set->n, .m = lab->m};
        bool is_lost[VEL_SET_MAX] = {false};
        size_t lost = 0;

        for (size_t i = 0; i < set->n; i++) {
            char *dir = encodelab_dir(lab, set->dataset, set->rank[i]);
            const struct vel_red_set one = {.fs = redlab_fs(),
                                            .dir = dir,
                                            .label = "part",
                                            .rank = set->rank[i],
                                            .id = id};
            bool holds = false;

            vel_red_holds(&one, &holds, NULL);
            is_lost[i] = !holds;
            lost += !holds;
            free(dir);
        }
        whole &= lost < set->n && vel_plan_check(&shape, is_lost, NULL) == 0;
    }
    return whole;
}

/* Of two ways that lead on from a crash: a recovery that takes what is whole, and
 * another attempt. */
static int go_on(const struct encodelab *lab, uint64_t files, bool again)
{
    const struct task once_more = {.attempt = 1}, settle = {.settles = true};
    size_t with = encodelab_count(lab, id, false);
    bool whole = is_whole(lab);
    size_t want = whole || again ? RANKS : 0;

    if (encodelab_files(lab) != files)
        return 1;
    if (rebuild_all(lab) != 0 || encodelab_files(lab) != files)
        return 2;
    if (encodelab_count(lab, id, false) != (whole ? RANKS : with))
        return 3;
    if (again && (encodelab_run(lab, NODES, true, work, (void *)&once_more) ||
                  encodelab_run(lab, NODES, true, work, (void *)&settle)))
        return 4;
    if (!again && crowd_run(RANKS, NULL, recover_rank, (void *)lab, NULL))
        return 5;
    return encodelab_files(lab) != files || encodelab_count(lab, id, false) != want ||
                   encodelab_count(lab, id, true) != RANKS - want
               ? 6
               : 0;
}

static struct encodelab make_lab(char *listen, size_t room, enum vel_scheme scheme,
                                 size_t m)
{
    struct encodelab lab = {.root = tap_dir(),
                            .scheme = scheme,
                            .m = m,
                            .seed = 11,
                            .most = 9000,
                            .listen = listen,
                            .limit_ms = 8000,
                            .busy_ms = 60000};

    snprintf(listen, room, "unix:%s", tap_dir());
    encodelab_plain(&lab, 3, NODES, RANKS);
    return lab;
}

/* Kill at step 1, 2, 3 ... until nobody is killed any more. */
static void kill_while_encoding(enum vel_scheme scheme, size_t m)
{
    char listen[1100];
    struct encodelab lab = make_lab(listen, sizeof listen, scheme, m);
    int bad = 0, killed = 0, whole = 0;

    for (uint64_t at = 1;; at++) {
        const struct task t = {.at = at};

        encodelab_commit(&lab);
        uint64_t files = encodelab_files(&lab);
        int failed = encodelab_run(&lab, NODES, true, work, (void *)&t);
        if (failed == 0)
            break;
        killed++;
        whole += is_whole(&lab);
        /* what was committed is where it was */
        if (failed != 1 || encodelab_count(&lab, id, true) != RANKS)
            bad++;
        int what = go_on(&lab, files, at % 2);
        if (what != 0)
            note("killed at step %d: %d", (int)at, what);
        bad += what != 0;
    }
    note("%d steps, after %d of them it was whole", killed, whole);
    ok(bad == 0 && killed > 8 && killed < 100,
       "%s m=%zu: a node is killed at every step; what was committed is there, the "
       "newest that is whole is taken, and the next attempt succeeds",
       vel_scheme_name(scheme), m);
}

/* All sets are done and this was told; nodes drop what is older, one of them dies, and
 * another one is lost with its disk. */
static void kill_while_settling(void)
{
    char listen[1100];
    struct encodelab lab = make_lab(listen, sizeof listen, VEL_RS, 2);
    const struct task encode = {.at = 0};
    int bad = 0, killed = 0;

    for (uint64_t at = 1;; at++) {
        const struct task t = {.at = at, .settles = true};

        encodelab_commit(&lab);
        uint64_t files = encodelab_files(&lab);
        bad += encodelab_run(&lab, NODES, true, work, (void *)&encode) != 0;
        if (encodelab_run(&lab, NODES, true, work, (void *)&t) == 0)
            break;
        killed++;
        for (size_t s = 0; s < lab.n_sets; s++) {
            char *dir = encodelab_dir(&lab, 3, lab.sets[s].rank[at % NODES]);

            vel_fs_remove_tree(redlab_fs(), dir, NULL);
            free(dir);
        }
        bad += crowd_run(RANKS, NULL, recover_rank, &lab, NULL) != 0;
        bad += encodelab_files(&lab) != files;
        bad += encodelab_count(&lab, id, false) != RANKS;
        bad += rebuild_all(&lab) != 0;
    }
    note("%d steps", killed);
    ok(bad == 0 && killed >= 2,
       "a node is killed at every step of dropping the commit, another is lost: all "
       "is rebuilt");
}

int main(void)
{
    const struct vel_log_sink quiet = {.write = nobody_listens};

    vel_log_open(&quiet);
    kill_while_encoding(VEL_RS, 2);
    kill_while_encoding(VEL_XOR, 1);
    kill_while_encoding(VEL_PARTNER, 1);
    kill_while_settling();
    return done_testing();
}
