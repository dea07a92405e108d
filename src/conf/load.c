/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/file.h"
#include "conf/load.h"

const char *vel_conf_variable(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

/* the first of two variables that is set and not empty */
static const char *either(const char *a, const char *b)
{
    const char *value = getenv(a);

    if (!value || !value[0])
        value = b ? getenv(b) : NULL;
    return value && value[0] ? value : NULL;
}

/* Variables that steer the build, the launcher or this file, and are no settings. */
static bool is_ours_otherwise(const char *name)
{
    static const char *const names[] = {"VELOC_CONF_FILE", "SCR_CONF_FILE",
                                        "VELOC_SYSTEM_FILE", "SCR_CKPT_NAME"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void tell_unknown(const char *name, struct vel_buf *unknown)
{
    const char *nearest = vel_schema_nearest(name, VEL_SPELL_ENV, VEL_NO_PARENT);

    vel_buf_printf(unknown, "%s%s", unknown->len ? ", " : "", name);
    if (nearest)
        vel_buf_printf(unknown, " (did you mean VELOC_%s?)", nearest);
}

static int take_variable(struct vel_conf *conf, const char *name, const char *value,
                         struct vel_buf *unknown, struct vel_err *err)
{
    struct vel_source source = {.layer = VEL_LAYER_ENVIRONMENT};
    struct vel_meaning meaning;

    if (is_ours_otherwise(name))
        return 0;
    if (!vel_schema_find(name, VEL_SPELL_ENV, &meaning)) {
        tell_unknown(name, unknown);
        return 0;
    }
    if (meaning.ignored)
        return 0;
    /* VELOC_ wins over SCR_ when both name a setting */
    const struct vel_source *before = &conf->sources[meaning.setting];
    if (before->layer == VEL_LAYER_ENVIRONMENT &&
        strncmp(before->where, "VELOC_", 6) == 0 && strncmp(name, "SCR_", 4) == 0)
        return 0;
    source.where = vel_conf_name(conf, name);
    if (!source.where)
        return vel_out_of_memory(err, "reading the environment");
    int rc = vel_conf_set(conf, meaning.setting, value, &source, err);
    return rc < 0 ? vel_wrap(err, rc, "environment: %s", name) : 0;
}

int vel_conf_environment(struct vel_conf *conf, struct vel_buf *unknown,
                         struct vel_err *err)
{
    int rc = 0;

    for (char **at = environ; rc == 0 && at && *at; at++) {
        const char *equals = strchr(*at, '=');
        char name[128];

        if ((strncmp(*at, "VELOC_", 6) != 0 && strncmp(*at, "SCR_", 4) != 0) ||
            !equals || (size_t)(equals - *at) >= sizeof name)
            continue;
        memcpy(name, *at, (size_t)(equals - *at));
        name[equals - *at] = '\0';
        rc = take_variable(conf, name, equals + 1, unknown, err);
    }
    return rc;
}

/* Read a file that may be missing. */
static int read_if_there(struct vel_conf *conf, struct vel_fs *fs, enum vel_layer layer,
                         const char *file, bool *ret_there, struct vel_err *err)
{
    *ret_there = vel_fs_exists(fs, file);
    return *ret_there
               ? vel_conf_read(conf, fs, layer, file, vel_conf_variable, NULL, err)
               : 0;
}

static int read_named(struct vel_conf *conf, struct vel_fs *fs, enum vel_layer layer,
                      const char *file, struct vel_err *err)
{
    int rc = vel_conf_read(conf, fs, layer, file, vel_conf_variable, NULL, err);

    return rc == VEL_ENOENT ? vel_wrap(err, rc, "reading settings") : rc;
}

static int read_system(struct vel_conf *conf, struct vel_fs *fs, const char *file,
                       struct vel_err *err)
{
    bool is_there;

    if (!file)
        file = either("VELOC_SYSTEM_FILE", NULL);
    if (file)
        return read_named(conf, fs, VEL_LAYER_SYSTEM, file, err);
    return read_if_there(conf, fs, VEL_LAYER_SYSTEM, H5VELOC_SYSCONFDIR "/h5veloc.conf",
                         &is_there, err);
}

/* The prefix as far as it is known before the user's file is read. */
static int early_prefix(const struct vel_conf *conf, char **ret_prefix,
                        struct vel_err *err)
{
    const char *prefix = either("VELOC_PREFIX", "SCR_PREFIX");
    char *cwd = NULL;
    int rc = vel_fs_working_dir(&cwd, err);

    if (rc < 0)
        return rc;
    if (!prefix)
        prefix = conf->prefix ? conf->prefix : ".";
    char *absolute = vel_path_absolute(cwd, prefix);
    free(cwd);
    if (!absolute)
        return vel_out_of_memory(err, "reading settings");
    *ret_prefix = absolute;
    return 0;
}

static int read_user(struct vel_conf *conf, struct vel_fs *fs, const char *file,
                     struct vel_err *err)
{
    static const char *const names[] = {".velocconf", ".scrconf"};
    bool is_there = false;
    char *prefix = NULL;
    int rc;

    if (!file)
        file = either("VELOC_CONF_FILE", "SCR_CONF_FILE");
    if (file)
        return read_named(conf, fs, VEL_LAYER_USER, file, err);
    rc = early_prefix(conf, &prefix, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && !is_there && i < 2; i++) {
        char *path = vel_path_join(prefix, names[i]);

        rc = path ? read_if_there(conf, fs, VEL_LAYER_USER, path, &is_there, err)
                  : vel_out_of_memory(err, "reading settings");
        free(path);
    }
    free(prefix);
    return rc;
}

int vel_conf_load(struct vel_conf *conf, struct vel_fs *fs,
                  const struct vel_conf_layers *layers, struct vel_err *err)
{
    struct vel_buf unknown;
    int rc = read_system(conf, fs, layers->system_file, err);

    vel_buf_init(&unknown);
    if (rc == 0)
        rc = read_user(conf, fs, layers->user_file, err);
    if (rc == 0 && !layers->no_environment)
        rc = vel_conf_environment(conf, &unknown, err);
    if (rc == 0)
        rc = vel_conf_finish(conf, err);
    if (rc == 0 && unknown.len)
        vel_log_shared(VEL_LOG_WARN,
                       "the environment has variables that are no settings: %s",
                       vel_buf_text(&unknown));
    vel_buf_fini(&unknown);
    return rc;
}
