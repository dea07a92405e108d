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

struct putting {
    struct vel_service *service;
    const char *name, *path;
};

/* Has a dataset put its file of this name there? 1: it has. */
static int has_put(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    const struct putting *p = arg;
    struct vel_service *service = p->service;
    int has = 0;

    (void)err;
    for (int l = 0; !has && l < entry->lists; l++) {
        struct vel_vec files;

        if (vel_filelist_load(service->fs, service->dir, entry->dataset.id, l, &files,
                              NULL) < 0)
            continue;
        for (size_t i = 0; !has && i < files.n; i++) {
            const struct vel_listed *file = vel_vec_at(&files, i);

            has = strcmp(file->name, p->name) == 0 &&
                  vel_stands_untouched(service->fs, p->path, file);
        }
        vel_filelist_fini(&files);
    }
    vel_entry_fini(entry);
    return has;
}

bool vel_service_has_put(struct vel_service *service, int64_t above, int64_t below,
                         const char *name, const char *path)
{
    const struct vel_index_range between = {.above = above, .below = below};
    struct putting p = {.service = service, .name = name, .path = path};

    return vel_index_each(service->fs, service->dir, &between, has_put, &p, NULL) > 0;
}

void vel_service_renew(struct vel_service *service, int64_t id,
                       const struct vel_placeholder_file *of)
{
    const struct vel_stub_maker maker = {service->launch, service->launch_dir};
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
