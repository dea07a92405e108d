/* SPDX-License-Identifier: BSD-3-Clause */
/* Terms that are begun: by chairs, and by who has one thing to say. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/path.h"
#include "facts/facts.h"
#include "ledger/carry.h"
#include "meta/paths.h"
#include "meta/terms_in.h"

static const int64_t LAST = 1000000000000000000; /* names of higher terms are none */

enum { KEY = 32 };

/* A claim, and what counts below it. */
struct taking {
    struct vel_ledger *ledger;
    struct vel_terms_counting counting;
};

static void taking_fini(struct taking *taking)
{
    vel_terms_counting_fini(&taking->counting);
    vel_ledger_close(taking->ledger);
}

/* Nobody has claimed a later term: else what is below this one may have been removed.
 */
static int check_newest(const struct vel_ledger_dir *dir, int64_t term,
                        struct vel_err *err)
{
    struct vel_vec list;
    int64_t highest;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    highest = vel_ledger_highest(&list, VEL_TERMS_NUMBER);
    vel_vec_fini(&list);
    return highest > term ? vel_fail(err, VEL_EEXIST, "%s has a newer term", dir->path)
                          : 0;
}

/* Claim the term above the highest, and read then what counts. The first one of a chair
 * has nothing to say, and has its begin at once. */
static int claim(const struct vel_ledger_dir *dir, const struct vel_terms_self *self,
                 int64_t highest, bool is_chair, const char *address,
                 struct taking *ret, struct vel_err *err)
{
    const struct vel_ledger_self writer = {
        .node = self->node, .address = address, .process = getpid()};
    const struct vel_ledger_name name = {VEL_TERMS_NUMBER, highest + 1};
    const struct vel_buf nothing = {0};
    int rc;

    if (highest >= LAST)
        return vel_fail(err, VEL_EUNSUP, "no term of %s can follow", dir->path);
    rc = is_chair && name.term == 0
             ? vel_ledger_claim_first(dir, name.launch, &writer, &nothing, &ret->ledger,
                                      err)
             : vel_ledger_claim(dir, name, &writer, &ret->ledger, err);
    if (rc == 0)
        rc = check_newest(dir, name.term, err);
    return rc == 0 ? vel_terms_read_below(dir, name.term, &ret->counting, err) : rc;
}

/* --- what a begin says of what counted --- */

/* Of a dataset what was said last is kept, and of those that are gone that they are. */
struct keeping {
    struct vel_map *last; /* facts, by dataset */
    struct vel_ranges gone;
};

static void keeping_fini(struct keeping *keeping)
{
    vel_map_destroy(keeping->last, NULL);
    vel_ranges_fini(&keeping->gone);
}

static bool is_entry(const struct vel_ledger_fact *fact, int64_t *ret_id,
                     char ret_key[KEY])
{
    struct vel_fields fields;

    if (!vel_line_is(&fact->line, "entry", &fields))
        return false;
    *ret_id = vel_fields_int(&fields);
    snprintf(ret_key, KEY, "%" PRId64, *ret_id);
    return true;
}

static int keeping_init(const struct vel_ledger_text *text, struct keeping *ret,
                        struct vel_err *err)
{
    char key[KEY];
    int64_t id;
    int rc = 0;

    *ret = (struct keeping){.last = vel_map_create()};
    vel_ranges_init(&ret->gone);
    if (!ret->last)
        return vel_out_of_memory(err, "a ledger");
    for (size_t i = 0; rc == 0 && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);

        rc = vel_terms_fold_gone(&fact->line, &ret->gone, err);
        if (rc == 0 && is_entry(fact, &id, key) &&
            vel_map_set(ret->last, key, (void *)(uintptr_t)fact, NULL) < 0)
            rc = vel_out_of_memory(err, "a ledger");
    }
    return rc;
}

/* Where lines are damaged what a term before has is not the last word. */
static bool is_kept(const struct keeping *keeping, const struct vel_ledger_text *text,
                    const struct vel_ledger_fact *fact)
{
    struct vel_fields fields;
    char key[KEY];
    int64_t id;

    if (!is_entry(fact, &id, key))
        return !vel_line_is(&fact->line, "gone", &fields);
    return vel_map_get(keeping->last, key) == fact &&
           !vel_ranges_has(&keeping->gone, id) &&
           (text->wrong == 0 || fact->of.term == text->name.term);
}

