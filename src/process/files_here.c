/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process that only has files knows of itself: settings, prefix, caches, launch;
 * found out when the first file needs it. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/load.h"
#include "engine/logsink.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/launch.h"
#include "meta/paths.h"
#include "meta/prefix.h"
#include "process/attend.h"
#include "process/files_in.h"
#include "process/homes.h"
#include "process/launcher.h"
#include "process/presence.h"
#include "topo/check.h"
#include "topo/group.h"

enum { LAUNCHES_MOST = 8 }; /* that end while we join them */

enum stage {
    NEW,     /* nothing is known */
    KNOWN,   /* settings, prefix, who we are */
    PRESENT, /* at the leader */
    OFF,     /* files are at their own paths */
};

static struct here {
    pthread_mutex_t lock; /* guards all of it but what is set once */
    enum stage stage;
    pid_t pid;
    struct vel_conf *own, *conf; /* as they were read, and in force */
    struct vel_host host;
    char *cwd, *prefix, *dir, *node;
    struct vel_index *index;
    char prefix_id[VEL_PREFIX_ID];
    char launch[VEL_LAUNCH_ROOM];
    struct vel_homes homes;
    struct vel_launcher launcher;
    bool is_mpi; /* MPI was up at the first file */
    struct vel_logfile *logfile;
    struct vel_presence *presence;
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

/* --- settings, names --- */

static void forget(void)
{
    vel_homes_fini(&here.homes);
    vel_index_close(here.index);
    here.index = NULL;
    free(here.dir);
    free(here.prefix);
    free(here.node);
    free(here.cwd);
    vel_host_fini(&here.host);
    if (here.own != here.conf)
        vel_conf_destroy(here.own);
    vel_conf_destroy(here.conf);
    here.dir = here.prefix = here.node = here.cwd = NULL;
    here.own = here.conf = NULL;
}

static int find_prefix(struct vel_err *err)
{
    char *path;
    int rc = here.cwd ? 0 : vel_fs_working_dir(&here.cwd, err);

    if (rc < 0)
        return rc;
    path = vel_path_absolute(here.cwd, here.conf->prefix ? here.conf->prefix : ".");
    if (!path)
        return vel_out_of_memory(err, "the prefix");
    rc = vel_fs_real_path(path, &here.prefix, err);
    free(path);
    if (rc == 0)
        here.dir = vel_veloc_dir(here.prefix);
    if (rc == 0)
        rc = here.dir ? vel_index_open(fs(), here.dir, &here.index, err)
                      : vel_out_of_memory(err, "the prefix");
    return rc;
}

static void find_rank(const struct vel_files_of *of)
{
    vel_launcher_ask(vel_conf_variable, NULL, &here.launcher);
    if (of->rank)
        here.is_mpi = of->rank(&here.launcher.rank, &here.launcher.ranks);
}

static int find_self(struct vel_err *err)
{
    struct vel_conf *conf = here.conf;
    int rc = vel_host_init(&here.host, err);

    if (rc == 0 && conf->user_name)
        rc = vel_host_set_user(&here.host, conf->user_name, err);
    if (rc == 0)
        rc = vel_node_name(conf, &here.host, (int)here.launcher.rank,
                           (int)here.launcher.ranks, &here.node, err);
    return rc;
}

/* Where messages go is the session's matter when there is one. */
static int open_log(struct vel_err *err)
{
    char who[300];
    struct vel_log_sink sink = {.who = here.launcher.ranks > 1 ? who : NULL,
                                .is_speaker = here.launcher.rank == 0};

    if (vel_files_has_session())
        return 0;
    snprintf(who, sizeof who, "rank %lld on %s", (long long)here.launcher.rank,
             here.node);
    return vel_logsink_open(here.conf, fs(), here.node, &sink, &here.logfile, err);
}

static int learn(const struct vel_files_of *of, struct vel_err *err)
{
    const struct vel_conf_layers layers = {
        .user_file = of->config, .unlisted = of->unlisted, .dataset = of->dataset};
    int rc = vel_conf_create(&here.conf, err);

    here.own = here.conf;
    if (rc == 0)
        rc = vel_conf_load(here.conf, fs(), &layers, err);
    if (rc < 0 || !here.conf->enable)
        return rc;
    if (vel_topo_check(here.conf, err) != VEL_TOPO_VALID)
        return VEL_ECONFIG;
    rc = find_prefix(err);
    if (rc == 0)
        rc = find_self(err);
    return rc < 0 ? rc : open_log(err);
}

/* Settings that VELOC_Init would refuse, and their like: the program's files are as
 * they are without us, those of all its processes, and rank 0 says why. */
static void know(const struct vel_files_of *of)
{
    struct vel_err why = {0};

    vel_orderly_watch(&of->mpi);
    find_rank(of);
    if (learn(of, &why) < 0) {
        if (here.launcher.rank == 0)
            vel_log(VEL_LOG_ERROR,
                    "%s: until this is mended HDF5 files are written to their own "
                    "paths, and are not protected",
                    why.text);
        forget();
        here.stage = OFF;
        return;
    }
    here.stage = here.conf->enable ? KNOWN : OFF;
}

/* --- caches, launch --- */

static int name_launch(const struct vel_background_of *of, struct vel_err *err)
{
    const struct vel_files_self self = {.conf = here.conf,
                                        .dir = here.dir,
                                        .cwd = here.cwd,
                                        .node = here.node,
                                        .user = here.host.user};
    bool differs;
    const char *session = vel_attend_launch(of, &differs);

    if (session) {
        snprintf(here.launch, sizeof here.launch, "%s", session);
        return 0;
    }
    if (differs)
        vel_log_shared(VEL_LOG_WARN,
                       "the settings of HDF5 files and those of VELOC_Init name other "
                       "caches: they are protected apart from each other");
    return vel_files_name_launch(&self, &here.launcher, here.launch, err);
}

/* In force is what this launch has agreed on, not one before it. A process alone has
 * nobody to agree with; a session's settings are those of its rank 0. */
static void agree(struct vel_background_of *of)
{
    bool is_alone = of->ranks == 1 || vel_files_has_session();
    struct vel_conf *agreed;

    if (here.conf != here.own)
        vel_conf_destroy(here.conf);
    here.conf = here.own;
    of->conf = here.own;
    agreed = is_alone ? NULL : vel_files_agree(of);
    if (agreed)
        of->conf = here.conf = agreed;
}

static int be_present(struct vel_err *err)
{
    struct vel_background_of of = {.conf = here.conf,
                                   .fs = fs(),
                                   .clock = vel_clock_system(),
                                   .prefix = here.prefix,
                                   .dir = here.dir,
                                   .prefix_id = here.prefix_id,
                                   .user = here.host.user,
                                   .node = here.node,
                                   .fresh = here.launch};
    int rc = vel_prefix_open(fs(), here.dir, here.prefix_id, err);

    if (rc == 0)
        rc = vel_homes_make(
            fs(), here.conf,
            &(struct vel_host){.node = here.node, .user = here.host.user},
            here.prefix_id, &here.homes, err);
    of.homes = here.homes.items;
    of.n_homes = here.homes.n;
    /* that may be over before we are in it, with its other ranks: then the next one */
    for (int i = 1; rc == 0 && !here.presence; i++) {
        rc = name_launch(&of, err);
        of.rank = (int)here.launcher.rank;
        of.ranks = (int)here.launcher.ranks;
        if (rc == 0)
            agree(&of);
        if (rc == 0)
            rc = vel_presence_open(&of, &here.presence, err);
        rc = rc == VEL_ECANCEL && i < LAUNCHES_MOST ? 0 : rc;
    }
    return rc;
}

static void abandon(void)
{
    if (here.pid == 0)
        return;
    vel_presence_abandon(here.presence);
    here.presence = NULL;
    here.stage = OFF;
    here.pid = 0;
    pthread_mutex_init(&here.lock, NULL); /* whoever held it is not here */
}

static void enter(enum vel_files_need need)
{
    struct vel_err why = {0};
    char id[VEL_PREFIX_ID];

    bool is_used = vel_prefix_look(fs(), here.dir, id, NULL) == 0;

    if (need == VEL_FILES_LOOKS && !is_used)
        return;
    if (be_present(&why) < 0) {
        vel_log(VEL_LOG_WARN,
                "HDF5 files are written where they belong, and not protected: %s",
                why.text);
        here.stage = OFF;
        return;
    }
    here.stage = PRESENT;
    here.pid = getpid();
    pthread_atfork(NULL, NULL, abandon);
}

void vel_files_begin(void)
{
    pthread_mutex_lock(&here.lock);
    if (!here.cwd)
        vel_fs_working_dir(&here.cwd, NULL);
    pthread_mutex_unlock(&here.lock);
}

struct vel_client *vel_files_here(const struct vel_files_of *of,
                                  enum vel_files_need need)
{
    pthread_mutex_lock(&here.lock);
    if (here.stage == NEW)
        know(of);
    if (here.stage == KNOWN)
        enter(need);
    if (here.stage == PRESENT && need == VEL_FILES_MAKES)
        vel_files_tell_unheeded();
    pthread_mutex_unlock(&here.lock);
    return vel_files_client();
}

bool vel_files_know(const struct vel_files_of *of)
{
    pthread_mutex_lock(&here.lock);
    if (here.stage == NEW)
        know(of);
    pthread_mutex_unlock(&here.lock);
    return here.conf && here.conf->enable;
}

struct vel_client *vel_files_client(void)
{
    return here.stage == PRESENT ? vel_presence_client(here.presence) : NULL;
}

const struct vel_conf *vel_files_conf(void)
{
    return here.conf;
}

const char *vel_files_prefix(void)
{
    return here.prefix;
}

const char *vel_files_dir(void)
{
    return here.dir;
}

struct vel_index *vel_files_index(void)
{
    return here.index;
}

char *vel_files_launch_dir(void)
{
    return here.dir && here.launch[0] ? vel_launch_dir(here.dir, here.launch) : NULL;
}

const struct vel_launcher *vel_files_launcher(void)
{
    return &here.launcher;
}

const char *vel_files_user(void)
{
    return here.host.user;
}

/* --- the view --- */

static int load_view(struct vel_view *ret, struct vel_err *err)
{
    char *path = vel_view_path(here.dir, here.launch);
    int rc =
        path ? vel_view_load(fs(), path, ret, err) : vel_out_of_memory(err, "the view");

    free(path);
    return rc;
}

int vel_files_ask_view(const char *name)
{
    struct vel_view view;
    int rc = load_view(&view, NULL);

    if (rc < 0)
        return rc == VEL_ENOENT ? VEL_ESTATE : rc;
    rc = vel_view_find_name(&view, name) ? 0 : VEL_ENOENT;
    vel_view_fini(&view);
    return rc;
}

int vel_files_view(struct vel_view *ret, struct vel_err *err)
{
    int rc;

    if (!here.conf)
        return vel_fail(err, VEL_ECONFIG,
                        "this process has settings that cannot be used: the log says "
                        "why");
    if (here.stage == KNOWN || !here.conf->enable)
        return vel_fail(err, VEL_ENOENT, "no program has used this prefix");
    if (!vel_files_client())
        return vel_fail(
            err, VEL_ESTATE,
            "this process has no leader to ask: it was forked, or the log says "
            "why");
    rc = vel_presence_wait_for_view(here.presence, err);
    return rc < 0 ? rc : load_view(ret, err);
}

/* --- a session of the same process --- */

const char *vel_files_launch(const struct vel_background_of *of, bool *ret_differs)
{
    const struct vel_background_of own = {.conf = here.conf,
                                          .prefix_id = here.prefix_id,
                                          .homes = here.homes.items,
                                          .n_homes = here.homes.n};

    *ret_differs = false;
    return here.stage == PRESENT && vel_attend_fits(&own, of, ret_differs) ? here.launch
                                                                           : NULL;
}

void vel_files_go_on(void)
{
    struct vel_err why = {0};

    pthread_mutex_lock(&here.lock);
    if (here.conf && here.node) {
        if (here.logfile)
            vel_logfile_close(here.logfile, NULL);
        here.logfile = NULL;
        if (open_log(&why) < 0)
            vel_log(VEL_LOG_WARN, "%s", why.text);
    }
    pthread_mutex_unlock(&here.lock);
}

/* What is left is at its own path. */
static void leave(enum vel_presence_end how)
{
    struct vel_err why = {0};

    pthread_mutex_lock(&here.lock);
    bool is_ours = here.stage == PRESENT && here.pid == getpid();
    here.stage = is_ours ? OFF : here.stage;
    pthread_mutex_unlock(&here.lock);
    if (!is_ours)
        return;
    if (vel_presence_leave(here.presence, how, &why) < 0)
        vel_log(VEL_LOG_INFO, "%s", why.text);
    here.presence = NULL;
}

/* --- the end --- */

/* By itself after all that the program has asked to be done at its end: HDF5 closes
 * what was left open only then. */
__attribute__((destructor)) void vel_files_leave(void)
{
    bool is_in_order = vel_orderly_is();

    if (here.stage == PRESENT && here.pid == getpid())
        vel_attend_end(is_in_order);
    /* ranks of MPI have all begun before one is finalized */
    leave(!is_in_order  ? VEL_PRESENCE_FAILS
          : here.is_mpi ? VEL_PRESENCE_ENDS_MPI
                        : VEL_PRESENCE_ENDS);
    vel_files_tell_end();
}
