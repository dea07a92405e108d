/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/file.h"
#include "conf/load.h"
#include "conf/texts.h"

const char *vel_conf_variable(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

const char *vel_conf_job_id(const struct vel_conf *conf)
{
    static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                            "FLUX_JOB_ID"};
    const char *id = conf->job_id;

    for (size_t i = 0; !id && i < sizeof variables / sizeof *variables; i++)
        id = getenv(variables[i]);
    return id;
}

int64_t vel_conf_end_time(const struct vel_conf *conf)
{
    const char *text = getenv("SLURM_JOB_END_TIME");
    char *end;
    long long seconds;

    if (conf->end_time || !text || !*text)
        return conf->end_time;
    seconds = strtoll(text, &end, 10);
    return *end || seconds < 0 ? 0 : seconds;
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
    static const char *const names[] = {"VELOC_CONF_FILE",   "SCR_CONF_FILE",
                                        "VELOC_SYSTEM_FILE", "SCR_CKPT_NAME",
                                        "VELOC_DATASET",     "SCR_DATASET"};

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

/* As if it stood in a file. */
static int take_text(struct vel_conf *conf, const char *from,
                     const struct vel_buf *text, struct vel_err *err)
{
    int rc = vel_buf_status(text, err);

    return rc < 0
               ? rc
               : vel_conf_parse(conf, VEL_LAYER_ENVIRONMENT, from, vel_buf_text(text),
                                text->len, vel_conf_variable, NULL, err);
}

static int take_unlisted(struct vel_conf *conf, const char *from, const char *value,
                         struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    if (!value)
        return 0;
    vel_buf_init(&text);
    vel_buf_printf(&text, "UNLISTED=%s\n", value);
    rc = take_text(conf, from, &text, err);
    vel_buf_fini(&text);
    return rc;
}

/* The length of the key that the line begins with; -1: it begins with a name. */
static int length_of_key(const char *line, int len)
{
    int n = 0, equals;

    while (n < len && !strchr(" \t\r=", line[n]))
        n += line[n] == '\\' && n + 1 < len ? 2 : 1;
    equals = n;
    while (equals < len && strchr(" \t\r", line[equals]))
        equals++;
    return equals < len && line[equals] == '=' ? n : -1;
}

/* Adds "DATASET=" and the line; nothing if it is blank or a comment. */
static int add_dataset_line(struct vel_buf *text, const char *line, int len,
                            struct vel_err *err)
{
    int key;

    while (len > 0 && strchr(" \t\r", *line)) {
        line++;
        len--;
    }
    if (len == 0 || *line == '#')
        return 0;
    key = length_of_key(line, len);
    if (key >= 0)
        return vel_fail(err, VEL_ECONFIG,
                        "found '%.*s=' where the name of a dataset belongs: write NAME "
                        "PATTERN=... without DATASET=, and give other settings as "
                        "variables of their own (VELOC_KEY)",
                        key < 80 ? key : 80, line);
    vel_buf_printf(text, "DATASET=%.*s", len, line);
    return 0;
}

/* DATASET lines without their DATASET=; NULL: none. */
static int take_datasets(struct vel_conf *conf, const char *from, const char *lines,
                         struct vel_err *err)
{
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    for (int number = 1; rc == 0 && lines; number++) {
        size_t len = strcspn(lines, "\n");

        rc = add_dataset_line(&text, lines, (int)len, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s:%d", from, number);
        vel_buf_putc(&text, '\n');
        lines = lines[len] ? lines + len + 1 : NULL;
    }
    if (rc == 0)
        rc = take_text(conf, from, &text, err);
    vel_buf_fini(&text);
    return rc;
}

/* VELOC_ wins over SCR_ when both are set. */
static int take_dataset_variable(struct vel_conf *conf, struct vel_err *err)
{
    const char *ours = either("VELOC_DATASET", NULL);

    return ours ? take_datasets(conf, "VELOC_DATASET", ours, err)
                : take_datasets(conf, "SCR_DATASET", getenv("SCR_DATASET"), err);
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
    source.where = vel_conf_name(conf, name);
    if (!source.where)
        return vel_out_of_memory(err, "reading the environment");
    if (meaning.ignored)
        return vel_conf_keep_ignored(conf, name, value, meaning.ignored, &source, err);
    /* VELOC_ wins over SCR_ when both name a setting */
    const struct vel_source *before = &conf->sources[meaning.setting];
    if (before->layer == VEL_LAYER_ENVIRONMENT &&
        strncmp(before->where, "VELOC_", 6) == 0 && strncmp(name, "SCR_", 4) == 0)
        return 0;
    int rc = vel_conf_set(conf, meaning.setting, vel_schema_value(&meaning, value),
                          &source, err);
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
    return rc < 0 ? rc : take_dataset_variable(conf, err);
}

static int take_file(struct vel_vec *texts, struct vel_fs *fs, enum vel_layer layer,
                     const char *file, struct vel_err *err)
{
    struct vel_conf_text text = {.layer = layer, .file = strdup(file)};
    int rc;

    vel_buf_init(&text.bytes);
    rc = text.file ? vel_fs_read_file(fs, file, VEL_CONF_FILE_MAX, &text.bytes, err)
                   : vel_out_of_memory(err, "reading settings");
    if (rc == 0 && vel_vec_push(texts, &text))
        return 0;
    if (rc == 0)
        rc = vel_out_of_memory(err, "reading settings");
    free(text.file);
    vel_buf_fini(&text.bytes);
    return rc;
}

static int take_named(struct vel_vec *texts, struct vel_fs *fs, enum vel_layer layer,
                      const char *file, struct vel_err *err)
{
    int rc = take_file(texts, fs, layer, file, err);

    return rc == VEL_ENOENT ? vel_wrap(err, rc, "reading settings") : rc;
}

/* One that nobody named may be missing; one that cannot be read is not passed over. */
static int take_if_there(struct vel_vec *texts, struct vel_fs *fs, enum vel_layer layer,
                         const char *file, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = take_file(texts, fs, layer, file, &why);

    if (rc == VEL_ENOENT && !vel_fs_exists(fs, file))
        return 0;
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

static int gather_system(struct vel_vec *texts, struct vel_fs *fs, const char *file,
                         struct vel_err *err)
{
    static const char standard[] = H5VELOC_SYSCONFDIR "/h5veloc.conf";

    if (!file)
        file = either("VELOC_SYSTEM_FILE", NULL);
    if (file)
        return take_named(texts, fs, VEL_LAYER_SYSTEM, file, err);
    return take_if_there(texts, fs, VEL_LAYER_SYSTEM, standard, err);
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

static int gather_user(const struct vel_conf *conf, struct vel_vec *texts,
                       struct vel_fs *fs, const char *file, struct vel_err *err)
{
    static const char *const names[] = {".velocconf", ".scrconf"};
    size_t before = texts->n;
    char *prefix = NULL;
    int rc;

    if (!file)
        file = either("VELOC_CONF_FILE", "SCR_CONF_FILE");
    if (file)
        return take_named(texts, fs, VEL_LAYER_USER, file, err);
    rc = early_prefix(conf, &prefix, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && texts->n == before && i < 2; i++) {
        char *path = vel_path_join(prefix, names[i]);

        rc = path ? take_if_there(texts, fs, VEL_LAYER_USER, path, err)
                  : vel_out_of_memory(err, "reading settings");
        free(path);
    }
    free(prefix);
    return rc;
}

int vel_conf_gather(const struct vel_conf *conf, struct vel_fs *fs,
                    const struct vel_conf_layers *layers, struct vel_vec *texts,
                    struct vel_err *err)
{
    int rc = gather_system(texts, fs, layers->system_file, err);

    return rc < 0 ? rc : gather_user(conf, texts, fs, layers->user_file, err);
}

int vel_conf_apply(struct vel_conf *conf, const struct vel_vec *texts,
                   const struct vel_conf_layers *layers, struct vel_err *err)
{
    static const char connector[] = "HDF5_VOL_CONNECTOR";
    const struct vel_conf_text *t = texts->items;
    struct vel_buf unknown;
    int rc = 0;

    vel_buf_init(&unknown);
    for (size_t i = 0; rc == 0 && i < texts->n; i++)
        rc = vel_conf_parse(conf, t[i].layer, t[i].file, vel_buf_text(&t[i].bytes),
                            t[i].bytes.len, vel_conf_variable, NULL, err);
    if (rc == 0)
        rc = take_unlisted(conf, connector, layers->unlisted, err);
    if (rc == 0)
        rc = take_datasets(conf, connector, layers->dataset, err);
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

int vel_conf_load(struct vel_conf *conf, struct vel_fs *fs,
                  const struct vel_conf_layers *layers, struct vel_err *err)
{
    struct vel_vec texts;
    int rc;

    vel_conf_texts_init(&texts);
    rc = vel_conf_gather(conf, fs, layers, &texts, err);
    if (rc == 0)
        rc = vel_conf_apply(conf, &texts, layers, err);
    vel_conf_texts_fini(&texts);
    return rc;
}