static int put_doubt(struct vel_buf *ret, struct vel_err *err)
{
    const struct vel_fact doubt = {.kind = VEL_FACT_DOUBT,
                                   .u.doubt = {VEL_TERMS_NUMBER}};
    int rc = vel_fact_put(&doubt, ret, err);

    vel_buf_puts(ret, "\n");
    return rc;
}

static int put_facts(const struct vel_terms_counting *counting, struct vel_buf *ret,
                     struct vel_err *err)
{
    const struct vel_ledger_text *text = &counting->text;
    struct keeping keeping;
    int rc;

    if (!counting->has)
        return 0;
    rc = keeping_init(text, &keeping, err);
    if (rc == 0 && text->wrong > 0)
        rc = put_doubt(ret, err);
    if (rc == 0 && keeping.gone.of.n > 0)
        rc = vel_terms_put_gone(&keeping.gone, ret, err);
    for (size_t i = 0; rc == 0 && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);

        if (!is_kept(&keeping, text, fact))
            continue;
        vel_buf_append(ret, fact->line.text, fact->line.len);
        vel_buf_puts(ret, "\n");
    }
    keeping_fini(&keeping);
    return rc < 0 ? rc : vel_buf_status(ret, err);
}

/* `done` is the last one: see terms_over.c. */
static void put_done_last(const struct vel_buf *facts, struct vel_buf *ret)
{
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = vel_buf_text(facts), *feed;
             (feed = strchr(at, '\n')) != NULL; at = feed + 1)
            if ((strncmp(at, "done ", 5) == 0) == (pass == 1))
                vel_buf_append(ret, at, (size_t)(feed - at) + 1);
}

/* Takes what counts. */
static int begin(const struct vel_ledger_dir *dir, struct taking *taking,
                 const struct vel_buf *facts, struct vel_err *err)
{
    struct vel_terms_counting *counting = &taking->counting;
    struct vel_carry carry;
    struct vel_buf ordered;
    int rc = 0;

    vel_buf_init(&ordered);
    put_done_last(facts, &ordered);
    vel_carry_init(&carry, dir, vel_ledger_name(taking->ledger));
    if (counting->has && !vel_vec_push(&carry.texts, &counting->text))
        rc = vel_out_of_memory(err, "a ledger");
    else
        counting->has = false;
    if (rc == 0)
        rc = vel_buf_status(&ordered, err);
    if (rc == 0 && vel_ledger_is_good(taking->ledger)) /* it has a begin */
        rc = vel_ledger_look(taking->ledger, err);
    else if (rc == 0)
        rc = vel_ledger_begin(taking->ledger, &carry, vel_buf_text(&ordered),
                              ordered.len, err);
    if (rc == 0) /* what stays now goes when the next term has begun */
        vel_carry_remove(&carry, NULL);
    vel_carry_fini(&carry);
    vel_buf_fini(&ordered);
    return rc;
}

/* --- a chair --- */

/* Begin a term as this chair. VEL_EEXIST: another has one that is as new, or newer;
 * *ret_is_chair: who has one thing to say, and has overtaken it. */
static int become(const struct vel_ledger_dir *dir, int64_t highest, int64_t chair,
                  const struct vel_terms_self *self, struct vel_ledger **ret,
                  bool *ret_is_chair, bool *ret_is_first, struct vel_err *err)
{
    struct taking taking = {.ledger = NULL};
    struct vel_buf address, facts;
    bool is_over = false;
    int rc;

    vel_buf_init(&address);
    vel_buf_init(&facts);
    vel_terms_put_address(VEL_TERMS_CHAIR, chair, self->node, &address);
    rc = vel_buf_status(&address, err);
    if (rc == 0)
        rc = claim(dir, self, highest, true, address.data, &taking, err);
    *ret_is_chair = taking.ledger || rc == VEL_ECANCEL; /* its title has stood there */
    if (rc == 0) {
        *ret_is_first = !taking.counting.has && !taking.counting.damage.status;
        is_over = taking.counting.has && vel_terms_has_done(&taking.counting.text);
        rc = put_facts(&taking.counting, &facts, err);
    }
    if (rc == 0) /* also of what is over: else nobody could be sure of it */
        rc = begin(dir, &taking, &facts, err);
    if (rc == VEL_ECANCEL)
        rc = VEL_EEXIST;
    if (rc == 0 && is_over)
        rc = vel_fail(err, VEL_ECANCEL, "launch %s is over", self->launch);
    if (rc == 0) {
        *ret = taking.ledger;
        taking.ledger = NULL;
    }
    taking_fini(&taking);
    vel_buf_fini(&facts);
    vel_buf_fini(&address);
    return rc;
}

