/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "tap/tap.h"
#include "veloc.h"

enum { PATH = 1024, PATHS = 16 };

static char root[PATH];

const char *apilab_at(const char *fmt, ...)
{
    static char paths[PATHS][2 * PATH];
    static unsigned next;
    char *path = paths[next++ % PATHS], name[PATH];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

/* --- settings --- */

void apilab_file(const char *text)
{
    FILE *file;

    MPI_Barrier(MPI_COMM_WORLD);
    if (mtap_rank() == 0) {
        file = fopen(apilab_at("veloc.conf"), "w");
        if (!file)
            bail_out("cannot write %s", apilab_at("veloc.conf"));
        for (; *text; text++)
            if (*text == '$')
                fputs(root, file);
            else
                fputc(*text, file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void apilab_settings(const char *settings)
{
    char text[4096];

    snprintf(text, sizeof text, "PREFIX=$/prefix\nCACHE_BASE=$/cache\n%s%s",
             strstr(settings, "MODE=") ? "" : "MODE=SYNC\n", settings);
    apilab_file(text);
}

void apilab_case(const char *name, int nodes, const char *settings)
{
    char number[16];

    snprintf(number, sizeof number, "%d", nodes);
    setenv("VELOC_VIRTUAL_NODES", number, 1);
    snprintf(root, sizeof root, "%s/%s", mtap_dir(), name);
    if (mtap_rank() == 0) {
        tap_fresh_dir(root);
        tap_fresh_dir(apilab_at("prefix"));
        tap_fresh_dir(apilab_at("cache"));
    }
    apilab_settings(settings);
}

/* --- launches --- */

bool apilab_begin_on(MPI_Comm comm)
{
    if (VELOC_Init(comm, apilab_at("veloc.conf")) == VELOC_SUCCESS)
        return true;
    mtap_note("VELOC_Init: %s", VELOC_Error());
    return false;
}

bool apilab_begin(void)
{
    return apilab_begin_on(MPI_COMM_WORLD);
}

bool apilab_end(int cleanup)
{
    if (VELOC_Finalize(cleanup) == VELOC_SUCCESS)
        return true;
    mtap_note("VELOC_Finalize: %s", VELOC_Error());
    return false;
}

bool apilab_again(void)
{
    bool ended = apilab_end(0);

    return apilab_begin() && ended;
}

bool apilab_says(const char *words)
{
    if (strstr(VELOC_Error(), words))
        return true;
    mtap_note("VELOC_Error() is \"%s\", without \"%s\"", VELOC_Error(), words);
    return false;
}

/* --- checkpoints --- */

static const char *file_of(const char *name, int version, int rank)
{
    return apilab_at("prefix/%s.%d.%d", name, version, rank);
}

const char *apilab_text(const char *name, int version, int rank)
{
    static char text[256];

    snprintf(text, sizeof text, "%s %d of rank %d\n", name, version, rank);
    return text;
}

int apilab_save(const char *name, int version)
{
    char path[VELOC_MAX_NAME];
    int rc = VELOC_Checkpoint_begin(name, version), routed;

    if (rc == VELOC_SUCCESS) {
        routed = VELOC_Route_file(file_of(name, version, mtap_rank()), path);
        if (routed == VELOC_SUCCESS)
            tap_put_file(path, apilab_text(name, version, mtap_rank()));
        rc = VELOC_Checkpoint_end(routed == VELOC_SUCCESS);
    }
    if (rc != VELOC_SUCCESS)
        mtap_note("checkpoint '%s' %d: %s", name, version, VELOC_Error());
    return rc;
}

bool apilab_restores(const char *name, int version)
{
    char path[VELOC_MAX_NAME];
    bool is_right;

    if (VELOC_Restart_begin(name, version) != VELOC_SUCCESS) {
        mtap_note("restart of '%s' %d: %s", name, version, VELOC_Error());
        return false;
    }
    is_right =
        VELOC_Route_file(file_of(name, version, mtap_rank()), path) == VELOC_SUCCESS;
    if (!is_right)
        mtap_note("restart of '%s' %d: %s", name, version, VELOC_Error());
    else if (!tap_file_is(path, apilab_text(name, version, mtap_rank()))) {
        mtap_note("%s is not what was written", path);
        is_right = false;
    }
    return VELOC_Restart_end(is_right) == VELOC_SUCCESS && is_right;
}

/* --- what is there --- */

/* Calls act for every file below dir, and counts those that it wants. */
static int walk(const char *dir, const char *pattern, const char *without)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d))) {
        char path[4 * PATH];
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, without) == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            n += walk(path, pattern, without);
        else
            n += fnmatch(pattern, e->d_name, 0) == 0;
    }
    if (d)
        closedir(d);
    return n;
}

int apilab_files(const char *dir, const char *pattern)
{
    int n;

    MPI_Barrier(MPI_COMM_WORLD);
    n = walk(apilab_at("%s", dir), pattern, ".veloc");
    MPI_Barrier(MPI_COMM_WORLD);
    return n;
}

int apilab_lines(const char *file, const char *words)
{
    char *text, *line, *rest;
    int n = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    text = tap_get_file(apilab_at("%s", file), NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        n += strstr(line, words) != NULL;
    free(text);
    return n;
}

void apilab_lose_in(const char *store, const char *pattern)
{
    struct dirent **names;
    int n;

    MPI_Barrier(MPI_COMM_WORLD);
    n = mtap_rank() == 0 ? scandir(apilab_at("%s", store), &names, NULL, NULL) : -1;
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.' && fnmatch(pattern, names[i]->d_name, 0) == 0)
            tap_fresh_dir(apilab_at("%s/%s", store, names[i]->d_name));
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    MPI_Barrier(MPI_COMM_WORLD);
}

void apilab_lose(int node)
{
    char ending[32];

    snprintf(ending, sizeof ending, "*.v%d", node);
    apilab_lose_in("cache", ending);
}

void apilab_lose_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtap_rank() == 0)
        tap_fresh_dir(apilab_at("cache"));
    MPI_Barrier(MPI_COMM_WORLD);
}
