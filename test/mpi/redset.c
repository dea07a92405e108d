/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc_redset.h as a program meets it: for every type whole failure groups are lost
 * and come back byte for byte, or nothing is changed; and everything a program can do
 * wrong on one rank is a sentence on all. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/fs.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "tap/redlab.h"
#include "veloc_redset.h"

static const char *root;
static int me;

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

/* --- steps of a program
 * ---------------------------------------------------------------------- */

static VELOC_Redset_options options_of(void)
{
    VELOC_Redset_options options = VELOC_REDSET_OPTIONS;

    options.directory = redlab_dir(root, (size_t)me);
    options.memory = 1 << 20;
    return options;
}

/* the name of this rank's group, of so many: neighbours share one */
static const char *group_of(int groups)
{
    static char name[32];

    snprintf(name, sizeof name, "group%d", me * groups / mtap_size());
    return name;
}

static VELOC_Redset make(int type, int failures, int groups)
{
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs = NULL;

    options.failures = failures;
    if (VELOC_Redset_create(type, MPI_COMM_WORLD, group_of(groups), &options, &rs) !=
        VELOC_SUCCESS)
        mtap_note("%s", VELOC_Redset_error(rs));
    return rs;
}

/* Fresh files, all in the list. */
static void fill(VELOC_Redset rs, uint64_t seed)
{
    struct vel_vec names;

    redlab_lose(root, (size_t)me);
    redlab_make(root, (size_t)me, seed, 40000, &names);
    VELOC_Redset_clear(rs);
    for (size_t i = 0; i < names.n; i++)
        VELOC_Redset_add(rs, ((char **)names.items)[i]);
    vel_fs_names_fini(&names);
}

static int apply(VELOC_Redset rs)
{
    int rc = VELOC_Redset_apply(rs);

    if (rc != VELOC_SUCCESS)
        mtap_note("%s", VELOC_Redset_error(rs));
    return rc;
}

/* A later run, which knows nothing. The sentence or the report into *ret_text. */
static int recover(char *ret_text, size_t len)
{
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs = NULL;
    int rc = VELOC_Redset_recover(MPI_COMM_WORLD, &options, &rs);

    snprintf(ret_text, len, "%s",
             rc == VELOC_SUCCESS ? VELOC_Redset_report(rs) : VELOC_Redset_error(rs));
    VELOC_Redset_delete(&rs);
    return rc;
}

/* --- losses
 * ---------------------------------------------------------------------------------- */

struct loss {
    const char *name;
    int type, failures, groups;
    unsigned lost; /* bits: groups */
    bool bears;
};

static void lose(const struct loss *c)
{
    VELOC_Redset rs = make(c->type, c->failures, c->groups);
    char text[2048];

    fill(rs, 11);
    int protected = apply(rs);
    VELOC_Redset_delete(&rs);
    uint64_t whole = redlab_state(root, (size_t)me);
    if (c->lost >> (me * c->groups / mtap_size()) & 1)
        redlab_lose(root, (size_t)me);
    uint64_t before = redlab_state(root, (size_t)me);
    MPI_Barrier(MPI_COMM_WORLD);
    int rc = recover(text, sizeof text);
    uint64_t after = redlab_state(root, (size_t)me);
    if (c->bears)
        mok(protected == 0 && rc == VELOC_SUCCESS && after == whole &&
                (c->lost == 0) == (text[0] == '\0'),
            "%s: they come back byte for byte", c->name);
    else
        mok(protected == 0 && rc == VELOC_FAILURE && after == before &&
                strstr(text, c->type == VELOC_REDSET_SINGLE ? "nothing is left of 1"
                                                            : "are lost, and"),
            "%s: a sentence, and nothing has changed", c->name);
}

