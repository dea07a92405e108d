/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "ident/role.h"
#include "jobs/promise.h"
#include "link/client.h"
#include "meta/paths.h"
#include "node/about.h"
#include "node/agent.h"
#include "process/affairs.h"
#include "sys/user_dir.h"

/* --- free --- */

static void affair_fini(struct vel_affair *affair)
{
    free(affair->launch);
    free(affair->node);
    free(affair->prefix);
    free(affair->endpoint);
}

static void owed_fini(struct vel_affair_owed *owed)
{
    free(owed->node);
    free(owed->launch);
    free(owed->dir);
}

void vel_affairs_fini(struct vel_affairs *affairs)
{
    for (size_t i = 0; i < affairs->launches.n; i++)
        affair_fini(vel_vec_at(&affairs->launches, i));
    vel_vec_fini(&affairs->launches);
    for (size_t i = 0; i < affairs->owed.n; i++)
        owed_fini(vel_vec_at(&affairs->owed, i));
    vel_vec_fini(&affairs->owed);
}

/* --- leaders --- */

/* Ask its leader, or wait until it has nothing left. */
static void ask(struct vel_affair *affair, bool drains, unsigned limit_ms)
{
    const struct vel_client_conf conf = {.rank = VEL_MSG_NO_RANK,
                                         .launch = affair->launch,
                                         .node = affair->node,
                                         .leader = affair->endpoint,
                                         .limit_ms = limit_ms};
    struct vel_progress progress = {0};
    struct vel_client *client = NULL;
    int rc = vel_client_open_tool(&conf, &client, &affair->err);

    if (rc == 0)
        rc = drains ? vel_client_drain(client, 0, 0, &progress, &affair->err)
                    : vel_client_ask(client, 0, &progress, &affair->err);
    if (rc == 0) {
        affair->left = progress.left;
        affair->moved = progress.moved;
        if (progress.status)
            vel_fail(&affair->err, (enum vel_status)progress.status, "%s",
                     progress.text);
    }
    vel_client_close(client);
}

void vel_affair_drain(struct vel_affair *affair, unsigned limit_ms)
{
    affair->err = (struct vel_err){0};
    ask(affair, true, limit_ms);
}

static int describe(struct vel_affair *affair, struct vel_fs *fs,
                    const struct vel_about *about, const char *base,
                    struct vel_err *err)
{
    struct vel_role *role = NULL;
    int rc = vel_role_find(fs, &about->host, base, about->launch, &role, err);

    if (rc < 0)
        return rc;
    affair->launch = strdup(about->launch);
    affair->node = strdup(about->host.node);
    affair->prefix = strdup(about->prefix);
    affair->endpoint = strdup(vel_role_endpoint(role));
    affair->has_processes = !vel_role_is_deserted(role);
    affair->leader = !vel_role_is_taken(role)   ? VEL_LED_BY_NOBODY
                     : vel_role_is_agents(role) ? VEL_LED_BY_AGENT
                                                : VEL_LED_BY_PROCESS;
    vel_role_close(role);
    return affair->launch && affair->node && affair->prefix && affair->endpoint
               ? 0
               : vel_out_of_memory(err, "a launch");
}

/* --- promises --- */

static bool is_led(const struct vel_affairs *affairs, const struct vel_promise *promise)
{
    for (size_t i = 0; i < affairs->launches.n; i++) {
        const struct vel_affair *affair = vel_vec_at(&affairs->launches, i);

        if (affair->leader != VEL_LED_BY_NOBODY &&
            strcmp(affair->launch, promise->launch) == 0 &&
            strcmp(affair->node, promise->node) == 0)
            return true;
    }
    return false;
}

static bool is_aside(struct vel_fs *fs, const struct vel_promise *promise)
{
    char *level = vel_path_dir(promise->home);
    char *path = level ? vel_cache_aside_path(level, promise->id) : NULL;
    bool is = path && vel_fs_exists(fs, path);

    free(path);
    free(level);
    return is;
}

static int add_owed(struct vel_affairs *affairs, struct vel_fs *fs,
                    const struct vel_promise *promise, struct vel_err *err)
{
    unsigned what = vel_promise_what(promise);
    struct vel_affair_owed owed = {.dataset = promise->id,
                                   .node = strdup(promise->node),
                                   .launch = strdup(promise->launch),
                                   .dir = strdup(promise->home),
                                   .is_encode = what & VEL_PROMISE_ENCODE,
                                   .is_flush = what & VEL_PROMISE_FLUSH,
                                   .is_led = is_led(affairs, promise),
                                   .is_aside = is_aside(fs, promise),
                                   .last = promise->last};

    if (owed.node && owed.launch && owed.dir && vel_vec_push(&affairs->owed, &owed))
        return 0;
    owed_fini(&owed);
    return vel_out_of_memory(err, "promises");
}

static int scan_home(struct vel_affairs *affairs, struct vel_fs *fs, const char *home,
                     struct vel_err *err)
{
    struct vel_vec promises;
    int rc;

