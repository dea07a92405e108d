/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer of a file that is killed at any step, a mender that is killed at any step,
 * and the next one: the file has what it had at its newest point. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/rng.h"
#include "log/journal_in.h"
#include "log/mend.h"
#include "tap/deadlyfs.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { MOST = 200000, PIECE = 9000, STEPS = 40 };

/* --- the writer --- */

static char *path, *dir, *replaced;
static bool maps; /* every other case */

struct writer {
    struct vel_journal *journal;
    int fd;
    uint64_t size;
    struct vel_rng rng;
};

static int create_journal(int fd, struct vel_journal **ret)
{
    const struct vel_journal_of of = {.fs = deadlyfs(),
                                      .clock = vel_clock_system(),
                                      .dir = dir,
                                      .path = path,
                                      .fd = fd,
                                      .most = 1 << 28,
                                      .may_map = maps};

    return vel_journal_create(&of, ret, NULL);
}

static void write_at(struct writer *w, uint64_t at, const void *bytes, size_t len,
                     bool is_free)
{
    const struct vel_change change = {at, len, bytes, is_free};

    vel_journal_before(w->journal, &change);
    bool is_done =
        vel_fs_write_at(deadlyfs(), w->fd, bytes, len, (off_t)at, path, NULL) == 0;
    vel_journal_after(w->journal, &change, is_done);
    w->size = at + len > w->size ? at + len : w->size;
}

static void cut(struct writer *w, uint64_t size)
{
    const struct vel_change change = {.at = size};

    vel_journal_before(w->journal, &change);
    bool is_done = vel_fs_truncate(deadlyfs(), w->fd, (off_t)size, path, NULL) == 0;
    vel_journal_after(w->journal, &change, is_done);
    w->size = size;
}

/* What the file is at a point stands beside it: `draft` until the point counts. */
static void draw(struct writer *w)
{
    char *bytes = malloc(w->size + 1);
    FILE *draft = fopen(tap_path("draft"), "wb");

    if (!bytes || !draft || pread(w->fd, bytes, w->size, 0) != (ssize_t)w->size ||
        fwrite(bytes, 1, w->size, draft) != w->size || fclose(draft) != 0)
        _exit(2);
    free(bytes);
}

static void point(struct writer *w)
{
    draw(w);
    if (!vel_journal_point(w->journal, w->size) ||
        rename(tap_path("draft"), tap_path("model")) < 0)
        _exit(3);
}

static void step(struct writer *w)
{
    char bytes[PIECE];
    uint64_t what = vel_rng_below(&w->rng, 10);

    vel_rng_fill(&w->rng, bytes, sizeof bytes);
    if (what == 0)
        point(w);
    else if (what == 1)
        cut(w, vel_rng_below(&w->rng, 2 * w->size + 1) % MOST);
    else if (what < 4) /* raw data goes behind what there is */
        write_at(w, w->size, bytes, 1 + vel_rng_below(&w->rng, PIECE), true);
    else
        write_at(w, vel_rng_below(&w->rng, w->size + 1), bytes,
                 1 + vel_rng_below(&w->rng, what < 7 ? 300 : PIECE), false);
}

