/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs whose cached files are damaged between one run and the next, by seeds: each
 * H5Dread gives the bytes of a complete version, or fails with a sentence; nothing is
 * tried for ever; what comes to the prefix is right. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/damagecase.h"
#include "tap/files.h"
#include "tap/proglab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { CELLS = 5000, TEXT = 4000 };

static char point[1000], h5dump[1000];
static char violation[TEXT];

static void violate(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void violate(const char *fmt, ...)
{
    size_t len = strlen(violation);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(violation + len, sizeof violation - len, fmt, ap);
    va_end(ap);
}

static bool end(struct proglab *p, const char *who)
{
    bool is_well = proglab_join(p);

    if (!is_well)
        violate("%s does not end\n", who);
    return is_well;
}

static bool await(const struct proglab *p, int first)
{
    bool is_well = proglab_await(p, first, false);

    for (int i = 0; !is_well && i < p->n; i++) {
        char *err = proglab_read(proglab_output(first + i, "err"));

        violate("not all come to their end: %.500s\n", err ? err : "");
        free(err);
    }
    return is_well;
}

/* --- what they write --- */

static void add_step(const struct damage_case *f, struct proglab_words *ops, int step,
                     int rank)
{
    char name[40];

    damage_name(f, step, rank, name);
    proglab_add(ops, "create=%s", name);
    proglab_add(ops, "write=%d", damage_value(step, rank));
    proglab_add(ops, "close");
}

static void set_number(const char *name, int value)
{
    char text[20];

    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static void set_settings(const struct damage_case *f)
{
    FILE *file = fopen(".velocconf", "w");

    if (!file)
        bail_out("no settings");
    fprintf(file,
            "DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND\n"
            "DATASET=st PATTERN=st.{rank}.h5 PUBLISH=BEHIND\n"
            "COPY_TYPE=%s\nSET_SIZE=%d\nSET_FAILURES=%d\n",
            f->scheme, f->nodes > 1 ? f->nodes : 2, f->bears > 0 ? f->bears : 1);
    fclose(file);
    set_number("VELOC_VIRTUAL_NODES", f->nodes);
}

/* The first step, by a program that ends well: it is on the prefix. */
static void write_past(const struct damage_case *f)
{
    struct proglab p = {.n = 0};

    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        proglab_add(&ops, "cells=%d", CELLS);
        add_step(f, &ops, 1, r);
        proglab_start(&p, r, r, f->ranks, "past", point, &ops);
    }
    end(&p, "the first program");
}

static void add_end(const struct damage_case *f, struct proglab_words *ops, int rank)
{
    int last = f->killed == DAMAGE_MIDDLE ? f->steps - 1 : f->steps;
    char name[40];

    for (int step = f->has_one_name ? last : 1; step <= last; step++) {
        damage_name(f, step, rank, name);
        if (f->killed == DAMAGE_COMPLETE ||
            (f->killed == DAMAGE_PROTECTED && f->nodes == 1))
            proglab_add(ops, "complete=%s", name);
        else if (f->killed != DAMAGE_CLOSED && f->nodes > 1)
            proglab_add(ops, "protected=%s", name);
    }
    if (f->killed == DAMAGE_MIDDLE && rank == 0)
        add_step(f, ops, f->steps, rank);
    proglab_add(ops, "say=ready");
    proglab_add(ops, "wait=never");
}

/* And is killed: nothing of it is on the prefix. */
static void write_all(const struct damage_case *f)
{
    int last = f->killed == DAMAGE_MIDDLE ? f->steps - 1 : f->steps;
    struct proglab p = {.n = 0};

    setenv("VELOC_FLUSH_BANDWIDTH", "1", 1);
    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        proglab_add(&ops, "cells=%d", CELLS);
        for (int s = f->has_past ? 2 : 1; s <= last; s++)
            add_step(f, &ops, s, r);
        add_end(f, &ops, r);
        proglab_start(&p, r, r, f->ranks, "dies", point, &ops);
    }
    await(&p, 0);
    proglab_kill(&p);
    unsetenv("VELOC_FLUSH_BANDWIDTH");
}