static int go_on(const struct vel_ledger_dir *dir, int64_t chair,
                 const struct vel_terms_self *self, struct vel_ledger **ret,
                 struct vel_err *err)
{
    bool is_chair, is_first;
    int rc = VEL_EEXIST;

    for (int round = 0; round < VEL_TERMS_ROUNDS && rc == VEL_EEXIST; round++) {
        struct vel_terms_around around = {0};

        rc = vel_terms_look_around(dir, &around, err);
        free(around.node);
        if (rc == 0 && around.chair != chair)
            rc = vel_fail(err, VEL_ECANCEL, "%s has a newer chair", dir->path);
        if (rc == 0)
            rc = become(dir, around.highest, chair, self, ret, &is_chair, &is_first,
                        err);
    }
    return rc;
}

int vel_terms_claim(struct vel_fs *fs, const char *launch_dir, int64_t chair,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    bool *ret_is_first, struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, true);
    struct vel_terms_around around = {0};
    bool is_chair = false;
    int rc = vel_terms_look_around(&dir, &around, err);

    free(around.node);
    *ret_is_first = false;
    if (rc == 0 && around.chair >= chair)
        rc = vel_fail(err, VEL_EEXIST, "%s has a chair %" PRId64, launch_dir,
                      around.chair);
    if (rc == 0)
        rc = become(&dir, around.highest, chair, self, ret, &is_chair, ret_is_first,
                    err);
    return rc == VEL_EEXIST && is_chair ? go_on(&dir, chair, self, ret, err) : rc;
}

int vel_terms_go_on(struct vel_fs *fs, const char *launch_dir, int64_t chair,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, true);

    return go_on(&dir, chair, self, ret, err);
}

/* --- one thing to say --- */

static int ask(const struct vel_terms_counting *counting, vel_terms_change_f *change,
               void *arg, struct vel_buf *facts, struct vel_err *err)
{
    int rc;

    vel_buf_clear(facts);
    rc = put_facts(counting, facts, err);
    if (rc == 0)
        rc = change(arg, counting->has ? &counting->text : NULL, facts, err);
    if (rc > 0 && vel_buf_status(facts, err) < 0)
        rc = VEL_ENOMEM;
    return rc;
}

/* Does what counts say all that already, for sure? */
static int is_said(const struct vel_ledger_dir *dir, vel_terms_change_f *change,
                   void *arg, bool *ret_is, bool *ret_is_over, struct vel_err *err)
{
    struct vel_terms_counting counting;
    struct vel_buf facts;
    int rc = vel_terms_read_below(dir, INT64_MAX, &counting, err);

    vel_buf_init(&facts);
    if (rc == 0)
        rc = ask(&counting, change, arg, &facts, err);
    *ret_is =
        rc == 0 && (!counting.has || vel_ledger_trust(dir, &counting.text, NULL) == 0);
    *ret_is_over = rc >= 0 && counting.has && vel_terms_has_done(&counting.text);
    vel_terms_counting_fini(&counting);
    vel_buf_fini(&facts);
    return rc < 0 ? rc : 0;
}

/* Nothing is to be said after all. */
static void begin_unchanged(const struct vel_ledger_dir *dir, struct taking *taking,
                            struct vel_buf *facts)
{
    vel_buf_clear(facts);
    if (put_facts(&taking->counting, facts, NULL) == 0)
        begin(dir, taking, facts, NULL);
}

/* VEL_EEXIST, VEL_ECANCEL: another has a term that is as new, or newer. A term that was
 * claimed is begun: without that nobody could be sure of what is below it. */
static int change_once(const struct vel_ledger_dir *dir,
                       const struct vel_terms_self *self, enum vel_terms_by by,
                       vel_terms_change_f *change, void *arg, bool *ret_is_changed,
                       struct vel_err *err)
{
    struct taking taking = {.ledger = NULL};
    struct vel_terms_around around = {0};
    struct vel_buf address, facts;
    int changes = 0, rc = vel_terms_look_around(dir, &around, err);

    vel_buf_init(&address);
    vel_buf_init(&facts);
    vel_terms_put_address(by, around.chair, around.node, &address);
    if (rc == 0)
        rc = vel_buf_status(&address, err);
    if (rc == 0)
        rc = claim(dir, self, around.highest, false, address.data, &taking, err);
    if (rc == 0)
        rc = changes = ask(&taking.counting, change, arg, &facts, err);
    if (rc >= 0)
        rc = begin(dir, &taking, &facts, err);
    else if (taking.ledger && changes < 0)
        begin_unchanged(dir, &taking, &facts);
    *ret_is_changed = rc == 0 && changes > 0;
    taking_fini(&taking);
    vel_buf_fini(&facts);
    vel_buf_fini(&address);
    free(around.node);
    return rc;
}

