/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a scheme. The steps, each of which all members take together:
 *
 *   list     this member's files as they are on disk
 *   greet    the sizes of all members, from which the plan follows
 *   meet     the encoding's identity, the next sequence number; all sets can begin
 *   encode   the payloads, under temporary names: of what differs from an older
 *            encoding where all have that, else of all
 *   tell     the lists with their checksums, to the next m members; with a given
 *            identity, which may stand already, all agree before they replace it
 *   seal     headers, fsync, rename
 *   clear    what this encoding replaces, once all (sets) agree that it stands; with
 *            a given identity that is for others to say (vel_red_drop_older)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/log.h"
#include "base/path.h"
#include "red/exec.h"
#include "red/listing.h"
#include "red/older.h"
#include "red/redfile.h"
#include "red/set.h"
#include "sys/entropy.h"
#include "sys/host.h"

enum { TAG_LIST = 1 };

struct apply {
    const struct vel_red_set *set;
    struct vel_listing listing;
    bool stood; /* an earlier attempt of this very encoding has ended here */
    struct vel_red_header header;
    struct vel_plan plan;
    bool has_header, has_plan;
    size_t *list_sizes;          /* encoded sizes of all members' lists */
    uint8_t *lists[VEL_SET_MAX]; /* encoded: this member's, those before it */
    struct vel_member member;
    struct vel_older older;
    int64_t words[VEL_OLDER_WORDS]; /* of the older encoding that all go by */
    char *name;                     /* of the redundancy file */
    char *path;                     /* the same with the directory */
    char *temporary;                /* and while it is made */
    struct vel_err *err;
};

/* The result of everybody in all sets, and the greatest of their numbers. When that
 * cannot be known the own set must not wait for this member either. */
static int agree_all(struct apply *a, int rc, int64_t *numbers, size_t n)
{
    const struct vel_red_set *set = a->set;
    struct vel_comm *everybody = set->all ? set->all : set->comm;
    size_t none;

    rc = vel_comm_agree_fold(everybody, rc, VEL_COMM_MAX, numbers, n, a->err);
    if (rc < 0 && set->all && vel_comm_wait_any(set->all, NULL, 0, &none, NULL) < 0)
        vel_comm_fail(set->comm, a->err);
    return rc;
}

/* Other members' words are input: what does not fit is found here, before anything is
 * laid out or reserved after it. `sizes` are those of all files, then of all lists. */
static int read_sizes(struct apply *a, const int64_t *sizes, uint64_t *ret_sizes)
{
    size_t n = (size_t)a->set->comm->size, me = (size_t)a->set->comm->rank;

    if (sizes[me] != (int64_t)a->listing.own.total ||
        sizes[n + me] != (int64_t)vel_manifest_encoded_size(&a->listing.own))
        return vel_fail(a->err, VEL_ECORRUPT,
                        "rank %zu: another member has announced sizes for this one",
                        me);
    for (size_t i = 0; i < n; i++) {
        if (sizes[n + i] > VEL_RED_HEADER_MAX)
            return vel_fail(a->err, VEL_EINVAL,
                            "rank %zu: its list of files takes %lld bytes, and %d are "
                            "the most; protect fewer files together",
                            i, (long long)sizes[n + i], VEL_RED_HEADER_MAX);
        ret_sizes[i] = (uint64_t)sizes[i];
        a->list_sizes[i] = (size_t)sizes[n + i];
    }
    return 0;
}

/* The sizes of all members' files and lists; none are those of a member that failed.
 * And what to begin with. */
static int greet(struct apply *a, int rc, uint64_t *ret_sizes)
{
    struct vel_comm *comm = a->set->comm;
    size_t n = (size_t)comm->size, me = (size_t)comm->rank;
    int64_t sizes[2 * VEL_SET_MAX + VEL_OLDER_WORDS] = {0};
    struct vel_err cause = {0};
    int broken;

    vel_older_none(sizes + 2 * n);
    if (rc == 0) {
        sizes[me] = (int64_t)a->listing.own.total;
        sizes[n + me] = (int64_t)vel_manifest_encoded_size(&a->listing.own);
        vel_older_init(&a->older, a->set, &a->listing.own, sizes + 2 * n);
    }
    broken =
        vel_comm_allreduce(comm, VEL_COMM_MAX, sizes, 2 * n + VEL_OLDER_WORDS, &cause);
    memcpy(a->words, sizes + 2 * n, sizeof a->words);
    if (rc == 0 && broken < 0)
        rc = vel_fail(a->err, (enum vel_status)broken, "%s", cause.text);
    return rc == 0 ? read_sizes(a, sizes, ret_sizes) : rc;
}

