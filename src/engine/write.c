/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset from its start until it is complete (doc/engine.txt, 3). */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "xfer/names.h"

/* --- start --- */

static void writing_fini(struct vel_writing *w)
{
    vel_filemap_fini(&w->map);
    vel_map_destroy(w->routed, NULL);
    vel_map_destroy(w->sums, free);
    vel_map_destroy(w->through, NULL);
    free(w->level);
    free(w->dir);
    memset(w, 0, sizeof *w);
}

/* What is the same on all ranks. */
static int check_name(const char *name, unsigned use, struct vel_err *err)
{
    if (!vel_dataset_is_name(name))
        return vel_fail(
            err, VEL_EINVAL,
            "'%s' is no name of a checkpoint: use 1 to %d bytes without slash, "
            "not beginning with a dot",
            name, VEL_DATASET_NAME_MAX);
    if (!use || use & ~(VEL_USE_CHECKPOINT | VEL_USE_OUTPUT))
        return vel_fail(err, VEL_EINVAL,
                        "'%s': its use has to be VELOC_USE_CHECKPOINT, "
                        "VELOC_USE_OUTPUT or both",
                        name);
    return 0;
}

static int describe(struct vel_session *s, const char *name, int64_t version,
                    unsigned use, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    const struct vel_group *node = vel_groups_find(s->groups, "NODE");

    w->begun = vel_clock_monotonic(s->clock);
    w->map.rank = s->world->rank;
    w->map.dataset = (struct vel_dataset){
        .id = s->last_id + 1,
        .name = strdup(name),
        .version = version,
        .checkpoint = use & VEL_USE_CHECKPOINT ? s->last_checkpoint + 1 : 0,
        .use = use,
        .ranks = s->world->size,
        .nodes = (int)node->count,
        .created = vel_clock_wall(s->clock) / (int64_t)VEL_CLOCK_S};
    w->routed = vel_map_create();
    w->through = vel_map_create();
    return w->map.dataset.name && w->routed && w->through
               ? 0
               : vel_out_of_memory(err, "a dataset");
}

int vel_session_start(struct vel_session *session, const char *name, int64_t version,
                      unsigned use, struct vel_err *err)
{
    struct vel_session *s = session;
    const struct vel_session_asked asked = {name, version, use};
    int64_t meant[VEL_SESSION_MEANT] = {0};
    int rc = vel_session_tell_failed(s, err);

    if (rc < 0)
        return rc;
    rc = vel_session_mean(s, VEL_DO_START, &asked, meant, err);
    if (rc == 0)
        rc = describe(s, name, version, use, err);
    if (rc == 0 && s->world->rank == 0)
        rc = vel_session_claim(s, &s->writing.map.dataset, err);
    rc = vel_session_choose(s, &s->writing, rc, meant, err);
    if (rc == 0)
        rc = vel_session_check_meant(&asked, meant, err);
    if (rc == 0)
        rc = check_name(name, use, err);
    if (rc == 0)
        rc = vel_session_make_place(s, err);
    if (rc < 0) {
        if (s->state == VEL_IDLE)
            writing_fini(&s->writing);
        return rc;
    }
    s->last_id = s->writing.map.dataset.id;
    if (use & VEL_USE_CHECKPOINT) {
        double computed = vel_policy_begin_checkpoint(&s->policy);

        s->last_checkpoint = s->writing.map.dataset.checkpoint;
        vel_session_tell(
            s, (struct vel_event){.kind = VEL_EVENT_COMPUTE, .seconds = computed},
            NULL);
    }
    vel_session_tell(s,
                     (struct vel_event){.kind = use & VEL_USE_CHECKPOINT
                                                    ? VEL_EVENT_CHECKPOINT_START
                                                    : VEL_EVENT_OUTPUT_START},
                     &s->writing.map.dataset);
    s->state = VEL_WRITING;
    return 0;
}

/* --- complete --- */

/* One that was routed is not there. */
static int miss(const struct vel_session *s, const char *name, struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;

    if (w->dir && !vel_fs_exists(s->fs, w->dir))
        return vel_fail(err, VEL_ENOENT,
                        "%s is gone: the cache was removed while a checkpoint was "
                        "written there",
                        w->dir);
    return vel_fail(err, VEL_ENOENT,
                    "'%s' was routed, and never written: write what is routed, or do "
                    "not route it",
                    name);
}

/* The name of a file in a directory of its own goes to disk with that of the last one
 * there; of those beside the redundancy file it does that itself. */
