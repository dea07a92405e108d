/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leader says of the dataset that a file belongs to. */
#include "config.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "brain/dataset_state.h"
#include "jobs/stub.h"
#include "process/files_ask.h"
#include "process/files_in.h"

enum { PAUSE_LEAST_MS = 1, PAUSE_MOST_MS = 100 };

void vel_file_standing_fini(struct vel_file_standing *standing)
{
    free(standing->why);
    *standing = (struct vel_file_standing){0};
}

/* --- how safe is it? --- */

static int check_stub(const char *path, struct vel_err *err)
{
    struct vel_stub stub;

    if (vel_stub_read(vel_fs_posix(), path, &stub, NULL) < 0)
        return 0;
    return vel_fail(err, VEL_ESTATE,
                    "%s is in the caches of launch %s, and nobody here can tell of it: "
                    "is h5veloc switched off?",
                    path, stub.launch);
}

int vel_files_check_own(const char *name, struct vel_err *err)
{
    char *path = vel_files_real_path(name);
    int rc = path ? check_stub(path, err) : 0;

    free(path);
    return rc;
}

/* Nobody keeps it anywhere else. */
static int judge_own(const char *path, struct vel_file_standing *ret,
                     struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(vel_fs_posix(), path, &st, err);

    if (rc == VEL_ENOENT)
        return 0;
    if (rc == 0)
        rc = check_stub(path, err);
    if (rc == 0)
        ret->safety = VEL_SAFETY_FLUSHED;
    return rc;
}

static bool has_parity(const struct vel_view_dataset *dataset)
{
    for (size_t i = 0; i < dataset->sets.n; i++)
        if (((struct vel_view_set *)vel_vec_at(&dataset->sets, i))->m == 0)
            return false;
    return dataset->sets.n > 0;
}

/* The leader has nothing to do with it: it was left by others. */
static int judge_left(struct vel_file_standing *ret, struct vel_err *err)
{
    const struct vel_view_dataset *dataset;
    struct vel_view view;
    int rc = vel_files_view(&view, err);

    if (rc < 0)
        return rc;
    dataset = vel_view_find_dataset(&view, ret->dataset);
    ret->safety = !dataset                ? VEL_SAFETY_INCOMPLETE
                  : dataset->is_published ? VEL_SAFETY_FLUSHED
                  : has_parity(dataset)   ? VEL_SAFETY_PROTECTED
                                          : VEL_SAFETY_COMPLETE;
    vel_view_fini(&view);
    return 0;
}

static enum vel_file_safety safety_of(const struct vel_progress *progress)
{
    static const enum vel_file_safety safeties[VEL_DATASET_STATES] = {
        [VEL_DATASET_NONE] = VEL_SAFETY_INCOMPLETE,
        [VEL_DATASET_ANNOUNCED] = VEL_SAFETY_INCOMPLETE,
        [VEL_DATASET_SEALED] = VEL_SAFETY_COMPLETE,
        [VEL_DATASET_ENCODED] = VEL_SAFETY_PROTECTED,
        [VEL_DATASET_FLUSHING] = VEL_SAFETY_COMPLETE,
        [VEL_DATASET_FLUSHED] = VEL_SAFETY_FLUSHED,
        [VEL_DATASET_SUPERSEDED] = VEL_SAFETY_INCOMPLETE, /* its successor is */
        [VEL_DATASET_LOST] = VEL_SAFETY_LOST,
    };

    /* it may be flushed because it could not be protected */
    if (progress->state == VEL_DATASET_FLUSHING && progress->is_encoded)
        return VEL_SAFETY_PROTECTED;
    return progress->state < VEL_DATASET_STATES ? safeties[progress->state]
                                                : VEL_SAFETY_INCOMPLETE;
}

static int judge_dataset(struct vel_client *client, struct vel_file_standing *ret,
                         struct vel_err *err)
{
    struct vel_progress progress;
    int rc;

    ret->safety = VEL_SAFETY_INCOMPLETE;
    if (ret->dataset == 0)
        return 0;
    rc = vel_client_ask(client, ret->dataset, &progress, err);
    if (rc < 0)
        return rc;
    if (progress.state == VEL_DATASET_NONE)
        return judge_left(ret, err);
    ret->safety = safety_of(&progress);
    ret->left = progress.left;
    if (!*progress.text)
        return 0;
    ret->why = strdup(progress.text);
    return ret->why ? 0 : vel_out_of_memory(err, "a dataset");
}

