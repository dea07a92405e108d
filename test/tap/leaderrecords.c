/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's prefix: records that are made once, in memory. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/roster.h"
#include "tap/leaderlab.h"
#include "tap/tap.h"

static struct lab_launch *launch_of(struct lab_leader *of)
{
    return &of->lab->launches[of->launch];
}

static struct lab_dataset *dataset_of(struct lab *lab, int64_t id)
{
    if (id < 1 || id >= LAB_DATASETS)
        bail_out("there is no dataset %lld", (long long)id);
    return &lab->datasets[id];
}

/* --- the launch --- */

static void op_connect(void *arg, const char *node)
{
    lab_connect(arg, node);
}

static void op_send(void *arg, uint64_t link, const struct vel_msg *msg)
{
    struct lab_leader *of = arg;

    lab_send(of->lab, (int)link, (int)(of - of->lab->leaders), msg);
}

static void op_close(void *arg, uint64_t link)
{
    struct lab_leader *of = arg;
    const struct lab_link *at = vel_vec_at(&of->lab->links, (size_t)link - 1);

    lab_close(of->lab, (int)link, at->ends[0] == of - of->lab->leaders ? 0 : 1, LAB_MS);
}

static int op_endpoint(void *arg, const char *present, struct vel_err *err)
{
    (void)err;
    if (strchr(present, '!'))
        launch_of(arg)->lost |= LAB_BIT(((struct lab_leader *)arg)->node);
    launch_of(arg)->nodes |= LAB_BIT(((struct lab_leader *)arg)->node);
    launch_of(arg)->left &= ~LAB_BIT(((struct lab_leader *)arg)->node);
    return 0;
}

static int64_t op_epoch(void *arg)
{
    return (int64_t)((struct lab_leader *)arg)->epoch;
}

static int op_chair(void *arg, struct vel_leader_chair *ret, struct vel_err *err)
{
    (void)err;
    *ret = (struct vel_leader_chair){0};
    for (int64_t k = LAB_TERMS - 1; k > 0 && ret->term == 0; k--)
        if (launch_of(arg)->chairs[k]) {
            ret->term = k;
            snprintf(ret->node, sizeof ret->node, "n%d", launch_of(arg)->chairs[k] - 1);
        }
    return 0;
}

static int op_claim_chair(void *arg, int64_t term, struct vel_err *err)
{
    struct lab_leader *of = arg;
    struct lab_launch *launch = launch_of(arg);

    if (term >= LAB_TERMS) {
        lab_is_wrong(of->lab, "chairs follow each other without end");
        return vel_fail(err, VEL_EIO, "too many chairs");
    }
    if (launch->chairs[term])
        return vel_fail(err, VEL_EEXIST, "chair %lld is there", (long long)term);
    for (int i = 0; i < of->lab->nleaders; i++) {
        const struct lab_leader *other = &of->lab->leaders[i];
        if (other->is_alive && other != of && other->launch == of->launch &&
            vel_leader_is_chair(other->leader) &&
            vel_leader_term(other->leader) == term)
            lab_is_wrong(of->lab, "two chairs in term %lld", (long long)term);
    }
    launch->chairs[term] = of->node + 1;
    return of->lab->barren & LAB_BIT(of->node) ? VEL_EIO : 0;
}

static int op_beat(void *arg, int64_t count, const char *living, bool is_new,
                   struct vel_err *err)
{
    struct lab_launch *launch = launch_of(arg);
    char node[VEL_ROSTER_NAME];

    (void)count, (void)err;
    launch->beat++;
    launch->is_new = is_new;
    launch->living = 0;
    while (vel_words_next(&living, node))
        launch->living |= LAB_BIT(strtol(node + 1, NULL, 10));
    return 0;
}

static int op_is_ended(void *arg, bool *ret_is_ended, struct vel_err *err)
{
    struct lab_leader *of = arg;

    if (of->lab->now < of->lab->blind_until)
        return vel_fail(err, VEL_ETIMEOUT, "the prefix does not answer");
    *ret_is_ended = of->lab->fault != LAB_END_BLIND && launch_of(arg)->is_ended;
    of->lab->surprised += *ret_is_ended && !vel_leader_is_done(of->leader);
    return 0;
}