static void check_value(const struct damage_case *f, int step, int rank, int value,
                        const char *where)
{
    bool must_be_last = f->has_one_name && damage_must_be_right(f, f->steps);
    char name[40];

    damage_name(f, step, rank, name);
    if (!damage_may_be(f, step, rank, value) ||
        (must_be_last && value != damage_value(f->steps, rank)))
        violate("%s has the value %d %s\n", name, value, where);
}

/* --- reading --- */

/* A value all of whose cells are like it; -1: none; -2: they differ. */
static int value_said(const char *text, const char *name)
{
    char before[60];
    const char *at;
    int value;

    snprintf(before, sizeof before, "%s: ", name);
    at = text ? strstr(text, before) : NULL;
    if (!at || sscanf(at + strlen(before), "all %d,", &value) != 1)
        return at && strncmp(at + strlen(before), "not all", 7) == 0 ? -2 : -1;
    return value;
}

/* The same, of what h5dump has written. */
static int value_dumped(int rank)
{
    size_t len = 0;
    char *bytes = tap_get_file(proglab_output(rank, "data"), &len);
    int value = -1, cell;

    for (size_t at = 0; bytes && value != -2 && at + sizeof cell <= len;
         at += sizeof cell) {
        memcpy(&cell, bytes + at, sizeof cell);
        value = at == 0 || cell == value ? cell : -2;
    }
    free(bytes);
    return len > 0 && len != CELLS * sizeof cell ? -2 : value;
}

/* The innermost of HDF5's errors says most. */
static void tell_silent(const char *name, int rank)
{
    char *err = proglab_read(proglab_output(rank, "err"));
    size_t len = err ? strlen(err) : 0;

    violate("%s cannot be opened, and nobody says why: %s\n", name,
            err ? err + (len > 400 ? len - 400 : 0) : "");
    free(err);
}

static void check_read(const struct damage_case *f, int step, int rank, int value,
                       const char *name)
{
    char *why = proglab_sentences(rank);

    if (value == -2)
        violate("%s: its cells differ (%s)\n", name, damage_opener(f));
    else if (value >= 0)
        check_value(f, step, rank, value, "when it is read");
    else if (damage_must_be_right(f, step))
        violate("%s cannot be read: %s\n", name, why ? why : "");
    else if (access(name, F_OK) == 0 && (!why || !*why)) /* else it is not there */
        tell_silent(name, rank);
    free(why);
}

static int first_step(const struct damage_case *f)
{
    return f->has_one_name ? f->steps : 1;
}

/* Has all that must come to the prefix come there? */
static bool is_published(const struct damage_case *f)
{
    char name[40];

    for (int r = 0; r < f->ranks; r++)
        for (int s = first_step(f); s <= f->steps; s++) {
            damage_name(f, s, r, name);
            if (damage_must_be_right(f, s) &&
                (damage_is_stub(name) ||
                 (f->opener != DAMAGE_BY_WRITER && !damage_is_kept(name))))
                return false;
        }
    return true;
}

/* At once, with what they owe, by every other seed; else when all is published. */
static void let_go(struct proglab *p, const struct damage_case *f, const char *who)
{
    double limit = f->seed % 2 ? proglab_seconds() + PROGLAB_LIMIT_S : 0;

    while (!is_published(f) && proglab_seconds() < limit)
        proglab_pause();
    tap_put_file("go", "");
    end(p, who);
}

/* They have files of their own, too. */
static void read_same(const struct damage_case *f, const char *launch)
{
    struct proglab p = {.n = 0};
    char name[40];

    unlink("go");
    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        proglab_add(&ops, "tells");
        proglab_add(&ops, "create=own.%d.h5", r);
        proglab_add(&ops, "close");
        proglab_add(&ops, "cells=%d", CELLS);
        for (int s = f->steps; s >= first_step(f); s--) {
            damage_name(f, s, r, name);
            proglab_add(&ops, "read=%s", name);
        }
        proglab_add(&ops, "say=ready");
        proglab_add(&ops, "wait=go");
        proglab_start(&p, r, r, f->ranks, launch, point, &ops);
    }
    if (!await(&p, 0)) {
        proglab_kill(&p);
        return;
    }
    let_go(&p, f, "who reads");
    for (int r = 0; r < f->ranks; r++) {
        char *text = proglab_read(proglab_output(r, "out"));

        for (int s = f->steps; s >= first_step(f); s--) {
            damage_name(f, s, r, name);
            check_read(f, s, r, value_said(text, name), name);
        }
        free(text);
    }
}

