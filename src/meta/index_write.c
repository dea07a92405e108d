/* SPDX-License-Identifier: BSD-3-Clause */
/* Who says what becomes of a dataset says it in the ledger of its launch: a chair in
 * its own term, and whoever else in a term of its own, which says what counts and that
 * (terms.h). Both read before they write what is said already. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "facts/facts.h"
#include "meta/ids.h"
#include "meta/index_in.h"
#include "meta/launch.h"
#include "meta/paths.h"

/* --- the chair's term --- */

int vel_index_sign(struct vel_index *index, const char *launch, const char *node,
                   vel_index_keep_f *keep, void *arg, struct vel_err *err)
{
    index->launch = strdup(launch);
    index->node = strdup(node);
    index->keep = keep;
    index->arg = arg;
    return index->launch && index->node ? 0 : vel_out_of_memory(err, "the index");
}

/* Once it has waited in vain it does not wait again before it has had it. */
static int lock_in_time(struct vel_index *index)
{
    struct timespec until;

    if (pthread_mutex_trylock(&index->term_lock) == 0)
        return 0;
    if (index->is_busy)
        return VEL_EBUSY;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(index->limit / 1000000000);
    until.tv_nsec += (long)(index->limit % 1000000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_mutex_clocklock(&index->term_lock, CLOCK_MONOTONIC, &until) == 0
               ? 0
               : VEL_EBUSY;
}

int vel_index_hold(struct vel_index *index, struct vel_err *err)
{
    if (!vel_index_is_bound(index))
        pthread_mutex_lock(&index->term_lock);
    else if ((index->is_busy = lock_in_time(index) < 0))
        return vel_fail(err, VEL_EBUSY, "another writes the ledger of launch %s",
                        index->launch);
    return 0;
}

struct vel_ledger **vel_index_term(struct vel_index *index)
{
    return &index->term;
}

void vel_index_release(struct vel_index *index)
{
    pthread_mutex_unlock(&index->term_lock);
}

/* --- what is to be said --- */

enum { MANY = 1000 }; /* more owners than a dataset ever has */

enum what { SAVE, CLAIM, REMOVE };

struct saying {
    struct vel_index *index;
    const char *launch; /* of the dataset */
    enum what what;
    int64_t id;
    int64_t owner; /* of SAVE who says it; what CLAIM becomes */
    const char *text;
    bool may_make;    /* the dataset's directory */
    bool is_bare;     /* the launch has nothing but its ledger */
    bool is_doubtful; /* what counts may not be all that was said */
};

/* The owner whose word a text is. */
static int64_t owner_of(const char *text)
{
    struct vel_entry entry;
    int64_t owner = 0;

    if (*text && vel_entry_decode(text, strlen(text), &entry, NULL) == 0) {
        owner = entry.owner;
        vel_entry_fini(&entry);
    }
    return owner;
}

/* Of `now`, NULL: nothing was said. 0: what is to be said is. */
static int change(const struct saying *saying, const struct vel_said *now,
                  struct vel_fact *ret, struct vel_err *err)
{
    static char none[] = "";
    struct vel_fact_entry *entry = &ret->u.entry;

    *ret = (struct vel_fact){.kind = VEL_FACT_ENTRY};
    *entry = (struct vel_fact_entry){.id = saying->id,
                                     .count = now ? now->count + 1 : 1,
                                     .owner = now ? now->owner : 1,
                                     .launch = now ? now->launch : none,
                                     .node = now ? now->node : none,
                                     .entry = now ? now->text : none};
    if (saying->what == CLAIM) { /* above all that there may have been */
        entry->owner += saying->is_doubtful && !now ? MANY : 1;
        entry->launch = saying->index->launch;
        entry->node = saying->index->node;
        return 1;
    }
    if (saying->what == SAVE && now && owner_of(now->text) > saying->owner)
        return vel_fail(err, VEL_ESTATE,
                        "dataset %" PRId64 " has an owner who came after %" PRId64,
                        saying->id, saying->owner);
    entry->entry = (char *)(uintptr_t)saying->text;
    return strcmp(saying->text, now ? now->text : "") != 0;
}

static int put(struct saying *saying, const struct vel_said *now, struct vel_buf *ret,
               struct vel_err *err)
{
    struct vel_fact fact;
    int rc = change(saying, now, &fact, err), put;

    if (rc <= 0)
        return rc;
    put = vel_fact_put(&fact, ret, err);
    vel_buf_puts(ret, "\n");
    if (saying->what == CLAIM)
        saying->owner = fact.u.entry.owner;
    return put < 0 ? put : rc;
}

/* --- in the chair's term --- */

/* VEL_ECANCEL, VEL_ESTATE: it cannot be written any more. */
static int tell_once(struct saying *saying, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    struct vel_said now = {0};
    struct vel_buf line;
    bool is = false;
    int rc = vel_index_said(index, index->launch, saying->id, &now, &is,
                            &saying->is_doubtful, err);

    vel_buf_init(&line);
    if (rc == 0)
        rc = put(saying, is ? &now : NULL, &line, err);
    if (rc > 0)
        rc = vel_buf_status(&line, err);
    if (rc == 0 && line.len > 0)
        rc = vel_ledger_tell(index->term, line.data, line.len, err);
    vel_said_fini(&now);
    vel_buf_fini(&line);
    return rc;
}

/* Another may have said something of a dataset in a term of its own: then the chair's
 * thread begins one more, and looks again whether what it has to say still holds.
 * *ret_is_apart: there is no term that this thread can write. */
static int tell(struct saying *saying, bool *ret_is_apart, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    bool may_keep, is_good = true;
    int rounds = 0, rc = vel_index_hold(index, err);

    if (rc < 0)
        return rc;
    may_keep = index->term && index->keep && vel_index_is_bound(index);
    do {
        rc = may_keep ? index->keep(index->arg, err) : 0;
        is_good = rc < 0 || (index->term && vel_ledger_is_good(index->term));
        if (rc == 0 && is_good) {
            rc = tell_once(saying, err);
            is_good = vel_ledger_is_good(index->term);
        }
    } while (may_keep && !is_good && ++rounds < 2);
    vel_index_release(index);
    *ret_is_apart = !is_good && !may_keep;
    return is_good || *ret_is_apart
               ? rc
               : vel_fail(err, VEL_EBUSY, "the ledger of launch %s is begun anew",
                          index->launch);
}

/* --- in a term of its own --- */

/* What counts in a term. */
static bool find(const struct vel_ledger_text *text, int64_t id, struct vel_said *ret)
{
    bool is = false;

    for (size_t i = 0; text && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_said said;

        if (!vel_said_get(&fact->line, &said))
            continue;
        if (said.id == id && (!is || said.count > ret->count)) {
            if (is)
                vel_said_fini(ret);
            *ret = said;
            is = true;
        } else {
            vel_said_fini(&said);
        }
    }
    return is;
}

static int add(void *arg, const struct vel_ledger_text *now, struct vel_buf *facts,
               struct vel_err *err)
{
    struct saying *saying = arg;
    struct vel_said said = {0};
    bool is = find(now, saying->id, &said);
    int rc;

    saying->is_doubtful = now && vel_said_is_doubtful(now);
    rc = put(saying, is ? &said : NULL, facts, err);
    if (rc > 0 && saying->is_bare && !now) {
        const struct vel_terms_self self = {saying->index->launch, saying->index->node};
        int put = vel_terms_put_done(&self, facts, err);

        rc = put < 0 ? put : rc;
    }
    vel_said_fini(&said);
    return rc;
}

/* A launch whose directory is made for what is said now was over long ago. */
static int look_whether_bare(struct saying *saying, const char *dir,
                             struct vel_err *err)
{
    struct vel_index *index = saying->index;
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(index->fs, dir, &names, err);
    saying->is_bare = rc == 0;
    for (size_t i = 0; saying->is_bare && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        saying->is_bare = vel_terms_is_name(name) || vel_fs_is_temporary(name);
    }
    vel_fs_names_fini(&names);
    return rc;
}

static int say_apart(struct saying *saying, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    const struct vel_terms_self self = {index->launch, index->node};
    char *dir = vel_launch_dir(index->dir, saying->launch);
    bool is_changed, is_own = strcmp(saying->launch, index->launch) == 0;
    int rc = 0;

    if (!dir)
        rc = vel_out_of_memory(err, "the index");
    else if (!is_own && saying->what != REMOVE)
        rc = vel_fs_make_dirs(index->fs, dir, 0700, err);
    if (rc == 0 && !is_own)
        rc = look_whether_bare(saying, dir, err);
    if (rc == 0)
        rc = vel_terms_change(index->fs, dir, &self, add, saying, &is_changed, err);
    free(dir);
    return rc == VEL_ENOENT && saying->what == REMOVE ? 0 : rc;
}

static int say(struct saying *saying, struct vel_err *err)
{
    bool is_apart = strcmp(saying->launch, saying->index->launch) != 0;
    int rc = is_apart ? 0 : tell(saying, &is_apart, err);

    return is_apart ? say_apart(saying, err) : rc;
}

static int make_dataset(struct vel_index *index, int64_t id, struct vel_err *err)
{
    const struct vel_id_owner owner = {.launch = index->launch};
    char *dir = vel_dataset_dir(index->dir, id);
    int rc = dir ? vel_fs_make_dirs(index->fs, dir, 0777, err)
                 : vel_out_of_memory(err, "the index");

    free(dir);
    return rc == 0 ? vel_id_say(index->fs, index->dir, id, &owner, err) : rc;
}

static int find_launch(const struct saying *saying, char **ret, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    struct vel_err why = {0};
    int rc = vel_index_launch_of(index, saying->id, ret, &why);

    if (rc == VEL_ENOENT && saying->may_make) {
        rc = make_dataset(index, saying->id, err);
        return rc == 0 ? vel_index_launch_of(index, saying->id, ret, err) : rc;
    }
    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_ESTATE, "dataset %" PRId64 " is gone", saying->id);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

/* --- said --- */

static int check_signed(const struct vel_index *index, struct vel_err *err)
{
    return index->launch ? 0 : vel_fail(err, VEL_ESTATE, "who only reads says nothing");
}

static int save(struct vel_index *index, const struct vel_entry *entry, bool may_make,
                struct vel_err *err)
{
    struct saying saying = {.index = index,
                            .what = SAVE,
                            .id = entry->dataset.id,
                            .owner = entry->owner,
                            .may_make = may_make};
    char *launch = NULL;
    struct vel_buf text;
    int rc = check_signed(index, err);

    vel_buf_init(&text);
    if (rc == 0)
        rc = vel_entry_encode(entry, &text, err);
    if (rc == 0)
        rc = find_launch(&saying, &launch, err);
    saying.launch = launch;
    saying.text = vel_buf_text(&text);
    if (rc == 0)
        rc = say(&saying, err);
    free(launch);
    vel_buf_fini(&text);
    return rc < 0
               ? vel_wrap(err, rc, "saying how far dataset %" PRId64 " is", saying.id)
               : 0;
}

int vel_entry_save(struct vel_index *index, const struct vel_entry *entry,
                   struct vel_err *err)
{
    return save(index, entry, false, err);
}

int vel_entry_enter(struct vel_index *index, const struct vel_entry *entry,
                    struct vel_err *err)
{
    return save(index, entry, true, err);
}

int vel_index_claim(struct vel_index *index, int64_t id, int64_t *ret_owner,
                    struct vel_err *err)
{
    struct saying saying = {.index = index, .what = CLAIM, .id = id};
    char *launch = NULL;
    int rc = check_signed(index, err);

    if (rc == 0)
        rc = vel_index_launch_of(index, id, &launch, err);
    saying.launch = launch;
    if (rc == 0)
        rc = say(&saying, err);
    free(launch);
    if (rc == 0)
        *ret_owner = saying.owner;
    return rc < 0 ? vel_wrap(err, rc, "claiming dataset %" PRId64, id) : 0;
}

int vel_entry_remove(struct vel_index *index, int64_t id, struct vel_err *err)
{
    struct saying saying = {.index = index, .what = REMOVE, .id = id, .text = ""};
    struct vel_err why = {0};
    char *launch = NULL;
    int rc = check_signed(index, &why);

    if (rc == 0)
        rc = vel_index_launch_of(index, id, &launch, &why);
    saying.launch = launch;
    if (rc == 0)
        rc = say(&saying, &why);
    free(launch);
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}
