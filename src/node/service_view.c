/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be restored: the view is made from what all nodes told, the seals that
 * count, and the index (doc/protocol-leader.txt, 6). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "node/once.h"
#include "node/service_in.h"
#include "record/record.h"

enum { FORMAT = 1 };

/* What a view is made of, as it is read; vel_view_of points into it. */
struct gathered {
    struct vel_vec nodes;   /* struct vel_inventory */
    struct vel_vec entries; /* struct vel_entry */
    struct vel_vec seals;   /* struct vel_seal */
    struct vel_vec facts;   /* struct vel_view_seal: of the same */
    struct vel_vec makers;  /* struct vel_view_maker */
    struct vel_vec over;    /* char * */
    struct vel_vec dropped; /* int64_t */
};

static void gathered_init(struct gathered *all)
{
    vel_vec_init(&all->nodes, sizeof(struct vel_inventory));
    vel_vec_init(&all->entries, sizeof(struct vel_entry));
    vel_vec_init(&all->seals, sizeof(struct vel_seal));
    vel_vec_init(&all->facts, sizeof(struct vel_view_seal));
    vel_vec_init(&all->makers, sizeof(struct vel_view_maker));
    vel_vec_init(&all->over, sizeof(char *));
    vel_vec_init(&all->dropped, sizeof(int64_t));
}

static void gathered_fini(struct gathered *all)
{
    for (size_t i = 0; i < all->nodes.n; i++)
        vel_inventory_fini(vel_vec_at(&all->nodes, i));
    for (size_t i = 0; i < all->seals.n; i++)
        vel_seal_fini(vel_vec_at(&all->seals, i));
    for (size_t i = 0; i < all->facts.n; i++)
        free((void *)((struct vel_view_seal *)vel_vec_at(&all->facts, i))->members);
    for (size_t i = 0; i < all->makers.n; i++)
        free((char *)((struct vel_view_maker *)vel_vec_at(&all->makers, i))->launch);
    vel_vec_fini(&all->nodes);
    vel_index_fini(&all->entries);
    vel_vec_fini(&all->seals);
    vel_vec_fini(&all->facts);
    vel_vec_fini(&all->makers);
    vel_fs_names_fini(&all->over);
    vel_vec_fini(&all->dropped);
}

/* --- gather --- */

static int add_inventories(const struct vel_vec *held, struct gathered *all,
                           struct vel_err *err)
{
    for (size_t i = 0; i < held->n; i++) {
        const struct vel_leader_held *told = vel_vec_at(held, i);
        struct vel_inventory inventory;
        struct vel_err why = {0};
        int rc = vel_inventory_decode(told->record, told->len, &inventory, &why);

        if (rc < 0) { /* as if it were lost */
            vel_log(VEL_LOG_WARN, "what %s holds is not counted: %s", told->node,
                    why.text);
            continue;
        }
        if (!vel_vec_push(&all->nodes, &inventory)) {
            vel_inventory_fini(&inventory);
            return vel_out_of_memory(err, "the view");
        }
    }
    return 0;
}

static int add_maker(struct vel_service *service, int64_t id, struct gathered *all,
                     struct vel_err *err)
{
    char *dir = vel_dataset_dir(service->dir, id);
    char *path = dir ? vel_path_join(dir, "launch") : NULL;
    struct vel_view_maker maker = {.id = id};
    struct vel_node *body = NULL;
    const char *launch;
    int version, rc = path ? vel_record_load(service->fs, path, "launch", FORMAT,
                                             &version, &body, NULL)
                           : VEL_ENOMEM;

    free(dir);
    free(path);
    if (rc == 0 && vel_node_get_text(body, "launch", &launch, NULL) == 0) {
        maker.launch = strdup(launch);
        if (!maker.launch || !vel_vec_push(&all->makers, &maker)) {
            free((char *)maker.launch);
            rc = VEL_ENOMEM;
        }
    }
    vel_node_destroy(body);
    return rc == VEL_ENOMEM ? vel_out_of_memory(err, "the view") : 0;
}