static int make_header(struct apply *a, const uint64_t *sizes)
{
    const struct vel_red_set *set = a->set;
    struct vel_layout layout;
    int rc = vel_layout_init(&layout, set->scheme, (size_t)set->comm->size, set->m,
                             sizes, a->err);

    if (rc == 0)
        rc =
            vel_red_header_init(&a->header, &layout, (uint32_t)set->comm->rank, a->err);
    if (rc < 0)
        return rc;
    a->has_header = true;
    a->header.set = set->set;
    a->header.sets = set->sets;
    if (set->is_unsynced)
        a->header.boot = (uint64_t)vel_host_boot_number(set->fs);
    struct vel_manifest empty = a->header.list[0];
    a->header.list[0] = a->listing.own;
    a->listing.own = empty;
    return 0;
}

/* Room for the lists that will come. */
static int make_lists(struct apply *a)
{
    size_t n = a->header.layout.n, me = a->header.member;

    for (size_t i = 0; i < a->header.lists; i++) {
        a->lists[i] = malloc(a->list_sizes[(me + n - i) % n] + 1);
        if (!a->lists[i])
            return vel_out_of_memory(a->err, "exchanging lists of files");
    }
    return 0;
}

static int open_member(struct apply *a)
{
    const struct vel_red_set *set = a->set;
    size_t sizes[VEL_SET_MAX], n = a->header.layout.n;

    a->name = vel_red_file_name(&a->header, set->label);
    a->path = a->name ? vel_path_join(set->dir, a->name) : NULL;
    a->temporary = a->name ? vel_red_temporary(set->dir, a->name) : NULL;
    if (!a->path || !a->temporary)
        return vel_out_of_memory(a->err, "naming a redundancy file");
    /* an identity that is given is met again after a crash: what that has left */
    if (set->id)
        vel_redfile_sweep(set->fs, set->dir, set->label, set->rank);
    for (size_t i = 0; i < a->header.lists; i++)
        sizes[i] = a->list_sizes[(a->header.member + n - i) % n];
    return vel_member_open(
        &a->member, set->fs, set->dir, a->temporary,
        vel_red_header_size_of(&a->header.layout, a->header.member, sizes), &a->header,
        NULL, VEL_MEMBER_ENCODE, a->err);
}

/* All that a member needs to take part. */
static int prepare(struct apply *a, int rc)
{
    uint64_t sizes[VEL_SET_MAX];
    size_t n = (size_t)a->set->comm->size;

    if (n > VEL_SET_MAX)
        return rc < 0
                   ? rc
                   : vel_fail(a->err, VEL_EINVAL,
                              "a set has %d members at most, not %zu", VEL_SET_MAX, n);
    rc = greet(a, rc, sizes);
    if (rc == 0)
        rc = make_header(a, sizes);
    if (rc == 0)
        rc = make_lists(a);
    if (rc == 0)
        rc = vel_plan_encode(&a->header.layout, &a->plan, a->err);
    a->has_plan = rc == 0;
    return rc == 0 ? vel_listing_fits(&a->listing, &a->header, &a->stood, a->err) : rc;
}

/* The identity, which is given or drawn by the first of all, and the next sequence
 * number: the same in all sets that agree here. From here on every member of every set
 * can take part. */
static int meet(struct apply *a, int rc)
{
    const struct vel_red_set *set = a->set;
    int64_t all[] = {INT64_MIN, INT64_MIN, 0}; /* the identity, the newest number */

    if (set->id)
        memcpy(all, set->id, sizeof a->header.id);
    else if (rc == 0 && (set->all ? set->all : set->comm)->rank == 0)
        rc = vel_entropy(all, sizeof a->header.id, a->err);
    all[2] = vel_listing_newest(&a->listing);
    rc = agree_all(a, rc, all, sizeof all / sizeof *all);
    memcpy(a->header.id, all, sizeof a->header.id);
    a->header.sequence = (uint64_t)all[2] + 1;
    return rc;
}

static int compute(struct apply *a, int rc, struct vel_err *err)
{
    size_t memory = a->set->memory ? a->set->memory : VEL_EXEC_MEMORY_DEFAULT;

    return vel_exec_comm(&a->header.layout, &a->plan, &a->member, a->set->comm, memory,
                         rc, err);
}

