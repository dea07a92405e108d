/* SPDX-License-Identifier: BSD-3-Clause */
/* Who says what becomes of a dataset says it in the ledger of its launch: a chair in
 * its own term, and whoever else in a term of its own, which says what counts and that
 * (terms.h). Both read before they write what is said already. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "facts/facts.h"
#include "meta/ids.h"
#include "meta/index_in.h"
#include "meta/launch.h"

/* --- what is to be said --- */

enum { MANY = 1000 }; /* more owners than a dataset ever has */

enum what { SAVE, CLAIM, FORGET };

struct saying {
    struct vel_index *index;
    const char *launch; /* of the dataset */
    enum what what;
    int64_t id;
    int64_t owner; /* of SAVE who says it; what CLAIM becomes */
    const struct vel_entry *entry;
    const struct vel_vec *lists; /* of its files; NULL: those that it has */
    const struct vel_vec *ids;   /* of FORGET, int64_t: those of this launch */
    bool may_make;               /* of SAVE: it may be unclaimed; */
    bool is_soon;                /* it need not be on the disk before the next one is */
    bool is_bare;                /* the launch has nothing but its ledger */
    bool is_doubtful;            /* what counts may not be all that was said */
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

/* Has what was said the same lists? Else a loss of power takes the new ones, and those
 * who hear of it may have removed the records. */
static int keep_soon(struct saying *saying, const struct vel_said *now,
                     const struct vel_buf *text, struct vel_err *err)
{
    struct vel_buf kept;
    int rc;

    vel_buf_init(&kept);
    rc = vel_entry_encode_lists(saying->entry, NULL, now ? now->text : "", &kept, err);
    saying->is_soon = rc == 0 && strcmp(kept.data, text->data) == 0;
    vel_buf_fini(&kept);
    return rc;
}

/* Of `now`, NULL: nothing was said. 0: what is to be said is. The text is the fact's.
 */
static int change(struct saying *saying, const struct vel_said *now,
                  struct vel_buf *text, struct vel_fact *ret, struct vel_err *err)
{
    static char none[] = "";
    struct vel_fact_entry *entry = &ret->u.entry;
    int rc;

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
    rc = vel_entry_encode_lists(saying->entry, saying->lists, entry->entry, text, err);
    if (rc == 0 && saying->is_soon)
        rc = keep_soon(saying, now, text, err);
    if (rc < 0)
        return rc;
    entry->entry = text->data;
    return strcmp(text->data, now ? now->text : "") != 0;
}

static int fail_gone(const struct saying *saying, struct vel_err *err)
{
    return vel_fail(err, saying->what == SAVE ? VEL_ESTATE : VEL_ENOENT,
                    "dataset %" PRId64 " is gone", saying->id);
}

static int put_entry(struct saying *saying, const struct vel_said *now, bool is_gone,
                     struct vel_buf *ret, struct vel_err *err)
{
    static char none[] = "";
    struct vel_said bare;
    struct vel_fact fact;
    struct vel_buf text;
    int rc, put;

    if (is_gone && now) { /* who comes after what was said of it has owned nothing */
        bare = *now;
        bare.text = none;
        now = &bare;
    }
    if (is_gone && !saying->may_make)
        return fail_gone(saying, err);
    vel_buf_init(&text);
    rc = change(saying, now, &text, &fact, err);
    if (rc > 0) {
        put = vel_fact_put(&fact, ret, err);
        vel_buf_puts(ret, "\n");
        rc = put < 0 ? put : rc;
    }
    if (rc > 0 && saying->what == CLAIM)
        saying->owner = fact.u.entry.owner;
    vel_buf_fini(&text);
    return rc;
}

/* Those that are not in `gone`. */
static int put_gone(const struct saying *saying, const struct vel_ranges *gone,
                    struct vel_buf *ret, struct vel_err *err)
{
    struct vel_ranges more;
    int rc = 0, is_new = 0;

