/* SPDX-License-Identifier: BSD-3-Clause */
/* What the owner of a flush does for all nodes: its entry, and what other datasets of
 * the same names and owners before it mean for it. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "jobs/flushing_in.h"
#include "meta/paths.h"
#include "xfer/crew.h"
#include "xfer/flush_in.h"
#include "xfer/stands.h"

int vel_flushing_check_owner(const struct vel_flushing *flushing, int64_t id,
                             int64_t owner, struct vel_err *err)
{
    struct vel_err why = {0};
    int64_t last = 0;
    int rc = vel_index_owner(flushing->index, id, &last, NULL, &why);

    if (rc < 0 && rc != VEL_ENOENT)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    if (last > owner)
        return vel_fail(err, VEL_ESTATE,
                        "dataset %" PRId64 " has the owner %" PRId64
                        ", who came after %" PRId64,
                        id, last, owner);
    return last == owner
               ? 0
               : vel_fail(err, VEL_ESTATE,
                          "dataset %" PRId64 " is gone with its owner %" PRId64, id,
                          owner);
}

/* --- lists and names --- */

/* What goes into a container takes no name on the prefix. */
static int add_names(struct vel_map *names, const struct vel_vec *files,
                     struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        const struct vel_listed *file = vel_vec_at(files, i);

        if (file->container >= 0)
            continue;
        if (vel_map_has(names, file->name))
            rc = vel_fail(err, VEL_EUNSUP,
                          "%s is the name of files of two ranks, one of which is %d: "
                          "give each a name of its own",
                          file->name, file->rank);
        else if (vel_map_set(names, file->name, names, NULL) < 0)
            rc = vel_out_of_memory(err, "names of files");
    }
    return rc;
}

/* Takes the files if they are few. */
static int keep_short(int list, int lists, struct vel_vec *files, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = vel_filelist_encode(files, &bytes, err);
    if (rc == 0 && vel_filelist_is_short(bytes.len, lists)) {
        const struct vel_entry_list one = {.list = list, .files = *files};

        if (vel_vec_push(ret, &one))
            vel_vec_init(files, sizeof(struct vel_listed));
        else
            rc = vel_out_of_memory(err, "a list of files");
    }
    vel_buf_fini(&bytes);
    return rc;
}

/* What the nodes have listed; of that what the entry is to have, and all names (NULL:
 * not asked). */
static int take_lists(const struct vel_flushing *f, const struct vel_entry *entry,
                      struct vel_vec *ret_short, struct vel_map *names,
                      struct vel_err *err)
{
    int rc = 0;

    for (int l = 0; rc == 0 && l < entry->lists; l++) {
        struct vel_vec files;

        rc = vel_index_files(f->index, entry->dataset.id, l, &files, err);
        if (rc < 0)
            break;
        if (names)
            rc = add_names(names, &files, err);
        if (rc == 0)
            rc = keep_short(l, entry->lists, &files, ret_short, err);
        vel_filelist_fini(&files);
    }
    return rc;
}

/* The entry with the short ones of its lists. */
static int save_with_lists(const struct vel_flushing *f, const struct vel_entry *entry,
                           struct vel_err *err)
{
    bool is_staged = entry->place == VEL_ON_STAGED;
    struct vel_map *names = is_staged ? vel_map_create() : NULL;
    struct vel_vec lists;
    int rc = names || !is_staged ? 0 : vel_out_of_memory(err, "names of files");

    vel_vec_init(&lists, sizeof(struct vel_entry_list));
    if (rc == 0)
        rc = take_lists(f, entry, &lists, names, err);
    if (rc == 0)
        rc = vel_entry_save_lists(f->index, entry, &lists, err);
    vel_entry_lists_fini(&lists);
    vel_map_destroy(names, NULL);
    return rc;
}

static int share_name(void *arg, const struct vel_listed *file)
{
    return file->container < 0 && vel_map_has(arg, file->name);
}

/* Has another dataset one of these names there? What cannot be read has none. */
static bool shares(const struct vel_flushing *f, const struct vel_map *names,
                   const struct vel_entry *other)
{
    return vel_index_each_file(f->index, other, share_name, (void *)(uintptr_t)names) >
           0;
}

