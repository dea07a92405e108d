/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of ledgers in a directory, and the number of a launch. */
#include "config.h"

#include <inttypes.h>

#include "ledger/ledger_in.h"

/* The number at *at, which moves behind it: as it is written, with nothing before it;
 * -1: none. */
static int64_t get_number(const char **at)
{
    int64_t number = 0;
    const char *from = *at;

    for (; **at >= '0' && **at <= '9' && number <= (INT64_MAX - 9) / 10; (*at)++)
        number = number * 10 + (**at - '0');
    return *at == from || (*from == '0' && *at > from + 1) ? -1 : number;
}

static bool get_name(const char *name, struct vel_ledger_name *ret)
{
    ret->launch = get_number(&name);
    if (ret->launch < 1 || *name++ != '.')
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
    int rc = vel_fs_list(dir->fs, dir->path, &names, err);

    vel_vec_init(ret, sizeof(struct vel_ledger_name));
    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
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

int64_t vel_ledger_highest(const struct vel_vec *list, int64_t launch)
{
    int64_t highest = -1;

    for (size_t i = 0; i < list->n; i++) {
        const struct vel_ledger_name *name = vel_vec_at(list, i);

        if (name->launch == launch)
            highest = name->term;
    }
    return highest;
}

static int highest_launch(const struct vel_ledger_dir *dir, int64_t *ret,
                          struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    *ret =
        list.n ? ((struct vel_ledger_name *)vel_vec_at(&list, list.n - 1))->launch : 0;
    vel_vec_fini(&list);
    return 0;
}

/* A number that is not the highest any more once it is claimed may have been used
 * before: its name is left as it is. */
int vel_ledger_number(const struct vel_ledger_dir *dir,
                      const struct vel_ledger_self *self, struct vel_ledger **ret,
                      struct vel_err *err)
{
    for (;;) {
        struct vel_ledger *ledger = NULL;
        struct vel_ledger_name name = {0};
        int64_t highest;
        int rc = highest_launch(dir, &name.launch, err);

        name.launch++;
        if (rc == 0)
            rc = vel_ledger_claim(dir, name, self, &ledger, err);
        if (rc == 0)
            rc = highest_launch(dir, &highest, err);
        if (rc == 0 && highest == name.launch) {
            *ret = ledger;
            return 0;
        }
        vel_ledger_close(ledger);
        if (rc < 0 && rc != VEL_EEXIST)
            return rc;
    }
}

int vel_ledger_next(const struct vel_ledger_dir *dir, int64_t launch,
                    const struct vel_ledger_self *self, struct vel_ledger **ret,
                    struct vel_err *err)
{
    struct vel_ledger_name name = {.launch = launch};
    struct vel_ledger_text text = {0};
    struct vel_vec list;
    int rc = vel_ledger_list(dir, &list, err);

    if (rc < 0)
        return rc;
    name.term = vel_ledger_highest(&list, launch);
    vel_vec_fini(&list);
    if (name.term >= 0)
        rc = vel_ledger_load(dir, name, &text, err);
    bool is_over = name.term < 0 || text.heir > 0;
    vel_ledger_text_fini(&text);
    if (rc == VEL_ENOENT || (rc == 0 && is_over))
        return vel_fail(err, VEL_ECANCEL, "launch %" PRId64 " in %s is over", launch,
                        dir->path);
    name.term++;
    return rc == 0 ? vel_ledger_claim(dir, name, self, ret, err) : rc;
}
