/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries in the ledgers of launches: the last word on each dataset counts, a former
 * owner has none, and a chair goes on when another launch has said something. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/current.h"
#include "meta/ids.h"
#include "meta/index.h"
#include "meta/launch.h"
#include "meta/terms.h"
#include "tap/files.h"
#include "tap/fs_fault.h"
#include "tap/indexlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static char heat[] = "heat", dir[512];
static struct vel_fs *fs;
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static void fresh(const char *name)
{
    snprintf(dir, sizeof dir, "%s", tap_path(name));
    tap_fresh_dir(dir);
}

static struct vel_entry sample(int64_t id, int64_t owner,
                               enum vel_place_on_prefix place)
{
    return (struct vel_entry){.dataset = {.id = id,
                                          .name = heat,
                                          .version = 30,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = 4,
                                          .nodes = 2,
                                          .files = 8,
                                          .bytes = 99},
                              .owner = owner,
                              .place = place,
                              .lists = 2};
}

/* A dataset of a launch. */
static void make(int64_t id, const char *launch)
{
    const struct vel_id_owner owner = {.launch = launch};

    must(vel_ids_claim_late(fs, dir, id, &owner, &err));
}

static int save(int64_t id, int64_t owner, enum vel_place_on_prefix place)
{
    const struct vel_entry entry = sample(id, owner, place);

    return indexlab_save(fs, dir, &entry, &err);
}

/* How far it is, and by whose word; -1: nobody knows, or the status is *ret_owner. */
static int place_of(int64_t id, int64_t *ret_owner)
{
    struct vel_entry entry = {0};
    int rc = indexlab_load(fs, dir, id, &entry, &err);

    *ret_owner = rc == 0 ? entry.owner : rc;
    vel_entry_fini(&entry);
    return rc == 0 ? (int)entry.place : -1;
}

static bool is(int64_t id, enum vel_place_on_prefix place, int64_t owner)
{
    int64_t is_owner;

    return place_of(id, &is_owner) == (int)place && is_owner == owner;
}

static bool is_absent(int64_t id)
{
    int64_t why;

    return place_of(id, &why) == -1 && why == VEL_ENOENT;
}

static size_t left_out; /* launches, so far */

/* The ids in the order of the index, without what cannot be read. */
static const char *order(void)
{
    static char text[128];
    struct vel_vec entries;

    text[0] = '\0';
    must(vel_index_load(indexlab_keep(fs, dir), &left_out, &entries, &err));
    for (size_t i = 0; i < entries.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%lld ",
                 (long long)((struct vel_entry *)entries.items)[i].dataset.id);
    vel_index_fini(&entries);
    return text;
}

/* --- what counts --- */

static void many(void)
{
    fresh("many");
    is_str(order(), "", "without a launch there is no entry");
    ok(is_absent(9), "and nothing is known");
    make(9, "a");
    make(10, "b");
    make(2, "a");
    make(3, "b");
    ok(save(9, 1, VEL_ON_CACHE) == 0 && save(2, 1, VEL_ON_PREFIX) == 0 &&
           save(10, 1, VEL_ON_STAGED) == 0 && save(3, 1, VEL_ON_CACHE) == 0,
       "entries of two launches are said");
    is_str(order(), "10 9 3 2 ", "the newest comes first, whosever it is");
    ok(is(9, VEL_ON_CACHE, 1) && is(10, VEL_ON_STAGED, 1), "and each is found");
    ok(save(9, 1, VEL_ON_PREFIX) == 0 && is(9, VEL_ON_PREFIX, 1),
       "what is said last counts");
    ok(indexlab_remove(fs, dir, 9, &err) == 0 &&
           indexlab_remove(fs, dir, 9, &err) == 0 && is_absent(9),
       "one is removed, and once more is no failure");
    is_str(order(), "10 3 2 ", "and no other is");
    {
        struct vel_index *index = indexlab_keep(fs, dir);
        const struct vel_entry late = sample(9, 1, VEL_ON_STAGED);
        int64_t owner = 0;

        ok(vel_index_is_gone(index, 9) && !vel_index_is_gone(index, 10) &&
               vel_index_owner(index, 9, &owner, NULL, &err) == VEL_ENOENT,
           "it is gone, and has no owner");
        ok(vel_entry_save(index, &late, &err) == VEL_ESTATE &&
               vel_index_claim(index, 9, &owner, &err) == VEL_ENOENT && is_absent(9),
           "who still had to say something of it is refused: %s", err.text);
    }
    ok(save(9, 1, VEL_ON_CACHE) == 0 && is(9, VEL_ON_CACHE, 1),
       "who has it in caches enters it again");
    make(4, "a"); /* another term of that launch */
    must(save(4, 1, VEL_ON_CACHE));
    is_str(order(), "10 9 4 3 2 ", "and there it is");
}

