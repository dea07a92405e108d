/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery of all sets of an earlier run together: what is rebuilt in one takes effect
 * only when all sets can go back to the same encoding. */
#include "config.h"

#include "red/recover.h"
#include "red/regroup.h"

static int recover_with(const struct vel_red_set *set,
                        const struct vel_encoding *encoding,
                        const struct vel_vec *found, struct vel_red_report *ret_report,
                        struct vel_err *err)
{
    struct vel_recover *r = NULL;
    int rc = 0;

    if (set->comm) {
        rc = vel_recover_begin(set, found, &r, err);
        if (rc == 0)
            rc = vel_recover_prepare(r, encoding);
    }
    rc = vel_comm_agree(set->all, rc, err);
    if (rc == 0 && r)
        rc = vel_recover_commit(r);
    rc = vel_comm_agree(set->all, rc, err);
    if (rc == 0 && !r) {
        *ret_report = (struct vel_red_report){.lost = 0};
        vel_buf_init(&ret_report->sentences);
    }
    vel_recover_end(r, rc == 0 ? ret_report : NULL);
    /* something vanished under our hands: not the same as nothing to recover */
    return rc == VEL_ENOENT ? vel_wrap(err, VEL_EIO, "rebuilding") : rc;
}

static int try_next(struct vel_regroup *regroup, struct vel_red_set *set,
                    struct vel_red_report *ret_report, struct vel_err *err)
{
    struct vel_encoding encoding;
    int rc = vel_regroup_next(regroup, set, &encoding, err);

    if (rc < 0)
        return rc;
    rc = recover_with(set, &encoding, &regroup->found, ret_report, err);
    if (rc < 0)
        vel_comm_destroy(set->comm);
    return rc;
}

int vel_red_recover_all(struct vel_red_set *set, struct vel_red_report *ret_report,
                        struct vel_err *err)
{
    struct vel_err newest = {0}, why = {0};
    struct vel_red_report report;
    struct vel_red_set full = *set;
    struct vel_regroup regroup;
    int rc = vel_regroup_open(set, &regroup, err), first = 0;

    if (rc < 0)
        return rc;
    full.id = NULL; /* whichever can be made whole */
    do {
        why = (struct vel_err){0};
        rc = try_next(&regroup, &full, &report, &why);
        if (first == 0) {
            first = rc;
            newest = why;
        }
    } while (rc == VEL_EINVAL);
    vel_regroup_close(&regroup);
    if (rc == 0) {
        *set = full;
        if (ret_report)
            *ret_report = report;
        else
            vel_red_report_fini(&report);
        return 0;
    }
    /* no older encoding is left, or none: what counts is why the newest failed */
    if (rc == VEL_ENOENT) {
        rc = first;
        why = newest;
    }
    return vel_fail(err, (enum vel_status)rc, "%s", why.text);
}
