/* SPDX-License-Identifier: BSD-3-Clause */
/* Chairs of several launches on one prefix, by the real code: before each operation on
 * a file any of them may be held up, for ever or until others have taken its place; the
 * client of a network file system shows some of them a directory as it was, and answers
 * get lost. What was told is there for everybody who reads, always; and what a launch
 * has carried of another one is what counts of that for good. Rules of
 * doc/format-ledger.txt 4 that are broken here, on purpose, are found. SEEDS=a-b. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "ledger/carry.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { ACTORS = 6, FACTS = 64, LAUNCHES = 32, STEPS = 4000 };

enum fault { NONE, TELL_BLIND, BEGIN_BLIND, ACT_BLIND, REMOVE_EARLY, STALE, FAULTS };

struct actor {
    pthread_t thread;
    int64_t launch; /* 0: a new one; -1: it reads */
    bool is_done;
    /* what its client remembers of the directory */
    struct vel_vec names;
    bool has_names;
};

static struct lab {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int turn; /* the actor that goes on; -1: nobody does */
    bool is_over;
    struct actor actors[ACTORS];
    int n;
    struct vel_rng rng;
    enum fault fault;
    struct vel_ledger_dir dir;
    uint64_t told, of_launch[LAUNCHES];
    uint64_t fixed[LAUNCHES]; /* of a launch that was carried */
    bool is_fixed[LAUNCHES];
    int facts;
    char wrong[VEL_ERR_TEXT + 40];
} lab = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static _Thread_local struct actor *me;

static bool coin(uint64_t of)
{
    return vel_rng_below(&lab.rng, of) == 0;
}

/* --- a file system on which others get their turn --- */

/* Until it is this actor's turn; false: it never is again. */
static bool step(void)
{
    bool goes_on;

    if (!me)
        return true;
    pthread_mutex_lock(&lab.lock);
    lab.turn = -1;
    pthread_cond_broadcast(&lab.moved);
    while (!lab.is_over && lab.turn != (int)(me - lab.actors))
        pthread_cond_wait(&lab.moved, &lab.lock);
    goes_on = !lab.is_over;
    pthread_mutex_unlock(&lab.lock);
    return goes_on;
}

static void forget_names(void)
{
    if (me && me->has_names)
        vel_fs_names_fini(&me->names);
    if (me)
        me->has_names = false;
}

#define POSIX vel_fs_posix()

static int list(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    int rc;

    (void)fs;
    if (!step())
        return -EIO;
    if (me && (!me->has_names || coin(2))) {
        forget_names();
        vel_vec_init(&me->names, sizeof(char *));
        rc = POSIX->ops->list(POSIX, path, &me->names);
        if (rc < 0)
            return rc;
        me->has_names = true;
    }
    if (!me)
        return POSIX->ops->list(POSIX, path, ret);
    for (size_t i = 0; i < me->names.n; i++) {
        char *name = strdup(*(char **)vel_vec_at(&me->names, i));

        if (!name || !vel_vec_push(ret, &name))
            bail_out("no memory");
    }
    return 0;
}

/* Does the client remember that there is no such name? */
static bool is_absent(const char *path)
{
    const char *name = path + strlen(lab.dir.path) + 1;

    if (!me || !me->has_names || strlen(path) <= strlen(lab.dir.path) || coin(2))
        return false;
    for (size_t i = 0; i < me->names.n; i++)
        if (strcmp(*(char **)vel_vec_at(&me->names, i), name) == 0)
            return false;
    return true;
}

static int open_file(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    if (!step())
        return -EIO;
    if (!(flags & O_CREAT) && is_absent(path))
        return -ENOENT;
    if (flags & O_CREAT)
        forget_names();
    return POSIX->ops->open(POSIX, path, flags, mode);
}

static ssize_t read_file(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    (void)fs;
    return step() ? POSIX->ops->pread(POSIX, fd, buf, len, at) : -EIO;
}

static ssize_t write_file(struct vel_fs *fs, int fd, const void *buf, size_t len,
                          off_t at)
{
    (void)fs;
    return step() ? POSIX->ops->pwrite(POSIX, fd, buf, len, at) : -EIO;
}

static int sync_file(struct vel_fs *fs, int fd)
{
    (void)fs, (void)fd;
    return step() ? 0 : -EIO;
}

/* An answer may be lost: the client asks again, and it is there. */
static int link_file(struct vel_fs *fs, const char *from, const char *to)
{
    int rc;

    (void)fs;
    if (!step())
        return -EIO;
    forget_names();
    rc = POSIX->ops->link(POSIX, from, to);
    return rc == 0 && me && coin(8) ? -EEXIST : rc;
}

static int unlink_file(struct vel_fs *fs, const char *path)
{
    (void)fs;
    if (!step())
        return -EIO;
    forget_names();
    return POSIX->ops->unlink(POSIX, path);
}

