/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/shared.h"
#include "ident/endpoint.h"
#include "ident/launchid.h"
#include "ident/role.h"
#include "meta/paths.h"
#include "node/about.h"
#include "process/guest.h"
#include "process/homes.h"
#include "sys/clock.h"
#include "sys/fs_limit.h"

enum { LOOKS = 20, HANGS = 4 }; /* of T: between looks; that we wait for the prefix */

/* A launch that was seen. */
struct seen {
    char *launch;
    int64_t beat;
    bool is_there;
};

struct vel_guest {
    const struct vel_host *host;
    const struct vel_conf *conf;
    char *dir; /* PREFIX/.veloc */
    struct vel_fs_limit *limit;
    struct vel_fs *fs;
    bool is_bound;
    uint64_t look_at;
    struct vel_vec seen; /* struct seen */
};

static uint64_t limit_of(const struct vel_guest *guest)
{
    return (uint64_t)(guest->conf->peer_timeout * (double)VEL_CLOCK_S);
}

/* --- what was seen --- */

static struct seen *seen_at(const struct vel_guest *guest, size_t i)
{
    return vel_vec_at(&guest->seen, i);
}

static struct seen *see(struct vel_guest *guest, const char *launch)
{
    struct seen fresh = {0};

    for (size_t i = 0; i < guest->seen.n; i++)
        if (strcmp(seen_at(guest, i)->launch, launch) == 0)
            return seen_at(guest, i);
    fresh.launch = strdup(launch);
    if (fresh.launch && vel_vec_push(&guest->seen, &fresh))
        return seen_at(guest, guest->seen.n - 1);
    free(fresh.launch);
    return NULL;
}

static void forget_gone(struct vel_guest *guest, bool all)
{
    for (size_t i = guest->seen.n; i-- > 0;) {
        struct seen *seen = seen_at(guest, i);

        if (!all && seen->is_there) {
            seen->is_there = false;
            continue;
        }
        free(seen->launch);
        vel_vec_remove(&guest->seen, i);
    }
}

/* --- is it one that lives, elsewhere? --- */

/* Virtual nodes of this machine are named behind it. */
static bool is_here(const struct vel_guest *guest, const char *node)
{
    size_t len = strlen(guest->host->node);

    return strncmp(node, guest->host->node, len) == 0 &&
           (node[len] == '\0' || node[len] == '.');
}

static bool lives_elsewhere(const struct vel_guest *guest, const char *living)
{
    bool is = *living;

    while (is && *living) {
        is = !is_here(guest, living);
        living += strcspn(living, " ");
        living += strspn(living, " ");
    }
    return is;
}

static bool has_been_here(const struct vel_guest *guest, const char *dir)
{
    struct vel_vec nodes;
    bool is = vel_endpoint_list(guest->fs, dir, &nodes, NULL) < 0;

    if (is)
        return true;
    for (size_t i = 0; i < nodes.n; i++)
        is = is || is_here(guest, ((struct vel_endpoint *)vel_vec_at(&nodes, i))->node);
    vel_endpoint_list_fini(&nodes);
    return is;
}

/* Its beat moves, and tells of processes on other nodes only. */
static bool is_wanted(struct vel_guest *guest, const char *launch, const char *dir)
{
    struct seen *seen = see(guest, launch);
    struct vel_beat beat = {0};
    bool is = false, is_over;

    if (seen &&
        vel_launch_is_over(guest->fs, guest->dir, launch, &is_over, NULL) == 0 &&
        !is_over && vel_beat_load(guest->fs, dir, &beat, NULL) == 0) {
        is = seen->beat > 0 && beat.count != seen->beat && beat.living &&
             lives_elsewhere(guest, beat.living) && !has_been_here(guest, dir);
        seen->beat = beat.count;
    }
    if (seen)
        seen->is_there = true;
    vel_beat_fini(&beat);
    return is;
}

/* --- to take part --- */

/* As a process of this node would begin, whose CACHE_BASE may have the node's name in
 * it; the agent finds it among its launches. */
