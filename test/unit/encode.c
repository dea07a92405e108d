/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of a dataset encoded in the background by nodes that are threads or processes:
 * all schemes, losses and rebuilding, few workers, members that fail, rot, or are slow.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "red/redfile.h"
#include "sys/clock.h"
#include "tap/fs_fault.h"
#include "tap/encodelab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static void lose(const struct encodelab *lab, const struct encodelab_set *set, size_t i)
{
    char *dir = encodelab_dir(lab, set->dataset, set->rank[i]);

    vel_fs_remove_tree(redlab_fs(), dir, NULL);
    free(dir);
}

static size_t members(const struct encodelab *lab)
{
    size_t n = 0;

    for (size_t s = 0; s < lab->n_sets; s++)
        n += lab->sets[s].n;
    return n;
}

static const uint8_t id[16] = "one encoding", other_id[16] = "two encodings";

/* From the commit to a rebuilt part, with everything in between done twice. */
static int life(struct encodelab *lab, size_t nodes, bool are_processes)
{
    struct encodelab_task
        apply = {.id = id, .special = 99, .outcome = VEL_ENCODE_APPLIED},
        stand = {.id = id, .special = 99, .outcome = VEL_ENCODE_STOOD},
        mend = {.id = id, .special = 99, .outcome = VEL_ENCODE_REBUILT},
        fail = {.id = id, .special = 99, .want = VEL_EINVAL};
    size_t n = members(lab), lost = lab->m;

    encodelab_commit(lab);
    uint64_t files = encodelab_files(lab);
    if (encodelab_run(lab, nodes, are_processes, encodelab_encode_all, &apply) ||
        encodelab_files(lab) != files || encodelab_count(lab, id, false) != n ||
        encodelab_count(lab, id, true) != n)
        return 1;
    uint64_t all = encodelab_all(lab);
    if (encodelab_run(lab, nodes, are_processes, encodelab_encode_all, &stand) ||
        encodelab_all(lab) != all)
        return 2;
    if (encodelab_run(lab, nodes, are_processes, encodelab_settle_all, &stand) ||
        encodelab_count(lab, id, false) != n || encodelab_count(lab, id, true) != 0)
        return 3;
    all = encodelab_all(lab);
    for (size_t s = 0; s < lab->n_sets; s++)
        for (size_t i = 0; i < lost; i++)
            lose(lab, &lab->sets[s], (s + i) % lab->sets[s].n);
    mend.attempt = 1;
    mend.outcome = lost > 0 ? VEL_ENCODE_REBUILT : VEL_ENCODE_STOOD;
    if (encodelab_run(lab, nodes, are_processes, encodelab_encode_all, &mend) ||
        encodelab_all(lab) != all)
        return 4;
    for (size_t s = 0; s < lab->n_sets; s++)
        for (size_t i = 0; i <= lost; i++)
            lose(lab, &lab->sets[s], (s + i) % lab->sets[s].n);
    uint64_t left = encodelab_all(lab);
    if (lost + 1 < lab->sets[0].n &&
        (encodelab_run(lab, nodes, are_processes, encodelab_encode_all, &fail) ||
         encodelab_all(lab) != left))
        return 5;
    return 0;
}

