/* SPDX-License-Identifier: BSD-3-Clause */
/* What the brain asks of its shell: the table, and what is too small for a file. */
#include "config.h"

#include "base/log.h"
#include "meta/nodes.h"
#include "node/service_in.h"
#include "node/service_room.h"

enum { ASKS_WORKER = 1, ASKS_STORAGE = 2 };

/* Can the prefix and this node's caches be listed? A cache that was not used yet is not
 * there, which is no trouble. */
static int look_at_storage(struct vel_service *service)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(service->fs, service->dir, &names, NULL);
    vel_fs_names_fini(&names);
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++) {
        vel_vec_init(&names, sizeof(char *));
        rc = vel_fs_list(service->fs, service->homes[i], &names, NULL);
        vel_fs_names_fini(&names);
        if (rc == VEL_ENOENT)
            rc = 0;
    }
    return rc;
}

static int health(void *arg, int what)
{
    struct vel_service *service = arg;

    if (what == ASKS_WORKER)
        return service->takes_jobs ? 0 : VEL_EBUSY;
    return what == ASKS_STORAGE ? look_at_storage(service) : 0;
}

static void resign(void *arg)
{
    ((struct vel_service *)arg)->is_resigning = true;
}

static void leave(void *arg)
{
    struct vel_service *service = arg;
    struct vel_err err = {0};

    if (vel_endpoint_leave(service->fs, service->launch_dir, service->host.node, &err) <
        0)
        vel_log(VEL_LOG_DEBUG, "the record of this node's leader stays: %s", err.text);
    service->is_resigning = true;
}

static void tell(void *arg, const struct vel_event *event)
{
    vel_books_tell(((struct vel_service *)arg)->books, event);
}

const struct vel_leader_ops vel_service_ops = {
    .connect = vel_service_connect,
    .send = vel_service_send,
    .close = vel_service_close,
    .endpoint = vel_service_endpoint,
    .epoch = vel_service_epoch,
    .chair = vel_service_chair,
    .is_gone = vel_service_is_gone,
    .is_last = vel_service_is_last,
    .left = vel_service_left_nodes,
    .claim_chair = vel_service_claim_chair,
    .beat = vel_service_beat,
    .is_ended = vel_service_is_ended,
    .end = vel_service_end,
    .over = vel_service_over,
    .others = vel_service_others,
    .end_other = vel_service_end_other,
    .known = vel_service_known,
    .make_view = vel_service_make_view,
    .load_view = vel_service_load_view,
    .seal = vel_service_seal,
    .find = vel_service_find,
    .claim_owner = vel_service_claim_owner,
    .owner = vel_service_owner,
    .entry = vel_service_entry,
    .go_on = vel_service_go_on,
    .is_dropped = vel_service_is_dropped,
    .is_held = vel_service_is_held,
    .is_before = vel_service_is_before,
    .shares = vel_service_shares,
    .owe = vel_service_owe,
    .forget = vel_service_forget,
    .failed = vel_service_failed,
    .rule = vel_service_rule,
    .writer = vel_service_writer,
    .part_new = vel_service_part_new,
    .part_renumber = vel_service_part_renumber,
    .part_give = vel_service_part_give,
    .parts = vel_service_parts,
    .note_native = vel_service_note_native,
    .make_family = vel_service_make_family,
    .family = vel_service_family,
    .sealed = vel_service_sealed,
    .previous = vel_service_previous,
    .has_whole = vel_service_has_whole,
    .is_promise = vel_service_is_promise,
    .compose = vel_service_compose,
    .keep = vel_service_keep,
    .start = vel_service_start_job,
    .cancel = vel_service_cancel_job,
    .is_busy = vel_service_is_busy,
    .rate = vel_service_set_rate,
    .tell = tell,
    .health = health,
    .resign = resign,
    .leave = leave,
};
