/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "tap/tap.h"
#include "veloc.h"

enum { PATH = 1024, PATHS = 16, START_MS = 30000, POLL_MS = 10 };

extern char **environ;

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

/* --- an agent --- */

/* Somebody listens at CNTL/USER/agent/s. */
static bool is_listening(const char *cntl)
{
    char pattern[2 * PATH];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    glob_t found = {0};
    bool is = false;
    int fd;

    snprintf(pattern, sizeof pattern, "%s/*/agent/s", cntl);
    if (glob(pattern, 0, NULL, &found) == 0) {
        snprintf(name.sun_path, sizeof name.sun_path, "%s", found.gl_pathv[0]);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is = fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) == 0;
        close(fd);
    }
    globfree(&found);
    return is;
}

pid_t apilab_agent_start(const char *cntl)
{
    const struct timespec pause = {0, POLL_MS * 1000000};
    const char *tools = getenv("TOOLS");
    char path[1200];
    char *argv[] = {path, NULL};
    pid_t pid;

    MPI_Barrier(MPI_COMM_WORLD);
    setenv("VELOC_CNTL_BASE", cntl, 1);
    if (mtap_rank() != 0)
        return 0;
    tap_fresh_dir(cntl);
    snprintf(path, sizeof path, "%s/h5veloc-agent", tools ? tools : ".");
    if (posix_spawn(&pid, path, NULL, NULL, argv, environ) != 0)
        return -1;
    for (int i = 0; !is_listening(cntl); i++) {
        if (i == START_MS / POLL_MS)
            return -1;
        nanosleep(&pause, NULL);
    }
    return pid;
}

bool apilab_agent_end(pid_t pid)
{
    int status;

    MPI_Barrier(MPI_COMM_WORLD);
    unsetenv("VELOC_CNTL_BASE");
    return mtap_rank() != 0 || (pid > 0 && kill(pid, SIGTERM) == 0 &&
                                waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- modes --- */

static const char *const modes[] = {"SYNC", "ASYNC", "AGENT"}; /* bits of the enum */
static const char *mode = "SYNC";

bool apilab_is_behind(void)
{
    return strcmp(mode, "SYNC") != 0;
}

/* An agent writes to the caches of a launch until that is over. */
static void await_agent(void)
{
    const struct timespec pause = {0, POLL_MS * 1000000};
    char pattern[2 * PATH];
    glob_t found = {0};

    snprintf(pattern, sizeof pattern, "%s/cntl/*/leader.*", mtap_dir());
    for (int i = 0; i < START_MS / POLL_MS; i++) {
        bool is_there = glob(pattern, 0, NULL, &found) == 0;

        globfree(&found);
        if (!is_there)
            return;
        nanosleep(&pause, NULL);
    }
    bail_out("an agent does not end %s", pattern);
}

void apilab_run(const struct apilab_test *tests, size_t n)
{
    char cntl[PATH + 8];
    unsigned all = 0;
    pid_t agent = 0;

    snprintf(cntl, sizeof cntl, "%s/cntl", mtap_dir());
    for (size_t i = 0; i < n; i++)
        all |= tests[i].modes;
    for (unsigned m = 0; all >> m; m++) {
        mode = modes[m];
        if (1U << m == APILAB_AGENT && (agent = apilab_agent_start(cntl)) < 0)
            bail_out("no agent begins");
        if (mtap_rank() == 0)
            printf("# MODE=%s\n", mode);
        for (size_t i = 0; i < n; i++)
            if (tests[i].modes & 1U << m)
                tests[i].run();
    }
    if (all & APILAB_AGENT)
        mok(apilab_agent_end(agent), "the agent ends when it is told");
    mode = modes[0];
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
             strstr(settings, "CNTL_BASE=") ? "" : "CNTL_BASE=$/cntl\n", settings);
    if (!strstr(settings, "MODE="))
        snprintf(text + strlen(text), sizeof text - strlen(text), "MODE=%s\n", mode);
    apilab_file(text);
}

void apilab_case(const char *name, int nodes, const char *settings)
{
    char number[16];

    snprintf(number, sizeof number, "%d", nodes);
    setenv("VELOC_VIRTUAL_NODES", number, 1);
    snprintf(root, sizeof root, "%s/%s.%s", mtap_dir(), mode, name);
    if (mtap_rank() == 0) {
        await_agent();
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

bool apilab_wait(void)
{
    if (VELOC_Checkpoint_wait() == VELOC_SUCCESS)
        return true;
    mtap_note("VELOC_Checkpoint_wait: %s", VELOC_Error());
    return false;
}

bool apilab_end(int cleanup)
{
    if (apilab_is_behind())
        VELOC_Checkpoint_wait();
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
    await_agent();
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
    await_agent();
    if (mtap_rank() == 0)
        tap_fresh_dir(apilab_at("cache"));
    MPI_Barrier(MPI_COMM_WORLD);
}
