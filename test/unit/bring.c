/* SPDX-License-Identifier: BSD-3-Clause */
/* What earlier launches have left in caches, with the ranks on other nodes now: parts
 * move to their ranks, one after the other, and what is damaged or lost is rebuilt on
 * the way. Eight ranks on four nodes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { RANKS = 8, NODES = 4, VISITS = 4096 };

/* --- launches --- */

struct launch {
    const struct seslab *lab;
    int64_t first, last; /* versions to write */
    int64_t found[RANKS];
    int watched; /* the rank whose files are served by a twin; -1: none */
    struct vel_fs *fs;
};

static int run_rank(struct vel_comm *comm, void *arg)
{
    struct launch *l = arg;
    struct vel_session *session = NULL;
    struct vel_err err = {0};
    int64_t *found = &l->found[comm->rank];
    int rc =
        seslab_open(l->lab, comm, comm->rank == l->watched ? l->fs : vel_fs_posix(),
                    &session, &err);

    if (rc == 0)
        rc = seslab_newest(session, found, &err);
    if (rc == 0 && *found > 0)
        rc = seslab_restart(l->lab, session, *found, &err);
    for (int64_t v = l->first; rc == 0 && v <= l->last; v++)
        rc = seslab_checkpoint(l->lab, session, v, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    vel_session_close(session, NULL, NULL);
    return rc;
}

static bool writes(const struct seslab *lab, int64_t first, int64_t last)
{
    struct launch l = {.lab = lab, .first = first, .last = last, .watched = -1};

    return crowd_run(RANKS, NULL, run_rank, &l, NULL) == 0;
}

/* The version that all restart from, every byte of it; 0: none, -1: it failed. */
static int64_t restarts(const struct seslab *lab)
{
    struct launch l = {.lab = lab, .last = -1, .watched = -1};

    return crowd_run(RANKS, NULL, run_rank, &l, NULL) == 0 ? l.found[RANKS - 1] : -1;
}

/* Has the last rebuild said so? */
static bool was_told(const struct seslab *lab, const char *words)
{
    char path[600], *text, *line, *rest, last[2000] = "";

    snprintf(path, sizeof path, "%s/.veloc/events", lab->prefix);
    text = tap_get_file(path, NULL);
    for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, "\"rebuild\""))
            snprintf(last, sizeof last, "%s", line);
    free(text);
    if (!strstr(last, words))
        note("told was %s", last);
    return strstr(last, words) != NULL;
}

/* --- caches --- */

static void change_places(const struct seslab *lab, int a, int b)
{
    const char *aside = tap_path("aside");

    if (rename(seslab_node(lab, a), aside) < 0 ||
        rename(seslab_node(lab, b), seslab_node(lab, a)) < 0 ||
        rename(aside, seslab_node(lab, b)) < 0)
        bail_out("caches cannot be exchanged");
}

struct search {
    const char *ending;
    int n;
    char first[1200];
    const char *root;
};

static int look(void *arg, enum vel_fs_visit what, const char *below,
                const struct stat *st, struct vel_err *err)
{
    struct search *s = arg;
    size_t len = strlen(below), tail = strlen(s->ending);

    (void)st, (void)err;
    if (what == VEL_FS_FILE && len >= tail &&
        strcmp(below + len - tail, s->ending) == 0 && s->n++ == 0)
        snprintf(s->first, sizeof s->first, "%s/%s", s->root, below);
    return 0;
}

/* Files in the caches whose paths end so. */
static int count(const struct seslab *lab, const char *ending, char *ret_first)
{
    struct search s = {.ending = ending, .root = lab->cache};

    vel_fs_walk(vel_fs_posix(), lab->cache, look, &s, NULL);
    if (ret_first)
        snprintf(ret_first, sizeof s.first, "%s", s.first);
    return s.n;
}

static void damage(const struct seslab *lab, const char *ending)
{
    char path[1200], *bytes;
    size_t len;

    if (count(lab, ending, path) == 0 || !(bytes = tap_get_file(path, &len)) || !len)
        bail_out("there is no %s to be damaged", ending);
    bytes[len / 2] ^= 1;
    tap_put_bytes(path, bytes, len);
    free(bytes);
}

