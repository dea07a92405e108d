/* SPDX-License-Identifier: BSD-3-Clause */
/* What STORE lines say of their devices: how fast they are (BANDWIDTH), who moves from
 * them (FLUSH), and whether their directory is ours to make (MKDIR). One rank. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/comm.h"
#include "process/attend.h"
#include "sdk/sdk.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/tap.h"

struct bench {
    struct seslab lab;
    char conf[600], log[600], store[600];
    struct vel_err err;
};

static struct vel_comm *self;

/* A lab whose settings are these lines, in which '$' is the test's directory. */
static void set_up(struct bench *b, const char *lines)
{
    char text[4096];
    size_t len = 0;

    memset(&b->err, 0, sizeof b->err);
    seslab_init(&b->lab, 5);
    snprintf(b->conf, sizeof b->conf, "%s", tap_path("conf"));
    snprintf(b->log, sizeof b->log, "%s", tap_path("log"));
    snprintf(b->store, sizeof b->store, "%s", tap_path("ssd"));
    for (const char *c = lines; *c && len < sizeof text - 600; c++)
        if (*c == '$')
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", tap_dir());
        else
            text[len++] = *c;
    text[len] = 0;
    tap_put_file(b->conf, text);
    unlink(b->log);
    b->lab.file = b->conf;
    seslab_set(&b->lab, "LOG_FILE", b->log);
    seslab_set(&b->lab, "FLUSH", "1");
}

static struct vel_session *launch(struct bench *b)
{
    struct vel_session *s = NULL;

    if (!self && vel_comm_self(&self, &b->err) < 0)
        bail_out("%s", b->err.text);
    if (seslab_open(&b->lab, self, vel_fs_posix(), &s, &b->err) < 0)
        bail_out("%s", b->err.text);
    return s;
}

/* With a leader: who moves files is its affair. */
static struct vel_session *launch_with_leader(struct bench *b)
{
    struct vel_session *s = NULL;

    if (seslab_open_with(&b->lab, self, vel_fs_posix(), vel_attend(), &s, &b->err) < 0)
        bail_out("%s", b->err.text);
    return s;
}

static bool saves(struct bench *b, struct vel_session *s, int64_t version)
{
    if (seslab_checkpoint(&b->lab, s, version, &b->err) == 0)
        return true;
    note("%s", b->err.text);
    return false;
}

