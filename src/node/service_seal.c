/* SPDX-License-Identifier: BSD-3-Clause */
/* Seals, in the ledgers of launches: of this one, and of one that is over what it had
 * closed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/ids.h"
#include "node/service_in.h"
#include "sys/entropy.h"
#include "view/seals.h"

/* --- what is sealed --- */

int vel_service_seals(struct vel_service *service, const struct vel_seals **ret,
                      struct vel_err *err)
{
    int rc = service->seals ? 0
                            : vel_seals_create(service->fs, service->dir,
                                               service->launch, &service->seals, err);

    if (rc == 0)
        rc = vel_seals_read(service->seals, err);
    *ret = service->seals;
    return rc;
}

int vel_service_sealed(void *arg, const char *template, const char *step,
                       int64_t generation, int64_t *ret_id,
                       enum vel_verdict *ret_verdict, struct vel_err *err)
{
    const struct vel_seal of = {.template = (char *)(uintptr_t) template,
                                .step = (char *)(uintptr_t)step,
                                .generation = generation};
    const struct vel_seals *seals;
    const struct vel_sealed *sealed;
    char key[VEL_SEALS_KEY];
    int rc = vel_service_seals(arg, &seals, err);

    if (rc < 0)
        return rc;
    vel_seals_key(&of, key);
    sealed = vel_seals_of_key(seals, key);
    if (!sealed)
        return vel_fail(err, VEL_ENOENT, "nothing is sealed of this key");
    *ret_id = sealed->id;
    *ret_verdict = (enum vel_verdict)sealed->verdict;
    return 0;
}

/* --- to seal --- */

/* Seals that are added to a launch. */
struct adding {
    struct vel_seal *const *seals;
    bool *are_ours; /* what counts has this one, and not another of its key */
    size_t n;
    bool is_of_us; /* the launch: none is, once it is over */
    bool is_over;
};

/* What counts of its key has which id? -1: nothing does. */
static int64_t find_id(const struct vel_ledger_text *now, const char *key)
{
    char other[VEL_SEALS_KEY];

    for (size_t i = 0; now && i < now->facts.n; i++) {
        const struct vel_ledger_line *line =
            &((struct vel_ledger_fact *)vel_vec_at(&now->facts, i))->line;
        struct vel_fields fields;

        if (!vel_seals_is(line, other) || strcmp(key, other) != 0 ||
            !vel_line_is(line, "sealed", &fields))
            continue;
        vel_fields_skip(&fields);
        return vel_fields_int(&fields);
    }
    return -1;
}

/* One line more for each, unless its key has one. */
static int add_seals(void *arg, const struct vel_ledger_text *now,
                     struct vel_buf *facts, struct vel_err *err)
{
    struct adding *adding = arg;
    int rc = 0, more = 0;

    adding->is_over = adding->is_of_us && now && vel_terms_has_done(now);
    for (size_t i = 0; rc == 0 && !adding->is_over && i < adding->n; i++) {
        char key[VEL_SEALS_KEY];
        int64_t id;

        vel_seals_key(adding->seals[i], key);
        id = find_id(now, key);
        adding->are_ours[i] = id < 0 || id == adding->seals[i]->id;
        if (id >= 0)
            continue;
        rc = vel_seals_put(adding->seals[i], facts, err);
        more = 1;
    }
    return rc < 0 ? rc : more;
}

/* In a term of its own: what a launch before has closed; or what a leader seals that
 * cannot reach the chair. */
static int seal_apart(struct vel_service *service, const char *launch,
                      struct vel_seal *const *seals, size_t n, bool *ret_are_ours,
                      struct vel_err *err)
{
    const struct vel_terms_self self = {.launch = service->launch,
                                        .node = service->host.node};
    struct adding adding = {.seals = seals,
                            .are_ours = ret_are_ours,
                            .n = n,
                            .is_of_us = strcmp(launch, service->launch) == 0};
    char *dir = vel_launch_dir(service->dir, launch);
    bool is_changed;
    int rc = dir ? vel_terms_change(service->fs, dir, &self, add_seals, &adding,
                                    &is_changed, err)
                 : vel_out_of_memory(err, "a seal");

    free(dir);
    return rc == 0 && adding.is_over ? vel_fail(err, VEL_ECANCEL, "the launch is over")
                                     : rc;
}

int vel_service_seal_again(struct vel_service *service, const char *launch,
                           struct vel_seal *const *seals, size_t n, bool *ret_are_ours,
                           struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = vel_entropy(seals[i]->encoding, sizeof seals[i]->encoding, err);
    return rc == 0 ? seal_apart(service, launch, seals, n, ret_are_ours, err) : rc;
}