static void begin(struct seslab *lab, const char *scheme)
{
    seslab_init(lab, 1);
    seslab_set(lab, "COPY_TYPE", scheme);
    seslab_set(lab, "SET_SIZE", "4");
    seslab_set(lab, "VIRTUAL_NODES", "4");
    seslab_set(lab, "FLUSH", "0");
    seslab_set(lab, "LOG_LEVEL", "ERROR");
    if (!writes(lab, 1, 1))
        bail_out("nothing was written");
}

/* --- moved --- */

static void test_moved(void)
{
    struct seslab lab;

    begin(&lab, "SINGLE");
    ok(restarts(&lab) == 1 && was_told(&lab, "nothing was lost"),
       "where nobody has moved nothing moves");
    change_places(&lab, 0, 3);
    ok(restarts(&lab) == 1 && was_told(&lab, "0 rebuilt, 4 moved"),
       "two nodes have changed places: their parts move, though nothing protects them");
    is_int(count(&lab, ".h5vr", NULL), RANKS, "the copies they came from are gone");
    change_places(&lab, 0, 1);
    change_places(&lab, 2, 3);
    change_places(&lab, 1, 2);
    ok(restarts(&lab) == 1 && was_told(&lab, "0 rebuilt, 8 moved"), "all have");
    ok(restarts(&lab) == 1 && was_told(&lab, "nothing was lost"),
       "and the next launch finds all in place");
}

static void test_not_moved(void)
{
    struct seslab lab, still;

    begin(&lab, "XOR");
    still = lab;
    seslab_set(&still, "DISTRIBUTE", "0");
    change_places(&lab, 0, 2);
    is_int(restarts(&still), 0,
           "with DISTRIBUTE=0 nothing moves, and two nodes are "
           "more than XOR bears");
    ok(count(&lab, ".h5vr", NULL) == RANKS && count(&lab, "/aside", NULL) > 0,
       "all of it is set aside, and stays");
    ok(restarts(&lab) == 1 && was_told(&lab, "0 rebuilt, 4 moved"),
       "a launch that may move it has it again");
    is_int(count(&lab, "/aside", NULL), 0, "and takes the mark off");
    change_places(&lab, 1, 3);
    is_int(restarts(&still), 0, "what is set aside");
    ok(writes(&still, 2, 2) && count(&lab, "/aside", NULL) == 0 &&
           count(&lab, ".h5vr", NULL) == RANKS,
       "goes when a newer one is complete");
    is_int(restarts(&still), 2, "from which the next launch restarts");
}

/* Of rank R's part; below a node of the caches. */
static const char *part_glob(const struct seslab *lab, int node)
{
    static char glob[SESLAB_TEXT + 64];

    snprintf(glob, sizeof glob, "'%s'/*/*/index.*/dataset.1", seslab_node(lab, node));
    return glob;
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *fmt, ...)
{
    char command[4 * SESLAB_TEXT];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    if (system(command) != 0)
        bail_out("%s", command);
}

/* Ranks 0 and 1 run on node 0, which has nothing; nodes 1 and 3 have their parts. */
static void test_copies(void)
{
    struct seslab lab;
    char from[SESLAB_TEXT];

    begin(&lab, "SINGLE");
    snprintf(from, sizeof from, "%s", seslab_node(&lab, 0));
    shell("cp -a '%s/.' '%s' && cp -a '%s/.' '%s' && rm -r '%s'/*", from,
          seslab_node(&lab, 1), from, seslab_node(&lab, 3), from);
    ok(restarts(&lab) == 1 && was_told(&lab, "0 rebuilt, 2 moved"),
       "a part that lies on two other nodes comes from one of them");
    is_int(count(&lab, ".h5vr", NULL), RANKS, "and both copies go");
}