/* Exit code 0: it has ended well. */
static void write_some(uint64_t seed, long killed_at)
{
    struct writer w = {.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    struct stat st;

    deadlyfs_kill_in(killed_at);
    vel_rng_init(&w.rng, seed);
    if (w.fd < 0 || create_journal(w.fd, &w.journal) < 0 || fstat(w.fd, &st) < 0)
        _exit(1);
    w.size = (uint64_t)st.st_size;
    point(&w);
    for (int i = 0; i < STEPS; i++)
        step(&w);
    draw(&w);
    vel_journal_end(w.journal); /* after which nothing is undone, killed or not */
    if (rename(tap_path("draft"), tap_path("model")) < 0)
        _exit(4);
    if (deadlyfs_is_due())
        raise(SIGKILL);
    close(w.fd);
    vel_journal_destroy(w.journal);
    _exit(0);
}

/* --- the mender --- */

static int mend_it(struct vel_fs *fs, enum vel_mended *ret)
{
    const struct vel_mend_of of = {.fs = fs,
                                   .clock = vel_clock_system(),
                                   .dir = dir,
                                   .path = path,
                                   .replaced = replaced,
                                   .limit = 60 * VEL_CLOCK_S};
    struct vel_err err = {0};
    char *where = NULL;
    int rc = vel_mend(&of, ret, &where, &err);

    if (rc < 0)
        note("%s", err.text);
    free(where);
    return rc;
}

static int status_of(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    return status;
}

static bool is_like(const char *model)
{
    size_t n, want;
    char *is = tap_get_file(path, &n), *was = tap_get_file(tap_path(model), &want);
    bool same = is && was && n >= want && memcmp(is, was, want) == 0;

    free(is);
    free(was);
    return same;
}

static int count_journals(void)
{
    struct vel_vec names;
    int n = -1;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) == 0)
        n = (int)names.n;
    vel_fs_names_fini(&names);
    return n;
}

static void start_anew(uint64_t seed)
{
    struct vel_rng rng;
    char bytes[PIECE];
    FILE *file = fopen(path, "wb");

    vel_rng_init(&rng, seed);
    for (uint64_t n = 1 + vel_rng_below(&rng, 8); file && n > 0; n--) {
        vel_rng_fill(&rng, bytes, sizeof bytes);
        fwrite(bytes, 1, 1 + vel_rng_below(&rng, PIECE), file);
    }
    if (!file || fclose(file) != 0)
        bail_out("cannot write %s", path);
    unlink(tap_path("model"));
    unlink(tap_path("draft"));
}

/* Returns what mending did; -1: the file is not what it was. */
static int kill_one(uint64_t seed)
{
    struct vel_rng rng;
    enum vel_mended mended;
    pid_t pid;

    maps = seed % 2 == 0;
    start_anew(seed);
    vel_rng_init(&rng, seed + 1);
    fflush(stdout);
    if ((pid = fork()) == 0)
        write_some(seed, (long)vel_rng_below(&rng, 250));
    int status = status_of(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) > 0)
        return -1;
    for (uint64_t deaths = vel_rng_below(&rng, 3); deaths > 0; deaths--)
        if ((pid = fork()) == 0) {
            deadlyfs_kill_in((long)vel_rng_below(&rng, 40));
            mend_it(deadlyfs(), &mended);
            _exit(0);
        } else {
            status_of(pid);
        }
    if (mend_it(vel_fs_posix(), &mended) < 0)
        return -1;
    bool is_right = is_like("model") || is_like("draft");
    return is_right ? (int)mended : -1;
}

static void kill_many(struct tap_seeds seeds)
{
    int wrong = 0, by[VEL_MEND_DONE + 1] = {0};

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        int is = kill_one(seed);

        if (is < 0)
            note("seed %llu: not as at its newest point", (unsigned long long)seed);
        wrong += is < 0;
        by[is < 0 ? 0 : is]++;
    }
    note("%d mended, %d left", by[VEL_MEND_DONE], by[VEL_MEND_LEFT]);
    is_int(wrong, 0, "a file is as at its newest point, seeds %llu to %llu",
           (unsigned long long)seeds.first, (unsigned long long)seeds.last);
    ok(by[VEL_MEND_DONE] > 0, "and many had to be mended");
}

/* --- what is left alone --- */

/* A writer that dies with something to undo, at its own hands. */
static void leave_one(void)
{
    pid_t pid;

    start_anew(7);
    fflush(stdout);
    if ((pid = fork()) == 0) {
        struct writer w = {.fd = open(path, O_RDWR | O_CLOEXEC)};
        struct stat st;

        if (w.fd < 0 || create_journal(w.fd, &w.journal) < 0 || fstat(w.fd, &st) < 0)
            _exit(1);
        w.size = (uint64_t)st.st_size;
        point(&w);
        write_at(&w, 1, "other", 5, false);
        raise(SIGKILL);
    }
    status_of(pid);
}

