/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of ledgers in a directory, and the number of a launch. */
#include "config.h"

#include <inttypes.h>

#include "ledger/ledger_in.h"

enum { ROUNDS = 1000 };

static const int64_t LAUNCHES = INT32_MAX; /* an id has 32 bits for the number */

/* The number at *at, which moves behind it: as it is written, with nothing before it;
 * -1: none. */
static int64_t get_number(const char **at)
{
    int64_t number = 0;
    const char *from = *at;

    for (; **at >= '0' && **at <= '9' && number < (int64_t)1 << 58; (*at)++)
        number = number * 10 + (**at - '0');
    return *at == from || (*from == '0' && *at > from + 1) ? -1 : number;
}

static bool get_name(const char *name, struct vel_ledger_name *ret)
{
    ret->launch = get_number(&name);
    if (ret->launch < 1 || ret->launch > LAUNCHES || *name++ != '.')
        return false;
    ret->term = get_number(&name);
    return ret->term >= 0 && *name == '\0';
}

static int compare_names(const void *a, const void *b)
{
    const struct vel_ledger_name *x = a, *y = b;
    int by_launch = (x->launch > y->launch) - (x->launch < y->launch);

    return by_launch ? by_launch : (x->term > y->term) - (x->term < y->term);
}

int vel_ledger_list(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_ledger_see_anew(dir, NULL); /* who may only read has no better list */
    rc = vel_fs_list(dir->fs, dir->path, &names, err);
    if (rc == VEL_ENOENT) /* one moment it may not be seen; nothing follows from that */
        return vel_fail(err, VEL_EIO, "the directory %s is not there", dir->path);
    if (rc < 0)
        return rc;
    vel_vec_init(ret, sizeof(struct vel_ledger_name));
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        struct vel_ledger_name name;

        if (get_name(*(char **)vel_vec_at(&names, i), &name) &&
            !vel_vec_push(ret, &name))
            rc = vel_out_of_memory(err, "ledgers");
    }
    vel_fs_names_fini(&names);
    vel_vec_sort(ret, compare_names);
    if (rc < 0)
        vel_vec_fini(ret);
    return rc;
}

int vel_ledger_again(const struct vel_ledger_dir *dir, int *round, struct vel_err *err)
{
    return ++*round < ROUNDS
               ? 0
               : vel_fail(err, VEL_EBUSY,
                          "the ledgers in %s change all the time, or some were removed",
                          dir->path);
}

void vel_ledger_chain(const struct vel_vec *list, int64_t launch, size_t *ret_first,
                      size_t *ret_behind)
{
    const struct vel_ledger_name first = {launch, 0}, behind = {launch + 1, 0};
    bool is_there;

    *ret_first = vel_vec_place(list, &first, compare_names, &is_there);
    *ret_behind = vel_vec_place(list, &behind, compare_names, &is_there);
}

int64_t vel_ledger_highest(const struct vel_vec *list, int64_t launch)
{
    size_t first, behind;

    vel_ledger_chain(list, launch, &first, &behind);
    return first == behind
               ? -1
               : ((struct vel_ledger_name *)vel_vec_at(list, behind - 1))->term;
}

/* The highest launch, and the highest term of one. */
static int look_around(const struct vel_ledger_dir *dir, int64_t launch,
                       int64_t *ret_launch, int64_t *ret_term, struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    *ret_launch =
        list.n ? ((struct vel_ledger_name *)vel_vec_at(&list, list.n - 1))->launch : 0;
    *ret_term = vel_ledger_highest(&list, launch);
    vel_vec_fini(&list);
    return 0;
}

/* A number that is not the highest any more once it is claimed may have been used
 * before: its name is left as it is. */
static int claim_number(const struct vel_ledger_dir *dir, int64_t launch,
                        const struct vel_ledger_self *self, struct vel_ledger **ret,
                        struct vel_err *err)
{
    struct vel_ledger *ledger = NULL;
    int64_t highest, term;
    int rc;

    if (launch > LAUNCHES)
        return vel_fail(err, VEL_EUNSUP,
                        "%s has had %" PRId64 " launches: use another "
                        "prefix",
                        dir->path, launch);
    rc = vel_ledger_claim(dir, (struct vel_ledger_name){launch, 0}, self, &ledger, err);
    if (rc == 0)
        rc = look_around(dir, launch, &highest, &term, err);
    if (rc == 0 && highest > launch)
        rc = VEL_EEXIST;
    if (rc == 0)
        *ret = ledger;
    else
        vel_ledger_close(ledger);
    return rc;
}

int vel_ledger_number(const struct vel_ledger_dir *dir,
                      const struct vel_ledger_self *self, struct vel_ledger **ret,
                      struct vel_err *err)
{
    int rc = VEL_EEXIST, round = 0;

    while (rc == VEL_EEXIST) {
        int64_t highest, term;

        rc = look_around(dir, 1, &highest, &term, err);
        if (rc == 0)
            rc = claim_number(dir, highest + 1, self, ret, err);
        if (rc == VEL_EEXIST && vel_ledger_again(dir, &round, err) < 0)
            rc = VEL_EBUSY;
    }
    return rc;
}

/* VEL_ENOENT: what was the highest is gone. */
static int claim_next(const struct vel_ledger_dir *dir, int64_t launch,
                      const struct vel_ledger_self *self, struct vel_ledger **ret,
                      struct vel_err *err)
{
    struct vel_ledger_name name = {.launch = launch};
    int64_t highest, heir = 0;
    int rc = look_around(dir, launch, &highest, &name.term, err);

    if (rc == 0 && name.term >= 0)
        rc = vel_ledger_heir(dir, name, &heir, err);
    if (rc == 0 && (name.term < 0 || heir > 0))
        return vel_fail(err, VEL_ECANCEL, "launch %" PRId64 " in %s is over", launch,
                        dir->path);
    name.term++;
    return rc == 0 ? vel_ledger_claim(dir, name, self, ret, err) : rc;
}

int vel_ledger_next(const struct vel_ledger_dir *dir, int64_t launch,
                    const struct vel_ledger_self *self, struct vel_ledger **ret,
                    struct vel_err *err)
{
    int rc, round = 0;

    do
        rc = claim_next(dir, launch, self, ret, err);
    while (rc == VEL_ENOENT && vel_ledger_again(dir, &round, err) == 0);
    return rc;
}
