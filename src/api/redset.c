/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a set that was made (redset_make.c): its list, its protection, its end.
 */
#include "config.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "api/redset.h"
#include "base/log.h"
#include "base/path.h"

static const char no_set[] =
    "there is no set: VELOC_Redset_create or VELOC_Redset_recover has to make one, and "
    "does so unless memory is short";

/* --- how calls begin and end
 * ----------------------------------------------------------------- */

int vel_redset_check_mpi(struct vel_err *err)
{
    int is_there = 0, is_over = 0;

    MPI_Initialized(&is_there);
    MPI_Finalized(&is_over);
    if (!is_there)
        return vel_fail(err, VEL_ESTATE, "MPI is not initialised: call MPI_Init first");
    if (is_over)
        return vel_fail(err, VEL_ESTATE,
                        "MPI is finalised: call this before MPI_Finalize");
    return 0;
}

int vel_redset_return(VELOC_Redset rs, const char *call, bool is_collective, int rc,
                      const struct vel_err *err)
{
    const struct vel_comm *all = rs ? rs->set.all : NULL;

    if (rc == 0)
        return VELOC_SUCCESS;
    if (rs && err != &rs->err)
        rs->err = *err;
    if (!is_collective || !all || all->rank == 0)
        vel_log(VEL_LOG_ERROR, "%s: %s", call, err->text);
    return VELOC_FAILURE;
}

/* Can this call do anything with rs? Not collective: a set is of no use on all ranks or
 * on none. */
static int enter(VELOC_Redset rs, bool needs_mpi, struct vel_err *err)
{
    if (!rs)
        return vel_fail(err, VEL_EINVAL, "%s", no_set);
    if (!rs->is_whole)
        return vel_fail(err, VEL_ESTATE, "%s", rs->err.text);
    return needs_mpi ? vel_redset_check_mpi(err) : 0;
}

int vel_redset_push(struct vel_vec *names, char *name, struct vel_err *err)
{
    if (name && vel_vec_push(names, &name))
        return 0;
    free(name);
    return vel_out_of_memory(err, "a list of files");
}

static int give_names(const struct vel_vec *names, int *n, const char *const **ret,
                      struct vel_err *err)
{
    if (names->n > INT_MAX)
        return vel_fail(err, VEL_EINVAL, "%zu names are more than an int can count",
                        names->n);
    *n = (int)names->n;
    *ret = names->items;
    return 0;
}

/* --- the list
 * -------------------------------------------------------------------------------- */

int VELOC_Redset_add(VELOC_Redset rs, const char *file)
{
    struct vel_err err = {0};
    int rc = enter(rs, false, &err);

    if (rc == 0 && (!file || !file[0]))
        rc = vel_fail(&err, VEL_EINVAL, "a file has no name");
    if (rc == 0) {
        char *absolute = vel_path_absolute(rs->set.dir, file);
        const char *below = absolute ? vel_path_below(rs->set.dir, absolute) : NULL;

        /* what lies elsewhere is refused on all ranks when the list is applied */
        rc = absolute
                 ? vel_redset_push(&rs->files,
                                   strdup(below && below[0] ? below : absolute), &err)
                 : vel_out_of_memory(&err, file);
        free(absolute);
    }
    return vel_redset_return(rs, __func__, false, rc, &err);
}

int VELOC_Redset_clear(VELOC_Redset rs)
{
    struct vel_err err = {0};
    int rc = enter(rs, false, &err);

    if (rc == 0) {
        vel_fs_names_fini(&rs->files);
        vel_vec_init(&rs->files, sizeof(char *));
    }
    return vel_redset_return(rs, __func__, false, rc, &err);
}

int VELOC_Redset_files(VELOC_Redset rs, int *n, const char *const **names)
{
    struct vel_err err = {0};
    int rc = enter(rs, false, &err);

    if (rc == 0 && (!n || !names))
        rc = vel_fail(&err, VEL_EINVAL,
                      "there is no place for the names: n or names is "
                      "NULL");
    if (rc == 0)
        rc = give_names(&rs->files, n, names, &err);
    return vel_redset_return(rs, __func__, false, rc, &err);
}