void lab_end_launch(struct lab *lab, int launch)
{
    uint64_t listed = 0;

    if (lab->launches[launch].is_ended)
        return;
    lab->launches[launch].is_ended = true;
    for (int id = 1; id < LAB_DATASETS; id++)
        if (lab->datasets[id].is_sealed && lab->datasets[id].launch == launch)
            listed |= LAB_BIT(id);
    lab->launches[launch].listed = listed;
    if (lab->fault == LAB_LIST_FIRST) { /* as if a seal came between */
        lab->launches[launch].listed = 0;
        for (int id = 1; id < LAB_DATASETS; id++)
            if (listed >> id > 1 && listed & LAB_BIT(id))
                lab->launches[launch].listed |= LAB_BIT(id);
    }
}

static int op_end(void *arg, struct vel_err *err)
{
    struct lab_leader *of = arg;

    (void)err;
    lab_end_launch(of->lab, of->launch);
    return 0;
}

/* --- other launches --- */

static int op_others(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    struct lab_leader *of = arg;

    (void)err;
    for (int i = 0; i < LAB_LAUNCHES; i++) {
        const struct lab_launch *launch = &of->lab->launches[i];
        struct vel_leader_other other = {.beat = launch->beat,
                                         .is_new = launch->is_new,
                                         .is_left = !launch->nodes && launch->left};
        struct vel_buf nodes, living;
        char name[16];

        if (i == of->launch || !launch->is_begun || launch->is_ended)
            continue;
        vel_buf_init(&nodes);
        vel_buf_init(&living);
        vel_buf_puts(&living, "");
        for (int node = 0; node < LAB_NODES; node++) {
            if (launch->nodes & LAB_BIT(node))
                vel_buf_printf(&nodes, " n%d", node);
            if (launch->living & LAB_BIT(node))
                vel_buf_printf(&living, " n%d", node);
        }
        snprintf(name, sizeof name, "L%d", i);
        other.launch = strdup(name);
        other.nodes = vel_buf_take(&nodes, NULL);
        other.living = vel_buf_take(&living, NULL);
        if (!other.launch || !other.nodes || !other.living ||
            !vel_vec_push(ret, &other))
            bail_out("no memory");
    }
    return 0;
}

static int op_end_other(void *arg, const char *launch, struct vel_err *err)
{
    (void)err;
    lab_end_launch(((struct lab_leader *)arg)->lab, (int)strtol(launch + 1, NULL, 10));
    return 0;
}

static int op_known(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct lab_leader *of = arg;
    uint64_t nodes = 0;

    (void)err;
    of->lab->rolls++;
    for (int id = 1; id < LAB_DATASETS; id++)
        if (of->lab->datasets[id].is_sealed &&
            of->lab->datasets[id].launch != of->launch)
            nodes |= of->lab->launches[of->lab->datasets[id].launch].nodes;
    for (int node = 0; node < LAB_NODES; node++)
        if (nodes & LAB_BIT(node))
            vel_buf_printf(ret, " n%d", node);
    return 0;
}

static int op_make_view(void *arg, const struct vel_vec *held, struct vel_err *err)
{
    struct lab_leader *of = arg;
    struct lab *lab = of->lab;
    struct lab_launch *launch = launch_of(arg);
    uint64_t nodes = 0;

    (void)err;
    if (launch->has_view)
        return 0; /* somebody else's counts */
    for (size_t i = 0; i < held->n; i++) {
        const struct vel_leader_held *one = vel_vec_at(held, i);
        if (one->len > 0)
            nodes |= LAB_BIT(lab_node_of(one->node));
    }
    launch->has_view = true;
    for (int id = 1; id < LAB_DATASETS; id++)
        if (lab->datasets[id].launch != of->launch && lab_is_listed(lab, id) &&
            lab->datasets[id].verdict != VEL_VERDICT_PARTIAL &&
            lab_is_restorable(lab, id, nodes))
            launch->view |= LAB_BIT(id);
    return 0;
}

static int op_load_view(void *arg, struct vel_err *err)
{
    return launch_of(arg)->has_view ? 0 : vel_fail(err, VEL_ENOENT, "no view");
}

/* --- datasets --- */