static struct vel_fs *lab_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};

    ops = *POSIX->ops;
    ops.list = list;
    ops.open = open_file;
    ops.pread = read_file;
    ops.pwrite = write_file;
    ops.fsync = sync_file;
    ops.link = link_file;
    ops.unlink = unlink_file;
    return &fs;
}

/* --- facts --- */

static uint64_t facts_of(const struct vel_ledger_text *text)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_fields fields;

        if (vel_line_is(&fact->line, "fact", &fields))
            bits |= (uint64_t)1 << vel_fields_int(&fields);
    }
    return bits;
}

static void put_facts(uint64_t bits, struct vel_buf *ret)
{
    for (int i = 0; i < FACTS; i++)
        if (bits >> i & 1)
            vel_buf_printf(ret, "fact %d\n", i);
}

static void is_wrong(const char *what, uint64_t bits)
{
    if (!lab.wrong[0])
        snprintf(lab.wrong, sizeof lab.wrong, "%s: facts %llx", what,
                 (unsigned long long)bits);
}

/* --- a chair --- */

/* Only the actor whose turn it is runs: the lab is its own. */
static void note_carried(const struct vel_carry *carry)
{
    for (size_t i = 0; i < carry->texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&carry->texts, i);
        int64_t m = text->name.launch;
        uint64_t bits = 0;

        if (m == carry->own.launch || m >= LAUNCHES)
            continue;
        for (size_t k = 0; k < carry->texts.n; k++)
            bits |= facts_of(vel_vec_at(&carry->texts, k));
        bits &= lab.of_launch[m];
        if (lab.is_fixed[m] && bits != lab.fixed[m])
            is_wrong("what counts of a launch that was carried is another",
                     bits ^ lab.fixed[m]);
        lab.is_fixed[m] = true;
        lab.fixed[m] = bits;
    }
}

static int carry_others(struct vel_carry *carry, const struct vel_ledger_self *self)
{
    struct vel_vec names;
    int64_t before = carry->own.launch;
    int rc = vel_ledger_list(carry->dir, &names, NULL);

    if (rc < 0)
        return rc;
    for (size_t i = names.n; rc == 0 && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(&names, i);

        if (name->launch >= before)
            continue;
        before = name->launch;
        if (!coin(3)) /* it is taken to be over, rightly or not */
            rc = vel_carry_launch(carry, self, before, NULL);
    }
    vel_vec_fini(&names);
    return rc;
}

static int begin(struct vel_ledger *ledger, const struct vel_carry *carry)
{
    struct vel_buf facts;
    uint64_t bits = 0;
    int rc;

    vel_buf_init(&facts);
    for (size_t i = 0; i < carry->texts.n; i++)
        bits |= facts_of(vel_vec_at(&carry->texts, i));
    put_facts(bits, &facts);
    if (lab.fault == REMOVE_EARLY)
        vel_carry_remove(carry, NULL);
    rc = vel_ledger_begin(ledger, carry, vel_buf_text(&facts), facts.len, NULL);
    vel_buf_fini(&facts);
    if (lab.fault == BEGIN_BLIND && rc == VEL_ECANCEL)
        rc = 0;
    return rc;
}

static int tell(struct vel_ledger *ledger)
{
    int64_t launch = vel_ledger_name(ledger).launch;
    char text[20];
    int fact, rc;

    if (lab.facts == FACTS || launch >= LAUNCHES)
        return VEL_ECANCEL;
    fact = lab.facts++;
    lab.of_launch[launch] |= (uint64_t)1 << fact;
    snprintf(text, sizeof text, "fact %d\n", fact);
    if (lab.fault == TELL_BLIND) {
        rc = vel_ledger_append(ledger, text, strlen(text), NULL);
        if (rc == 0)
            rc = vel_ledger_sync(ledger, NULL);
    } else {
        rc = vel_ledger_tell(ledger, text, strlen(text), NULL);
    }
    if (rc == 0)
        lab.told |= (uint64_t)1 << fact;
    return rc;
}

static int lead(struct vel_ledger *ledger, const struct vel_ledger_self *self)
{
    struct vel_carry carry;
    int rc = 0;

    vel_carry_init(&carry, &lab.dir, vel_ledger_name(ledger));
    if (carry.own.term > 0)
        rc = vel_carry_own(&carry, NULL);
    if (rc == 0)
        rc = carry_others(&carry, self);
    if (rc == 0)
        rc = begin(ledger, &carry);
    if (rc == 0) {
        note_carried(&carry);
        vel_carry_remove(&carry, NULL);
    }
    vel_carry_fini(&carry);
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = tell(ledger);
    return rc;
}

