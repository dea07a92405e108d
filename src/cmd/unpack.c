/* SPDX-License-Identifier: BSD-3-Clause */
/* h5veloc-unpack - take the files of a dataset out of its containers. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/tool.h"
#include "meta/cachename.h"
#include "meta/current.h"
#include "meta/index.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "xfer/container.h"
#include "xfer/temp.h"

struct options {
    const char *prefix;
    const char *into;
    int64_t id; /* 0: the current one */
    bool list;
};

static const struct argp_option option_rows[] = {
    {"into", 'o', "DIR", 0, "Write the files below DIR instead of to their own places",
     0},
    {"list", 'l', NULL, 0, "List the files and write nothing", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'o':
        o->into = arg;
        return 0;
    case 'l':
        o->list = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            o->prefix = arg;
        else if (state->arg_num > 1 || !vel_number_behind(arg, "", &o->id) || !o->id)
            argp_error(state, "'%s' is no id of a dataset", arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no prefix: name the directory that has .veloc in it");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_rows,
    .parser = parse_option,
    .args_doc = "PREFIX [ID]",
    .doc =
        "Take the files of dataset ID (default: the current one) out of the containers "
        "in which a flush with CONTAINERS=1 has put them.\v"
        "Every file is compared with its checksum. One that is there already is "
        "replaced.\n\n"
        "Exit status: 0 all files are there; 1 failed; 2 wrong usage.",
};

/* Its own place, or below another directory by its cached name. */
static int place_of(const struct options *o, const struct vel_crew *crew,
                    const char *name, char **ret_path, struct vel_err *err)
{
    if (!o->into)
        return vel_cachename_path(crew->prefix, name, ret_path, err);
    *ret_path = vel_path_join(crew->prefix, name);
    return *ret_path ? 0 : vel_out_of_memory(err, "unpacking");
}

static int unpack_one(const struct options *o, const struct vel_crew *crew, int64_t id,
                      const struct vel_listed *file, struct vel_err *err)
{
    char *to = NULL, *temp = NULL;
    int rc = place_of(o, crew, file->name, &to, err);

    if (rc == 0)
        rc = vel_xfer_temp_name(to, (uint64_t)id, &temp, err);
    if (rc == 0)
        rc = vel_fs_unlink(crew->fs, temp, err);
    if (rc == 0)
        rc = vel_container_get(crew, id, file, temp, err);
    if (rc == 0)
        rc = vel_copy_publish(crew->fs, temp, to, err);
    if (rc < 0 && temp)
        vel_fs_unlink(crew->fs, temp, NULL);
    free(temp);
    free(to);
    return rc;
}

static size_t unpack_list(const struct options *o, const struct vel_crew *crew,
                          int64_t id, const struct vel_vec *files, int *code)
{
    const struct vel_listed *f = files->items;
    size_t done = 0;

    for (size_t i = 0; i < files->n; i++) {
        struct vel_err err = {0};

        if (f[i].container < 0)
            continue;
        if (o->list)
            printf("%10" PRIu64 "  rank %d  %s\n", f[i].size, f[i].rank, f[i].name);
        else if (unpack_one(o, crew, id, &f[i], &err) < 0) {
            vel_tool_say("%s", err.text);
            *code = VEL_EXIT_FAILED;
            continue;
        }
        done++;
    }
    return done;
}

/* Of which dataset: the one that was asked for, else the current one. */
static struct vel_index *find_entry(const struct options *o, const char *dir,
                                    struct vel_entry *ret_entry)
{
    struct vel_index *index = NULL;
    struct vel_err err = {0};
    int64_t id = o->id;
    int rc;

    if (!vel_fs_exists(vel_fs_posix(), dir))
        vel_tool_die(VEL_EXIT_FAILED,
                     "%s is not there: name the directory that has .veloc in it", dir);
    if (vel_index_open(vel_fs_posix(), dir, &index, &err) < 0 ||
        (!id && vel_current_find(index, &id, &err) < 0))
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    if (!id)
        vel_tool_die(VEL_EXIT_FAILED, "%s: no dataset is current: name one", dir);
    rc = vel_entry_load(index, id, ret_entry, &err);
    if (rc == VEL_ENOENT)
        vel_tool_die(VEL_EXIT_FAILED, "%s has no dataset %" PRId64, dir, id);
    if (rc < 0)
        vel_tool_die(VEL_EXIT_FAILED, "dataset %" PRId64 ": %s", id, err.text);
    return index;
}

static int unpack(const struct options *o, const char *prefix, const char *into)
{
    struct vel_fs *fs = vel_fs_posix();
    char *dir = vel_veloc_dir(prefix);
    struct vel_crew crew = {.fs = fs,
                            .prefix = into ? into : prefix,
                            .dir = dir,
                            .copy = {.fs = fs, .keeps_metadata = true},
                            .checks_crc = true};
    struct vel_index *index;
    struct vel_entry entry;
    struct vel_err err = {0};
    int64_t id;
    size_t done = 0;
    int code = VEL_EXIT_DONE;

    if (!dir)
        vel_tool_die(VEL_EXIT_FAILED, "out of memory");
    index = find_entry(o, dir, &entry);
    id = entry.dataset.id;
    for (int l = 0; l < entry.lists; l++) {
        struct vel_vec files;

        if (vel_index_files(index, id, l, &files, &err) < 0)
            vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
        done += unpack_list(o, &crew, id, &files, &code);
        vel_filelist_fini(&files);
    }
    if (done == 0 && code == VEL_EXIT_DONE)
        vel_tool_say("dataset %" PRId64 " is not in containers: its files are plain",
                     id);
    vel_entry_fini(&entry);
    vel_index_close(index);
    free(dir);
    return code;
}

int main(int argc, char **argv)
{
    struct options o = {.prefix = NULL};
    struct vel_err err = {0};
    char *cwd = NULL, *prefix, *into;
    int code;

    vel_tool_parse(&argp, argc, argv, &o);
    if (vel_fs_working_dir(&cwd, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    prefix = vel_path_absolute(cwd, o.prefix);
    into = o.into ? vel_path_absolute(cwd, o.into) : NULL;
    if (!prefix || (o.into && !into))
        vel_tool_die(VEL_EXIT_FAILED, "out of memory");
    code = unpack(&o, prefix, into);
    free(into);
    free(prefix);
    free(cwd);
    return vel_tool_finish(code);
}
