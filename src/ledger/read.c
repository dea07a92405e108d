/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_in.h"

static const size_t file_most = (size_t)1 << 30;

/* --- title --- */

void vel_title_put(struct vel_buf *ret, const struct vel_ledger_text *title)
{
    vel_buf_puts(ret, "title");
    vel_line_put_int(ret, VEL_LEDGER_FORMAT);
    vel_line_put_int(ret, (int64_t)title->salt);
    vel_line_put_int(ret, title->name.launch);
    vel_line_put_int(ret, title->name.term);
    vel_line_put_text(ret, title->node, strlen(title->node));
    vel_line_put_int(ret, title->process);
    vel_line_put_text(ret, title->address, strlen(title->address));
    vel_line_put_int(ret, title->heir);
}

/* A text without zero bytes, as a new string. */
static char *take_string(struct vel_fields *fields)
{
    struct vel_buf text;
    char *string;
    size_t len;

    vel_buf_init(&text);
    vel_fields_text(fields, &text);
    vel_buf_puts(&text, "");
    string = vel_buf_take(&text, &len);
    if (string && strlen(string) != len)
        fields->at = NULL;
    return string;
}

bool vel_title_get(const void *bytes, size_t len, struct vel_ledger_name name,
                   struct vel_ledger_text *ret, struct vel_lines *ret_lines)
{
    struct vel_lines lines = {.bytes = bytes, .len = len};
    struct vel_ledger_text title = {.name = name};
    struct vel_line line;
    struct vel_fields fields;

    if (!vel_lines_next(&lines, &line) || lines.at > VEL_LEDGER_TITLE ||
        !vel_line_is(&line, "title", &fields) ||
        vel_fields_int(&fields) != VEL_LEDGER_FORMAT)
        return false;
    title.salt = (uint64_t)vel_fields_int(&fields);
    bool is_name =
        vel_fields_int(&fields) == name.launch && vel_fields_int(&fields) == name.term;
    title.node = take_string(&fields);
    title.process = vel_fields_int(&fields);
    title.address = take_string(&fields);
    title.heir = vel_fields_int(&fields);
    if (!is_name || !vel_fields_are_right(&fields) || vel_fields_have(&fields) ||
        !title.node || !title.address || (title.heir && title.heir <= name.launch)) {
        free(title.node);
        free(title.address);
        return false;
    }
    lines.salt = title.salt;
    *ret_lines = lines;
    *ret = title;
    return true;
}

/* --- begin --- */

/* A begin, or a tail, and where that says that the facts of the begin are. */
struct head {
    int64_t floor, bytes;
    struct vel_vec from;
};

static int compare_from(const void *a, const void *b)
{
    const struct vel_ledger_from *x = a, *y = b;

    return (x->launch > y->launch) - (x->launch < y->launch);
}

/* "N.K", or "N" */
static bool get_from(struct vel_fields *fields, struct vel_ledger_from *ret)
{
    struct vel_fields number;
    struct vel_buf text;
    char *at, *dot;

    vel_buf_init(&text);
    vel_buf_putc(&text, ' ');
    vel_fields_text(fields, &text);
    at = vel_buf_take(&text, NULL);
    if (!at)
        return false;
    dot = strchr(at, '.');
    number = (struct vel_fields){at, dot ? dot : at + strlen(at)};
    *ret = (struct vel_ledger_from){vel_fields_int(&number), -1};
    bool is = vel_fields_are_right(&number) && ret->launch > 0;
    if (is && dot) {
        *dot = ' ';
        number = (struct vel_fields){dot, dot + strlen(dot)};
        ret->term = vel_fields_int(&number);
        is = vel_fields_are_right(&number) && ret->term >= 0;
    }
    free(at);
    return is && vel_fields_are_right(fields);
}

/* 1: the line is one; 0: it is another. */
static int get_head(const struct vel_line *line, const char *kind, struct head *ret,
                    struct vel_err *err)
{
    struct vel_ledger_from from, before = {0};
    struct vel_fields fields;