    vel_ranges_init(&more);
    for (size_t i = 0; rc == 0 && i < saying->ids->n; i++) {
        int64_t id = *(int64_t *)vel_vec_at(saying->ids, i);

        if (!vel_ranges_has(gone, id))
            rc = vel_ranges_add(&more, id, err);
    }
    is_new = more.of.n > 0;
    if (rc == 0 && is_new)
        rc = vel_terms_put_gone(&more, ret, err);
    vel_ranges_fini(&more);
    return rc < 0 ? rc : is_new;
}

/* --- in the chair's term --- */

static int put_of_index(struct saying *saying, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    struct vel_index_word word;
    int rc;

    if (saying->what == FORGET) {
        struct vel_index_half *half = vel_index_lock_half(index);
        struct vel_index_launch *of;

        rc = vel_index_read_launch(index, half, index->launch, &of, err);
        if (rc == 0)
            rc = put_gone(saying, &of->gone, ret, err);
        vel_index_unlock_half(half);
        return rc;
    }
    rc = vel_index_said(index, index->launch, saying->id, &word, err);
    saying->is_doubtful = word.is_doubtful;
    if (rc == 0)
        rc = put_entry(saying, word.has_said ? &word.said : NULL, word.is_gone, ret,
                       err);
    vel_said_fini(&word.said);
    return rc;
}

/* VEL_ECANCEL, VEL_ESTATE: it cannot be written any more. */
static int tell_once(struct saying *saying, struct vel_err *err)
{
    struct vel_ledger *term = saying->index->term;
    struct vel_buf line;
    int rc;

    vel_buf_init(&line);
    rc = put_of_index(saying, &line, err);
    if (rc > 0)
        rc = vel_buf_status(&line, err);
    if (rc == 0 && line.len > 0 && !saying->is_soon) {
        rc = vel_ledger_tell(term, line.data, line.len, err);
    } else if (rc == 0 && line.len > 0) {
        rc = vel_ledger_append_joined(term, line.data, line.len, err);
        if (rc == 0)
            rc = vel_ledger_look(term, err);
    }
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

static int find_gone(const struct vel_ledger_text *text, struct vel_ranges *ret,
                     struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && text && i < text->facts.n; i++)
        rc = vel_terms_fold_gone(
            &((struct vel_ledger_fact *)vel_vec_at(&text->facts, i))->line, ret, err);
    return rc;
}

static int put_of_text(struct saying *saying, const struct vel_ledger_text *now,
                       struct vel_buf *ret, struct vel_err *err)
{
    struct vel_said said = {0};
    struct vel_ranges gone;
    int rc;

    vel_ranges_init(&gone);
    rc = find_gone(now, &gone, err);
    saying->is_doubtful = now && vel_said_is_doubtful(now);
    if (rc == 0 && saying->what == FORGET)
        rc = put_gone(saying, &gone, ret, err);
    else if (rc == 0)
        rc = put_entry(saying, vel_said_find(now, saying->id, &said) ? &said : NULL,
                       vel_ranges_has(&gone, saying->id), ret, err);
    vel_ranges_fini(&gone);
    vel_said_fini(&said);
    return rc;
}

static int add(void *arg, const struct vel_ledger_text *now, struct vel_buf *facts,
               struct vel_err *err)
{
    struct saying *saying = arg;
    int rc = put_of_text(saying, now, facts, err);

