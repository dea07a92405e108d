/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a scheme. The steps, each of which all members take together:
 *
 *   list     this member's files as they are on disk
 *   greet    everybody's sizes, the encoding's identity, the next sequence number
 *   encode   the payloads, under temporary names
 *   tell     the lists with their checksums, to the next m members
 *   seal     headers, fsync, rename
 *   clear    what this encoding replaces, once all agree that it stands
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/map.h"
#include "base/path.h"
#include "red/exec.h"
#include "red/redfile.h"
#include "red/set.h"
#include "sys/entropy.h"

enum { GREETING = 16 + 3 * 8, TAG_LIST = 1, LABEL_MOST = 128 };

struct apply {
    const struct vel_red_set *set;
    struct vel_manifest own;
    struct vel_vec before; /* redundancy files of earlier encodings */
    struct vel_red_header header;
    bool has_header;
    size_t *list_sizes; /* encoded sizes of all members' lists */
    struct vel_member member;
    char *name;      /* of the redundancy file */
    char *path;      /* the same with the directory */
    char *temporary; /* and while it is made */
    struct vel_err *err;
};

static int check_label(const char *label, struct vel_err *err)
{
    if (!vel_path_is_inner(label) || strchr(label, '/') || strlen(label) > LABEL_MOST)
        return vel_fail(
            err, VEL_EINVAL,
            "'%s' cannot label redundancy files: it must be the beginning of a file's "
            "name, of %d bytes at most",
            label, LABEL_MOST);
    return 0;
}

static int add_files(struct apply *a, char *const *names, size_t n)
{
    struct vel_map *seen = vel_map_create();
    int rc = seen ? 0 : vel_out_of_memory(a->err, "listing files");

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (vel_map_has(seen, names[i]))
            rc = vel_fail(a->err, VEL_EINVAL, "%s: is in the list twice", names[i]);
        else if (vel_map_set(seen, names[i], NULL, NULL) < 0)
            rc = vel_out_of_memory(a->err, "listing files");
        else
            rc = vel_manifest_add(&a->own, a->set->fs, a->set->dir, names[i], a->err);
    }
    if (seen)
        vel_map_destroy(seen, NULL);
    return rc;
}

static int make_list(struct apply *a, char *const *names, size_t n,
                     const void *descriptor, size_t descriptor_len)
{
    const struct vel_red_set *set = a->set;
    int rc = check_label(set->label, a->err);

    if (rc < 0)
        return rc;
    if (descriptor_len > VEL_DESCRIPTOR_MAX)
        return vel_fail(a->err, VEL_EINVAL,
                        "a descriptor of %zu bytes: %d are the most", descriptor_len,
                        VEL_DESCRIPTOR_MAX);
    vel_buf_append(&a->own.descriptor, descriptor, descriptor_len);
    rc = vel_buf_status(&a->own.descriptor, a->err);
    if (rc == 0)
        rc = add_files(a, names, n);
    if (rc == 0)
        rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &a->before,
                              a->err);
    return rc;
}

/* everybody's lofi size, list size and newest sequence; the identity is that of member
 * 0 */
