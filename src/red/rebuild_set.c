/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps are those of recover.c with all members in one process; what a lost member
 * needs to know is looked up instead of sent. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/rebuild_in.h"
#include "red/regain.h"

/* --- one attempt
 * ----------------------------------------------------------------------------- */

static void take_seats(struct rebuild *r, size_t begin, size_t end)
{
    size_t n = vel_found_header(vel_shelf_at(&r->shelf, begin))->layout.n;

    for (size_t i = 0; i < n; i++) {
        free(r->seats[i].dir);
        r->seats[i] = (struct seat){.is_lost = true};
        vel_fail(&r->seats[i].why, VEL_ENOENT, "no redundancy file of it is left");
    }
    for (size_t i = begin; i < end; i++) {
        const struct vel_found *found = vel_shelf_at(&r->shelf, i);
        struct seat *seat = &r->seats[vel_found_header(found)->member];

        seat->found = found;
        free(seat->dir);
        seat->dir = strdup(found->dir);
        seat->why = (struct vel_err){0};
        seat->is_lost = vel_redfile_check_files(
                            r->fs, found->dir, vel_found_header(found), &seat->why) < 0;
    }
}

/* the list of member `of`, from the first of those who keep it; a damaged member's
 * redundancy file may still tell it */
static const struct vel_manifest *find_list(const struct rebuild *r, size_t of,
                                            size_t n, size_t lists)
{
    for (size_t i = 0; i < lists; i++) {
        const struct seat *seat = &r->seats[(of + i) % n];

        if (seat->found)
            return &vel_found_header(seat->found)->list[i];
    }
    return NULL;
}

static int make_header(struct rebuild *r, size_t me, const struct vel_red_header *model,
                       struct vel_err *err)
{
    const struct vel_red_header *others[VEL_SET_MAX];
    struct seat *seat = &r->seats[me];
    int rc;

    for (size_t i = 0; i < model->layout.n; i++)
        others[i] = r->seats[i].found ? vel_found_header(r->seats[i].found) : NULL;
    rc = vel_red_regain(model, others, me, &seat->header, err);
    seat->has_header = rc == 0;
    return rc;
}

/* Where another encoding of this label says that the files of this rank are. */
static const char *known_dir(const struct rebuild *r, const struct seat *seat)
{
    for (size_t i = 0; i < r->shelf.found.n; i++) {
        const struct vel_found *found = vel_shelf_at(&r->shelf, i);

        if (strcmp(found->label, r->set->label) == 0 &&
            vel_found_header(found)->list[0].rank == seat->header.list[0].rank)
            return found->dir;
    }
    return NULL;
}

/* Where a lost member's files go: where they are, if a redundancy file that does not
 * count but has the very name this member's would have tells that, or one of another
 * encoding; else into a directory of its own, since members that had directories of
 * their own may have used the same names. */
static int find_dir(struct rebuild *r, struct seat *seat, struct vel_err *err)
{
    char *name = vel_red_file_name(&seat->header, r->set->label);
    struct vel_buf own;
    size_t len;

    if (!name)
        return vel_out_of_memory(err, "rebuilding");
    for (size_t i = 0; !seat->dir && i < r->shelf.n_dirs; i++) {
        char *path = vel_path_join(r->shelf.dirs[i], name);

        if (path && vel_fs_exists(r->fs, path))
            seat->dir = strdup(r->shelf.dirs[i]);
        free(path);
    }
    free(name);
    const char *known = known_dir(r, seat);
    if (!seat->dir && known)
        seat->dir = strdup(known);
    else if (!seat->dir) {
        vel_buf_init(&own);
        vel_buf_printf(&own, "%s/rank.%" PRIu32, r->into, seat->header.list[0].rank);
        seat->dir = vel_buf_take(&own, &len);
    }
    return seat->dir ? 0 : vel_out_of_memory(err, "rebuilding");
}

static int open_seat(struct rebuild *r, size_t i, const struct vel_red_header *model,
                     struct vel_err *err)
{
    struct seat *seat = &r->seats[i];

    if (!seat->is_lost) {
        const struct vel_red_header *header = vel_found_header(seat->found);
        int rc = vel_member_open(
            &seat->member, r->fs, seat->dir, seat->found->redfile->path,
            vel_red_header_size(header), header, NULL, VEL_MEMBER_READ, &seat->why);
        seat->is_lost = rc < 0; /* found out by the caller, which starts over */
        return 0;
    }
    int rc = make_header(r, i, model, err);
    if (rc < 0)
        return rc;
    if (!seat->dir)
        rc = find_dir(r, seat, err);
    if (rc < 0 || r->options->dry_run)
        return rc;
    return vel_restore_open(&seat->restore, r->fs, seat->dir, r->set->label,
                            &seat->header, err);
}

static void leave_seats(struct rebuild *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct seat *seat = &r->seats[i];

        vel_member_close(&seat->member);
        vel_restore_close(&seat->restore);
        if (seat->has_header)
            vel_red_header_fini(&seat->header);
        seat->has_header = false;
    }
}

