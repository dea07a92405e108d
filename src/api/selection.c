/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "api/selection.h"

static int compare_ids(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static int check_arguments(int mode, const int *ids, int n, struct vel_err *err)
{
    if (mode != VEL_SELECT_ALL && mode != VEL_SELECT_SOME && mode != VEL_SELECT_REST)
        return vel_fail(err, VEL_EINVAL,
                        "there is no selection %d: use ALL (0), SOME (1) or REST (2)",
                        mode);
    if (mode == VEL_SELECT_ALL)
        return 0;
    if (n < 0)
        return vel_fail(err, VEL_EINVAL, "a selection of %d ids", n);
    if (n > 0 && !ids)
        return vel_fail(err, VEL_EINVAL, "a selection of %d ids, which are NULL", n);
    return 0;
}

static int add_ids(struct vel_vec *to, const int *ids, int n, struct vel_err *err)
{
    for (int i = 0; i < n; i++)
        if (!vel_vec_push(to, &ids[i]))
            return vel_out_of_memory(err, "a selection of regions");
    vel_vec_sort(to, compare_ids);
    for (size_t i = 1; i < to->n; i++) {
        const int *id = vel_vec_at(to, i);

        if (id[-1] == id[0])
            return vel_fail(err, VEL_EINVAL, "the selection has region %d twice", *id);
    }
    return 0;
}

int vel_selection_init(struct vel_selection *selection, int mode, const int *ids, int n,
                       struct vel_err *err)
{
    struct vel_selection made = {.mode = (enum vel_select)mode};
    int rc = check_arguments(mode, ids, n, err);

    if (rc < 0)
        return rc;
    vel_vec_init(&made.ids, sizeof *ids);
    rc = mode == VEL_SELECT_ALL ? 0 : add_ids(&made.ids, ids, n, err);
    if (rc < 0)
        vel_selection_fini(&made);
    else
        *selection = made;
    return rc;
}

void vel_selection_fini(struct vel_selection *selection)
{
    vel_vec_fini(&selection->ids);
}

bool vel_selection_takes(const struct vel_selection *selection, int id)
{
    if (selection->mode == VEL_SELECT_ALL)
        return true;
    bool is_listed;
    vel_vec_place(&selection->ids, &id, compare_ids, &is_listed);
    return is_listed == (selection->mode == VEL_SELECT_SOME);
}
