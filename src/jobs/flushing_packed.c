/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's share of a flush goes into containers: each is one file under a temporary
 * name as any other, made of several. Nothing of it is gone on with: it begins anew. */
#include "config.h"

#include "jobs/flushing_in.h"
#include "xfer/container.h"

int vel_share_pack(struct vel_share *s)
{
    int rc = vel_share_forget(s);

    if (rc == 0) /* by their own names, too, as they were copied without containers */
        rc = vel_share_remove_past(s);
    if (rc == 0)
        rc = vel_container_plan(&s->files, s->job->container_size, s->job->list,
                                s->job->lists, s->err);
    return rc < 0 ? rc : vel_share_find_targets(s);
}

int vel_share_fill(struct vel_share *s)
{
    size_t begin = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++) {
        if (!s->targets[i].temporary)
            continue;
        rc = vel_container_fill(&s->crew, s->targets[i].temporary,
                                vel_share_file(s, begin), i + 1 - begin, s->err);
        begin = i + 1;
        if (rc == 0) /* who came meanwhile does not look for what is made late */
            rc = vel_flushing_check_owner(s->flushing, s->job->id, s->job->owner,
                                          s->err);
    }
    return rc;
}
