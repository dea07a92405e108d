/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of doc/protocol.txt and doc/life.txt are those of the code: row by row.
 * A table begins with a line of its columns, and ends with an empty line; a line that
 * is far to the right goes on with the row before. Two tables may stand beside each
 * other, with a bar between, and a table may go on in a later one of the same columns.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "brain/dataset_state.h"
#include "brain/launch_state.h"
#include "brain/messages.h"
#include "tap/tap.h"

enum { FAR = 8, PAGE_MOST = 1 << 20 };

static char page[PAGE_MOST]; /* both, with each table below the other */

/* The halves of lines until an empty one: the left ones, then the right ones. */
static const char *put_halves(struct vel_buf *ret, const char *lines)
{
    const char *at = lines;

    for (int half = 0; half < 2; half++) {
        for (at = lines; *at && *at != '\n';) {
            size_t n = strcspn(at, "\n");
            const char *bar = memmem(at, n, " | ", 3);
            const char *from = half == 0 ? at : bar ? bar + 3 : at + n;
            const char *to = half == 0 && bar ? bar : at + n;

            if (strspn(from, " ") < (size_t)(to - from)) {
                vel_buf_append(ret, from, (size_t)(to - from));
                vel_buf_putc(ret, '\n');
            }
            at += n + (at[n] == '\n');
        }
        vel_buf_putc(ret, '\n');
    }
    return at;
}

static void read_page(const char *name)
{
    static char text[PAGE_MOST];
    const char *top = getenv("top_srcdir");
    struct vel_buf unfolded;
    char path[4096];

    snprintf(path, sizeof path, "%s/doc/%s", top ? top : ".", name);
    FILE *file = fopen(path, "r");
    if (!file)
        bail_out("cannot read %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    vel_buf_init(&unfolded);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");

        if (memmem(at, n, " | ", 3)) {
            at = put_halves(&unfolded, at);
            continue;
        }
        vel_buf_append(&unfolded, at, n);
        vel_buf_putc(&unfolded, '\n');
        at += n + (at[n] == '\n');
    }
    size_t used = strlen(page);
    snprintf(page + used, sizeof page - used, "%s\n", vel_buf_text(&unfolded));
    vel_buf_fini(&unfolded);
}

/* Append the words of a line with one blank between; *line is the next one then. */
static void words(const char **line, struct vel_buf *ret)
{
    const char *c = *line;
    bool is_behind = ret->len > 0;

    for (; *c && *c != '\n'; c++) {
        if (*c == ' ') {
            is_behind = ret->len > 0;
            continue;
        }
        if (is_behind)
            vel_buf_putc(ret, ' ');
        is_behind = false;
        vel_buf_putc(ret, *c);
    }
    *line = *c ? c + 1 : c;
}

static bool is_far(const char *line)
{
    return strspn(line, " ") >= FAR && line[strspn(line, " ")] != '\n';
}

/* Behind the line of columns and the line of dashes, or NULL. */
static const char *table_from(const char *line, const char *columns)
{
    while (*line) {
        struct vel_buf found;

        vel_buf_init(&found);
        words(&line, &found);
        bool is_it = strcmp(vel_buf_text(&found), columns) == 0;
        vel_buf_fini(&found);
        if (is_it && *line == '-')
            return strchr(line, '\n') + 1;
    }
    return NULL;
}

/* --- a table of the code against that of the page --- */

struct table {
    const char *columns;
    const char *at; /* the next row; NULL: there is no such table */
    size_t rows, wrong;
};

static struct table begin(const char *columns)
{
    return (struct table){.columns = columns, .at = table_from(page, columns)};
}

/* A table may go on in a later one. */
static void turn_over(struct table *t)
{
    const char *next = t->at && *t->at == '\n' ? table_from(t->at, t->columns) : NULL;

    if (next)
        t->at = next;
}

static void next_row(struct table *t, struct vel_buf *ret)
{
    turn_over(t);
    if (!t->at || !*t->at || *t->at == '\n')
        return;
    words(&t->at, ret);
    while (is_far(t->at))
        words(&t->at, ret);
}

