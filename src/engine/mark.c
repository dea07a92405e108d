/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of datasets on the prefix: told to the leaders, who do it. */
#include "config.h"

#include <inttypes.h>

#include "base/log.h"
#include "engine/session_in.h"

static bool has_record(enum vel_mark what)
{
    return what == VEL_MARK_ENTER || what == VEL_MARK_STAGE || what == VEL_MARK_REFUSE;
}

static int mark(struct vel_session *s, enum vel_mark what,
                const struct vel_entry *entry, bool waits, struct vel_err *err)
{
    struct vel_buf record;
    int rc = 0;

    if (s->world->rank != 0)
        return 0;
    vel_buf_init(&record);
    if (has_record(what))
        rc = vel_entry_encode(entry, &record, err);
    if (rc == 0)
        rc = s->background->ops->mark(s->background, entry->dataset.id, what, waits,
                                      record.data, record.len, err);
    vel_buf_fini(&record);
    return rc;
}

int vel_session_mark(struct vel_session *s, enum vel_mark what,
                     const struct vel_entry *entry, struct vel_err *err)
{
    return mark(s, what, entry, true, err);
}

int vel_session_mark_id(struct vel_session *s, enum vel_mark what, int64_t id,
                        struct vel_err *err)
{
    const struct vel_entry entry = {.dataset = {.id = id}};

    return mark(s, what, &entry, true, err);
}

void vel_session_mark_behind(struct vel_session *s, enum vel_mark what,
                             const struct vel_entry *entry)
{
    struct vel_err why = {0};

    if (s->world->rank != 0 || vel_session_has_nobody(s))
        return;
    s->behind = entry->dataset.id;
    if (mark(s, what, entry, false, &why) < 0)
        vel_log(VEL_LOG_WARN,
                "what becomes of dataset %" PRId64 " is not recorded on the prefix: %s",
                entry->dataset.id, why.text);
}

/* Before anybody reads there. */
void vel_session_mark_all(struct vel_session *s)
{
    struct vel_err why = {0};

    if (s->behind > 0 && vel_session_mark_id(s, VEL_MARK_NOTHING, s->behind, &why) < 0)
        vel_log(VEL_LOG_INFO, "%s", why.text);
    s->behind = 0;
}

void vel_session_forget_behind(struct vel_session *s, int64_t id)
{
    const struct vel_entry entry = {.dataset = {.id = id}};

    vel_session_mark_behind(s, VEL_MARK_EVICT, &entry);
}