/* What differs from an older encoding. False: nothing is done; all members know. */
static bool encode_difference(struct apply *a, int rc)
{
    struct vel_err why = {0};

    if (vel_older_is_none(a->words) ||
        !vel_older_agree(&a->older, a->words, &a->header, rc == 0 ? &a->member : NULL))
        return false;
    a->plan.changes = &a->older.changes;
    rc = compute(a, 0, &why);
    a->plan.changes = NULL;
    if (rc < 0) { /* the older one may have gone meanwhile */
        vel_log(VEL_LOG_INFO, "what differs cannot be encoded, but all: %s", why.text);
        vel_member_restart(&a->member);
    }
    return rc == 0;
}

static int encode(struct apply *a)
{
    int rc = open_member(a);

    /* where nothing is to be computed, nobody waits for this member yet; else it takes
     * part without its files, with zeros */
    if (!a->plan.jobs.n || encode_difference(a, rc))
        return rc;
    return compute(a, rc, a->err);
}

/* Nothing is computed from the files: those that are summed up need not be read. */
static int take_sums(struct apply *a)
{
    const struct vel_manifest *own = &a->header.list[0];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < own->files.n; i++) {
        struct vel_red_file *file = vel_manifest_file(own, i);
        const struct vel_red_sum *sum =
            a->set->sums ? vel_map_get(a->set->sums, file->name) : NULL;

        if (sum && sum->size != file->size)
            sum = NULL;
        file->is_dated = !sum && a->set->is_dated;
        if (sum || file->is_dated)
            rc = vel_member_sum(&a->member, i, sum ? sum->crc : 0, a->err);
    }
    return rc;
}

/* Files that no block of the plan covers, as those of SINGLE, have not been read yet.
 */
static int sum_up(struct apply *a)
{
    int rc = !a->plan.jobs.n ? take_sums(a) : 0;

    if (rc == 0 && a->set->saved)
        *a->set->saved = vel_older_saved(&a->older, &a->header.layout, &a->member);
    if (rc == 0)
        rc = vel_member_read_rest(&a->member, a->err);
    if (rc < 0)
        return rc;
    vel_member_store_crcs(&a->member, &a->header);
    return vel_listing_compare(&a->listing, &a->header.list[0], a->err);
}

/* The list of a member before this one; it becomes part of this member's header, where
 * what its member announced for it has been kept free. */
static int take_list(struct apply *a, size_t i, size_t from, const void *bytes)
{
    struct vel_le_reader r;
    struct vel_manifest manifest;

    vel_le_read_init(&r, bytes, a->list_sizes[from]);
    int rc = vel_manifest_decode(&r, &manifest, a->err);
    if (rc < 0)
        return vel_wrap(a->err, rc, "from rank %zu", from);
    if (r.left > 0 || manifest.total != a->header.layout.lofi_size[from]) {
        vel_manifest_fini(&manifest);
        return vel_fail(a->err, VEL_ECORRUPT,
                        "rank %zu: its list of files is not the one it announced",
                        from);
    }
    vel_manifest_fini(&a->header.list[i]);
    a->header.list[i] = manifest;
    return vel_listing_compare_other(&a->listing, i, &manifest, a->err);
}

/* This member's list goes to the next m members, theirs come from the m before it. One
 * that has failed since takes part, and says so afterwards. */
static int tell(struct apply *a, int rc)
{
    struct vel_comm *comm = a->set->comm;
    struct vel_req *reqs[2 * VEL_SET_MAX] = {NULL};
    size_t n = a->header.layout.n, me = a->header.member, count = 0;
    size_t size = a->list_sizes[me];
    struct vel_le_writer w;
    struct vel_err cause = {0};
    int broken = 0;

    vel_le_write_init(&w, a->lists[0], size);
    vel_manifest_encode(&a->header.list[0], &w);
    for (size_t i = 1; broken == 0 && i < a->header.lists; i++) {
        size_t from = (me + n - i) % n, to = (me + i) % n;

        broken = vel_comm_irecv(comm, (int)from, TAG_LIST, a->lists[i],
                                a->list_sizes[from], &reqs[count++], &cause);
        if (broken == 0)
            broken = vel_comm_isend(comm, (int)to, TAG_LIST, a->lists[0], size,
                                    &reqs[count++], &cause);
    }
    if (broken == 0)
        broken = vel_comm_wait_all(comm, reqs, count, &cause);
    vel_comm_cancel_all(comm, reqs, count);
    if (rc == 0 && broken < 0)
        rc = vel_fail(a->err, (enum vel_status)broken, "%s", cause.text);
    for (size_t i = 1; rc == 0 && i < a->header.lists; i++)
        rc = take_list(a, i, (me + n - i) % n, a->lists[i]);
    return rc;
}

