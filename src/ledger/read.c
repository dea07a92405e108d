/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ledger/ledger_in.h"

static const size_t file_most = (size_t)1 << 40; /* too long is not damaged */

/* --- begin --- */

/* A begin, or a tail. */
struct head {
    int64_t floor, bytes; /* of the facts between them */
    struct vel_vec from;
};

int vel_ledger_from_compare(const void *a, const void *b)
{
    const struct vel_ledger_from *x = a, *y = b;

    return (x->launch > y->launch) - (x->launch < y->launch);
}

/* What comes next, and behind `before`; false: there is none that a ledger `of` can
 * come from. */
static bool get_from(struct vel_fields *fields, struct vel_ledger_name of,
                     const struct vel_ledger_from *before, struct vel_ledger_from *ret)
{
    ret->launch = vel_fields_int(fields);
    ret->term = vel_fields_int(fields);
    return vel_fields_are_right(fields) && ret->launch > before->launch &&
           ret->launch <= of.launch && ret->term >= -1 &&
           (ret->launch < of.launch || (ret->term >= 0 && ret->term < of.term));
}

/* 1: the line is one; 0: it is another. */
static int get_head(const struct vel_ledger_line *line, const char *kind,
                    struct vel_ledger_name of, struct head *ret, struct vel_err *err)
{
    struct vel_ledger_from from, before = {0};
    struct vel_fields fields;

    if (!vel_line_is(line, kind, &fields))
        return 0;
    vel_vec_init(&ret->from, sizeof from);
    ret->floor = vel_fields_int(&fields);
    ret->bytes = vel_fields_int(&fields);
    bool is = ret->floor >= 0 && ret->floor <= of.launch && ret->bytes >= 0;
    for (; is && vel_fields_have(&fields); before = from) {
        is = get_from(&fields, of, &before, &from);
        if (is && !vel_vec_push(&ret->from, &from)) {
            vel_vec_fini(&ret->from);
            return vel_out_of_memory(err, "a ledger");
        }
    }
    if (is && vel_fields_are_right(&fields))
        return 1;
    vel_vec_fini(&ret->from);
    return 0;
}

/* The begin, or where that is wrong the tail; *ret_at: of the first fact. 0: neither.
 */
static int find_head(struct vel_lines lines, struct vel_ledger_name of,
                     struct head *ret, uint64_t *ret_at, struct vel_err *err)
{
    struct vel_ledger_line line;
    int rc = 0;

    if (vel_lines_next(&lines, &line) && !lines.are_behind)
        rc = get_head(&line, "begin", of, ret, err);
    *ret_at = lines.at;
    for (uint64_t at = lines.at; rc == 0 && vel_lines_next(&lines, &line);
         at = lines.at) {
        if (!lines.are_behind)
            rc = get_head(&line, "tail", of, ret, err);
        if (rc == 1 && (uint64_t)ret->bytes <= at)
            *ret_at = at - (uint64_t)ret->bytes;
    }
    return rc;
}

/* --- facts --- */

/* With the tail, or a line behind it, the begin is whole on the disk, or was. */
static bool proves_begin(const struct vel_lines *lines,
                         const struct vel_ledger_line *line)
{
    struct vel_fields fields;

    return line->text && (lines->are_behind || vel_line_is(line, "tail", &fields));
}

static bool is_fact(const struct vel_ledger_line *line)
{
    struct vel_fields fields;

    return !vel_line_is(line, "begin", &fields) && !vel_line_is(line, "tail", &fields);
}

int vel_ledger_read_facts(struct vel_lines lines, uint64_t facts_at, uint64_t tail_at,
                          struct vel_ledger_text *ret, struct vel_err *err)
{
    size_t wrong = 0; /* since the last one that is right */
    struct vel_ledger_line line;

    for (uint64_t at = lines.at; vel_lines_next(&lines, &line); at = lines.at) {
        const struct vel_ledger_fact fact = {ret->name, line};

        if (!line.text) {
            wrong++;
            ret->is_torn = ret->is_torn || (lines.at > facts_at && at < tail_at);
            continue;
        }
        ret->wrong += wrong;
        ret->end = lines.at;
        wrong = 0;
        ret->has_begin = ret->has_begin || proves_begin(&lines, &line);
        if (is_fact(&line) && !vel_vec_push(&ret->facts, &fact))
            return vel_out_of_memory(err, "a ledger");
    }
    return 0;
}

static bool has_begun(struct vel_lines lines)
{
    struct vel_ledger_line line;
    bool has = false;

    while (!has && vel_lines_next(&lines, &line))
        has = proves_begin(&lines, &line);
    return has;
}

