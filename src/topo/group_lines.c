/* SPDX-License-Identifier: BSD-3-Clause */
/* The first rank of each node tells rank 0 what groups its line names; rank 0 finds
 * what is missing where, so that one sentence has it all, and tells everyone the names.
 * Values stay where they are: who has the same one is a matter of vel_rankstr(). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "topo/group_lines.h"

enum { SENTENCE_MAX = 600 }; /* bytes of names in a sentence about nodes */

/* --- this node's line */

static const struct vel_groups_line *line_named(const struct vel_conf *conf,
                                                const char *name, size_t len)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_host(conf, i)); i++)
        if (strlen(line->name) == len && memcmp(line->name, name, len) == 0)
            return line->data;
    return NULL;
}

/* NULL: there is none. A virtual node has its own line or that of its host. */
static const struct vel_groups_line *line_of(const struct vel_conf *conf,
                                             const char *node)
{
    const struct vel_groups_line *line = line_named(conf, node, strlen(node));
    const char *suffix = strrchr(node, '.');

    if (!line && conf->virtual_nodes > 0 && suffix)
        line = line_named(conf, node, (size_t)(suffix - node));
    return line;
}

static const char *value_of(const struct vel_groups_line *line, const char *name)
{
    for (size_t i = 0; line && i < line->pairs.n; i++) {
        const struct vel_group_pair *pair = vel_vec_at(&line->pairs, i);

        if (strcmp(pair->name, name) == 0)
            return pair->value;
    }
    return NULL;
}

const char *vel_group_value(const struct vel_conf *conf, const char *node,
                            const char *name)
{
    if (strcmp(name, "NODE") == 0)
        return node;
    return strcmp(name, "WORLD") == 0 ? name : value_of(line_of(conf, node), name);
}

/* A node as rank 0 hears of it: texts, each with its zero byte. First its name, then
 * "+" when it has a line, and the names on that. */
static void tell(struct vel_buf *buf, const char *text)
{
    vel_buf_append(buf, text, strlen(text) + 1);
}

static void tell_node(struct vel_buf *buf, const char *node,
                      const struct vel_groups_line *line)
{
    tell(buf, node);
    if (line)
        tell(buf, "+");
    for (size_t i = 0; line && i < line->pairs.n; i++) {
        const struct vel_group_pair *pair = vel_vec_at(&line->pairs, i);

        tell(buf, pair->name);
    }
}

/* --- all nodes, at rank 0 */

struct survey {
    const struct vel_buf *texts; /* of all nodes, one behind the other */
    const size_t *lens;
    size_t n;
    struct vel_map *names; /* every group name, as it is first met */
};

/* the text behind this one in a node's part, NULL behind the last */
static const char *next_text(const char *text, const char *end)
{
    text += strlen(text) + 1;
    return text < end ? text : NULL;
}

/* what one node told */
struct node_told {
    const char *node;
    bool is_listed;
    const char *names; /* the first of its group names, NULL: there is none */
    const char *end;   /* of the node's part */
};

/* The next node; *i and *at begin with 0. False behind the last. */
static bool node_next(const struct survey *survey, size_t *i, size_t *at,
                      struct node_told *ret)
{
    while (*i < survey->n && survey->lens[*i] == 0)
        (*i)++;
    if (*i == survey->n)
        return false;
    ret->node = survey->texts->data + *at;
    ret->end = ret->node + survey->lens[*i];
    ret->names = next_text(ret->node, ret->end);
    ret->is_listed = ret->names != NULL;
    if (ret->names)
        ret->names = next_text(ret->names, ret->end);
    *at += survey->lens[(*i)++];
    return true;
}

static bool has_name(const struct node_told *told, const char *name)
{
    for (const char *at = told->names; at; at = next_text(at, told->end))
        if (strcmp(at, name) == 0)
            return true;
    return false;
}

/* The nodes without a line (name NULL), or without that name on it: "a, b and 3 more"
 * appended to *buf. Returns how many there are. */
