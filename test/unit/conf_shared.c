/* SPDX-License-Identifier: BSD-3-Clause */
/* Which settings all processes of a launch must have in common, and what one takes over
 * that has others. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "conf/file.h"
#include "conf/shared.h"
#include "tap/tap.h"

static struct vel_conf *read_conf(const char *text)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0 ||
        vel_conf_parse(conf, VEL_LAYER_USER, "own.conf", text, strlen(text), NULL, NULL,
                       &err) < 0 ||
        vel_conf_finish(conf, &err) < 0)
        bail_out("%s", err.text);
    return conf;
}

/* "of a | of b", or "" */
static const char *difference(const char *a, const char *b)
{
    static char ret[1024];
    struct vel_conf *conf_a = read_conf(a), *conf_b = read_conf(b);
    struct vel_buf of_a, of_b;

    vel_buf_init(&of_a);
    vel_buf_init(&of_b);
    ret[0] = '\0';
    if (vel_conf_differ(conf_a, conf_b, &of_a, &of_b))
        snprintf(ret, sizeof ret, "%s | %s", vel_buf_text(&of_a), vel_buf_text(&of_b));
    vel_buf_fini(&of_a);
    vel_buf_fini(&of_b);
    vel_conf_destroy(conf_a);
    vel_conf_destroy(conf_b);
    return ret;
}

static void differ(void)
{
    is_str(difference("", "COPY_TYPE=XOR\nMODE=async\n"), "",
           "a default is the same, given or not");
    is_str(difference("DATASET=a PATTERN=a KIND=CHECKPOINT", "DATASET=a PATTERN=a"), "",
           "on lines, too");
    is_str(difference("FLUSH_BANDWIDTH=1GiB", "FLUSH_BANDWIDTH=1024MiB"), "",
           "and a size, however it is written");
    is_str(difference("CACHE_BASE=/a\nLOG_FILE=/log\nWORKERS=2\nJOB_ID=7\nQUIET=1",
                      "CACHE_BASE=/b\nLOG_LEVEL=INFO"),
           "", "paths, messages and resources are each process's own");
    is_str(difference("STORE=/a/1 COUNT=2 BYTES=1GiB\nCKPT=0 STORE=/a/1",
                      "STORE=/b/2 COUNT=2\nCKPT=0 STORE=/b/2"),
           "", "so are the directory of a store, and its size");
    is_str(difference("FLUSH=3", ""), "", "so is what HDF5 files do not obey");
    is_str(difference("UNLISTED=LIVE", ""), "UNLISTED=LIVE | UNLISTED=FAMILIES",
           "a setting that decides what becomes of files is not");
    is_str(
        difference("STORE=/a TYPE=PFS\nCOPY_TYPE=SINGLE", "STORE=/a\nCOPY_TYPE=SINGLE"),
        "STORE=/a TYPE=PFS | STORE=/a", "nor is what a store is");
    is_str(difference("CKPT=0 TYPE=RS", "CKPT=0"), "CKPT=0 TYPE=RS | CKPT=0",
           "nor a level");
    is_str(difference("GROUPS=h1 RACK=1", "GROUPS=h1 RACK=2"),
           "GROUPS=h1 RACK=1 | GROUPS=h1 RACK=2", "nor who fails together");
    is_str(difference("MODE=SYNC", "DATASET=a PATTERN=a"),
           "no DATASET line | DATASET=a PATTERN=a",
           "of several differences one of DATASET lines is told");
    is_str(difference("DATASET=a PATTERN=a*\nDATASET=b PATTERN=b",
                      "DATASET=b PATTERN=b\nDATASET=a PATTERN=a*"),
           "DATASET=a PATTERN=a* | DATASET=b PATTERN=b",
           "the first that fits counts, so their order does, too");
}

static bool has_line(const struct vel_conf *conf, enum vel_parent parent, size_t i,
                     const char *name, const char *where)
{
    const struct vel_line *line = vel_conf_line(conf, parent, i);

    return line && strcmp(line->name, name) == 0 &&
           strcmp(line->source.where, where) == 0;
}