static void forget_begin(struct vel_ledger_text *text)
{
    text->has_begin = text->is_torn = text->is_lossy = false;
    text->floor = 0;
    text->wrong = 0;
    vel_vec_fini(&text->from);
    vel_vec_fini(&text->facts);
    for (size_t i = 0; i < text->bytes.n; i++)
        vel_buf_fini(vel_vec_at(&text->bytes, i));
    vel_vec_fini(&text->bytes);
}

void vel_ledger_text_fini(struct vel_ledger_text *text)
{
    forget_begin(text);
    free(text->node);
    free(text->address);
    *text = (struct vel_ledger_text){0};
}

/* What `source` has comes before what *text has. */
static int put_before(struct vel_ledger_text *text, struct vel_ledger_text *source,
                      struct vel_err *err)
{
    struct vel_vec facts = source->facts;

    vel_vec_init(&source->facts, sizeof(struct vel_ledger_fact));
    for (size_t i = 0; i < text->facts.n; i++)
        if (!vel_vec_push(&facts, vel_vec_at(&text->facts, i))) {
            vel_vec_fini(&facts);
            return vel_out_of_memory(err, "a ledger");
        }
    vel_vec_fini(&text->facts);
    text->facts = facts;
    for (size_t i = source->bytes.n; i-- > 0; vel_vec_remove(&source->bytes, i))
        if (!vel_vec_push(&text->bytes, vel_vec_at(&source->bytes, i)))
            return vel_out_of_memory(err, "a ledger");
    text->wrong += source->wrong;
    text->is_lossy = text->is_lossy || source->is_lossy;
    return 0;
}

/* A fact of its begin is wrong: what that comes from has it, while that is there. */
static int read_sources(const struct vel_ledger_dir *dir, struct vel_ledger_text *text,
                        struct vel_err *err)
{
    int rc = 0;

    for (size_t i = text->from.n; rc == 0 && i-- > 0;) {
        const struct vel_ledger_from *from = vel_vec_at(&text->from, i);
        const struct vel_ledger_name name = {from->launch, from->term};
        struct vel_ledger_text source;

        if (from->term < 0)
            continue;
        rc = vel_ledger_load(dir, name, &source, err);
        if (rc == 0) {
            text->is_lossy = text->is_lossy || !source.has_begin;
            rc = put_before(text, &source, err);
            vel_ledger_text_fini(&source);
        } else if (rc == VEL_ENOENT) {
            text->is_lossy = true;
            rc = 0;
        }
    }
    return rc;
}

/* --- a file --- */

/* Behind its title. */
static int read_begin(const struct vel_ledger_dir *dir, const struct vel_lines *lines,
                      struct vel_ledger_text *text, struct vel_err *err)
{
    struct head head;
    uint64_t at;
    int rc = find_head(*lines, text->name, &head, &at, err);

    if (rc == 0 && has_begun(*lines))
        return vel_fail(err, VEL_ECORRUPT,
                        "%s/%" PRId64 ".%" PRId64
                        " is damaged: neither where it begins nor where that ends can "
                        "be read",
                        dir->path, text->name.launch, text->name.term);
    if (rc <= 0)
        return rc;
    text->from = head.from;
    text->floor = head.floor;
    rc = vel_ledger_read_facts(*lines, at, at + (uint64_t)head.bytes, text, err);
    if (rc == 0 && text->has_begin && text->is_torn)
        rc = read_sources(dir, text, err);
    return rc;
}

int vel_ledger_decode(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                      struct vel_buf *bytes, struct vel_ledger_text *ret,
                      struct vel_err *err)
{
    struct vel_ledger_text text;
    struct vel_lines lines;
    int rc = vel_title_get(bytes->data, bytes->len, name, &text, &lines, err);

    if (rc <= 0)
        return rc < 0 ? rc : vel_title_none(dir, name, err);
    vel_vec_init(&text.from, sizeof(struct vel_ledger_from));
    vel_vec_init(&text.facts, sizeof(struct vel_ledger_fact));
    vel_vec_init(&text.bytes, sizeof(struct vel_buf));
    rc = 0;
    if (text.heir == 0) {
        if (vel_vec_push(&text.bytes, bytes))
            vel_buf_init(bytes); /* it has moved */
        else
            rc = vel_out_of_memory(err, "a ledger");
        if (rc == 0)
            rc = read_begin(dir, &lines, &text, err);
    }
    if (!text.has_begin)
        forget_begin(&text);
    if (rc < 0)
        vel_ledger_text_fini(&text);
    else
        *ret = text;
    return rc;
}

/* No link is followed. */
static int check_file(const struct vel_ledger_dir *dir, const char *path,
                      struct vel_ledger_stamp *ret, struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(dir->fs, path, &st, err);

    if (rc == 0)
        *ret = vel_ledger_stamp(&st);
    return rc == 0 && !S_ISREG(st.st_mode)
               ? vel_fail(err, VEL_ECORRUPT, "%s is no file", path)
               : rc;
}

