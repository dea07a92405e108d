/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files and variables are read, and what they mean together. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/file.h"
#include "conf/load.h"
#include "conf/texts.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

static char heard[4096];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", (int)len,
             line);
}

/* Nothing of ours in the environment but a system file without content. */
static void fresh_environment(void)
{
    static const char *const names[] = {
        "VELOC_CONF_FILE", "SCR_CONF_FILE", "VELOC_PREFIX", "SCR_PREFIX",
        "VELOC_FLUSH",     "SCR_FLUSH",     "VELOC_FLUHS",  "SCR_CKPT_NAME",
        "VELOC_SET_SIZE",  "VELOC_DATASET", "SCR_DATASET"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    tap_fresh_dir(tap_path("p"));
    tap_put_file(tap_path("system.conf"), "");
    setenv("VELOC_SYSTEM_FILE", tap_path("system.conf"), 1);
    setenv("VELOC_PREFIX", tap_path("p"), 1);
    heard[0] = '\0';
}

static struct vel_conf *create(void)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0)
        bail_out("%s", err.text);
    return conf;
}

/* What FLUSH is after everything was read; below 0: a status. */
static int64_t flush_is(const struct vel_conf_layers *layers, struct vel_err *err)
{
    struct vel_conf *conf = create();
    int rc = vel_conf_load(conf, vel_fs_posix(), layers, err);
    int64_t flush = rc < 0 ? rc : conf->flush;

    vel_conf_destroy(conf);
    return flush;
}

static void which_file(void)
{
    struct vel_conf_layers layers = {0};
    struct vel_err err = {0};

    fresh_environment();
    tap_put_file(tap_path("system.conf"), "FLUSH=11\n");
    is_int(flush_is(&layers, &err), 11, "the system file is read");
    tap_put_file(tap_path("p/.scrconf"), "FLUSH=12\n");
    is_int(flush_is(&layers, &err), 12, "then a user's file in the prefix");
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=13\n");
    is_int(flush_is(&layers, &err), 13, "where ours comes first");
    tap_put_file(tap_path("scr.conf"), "FLUSH=14\n");
    setenv("SCR_CONF_FILE", tap_path("scr.conf"), 1);
    is_int(flush_is(&layers, &err), 14, "one that a variable names is read instead");
    tap_put_file(tap_path("veloc.conf"), "FLUSH=15\n");
    setenv("VELOC_CONF_FILE", tap_path("veloc.conf"), 1);
    is_int(flush_is(&layers, &err), 15, "by our variable first");
    setenv("VELOC_CONF_FILE", "", 1);
    is_int(flush_is(&layers, &err), 14, "unless that is empty");
    tap_put_file(tap_path("named.conf"), "FLUSH=16\n");
    layers.user_file = tap_path("named.conf");
    is_int(flush_is(&layers, &err), 16, "what the program names comes before both");
    setenv("VELOC_FLUSH", "17", 1);
    is_int(flush_is(&layers, &err), 17, "a variable before any file");
    layers.no_environment = true;
    is_int(flush_is(&layers, &err), 16, "unless the environment is not asked");
}

static void prefix_of_the_file(void)
{
    const struct vel_conf_layers layers = {0};
    struct vel_err err = {0};
    struct vel_conf *conf;

    fresh_environment();
    unsetenv("VELOC_PREFIX");
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=21\n");
    setenv("SCR_PREFIX", tap_path("p"), 1);
    is_int(flush_is(&layers, &err), 21, "the prefix may come from SCR's variable");
    unsetenv("SCR_PREFIX");
    conf = create();
    vel_conf_set_by_program(conf, "PREFIX", tap_path("p"), &err);
    ok(vel_conf_load(conf, vel_fs_posix(), &layers, &err) == 0 && conf->flush == 21,
       "or from the program");
    vel_conf_destroy(conf);
    if (chdir(tap_path("p")) < 0)
        bail_out("cannot go to the prefix");
    is_int(flush_is(&layers, &err), 21, "and is the working directory otherwise");
    if (chdir("/") < 0)
        bail_out("cannot go back");
}

static void refused(const char *what, int status, const char *sentence)
{
    const struct vel_conf_layers layers = {0};
    struct vel_err err = {0};

    is_int(flush_is(&layers, &err), status, "%s is refused", what);
    ok(strstr(err.text, sentence), "and named: %s", err.text);
}

