/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "meta/entry.h"
#include "tap/files.h"
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

/* The text with `from` in it replaced is refused, with that sentence. */
static void refused(const struct vel_buf *text, const char *from, const char *to,
                    const char *sentence)
{
    const char *at = strstr(text->data, from);
    struct vel_entry entry;
    struct vel_err err = {0};
    struct vel_buf altered;
    int rc;

    if (!at)
        bail_out("%s is not in %s", from, text->data);
    vel_buf_init(&altered);
    vel_buf_append(&altered, text->data, (size_t)(at - text->data));
    vel_buf_puts(&altered, to);
    vel_buf_puts(&altered, at + strlen(from));
    rc = vel_entry_decode(altered.data, altered.len, &entry, &err);
    ok(rc == VEL_ECORRUPT && strstr(err.text, sentence), "%s is refused: %s", to,
       err.text);
    if (rc == 0)
        vel_entry_fini(&entry);
    vel_buf_fini(&altered);
}

static bool same(const struct vel_entry *a, const struct vel_entry *b)
{
    return a->dataset.id == b->dataset.id &&
           strcmp(a->dataset.name, b->dataset.name) == 0 &&
           a->dataset.files == b->dataset.files && a->place == b->place &&
           a->lists == b->lists && a->flushed == b->flushed &&
           a->fetched == b->fetched && a->failed == b->failed &&
           a->refused == b->refused && a->replaced == b->replaced &&
           a->owner == b->owner && a->is_encoded == b->is_encoded;
}

static void as_text(void)
{
    static const struct {
        const char *from, *to, *sentence;
    } damages[] = {
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
    bool is_cut = true;

    entry.owner = 3;
    vel_buf_init(&bytes);
    ok(vel_entry_encode(&entry, &bytes, &err) == 0 &&
           vel_entry_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           same(&entry, &back),
       "an entry comes to other ranks as it is");
    vel_entry_fini(&back);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        refused(&bytes, damages[i].from, damages[i].to, damages[i].sentence);
    for (size_t len = 0; is_cut && len < bytes.len; len++)
        is_cut = vel_entry_decode(bytes.data, len, &back, &err) == VEL_ECORRUPT;
    ok(is_cut, "and so are all beginnings of it");
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
    (void)dir, (void)arg;
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
    const struct sweep dropping = {
        .name = "a tombstone", .prepare = prepare, .action = drop, .check = check_drop};

    as_text();
    fetchable();
    tombstones();
    sweep_run(&dropping);
    return done_testing();
}
