/* SPDX-License-Identifier: BSD-3-Clause */
/* tool - what all command-line tools share: options, exit codes, messages. */
#ifndef VEL_CMD_TOOL_H
#define VEL_CMD_TOOL_H

#include <argp.h>

#include "base/err.h"
#include "record/json.h"

enum {
    VEL_EXIT_DONE = 0,
    VEL_EXIT_FAILED = 1,
    VEL_EXIT_USAGE = 2,
};

/* Parse the command line; --help, --usage and --version are there for every tool. Ends
 * the program with VEL_EXIT_USAGE when the line is wrong. */
void vel_tool_parse(const struct argp *argp, int argc, char **argv, void *input);

/* "TOOL: sentence" on standard error. */
void vel_tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the end. */
_Noreturn void vel_tool_die(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The line at the cursor of a terminal behind standard error, in the place of the last
 * one; NULL: nothing, and what comes next begins there. */
void vel_tool_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print a JSON value on standard output, indented, and free it; NULL (out of memory) or
 * a full disk end the program. */
void vel_tool_print_json(json_t *json);

/* Everything was printed, or it was not: a full disk behind standard output is a
 * failure. Returns the exit code. */
int vel_tool_finish(int code);

#endif
