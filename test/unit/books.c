/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leader writes for people: nothing waits for it, whatever the prefix does. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "meta/nodes.h"
#include "node/books.h"
#include "tap/eventlab.h"
#include "tap/files.h"
#include "tap/hangfs.h"
#include "tap/tap.h"

enum { MANY = 1500, KEPT = 1000, RUNS = 4, ROUNDS = 50 };

static const uint64_t ever = 600 * VEL_CLOCK_S;
static struct hangfs prefix; /* it outlives whoever hangs there */
static int warnings;

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)line, (void)len;
    warnings += level == VEL_LOG_WARN;
}

static struct vel_books *begin(const char *dir, bool has_events)
{
    const struct vel_host host = {(char *)"node1", (char *)"me"};
    struct vel_conf *conf;
    struct vel_books *books;

    if (vel_conf_create(&conf, NULL) < 0)
        bail_out("no settings");
    conf->log_enable = has_events;
    const struct vel_service_of of = {.fs = &prefix.twin.fs,
                                      .clock = vel_clock_system(),
                                      .dir = dir,
                                      .host = &host,
                                      .conf = conf};
    if (vel_books_open(&of, &books, NULL) < 0)
        bail_out("no books");
    vel_conf_destroy(conf);
    return books;
}

static void tell(struct vel_books *books, int64_t id)
{
    char name[] = "ck", text[] = "as it was";
    const struct vel_event event = {
        .kind = VEL_EVENT_FLUSH, .id = id, .name = name, .text = text};

    vel_books_tell(books, &event);
    memset(name, 'x', sizeof name - 1); /* they are the caller's */
    memset(text, 'x', sizeof text - 1);
}

struct found {
    int64_t n, last;
    bool in_order;
};

static int count(void *arg, const struct vel_event *event, struct vel_err *err)
{
    struct found *found = arg;

    (void)err;
    found->n++;
    found->in_order = found->in_order && event->id == ++found->last &&
                      strcmp(event->name, "ck") == 0 &&
                      strcmp(event->text, "as it was") == 0;
    return 0;
}

static struct found find(const char *dir)
{
    struct found found = {.in_order = true};

    eventlab_read(dir, count, &found, NULL, NULL);
    return found;
}

static void test_written(void)
{
    const char *dir = tap_path("prefix");
    struct vel_books *books;
    int64_t nodes = 0;

    tap_fresh_dir(dir);
    books = begin(dir, true);
    for (int id = 1; id <= 100; id++)
        tell(books, id);
    vel_books_nodes(books, 3);
    vel_books_nodes(books, 4);
    vel_books_close(books, ever);
    struct found found = find(dir);
    ok(found.n == 100 && found.in_order, "what is told is there at the end, in order");
    ok(vel_nodes_load(vel_fs_posix(), dir, &nodes, NULL) == 0 && nodes == 4,
       "and how many nodes there are");

    tap_fresh_dir(dir);
    books = begin(dir, false);
    tell(books, 1);
    vel_books_nodes(books, 2);
    vel_books_close(books, ever);
    ok(find(dir).n == 0 && vel_nodes_load(vel_fs_posix(), dir, &nodes, NULL) == 0 &&
           nodes == 2,
       "LOG_ENABLE=0: the latter alone");
}

/* None of these calls would come back. */
static void test_hangs(void)
{
    const char *dir = tap_path("prefix");
    struct vel_books *books;

    tap_fresh_dir(dir);
    books = begin(dir, true);
    hangfs_hang(&prefix);
    tell(books, 1);
    hangfs_wait(&prefix, 1);
    for (int id = 2; id <= MANY; id++)
        tell(books, id);
    hangfs_let_go(&prefix);
    vel_books_close(books, ever);
    struct found found = find(dir);
    ok(found.n == KEPT + 1 && found.in_order,
       "what happens while the prefix hangs is written later, not without end");

    tap_fresh_dir(dir);
    books = begin(dir, true);
    hangfs_hang(&prefix);
    tell(books, 1);
    hangfs_wait(&prefix, 1);
    tell(books, 2);
    vel_books_close(books, 1);
    ok(find(dir).n == 0, "who ends while it hangs does not wait for it");
    hangfs_let_go(&prefix);
}

static void test_beside(void)
{
    const char *dir = tap_path("beside");
    struct vel_books *books[RUNS];
    int64_t nodes = 0;

    tap_fresh_dir(dir);
    warnings = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RUNS; i++)
            books[i] = begin(dir, false);
        for (int i = 0; i < RUNS; i++)
            vel_books_nodes(books[i], round + i + 1);
        for (int i = 0; i < RUNS; i++)
            vel_books_close(books[i], ever);
    }
    ok(vel_nodes_load(vel_fs_posix(), dir, &nodes, NULL) == 0 && nodes >= ROUNDS,
       "of several runs at once one has recorded its nodes");
    is_int(warnings, 0, "and none has a warning to tell");
}

static void test_away(void)
{
    const char *dir = tap_path("away");
    struct vel_books *books = begin(dir, true);

    warnings = 0;
    for (int id = 1; id <= 10; id++)
        tell(books, id);
    vel_books_close(books, ever);
    is_int(warnings, 1,
           "events that cannot be written are lost, and that is told once");
}

int main(void)
{
    struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};

    vel_log_open(&sink);
    hangfs_init(&prefix, tap_dir());
    test_written();
    test_beside();
    test_away();
    test_hangs();
    return done_testing();
}