static void share(void)
{
    struct vel_conf *own = read_conf("DATASET=c PATTERN=c\nMODE=SYNC\nCACHE_BASE=/a\n"
                                     "STORE=/a COUNT=3\nCKPT=0 STORE=/a"),
                    *first = read_conf("DATASET=a PATTERN=a*\nUNLISTED=BEHIND\n"
                                       "DATASET=b PATTERN=b{step}\nSTORE=/b"),
                    *strange = read_conf("DATASET=a PATTERN=a LEVEL=7\nCKPT=7 TYPE=RS"),
                    *conf = NULL, *none = NULL;
    struct vel_err err = {0};

    if (!is_int(vel_conf_share(own, first, "rank 0", &conf, &err), 0,
                "what the first has is taken over"))
        bail_out("%s", err.text);
    ok(has_line(conf, VEL_DATASET, 0, "a", "rank 0") &&
           has_line(conf, VEL_DATASET, 1, "b", "rank 0") &&
           !vel_conf_line(conf, VEL_DATASET, 2) &&
           conf->unlisted == VEL_UNLISTED_BEHIND,
       "its DATASET lines in their order, instead of the own ones, and UNLISTED");
    ok(conf->mode == VEL_MODE_SYNC && strcmp(conf->cache_base, "/a") == 0 &&
           has_line(conf, VEL_STORE, 0, "/a", "own.conf") &&
           has_line(conf, VEL_CKPT, 0, "0", "own.conf"),
       "all else stays, from where it was");
    is_int(((struct vel_store_line *)vel_conf_line(conf, VEL_STORE, 0)->data)->count, 3,
           "with its keys");
    is_int(vel_conf_share(own, strange, "rank 0", &none, &err), VEL_ECONFIG,
           "lines that ask for a level which is not there are of no use");
    ok(!none && strstr(err.text, "rank 0:1: DATASET=a: LEVEL=7"), "which is said: %s",
       err.text);
    vel_conf_destroy(conf);
    vel_conf_destroy(strange);
    vel_conf_destroy(first);
    vel_conf_destroy(own);
}

/* "CACHE_BASE STORE COUNT" as `own` knows it of settings `first` */
static const char *on_node(const char *first, const char *own)
{
    static char ret[256];
    struct vel_conf *conf_first = read_conf(first), *conf_own = read_conf(own),
                    *conf = NULL;
    const struct vel_line *line;
    struct vel_err err = {0};

    if (vel_conf_on_node(conf_first, "n1", conf_own, &conf, &err) < 0)
        bail_out("%s", err.text);
    line = vel_conf_line(conf, VEL_STORE, 0);
    snprintf(ret, sizeof ret, "%s %s %lld", conf->cache_base, line ? line->name : "-",
             line ? (long long)((struct vel_store_line *)line->data)->count : 0);
    vel_conf_destroy(conf);
    vel_conf_destroy(conf_own);
    vel_conf_destroy(conf_first);
    return ret;
}

static void of_a_node(void)
{
    is_str(on_node("CACHE_BASE=/s/n1", "CACHE_BASE=/s/n2"), "/s/n2 - 0",
           "who is told where a node's cache is uses it");
    is_str(on_node("CACHE_BASE=/s", "CACHE_BASE=/other"), "/s - 0",
           "but where the first has a cache that is the same on all");
    is_str(on_node("CACHE_BASE=/s/n1", ""), "/s/n1 - 0",
           "who is not uses what the first has");
    is_str(on_node("STORE=/s/n1 COUNT=2", "STORE=/s/n2 COUNT=2"), "/tmp /s/n2 2",
           "so it is with stores that are the same but for their names");
    is_str(on_node("STORE=/s/n1 COUNT=2", "STORE=/s/n2 COUNT=3"), "/tmp /s/n1 2",
           "others are not used");
    is_str(on_node("STORE=/s/n1 COUNT=2", ""), "/tmp /s/n1 2", "nor none");
}

int main(void)
{
    differ();
    share();
    of_a_node();
    return done_testing();
}
