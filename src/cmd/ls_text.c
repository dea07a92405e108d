/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person reads. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/ls.h"

enum { NAME_MOST = 32 };

const char *const vel_ls_healths[] = {
    [VEL_LS_THERE] = "there",     [VEL_LS_RIGHT] = "right",
    [VEL_LS_MISSING] = "missing", [VEL_LS_SHORT] = "short",
    [VEL_LS_CORRUPT] = "corrupt", [VEL_LS_UNREAD] = "unread",
    [VEL_LS_AWAY] = "away",       [VEL_LS_LOST] = "lost",
    [VEL_LS_OPEN] = "open"};

struct print {
    const struct vel_ls *ls;
    const struct vel_ls_unit *unit;
    bool is_coloured;
    int name_width, level_width, sets_width, node_width;
    struct vel_buf *to;
};

enum colour { PLAIN = 0, RED = 31, GREEN = 32, YELLOW = 33 };

static void puts_coloured(struct print *p, enum colour colour, const char *text)
{
    if (p->is_coloured && colour)
        vel_buf_printf(p->to, "\033[%dm%s\033[0m", (int)colour, text);
    else
        vel_buf_puts(p->to, text);
}

/* --- values --- */

struct text {
    char s[40];
};

/* "4.0 MiB" in 8 places at most. */
static struct text size_text(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct text text;
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    if (unit == 0 || value >= 99.95)
        snprintf(text.s, sizeof text.s, "%.0f %s", value, units[unit]);
    else
        snprintf(text.s, sizeof text.s, "%.1f %s", value, units[unit]);
    return text;
}

/* As people say it: of two clocks, so what seems to lie ahead is now. */
static struct text age_text(int64_t seconds)
{
    struct text text;

    if (seconds < 0)
        seconds = 0;
    if (seconds < 100)
        snprintf(text.s, sizeof text.s, "%ds", (int)seconds);
    else if (seconds < 100 * 60)
        snprintf(text.s, sizeof text.s, "%dm", (int)(seconds / 60));
    else if (seconds < 48 * 3600)
        snprintf(text.s, sizeof text.s, "%dh", (int)(seconds / 3600));
    else
        snprintf(text.s, sizeof text.s, "%" PRId64 "d", seconds / 86400);
    return text;
}

static struct text time_text(int64_t when)
{
    struct text text = {"-"};
    time_t seconds = (time_t)when;
    struct tm tm;

    if (when > 0 && localtime_r(&seconds, &tm))
        strftime(text.s, sizeof text.s, "%Y-%m-%dT%H:%M:%S", &tm);
    return text;
}

/* "1 XOR" */
static struct text level_text(const struct vel_ls_row *row)
{
    struct text text = {"-"};

    if (row->index >= 0 && row->sets.n > 0)
        snprintf(text.s, sizeof text.s, "%" PRId64 " %s", row->index,
                 vel_scheme_name(row->scheme));
    else if (row->index >= 0)
        snprintf(text.s, sizeof text.s, "%" PRId64, row->index);
    return text;
}

/* The worst set: "3/4"; of several with how many there are: "3/4 of 8". */
static struct text sets_text(const struct vel_ls_row *row)
{
    const struct vel_ls_set *worst = NULL;
    struct text text = {"-"};

    for (size_t i = 0; i < row->sets.n; i++) {
        const struct vel_ls_set *set = vel_vec_at(&row->sets, i);

        if (!worst || set->members - set->whole > worst->members - worst->whole ||
            set->members == 0)
            worst = set;
    }
    if (worst && row->sets.n == 1)
        snprintf(text.s, sizeof text.s, "%u/%u", worst->whole, worst->members);
    else if (worst)
        snprintf(text.s, sizeof text.s, "%u/%u of %zu", worst->whole, worst->members,
                 row->sets.n);
    return text;
}

/* --- a row --- */

static enum colour colour_of(const struct vel_ls_row *row)
{
    switch (row->restart) {
    case VEL_LS_FROM_CACHE:
    case VEL_LS_FROM_PREFIX:
        return GREEN;
    case VEL_LS_FROM_REBUILT:
    case VEL_LS_UNKNOWN:
        return YELLOW;
    case VEL_LS_NO:
        break;
    }
    return RED;
}

