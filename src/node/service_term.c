/* SPDX-License-Identifier: BSD-3-Clause */
/* The ledger of this launch, which its chair writes, and the ends of launches
 * (doc/protocol.txt, 4). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/terms.h"
#include "node/service_in.h"

/* --- the chair --- */

int vel_service_chair(void *arg, struct vel_leader_chair *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_leader_chair chair = {0};
    char *node = NULL;
    int rc = vel_terms_chair(service->fs, service->launch_dir, &chair.term, &node, err);

    if (rc == 0 && chair.term > 0 && !node) /* vacant, as one of ours would be */
        node = strdup(service->host.node);
    if (rc == 0 && chair.term > 0 && !node)
        rc = vel_out_of_memory(err, "a chair");
    if (rc == 0 && node && !vel_host_is_name(node))
        rc = vel_fail(err, VEL_ECORRUPT, "%s: chair %lld names no node",
                      service->launch_dir, (long long)chair.term);
    if (rc == 0 && node)
        memcpy(chair.node, node, strlen(node) + 1);
    free(node);
    if (rc == 0)
        *ret = chair;
    return rc;
}

static struct vel_terms_self self_of(const struct vel_service *service)
{
    return (struct vel_terms_self){.launch = service->launch,
                                   .node = service->host.node};
}

/* A claim whose begin fails leaves a name: not before T the next one. */
static int check_failed(const struct vel_service *service, struct vel_err *err)
{
    return vel_clock_monotonic(service->clock) < service->term_at
               ? vel_fail(err, VEL_EBUSY,
                          "the ledger of launch %s could not be written, and is tried "
                          "again",
                          service->launch)
               : 0;
}

static void note_result(struct vel_service *service, int rc)
{
    bool has_failed = rc < 0 && rc != VEL_EEXIST && rc != VEL_ECANCEL;

    service->term_at = has_failed ? vel_clock_monotonic(service->clock) +
                                        service->limit_ms * VEL_CLOCK_MS
                                  : 0;
}

/* It is held. */
static void forget_term(struct vel_service *service)
{
    struct vel_ledger **term = vel_index_term(service->index);

    vel_ledger_close(*term);
    *term = NULL;
}

int vel_service_claim_chair(void *arg, int64_t term, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_terms_self self = self_of(service);
    bool is_first = false;
    int rc = check_failed(service, err);

    if (rc < 0)
        return rc;
    rc = vel_index_hold(service->index, err);
    if (rc < 0)
        return rc;
    forget_term(service);
    rc = vel_terms_claim(service->fs, service->launch_dir, term, &self,
                         vel_index_term(service->index), &is_first, err);
    vel_index_release(service->index);
    note_result(service, rc);
    service->chair = rc == 0 ? term : 0;
    service->is_out = false;
    service->is_first_chair = rc == 0 && is_first;
    if (service->is_first_chair)
        vel_books_tell(service->books, &(struct vel_event){.kind = VEL_EVENT_RUN_START,
                                                           .ranks = service->ranks});
    return rc;
}

int vel_service_keep_term(void *arg, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_terms_self self = self_of(service);
    struct vel_ledger **own = vel_index_term(service->index), *term;
    int rc;

    if (*own && vel_ledger_is_good(*own) && !vel_ledger_is_long(*own))
        return 0;
    if (service->is_out)
        return vel_fail(err, VEL_ECANCEL, "launch %s is over, or has another chair",
                        service->launch);
    rc = check_failed(service, err);
    if (rc < 0)
        return rc;
    rc = vel_terms_go_on(service->fs, service->launch_dir, service->chair, &self, &term,
                         err);
    note_result(service, rc);
    service->is_out = rc == VEL_ECANCEL;
    if (rc < 0)
        return rc;
    forget_term(service);
    *own = term;
    return 0;
}

/* --- ends --- */

int vel_service_is_launch_over(struct vel_service *service, const char *launch,
                               bool *ret_is_over, struct vel_err *err)
{
    return vel_index_is_over(service->index, launch, ret_is_over, err);
}

