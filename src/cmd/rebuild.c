/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-rebuild - bring back lost files of redundancy sets from the directories that
 * are left, without MPI. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/tool.h"
#include "cmd/scrub.h"
#include "red/rebuild.h"

enum { OPT_INTO = 256, OPT_SCRUB };

struct options {
    struct vel_rebuild_options rebuild;
    char **dirs;
    size_t n_dirs;
    bool json;
    bool quiet;
    bool scrub;
};

static const struct argp_option option_rows[] = {
    {"dry-run", 'n', NULL, 0, "Look, check every byte, write nothing", 0},
    {"into", OPT_INTO, "DIR", 0,
     "Put files of members of which nothing is left into DIR (default: the first "
     "directory)",
     0},
    {"scrub", OPT_SCRUB, NULL, 0,
     "Check every byte of the datasets in caches and on prefixes, and make good what "
     "is "
     "damaged from redundancy, prefix or cache",
     0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"quiet", 'q', NULL, 0, "No progress, and no line for a set that is whole", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'n':
        o->rebuild.dry_run = true;
        return 0;
    case OPT_INTO:
        o->rebuild.into = arg;
        return 0;
    case OPT_SCRUB:
        o->scrub = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        o->dirs = state->argv + state->next;
        o->n_dirs = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no directory: name those that are left of the set");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .args_doc = "DIR...",
    .doc = "Rebuild what is missing, short or corrupt of the redundancy sets (*.h5vr) "
           "whose members "
           "lie in the directories DIR, one for each member.\v"
           "Every byte of what is there is checked first. Files come back under their "
           "names with "
           "their modes and times, or nothing is changed.\n\n"
           "Exit status: 0 all is whole now, or would be; 1 something cannot be made "
           "whole; 2 wrong usage.",
};

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
    int *shown = arg;
    int percent = total ? (int)(done * 100 / total) : 100;

    if (percent == *shown)
        return;
    *shown = percent;
    fprintf(stdout, "\rrebuilding %3d %%%s", percent,
            percent == 100 ? "\r                \r" : "");
    fflush(stdout);
}

static void print_set(const struct vel_rebuilt_set *set, const struct options *o)
{
    const char *did = o->rebuild.dry_run ? "can be rebuilt" : "rebuilt";

    if (set->rc == 0 && set->members.n == 0 && o->quiet)
        return;
    printf("%s set %" PRIu32 " of %" PRIu32 " (%s, %zu members): ", set->label,
           set->set, set->sets, vel_scheme_name(set->scheme), set->n);
    if (set->rc < 0)
        printf("NOT REBUILT: %s\n", set->err.text);
    else if (set->members.n == 0)
        printf("whole\n");
    else
        printf("%zu %s %s\n", set->members.n,
               set->members.n == 1 ? "member" : "members", did);
    for (size_t i = 0; i < set->members.n; i++) {
        const struct vel_rebuilt_member *m = vel_vec_at(&set->members, i);

        printf("  member %zu rank %" PRIu32 ": %" PRIu64 " %s, %" PRIu64
               " bytes in %s (%s)\n",
               m->member, m->rank, m->files, m->files == 1 ? "file" : "files", m->bytes,
               m->dir, m->why);
    }
}

static json_t *json_set(const struct vel_rebuilt_set *set)
{
    json_t *members = json_array();

    for (size_t i = 0; i < set->members.n; i++) {
        const struct vel_rebuilt_member *m = vel_vec_at(&set->members, i);

        json_array_append_new(
            members,
            json_pack("{s:I, s:I, s:I, s:I, s:s, s:s}", "member", (json_int_t)m->member,
                      "rank", (json_int_t)m->rank, "files", (json_int_t)m->files,
                      "bytes", (json_int_t)m->bytes, "dir", m->dir, "why", m->why));
    }
    return json_pack("{s:s, s:I, s:I, s:s, s:I, s:I, s:b, s:s, s:o}", "label",
                     set->label, "set", (json_int_t)set->set, "sets",
                     (json_int_t)set->sets, "scheme", vel_scheme_name(set->scheme),
                     "members", (json_int_t)set->n, "tolerates", (json_int_t)set->m,
                     "whole", set->rc == 0, "error", set->err.text, "lost", members);
}

int main(int argc, char **argv)
{
    struct options o = {.json = false};
    int code = VEL_EXIT_DONE, shown = -1;
    struct vel_vec sets;
    struct vel_err err = {0};
    json_t *json;

    vel_tool_parse(&argp, argc, argv, &o);
    if (o.scrub)
        return vel_cmd_scrub(o.dirs, o.n_dirs,
                             &(struct vel_cmd_scrub){.dry_run = o.rebuild.dry_run,
                                                     .json = o.json,
                                                     .quiet = o.quiet});
    if (isatty(STDOUT_FILENO) && !o.json && !o.quiet) {
        o.rebuild.tick = show_progress;
        o.rebuild.tick_arg = &shown;
    }
    if (vel_rebuild(vel_fs_posix(), o.dirs, o.n_dirs, &o.rebuild, &sets, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    json = json_array();
    for (size_t i = 0; i < sets.n; i++) {
        const struct vel_rebuilt_set *set = vel_vec_at(&sets, i);

        if (set->rc < 0)
            code = VEL_EXIT_FAILED;
        if (o.json)
            json_array_append_new(json, json_set(set));
        else
            print_set(set, &o);
    }
    if (o.json)
        vel_tool_print_json(json);
    else
        json_decref(json);
    vel_rebuilt_fini(&sets);
    return vel_tool_finish(code);
}
