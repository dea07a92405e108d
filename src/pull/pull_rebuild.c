/* SPDX-License-Identifier: BSD-3-Clause */
/* A part from the node that has it, or from the others of its set. Both are plans with
 * one member as their output. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/cache.h"
#include "pull/pull_in.h"
#include "red/regain.h"
#include "red/restore.h"
#include "view/view_in.h"

static const char *node_name(const struct vel_pulling *p, int node)
{
    return *(char **)vel_vec_at(&p->what->view->nodes, (size_t)node);
}

static int open_restore(struct vel_pulling *p, struct vel_red_header *header,
                        struct vel_restore *restore, struct vel_err *err)
{
    int rc = vel_fs_remove_tree(p->how->fs, p->fresh, err);

    if (rc == 0)
        rc = vel_restore_open(restore, p->how->fs, p->fresh, VEL_CACHE_LABEL, header,
                              err);
    p->is_spoilt |= rc < 0;
    return rc;
}

/* Everything has its checksum: under its name with it. */
static int settle(struct vel_pulling *p, struct vel_restore *restore,
                  struct vel_err *err)
{
    int rc = vel_restore_settle(restore, err);

    if (rc == 0)
        rc = vel_restore_commit(restore, err);
    if (rc == 0)
        rc = vel_pull_put(p, restore->header, err);
    p->is_spoilt |= rc < 0;
    return rc;
}

/* --- from its owner --- */

static int add_copy(struct vel_plan *plan, size_t member, enum vel_region region,
                    uint64_t len, struct vel_err *err)
{
    struct vel_job job = {.worker = member, .len = len, .sources = 1, .outputs = 1};

    if (len == 0)
        return 0;
    job.source = calloc(1, sizeof *job.source);
    job.output = calloc(1, sizeof *job.output);
    job.coefs = malloc(1);
    if (job.source && job.output && job.coefs) {
        job.source[0] = (struct vel_span){.member = member, .region = region};
        job.output[0] = job.source[0];
        job.coefs[0] = 1;
        if (vel_vec_push(&plan->jobs, &job))
            return 0;
    }
    free(job.source);
    free(job.output);
    free(job.coefs);
    return vel_out_of_memory(err, "pulling a part");
}

static int copy_all(struct vel_pulling *p, struct vel_pull_member *owner,
                    struct vel_restore *restore, struct vel_err *err)
{
    const struct vel_layout *layout = &owner->header.layout;
    struct vel_pull_member *source[VEL_SET_MAX] = {0};
    struct vel_plan plan;
    struct vel_pull_run run = {.pulling = p,
                               .layout = layout,
                               .plan = &plan,
                               .source = source,
                               .out = &restore->member};
    size_t bad = layout->n;
    int rc;

    source[p->place] = owner;
    vel_vec_init(&plan.jobs, sizeof(struct vel_job));
    rc = add_copy(&plan, p->place, VEL_REGION_LOFI, layout->lofi_size[p->place], err);
    if (rc == 0)
        rc = add_copy(&plan, p->place, VEL_REGION_PAYLOAD,
                      vel_layout_payload(layout, p->place), err);
    if (rc == 0)
        rc = vel_pull_run(&run, &bad, err);
    vel_plan_fini(&plan);
    p->is_spoilt |= rc < 0 && bad == layout->n;
    return rc < 0 ? rc : vel_pull_member_check(owner, err);
}

int vel_pull_owner(struct vel_pulling *p, struct vel_err *err)
{
    int node = vel_view_place_at(p->set, p->place)->node;
    struct vel_pull_member owner;
    struct vel_restore restore;
    int rc;

    if (node < 0)
        return vel_fail(err, VEL_ENOENT, "no node has had it");
    if (strcmp(node_name(p, node), p->how->node) == 0)
        return vel_fail(err, VEL_ENOENT, "this node has had it");
    rc = vel_pull_member_open(p, p->place, node_name(p, node), &owner, err);
    if (rc < 0)
        return rc;
    rc = open_restore(p, &owner.header, &restore, err);
    if (rc == 0) {
        rc = copy_all(p, &owner, &restore, err);
        if (rc == 0)
            rc = settle(p, &restore, err);
        vel_restore_close(&restore);
    }
    vel_pull_member_close(&owner);
    return rc;
}