static size_t list_nodes(const struct survey *survey, const char *name,
                         struct vel_buf *buf)
{
    struct node_told told;
    size_t found = 0, shown = 0, start = buf->len;

    for (size_t i = 0, at = 0; node_next(survey, &i, &at, &told);) {
        if (name ? has_name(&told, name) : told.is_listed)
            continue;
        found++;
        if (buf->len - start + strlen(told.node) > SENTENCE_MAX)
            continue;
        vel_buf_printf(buf, "%s%s", shown ? ", " : "", told.node);
        shown++;
    }
    if (found > shown)
        vel_buf_printf(buf, " and %zu more", found - shown);
    return found;
}

static int find_faults(const struct survey *survey, struct vel_err *err)
{
    struct vel_buf nodes;
    int rc = 0;

    vel_buf_init(&nodes);
    size_t missing = list_nodes(survey, NULL, &nodes);
    if (missing)
        rc = vel_fail(err, VEL_ECONFIG,
                      "there is no GROUPS line for %s %s: every node of the job needs "
                      "one when any has",
                      missing == 1 ? "node" : "nodes", vel_buf_text(&nodes));
    for (size_t i = 0; rc == 0 && i < vel_map_count(survey->names); i++) {
        const char *name = vel_map_key(survey->names, i);

        vel_buf_clear(&nodes);
        missing = list_nodes(survey, name, &nodes);
        if (missing)
            rc = vel_fail(err, VEL_ECONFIG,
                          "the group %s is missing on the GROUPS %s of %s, and stands "
                          "on those of other nodes",
                          name, missing == 1 ? "line" : "lines", vel_buf_text(&nodes));
    }
    if (nodes.failed)
        rc = vel_out_of_memory(err, "reading GROUPS lines");
    vel_buf_fini(&nodes);
    return rc;
}

static int collect_names(struct survey *survey, struct vel_err *err)
{
    struct node_told told;

    survey->names = vel_map_create();
    if (!survey->names)
        return vel_out_of_memory(err, "reading GROUPS lines");
    for (size_t i = 0, at = 0; node_next(survey, &i, &at, &told);)
        for (const char *name = told.names; name; name = next_text(name, told.end))
            if (vel_map_set(survey->names, name, NULL, NULL) < 0)
                return vel_out_of_memory(err, "reading GROUPS lines");
    return 0;
}

/* What was gathered is bytes of other ranks. */
static int check_texts(const struct survey *survey, struct vel_err *err)
{
    for (size_t i = 0, at = 0; i < survey->n; at += survey->lens[i++])
        if (survey->lens[i] && survey->texts->data[at + survey->lens[i] - 1] != '\0')
            return vel_fail(err, VEL_ECORRUPT,
                            "rank %zu reported its groups in no known form", i);
    return 0;
}

/* At rank 0: what all nodes told becomes the names of all groups in *names, each with
 * its zero byte, or a failure. */
static int survey_nodes(const struct vel_buf *texts, const size_t *lens, size_t n,
                        struct vel_buf *names, struct vel_err *err)
{
    struct survey survey = {.texts = texts, .lens = lens, .n = n};
    int rc = check_texts(&survey, err);

    if (rc == 0)
        rc = collect_names(&survey, err);
    if (rc == 0)
        rc = find_faults(&survey, err);
    for (size_t i = 0; rc == 0 && i < vel_map_count(survey.names); i++)
        tell(names, vel_map_key(survey.names, i));
    if (rc == 0)
        rc = vel_buf_status(names, err);
    vel_map_destroy(survey.names, NULL);
    return rc;
}

/* --- together */

/* Collective. *names as rank 0 finds them, on all. */
static int share_names(struct vel_comm *world, const struct vel_group *node,
                       const struct vel_groups_line *line, struct vel_buf *names,
                       struct vel_err *err)
{
    struct vel_buf mine, all;
    size_t *lens = NULL;

