/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/flushing_in.h"
#include "jobs/forget.h"
#include "jobs/mark.h"
#include "meta/current.h"
#include "meta/paths.h"
#include "xfer/stands.h"

struct marking {
    const struct vel_marking *of;
    const struct vel_flushing *f;
    int64_t id;
    const void *record;
    size_t len;
    struct vel_err *err;
};

static int save(const struct marking *m, const struct vel_entry *entry)
{
    return vel_entry_save(m->f->index, entry, m->err);
}

/* What was told of it is the first that is said. */
static int save_told(const struct marking *m, const struct vel_entry *entry)
{
    return vel_entry_enter(m->f->index, entry, m->err);
}

/* What was told with it. */
static int told(const struct marking *m, struct vel_entry *ret)
{
    int rc = vel_entry_decode(m->record, m->len, ret, m->err);

    if (rc == 0 && ret->dataset.id != m->id) {
        rc = vel_fail(m->err, VEL_EINVAL,
                      "the entry of dataset %" PRId64 " is that of %" PRId64, m->id,
                      ret->dataset.id);
        vel_entry_fini(ret);
    }
    return rc;
}

static int load(const struct marking *m, struct vel_entry *ret)
{
    return vel_entry_load(m->f->index, m->id, ret, m->err);
}

/* Leaders may have entered it meanwhile, and know more. */
static int enter(const struct marking *m)
{
    struct vel_entry entry = {0};
    int rc = vel_entry_load(m->f->index, m->id, &entry, NULL);

    if (rc == 0) {
        vel_entry_fini(&entry);
        return 0;
    }
    rc = told(m, &entry);
    if (rc < 0)
        return rc;
    rc = save_told(m, &entry);
    vel_entry_fini(&entry);
    return rc;
}

/* --- to its names --- */

static int publish(const struct marking *m)
{
    struct vel_flush_job job = {.id = m->id};
    struct vel_entry entry = {0}, settled = {0};
    int rc = load(m, &entry);

    if (rc < 0 || entry.place != VEL_ON_STAGED) {
        vel_entry_fini(&entry);
        return rc;
    }
    rc = m->of->settle_rivals(m->of->arg, &entry, m->err);
    if (rc == 0)
        rc = vel_index_claim(m->f->index, m->id, &job.owner, m->err);
    if (rc == 0)
        rc = vel_flushing_settle(m->f, &job, 0, &settled, m->err);
    vel_entry_fini(&settled);
    vel_entry_fini(&entry);
    return rc;
}

static int stage(const struct marking *m)
{
    struct vel_entry entry = {0};
    int rc = vel_entry_load(m->f->index, m->id, &entry, NULL);

    if (rc < 0) { /* else it is asked again */
        rc = told(m, &entry);
        if (rc < 0)
            return rc;
        entry.place = VEL_ON_STAGED;
        rc = save_told(m, &entry);
    }
    vel_entry_fini(&entry);
    return rc == 0 ? publish(m) : rc;
}

/* --- said of it --- */

static int say(const struct marking *m, enum vel_mark what)
{
    struct vel_entry entry = {0};
    int rc = load(m, &entry);
    int64_t now = vel_clock_wall(m->f->clock) / (int64_t)VEL_CLOCK_S;
    bool is_new = rc == VEL_ENOENT && what == VEL_MARK_REFUSE;

    if (is_new)
        rc = told(m, &entry);
    if (rc < 0)
        return rc;
    if (what == VEL_MARK_REFUSE)
        entry.refused = now;
    else
        entry.fetched = now;
    if (what == VEL_MARK_FAIL)
        entry.failed = now;
    rc = is_new ? save_told(m, &entry) : save(m, &entry);
    vel_entry_fini(&entry);
    return rc;
}

/* --- others have lost files to it --- */

struct replacing {
    const struct marking *m;
    struct vel_crew crew;
};

static int look_at(void *arg, struct vel_entry *e, struct vel_err *err)
{
    const struct replacing *r = arg;
    int rc = e->dataset.id == r->m->id
                 ? 0
                 : vel_flushing_mark_lost(&r->crew, e, r->m->id, err);

    vel_entry_fini(e);
    return rc;
}

static int replace(const struct marking *m)
{
    size_t left_out = 0;
    const struct vel_index_range all = {
        .above = INT64_MIN, .below = INT64_MAX, .left_out = &left_out};
    struct replacing r = {.m = m, .crew = vel_flushing_crew(m->f)};

    return vel_index_each(m->f->index, &all, look_at, &r, m->err);
}

/* --- it goes --- */

static int undrop(const struct marking *m)
{
    char *path = vel_dropped_path(m->f->dir, m->id);
    int rc = path ? vel_fs_unlink(m->f->fs, path, m->err)
                  : vel_out_of_memory(m->err, "a dataset");

    free(path);
    return rc;
}

/* Its files stay, and so does what holds them. */
static int forget(const struct marking *m)
{
    int rc = vel_index_forget(m->f->index, &m->id, 1, m->err);

    return rc == 0 ? vel_forget_lists(m->f->fs, m->f->dir, m->id, m->err) : rc;
}

static int remove_it(const struct marking *m, enum vel_mark what)
{
    struct vel_entry entry = {.dataset = {.id = m->id}};
    const struct vel_crew crew = vel_flushing_crew(m->f);
    int rc = vel_entry_load(m->f->index, m->id, &entry, m->err);

    if (rc < 0 && rc != VEL_ENOENT)
        return rc;
    /* leaders may have flushed it, and nobody has told */
    if ((what == VEL_MARK_EVICT && entry.place >= VEL_ON_STAGED) ||
        (what == VEL_MARK_WITHDRAW && rc == VEL_ENOENT)) {
        vel_entry_fini(&entry);
        return 0;
    }
    rc = what == VEL_MARK_WITHDRAW ? vel_flush_take_back(&crew, &entry, m->err)
                                   : vel_flush_remove(&crew, &entry, m->err);
    vel_entry_fini(&entry);
    return rc;
}

int vel_mark(const struct vel_marking *marking, enum vel_mark what, int64_t id,
             const void *record, size_t len, struct vel_err *err)
{
    const struct marking m = {.of = marking,
                              .f = marking->flushing,
                              .id = id,
                              .record = record,
                              .len = len,
                              .err = err};

    switch (what) {
    case VEL_MARK_ENTER:
        return enter(&m);
    case VEL_MARK_STAGE:
        return stage(&m);
    case VEL_MARK_PUBLISH:
        return publish(&m);
    case VEL_MARK_FETCH:
    case VEL_MARK_FAIL:
    case VEL_MARK_REFUSE:
        return say(&m, what);
    case VEL_MARK_CURRENT:
        return vel_current_choose(m.f->index, id, err);
    case VEL_MARK_REPLACE:
        return replace(&m);
    case VEL_MARK_DROP:
        return vel_dropped_save(m.f->fs, m.f->dir, id, err);
    case VEL_MARK_UNDROP:
        return undrop(&m);
    case VEL_MARK_FORGET:
        return forget(&m);
    case VEL_MARK_WITHDRAW:
    case VEL_MARK_EVICT:
    case VEL_MARK_REMOVE:
        return remove_it(&m, what);
    case VEL_MARK_NOTHING:
        return 0;
    }
    return vel_fail(err, VEL_EINVAL, "%d is nothing that becomes of a dataset", what);
}
