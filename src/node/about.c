/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "conf/lines.h"
#include "conf/schema.h"
#include "ident/launchid.h"
#include "ident/once.h"
#include "meta/dataset.h"
#include "node/about.h"
#include "record/record.h"

enum { FORMAT = 2 }; /* 1 had no lines: who led by it knew no levels and rules */

static const char type[] = "launch-here";

/* "unix:DIR/s" to DIR/about */
static char *path_beside(const char *endpoint)
{
    char *dir = vel_path_dir(strchr(endpoint, ':') + 1);
    char *path = dir ? vel_path_join(dir, "about") : NULL;

    free(dir);
    return path;
}

/* --- save --- */

/* Settings that were given; the others have their defaults with the reader, too. */
static int put_settings(const struct vel_conf *conf, struct vel_node *body)
{
    struct vel_node *settings = vel_node_object();
    int rc = settings ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < vel_schema_count(); i++)
        if (conf->sources[i].layer != VEL_LAYER_DEFAULT)
            rc =
                vel_node_set_name(settings, vel_schema_setting(i)->key, conf->texts[i]);
    if (rc == 0)
        return vel_node_adopt(body, "settings", settings);
    vel_node_destroy(settings);
    return rc;
}

static int put_lines(const struct vel_conf *conf, struct vel_node *body)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    vel_conf_lines_text(conf, &text);
    rc = vel_buf_status(&text, NULL);
    if (rc == 0)
        rc = vel_node_set_name(body, "lines", vel_buf_text(&text));
    vel_buf_fini(&text);
    return rc;
}

static int put_homes(const struct vel_service_of *of, struct vel_node *body)
{
    struct vel_node *homes = vel_node_list();
    int rc = homes ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < of->n_homes; i++)
        rc = vel_node_append_name(homes, of->homes[i]);
    if (rc == 0)
        return vel_node_adopt(body, "homes", homes);
    vel_node_destroy(homes);
    return rc;
}

static int save(const struct vel_service_of *of, char *path, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    bool is_mine;
    int rc = 0;

    if (!body || !path || vel_node_set_text(body, "launch", of->launch) ||
        vel_node_set_text(body, "node", of->host->node) ||
        vel_node_set_text(body, "user", of->host->user) ||
        vel_node_set_name(body, "prefix", of->prefix) ||
        vel_node_set_name(body, "dir", of->dir) ||
        vel_node_set_text(body, "id", of->prefix_id) ||
        vel_node_set_text(body, "named", of->named) ||
        vel_node_set_int(body, "ranks", of->ranks) ||
        (of->is_guest && vel_node_set_bool(body, "guest", true)) ||
        (of->who && vel_node_set_text(body, "who", of->who)) || put_homes(of, body) ||
        put_settings(of->conf, body) || put_lines(of->conf, body))
        rc = vel_out_of_memory(err, "a launch");
    /* all processes of the node come here at once */
    if (rc == 0 && !vel_fs_exists(of->fs, path))
        rc = vel_once_unsynced(of->fs, path, type, FORMAT, body, &is_mine, err);
    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_about_save(const struct vel_service_of *of, const char *endpoint,
                   struct vel_err *err)
{
    return save(of, path_beside(endpoint), err);
}

int vel_about_share(const struct vel_service_of *of, const char *dir,
                    struct vel_err *err)
{
    return save(of, vel_path_join(dir, "about"), err);
}

/* --- load --- */

void vel_about_fini(struct vel_about *about)
{
    vel_host_fini(&about->host);
    for (size_t i = 0; i < about->n_homes; i++)
        free(about->homes[i]);
    free(about->homes);
    free(about->launch);
    free(about->prefix);
    free(about->dir);
    free(about->prefix_id);
    free(about->named);
    free(about->who);
    vel_conf_destroy(about->conf);
    *about = (struct vel_about){0};
}

static int get_text(const struct vel_node *body, const char *key, char **ret,
                    struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(body, key, &text, err);

    if (rc == 0 && !(*ret = strdup(text)))
        rc = vel_out_of_memory(err, "a launch");
    return rc;
}

static int get_path(const struct vel_node *body, const char *key, char **ret,
                    struct vel_err *err)
{
    int rc = vel_node_get_name(body, key, ret, err);

    if (rc == 0 && **ret != '/')
        rc = vel_fail(err, VEL_ECORRUPT, "%s: '%s' is no absolute path", key, *ret);
    return rc;
}

static int get_homes(const struct vel_node *body, struct vel_about *about,
                     struct vel_err *err)
{
    const struct vel_node *list = NULL;
    int rc = vel_node_get_list(body, "homes", &list, err);

    if (rc < 0)
        return rc;
    about->homes = calloc(vel_node_count(list) + 1, sizeof *about->homes);
    if (!about->homes)
        return vel_out_of_memory(err, "a launch");
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        rc = vel_node_name_at(list, i, &about->homes[i], err);
        about->n_homes += rc == 0;
        if (rc == 0 && *about->homes[i] != '/')
            rc = vel_fail(err, VEL_ECORRUPT, "homes: '%s' is no absolute path",
                          about->homes[i]);
    }
    return rc;
}

