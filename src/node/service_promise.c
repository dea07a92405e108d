/* SPDX-License-Identifier: BSD-3-Clause */
/* What this node has promised to do for its parts, and what it could not do. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/promise.h"
#include "node/service_in.h"

/* What is promised here; nothing: no promise. */
static int find_promise(const struct vel_service *service, const char *home,
                        struct vel_promise *ret)
{
    struct vel_batches *ledger = home ? vel_service_batches(service, home) : NULL;

    return ledger ? vel_promise_find(ledger, home, ret, NULL) : VEL_ENOENT;
}

/* What is promised for a rank's part. */
static unsigned owed_of(const struct vel_service *service, const char *home,
                        int64_t rank)
{
    struct vel_promise promise;
    unsigned what = 0;

    if (find_promise(service, home, &promise) == 0) {
        what = vel_promise_for(&promise, rank);
        vel_promise_fini(&promise);
    }
    return what;
}

/* A part that is lost needs nothing here. */
static bool has_part(struct vel_service *service, const char *home,
                     const struct vel_msg_owe *owe)
{
    char *dir = home ? vel_batch_numbered(home, "rank", (int64_t)owe->rank) : NULL;
    bool has = dir && vel_fs_exists(service->fs, dir);

    free(dir);
    return has;
}

static int replace_promise(struct vel_service *service, const struct vel_msg_owe *owe,
                           const char *home, unsigned before, struct vel_err *err)
{
    struct vel_batches *ledger = home ? vel_service_batches(service, home) : NULL;
    unsigned what = (unsigned)owe->what;
    int rc = 0;

    if (ledger && what && has_part(service, home, owe))
        rc = vel_promise_owe(ledger, home, service->launch, (int64_t)owe->rank, what,
                             err);
    if (rc == 0 && ledger && before & ~what)
        rc = vel_promise_keep(ledger, home, (int64_t)owe->rank, before & ~what, err);
    return rc;
}

unsigned vel_service_promised(struct vel_service *service, int64_t id)
{
    char *home = vel_service_home_of(service, id);
    struct vel_promise promise;
    unsigned what = 0;

    if (find_promise(service, home, &promise) == 0) {
        what = vel_promise_what(&promise);
        vel_promise_fini(&promise);
    }
    free(home);
    return what;
}

int vel_service_owe(void *arg, const struct vel_msg_owe *owe, unsigned *ret_before,
                    struct vel_err *err)
{
    struct vel_service *service = arg;
    bool is_told = strcmp(owe->dir, ".") != 0;
    char *home;
    int rc = 0;

    if (is_told && !vel_service_is_ours(service, owe->dir))
        return vel_fail(err, VEL_EINVAL, "%s is in no cache of this prefix", owe->dir);
    home = is_told ? vel_path_dir(owe->dir)
                   : vel_service_home_of(service, (int64_t)owe->dataset);
    *ret_before = owed_of(service, home, (int64_t)owe->rank);
    if (owe->what <= (VEL_OWED_ENCODE | VEL_OWED_FLUSH))
        rc = replace_promise(service, owe, home, *ret_before, err);
    free(home);
    return rc;
}

int vel_service_forget(void *arg, int64_t id, unsigned what, struct vel_err *err)
{
    struct vel_service *service = arg;
    char *home = vel_service_home_of(service, id);
    int rc =
        home ? vel_promise_keep(vel_service_batches(service, home), home, -1, what, err)
             : 0; /* its parts are gone, and it with them */

    if (rc == 0 && home && what & VEL_OWED_FLUSH) /* nothing is to be published */
        vel_placeholders_forget(service->placeholders, home, -1);
    if (rc == 0 && home && what & VEL_OWED_FLUSH)
        vel_service_evict_older(service, id);
    free(home);
    return rc;
}

/* Worth a warning when something stays undone for it: then there is a promise, which
 * says so until it is kept. What nobody owes here another does, or nobody needs. */
void vel_service_failed(void *arg, int64_t id, const struct vel_err *why)
{
    struct vel_service *service = arg;
    char *home = vel_service_home_of(service, id);
    struct vel_err err = {0};
    bool is_new = false;
    int rc = home ? vel_promise_failed(vel_service_batches(service, home), home, why,
                                       &is_new, &err)
                  : VEL_ENOENT;

    if (rc < 0 && rc != VEL_ENOENT)
        vel_log(VEL_LOG_DEBUG, "a failure is not recorded: %s", err.text);
    vel_log(is_new || (rc < 0 && rc != VEL_ENOENT) ? VEL_LOG_WARN : VEL_LOG_DEBUG,
            why->status == VEL_ECORRUPT
                ? "dataset %lld is damaged in the cache, and what stands at its paths "
                  "stays: %s"
                : "dataset %lld is not finished in the background yet: %s",
            (long long)id, why->text);
    free(home);
}
