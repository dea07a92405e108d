/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "meta/entry.h"
#include "tap/files.h"
#include "tap/recordlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static char heat[] = "heat";

static struct vel_entry sample(int64_t id)
{
    struct vel_entry entry = {.dataset = {.id = id,
                                          .name = heat,
                                          .version = 30,
                                          .use = VEL_USE_OUTPUT,
                                          .ranks = 4,
                                          .nodes = 2,
                                          .files = 8,
                                          .bytes = 99},
                              .place = VEL_ON_STAGED,
                              .lists = 2,
                              .flushed = 11,
                              .fetched = 12,
                              .failed = 13,
                              .refused = 14,
                              .replaced = 15,
                              .is_encoded = true};

    return entry;
}

static int decode(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_entry entry;
    int rc = vel_entry_decode(bytes, len, &entry, err);

    if (rc == 0)
        vel_entry_fini(&entry);
    return rc;
}

static bool same(const struct vel_entry *a, const struct vel_entry *b)
{
    return a->dataset.id == b->dataset.id &&
           strcmp(a->dataset.name, b->dataset.name) == 0 &&
           a->dataset.files == b->dataset.files && a->place == b->place &&
           a->lists == b->lists && a->attempt == b->attempt &&
           a->flushed == b->flushed && a->fetched == b->fetched &&
           a->failed == b->failed && a->refused == b->refused &&
           a->replaced == b->replaced && a->owner == b->owner &&
           a->is_encoded == b->is_encoded;
}

static void as_bytes(void)
{
    static const struct recordlab_damage damages[] = {
        {"\"place\":\"STAGED\"", "\"place\":\"staged\"", "place"},
        {"\"place\":\"STAGED\"", "\"place\":2", "place"},
        {"\"lists\":2", "\"lists\":-1", "lists"},
        {"\"lists\":2", "\"lists\":1073741825", "lists"},
        {"\"flushed\":11", "\"flushed\":\"11\"", "flushed"},
        {"\"fetched\":12", "\"fetched\":1.5", "fetched"},
        {"\"failed\"", "\"fail\"", "failed"},
        {"\"refused\":14", "\"refused\":[]", "refused"},
        {"\"replaced\":15", "\"replaced\":-5", "replaced"},
        {"\"encoded\":1", "\"encoded\":2", "encoded"},
        {"\"owner\":3", "\"owner\":0", "owner"},
        {"\"owner\":3", "\"owner\":-1", "owner"},
        {"\"dataset\":{", "\"dataset\":[],\"x\":{", "dataset"},
        {"\"id\":7", "\"id\":-7", "id"},
        {"\"heat\"", "\"he/at\"", "no name of a dataset"},
    };
    struct vel_entry entry = sample(7), back = {0};
    struct vel_buf bytes;
    struct vel_err err = {0};

    entry.owner = 3;
    vel_buf_init(&bytes);
    ok(vel_entry_encode(&entry, &bytes, &err) == 0 &&
           vel_entry_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           same(&entry, &back),
       "an entry comes to other ranks as it is");
    vel_entry_fini(&back);
    recordlab_refused(&bytes, "entry", decode, damages,
                      sizeof damages / sizeof *damages);
    vel_buf_fini(&bytes);
}

/* A dataset that is flushed under other temporary names than an h5veloc that knows of
 * no attempts would look for. */
static void attempts(void)
{
    struct vel_entry entry = sample(7), back = {0};
    struct vel_buf bytes;
    struct vel_err err = {0};

    vel_buf_init(&bytes);
    entry.attempt = 3;
    ok(vel_entry_encode(&entry, &bytes, &err) == 0 &&
           vel_entry_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           same(&entry, &back) && strstr(bytes.data, "\"version\":2,\"length\""),
       "an attempt is a part of it that older readers refuse");
    vel_entry_fini(&back);
    vel_buf_clear(&bytes);
    entry.place = VEL_ON_PREFIX;
    ok(vel_entry_encode(&entry, &bytes, &err) == 0 &&
           vel_entry_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           same(&entry, &back) && strstr(bytes.data, "\"version\":1,\"length\""),
       "once all files have their names anybody may read it");
    vel_entry_fini(&back);
    vel_buf_clear(&bytes);
    entry.attempt = 0;
    entry.place = VEL_ON_STAGED;
    ok(vel_entry_encode(&entry, &bytes, &err) == 0 && !strstr(bytes.data, "attempt") &&
           strstr(bytes.data, "\"version\":1,\"length\""),
       "the first attempt is told to nobody");
    vel_buf_fini(&bytes);
}