static void start_holders(struct proglab *p, const struct damage_case *f,
                          const char *launch)
{
    unlink("go");
    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        proglab_add(&ops, "create=held.%d.h5", r);
        proglab_add(&ops, "close");
        proglab_add(&ops, "say=ready");
        proglab_add(&ops, "wait=go");
        proglab_start(p, f->ranks + r, 2 * r, 2 * f->ranks, launch, point, &ops);
    }
}

/* Each rank reads its last file by HDF5's tool, on its node. */
static void read_strange(const struct damage_case *f, const char *launch, int of)
{
    struct proglab p = {.n = 0};
    char name[40];

    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        damage_name(f, f->steps, r, name);
        unlink(proglab_output(r, "data"));
        proglab_add(&ops, "--enable-error-stack");
        proglab_add(&ops, "-d");
        proglab_add(&ops, "cells");
        proglab_add(&ops, "-b");
        proglab_add(&ops, "NATIVE");
        proglab_add(&ops, "-o");
        proglab_add(&ops, "%s", proglab_output(r, "data"));
        proglab_add(&ops, "%s", name);
        proglab_start(&p, r, of > f->ranks ? 2 * r + 1 : r, of, launch, h5dump, &ops);
    }
    if (!end(&p, "h5dump"))
        return;
    for (int r = 0; r < f->ranks; r++) {
        damage_name(f, f->steps, r, name);
        check_read(f, f->steps, r, value_dumped(r), name);
    }
}

/* In one launch with them, or while a program of another one runs. */
static void read_with_holders(const struct damage_case *f)
{
    struct proglab p = {.n = 0};

    start_holders(&p, f, "dumps");
    if (await(&p, f->ranks))
        read_strange(f, f->opener == DAMAGE_BY_BESIDE ? "beside" : "dumps",
                     f->opener == DAMAGE_BY_BESIDE ? f->ranks : 2 * f->ranks);
    let_go(&p, f, "who stays beside h5dump");
}

/* The last file of each rank is changed, as a whole: it begins with what is there. */
static void write_more(struct damage_case *f, const char *launch)
{
    struct proglab p = {.n = 0};
    char name[40];

    unlink("go");
    for (int r = 0; r < f->ranks; r++) {
        struct proglab_words ops = {.n = 0};

        damage_name(f, f->steps, r, name);
        proglab_add(&ops, "tells");
        proglab_add(&ops, "open=%s", name);
        proglab_add(&ops, "grow=%d", damage_value(f->steps, r));
        proglab_add(&ops, "close");
        proglab_add(&ops, "say=ready");
        proglab_add(&ops, "wait=go");
        proglab_start(&p, r, r, f->ranks, launch, point, &ops);
    }
    proglab_await(&p, 0, true);
    let_go(&p, f, "who writes");
    for (int r = 0; r < f->ranks; r++) {
        char *text = proglab_read(proglab_output(r, "out")),
             *why = proglab_sentences(r);
        bool is_written = text && strcmp(text, "ready\n") == 0;

        damage_name(f, f->steps, r, name);
        if (!is_written && damage_must_be_right(f, f->steps))
            violate("%s cannot be written: %s\n", name, why ? why : "");
        else if (!is_written && access(name, F_OK) == 0 && (!why || !*why))
            tell_silent(name, r);
        free(text);
        free(why);
    }
}

/* --- what is on the prefix --- */

static void check_bytes(const struct damage_case *f, const char *name, int step)
{
    bool is_there = access(name, F_OK) == 0, is_stub = damage_is_stub(name);

    if (is_there && !is_stub && f->opener != DAMAGE_BY_WRITER && !damage_is_kept(name))
        violate("%s has come to its path with other bytes\n", name);
    if ((!is_there || is_stub) && damage_must_be_right(f, step))
        violate("%s has not come to its path\n", name);
}

