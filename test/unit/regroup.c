/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of an earlier run are found again by ranks that know nothing but where their
 * directory is: over sockets, each rank a process, whoever has lost what. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "red/set.h"
#include "sys/fs.h"
#include "tap/redlab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

/* Ranks protected by a rule "set = rank % sets" (or rank / members when `in_row`). */
struct kind {
    enum vel_scheme scheme;
    size_t m;
    int sets;
    bool in_row;
};

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static struct vel_red_set place_of(struct vel_comm *all)
{
    return (struct vel_red_set){.all = all,
                                .fs = vel_fs_posix(),
                                .dir = redlab_dir(tap_dir(), (size_t)all->rank),
                                .label = "case",
                                .rank = (uint32_t)all->rank,
                                .memory = 1 << 20};
}

/* Protect what `names` lists, in the sets of this kind. */
static int protect_names(struct vel_comm *all, const struct kind *kind,
                         const struct vel_vec *names)
{
    struct vel_red_set set = place_of(all);
    int members = all->size / kind->sets;
    struct vel_err err = {0};

    set.scheme = kind->scheme;
    set.m = kind->m;
    set.sets = (uint32_t)kind->sets;
    set.set = (uint32_t)(kind->in_row ? all->rank / members : all->rank % kind->sets);
    int rc = vel_comm_split(all, (int)set.set, all->rank, &set.comm, &err);
    if (rc == 0)
        rc = vel_red_apply(&set, names->items, names->n, NULL, 0, NULL, &err);
    vel_comm_destroy(set.comm);
    return rc;
}

static int protect(struct vel_comm *all, const struct kind *kind, uint64_t seed)
{
    struct vel_vec names;

    redlab_lose(tap_dir(), (size_t)all->rank);
    redlab_make(tap_dir(), (size_t)all->rank, seed, 30000, &names);
    int rc = protect_names(all, kind, &names);
    vel_fs_names_fini(&names);
    return rc;
}

/* Recover all; the sentence into *ret_err. Returns the status, or 1 when a set was
 * found that is not the one of this kind. */
static int recover(struct vel_comm *all, const struct kind *kind,
                   struct vel_err *ret_err)
{
    struct vel_red_set set = place_of(all);
    struct vel_red_report report;
    int members = all->size / kind->sets;

    *ret_err = (struct vel_err){0};
    int rc = vel_red_recover_all(&set, &report, ret_err);
    if (rc < 0)
        return rc;
    bool fine = set.scheme == kind->scheme && set.m == kind->m &&
                set.sets == (uint32_t)kind->sets && set.comm->size == members;
    fine = fine && set.set == (uint32_t)(kind->in_row ? all->rank / members
                                                      : all->rank % kind->sets);
    vel_red_report_fini(&report);
    vel_comm_destroy(set.comm);
    return fine ? 0 : 1;
}

/* everybody's verdict, as the exit code of a member */
static int all_fine(struct vel_comm *all, bool mine, const struct vel_err *err)
{
    int64_t bad = !mine;

    if (!mine)
        note("rank %d: %s", all->rank, err->text);
    return vel_comm_allreduce(all, VEL_COMM_SUM, &bad, 1, NULL) < 0 || bad > 0;
}

/* --- the cases
 * ------------------------------------------------------------------------------- */

/* every rank alone, then one rank of each set: the next member of each */
static int lose_and_find(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    int bad = 0, members = all->size / kind->sets;
    struct vel_err err = {0};

    if (protect(all, kind, 3) < 0)
        return 1;
    uint64_t state = redlab_state(tap_dir(), (size_t)all->rank);
    for (int i = 0; i < all->size + members; i++) {
        int member = kind->in_row ? all->rank % members : all->rank / kind->sets;

        if (i < all->size ? all->rank == i : member == i - all->size)
            redlab_lose(tap_dir(), (size_t)all->rank);
        int rc = recover(all, kind, &err);
        bad += all_fine(
            all, rc == 0 && redlab_state(tap_dir(), (size_t)all->rank) == state, &err);
    }
    return bad;
}

/* set 0 loses one more than it bears, set 1 a single member */
static int too_much(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_err err = {0};

    if (protect(all, kind, 4) < 0)
        return 1;
    if (all->rank % 2 == 0 ? (size_t)all->rank / 2 <= kind->m : all->rank == 1)
        redlab_lose(tap_dir(), (size_t)all->rank);
    uint64_t before = redlab_state(tap_dir(), (size_t)all->rank);
    int rc = recover(all, kind, &err);
    bool same = redlab_state(tap_dir(), (size_t)all->rank) == before;
    return all_fine(all, rc == VEL_EINVAL && same && strstr(err.text, " lost"), &err);
}

/* Change the last byte of this rank's redundancy file: only who reads it all can tell.
 */