/* Lines of the log with these words. */
static int lines(const struct bench *b, const char *words)
{
    char *log = tap_get_file(b->log, NULL), *save = NULL;
    int n = 0;

    for (char *line = log ? strtok_r(log, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        n += strstr(line, words) != NULL;
    free(log);
    return n;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* --- MKDIR --- */

#define ONE_STORE "CKPT=0 STORE=$/ssd TYPE=SINGLE\nSTORE=$/ssd COUNT=2 "

static void made_by_others(void)
{
    struct bench b;
    struct vel_session *s;

    set_up(&b, ONE_STORE "MKDIR=0\n");
    s = launch(&b);
    ok(lines(&b, "is not used") == 1 && lines(&b, "MKDIR=0: make or mount it") == 1 &&
           lines(&b, b.store) > 0,
       "MKDIR=0: a store that is not there is told, with what to do");
    ok(saves(&b, s, 1) && seslab_is_flushed(&b.lab, 1),
       "datasets go straight to the prefix");
    vel_session_close(s, "done", NULL);
    ok(!is_there(b.store), "and nobody has made it");

    tap_fresh_dir(b.store);
    unlink(b.log);
    s = launch(&b);
    ok(saves(&b, s, 2) && lines(&b, "warn") == 0 && rmdir(b.store) < 0,
       "one that is there is used as any other");
    vel_session_close(s, "done", NULL);
}

/* A device that is unmounted: its mount point alone must not become the cache. */
static void made_by_nobody(void)
{
    char away[600];
    struct bench b;
    struct vel_session *s;

    set_up(&b, ONE_STORE "MKDIR=0\n");
    tap_fresh_dir(b.store);
    snprintf(away, sizeof away, "%s", tap_path("away"));
    s = launch(&b);
    saves(&b, s, 1);
    if (rename(b.store, away) < 0)
        bail_out("%s cannot be moved", b.store);
    ok(saves(&b, s, 2) && seslab_is_flushed(&b.lab, 2) && !is_there(b.store) &&
           lines(&b, "MKDIR=0") == 1,
       "one that is gone meanwhile is not made, and the program goes on");
    vel_session_close(s, "done", NULL);
    s = launch(&b);
    int64_t newest = 0;
    ok(seslab_newest(s, &newest, &b.err) == 0 && newest == 2 &&
           seslab_restart(&b.lab, s, 2, &b.err) == 0 && !is_there(b.store),
       "nor is it for what is fetched");
    vel_session_close(s, NULL, NULL);
    if (rename(away, b.store) < 0)
        bail_out("%s cannot be moved back", away);

    set_up(&b, ONE_STORE "\n");
    if (rename(b.store, away) < 0)
        bail_out("%s cannot be moved", b.store);
    s = launch(&b);
    ok(is_there(b.store) && lines(&b, "warn") == 0, "without MKDIR=0 it is made");
    vel_session_close(s, NULL, NULL);
}

/* --- BANDWIDTH --- */

enum { RATE = 100 << 10 };

/* Bytes of a version on the prefix: what a flush or a fetch moves. */
static double bytes_of(const struct bench *b, int64_t version)
{
    char path[700];
    double bytes = 0;

    for (int i = 0; i < SESLAB_FILES; i++) {
        struct stat st;

        snprintf(path, sizeof path, "%s/%sv%d/r0.f%d.h5", b->lab.prefix,
                 i == 0 ? "deep/er/" : "", (int)version, i);
        if (stat(path, &st) < 0)
            bail_out("%s is not there", path);
        bytes += (double)st.st_size;
    }
    return bytes;
}

static double seconds_since(struct vel_manual_clock *clock, uint64_t begun)
{
    return (double)(clock->monotonic - begun) / (double)VEL_CLOCK_S;
}

/* Within a tenth, of which the bucket may have had 100 ms at the beginning. */
static bool takes(double seconds, double bytes)
{
    double wanted = bytes / RATE;

    note("%.0f bytes in %.2f s, at that rate %.2f s", bytes, seconds, wanted);
    return wanted > 3 && seconds > wanted * 0.9 && seconds < wanted * 1.1;
}

static void limited(const char *settings, const char *what)
{
    struct vel_manual_clock clock;
    struct vel_session *s;
    struct bench b;
    uint64_t begun;

    vel_manual_clock_init(&clock, 5000 * VEL_CLOCK_S, 0);
    set_up(&b, settings);
    tap_fresh_dir(b.store);
    b.lab.most = 1 << 20;
    b.lab.clock = &clock.clock;
    s = launch(&b);
    saves(&b, s, 1);
    vel_session_close(s, "done", NULL);
    tap_fresh_dir(b.store);
    begun = clock.monotonic;
    s = launch(&b);
    ok(takes(seconds_since(&clock, begun), bytes_of(&b, 1)) &&
           seslab_restart(&b.lab, s, 1, &b.err) == 0,
       "%s: a fetch into a store takes as long as that", what);
    vel_session_close(s, NULL, NULL);
    vel_manual_clock_fini(&clock);
}

static void as_fast_as_the_device(void)
{
    struct vel_manual_clock clock;
    struct vel_session *s;
    struct bench b;

    limited(ONE_STORE "BANDWIDTH=100KB\n", "BANDWIDTH");
    limited(ONE_STORE "BANDWIDTH=100KB\nFLUSH_BANDWIDTH=10MB\n",
            "BANDWIDTH below FLUSH_BANDWIDTH");
    limited(ONE_STORE "BANDWIDTH=10MB\nFLUSH_BANDWIDTH=100KB\n",
            "FLUSH_BANDWIDTH below BANDWIDTH");
    limited(ONE_STORE "BANDWIDTH=100KB\nCRC_ON_FLUSH=0\n", "without checksums");
    vel_manual_clock_init(&clock, 5000 * VEL_CLOCK_S, 0);
    set_up(&b, ONE_STORE "\nSTORE=$/slow BANDWIDTH=1KB\n");
    b.lab.clock = &clock.clock;
    s = launch(&b);
    saves(&b, s, 1);
    ok(seslab_is_flushed(&b.lab, 1) &&
           clock.monotonic - 5000 * VEL_CLOCK_S < VEL_CLOCK_S,
       "the limit of another store is none of this one");
    vel_session_close(s, NULL, NULL);
    vel_manual_clock_fini(&clock);
}

/* --- FLUSH --- */

static void by_whom(void)
{
    char plugin[1200];
    struct bench b;
    struct vel_session *s;

    snprintf(plugin, sizeof plugin, "%s/test/sdk/.libs/bbapi.so",
             getenv("top_builddir"));
    sdk_reset();
    set_up(&b,
           "CKPT=0 STORE=$/ssd TYPE=SINGLE\nSTORE=$/ssd\n"
           "CKPT=1 STORE=$/disk TYPE=SINGLE INTERVAL=2\nSTORE=$/disk FLUSH=POSIX\n");
    seslab_set(&b.lab, "FLUSH_PLUGIN", plugin);
    s = launch_with_leader(&b);
    ok(saves(&b, s, 1) && seslab_is_flushed(&b.lab, 1) &&
           sdk_count("BB_StartTransfer") == 1,
       "FLUSH_PLUGIN moves from a store whose line says nothing else");
    ok(saves(&b, s, 2) && seslab_is_flushed(&b.lab, 2) &&
           sdk_count("BB_StartTransfer") == 1,
       "and not from one with FLUSH=POSIX");
    ok(saves(&b, s, 3) && seslab_is_flushed(&b.lab, 3) &&
           sdk_count("BB_StartTransfer") == 2 && lines(&b, "warn") == 0,
       "each its own way");
    vel_session_close(s, "done", NULL);

    sdk_reset();
    set_up(&b, "CKPT=0 STORE=$/ssd TYPE=SINGLE\nSTORE=$/ssd FLUSH=POSIX\n"
               "STORE=$/none FLUSH=CPPR\n");
    seslab_set(&b.lab, "FLUSH_TYPE", "DATAWARP");
    s = launch_with_leader(&b);
    ok(saves(&b, s, 1) && seslab_is_flushed(&b.lab, 1) && lines(&b, "warn") == 0,
       "what no level needs is not asked for");
    vel_session_close(s, "done", NULL);
}

/* No SDK of that service is there where the tests are run. */
static void by_nobody(void)
{
    struct bench b;
    struct vel_session *s;

    set_up(&b,
           "CKPT=0 STORE=$/ssd TYPE=SINGLE\nSTORE=$/ssd FLUSH=BBAPI\n"
           "CKPT=1 STORE=$/disk TYPE=SINGLE INTERVAL=2\nSTORE=$/disk FLUSH=BBAPI\n");
    s = launch_with_leader(&b);
    if (lines(&b, "warn") == 0) {
        skip(1, "BBAPI is installed here");
    } else {
        ok(lines(&b, "warn") == 1 && lines(&b, "BBAPI is not to be had") == 1 &&
               saves(&b, s, 1) && saves(&b, s, 2) && seslab_is_flushed(&b.lab, 2) &&
               lines(&b, "warn") == 1,
           "FLUSH=BBAPI without BBAPI is told once, and flushes all the same");
    }
    vel_session_close(s, "done", NULL);
}

int main(void)
{
    made_by_others();
    made_by_nobody();
    as_fast_as_the_device();
    by_whom();
    by_nobody();
    vel_comm_destroy(self);
    return done_testing();
}