/* The names of a dataset that is staged; the caller destroys them. */
static int own_names(const struct vel_flushing *f, const struct vel_entry *entry,
                     struct vel_map **ret_names, struct vel_err *err)
{
    struct vel_map *names = vel_map_create();
    int rc = names ? 0 : vel_out_of_memory(err, "names of files");

    for (int l = 0; rc == 0 && l < entry->lists; l++) {
        struct vel_vec files;

        rc = vel_index_files(f->index, entry->dataset.id, l, &files, err);
        if (rc < 0)
            break;
        rc = add_names(names, &files, err);
        vel_filelist_fini(&files);
    }
    if (rc < 0)
        vel_map_destroy(names, NULL);
    else
        *ret_names = names;
    return rc;
}

struct vel_map *vel_flushing_names(const struct vel_flushing *flushing, int64_t id)
{
    struct vel_map *names = vel_map_create();
    int l, rc = names ? 0 : VEL_ENOMEM;

    for (l = 0; rc == 0; l++) {
        struct vel_vec files;

        rc = vel_index_files(flushing->index, id, l, &files, NULL);
        if (rc < 0)
            break;
        rc = add_names(names, &files, NULL);
        vel_filelist_fini(&files);
    }
    /* behind the last there is none; of a damaged ledger nobody can be sure of that */
    if (rc == VEL_ENOENT || (rc == VEL_ECORRUPT && l > 0))
        return names;
    vel_map_destroy(names, NULL);
    return NULL;
}

/* --- staging and publishing --- */

int vel_flushing_stage(const struct vel_flushing *flushing, struct vel_entry *entry,
                       struct vel_err *err)
{
    enum vel_place_on_prefix before = entry->place;
    int64_t id = entry->dataset.id;
    int rc = vel_flushing_check_owner(flushing, id, entry->owner, err);

    if (rc == 0) {
        entry->place = VEL_ON_STAGED;
        rc = save_with_lists(flushing, entry, err);
    }
    if (rc == 0)
        rc = vel_flushing_check_owner(flushing, id, entry->owner, err);
    if (rc < 0)
        entry->place = before;
    return rc < 0 ? vel_wrap(err, rc, "staging dataset %" PRId64, id) : 0;
}

struct rivals {
    const struct vel_flushing *of;
    const struct vel_entry *entry;
    const struct vel_map *names;
    struct vel_vec *found; /* struct vel_flush_rival, the newest first */
};

/* Nobody goes back from the prefix to a flush but who removes it, and that only removes
 * what it finds untouched. */
static int add_rival(void *arg, struct vel_entry *e, struct vel_err *err)
{
    const struct rivals *r = arg;
    const struct vel_flush_rival rival = {
        .id = e->dataset.id, .owner = e->owner, .place = e->place};
    bool is_newer = rival.id > r->entry->dataset.id;
    int rc = 0;

    if (!is_newer && r->of->published && (e->replaced || e->place == VEL_ON_PREFIX))
        vel_over_add(r->of->published, rival.id);
    if (rival.id != r->entry->dataset.id && !e->replaced &&
        (rival.place == VEL_ON_STAGED ||
         rival.place == (is_newer ? VEL_ON_PREFIX : VEL_ON_FLUSHING)) &&
        shares(r->of, r->names, e) && !vel_vec_push(r->found, &rival))
        rc = vel_out_of_memory(err, "datasets of the same names");
    vel_entry_fini(e);
    return rc;
}

/* The oldest first. */
static void turn_round(struct vel_vec *rivals)
{
    struct vel_flush_rival *r = rivals->items;

    for (size_t i = 0; i < rivals->n / 2; i++) {
        struct vel_flush_rival swapped = r[i];

        r[i] = r[rivals->n - 1 - i];
        r[rivals->n - 1 - i] = swapped;
    }
}

int vel_flushing_rivals(const struct vel_flushing *flushing,
                        const struct vel_entry *entry, struct vel_vec *ret,
                        struct vel_err *err)
{
    const struct vel_index_range all = {.above = INT64_MIN,
                                        .below = INT64_MAX,
                                        .over_below = entry->dataset.id,
                                        .over = flushing->published};
    struct vel_map *names = NULL;
    struct vel_vec found;
    struct rivals r = {.of = flushing, .entry = entry, .found = &found};
    int rc = own_names(flushing, entry, &names, err);