int vel_ledger_load(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    struct vel_ledger_text *ret, struct vel_err *err)
{
    char *path = vel_ledger_path(dir, name);
    struct vel_ledger_stamp stamp;
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = path ? check_file(dir, path, &stamp, err) : vel_out_of_memory(err, "a ledger");
    if (rc == 0)
        rc = vel_fs_read_file(dir->fs, path, file_most, &bytes, err);
    if (rc == 0)
        rc = vel_ledger_decode(dir, name, &bytes, ret, err);
    if (rc == 0)
        ret->stamp = stamp;
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

bool vel_ledger_carries(const struct vel_ledger_text *text, int64_t launch)
{
    const struct vel_ledger_from key = {launch, 0};
    bool is_there = false;

    if (launch >= text->floor)
        vel_vec_place(&text->from, &key, vel_ledger_from_compare, &is_there);
    return launch != text->name.launch && (launch < text->floor || is_there);
}

/* --- several --- */

int vel_ledger_counting(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                        struct vel_ledger_name below, struct vel_ledger_text *ret,
                        bool *ret_has, struct vel_err *err)
{
    size_t first, i;
    int rc = 0;

    *ret_has = false;
    vel_ledger_chain(list, below.launch, &first, &i);
    while (rc == 0 && !*ret_has && i-- > first) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);

        if (name->term >= below.term)
            continue;
        rc = vel_ledger_load(dir, *name, ret, err);
        *ret_has = rc == 0 && ret->has_begin;
        if (rc == 0 && !*ret_has)
            vel_ledger_text_fini(ret);
    }
    return rc;
}

void vel_ledger_texts_fini(struct vel_vec *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        vel_ledger_text_fini(vel_vec_at(texts, i));
    vel_vec_fini(texts);
}

static bool is_carried(const struct vel_vec *texts, int64_t launch)
{
    bool is = false;

    for (size_t i = 0; !is && i < texts->n; i++)
        is = vel_ledger_carries(vel_vec_at(texts, i), launch);
    return is;
}

/* In rising order, for facts only move up. In a cache a chain that is damaged costs
 * itself alone. */
static int read_listed(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                       struct vel_vec *ret, struct vel_err *err)
{
    size_t first, behind;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < list->n; i = behind) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        const struct vel_ledger_name any = {name->launch, INT64_MAX};
        struct vel_ledger_text text;
        struct vel_err why = {0};
        bool has = false;

        vel_ledger_chain(list, name->launch, &first, &behind);
        rc = vel_ledger_counting(dir, list, any, &text, &has, &why);
        if (rc == VEL_ECORRUPT && !dir->has_all) {
            vel_log(VEL_LOG_WARN, "%s", why.text);
            rc = 0;
        }
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
        if (has && !vel_vec_push(ret, &text)) {
            vel_ledger_text_fini(&text);
            rc = vel_out_of_memory(err, "ledgers");
        }
    }
    return rc;
}

/* A list is not of one moment: a launch whose ledgers come and go meanwhile may be
 * missing. Where each number has a ledger, or is carried, that is seen. */
static bool lacks_one(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                      const struct vel_vec *texts)
{
    int64_t launch = 1;

    for (size_t i = 0; dir->has_all && i < list->n; i++) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);

        for (; launch < name->launch; launch++)
            if (!is_carried(texts, launch))
                return true;
        launch = name->launch + 1;
    }
    return false;
}

int vel_ledger_read_all(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                        struct vel_err *err)
{
    bool is_again = true;
    int rc = 0, round = 0;

    vel_vec_init(ret, sizeof(struct vel_ledger_text));
    while (rc == 0 && is_again) {
        struct vel_vec list;

        vel_ledger_texts_fini(ret);
        vel_vec_init(ret, sizeof(struct vel_ledger_text));
        rc = vel_ledger_list(dir, &list, err);
        if (rc < 0)
            break;
        rc = read_listed(dir, &list, ret, err);
        is_again = rc == VEL_ENOENT || (rc == 0 && lacks_one(dir, &list, ret));
        vel_vec_fini(&list);
        if (is_again)
            rc = vel_ledger_again(dir, &round, err);
    }
    for (size_t i = ret->n; rc == 0 && i-- > 0;) {
        struct vel_ledger_text *text = vel_vec_at(ret, i);

        if (is_carried(ret, text->name.launch)) {
            vel_ledger_text_fini(text);
            vel_vec_remove(ret, i);
        }
    }
    if (rc < 0)
        vel_ledger_texts_fini(ret);
    return rc;
}