static int seal(struct apply *a)
{
    struct vel_fs *fs = a->set->fs;
    const struct vel_red_header *before = a->listing.recorded;
    int rc = 0;

    if (before && before->boot && !a->header.boot)
        rc = vel_redfile_sync_files(fs, a->set->dir, before, a->err);
    if (rc == 0)
        rc = vel_redfile_seal(&a->member, &a->header, a->err);
    if (rc == 0)
        rc = vel_fs_rename(fs, a->temporary, a->path, a->err);
    return rc < 0 || a->header.boot ? rc : vel_fs_sync_dir(fs, a->set->dir, a->err);
}

static void clear_before(struct apply *a)
{
    /* one that cannot be removed is older, and never chosen while this one can be made
     * whole */
    for (size_t i = 0; !a->set->id && i < a->listing.before.n; i++)
        vel_fs_unlink(a->set->fs, vel_redfile_at(&a->listing.before, i)->path, NULL);
    vel_redfile_sweep(a->set->fs, a->set->dir, a->set->label, a->set->rank);
}

/* It failed; what is left of the new encoding goes. But when members were lost in the
 * last agreement, it may have told some of them that the encoding stands, and those
 * have removed the one before: then theirs is the only one, and needs this member's
 * part. A communicator that still agrees has not broken, so that everybody has failed.
 * What an earlier attempt has left here may be told of already, and stays. */
static void clear_new(struct apply *a)
{
    bool all_failed = vel_comm_agree(a->set->comm, 0, NULL) == 0;

    if (a->temporary)
        vel_fs_unlink(a->set->fs, a->temporary, NULL);
    if (a->path && all_failed && !a->stood)
        vel_fs_unlink(a->set->fs, a->path, NULL);
}

/* A set that fails stands aside until all have done theirs. */
static int run(struct apply *a)
{
    int rc = encode(a);

    if (rc == 0)
        rc = sum_up(a);
    rc = tell(a, rc);
    if (a->set->id) /* what stands under this name goes only when all are right */
        rc = vel_comm_agree(a->set->comm, rc, a->err);
    if (rc == 0)
        rc = seal(a);
    rc = agree_all(a, rc, NULL, 0);
    if (rc == 0)
        clear_before(a);
    vel_member_close(&a->member);
    if (rc < 0)
        clear_new(a);
    return rc;
}

static void release(struct apply *a)
{
    vel_listing_fini(&a->listing);
    vel_older_fini(&a->older);
    if (a->has_plan)
        vel_plan_fini(&a->plan);
    if (a->has_header)
        vel_red_header_fini(&a->header);
    for (size_t i = 0; i < VEL_SET_MAX; i++)
        free(a->lists[i]);
    free(a->list_sizes);
    free(a->name);
    free(a->path);
    free(a->temporary);
}

/* The list is made, or rc says why not. */
static int go_on(struct apply *a, int rc, char **ret_name)
{
    a->list_sizes = calloc((size_t)a->set->comm->size, sizeof *a->list_sizes);
    if (rc == 0 && !a->list_sizes)
        rc = vel_out_of_memory(a->err, "protecting files");
    rc = meet(a, prepare(a, rc));
    if (rc == 0)
        rc = run(a);
    if (rc == 0 && ret_name) {
        *ret_name = a->name;
        a->name = NULL;
    }
    rc = rc < 0 ? vel_wrap(a->err, rc, "protecting the files in %s", a->set->dir) : 0;
    release(a);
    return rc;
}

int vel_red_apply_after(const struct vel_red_set *set, int rc, char *const *names,
                        size_t n, const void *descriptor, size_t descriptor_len,
                        char **ret_name, struct vel_err *err)
{
    struct apply a = {.set = set, .older.set = set, .err = err};

    vel_listing_init(&a.listing, set);
    if (rc == 0)
        rc = vel_listing_make(&a.listing, names, n, descriptor, descriptor_len, err);
    return go_on(&a, rc, ret_name);
}

int vel_red_apply_again(const struct vel_red_set *set, int rc, const void *descriptor,
                        size_t descriptor_len, char **ret_name, struct vel_err *err)
{
    struct apply a = {.set = set, .older.set = set, .err = err};

    vel_listing_init(&a.listing, set);
    if (rc == 0)
        rc = vel_listing_again(&a.listing, descriptor, descriptor_len, err);
    return go_on(&a, rc, ret_name);
}

int vel_red_apply(const struct vel_red_set *set, char *const *names, size_t n,
                  const void *descriptor, size_t descriptor_len, char **ret_name,
                  struct vel_err *err)
{
    return vel_red_apply_after(set, 0, names, n, descriptor, descriptor_len, ret_name,
                               err);
}
