/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files form a dataset is the same for all processes of a launch: as the settings
 * say of whichever comes first, which are in its record (node/about.h). Who has others
 * would keep its files out of the datasets of the others, and nobody would miss them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/shared.h"
#include "engine/background.h"
#include "ident/once.h"
#include "meta/launch.h"
#include "node/about.h"
#include "process/files_in.h"

enum { FORMAT = 1, WHO = 300 };

/* Who finds none makes it, and one of those counts. */
static int load_first(const struct vel_background_of *of, const char *dir,
                      struct vel_about *ret, struct vel_err *err)
{
    const struct vel_host host = {.node = (char *)of->node, .user = (char *)of->user};
    char who[WHO];
    const struct vel_service_of service = {.fs = of->fs,
                                           .clock = of->clock,
                                           .host = &host,
                                           .conf = of->conf,
                                           .launch = of->fresh,
                                           .prefix = of->prefix,
                                           .dir = of->dir,
                                           .prefix_id = of->prefix_id,
                                           .named = "",
                                           .who = who,
                                           .ranks = of->ranks,
                                           .homes = of->homes,
                                           .n_homes = of->n_homes};
    int rc = vel_about_load(of->fs, dir, ret, NULL);

    if (rc != VEL_ENOENT)
        return rc < 0 ? vel_about_load(of->fs, dir, ret, err) : 0;
    snprintf(who, sizeof who, "rank %d on %s", of->rank, of->node);
    rc = vel_about_share(&service, dir, err);
    return rc < 0 ? rc : vel_about_load(of->fs, dir, ret, err);
}

/* Of a thousand nodes without a line one says so. */
static bool is_first_to_tell(const struct vel_background_of *of, const char *dir)
{
    struct vel_node *body = vel_node_object();
    char *path = vel_path_join(dir, "differs");
    bool is_mine = true;

    if (!body || !path || vel_node_set_text(body, "node", of->node) < 0 ||
        vel_once_unsynced(of->fs, path, "differs", FORMAT, body, &is_mine, NULL) < 0)
        is_mine = true;
    vel_node_destroy(body);
    free(path);
    return is_mine;
}

static void tell(const struct vel_background_of *of, const char *dir, const char *who,
                 const struct vel_buf *there, const struct vel_buf *here,
                 const struct vel_err *why)
{
    enum vel_log_level level = is_first_to_tell(of, dir) ? VEL_LOG_WARN : VEL_LOG_INFO;

    if (why->status)
        vel_log(level,
                "this process has other settings than %s, which came first: %s there, "
                "%s here; it goes by its own, for the DATASET lines from there are of "
                "no use here (%s), so datasets may lack its files: give all processes "
                "of a launch the same files of settings and VELOC_ variables",
                who, vel_buf_text(there), vel_buf_text(here), why->text);
    else
        vel_log(level,
                "this process has other settings than %s, which came first: %s there, "
                "%s here; all processes of a launch go by the DATASET lines and "
                "UNLISTED of the first, and each by its own of all else: give all the "
                "same files of settings and VELOC_ variables",
                who, vel_buf_text(there), vel_buf_text(here));
}

static void compare(const struct vel_background_of *of, const char *dir,
                    const struct vel_about *first, struct vel_conf **ret)
{
    struct vel_buf there, here, who;
    struct vel_err why = {0};

    vel_buf_init(&there);
    vel_buf_init(&here);
    vel_buf_init(&who);
    if (vel_conf_differ(first->conf, of->conf, &there, &here)) {
        if (first->who)
            vel_buf_puts(&who, first->who);
        else
            vel_buf_printf(&who, "a process on %s", first->host.node);
        vel_conf_share(of->conf, first->conf, vel_buf_text(&who), ret, &why);
        tell(of, dir, vel_buf_text(&who), &there, &here, &why);
    }
    vel_buf_fini(&who);
    vel_buf_fini(&here);
    vel_buf_fini(&there);
}

struct vel_conf *vel_files_agree(const struct vel_background_of *of)
{
    char *dir = vel_launch_dir(of->dir, of->fresh);
    struct vel_about first = {0};
    struct vel_conf *conf = NULL;
    struct vel_err why = {0};
    int rc =
        dir ? load_first(of, dir, &first, &why) : vel_out_of_memory(&why, "a path");

    if (rc == 0)
        compare(of, dir, &first, &conf);
    else
        vel_log(VEL_LOG_INFO,
                "whether all processes of this launch have the same settings is not "
                "known: %s",
                why.text);
    vel_about_fini(&first);
    free(dir);
    return conf;
}