static void flip_last(const char *dir)
{
    struct vel_vec names;
    struct stat st;
    uint8_t byte;
    int fd;

    vel_fs_list(vel_fs_posix(), dir, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        char *path = vel_path_join(dir, ((char **)names.items)[i]);

        if (strstr(path, ".h5vr") &&
            vel_fs_open(vel_fs_posix(), path, O_RDWR, 0, &fd, NULL) == 0) {
            vel_fs_stat(vel_fs_posix(), fd, path, &st, NULL);
            vel_fs_read_at(vel_fs_posix(), fd, &byte, 1, st.st_size - 1, path, NULL);
            byte ^= 1;
            vel_fs_write_at(vel_fs_posix(), fd, &byte, 1, st.st_size - 1, path, NULL);
            vel_fs_close(vel_fs_posix(), fd, path, NULL);
        }
        free(path);
    }
    vel_fs_names_fini(&names);
}

/* The same, but what is wrong in set 0 shows only when all is read, and set 1 has
 * rebuilt its loss by then. */
static int too_much_damage(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_err err = {0};

    if (protect(all, kind, 9) < 0)
        return 1;
    if (all->rank == 1)
        redlab_lose(tap_dir(), 1);
    else if (all->rank % 2 == 0 && (size_t)all->rank / 2 <= kind->m)
        flip_last(redlab_dir(tap_dir(), (size_t)all->rank));
    uint64_t before = redlab_state(tap_dir(), (size_t)all->rank);
    int rc = recover(all, kind, &err);
    bool same = redlab_state(tap_dir(), (size_t)all->rank) == before;
    return all_fine(all, rc == VEL_EINVAL && same && strstr(err.text, "changed"), &err);
}

/* a whole set has gone */
static int set_gone(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_err err = {0};

    if (protect(all, kind, 4) < 0)
        return 1;
    if (all->rank % kind->sets == 1)
        redlab_lose(tap_dir(), (size_t)all->rank);
    uint64_t before = redlab_state(tap_dir(), (size_t)all->rank);
    int rc = recover(all, kind, &err);
    bool same = redlab_state(tap_dir(), (size_t)all->rank) == before;
    return all_fine(
        all, rc == VEL_EINVAL && same && strstr(err.text, "nothing is left of 1 of"),
        &err);
}

static int nothing_there(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_err err = {0};

    redlab_lose(tap_dir(), (size_t)all->rank);
    return all_fine(all, recover(all, kind, &err) == VEL_ENOENT, &err);
}

/* One rank of set 1 names a file that is not there: set 0 keeps what it had, too. */
static int apply_together(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    char absent[] = "absent", *name = absent;
    struct vel_vec names;
    struct vel_err err = {0};

    if (protect(all, kind, 5) < 0)
        return 1;
    uint64_t before = redlab_state(tap_dir(), (size_t)all->rank);
    vel_vec_init(&names, sizeof(char *));
    if (all->rank == 1)
        vel_vec_push(&names, &name);
    int rc = protect_names(all, kind, &names);
    vel_vec_fini(&names);
    bool same = redlab_state(tap_dir(), (size_t)all->rank) == before;
    return all_fine(all, rc == VEL_ENOENT && same, &err);
}

