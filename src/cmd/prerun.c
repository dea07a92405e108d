/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-prerun - what is done on all nodes before a program starts. */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "cmd/tool.h"
#include "conf/load.h"
#include "engine/logsink.h"
#include "process/launcher.h"
#include "process/prerun.h"
#include "sys/host.h"

enum { OPT_NODE = 256, OPT_NODES, OPT_RANKS, OPT_KEEP, NODES_MOST = 65536 };

struct options {
    bool recover, keep;
    int node, nodes; /* below 0: not said */
    char *ranks;     /* divided by blanks */
};

static const struct argp_option option_rows[] = {
    {"recover", 'r', NULL, 0, "Bring what the caches hold to where it will be read", 0},
    {"nodes", OPT_NODES, "N", 0,
     "Tools are started on so many nodes (default: as the "
     "launcher says; else 1)",
     0},
    {"node", OPT_NODE, "I", 0, "This is number I of them, from 0", 0},
    {"ranks", OPT_RANKS, "LIST", 0,
     "These ranks will run on this node, as 0-3,8 "
     "(default: blocks of the nodes' order)",
     0},
    {"keep", OPT_KEEP, NULL, 0, "Leave parts where they are; place only what is lost",
     0},
    {0},
};

/* --- the command line --- */

static int number(const char *text, int least, int most, const char *what,
                  struct argp_state *state)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (!isdigit((unsigned char)text[0]) || *end || n < least || n > most)
        argp_error(state, "%s=%s: a number from %d to %d", what, text, least, most);
    return (int)n;
}

/* "A", "A-B", with commas between. */
static void check_ranks(const char *list, struct argp_state *state)
{
    const char *at = list;
    bool is_list = true;

    while (is_list) {
        char *end;
        long first, last;

        is_list = isdigit((unsigned char)*at);
        first = last = strtol(at, &end, 10);
        if (is_list && *end == '-') {
            at = end + 1;
            is_list = isdigit((unsigned char)*at);
            last = strtol(at, &end, 10);
        }
        is_list = is_list && first <= last && last < VEL_RANKS_MAX;
        if (is_list && !*end)
            return;
        is_list = is_list && *end == ',';
        at = end + 1;
    }
    argp_error(state, "--ranks=%s: a list of numbers as 0-3,8", list);
}

static void take_ranks(struct options *o, char *list, struct argp_state *state)
{
    check_ranks(list, state);
    for (char *c = list; *c; c++)
        if (*c == ',')
            *c = ' ';
    o->ranks = list;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'r':
        o->recover = true;
        return 0;
    case OPT_NODES:
        o->nodes = number(arg, 1, NODES_MOST, "--nodes", state);
        return 0;
    case OPT_NODE:
        o->node = number(arg, 0, NODES_MOST - 1, "--node", state);
        return 0;
    case OPT_RANKS:
        take_ranks(o, arg, state);
        return 0;
    case OPT_KEEP:
        o->keep = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: there is nothing but options", arg);
        return 0;
    case ARGP_KEY_END:
        if (!o->recover)
            argp_error(state, "say what is to be done: --recover");
        if (o->keep && o->ranks)
            argp_error(state, "--keep and --ranks exclude each other");
        if ((o->node >= 0) != (o->nodes >= 0) ||
            o->node >= (o->nodes < 0 ? 1 : o->nodes))
            argp_error(state, "--node and --nodes go together: number I, from 0, of N");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .doc = "Before a program starts: move and rebuild its checkpoints, so that each "
           "rank finds its part in the cache of its own node.\v"
           "Start one on each node at the same time, by srun or mpiexec, or in a loop "
           "with --node and --nodes. What was owed is encoded and flushed, then all "
           "end. It needs no MPI.\n\n"
           "Exit status: 0 all is in place; 1 something is not; 2 wrong usage.",
};

/* --- which of how many --- */

/* Of all nodes of an allocation just one would be looked at, and the others taken for
 * lost. */
static void check_alone(void)
{
    const char *nodes = vel_conf_variable(NULL, "SLURM_NNODES");

    if (nodes && strtol(nodes, NULL, 10) > 1)
        vel_tool_die(VEL_EXIT_USAGE,
                     "this job has %s nodes: start one on each (srun "
                     "--ntasks-per-node=1), or say --node and --nodes",
                     nodes);
}

static void ask_launcher(struct options *o)
{
    struct vel_launcher launcher;

    if (o->nodes >= 0)
        return;
    vel_launcher_ask(vel_conf_variable, NULL, &launcher);
    if (!launcher.has_rank || launcher.ranks > NODES_MOST) {
        check_alone();
        launcher.rank = 0;
        launcher.ranks = 1;
    }
    o->node = (int)launcher.rank;
    o->nodes = (int)launcher.ranks;
}

