/* SPDX-License-Identifier: BSD-3-Clause */
/* As many ranks as wrote it: each has its part in a store of its own node in the end,
 * from where it lay or rebuilt by all. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "recover/bring_in.h"
#include "recover/ranks.h"
#include "red/set.h"
#include "view/inventory.h"
#include "view/view_in.h"

/* What does not come counts as lost. */
static int pull_own(void *arg, struct vel_pull_source *source, struct vel_err *err)
{
    struct vel_bringing *b = arg;
    struct vel_pull_how how = b->kept.how;
    struct vel_pull what = b->kept.what;
    struct vel_pulled pulled;
    struct vel_err why = {0};
    size_t set, place;
    int node = -1, rc;

    if (vel_view_find_place(b->d, b->world->rank, &set, &place))
        node = vel_view_place_at(vel_vec_at(&b->d->sets, set), place)->node;
    if (b->is_whole || !b->r->of.may_move || node < 0 ||
        strcmp(*(char **)vel_vec_at(&b->r->view.nodes, (size_t)node), b->r->of.node) ==
            0)
        return 0;
    how.source = source;
    what.rank = b->world->rank;
    what.home = b->r->of.homes[b->kept.store];
    what.no_rebuild = true;
    rc = vel_pull(&how, &what, &pulled, &why);
    if (rc == VEL_ENOMEM)
        return vel_fail(err, VEL_ENOMEM, "%s", why.text);
    if (rc < 0) {
        vel_log(VEL_LOG_WARN, "files of dataset %" PRId64 " did not come: %s",
                b->d->about.id, why.text);
        return 0;
    }
    b->is_whole = true;
    b->has_come = pulled.way == VEL_PULL_OWNER;
    free(b->dir);
    b->dir = pulled.dir;
    return 0;
}

static int prepare(struct vel_bringing *b)
{
    struct vel_fs *fs = b->r->of.fs;
    char *above;
    int rc = 0;

    b->dir = vel_bring_where(b, b->world->rank, &b->kept.store, &b->is_whole);
    if (!b->dir)
        rc = vel_kept_choose(&b->kept, b->err);
    if (rc == 0 && !b->dir)
        b->dir = vel_kept_dir(&b->kept, b->kept.store, b->world->rank);
    above = b->dir ? vel_path_dir(b->dir) : NULL;
    if (rc == 0 && !above)
        rc = vel_bring_no_memory(b->err);
    if (rc == 0) {
        b->was_here = vel_kept_has(&b->kept, b->world->rank);
        rc = vel_store_check(&b->r->of.stores->items[b->kept.store], fs, b->err);
    }
    if (rc == 0)
        rc = vel_cache_make_dir(fs, above, b->err);
    free(above);
    return rc;
}

/* Whose files were made again says why: it is news where there were any. */
static void tell_rebuilt(struct vel_bringing *b, size_t place,
                         struct vel_buf *sentences)
{
    const struct vel_dataset *d = &b->kept.map.dataset;
    const char *line = vel_buf_text(sentences);
    char mine[32];
    size_t len = (size_t)snprintf(mine, sizeof mine, "member %zu: ", place);

    while (*line) {
        const char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line);

        if (strncmp(line, mine, len) == 0) {
            b->is_rebuilt = true;
            vel_log(b->was_here || b->is_whole ? VEL_LOG_WARN : VEL_LOG_DEBUG,
                    "dataset %" PRId64 " (%s %" PRId64
                    "): the files of this rank were rebuilt: %.*s",
                    d->id, d->name, d->version, (int)(n - len), line + len);
        }
        line += end ? n + 1 : n;
    }
}

static int rebuild(struct vel_bringing *b)
{
    struct vel_red_set set = {.all = b->world,
                              .fs = b->r->of.fs,
                              .dir = b->dir,
                              .label = VEL_CACHE_LABEL,
                              .memory = b->r->of.memory};
    struct vel_red_report report = {0};
    int rc = vel_fs_make_dirs(b->r->of.fs, b->dir, 0700, b->err);

    rc = vel_comm_agree(b->world, rc, b->err);
    if (rc == 0)
        rc = vel_red_recover_all(&set, &report, b->err);
    if (rc < 0)
        return rc;
    if (set.comm)
        tell_rebuilt(b, (size_t)set.comm->rank, &report.sentences);
    vel_comm_destroy(set.comm);
    vel_red_report_fini(&report);
    rc = vel_part_map_of(b->r->of.fs, b->dir, b->world->rank, NULL, &b->out->map, NULL,
                         b->err);
    return vel_comm_agree(b->world, rc, b->err);
}

/* Whose parts were made again; or when too many are lost, whose are. */
static int tell_ranks(struct vel_bringing *b, int rc)
{
    struct vel_buf ranks;

    vel_buf_init(&ranks);
    if (rc == 0) {
        rc = vel_ranks_tell(b->world, b->is_rebuilt, &ranks, b->err);
        if (rc == 0 && ranks.len) {
            b->out->rebuilt_ranks = vel_buf_take(&ranks, NULL);
            if (!b->out->rebuilt_ranks)
                rc = vel_bring_no_memory(b->err);
        }
        rc = vel_comm_agree(b->world, rc, b->err);
    } else if (rc == VEL_EINVAL &&
               vel_ranks_tell(b->world, !b->is_whole, &ranks, NULL) == 0 && ranks.len) {
        vel_wrap(b->err, rc, "the files of %s are lost", vel_buf_text(&ranks));
    }
    vel_buf_fini(&ranks);
    return rc;
}

static int hold(struct vel_bringing *b)
{
    const struct vel_brought_part own = {
        .rank = b->world->rank, .dir = b->dir, .has_come = !b->was_here};
    char *above = vel_path_dir(b->dir);

    b->out->level = above ? vel_path_dir(above) : NULL;
    free(above);
    vel_vec_init(&b->kept.parts, sizeof own);
    if (!b->out->level || !vel_vec_push(&b->kept.parts, &own))
        return vel_bring_no_memory(b->err);
    b->dir = NULL;
    return 0;
}

int vel_bring_own(struct vel_bringing *b)
{
    int64_t sums[2];
    int rc = vel_comm_agree(b->world, prepare(b), b->err);

    if (rc == 0)
        rc = vel_bring_rounds(b, pull_own);
    if (rc == 0)
        rc = tell_ranks(b, rebuild(b));
    if (rc < 0)
        return rc;
    sums[0] = b->has_come;
    sums[1] = b->is_rebuilt;
    rc = vel_comm_agree_fold(b->world, hold(b), VEL_COMM_SUM, sums, 2, b->err);
    b->out->moved = sums[0];
    b->out->rebuilt = sums[1];
    return rc;
}