static void bad_files(void)
{
    char *much;

    fresh_environment();
    setenv("VELOC_CONF_FILE", tap_path("nowhere.conf"), 1);
    refused("a file that was named and is not there", VEL_ENOENT, "nowhere.conf");
    unsetenv("VELOC_CONF_FILE");
    symlink(tap_path("nowhere.conf"), tap_path("p/.velocconf"));
    refused("a link to nothing where a file may be", VEL_ENOENT, ".velocconf");
    unlink(tap_path("p/.velocconf"));
    mkdir(tap_path("p/.velocconf"), 0700);
    refused("a directory", VEL_EINVAL, ".velocconf");
    rmdir(tap_path("p/.velocconf"));
    much = malloc(VEL_CONF_FILE_MAX + 2);
    if (!much)
        bail_out("out of memory");
    memset(much, '\n', VEL_CONF_FILE_MAX + 1);
    tap_put_bytes(tap_path("p/.velocconf"), much, VEL_CONF_FILE_MAX + 1);
    refused("a file that is too long", VEL_ECORRUPT, ".velocconf");
    free(much);
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=1\nFLUSH=x\n");
    refused("a value that is none", VEL_ECONFIG, ".velocconf:2");
    unlink(tap_path("p/.velocconf"));
    setenv("VELOC_FLUSH", "x", 1);
    refused("a variable whose value is none", VEL_ECONFIG, "environment: VELOC_FLUSH");
}

static void variables(void)
{
    const struct vel_conf_layers layers = {0};
    const struct vel_log_sink sink = {
        .level = VEL_LOG_WARN, .is_speaker = true, .write = hear};
    struct vel_err err = {0};

    fresh_environment();
    setenv("SCR_FLUSH", "31", 1);
    is_int(flush_is(&layers, &err), 31, "SCR's name of a variable does it, too");
    setenv("VELOC_FLUSH", "32", 1);
    is_int(flush_is(&layers, &err), 32, "ours wins over it");
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=$NUMBER_OF_IT\n");
    unsetenv("VELOC_FLUSH");
    unsetenv("SCR_FLUSH");
    setenv("NUMBER_OF_IT", "33", 1);
    is_int(flush_is(&layers, &err), 33, "a variable inside a file is filled in");
    setenv("VELOC_FLUHS", "1", 1);
    setenv("SCR_CKPT_NAME", "x", 1);
    vel_log_open(&sink);
    is_int(flush_is(&layers, &err), 33, "an unknown one stops nothing");
    vel_log_open(NULL);
    ok(strstr(heard, "VELOC_FLUHS (did you mean VELOC_FLUSH?)"),
       "and is told with the nearest one: %s", heard);
    ok(!strstr(heard, "CKPT_NAME") && !strstr(heard, "SYSTEM_FILE"),
       "those that are for others are not");
}

/* VELOC's own keys in capitals mean what they mean in its file. */
static void variables_of_veloc(void)
{
    const struct vel_conf_layers layers = {0};
    struct vel_conf *conf = create();
    struct vel_err err = {0};

    fresh_environment();
    setenv("VELOC_SCRATCH_VERSIONS", "0", 1);
    ok(vel_conf_load(conf, vel_fs_posix(), &layers, &err) == 0 &&
           conf->cache_size == 1000000,
       "VELOC_SCRATCH_VERSIONS=0: all stay, as in a file");
    vel_conf_destroy(conf);
    conf = create();
    setenv("VELOC_SCRATCH_VERSIONS", "2", 1);
    ok(vel_conf_load(conf, vel_fs_posix(), &layers, &err) == 0 && conf->cache_size == 2,
       "and another number is that number");
    vel_conf_destroy(conf);
    conf = create();
    unsetenv("VELOC_SCRATCH_VERSIONS");
    setenv("VELOC_CACHE_SIZE", "0", 1);
    ok(vel_conf_load(conf, vel_fs_posix(), &layers, &err) == 0 && conf->cache_size == 0,
       "our own name of it says what it says");
    vel_conf_destroy(conf);
    unsetenv("VELOC_CACHE_SIZE");
}

/* --- DATASET lines of the environment, and of the connector's string --- */

