/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/launchid.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "record/record.h"
#include "view/evidence.h"

enum { FORMAT = 1 };

struct gather {
    struct vel_fs *fs;
    const char *dir;
    struct vel_evidence *all;
};

static int no_memory(struct vel_err *err)
{
    return vel_out_of_memory(err, "what a prefix says");
}

void vel_evidence_fini(struct vel_evidence *evidence)
{
    for (size_t i = 0; i < evidence->seals.n; i++)
        vel_seal_fini(vel_vec_at(&evidence->seals, i));
    for (size_t i = 0; i < evidence->facts.n; i++)
        free(
            (void *)((struct vel_view_seal *)vel_vec_at(&evidence->facts, i))->members);
    for (size_t i = 0; i < evidence->makers.n; i++)
        free((char *)((struct vel_view_maker *)vel_vec_at(&evidence->makers, i))
                 ->launch);
    vel_index_fini(&evidence->entries);
    vel_vec_fini(&evidence->seals);
    vel_vec_fini(&evidence->facts);
    vel_vec_fini(&evidence->makers);
    vel_fs_names_fini(&evidence->over);
    vel_vec_fini(&evidence->dropped);
}

struct vel_view_of vel_evidence_view(const struct vel_evidence *evidence)
{
    return (struct vel_view_of){.entries = evidence->entries.items,
                                .n_entries = evidence->entries.n,
                                .seals = evidence->facts.items,
                                .n_seals = evidence->facts.n,
                                .makers = evidence->makers.items,
                                .n_makers = evidence->makers.n,
                                .over = (const char *const *)evidence->over.items,
                                .n_over = evidence->over.n,
                                .dropped = evidence->dropped.items,
                                .n_dropped = evidence->dropped.n};
}

/* What nobody can read says nothing; what cannot be read now may say something later,
 * and a view is made once. */
static bool says_nothing(int rc)
{
    return rc == VEL_ENOENT || rc == VEL_ECORRUPT || rc == VEL_EUNSUP ||
           rc == VEL_EINVAL;
}

/* --- makers --- */

static int add_maker(struct gather *g, int64_t id, struct vel_err *err)
{
    struct vel_view_maker maker = {.id = id};
    char *launch = NULL;
    bool is_leaders;
    int rc = vel_id_launch(g->fs, g->dir, id, &launch, &is_leaders, err);

    if (rc < 0)
        return says_nothing(rc) ? 0 : rc;
    maker.launch = launch;
    maker.is_session = !is_leaders;
    if (vel_vec_push(&g->all->makers, &maker))
        return 0;
    free(launch);
    return no_memory(err);
}

/* Of every dataset that has one: also of those that no node holds, so that nobody takes
 * them for nobody's. */
static int add_makers(struct gather *g, struct vel_err *err)
{
    struct vel_vec names;
    int64_t id;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(g->fs, g->dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "dataset.", &id))
            rc = add_maker(g, id, err);
    vel_fs_names_fini(&names);
    return rc;
}

/* --- seals --- */

int vel_evidence_seal(struct vel_fs *fs, const char *path, struct vel_seal *ret,
                      struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_buf text;
    int version, rc = vel_record_load(fs, path, "seal", FORMAT, &version, &body, err);

    vel_buf_init(&text);
    if (rc == 0) {
        vel_node_print(body, &text);
        rc = vel_buf_status(&text, err);
    }
    if (rc == 0)
        rc = vel_seal_decode(text.data, text.len, ret, err);
    vel_buf_fini(&text);
    vel_node_destroy(body);
    return rc;
}

static int keep_seal(struct gather *g, const char *launch, struct vel_seal *seal,
                     struct vel_err *err)
{
    struct vel_view_member *members = calloc(seal->members.n + 1, sizeof *members);
    struct vel_view_seal fact = {.id = seal->id,
                                 .launch = launch,
                                 .template = seal->template,
                                 .verdict = (unsigned)seal->verdict,
                                 .is_listed = true,
                                 .gives_way = vel_seal_gives_way(seal),
                                 .members = members,
                                 .n_members = seal->members.n};