static bool needs_sync(const struct vel_writing *w, size_t i)
{
    const char *name = vel_map_key(w->routed, i);
    const char *next =
        i + 1 < vel_map_count(w->routed) ? vel_map_key(w->routed, i + 1) : "";
    size_t len = (size_t)(vel_path_base(name) - name);

    return len > 0 && !w->is_bypass &&
           (len != (size_t)(vel_path_base(next) - next) ||
            strncmp(name, next, len) != 0);
}

/* A file as it is now, on disk, with its size: one that was routed and not written is a
 * failure. */
static int measure_one(struct vel_session *s, const char *name, int64_t *bytes,
                       struct vel_err *err)
{
    struct stat st;
    char *path = NULL;
    int fd = -1, rc = vel_session_place(s, name, &path, err);

    if (rc == 0)
        rc = vel_fs_open(s->fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, err);
    if (rc == VEL_ENOENT)
        rc = miss(s, name, err);
    if (rc == 0)
        rc = vel_fs_stat(s->fs, fd, path, &st, err);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = vel_fail(err, VEL_EINVAL, "'%s' is no regular file", name);
    if (rc == 0)
        rc = vel_fs_sync(s->fs, fd, path, err);
    if (rc == 0)
        *bytes += st.st_size;
    vel_fs_close(s->fs, fd, path, NULL);
    free(path);
    return rc;
}

/* The directories of their names, where a rank's part has such. */
static int sync_names(struct vel_session *s, struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_map_count(w->routed); i++) {
        char *path = NULL;

        if (!needs_sync(w, i))
            continue;
        rc = vel_session_place(s, vel_map_key(w->routed, i), &path, err);
        if (rc == 0)
            rc = vel_fs_sync_parent(s->fs, path, err);
        free(path);
    }
    return rc;
}

/* *ret_cached: the bytes of those in the cache. */
static int measure(struct vel_session *s, struct vel_dataset *totals,
                   int64_t *ret_cached, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_map_count(w->routed); i++)
        rc = measure_one(s, vel_map_key(w->routed, i), &totals->bytes, err);
    if (rc == 0)
        rc = sync_names(s, err);
    *ret_cached = totals->bytes;
    for (size_t i = 0; rc == 0 && i < vel_map_count(w->through); i++)
        rc = measure_one(s, vel_map_key(w->through, i), &totals->bytes, err);
    totals->files = (int64_t)(vel_map_count(w->routed) + vel_map_count(w->through));
    return rc;
}

/* Collective. All would go well until the dataset is flushed, and then never does: two
 * ranks have a file of the same name. Containers have room for both. */
static int check_names(struct vel_session *s, struct vel_err *err)
{
    const struct vel_map *maps[] = {s->writing.routed, s->writing.through};
    size_t room = vel_map_count(maps[0]) + vel_map_count(maps[1]), n = 0;
    const char **names = calloc(room + 1, sizeof *names);
    int rc = names ? 0 : vel_out_of_memory(err, "names of files");

    for (size_t m = 0; rc == 0 && m < 2; m++)
        for (size_t i = 0; i < vel_map_count(maps[m]); i++)
            names[n++] = vel_map_key(maps[m], i);
    rc = vel_names_check(s->world, rc, names, n, err);
    free(names);
    return rc;
}

/* In containers two ranks may have a file of one name. */
static bool packs(const struct vel_session *s)
{
    return s->conf->containers && !vel_session_is_plain(s, &s->writing.map.dataset);
}

/* The first thing of a completion, where all learn what is wrong with any, and whether
 * rank 0 wants it flushed. */
static int total(struct vel_session *s, bool is_valid, bool *ret_flush,
                 struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;
    struct vel_dataset *d = &s->writing.map.dataset;
    struct vel_dataset mine = {0};
    int64_t sums[5], cached = 0;
    int rc = vel_session_may(s, VEL_DO_COMPLETE, err);

    if (rc == 0 && !is_valid)
        rc =
            vel_fail(err, VEL_ECANCEL, "the program says that its files are not valid");
    if (rc == 0)
        rc = measure(s, &mine, &cached, err);
    sums[0] = mine.files;
    sums[1] = mine.bytes;
    sums[2] = rc == 0 && s->world->rank == 0 && !w->is_bypass &&
              vel_session_flush_due(s, d, w->desc->is_exposed, false);
    sums[3] = w->takes_names;
    sums[4] = s->world->rank == 0 ? vel_session_news(s) : 0;
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_SUM, sums, 5, err);
    if (rc < 0)
        return rc;
    s->last_bytes = (uint64_t)cached;
    s->last_expected = s->expected;
    d->files = sums[0];
    d->bytes = sums[1];
    s->writing.takes_names = sums[3];
    s->writing.news = sums[4];
    *ret_flush = sums[2];
    return d->files > 1 && (s->writing.is_bypass || !packs(s)) ? check_names(s, err)
                                                               : 0;
}