/* --- to recover --- */

static void tell(void *arg, const struct vel_prerun_dataset *d)
{
    (void)arg;
    if (d->failed) {
        vel_tool_say("dataset %" PRId64 " (%s %" PRId64 ") is not in place: %s",
                     d->about->id, d->about->name, d->about->version, d->failed->text);
        return;
    }
    printf("dataset %" PRId64 " (%s %" PRId64 "): %" PRId64
           " parts were in place, %" PRId64 " copied, %" PRId64 " rebuilt",
           d->about->id, d->about->name, d->about->version, d->here, d->copied,
           d->rebuilt);
    if (d->on_prefix)
        printf(", %" PRId64 " are on the prefix alone", d->on_prefix);
    if (d->exposed)
        printf("; %" PRId64 " sets have several parts on one node", d->exposed);
    printf("%s\n", d->is_encoded && d->is_flushed ? "; to encode and flush"
                   : d->is_encoded                ? "; to encode"
                   : d->is_flushed                ? "; to flush"
                                                  : "");
    fflush(stdout);
}

/* Told once, by the first. */
static int tell_end(const struct vel_prerun_of *of, const struct vel_prerun_done *done)
{
    bool is_well = done->failed == 0 && done->left == 0;

    if (of->node == 0) {
        if (done->datasets == 0)
            printf("no dataset in the caches can be restored\n");
        if (done->stubs > 0)
            printf("%" PRId64 " placeholders of lost files removed\n", done->stubs);
        if (done->left > 0)
            vel_tool_say("%" PRIu64 " bytes are left to encode or flush: %s",
                         done->left,
                         done->why.status ? done->why.text : "it is not known why");
    }
    return is_well ? VEL_EXIT_DONE : VEL_EXIT_FAILED;
}

static int recover(const struct options *o, const struct vel_conf *conf,
                   const struct vel_host *host)
{
    struct vel_prerun_of of = {.fs = vel_fs_posix(),
                               .clock = vel_clock_system(),
                               .host = host,
                               .conf = conf,
                               .node = o->node,
                               .nodes = o->nodes,
                               .ranks = o->ranks,
                               .keeps = o->keep,
                               .tell = tell};
    struct vel_prerun_done done = {0};
    struct vel_err err = {0};
    char *cwd = NULL, *prefix = NULL;
    int rc = vel_fs_working_dir(&cwd, &err);

    if (rc == 0) {
        prefix = vel_path_absolute(cwd, conf->prefix ? conf->prefix : ".");
        rc = prefix ? 0 : vel_out_of_memory(&err, "the prefix");
    }
    of.prefix = prefix;
    if (rc == 0)
        rc = vel_prerun_recover(&of, &done, &err);
    if (rc == VEL_ENOENT && of.node == 0)
        printf("no program has worked with %s yet\n", prefix);
    else if (rc < 0 && rc != VEL_ENOENT)
        vel_tool_say("number %d of %d on %s: %s", of.node, of.nodes, host->node,
                     err.text);
    free(prefix);
    free(cwd);
    if (rc == VEL_ENOENT)
        return VEL_EXIT_DONE;
    return rc < 0 ? VEL_EXIT_FAILED : tell_end(&of, &done);
}

int main(int argc, char **argv)
{
    struct options o = {.node = -1, .nodes = -1};
    struct vel_conf *conf = NULL;
    struct vel_logfile *file = NULL;
    struct vel_host host = {0};
    struct vel_err err = {0};
    int code, rc;

    vel_tool_parse(&argp, argc, argv, &o);
    ask_launcher(&o);
    rc = vel_conf_create(&conf, &err);
    if (rc == 0)
        rc = vel_conf_load(conf, vel_fs_posix(), &(struct vel_conf_layers){0}, &err);
    if (rc == 0)
        rc = vel_host_init(&host, &err);
    if (rc == 0 && conf->user_name)
        rc = vel_host_set_user(&host, conf->user_name, &err);
    if (rc == 0) {
        char who[300];
        const struct vel_log_sink sink = {.who = who, .is_speaker = o.node == 0};

        snprintf(who, sizeof who, "h5veloc-prerun %d on %s", o.node, host.node);
        rc = vel_logsink_open(conf, vel_fs_posix(), host.node, &sink, &file, &err);
    }
    if (rc < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    if (conf->enable) {
        code = recover(&o, conf, &host);
    } else {
        printf("h5veloc is switched off (ENABLE=0)\n");
        code = VEL_EXIT_DONE;
    }
    vel_log_open(NULL);
    if (file)
        vel_logfile_close(file, NULL);
    vel_host_fini(&host);
    vel_conf_destroy(conf);
    return vel_tool_finish(code);
}
