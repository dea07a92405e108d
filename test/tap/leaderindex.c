/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's index: what is found of a dataset, and what can be restored. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/tap.h"

const struct lab_entry *lab_entry(const struct lab *lab, int64_t id)
{
    static const struct lab_entry none;

    for (int k = LAB_OWNERS - 1; k >= 0; k--)
        if (lab->datasets[id].entries[k].is_there)
            return &lab->datasets[id].entries[k];
    return &none;
}

void lab_get_seal(const struct lab *lab, int64_t id, struct vel_seal *ret)
{
    const struct vel_buf *seal = &lab->datasets[id].seal;

    if (vel_seal_decode(seal->data, seal->len, ret, NULL) < 0)
        bail_out("a seal");
}

/* A dataset counts when its seal is listed, or its launch lives on. */
bool lab_is_listed(const struct lab *lab, int64_t id)
{
    const struct lab_launch *launch = &lab->launches[lab->datasets[id].launch];

    return lab->datasets[id].is_sealed &&
           (!launch->is_ended || launch->listed & LAB_BIT(id));
}

/* Where the parts are now; who had them when they are nowhere. */
static void place_parts(const struct lab *lab, int64_t id, struct vel_seal *seal)
{
    for (size_t i = 0; i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        uint64_t rank = LAB_BIT(member->rank);
        int node = 0;

        if (lab->nodes[lab_node_of(member->node)].caches[id].here & rank)
            continue;
        while (node < lab->nnodes && !(lab->nodes[node].caches[id].here & rank))
            node++;
        if (node == lab->nnodes) {
            if (vel_seal_form_again(seal, member->set, NULL) < 0)
                bail_out("no memory");
            continue;
        }
        free(member->node);
        member->node = strdup(lab_node_name(node));
    }
}

/* Files of an earlier launch: its redundancy may be all there, and its entry not. */
static bool is_encoded(const struct lab *lab, int64_t id, int launch)
{
    uint64_t here = 0, red = 0;

    for (int node = 0; node < lab->nnodes; node++) {
        here |= lab->nodes[node].caches[id].here;
        red |= lab->nodes[node].caches[id].red;
    }
    return lab_entry(lab, id)->is_encoded ||
           (lab->datasets[id].is_keyed && lab->datasets[id].launch != launch && here &&
            (here & ~red) == 0);
}

static void find_one(struct lab_leader *of, int64_t id, bool is_owed,
                     struct vel_vec *ret)
{
    struct lab *lab = of->lab;
    const struct lab_dataset *dataset = &lab->datasets[id];
    const struct lab_entry *entry = lab_entry(lab, id);
    struct vel_leader_found found = {0};

    vel_seal_init(&found.seal);
    if (dataset->is_sealed) {
        lab_get_seal(lab, id, &found.seal);
        place_parts(lab, id, &found.seal);
    }
    found.seal.id = id;
    found.seal.is_encoded = is_encoded(lab, id, of->launch);
    found.is_aside = dataset->launch != of->launch &&
                     lab->launches[of->launch].has_view &&
                     !(lab->launches[of->launch].view & LAB_BIT(id));
    if (is_owed)
        found.owed = lab->nodes[of->node].caches[id].owed;
    found.is_here = is_owed;
    found.found = (struct vel_dataset_found){
        .has_map = true,
        .is_unlisted = dataset->is_sealed && !lab_is_listed(lab, id),
        .seal = dataset->is_sealed ? VEL_SEAL_MADE : VEL_SEAL_NONE,
        .has_entry = entry->is_there,
        .place = entry->place,
        .is_encoded = found.seal.is_encoded,
        .is_replaced = entry->by != 0,
        .is_dropped = dataset->is_dropped};
    if (!vel_vec_push(ret, &found))
        bail_out("no memory");
}

int lab_go_on(void *leader, const struct vel_seal *seal, struct vel_err *err)
{
    struct lab *lab = ((struct lab_leader *)leader)->lab;

    (void)err;
    if (seal->owner < 1 || seal->owner > lab->datasets[seal->id].owner)
        lab_is_wrong(lab, "dataset %lld is gone on with by nobody",
                     (long long)seal->id);
    return 0;
}

/* It touches what owners before have copied: who takes over has an entry by then, which
 * hides one of theirs that comes late. */
