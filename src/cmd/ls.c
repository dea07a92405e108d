/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-ls - which datasets there are, in caches and on the prefix, and which of them
 * a program can be restarted from. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/ls.h"
#include "cmd/tool.h"
#include "conf/load.h"

enum { OPT_VERIFY = 256, OPT_H5, OPT_COLOUR, OPT_WATCH = 'w', EVERY = 2 };

static const struct argp_option option_rows[] = {
    {"long", 'l', NULL, 0, "Tell more: times, sets, what is still to be done", 0},
    {"recursive", 'r', NULL, 0, "List the files, where they are and how they are", 0},
    {"verify", OPT_VERIFY, NULL, 0, "Read everything, compare checksums", 0},
    {"id", 'i', "ID", 0, "Only this dataset", 0},
    {"h5", OPT_H5, NULL, 0, "List what is in HDF5 files, from the cache", 0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"watch", OPT_WATCH, "SECONDS", OPTION_ARG_OPTIONAL,
     "Again every SECONDS (2), until interrupted", 0},
    {"color", OPT_COLOUR, "WHEN", 0, "auto (default), always or never", 0},
    {"quiet", 'q', NULL, 0, "No progress and no warnings", 0},
    {0},
};

static void parse_number(struct argp_state *state, const char *option, const char *arg,
                         double least, double *ret)
{
    char *end;
    double value = strtod(arg, &end);

    if (*arg == '\0' || *end != '\0' || !(value >= least && value < 1e18))
        argp_error(state, "--%s=%s: not a number from %g on", option, arg, least);
    *ret = value;
}

static void parse_id(struct argp_state *state, const char *arg, int64_t *ret)
{
    char *end;
    long long value = strtoll(arg, &end, 10);

    if (*arg == '\0' || *end != '\0' || value < 1)
        argp_error(state, "--id=%s: the id of a dataset is a number from 1 on", arg);
    *ret = value;
}

static void parse_colour(struct argp_state *state, const char *arg,
                         enum vel_ls_colour *ret)
{
    if (strcmp(arg, "auto") == 0)
        *ret = VEL_LS_COLOUR_AUTO;
    else if (strcmp(arg, "always") == 0)
        *ret = VEL_LS_COLOUR_ALWAYS;
    else if (strcmp(arg, "never") == 0)
        *ret = VEL_LS_COLOUR_NEVER;
    else
        argp_error(state, "--color=%s: auto, always or never", arg);
}

