/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's files: those of a batch, of datasets, and at paths of the prefix. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tap/leaderlab.h"
#include "tap/tap.h"

static struct lab_file *file_at(const struct vel_vec *files, size_t i)
{
    return vel_vec_at(files, i);
}

static void push(struct vel_vec *files, const struct lab_file *file)
{
    if (!vel_vec_push(files, file))
        bail_out("no memory");
}

static void free_family(void *family)
{
    free(((struct vel_leader_family *)family)->steps);
    free(family);
}

void lab_files_fini(struct lab *lab)
{
    vel_map_destroy(lab->families, free_family);
    vel_vec_fini(&lab->names);
    vel_vec_fini(&lab->voids);
    for (int i = 0; i < lab->nnodes; i++) {
        vel_vec_fini(&lab->nodes[i].files);
        vel_vec_fini(&lab->nodes[i].parts);
    }
    for (int i = 0; i < LAB_DATASETS; i++)
        vel_vec_fini(&lab->datasets[i].files);
}

/* --- paths of the prefix --- */

struct lab_name *lab_name(struct lab *lab, const char *name)
{
    struct lab_name fresh = {0};

    for (size_t i = 0; i < lab->names.n; i++)
        if (strcmp(((struct lab_name *)vel_vec_at(&lab->names, i))->name, name) == 0)
            return vel_vec_at(&lab->names, i);
    snprintf(fresh.name, sizeof fresh.name, "%s", name);
    struct lab_name *made = vel_vec_push(&lab->names, &fresh);
    if (!made)
        bail_out("no memory");
    return made;
}

/* A rank's files of a dataset get their names, where their placeholders are. */
void lab_publish(struct lab *lab, int64_t id, int64_t rank)
{
    const struct vel_vec *files = &lab->datasets[id].files;

    for (size_t i = 0; i < files->n; i++) {
        const struct lab_file *file = file_at(files, i);
        struct lab_name *name = lab_name(lab, file->name);
        if (file->rank != rank || file->stamp <= name->removed ||
            file->stamp == name->stamp ||
            (name->stamp > file->stamp && name->is_native))
            continue;
        if (name->stamp > file->stamp)
            lab_is_wrong(lab, "%s goes back: dataset %lld is published late",
                         file->name, (long long)id);
        name->stamp = file->stamp;
        name->is_native = false;
    }
}

/* --- jobs --- */

void lab_file_copy(struct lab_file *ret, const struct vel_leader_job *job)
{
    *ret = (struct lab_file){0};
    if (job->key)
        lab_set_key(&ret->key, job->key);
    if (job->name)
        snprintf(ret->name, sizeof ret->name, "%s", job->name);
    if (!job->file)
        return;
    ret->part = job->file->part;
    ret->rank = job->file->rank;
    ret->order = job->file->order;
    ret->stamp = job->file->size;
}

static struct lab_file *find(const struct lab *lab, int node,
                             const struct lab_file *like)
{
    const struct vel_vec *files = &lab->nodes[node].files;

    for (size_t i = 0; i < files->n; i++)
        if (file_at(files, i)->part == like->part &&
            file_at(files, i)->rank == like->rank &&
            strcmp(file_at(files, i)->name, like->name) == 0)
            return file_at(files, i);
    return NULL;
}

static void forget(struct vel_vec *files, const struct lab_file *file)
{
    vel_vec_remove(files, (size_t)(file - (struct lab_file *)files->items));
}

static int create(struct lab *lab, const struct lab_job *job, int node,
                  struct vel_msg_place *ret)
{
    struct lab_file fresh = job->file, *there = find(lab, node, &fresh);

    ret->where = VEL_PLACE_CACHE;
    ret->path = "/cache";
    if (job->job.how == 2) {
        for (int64_t id = LAB_DATASETS - 1; id > 0; id--)
            for (size_t i = 0; i < lab->datasets[id].files.n; i++) {
                const struct lab_file *file = file_at(&lab->datasets[id].files, i);
                if (file->rank != fresh.rank || file->launch != fresh.launch ||
                    strcmp(file->name, fresh.name) != 0)
                    continue;
                ret->dataset = (uint64_t)id;
                ret->size = (uint64_t)file->stamp;
                return 0;
            }
        return VEL_ENOENT;
    }
    if (there)
        forget(&lab->nodes[node].files, there);
    fresh.key =
        *(struct lab_key *)vel_vec_at(&lab->nodes[node].parts, (size_t)fresh.part - 1);
    fresh.stamp = ++lab->stamps;
    fresh.order = 0;
    push(&lab->nodes[node].files, &fresh);
    ret->size = (uint64_t)fresh.stamp;
    return 0;
}

