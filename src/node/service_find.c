/* SPDX-License-Identifier: BSD-3-Clause */
/* What is still to be done, found in records: by a leader that begins, and by one that
 * becomes the chair (doc/life.txt, 1). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/promise.h"
#include "node/service_in.h"
#include "view/seals.h"

static int look_at(struct vel_service *service, struct vel_leader_found *found,
                   struct vel_err *err)
{
    struct vel_entry entry = {0};
    int rc =
        vel_service_is_dropped(service, found->seal.id, &found->found.is_dropped, err);

    if (rc < 0)
        return rc;
    rc = vel_entry_load(service->index, found->seal.id, &entry, err);
    if (rc < 0 && !vel_status_is_final(rc))
        return rc;
    if (rc == 0 && entry.owner > 0) {
        found->found.has_entry = true;
        found->found.place = entry.place;
        found->found.is_replaced = entry.replaced > 0;
        found->found.is_encoded = found->seal.is_encoded = entry.is_encoded;
    }
    if (rc == 0)
        vel_entry_fini(&entry);
    return 0;
}

static void take_seal(struct vel_leader_found *found, struct vel_seal *seal)
{
    vel_seal_fini(&found->seal);
    found->seal = *seal;
    found->found.seal =
        seal->verdict == VEL_VERDICT_VOID ? VEL_SEAL_VOID : VEL_SEAL_MADE;
}

static int push(struct vel_vec *ret, struct vel_leader_found *found,
                struct vel_err *err)
{
    if (vel_vec_push(ret, found))
        return 0;
    vel_seal_fini(&found->seal);
    return vel_out_of_memory(err, "datasets");
}

/* That of a dataset in this launch. VEL_ENOENT: it has none, or nobody can read it. */
static int find_seal(struct vel_service *service, int64_t id, struct vel_seal *ret,
                     struct vel_err *err)
{
    const struct vel_seals *seals;
    int rc = vel_service_seals(service, &seals, err);

    if (rc == 0)
        rc = vel_seals_find_id(seals, id, ret, err);
    return vel_status_is_final(rc) ? VEL_ENOENT : rc;
}

/* One of a launch before, without a seal of this one: nothing can be done for it. */
static int check_aside(struct vel_service *service, int64_t id, bool *ret_is,
                       struct vel_err *err)
{
    char *launch = NULL;
    int rc = vel_index_maker(service->index, id, &launch, NULL, err);

    *ret_is = rc == 0 && strcmp(launch, service->launch) != 0;
    free(launch);
    return vel_status_is_final(rc) ? 0 : rc;
}

/* --- promised, and sealed --- */

/* Without a word of what it is. */
static int init_found(struct vel_leader_found *ret, int64_t id, unsigned owed,
                      struct vel_err *err)
{
    *ret =
        (struct vel_leader_found){.is_here = true, .owed = owed, .found.has_map = true};
    vel_seal_init(&ret->seal);
    ret->seal.id = id;
    ret->seal.template = strdup("");
    ret->seal.step = strdup("");
    return ret->seal.template && ret->seal.step ? 0
                                                : vel_out_of_memory(err, "datasets");
}

static int add_owed(struct vel_service *service, const struct vel_promise *promise,
                    struct vel_vec *ret, struct vel_err *err)
{
    struct vel_leader_found found;
    struct vel_seal seal;
    int rc = init_found(&found, promise->id, vel_promise_what(promise), err);

    if (rc == 0)
        rc = find_seal(service, promise->id, &seal, err);
    if (rc == 0)
        take_seal(&found, &seal);
    else if (rc == VEL_ENOENT)
        rc = check_aside(service, promise->id, &found.is_aside, err);
    if (rc == 0)
        rc = look_at(service, &found, err);
    if (rc < 0) {
        vel_seal_fini(&found.seal);
        return rc;
    }
    return push(ret, &found, err);
}

/* What was promised to launches before is for them who recover it. */
static int find_owed(struct vel_service *service, struct vel_vec *ret,
                     struct vel_err *err)
{
    struct vel_vec promises;
    int rc = 0;