static int op_seal(void *arg, struct vel_seal *seal, struct vel_err *err)
{
    struct lab *lab = ((struct lab_leader *)arg)->lab;
    struct lab_dataset *dataset;
    int64_t id;

    (void)err;
    seal->owner = 0;
    if (seal->template && *seal->template && lab_file_seal(arg, seal))
        return 0;
    id = seal->id;
    dataset = dataset_of(lab, id);
    if (dataset->is_sealed) {
        vel_seal_fini(seal);
        lab_get_seal(lab, id, seal);
    } else {
        vel_rng_fill(&lab->rng, seal->encoding, sizeof seal->encoding);
        if (vel_seal_encode(seal, &dataset->seal, NULL) < 0)
            bail_out("a seal");
        dataset->is_sealed = true;
        dataset->launch = ((struct lab_leader *)arg)->launch;
        if (dataset->owner == 0)
            dataset->owner_launch = dataset->launch;
        seal->owner = dataset->owner == 0 ? ++dataset->owner : 0;
    }
    return 0;
}

static int op_claim_owner(void *arg, int64_t id, int64_t *ret_owner,
                          struct vel_err *err)
{
    struct lab *lab = ((struct lab_leader *)arg)->lab;
    struct lab_dataset *dataset = dataset_of(lab, id);

    dataset->owner += dataset->owner == 0; /* who makes the seal */
    if (dataset->owner + 1 >= LAB_OWNERS) {
        lab_is_wrong(lab, "owners of dataset %lld follow each other without end",
                     (long long)id);
        return vel_fail(err, VEL_EIO, "too many owners");
    }
    *ret_owner = ++dataset->owner;
    dataset->owner_launch = ((struct lab_leader *)arg)->launch;
    return 0;
}

static int op_owner(void *arg, int64_t id, int64_t *ret_newest, bool *ret_is_ours,
                    struct vel_err *err)
{
    const struct lab_leader *of = arg;

    (void)err;
    *ret_newest = dataset_of(of->lab, id)->owner;
    *ret_is_ours = of->lab->datasets[id].owner_launch == of->launch;
    return 0;
}

static int op_entry(void *arg, const struct vel_seal *seal,
                    enum vel_place_on_prefix place, int64_t by, struct vel_err *err)
{
    struct lab *lab = ((struct lab_leader *)arg)->lab;
    struct lab_dataset *dataset = dataset_of(lab, seal->id);

    (void)err;
    if (seal->owner < 1 || seal->owner > dataset->owner)
        lab_is_wrong(lab, "an entry of dataset %lld by nobody", (long long)seal->id);
    if (!dataset->is_sealed)
        lab_is_wrong(lab, "an entry of dataset %lld without a seal",
                     (long long)seal->id);
    dataset->entries[seal->owner] = (struct lab_entry){
        .is_there = true, .is_encoded = seal->is_encoded, .place = place, .by = by};
    return 0;
}

static int op_is_dropped(void *arg, int64_t id, bool *ret_is_dropped,
                         struct vel_err *err)
{
    (void)err;
    *ret_is_dropped = dataset_of(((struct lab_leader *)arg)->lab, id)->is_dropped;
    return 0;
}

static bool has_files(const struct lab_leader *of, int64_t id)
{
    const struct vel_vec *files = &of->lab->datasets[id].files;

    for (size_t i = 0; i < files->n; i++)
        if (of->lab->nodes[of->node].caches[id].here &
            LAB_BIT(((const struct lab_file *)files->items)[i].rank))
            return true;
    return false;
}

/* Names are known where files are, or by the lists on the prefix. */
static bool op_shares(void *arg, const struct vel_seal *seal,
                      const struct vel_seal *newer, bool are_listed)
{
    int64_t id = seal->id, other = newer->id;
    const struct lab_leader *of = arg;
    const struct lab *lab = of->lab;

    if (lab->datasets[id].is_keyed)
        return (are_listed || (has_files(of, id) && has_files(of, other))) &&
               lab_shares(lab, id, other);
    return lab->fault != LAB_SHARES_NOT && id % LAB_GROUPS == other % LAB_GROUPS;
}

/* --- this node --- */

static int op_owe(void *arg, const struct vel_msg_owe *owe, unsigned *ret_before,
                  struct vel_err *err)
{
    struct lab_leader *of = arg;
    struct lab_cache *cache = &of->lab->nodes[of->node].caches[owe->dataset];

    (void)err;
    *ret_before = cache->owed;
    cache->owed |= (unsigned)owe->what;
    return 0;
}