static void lives(void)
{
    static const struct {
        enum vel_scheme scheme;
        size_t m, nodes, ranks;
        bool are_processes, is_tcp;
    } cases[] = {
        {VEL_XOR, 1, 4, 8, false, false},    {VEL_PARTNER, 1, 4, 8, false, true},
        {VEL_RS, 2, 5, 10, false, false},    {VEL_RS, 2, 4, 4, true, true},
        {VEL_PARTNER, 2, 5, 5, true, false}, {VEL_XOR, 1, 2, 6, true, false},
        {VEL_SINGLE, 0, 1, 3, false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char listen[1100];
        struct encodelab lab = {.root = tap_dir(),
                                .scheme = cases[i].scheme,
                                .m = cases[i].m,
                                .seed = 40 + i,
                                .most = 60000,
                                .listen = listen,
                                .limit_ms = 20000,
                                .busy_ms = 60000};

        snprintf(listen, sizeof listen, cases[i].is_tcp ? "tcp:127.0.0.1:0" : "unix:%s",
                 tap_dir());
        encodelab_plain(&lab, 3, cases[i].nodes, cases[i].ranks);
        is_int(life(&lab, cases[i].nodes, cases[i].are_processes), 0,
               "%s m=%zu, %zu %s: encoded, again, settled, rebuilt, refused",
               vel_scheme_name(lab.scheme), lab.m, cases[i].nodes,
               cases[i].are_processes ? "processes" : "threads");
    }
}

static struct encodelab small_lab(char *listen, size_t room)
{
    struct encodelab lab = {.root = tap_dir(),
                            .scheme = VEL_RS,
                            .m = 2,
                            .seed = 7,
                            .most = 20000,
                            .listen = listen,
                            .limit_ms = 20000,
                            .busy_ms = 60000};

    snprintf(listen, room, "unix:%s", tap_dir());
    encodelab_plain(&lab, 3, 4, 4);
    return lab;
}

/* A member without files, and the part of a lost node at one that has a part already:
 * it is two members of the set. */
static void moved(void)
{
    char listen[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task apply = {.id = id,
                                   .special = 99,
                                   .outcome = VEL_ENCODE_APPLIED},
                          mend = {.id = id,
                                  .special = 99,
                                  .outcome = VEL_ENCODE_REBUILT,
                                  .attempt = 1};

    lab.sets[0].is_empty[2] = true;
    encodelab_commit(&lab);
    is_int(encodelab_run(&lab, 4, false, encodelab_encode_all, &apply), 0,
           "a node without files carries redundancy for the others");
    is_int((long long)encodelab_count(&lab, id, false), 4, "in a part that was made");
    uint64_t all = encodelab_all(&lab);
    lose(&lab, &lab.sets[0], 1);
    lose(&lab, &lab.sets[0], 2);
    lab.sets[0].node[1] = 0;
    lab.sets[0].is_empty[2] = false; /* it must come back, and not be made anew */
    is_int(encodelab_run(&lab, 4, false, encodelab_encode_all, &mend), 0,
           "lost parts are rebuilt, one of them at another node");
    size_t single = encodelab_count(&lab, id, true);
    encodelab_run(&lab, 4, false, encodelab_settle_all, &apply);
    ok(encodelab_count(&lab, id, false) == 4 && single == 2,
       "rebuilding leaves what others have of the commit");
    uint64_t settled = encodelab_all(&lab);
    for (size_t i = 0; i < 2; i++)
        lose(&lab, &lab.sets[0], 2 * i);
    mend.attempt = 2;
    ok(encodelab_run(&lab, 4, false, encodelab_encode_all, &mend) == 0 &&
           encodelab_all(&lab) == settled && all != settled,
       "and again, byte for byte");
}

/* What fails at one node is everybody's failure, with its name; what was there stays,
 * and the next attempt succeeds. */
static void failures(void)
{
    char listen[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    unsigned kinds = VEL_FS_KIND_WRITE | VEL_FS_KIND_SYNC | VEL_FS_KIND_RENAME;
    int bad = 0, tried = 0;

    for (uint64_t at = 1; at <= 12; at++) {
        struct encodelab_task full = {.id = id,
                                      .special = 1,
                                      .at = at,
                                      .kinds = kinds,
                                      .want = VEL_ENOSPC,
                                      .name = "n1"},
                              apply = {.id = id,
                                       .special = 99,
                                       .attempt = 1,
                                       .outcome = VEL_ENCODE_APPLIED};

        encodelab_commit(&lab);
        uint64_t all = encodelab_all(&lab);
        if (encodelab_run(&lab, 4, false, encodelab_encode_all, &full) != 0) {
            /* no such operation any more */
            bad += encodelab_count(&lab, id, false) != 4;
            break;
        }
        tried++;
        bad += encodelab_all(&lab) != all;
        bad += encodelab_run(&lab, 4, false, encodelab_encode_all, &apply) != 0;
        bad += encodelab_count(&lab, id, false) != 4;
    }
    note("%d operations failed", tried);
    ok(bad == 0 && tried >= 3,
       "a full disk at one node fails all, is named, and changes nothing");
}

static void rot(void)
{
    char listen[1100], root[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task fail = {.id = id,
                                  .special = 99,
                                  .want = VEL_ECORRUPT,
                                  .name = "n1"},
                          apply = {
                              .id = id, .special = 99, .outcome = VEL_ENCODE_APPLIED};
    size_t file = 0;

    snprintf(root, sizeof root, "%s/d3", tap_dir());
    lab.seed = 9;
    encodelab_commit(&lab);
    while (file < 8 && !redlab_damage(root, 1, file, 5))
        file++;
    uint64_t all = encodelab_all(&lab);
    is_int(encodelab_run(&lab, 4, false, encodelab_encode_all, &fail), 0,
           "a file that has rotted since the commit is found, and not made the truth");
    ok(encodelab_all(&lab) == all, "nothing is left of the attempt");
    redlab_damage(root, 1, file, 5);
    is_int(encodelab_run(&lab, 4, false, encodelab_encode_all, &apply), 0,
           "with its bytes as they were it is encoded");
    struct encodelab_task told = {
        .id = other_id, .special = 1, .other = id, .want = VEL_EINVAL};
    told.attempt = 3;
    is_int(encodelab_run(&lab, 4, false, encodelab_encode_all, &told), 0,
           "members that were told different identities find out");
    struct encodelab_task none = {.id = other_id, .want = VEL_ENOENT};
    ok(encodelab_run(&lab, 4, false, encodelab_settle_all, &none) == 0 &&
           encodelab_count(&lab, id, true) == 4,
       "nothing is dropped for an encoding that is not there");
    struct encodelab_task again = {
        .id = other_id, .special = 99, .attempt = 4, .outcome = VEL_ENCODE_APPLIED};
    ok(encodelab_run(&lab, 4, false, encodelab_encode_all, &again) == 0 &&
           encodelab_count(&lab, other_id, true) == 8,
       "an encoding of another identity leaves all earlier ones");
    again.want = 0;
    ok(encodelab_run(&lab, 4, false, encodelab_settle_all, &again) == 0 &&
           encodelab_count(&lab, other_id, true) == 0,
       "until it is settled");
}

static void lose_redundancy(const struct encodelab *lab, uint32_t rank)
{
    char *dir = encodelab_dir(lab, 3, rank);
    struct vel_vec found;

    if (vel_redfile_scan(redlab_fs(), dir, ENCODELAB_LABEL, rank, &found, NULL) < 0)
        bail_out("%s cannot be read", dir);
    vel_fs_unlink(redlab_fs(), vel_redfile_at(&found, 0)->path, NULL);
    vel_redfiles_fini(&found);
    free(dir);
}

/* An attempt after one that has ended at some, and identities in the wrong order. */
static void what_stands_stays(void)
{
    char listen[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task apply = {.id = id,
                                   .special = 99,
                                   .outcome = VEL_ENCODE_APPLIED},
                          full = {.id = id,
                                  .special = 1,
                                  .at = 1,
                                  .kinds = VEL_FS_KIND_WRITE,
                                  .want = VEL_ENOSPC,
                                  .name = "n1"},
                          newer = {.id = other_id,
                                   .special = 99,
                                   .outcome = VEL_ENCODE_APPLIED};

    encodelab_commit(&lab);
    bool fine = encodelab_run(&lab, 4, false, encodelab_encode_all, &apply) == 0;
    uint64_t all = encodelab_all(&lab);
    lose_redundancy(&lab, 2);
    fine &= encodelab_run(&lab, 4, false, encodelab_encode_all, &full) == 0;
    ok(fine && encodelab_count(&lab, id, false) == 3,
       "an attempt that fails takes nothing away that an earlier one has left");
    ok(encodelab_run(&lab, 4, false, encodelab_encode_all, &apply) == 0 &&
           encodelab_all(&lab) == all,
       "one that succeeds gives the same bytes under the same names");
    fine = encodelab_run(&lab, 4, false, encodelab_encode_all, &newer) == 0;
    fine &= encodelab_run(&lab, 4, false, encodelab_settle_all, &apply) == 0;
    ok(fine && encodelab_count(&lab, other_id, false) == 4 &&
           encodelab_count(&lab, other_id, true) == 4,
       "settling an encoding leaves a newer one alone");
}

/* Files that were written to since the commit, or since the encoding, whose member has
 * lost its redundancy: what the others hold is worth more. */
static void rot_since(bool has_commit)
{
    char listen[1100], root[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task apply = {.id = id,
                                   .special = 99,
                                   .outcome = VEL_ENCODE_APPLIED},
                          mend = {.id = id,
                                  .special = 99,
                                  .outcome = VEL_ENCODE_REBUILT,
                                  .attempt = 1};
    size_t file = 0;

    snprintf(root, sizeof root, "%s/d3", tap_dir());
    lab.seed = 9;
    encodelab_commit(&lab);
    bool fine = encodelab_run(&lab, 4, false, encodelab_encode_all, &apply) == 0;
    uint64_t files = encodelab_files(&lab), all = encodelab_all(&lab);
    while (file < 8 && !redlab_damage(root, 1, file, 5))
        file++;
    if (has_commit)
        lose_redundancy(&lab, 1);
    else
        encodelab_commit_again(&lab, &lab.sets[0], 1);
    fine &= encodelab_files(&lab) != files;
    ok(fine && encodelab_run(&lab, 4, false, encodelab_encode_all, &mend) == 0,
       "a part that is not as it was encoded is rebuilt%s",
       has_commit ? "" : ", and its member knows nothing of it");
    ok(encodelab_files(&lab) == files && (!has_commit || encodelab_all(&lab) == all),
       "and all is as it was");
}

static void slow(void)
{
    char listen[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task apply = {
        .id = id, .special = 2, .is_slow = true, .outcome = VEL_ENCODE_APPLIED};
    struct encodelab_task stuck = {
        .id = id, .special = 2, .is_slow = true, .want = VEL_ETIMEOUT, .name = "n2"};

    lab.limit_ms = 400;
    encodelab_commit(&lab);
    is_int(encodelab_run(&lab, 4, true, encodelab_encode_all, &apply), 0,
           "a disk that takes longer than the limit holds nobody up");
    lab.busy_ms = 400;
    encodelab_commit(&lab);
    is_int(encodelab_run(&lab, 4, true, encodelab_encode_all, &stuck), 0,
           "one that takes longer than it may ends it, with its name");
}

/* --- few workers
 * ----------------------------------------------------------------------------- */

/* A node with one worker does the least of the sets that it knows, and learns of one
 * dataset after the other, late by as many turns as its number says. */
static int work_through(struct encodelab_node *node, void *arg)
{
    const struct encodelab *lab = node->lab;
    bool is_done[ENCODELAB_SETS] = {false};
    const struct encodelab_task *t = arg;
    size_t left = 0;

    for (size_t s = 0; s < lab->n_sets; s++)
        left += encodelab_has(&lab->sets[s], node->node);
    for (unsigned turn = 0; left > 0; turn++) {
        enum vel_encode_outcome outcome;
        struct vel_err err = {0};
        size_t s = 0;

        /* the older dataset is heard of late, by some */
        while (s < lab->n_sets &&
               (is_done[s] || !encodelab_has(&lab->sets[s], node->node) ||
                (lab->sets[s].dataset == 1 && turn < node->node % 3)))
            s++;
        if (s == lab->n_sets)
            continue;
        int rc = encodelab_encode(node, &lab->sets[s], t->id, 0, &outcome, &err);
        if (rc < 0 && rc != VEL_EBUSY) {
            fprintf(stderr, "# node %zu: %s\n", node->node, err.text);
            return 1;
        }
        is_done[s] = rc == 0;
        left -= rc == 0;
    }
    return 0;
}

/* Sets of 3 nodes of 5 in all directions, two datasets of them. */
static void few_workers(void)
{
    char listen[1100];
    struct encodelab lab = small_lab(listen, sizeof listen);
    struct encodelab_task t = {.id = id};

    lab.n_sets = 0;
    lab.scheme = VEL_XOR;
    lab.m = 1;
    lab.limit_ms = 2000;
    for (int64_t d = 1; d <= 2; d++)
        for (uint32_t s = 0; s < 5; s++) {
            struct encodelab_set *set = &lab.sets[lab.n_sets++];

            *set = (struct encodelab_set){.dataset = d, .number = s, .n = 3};
            for (uint32_t i = 0; i < 3; i++) {
                set->rank[i] = s * 3 + i;
                set->node[i] = (s * (uint32_t)d + i * 2) % 5;
            }
        }
    encodelab_commit(&lab);
    uint64_t files = encodelab_files(&lab);
    is_int(encodelab_run(&lab, 5, false, work_through, &t), 0,
           "five nodes with one worker each do ten sets that cross each other");
    ok(encodelab_count(&lab, id, false) == 30 && encodelab_files(&lab) == files,
       "all of them");
}

int main(void)
{
    const struct vel_log_sink quiet = {.write = nobody_listens};

    vel_log_open(&quiet);
    lives();
    moved();
    failures();
    rot();
    what_stands_stays();
    rot_since(true);
    rot_since(false);
    slow();
    few_workers();
    return done_testing();
}
