/* SPDX-License-Identifier: BSD-3-Clause */
/* What test/cmd/schema.t cannot see: the typed fields, and what a program gives. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/file.h"
#include "conf/load.h"
#include "tap/tap.h"

static struct vel_conf *parse(const char *text, struct vel_err *err)
{
    struct vel_conf *conf;

    if (vel_conf_create(&conf, err) < 0)
        bail_out("%s", err->text);
    if (vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text), NULL, NULL,
                       err) < 0 ||
        vel_conf_finish(conf, err) < 0) {
        vel_conf_destroy(conf);
        return NULL;
    }
    return conf;
}

static void sizes_and_times(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {{"1048576", 1 << 20}, {"1MiB", 1 << 20},    {"1MB", 1 << 20},
                 {"2m", 2 << 20},      {"1.5GB", 3LL << 29}, {"1024KB", 1 << 20}};
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"90", 90}, {"90s", 90}, {"1.5m", 90}, {"2h", 7200}, {"1d", 86400}};
    char text[64];
    struct vel_err err = {0};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snprintf(text, sizeof text, "MEMORY=%s", sizes[i].text);
        struct vel_conf *conf = parse(text, &err);
        is_int(conf ? conf->memory : -1, sizes[i].bytes, "a size of %s", sizes[i].text);
        vel_conf_destroy(conf);
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        snprintf(text, sizeof text, "HALT_SECONDS=%s", times[i].text);
        struct vel_conf *conf = parse(text, &err);
        ok(conf && conf->halt_seconds == times[i].seconds, "a time of %s",
           times[i].text);
        vel_conf_destroy(conf);
    }
    static const char *const bad[] = {"MEMORY=0x100000",
                                      "MEMORY=1e400",
                                      "MEMORY=-1MB",
                                      "MEMORY=nan",
                                      "MEMORY=1.3B",
                                      "HALT_SECONDS=inf",
                                      "HALT_SECONDS=-1",
                                      "FLUSH=1.5",
                                      "FLUSH=1s",
                                      "CHECKPOINT_OVERHEAD=101",
                                      "FLUSH=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vel_conf *conf = parse(bad[i], &err);
        ok(!conf && err.text[0], "%s is refused: %s", bad[i], err.text);
        vel_conf_destroy(conf);
    }
}

/* A setting that was on or off, and is more now. */
static void was_a_switch(void)
{
    static const struct {
        const char *text;
        int is;
    } rows[] = {
        {"0", VEL_DELTA_OFF},       {"off", VEL_DELTA_OFF},
        {"1", VEL_DELTA_CLONE},     {"YES", VEL_DELTA_CLONE},
        {"CLONE", VEL_DELTA_CLONE}, {"patch", VEL_DELTA_PATCH},
    };
    char text[64];
    struct vel_err err = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "FLUSH_DELTA=%s", rows[i].text);
        struct vel_conf *conf = parse(text, &err);
        is_int(conf ? conf->flush_delta : -1, rows[i].is, "%s", text);
        vel_conf_destroy(conf);
    }
    ok(!parse("FLUSH_DELTA=2", &err) && !parse("MODE=1", &err),
       "no other number, and no choice that never was one: %s", err.text);
}

static void typed_lines(void)
{
    struct vel_err err = {0};
    struct vel_conf *conf =
        parse("SET_SIZE=12\nHOP_DISTANCE=2\n"
              "CKPT=0 INTERVAL=1 TYPE=XOR\n"
              "CKPT=7 INTERVAL=5m TYPE=RS SET_FAILURES=3 SET_SIZE=9\n",
              &err);
    if (!ok(conf, "levels are read %s", err.text))
        return;
    ok(vel_conf_has_levels(conf), "and are what is used");
    const struct vel_ckpt *a = vel_conf_line(conf, VEL_CKPT, 0)->data;
    const struct vel_ckpt *b = vel_conf_line(conf, VEL_CKPT, 1)->data;
    ok(a->set_size == 12 && a->hop_distance == 2, "what a level leaves open is filled");
    ok(b->id == 7 && b->interval == -300 && b->set_failures == 3 && b->set_size == 9 &&
           b->type == VEL_CKPT_RS,
       "what it gives is typed, a time as negative seconds");
    ok(!vel_conf_line(conf, VEL_CKPT, 2), "there is no third one");
    vel_conf_destroy(conf);
}