    if (rc > 0 && saying->is_bare && !now) {
        const struct vel_terms_self self = {saying->index->launch, saying->index->node};
        int put = vel_terms_put_done(&self, facts, err);

        rc = put < 0 ? put : rc;
    }
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

/* Of a launch whose directory is gone. */
static int check_there(const struct saying *saying, struct vel_err *err)
{
    struct vel_index_word word;
    int rc = vel_index_said(saying->index, saying->launch, saying->id, &word, err);

    vel_said_fini(&word.said);
    return rc == 0 && word.is_gone ? fail_gone(saying, err) : rc;
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
    else if (!is_own && saying->what != FORGET && !saying->may_make &&
             !vel_fs_exists(index->fs, dir))
        rc = check_there(saying, err);
    if (rc == 0 && !is_own && saying->what != FORGET)
        rc = vel_fs_make_dirs(index->fs, dir, 0700, err);
    if (rc == 0 && !is_own)
        rc = look_whether_bare(saying, dir, err);
    if (rc == 0)
        rc = vel_terms_change(index->fs, dir, &self, add, saying, &is_changed, err);
    free(dir);
    return rc == VEL_ENOENT && saying->what == FORGET ? 0 : rc;
}

static int say(struct saying *saying, struct vel_err *err)
{
    bool is_apart = strcmp(saying->launch, saying->index->launch) != 0;
    int rc = is_apart ? 0 : tell(saying, &is_apart, err);

    return is_apart ? say_apart(saying, err) : rc;
}

static int find_launch(const struct saying *saying, char **ret, struct vel_err *err)
{
    struct vel_index *index = saying->index;
    struct vel_err why = {0};
    int rc = vel_index_maker(index, saying->id, ret, NULL, &why);

    if (rc == VEL_ENOENT && saying->may_make) {
        const struct vel_id_owner owner = {.launch = index->launch};

        rc = vel_ids_claim_late(index->fs, index->dir, saying->id, &owner, err);
        return rc == 0 ? vel_index_maker(index, saying->id, ret, NULL, err) : rc;
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

static int save(struct saying *saying, struct vel_err *err)
{
    char *launch = NULL;
    int rc = check_signed(saying->index, err);

    saying->what = SAVE;
    saying->id = saying->entry->dataset.id;
    saying->owner = saying->entry->owner;
    if (rc == 0)
        rc = find_launch(saying, &launch, err);
    saying->launch = launch;
    if (rc == 0)
        rc = say(saying, err);
    free(launch);
    return rc < 0
               ? vel_wrap(err, rc, "saying how far dataset %" PRId64 " is", saying->id)
               : 0;
}

int vel_entry_save(struct vel_index *index, const struct vel_entry *entry,
                   struct vel_err *err)
{
    return save(&(struct saying){.index = index, .entry = entry}, err);
}

int vel_entry_enter(struct vel_index *index, const struct vel_entry *entry,
                    struct vel_err *err)
{
    return save(&(struct saying){.index = index, .entry = entry, .may_make = true},
                err);
}

int vel_entry_save_lists(struct vel_index *index, const struct vel_entry *entry,
                         const struct vel_vec *lists, struct vel_err *err)
{
    return save(&(struct saying){.index = index,
                                 .entry = entry,
                                 .lists = lists,
                                 .is_soon = entry->place == VEL_ON_PREFIX},
                err);
}

int vel_index_claim(struct vel_index *index, int64_t id, int64_t *ret_owner,
                    struct vel_err *err)
{
    struct saying saying = {.index = index, .what = CLAIM, .id = id};
    char *launch = NULL;
    int rc = check_signed(index, err);

    if (rc == 0)
        rc = vel_index_maker(index, id, &launch, NULL, err);
    saying.launch = launch;
    if (rc == 0)
        rc = say(&saying, err);
    free(launch);
    if (rc == 0)
        *ret_owner = saying.owner;
    return rc < 0 ? vel_wrap(err, rc, "claiming dataset %" PRId64, id) : 0;
}

/* --- forgotten --- */

/* Take those of one launch out of *ids, and say of them that they are gone. Of one that
 * is nobody's nothing is to be said; what cannot be known stops no other. */
static int forget_some(struct vel_index *index, struct vel_vec *ids,
                       struct vel_err *err)
{
    struct saying saying = {.index = index, .what = FORGET};
    struct vel_vec of;
    char *launch = NULL;
    int rc = 0;

    vel_vec_init(&of, sizeof(int64_t));
    for (size_t i = ids->n; i-- > 0;) {
        int64_t id = *(int64_t *)vel_vec_at(ids, i);
        char *its = NULL;
        int got = vel_index_maker(index, id, &its, NULL, err);

        if (got == 0 && launch && strcmp(its, launch) != 0) {
            free(its);
            continue;
        }
        vel_vec_remove(ids, i);
        if (got == 0 && !vel_vec_push(&of, &id))
            got = vel_out_of_memory(err, "the index");
        rc = got < 0 && got != VEL_ENOENT ? got : rc;
        if (launch || got < 0)
            free(its);
        else
            launch = its;
    }
    saying.launch = launch;
    saying.ids = &of;
    if (of.n > 0) {
        int said = say(&saying, err);

        rc = said < 0 ? said : rc;
    }
    vel_vec_fini(&of);
    free(launch);
    return rc;
}

int vel_index_forget(struct vel_index *index, const int64_t *ids, size_t n,
                     struct vel_err *err)
{
    struct vel_vec left;
    int rc = check_signed(index, err);

    vel_vec_init(&left, sizeof *ids);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!vel_vec_push(&left, &ids[i]))
            rc = vel_out_of_memory(err, "the index");
    while (left.n > 0) {
        int some = forget_some(index, &left, err);

        rc = some < 0 ? some : rc;
    }
    vel_vec_fini(&left);
    return rc;
}