/* move the redundancy files of this rank from one directory to another */
static void move_redundancy(const char *from, const char *to)
{
    struct vel_vec names;
    char old[1200], new[1200];

    if (vel_fs_list(vel_fs_posix(), from, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        snprintf(old, sizeof old, "%s/%s", from, name);
        snprintf(new, sizeof new, "%s/%s", to, name);
        if (strstr(name, ".h5vr"))
            vel_fs_rename(vel_fs_posix(), old, new, NULL);
    }
    vel_fs_names_fini(&names);
}

/* A crash while a configuration with other sets was applied: its files are at some
 * ranks only, the ones they replace still everywhere. */
static int crash_between(struct vel_comm *all, void *arg)
{
    const struct kind *old = arg;
    const struct kind new = {VEL_RS, 1, old->sets, !old->in_row};
    const char *dir = redlab_dir(tap_dir(), (size_t)all->rank);
    char aside[1200];
    struct vel_vec names;
    struct vel_err err = {0};

    if (protect(all, old, 6) < 0)
        return 1;
    uint64_t state = redlab_state(tap_dir(), (size_t)all->rank);
    snprintf(aside, sizeof aside, "%s.aside", dir);
    vel_fs_make_dirs(vel_fs_posix(), aside, 0700, NULL);
    redlab_make(tap_dir(), (size_t)all->rank, 6, 30000, &names);
    move_redundancy(dir, aside);
    int rc = protect_names(all, &new, &names);
    vel_fs_names_fini(&names);
    if (rc < 0)
        return 1;
    if (all->rank >= all->size / 2) {
        char nowhere[1300];

        snprintf(nowhere, sizeof nowhere, "%s/gone", aside);
        vel_fs_make_dirs(vel_fs_posix(), nowhere, 0700, NULL);
        move_redundancy(dir, nowhere);
    }
    move_redundancy(aside, dir);
    if (all->rank == 2)
        redlab_lose(tap_dir(), (size_t)all->rank);
    rc = recover(all, old, &err);
    bool same = redlab_state(tap_dir(), (size_t)all->rank) == state;
    vel_fs_remove_tree(vel_fs_posix(), aside, NULL);
    return all_fine(all, rc == 0 && same, &err);
}

/* four ranks protect, all recover */
static int more_ranks(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_red_set set = place_of(all);
    struct vel_red_report report;
    struct vel_comm *few;
    struct vel_err err = {0};

    redlab_lose(tap_dir(), (size_t)all->rank);
    if (vel_comm_split(all, all->rank < 4 ? 0 : -1, all->rank, &few, &err) < 0 ||
        (few && protect(few, kind, 7) < 0))
        return 1;
    vel_comm_destroy(few);
    uint64_t state = redlab_state(tap_dir(), (size_t)all->rank);
    if (all->rank == 1)
        redlab_lose(tap_dir(), 1);
    int rc = vel_red_recover_all(&set, &report, &err);
    bool fine = rc == 0 && (set.comm != NULL) == (all->rank < 4) &&
                redlab_state(tap_dir(), (size_t)all->rank) == state;
    if (rc == 0) {
        vel_red_report_fini(&report);
        vel_comm_destroy(set.comm);
    }
    return all_fine(all, fine, &err);
}

/* all protect, all but the last recover */
static int fewer_ranks(struct vel_comm *all, void *arg)
{
    const struct kind *kind = arg;
    struct vel_comm *few;
    struct vel_err err = {0};
    bool fine = true;

    if (protect(all, kind, 8) < 0 ||
        vel_comm_split(all, all->rank < all->size - 1 ? 0 : -1, all->rank, &few, &err) <
            0)
        return 1;
    if (few)
        fine = recover(few, kind, &err) == VEL_EINVAL &&
               strstr(err.text, "the files of rank 5 were protected too, and this run "
                                "has only 5 ranks");
    vel_comm_destroy(few);
    return all_fine(all, fine, &err);
}

/* Redundancy files with one identity that tell of different sets. */
static int contradiction(struct vel_comm *all, void *arg)
{
    struct vel_err err = {0};

    if (all->rank == 0) {
        char lab[1100], from[1200];

        for (size_t i = 0; i < (size_t)all->size; i++)
            redlab_lose(tap_dir(), i);
        snprintf(lab, sizeof lab, "%s/lab", tap_dir());
        redlab_apply(lab, "case", VEL_XOR, 3, 1, 77, 1000);
        redlab_apply(tap_dir(), "case", VEL_XOR, (size_t)all->size, 1, 77, 1000);
        redlab_lose(tap_dir(), 1);
        snprintf(from, sizeof from, "%s/m1", lab);
        vel_fs_rename(vel_fs_posix(), from, redlab_dir(tap_dir(), 1), NULL);
    }
    if (vel_comm_barrier(all, &err) < 0)
        return 1;
    return all_fine(all,
                    recover(all, arg, &err) == VEL_EINVAL &&
                        strstr(err.text, "different redundancy files for rank"),
                    &err);
}

int main(void)
{
    static const struct kind found[] = {
        {VEL_XOR, 1, 2, false},     {VEL_XOR, 1, 2, true}, {VEL_RS, 2, 2, false},
        {VEL_PARTNER, 1, 2, false}, {VEL_RS, 1, 3, true},  {VEL_PARTNER, 2, 1, true}};
    const struct kind * xor = &found[0];
    struct kind single = {VEL_SINGLE, 0, 6, false};
    const struct vel_log_sink quiet = {.write = nobody_listens};

    vel_log_open(&quiet);
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
        is_int(sockjob_run(6, "unix", lose_and_find, (void *)&found[i]), 0,
               "%s m=%zu, %d sets %s: found with any rank or any member of each lost",
               vel_scheme_name(found[i].scheme), found[i].m, found[i].sets,
               found[i].in_row ? "in a row" : "interleaved");
    for (size_t i = 0; i < 4; i++)
        if (!found[i].in_row)
            is_int(sockjob_run(8, "unix", too_much, (void *)&found[i]), 0,
                   "%s m=%zu: a set that lost too much changes no other either",
                   vel_scheme_name(found[i].scheme), found[i].m);
    is_int(sockjob_run(8, "unix", too_much_damage, (void *)xor), 0,
           "nor does one that is found to be damaged when others are rebuilt");
    is_int(sockjob_run(6, "unix", set_gone, (void *)xor), 0,
           "a set of which nothing is left is missed");
    is_int(sockjob_run(6, "unix", set_gone, &single), 0, "so is a rank of SINGLE");
    is_int(sockjob_run(6, "unix", nothing_there, (void *)xor), 0,
           "where nothing was protected nothing is found");
    is_int(sockjob_run(6, "unix", apply_together, (void *)xor), 0,
           "what one set cannot protect leaves the protection of all as it was");
    is_int(sockjob_run(6, "unix", crash_between, (void *)xor), 0,
           "an encoding that not all sets have is passed over for an older one");
    is_int(sockjob_run(6, "unix", more_ranks, (void *)xor), 0,
           "ranks that the earlier run did not have are in no set");
    is_int(sockjob_run(6, "unix", fewer_ranks, (void *)xor), 0,
           "a rank that this run does not have is named");
    is_int(sockjob_run(4, "unix", contradiction, (void *)xor), 0,
           "redundancy files that contradict each other are not believed");
    return done_testing();
}