static int encode(struct vel_session *s, int rc, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    size_t n = vel_map_count(w->routed);
    char **names = calloc(n + 1, sizeof *names);
    char list[] = VEL_THROUGH_LIST;

    if (rc == 0)
        rc = names ? vel_session_list_through(s, err)
                   : vel_out_of_memory(err, "protecting a dataset");
    for (size_t i = 0; rc == 0 && i < n; i++)
        names[i] = (char *)(uintptr_t)vel_map_key(w->routed, i);
    if (rc == 0 && vel_map_count(w->through))
        names[n++] = list;
    rc = vel_session_protect(s, w, rc, names, n, err);
    free(names);
    return rc;
}

/* From here on it is one that can be restored. `rc` is what this rank did before. */
static int protect(struct vel_session *s, struct vel_held *held, int rc,
                   struct vel_err *err)
{
    struct vel_vec files;

    if (!s->writing.is_bypass) {
        rc = encode(s, rc, err);
        if (rc != VEL_ENOSPC)
            return rc;
        rc = packs(s) ? check_names(s, err) : 0;
        if (rc == 0)
            rc = vel_session_spill(s, err);
    }
    vel_vec_init(&files, sizeof(struct vel_flush_file));
    if (rc == 0)
        rc = vel_session_list_written(s, &files, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_session_adopt(s, held, &files, err);
    if (rc == 0)
        vel_session_leave_cache(s);
    vel_flush_files_fini(&files);
    return rc;
}

static void count(struct vel_session *s, const struct vel_dataset *dataset, int rc,
                  uint64_t begun, const struct vel_err *err)
{
    bool is_checkpoint = dataset->use & VEL_USE_CHECKPOINT;

    if (is_checkpoint)
        vel_policy_end_checkpoint(&s->policy, rc == 0);
    if (is_checkpoint && rc == 0 && s->has_halt) {
        vel_session_limited(s);
        vel_halt_watch_count(&s->halt);
        vel_session_look_for_halt(s);
    }
    vel_session_tell(
        s,
        (struct vel_event){.kind =
                               is_checkpoint ? VEL_EVENT_CHECKPOINT : VEL_EVENT_OUTPUT,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun),
                           .text = rc == 0 ? NULL : err->text},
        dataset);
}

/* It could not be completed: nothing of it stays. But when ranks were lost in the last
 * agreement, that may have told others that it is complete: then it needs this part. */
static int give_up(struct vel_session *s, int rc, const struct vel_err *why,
                   struct vel_err *err)
{
    struct vel_writing *w = &s->writing;

    count(s, &w->map.dataset, rc, w->begun, why);
    vel_session_learn_size(s);
    if (vel_comm_barrier(s->world, NULL) == 0) {
        if (w->dir)
            vel_session_take_back(s, w->map.dataset.id, VEL_OWE_NOTHING, w->dir, NULL,
                                  NULL);
        vel_session_remove_place(s);
        if (s->world->rank == 0)
            vel_session_forget_behind(s, w->map.dataset.id);
    }
    writing_fini(w);
    return vel_fail(err, (enum vel_status)rc, "%s", why->text);
}

/* The rest is the background's. */
static int owe(struct vel_session *s, bool flush, unsigned *ret_owed,
               struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;
    unsigned owed = (w->is_later ? VEL_OWE_ENCODE : 0) | (flush ? VEL_OWE_FLUSH : 0);
    int level = w->is_encoded ? (int)(w->desc - s->descs->items) : -1;

    if (w->is_bypass)
        return 0;
    *ret_owed = owed;
    return owed ? vel_session_promise(s, &w->map, w->dir, level, owed, err) : 0;
}

/* Collective. It was not taken, as when the prefix cannot be written: then it is
 * encoded here, and when the program ends it is owed again. But where a leader has
 * perhaps taken it, and cannot be asked to leave it, it is owed. */