    vel_vec_init(&promises, sizeof(struct vel_promise));
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++)
        rc = vel_promises_list(service->batches[i], &promises, err);
    for (size_t i = 0; rc == 0 && i < promises.n; i++) {
        const struct vel_promise *promise = vel_vec_at(&promises, i);

        if (strcmp(promise->launch, service->launch) == 0)
            rc = add_owed(service, promise, ret, err);
    }
    vel_promises_fini(&promises);
    return rc;
}

/* One that is over counts only when it is asked for. Takes the seal. */
static int add_sealed(struct vel_service *service, struct vel_seal *seal, bool is_asked,
                      struct vel_vec *ret, struct vel_err *err)
{
    struct vel_leader_found found = {.found.has_map = true};
    int rc;

    vel_seal_init(&found.seal);
    take_seal(&found, seal);
    rc = look_at(service, &found, err);
    if (rc < 0 || (!is_asked && found.found.place == VEL_ON_PREFIX)) {
        vel_seal_fini(&found.seal);
        return rc;
    }
    found.is_here = vel_seal_has_node(&found.seal, service->host.node);
    found.owed = vel_service_promised(service, found.seal.id);
    if (!is_asked && found.is_here && !found.owed) { /* taken back, and its parts go */
        vel_seal_fini(&found.seal);
        return 0;
    }
    return push(ret, &found, err);
}

/* What nobody can read seals nothing. */
static int find_seals(struct vel_service *service, struct vel_vec *ret,
                      struct vel_err *err)
{
    const struct vel_seals *seals;
    int rc = vel_service_seals(service, &seals, err);

    if (rc == VEL_ECORRUPT)
        return 0;
    for (size_t i = 0; rc == 0 && i < seals->items.n; i++) {
        struct vel_seal seal;

        rc = vel_seals_at(seals, i, &seal, err);
        if (rc == 0)
            rc = add_sealed(service, &seal, false, ret, err);
        else if (vel_status_is_final(rc))
            rc = 0;
    }
    return rc;
}

/* --- one, and those of the view --- */

/* Where its parts are now. A part that nobody has stays where it was, and its set is to
 * be formed again. */
static int place_parts(const struct vel_view *view,
                       const struct vel_view_dataset *dataset, struct vel_seal *seal,
                       struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        const struct vel_view_set *of;
        size_t set, place;
        int node = -1;

        if (vel_view_find_place(dataset, (int)member->rank, &set, &place)) {
            of = vel_vec_at(&dataset->sets, set);
            node = ((struct vel_view_place *)vel_vec_at(&of->places, place))->node;
        }
        if (node < 0) {
            rc = vel_seal_form_again(seal, member->set, err);
            continue;
        }
        free(member->node);
        member->node = strdup(*(char **)vel_vec_at(&view->nodes, (size_t)node));
        rc = member->node ? 0 : vel_out_of_memory(err, "datasets");
    }
    return rc;
}

/* What is no checkpoint is no dataset of the view, and has no other copies: it is still
 * to be flushed where all its nodes are. */
static bool are_all_here(const struct vel_view *view, const struct vel_seal *seal)
{
    const struct vel_view_lost *lost = vel_view_find_lost(view, seal->id);
    bool are = lost && lost->reason == VEL_VIEW_PARTIAL;

    for (size_t i = 0; are && i < seal->members.n; i++)
        are = vel_view_has_node(view, vel_seal_member(seal, i)->node);
    return are;
}

/* A dataset of the connector's files that an earlier launch has left in the caches, or
 * without all its names on the prefix: those of the API are owed again by sessions that
 * recover them. Takes the seal. */
static int add_old(struct vel_service *service, struct vel_seal *seal,
                   struct vel_vec *ret, struct vel_err *err)
{
    bool is_ours = service->view && *seal->template;
    const struct vel_view_dataset *dataset =
        is_ours ? vel_view_find_dataset(service->view, seal->id) : NULL;
    struct vel_leader_found found = {.seal = *seal,
                                     .found = {.has_map = true, .seal = VEL_SEAL_MADE}};
    bool is_left;
    int rc = 0;