int vel_terms_change(struct vel_fs *fs, const char *launch_dir,
                     const struct vel_terms_self *self, vel_terms_change_f *change,
                     void *arg, bool *ret_is_changed, struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, true);
    bool is = false, is_over = false;
    int rc = VEL_EEXIST;

    *ret_is_changed = false;
    for (int round = 0;
         round < VEL_TERMS_ROUNDS && (rc == VEL_EEXIST || rc == VEL_ECANCEL); round++) {
        rc = is_said(&dir, change, arg, &is, &is_over, err);
        if (rc < 0 || is)
            return rc;
        rc = change_once(&dir, self, is_over ? VEL_TERMS_OTHER : VEL_TERMS_LEADER,
                         change, arg, ret_is_changed, err);
    }
    return rc;
}

/* --- its removal --- */

int vel_terms_remove(struct vel_fs *fs, const char *launch_dir)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, false);
    struct vel_vec list;
    int rc = vel_ledger_list(&dir, &list, NULL);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < list.n; i++) {
        const struct vel_ledger_name *name = vel_vec_at(&list, i);
        struct vel_buf path;

        vel_buf_init(&path);
        vel_buf_printf(&path, "%s/%" PRId64 ".%" PRId64, launch_dir, name->launch,
                       name->term);
        rc = vel_buf_status(&path, NULL);
        if (rc == 0)
            rc = vel_fs_unlink(fs, path.data, NULL);
        vel_buf_fini(&path);
    }
    vel_vec_fini(&list);
    return rc;
}

/* --- the end --- */

int vel_terms_put_done(const struct vel_terms_self *self, struct vel_buf *ret,
                       struct vel_err *err)
{
    const struct vel_fact done = {
        .kind = VEL_FACT_DONE,
        .u.done = {VEL_TERMS_NUMBER, (char *)self->launch, (char *)self->node}};
    int rc = vel_fact_put(&done, ret, err);

    vel_buf_puts(ret, "\n");
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}

static int add_done(void *arg, const struct vel_ledger_text *now, struct vel_buf *facts,
                    struct vel_err *err)
{
    int rc;

    if (now && vel_terms_has_done(now))
        return 0;
    rc = vel_terms_put_done(arg, facts, err);
    return rc < 0 ? rc : 1;
}

/* One that has got a chair meanwhile lives, or may. */
static int check_same_chair(const struct vel_ledger_dir *dir, int64_t chair,
                            struct vel_err *err)
{
    struct vel_terms_around now = {0};
    int rc = vel_terms_look_around(dir, &now, err);

    free(now.node);
    return rc == 0 && now.chair != chair
               ? vel_fail(err, VEL_EBUSY, "%s has a new chair", dir->path)
               : rc;
}

int vel_terms_end(struct vel_fs *fs, const char *launch_dir,
                  const struct vel_terms_self *self, struct vel_ledger *own,
                  bool *ret_is_mine, struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, true);
    struct vel_terms_around around = {0};
    struct vel_buf done;
    bool is = false;
    int rc = vel_terms_look_around(&dir, &around, err);

    free(around.node);
    *ret_is_mine = false;
    vel_buf_init(&done);
    if (rc == 0)
        rc = vel_terms_put_done(self, &done, err);
    if (rc == 0 && own) {
        is = *ret_is_mine = vel_ledger_is_good(own) &&
                            vel_ledger_tell(own, done.data, done.len, NULL) == 0;
    } else if (rc == 0) {
        /* not of one's own term: what could not be written may be read for a while */
        bool is_over;

        rc = is_said(&dir, add_done, (void *)(uintptr_t)self, &is, &is_over, err);
    }
    vel_buf_fini(&done);
    for (int round = 0; rc == 0 && !is && round < VEL_TERMS_ROUNDS; round++) {
        rc = change_once(&dir, self, VEL_TERMS_OTHER, add_done, (void *)(uintptr_t)self,
                         ret_is_mine, err);
        is = rc == 0;
        if (rc == VEL_EEXIST || rc == VEL_ECANCEL)
            rc = check_same_chair(&dir, around.chair, err);
    }
    return rc;
}
