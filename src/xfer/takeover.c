/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "meta/transfer.h"
#include "xfer/flush_in.h"
#include "xfer/takeover.h"

/* What became of a transfer. Only the rank that looked at it knows more than AWAY, so
 * the greatest is what all agree on. */
enum end {
    AWAY,    /* its node has no part in this launch */
    KEPT,    /* it may be under way, and this launch cannot find out */
    LOST,    /* nobody can ask for it any more, and perhaps it goes on */
    STOPPED, /* it was, or it failed: its files are gone */
    STALE,   /* its flush has gone on without it: it had arrived before */
    ARRIVED,
};

struct vel_takeover {
    struct vel_crew crew;
    struct vel_vec ids; /* struct vel_transfer_id, the same on all ranks */
    int64_t *ends;      /* enum end, one each */
};

/* one rank that looks */
struct look {
    struct vel_takeover *t;
    const struct vel_takeover_how *how;
    const struct vel_vec *entries;
    struct vel_err why; /* the first thing that has to be told */
};

/* --- which there are --------------------------------------------------------------
 */

static int add_id(struct vel_vec *ids, const char *name, struct vel_err *err)
{
    struct vel_transfer_id id;

    if (!vel_transfer_name_parse(name, &id))
        return vel_fail(err, VEL_EINVAL, "'%s' is no record of a transfer", name);
    if (vel_vec_push(ids, &id))
        return 0;
    vel_transfer_id_fini(&id);
    return vel_out_of_memory(err, "transfers");
}

/* Rank 0's look at the prefix: names, each with a zero byte behind it. */
static int list(const struct vel_crew *crew, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_vec names, ids;
    const char *stranger = NULL;
    int rc = vel_transfer_list(crew->fs, crew->dir, &names, err);

    if (rc < 0)
        return rc;
    vel_vec_init(&ids, sizeof(struct vel_transfer_id));
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        if (add_id(&ids, name, NULL) == 0)
            vel_buf_append(ret, name, strlen(name) + 1);
        else
            stranger = name;
    }
    if (stranger)
        vel_log(VEL_LOG_WARN,
                "%s/transfers/%s is no record of a transfer, and is left alone: "
                "remove it",
                crew->dir, stranger);
    for (size_t i = 0; i < ids.n; i++)
        vel_transfer_id_fini(vel_vec_at(&ids, i));
    vel_vec_fini(&ids);
    vel_fs_names_fini(&names);
    return vel_buf_status(ret, err);
}

static int share(struct vel_takeover *t, struct vel_err *err)
{
    struct vel_comm *world = t->crew.world;
    struct vel_buf names;
    int rc;

    vel_buf_init(&names);
    rc = world->rank == 0 ? list(&t->crew, &names, err) : 0;
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(world, 0, &names, err);
    if (rc < 0 || names.len == 0) {
        vel_buf_fini(&names);
        return rc;
    }
    for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1)
        rc = add_id(&t->ids, names.data + at, err);
    t->ends = calloc(t->ids.n + 1, sizeof *t->ends);
    if (rc == 0 && !t->ends)
        rc = vel_out_of_memory(err, "transfers");
    vel_buf_fini(&names);
    return vel_comm_agree(world, rc, err);
}

/* --- what became of one -----------------------------------------------------------
 */

/* It has to be told, once; the first one is. */
static enum end tell(struct look *look, enum end end, const struct vel_transfer_id *id,
                     const struct vel_err *why)
{
    if (!look->why.status)
        vel_fail(&look->why, why->status ? why->status : VEL_EIO,
                 "dataset %" PRId64 ", files of rank %d: %s: %s", id->dataset, id->rank,
                 why->text,
                 end == KEPT
                     ? "the record stays, and the next launch on that node asks "
                       "again"
                     : "the record is removed");
    return end;
}

struct stall {
    struct vel_clock *clock;
    uint64_t last, patience;
};

