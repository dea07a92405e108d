/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single value shows. Faults are told at the line that has them. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/conf.h"
#include "conf/near.h"
#include "conf/rules.h"
#include "sys/host.h"

static int fault(const struct vel_line *line, struct vel_err *err)
{
    return vel_wrap(err, VEL_ECONFIG, "%s:%d", line->source.where, line->source.line);
}

int vel_conf_fault_of(const struct vel_conf *conf, const char *key, struct vel_err *err)
{
    const struct vel_source *source;
    struct vel_meaning meaning;

    vel_schema_find(key, VEL_SPELL_FILE, &meaning);
    source = &conf->sources[meaning.setting];
    if (source->line > 0)
        return vel_wrap(err, VEL_ECONFIG, "%s:%d", source->where, source->line);
    return source->where ? vel_wrap(err, VEL_ECONFIG, "%s", source->where)
                         : VEL_ECONFIG;
}

static int copy_text(char **to, const char *text, struct vel_err *err)
{
    if (*to || !text)
        return 0;
    *to = strdup(text);
    return *to ? 0 : vel_out_of_memory(err, "completing settings");
}

/* --- what a line left open
 * ------------------------------------------------------------------- */

static int fill_ckpt(const struct vel_conf *conf, const struct vel_line *line,
                     struct vel_err *err)
{
    struct vel_ckpt *c = line->data;

    if (c->type < 0)
        c->type = conf->copy_type == VEL_COPY_FILE ? VEL_CKPT_XOR
                                                   : conf->copy_type - VEL_COPY_SINGLE;
    if (!vel_conf_gives(line, "SET_SIZE"))
        c->set_size = conf->set_size;
    if (!vel_conf_gives(line, "SET_FAILURES"))
        c->set_failures = conf->set_failures;
    if (!vel_conf_gives(line, "REPLICAS"))
        c->replicas = conf->replicas;
    if (!vel_conf_gives(line, "HOP_DISTANCE"))
        c->hop_distance = conf->hop_distance;
    if (!vel_conf_gives(line, "BYPASS"))
        c->bypass = conf->cache_bypass;
    int rc = copy_text(&c->group, conf->group, err);
    return rc < 0 ? rc : copy_text(&c->store, conf->cache_base, err);
}

static void fill_store(const struct vel_conf *conf, const struct vel_line *line)
{
    struct vel_store_line *s = line->data;

    if (!vel_conf_gives(line, "COUNT"))
        s->count = conf->cache_size;
    if (s->type < 0)
        s->type = strcmp(s->group, "WORLD") == 0 ? VEL_STORE_PFS : VEL_STORE_SSD;
    if (s->flush < 0)
        s->flush = conf->flush_type;
}

static int fill_line(const struct vel_conf *conf, const struct vel_line *line,
                     struct vel_err *err)
{
    struct vel_dataset_rule *rule = line->data;

    switch (line->parent) {
    case VEL_CKPT:
        return fill_ckpt(conf, line, err);
    case VEL_STORE:
        fill_store(conf, line);
        return 0;
    case VEL_DATASET:
        if (!vel_conf_gives(line, "KEEP"))
            rule->keep = -1;
        if (!vel_conf_gives(line, "LEVEL"))
            rule->level = -1;
        return 0;
    default:
        return 0;
    }
}

/* --- what cannot be
 * -------------------------------------------------------------------------- */

static const struct vel_line *find_store(const struct vel_conf *conf, const char *name)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, name))
            return line;
    return NULL;
}

static int check_path(const char *key, const char *dir, struct vel_err *err)
{
    return dir[0] == '/'
               ? 0
               : vel_fail(
                     err, VEL_ECONFIG,
                     "%s=%s: a store is a directory with its whole path, from / on",
                     key, dir);
}

static int check_store(const struct vel_conf *conf, const struct vel_line *line,
                       struct vel_err *err)
{
    static const char *const types[] = {"SINGLE", "PARTNER", "XOR", "RS"};
    const struct vel_ckpt *c = line->data;
    const struct vel_line *store = find_store(conf, c->store);