static void check_prefix(const struct damage_case *f)
{
    struct proglab p = {.n = 0};
    struct proglab_words ops = {.n = 0};
    char name[40], *text;

    proglab_add(&ops, "cells=%d", CELLS);
    for (int r = 0; r < f->ranks; r++)
        for (int s = first_step(f); s <= f->steps; s++) {
            damage_name(f, s, r, name);
            check_bytes(f, name, s);
            proglab_add(&ops, "read=%s", name);
        }
    proglab_start(&p, 0, 0, 1, NULL, point, &ops);
    end(&p, "who looks at the prefix");
    text = proglab_read(proglab_output(0, "out"));
    for (int r = 0; r < f->ranks; r++)
        for (int s = first_step(f); s <= f->steps; s++) {
            damage_name(f, s, r, name);
            if (value_said(text, name) == -2)
                violate("%s: its cells differ on the prefix\n", name);
            else if (value_said(text, name) >= 0)
                check_value(f, s, r, value_said(text, name), "on the prefix");
        }
    free(text);
}

/* --- a case --- */

static void set_up(const struct damage_case *f)
{
    tap_fresh_dir(tap_path("prefix"));
    tap_fresh_dir(tap_path("cache"));
    tap_fresh_dir(tap_path("k"));
    tap_fresh_dir(tap_path("kept"));
    if (chdir(tap_path("prefix")) < 0)
        bail_out("no prefix");
    set_settings(f);
}

static void run(uint64_t seed)
{
    struct damage_case f;
    char text[2 * DAMAGE_TEXT];

    damage_choose(&f, seed);
    set_up(&f);
    violation[0] = '\0';
    if (f.has_past)
        write_past(&f);
    write_all(&f);
    damage_keep(tap_path("cache"), tap_path("kept"));
    damage_keep(tap_path("prefix"), tap_path("kept"));
    damage_do(&f.rng, tap_path("cache"), f.nodes, &f.plan);
    if (f.opener == DAMAGE_BY_WRITER)
        write_more(&f, "writes");
    else if (f.opener != DAMAGE_BY_SAME)
        read_with_holders(&f);
    read_same(&f, "reads");
    check_prefix(&f);
    if (vel_rng_below(&f.rng, 3) == 0) {
        read_same(&f, "again");
        check_prefix(&f);
    }
    damage_tell(&f, text);
    if (!ok(violation[0] == '\0', "%s", text))
        note("%s", violation);
}

static void find_programs(void)
{
    const char *build = getenv("top_builddir"), *libs = getenv("HDF5_LIBS"),
               *at = libs ? strstr(libs, "-L") : NULL;

    snprintf(point, sizeof point, "%s/test/vol/point", build ? build : ".");
    if (at)
        snprintf(h5dump, sizeof h5dump, "%.*s/../bin/h5dump", (int)strcspn(at + 2, " "),
                 at + 2);
    if (access(h5dump, X_OK) < 0)
        snprintf(h5dump, sizeof h5dump, "/usr/bin/h5dump");
}

/* Those that take a second or two, and 2, 8, 9, 18, 32, 128, 155, 167, 174, once bad */
static const uint64_t quick[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   11,  12,
                                 14, 15, 16, 18, 19, 21, 32, 128, 155, 167, 174};

int main(void)
{
    const char *wanted = getenv("SEEDS");

    find_programs();
    setenv("VELOC_CACHE_BASE", tap_path("cache"), 1);
    setenv("VELOC_CNTL_BASE", tap_path("k"), 1);
    setenv("VELOC_PEER_TIMEOUT", "20", 1);
    setenv("VELOC_VIEW_WAIT", "10", 1);
    for (size_t i = 0; !(wanted && *wanted) && i < sizeof quick / sizeof quick[0]; i++)
        run(quick[i]);
    if (wanted && *wanted) {
        struct tap_seeds seeds = tap_seeds(1);

        for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
            run(seed);
    }
    if (chdir("/") < 0)
        bail_out("no directory to leave to");
    return done_testing();
}