int VELOC_Redset_protected(VELOC_Redset rs, int *n, const char *const **names)
{
    struct vel_err err = {0};
    struct vel_vec on_disk;
    int rc = enter(rs, false, &err);

    if (rc == 0 && (!n || !names))
        rc = vel_fail(&err, VEL_EINVAL,
                      "there is no place for the names: n or names is "
                      "NULL");
    if (rc == 0)
        rc = vel_red_list(&rs->set, &on_disk, &err);
    if (rc == 0) {
        vel_fs_names_fini(&rs->on_disk);
        rs->on_disk = on_disk;
        rc = give_names(&rs->on_disk, n, names, &err);
    }
    return vel_redset_return(rs, __func__, false, rc, &err);
}

int VELOC_Redset_place(VELOC_Redset rs, int *set, int *sets, int *member, int *members)
{
    struct vel_err err = {0};
    int rc = enter(rs, false, &err);

    if (rc == 0 && !rs->set.comm)
        rc = vel_fail(&err, VEL_ENOENT,
                      "rank %d was in no set of the run that protected the files",
                      rs->set.all->rank);
    if (rc == 0) {
        if (set)
            *set = (int)rs->set.set;
        if (sets)
            *sets = (int)rs->set.sets;
        if (member)
            *member = rs->set.comm->rank;
        if (members)
            *members = rs->set.comm->size;
    }
    return vel_redset_return(rs, __func__, false, rc, &err);
}

/* --- the protection
 * -------------------------------------------------------------------------- */

/* What this rank can know of its list before all begin. */
static int check_list(const struct vel_red_set *set, const struct vel_vec *files,
                      struct vel_err *err)
{
    if (!set->comm)
        return vel_fail(
            err, VEL_ESTATE,
            "this rank was in no set of the run whose files were recovered: "
            "make a new set with VELOC_Redset_create");
    for (size_t i = 0; i < files->n; i++) {
        const char *name = ((char **)files->items)[i];

        if (!vel_path_is_inner(name))
            return vel_fail(err, VEL_EINVAL,
                            "%s: not in the directory of the set, %s: only files in it "
                            "can be protected",
                            name, set->dir);
    }
    return vel_fs_make_dirs(set->fs, set->dir, 0700, err);
}

int VELOC_Redset_apply(VELOC_Redset rs)
{
    struct vel_err err = {0};
    int rc = enter(rs, true, &err);

    if (rc < 0)
        return vel_redset_return(rs, __func__, false, rc, &err);
    rc = vel_comm_agree(rs->set.all, check_list(&rs->set, &rs->files, &err), &err);
    if (rc == 0)
        rc = vel_red_apply(&rs->set, rs->files.items, rs->files.n, NULL, 0, NULL, &err);
    return vel_redset_return(rs, __func__, true, rc, &err);
}

int VELOC_Redset_unapply(VELOC_Redset rs)
{
    struct vel_err err = {0};
    int rc = enter(rs, true, &err);

    if (rc < 0)
        return vel_redset_return(rs, __func__, false, rc, &err);
    if (rs->set.comm)
        rc = vel_red_unapply(&rs->set, &err);
    rc = vel_comm_agree(rs->set.all, rc, &err);
    return vel_redset_return(rs, __func__, true, rc, &err);
}

/* --- what it tells, and its end
 * -------------------------------------------------------------- */

const char *VELOC_Redset_error(VELOC_Redset rs)
{
    return rs ? rs->err.text : no_set;
}

const char *VELOC_Redset_report(VELOC_Redset rs)
{
    return rs ? vel_buf_text(&rs->report) : "";
}

int VELOC_Redset_delete(VELOC_Redset *rs)
{
    struct vel_err err = {0};

    if (!rs) {
        vel_fail(&err, VEL_EINVAL, "the set to delete is NULL");
        return vel_redset_return(NULL, __func__, false, err.status, &err);
    }
    if (!*rs)
        return VELOC_SUCCESS;
    vel_comm_destroy((*rs)->set.comm);
    vel_comm_destroy((*rs)->set.all);
    free((char *)(*rs)->set.dir);
    free((char *)(*rs)->set.label);
    vel_fs_names_fini(&(*rs)->files);
    vel_fs_names_fini(&(*rs)->on_disk);
    vel_buf_fini(&(*rs)->report);
    free(*rs);
    *rs = NULL;
    return VELOC_SUCCESS;
}