static void precedence(void)
{
    struct vel_err err = {0};
    struct vel_conf *conf;

    vel_conf_create(&conf, &err);
    is_int(vel_conf_set_by_program(conf, "VELOC_FLUSH", "3", &err), 0,
           "a program gives a value");
    const char *system = "FLUSH=4\nFETCH=0\n",
               *user = "FETCH=1\nCKPT=0 INTERVAL=1 TYPE=SINGLE\n";
    vel_conf_parse(conf, VEL_LAYER_SYSTEM, "s", system, strlen(system), NULL, NULL,
                   &err);
    is_int(conf->flush, 3, "it overrides the system file, which is read later");
    vel_conf_parse(conf, VEL_LAYER_USER, "u", user, strlen(user), NULL, NULL, &err);
    ok(conf->fetch, "the user file overrides the system file");
    is_int(vel_conf_set_by_program(conf, "FETCH", "0", &err), 0, "a program may try");
    ok(conf->fetch, "but the user file overrides the program");
    is_int(vel_conf_set_by_program(conf, "FLUHS", "1", &err), VEL_ECONFIG,
           "an unknown name is refused");
    is_str(err.text, "unknown setting FLUHS: did you mean FLUSH?",
           "with the nearest one");
    vel_conf_destroy(conf);
}

static void a_user_line_replaces(void)
{
    const char *system = "STORE=/ssd COUNT=3\nSTORE=/ram COUNT=1\n",
               *user = "STORE=/ssd COUNT=9\n";
    struct vel_err err = {0};
    struct vel_conf *conf;

    vel_conf_create(&conf, &err);
    vel_conf_parse(conf, VEL_LAYER_SYSTEM, "s", system, strlen(system), NULL, NULL,
                   &err);
    vel_conf_parse(conf, VEL_LAYER_USER, "u", user, strlen(user), NULL, NULL, &err);
    is_int(vel_conf_finish(conf, &err), 0, "two files are put together");
    const struct vel_line *line = vel_conf_line(conf, VEL_STORE, 0);
    ok(((struct vel_store_line *)line->data)->count == 9 &&
           strcmp(line->source.where, "u") == 0,
       "the user's line of a store replaces the system's");
    ok(vel_conf_line(conf, VEL_STORE, 1) && !vel_conf_line(conf, VEL_STORE, 2),
       "the others stay");
    vel_conf_destroy(conf);
}

/* A directory is a store whatever way it is written. */
static void stores(void)
{
    struct vel_err err = {0};
    struct vel_conf *conf = parse("STORE=/bb/ COUNT=4\n"
                                  "STORE=/p GROUP=WORLD\n"
                                  "CKPT=0 STORE=/bb TYPE=XOR\n"
                                  "CKPT=1 STORE=/x/../p//. TYPE=SINGLE INTERVAL=2\n",
                                  &err);

    ok(conf != NULL, "/bb/ and /bb are one store%s%s", err.text[0] ? ": " : "",
       err.text);
    if (conf)
        is_str(vel_conf_line(conf, VEL_STORE, 0)->name, "/bb",
               "known by its short form");
    vel_conf_destroy(conf);
    ok(!parse("STORE=/bb/\nSTORE=/bb\nCOPY_TYPE=SINGLE\n", &err) &&
           strstr(err.text, "t.conf:2: STORE=/bb is given twice, first on line 1"),
       "and cannot have two lines: %s", err.text);
    ok(!parse("STORE=/p/ GROUP=WORLD\nCKPT=0 STORE=/p TYPE=XOR\n", &err) &&
           strstr(err.text, "only SINGLE makes sense there"),
       "what a line says of it is not passed by: %s", err.text);
    conf =
        parse("STORE=/bb\nCACHE_BASE=/tmp/c/\nCKPT=0 STORE=/tmp/c TYPE=SINGLE\n", &err);
    ok(conf != NULL, "nor is CACHE_BASE another one for a slash at its end");
    vel_conf_destroy(conf);
    conf = parse("STORE=/bb COUNT=4\nCKPT=0 STORE=/x/y TYPE=XOR\n", &err);
    ok(conf != NULL,
       "one that a CKPT line alone names is one, beside STORE lines, too");
    vel_conf_destroy(conf);
}

/* Where to look for what lies in caches. */
static void listed_stores(void)
{
    struct vel_err err = {0};
    struct vel_conf *conf = parse("CACHE_BASE=/tmp/c\nSTORE=/bb\nSTORE=/tmp/c/\n"
                                  "CKPT=0 STORE=/bb TYPE=SINGLE\n",
                                  &err);
    struct vel_conf *but = parse("CACHE_BASE=/bb/\n", &err);
    struct vel_buf text;

    if (!conf || !but)
        bail_out("%s", err.text);
    vel_buf_init(&text);
    vel_buf_puts(&text, "in ");
    vel_conf_list_stores(conf, NULL, &text);
    is_str(vel_buf_text(&text), "in /tmp/c, /bb", "a store is listed once");
    vel_buf_clear(&text);
    vel_conf_list_stores(conf, but, &text);
    is_str(vel_buf_text(&text), "/tmp/c", "but those that other settings name");
    vel_buf_fini(&text);
    vel_conf_destroy(but);
    vel_conf_destroy(conf);
}

int main(void)
{
    sizes_and_times();
    was_a_switch();
    typed_lines();
    precedence();
    a_user_line_replaces();
    stores();
    listed_stores();
    return done_testing();
}
