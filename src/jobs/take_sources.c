/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a dataset come from, and which of them count. */
#include "config.h"

#include <string.h>

#include "jobs/take_in.h"

static bool is_of_key(const struct vel_take *take, const struct vel_batch *part)
{
    return strcmp(part->key.launch, take->launch) == 0 &&
           strcmp(part->key.template, take->seal->template) == 0 &&
           strcmp(part->key.step, take->seal->step) == 0 &&
           part->key.generation == take->seal->generation;
}

int vel_take_find_sources(const struct vel_take *take, struct vel_vec *ret,
                          struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < take->n_homes; i++)
        rc = take->is_over ? vel_batches_list_all(take->batches[i], ret, err)
                           : vel_batches_list(take->batches[i], ret, err);
    for (size_t i = ret->n; i-- > 0;) {
        struct vel_batch *part = vel_vec_at(ret, i);

        if (is_of_key(take, part))
            continue;
        vel_batch_fini(part);
        vel_vec_remove(ret, i);
    }
    return rc;
}

bool vel_take_is_file(const struct vel_seal_member *member,
                      const struct vel_batch_rank *rank,
                      const struct vel_batch_file *file)
{
    return rank->rank == member->rank && file->order > 0 && file->order <= member->upto;
}

static const struct vel_seal_member *find_member(const struct vel_take *take,
                                                 int64_t rank)
{
    for (size_t i = 0; i < take->seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(take->seal, i);

        if (member->rank == rank && strcmp(member->node, take->node) == 0)
            return member;
    }
    return NULL;
}

bool vel_take_has_later(const struct vel_take *take, const struct vel_vec *sources,
                        const char *name, int64_t order)
{
    for (size_t i = 0; i < sources->n; i++) {
        const struct vel_batch *from = vel_vec_at(sources, i);

        for (size_t r = 0; r < from->ranks.n; r++) {
            const struct vel_batch_rank *rank = vel_vec_at(&from->ranks, r);
            const struct vel_seal_member *member = find_member(take, rank->rank);

            for (size_t k = 0; member && k < rank->files.n; k++) {
                const struct vel_batch_file *file = vel_vec_at(&rank->files, k);

                if (vel_take_is_file(member, rank, file) && file->order > order &&
                    strcmp(file->name, name) == 0)
                    return true;
            }
        }
    }
    return false;
}

bool vel_take_is_given(const struct vel_take *take, int64_t rank, const char *name)
{
    const struct vel_batch_key key = {.launch = (char *)(uintptr_t)take->launch,
                                      .template = take->seal->template,
                                      .step = take->seal->step};
    bool is = false;

    for (size_t i = 0; !is && i < take->n_homes; i++)
        is =
            vel_batches_is_given(take->batches[i], &key, take->seal->after, rank, name);
    return is;
}