static void owners(void)
{
    struct vel_index *index;
    int64_t owner = 0;
    char *launch = NULL;

    fresh("owners");
    index = indexlab_keep(fs, dir);
    is_int(vel_index_owner(index, 5, &owner, NULL, &err), VEL_ENOENT,
           "an id that nobody has claimed has no owner");
    make(5, "a");
    ok(vel_index_owner(index, 5, &owner, &launch, &err) == 0 && owner == 1 &&
           strcmp(launch, "a") == 0,
       "the first one is of the launch that has made it");
    free(launch);
    must(save(5, 0, VEL_ON_FLUSHING));
    ok(is(5, VEL_ON_FLUSHING, 0), "without an owner the session's word counts");
    is_int(indexlab_claim(fs, dir, 5), 2, "whoever claims it is the second");
    ok(vel_index_owner(index, 5, &owner, &launch, &err) == 0 && owner == 2 &&
           strcmp(launch, "lab") == 0,
       "of his launch");
    free(launch);
    ok(is(5, VEL_ON_FLUSHING, 0), "and what was said before counts until he speaks");
    ok(save(5, 2, VEL_ON_STAGED) == 0 && is(5, VEL_ON_STAGED, 2), "then his does");
    is_int(save(5, 1, VEL_ON_PREFIX), VEL_ESTATE, "an owner before him is refused: %s",
           err.text);
    ok(save(5, 0, VEL_ON_PREFIX) == VEL_ESTATE && is(5, VEL_ON_STAGED, 2),
       "so is a session, and nothing changes");
    is_int(indexlab_claim(fs, dir, 5), 3, "the next one is the third");
    must(indexlab_remove(fs, dir, 5, &err));
    must(save(5, 0, VEL_ON_CACHE));
    is_int(indexlab_claim(fs, dir, 5), 4,
           "nobody gets a number again when it is gone, and comes again");
    make(6, "a");
    is_int(indexlab_claim(fs, dir, 6), 2, "one without an entry can be claimed");
    ok(is_absent(6), "and has none by that");
}

/* --- a chair --- */

static struct chair {
    struct vel_index *index;
    char *launch_dir;
    int terms; /* that were begun */
} chair;

static int keep(void *arg, struct vel_err *why)
{
    const struct vel_terms_self self = {"a", "n1"};
    struct vel_ledger **term = vel_index_term(chair.index), *next;
    int rc;

    (void)arg;
    if (*term && vel_ledger_is_good(*term))
        return 0;
    rc = vel_terms_go_on(fs, chair.launch_dir, 1, &self, &next, why);
    if (rc < 0)
        return rc;
    chair.terms++;
    vel_ledger_close(*term);
    *term = next;
    return 0;
}

static void begin_chair(void)
{
    const struct vel_terms_self self = {"a", "n1"};
    bool is_first;

    chair = (struct chair){.launch_dir = vel_launch_dir(dir, "a")};
    tap_fresh_dir(chair.launch_dir);
    must(vel_index_open(fs, dir, &chair.index, &err));
    must(vel_index_sign(chair.index, "a", "n1", keep, NULL, &err));
    vel_index_bind(chair.index, 1000000000);
    must(vel_index_hold(chair.index, &err));
    must(vel_terms_claim(fs, chair.launch_dir, 1, &self, vel_index_term(chair.index),
                         &is_first, &err));
    vel_index_release(chair.index);
}

static int say(int64_t id, int64_t owner, enum vel_place_on_prefix place)
{
    const struct vel_entry entry = sample(id, owner, place);

    return vel_entry_save(chair.index, &entry, &err);
}

/* On a worker. */
static void *work(void *arg)
{
    *(int *)arg = say(3, 1, VEL_ON_CACHE);
    return arg;
}