static int close_file(struct lab *lab, const struct lab_job *job, int node)
{
    struct lab_file *file = find(lab, node, &job->file);

    if (!file) {
        lab_is_wrong(lab, "%s is closed and is not there", job->file.name);
        return VEL_ENOENT;
    }
    if (job->file.stamp != file->stamp)
        lab_is_wrong(lab, "%s is closed with another size", job->file.name);
    file->order = job->file.order;
    return 0;
}

bool lab_is_taken(const struct lab *lab, int64_t id, int64_t rank)
{
    const struct vel_vec *files = &lab->datasets[id].files;

    for (size_t i = 0; i < files->n; i++)
        if (file_at(files, i)->rank == rank)
            return true;
    return false;
}

static bool has_name(const struct vel_vec *files, const struct lab_file *like)
{
    for (size_t i = 0; i < files->n; i++)
        if (file_at(files, i)->rank == like->rank &&
            strcmp(file_at(files, i)->name, like->name) == 0)
            return true;
    return false;
}

bool lab_shares(const struct lab *lab, int64_t id, int64_t other)
{
    const struct lab_key *a = &lab->datasets[id].key, *b = &lab->datasets[other].key;

    return strcmp(a->template, b->template) == 0 && strcmp(a->step, b->step) == 0;
}

/* False: it is not on that node. */
static bool link_older(struct lab *lab, const struct vel_seal *seal, int node,
                       int64_t rank)
{
    struct vel_vec *files = &lab->datasets[seal->id].files;
    const struct vel_vec *older = &lab->datasets[seal->after].files;
    bool is_here = lab->nodes[node].caches[seal->after].here & LAB_BIT(rank);

    for (size_t i = 0; seal->after && i < older->n; i++) {
        struct lab_file file = *file_at(older, i);
        if (file.rank != rank || has_name(files, &file))
            continue;
        if (!is_here)
            return false;
        push(files, &file);
    }
    return true;
}

static void add_newest(struct vel_vec *files, const struct lab_file *file)
{
    for (size_t i = 0; i < files->n; i++) {
        struct lab_file *other = file_at(files, i);
        if (other->rank != file->rank || strcmp(other->name, file->name) != 0)
            continue;
        if (other->order < file->order)
            *other = *file;
        return;
    }
    push(files, file);
}

/* Files whose order the seal counts become those of the dataset. */
static int take(struct lab *lab, const struct lab_job *job, int node)
{
    struct lab_dataset *dataset = &lab->datasets[job->seal.id];
    struct lab_cache *cache = &lab->nodes[node].caches[job->seal.id];
    struct vel_vec *files = &lab->nodes[node].files;

    for (size_t m = 0; m < job->seal.members.n; m++) {
        const struct vel_seal_member *member = vel_seal_member(&job->seal, m);
        if (lab_node_of(member->node) != node || cache->here & LAB_BIT(member->rank))
            continue;
        for (size_t i = files->n; i > 0; i--) {
            struct lab_file file = *file_at(files, i - 1);
            if (file.rank != member->rank || file.launch != job->file.launch ||
                file.order == 0 || file.order > member->upto ||
                !lab_is_key(&file.key, job->seal.template, job->seal.step,
                            job->seal.generation))
                continue;
            vel_vec_remove(files, i - 1);
            add_newest(&dataset->files, &file);
        }
        if (!link_older(lab, &job->seal, node, member->rank))
            lab_is_wrong(lab, "dataset %lld cannot have what %lld has of rank %lld",
                         (long long)job->seal.id, (long long)job->seal.after,
                         (long long)member->rank);
        if (member->files > 0 && !lab_is_taken(lab, job->seal.id, member->rank))
            continue; /* it is to be rebuilt */
        cache->here |= LAB_BIT(member->rank);
    }
    cache->owed |= lab_is_over(lab, job->seal.id) ? 0 : job->seal.what;
    return 0;
}

/* What launches that are over have sealed, and not come to take here. */
void lab_take_old(struct lab *lab, int node, int launch)
{
    for (int64_t id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];
        struct lab_job job = {.file.launch = dataset->launch};

        if (!dataset->is_keyed || !dataset->is_sealed || dataset->launch == launch ||
            !lab_is_listed(lab, id) || lab_is_over(lab, id))
            continue;
        lab_get_seal(lab, id, &job.seal);
        take(lab, &job, node);
        vel_seal_fini(&job.seal);
    }
}