    vel_vec_init(&promises, sizeof(struct vel_promise));
    rc = vel_promises_scan(fs, home, NULL, &promises, err);
    for (size_t i = 0; rc == 0 && i < promises.n; i++)
        rc = add_owed(affairs, fs, vel_vec_at(&promises, i), err);
    vel_promises_fini(&promises);
    return rc;
}

/* --- caches --- */

static int add_home(struct vel_vec *homes, const char *home, struct vel_err *err)
{
    char *copy;

    for (size_t i = 0; i < homes->n; i++)
        if (strcmp(*(char **)vel_vec_at(homes, i), home) == 0)
            return 0;
    copy = strdup(home);
    if (copy && vel_vec_push(homes, &copy))
        return 0;
    free(copy);
    return vel_out_of_memory(err, "caches");
}

/* The caches of all prefixes below a store. */
static int add_store(struct vel_vec *homes, struct vel_fs *fs, const char *store,
                     const char *user, struct vel_err *err)
{
    char *dir = vel_user_dir(fs, store, user);
    struct vel_vec names;
    int rc = dir ? 0 : vel_out_of_memory(err, "caches");

    vel_vec_init(&names, sizeof(char *));
    if (rc == 0 && vel_fs_list(fs, dir, &names, NULL) < 0)
        names.n = 0; /* there is no cache */
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char *home = vel_path_join(dir, *(char **)vel_vec_at(&names, i));
        struct stat st;

        if (!home)
            rc = vel_out_of_memory(err, "caches");
        else if (vel_fs_lstat(fs, home, &st, NULL) == 0 && S_ISDIR(st.st_mode))
            rc = add_home(homes, home, err);
        free(home);
    }
    vel_fs_names_fini(&names);
    free(dir);
    return rc;
}

static int add_stores(struct vel_vec *homes, struct vel_fs *fs,
                      const struct vel_conf *conf, const char *user,
                      struct vel_err *err)
{
    const struct vel_line *line;
    int rc = add_store(homes, fs, conf->cache_base, user, err);

    for (size_t i = 0; rc == 0 && (line = vel_conf_line(conf, VEL_STORE, i)) != NULL;
         i++)
        rc = add_store(homes, fs, line->name, user, err);
    return rc;
}

/* --- all --- */

static int add_launch(struct vel_affairs *affairs, struct vel_vec *homes,
                      struct vel_fs *fs, const char *dir, const char *base,
                      struct vel_err *err)
{
    struct vel_about about = {0};
    struct vel_affair affair = {0};
    int rc = vel_about_load(fs, dir, &about, NULL);

    if (rc < 0) /* it is just being made, or removed */
        return rc == VEL_ENOMEM ? vel_out_of_memory(err, "a launch") : 0;
    rc = describe(&affair, fs, &about, base, err);
    for (size_t i = 0; rc == 0 && i < about.n_homes; i++)
        rc = add_home(homes, about.homes[i], err);
    if (rc == 0 && !vel_vec_push(&affairs->launches, &affair))
        rc = vel_out_of_memory(err, "a launch");
    if (rc < 0)
        affair_fini(&affair);
    vel_about_fini(&about);
    return rc;
}

static int load(struct vel_affairs *affairs, struct vel_vec *homes, struct vel_fs *fs,
                const struct vel_host *host, const struct vel_conf *conf,
                unsigned limit_ms, struct vel_err *err)
{
    struct vel_vec dirs;
    int rc;

    vel_vec_init(&dirs, sizeof(char *));
    rc = vel_role_list(fs, host, conf->cntl_base, &dirs, err);
    for (size_t i = 0; rc == 0 && i < dirs.n; i++)
        rc = add_launch(affairs, homes, fs, *(char **)vel_vec_at(&dirs, i),
                        conf->cntl_base, err);
    vel_fs_names_fini(&dirs);
    if (rc == 0)
        rc = add_stores(homes, fs, conf, host->user, err);
    for (size_t i = 0; rc == 0 && i < homes->n; i++)
        rc = scan_home(affairs, fs, *(char **)vel_vec_at(homes, i), err);
    for (size_t i = 0; rc == 0 && i < affairs->launches.n; i++) {
        struct vel_affair *affair = vel_vec_at(&affairs->launches, i);

        if (affair->leader != VEL_LED_BY_NOBODY)
            ask(affair, false, limit_ms);
    }
    return rc;
}

int vel_affairs_load(struct vel_fs *fs, const struct vel_host *host,
                     const struct vel_conf *conf, unsigned limit_ms,
                     struct vel_affairs *ret, struct vel_err *err)
{
    struct vel_affairs affairs = {0};
    struct vel_vec homes;
    int rc;

    vel_vec_init(&homes, sizeof(char *));
    vel_vec_init(&affairs.launches, sizeof(struct vel_affair));
    vel_vec_init(&affairs.owed, sizeof(struct vel_affair_owed));
    affairs.has_agent =
        vel_agent_knock(fs, host, conf->cntl_base, NULL, limit_ms, NULL) == 0;
    rc = load(&affairs, &homes, fs, host, conf, limit_ms, err);
    vel_fs_names_fini(&homes);
    if (rc == 0)
        *ret = affairs;
    else
        vel_affairs_fini(&affairs);
    return rc;
}
