/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in a file: HDF5's own tool is asked, of the copy that a restart would take.
 * It reads natively: the connector would look for the file as we did. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/ls.h"
#include "cmd/tool.h"
#include "meta/cachename.h"

enum { NOT_FOUND = 127 };

static bool is_restored(const struct vel_ls_unit *unit, int64_t id)
{
    for (size_t i = 0; i < unit->rows.n; i++) {
        const struct vel_ls_row *row = vel_ls_row_at(unit, i);

        if (row->id == id)
            return row->restart <= VEL_LS_FROM_PREFIX;
    }
    return false;
}

/* Of the newest dataset that has it and can be restored; files are in that order. */
static const struct vel_ls_file *find(const struct vel_ls *ls,
                                      const struct vel_ls_unit *unit, const char *name)
{
    for (size_t i = 0; i < unit->files.n; i++) {
        const struct vel_ls_file *file = vel_ls_file_at(unit, i);

        if (!file->is_redundancy && !file->why && file->path && !file->is_contained &&
            strcmp(file->name, name) == 0 &&
            (ls->options->id || is_restored(unit, file->id)))
            return file;
    }
    return NULL;
}

static const char *path_of(const struct vel_ls *ls, const char *path)
{
    const struct vel_ls_file *file = NULL;

    for (size_t i = 0; i < ls->units.n && !file; i++) {
        const struct vel_ls_unit *unit = vel_ls_unit_at(ls, i);
        char *name = NULL;

        if (unit->prefix && vel_cachename_of(unit->prefix, path, &name, NULL) == 0)
            file = find(ls, unit, name);
        free(name);
    }
    if (file)
        return file->path;
    return vel_fs_exists(ls->fs, path) ? path : NULL;
}

static int run(const char *path)
{
    char *argv[] = {(char *)"env",
                    (char *)"-u",
                    (char *)"HDF5_VOL_CONNECTOR",
                    (char *)"h5ls",
                    (char *)"-r",
                    (char *)path,
                    NULL};
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(NOT_FOUND);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        vel_tool_say("h5ls cannot be run: put the directory of HDF5's tools into PATH");
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? VEL_EXIT_DONE
                                                                    : VEL_EXIT_FAILED;
}

int vel_ls_h5(struct vel_ls *ls)
{
    int code = VEL_EXIT_DONE;
    struct vel_err err = {0};
    char *cwd;

    if (vel_fs_working_dir(&cwd, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    for (size_t i = 0; i < ls->options->n_paths; i++) {
        const char *said = ls->options->paths[i], *found;
        char *path = vel_ls_need(vel_path_absolute(cwd, said));

        found = path_of(ls, path);
        if (!found)
            vel_tool_say("%s: no dataset that can be looked at from here has it", said);
        else
            printf("%s:\n", found);
        if (!found || run(found) != VEL_EXIT_DONE)
            code = VEL_EXIT_FAILED;
        free(path);
    }
    free(cwd);
    return code;
}