static int greet(struct apply *a, int rc)
{
    const struct vel_red_set *set = a->set;
    uint8_t mine[GREETING], id[VEL_ENCODING_ID] = {0};
    uint64_t sizes[VEL_SET_MAX], newest = 0;
    struct vel_layout layout;
    struct vel_buf all;
    struct vel_le_writer w;
    struct vel_le_reader r;
    size_t *lens = NULL, n = (size_t)set->comm->size;

    if (rc == 0 && n > VEL_SET_MAX)
        rc = vel_fail(a->err, VEL_EINVAL, "a set has %d members at most, not %zu",
                      VEL_SET_MAX, n);
    if (rc == 0)
        rc = vel_entropy(id, sizeof id, a->err);
    rc = vel_comm_agree(set->comm, rc, a->err);
    if (rc < 0)
        return rc;
    vel_buf_init(&all);
    vel_le_write_init(&w, mine, sizeof mine);
    vel_le_put_bytes(&w, id, sizeof id);
    vel_le_put64(&w, a->own.total);
    vel_le_put64(&w, vel_manifest_encoded_size(&a->own));
    vel_le_put64(&w, a->before.n ? vel_redfile_at(&a->before, 0)->header.sequence : 0);
    rc = vel_comm_allgather(set->comm, mine, sizeof mine, &all, &lens, a->err);
    free(lens);
    if (rc < 0)
        goto out;
    vel_le_read_init(&r, all.data, all.len);
    for (size_t i = 0; i < n; i++) {
        const void *bytes = vel_le_get_bytes(&r, sizeof id);

        if (i == 0 && bytes)
            memcpy(id, bytes, sizeof id);
        sizes[i] = vel_le_get64(&r);
        a->list_sizes[i] = vel_le_get64(&r);
        uint64_t sequence = vel_le_get64(&r);
        newest = sequence > newest ? sequence : newest;
    }
    rc = vel_layout_init(&layout, set->scheme, n, set->m, sizes, a->err);
    if (rc == 0)
        rc =
            vel_red_header_init(&a->header, &layout, (uint32_t)set->comm->rank, a->err);
    if (rc == 0) {
        a->has_header = true;
        memcpy(a->header.id, id, sizeof id);
        a->header.sequence = newest + 1;
        a->header.set = set->set;
        a->header.sets = set->sets;
        struct vel_manifest empty = a->header.list[0];
        a->header.list[0] = a->own;
        a->own = empty;
    }
out:
    vel_buf_fini(&all);
    return rc;
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
    for (size_t i = 0; i < a->header.lists; i++)
        sizes[i] = a->list_sizes[(a->header.member + n - i) % n];
    return vel_member_open(
        &a->member, set->fs, set->dir, a->temporary,
        vel_red_header_size_of(&a->header.layout, a->header.member, sizes), &a->header,
        NULL, VEL_MEMBER_ENCODE, a->err);
}

static int encode(struct apply *a)
{
    struct vel_plan plan;
    size_t memory = a->set->memory ? a->set->memory : VEL_EXEC_MEMORY_DEFAULT;
    int rc = vel_plan_encode(&a->header.layout, &plan, a->err);
    bool is_planned = rc == 0;

    /* a member without a plan cannot take part; one without its files can, with zeros
     */
    rc = vel_comm_agree(a->set->comm, rc, a->err);
    if (rc == 0) {
        rc = open_member(a);
        rc = vel_exec_comm(&a->header.layout, &plan, &a->member, a->set->comm, memory,
                           rc, a->err);
    }
    if (is_planned)
        vel_plan_fini(&plan);
    if (rc < 0)
        return rc;
    /* files that no block of the plan covers, as those of SINGLE, have not been read
     * yet */
    rc = vel_member_read_rest(&a->member, a->err);
    if (rc == 0)
        vel_member_store_crcs(&a->member, &a->header);
    return rc;
}

static int take_list(struct apply *a, size_t i, const void *bytes, size_t len)
{
    struct vel_le_reader r;
    struct vel_manifest manifest;

    vel_le_read_init(&r, bytes, len);
    int rc = vel_manifest_decode(&r, &manifest, a->err);
    if (rc < 0)
        return rc;
    vel_manifest_fini(&a->header.list[i]);
    a->header.list[i] = manifest;
    return 0;
}