static void be_chair(struct actor *actor)
{
    const struct vel_ledger_self self = {"n", "a", actor - lab.actors};
    struct vel_ledger *ledger = NULL;
    int rc;

    for (int round = 0; round < 3 && step(); round++) {
        rc = actor->launch
                 ? vel_ledger_next(&lab.dir, actor->launch, &self, &ledger, NULL)
                 : vel_ledger_number(&lab.dir, &self, &ledger, NULL);
        if (rc < 0)
            continue;
        actor->launch = vel_ledger_name(ledger).launch;
        rc = lead(ledger, &self);
        vel_ledger_close(ledger);
        ledger = NULL;
        if (rc < 0 && coin(2))
            actor->launch = 0;
    }
}

/* Reads what counts, and acts on it. */
static void be_reader(void)
{
    for (int round = 0; round < 4 && step(); round++) {
        struct vel_vec texts;

        if (vel_ledger_read_all(&lab.dir, &texts, NULL) < 0)
            continue;
        for (size_t i = 0; i < texts.n; i++) {
            const struct vel_ledger_text *text = vel_vec_at(&texts, i);

            if (lab.fault == ACT_BLIND || vel_ledger_trust(&lab.dir, text, NULL) == 0)
                lab.told |= facts_of(text);
        }
        vel_ledger_texts_fini(&texts);
    }
}

static void *run(void *arg)
{
    me = arg;
    if (me->launch < 0)
        be_reader();
    else
        be_chair(me);
    forget_names();
    pthread_mutex_lock(&lab.lock);
    me->is_done = true;
    lab.turn = -1;
    pthread_cond_broadcast(&lab.moved);
    pthread_mutex_unlock(&lab.lock);
    return NULL;
}

/* --- what must hold --- */

/* For whoever reads all now, while nobody moves. */
static void check_all(void)
{
    struct vel_err err = {0};
    struct vel_vec texts;
    uint64_t sum = 0;

    if (vel_ledger_read_all(&(struct vel_ledger_dir){POSIX, lab.dir.path, false},
                            &texts, &err) < 0) {
        is_wrong(err.text, 0);
        return;
    }
    for (size_t i = 0; i < texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&texts, i);

        if (text->wrong > 0)
            is_wrong("a line is damaged", 0);
        sum |= facts_of(text);
    }
    vel_ledger_texts_fini(&texts);
    if (lab.told & ~sum)
        is_wrong("what was told is not there", lab.told & ~sum);
    for (int m = 0; m < LAUNCHES; m++)
        if (lab.is_fixed[m] && (sum & lab.of_launch[m]) != lab.fixed[m])
            is_wrong("of a launch that was carried something else counts",
                     (sum & lab.of_launch[m]) ^ lab.fixed[m]);
}

static uint64_t read_sum(const struct vel_ledger_dir *dir, size_t *ret_launches)
{
    struct vel_vec texts;
    uint64_t sum = 0;

    if (vel_ledger_read_all(dir, &texts, NULL) < 0)
        return 0;
    for (size_t i = 0; i < texts.n; i++)
        sum |= facts_of(vel_vec_at(&texts, i));
    *ret_launches = texts.n;
    vel_ledger_texts_fini(&texts);
    return sum;
}

/* A ledger that takes over all that it can. */
static int begin_last(const struct vel_ledger_dir *dir, struct vel_ledger *ledger)
{
    const struct vel_ledger_self self = {"n", "a", -1};
    struct vel_carry carry;
    struct vel_vec names;
    int rc;

    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    rc = vel_ledger_list(dir, &names, NULL);
    if (rc == 0 && carry.own.term > 0)
        rc = vel_carry_own(&carry, NULL);
    for (size_t i = names.n; rc == 0 && i-- > 0;)
        rc = vel_carry_launch(&carry, &self,
                              ((struct vel_ledger_name *)vel_vec_at(&names, i))->launch,
                              NULL);
    vel_vec_fini(&names);
    if (rc == 0)
        rc = begin(ledger, &carry);
    if (rc == 0)
        rc = vel_carry_remove(&carry, NULL);
    vel_carry_fini(&carry);
    vel_ledger_close(ledger);
    return rc;
}

/* All others are frozen for good: a launch that begins now carries all, and after its
 * next term nothing else is left. */