static int say_on_worker(void)
{
    pthread_t worker;
    int rc = 0;

    if (pthread_create(&worker, NULL, work, &rc) != 0)
        bail_out("no thread");
    pthread_join(worker, NULL);
    return rc;
}

static void chairs(void)
{
    const struct vel_terms_self other = {"b", "n2"};
    struct vel_entry entry = {0};
    int64_t owner = 0;
    bool is_over = true, is_mine = false;

    fresh("chairs");
    make(1, "a");
    make(2, "a");
    make(3, "a");
    begin_chair();
    ok(say(1, 1, VEL_ON_CACHE) == 0 && say(1, 1, VEL_ON_FLUSHING) == 0 &&
           say(1, 1, VEL_ON_STAGED) == 0 && chair.terms == 0 && is(1, VEL_ON_STAGED, 1),
       "a chair says all in its own term");
    ok(indexlab_claim(fs, dir, 2) == 2 && save(2, 2, VEL_ON_PREFIX) == 0,
       "another launch may settle a dataset of one that lives");
    ok(vel_terms_are_over(fs, chair.launch_dir, &is_over, &err) == 0 && !is_over,
       "which goes on");
    ok(say_on_worker() == 0 && is(3, VEL_ON_CACHE, 1) && chair.terms == 0,
       "a worker of its chair has no need of one more term to say something: %s",
       err.text);
    is_int(say(2, 1, VEL_ON_STAGED), VEL_ESTATE, "its chair learns that: %s", err.text);
    ok(say(1, 1, VEL_ON_PREFIX) == 0 && is(1, VEL_ON_PREFIX, 1) && chair.terms == 1,
       "and begins one more term for what it has to say");
    ok(vel_entry_load(chair.index, 2, &entry, &err) == 0 &&
           entry.place == VEL_ON_PREFIX && entry.owner == 2,
       "where the other's word is kept");
    vel_entry_fini(&entry);
    must(vel_terms_end(fs, chair.launch_dir, &other, NULL, &is_mine, &err));
    ok(is_mine && say(1, 1, VEL_ON_CACHE) < 0 && is(1, VEL_ON_PREFIX, 1),
       "a chair whose launch was ended says nothing: %s", err.text);
    ok(indexlab_claim(fs, dir, 1) == 2 && save(1, 2, VEL_ON_CACHE) == 0 &&
           is(1, VEL_ON_CACHE, 2),
       "others do");
    ok(vel_terms_are_over(fs, chair.launch_dir, &is_over, &err) == 0 && is_over,
       "and it stays over");
    ok(vel_index_owner(chair.index, 1, &owner, NULL, &err) == 0 && owner == 2,
       "the frozen one can see that");
    vel_index_close(chair.index);
    free(chair.launch_dir);
}

/* --- a reader --- */

/* Ledgers go as terms are begun: at each operation of who reads all, one that was there
 * may be gone. Of a launch it has all datasets then, or none. */
static void replaced(void)
{
    struct vel_fs_fault *fault;
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE, .errnum = ENOENT};
    struct vel_fs *real = fs;
    bool is_good = true;
    int whole = 0;

    fresh("replaced");
    for (int64_t id = 1; id <= 3; id++) {
        make(id, "a");
        must(save(id, 1, VEL_ON_CACHE));
    }
    must(vel_fs_fault_create(fs, NULL, &fault, &err));
    fs = vel_fs_fault_fs(fault);
    do {
        const char *got;

        plan.at++;
        vel_fs_fault_arm(fault, &plan);
        got = order();
        whole += strcmp(got, "3 2 1 ") == 0;
        is_good = is_good && (!*got || strcmp(got, "3 2 1 ") == 0);
        if (!is_good)
            note("at operation %llu: %s", (unsigned long long)plan.at, got);
    } while (is_good && vel_fs_fault_fired(fault));
    fs = real;
    vel_fs_fault_destroy(fault);
    ok(is_good && whole > 3, "who reads while ledgers go has each dataset once: %d",
       whole);
}

/* --- what cannot be read --- */