static bool is_moving(void *arg, uint64_t bytes)
{
    struct stall *s = arg;
    uint64_t now = vel_clock_monotonic(s->clock);

    if (bytes > 0)
        s->last = now;
    return now - s->last < s->patience;
}

/* To its end, which is awaited only where the files are wanted. */
static enum end finish(struct look *look, const struct vel_transfer_record *record,
                       struct vel_transfer *transfer, bool is_wanted)
{
    const struct vel_crew *crew = &look->t->crew;
    struct stall stall = {.clock = crew->clock,
                          .last = vel_clock_monotonic(crew->clock),
                          .patience = look->how->patience};
    const struct vel_watch watch = {is_moving, &stall};
    struct vel_xfer_copied *copied = calloc(record->files.n + 1, sizeof *copied);
    struct vel_err why = {0};
    int rc = copied ? 0 : vel_out_of_memory(&why, "a transfer");

    if (rc == 0 && is_wanted)
        rc = vel_transfer_wait(transfer, &watch, copied, &why);
    else
        vel_transfer_stop(transfer);
    free(copied);
    if (vel_transfer_is_loose(transfer)) {
        vel_fail(&why, VEL_EBUSY, "%s cannot be stopped", record->service);
        return tell(look, KEPT, &record->id, &why);
    }
    vel_log(VEL_LOG_INFO,
            "dataset %" PRId64 ", files of rank %d: what %s was moving has %s%s",
            record->id.dataset, record->id.rank, record->service,
            rc == 0 && is_wanted ? "arrived" : "been stopped: ",
            rc == 0 && is_wanted ? ""
            : is_wanted          ? why.text
                                 : "nobody waits for it");
    return rc == 0 && is_wanted ? ARRIVED : STOPPED;
}

/* The files as they were told to the service. */
static int make_files(const struct vel_crew *crew,
                      const struct vel_transfer_record *record,
                      struct vel_xfer_file *files, struct vel_flush_target *targets,
                      struct vel_err *err)
{
    const struct vel_entry entry = {.dataset.id = record->id.dataset,
                                    .owner = record->owner,
                                    .attempt = record->id.attempt};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < record->files.n; i++) {
        const struct vel_transfer_file *f = vel_vec_at(&record->files, i);
        const struct vel_listed listed = {.name = f->name, .container = -1};

        rc = vel_flush_target(crew, &entry, &listed, &targets[i], err);
        files[i] = (struct vel_xfer_file){
            .from = f->from, .to = targets[i].temporary, .size = f->size};
    }
    return rc;
}

static enum end resume(struct look *look, const struct vel_transfer_record *record,
                       const struct vel_xfer_file *files, bool is_wanted)
{
    struct vel_copy_how how = look->t->crew.copy;
    struct vel_transport *transport = NULL;
    struct vel_transfer *transfer = NULL;
    struct vel_err why = {0};
    enum end end;
    int rc = look->how->find(look->how->arg, record->service, &transport, &why);

    if (rc < 0)
        return tell(look, KEPT, &record->id, &why);
    how.wants_crc = false; /* every byte is read when all have arrived */
    rc = vel_transfer_resume(transport, &how, record->store, files, record->files.n,
                             record->state.data, record->state.len, &transfer, &why);
    if (rc == VEL_ENOENT) {
        vel_log(VEL_LOG_INFO, "dataset %" PRId64 ", files of rank %d: %s",
                record->id.dataset, record->id.rank, why.text);
        return LOST;
    }
    if (rc < 0) /* what was perhaps never begun is not to be asked for by anybody */
        return tell(look, record->has_state && rc != VEL_EINVAL ? KEPT : LOST,
                    &record->id, &why);
    end = finish(look, record, transfer, is_wanted);
    vel_transfer_destroy(transfer);
    return end;
}