static void check_heir(void)
{
    const struct vel_ledger_dir dir = {POSIX, lab.dir.path, false};
    const struct vel_ledger_self self = {"n", "a", -1};
    struct vel_ledger *first = NULL, *second = NULL;
    struct vel_vec names;
    uint64_t sum;
    size_t n = 0;

    if (vel_ledger_number(&dir, &self, &first, NULL) < 0)
        bail_out("no number");
    int64_t launch = vel_ledger_name(first).launch;
    if (begin_last(&dir, first) < 0)
        is_wrong("a launch that begins last cannot begin", 0);
    sum = read_sum(&dir, &n);
    if (n != 1 || lab.told & ~sum)
        is_wrong("a launch that begins last has not all that was told",
                 lab.told & ~sum);
    if (vel_ledger_next(&dir, launch, &self, &second, NULL) < 0 ||
        begin_last(&dir, second) < 0)
        is_wrong("a launch that began last cannot go on", 0);
    sum = read_sum(&dir, &n);
    if (n != 1 || lab.told & ~sum)
        is_wrong("a launch that began last loses something", lab.told & ~sum);
    vel_ledger_list(&dir, &names, NULL);
    if (names.n != 2)
        is_wrong("ledgers are left that nobody needs", 0);
    vel_vec_fini(&names);
}

/* --- schedules --- */

static void forget_run(void)
{
    lab.told = 0;
    lab.facts = 0;
    lab.is_over = false;
    lab.wrong[0] = '\0';
    memset(lab.of_launch, 0, sizeof lab.of_launch);
    memset(lab.fixed, 0, sizeof lab.fixed);
    memset(lab.is_fixed, 0, sizeof lab.is_fixed);
}

/* The actors in turn, some of them held up for long. */
static void schedule(void)
{
    unsigned held = 0;

    for (int steps = 0; steps < STEPS && !lab.wrong[0]; steps++) {
        int i = (int)vel_rng_below(&lab.rng, (uint64_t)lab.n), left = 0;

        if (coin(40))
            held = (unsigned)vel_rng_below(&lab.rng, 1U << lab.n);
        for (int k = 0; k < lab.n; k++)
            left += !lab.actors[k].is_done && !(held >> k & 1);
        if (left == 0 && held == 0)
            break;
        if (left == 0)
            held = 0;
        if (lab.actors[i].is_done || held >> i & 1)
            continue;
        lab.turn = i;
        pthread_cond_broadcast(&lab.moved);
        while (lab.turn != -1)
            pthread_cond_wait(&lab.moved, &lab.lock);
        check_all();
    }
}

/* What was wrong, or "". */
static const char *run_seed(uint64_t seed, enum fault fault)
{
    forget_run();
    vel_rng_init(&lab.rng, seed);
    lab.fault = fault;
    lab.dir = (struct vel_ledger_dir){lab_fs(), tap_path("ledger"), fault != STALE};
    tap_fresh_dir(lab.dir.path);
    lab.n = 2 + (int)vel_rng_below(&lab.rng, ACTORS - 1);
    pthread_mutex_lock(&lab.lock);
    for (int i = 0; i < lab.n; i++) {
        lab.turn = i;
        lab.actors[i] = (struct actor){
            .launch = i == 0 ? 0 : (int64_t)vel_rng_below(&lab.rng, 4) - 1};
        if (pthread_create(&lab.actors[i].thread, NULL, run, &lab.actors[i]) != 0)
            bail_out("no thread");
        while (lab.turn != -1)
            pthread_cond_wait(&lab.moved, &lab.lock);
    }
    schedule();
    if (!lab.wrong[0])
        check_heir();
    lab.is_over = true;
    pthread_cond_broadcast(&lab.moved);
    pthread_mutex_unlock(&lab.lock);
    for (int i = 0; i < lab.n; i++)
        pthread_join(lab.actors[i].thread, NULL);
    return lab.wrong;
}

int main(void)
{
    static const struct {
        const char *text;
        uint64_t seed; /* that has found it before; another one may now */
    } faults[FAULTS] = {
        [TELL_BLIND] = {"to tell without a look", 3},
        [BEGIN_BLIND] = {"to go on without a look behind the begin", 119},
        [ACT_BLIND] = {"to act on what was read, without a look", 2408},
        [REMOVE_EARLY] = {"to remove before the begin", 249},
        [STALE] = {"to believe what the client remembers", 11},
    };
    const char *seeds = getenv("SEEDS");
    uint64_t first = 1, last = 300, wrong = 0;
    int fds = tap_open_fds();

    if (seeds && sscanf(seeds, "%lu-%lu", &first, &last) < 2)
        last = first;
    for (uint64_t seed = first; seed <= last; seed++) {
        const char *what = run_seed(seed, NONE);

        if (*what && wrong++ < 5)
            note("seed %lu: %s", seed, what);
    }
    is_int((long long)wrong, 0,
           "chairs of several launches, held up anywhere: nothing that was told is "
           "lost, seeds %lu to %lu",
           first, last);
    for (enum fault fault = NONE + 1; fault < FAULTS; fault++) {
        uint64_t seed = faults[fault].seed, most = seed + 3000;

        while (seed < most && !*run_seed(seed, fault))
            seed++;
        ok(seed < most, "found by seed %lu: %s (%s)", seed, faults[fault].text,
           lab.wrong);
    }
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
