/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be restored: the view is made from what all nodes told, the seals that
 * count, and the index (doc/life.txt, 13). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "brain/roster.h"
#include "ident/once.h"
#include "meta/launch.h"
#include "node/about.h"
#include "node/service_mover.h"
#include "record/record.h"
#include "view/evidence.h"
#include "view/missed.h"
#include "view/seals.h"

enum { FORMAT = 1 }; /* of record "roll" */

/* Inventories as nodes have told them. One that cannot be read is as if it were lost.
 */
static int decode(const struct vel_vec *held, struct vel_vec *ret, struct vel_err *err)
{
    for (size_t i = 0; i < held->n; i++) {
        const struct vel_leader_held *told = vel_vec_at(held, i);
        struct vel_inventory inventory;
        struct vel_err why = {0};
        int rc;

        if (told->len == 0) /* it cannot tell */
            continue;
        rc = vel_inventory_decode(told->record, told->len, &inventory, &why);
        if (rc < 0) {
            vel_log(VEL_LOG_WARN, "what %s holds is not counted: %s", told->node,
                    why.text);
            continue;
        }
        if (!vel_vec_push(ret, &inventory)) {
            vel_inventory_fini(&inventory);
            return vel_out_of_memory(err, "the view");
        }
    }
    return 0;
}

/* What the prefix says, of launches that have an end. */
static int load_evidence(struct vel_service *service, struct vel_evidence *ret,
                         struct vel_err *err)
{
    struct vel_vec over;
    int rc;

    vel_vec_init(&over, sizeof(char *));
    rc = vel_service_ended(service, &over, err);
    if (rc == 0)
        return vel_evidence_load(service->index, &over, NULL, ret, err);
    vel_fs_names_fini(&over);
    return rc;
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

static int make_of(struct vel_service *service, const struct vel_vec *nodes,
                   const struct vel_evidence *evidence, struct vel_view *ret,
                   struct vel_err *err)
{
    struct vel_view_of of = vel_evidence_view(evidence);

    of.launch = service->launch;
    of.nodes = nodes->items;
    of.n_nodes = nodes->n;
    return vel_view_make(&of, ret, err);
}

/* One line, for people: what is not seen now may be seen again. */
static void tell_missed(struct vel_service *service, const struct vel_view *view)
{
    struct vel_seals_of seals = {.fs = service->fs, .dir = service->dir};
    struct vel_missed_of of = {
        .view = view, .seals = &seals, .wait = service->conf->view_wait};
    struct vel_buf caches, text;

    vel_buf_init(&caches);
    vel_buf_init(&text);
    vel_conf_list_stores(service->conf, NULL, &caches);
    of.caches = vel_buf_text(&caches);
    if (vel_view_tell_missed(&of, &text))
        vel_log(VEL_LOG_WARN, "%s", vel_buf_text(&text));
    vel_seals_of_fini(&seals);
    vel_buf_fini(&caches);
    vel_buf_fini(&text);
}

int vel_service_make_view(void *arg, const struct vel_vec *held, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_evidence evidence;
    struct vel_vec nodes;
    struct vel_view view;
    unsigned made = 0;
    int rc;

    vel_vec_init(&nodes, sizeof(struct vel_inventory));
    rc = decode(held, &nodes, err);
    if (rc == 0)
        rc = load_evidence(service, &evidence, err);
    if (rc == 0) {
        rc = vel_service_again(service, &nodes, &evidence, &made, err);
        if (rc == 0 && made > 0)
            rc = vel_fail(err, VEL_EBUSY, "%u datasets are to be taken first", made);
        if (rc == 0)
            rc = make_of(service, &nodes, &evidence, &view, err);
        vel_evidence_fini(&evidence);
    }
    if (rc == 0) {
        rc = save(service, &view, err);
        if (rc == 0)
            tell_missed(service, &view);
        vel_view_fini(&view);
    }
    if (rc == 0)
        vel_service_sweep(service);
    for (size_t i = 0; i < nodes.n; i++)
        vel_inventory_fini(vel_vec_at(&nodes, i));
    vel_vec_fini(&nodes);
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
        vel_service_share_stores(service, view->nodes.items, view->nodes.n);
        view = NULL;
    } else if (rc == 0) {
        vel_view_fini(view);
    }
    free(view);
    free(path);
    return rc;
}

/* Of the dataset that is missed a node may have it that did not tell. */
static bool say_away(const struct vel_service *service, const struct vel_view *view,
                     const char *path, struct vel_buf *ret)
{
    struct vel_seals_of seals = {.fs = service->fs, .dir = service->dir};
    const struct vel_view_lost *lost;
    struct vel_seal seal;
    struct vel_buf away;
    bool is = false;
    size_t n;

    vel_buf_init(&away);
    if (vel_view_find_missed(view, &seals, &seal, &n)) {
        is = vel_view_put_away(view, &seal, &away) > 0;
        lost = vel_view_find_lost(view, seal.id);
        if (is)
            vel_buf_printf(ret,
                           "%s may be part of dataset %" PRId64
                           ", which cannot be restored now: %s",
                           path, seal.id, lost->why);
        vel_seal_fini(&seal);
    }
    vel_seals_of_fini(&seals);
    vel_buf_fini(&away);
    return is;
}

