/* SPDX-License-Identifier: BSD-3-Clause */
/* What launches before this one have left in caches, before the program has it:
 * with FLUSH_ON_RESTART and GLOBAL_RESTART it is on the prefix, with RESTART=REQUIRE
 * nothing is missed. */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vec.h"
#include "view/missed.h"
#include "view/seals.h"
#include "meta/index.h"
#include "process/files_in.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vel_vec waited = {.item_size = sizeof(int64_t)}; /* for each once */

static bool was_waited_for(int64_t id)
{
    pthread_mutex_lock(&lock);
    bool was = vel_vec_has_number(&waited, id);
    pthread_mutex_unlock(&lock);
    return was;
}

/* Without memory it is waited for again. */
static void note_waited(int64_t id)
{
    pthread_mutex_lock(&lock);
    vel_vec_push(&waited, &id);
    pthread_mutex_unlock(&lock);
}

static bool is_before(int64_t id)
{
    struct vel_view view;
    bool is = vel_files_view(&view, NULL) == 0;

    if (is) {
        is = vel_view_find_dataset(&view, id) != NULL;
        vel_view_fini(&view);
    }
    return is;
}

static bool asks_for_flush(int64_t id)
{
    struct vel_seals_of of = {.fs = vel_fs_posix(), .dir = vel_files_dir()};
    struct vel_seal seal;
    bool asks = true;

    if (vel_seals_of_dataset(&of, id, &seal) == 0) {
        asks = seal.what & VEL_OWED_FLUSH;
        vel_seal_fini(&seal);
    }
    vel_seals_of_fini(&of);
    return asks;
}

/* It is not there yet. A checkpoint of a session may be due for no flush, or only since
 * it was sealed. */
static bool is_to_come(int64_t id)
{
    struct vel_index_where where;

    if (vel_index_where(vel_files_index(), id, &where, NULL) < 0)
        return asks_for_flush(id);
    return where.place != VEL_ON_PREFIX && !where.is_replaced &&
           (where.place != VEL_ON_CACHE || asks_for_flush(id));
}

/* A leader answers for its node: where that has no part of it, others may be at it. */
static int wait_for(struct vel_client *client, int64_t id, struct vel_err *err)
{
    struct vel_clock *clock = vel_clock_system();
    double stall = vel_files_conf()->flush_stall;
    uint64_t until = vel_clock_deadline(clock, (uint64_t)(stall * VEL_CLOCK_S));

    for (uint64_t pause = VEL_CLOCK_S / 100;;
         pause += pause < VEL_CLOCK_S ? pause : 0) {
        struct vel_progress progress = {0};
        int rc = vel_client_drain(client, id, 0, &progress, err);

        if (!is_to_come(id))
            return 0;
        if (rc == 0 && progress.status < 0)
            rc = vel_fail(err, (enum vel_status)progress.status, "%s", progress.text);
        if (rc < 0)
            return rc;
        if (vel_clock_monotonic(clock) >= until)
            return vel_fail(err, VEL_ETIMEOUT,
                            "no other node has brought it there in %.0f s "
                            "(FLUSH_STALL)",
                            stall);
        vel_clock_sleep(clock, pause);
    }
}

/* An error with STRICT alone: what the cache has is as good. */
static int bring(struct vel_client *client, const struct vel_file_name *name,
                 int64_t id, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    vel_log(VEL_LOG_INFO, "%s waits until dataset %" PRId64 " is on the prefix",
            name->path, id);
    rc = wait_for(client, id, &why);
    if (rc < 0 && vel_files_conf()->strict)
        return vel_fail(err, (enum vel_status)rc,
                        "%s: dataset %" PRId64 " does not come to the prefix, and "
                        "STRICT is 1: %s",
                        name->path, id, why.text);
    if (rc < 0)
        vel_log(VEL_LOG_WARN,
                "dataset %" PRId64 " does not come to the prefix, and is read from the "
                "cache: %s",
                id, why.text);
    return 0;
}

/* --- what is missed --- */

static atomic_bool is_none_missed; /* as the view says, which never changes */

static int check_missed(struct vel_err *err)
{
    struct vel_seals_of seals = {.fs = vel_fs_posix(), .dir = vel_files_dir()};
    struct vel_missed_of of = {.seals = &seals, .wait = vel_files_conf()->view_wait};
    struct vel_buf caches, text;
    struct vel_view view;
    int rc = vel_files_view(&view, err);

    if (rc == VEL_ENOENT)
        return 0;
    if (rc < 0)
        return vel_wrap(err, rc, "RESTART=REQUIRE");
    vel_buf_init(&caches);
    vel_buf_init(&text);
    vel_conf_list_stores(vel_files_conf(), NULL, &caches);
    of.view = &view;
    of.caches = vel_buf_text(&caches);
    if (vel_view_tell_missed(&of, &text))
        rc = vel_fail(err, VEL_ELOST, "RESTART=REQUIRE: %s", vel_buf_text(&text));
    vel_seals_of_fini(&seals);
    vel_buf_fini(&caches);
    vel_buf_fini(&text);
    vel_view_fini(&view);
    return rc;
}

int vel_files_require(struct vel_err *err)
{
    int rc;

    if (vel_files_conf()->restart != VEL_RESTART_REQUIRE || is_none_missed)
        return 0;
    rc = check_missed(err);
    is_none_missed = rc == 0;
    return rc;
}

/* --- an open --- */

int vel_files_restart(struct vel_client *client, const struct vel_file_name *name,
                      struct vel_err *err)
{
    const struct vel_conf *conf = vel_files_conf();
    struct vel_place place = {0};
    int64_t id;
    int rc = vel_files_require(err);

    if (rc < 0)
        return rc;
    if ((!conf->flush_on_restart && !conf->global_restart) ||
        vel_client_file_look(client, VEL_LOOK_THERE, name->path, &place, NULL) < 0)
        return 0;
    id = place.dataset;
    vel_place_fini(&place);
    if (id <= 0 || was_waited_for(id) || !is_before(id))
        return 0;
    rc = bring(client, name, id, err);
    if (rc == 0)
        note_waited(id);
    return rc;
}
