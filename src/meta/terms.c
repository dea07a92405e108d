/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "facts/facts.h"
#include "ledger/carry.h"
#include "meta/terms.h"

/* A directory has one launch. Others make new terms while one is claimed, but not so
 * often. */
enum { NUMBER = 1, ROUNDS = 64 };

static struct vel_ledger_dir dir_of(struct vel_fs *fs, const char *launch_dir,
                                    bool writes)
{
    /* who only reads makes no names there */
    return (struct vel_ledger_dir){.fs = fs, .path = launch_dir, .is_shared = writes};
}

static int highest_of(const struct vel_ledger_dir *dir, struct vel_ledger_name *ret,
                      struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    *ret = (struct vel_ledger_name){NUMBER, vel_ledger_highest(&list, NUMBER)};
    vel_vec_fini(&list);
    return 0;
}

int vel_terms_newest(struct vel_fs *fs, const char *launch_dir, int64_t *ret_term,
                     char **ret_node, struct vel_err *err)
{
    const struct vel_ledger_dir dir = dir_of(fs, launch_dir, true);
    struct vel_ledger_text title;
    struct vel_ledger_name name;
    int rc = highest_of(&dir, &name, err);

    *ret_node = NULL;
    if (rc == 0 && name.term >= 0)
        rc = vel_ledger_title(&dir, name, &title, err);
    if (rc < 0)
        return rc;
    *ret_term = name.term + 1;
    if (name.term < 0)
        return 0;
    if (title.address[0]) {
        *ret_node = title.node;
        title.node = NULL;
    }
    vel_ledger_text_fini(&title);
    return 0;
}

/* --- what counts --- */

/* The highest term with a begin below another one. */
struct counting {
    struct vel_ledger_text text;
    bool has, is_over;
};

static void counting_fini(struct counting *counting)
{
    if (counting->has)
        vel_ledger_text_fini(&counting->text);
    counting->has = false;
}

static bool has_done(const struct vel_ledger_text *text)
{
    struct vel_fields fields;
    bool has = false;

    for (size_t i = 0; !has && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);

        has = vel_line_is(&fact->line, "done", &fields);
    }
    return has;
}

/* A term that is damaged is as none: leaders have what it said, and caches what was
 * made. Who would take over is told. */
static int read_list(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                     int64_t below, struct counting *ret, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = list->n; rc == 0 && !ret->has && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        struct vel_err why = {0};

        if (name->launch != NUMBER || name->term >= below)
            continue;
        rc = vel_ledger_load(dir, *name, &ret->text, &why);
        if (rc == VEL_ECORRUPT) {
            vel_log(dir->is_shared ? VEL_LOG_WARN : VEL_LOG_DEBUG, "%s", why.text);
            rc = 0;
        } else if (rc < 0) {
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
        } else {
            ret->has = ret->text.has_begin;
            if (!ret->has)
                vel_ledger_text_fini(&ret->text);
        }
    }
    ret->is_over = ret->has && has_done(&ret->text);
    return rc;
}

static int read_below(const struct vel_ledger_dir *dir, int64_t below,
                      struct counting *ret, struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(dir, &list, err);

    *ret = (struct counting){.is_over = false};
    if (rc < 0)
        return rc;
    rc = read_list(dir, &list, below, ret, err);
    vel_vec_fini(&list);
    return rc;
}

/* --- to write --- */

/* With the facts of what counted before, and `more`. Takes that. */
static int begin(const struct vel_ledger_dir *dir, struct vel_ledger *ledger,
                 struct counting *counting, const struct vel_buf *more,
                 struct vel_err *err)
{
    struct vel_carry carry;
    struct vel_buf facts;
    int rc = 0;

    vel_buf_init(&facts);
    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    for (size_t i = 0; counting->has && i < counting->text.facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&counting->text.facts, i);

        vel_buf_append(&facts, fact->line.text, fact->line.len);
        vel_buf_puts(&facts, "\n");
    }
    if (more)
        vel_buf_append(&facts, more->data, more->len);
    if (counting->has && !vel_vec_push(&carry.texts, &counting->text))
        rc = vel_out_of_memory(err, "a ledger");
    else
        counting->has = false;
    if (rc == 0)
        rc = vel_buf_status(&facts, err);
    if (rc == 0)
        rc = vel_ledger_begin(ledger, &carry, vel_buf_text(&facts), facts.len, err);
    vel_carry_fini(&carry);
    vel_buf_fini(&facts);
    return rc;
}