static void check(struct argp_state *state, const struct vel_ls_options *o)
{
    if (o->h5 && o->n_paths == 0)
        argp_error(state, "--h5: name the files");
    if (o->h5 && (o->json || o->watch > 0 || o->details || o->files))
        argp_error(state, "--h5 goes with --id and --verify only");
    if (o->json && o->watch > 0)
        argp_error(state, "--watch is for people; scripts ask --json again");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct vel_ls_options *o = state->input;

    switch (key) {
    case 'l':
        o->details = true;
        return 0;
    case 'r':
        o->files = true;
        return 0;
    case OPT_VERIFY:
        o->verify = true;
        return 0;
    case 'i':
        parse_id(state, arg, &o->id);
        return 0;
    case OPT_H5:
        o->h5 = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case OPT_WATCH:
        o->watch = EVERY;
        if (arg)
            parse_number(state, "watch", arg, 0.1, &o->watch);
        return 0;
    case OPT_COLOUR:
        parse_colour(state, arg, &o->colour);
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        o->paths = state->argv + state->next;
        o->n_paths = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        check(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .args_doc = "[PATH...]\n--h5 FILE...",
    .doc =
        "List datasets, the newest first, and what can be restarted from.\v"
        "PATH is a prefix, or above or in caches; without: the prefix of the settings "
        "and the caches of this node and of those where programs run.\n\n"
        "Exit status: 0 done; 1 something is not there, or damaged; 2 wrong usage.",
};

/* --- a round --- */

/* What the library warns of is told behind the list. */
static void keep_note(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    struct vel_ls *ls = arg;
    const char *text = strstr(line, ": ");
    char *note;

    (void)level;
    text = text ? strstr(text + 2, ": ") : NULL; /* behind "h5veloc: warn: " */
    text = text ? text + 2 : line;
    note = vel_ls_need(strndup(text, len - (size_t)(text - line) - 1));
    for (size_t i = 0; note && i < ls->notes.n; i++)
        if (strcmp(*(char **)vel_vec_at(&ls->notes, i), note) == 0) {
            free(note);
            note = NULL;
        }
    if (note)
        vel_ls_push(&ls->notes, &note);
}

static void begin(struct vel_ls *ls)
{
    ls->now = vel_clock_wall(vel_clock_system()) / (int64_t)VEL_CLOCK_S;
    vel_vec_init(&ls->units, sizeof(struct vel_ls_unit));
    vel_vec_init(&ls->replaced, sizeof(char *));
    vel_vec_init(&ls->notes, sizeof(char *));
    vel_ls_find(ls);
    for (size_t i = 0; i < ls->units.n; i++) {
        struct vel_ls_unit *unit = vel_ls_unit_at(ls, i);

        vel_ls_read(ls, unit);
        vel_ls_ask(ls, unit);
        if (ls->options->files || ls->options->verify || ls->options->h5)
            vel_ls_files(ls, unit);
        else
            vel_ls_there(ls, unit);
        vel_ls_rows(ls, unit);
    }
}

static void end(struct vel_ls *ls)
{
    for (size_t i = 0; i < ls->units.n; i++)
        vel_ls_unit_fini(vel_ls_unit_at(ls, i));
    vel_vec_fini(&ls->units);
    vel_fs_names_fini(&ls->replaced);
    vel_fs_names_fini(&ls->notes);
}

/* In the list itself, with its dataset? */
static bool is_listed(const struct vel_ls *ls, const char *note)
{
    for (size_t i = 0; i < ls->units.n; i++) {
        const struct vel_vec *bad = &vel_ls_unit_at(ls, i)->unreadable;

        for (size_t k = 0; k < bad->n; k++)
            if (strstr(note, ((struct vel_ls_unreadable *)vel_vec_at(bad, k))->why))
                return true;
    }
    return false;
}

static void tell_notes(const struct vel_ls *ls)
{
    for (size_t i = 0; i < ls->notes.n && !ls->options->quiet; i++) {
        const char *note = *(char **)vel_vec_at(&ls->notes, i);

        if (!is_listed(ls, note))
            vel_tool_say("%s", note);
    }
}

static bool is_coloured(const struct vel_ls_options *options)
{
    const char *none = vel_conf_variable(NULL, "NO_COLOR");
    const char *term = vel_conf_variable(NULL, "TERM");

    if (options->colour != VEL_LS_COLOUR_AUTO)
        return options->colour == VEL_LS_COLOUR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(none && *none) && term &&
           strcmp(term, "dumb") != 0;
}

static void print_text(const struct vel_buf *text)
{
    if (vel_buf_status(text, NULL) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "out of memory");
    fputs(vel_buf_text(text), stdout);
}

static int list_once(struct vel_ls *ls)
{
    struct vel_buf text;
    int code = VEL_EXIT_DONE;
    bool has_failed;

    begin(ls);
    if (ls->options->h5) {
        code = vel_ls_h5(ls);
    } else if (ls->options->json) {
        vel_tool_print_json(vel_ls_json(ls));
    } else {
        vel_buf_init(&text);
        vel_ls_text(ls, is_coloured(ls->options), &text);
        print_text(&text);
        vel_buf_fini(&text);
        tell_notes(ls);
    }
    has_failed = ls->has_failed || (ls->options->verify && ls->notes.n > 0);
    end(ls);
    return has_failed ? VEL_EXIT_FAILED : code;
}

/* On a terminal the screen is drawn anew; elsewhere a list is printed when it is
 * another one than the last, its ages aside. */
static int watch(struct vel_ls *ls)
{
    uint64_t pause = (uint64_t)(ls->options->watch * (double)VEL_CLOCK_S);
    bool is_screen = isatty(STDOUT_FILENO);
    struct vel_buf text, last;
    int code;

    vel_buf_init(&last);
    do {
        struct vel_buf ageless;

        vel_buf_init(&text);
        vel_buf_init(&ageless);
        begin(ls);
        vel_ls_text(ls, is_coloured(ls->options), &text);
        ls->now = 0;
        vel_ls_text(ls, false, &ageless);
        if (is_screen)
            fputs("\033[H\033[2J", stdout);
        if (is_screen || strcmp(vel_buf_text(&ageless), vel_buf_text(&last)) != 0) {
            print_text(&text);
            tell_notes(ls);
        }
        end(ls);
        vel_buf_fini(&last);
        vel_buf_fini(&text);
        last = ageless;
        code = vel_tool_finish(VEL_EXIT_DONE);
        if (code == VEL_EXIT_DONE)
            vel_clock_sleep(vel_clock_system(), pause);
    } while (code == VEL_EXIT_DONE);
    vel_buf_fini(&last);
    return code;
}

/* --- main --- */

int main(int argc, char **argv)
{
    struct vel_ls_options options = {0};
    struct vel_conf *conf = NULL;
    struct vel_host host = {0};
    struct vel_err err = {0};
    int code, rc;

    vel_tool_parse(&argp, argc, argv, &options);
    rc = vel_conf_create(&conf, &err);
    if (rc == 0)
        rc = vel_conf_load(conf, vel_fs_posix(), &(struct vel_conf_layers){0}, &err);
    if (rc == 0)
        rc = vel_host_init(&host, &err);
    if (rc == 0 && conf->user_name)
        rc = vel_host_set_user(&host, conf->user_name, &err);
    if (rc < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    struct vel_ls ls = {
        .options = &options, .fs = vel_fs_posix(), .conf = conf, .host = &host};
    const struct vel_log_sink sink = {
        .level = VEL_LOG_WARN, .is_speaker = true, .write = keep_note, .arg = &ls};

    vel_log_open(&sink);
    code = options.watch > 0 ? watch(&ls) : list_once(&ls);
    vel_log_open(NULL);
    vel_host_fini(&host);
    vel_conf_destroy(conf);
    return vel_tool_finish(code);
}