    vel_buf_init(&mine);
    vel_buf_init(&all);
    if (node->comm->rank == 0)
        tell_node(&mine, node->value, line);
    int rc = vel_comm_agree(world, vel_buf_status(&mine, err), err);
    if (rc == 0)
        rc = vel_comm_gather(world, 0, mine.data, mine.len, &all, &lens, err);
    if (rc == 0) {
        if (world->rank == 0)
            rc = survey_nodes(&all, lens, (size_t)world->size, names, err);
        rc = vel_comm_agree(world, rc, err);
    }
    if (rc == 0)
        rc = vel_comm_bcast(world, 0, names, err);
    free(lens);
    vel_buf_fini(&mine);
    vel_buf_fini(&all);
    return rc;
}

static int add_pair(struct vel_vec *pairs, const char *name, const char *value,
                    const char *node, struct vel_err *err)
{
    if (!value)
        return vel_fail(err, VEL_ECONFIG,
                        "the group %s is missing on the GROUPS line of %s as this rank "
                        "read it: give all ranks the same files",
                        name, node);
    struct vel_group_pair pair = {.name = strdup(name), .value = strdup(value)};
    if (pair.name && pair.value && vel_vec_push(pairs, &pair))
        return 0;
    free(pair.name);
    free(pair.value);
    return vel_out_of_memory(err, "reading GROUPS lines");
}

int vel_group_lines(struct vel_comm *world, const struct vel_conf *conf,
                    const struct vel_group *node, struct vel_vec *ret_pairs,
                    struct vel_err *err)
{
    const struct vel_groups_line *line = line_of(conf, node->value);
    int64_t has_lines = vel_conf_host(conf, 0) != NULL;
    struct vel_vec pairs;
    struct vel_buf names;

    vel_buf_init(&names);
    vel_vec_init(&pairs, sizeof(struct vel_group_pair));
    int rc = vel_comm_allreduce(world, VEL_COMM_MAX, &has_lines, 1, err);
    if (rc == 0 && has_lines)
        rc = share_names(world, node, line, &names, err);
    if (rc < 0)
        goto out;
    for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1)
        rc = add_pair(&pairs, names.data + at, value_of(line, names.data + at),
                      node->value, err);
    rc = vel_comm_agree(world, rc, err);
    if (rc < 0)
        goto out;
    *ret_pairs = pairs;
    vel_vec_init(&pairs, sizeof(struct vel_group_pair));
out:
    vel_group_lines_fini(&pairs);
    vel_buf_fini(&names);
    return rc;
}

/* A name is taken once, from whichever line has it. */
static bool has_pair(const struct vel_vec *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (strcmp(((const struct vel_group_pair *)vel_vec_at(pairs, i))->name, name) ==
            0)
            return true;
    return false;
}

int vel_group_lines_alone(const struct vel_conf *conf, const char *node,
                          struct vel_vec *ret_pairs, struct vel_err *err)
{
    const struct vel_groups_line *own = line_of(conf, node);
    const struct vel_line *line;
    struct vel_vec pairs;
    int rc = 0;

    vel_vec_init(&pairs, sizeof(struct vel_group_pair));
    for (size_t i = 0; rc == 0 && (line = vel_conf_host(conf, i)); i++) {
        const struct vel_groups_line *groups = line->data;

        for (size_t k = 0; rc == 0 && k < groups->pairs.n; k++) {
            const struct vel_group_pair *pair = vel_vec_at(&groups->pairs, k);
            const char *value = value_of(own, pair->name);

            if (!has_pair(&pairs, pair->name))
                rc = add_pair(&pairs, pair->name, value ? value : node, node, err);
        }
    }
    if (rc < 0)
        vel_group_lines_fini(&pairs);
    else
        *ret_pairs = pairs;
    return rc;
}

void vel_group_lines_fini(struct vel_vec *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        struct vel_group_pair *pair = vel_vec_at(pairs, i);

        free(pair->name);
        free(pair->value);
    }
    vel_vec_fini(pairs);
}