static int open_unmarked(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    return strstr(path, "/.used.") && flags & O_CREAT
               ? -ENOSPC
               : vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

/* Then nobody knows which part is the copy. */
static void test_unmarked(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs twin = {&ops};
    struct seslab lab;
    struct launch l = {.lab = &lab, .last = -1, .watched = 5, .fs = &twin};

    ops.open = open_unmarked;
    begin(&lab, "XOR");
    change_places(&lab, 1, 3);
    ok(crowd_run(RANKS, NULL, run_rank, &l, NULL) == 0 && l.found[RANKS - 1] == 1,
       "where a mark cannot be put all restart");
    is_int(count(&lab, ".h5vr", NULL), RANKS + 4, "and no copy goes");
    ok(restarts(&lab) == 1 && was_told(&lab, "nothing was lost"),
       "the next launch has all in place");
    is_int(count(&lab, ".h5vr", NULL), RANKS, "and removes them");
    is_int(count(&lab, ".h5v-tmp", NULL), 0, "no mark stays");
}

/* Nothing tells what the dataset is. */
static void test_unknown(void)
{
    struct seslab lab;

    begin(&lab, "XOR");
    for (int node = 0; node < NODES; node++)
        shell("for f in %s/rank.*/*.h5vr; do [ ! -e $f ] || echo x >$f; done",
              part_glob(&lab, node));
    is_int(restarts(&lab), 0,
           "where nothing tells what a dataset is it is not restored");
    ok(was_told(&lab, "\"ok\":false") &&
           was_told(&lab, "none of its redundancy files can be read"),
       "an event says so");
    ok(count(&lab, "/aside", NULL) > 0 && count(&lab, ".h5vr", NULL) == RANKS,
       "and all of it is set aside");
}

static void test_rebuilt(void)
{
    struct seslab lab;

    begin(&lab, "XOR");
    damage(&lab, "v1/r5.f1.h5");
    ok(restarts(&lab) == 1 && was_told(&lab, "1 rebuilt (rank 5), 0 moved"),
       "a damaged file is rebuilt");
    change_places(&lab, 0, 3);
    tap_fresh_dir(seslab_node(&lab, 1));
    ok(restarts(&lab) == 1 && was_told(&lab, "2 rebuilt (ranks 2-3), 4 moved"),
       "two nodes have changed places and another is lost");
    change_places(&lab, 1, 2);
    damage(&lab, "v1/r4.f2.h5");
    ok(restarts(&lab) == 1 && was_told(&lab, "1 rebuilt (rank 4), 3 moved"),
       "what is damaged does not move, and is rebuilt where it belongs");
    is_int(seslab_strays(&lab, (char[SESLAB_TEXT]){0}), 0, "nothing else is left");
}

/* A directory that two nodes see, as on a file system for all that was taken for a
 * node's: what lies there is no copy of itself. */
static void test_shared(void)
{
    struct seslab lab;
    char own[SESLAB_TEXT];

    begin(&lab, "SINGLE");
    snprintf(own, sizeof own, "%s", seslab_node(&lab, 1));
    shell("cp -a '%s/.' '%s' && rm -r '%s' && ln -s '%s' '%s'", own,
          seslab_node(&lab, 0), own, seslab_node(&lab, 0), own);
    ok(restarts(&lab) == 1 && restarts(&lab) == 1 &&
           count(&lab, ".h5vr", NULL) == RANKS,
       "what two nodes see in one directory is no copy, and stays");
    is_int(count(&lab, ".h5v-tmp", NULL), 0, "nor does a mark stay there");
}

/* --- one after the other --- */

/* A twin that notes whose files are read, in the order of reading. */
struct watch {
    struct vel_fs fs;
    struct vel_fs_ops ops;
    int of[1024]; /* whose file a descriptor is; 0: none, else rank + 1 */
    int visits[VISITS], n;
    pthread_mutex_t lock;
};

static int watched_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    struct watch *w = (struct watch *)fs;
    const char *base = vel_path_base(path);
    int fd = vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode), rank, file;

    if (fd >= 0 && fd < 1024)
        w->of[fd] = (flags & O_ACCMODE) == O_RDONLY && strstr(path, "/rank.") &&
                            sscanf(base, "r%d.f%d.h5", &rank, &file) == 2
                        ? rank + 1
                        : 0;
    return fd;
}

static ssize_t watched_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    struct watch *w = (struct watch *)fs;

    pthread_mutex_lock(&w->lock);
    if (fd < 1024 && w->of[fd] && w->n < VISITS)
        w->visits[w->n++] = w->of[fd] - 1;
    pthread_mutex_unlock(&w->lock);
    return vel_fs_posix()->ops->pread(vel_fs_posix(), fd, buf, len, at);
}

/* All parts lie on one node, and are wanted on others: who reads there begins behind
 * its own rank, so that not all nodes give to the same one. */