static char *journal_path(void)
{
    struct stat st;

    return stat(path, &st) < 0 ? NULL : vel_journal_name(dir, &st);
}

/* However long ago the last change was. */
static bool has_told_all(const char *journal)
{
    struct vel_journal_head head;
    size_t n;
    char *bytes = tap_get_file(journal, &n);
    struct stat st;

    if (!bytes || n < sizeof head || stat(path, &st) < 0)
        return false;
    memcpy(&head, bytes, sizeof head);
    free(bytes);
    int64_t at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return head.state.start == 0 && head.state.before <= at && at <= head.state.after &&
           head.state.size == (uint64_t)st.st_size;
}

static void is_left(const char *text)
{
    enum vel_mended mended;
    size_t n, m;
    char *before = tap_get_file(path, &n);
    int rc = mend_it(vel_fs_posix(), &mended);
    char *after = tap_get_file(path, &m);

    ok(rc == 0 && mended == VEL_MEND_LEFT && before && after && n == m &&
           memcmp(before, after, n) == 0 && count_journals() == 0,
       "%s is left as it is, and the journal goes", text);
    free(before);
    free(after);
}

static void put(const char *file, long at, const char *bytes, size_t len)
{
    int fd = open(file, O_WRONLY);

    if (fd < 0 || pwrite(fd, bytes, len, at) != (ssize_t)len)
        bail_out("cannot write %s", file);
    close(fd);
}

static void others(void)
{
    enum vel_mended mended;
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 4102444800}};

    leave_one();
    char *journal = journal_path();
    ok(has_told_all(journal),
       "how its writer has left the file is told when it is done");
    free(journal);
    ok(mend_it(vel_fs_posix(), &mended) == 0 && mended == VEL_MEND_DONE &&
           is_like("model") && count_journals() == 0,
       "what was overwritten comes back");
    leave_one();
    utimensat(AT_FDCWD, path, later, 0);
    is_left("a file that somebody has changed");
    leave_one();
    journal = journal_path();
    put(journal, 20, "another boot", 12);
    is_left("a file of another boot");
    free(journal);
    leave_one();
    journal = journal_path();
    put(journal, VEL_JOURNAL_PAGE + 16, "x", 1);
    is_left("a file whose journal is damaged");
    free(journal);
    leave_one();
    start_anew(7);
    is_left("a file that was made anew");
    leave_one();
    tap_put_file(tap_path("new"), "another file");
    rename(tap_path("new"), path);
    ok(mend_it(vel_fs_posix(), &mended) == 0 && mended == VEL_MEND_NOTHING,
       "another file of the same name has no journal");
    vel_fs_remove_tree(vel_fs_posix(), dir, NULL);
    mkdir(dir, 0700);
}

/* Of those that open it at once none goes on before it is mended. */
static void together(void)
{
    int wrong = 0;

    for (int round = 0; round < 10; round++) {
        leave_one();
        fflush(stdout);
        for (int i = 0; i < 6; i++)
            if (fork() == 0) {
                enum vel_mended mended;

                _exit(mend_it(vel_fs_posix(), &mended) < 0 || !is_like("model"));
            }
        for (int status; wait(&status) > 0;)
            wrong += status != 0;
    }
    is_int(wrong, 0, "who opens it while another mends it waits");
}

/* --- while its writer lives --- */

static bool has_journal(void)
{
    return count_journals() > 0;
}

