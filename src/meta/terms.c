/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "facts/facts.h"
#include "meta/paths.h"
#include "meta/terms_in.h"

struct vel_ledger_dir vel_terms_dir(struct vel_fs *fs, const char *launch_dir,
                                    bool writes)
{
    return (struct vel_ledger_dir){.fs = fs, .path = launch_dir, .is_shared = writes};
}

bool vel_terms_is_name(const char *name)
{
    int64_t term;

    return vel_number_behind(name, "1.", &term);
}

/* --- titles --- */

static const char *const words[] = {"chair ", "leader ", "other "};

void vel_terms_put_address(enum vel_terms_by by, int64_t chair, const char *node,
                           struct vel_buf *ret)
{
    vel_buf_printf(ret, "%s%" PRId64 " %s", words[by], chair, node ? node : "");
}

bool vel_terms_get_address(const char *address, enum vel_terms_by *ret_by,
                           int64_t *ret_chair, const char **ret_node)
{
    for (int by = VEL_TERMS_CHAIR; by <= VEL_TERMS_OTHER; by++) {
        size_t len = strlen(words[by]);
        char *end;

        if (strncmp(address, words[by], len) != 0)
            continue;
        *ret_by = (enum vel_terms_by)by;
        *ret_chair = strtoll(address + len, &end, 10);
        *ret_node = end + 1;
        return *end == ' ' && *ret_chair >= 0;
    }
    return false;
}

/* The chair, as the highest term says. One that nobody can read may be that of one
 * more.
 */
static int find_chair(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                      struct vel_terms_around *ret, struct vel_err *err)
{
    int64_t unread = 0;

    for (size_t i = list->n; i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        struct vel_ledger_text title;
        enum vel_terms_by by;
        const char *node;
        int rc;

        if (name->launch != VEL_TERMS_NUMBER)
            continue;
        rc = vel_ledger_title(dir, *name, &title, err);
        if (rc < 0 && rc != VEL_ECORRUPT)
            return rc;
        if (rc < 0 || !vel_terms_get_address(title.address, &by, &ret->chair, &node)) {
            unread++;
            if (rc == 0)
                vel_ledger_text_fini(&title);
            continue;
        }
        if (ret->chair > 0 && unread == 0) {
            ret->node = strdup(node);
            rc = ret->node ? 0 : vel_out_of_memory(err, "a chair");
        }
        vel_ledger_text_fini(&title);
        ret->chair += unread;
        return rc;
    }
    ret->chair = unread;
    return 0;
}

int vel_terms_look_around(const struct vel_ledger_dir *dir,
                          struct vel_terms_around *ret, struct vel_err *err)
{
    int rc = VEL_ENOENT;

    for (int round = 0; round < VEL_TERMS_ROUNDS && rc == VEL_ENOENT; round++) {
        struct vel_vec list;

        *ret = (struct vel_terms_around){0};
        rc = vel_ledger_list(dir, &list, err);
        if (rc < 0)
            return rc;
        ret->highest = vel_ledger_highest(&list, VEL_TERMS_NUMBER);
        rc = find_chair(dir, &list, ret, err);
        vel_vec_fini(&list);
    }
    return rc == VEL_ENOENT ? vel_fail(err, VEL_EBUSY,
                                       "the terms in %s change all the time", dir->path)
                            : rc;
}

int vel_terms_chair(struct vel_fs *fs, const char *launch_dir, int64_t *ret_chair,
                    char **ret_node, struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, false);
    struct vel_terms_around around;
    int rc = vel_terms_look_around(&dir, &around, err);

    *ret_chair = rc == 0 ? around.chair : 0;
    *ret_node = rc == 0 ? around.node : NULL;
    return rc;
}

/* --- what counts --- */

void vel_terms_counting_fini(struct vel_terms_counting *counting)
{
    if (counting->has)
        vel_ledger_text_fini(&counting->text);
    counting->has = false;
}

bool vel_terms_has_done(const struct vel_ledger_text *text)
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
                     int64_t below, struct vel_terms_counting *ret, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = list->n; rc == 0 && !ret->has && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        struct vel_err why = {0};

        if (name->launch != VEL_TERMS_NUMBER || name->term >= below)
            continue;
        rc = vel_ledger_load(dir, *name, &ret->text, &why);
        if (rc == VEL_ECORRUPT) {
            vel_log(dir->is_shared ? VEL_LOG_WARN : VEL_LOG_DEBUG, "%s", why.text);
            ret->damage = why;
            rc = 0;
        } else if (rc < 0) {
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
        } else {
            ret->has = ret->text.has_begin;
            if (!ret->has)
                vel_ledger_text_fini(&ret->text);
        }
    }
    return rc;
}

