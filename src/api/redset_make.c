/* SPDX-License-Identifier: BSD-3-Clause */
/* How a set is made: from ranks and their failure groups, or from the files of an
 * earlier run. Both are collective, so whatever is wrong on one rank is told on all. */
#include "config.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "api/redset.h"
#include "base/crc.h"
#include "base/library.h"
#include "base/path.h"
#include "comm/mpi.h"
#include "red/exec.h"
#include "red/header.h"
#include "sys/host.h"
#include "topo/split.h"

enum {
    SET_SIZE = 8,
    HOP_DISTANCE = 1,
    HOP_MOST = 65536,
};
static const size_t memory_most = (size_t)1 << (sizeof(size_t) > 4 ? 40 : 30);
static const char default_label[] = "redset";
static const VELOC_Redset_options defaults = VELOC_REDSET_OPTIONS;

/* --- options
 * --------------------------------------------------------------------------------- */

static int check_range(const char *name, long long value, long long least,
                       long long most, struct vel_err *err)
{
    if (value == 0 || (value >= least && value <= most))
        return 0;
    return vel_fail(err, VEL_EINVAL, "%s is %lld: it goes from %lld to %lld", name,
                    value, least, most);
}

static int check_numbers(const VELOC_Redset_options *o, struct vel_err *err)
{
    int rc = check_range("set_size", o->set_size, 2, VEL_SET_MAX, err);

    if (rc == 0)
        rc = check_range("failures", o->failures, 1, VEL_SET_MAX - 1, err);
    if (rc == 0)
        rc = check_range("hop_distance", o->hop_distance, 1, HOP_MOST, err);
    if (rc == 0 && o->memory != 0 &&
        (o->memory < VEL_EXEC_MEMORY_LEAST || o->memory > memory_most))
        rc = vel_fail(err, VEL_EINVAL, "memory is %zu bytes: it goes from %d to %zu",
                      o->memory, VEL_EXEC_MEMORY_LEAST, memory_most);
    return rc;
}

/* Directory and label into the set. */
static int take_options(struct vel_red_set *set, const VELOC_Redset_options *options,
                        struct vel_err *err)
{
    char *here = NULL;
    int rc;

    if (options->options_size != sizeof *options)
        return vel_fail(err, VEL_EINVAL,
                        "the options have %zu bytes and not %zu: begin them with = "
                        "VELOC_REDSET_OPTIONS",
                        options->options_size, sizeof *options);
    rc = vel_library_check(err);
    if (rc == 0)
        rc = check_numbers(options, err);
    set->label = strdup(options->label ? options->label : default_label);
    if (rc == 0)
        rc = set->label ? vel_red_check_label(set->label, err)
                        : vel_out_of_memory(err, "a set");
    if (rc == 0 && options->directory && !options->directory[0])
        rc = vel_fail(err, VEL_EINVAL, "the directory has an empty name");
    if (rc == 0)
        rc = vel_fs_working_dir(&here, err);
    if (rc == 0) {
        set->dir =
            vel_path_absolute(here, options->directory ? options->directory : ".");
        if (!set->dir)
            rc = vel_out_of_memory(err, "a set");
    }
    set->memory = options->memory;
    free(here);
    return rc;
}