static void print_restart(struct print *p, const struct vel_ls_row *row)
{
    static const char *const words[] = {[VEL_LS_FROM_CACHE] = "yes, cache",
                                        [VEL_LS_FROM_REBUILT] = "yes, rebuilt",
                                        [VEL_LS_FROM_PREFIX] = "yes, prefix",
                                        [VEL_LS_NO] = "no",
                                        [VEL_LS_UNKNOWN] = "unknown"};

    puts_coloured(p, colour_of(row), words[row->restart]);
    if (row->why)
        vel_buf_printf(p->to, ": %s", row->why);
    vel_buf_putc(p->to, '\n');
}

static void print_head(struct print *p)
{
    vel_buf_printf(p->to, "   ID %-*s %6s %5s %9s %5s %5s %-*s %-*s %-10s %s\n",
                   p->name_width, "NAME", "STEP", "AGE", "SIZE", "FILES", "RANKS",
                   p->level_width, "LEVEL", p->sets_width, "SETS", "STATE", "RESTART");
}

static const char *name_of(const struct vel_ls_row *row)
{
    const char *opened = row->opened ? row->opened->name : NULL;

    return row->about ? row->about->name : opened ? opened : "-";
}

static void print_row(struct print *p, const struct vel_ls_row *row)
{
    const struct vel_dataset *about = row->about;
    bool is_whole = about && about->files > 0;
    char id[24] = "-", step[24] = "-", files[24] = "-", ranks[24] = "-";

    if (row->id)
        snprintf(id, sizeof id, "%" PRId64, row->id);
    if (about) {
        snprintf(step, sizeof step, "%" PRId64, about->version);
        snprintf(ranks, sizeof ranks, "%d", about->ranks);
    }
    if (is_whole)
        snprintf(files, sizeof files, "%" PRId64, about->files);
    if (row->opened)
        snprintf(files, sizeof files, "%" PRId64, row->opened->files);
    if (row->opened && row->opened->step >= 0)
        snprintf(step, sizeof step, "%" PRId64, row->opened->step);
    vel_buf_printf(p->to, "%c%4s %-*.*s %6s %5s %9s %5s %5s %-*s %-*s ",
                   row->is_current ? '*' : ' ', id, p->name_width, p->name_width,
                   name_of(row), step,
                   about ? age_text(p->ls->now - about->created).s : "-",
                   is_whole      ? size_text(about->bytes).s
                   : row->opened ? size_text(row->opened->bytes).s
                                 : "-",
                   files, ranks, p->level_width, level_text(row).s, p->sets_width,
                   sets_text(row).s);
    vel_buf_printf(p->to, "%-10s ", vel_ls_states[row->state]);
    print_restart(p, row);
    if (row->error)
        vel_buf_printf(p->to, "      %s\n", row->error);
}

/* --- details and files --- */

/* Each that is not whole; of the others how many there are. */
static void print_sets(struct print *p, const struct vel_ls_row *row)
{
    size_t whole = 0;

    for (size_t i = 0; i < row->sets.n; i++) {
        const struct vel_ls_set *set = vel_vec_at(&row->sets, i);

        if (set->members > 0 && set->whole == set->members) {
            whole++;
            continue;
        }
        vel_buf_printf(p->to, "      set %zu of %zu: ", i + 1, row->sets.n);
        if (set->members > 0)
            vel_buf_printf(p->to,
                           "%u of %u members are there, it bears the loss of %u\n",
                           set->whole, set->members, set->failures);
        else
            vel_buf_puts(p->to, "nothing of it is there\n");
    }
    if (whole > 0)
        vel_buf_printf(p->to, "      %zu of %zu set%s whole\n", whole, row->sets.n,
                       row->sets.n == 1 ? " is" : "s are");
}

static void print_details(struct print *p, const struct vel_ls_row *row)
{
    const struct vel_entry *entry = row->entry;

    if (row->about)
        vel_buf_printf(p->to, "      begun %s", time_text(row->about->created).s);
    if (entry && entry->flushed)
        vel_buf_printf(p->to, "; flushed %s", time_text(entry->flushed).s);
    if (entry && entry->fetched)
        vel_buf_printf(p->to, "; fetched %s", time_text(entry->fetched).s);
    if (entry && entry->failed)
        vel_buf_printf(p->to, "; failed %s", time_text(entry->failed).s);
    if (row->launch)
        vel_buf_printf(p->to, "%slaunch %s", row->about ? "; " : "      ", row->launch);
    if (row->about || row->launch)
        vel_buf_putc(p->to, '\n');
    if (row->owes_encode || row->owes_flush)
        vel_buf_printf(p->to, "      still to do: %s\n",
                       row->owes_encode && row->owes_flush ? "encode, flush"
                       : row->owes_encode                  ? "encode"
                                                           : "flush");
    if (row->is_aside)
        vel_buf_puts(p->to, "      set aside by a launch that could not restore it\n");
    print_sets(p, row);
    if (row->opened)
        vel_buf_printf(p->to, "      %s %s\n", row->opened->batch.dir ? "in" : "on",
                       row->opened->batch.dir ? row->opened->batch.dir
                                              : row->opened->node);
}