    vel_vec_init(&found, sizeof(struct vel_flush_rival));
    r.names = names;
    if (rc == 0)
        rc = vel_index_each(flushing->index, &all, add_rival, &r, err);
    vel_map_destroy(names, NULL);
    turn_round(&found);
    if (rc < 0)
        vel_vec_fini(&found);
    else
        *ret = found;
    return rc < 0 ? vel_wrap(err, rc, "publishing dataset %" PRId64, entry->dataset.id)
                  : 0;
}

struct vel_crew vel_flushing_crew(const struct vel_flushing *f)
{
    return (struct vel_crew){.fs = f->fs,
                             .clock = f->clock,
                             .prefix = f->prefix,
                             .dir = f->dir,
                             .index = f->index,
                             .copy = f->copy,
                             .checks_crc = f->checks_crc,
                             .nodes = 1};
}

struct taking {
    const struct vel_flushing *of;
    const struct vel_entry *by;
    const struct vel_map *names;
    struct vel_crew crew;
};

int vel_flushing_mark_lost(const struct vel_crew *crew, struct vel_entry *e, int64_t by,
                           struct vel_err *err)
{
    bool stands = true;

    if (e->replaced || e->place != VEL_ON_PREFIX ||
        vel_stands_dataset(crew, e, &stands, NULL) < 0 || stands)
        return 0;
    e->replaced = by;
    vel_log(VEL_LOG_INFO,
            "dataset %" PRId64 " (%s %" PRId64
            ") has lost files on the prefix to dataset %" PRId64
            ", whose files have the same names",
            e->dataset.id, e->dataset.name, e->dataset.version, by);
    return vel_entry_save(crew->index, e, err);
}

static int mark_one(void *arg, struct vel_entry *e, struct vel_err *err)
{
    const struct taking *t = arg;
    const struct vel_flushing *f = t->of;
    int rc = 0;

    if (!e->replaced && e->place == VEL_ON_PREFIX && shares(f, t->names, e))
        rc = vel_flushing_mark_lost(&t->crew, e, t->by->dataset.id, err);
    if (rc == 0 && e->replaced && f->replaced &&
        (e->place == VEL_ON_PREFIX || e->place == VEL_ON_CACHE))
        vel_over_add(f->replaced, e->dataset.id);
    vel_entry_fini(e);
    return rc;
}

/* Older datasets that have lost files to this one cannot be fetched any more. */
static int mark_replaced(const struct vel_flushing *f, const struct vel_entry *entry,
                         struct vel_err *err)
{
    size_t left_out = 0;
    const struct vel_index_range older = {.above = INT64_MIN,
                                          .below = entry->dataset.id,
                                          .over_below = entry->dataset.id,
                                          .over = f->replaced,
                                          .left_out = &left_out};
    struct taking t = {.of = f, .by = entry, .crew = vel_flushing_crew(f)};
    struct vel_map *names = NULL;
    int rc = own_names(f, entry, &names, err);

    t.names = names;
    if (rc == 0)
        rc = vel_index_each(f->index, &older, mark_one, &t, err);
    vel_map_destroy(names, NULL);
    return rc;
}

/* The entry has the short ones. */
static void remove_lists(const struct vel_flushing *f, const struct vel_entry *entry)
{
    for (int l = 0; l < entry->lists; l++)
        if (vel_index_has_list(f->index, entry->dataset.id, l))
            vel_filelist_remove(f->fs, f->dir, entry->dataset.id, l);
    vel_filelist_remove_dir(f->fs, f->dir, entry->dataset.id);
}

/* What follows from the entry that says PREFIX: said again it changes nothing. */
static int tell_published(const struct vel_flushing *f, const struct vel_entry *entry,
                          struct vel_err *err)
{
    char *taken = vel_taken_path(f->dir, entry->dataset.id);
    int rc = taken ? 0 : vel_out_of_memory(err, "publishing");

    if (rc == 0 && vel_fs_exists(f->fs, taken)) {
        rc = mark_replaced(f, entry, err);
        if (rc == 0)
            rc = vel_fs_unlink(f->fs, taken, err);
    }
    if (rc == 0)
        remove_lists(f, entry);
    free(taken);
    return rc;
}