static int do_without(struct vel_session *s, unsigned *owed, const struct vel_err *why,
                      struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    struct vel_err left = {0};
    bool is_settling = s->is_settling;
    int rc = vel_comm_barrier(s->world, err);

    if (rc < 0)
        return rc;
    vel_log_shared(vel_session_has_nobody(s) ? VEL_LOG_INFO : VEL_LOG_WARN,
                   "%s: it stays in the cache", why->text);
    rc = vel_session_take_back(s, w->map.dataset.id, VEL_OWE_NOTHING, w->dir, NULL,
                               &left);
    rc = vel_comm_agree(s->world, rc, &left);
    if (rc == 0 || !is_settling)
        *owed = 0;
    rc = vel_comm_barrier(s->world, err);
    if (rc < 0 || !w->is_later || *owed)
        return rc;
    w->is_later = false;
    return encode(s, 0, err);
}

/* A restart finds it without its entry in the index, so that a prefix that cannot be
 * written is no reason to lose it. Files that were written where they belong may have
 * taken names of others. */
static void note_entry(struct vel_session *s, const struct vel_held *held)
{
    struct vel_entry entry = held->entry;
    struct vel_err why = {0};

    entry.dataset = s->writing.map.dataset;
    if (s->writing.is_bypass)
        return;
    vel_session_mark_behind(s, VEL_MARK_ENTER, &entry);
    if (s->writing.takes_names &&
        vel_session_mark(s, VEL_MARK_REPLACE, &entry, &why) < 0)
        vel_log(VEL_LOG_WARN, "what is replaced is not recorded: %s", why.text);
}

/* What was written is held from now on. */
static void enter(struct vel_session *s, struct vel_held *held)
{
    struct vel_writing *w = &s->writing;

    held->map = w->map;
    held->level = w->level;
    held->dir = w->dir;
    held->store = w->is_bypass ? s->stores->n : w->desc->store->index;
    held->is_read_in_place = w->is_bypass;
    held->is_exposed = w->desc->is_exposed;
    if (held->owed & VEL_OWE_FLUSH)
        vel_policy_note_flush(&s->policy, held->map.dataset.checkpoint);
    *vel_session_held(s, s->held.n - 1) = *held;
    count(s, &w->map.dataset, 0, w->begun, NULL);
    w->level = w->dir = NULL;
    memset(&w->map, 0, sizeof w->map);
    writing_fini(w);
}

/* MODE=SYNC. What fails now is tried again, without anybody who waits for it. The
 * leader has told why. */
static int wait_for_flush(struct vel_session *s, int64_t id, struct vel_err *err)
{
    struct vel_err why = {0}, left = {0};
    const struct vel_held *held;
    int rc = vel_session_wait_for(s, id, &why);

    held = rc < 0 ? vel_session_held_of(s, id) : NULL;
    if (!held)
        return 0;
    vel_log_shared(VEL_LOG_WARN,
                   "dataset %" PRId64 " (%s %" PRId64
                   ") is not on the prefix yet: it stays in the cache",
                   id, held->map.dataset.name, held->map.dataset.version);
    vel_log_shared(VEL_LOG_INFO, "%s", why.text);
    if (vel_session_give_up_old(s, &left) < 0)
        vel_log(VEL_LOG_INFO, "%s", left.text);
    return s->conf->strict ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
                           : vel_comm_barrier(s->world, err);
}

int vel_session_complete(struct vel_session *session, bool is_valid,
                         struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_held held = {0};
    struct vel_err own = {0};
    size_t others = s->held.n;
    bool flush = false;
    int64_t news;
    int rc = total(s, is_valid, &flush, &own);

    if (s->state != VEL_WRITING)
        return vel_fail(err, (enum vel_status)rc, "%s", own.text);
    vel_vec_init(&held.parts, 1);
    if (rc == 0) {
        rc = vel_vec_push(&s->held, NULL) ? 0 : vel_out_of_memory(&own, "a dataset");
        rc = protect(s, &held, rc, &own);
    }
    if (rc == 0)
        note_entry(s, &held); /* before others write there */
    if (rc == 0) {
        rc = owe(s, flush, &held.owed, &own);
        rc = rc < 0 ? do_without(s, &held.owed, &own, &own) : 0;
    }
    s->state = VEL_IDLE;
    if (rc < 0) {
        s->held.n = others;
        return give_up(s, rc, &own, err);
    }
    news = s->writing.news;
    enter(s, &held);
    if (flush && held.owed && s->conf->mode == VEL_MODE_SYNC)
        rc = wait_for_flush(s, vel_session_held(s, others)->map.dataset.id, err);
    else if (vel_session_learn(s, news, &own) < 0) /* complete it is all the same */
        vel_log_shared(VEL_LOG_WARN, "%s", own.text);
    vel_session_evict_old(s);
    vel_session_sweep(s);
    return rc;
}