static void fetchable(void)
{
    struct vel_entry entry = sample(7);

    ok(!vel_entry_is_fetchable(&entry), "what has failed once is not fetched again");
    entry.failed = 0;
    ok(!vel_entry_is_fetchable(&entry), "nor what a program could not use");
    entry.refused = 0;
    ok(!vel_entry_is_fetchable(&entry), "nor what has lost files to a newer dataset");
    entry.replaced = 0;
    ok(vel_entry_is_fetchable(&entry), "what is staged can be finished and fetched");
    entry.place = VEL_ON_PREFIX;
    ok(vel_entry_is_fetchable(&entry), "so can what is on the prefix");
    entry.place = VEL_ON_FLUSHING;
    ok(!vel_entry_is_fetchable(&entry), "half of it cannot");
    entry.place = VEL_ON_CACHE;
    ok(!vel_entry_is_fetchable(&entry), "nor what is in caches only");
}

/* --- the index --- */

static char heard[4096];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", (int)len,
             line);
}

static void put(const char *dir, int64_t id, const char *as)
{
    const struct vel_entry entry = sample(id);
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    vel_entry_encode(&entry, &bytes, NULL);
    snprintf(heard, sizeof heard, "%s/index/%s", dir, as);
    tap_put_bytes(heard, bytes.data, bytes.len);
    heard[0] = '\0';
    vel_buf_fini(&bytes);
}

static void index_of_many(void)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec entries = {0};
    struct vel_err err = {0};
    char order[64] = "";
    const struct vel_entry *e;
    int64_t last = 77;

    ok(vel_index_load(fs, tap_dir(), &entries, &err) == 0 && entries.n == 0,
       "without an index there is no entry");
    vel_index_fini(&entries);
    ok(vel_index_last(fs, tap_dir(), &last, &err) == 0 && last == 0, "nor a last id");
    mkdir(tap_path("index"), 0700);
    put(tap_dir(), 9, "dataset.9");
    put(tap_dir(), 10, "dataset.10");
    put(tap_dir(), 2, "dataset.2");
    put(tap_dir(), 4, "dataset.3");  /* what it says it is not */
    put(tap_dir(), 5, "dataset.05"); /* not as we write them */
    put(tap_dir(), 6, "dataset.6x");
    put(tap_dir(), 7, ".dataset.7.tmp");
    tap_put_file(tap_path("index/dataset.11"), "");
    tap_put_file(tap_path("index/dataset.99999999999999999999"), "");
    mkdir(tap_path("index/dataset.12"), 0700);
    vel_log_open(&sink);
    is_int(vel_index_load(fs, tap_dir(), &entries, &err), 0,
           "an index with strange things in it is read");
    vel_log_open(NULL);
    e = entries.items;
    for (size_t i = 0; i < entries.n; i++)
        snprintf(order + strlen(order), sizeof order - strlen(order), "%d ",
                 (int)e[i].dataset.id);
    is_str(order, "10 9 2 ", "newest first, and only what is what its name says");
    vel_index_fini(&entries);
    ok(vel_index_last(fs, tap_dir(), &last, &err) == 0 && last == 12,
       "the last id is that of a name, be its entry readable or not");
    ok(strstr(heard, "dataset.3: it is the entry of dataset 4") &&
           strstr(heard, "dataset.11") && strstr(heard, "dataset.12"),
       "the log names what was left out");
    ok(vel_entry_remove(fs, tap_dir(), 9, &err) == 0 &&
           vel_entry_remove(fs, tap_dir(), 9, &err) == 0,
       "an entry is removed, and once more is no failure");
    struct vel_entry entry = {.lists = 77};
    is_int(vel_entry_load(fs, tap_dir(), 9, &entry, &err), VEL_ENOENT, "it is gone");
    is_int(entry.lists, 77, "and nothing is returned");
}