/* --- from the others --- */

struct rebuilding {
    struct vel_pulling *p;
    size_t n, m;
    bool is_bad[VEL_SET_MAX]; /* nobody has it, or it has failed */
    bool is_out[VEL_SET_MAX]; /* that, or not needed: as the plan sees it */
    struct vel_pull_member source[VEL_SET_MAX];
    bool is_open[VEL_SET_MAX];
    struct vel_red_header header; /* of the part that is rebuilt */
    bool has_header;
    struct vel_plan plan;
    bool has_plan;
    struct vel_crcmap replicas; /* PARTNER: the payload as files of others */
};

/* Of XOR and RS just n-m members are read, each of them as a whole, so that all its
 * checksums are known in the end; those on this node first. Of PARTNER, whoever has a
 * copy or a list that is needed. */
static void choose(struct rebuilding *r)
{
    size_t me = r->p->place, out = 0, spare;
    bool is_partner = r->p->what->dataset->scheme == VEL_PARTNER;

    for (size_t i = 0; i < r->n; i++) {
        r->is_out[i] = r->is_bad[i] || i == me;
        out += r->is_out[i];
    }
    spare = !is_partner && r->m > out ? r->m - out : 0;
    for (int round = 0; spare > 0 && round < 2; round++)
        for (size_t k = 1; spare > 0 && k < r->n; k++) {
            size_t i = (me + r->n - k) % r->n;
            const char *node;

            if (r->is_out[i])
                continue;
            node = node_name(r->p, vel_view_place_at(r->p->set, i)->node);
            if (round == 0 && strcmp(node, r->p->how->node) == 0)
                continue;
            r->is_out[i] = true;
            spare--;
        }
}

static bool is_needed(const struct rebuilding *r, size_t i)
{
    size_t apart = (i + r->n - r->p->place) % r->n;

    if (r->is_out[i])
        return false;
    return r->p->what->dataset->scheme != VEL_PARTNER || apart <= r->m ||
           r->n - apart <= r->m;
}

/* A node that is gone takes all its members with it. */
static void spoil(struct rebuilding *r, size_t bad, bool is_gone)
{
    int node = vel_view_place_at(r->p->set, bad)->node;

    r->is_bad[bad] = true;
    for (size_t i = 0; is_gone && i < r->n; i++)
        r->is_bad[i] |= vel_view_place_at(r->p->set, i)->node == node;
}

static int open_sources(struct rebuilding *r, size_t *ret_bad, struct vel_err *err)
{
    const struct vel_red_header *model = NULL;
    int rc = 0;

    *ret_bad = r->n;
    for (size_t i = 0; rc == 0 && i < r->n; i++) {
        struct vel_pull_member *m = &r->source[i];

        if (!is_needed(r, i))
            continue;
        rc = vel_pull_member_open(
            r->p, i, node_name(r->p, vel_view_place_at(r->p->set, i)->node), m, err);
        r->is_open[i] = rc == 0;
        if (rc == 0 && model &&
            (memcmp(m->header.layout.lofi_size, model->layout.lofi_size,
                    r->n * sizeof *model->layout.lofi_size) != 0 ||
             m->header.sequence != model->sequence))
            rc = vel_fail(err, VEL_ECORRUPT, "%s on node %s contradicts the others",
                          m->name, m->node);
        if (rc < 0 && rc != VEL_ENOMEM && rc != VEL_ECANCEL)
            *ret_bad = i;
        model = &m->header;
    }
    return rc;
}

