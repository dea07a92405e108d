/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a key become parts of its dataset: those of this launch when it is sealed,
 * and what launches that are over have not come to take. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/ids.h"
#include "node/service_in.h"
#include "node/take.h"

static int take(struct vel_service *service, const char *launch,
                const struct vel_seal *seal, struct vel_err *err)
{
    struct vel_settlement settlement;
    struct vel_take what = {.fs = service->fs,
                            .conf = service->conf,
                            .node = service->host.node,
                            .launch = launch,
                            .prefix = service->prefix,
                            .homes = service->homes,
                            .n_homes = service->n_homes,
                            .placeholders = service->placeholders,
                            .seal = seal};
    char *home = vel_service_home_of(service, seal->id);
    char *after = seal->after ? vel_service_home_of(service, seal->after) : NULL;
    int rc = vel_service_load_settlement(service, seal->id, &settlement, err);

    if (rc == 0) {
        what.dataset = &settlement.dataset;
        what.home = home;
        what.after = after;
        rc = vel_take(&what, err);
        vel_settlement_fini(&settlement);
    }
    free(after);
    free(home);
    return rc;
}

/* Of the launch that sealed it: this one may write a step of an earlier one again,
 * whose files have the same key and are none of that dataset. */
int vel_service_take(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    char *launch = NULL;
    int rc = vel_id_launch(service->fs, service->dir, job->seal.id, &launch, err);

    if (rc == 0)
        rc = take(service, launch, &job->seal, err);
    free(launch);
    return rc;
}

/* --- what is left of launches that are over --- */

/* The seal of a key, if it counts as one that has files. */
static int load_seal(struct vel_service *service, const struct vel_part_new *part,
                     struct vel_seal *ret, struct vel_err *err)
{
    const struct vel_seal key = {.template = part->key.template,
                                 .step = part->key.step,
                                 .generation = part->key.generation};
    char *path = vel_service_seal_path(service, part->key.launch, &key);
    int rc = path ? vel_service_seal_load(service, path, ret, err)
                  : vel_out_of_memory(err, "a seal");

    free(path);
    return rc;
}

static bool has_files(const struct vel_part_new *part)
{
    for (size_t i = 0; i < part->ranks.n; i++)
        if (((struct vel_new_rank *)vel_vec_at(&part->ranks, i))->files.n > 0)
            return true;
    return false;
}

/* Never sealed: kept for one launch, so that a person can look at it. */
static void set_aside(struct vel_service *service, const struct vel_part_new *part)
{
    char *mark = vel_path_join(part->dir, "aside");
    struct vel_err why = {0};
    int rc;

    if (!mark)
        return;
    if (!has_files(part) || vel_fs_exists(service->fs, mark)) {
        rc = vel_placeholders_lose(service->placeholders, part->dir, &why);
        if (rc == 0)
            rc = vel_part_new_remove(service->fs, part->dir, &why);
    } else {
        vel_log(
            VEL_LOG_INFO,
            "files of %s, step '%s', of launch %s were never a whole dataset: %s has "
            "what there is until the next launch",
            part->key.template, part->key.step, part->key.launch, part->dir);
        rc = vel_fs_replace(service->fs, mark, "", 0, 0600, &why);
    }
    if (rc < 0)
        vel_log(VEL_LOG_DEBUG, "%s", why.text);
    free(mark);
}

static void take_one(struct vel_service *service, const struct vel_part_new *part)
{
    struct vel_seal seal;
    struct vel_err why = {0};
    bool is_over = false;
    int rc = vel_service_is_launch_over(service, part->key.launch, &is_over, &why);

    if (rc == 0 && !is_over)
        return;
    vel_seal_init(&seal);
    if (rc == 0)
        rc = load_seal(service, part, &seal, &why);
    if (rc == VEL_ENOENT || (rc == 0 && seal.verdict == VEL_VERDICT_VOID))
        set_aside(service, part);
    else if (rc == 0)
        rc = take(service, part->key.launch, &seal, &why);
    if (rc < 0 && rc != VEL_ENOENT)
        vel_log(VEL_LOG_WARN, "files of %s, step '%s', of launch %s do not count: %s",
                part->key.template, part->key.step, part->key.launch, why.text);
    vel_seal_fini(&seal);
}

void vel_service_take_old(struct vel_service *service)
{
    struct vel_vec found;

    vel_vec_init(&found, sizeof(struct vel_part_new));
    for (size_t i = 0; i < service->n_homes; i++)
        if (vel_parts_new_scan(service->fs, service->homes[i], &found, NULL) < 0)
            break;
    for (size_t i = 0; i < found.n; i++) {
        const struct vel_part_new *part = vel_vec_at(&found, i);

        if (strcmp(part->key.launch, service->launch) != 0 &&
            vel_fs_exists(service->fs, part->dir))
            take_one(service, part);
    }
    vel_parts_new_fini(&found);
}