static void test_rounds(int holder)
{
    static struct watch watch = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct seslab lab, one;
    struct launch l = {.lab = &lab, .last = -1, .watched = 2 * holder, .fs = &watch.fs};
    bool is_done[RANKS] = {false};
    int parts = 0, torn = 0, first = -1, last = -1;
    char from[SESLAB_TEXT];

    begin(&lab, "SINGLE");
    vel_fs_remove_tree(vel_fs_posix(), lab.cache, NULL);
    tap_fresh_dir(lab.cache);
    one = lab;
    for (int i = 0; one.settings[i][0]; i++)
        if (strcmp(one.settings[i][0], "VIRTUAL_NODES") == 0)
            one.settings[i][1] = "1";
    if (!writes(&one, 2, 2))
        bail_out("nothing was written");
    snprintf(from, sizeof from, "%s", seslab_node(&lab, 0));
    if (holder > 0 && rename(from, seslab_node(&lab, holder)) < 0)
        bail_out("the cache cannot be moved");
    watch.n = 0;
    watch.ops = *vel_fs_posix()->ops;
    watch.ops.open = watched_open;
    watch.ops.pread = watched_pread;
    watch.fs.ops = &watch.ops;
    ok(crowd_run(RANKS, NULL, run_rank, &l, NULL) == 0 && l.found[0] == 2 &&
           was_told(&lab, "0 rebuilt, 6 moved"),
       "all parts lie on node %d: those of the others move", holder);
    for (int i = 0; i < watch.n; i++) {
        int rank = watch.visits[i];

        if (rank / 2 == holder || rank == last) /* its own node's do not move */
            continue;
        first = first < 0 ? rank : first;
        parts++;
        torn += is_done[rank];
        is_done[rank] = true;
        last = rank;
    }
    ok(parts == 6 && torn == 0, "one after the other: %d parts are read, %d anew",
       parts, torn);
    is_int(first, (2 * holder + 2) % RANKS, "from the one behind it on");
}

/* --- failures --- */

/* Rank 7's part has to move to it, and its files fail. */
static void test_failures(void)
{
    struct seslab lab;
    struct vel_fs_fault *fault;
    int moved = 0, again = 0;
    bool fine = true, fired = true;

    for (uint64_t n = 1; fine && fired; n += 3) {
        const struct vel_fs_fault_plan plan = {
            .mode = VEL_FS_FAULT_ONCE,
            .errnum = 28, /* ENOSPC */
            .at = n,
            .below = lab.cache,
            .kinds = VEL_FS_KIND_WRITE | VEL_FS_KIND_SYNC | VEL_FS_KIND_MKDIR |
                     VEL_FS_KIND_RENAME};
        struct launch l = {.lab = &lab, .last = -1, .watched = 7};

        begin(&lab, "XOR");
        change_places(&lab, 0, 3);
        if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
            bail_out("no memory");
        vel_fs_fault_arm(fault, &plan);
        l.fs = vel_fs_fault_fs(fault);
        int64_t found =
            crowd_run(RANKS, NULL, run_rank, &l, NULL) == 0 ? l.found[7] : -1;
        fired = vel_fs_fault_fired(fault);
        vel_fs_fault_destroy(fault);
        moved += found == 1;
        again += found != 1;
        fine = found == 1 || restarts(&lab) == 1;
        if (!fine)
            note("operation %d: the first launch found %d", (int)n, (int)found);
    }
    ok(fine && moved > 0,
       "whatever fails on the way: %d launches restart, %d leave it to the next", moved,
       again);
}

/* A rank finds no memory for a message, whichever: all end, and nobody has removed what
 * others count on. */
static void test_broken(void)
{
    struct seslab lab;
    bool fine = true, fails = true;
    int failed = 0, n = 0;

    for (unsigned nth = 1; fine && fails; nth += 5, n++) {
        const struct crowd_fault fault = {.rank = n % 2 ? 7 : 1, .nth = nth};
        struct launch l = {.lab = &lab, .last = -1, .watched = -1};

        begin(&lab, "SINGLE");
        change_places(&lab, 0, 3);
        fails = crowd_run(RANKS, &fault, run_rank, &l, NULL) > 0;
        failed += fails;
        fine = restarts(&lab) == 1;
        if (!fine)
            note("message %u of rank %d", nth, fault.rank);
    }
    ok(fine && failed > 20,
       "a communicator that breaks at any message loses nothing: %d launches broke",
       failed);
}

int main(void)
{
    test_moved();
    test_not_moved();
    test_copies();
    test_unmarked();
    test_unknown();
    test_rebuilt();
    test_shared();
    test_rounds(0);
    test_rounds(2);
    test_failures();
    test_broken();
    return done_testing();
}