static void unread(void)
{
    static char launch[600];
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE},
                                   plan = {.mode = VEL_FS_FAULT_LASTING,
                                           .kinds = VEL_FS_KIND_READ,
                                           .at = 1,
                                           .below = launch};
    struct vel_fs_fault *fault;
    struct vel_index *index;
    struct vel_vec entries;
    struct vel_fs *real = fs;
    int64_t current = 0;

    fresh("unread");
    make(1, "a");
    make(2, "b");
    must(save(1, 1, VEL_ON_PREFIX));
    must(save(2, 1, VEL_ON_PREFIX));
    snprintf(launch, sizeof launch, "%s/launch.b", dir);
    must(vel_fs_fault_create(fs, NULL, &fault, &err));
    vel_fs_fault_arm(fault, &plan);
    fs = vel_fs_fault_fs(fault);
    index = indexlab_keep(fs, dir);
    is_int(vel_index_load(index, NULL, &entries, &err), VEL_EIO,
           "who must know all fails when a ledger cannot be read");
    ok(strstr(err.text, launch) && strstr(err.text, "Input/output error") &&
           strstr(err.text, "away"),
       "and says which, why, and what to do: %s", err.text);
    is_int(vel_current_find(index, &current, &err), VEL_EIO,
           "so does who looks for the dataset to take first");
    left_out = 0;
    is_str(order(), "1 ", "who need not know has the others");
    is_int((long long)left_out, 1, "and how many launches were left out");
    vel_fs_fault_arm(fault, &none);
    must(vel_index_load(index, NULL, &entries, &err));
    is_int((long long)entries.n, 2, "when it can be read all are there");
    vel_index_fini(&entries);
    fs = real;
    vel_fs_fault_destroy(fault);
}

/* --- what is gone, or damaged --- */

static char heard[4096];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", (int)len,
             line);
}

static void damaged(void)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};
    int64_t why;
    char path[600];

    fresh("damaged");
    make(1, "a");
    make(2, "a");
    make(3, "b");
    must(save(1, 1, VEL_ON_PREFIX));
    must(save(2, 1, VEL_ON_PREFIX));
    must(save(3, 1, VEL_ON_PREFIX));
    indexlab_damage(dir, "a", "heat");
    vel_log_open(&sink);
    ok(place_of(1, &why) == -1 && why == VEL_ECORRUPT,
       "what nobody can read is not taken for absent: %s", err.text);
    ok(is(2, VEL_ON_PREFIX, 1), "a line behind it can be read");
    is_str(order(), "3 2 ", "the index leaves it out");
    vel_log_open(NULL);
    snprintf(path, sizeof path, "%s/launch.a", dir);
    must(vel_fs_remove_tree(fs, path, &err));
    ok(is_absent(1), "with its launch it is gone");
    ok(save(1, 1, VEL_ON_PREFIX) == 0 && is(1, VEL_ON_PREFIX, 1),
       "and what is said of it then makes that anew");
    bool is_over = false;
    ok(vel_launch_is_over(fs, dir, "a", &is_over, &err) == 0 && is_over,
       "as one that is over");
}

/* --- what a crash leaves --- */

static void prepare(const char *at, void *arg)
{
    const struct vel_entry entry = sample(7, 1, VEL_ON_CACHE);

    (void)arg;
    if (indexlab_save(vel_fs_posix(), at, &entry, NULL) < 0)
        bail_out("cannot write in %s", at);
}

static int publish(struct vel_fs *by, const char *at, void *arg, struct vel_err *why)
{
    const struct vel_entry entry = sample(7, 1, VEL_ON_PREFIX);

    (void)arg;
    return indexlab_save(by, at, &entry, why);
}

static enum sweep_state check(const char *at, void *arg)
{
    struct vel_entry entry = {0};

    (void)arg;
    if (indexlab_load(vel_fs_posix(), at, 7, &entry, &err) < 0) {
        note("%s", err.text);
        return SWEEP_BROKEN;
    }
    vel_entry_fini(&entry);
    return entry.place == VEL_ON_PREFIX ? SWEEP_NEW : SWEEP_OLD;
}

int main(void)
{
    const struct sweep publishing = {.name = "an entry",
                                     .prepare = prepare,
                                     .action = publish,
                                     .check = check,
                                     .is_temporary = indexlab_is_temporary};

    fs = vel_fs_posix();
    many();
    owners();
    chairs();
    replaced();
    unread();
    damaged();
    sweep_run(&publishing);
    return done_testing();
}
