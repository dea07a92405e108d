/* SPDX-License-Identifier: BSD-3-Clause */
/* What a lost member must be told before it can be rebuilt: the set, its own list of
 * files, and the lists that it keeps for others. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "red/recover.h"

enum {
    BRIEF_HEADER = 0xffffffff
}; /* a parcel with a header; else with the list of that member */

/* the lowest member that is there: it tells the others what the set is */
static size_t root_of(const struct vel_recover *r)
{
    size_t root = 0;

    while (root < r->n && r->is_lost[root])
        root++;
    return root;
}

/* who keeps the list of a member: itself, else the next one that is there */
static size_t holder_of(const struct vel_recover *r, size_t of, size_t lists)
{
    for (size_t i = 0; i < lists; i++)
        if (!r->is_lost[(of + i) % r->n])
            return (of + i) % r->n;
    return r->n;
}

static int put_parcel(struct vel_vec *out, size_t peer, uint32_t what,
                      const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_parcel parcel = {
        .peer = (int)peer, .bytes = malloc(4 + len), .len = 4 + len};
    struct vel_le_writer w;

    if (!parcel.bytes || !vel_vec_push(out, &parcel)) {
        free(parcel.bytes);
        return vel_out_of_memory(err, "exchanging lists of files");
    }
    vel_le_write_init(&w, parcel.bytes, parcel.len);
    vel_le_put32(&w, what);
    vel_le_put_bytes(&w, bytes, len);
    return 0;
}

static int put_list(struct vel_recover *r, struct vel_vec *out, size_t peer, size_t of)
{
    const struct vel_manifest *list = &r->header.list[(r->me + r->n - of) % r->n];
    size_t len = vel_manifest_encoded_size(list);
    uint8_t *bytes = malloc(len);
    struct vel_le_writer w;
    int rc;

    if (!bytes)
        return vel_out_of_memory(r->err, "exchanging lists of files");
    vel_le_write_init(&w, bytes, len);
    vel_manifest_encode(list, &w);
    rc = put_parcel(out, peer, (uint32_t)of, bytes, len, r->err);
    free(bytes);
    return rc;
}

/* what I send to members that are lost */
static int pack(struct vel_recover *r, struct vel_vec *out)
{
    struct vel_buf bytes;
    size_t root = root_of(r);
    int rc = 0;

    vel_buf_init(&bytes);
    if (r->me == root)
        rc = vel_red_header_encode(&r->header, &bytes, r->err);
    for (size_t lost = 0; rc == 0 && lost < r->n; lost++) {
        if (!r->is_lost[lost])
            continue;
        if (r->me == root)
            rc = put_parcel(out, lost, BRIEF_HEADER, bytes.data, bytes.len, r->err);
        for (size_t i = 0; rc == 0 && i < r->header.lists; i++) {
            size_t of = (lost + r->n - i) % r->n;

            if (holder_of(r, of, r->header.lists) == r->me)
                rc = put_list(r, out, lost, of);
        }
    }
    vel_buf_fini(&bytes);
    return rc;
}

static int copy_layout(const struct vel_layout *from, struct vel_layout *to,
                       struct vel_err *err)
{
    return vel_layout_init(to, from->scheme, from->n, from->m, from->lofi_size, err);
}

/* my header, as the root's tells it */
static int unpack_header(struct vel_recover *r, const uint8_t *bytes, size_t len)
{
    struct vel_red_header theirs;
    struct vel_layout layout;
    uint64_t size, payload;
    int rc = vel_red_header_peek(bytes, len, &size, &payload, r->err);

    if (rc == 0)
        rc = vel_red_header_decode(bytes, len, len + payload, &theirs, r->err);
    if (rc < 0)
        return rc;
    rc = copy_layout(&theirs.layout, &layout, r->err);
    if (rc == 0)
        rc = vel_red_header_init(&r->header, &layout, (uint32_t)r->me, r->err);
    if (rc == 0) {
        r->has_header = true;
        memcpy(r->header.id, theirs.id, sizeof theirs.id);
        r->header.sequence = theirs.sequence;
        r->header.set = theirs.set;
        r->header.sets = theirs.sets;
    }
    vel_red_header_fini(&theirs);
    return rc;
}

static int unpack_list(struct vel_recover *r, size_t of, struct vel_le_reader *reader)
{
    size_t i = (r->me + r->n - of) % r->n;
    struct vel_manifest manifest;

    if (of >= r->n || i >= r->header.lists)
        return vel_fail(r->err, VEL_ECORRUPT, "a list of files that nobody asked for");
    int rc = vel_manifest_decode(reader, &manifest, r->err);
    if (rc == 0) {
        vel_manifest_fini(&r->header.list[i]);
        r->header.list[i] = manifest;
    }
    return rc;
}

static int unpack(struct vel_recover *r, const struct vel_vec *in)
{
    int rc = 0;

    for (int pass = 0; pass < 2; pass++) /* the header before the lists */
        for (size_t i = 0; rc == 0 && i < in->n; i++) {
            const struct vel_parcel *parcel = (struct vel_parcel *)in->items + i;
            struct vel_le_reader reader;

            vel_le_read_init(&reader, parcel->bytes, parcel->len);
            uint32_t what = vel_le_get32(&reader);
            if (pass == 0 && what == BRIEF_HEADER && !r->has_header)
                rc = unpack_header(r, reader.at, reader.left);
            else if (pass == 1 && what != BRIEF_HEADER && r->has_header)
                rc = unpack_list(r, what, &reader);
        }
    if (rc == 0 && (!r->has_header ||
                    r->header.list[0].total != r->header.layout.lofi_size[r->me]))
        rc = vel_fail(r->err, VEL_ECORRUPT,
                      "the list of this member's files did not arrive");
    return rc;
}

/* a copy of what my redundancy file says, or what the others say of me */
static int own_header(struct vel_recover *r)
{
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = vel_red_header_encode(&r->mine->header, &bytes, r->err);
    if (rc == 0)
        rc = vel_red_header_decode(
            bytes.data, bytes.len,
            bytes.len +
                vel_layout_payload(&r->mine->header.layout, r->mine->header.member),
            &r->header, r->err);
    r->has_header = rc == 0;
    vel_buf_fini(&bytes);
    return rc;
}

int vel_recover_brief(struct vel_recover *r)
{
    struct vel_vec out, in;
    int rc = 0, broken;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    vel_vec_init(&in, sizeof(struct vel_parcel));
    if (!r->is_lost[r->me]) {
        rc = own_header(r);
        if (rc == 0)
            rc = pack(r, &out);
    }
    rc = vel_comm_agree(r->set->comm, rc, r->err);
    if (rc == 0) {
        broken = vel_comm_exchange(r->set->comm, &out, &in, r->err);
        rc = broken;
        if (rc == 0 && r->is_lost[r->me])
            rc = unpack(r, &in);
        if (broken == 0)
            rc = vel_comm_agree(r->set->comm, rc, r->err);
    }
    vel_parcels_fini(&out);
    vel_parcels_fini(&in);
    return rc;
}