/* A placeholder or the file itself stands there, for whoever may see it. */
static int look(struct lab *lab, const struct lab_job *job, int node,
                struct vel_msg_place *ret)
{
    const struct lab_name *name = lab_name(lab, job->file.name);
    int64_t newest = 0;
    bool is_here = false;

    for (int i = 0; i < lab->nnodes; i++)
        for (size_t k = 0; k < lab->nodes[i].files.n; k++) {
            const struct lab_file *file = file_at(&lab->nodes[i].files, k);
            if (strcmp(file->name, job->file.name) != 0 || file->order == 0 ||
                file->stamp <= newest)
                continue;
            newest = file->stamp;
            is_here = i == node;
        }
    for (int id = 1; id < LAB_DATASETS; id++)
        for (size_t k = 0; k < lab->datasets[id].files.n; k++) {
            const struct lab_file *file = file_at(&lab->datasets[id].files, k);
            if (strcmp(file->name, job->file.name) != 0 || file->stamp <= newest)
                continue;
            newest = file->stamp;
            is_here = lab->nodes[node].caches[id].here & LAB_BIT(file->rank);
        }
    ret->path = "/cache";
    if (newest > name->stamp && newest > name->removed && !is_here)
        return VEL_EBUSY;
    ret->where = newest > name->stamp && newest > name->removed ? VEL_PLACE_CACHE
                 : name->stamp > 0                              ? VEL_PLACE_NATIVE
                                                                : VEL_PLACE_NOWHERE;
    return 0;
}

static int remove_name(struct lab *lab, const struct lab_job *job, int node,
                       struct vel_msg_place *ret)
{
    const struct vel_vec *files = &lab->nodes[node].files;

    for (size_t i = 0; i < files->n; i++) {
        const struct lab_file *file = file_at(files, i);
        if (file->rank == job->file.rank && file->order > 0 &&
            strcmp(file->name, job->file.name) == 0)
            ret->file = (uint64_t)file->order;
    }
    return 0;
}

int lab_file_work(struct lab *lab, struct lab_job *job, struct vel_msg_place *ret)
{
    int node = lab->leaders[job->leader].node;
    struct lab_file *file;

    switch (job->job.work) {
    case VEL_WORK_CREATE:
        return create(lab, job, node, ret);
    case VEL_WORK_CLOSE:
        return job->job.how == 0 ? close_file(lab, job, node) : 0;
    case VEL_WORK_DROP:
        file = find(lab, node, &job->file);
        if (file && file->stamp == job->file.stamp)
            forget(&lab->nodes[node].files, file);
        return 0;
    case VEL_WORK_LOOK:
        return look(lab, job, node, ret);
    case VEL_WORK_REMOVE:
        return remove_name(lab, job, node, ret);
    case VEL_WORK_TAKE:
        return take(lab, job, node);
    default:
        return 0;
    }
}

void lab_none_by_half(struct lab *lab, const char *template)
{
    for (int64_t id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];

        if (dataset->verdict != VEL_VERDICT_PARTIAL ||
            strcmp(dataset->key.template, template) != 0)
            continue;
        for (size_t i = 0; i < dataset->files.n; i++) {
            const struct lab_file *file = vel_vec_at(&dataset->files, i);

            if (lab_name(lab, file->name)->stamp == file->stamp)
                lab_is_wrong(lab, "%s of a step that was never whole is at its path",
                             file->name);
        }
    }
}

/* The newest whole dataset of those names. */
static int64_t newest_whole(const struct lab *lab, const char *template)
{
    for (int64_t id = LAB_DATASETS - 1; id > 0; id--)
        if (lab->datasets[id].is_keyed && lab->datasets[id].is_sealed &&
            lab->datasets[id].verdict == VEL_VERDICT_SEALED &&
            strcmp(lab->datasets[id].key.template, template) == 0)
            return id;
    return 0;
}

void lab_of_newest(struct lab *lab, const char *template)
{
    int64_t newest = newest_whole(lab, template);

    for (size_t i = 0; newest && i < lab->datasets[newest].files.n; i++) {
        const struct lab_file *file = vel_vec_at(&lab->datasets[newest].files, i);
        const struct lab_name *name = lab_name(lab, file->name);

        if (name->stamp != file->stamp)
            lab_is_wrong(lab, "%s is not that of dataset %lld (%lld, not %lld)",
                         file->name, (long long)newest, (long long)name->stamp,
                         (long long)file->stamp);
    }
}