static void losses(void)
{
    static const struct loss cases[] = {
        {"SINGLE, nothing lost", VELOC_REDSET_SINGLE, 0, 4, 0, true},
        {"SINGLE, a rank lost", VELOC_REDSET_SINGLE, 0, 4, 8, false},
        {"PARTNER, nothing lost", VELOC_REDSET_PARTNER, 0, 2, 0, true},
        {"PARTNER, 1 of 2 groups lost", VELOC_REDSET_PARTNER, 0, 2, 1, true},
        {"PARTNER, groups 0 and 2 of 4 lost", VELOC_REDSET_PARTNER, 1, 4, 5, true},
        {"PARTNER, groups 1 and 2 of 4 lost", VELOC_REDSET_PARTNER, 1, 4, 6, false},
        {"PARTNER twice, groups 1 and 2 lost", VELOC_REDSET_PARTNER, 2, 4, 6, true},
        {"XOR, 1 of 2 groups lost", VELOC_REDSET_XOR, 0, 2, 2, true},
        {"XOR, 1 of 3 groups lost", VELOC_REDSET_XOR, 1, 3, 1, true},
        {"XOR, 1 of 4 groups lost", VELOC_REDSET_XOR, 0, 4, 4, true},
        {"XOR, 2 of 4 groups lost", VELOC_REDSET_XOR, 0, 4, 9, false},
        {"RS, 1 of 2 groups lost", VELOC_REDSET_RS, 1, 2, 1, true},
        {"RS of half the set, 2 of 4 groups lost", VELOC_REDSET_RS, 0, 4, 3, true},
        {"RS of half the set, 3 of 4 groups lost", VELOC_REDSET_RS, 0, 4, 7, false},
        {"RS of 3, 3 of 4 groups lost", VELOC_REDSET_RS, 3, 4, 13, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        lose(&cases[i]);
}

/* --- lists and the life of a set
 * ------------------------------------------------------------- */

static bool list_is(int n, const char *const *names, const char *const *want,
                    int wanted)
{
    for (int i = 0; i < wanted && n == wanted; i++)
        if (strcmp(names[i], want[i]) != 0)
            return false;
    return n == wanted;
}

static void lists(void)
{
    const char *dir = redlab_dir(root, (size_t)me), *const * names;
    const char *const want[] = {"sub/a", "b"};
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs = make(VELOC_REDSET_XOR, 0, 4);
    char path[1100];
    int n = -1, place[4];

    redlab_lose(root, (size_t)me);
    snprintf(path, sizeof path, "%s/sub", dir);
    vel_fs_make_dirs(vel_fs_posix(), path, 0700, NULL);
    snprintf(path, sizeof path, "%s/b", dir);
    tap_put_file(path, "old");
    VELOC_Redset_add(rs, "./sub//a");
    VELOC_Redset_add(rs, path); /* absolute */
    mok(VELOC_Redset_files(rs, &n, &names) == 0 && list_is(n, names, want, 2),
        "files are listed by their names in the directory");
    mok(VELOC_Redset_protected(rs, &n, &names) == VELOC_FAILURE && n == 2 &&
            strstr(VELOC_Redset_error(rs), "no redundancy file"),
        "before it is applied nothing is protected");
    mok(VELOC_Redset_place(rs, &place[0], &place[1], &place[2], &place[3]) == 0 &&
            place[0] == 0 && place[1] == 1 && place[2] == me && place[3] == 4,
        "a rank knows its place");
    snprintf(path, sizeof path, "%s/sub/a", dir);
    tap_put_file(path, "contents");
    mok(apply(rs) == 0 && VELOC_Redset_protected(rs, &n, &names) == 0 && n == 3 &&
            list_is(2, names, want, 2) && strstr(names[2], "redset.") == names[2] &&
            strstr(names[2], ".h5vr"),
        "afterwards the files are, and a file was added");
    tap_put_file(path, "changed, and longer");
    mok(apply(rs) == 0, "files that were written again are protected again");
    redlab_lose(root, me == 1 ? 1 : 99);
    VELOC_Redset_delete(&rs);
    mok(rs == NULL && VELOC_Redset_recover(MPI_COMM_WORLD, &options, &rs) == 0 &&
            VELOC_Redset_files(rs, &n, &names) == 0 && list_is(n, names, want, 2) &&
            tap_file_is(path, "changed, and longer") &&
            strstr(VELOC_Redset_report(rs), "member 1: ") == VELOC_Redset_report(rs),
        "a later run gets files, list and a report of who was lost");
    mok(VELOC_Redset_place(rs, &place[0], &place[1], &place[2], &place[3]) == 0 &&
            place[2] == me && place[3] == 4 && apply(rs) == 0,
        "and may go on with the set it got");
    mok(VELOC_Redset_unapply(rs) == 0 && tap_file_is(path, "changed, and longer") &&
            VELOC_Redset_protected(rs, &n, &names) == VELOC_FAILURE,
        "without protection only the files are left");
    VELOC_Redset_delete(&rs);
    rs = (VELOC_Redset)&options; /* must be written */
    mok(VELOC_Redset_recover(MPI_COMM_WORLD, &options, &rs) == VELOC_REDSET_NONE &&
            rs == NULL,
        "and there is nothing to recover, which is no failure");
}

/* Two sets in one directory that all ranks share, one label beginning like the other.
 */
static void shared_directory(void)
{
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs[2];
    const char *const labels[] = {"a", "a.1"}, *const * names;
    char dir[1100], path[1200], file[32];
    int n, fine = 0;

    snprintf(dir, sizeof dir, "%s/shared", root);
    vel_fs_make_dirs(vel_fs_posix(), dir, 0700, NULL);
    options.directory = dir;
    for (int i = 0; i < 2; i++) {
        options.label = labels[i];
        fine += VELOC_Redset_create(VELOC_REDSET_XOR, MPI_COMM_WORLD, group_of(4),
                                    &options, &rs[i]);
        snprintf(file, sizeof file, "%s-%d", labels[i], me);
        snprintf(path, sizeof path, "%s/%s", dir, file);
        tap_put_file(path, file);
        VELOC_Redset_add(rs[i], file);
        fine += apply(rs[i]);
    }
    /* rank 1 under "a" and what another crashed run left under "a.1" begin alike */
    snprintf(path, sizeof path,
             "%s/a.1.%d.XOR.grp_0_of_1.mem_0_of_4.00000000.h5vr.h5vtmp", dir, me);
    tap_put_file(path, "unfinished");
    MPI_Barrier(MPI_COMM_WORLD);
    mok(fine == 0 && apply(rs[0]) == 0 && VELOC_Redset_unapply(rs[0]) == 0 &&
            VELOC_Redset_protected(rs[1], &n, &names) == 0 && n == 2 &&
            tap_file_is(path, "unfinished"),
        "labels that begin alike do not touch each other's files");
    mok(apply(rs[1]) == 0 && access(path, F_OK) != 0 &&
            VELOC_Redset_protected(rs[1], &n, &names) == 0 && n == 2,
        "what a crash left unfinished is removed by the next apply of its label");
    VELOC_Redset_delete(&rs[0]);
    if (me == 3 && n == 2) /* the list of "a.1": its file and its redundancy file */
        for (int i = 0; i < n; i++) {
            snprintf(path, sizeof path, "%s/%s", dir, names[i]);
            unlink(path);
        }
    VELOC_Redset_delete(&rs[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    fine = VELOC_Redset_recover(MPI_COMM_WORLD, &options, &rs[1]);
    snprintf(path, sizeof path, "%s/a.1-%d", dir, me);
    snprintf(file, sizeof file, "a.1-%d", me);
    mok(fine == VELOC_SUCCESS && tap_file_is(path, file),
        "ranks may share a directory");
    VELOC_Redset_delete(&rs[1]);
}

/* Ranks in another order, and some more than in the run that protected. */
static void other_communicators(void)
{
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs;
    MPI_Comm few, turned;

    redlab_lose(root, (size_t)me);
    MPI_Comm_split(MPI_COMM_WORLD, me < 3 ? 0 : MPI_UNDEFINED, me, &few);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
    if (me < 3) {
        VELOC_Redset_create(VELOC_REDSET_RS, few, group_of(4), &options, &rs);
        fill(rs, 5);
        apply(rs);
        VELOC_Redset_delete(&rs);
        MPI_Comm_free(&few);
    }
    int rc = VELOC_Redset_recover(MPI_COMM_WORLD, &options, &rs), set;
    mok(rc == VELOC_SUCCESS && VELOC_Redset_place(rs, &set, NULL, NULL, NULL) ==
                                   (me < 3 ? VELOC_SUCCESS : VELOC_FAILURE),
        "a run with more ranks recovers, and the new ones are in no set");
    mok(VELOC_Redset_apply(rs) == VELOC_FAILURE &&
            strstr(VELOC_Redset_error(rs), "make a new set with VELOC_Redset_create"),
        "all are told that such a set cannot be applied");
    VELOC_Redset_unapply(rs);
    VELOC_Redset_delete(&rs);
    rc = VELOC_Redset_create(VELOC_REDSET_XOR, turned, group_of(4), &options, &rs);
    fill(rs, 6);
    rc += apply(rs);
    VELOC_Redset_delete(&rs);
    uint64_t whole = redlab_state(root, (size_t)me);
    redlab_lose(root, me == 2 ? 2 : 99);
    MPI_Barrier(MPI_COMM_WORLD);
    rc += VELOC_Redset_recover(turned, &options, &rs);
    mok(rc == 0 && redlab_state(root, (size_t)me) == whole,
        "ranks are those of the communicator given");
    VELOC_Redset_delete(&rs);
    MPI_Comm_free(&turned);
}

/* --- mistakes
 * -------------------------------------------------------------------------------- */

/* Create fails on all ranks with a sentence that has `want` in it. */
static void refuse(const char *name, const char *want, int type, const char *group,
                   const VELOC_Redset_options *options)
{
    VELOC_Redset rs = NULL;
    int rc = VELOC_Redset_create(type, MPI_COMM_WORLD, group, options, &rs);
    bool fine = rc == VELOC_FAILURE && strstr(VELOC_Redset_error(rs), want);

    if (!fine)
        mtap_note("%d: %s", rc, VELOC_Redset_error(rs));
    mok(fine && VELOC_Redset_apply(rs) == VELOC_FAILURE &&
            strstr(VELOC_Redset_error(rs), want),
        "%s is refused on all ranks", name);
    VELOC_Redset_delete(&rs);
}

static void wrong_sets(void)
{
    VELOC_Redset_options good = options_of(), bad = good;
    VELOC_Redset rs = NULL;

    refuse("an unknown type", "type 7", me == 2 ? 7 : VELOC_REDSET_XOR, "x", &good);
    refuse("no scheme", "type 0", me == 1 ? 0 : VELOC_REDSET_XOR, "x", &good);
    refuse("an empty group on one rank", "the failure group is empty", VELOC_REDSET_XOR,
           me == 1 ? "" : group_of(4), &good);
    refuse("a set in one group", "group", VELOC_REDSET_XOR, "x", &good);
    refuse("a set too small for its failures", "the scheme needs 4", VELOC_REDSET_RS,
           group_of(2), (bad.failures = 3, &bad));
    refuse("XOR that bears two losses", "use VELOC_REDSET_RS", VELOC_REDSET_XOR,
           group_of(4), (bad.failures = 2, &bad));
    bad = good;
    refuse("a set size that differs", "different values for options.set_size",
           VELOC_REDSET_XOR, group_of(4), (bad.set_size = me == 3 ? 2 : 4, &bad));
    bad = good;
    refuse("a set size out of range", "set_size is -1", VELOC_REDSET_XOR, group_of(4),
           (bad.set_size = me == 3 ? -1 : 4, &bad));
    bad = good;
    refuse("a label that is no name", "'x/y' cannot label", VELOC_REDSET_XOR,
           group_of(4), (bad.label = "x/y", &bad));
    refuse("labels that differ", "different values for options.label", VELOC_REDSET_XOR,
           group_of(4), (bad.label = me ? "x" : "y", &bad));
    bad = good;
    refuse("too little memory", "memory is 4096 bytes", VELOC_REDSET_RS, group_of(4),
           (bad.memory = 4096, &bad));
    bad = good;
    refuse("options that were not begun", "VELOC_REDSET_OPTIONS", VELOC_REDSET_XOR,
           group_of(4), (bad.options_size = 3, &bad));
    int rc = VELOC_Redset_create(VELOC_REDSET_XOR, MPI_COMM_WORLD, group_of(4), &good,
                                 me == 2 ? NULL : &rs);
    mok(rc == VELOC_FAILURE &&
            (me == 2 || strstr(VELOC_Redset_error(rs), "rank 2: there is no place")),
        "a rank without a place for the set lets nobody wait");
    VELOC_Redset_delete(&rs);
    rc = VELOC_Redset_create(VELOC_REDSET_XOR, MPI_COMM_NULL, "x", &good, &rs);
    mok(rc == VELOC_FAILURE && strstr(VELOC_Redset_error(rs), "MPI_COMM_NULL"),
        "so does no communicator");
    VELOC_Redset_delete(&rs);
}

static void wrong_calls(void)
{
    VELOC_Redset rs = make(VELOC_REDSET_XOR, 0, 4);
    const char *const *names;
    int n;

    mok(VELOC_Redset_add(NULL, "a") && VELOC_Redset_apply(NULL) &&
            VELOC_Redset_unapply(NULL) && VELOC_Redset_clear(NULL) &&
            VELOC_Redset_files(NULL, &n, &names) && VELOC_Redset_delete(NULL) &&
            VELOC_Redset_protected(NULL, &n, &names) &&
            VELOC_Redset_place(NULL, NULL, NULL, NULL, NULL) &&
            strstr(VELOC_Redset_error(NULL), "there is no set") &&
            VELOC_Redset_report(NULL)[0] == '\0',
        "calls without a set fail");
    mok(VELOC_Redset_error(rs)[0] == '\0' && VELOC_Redset_report(rs)[0] == '\0',
        "as long as nothing failed there is nothing to tell");
    mok(VELOC_Redset_add(rs, NULL) && VELOC_Redset_add(rs, "") &&
            VELOC_Redset_files(rs, NULL, &names) && VELOC_Redset_files(rs, &n, NULL) &&
            VELOC_Redset_protected(rs, NULL, &names) && VELOC_Redset_error(rs)[0],
        "so do calls without a file or a place for the result");
    VELOC_Redset_delete(&rs);
    mok(VELOC_Redset_delete(&rs) == VELOC_SUCCESS, "deleting twice is nothing");
}

/* Applying fails on all ranks, and what was protected before stays. */
static void refuse_list(const char *name, const char *want, const char *file)
{
    VELOC_Redset rs = make(VELOC_REDSET_XOR, 0, 2);

    fill(rs, 21);
    int rc = apply(rs);
    uint64_t before = redlab_state(root, (size_t)me);
    if (me == 1)
        VELOC_Redset_add(rs, file);
    int refused = VELOC_Redset_apply(rs);
    bool fine = rc == 0 && refused == VELOC_FAILURE &&
                strstr(VELOC_Redset_error(rs), want) &&
                (me == 1 || strstr(VELOC_Redset_error(rs), "rank 1: "));
    if (!fine)
        mtap_note("%d: %s", refused, VELOC_Redset_error(rs));
    mok(fine && redlab_state(root, (size_t)me) == before,
        "%s is told on all ranks, and what was protected stays so", name);
    VELOC_Redset_delete(&rs);
}

static void wrong_lists(void)
{
    VELOC_Redset_options options = options_of();
    VELOC_Redset rs;
    char path[1100];

    refuse_list("a file that is missing", "/absent: No such file", "absent");
    refuse_list("a file above the directory", "not in the directory", "../m0/other");
    refuse_list("a file elsewhere", "/etc/passwd: not in the directory", "/etc/passwd");
    refuse_list("the directory itself", "not in the directory", ".");
    snprintf(path, sizeof path, "%s/file", root);
    if (me == 0)
        tap_put_file(path, "no directory");
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/file/below", root);
    if (me == 2)
        options.directory = path;
    int rc = VELOC_Redset_create(VELOC_REDSET_XOR, MPI_COMM_WORLD, group_of(4),
                                 &options, &rs);
    mok(rc == VELOC_SUCCESS && VELOC_Redset_apply(rs) == VELOC_FAILURE &&
            strstr(VELOC_Redset_error(rs), path),
        "a directory that cannot be made is named on all ranks");
    VELOC_Redset_delete(&rs);
}

int main(int argc, char **argv)
{
    const struct vel_log_sink quiet = {.write = nobody_listens};
    VELOC_Redset early = NULL, late;

    vel_log_open(&quiet);
    int before =
        VELOC_Redset_create(VELOC_REDSET_XOR, MPI_COMM_WORLD, "x", NULL, &early);
    mtap_init(&argc, &argv);
    root = mtap_dir();
    me = mtap_rank();
    mok(before == VELOC_FAILURE &&
            strstr(VELOC_Redset_error(early), "call MPI_Init first"),
        "before MPI_Init a set cannot be made");
    VELOC_Redset_delete(&early);
    losses();
    lists();
    shared_directory();
    other_communicators();
    wrong_sets();
    wrong_calls();
    wrong_lists();
    late = make(VELOC_REDSET_SINGLE, 0, 4);
    int rc = mtap_done();
    if (VELOC_Redset_apply(late) != VELOC_FAILURE ||
        !strstr(VELOC_Redset_error(late), "MPI_Finalize"))
        rc = 1;
    VELOC_Redset_delete(&late);
    return rc;
}