/* Some of its files have no name on the prefix: it cannot be fetched. */
static int note_left(const struct vel_flushing *f, struct vel_entry *entry,
                     struct vel_err *err)
{
    char *left = vel_left_path(f->dir, entry->dataset.id);

    if (!left)
        return vel_out_of_memory(err, "publishing");
    if (vel_fs_exists(f->fs, left))
        entry->failed = entry->flushed;
    free(left);
    return 0;
}

int vel_flushing_publish(const struct vel_flushing *flushing, struct vel_entry *entry,
                         struct vel_err *err)
{
    enum vel_place_on_prefix before = entry->place;
    int rc = vel_flushing_check_owner(flushing, entry->dataset.id, entry->owner, err);

    if (rc == 0) {
        entry->place = VEL_ON_PREFIX;
        entry->flushed = vel_clock_wall(flushing->clock) / (int64_t)VEL_CLOCK_S;
        rc = note_left(flushing, entry, err);
        if (rc == 0)
            rc = save_with_lists(flushing, entry, err);
        if (rc < 0)
            entry->place = before;
    }
    if (rc == 0)
        rc = tell_published(flushing, entry, err);
    return rc < 0 ? vel_wrap(err, rc, "publishing dataset %" PRId64, entry->dataset.id)
                  : 0;
}

/* --- what owners before us have left --- */

/* What was staged is gone or corrupt: it will never have all its names, and nothing is
 * gained by keeping newer ones from theirs. */
static void give_up(const struct vel_flushing *f, struct vel_entry *entry, int rc)
{
    struct vel_err why = {0};

    if (rc != VEL_ECORRUPT && rc != VEL_ENOENT)
        return;
    entry->failed = vel_clock_wall(f->clock) / (int64_t)VEL_CLOCK_S;
    if (vel_entry_save(f->index, entry, &why) < 0)
        vel_log(VEL_LOG_WARN, "failed flush not recorded: %s", why.text);
}

/* Files that another has staged get their names, and it is published by us. */
static int finish(const struct vel_flushing *f, const struct vel_flush_job *of,
                  struct vel_entry *entry, struct vel_err *err)
{
    const struct vel_entry staged = *entry;
    struct vel_flush_job job = {.id = of->id,
                                .owner = of->owner,
                                .lists = entry->lists,
                                .home = of->home,
                                .staged = &staged};
    int rc = 0;

    for (; rc == 0 && job.list < staged.lists; job.list++)
        rc = vel_flushing_name(f, &job, err);
    entry->owner = of->owner;
    if (rc < 0)
        give_up(f, entry, rc);
    return rc < 0 ? rc : vel_flushing_publish(f, entry, err);
}

static int settle(const struct vel_flushing *f, const struct vel_flush_job *job,
                  struct vel_entry *entry, int64_t by, struct vel_err *err)
{
    struct vel_crew crew = vel_flushing_crew(f);
    int rc = 0;

    if (entry->place == VEL_ON_STAGED && !entry->failed)
        return finish(f, job, entry, err);
    if (entry->place == VEL_ON_FLUSHING)
        rc = vel_flush_take_back(&crew, entry, err);
    entry->owner = job->owner;
    if (entry->place != VEL_ON_PREFIX && by)
        entry->replaced = by;
    if (rc == 0)
        rc = vel_entry_save(f->index, entry, err);
    return rc == 0 && entry->place == VEL_ON_PREFIX ? tell_published(f, entry, err)
                                                    : rc;
}

int vel_flushing_settle(const struct vel_flushing *flushing,
                        const struct vel_flush_job *job, int64_t by,
                        struct vel_entry *ret, struct vel_err *err)
{
    struct vel_entry entry = {0};
    int rc = vel_flushing_check_owner(flushing, job->id, job->owner, err);

    if (rc == 0)
        rc = vel_entry_load(flushing->index, job->id, &entry, err);
    if (rc == VEL_ENOENT)
        return rc;
    if (rc == 0)
        rc = settle(flushing, job, &entry, by, err);
    if (rc == 0)
        *ret = entry;
    else
        vel_entry_fini(&entry);
    return rc < 0 ? vel_wrap(err, rc, "settling dataset %" PRId64, job->id) : 0;
}