/* Of every dataset that has one: also of those that no node holds, so that nobody takes
 * them for nobody's. */
static int add_makers(struct vel_service *service, struct gathered *all,
                      struct vel_err *err)
{
    struct vel_vec names;
    int64_t id;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(service->fs, service->dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "dataset.", &id))
            rc = add_maker(service, id, all, err);
    vel_fs_names_fini(&names);
    return rc;
}

static int add_seal(struct vel_service *service, const char *launch, const char *dir,
                    const char *name, struct gathered *all, struct vel_err *err)
{
    char *path = vel_path_join(dir, name);
    struct vel_view_seal fact = {.launch = launch, .is_listed = true};
    struct vel_view_member *members;
    struct vel_err why = {0};
    struct vel_seal seal;
    int rc = path ? vel_service_seal_load(service, path, &seal, &why) : VEL_ENOMEM;

    free(path);
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "the view");
    if (rc < 0) { /* a dataset whose seal is lost does not count */
        vel_log(VEL_LOG_WARN, "a seal of an earlier launch does not count: %s",
                why.text);
        return 0;
    }
    members = calloc(seal.members.n + 1, sizeof *members);
    for (size_t i = 0; members && i < seal.members.n; i++) {
        const struct vel_seal_member *member = vel_vec_at(&seal.members, i);

        members[i] =
            (struct vel_view_member){.rank = (int)member->rank, .node = member->node};
    }
    fact.id = seal.id;
    fact.verdict = (unsigned)seal.verdict;
    fact.members = members;
    fact.n_members = seal.members.n;
    if (!members || !vel_vec_push(&all->seals, &seal)) {
        vel_seal_fini(&seal);
        free(members);
        return vel_out_of_memory(err, "the view");
    }
    if (vel_vec_push(&all->facts, &fact))
        return 0;
    free(members);
    return vel_out_of_memory(err, "the view");
}

static int add_seals(struct vel_service *service, const char *launch,
                     struct gathered *all, struct vel_err *err)
{
    const struct vel_node *list = NULL;
    struct vel_node *body = NULL;
    struct vel_buf dir;
    char *path;
    int version, rc;

    vel_buf_init(&dir);
    vel_buf_printf(&dir, "%s/launch.%s", service->dir, launch);
    path = vel_path_join(vel_buf_text(&dir), "seals");
    rc = path
             ? vel_record_load(service->fs, path, "seals", FORMAT, &version, &body, err)
             : vel_out_of_memory(err, "the view");
    if (rc == 0)
        rc = vel_node_get_list(body, "seals", &list, err);
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        char *name = NULL;

        rc = vel_node_name_at(list, i, &name, err);
        if (rc == 0 && (strchr(name, '/') || strncmp(name, "seal.", 5) != 0))
            rc = vel_fail(err, VEL_ECORRUPT, "%s lists '%s', which is no seal", path,
                          name);
        if (rc == 0)
            rc = add_seal(service, launch, dir.data, name, all, err);
        free(name);
    }
    vel_node_destroy(body);
    vel_buf_fini(&dir);
    free(path);
    return rc;
}

/* Launches that have an end, and their seals. One that is being ended by another chair
 * just now has no list yet: it counts when that is there. */
static int add_launches(struct vel_service *service, struct gathered *all,
                        struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_service_ended(service, &all->over, err);

    for (size_t i = 0; rc == 0 && i < all->over.n; i++) {
        const char *launch = *(char **)vel_vec_at(&all->over, i);

        rc = add_seals(service, launch, all, &why);
        if (rc == VEL_ENOMEM)
            return vel_out_of_memory(err, "the view");
        if (rc < 0)
            vel_log(VEL_LOG_WARN, "datasets of launch %s do not count: %s", launch,
                    why.text);
        rc = 0;
    }
    return rc;
}