    for (size_t i = 0; members && i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);

        members[i] =
            (struct vel_view_member){.rank = (int)member->rank, .node = member->node};
    }
    if (!members || !vel_vec_push(&g->all->seals, seal)) {
        vel_seal_fini(seal);
        free(members);
        return no_memory(err);
    }
    if (vel_vec_push(&g->all->facts, &fact))
        return 0;
    free(members);
    return no_memory(err);
}

static int is_absent(struct gather *g, const char *launch, bool *ret_is,
                     struct vel_err *err)
{
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    int rc = vel_launch_fate(g->fs, g->dir, launch, &fate, err);

    *ret_is = fate == VEL_LAUNCH_GONE;
    return rc;
}

/* Whoever has made a view removes a launch that nobody needs any more, at any moment:
 * what is missing then is not missed. */
static bool is_removed(struct gather *g, const char *launch, int rc)
{
    bool is = false;

    return rc == VEL_ENOENT && is_absent(g, launch, &is, NULL) == 0 && is;
}

/* The names of those that counted when the launch was ended, char *. None does while it
 * is just being ended, and has no list: who makes a view sees to that before. */
static int load_list(struct gather *g, const char *dir, struct vel_vec *ret,
                     struct vel_err *err)
{
    const struct vel_node *list = NULL;
    struct vel_node *body = NULL;
    char *path = vel_path_join(dir, "seals");
    int version,
        rc = path ? vel_record_load(g->fs, path, "seals", FORMAT, &version, &body, err)
                  : no_memory(err);

    if (rc == VEL_ENOENT) {
        free(path);
        return 0;
    }
    if (rc == 0)
        rc = vel_node_get_list(body, "seals", &list, err);
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        char *name = NULL;

        rc = vel_node_name_at(list, i, &name, err);
        if (rc == 0 && (strchr(name, '/') || strncmp(name, "seal.", 5) != 0))
            rc = vel_fail(err, VEL_ECORRUPT, "%s lists '%s', which is no seal", path,
                          name);
        if (rc == 0 && vel_vec_push(ret, &name))
            continue;
        free(name);
        rc = rc < 0 ? rc : no_memory(err);
    }
    vel_node_destroy(body);
    free(path);
    return rc;
}

/* Who sweeps makes the list shorter, and removes what is not on it any more then. */
static bool is_listed(struct gather *g, const char *dir, const char *name)
{
    struct vel_vec names;
    bool is;

    vel_vec_init(&names, sizeof(char *));
    is = load_list(g, dir, &names, NULL) < 0;
    for (size_t i = 0; !is && i < names.n; i++)
        is = strcmp(*(char **)vel_vec_at(&names, i), name) == 0;
    vel_fs_names_fini(&names);
    return is;
}

static int add_seal(struct gather *g, const char *launch, const char *dir,
                    const char *name, struct vel_err *err)
{
    char *path = vel_path_join(dir, name);
    struct vel_err why = {0};
    struct vel_seal seal;
    int rc = path ? vel_evidence_seal(g->fs, path, &seal, &why) : VEL_ENOMEM;

    free(path);
    if (rc == 0)
        return keep_seal(g, launch, &seal, err);
    if (!says_nothing(rc))
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    /* a dataset whose seal is lost does not count */
    if (!is_removed(g, launch, rc) && (rc != VEL_ENOENT || is_listed(g, dir, name)))
        vel_log(VEL_LOG_WARN, "a seal of an earlier launch does not count: %s",
                why.text);
    return 0;
}

