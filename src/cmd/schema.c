/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-schema - show the settings that hold, and where each comes from. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "cmd/schema_print.h"
#include "cmd/tool.h"
#include "conf/load.h"
#include "topo/check.h"
#include "xfer/plugin.h"

enum { OPT_SYSTEM = 256, OPT_NO_ENVIRONMENT };

struct options {
    const char *command;
    struct vel_conf_layers layers;
    bool json;
};

static const struct argp_option option_rows[] = {
    {"file", 'f', "FILE", 0, "Read the user's settings from FILE", 0},
    {"system", OPT_SYSTEM, "FILE", 0, "Read the system's settings from FILE", 0},
    {"no-environment", OPT_NO_ENVIRONMENT, NULL, 0,
     "Leave VELOC_* and SCR_* variables out", 0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'f':
        if (o->layers.user_file)
            argp_error(state, "--file is given twice: one user file counts");
        o->layers.user_file = arg;
        return 0;
    case OPT_SYSTEM:
        o->layers.system_file = arg;
        return 0;
    case OPT_NO_ENVIRONMENT:
        o->layers.no_environment = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->command)
            argp_error(state, "one command at a time");
        o->command = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no command: show, check or man");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .args_doc = "COMMAND",
    .doc = "Show the settings of h5veloc and where each value comes from.\v"
           "Commands:\n"
           "  show    every setting with its value, source and meaning\n"
           "  check   nothing but the first fault, if there is one\n"
           "  man     the settings as a section of the manual page veloc.conf(5)\n\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage or a fault in the settings.",
};

static struct vel_conf *load(const struct vel_conf_layers *layers)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    int rc = vel_conf_load(conf, vel_fs_posix(), layers, &err);
    if (rc < 0)
        vel_tool_die(rc == VEL_ENOMEM || rc == VEL_EIO ? VEL_EXIT_FAILED
                                                       : VEL_EXIT_USAGE,
                     "%s", err.text);
    vel_conf_tell_lines(conf);
    return conf;
}

/* A program goes on without it, with a warning. */
static int check_plugin(const struct vel_conf *conf, struct vel_err *err)
{
    int rc = conf->flush_plugin ? vel_plugin_check(conf->flush_plugin, err) : 0;

    if (rc == 0)
        return 0;
    vel_wrap(err, rc, "FLUSH_PLUGIN=%s", conf->flush_plugin);
    return vel_conf_fault_of(conf, "FLUSH_PLUGIN", err);
}

/* What no single value shows: do the levels protect anything? VELOC_Init asks the same.
 */
static void check(const struct vel_conf *conf)
{
    struct vel_err err = {0};

    if (vel_topo_check(conf, &err) != VEL_TOPO_VALID ||
        vel_conf_check_groups(conf, &err) < 0 || check_plugin(conf, &err) < 0)
        vel_tool_die(VEL_EXIT_USAGE, "%s", err.text);
}

int main(int argc, char **argv)
{
    struct options o = {0};

    vel_tool_parse(&argp, argc, argv, &o);
    if (strcmp(o.command, "man") == 0) {
        vel_schema_print_man();
        return vel_tool_finish(VEL_EXIT_DONE);
    }
    if (strcmp(o.command, "show") != 0 && strcmp(o.command, "check") != 0)
        vel_tool_die(VEL_EXIT_USAGE,
                     "%s: no such command; there are show, check and man", o.command);
    struct vel_conf *conf = load(&o.layers);
    if (strcmp(o.command, "show") == 0) {
        struct vel_err err = {0};

        if (check_plugin(conf, &err) < 0)
            vel_log(VEL_LOG_WARN, "%s", err.text);
        if (o.json)
            vel_tool_print_json(vel_schema_json(conf));
        else
            vel_schema_print(conf);
    } else {
        check(conf);
    }
    vel_conf_destroy(conf);
    return vel_tool_finish(VEL_EXIT_DONE);
}