/* The lines that count, in their order: "NAME:PATTERN ..."; else the sentence. */
static const char *lines_are(const char *of_connector)
{
    const struct vel_conf_layers layers = {.dataset = of_connector};
    static char text[1024];
    const struct vel_line *line;
    struct vel_conf *conf = create();
    struct vel_err err = {0};

    text[0] = '\0';
    if (vel_conf_load(conf, vel_fs_posix(), &layers, &err) < 0)
        snprintf(text, sizeof text, "%s", err.text);
    else
        for (size_t i = 0; (line = vel_conf_line(conf, VEL_DATASET, i)); i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s:%s",
                     i ? " " : "", line->name,
                     ((const struct vel_dataset_rule *)line->data)->pattern);
    vel_conf_destroy(conf);
    return text;
}

static void order_of_lines(void)
{
    fresh_environment();
    tap_put_file(tap_path("p/.velocconf"),
                 "DATASET=a PATTERN=a.file\nDATASET=b PATTERN=b.file\n");
    setenv("VELOC_DATASET", "b PATTERN=b.env", 1);
    is_str(lines_are(NULL), "b:b.env a:a.file",
           "a line of the environment is first, also where it replaces one of a file");
    is_str(lines_are("a PATTERN=a.con"), "b:b.env a:a.con",
           "that of the connector's string is behind it");
    is_str(lines_are("b PATTERN=b.con"), "b:b.env a:a.file", "and gives way to it");
    setenv("VELOC_DATASET", "c PATTERN=c.env\n\n  # a comment\nb PATTERN=b.env\n", 1);
    is_str(lines_are("d PATTERN=d.con\n e PATTERN=e.con"),
           "c:c.env b:b.env d:d.con e:e.con a:a.file",
           "several lines keep the order in which they were written");
    unsetenv("VELOC_DATASET");
    setenv("SCR_DATASET", "c PATTERN=c.scr", 1);
    is_str(lines_are(NULL), "c:c.scr a:a.file b:b.file",
           "SCR's name of it does it, too");
    setenv("VELOC_DATASET", "", 1);
    is_str(lines_are(NULL), "c:c.scr a:a.file b:b.file",
           "also where ours is set to nothing");
    setenv("VELOC_DATASET", "c PATTERN=c.env", 1);
    is_str(lines_are(NULL), "c:c.env a:a.file b:b.file", "ours wins over it");
}

static void replaced_lines(void)
{
    const struct vel_conf_layers layers = {.dataset = "b PATTERN=b.con"};
    const struct vel_log_sink sink = {
        .level = VEL_LOG_INFO, .is_speaker = true, .write = hear};
    struct vel_conf *conf = create();
    struct vel_err err = {0};

    fresh_environment();
    tap_put_file(tap_path("p/.velocconf"),
                 "\nDATASET=a PATTERN=a.file\nDATASET=b PATTERN=b.file\n");
    setenv("VELOC_DATASET", "c PATTERN=c.env\nb PATTERN=b.env", 1);
    ok(vel_conf_load(conf, vel_fs_posix(), &layers, &err) == 0, "lines of one name");
    vel_log_open(&sink);
    vel_conf_tell_lines(conf);
    vel_log_open(NULL);
    ok(strstr(heard, "/p/.velocconf:3: the line DATASET=b is not used: "
                     "HDF5_VOL_CONNECTOR:1 replaces it\n"),
       "that a line of a file is replaced is told, and by what");
    ok(strstr(heard, "HDF5_VOL_CONNECTOR:1: the line DATASET=b is not used: "
                     "VELOC_DATASET:2 replaces it\n"),
       "so is one of the connector's string");
    ok(!strstr(heard, "DATASET=a") && !strstr(heard, "DATASET=c"), "others are not");
    vel_conf_destroy(conf);
}

static void no_lines(void)
{
    static const char *const none[] = {"", " ", "\n", " \t\n  \n", "# a comment"};

    fresh_environment();
    tap_put_file(tap_path("p/.velocconf"), "DATASET=a PATTERN=a.file\n");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        setenv("VELOC_DATASET", none[i], 1);
        is_str(lines_are(none[i]), "a:a.file", "without a word there is no line (%zu)",
               i);
    }
}