static size_t count_lost(const struct rebuild *r, size_t n, bool *is_lost)
{
    size_t lost = 0;

    for (size_t i = 0; i < n; i++) {
        is_lost[i] = r->seats[i].is_lost;
        lost += is_lost[i];
    }
    return lost;
}

static int run_plan(struct rebuild *r, const struct vel_layout *layout,
                    const bool *is_lost, struct vel_err *err)
{
    struct vel_member *member[VEL_SET_MAX];
    size_t memory = r->options->memory ? r->options->memory : VEL_EXEC_MEMORY_DEFAULT;
    struct vel_plan plan;
    int rc = vel_plan_rebuild(layout, is_lost, &plan, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < layout->n; i++)
        member[i] = is_lost[i] ? &r->seats[i].restore.member : &r->seats[i].member;
    rc = vel_exec_local(layout, &plan, member, memory, r->options->tick,
                        r->options->tick_arg, err);
    vel_plan_fini(&plan);
    return rc;
}

/* every byte of those that are there */
static void verify_seats(struct rebuild *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct seat *seat = &r->seats[i];

        if (seat->is_lost)
            continue;
        int rc = vel_member_read_rest(&seat->member, &seat->why);
        if (rc == 0)
            rc = vel_member_check_crcs(&seat->member, vel_found_header(seat->found),
                                       &seat->why);
        seat->is_lost = rc < 0;
    }
}

static int finish(struct rebuild *r, size_t n, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (r->seats[i].is_lost) {
            rc = vel_restore_check(&r->seats[i].restore, err);
            if (rc == 0)
                rc = vel_restore_settle(&r->seats[i].restore, err);
        }
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (r->seats[i].is_lost)
            rc = vel_restore_commit(&r->seats[i].restore, err);
    return rc;
}

static int round_of(struct rebuild *r, const struct vel_red_header *model,
                    bool *ret_more, struct vel_err *err)
{
    size_t n = model->layout.n;
    bool is_lost[VEL_SET_MAX] = {false};
    size_t lost = count_lost(r, n, is_lost);
    struct vel_err why = {0};
    int rc = vel_plan_check(&model->layout, is_lost, err), built = 0;

    *ret_more = false;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = open_seat(r, i, model, err);
    *ret_more = rc == 0 && count_lost(r, n, is_lost) > lost;
    if (rc < 0 || *ret_more)
        return rc;
    if (lost > 0 && !r->options->dry_run)
        built = run_plan(r, &model->layout, is_lost, &why);
    verify_seats(r, n); /* also finds whoever made the plan fail */
    *ret_more = count_lost(r, n, is_lost) > lost;
    if (*ret_more)
        return 0;
    if (built < 0)
        return vel_fail(err, (enum vel_status)built, "%s", why.text);
    return lost > 0 && !r->options->dry_run ? finish(r, n, err) : 0;
}

/* --- the attempts
 * ---------------------------------------------------------------------------- */

void vel_rebuilt_forget(struct vel_rebuilt_set *set)
{
    for (size_t i = 0; i < set->members.n; i++) {
        struct vel_rebuilt_member *m = vel_vec_at(&set->members, i);

        free(m->dir);
        free(m->why);
    }
    set->members.n = 0;
}

static int note_lost(struct rebuild *r, size_t n, size_t lists, struct vel_err *err)
{
    vel_rebuilt_forget(r->set);
    for (size_t i = 0; i < n; i++) {
        const struct seat *seat = &r->seats[i];
        const struct vel_manifest *list = find_list(r, i, n, lists);

        if (!seat->is_lost)
            continue;
        struct vel_rebuilt_member m = {.member = i,
                                       .rank = list ? list->rank : UINT32_MAX,
                                       .files = list ? list->files.n : 0,
                                       .bytes = list ? list->total : 0,
                                       .dir = strdup(seat->dir ? seat->dir : r->into),
                                       .why = strdup(seat->why.text)};
        if (!m.dir || !m.why || !vel_vec_push(&r->set->members, &m)) {
            free(m.dir);
            free(m.why);
            return vel_out_of_memory(err, "rebuilding");
        }
    }
    return 0;
}

int vel_rebuild_try(struct rebuild *r, size_t begin, size_t end, struct vel_err *err)
{
    const struct vel_red_header *model =
        vel_found_header(vel_shelf_at(&r->shelf, begin));
    size_t n = model->layout.n;
    bool more = true;
    int rc = 0;

    r->set->scheme = model->layout.scheme;
    r->set->n = n;
    r->set->m = model->layout.m;
    take_seats(r, begin, end);
    while (rc == 0 && more) {
        rc = round_of(r, model, &more, err);
        leave_seats(r, n);
    }
    int noted = note_lost(r, n, vel_red_lists(&model->layout), err);
    return rc < 0 ? rc : noted;
}