/* --- owners --- */

static void save(const char *dir, int64_t id, int64_t owner,
                 enum vel_place_on_prefix place)
{
    struct vel_entry entry = sample(id);

    entry.owner = owner;
    entry.place = place;
    entry.failed = entry.refused = entry.replaced = 0;
    entry.dataset.use = VEL_USE_CHECKPOINT;
    if (vel_entry_save(vel_fs_posix(), dir, &entry, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

/* Whose entry counts, and what it says; -1: none. */
static int owner_of(const char *dir, int64_t id, enum vel_place_on_prefix *ret_place)
{
    struct vel_entry entry = {0};
    int owner;

    if (vel_entry_load(vel_fs_posix(), dir, id, &entry, NULL) < 0)
        return -1;
    owner = (int)entry.owner;
    *ret_place = entry.place;
    vel_entry_fini(&entry);
    return owner;
}

static bool nobody(void *arg, int64_t id)
{
    (void)arg, (void)id;
    return false;
}

static void owners(void)
{
    struct vel_fs *fs = vel_fs_posix();
    enum vel_place_on_prefix place = VEL_ON_REMOVING;
    struct vel_vec entries = {0};
    const struct vel_entry *e;
    struct vel_err err = {0};
    char dir[512];

    snprintf(dir, sizeof dir, "%s", tap_path("owned"));
    mkdir(dir, 0700);
    mkdir(tap_path("owned/index"), 0700);
    save(dir, 5, 0, VEL_ON_FLUSHING);
    ok(owner_of(dir, 5, &place) == 0 && place == VEL_ON_FLUSHING,
       "without an owner the session's entry counts");
    save(dir, 5, 9, VEL_ON_PREFIX);
    save(dir, 5, 10, VEL_ON_STAGED);
    ok(owner_of(dir, 5, &place) == 10 && place == VEL_ON_STAGED,
       "then that of the highest owner, by number");
    save(dir, 5, 9, VEL_ON_PREFIX);
    save(dir, 5, 0, VEL_ON_PREFIX);
    ok(owner_of(dir, 5, &place) == 10 && place == VEL_ON_STAGED,
       "a former owner that writes late changes nothing");
    save(dir, 6, 0, VEL_ON_CACHE);
    ok(vel_index_load(fs, dir, &entries, &err) == 0 && entries.n == 2,
       "the index has each dataset once");
    e = entries.items;
    ok(entries.n == 2 && e[0].dataset.id == 6 && e[0].owner == 0 &&
           e[1].dataset.id == 5 && e[1].owner == 10,
       "as its highest owner has it");
    vel_index_fini(&entries);
    put(dir, 5, "dataset.5.11"); /* says nothing of an owner */
    snprintf(heard, sizeof heard, "%s/index/dataset.7.2", dir);
    ok(vel_entry_load(fs, dir, 5, &(struct vel_entry){0}, &err) == VEL_ECORRUPT,
       "an entry that is not what its name says is not believed, nor those before it");
    tap_put_file(heard, "half of");
    heard[0] = '\0';
    ok(vel_index_load(fs, dir, &entries, &err) == 0 && entries.n == 1,
       "in the index such a dataset is left out");
    vel_index_fini(&entries);
    vel_index_sweep(fs, dir, nobody, NULL);
    ok(vel_fs_exists(fs, tap_path("owned/index/dataset.5.11")) &&
           !vel_fs_exists(fs, tap_path("owned/index/dataset.5.10")) &&
           !vel_fs_exists(fs, tap_path("owned/index/dataset.5")),
       "what nobody reads is swept away");
    save(dir, 6, 3, VEL_ON_CACHE);
    save(dir, 6, 20, VEL_ON_CACHE);
    ok(vel_entry_remove(fs, dir, 6, &err) == 0 && owner_of(dir, 6, &place) == -1,
       "an entry is removed with all its owners");
    ok(vel_fs_exists(fs, tap_path("owned/index/dataset.7.2")), "and no other");
}

/* Lists what vel_fs_posix() does, and counts what it has listed of an index. */
static int listed;

static int count_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    (void)fs;
    listed += strstr(path, "/index") != NULL;
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret_names);
}

static void claimed(void)
{
    enum vel_place_on_prefix place = VEL_ON_REMOVING;
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs counting = {.ops = &ops};
    struct vel_entry entry = {0};
    struct vel_err err = {0};
    char dir[512];

    ops.list = count_list;
    snprintf(dir, sizeof dir, "%s", tap_path("claimed"));
    mkdir(dir, 0700);
    mkdir(tap_path("claimed/index"), 0700);
    mkdir(tap_path("claimed/dataset.5"), 0700);
    is_int(vel_entry_load(&counting, dir, 5, &entry, &err), VEL_ENOENT,
           "whoever claimed a dataset has not written its entry yet");
    save(dir, 5, 0, VEL_ON_FLUSHING);
    ok(owner_of(dir, 5, &place) == 0, "that of a session counts until then");
    save(dir, 5, 1, VEL_ON_CACHE);
    tap_put_file(tap_path("claimed/dataset.5/owner.2"), "");
    ok(owner_of(dir, 5, &place) == 1, "and so does that of the one before");
    save(dir, 5, 2, VEL_ON_PREFIX);
    is_int(vel_entry_load(&counting, dir, 5, &entry, &err), 0, "then it is found");
    is_int((int)entry.owner, 2, "as the last one has it");
    is_int(listed, 0, "and the index, where there may be thousands, is not listed");
    vel_entry_fini(&entry);
}

/* --- dropped --- */

static void tombstones(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec ids = {0};
    struct vel_err err = {0};

    ok(vel_dropped_load(fs, tap_path("nowhere"), &ids, &err) == 0 && ids.n == 0,
       "where there is no directory nothing was dropped");
    vel_vec_fini(&ids);
    vel_dropped_save(fs, tap_dir(), 3, &err);
    vel_dropped_save(fs, tap_dir(), 3, &err);
    vel_dropped_save(fs, tap_dir(), 400, &err);
    tap_put_file(tap_path("dropped.x"), "");
    tap_put_file(tap_path("dropped."), "");
    tap_put_file(tap_path("dropped.-4"), "");
    is_int(vel_dropped_load(fs, tap_dir(), &ids, &err), 0, "tombstones are listed");
    ok(ids.n == 2 && ((int64_t *)ids.items)[0] + ((int64_t *)ids.items)[1] == 403,
       "each once, and nothing else");
    vel_vec_fini(&ids);
}

/* --- what a crash leaves --- */

static void prepare(const char *dir, void *arg)
{
    struct vel_entry entry = sample(7);
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/index", dir);
    mkdir(path, 0700);
    entry.place = VEL_ON_CACHE;
    if (vel_entry_save(vel_fs_posix(), dir, &entry, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

static int publish(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    struct vel_entry entry = sample(7);

    (void)arg;
    entry.place = VEL_ON_PREFIX;
    return vel_entry_save(fs, dir, &entry, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    struct vel_entry entry = {0};

    (void)arg;
    if (vel_entry_load(vel_fs_posix(), dir, 7, &entry, NULL) < 0)
        return SWEEP_BROKEN;
    vel_entry_fini(&entry);
    return entry.place == VEL_ON_PREFIX ? SWEEP_NEW : SWEEP_OLD;
}

static int drop(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    (void)arg;
    return vel_dropped_save(fs, dir, 7, err);
}

static enum sweep_state check_drop(const char *dir, void *arg)
{
    struct vel_vec ids = {0};

    (void)arg;
    if (vel_dropped_load(vel_fs_posix(), dir, &ids, NULL) < 0)
        return SWEEP_BROKEN;
    enum sweep_state state = ids.n ? SWEEP_NEW : SWEEP_OLD;
    vel_vec_fini(&ids);
    return state;
}

int main(void)
{
    const struct sweep publishing = {
        .name = "an entry", .prepare = prepare, .action = publish, .check = check};
    const struct sweep dropping = {
        .name = "a tombstone", .prepare = prepare, .action = drop, .check = check_drop};

    as_bytes();
    attempts();
    fetchable();
    index_of_many();
    owners();
    claimed();
    tombstones();
    sweep_run(&publishing);
    sweep_run(&dropping);
    return done_testing();
}