static int get_settings(const struct vel_node *body, struct vel_about *about,
                        struct vel_err *err)
{
    const struct vel_source source = {.layer = VEL_LAYER_USER, .where = "a launch"};
    const struct vel_node *settings = NULL;
    int rc = vel_conf_create(&about->conf, err);

    if (rc == 0)
        rc = vel_node_get_object(body, "settings", &settings, err);
    for (size_t i = 0; rc == 0 && i < vel_schema_count(); i++) {
        const char *key = vel_schema_setting(i)->key;
        char *text = NULL;

        if (!vel_node_has(settings, key))
            continue;
        rc = vel_node_get_name(settings, key, &text, err);
        if (rc == 0)
            rc = vel_conf_set(about->conf, i, text, &source, err);
        free(text);
    }
    return rc;
}

static int get_lines(const struct vel_node *body, struct vel_about *about,
                     struct vel_err *err)
{
    char *text = NULL;
    int rc = vel_node_get_name(body, "lines", &text, err);

    if (rc == 0)
        rc = vel_conf_lines_take(about->conf, "a launch", text, err);
    free(text);
    return rc;
}

static int get_all(const struct vel_node *body, struct vel_about *about,
                   struct vel_err *err)
{
    int rc;

    if ((rc = get_text(body, "launch", &about->launch, err)) < 0 ||
        (rc = get_text(body, "node", &about->host.node, err)) < 0 ||
        (rc = get_text(body, "user", &about->host.user, err)) < 0 ||
        (rc = get_path(body, "prefix", &about->prefix, err)) < 0 ||
        (rc = get_path(body, "dir", &about->dir, err)) < 0 ||
        (rc = get_text(body, "id", &about->prefix_id, err)) < 0 ||
        (rc = get_text(body, "named", &about->named, err)) < 0 ||
        (rc = vel_node_get_int(body, "ranks", 0, VEL_RANKS_MAX, &about->ranks, err)) <
            0 ||
        (rc = get_homes(body, about, err)) < 0)
        return rc;
    if (vel_node_has(body, "guest") &&
        (rc = vel_node_get_bool(body, "guest", &about->is_guest, err)) < 0)
        return rc;
    if (vel_node_has(body, "who") && (rc = get_text(body, "who", &about->who, err)) < 0)
        return rc;
    if (!vel_launch_is_name(about->launch) || !vel_host_is_name(about->host.node) ||
        !vel_host_is_name(about->host.user))
        return vel_fail(err, VEL_ECORRUPT, "a launch, node or user without a name");
    rc = get_settings(body, about, err);
    return rc < 0 ? rc : get_lines(body, about, err);
}

int vel_about_load(struct vel_fs *fs, const char *dir, struct vel_about *ret,
                   struct vel_err *err)
{
    char *path = vel_path_join(dir, "about");
    struct vel_about about = {0};
    struct vel_node *body = NULL;
    struct vel_err why = {0};
    int version,
        rc = path ? vel_record_load(fs, path, type, FORMAT, &version, &body, err)
                  : vel_out_of_memory(err, "a launch");

    if (rc == 0) {
        rc = get_all(body, &about, &why);
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s: %s", path, why.text);
    }
    vel_node_destroy(body);
    free(path);
    if (rc == 0)
        *ret = about;
    else
        vel_about_fini(&about);
    return rc;
}

void vel_about_elsewhere(struct vel_fs *fs, const char *dir,
                         const struct vel_conf *conf, struct vel_buf *ret)
{
    struct vel_about about = {0};

    if (vel_about_load(fs, dir, &about, NULL) < 0)
        return;
    vel_conf_list_stores(about.conf, conf, ret);
    vel_about_fini(&about);
}

/* --- over --- */

bool vel_about_is_over(struct vel_fs *fs, const struct vel_about *about)
{
    bool is_over;

    vel_launch_is_over(fs, about->dir, about->launch, &is_over, NULL);
    return is_over;
}

/* A record that is damaged, or was never written, helps nobody. */
static bool is_needless(struct vel_fs *fs, const char *role, const char *dir)
{
    struct vel_about about = {0};
    int rc = vel_about_load(fs, role, &about, NULL);
    bool is = rc == VEL_ENOENT || rc == VEL_ECORRUPT ||
              (rc == 0 && strcmp(about.dir, dir) == 0 && vel_about_is_over(fs, &about));

    vel_about_fini(&about);
    return is;
}

void vel_about_sweep(struct vel_fs *fs, const struct vel_host *host, const char *base,
                     const char *dir)
{
    struct vel_vec roles;

    vel_vec_init(&roles, sizeof(char *));
    vel_role_list(fs, host, base, &roles, NULL);
    for (size_t i = 0; i < roles.n; i++) {
        const char *role = *(char **)vel_vec_at(&roles, i);

        if (is_needless(fs, role, dir))
            vel_role_remove_dir(fs, host, role, NULL);
    }
    vel_fs_names_fini(&roles);
}