    if (store) {
        const struct vel_store_line *s = store->data;

        if (!s->enabled && c->enabled)
            return vel_fail(err, VEL_ECONFIG, "CKPT=%s: STORE=%s is not enabled",
                            line->name, c->store);
        if (s->type == VEL_STORE_PFS && c->type != VEL_CKPT_SINGLE)
            return vel_fail(
                err, VEL_ECONFIG,
                "CKPT=%s: TYPE=%s on the parallel file system %s: only SINGLE makes "
                "sense there",
                line->name, types[c->type], c->store);
        return 0;
    }
    return check_path("STORE", c->store, err); /* one by its directory alone */
}

static int check_scheme(const struct vel_line *line, struct vel_err *err)
{
    const struct vel_ckpt *c = line->data;

    if (c->type == VEL_CKPT_RS && c->set_failures >= c->set_size)
        return vel_fail(err, VEL_ECONFIG,
                        "CKPT=%s: SET_FAILURES=%lld must be below SET_SIZE=%lld",
                        line->name, (long long)c->set_failures, (long long)c->set_size);
    if (c->type == VEL_CKPT_PARTNER && c->replicas >= c->set_size)
        return vel_fail(err, VEL_ECONFIG,
                        "CKPT=%s: REPLICAS=%lld must be below SET_SIZE=%lld",
                        line->name, (long long)c->replicas, (long long)c->set_size);
    if (c->type != VEL_CKPT_RS && vel_conf_gives(line, "SET_FAILURES"))
        return vel_fail(err, VEL_ECONFIG,
                        "CKPT=%s: SET_FAILURES goes with TYPE=RS only", line->name);
    if (c->type != VEL_CKPT_PARTNER && vel_conf_gives(line, "REPLICAS"))
        return vel_fail(err, VEL_ECONFIG,
                        "CKPT=%s: REPLICAS goes with TYPE=PARTNER only", line->name);
    return 0;
}

static bool has_group(const struct vel_groups_line *groups, const char *name,
                      struct vel_near *near)
{
    for (size_t i = 0; i < groups->pairs.n; i++) {
        const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);

        if (strcmp(pair->name, name) == 0)
            return true;
        vel_near_try(near, pair->name);
    }
    return false;
}

/* Where hosts are listed at all, a group must be one of theirs; else it is the system
 * file of another machine that knows it. */
int vel_conf_check_group(const struct vel_conf *conf, const struct vel_line *line,
                         const char *name, struct vel_err *err)
{
    const struct vel_line *groups;
    char hint[VEL_NEAR_HINT];
    struct vel_near near;

    if (strcmp(name, "NODE") == 0 || strcmp(name, "WORLD") == 0 ||
        !vel_conf_host(conf, 0))
        return 0;
    vel_near_init(&near, name);
    for (size_t i = 0; (groups = vel_conf_host(conf, i)); i++)
        if (has_group(groups->data, name, &near))
            return 0;
    return vel_fail(err, VEL_ECONFIG, "%s=%s: no GROUPS line defines the group %s%s",
                    vel_schema_parent(line->parent).key, line->name, name,
                    vel_near_hint(near.best, hint));
}

/* An implied level has no number. */
static int check_wanted(const struct vel_conf *conf, const struct vel_line *line,
                        struct vel_err *err)
{
    int64_t wanted = ((struct vel_dataset_rule *)line->data)->level;
    const struct vel_line *level;

    for (size_t i = 0;
         vel_conf_has_levels(conf) && (level = vel_conf_line(conf, VEL_CKPT, i)); i++) {
        const struct vel_ckpt *c = level->data;

        if (c->id == wanted && c->enabled)
            return 0;
    }
    return wanted < 0 ? 0
                      : vel_fail(err, VEL_ECONFIG,
                                 "DATASET=%s: LEVEL=%lld: there is no such CKPT line "
                                 "in use",
                                 line->name, (long long)wanted);
}

/* Its files are in no dataset, so there is none of which that could be said. */
static int check_live(const struct vel_line *line, struct vel_err *err)
{
    static const char *const keys[] = {"KEEP", "POINTS", "LEVEL"};
    const struct vel_dataset_rule *rule = line->data;

    if (rule->publish == VEL_PUBLISH_LIVE && vel_conf_gives(line, "KIND") &&
        rule->kind == VEL_KIND_CHECKPOINT)
        return vel_fail(err, VEL_ECONFIG,
                        "DATASET=%s: KIND=CHECKPOINT is of datasets, and files with "
                        "PUBLISH=LIVE are in none: leave one of the two out",
                        line->name);

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (rule->publish == VEL_PUBLISH_LIVE && vel_conf_gives(line, keys[i]))
            return vel_fail(err, VEL_ECONFIG,
                            "DATASET=%s: %s= is of datasets, and files with "
                            "PUBLISH=LIVE are in none: leave one of the two out",
                            line->name, keys[i]);
    return 0;
}