void lab_check_copy(struct lab *lab, const struct vel_leader_job *job)
{
    if (job->work == VEL_WORK_COPY && job->owner > 1 &&
        !lab->datasets[job->seal->id].entries[job->owner].is_there)
        lab_is_wrong(lab, "dataset %lld is copied by its owner %lld, who has no entry",
                     (long long)job->seal->id, (long long)job->owner);
}

bool lab_is_over(const struct lab *lab, int64_t id)
{
    const struct lab_entry *entry = lab_entry(lab, id);

    return entry->is_there &&
           (entry->place == VEL_ON_PREFIX || entry->by ||
            (entry->place == VEL_ON_CACHE && !(lab->what & VEL_OWED_FLUSH)));
}

/* A dataset that is asked for with its key is found by that alone. */
static bool is_named(const struct lab_dataset *dataset, int64_t id,
                     const struct vel_seal *by)
{
    return id == by->id &&
           (!by->template || !dataset->is_keyed ||
            lab_is_key(&dataset->key, by->template, by->step, by->generation));
}

int lab_find(void *arg, enum vel_leader_look where, const struct vel_seal *by,
             struct vel_vec *ret, struct vel_err *err)
{
    struct lab_leader *of = arg;
    const struct lab *lab = of->lab;

    if (lab->now < lab->unread_until)
        return vel_fail(err, VEL_EIO, "the prefix does not answer");
    for (int64_t d = 1; d < LAB_DATASETS; d++) {
        const struct lab_dataset *dataset = &lab->datasets[d];
        bool is_found = false;

        switch (where) {
        case VEL_LOOK_OWED:
            is_found = lab->nodes[of->node].caches[d].owed;
            break;
        case VEL_LOOK_SEALS:
            is_found = dataset->is_sealed && dataset->launch == of->launch &&
                       !lab_is_over(lab, d);
            break;
        case VEL_LOOK_VIEW:
            is_found =
                of->lab->launches[of->launch].view & LAB_BIT(d) && !lab_is_over(lab, d);
            break;
        case VEL_LOOK_ONE:
            is_found = dataset->is_sealed && is_named(dataset, d, by) &&
                       (dataset->launch == of->launch ||
                        dataset->verdict == VEL_VERDICT_PARTIAL ||
                        of->lab->launches[of->launch].view & LAB_BIT(d));
            break;
        }
        if (is_found && lab->damaged & LAB_BIT(d) && where == VEL_LOOK_ONE)
            return vel_fail(err, VEL_ECORRUPT, "dataset %d: its seal is damaged",
                            (int)d);
        if (is_found && !(lab->damaged & LAB_BIT(d)))
            find_one(of, d, where == VEL_LOOK_OWED, ret);
    }
    return 0;
}

bool lab_is_held(void *arg, int64_t id)
{
    const struct lab_leader *of = arg;

    return of->lab->nodes[of->node].caches[id].here != 0;
}

bool lab_is_before(void *arg, int64_t id)
{
    const struct lab_leader *of = arg;

    return of->lab->launches[of->launch].view & LAB_BIT(id);
}

/* By what nodes of these hold: each set lost no more than its redundancy gives back. */
bool lab_is_restorable(struct lab *lab, int64_t id, uint64_t nodes)
{
    const struct lab_entry *entry = lab_entry(lab, id);
    uint64_t here = 0, red = 0;

    if (entry->is_there &&
        (entry->place == VEL_ON_PREFIX || entry->place == VEL_ON_STAGED))
        return true;
    for (int node = 0; node < lab->nnodes; node++)
        if (nodes & LAB_BIT(node)) {
            here |= lab->nodes[node].caches[id].here;
            red |= lab->nodes[node].caches[id].red;
        }
    for (int set = 0; set < lab->nnodes; set += LAB_SET) {
        int lost = 0, with_red = 0, n = 0;
        for (int rank = set; rank < set + LAB_SET && rank < lab->nnodes; rank++, n++) {
            lost += !(here & LAB_BIT(rank));
            with_red += here & red & LAB_BIT(rank) ? 1 : 0;
        }
        if (lost > 1 || (lost == 1 && (with_red < n - 1 || n == 1)))
            return false;
    }
    return true;
}