void vel_service_say_unseen(const struct vel_service *service,
                            const struct vel_view *view, const char *path,
                            const char *launch, struct vel_buf *ret)
{
    struct vel_buf elsewhere;
    char *dir;

    if (say_away(service, view, path, ret))
        return;
    dir = vel_launch_dir(service->dir, launch);
    vel_buf_init(&elsewhere);
    if (dir)
        vel_about_elsewhere(service->fs, dir, service->conf, &elsewhere);
    vel_buf_printf(ret, "%s was not found in the caches that were looked at (", path);
    vel_conf_list_stores(service->conf, NULL, ret);
    if (elsewhere.len > 0)
        vel_buf_printf(ret,
                       "): the program that wrote it had caches in %s; set CACHE_BASE, "
                       "or STORE lines, as they were",
                       vel_buf_text(&elsewhere));
    else
        vel_buf_puts(ret, "): mount those of the program that wrote it, or set "
                          "CACHE_BASE, or STORE lines, as they were");
    vel_buf_fini(&elsewhere);
    free(dir);
}

/* --- whom to wait for --- */

/* Record "roll" of a launch of tools (process/prerun.h): who came; and the datasets of
 * which nobody else has what is needed (int64_t). None, or one that is damaged: both
 * empty. */
static int load_roll(struct vel_service *service, const char *dir, struct vel_buf *ret,
                     struct vel_vec *ret_ids, struct vel_err *err)
{
    char *path = vel_path_join(dir, "roll");
    struct vel_node *body = NULL;
    const struct vel_node *list;
    const char *nodes;
    int64_t id;
    int version;
    int rc =
        path ? vel_record_load(service->fs, path, "roll", FORMAT, &version, &body, NULL)
             : VEL_ENOMEM;

    if (rc == 0 && vel_node_get_text(body, "nodes", &nodes, NULL) == 0 &&
        vel_node_get_list(body, "datasets", &list, NULL) == 0) {
        vel_buf_puts(ret, nodes);
        for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++)
            if (vel_node_int_at(list, i, 1, INT64_MAX, &id, NULL) == 0 &&
                !vel_vec_push(ret_ids, &id))
                rc = VEL_ENOMEM;
    }
    vel_node_destroy(body);
    free(path);
    return rc == VEL_ENOMEM ? vel_out_of_memory(err, "nodes")
                            : vel_buf_status(ret, err);
}

static int add_known(struct vel_map *nodes, const char *node, struct vel_buf *ret,
                     struct vel_err *err)
{
    if (vel_map_has(nodes, node))
        return 0;
    vel_buf_printf(ret, "%s%s", ret->len ? " " : "", node);
    return vel_map_set(nodes, node, nodes, NULL) ? vel_out_of_memory(err, "nodes") : 0;
}

/* What a launch of tools has brought may be on any node that came, and on no other. */
static int add_members(const struct vel_seal *seal, const char *came, bool is_brought,
                       struct vel_map *nodes, struct vel_buf *ret, struct vel_err *err)
{
    char node[VEL_ROSTER_NAME];
    int rc = 0;

    while (is_brought && rc == 0 && vel_words_next(&came, node))
        rc = add_known(nodes, node, ret, err);
    for (size_t i = 0; !is_brought && rc == 0 && i < seal->members.n; i++)
        rc = add_known(nodes, vel_seal_member(seal, i)->node, ret, err);
    return rc;
}

/* Nodes that seals of other launches name whose datasets are in caches only. */
int vel_service_known(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_map *nodes = vel_map_create();
    struct vel_vec seals, ids;
    struct vel_buf came;
    int rc = nodes ? 0 : vel_out_of_memory(err, "nodes");

    vel_vec_init(&seals, sizeof(struct vel_seal));
    vel_vec_init(&ids, sizeof(int64_t));
    vel_buf_init(&came);
    if (rc == 0)
        rc = load_roll(service, service->launch_dir, ret, &ids, err);
    if (rc == 0 && ret->len == 0)
        rc = load_roll(service, service->dir, &came, &ids, err);
    vel_index_stand_still(service->index);
    if (rc == 0 && ret->len == 0)
        rc = vel_service_old_seals(service, VEL_VERDICT_SEALED, &seals, err);
    if (rc == 0 && ret->len == 0) /* it comes to its path when all its nodes are here */
        rc = vel_service_old_seals(service, VEL_VERDICT_PARTIAL, &seals, err);
    vel_index_go_on(service->index);
    for (size_t i = 0; rc == 0 && i < seals.n; i++) {
        const struct vel_seal *seal = vel_vec_at(&seals, i);

        rc = add_members(seal, vel_buf_text(&came), vel_vec_has_number(&ids, seal->id),
                         nodes, ret, err);
    }
    for (size_t i = 0; i < seals.n; i++)
        vel_seal_fini(vel_vec_at(&seals, i));
    vel_vec_fini(&seals);
    vel_vec_fini(&ids);
    vel_buf_fini(&came);
    vel_map_destroy(nodes, NULL);
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}
