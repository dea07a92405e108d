/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that have lost files on the prefix to another one, which has files of the
 * same names: they cannot be fetched any more, and are not offered. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cachename.h"
#include "xfer/stands.h"

bool vel_session_takes_names(const struct vel_session *s, const struct vel_vec *files)
{
    const struct vel_flush_file *f = files->items;
    bool takes = false;

    for (size_t i = 0; i < files->n && !takes; i++) {
        char *path;

        if (vel_cachename_path(s->prefix, f[i].listed.name, &path, NULL) < 0)
            continue;
        takes = vel_fs_exists(s->fs, path);
        free(path);
    }
    return takes;
}

/* Local. Bit by bit: 0 where this rank sees that an entry has lost a file. */
static void look_at(const struct vel_session *s, const struct vel_vec *entries,
                    int64_t id, int64_t *stands)
{
    const struct vel_entry *e = entries->items;

    for (size_t i = 0; i < entries->n; i++) {
        bool is_whole = true;

        if (e[i].dataset.id != id && e[i].place == VEL_ON_PREFIX && !e[i].replaced)
            vel_stands_dataset(&s->crew, &e[i], &is_whole, NULL);
        stands[i] = is_whole;
    }
}

static void mark(struct vel_session *s, struct vel_entry *entry, int64_t id)
{
    struct vel_err why = {0};

    entry->replaced = id;
    vel_log_shared(VEL_LOG_INFO,
                   "dataset %" PRId64 " (%s %" PRId64
                   ") has lost files on the prefix to "
                   "dataset %" PRId64 ", whose files have the same names",
                   entry->dataset.id, entry->dataset.name, entry->dataset.version, id);
    for (size_t i = 0; i < s->held.n; i++)
        if (vel_session_held(s, i)->map.dataset.id == entry->dataset.id)
            vel_session_held(s, i)->entry.replaced = id;
    if (s->world->rank == 0 && vel_entry_save(s->fs, s->dir, entry, &why) < 0)
        vel_log(VEL_LOG_WARN, "not recorded as replaced: %s", why.text);
}

int vel_session_mark_replaced(struct vel_session *s, int64_t id, bool takes_names,
                              struct vel_err *err)
{
    int64_t any = takes_names, *stands;
    struct vel_err why = {0};
    struct vel_vec entries;
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &any, 1, err);

    if (rc < 0 || !any)
        return rc;
    rc = vel_session_index(s, VEL_OWNER_LEADERS, &entries, &why);
    if (rc < 0 &&
        rc != VEL_ENOMEM) { /* of all ranks; one that is lost is heard of next */
        vel_log_shared(VEL_LOG_WARN, "what is replaced is not recorded: %s", why.text);
        return 0;
    }
    if (rc < 0)
        return vel_out_of_memory(err, "what was replaced");
    stands = calloc(entries.n + 1, sizeof *stands);
    rc = vel_comm_agree(s->world,
                        stands ? 0 : vel_out_of_memory(err, "what was replaced"), err);
    if (rc == 0) {
        look_at(s, &entries, id, stands);
        rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, stands, entries.n, err);
    }
    for (size_t i = 0; rc == 0 && i < entries.n; i++)
        if (!stands[i])
            mark(s, vel_vec_at(&entries, i), id);
    free(stands);
    vel_index_fini(&entries);
    return rc;
}