static bool is_host(const struct vel_line *line)
{
    return line->parent == VEL_GROUPS &&
           ((const struct vel_groups_line *)line->data)->mtbf <= 0;
}

static int check_line(const struct vel_conf *conf, const struct vel_line *line,
                      struct vel_err *err)
{
    int rc = 0;

    if (line->parent == VEL_STORE) {
        rc = check_path("STORE", line->name, err);
        return rc < 0
                   ? rc
                   : vel_conf_check_group(
                         conf, line, ((struct vel_store_line *)line->data)->group, err);
    }
    if (line->parent == VEL_GROUPS && !is_host(line))
        return vel_conf_check_group(conf, line, line->name, err);
    if (line->parent == VEL_DATASET) {
        const struct vel_dataset_rule *rule = line->data;

        if (!rule->pattern)
            return vel_fail(err, VEL_ECONFIG,
                            "DATASET=%s: PATTERN= is missing, so no file fits",
                            line->name);
        rc = vel_rule_check(rule->pattern, err);
        if (rc == 0 && rule->exclude)
            rc = vel_rule_check(rule->exclude, err);
        if (rc < 0)
            return vel_wrap(err, rc, "DATASET=%s", line->name);
        rc = check_live(line, err);
        return rc < 0 ? rc : check_wanted(conf, line, err);
    }
    if (line->parent == VEL_CKPT) {
        rc = check_store(conf, line, err);
        if (rc == 0)
            rc = check_scheme(line, err);
        if (rc == 0)
            rc = vel_conf_check_group(conf, line,
                                      ((struct vel_ckpt *)line->data)->group, err);
    }
    return rc;
}

/* Every checkpoint needs a level: one with INTERVAL=1 that may be used. */
static int check_levels(const struct vel_conf *conf, struct vel_err *err)
{
    const struct vel_line *line, *first = vel_conf_line(conf, VEL_CKPT, 0);

    if (!vel_conf_has_levels(conf))
        return 0;
    for (size_t i = 0; (line = vel_conf_line(conf, VEL_CKPT, i)); i++) {
        const struct vel_ckpt *c = line->data;

        if (c->enabled && c->interval == 1)
            return 0;
    }
    if (!first)
        return vel_fail(
            err, VEL_ECONFIG,
            "COPY_TYPE=FILE, and there is no CKPT line: give one with INTERVAL=1");
    vel_fail(
        err, VEL_ECONFIG,
        "no enabled CKPT line has INTERVAL=1, so not every checkpoint has a level");
    return fault(first, err);
}

static int check_implied(const struct vel_conf *conf, struct vel_err *err)
{
    if (vel_conf_has_levels(conf))
        return 0;
    if (conf->copy_type == VEL_COPY_RS && conf->set_failures >= conf->set_size)
        return vel_fail(err, VEL_ECONFIG,
                        "SET_FAILURES=%lld must be below SET_SIZE=%lld",
                        (long long)conf->set_failures, (long long)conf->set_size);
    if (conf->copy_type == VEL_COPY_PARTNER && conf->replicas >= conf->set_size)
        return vel_fail(err, VEL_ECONFIG, "REPLICAS=%lld must be below SET_SIZE=%lld",
                        (long long)conf->replicas, (long long)conf->set_size);
    return 0;
}

/* Names that become parts of paths, and directories. */
static int check_names(const struct vel_conf *conf, struct vel_err *err)
{
    if (conf->user_name && !vel_host_is_name(conf->user_name)) {
        vel_fail(err, VEL_ECONFIG,
                 "USER_NAME: '%s' cannot be part of a path: use letters, digits and "
                 "\"._-\"",
                 conf->user_name);
        return vel_conf_fault_of(conf, "USER_NAME", err);
    }
    if (conf->launch && conf->launch[0] && !vel_host_is_name(conf->launch)) {
        vel_fail(err, VEL_ECONFIG,
                 "LAUNCH=%s: a launch is named by letters, digits, dots, underscores "
                 "and dashes",
                 conf->launch);
        return vel_conf_fault_of(conf, "LAUNCH", err);
    }
    if (check_path("CACHE_BASE", conf->cache_base, err) < 0)
        return vel_conf_fault_of(conf, "CACHE_BASE", err);
    if (check_path("CNTL_BASE", conf->cntl_base, err) < 0)
        return vel_conf_fault_of(conf, "CNTL_BASE", err);
    return 0;
}

