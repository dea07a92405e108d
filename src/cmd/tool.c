/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/library.h"
#include "cmd/tool.h"

static void print_version(FILE *to, struct argp_state *state)
{
    fprintf(to, "%s (h5veloc) %s\n", state->name, PACKAGE_VERSION);
}

void vel_tool_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    struct vel_err err = {0};

    argp_program_version_hook = print_version;
    argp_err_exit_status = VEL_EXIT_USAGE;
    if (argp_parse(argp, argc, argv, 0, NULL, input) != 0)
        exit(VEL_EXIT_USAGE);
    if (vel_library_check(&err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
}

static void say(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static void say(const char *fmt, va_list ap)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void vel_tool_say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void vel_tool_die(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    exit(code);
}

void vel_tool_progress(const char *fmt, ...)
{
    va_list ap;

    fputs("\r\033[K", stderr);
    if (!fmt)
        return;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fflush(stderr);
}

void vel_tool_print_json(json_t *json)
{
    if (!json)
        vel_tool_die(VEL_EXIT_FAILED, "out of memory");
    json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(json);
}

int vel_tool_finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        vel_tool_say("standard output could not be written");
        return code == VEL_EXIT_DONE ? VEL_EXIT_FAILED : code;
    }
    return code;
}