/* What is cancelled here ends at once. */
static bool op_is_busy(void *arg, int64_t id)
{
    (void)arg, (void)id;
    return false;
}

/* Nobody needs what was dropped, or sealed too late. */
static bool is_needless(const struct lab *lab, int64_t id)
{
    return lab->datasets[id].is_dropped ||
           (lab->datasets[id].is_sealed && !lab_is_listed(lab, id));
}

static int op_forget(void *arg, int64_t id, unsigned what, struct vel_err *err)
{
    struct lab_leader *of = arg;
    const struct lab_entry *entry = lab_entry(of->lab, id);

    (void)err;
    if (!entry->is_there && !is_needless(of->lab, id))
        lab_is_wrong(of->lab, "dataset %lld is told encoded before its entry",
                     (long long)id);
    if (what & VEL_OWED_FLUSH && entry->place != VEL_ON_PREFIX && !entry->by &&
        !is_needless(of->lab, id))
        lab_is_wrong(of->lab, "a promise to flush dataset %lld is forgotten",
                     (long long)id);
    of->lab->nodes[of->node].caches[id].owed &= ~what;
    return 0;
}

static void op_failed(void *arg, int64_t id, const struct vel_err *why)
{
    struct lab_leader *of = arg;

    if (of->lab->errors == 0 && of->lab->is_quiet)
        lab_is_wrong(of->lab, "node %d tells of trouble with dataset %lld: %s",
                     of->node, (long long)id, why->text);
}

/* People read once that it ended well, whoever led it. */
static void op_tell(void *arg, const struct vel_event *event)
{
    struct lab *lab = ((struct lab_leader *)arg)->lab;
    struct lab_dataset *dataset = dataset_of(lab, event->id);

    if (event->result == VEL_EVENT_OK && dataset->events & LAB_BIT(event->kind))
        lab_is_wrong(lab, "it is told twice that dataset %lld is encoded or flushed",
                     (long long)event->id);
    if (event->result == VEL_EVENT_OK)
        dataset->events |= LAB_BIT(event->kind);
}

static void op_start(void *arg, const struct vel_leader_job *job)
{
    lab_check_copy(((struct lab_leader *)arg)->lab, job);
    lab_start(arg, job);
}

static void op_cancel(void *arg, uint64_t job)
{
    lab_cancel(arg, job);
}

static void op_rate(void *arg, uint64_t job, uint64_t rate)
{
    (void)arg, (void)job, (void)rate;
}

static int op_health(void *arg, int what)
{
    (void)arg, (void)what;
    return 0;
}

static void op_leave(void *arg)
{
    ((struct lab_leader *)arg)->has_left = true;
}

const struct vel_leader_ops lab_ops = {
    .connect = op_connect,
    .send = op_send,
    .close = op_close,
    .endpoint = op_endpoint,
    .epoch = op_epoch,
    .chair = op_chair,
    .is_gone = lab_is_gone,
    .is_last = lab_is_last,
    .left = lab_left,
    .claim_chair = op_claim_chair,
    .beat = op_beat,
    .is_ended = op_is_ended,
    .end = op_end,
    .over = lab_over,
    .others = op_others,
    .end_other = op_end_other,
    .known = op_known,
    .make_view = op_make_view,
    .load_view = op_load_view,
    .seal = op_seal,
    .find = lab_find,
    .claim_owner = op_claim_owner,
    .owner = op_owner,
    .entry = op_entry,
    .go_on = lab_go_on,
    .is_dropped = op_is_dropped,
    .is_held = lab_is_held,
    .is_before = lab_is_before,
    .shares = op_shares,
    .rule = lab_rule,
    .part_new = lab_part_new,
    .part_renumber = lab_part_renumber,
    .parts = lab_parts,
    .make_family = lab_make_family,
    .family = lab_family,
    .sealed = lab_sealed,
    .previous = lab_previous,
    .has_whole = lab_has_whole,
    .is_promise = lab_is_promise,
    .compose = lab_compose,
    .keep = lab_keep,
    .owe = op_owe,
    .forget = op_forget,
    .failed = op_failed,
    .start = op_start,
    .cancel = op_cancel,
    .is_busy = op_is_busy,
    .rate = op_rate,
    .tell = op_tell,
    .health = op_health,
    .resign = op_leave,
    .leave = op_leave,
};