    vel_seal_init(seal);
    if (dataset || (is_ours && are_all_here(service->view, &found.seal)))
        rc = look_at(service, &found, err);
    is_left = dataset ? dataset->is_cached || found.found.place == VEL_ON_STAGED
                      : is_ours && are_all_here(service->view, &found.seal);
    if (rc == 0 && is_left && dataset)
        rc = place_parts(service->view, dataset, &found.seal, err);
    if (rc < 0 || !is_left) {
        vel_seal_fini(&found.seal);
        return rc;
    }
    found.seal.is_encoded = dataset && memcmp(dataset->encoding, found.seal.encoding,
                                              VEL_SEAL_ENCODING) == 0;
    found.is_here = vel_seal_has_node(&found.seal, service->host.node);
    found.owed = vel_service_promised(service, found.seal.id);
    return push(ret, &found, err);
}

static int find_old(struct vel_service *service, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_vec seals;
    int rc;

    vel_vec_init(&seals, sizeof(struct vel_seal));
    rc = vel_service_old_seals(service, VEL_VERDICT_SEALED, &seals, err);
    if (rc == 0)
        rc = vel_service_old_seals(service, VEL_VERDICT_PARTIAL, &seals, err);
    for (size_t i = 0; i < seals.n; i++) {
        struct vel_seal *seal = vel_vec_at(&seals, i);

        if (rc == 0)
            rc = add_old(service, seal, ret, err);
        vel_seal_fini(seal);
    }
    vel_vec_fini(&seals);
    return rc;
}

/* In the launch that has made it. */
static int find_old_one(struct vel_service *service, int64_t id, struct vel_vec *ret,
                        struct vel_err *err)
{
    struct vel_seals *seals = NULL;
    struct vel_seal seal;
    char *launch = NULL;
    int rc = vel_index_maker(service->index, id, &launch, NULL, err);

    if (rc == 0)
        rc = strcmp(launch, service->launch) != 0
                 ? vel_seals_load(service->fs, service->dir, launch, &seals, err)
                 : VEL_ENOENT;
    if (rc == 0)
        rc = vel_seals_find_id(seals, id, &seal, err);
    vel_seals_destroy(seals);
    free(launch);
    if (rc < 0)
        return rc;
    if (seal.verdict != VEL_VERDICT_VOID && !vel_seal_gives_way(&seal))
        return add_old(service, &seal, ret, err);
    vel_seal_fini(&seal);
    return 0;
}

/* A dataset of a launch before that this one has not restored. */
static int add_aside(struct vel_service *service, int64_t id, struct vel_vec *ret,
                     struct vel_err *err)
{
    struct vel_leader_found found;
    bool is_aside;
    int rc = check_aside(service, id, &is_aside, err);

    if (rc < 0 || !is_aside)
        return rc;
    rc = init_found(&found, id, vel_service_promised(service, id), err);
    found.is_here = found.owed != 0;
    found.is_aside = true;
    if (rc == 0)
        return push(ret, &found, err);
    vel_seal_fini(&found.seal);
    return rc;
}

static int find_one(struct vel_service *service, int64_t id, struct vel_vec *ret,
                    struct vel_err *err)
{
    size_t before = ret->n;
    struct vel_seal seal;
    int rc = find_seal(service, id, &seal, err);

    if (rc == 0)
        return add_sealed(service, &seal, true, ret, err);
    if (rc == VEL_ENOENT)
        rc = find_old_one(service, id, ret, err);
    if (vel_status_is_final(rc))
        rc = 0;
    return rc == 0 && ret->n == before ? add_aside(service, id, ret, err) : rc;
}

int vel_service_find(void *arg, enum vel_leader_look where, const struct vel_seal *of,
                     struct vel_vec *ret, struct vel_err *err)
{
    struct vel_service *service = arg;

    switch (where) {
    case VEL_LOOK_OWED:
        return find_owed(service, ret, err);
    case VEL_LOOK_SEALS:
        return find_seals(service, ret, err);
    case VEL_LOOK_ONE:
        return find_one(service, of->id, ret, err);
    case VEL_LOOK_VIEW:
        return find_old(service, ret, err);
    }
    return 0;
}
