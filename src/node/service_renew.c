/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file was to replace is gone, because another node has published an older
 * version there: then it is that which it replaces. The records of the prefix tell
 * whose a file is; anything else that came there is somebody else's, and stays. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "node/service_bring_in.h"
#include "xfer/stands.h"

bool vel_service_has_put(struct vel_service *service, int64_t above, int64_t below,
                         const char *name, const char *path)
{
    const struct vel_index_range between = {.above = above, .below = below};

    return vel_stands_put(service->index, &between, name, path);
}

struct touched {
    struct vel_service *service;
    const char *name, *path;
};

/* 1: it has its bytes, -1: others. */
static int has_its_bytes(void *arg, const struct vel_listed *file)
{
    const struct touched *t = arg;
    const struct vel_crew crew = {.fs = t->service->fs,
                                  .copy = t->service->flushing.copy};

    if (strcmp(file->name, t->name) != 0)
        return 0;
    return vel_stands_check(&crew, t->path, file, NULL) == 0 ? 1 : -1;
}

/* The newest dataset that has a file of this name decides. */
static int has_bytes(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    const struct touched *t = arg;
    int has = entry->place == VEL_ON_PREFIX
                  ? vel_index_each_file(t->service->index, entry, has_its_bytes, arg)
                  : 0;

    (void)err;
    vel_entry_fini(entry);
    return has;
}

bool vel_service_renew_touched(struct vel_service *service, int64_t id,
                               const struct vel_placeholder_file *of, const char *path)
{
    const struct vel_stub_maker maker = {.launch = service->launch,
                                         .drafts = service->launch_dir};
    size_t left_out = 0;
    const struct vel_index_range older = {.below = id, .left_out = &left_out};
    struct touched t = {.service = service, .name = of->name, .path = path};

    return vel_index_each(service->index, &older, has_bytes, &t, NULL) > 0 &&
           (!*of->dir || /* it is not here */
            vel_placeholders_set(service->placeholders, of, path, &maker, NULL) == 0);
}

void vel_service_renew(struct vel_service *service, int64_t id,
                       const struct vel_placeholder_file *of)
{
    const struct vel_stub_maker maker = {.launch = service->launch,
                                         .drafts = service->launch_dir};
    enum vel_anchor_now now = VEL_ANCHOR_STANDS;
    char *path = NULL;

    if (vel_placeholders_follow(service->placeholders, of, &now, &path, NULL) < 0 ||
        now == VEL_ANCHOR_STANDS || now == VEL_ANCHOR_HIDDEN) {
        free(path);
        return;
    }
    free(path);
    path = vel_placeholders_recorded(service->placeholders, of);
    if (path && vel_fs_exists(service->fs, path) &&
        vel_service_has_put(service, 0, id, of->name, path) &&
        vel_placeholders_set(service->placeholders, of, path, &maker, NULL) < 0)
        vel_log(VEL_LOG_WARN, "%s is not followed any more", path);
    free(path);
}

bool vel_service_renew_at(struct vel_service *service, const char *path)
{
    struct vel_placeholder_file of = {0};
    char *dir = NULL, *name = NULL;
    int64_t id = INT64_MAX;

    if (vel_placeholders_last_at(service->placeholders, path, &dir, &of.rank, &name,
                                 NULL) < 0)
        return false;
    of.dir = dir;
    of.name = name;
    vel_number_behind(vel_path_base(dir), "dataset.", &id);
    vel_service_renew(service, id, &of);
    free(dir);
    free(name);
    return true;
}