/* Collective. Numbers that must be the same on all ranks. */
static int compare(struct vel_comm *all, const int64_t *mine, const char *const *names,
                   size_t n, struct vel_err *err)
{
    int64_t both[16]; /* the greatest, and the least with its sign changed */

    for (size_t i = 0; i < n; i++) {
        both[i] = mine[i];
        both[n + i] = -mine[i];
    }
    int rc = vel_comm_allreduce(all, VEL_COMM_MAX, both, 2 * n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (both[i] != -both[n + i])
            rc = vel_fail(err, VEL_EINVAL,
                          "the ranks give different values for %s: all must give the "
                          "same",
                          names[i]);
    return rc;
}

static int64_t number_of_label(const char *label)
{
    return vel_crc32c(0, label, strlen(label));
}

/* --- both ways
 * ------------------------------------------------------------------------------- */

/* Collective when MPI can be used. *ret_rs is a set that can at least tell what went
 * wrong; NULL where memory is short. */
static int begin(MPI_Comm comm, VELOC_Redset *ret_rs, struct vel_err *err)
{
    VELOC_Redset rs = calloc(1, sizeof *rs);
    struct vel_comm *all = NULL;
    int rc = vel_redset_check_mpi(err), is_inter = 0;

    if (rc == 0 && comm == MPI_COMM_NULL)
        rc = vel_fail(err, VEL_EINVAL, "the communicator is MPI_COMM_NULL");
    if (rc == 0)
        MPI_Comm_test_inter(comm, &is_inter);
    if (rc == 0 && is_inter)
        rc = vel_fail(err, VEL_EINVAL,
                      "the communicator connects two groups: give an "
                      "intracommunicator");
    if (rc == 0)
        rc = vel_comm_mpi(comm, &all, err);
    if (rc == 0)
        rc = vel_comm_agree(all, rs ? 0 : vel_out_of_memory(err, "a set"), err);
    if (rs) {
        rs->set.all = all;
        rs->set.fs = vel_fs_posix();
        if (all)
            rs->set.rank = (uint32_t)all->rank;
        vel_vec_init(&rs->files, sizeof(char *));
        vel_vec_init(&rs->on_disk, sizeof(char *));
        vel_buf_init(&rs->report);
    } else {
        vel_comm_destroy(all);
    }
    *ret_rs = rs;
    return rc;
}

/* Hand the set to the program. */
static int finish(VELOC_Redset rs, VELOC_Redset *ret, const char *call, int rc,
                  const struct vel_err *err)
{
    if (rs)
        rs->is_whole = rc == 0;
    int result = vel_redset_return(rs, call, true, rc, err);
    if (ret)
        *ret = rs;
    else
        VELOC_Redset_delete(&rs);
    return result;
}

static int check_place(const VELOC_Redset *ret, struct vel_err *err)
{
    return ret ? 0
               : vel_fail(err, VEL_EINVAL, "there is no place for the set: rs is NULL");
}

/* --- from failure groups
 * --------------------------------------------------------------------- */

static int check_type(int type, const VELOC_Redset_options *o, struct vel_err *err)
{
    if (type < VELOC_REDSET_SINGLE || type > VELOC_REDSET_RS)
        return vel_fail(err, VEL_EINVAL,
                        "type %d: give VELOC_REDSET_SINGLE, _PARTNER, _XOR or _RS",
                        type);
    if ((type == VELOC_REDSET_SINGLE && o->failures != 0) ||
        (type == VELOC_REDSET_XOR && o->failures > 1))
        return vel_fail(err, VEL_EINVAL,
                        "failures is %d, and %s bears %s: use VELOC_REDSET_RS",
                        o->failures, vel_scheme_name((enum vel_scheme)type),
                        type == VELOC_REDSET_XOR ? "one" : "none");
    return 0;
}

/* Collective. The set of this rank and its members. */
static int form_set(struct vel_red_set *set, const char *group,
                    const VELOC_Redset_options *o, struct vel_err *err)
{
    size_t failures = (size_t)o->failures;
    size_t least = o->set_size ? (size_t)o->set_size : SET_SIZE;
    size_t need = failures ? failures + 1 : 2;
    const struct vel_split_rule rule = {.least = least > need ? least : need,
                                        .hop = o->hop_distance ? (size_t)o->hop_distance
                                                               : HOP_DISTANCE,
                                        .need = need,
                                        .what = "group"};
    struct vel_place place;
    int rc = vel_split(set->all, group, &rule, &place, err);

    if (rc == 0)
        rc = vel_place_comm(set->all, &place, &set->comm, err);
    if (rc < 0)
        return rc;
    set->set = place.set;
    set->sets = place.sets;
    set->m = set->scheme == VEL_XOR  ? 1
             : failures              ? failures
             : set->scheme == VEL_RS ? place.ranks / 2
                                     : 1;
    return 0;
}

/* Collective. Every rank is a set by itself. */
static int form_single(struct vel_red_set *set, struct vel_err *err)
{
    int rc = vel_comm_self(&set->comm, err);

    set->set = set->rank;
    set->sets = (uint32_t)set->all->size;
    return vel_comm_agree(set->all, rc, err);
}

static int name_group(const char *group, struct vel_host *host, const char **ret_group,
                      struct vel_err *err)
{
    int rc = group ? 0 : vel_host_init(host, err);

    if (rc == 0)
        *ret_group = group ? group : host->node;
    if (rc == 0 && !(*ret_group)[0])
        rc = vel_fail(err, VEL_EINVAL,
                      "the failure group is empty: name what this rank is lost with, "
                      "such as its node");
    return rc;
}

/* Collective. */
static int make(struct vel_red_set *set, int type, const char *group,
                const VELOC_Redset_options *o, int rc, struct vel_err *err)
{
    static const char *const names[] = {"type",
                                        "options.set_size",
                                        "options.failures",
                                        "options.hop_distance",
                                        "options.memory",
                                        "options.label"};
    struct vel_host host = {.node = NULL};

    if (rc == 0)
        rc = take_options(set, o, err);
    if (rc == 0)
        rc = check_type(type, o, err);
    if (rc == 0)
        rc = name_group(group, &host, &group, err);
    rc = vel_comm_agree(set->all, rc, err);
    if (rc == 0) {
        const int64_t mine[] = {type,
                                o->set_size,
                                o->failures,
                                o->hop_distance,
                                (int64_t)o->memory,
                                number_of_label(set->label)};
        rc = compare(set->all, mine, names, sizeof mine / sizeof mine[0], err);
    }
    set->scheme = (enum vel_scheme)type;
    if (rc == 0)
        rc = type == VELOC_REDSET_SINGLE ? form_single(set, err)
                                         : form_set(set, group, o, err);
    vel_host_fini(&host);
    return rc;
}

int VELOC_Redset_create(int type, MPI_Comm comm, const char *group,
                        const VELOC_Redset_options *options, VELOC_Redset *rs)
{
    struct vel_err err = {0};
    VELOC_Redset fresh;
    int rc = begin(comm, &fresh, &err);

    if (rc == 0)
        rc = make(&fresh->set, type, group, options ? options : &defaults,
                  check_place(rs, &err), &err);
    return finish(fresh, rs, __func__, rc, &err);
}

/* --- from an earlier run
 * --------------------------------------------------------------------- */

/* The files that came back are the list. */
static int list_files(VELOC_Redset rs, struct vel_err *err)
{
    struct vel_vec names;

    if (!rs->set.comm)
        return 0;
    int rc = vel_red_list(&rs->set, &names, err);
    if (rc < 0)
        return rc;
    free(((char **)names.items)[names.n - 1]); /* the redundancy file */
    names.n--;
    rs->files = names;
    return 0;
}

/* Collective. *ret_is_none: there is nothing to recover. */
static int find(VELOC_Redset rs, const VELOC_Redset_options *o, int rc,
                bool *ret_is_none, struct vel_err *err)
{
    static const char *const names[] = {"options.memory", "options.label"};
    struct vel_red_set *set = &rs->set;
    struct vel_red_report report;

    if (rc == 0)
        rc = take_options(set, o, err);
    rc = vel_comm_agree(set->all, rc, err);
    if (rc == 0) {
        const int64_t mine[] = {(int64_t)o->memory, number_of_label(set->label)};

        rc = compare(set->all, mine, names, 2, err);
    }
    if (rc < 0)
        return rc;
    rc = vel_red_recover_all(set, &report, err);
    *ret_is_none = rc == VEL_ENOENT;
    if (rc < 0)
        return vel_wrap(err, rc, "recovering the files in %s", set->dir);
    rs->report = report.sentences;
    return vel_comm_agree(set->all, list_files(rs, err), err);
}

int VELOC_Redset_recover(MPI_Comm comm, const VELOC_Redset_options *options,
                         VELOC_Redset *rs)
{
    struct vel_err err = {0};
    VELOC_Redset found;
    bool is_none = false;
    int rc = begin(comm, &found, &err);

    if (rc == 0)
        rc = find(found, options ? options : &defaults, check_place(rs, &err), &is_none,
                  &err);
    if (!is_none)
        return finish(found, rs, __func__, rc, &err);
    /* no failure: every program meets it on its first run */
    VELOC_Redset_delete(&found);
    *rs = NULL;
    return VELOC_REDSET_NONE;
}