static uint64_t size_of_file(void)
{
    struct stat st;

    return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

static void held(void)
{
    struct writer w = {0}, other = {0};
    enum vel_mended mended;

    start_anew(8);
    w.fd = open(path, O_RDWR);
    other.fd = open(path, O_RDWR);
    w.size = other.size = size_of_file();
    if (create_journal(w.fd, &w.journal) < 0 ||
        create_journal(other.fd, &other.journal) < 0)
        bail_out("no journal");
    point(&w);
    point(&other);
    write_at(&w, 1 << 20, "behind", 6, false);
    ok(!has_journal(), "what is only added to has no journal");
    write_at(&w, 10, "GCOL", 4, true);
    ok(has_journal(), "what is overwritten has, and a global heap is metadata");
    ok(mend_it(vel_fs_posix(), &mended) == 0 && mended == VEL_MEND_HELD,
       "a file whose writer lives is not mended");
    point(&w);
    write_at(&w, 10, "raw!", 4, true);
    vel_journal_end(w.journal);
    vel_journal_destroy(w.journal);
    ok(!has_journal(), "raw data alone needs none, and a file that is closed has none");
    create_journal(w.fd, &w.journal);
    point(&w);
    write_at(&w, 20, "mine", 4, false);
    write_at(&other, 30, "yours", 5, false);
    ok(!has_journal(), "of a file with two writers nobody can tell what to undo");
    point(&w);
    write_at(&w, 20, "more", 4, false);
    write_at(&other, 30, "still", 5, false);
    ok(!has_journal(), "from then on");
    vel_journal_destroy(w.journal);
    vel_journal_destroy(other.journal);
    close(w.fd);
    close(other.fd);
}

static void failed(void)
{
    struct writer w = {0};
    const struct vel_change change = {40, 8, "metadata", false};

    start_anew(9);
    w.fd = open(path, O_RDWR);
    w.size = size_of_file();
    create_journal(w.fd, &w.journal);
    point(&w);
    vel_journal_before(w.journal, &change);
    vel_journal_after(w.journal, &change, false);
    ok(!vel_journal_point(w.journal, 50), "metadata that was not written is no point");
    write_at(&w, 39, "(metadata)", 10, false);
    ok(vel_journal_point(w.journal, 50), "until it is written after all");
    vel_journal_destroy(w.journal);
    close(w.fd);
}

/* Whatever is there instead: no crash, and a file that is one of the two. */
static void hostile(void)
{
    struct vel_rng rng;
    int wrong = 0;

    vel_rng_init(&rng, 1);
    for (int i = 0; i < 300; i++) {
        enum vel_mended mended = VEL_MEND_HELD;
        char bytes[8], *journal;
        size_t n, m;

        leave_one();
        journal = journal_path();
        char *before = tap_get_file(path, &n);
        vel_rng_fill(&rng, bytes, sizeof bytes);
        put(journal, (long)vel_rng_below(&rng, i % 2 ? 160 : VEL_JOURNAL_PAGE + 60),
            bytes, 1 + vel_rng_below(&rng, sizeof bytes));
        if (i % 10 == 0 && truncate(journal, (off_t)vel_rng_below(&rng, 4200)) < 0)
            bail_out("cannot cut %s", journal);
        wrong += mend_it(vel_fs_posix(), &mended) < 0;
        char *after = tap_get_file(path, &m);
        wrong += !(mended == VEL_MEND_DONE ? is_like("model")
                                           : n == m && memcmp(before, after, n) == 0);
        free(before);
        free(after);
        free(journal);
    }
    is_int(wrong, 0, "a damaged journal mends a file as it should, or not at all");
}

int main(void)
{
    path = strdup(tap_path("file.h5"));
    dir = strdup(tap_path("journal"));
    replaced = strdup(tap_path("replaced"));
    mkdir(dir, 0700);
    others();
    together();
    held();
    failed();
    kill_many(tap_seeds(300));
    vel_fs_remove_tree(vel_fs_posix(), replaced, NULL);
    hostile();
    free(path);
    free(dir);
    free(replaced);
    return done_testing();
}