/* Claim term 1.`term`, and read then what counts. */
static int claim(const struct vel_ledger_dir *dir, int64_t term,
                 const struct vel_terms_self *self, struct vel_ledger **ret,
                 struct counting *ret_counting, struct vel_err *err)
{
    const struct vel_ledger_self writer = {
        .node = self->node, .address = self->address, .process = getpid()};
    const struct vel_ledger_name name = {NUMBER, term};
    int rc = vel_ledger_claim(dir, name, &writer, ret, err);

    *ret_counting = (struct counting){.is_over = false};
    return rc == 0 ? read_below(dir, term, ret_counting, err) : rc;
}

int vel_terms_claim(struct vel_fs *fs, const char *launch_dir, int64_t term,
                    const struct vel_terms_self *self, struct vel_ledger **ret,
                    struct vel_err *err)
{
    const struct vel_ledger_dir dir = dir_of(fs, launch_dir, true);
    struct vel_ledger *ledger = NULL;
    struct counting counting;
    int rc = claim(&dir, term - 1, self, &ledger, &counting, err);

    if (rc == 0 && counting.is_over)
        rc = vel_fail(err, VEL_ECANCEL, "launch %s is over", self->launch);
    if (rc == 0)
        rc = begin(&dir, ledger, &counting, NULL, err);
    if (rc == 0)
        *ret = ledger;
    else
        vel_ledger_close(ledger);
    counting_fini(&counting);
    return rc;
}

static int put_done(const struct vel_terms_self *self, struct vel_buf *ret,
                    struct vel_err *err)
{
    const struct vel_fact done = {
        .kind = VEL_FACT_DONE,
        .u.done = {NUMBER, (char *)self->launch, (char *)self->node}};

    vel_buf_init(ret);
    int rc = vel_fact_put(&done, ret, err);
    vel_buf_puts(ret, "\n");
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}

/* VEL_EEXIST, VEL_ECANCEL: another has a term that is as new, or newer. */
static int end_once(const struct vel_ledger_dir *dir, const struct vel_terms_self *self,
                    const struct vel_buf *done, bool *ret_is_mine, struct vel_err *err)
{
    struct vel_ledger *ledger = NULL;
    struct vel_ledger_name highest;
    struct counting counting;
    bool is_over = false;
    int rc = highest_of(dir, &highest, err);

    if (rc == 0)
        rc = vel_terms_are_over(dir->fs, dir->path, &is_over, err);
    if (rc < 0 || is_over)
        return rc;
    rc = claim(dir, highest.term + 1, self, &ledger, &counting, err);
    if (rc == 0 && !counting.is_over) {
        rc = begin(dir, ledger, &counting, done, err);
        *ret_is_mine = rc == 0;
    }
    counting_fini(&counting);
    vel_ledger_close(ledger);
    return rc;
}

int vel_terms_end(struct vel_fs *fs, const char *launch_dir,
                  const struct vel_terms_self *self, struct vel_ledger *own,
                  bool *ret_is_mine, struct vel_err *err)
{
    const struct vel_ledger_dir dir = dir_of(fs, launch_dir, true);
    struct vel_buf done;
    int rc = put_done(self, &done, err);

    *ret_is_mine = rc == 0 && own && vel_ledger_is_good(own) &&
                   vel_ledger_tell(own, done.data, done.len, NULL) == 0;
    for (int round = 0; rc == 0 && !*ret_is_mine; round++) {
        rc = end_once(&dir, self, &done, ret_is_mine, err);
        if (rc == 0 || round == ROUNDS)
            break;
        if (rc == VEL_EEXIST || rc == VEL_ECANCEL)
            rc = 0;
    }
    vel_buf_fini(&done);
    return rc;
}

int vel_terms_are_over(struct vel_fs *fs, const char *launch_dir, bool *ret_are,
                       struct vel_err *err)
{
    const struct vel_ledger_dir dir = dir_of(fs, launch_dir, false);
    struct counting counting;
    int rc = read_below(&dir, INT64_MAX, &counting, err);

    *ret_are = rc == 0 && counting.is_over;
    counting_fini(&counting);
    return rc;
}