/* Of the chair: what counts has nothing of the key, when its term can be written. */
static int seal_here(struct vel_service *service, const struct vel_seal *seal,
                     bool *ret_is_mine, struct vel_err *err)
{
    struct vel_ledger **term = vel_index_term(service->index);
    const struct vel_seals *seals;
    char key[VEL_SEALS_KEY];
    struct vel_buf line;
    int rc = vel_service_keep_term(service, err);

    if (rc == 0)
        rc = vel_service_seals(service, &seals, err);
    vel_seals_key(seal, key);
    if (rc < 0 || vel_seals_of_key(seals, key))
        return rc;
    vel_buf_init(&line);
    rc = vel_seals_put(seal, &line, err);
    if (rc == 0)
        rc = vel_ledger_tell(*term, line.data, line.len, err);
    *ret_is_mine = rc == 0;
    vel_buf_fini(&line);
    return rc;
}

/* It was read by who has begun a later term. */
static bool is_ours(struct vel_service *service, const struct vel_seal *seal)
{
    char key[VEL_SEALS_KEY];
    struct vel_seal found;
    bool is;

    vel_seals_key(seal, key);
    if (vel_seals_find(service->seals, key, &found, NULL) < 0)
        return false;
    is = found.id == seal->id &&
         memcmp(found.encoding, seal->encoding, sizeof found.encoding) == 0;
    vel_seal_fini(&found);
    return is;
}

/* Another launch may have said something of a dataset in a term of its own. */
static int seal_as_chair(struct vel_service *service, const struct vel_seal *seal,
                         bool *ret_is_mine, struct vel_err *err)
{
    int rc = vel_index_hold(service->index, err);

    if (rc < 0)
        return rc;
    rc = seal_here(service, seal, ret_is_mine, err);
    if (rc == VEL_ECANCEL) {
        rc = seal_here(service, seal, ret_is_mine, err);
        *ret_is_mine = *ret_is_mine || (rc == 0 && is_ours(service, seal));
    }
    vel_index_release(service->index);
    return rc;
}

/* Of files of HDF5 programs; of its own a session tells. */
static void tell(struct vel_service *service, const struct vel_seal *seal)
{
    bool is_checkpoint = vel_service_line(service, seal->template)
                             ? vel_service_is_promise(service, seal->template)
                             : strstr(seal->template, "{rank}") != NULL;
    int64_t nodes = vel_leader_nodes(service->leader);

    struct vel_event event = {.kind = is_checkpoint ? VEL_EVENT_CHECKPOINT
                                                    : VEL_EVENT_OUTPUT,
                              .result = VEL_EVENT_OK};

    vel_event_about(&event, &seal->about);
    if (seal->verdict == VEL_VERDICT_SEALED)
        vel_books_tell(service->books, &event);
    if (service->is_first_chair && nodes > service->nodes)
        vel_books_nodes(service->books, service->nodes = nodes);
}

/* A session's dataset is sealed again by each launch that has it: the first is that
 * which has made it. */
static bool is_first(struct vel_service *service, int64_t id)
{
    char *launch = NULL;
    bool is = id > 0 && vel_index_maker(service->index, id, &launch, NULL, NULL) == 0 &&
              strcmp(launch, service->launch) == 0;

    free(launch);
    return is;
}

/* What is sealed already of its key counts. Of the API it is the same dataset, of which
 * other things are owed now. */
static int take_sealed(struct vel_service *service, struct vel_seal *seal,
                       struct vel_err *err)
{
    const struct vel_seals *seals;
    char key[VEL_SEALS_KEY];
    struct vel_seal other;
    int rc = vel_service_seals(service, &seals, err);

    vel_seals_key(seal, key);
    if (rc == 0)
        rc = vel_seals_find(seals, key, &other, err);
    if (rc < 0)
        return rc;
    if (*seal->template) {
        vel_seal_fini(seal);
        *seal = other;
        seal->owner = 0;
        return 0;
    }
    memcpy(seal->encoding, other.encoding, sizeof seal->encoding);
    vel_seal_fini(&other);
    return 0;
}

/* That of a session whose launch is forgotten is of the launch that has restored it. */
static int claim_nobodys(struct vel_service *service, int64_t id, struct vel_err *err)
{
    const struct vel_id_owner owner = {.launch = service->launch};
    char *launch = NULL;
    int rc = vel_index_maker(service->index, id, &launch, NULL, err);

    free(launch);
    return rc == VEL_ENOENT
               ? vel_ids_claim_late(service->fs, service->dir, id, &owner, err)
               : rc;
}

int vel_service_seal(void *arg, struct vel_seal *seal, struct vel_err *err)
{
    struct vel_service *service = arg;
    bool is_mine = false;
    int rc = vel_entropy(seal->encoding, sizeof seal->encoding, err);

    if (rc == 0 && !*seal->template && seal->id > 0)
        rc = claim_nobodys(service, seal->id, err);
    if (rc == 0)
        rc = vel_leader_is_chair(service->leader)
                 ? seal_as_chair(service, seal, &is_mine, err)
                 : seal_apart(service, service->launch, &seal, 1, &is_mine, err);
    seal->owner = rc == 0 && is_mine && is_first(service, seal->id);
    if (rc == 0 && is_mine && *seal->template)
        tell(service, seal);
    if (rc == 0 && !is_mine)
        rc = take_sealed(service, seal, err);
    if (rc == 0)
        rc = vel_service_note_seal(service, seal, true, err);
    return rc;
}
