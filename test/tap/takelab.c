/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/sockjob.h"
#include "tap/takelab.h"
#include "tap/tap.h"

enum { LIMIT_MS = 20000 };

struct takelab_told *takelab_told;

static char prefix_records[600], log_path[600], plugin_path[600];

/* --- launches ---------------------------------------------------------------------
 */

static void die(void *arg)
{
    (void)arg;
    takelab_told->has_fault = true;
    raise(SIGKILL);
}

/* Files whose records fail. */
static struct vel_fs_fault *make_faulty(const struct takelab_play *play)
{
    const struct vel_fs_fault_plan plan = {.mode = !play->fault     ? VEL_FS_FAULT_NONE
                                                   : play->is_fatal ? VEL_FS_FAULT_CRASH
                                                                    : VEL_FS_FAULT_ONCE,
                                           .at = play->fault,
                                           .below = prefix_records,
                                           .crash = die};
    struct vel_fs_fault *fault;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        bail_out("no twin");
    vel_fs_fault_arm(fault, &plan);
    return fault;
}

static int member(struct vel_comm *comm, void *arg)
{
    const struct takelab_play *play = arg;
    struct vel_fs_fault *fault = make_faulty(play);
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int64_t newest = 0;
    int rc;

    if (play->victim >= 0 && comm->rank != play->victim)
        sdk_spare();
    rc = seslab_open(play->lab, comm, vel_fs_fault_fs(fault), &s, &err);
    if (rc == 0)
        rc = seslab_newest(s, &newest, &err);
    if (rc == 0 && newest > 0)
        rc = seslab_restart(play->lab, s, newest, &err);
    for (int64_t v = play->first; rc == 0 && v <= play->last; v++)
        rc = seslab_checkpoint(play->lab, s, v, &err);
    if (rc == 0)
        rc = vel_session_close(s, "the end", &err);
    if (comm->rank == 0) {
        takelab_told->newest = newest;
        takelab_told->is_over = rc == 0;
    }
    takelab_told->has_fault |= vel_fs_fault_fired(fault);
    vel_fs_fault_destroy(fault);
    snprintf(takelab_told->why[comm->rank], VEL_ERR_TEXT, "%s", rc < 0 ? err.text : "");
    return rc < 0;
}

/* What ranks tell is in memory that all of them share. */
static void begin(void)
{
    if (takelab_told)
        return;
    takelab_told = mmap(NULL, sizeof *takelab_told, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (takelab_told == MAP_FAILED)
        bail_out("no memory");
}

bool takelab_run(const struct takelab_play *play, int ranks)
{
    begin();
    memset(takelab_told, 0, sizeof *takelab_told);
    bool is_well = sockjob_run_limit(ranks, "unix", LIMIT_MS, member,
                                     (void *)(uintptr_t)play) == 0;
    for (int i = 0; i < ranks; i++)
        if (takelab_told->why[i][0])
            note("rank %d: %s", i, takelab_told->why[i]);
    return is_well;
}

bool takelab_plays(const struct seslab *lab, int ranks, int64_t first, int64_t last)
{
    const struct takelab_play play = {
        .lab = lab, .first = first, .last = last, .victim = -1};

    return takelab_run(&play, ranks);
}

void takelab_init(struct seslab *lab, const char *service)
{
    sdk_reset();
    seslab_init(lab, 11);
    snprintf(prefix_records, sizeof prefix_records, "%s/.veloc/transfers", lab->prefix);
    snprintf(log_path, sizeof log_path, "%s", tap_path("log"));
    snprintf(plugin_path, sizeof plugin_path, "%s/test/sdk/.libs/%s.so",
             getenv("top_builddir"), service);
    takelab_forget();
    seslab_set(lab, "LOG_FILE", log_path);
    seslab_set(lab, "LOG_LEVEL", "INFO");
    seslab_set(lab, "FLUSH", "1");
    seslab_set(lab, "CACHE_SIZE", "3");
    seslab_set(lab, "FLUSH_PLUGIN", plugin_path);
}

const char *takelab_ask(const char *service)
{
    return strcmp(service, "bbapi") == 0 ? "BB_GetTransferInfo" : "dw_query_file_stage";
}

const char *takelab_start(const char *service)
{
    return strcmp(service, "bbapi") == 0 ? "BB_StartTransfer" : "dw_stage_file_out";
}

const char *takelab_stop(const char *service)
{
    return strcmp(service, "bbapi") == 0 ? "BB_CancelTransfer"
                                         : "dw_terminate_file_stage";
}

void takelab_die(struct seslab *lab, const char *service)
{
    takelab_init(lab, service);
    if (!takelab_plays(lab, 1, 1, 1))
        bail_out("the first launch fails");
    sdk_delay(20, false);
    sdk_fail(takelab_ask(service), 4, SDK_KILL);
    if (takelab_plays(lab, 1, 2, 2) || takelab_told->is_over)
        bail_out("the second launch is not killed");
}

/* --- what is left -----------------------------------------------------------------
 */

int takelab_records(char ret_path[1200])
{
    DIR *dir = opendir(prefix_records);
    const struct dirent *e;
    int n = 0;

    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.' || strlen(e->d_name) > 2) {
            n++;
            if (ret_path)
                snprintf(ret_path, 1200, "%s/%s", prefix_records, e->d_name);
        }
    if (dir)
        closedir(dir);
    return n;
}

void takelab_forget(void)
{
    unlink(log_path);
}

int takelab_lines(const char *words)
{
    char *log = tap_get_file(log_path, NULL), *save = NULL;
    int n = 0;

    for (char *line = log ? strtok_r(log, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        n += strstr(line, words) != NULL;
    free(log);
    return n;
}

void takelab_show(void)
{
    char *log = tap_get_file(log_path, NULL);

    note("%s", log ? log : "no log");
    free(log);
}

bool takelab_is_clean(const struct seslab *lab)
{
    char first[SESLAB_TEXT] = "", path[1200] = "";
    int strays = seslab_strays(lab, first), n = takelab_records(path);

    if (strays || n)
        note("%d strays, %d records, such as %s %s", strays, n, first, path);
    return !strays && !n;
}

bool takelab_is_on_prefix(const struct seslab *lab, int ranks, int64_t version)
{
    tap_fresh_dir(lab->cache);
    return takelab_plays(lab, ranks, 1, 0) && takelab_told->newest == version;
}

int takelab_said(const char *service)
{
    return sdk_count(takelab_start(service)) + sdk_count(takelab_ask(service)) +
           sdk_count(takelab_stop(service));
}