static void bad_lines(void)
{
    static const char found[] = "where the name of a dataset belongs: write NAME "
                                "PATTERN=... without DATASET=, and give other settings "
                                "as variables of their own (VELOC_KEY)";
    static const char other[] = "a PATTERN=a.env\n FLUSH = 3";
    const char *said;

    fresh_environment();
    setenv("VELOC_DATASET", other, 1);
    said = lines_are(NULL);
    ok(strstr(said, "VELOC_DATASET:2: found 'FLUSH=' ") && strstr(said, found),
       "a line that is another setting is refused: %s", said);
    unsetenv("VELOC_DATASET");
    ok(strstr(lines_are(other), "HDF5_VOL_CONNECTOR:2: found 'FLUSH=' "),
       "in the connector's string, too");
    setenv("VELOC_DATASET", "DATASET=a PATTERN=a.env", 1);
    ok(strstr(lines_are(NULL), "VELOC_DATASET:1: found 'DATASET=' "),
       "so is the key that is there already");
    setenv("VELOC_DATASET", "\n=a", 1);
    ok(strstr(lines_are(NULL), "VELOC_DATASET:2: found '=' "), "and no name");
    setenv("VELOC_DATASET", "a PATTERN=a.env\nb PATERN=b.env", 1);
    said = lines_are(NULL);
    ok(strstr(said, "VELOC_DATASET:2: ") && strstr(said, "PATTERN"),
       "a key that is misspelled is told with its line: %s", said);
    setenv("VELOC_DATASET", "a PATTERN=a.env\n\na PATTERN=b.env", 1);
    said = lines_are(NULL);
    ok(strstr(said, "VELOC_DATASET:3: DATASET=a is given twice, first on line 1"),
       "two lines of one name are refused: %s", said);
    unsetenv("VELOC_DATASET");
}

/* One process reads, another one understands. */
static void in_two_halves(void)
{
    const struct vel_conf_layers layers = {0};
    struct vel_conf *reader, *other;
    struct vel_vec texts, come;
    struct vel_buf bytes;
    struct vel_err err = {0};

    fresh_environment();
    tap_put_file(tap_path("system.conf"), "FLUSH=41\nSET_SIZE=4\n");
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=42\n");
    reader = create();
    other = create();
    vel_conf_texts_init(&texts);
    vel_conf_texts_init(&come);
    vel_buf_init(&bytes);
    is_int(vel_conf_gather(reader, vel_fs_posix(), &layers, &texts, &err), 0,
           "one process gathers the files");
    is_int((long long)texts.n, 2, "as they are");
    is_int(reader->flush, other->flush, "which changes nothing yet");
    vel_conf_texts_encode(&texts, &bytes, &err);
    vel_conf_texts_decode(bytes.data, bytes.len, &come, &err);
    unlink(tap_path("system.conf"));
    unlink(tap_path("p/.velocconf"));
    setenv("VELOC_SET_SIZE", "5", 1);
    is_int(vel_conf_apply(other, &come, &layers, &err), 0,
           "another one applies them, where there are no such files");
    ok(other->flush == 42 && other->set_size == 5, "with its own environment on top");
    vel_conf_texts_fini(&come);
    vel_conf_texts_fini(&texts);
    vel_buf_fini(&bytes);
    vel_conf_destroy(other);
    vel_conf_destroy(reader);
}

/* Settings are never passed over because reading them failed. */
static void faults(void)
{
    const struct vel_conf_layers layers = {0};
    int problems = 0;
    unsigned n;

    fresh_environment();
    tap_put_file(tap_path("system.conf"), "FLUSH=51\n");
    tap_put_file(tap_path("p/.velocconf"), "FLUSH=52\n");
    for (n = 1;; n++) {
        struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE, .at = n};
        struct vel_fs_fault *fault;
        struct vel_conf *conf = create();
        struct vel_err err = {0};
        int fds = tap_open_fds();

        if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
            bail_out("%s", err.text);
        vel_fs_fault_arm(fault, &plan);
        int rc = vel_conf_load(conf, vel_fs_fault_fs(fault), &layers, &err);
        bool fired = vel_fs_fault_fired(fault);
        problems += rc < 0 ? !fired || !err.text[0] : conf->flush != 52;
        problems += tap_open_fds() != fds;
        vel_fs_fault_destroy(fault);
        vel_conf_destroy(conf);
        if (!fired)
            break;
    }
    ok(problems == 0 && n > 4, "a failure at any of %u operations is told", n - 1);
}

int main(void)
{
    which_file();
    prefix_of_the_file();
    bad_files();
    variables();
    variables_of_veloc();
    order_of_lines();
    replaced_lines();
    no_lines();
    bad_lines();
    in_two_halves();
    faults();
    return done_testing();
}