/* Of each job only what is mine. */
static void keep_mine(struct vel_plan *plan, size_t me)
{
    for (size_t j = plan->jobs.n; j-- > 0;) {
        struct vel_job *job = vel_vec_at(&plan->jobs, j);
        size_t o = 0;

        while (o < job->outputs && job->output[o].member != me)
            o++;
        if (o < job->outputs) {
            job->output[0] = job->output[o];
            memmove(job->coefs, job->coefs + o * job->sources, job->sources);
            job->outputs = 1;
            continue;
        }
        free(job->source);
        free(job->output);
        free(job->coefs);
        vel_vec_remove(&plan->jobs, j);
    }
}

static int make_plan(struct rebuilding *r, struct vel_err *err)
{
    const struct vel_red_header *others[VEL_SET_MAX] = {0}, *model = NULL;
    int rc;

    for (size_t i = 0; i < r->n; i++)
        if (r->is_open[i])
            model = others[i] = &r->source[i].header;
    if (!model)
        return vel_fail(err, VEL_ENOENT, "nobody is left");
    rc = vel_red_regain(model, others, r->p->place, &r->header, err);
    r->has_header = rc == 0;
    if (rc == 0 && r->header.list[0].rank !=
                       (uint32_t)vel_view_place_at(r->p->set, r->p->place)->rank)
        rc = vel_fail(err, VEL_ECORRUPT, "the others list another rank in its place");
    if (rc == 0)
        rc = vel_plan_rebuild(&model->layout, r->is_out, &r->plan, err);
    r->has_plan = rc == 0;
    if (rc == 0)
        keep_mine(&r->plan, r->p->place);
    return rc;
}

/* The copies that a PARTNER keeps have no checksums of their own that others know, but
 * those of the files that they are. */
static int add_replicas(struct rebuilding *r, struct vel_err *err)
{
    int rc = 0;

    for (size_t k = 1; k < r->header.lists; k++)
        for (size_t i = 0; rc == 0 && i < r->header.list[k].files.n; i++)
            rc = vel_crcmap_segment(
                &r->replicas, vel_manifest_file(&r->header.list[k], i)->size, err);
    return rc;
}

/* *ret_back is the replica that is wrong. */
static int check_replicas(struct rebuilding *r, size_t *ret_back, struct vel_err *err)
{
    size_t segment = 0;
    uint32_t crc;

    vel_crcmap_close(&r->replicas);
    for (size_t k = 1; k < r->header.lists; k++)
        for (size_t i = 0; i < r->header.list[k].files.n; i++) {
            const struct vel_red_file *file = vel_manifest_file(&r->header.list[k], i);

            *ret_back = k;
            if (!vel_crcmap_get(&r->replicas, segment++, &crc) || crc != file->crc)
                return vel_fail(err, VEL_ECORRUPT,
                                "the copy of %s has changed (checksum mismatch)",
                                file->name);
        }
    return 0;
}

/* A source whose bytes are not what it says is found here, should the result be right
 * or not: what is written as redundancy has nothing else to compare it with. */
static int check_sources(struct rebuilding *r, size_t *ret_bad, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n; i++)
        if (r->is_open[i]) {
            rc = vel_pull_member_check(&r->source[i], err);
            if (rc < 0)
                *ret_bad = i;
        }
    return rc;
}

/* Who gave what stands there in the rebuilt part? */
static size_t giver_of(const struct rebuilding *r, enum vel_region region, uint64_t at)
{
    for (size_t j = 0; j < r->plan.jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(&r->plan, j);

        if (job->output[0].region == region && job->output[0].at == at)
            return job->source[0].member;
    }
    return r->n;
}

static int check_copies(struct rebuilding *r, struct vel_restore *restore,
                        size_t *ret_bad, struct vel_err *err)
{
    size_t back = 1;
    int rc = vel_restore_check(restore, err);

    if (rc < 0) {
        *ret_bad = giver_of(r, VEL_REGION_LOFI, 0);
        return rc;
    }
    rc = check_replicas(r, &back, err);
    if (rc < 0)
        *ret_bad = giver_of(r, VEL_REGION_PAYLOAD,
                            vel_layout_replica(&r->header.layout, r->p->place, back));
    return rc;
}

