/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps are those of recover.c with all members in one process; what a lost member
 * needs to know is looked up instead of sent. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/rebuild.h"
#include "red/restore.h"
#include "red/shelf.h"

/* one member of the set at hand */
struct seat {
    const struct vel_found *found; /* NULL: nothing is left of it */
    char *dir;                     /* NULL: not known yet */
    bool is_lost;
    struct vel_err why;
    struct vel_red_header header; /* of a lost one, put together from the others */
    bool has_header;
    struct vel_member member;
    struct vel_restore restore;
};

struct rebuild {
    struct vel_fs *fs;
    const struct vel_rebuild_options *options;
    const char *into;
    struct vel_shelf shelf;
    struct seat *seats; /* VEL_SET_MAX of them */
    struct vel_rebuilt_set *set;
};

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

static int copy_list(const struct vel_manifest *from, struct vel_manifest *to,
                     struct vel_err *err)
{
    size_t len = vel_manifest_encoded_size(from);
    struct vel_le_writer w;
    struct vel_le_reader reader;
    struct vel_manifest copy;
    uint8_t *bytes = malloc(len);
    int rc;

    if (!bytes)
        return vel_out_of_memory(err, "copying a list of files");
    vel_le_write_init(&w, bytes, len);
    vel_manifest_encode(from, &w);
    vel_le_read_init(&reader, bytes, len);
    rc = vel_manifest_decode(&reader, &copy, err);
    free(bytes);
    if (rc < 0)
        return rc;
    vel_manifest_fini(to);
    *to = copy;
    return 0;
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
    const struct vel_layout *from = &model->layout;
    struct seat *seat = &r->seats[me];
    struct vel_layout layout;
    int rc =
        vel_layout_init(&layout, from->scheme, from->n, from->m, from->lofi_size, err);

    if (rc == 0)
        rc = vel_red_header_init(&seat->header, &layout, (uint32_t)me, err);
    if (rc < 0)
        return rc;
    seat->has_header = true;
    memcpy(seat->header.id, model->id, sizeof model->id);
    seat->header.sequence = model->sequence;
    seat->header.set = model->set;
    seat->header.sets = model->sets;
    for (size_t i = 0; rc == 0 && i < seat->header.lists; i++) {
        size_t of = (me + from->n - i) % from->n;
        const struct vel_manifest *list = find_list(r, of, from->n, seat->header.lists);

        rc = list ? copy_list(list, &seat->header.list[i], err)
                  : vel_fail(err, VEL_ECORRUPT,
                             "nobody is left who lists the files of member %zu", of);
    }
    return rc;
}

/* Where a lost member's files go: where they are, if a redundancy file that does not
 * count but has the very name this member's would have tells that; else into a
 * directory of its own, since members that had directories of their own may have used
 * the same names. */
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
    if (!seat->dir) {
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
    bool is_lost[VEL_SET_MAX];
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

/* --- a set, and all sets
 * --------------------------------------------------------------------- */

static void forget_members(struct vel_rebuilt_set *set)
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
    forget_members(r->set);
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

static int try_encoding(struct rebuild *r, size_t begin, size_t end,
                        struct vel_err *err)
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

static void make_whole(struct rebuild *r, size_t begin, size_t end)
{
    struct vel_rebuilt_set *set = r->set;

    for (size_t first = begin, next; first < end; first = next) {
        struct vel_err err = {0};

        for (next = first + 1;
             next < end && vel_found_same_encoding(vel_shelf_at(&r->shelf, first),
                                                   vel_shelf_at(&r->shelf, next));)
            next++;
        set->rc = try_encoding(r, first, next, &err);
        if (first == begin || set->rc == 0)
            set->err = err; /* the newest one's failure is what counts */
        if (set->rc != VEL_EINVAL)
            return;
    }
}

void vel_rebuilt_fini(struct vel_vec *sets)
{
    for (size_t i = 0; i < sets->n; i++) {
        struct vel_rebuilt_set *set = vel_vec_at(sets, i);

        forget_members(set);
        vel_vec_fini(&set->members);
        free(set->label);
    }
    vel_vec_fini(sets);
}

static int each_set(struct rebuild *r, struct vel_vec *sets, struct vel_err *err)
{
    for (size_t begin = 0, end; begin < r->shelf.found.n; begin = end) {
        const struct vel_found *first = vel_shelf_at(&r->shelf, begin);

        for (end = begin + 1; end < r->shelf.found.n &&
                              vel_found_same_set(first, vel_shelf_at(&r->shelf, end));)
            end++;
        r->set = vel_vec_push(sets, NULL);
        if (!r->set)
            return vel_out_of_memory(err, "rebuilding");
        vel_vec_init(&r->set->members, sizeof(struct vel_rebuilt_member));
        r->set->set = vel_found_header(first)->set;
        r->set->sets = vel_found_header(first)->sets;
        r->set->label = strdup(first->label);
        if (!r->set->label)
            return vel_out_of_memory(err, "rebuilding");
        make_whole(r, begin, end);
    }
    return 0;
}

int vel_rebuild(struct vel_fs *fs, char *const *dirs, size_t n_dirs,
                const struct vel_rebuild_options *options, struct vel_vec *ret_sets,
                struct vel_err *err)
{
    struct rebuild r = {.fs = fs, .options = options};
    struct vel_vec sets;
    int rc;

    r.into = options->into ? options->into : dirs[0];
    rc = vel_shelf_fill(&r.shelf, fs, dirs, n_dirs, err);
    if (rc < 0)
        return rc;
    vel_vec_init(&sets, sizeof(struct vel_rebuilt_set));
    r.seats = calloc(VEL_SET_MAX, sizeof *r.seats);
    if (!r.seats)
        rc = vel_out_of_memory(err, "rebuilding");
    else if (r.shelf.found.n == 0)
        rc = vel_fail(err, VEL_ENOENT,
                      "%s%s: no redundancy file (*%s) is there: name the directories "
                      "that members have them in",
                      dirs[0], n_dirs > 1 ? " and the others" : "", VEL_RED_SUFFIX);
    else
        rc = each_set(&r, &sets, err);
    vel_shelf_fini(&r.shelf);
    for (size_t i = 0; r.seats && i < VEL_SET_MAX; i++)
        free(r.seats[i].dir);
    free(r.seats);
    if (rc < 0)
        vel_rebuilt_fini(&sets);
    else
        *ret_sets = sets;
    return rc;
}