static int join(struct vel_guest *guest, const char *dir, struct vel_err *err)
{
    struct vel_about about = {0};
    struct vel_conf *conf = NULL;
    struct vel_homes homes = {0};
    struct vel_role *role = NULL;
    int rc = vel_about_load(guest->fs, dir, &about, err);

    if (rc < 0)
        return rc;
    if (strcmp(about.host.user, guest->host->user) != 0)
        rc = vel_fail(err, VEL_EUNSAFE, "it is a launch of %s", about.host.user);
    if (rc == 0)
        rc = vel_conf_on_node(about.conf, about.host.node, guest->conf, &conf, err);
    if (rc == 0)
        rc = vel_homes_make(vel_fs_posix(), conf, guest->host, about.prefix_id, &homes,
                            err);
    if (rc == 0)
        rc = vel_role_open(vel_fs_posix(), guest->host, guest->conf->cntl_base,
                           about.launch, &role, err);
    const struct vel_service_of of = {.fs = vel_fs_posix(),
                                      .host = guest->host,
                                      .conf = conf,
                                      .launch = about.launch,
                                      .prefix = about.prefix,
                                      .dir = about.dir,
                                      .prefix_id = about.prefix_id,
                                      .named = about.named,
                                      .ranks = about.ranks,
                                      .homes = homes.items,
                                      .n_homes = homes.n,
                                      .is_guest = true};
    if (rc == 0)
        rc = vel_about_save(&of, vel_role_endpoint(role), err);
    vel_role_close(role);
    vel_homes_fini(&homes);
    vel_conf_destroy(conf);
    vel_about_fini(&about);
    return rc;
}

static void look_at(struct vel_guest *guest, const char *launch)
{
    struct vel_err why = {0};
    char *dir = vel_launch_dir(guest->dir, launch);

    if (dir && is_wanted(guest, launch, dir)) {
        if (join(guest, dir, &why) == 0)
            vel_log(VEL_LOG_INFO, "helps launch %s, which has no process on %s", launch,
                    guest->host->node);
        else
            vel_log(VEL_LOG_DEBUG, "launch %s is not helped: %s", launch, why.text);
    }
    free(dir);
}

void vel_guest_look(struct vel_guest *guest)
{
    uint64_t now = vel_clock_monotonic(vel_clock_system());
    struct vel_vec launches;

    if (now < guest->look_at)
        return;
    guest->look_at = now + limit_of(guest) / LOOKS;
    if (!guest->is_bound)
        vel_fs_limit_bind(guest->limit);
    guest->is_bound = true;
    vel_vec_init(&launches, sizeof(char *));
    if (vel_launch_list(guest->fs, guest->dir, &launches, NULL) == 0) {
        for (size_t i = 0; i < launches.n; i++)
            look_at(guest, *(char **)vel_vec_at(&launches, i));
        forget_gone(guest, false);
    }
    vel_fs_names_fini(&launches);
}

/* --- life --- */

static int find_dir(struct vel_guest *guest, struct vel_err *err)
{
    char *cwd = NULL, *path;
    int rc = vel_fs_working_dir(&cwd, err);

    if (rc < 0)
        return rc;
    path = vel_path_absolute(cwd, guest->conf->prefix ? guest->conf->prefix : ".");
    guest->dir = path ? vel_veloc_dir(path) : NULL;
    free(path);
    free(cwd);
    return guest->dir ? 0 : vel_out_of_memory(err, "the prefix");
}

int vel_guest_create(const struct vel_host *host, const struct vel_conf *conf,
                     struct vel_guest **ret_guest, struct vel_err *err)
{
    struct vel_guest *guest = calloc(1, sizeof *guest);
    int rc;

    if (!guest)
        return vel_out_of_memory(err, "an agent");
    guest->host = host;
    guest->conf = conf;
    vel_vec_init(&guest->seen, sizeof(struct seen));
    rc = find_dir(guest, err);
    if (rc == 0)
        rc = vel_fs_limit_create(vel_fs_posix(), guest->dir, limit_of(guest) / HANGS,
                                 &guest->limit, err);
    if (rc < 0) {
        vel_guest_destroy(guest);
        return rc;
    }
    guest->fs = vel_fs_limit_fs(guest->limit);
    *ret_guest = guest;
    return 0;
}

void vel_guest_destroy(struct vel_guest *guest)
{
    if (!guest)
        return;
    forget_gone(guest, true);
    vel_vec_fini(&guest->seen);
    vel_fs_limit_destroy(guest->limit);
    free(guest->dir);
    free(guest);
}