static enum colour colour_of_file(const struct vel_ls_file *file)
{
    return file->health == VEL_LS_RIGHT  ? GREEN
           : file->why                   ? RED
           : file->health == VEL_LS_LOST ? YELLOW
                                         : PLAIN;
}

static const char *place_of(const struct vel_ls_file *file)
{
    return file->node ? file->node : file->index < 0 ? "prefix" : "nowhere";
}

static void print_files(struct print *p, const struct vel_ls_row *row)
{
    for (size_t i = 0; i < p->unit->files.n; i++) {
        const struct vel_ls_file *file = vel_ls_file_at(p->unit, i);

        if (file->id != row->id || file->opened != row->opened ||
            (!p->ls->options->files && !file->why))
            continue;
        vel_buf_printf(p->to, "      rank %-3d %9s  %-*s  ", file->rank,
                       size_text((int64_t)file->size).s, p->node_width, place_of(file));
        puts_coloured(p, colour_of_file(file), vel_ls_healths[file->health]);
        vel_buf_printf(p->to, "%*s %s", 7 - (int)strlen(vel_ls_healths[file->health]),
                       "", file->path ? file->path : file->name);
        if (file->why)
            vel_buf_printf(p->to, ": %s", file->why);
        vel_buf_putc(p->to, '\n');
    }
}

/* --- a unit --- */

static void widen(int *width, const char *text)
{
    int len = (int)strlen(text);

    if (len > *width)
        *width = len;
}

static void measure(struct print *p)
{
    p->name_width = (int)strlen("NAME");
    p->level_width = (int)strlen("LEVEL");
    p->sets_width = (int)strlen("SETS");
    p->node_width = 0;
    for (size_t i = 0; i < p->unit->rows.n; i++) {
        const struct vel_ls_row *row = vel_ls_row_at(p->unit, i);

        widen(&p->name_width, name_of(row));
        widen(&p->level_width, level_text(row).s);
        widen(&p->sets_width, sets_text(row).s);
    }
    if (p->name_width > NAME_MOST)
        p->name_width = NAME_MOST;
    for (size_t i = 0; i < p->unit->files.n; i++)
        widen(&p->node_width, place_of(vel_ls_file_at(p->unit, i)));
}

static void print_title(struct print *p)
{
    const struct vel_ls_unit *unit = p->unit;

    if (p->ls->units.n < 2)
        return;
    if (unit->prefix)
        vel_buf_printf(p->to, "%s%s%s:\n", unit->prefix, unit->label[0] ? ", " : "",
                       unit->label);
    else
        vel_buf_printf(p->to, "caches of prefix %s:\n", unit->id);
}

static void print_unit(struct print *p)
{
    const struct vel_ls_unit *unit = p->unit;

    print_title(p);
    measure(p);
    if (unit->rows.n > 0)
        print_head(p);
    else
        vel_buf_puts(p->to, "no datasets\n");
    for (size_t i = 0; i < unit->rows.n; i++) {
        const struct vel_ls_row *row = vel_ls_row_at(unit, i);

        print_row(p, row);
        if (p->ls->options->details)
            print_details(p, row);
        print_files(p, row);
    }
    for (size_t i = 0; i < unit->strange.n; i++)
        vel_buf_printf(p->to, "not of h5veloc: %s\n",
                       *(char **)vel_vec_at(&unit->strange, i));
    for (size_t i = 0; i < unit->silent.n; i++) {
        const struct vel_ls_silent *silent = vel_vec_at(&unit->silent, i);

        vel_buf_printf(p->to, "node %s tells nothing: %s\n", silent->node, silent->why);
    }
}

void vel_ls_text(const struct vel_ls *ls, bool is_coloured, struct vel_buf *ret)
{
    for (size_t i = 0; i < ls->units.n; i++) {
        struct print p = {.ls = ls,
                          .unit = vel_ls_unit_at(ls, i),
                          .is_coloured = is_coloured,
                          .to = ret};

        if (i > 0)
            vel_buf_putc(ret, '\n');
        print_unit(&p);
    }
    for (size_t i = 0; i < ls->replaced.n; i++)
        vel_buf_printf(ret, "replaced when a file was mended: %s\n",
                       *(char **)vel_vec_at(&ls->replaced, i));
}