/* Terms that nobody needs any more may go while they are read. */
int vel_terms_read_below(const struct vel_ledger_dir *dir, int64_t below,
                         struct vel_terms_counting *ret, struct vel_err *err)
{
    int rc = VEL_ENOENT;

    for (int round = 0; round < VEL_TERMS_ROUNDS && rc == VEL_ENOENT; round++) {
        struct vel_vec list;

        *ret = (struct vel_terms_counting){.has = false};
        rc = vel_ledger_list(dir, &list, err);
        if (rc < 0)
            return rc;
        rc = read_list(dir, &list, below, ret, err);
        vel_vec_fini(&list);
    }
    return rc == VEL_ENOENT ? vel_fail(err, VEL_EBUSY,
                                       "the terms in %s change all the time", dir->path)
                            : rc;
}

/* It is removed with its launch. */
int vel_terms_check_dir(const struct vel_ledger_dir *dir, struct vel_err *err)
{
    struct stat st;

    return vel_fs_lstat(dir->fs, dir->path, &st, err);
}

int vel_terms_load(struct vel_fs *fs, const char *launch_dir,
                   struct vel_ledger_text *ret, bool *ret_has, struct vel_err *err)
{
    const struct vel_ledger_dir dir = vel_terms_dir(fs, launch_dir, false);
    struct vel_terms_counting counting;
    struct vel_err why = {0};
    int rc = vel_terms_check_dir(&dir, &why);

    if (rc == 0) {
        rc = vel_terms_read_below(&dir, INT64_MAX, &counting, &why);
        if (rc < 0 && vel_terms_check_dir(&dir, NULL) == VEL_ENOENT)
            rc = VEL_ENOENT; /* meanwhile */
    }
    if (rc == 0 && !counting.has && counting.damage.status) {
        rc = VEL_ECORRUPT;
        why = counting.damage;
    }
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    *ret = counting.text;
    *ret_has = counting.has;
    return 0;
}

/* --- datasets that are gone --- */

static int add_gone(const struct vel_ledger_line *line, struct vel_ranges *gone,
                    struct vel_err *err)
{
    struct vel_ranges more;
    struct vel_fact fact;
    int rc = 0;

    if (vel_fact_get(line, &fact, NULL) < 0)
        return 0;
    if (vel_ranges_parse(fact.u.gone.ids, INT64_MAX - 1, &more, NULL) == 0) {
        for (size_t i = 0; rc == 0 && i < more.of.n; i++)
            rc = vel_ranges_add_range(gone, vel_vec_at(&more.of, i), err);
        vel_ranges_fini(&more);
    }
    vel_fact_fini(&fact);
    return rc;
}

int vel_terms_fold_gone(const struct vel_ledger_line *line, struct vel_ranges *gone,
                        struct vel_err *err)
{
    struct vel_fields fields;

    if (vel_line_is(line, "gone", &fields))
        return add_gone(line, gone, err);
    return vel_line_is(line, "entry", &fields)
               ? vel_ranges_remove(gone, vel_fields_int(&fields), err)
               : 0;
}

static int put_some(const struct vel_ranges *gone, struct vel_buf *ret,
                    struct vel_err *err)
{
    struct vel_fact fact = {.kind = VEL_FACT_GONE, .u.gone.number = VEL_TERMS_NUMBER};
    struct vel_buf ids;
    int rc;

    vel_buf_init(&ids);
    vel_ranges_put(gone, &ids);
    fact.u.gone.ids = (char *)(uintptr_t)vel_buf_text(&ids);
    rc = vel_buf_status(&ids, err);
    if (rc == 0)
        rc = vel_fact_put(&fact, ret, err);
    vel_buf_puts(ret, "\n");
    vel_buf_fini(&ids);
    return rc;
}

enum { RANGES = 1000 }; /* in a line */

int vel_terms_put_gone(const struct vel_ranges *gone, struct vel_buf *ret,
                       struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < gone->of.n; i += RANGES) {
        struct vel_ranges some = *gone;

        some.of.items = vel_vec_at(&gone->of, i);
        some.of.n = gone->of.n - i < RANGES ? gone->of.n - i : RANGES;
        rc = put_some(&some, ret, err);
    }
    return rc;
}