/* --- groups, as far as one machine's files tell
 * ------------------------------------------------------------------------ */

static bool is_defined(const struct vel_conf *conf, const char *name)
{
    const struct vel_line *groups;
    struct vel_near near;

    vel_near_init(&near, name);
    for (size_t i = 0; (groups = vel_conf_host(conf, i)); i++)
        if (has_group(groups->data, name, &near))
            return true;
    return strcmp(name, "NODE") == 0 || strcmp(name, "WORLD") == 0;
}

static int check_defined(const struct vel_conf *conf, const struct vel_line *line,
                         struct vel_err *err)
{
    const char *name = NULL;

    if (line->parent == VEL_GROUPS)
        name = line->name;
    else if (line->parent == VEL_CKPT && ((struct vel_ckpt *)line->data)->enabled)
        name = ((struct vel_ckpt *)line->data)->group;
    else if (line->parent == VEL_STORE &&
             ((struct vel_store_line *)line->data)->enabled)
        name = ((struct vel_store_line *)line->data)->group;
    if (!name || is_defined(conf, name))
        return 0;
    vel_fail(err, VEL_ECONFIG,
             "%s=%s: GROUP=%s is unknown, since no GROUPS line defines it",
             vel_schema_parent(line->parent).key, line->name, name);
    return fault(line, err);
}

/* Every host has the groups of every other. */
static int check_alike(const struct vel_conf *conf, const struct vel_line *line,
                       struct vel_err *err)
{
    const struct vel_groups_line *groups = line->data;
    const struct vel_line *other;
    struct vel_near near;

    for (size_t i = 0; i < groups->pairs.n; i++) {
        const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, i);

        vel_near_init(&near, pair->name);
        for (size_t k = 0; (other = vel_conf_host(conf, k)); k++)
            if (!has_group(other->data, pair->name, &near)) {
                vel_fail(err, VEL_ECONFIG,
                         "GROUPS=%s: the group %s is missing, and stands on the line "
                         "of %s",
                         other->name, pair->name, line->name);
                return fault(other, err);
            }
    }
    return 0;
}

int vel_conf_check_groups(const struct vel_conf *conf, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < conf->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&conf->lines, i);

        rc = is_host(line) ? check_alike(conf, line, err)
                           : check_defined(conf, line, err);
    }
    if (rc == 0 && !vel_conf_has_levels(conf) && !is_defined(conf, conf->group)) {
        vel_fail(err, VEL_ECONFIG,
                 "GROUP=%s is unknown, since no GROUPS line defines it", conf->group);
        rc = vel_conf_fault_of(conf, "GROUP", err);
    }
    return rc;
}

/* SCR's DEBUG speaks where nobody chose a level. */
static void translate_debug(struct vel_conf *conf)
{
    struct vel_meaning meaning;

    vel_schema_find("LOG_LEVEL", VEL_SPELL_FILE, &meaning);
    if (conf->debug > 0 && conf->sources[meaning.setting].layer == VEL_LAYER_DEFAULT)
        conf->log_level = conf->debug > 1 ? VEL_LOG_DEBUG : VEL_LOG_INFO;
}

int vel_conf_finish(struct vel_conf *conf, struct vel_err *err)
{
    int rc = 0;

    translate_debug(conf);

    for (size_t i = 0; rc == 0 && i < conf->lines.n; i++)
        rc = fill_line(conf, vel_vec_at(&conf->lines, i), err);
    for (size_t i = 0; rc == 0 && i < conf->lines.n; i++) {
        const struct vel_line *line = vel_vec_at(&conf->lines, i);

        rc = check_line(conf, line, err);
        if (rc < 0)
            return fault(line, err);
    }
    if (rc == 0)
        rc = check_levels(conf, err);
    if (rc == 0)
        rc = check_names(conf, err);
    return rc < 0 ? rc : check_implied(conf, err);
}