static int gather(struct vel_service *service, const struct vel_vec *held,
                  struct gathered *all, struct vel_err *err)
{
    int rc = add_inventories(held, all, err);

    if (rc == 0)
        rc = vel_index_load(service->fs, service->dir, &all->entries, err);
    if (rc == 0)
        rc = vel_dropped_load(service->fs, service->dir, &all->dropped, err);
    if (rc == 0)
        rc = add_launches(service, all, err);
    return rc == 0 ? add_makers(service, all, err) : rc;
}

/* --- make --- */

static int save(struct vel_service *service, const struct vel_view *view,
                struct vel_err *err)
{
    char *path = vel_view_path(service->dir, service->launch);
    struct vel_node *body = path ? vel_view_to_node(view, err) : NULL;
    bool is_mine;
    int rc = body ? vel_once(service->fs, path, VEL_VIEW_TYPE, VEL_VIEW_FORMAT, body,
                             &is_mine, err)
                  : vel_out_of_memory(err, "the view");

    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_service_make_view(void *arg, const struct vel_vec *held, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct gathered all;
    struct vel_view view;
    int rc;

    gathered_init(&all);
    rc = gather(service, held, &all, err);
    if (rc == 0) {
        struct vel_view_of of = {.launch = service->launch,
                                 .nodes = all.nodes.items,
                                 .n_nodes = all.nodes.n,
                                 .entries = all.entries.items,
                                 .n_entries = all.entries.n,
                                 .seals = all.facts.items,
                                 .n_seals = all.facts.n,
                                 .makers = all.makers.items,
                                 .n_makers = all.makers.n,
                                 .over = (const char *const *)all.over.items,
                                 .n_over = all.over.n,
                                 .dropped = all.dropped.items,
                                 .n_dropped = all.dropped.n};
        rc = vel_view_make(&of, &view, err);
    }
    if (rc == 0) {
        rc = save(service, &view, err);
        vel_view_fini(&view);
    }
    gathered_fini(&all);
    return rc;
}

int vel_service_load_view(void *arg, struct vel_err *err)
{
    struct vel_service *service = arg;
    char *path = vel_view_path(service->dir, service->launch);
    struct vel_view *view = calloc(1, sizeof *view);
    int rc = path && view ? vel_view_load(service->fs, path, view, err)
                          : vel_out_of_memory(err, "the view");

    if (rc == 0 && !service->view) {
        service->view = view;
        view = NULL;
    } else if (rc == 0) {
        vel_view_fini(view);
    }
    free(view);
    free(path);
    return rc;
}

/* --- whom to wait for --- */

/* Nodes that seals of other launches name whose datasets are in caches only. */
int vel_service_known(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_map *nodes = vel_map_create();
    struct vel_vec seals;
    int rc = nodes ? 0 : vel_out_of_memory(err, "nodes");

    vel_vec_init(&seals, sizeof(struct vel_seal));
    if (rc == 0)
        rc = vel_service_old_seals(service, &seals, err);
    for (size_t i = 0; rc == 0 && i < seals.n; i++) {
        const struct vel_seal *seal = vel_vec_at(&seals, i);

        for (size_t m = 0; rc == 0 && m < seal->members.n; m++) {
            const struct vel_seal_member *member = vel_vec_at(&seal->members, m);

            if (vel_map_has(nodes, member->node))
                continue;
            vel_buf_printf(ret, "%s%s", ret->len ? " " : "", member->node);
            rc = vel_map_set(nodes, member->node, nodes, NULL)
                     ? vel_out_of_memory(err, "nodes")
                     : 0;
        }
    }
    for (size_t i = 0; i < seals.n; i++)
        vel_seal_fini(vel_vec_at(&seals, i));
    vel_vec_fini(&seals);
    vel_map_destroy(nodes, NULL);
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}