static enum end take_over(struct look *look, const struct vel_transfer_record *record,
                          bool is_wanted)
{
    size_t n = record->files.n;
    struct vel_xfer_file *files = calloc(n + 1, sizeof *files);
    struct vel_flush_target *targets = calloc(n + 1, sizeof *targets);
    struct vel_err why = {0};
    enum end end;
    int rc = files && targets ? make_files(&look->t->crew, record, files, targets, &why)
                              : vel_out_of_memory(&why, "a transfer");

    if (rc == 0)
        end = resume(look, record, files, is_wanted);
    else
        end = tell(look, rc == VEL_ENOMEM ? KEPT : LOST, &record->id, &why);
    for (size_t i = 0; targets && i < n; i++)
        vel_flush_target_fini(&targets[i]);
    free(targets);
    free(files);
    return end;
}

static const struct vel_entry *entry_of(const struct look *look, int64_t id)
{
    const struct vel_entry *e = look->entries->items;

    for (size_t i = 0; i < look->entries->n; i++)
        if (e[i].dataset.id == id)
            return &e[i];
    return NULL;
}

/* An entry that is there and cannot be read: its dataset may want these files. */
static bool is_unreadable(const struct look *look, int64_t id)
{
    char *path = vel_entry_path(look->t->crew.dir, id, 0);
    bool is_there = !path || vel_fs_exists(look->t->crew.fs, path);

    free(path);
    return is_there;
}

static enum end find_out(struct look *look, const struct vel_transfer_id *id)
{
    const struct vel_crew *crew = &look->t->crew;
    const struct vel_entry *entry = entry_of(look, id->dataset);
    bool is_its = entry && entry->attempt == id->attempt;
    struct vel_transfer_record record;
    struct vel_err why = {0};
    enum end end;
    int rc;

    if (is_its && entry->place >= VEL_ON_STAGED)
        return STALE;
    rc = vel_transfer_record_load(crew->fs, crew->dir, id, &record, &why);
    if (rc == VEL_ENOENT)
        return STALE;
    if (rc < 0)
        return tell(look, rc == VEL_ECORRUPT ? LOST : KEPT, id, &why);
    if (!entry && is_unreadable(look, id->dataset)) {
        vel_fail(&why, VEL_ECORRUPT, "its index entry cannot be read");
        end = tell(look, KEPT, id, &why);
    } else {
        end = take_over(look, &record, is_its && entry->place == VEL_ON_FLUSHING);
    }
    vel_transfer_record_fini(&record);
    return end;
}

/* --- all of them ------------------------------------------------------------------
 */

/* Those of a node are divided among the ranks that are there now. */
static bool is_mine(const struct vel_crew *crew, const struct vel_transfer_id *id)
{
    return strcmp(id->node, crew->node_name) == 0 &&
           id->rank % crew->node->size == crew->node->rank;
}

/* Those of nodes that are away: no news when their flush was given up before. */
static void tell_away(const struct vel_takeover *t, struct look *look)
{
    const struct vel_transfer_id *id = t->ids.items, *first = NULL;
    enum vel_log_level level = VEL_LOG_INFO;
    size_t n = 0;

    for (size_t i = 0; i < t->ids.n; i++) {
        const struct vel_entry *e = entry_of(look, id[i].dataset);

        if (t->ends[i] != AWAY)
            continue;
        first = n++ ? first : &id[i];
        if (e && e->place == VEL_ON_FLUSHING && e->attempt == id[i].attempt)
            level = VEL_LOG_WARN;
    }
    if (first)
        vel_log_shared(level,
                       "%zu transfers of earlier launches are left alone, since their "
                       "nodes have no part in this one, first %s (dataset %" PRId64
                       "): their files are flushed again under other names; for a node "
                       "that never comes back remove its records in %s/transfers",
                       n, first->node, first->dataset, t->crew.dir);
}