/* This member's list goes to the next m members, theirs come from the m before it. */
static int tell(struct apply *a, int rc)
{
    struct vel_comm *comm = a->set->comm;
    struct vel_req *reqs[2 * VEL_SET_MAX] = {NULL};
    uint8_t *lists[VEL_SET_MAX] = {NULL};
    size_t n = a->header.layout.n, me = a->header.member, count = 0;
    size_t size = a->list_sizes[me];
    struct vel_le_writer w;
    int broken = 0;

    for (size_t i = 0; i < a->header.lists && rc == 0; i++) {
        lists[i] = malloc(a->list_sizes[(me + n - i) % n] + 1);
        if (!lists[i])
            rc = vel_out_of_memory(a->err, "exchanging lists of files");
    }
    rc = vel_comm_agree(comm, rc, a->err);
    if (rc < 0)
        goto out;
    vel_le_write_init(&w, lists[0], size);
    vel_manifest_encode(&a->header.list[0], &w);
    for (size_t i = 1; broken == 0 && i < a->header.lists; i++) {
        size_t from = (me + n - i) % n, to = (me + i) % n;

        broken = vel_comm_irecv(comm, (int)from, TAG_LIST, lists[i],
                                a->list_sizes[from], &reqs[count++], a->err);
        if (broken == 0)
            broken = vel_comm_isend(comm, (int)to, TAG_LIST, lists[0], size,
                                    &reqs[count++], a->err);
    }
    if (broken == 0)
        broken = vel_comm_wait_all(comm, reqs, count, a->err);
    vel_comm_cancel_all(comm, reqs, count);
    rc = broken;
    for (size_t i = 1; rc == 0 && i < a->header.lists; i++)
        rc = take_list(a, i, lists[i], a->list_sizes[(me + n - i) % n]);
out:
    for (size_t i = 0; i < a->header.lists; i++)
        free(lists[i]);
    return rc;
}

static int seal(struct apply *a)
{
    struct vel_fs *fs = a->set->fs;
    int rc = vel_redfile_seal(&a->member, &a->header, a->err);

    if (rc == 0)
        rc = vel_fs_rename(fs, a->temporary, a->path, a->err);
    return rc < 0 ? rc : vel_fs_sync_dir(fs, a->set->dir, a->err);
}

static void clear_before(struct apply *a)
{
    /* one that cannot be removed is older, and never chosen while this one can be made
     * whole */
    for (size_t i = 0; i < a->before.n; i++)
        vel_fs_unlink(a->set->fs, vel_redfile_at(&a->before, i)->path, NULL);
    vel_redfile_sweep(a->set->fs, a->set->dir, a->set->label, a->set->rank);
}

static int run(struct apply *a, char *const *names, size_t n, const void *descriptor,
               size_t descriptor_len)
{
    struct vel_comm *comm = a->set->comm;
    int rc = make_list(a, names, n, descriptor, descriptor_len);

    rc = greet(a, rc);
    rc = vel_comm_agree(comm, rc, a->err);
    if (rc == 0) {
        rc = encode(a);
        rc = tell(a, rc);
        if (rc == 0)
            rc = seal(a);
        rc = vel_comm_agree(comm, rc, a->err);
        if (rc == 0)
            clear_before(a);
    }
    vel_member_close(&a->member);
    if (rc < 0 && a->temporary) {
        vel_fs_unlink(a->set->fs, a->temporary, NULL);
        vel_fs_unlink(a->set->fs, a->path, NULL);
    }
    return rc;
}

int vel_red_apply(const struct vel_red_set *set, char *const *names, size_t n,
                  const void *descriptor, size_t descriptor_len, char **ret_name,
                  struct vel_err *err)
{
    struct apply a = {.set = set, .err = err};
    int rc;

    vel_manifest_init(&a.own, set->rank);
    vel_vec_init(&a.before, sizeof(struct vel_redfile));
    a.list_sizes = calloc((size_t)set->comm->size, sizeof *a.list_sizes);
    rc = vel_comm_agree(
        set->comm, a.list_sizes ? 0 : vel_out_of_memory(err, "protecting files"), err);
    if (rc == 0)
        rc = run(&a, names, n, descriptor, descriptor_len);
    if (rc == 0 && ret_name) {
        *ret_name = a.name;
        a.name = NULL;
    }
    vel_manifest_fini(&a.own);
    vel_redfiles_fini(&a.before);
    if (a.has_header)
        vel_red_header_fini(&a.header);
    free(a.list_sizes);
    free(a.name);
    free(a.path);
    free(a.temporary);
    return rc < 0 ? vel_wrap(err, rc, "protecting the files in %s", set->dir) : 0;
}