static int add_listed(struct gather *g, const char *launch, const char *dir,
                      struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = load_list(g, dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = add_seal(g, launch, dir, *(char **)vel_vec_at(&names, i), err);
    vel_fs_names_fini(&names);
    return rc;
}

bool vel_evidence_is_seal(const char *name)
{
    return (strncmp(name, "seal.", 5) == 0 || strncmp(name, "again.", 6) == 0) &&
           !vel_fs_is_temporary(name);
}

/* Those of a launch that has no end: `seal.`; and `again.`: those that launches after
 * it have made. */
static int add_present(struct gather *g, const char *launch, const char *dir,
                       const char *word, struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(g->fs, dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        if (strncmp(name, word, strlen(word)) == 0 && !vel_fs_is_temporary(name))
            rc = add_seal(g, launch, dir, name, err);
    }
    vel_fs_names_fini(&names);
    return rc;
}

static int add_seals(struct gather *g, const char *launch, struct vel_err *err)
{
    char *dir = vel_launch_dir(g->dir, launch);
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    int rc = dir ? vel_launch_fate(g->fs, g->dir, launch, &fate, err) : no_memory(err);

    if (rc == 0)
        rc = fate == VEL_LAUNCH_ENDED ? add_listed(g, launch, dir, err)
                                      : add_present(g, launch, dir, "seal.", err);
    if (rc == 0)
        rc = add_present(g, launch, dir, "again.", err);
    free(dir);
    return rc;
}

static int add_launches(struct gather *g, struct vel_err *err)
{
    for (size_t i = 0; i < g->all->over.n; i++) {
        const char *launch = *(char **)vel_vec_at(&g->all->over, i);
        struct vel_err why = {0};
        int rc = add_seals(g, launch, &why);

        if (rc < 0 && !says_nothing(rc))
            return vel_fail(err, (enum vel_status)rc, "%s", why.text);
        if (rc < 0 && !is_removed(g, launch, rc))
            vel_log(VEL_LOG_WARN, "datasets of launch %s do not count: %s", launch,
                    why.text);
    }
    return 0;
}

/* Is a launch among those that are over, from place `from` on? */
static bool is_among(const struct vel_vec *over, size_t from, const char *launch)
{
    for (size_t i = from; i < over->n; i++)
        if (strcmp(*(char **)vel_vec_at(over, i), launch) == 0)
            return true;
    return false;
}

/* A launch without a directory was over, and its seals not needed any more, when that
 * was removed. */
static int add_gone(struct gather *g, struct vel_err *err)
{
    struct vel_vec *over = &g->all->over;
    size_t ended = over->n;

    for (size_t i = 0; i < g->all->makers.n; i++) {
        struct vel_view_maker *maker = vel_vec_at(&g->all->makers, i);
        char *launch;
        int rc;

        if (is_among(over, 0, maker->launch)) {
            maker->is_gone = is_among(over, ended, maker->launch);
            continue;
        }
        rc = is_absent(g, maker->launch, &maker->is_gone, err);
        if (rc < 0)
            return rc;
        if (!maker->is_gone)
            continue;
        launch = strdup(maker->launch);
        if (!launch || !vel_vec_push(over, &launch)) {
            free(launch);
            return no_memory(err);
        }
    }
    return 0;
}

/* --- all --- */

int vel_evidence_load(struct vel_fs *fs, const char *dir, struct vel_vec *over,
                      struct vel_evidence *ret, struct vel_err *err)
{
    struct vel_evidence all = {.over = *over};
    struct gather g = {.fs = fs, .dir = dir, .all = &all};
    int rc;

    vel_vec_init(over, sizeof(char *));
    vel_vec_init(&all.entries, sizeof(struct vel_entry));
    vel_vec_init(&all.seals, sizeof(struct vel_seal));
    vel_vec_init(&all.facts, sizeof(struct vel_view_seal));
    vel_vec_init(&all.makers, sizeof(struct vel_view_maker));
    vel_vec_init(&all.dropped, sizeof(int64_t));
    rc = add_launches(&g, err);
    /* after the seals: one is removed when the entry says that the prefix has it; and
     * before the makers: who has an entry without one was made without a leader */
    if (rc == 0)
        rc = vel_index_load(fs, dir, &all.entries, err);
    if (rc == 0)
        rc = vel_dropped_load(fs, dir, &all.dropped, err);
    if (rc == 0)
        rc = add_makers(&g, err);
    if (rc == 0)
        rc = add_gone(&g, err);
    if (rc < 0)
        vel_evidence_fini(&all);
    else
        *ret = all;
    return rc;
}
