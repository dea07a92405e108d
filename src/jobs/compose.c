/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/compose.h"
#include "meta/paths.h"
#include "topo/seats.h"

/* --- what it is called --- */

/* What may not be in a name becomes an underscore; a long one loses its beginning. */
static void make_readable(char *name)
{
    size_t len = strlen(name);

    if (len > VEL_DATASET_NAME_MAX) {
        memmove(name, name + len - VEL_DATASET_NAME_MAX, VEL_DATASET_NAME_MAX + 1);
        len = VEL_DATASET_NAME_MAX;
    }
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '_';
    if (*name == '.')
        *name = '_';
    for (char *at = name; *at && !vel_dataset_is_name(name); at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
            *at = '_';
}

const struct vel_line *vel_compose_line(const struct vel_conf *conf,
                                        const char *template)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_DATASET, i)); i++) {
        size_t len = strlen(line->name);

        if (strncmp(template, line->name, len) == 0 && template[len] == ' ' &&
            strcmp(template + len + 1,
                   ((const struct vel_dataset_rule *)line->data)->pattern) == 0)
            return line;
    }
    return NULL;
}

char *vel_compose_name(const struct vel_line *line, const char *template)
{
    char *name = strdup(line ? line->name : template);

    if (name && !vel_dataset_is_name(name))
        make_readable(name);
    return name;
}

static unsigned use_of(const struct vel_line *line)
{
    const struct vel_dataset_rule *rule = line ? line->data : NULL;

    if (rule && rule->kind == VEL_KIND_OUTPUT)
        return VEL_USE_OUTPUT;
    if (rule && rule->kind == VEL_KIND_BOTH)
        return VEL_USE_CHECKPOINT | VEL_USE_OUTPUT;
    return VEL_USE_CHECKPOINT;
}

int64_t vel_compose_version(const char *step, int64_t otherwise)
{
    int64_t version = 0;

    if (!*step || strspn(step, "0123456789") != strlen(step))
        return otherwise;
    for (const char *at = step; *at; at++) {
        if (version > (INT64_MAX - 9) / 10)
            return otherwise;
        version = version * 10 + (*at - '0');
    }
    return version;
}

/* --- its level --- */

static bool is_output(const struct vel_dataset_rule *rule)
{
    return rule && rule->kind == VEL_KIND_OUTPUT;
}

int vel_compose_first_level(const struct vel_conf *conf,
                            const struct vel_dataset_rule *rule, size_t *ret_level,
                            struct vel_err *err)
{
    const struct vel_seats_use use = {
        .wanted = rule ? rule->level : -1, .number = 1, .is_output = is_output(rule)};

    return vel_seats_level(conf, &use, ret_level, err);
}

/* The one that is due. What is no checkpoint stays where it is; and what is in a cache
 * does not go past it any more. */
static int choose_level(const struct vel_compose *of, enum vel_verdict verdict,
                        size_t *ret_level, struct vel_err *err)
{
    const struct vel_dataset_rule *rule = of->line ? of->line->data : NULL;
    const struct vel_seats_use use = {.wanted = rule ? rule->level : -1,
                                      .number =
                                          is_output(rule) ? of->id : of->checkpoint,
                                      .is_output = is_output(rule),
                                      .seconds_since = of->seconds_since};
    size_t due = 0;
    int rc = vel_compose_first_level(of->conf, rule, ret_level, err);

    if (rc == 0 && verdict == VEL_VERDICT_SEALED)
        rc = vel_seats_level(of->conf, &use, &due, err);
    if (rc == 0 && verdict == VEL_VERDICT_SEALED && !vel_seats_is_bypass(of->conf, due))
        *ret_level = due;
    return rc;
}

/* --- who sits where --- */

static struct vel_seal_member *member_at(const struct vel_seal *seal, size_t i)
{
    return vel_vec_at(&seal->members, i);
}

static int deal(const struct vel_compose *of, size_t level, struct vel_seal *seal,
                struct vel_err *ret_why, struct vel_err *err)
{
    size_t n = seal->members.n;
    const char **nodes = calloc(n + 1, sizeof *nodes);
    struct vel_seats seats = {0};
    int rc = nodes ? 0 : vel_out_of_memory(err, "a dataset");

    for (size_t i = 0; rc == 0 && i < n; i++)
        nodes[i] = member_at(seal, i)->node;
    if (rc == 0)
        rc = vel_seats_deal(of->conf, level, nodes, n, &seats, ret_why, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct vel_seal_member *member = member_at(seal, i);

        member->level = (int64_t)level;
        member->scheme = seats.scheme;
        member->failures = (int64_t)seats.m;
        member->set = seats.places[i].set;
        member->place = seats.places[i].rank;
    }
    if (seats.scheme != VEL_SINGLE && seal->verdict == VEL_VERDICT_SEALED)
        seal->what |= VEL_OWED_ENCODE;
    vel_seats_fini(&seats);
    free(nodes);
    return rc;
}

static int describe(const struct vel_compose *of, struct vel_seal *seal,
                    struct vel_err *err)
{
    struct vel_dataset *d = &seal->about;
    struct vel_seal_nodes nodes;
    int rc = vel_seal_nodes(seal, &nodes, err);

    if (rc < 0)
        return rc;
    d->id = of->id;
    d->name = vel_compose_name(of->line, seal->template);
    d->version = vel_compose_version(seal->step, seal->generation);
    d->use = seal->verdict == VEL_VERDICT_SEALED ? use_of(of->line) : VEL_USE_OUTPUT;
    d->checkpoint = d->use & VEL_USE_CHECKPOINT ? of->checkpoint : 0;
    d->ranks = (int)seal->members.n;
    d->nodes = (int)nodes.n;
    d->created = of->created.tv_sec;
    d->created_ns = (int)of->created.tv_nsec;
    d->is_leaders = true;
    for (size_t i = 0; i < seal->members.n; i++) {
        d->files += member_at(seal, i)->files;
        d->bytes += member_at(seal, i)->bytes;
    }
    vel_seal_nodes_fini(&nodes);
    return d->name ? 0 : vel_out_of_memory(err, "a dataset");
}

int vel_compose(const struct vel_compose *of, struct vel_seal *seal,
                struct vel_err *ret_why, struct vel_err *err)
{
    bool is_partial = seal->verdict == VEL_VERDICT_PARTIAL;
    size_t level = 0;
    int rc = choose_level(of, seal->verdict, &level, err);

    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        if (member_at(seal, i)->rank != (int64_t)i)
            rc = vel_fail(err, VEL_EINVAL, "a dataset without a part of rank %zu", i);
    seal->what = is_partial ? seal->what & VEL_OWED_FLUSH : VEL_OWED_FLUSH;
    vel_dataset_fini(&seal->about);
    seal->about = (struct vel_dataset){0};
    if (rc == 0)
        rc = deal(of, level, seal, ret_why, err);
    if (rc == 0)
        rc = describe(of, seal, err);
    if (rc == 0)
        seal->id = of->id;
    return rc;
}