static int run_plan(struct rebuilding *r, struct vel_restore *restore, size_t *ret_bad,
                    struct vel_err *err)
{
    bool is_partner = r->header.layout.scheme == VEL_PARTNER;
    struct vel_pull_member *source[VEL_SET_MAX] = {0};
    struct vel_pull_run run = {.pulling = r->p,
                               .layout = &r->header.layout,
                               .plan = &r->plan,
                               .source = source,
                               .out = &restore->member,
                               .payload_too = is_partner ? &r->replicas : NULL};
    int rc;

    for (size_t i = 0; i < r->n; i++)
        source[i] = r->is_open[i] ? &r->source[i] : NULL;
    rc = vel_pull_run(&run, ret_bad, err);
    r->p->is_spoilt |= rc < 0 && *ret_bad == r->n;
    if (rc == 0 && is_partner)
        return check_copies(r, restore, ret_bad, err);
    if (rc == 0)
        rc = check_sources(r, ret_bad, err);
    return rc < 0 ? rc : vel_restore_check(restore, err);
}

static void leave(struct rebuilding *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->is_open[i])
            vel_pull_member_close(&r->source[i]);
        r->is_open[i] = false;
    }
    if (r->has_plan)
        vel_plan_fini(&r->plan);
    if (r->has_header)
        vel_red_header_fini(&r->header);
    vel_crcmap_fini(&r->replicas);
    r->has_plan = r->has_header = false;
}

static int attempt(struct rebuilding *r, size_t *ret_bad, struct vel_err *err)
{
    struct vel_restore restore;
    int rc;

    vel_crcmap_init(&r->replicas);
    rc = open_sources(r, ret_bad, err);
    if (rc == 0)
        rc = make_plan(r, err);
    if (rc == 0)
        rc = add_replicas(r, err);
    if (rc == 0)
        rc = open_restore(r->p, &r->header, &restore, err);
    if (rc < 0)
        return rc;
    rc = run_plan(r, &restore, ret_bad, err);
    if (rc == 0)
        rc = settle(r->p, &restore, err);
    vel_restore_close(&restore);
    return rc;
}

/* Attempts, each without those who have failed before; their reasons go to *lost. */
static int attempt_all(struct rebuilding *r, struct vel_buf *lost, struct vel_err *err)
{
    const struct vel_layout layout = {
        .scheme = r->p->what->dataset->scheme, .n = r->n, .m = r->m};

    for (;;) {
        size_t bad = r->n;
        int rc = vel_plan_check(&layout, r->is_bad, err);

        if (rc < 0)
            return rc;
        choose(r);
        rc = attempt(r, &bad, err);
        leave(r);
        if (rc == 0 || bad == r->n)
            return rc;
        vel_buf_printf(lost, "%s; ", err->text);
        spoil(r, bad, rc == VEL_ELOST);
    }
}

int vel_pull_rebuild(struct vel_pulling *p, struct vel_err *err)
{
    struct rebuilding *r = calloc(1, sizeof *r);
    struct vel_err why = {0};
    struct vel_buf lost;
    int rc;

    if (!r)
        return vel_out_of_memory(err, "pulling a part");
    vel_buf_init(&lost);
    r->p = p;
    r->n = p->set->places.n;
    r->m = p->set->m;
    for (size_t i = 0; i < r->n; i++)
        r->is_bad[i] = i == p->place || vel_view_place_at(p->set, i)->node < 0;
    rc = attempt_all(r, &lost, &why);
    if (rc < 0)
        vel_fail(err, (enum vel_status)rc, "%s%s", vel_buf_text(&lost), why.text);
    vel_buf_fini(&lost);
    free(r);
    return rc;
}