/* Once. What is nowhere but in caches is not lost, when its records are. */
static void tell_over(struct vel_service *service)
{
    enum vel_launch_fate fate = VEL_LAUNCH_GONE;

    if (service->has_told_over)
        return;
    service->has_told_over = true;
    vel_launch_fate(service->fs, service->dir, service->launch, &fate, NULL);
    if (vel_leader_is_done(service->leader))
        vel_log(VEL_LOG_DEBUG, "launch %s is over", service->launch);
    else if (fate == VEL_LAUNCH_ENDED)
        vel_log(VEL_LOG_WARN,
                "launch %s was ended by another: what it has sealed is flushed by that "
                "one",
                service->launch);
    else
        vel_log(VEL_LOG_ERROR,
                "somebody has removed %s while the program runs: what is not at its "
                "own path yet stays in %s, and all else is written where it belongs",
                service->launch_dir, service->homes[0]);
}

/* Is our term the newest? Then the launch is not over. */
static int look(struct vel_service *service, struct vel_err *err)
{
    struct vel_ledger *term;
    int rc = vel_index_hold(service->index, err);

    if (rc < 0)
        return rc;
    term = *vel_index_term(service->index);
    rc = term && vel_ledger_is_good(term) ? vel_ledger_look(term, err) : VEL_ECANCEL;
    vel_index_release(service->index);
    return rc;
}

static void keep_term(struct vel_service *service)
{
    if (vel_index_hold(service->index, NULL) < 0)
        return;
    vel_service_keep_term(service, NULL);
    vel_index_release(service->index);
}

int vel_service_is_ended(void *arg, bool *ret_is_ended, struct vel_err *err)
{
    struct vel_service *service = arg;
    int rc = look(service, err);

    *ret_is_ended = false;
    if (rc == 0) {
        if (vel_leader_is_chair(service->leader))
            keep_term(service); /* one that is long is begun anew */
        return 0;
    }
    /* there is a newer term, which may be the last one; or no room to look by a name */
    rc = vel_service_is_launch_over(service, service->launch, ret_is_ended, err);
    if (rc == 0 && *ret_is_ended)
        tell_over(service);
    else if (rc == 0 && vel_leader_is_chair(service->leader))
        keep_term(service);
    return rc;
}

/* As soon as it is over a view that needs nothing of it removes it. */
static int end(struct vel_service *service, const char *launch, struct vel_ledger *own,
               bool *ret_is_mine, struct vel_err *err)
{
    const struct vel_terms_self self = self_of(service);
    char *dir = vel_launch_dir(service->dir, launch);
    struct vel_err why = {0};
    struct stat st;
    int rc = dir ? vel_terms_end(service->fs, dir, &self, own, ret_is_mine, &why)
                 : vel_out_of_memory(&why, "the end of a launch");

    /* what cannot be known is not taken for absent: a dataset would be forgotten */
    if (rc < 0 && dir && vel_fs_lstat(service->fs, dir, &st, NULL) == VEL_ENOENT)
        rc = 0;
    free(dir);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

int vel_service_end_other(void *arg, const char *launch, struct vel_err *err)
{
    bool is_mine;

    return end(arg, launch, NULL, &is_mine, err);
}

int vel_service_end(void *arg, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_event event = {.kind = VEL_EVENT_RUN_END, .ranks = service->ranks};
    bool is_well = vel_leader_has_ended_well(service->leader);
    bool is_mine = false;
    int rc;

    vel_service_tell_unused(service);
    rc = vel_index_hold(service->index, err);
    if (rc == 0) {
        rc = end(service, service->launch, *vel_index_term(service->index), &is_mine,
                 err);
        forget_term(service); /* it may say so, whatever the answer was */
        vel_index_release(service->index);
    }
    event.nodes = vel_leader_nodes(service->leader);
    event.text = is_well ? "all processes have ended in good order" : NULL;
    if (rc == 0 &&
        is_mine) /* else another launch has, which took this one for killed */
        vel_books_tell(service->books, &event);
    return rc;
}