static int judge_place(struct vel_client *client, const struct vel_file_name *name,
                       struct vel_place *place, struct vel_file_standing *ret,
                       struct vel_err *err)
{
    ret->dataset = place->dataset;
    if (place->where == 1 || place->where == 4)
        return judge_dataset(client, ret, err);
    if (place->where != 3)
        return judge_own(name->path, ret, err);
    ret->safety = VEL_SAFETY_LOST;
    ret->why = place->why;
    place->why = NULL;
    return 0;
}

static int judge(const struct vel_files_of *of, const char *text,
                 struct vel_file_standing *ret, struct vel_err *err)
{
    struct vel_file_name name = {0};
    struct vel_place place = {0};
    struct vel_client *client = vel_files_here(of, VEL_FILES_LOOKS);
    int rc;

    if (!client || !vel_files_resolve(text, false, &name))
        return judge_own(text, ret, err);
    rc = vel_client_file_look(client, VEL_LOOK_THERE, name.path, &place, err);
    if (rc == 0)
        rc = judge_place(client, &name, &place, ret, err);
    vel_place_fini(&place);
    vel_file_name_fini(&name);
    return rc;
}

int vel_files_await(const struct vel_files_of *of, const char *name,
                    enum vel_file_safety wanted, double seconds,
                    struct vel_file_standing *ret, struct vel_err *err)
{
    struct vel_clock *clock = vel_clock_system();
    bool is_endless = seconds >= (double)UINT32_MAX;
    uint64_t pause = PAUSE_LEAST_MS;
    uint64_t until = vel_clock_deadline(
        clock, is_endless ? UINT64_MAX : (uint64_t)(seconds * (double)VEL_CLOCK_S));

    for (;;) {
        struct vel_file_standing now = {0};
        int rc = judge(of, name, &now, err);

        if (rc < 0) {
            vel_file_standing_fini(&now);
            return rc;
        }
        if (now.safety >= wanted || now.safety == VEL_SAFETY_LOST ||
            vel_clock_monotonic(clock) >= until) {
            *ret = now;
            return 0;
        }
        vel_file_standing_fini(&now);
        vel_clock_sleep(clock, pause * VEL_CLOCK_MS);
        pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
    }
}

/* --- a close waits for its dataset --- */

/* What a newer one has replaced, or a person dropped, needs no protection. */
static bool is_encoded(const struct vel_progress *progress)
{
    return progress->is_encoded || (progress->state >= VEL_DATASET_ENCODED &&
                                    progress->state != VEL_DATASET_FLUSHING);
}

/* A leader that has come meanwhile may have nothing to do for it yet: within T it has
 * heard of it again. */
static int drain(struct vel_client *client, int64_t dataset, struct vel_progress *ret,
                 struct vel_err *err)
{
    struct vel_clock *clock = vel_clock_system();
    double limit = vel_files_conf()->peer_timeout;
    uint64_t until = vel_clock_deadline(clock, (uint64_t)(limit * (double)VEL_CLOCK_S));
    int rc = vel_client_drain(client, dataset, 0, ret, err);

    while (rc == 0 && ret->left == 0 && !is_encoded(ret) &&
           vel_clock_monotonic(clock) < until) {
        vel_clock_sleep(clock, PAUSE_MOST_MS * VEL_CLOCK_MS);
        rc = vel_client_drain(client, dataset, 0, ret, err);
    }
    return rc;
}

static void warn_of_flush(const char *path, const struct vel_progress *progress)
{
    static atomic_bool is_told;

    vel_log(atomic_exchange(&is_told, true) ? VEL_LOG_INFO : VEL_LOG_WARN,
            "%s: dataset %" PRId64 " is protected, but not flushed: %s", path,
            progress->dataset, progress->text);
}

int vel_files_wait_for(struct vel_client *client, const char *path, int64_t dataset,
                       struct vel_err *err)
{
    struct vel_progress progress = {0};
    int rc;

    if (dataset == 0)
        return 0;
    if (dataset == VEL_MSG_ANY_NUMBER)
        return vel_fail(err, VEL_ETIMEOUT,
                        "%s is complete in the cache, and not protected: its dataset "
                        "is not sealed, and nothing has moved for FLUSH_STALL; what "
                        "is owed stays on record",
                        path);
    rc = drain(client, dataset, &progress, err);
    if (rc == 0 && !is_encoded(&progress))
        rc = vel_fail(err,
                      progress.status < 0 ? (enum vel_status)progress.status : VEL_EIO,
                      "%s", *progress.text ? progress.text : "it is not known why");
    if (rc < 0)
        return vel_wrap(err, rc,
                        "%s is complete in the cache, and not protected: dataset "
                        "%" PRId64 " is not encoded",
                        path, dataset);
    if (progress.left > 0)
        warn_of_flush(path, &progress);
    return 0;
}