static void expect(struct table *t, const char *want)
{
    struct vel_buf got;

    vel_buf_init(&got);
    next_row(t, &got);
    t->rows++;
    if (strcmp(vel_buf_text(&got), want) != 0 && t->wrong++ == 0)
        note("row %zu of '%s' is '%s' and should be '%s'", t->rows, t->columns,
             vel_buf_text(&got), want);
    vel_buf_fini(&got);
}

static void end(struct table *t, const char *text)
{
    turn_over(t);
    bool is_over = t->at && (*t->at == '\n' || *t->at == '\0');

    if (t->at && !is_over)
        note("behind row %zu of '%s' there are more", t->rows, t->columns);
    ok(is_over && t->rows > 0 && t->wrong == 0, "the pages have %s", text);
}

/* --- messages --- */

static const char *const ways[] = {"any", "ask", "up", "down", "peer", "reply"};
static const char *const limits[] = {"-", "T", "moves"};

static void put_field(struct vel_buf *row, const struct vel_msg_field *f)
{
    static const char *const types[] = {"", "t", "b"};

    vel_buf_printf(row, " %s", f->name);
    if (f->type == VEL_MSG_NUMBER && f->least == 0 && f->most == VEL_MSG_ANY_NUMBER)
        return;
    vel_buf_printf(row, "(%s", types[f->type]);
    if (f->least == f->most)
        vel_buf_printf(row, "%" PRIu64 ")", f->most);
    else if (f->most == VEL_MSG_ANY_NUMBER)
        vel_buf_printf(row, "%" PRIu64 "-)", f->least);
    else
        vel_buf_printf(row, "%" PRIu64 "-%" PRIu64 ")", f->least, f->most);
}

static void messages(void)
{
    struct table t = begin("no message way reply limit fields");
    const struct vel_msg_row *row;
    size_t n;

    for (size_t i = 0; (row = vel_msg_row_at(i)); i++) {
        const struct vel_msg_field *field = vel_msg_fields(row->kind, &n);
        const struct vel_msg_row *reply = vel_msg_row(row->reply);
        struct vel_buf want;

        vel_buf_init(&want);
        vel_buf_printf(&want, "%d %s %s %s %s", (int)row->kind, row->name,
                       ways[row->way], reply ? reply->name : "-", limits[row->limit]);
        for (size_t k = 0; k < n; k++)
            put_field(&want, &field[k]);
        expect(&t, vel_buf_text(&want));
        vel_buf_fini(&want);
    }
    end(&t, "all messages with their fields and bounds");
}

/* --- machines --- */

static void put_facts(struct vel_buf *row, const struct vel_machine *m, unsigned facts)
{
    const char *between = " ";

    if (!facts)
        vel_buf_puts(row, " -");
    for (size_t i = 0; i < m->nfacts; i++)
        if (facts & 1U << i) {
            vel_buf_printf(row, "%s%s", between, m->facts[i]);
            between = "+";
        }
}

static void transitions(const struct vel_machine *m)
{
    char columns[128], text[128];

    snprintf(columns, sizeof columns, "%s event if record action next", m->name);
    snprintf(text, sizeof text, "every transition of a %s", m->name);
    struct table t = begin(columns);
    for (size_t i = 0; i < m->nrows; i++) {
        const struct vel_machine_row *row = &m->rows[i];
        struct vel_buf want;

        vel_buf_init(&want);
        vel_buf_printf(&want, "%s %s", m->states[row->state], m->events[row->event]);
        put_facts(&want, m, row->facts);
        vel_buf_printf(&want, " %s %s %s", m->records[row->record],
                       m->actions[row->action], m->states[row->next]);
        expect(&t, vel_buf_text(&want));
        vel_buf_fini(&want);
    }
    end(&t, text);
}

int main(void)
{
    read_page("protocol.txt");
    read_page("life.txt");
    messages();
    transitions(&vel_launch_machine);
    transitions(&vel_dataset_machine);
    return done_testing();
}