/* What a transfer that cannot be found out about means, in one line. */
static int tell_all(struct vel_takeover *t, struct look *look, struct vel_err *err)
{
    struct vel_comm *world = t->crew.world;
    int rc;

    vel_comm_agree(world, (int)look->why.status, &look->why);
    rc = vel_comm_allreduce(world, VEL_COMM_MAX, t->ends, t->ids.n, err);
    if (rc < 0)
        return rc;
    if (look->why.status)
        vel_log_shared(VEL_LOG_WARN, "transfers of earlier launches: %s",
                       look->why.text);
    tell_away(t, look);
    return 0;
}

int vel_takeover_begin(const struct vel_crew *crew, const struct vel_takeover_how *how,
                       const struct vel_vec *entries, struct vel_takeover **ret,
                       struct vel_err *err)
{
    struct vel_takeover *t = calloc(1, sizeof *t);
    struct look look = {.t = t, .how = how, .entries = entries};
    int rc =
        vel_comm_agree(crew->world, t ? 0 : vel_out_of_memory(err, "transfers"), err);

    if (rc < 0) {
        free(t);
        return rc;
    }
    t->crew = *crew;
    vel_vec_init(&t->ids, sizeof(struct vel_transfer_id));
    rc = share(t, err);
    for (size_t i = 0; rc == 0 && i < t->ids.n; i++) {
        const struct vel_transfer_id *id = vel_vec_at(&t->ids, i);

        if (is_mine(crew, id))
            t->ends[i] = find_out(&look, id);
    }
    if (rc == 0 && t->ids.n)
        rc = tell_all(t, &look, err);
    if (rc < 0)
        vel_takeover_destroy(t);
    else
        *ret = t;
    return rc;
}

bool vel_takeover_has_arrived(const struct vel_takeover *takeover,
                              const struct vel_entry *entry)
{
    const struct vel_transfer_id *id = takeover->ids.items;
    bool is_any = false;

    for (size_t i = 0; i < takeover->ids.n; i++) {
        if (id[i].dataset != entry->dataset.id || id[i].attempt != entry->attempt)
            continue;
        if (takeover->ends[i] != ARRIVED)
            return false;
        is_any = true;
    }
    return is_any;
}

int vel_takeover_attempt(const struct vel_takeover *takeover, int64_t id)
{
    const struct vel_transfer_id *ids = takeover->ids.items;
    int attempt = 0;

    for (size_t i = 0; i < takeover->ids.n; i++)
        if (ids[i].dataset == id && takeover->ends[i] <= LOST &&
            ids[i].attempt >= attempt)
            attempt = ids[i].attempt < INT32_MAX ? ids[i].attempt + 1 : 0;
    return attempt;
}

int64_t vel_takeover_last_id(const struct vel_takeover *takeover)
{
    const struct vel_transfer_id *ids = takeover->ids.items;
    int64_t last = 0;

    for (size_t i = 0; i < takeover->ids.n; i++)
        last = ids[i].dataset > last ? ids[i].dataset : last;
    return last;
}

void vel_takeover_settle(struct vel_takeover *takeover)
{
    const struct vel_crew *crew = &takeover->crew;

    for (size_t i = 0; i < takeover->ids.n; i++) {
        const struct vel_transfer_id *id = vel_vec_at(&takeover->ids, i);
        struct vel_err why = {0};

        if (takeover->ends[i] >= LOST && is_mine(crew, id) &&
            vel_transfer_record_remove(crew->fs, crew->dir, id, &why) < 0)
            vel_log(VEL_LOG_WARN, "the record of a transfer that is over stays: %s",
                    why.text);
    }
}

void vel_takeover_destroy(struct vel_takeover *takeover)
{
    if (!takeover)
        return;
    for (size_t i = 0; i < takeover->ids.n; i++)
        vel_transfer_id_fini(vel_vec_at(&takeover->ids, i));
    vel_vec_fini(&takeover->ids);
    free(takeover->ends);
    free(takeover);
}