    if (!vel_line_is(line, kind, &fields))
        return 0;
    vel_vec_init(&ret->from, sizeof from);
    ret->floor = vel_fields_int(&fields);
    ret->bytes = vel_fields_int(&fields);
    bool is = ret->bytes >= 0;
    for (; is && vel_fields_have(&fields); before = from) {
        is = get_from(&fields, &from) && compare_from(&before, &from) < 0;
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
static int find_head(struct vel_lines lines, struct head *ret, uint64_t *ret_at,
                     struct vel_err *err)
{
    struct vel_line line;
    int rc = 0;

    if (vel_lines_next(&lines, &line))
        rc = get_head(&line, "begin", ret, err);
    *ret_at = lines.at;
    for (uint64_t at = lines.at; rc == 0 && vel_lines_next(&lines, &line);
         at = lines.at) {
        rc = get_head(&line, "tail", ret, err);
        if (rc == 1 && (uint64_t)ret->bytes <= at)
            *ret_at = at - (uint64_t)ret->bytes;
    }
    return rc;
}

/* --- facts --- */

static bool is_fact(const struct vel_line *line)
{
    struct vel_fields fields;

    return !vel_line_is(line, "begin", &fields) && !vel_line_is(line, "tail", &fields);
}

/* *ret_is_torn: a line is wrong that has a fact of the begin. */
static int read_facts(struct vel_lines lines, uint64_t facts_at, uint64_t tail_at,
                      struct vel_ledger_text *ret, bool *ret_is_torn,
                      struct vel_err *err)
{
    size_t wrong = 0; /* since the last one that is right */
    bool is_torn = false;
    struct vel_line line;

    for (uint64_t at = lines.at; vel_lines_next(&lines, &line); at = lines.at) {
        const struct vel_ledger_fact fact = {ret->name, line};

        if (!line.text) {
            wrong++;
            is_torn = is_torn || (lines.at > facts_at && at < tail_at);
            continue;
        }
        ret->wrong += wrong;
        wrong = 0;
        ret->has_begin = ret->has_begin || at >= tail_at;
        if (is_fact(&line) && !vel_vec_push(&ret->facts, &fact))
            return vel_out_of_memory(err, "a ledger");
    }
    *ret_is_torn = ret->has_begin && is_torn;
    return 0;
}

static void forget_begin(struct vel_ledger_text *text)
{
    text->has_begin = text->is_lossy = false;
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

char *vel_ledger_path(const struct vel_ledger_dir *dir, struct vel_ledger_name name)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%" PRId64 ".%" PRId64, dir->path, name.launch, name.term);
    return vel_buf_take(&path, NULL);
}

/* Behind its title. */
static int read_begin(const struct vel_ledger_dir *dir, const struct vel_lines *lines,
                      struct vel_ledger_text *text, struct vel_err *err)
{
    struct head head;
    bool is_torn = false;
    uint64_t at;
    int rc = find_head(*lines, &head, &at, err);

    if (rc <= 0)
        return rc;
    text->from = head.from;
    text->floor = head.floor;
    rc = read_facts(*lines, at, at + (uint64_t)head.bytes, text, &is_torn, err);
    if (rc == 0 && is_torn)
        rc = read_sources(dir, text, err);
    return rc;
}

int vel_ledger_decode(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                      struct vel_buf *bytes, struct vel_ledger_text *ret,
                      struct vel_err *err)
{
    struct vel_ledger_text text;
    struct vel_lines lines;
    int rc = 0;

    if (!vel_title_get(bytes->data, bytes->len, name, &text, &lines)) {
        const char *feed = bytes->len ? memchr(bytes->data, '\n', bytes->len) : NULL;

        if (feed && feed + 1 < bytes->data + bytes->len)
            return vel_fail(err, VEL_ECORRUPT,
                            "%s/%" PRId64 ".%" PRId64
                            " is damaged: its first line is no title of a ledger",
                            dir->path, name.launch, name.term);
        text = (struct vel_ledger_text){.name = name};
    }
    vel_vec_init(&text.from, sizeof(struct vel_ledger_from));
    vel_vec_init(&text.facts, sizeof(struct vel_ledger_fact));
    vel_vec_init(&text.bytes, sizeof(struct vel_buf));
    if (text.node && !text.heir) {
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

int vel_ledger_load(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    struct vel_ledger_text *ret, struct vel_err *err)
{
    char *path = vel_ledger_path(dir, name);
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = path ? vel_fs_read_file(dir->fs, path, file_most, &bytes, err)
              : vel_out_of_memory(err, "a ledger");
    if (rc == 0)
        rc = vel_ledger_decode(dir, name, &bytes, ret, err);
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

bool vel_ledger_carries(const struct vel_ledger_text *text, int64_t launch)
{
    const struct vel_ledger_from key = {launch, 0};
    bool is_there = false;

    if (launch >= text->floor)
        vel_vec_place(&text->from, &key, compare_from, &is_there);
    return launch != text->name.launch && (launch < text->floor || is_there);
}

/* --- several --- */

int vel_ledger_counting(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                        struct vel_ledger_name below, struct vel_ledger_text *ret,
                        bool *ret_has, struct vel_err *err)
{
    int rc = 0;

    *ret_has = false;
    for (size_t i = list->n; rc == 0 && !*ret_has && i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);

        if (name->launch != below.launch || name->term >= below.term)
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

/* In rising order, for facts only move up. */
static int read_listed(const struct vel_ledger_dir *dir, const struct vel_vec *list,
                       struct vel_vec *ret, struct vel_err *err)
{
    int64_t launch = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);
        const struct vel_ledger_name any = {name->launch, INT64_MAX};
        struct vel_ledger_text text;
        bool has = false;

        if (name->launch == launch)
            continue;
        launch = name->launch;
        rc = vel_ledger_counting(dir, list, any, &text, &has, err);
        if (has && !vel_vec_push(ret, &text)) {
            vel_ledger_text_fini(&text);
            rc = vel_out_of_memory(err, "ledgers");
        }
    }
    return rc;
}

int vel_ledger_read_all(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                        struct vel_err *err)
{
    int rc = VEL_ENOENT;

    vel_vec_init(ret, sizeof(struct vel_ledger_text));
    while (rc == VEL_ENOENT) { /* one that was listed is gone */
        struct vel_vec list;

        vel_ledger_texts_fini(ret);
        vel_vec_init(ret, sizeof(struct vel_ledger_text));
        rc = vel_ledger_list(dir, &list, err);
        if (rc == 0)
            rc = read_listed(dir, &list, ret, err);
        vel_vec_fini(&list);
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
