/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "meta/cache.h"
#include "pull/pull_in.h"

enum { HEADER_USUAL = 64 << 10 }; /* asked for before it is known how long it is */

void vel_get_answer(struct vel_get *get, const struct vel_msg *answer)
{
    const struct vel_msg_give *give;

    if (!answer) {
        get->rc = vel_fail(&get->err, VEL_ELOST, "node %s is gone", get->node);
        return;
    }
    if (answer->kind == VEL_MSG_NO) {
        get->rc = vel_fail(&get->err, VEL_EREMOTE, "node %s: %s", get->node,
                           answer->u.no.text);
        return;
    }
    give = &answer->u.give;
    if (answer->kind != VEL_MSG_GIVE || give->bytes.len > get->want.len ||
        vel_crc32c(0, give->bytes.at, give->bytes.len) != give->crc) {
        get->rc = vel_fail(&get->err, VEL_ECORRUPT,
                           "node %s answers what was not asked", get->node);
        return;
    }
    memcpy(get->bytes, give->bytes.at, give->bytes.len);
    get->size = give->size;
    get->got = (uint32_t)give->bytes.len;
    get->rc = 0;
}

void vel_pull_begin(struct vel_pulling *p, const struct vel_pull_member *member,
                    struct vel_get *get)
{
    const struct vel_pull_how *how = p->how;
    const struct vel_giver here = {how->fs, how->homes, how->n_homes};

    get->node = member->node;
    get->rc = 1;
    get->want.dataset = p->what->dataset->about.id;
    get->want.rank = member->rank;
    if (member->is_here)
        get->rc =
            vel_give(&here, &get->want, get->bytes, &get->size, &get->got, &get->err);
    else if (how->source) {
        int rc = how->source->ops->begin(how->source, get, &get->err);

        get->rc = rc < 0 ? rc : get->rc;
    } else
        get->rc = vel_fail(&get->err, VEL_ELOST, "no other node can be asked");
}

/* One get, and its end. */
static int ask(struct vel_pulling *p, const struct vel_pull_member *member,
               struct vel_get *get, struct vel_err *err)
{
    vel_pull_begin(p, member, get);
    while (get->rc > 0)
        p->how->source->ops->next(p->how->source); /* no other one is under way */
    if (get->rc < 0)
        return vel_fail(err, (enum vel_status)get->rc, "%s", get->err.text);
    p->bytes += get->got;
    return vel_watch_step(p->how->watch, get->got)
               ? 0
               : vel_fail(err, VEL_ECANCEL, "told to stop");
}

/* Its first bytes tell how long the header is; it is read as far as the answers reach,
 * so that a lie costs no more memory than what was sent. */
static int read_header(struct vel_pulling *p, const struct vel_pull_member *member,
                       struct vel_buf *ret, uint64_t *ret_size, struct vel_err *err)
{
    uint64_t most = p->how->window ? p->how->window : VEL_PULL_WINDOW;
    uint64_t header = HEADER_USUAL, payload;
    int rc = 0;

    most = most < VEL_RED_PREFIX  ? VEL_RED_PREFIX
           : most > VEL_WANT_MOST ? VEL_WANT_MOST
                                  : most;
    while (rc == 0 && ret->len < header) {
        uint64_t left = header - ret->len;
        struct vel_get get = {.want = {.what = VEL_WANT_REDUNDANCY,
                                       .name = member->name,
                                       .at = ret->len,
                                       .len = (uint32_t)(left < most ? left : most)}};

        if (vel_buf_reserve(ret, get.want.len) < 0)
            return vel_out_of_memory(err, "pulling a part");
        get.bytes = ret->data + ret->len;
        rc = ask(p, member, &get, err);
        if (rc == 0 && get.got == 0)
            rc = vel_fail(err, VEL_ECORRUPT, "%s is cut short", member->name);
        if (rc < 0)
            break;
        if (ret->len == 0)
            rc = get.got < VEL_RED_PREFIX
                     ? vel_fail(err, VEL_ECORRUPT, "%s is cut short", member->name)
                     : vel_red_header_peek(get.bytes, get.got, &header, &payload, err);
        ret->len += get.got;
        *ret_size = get.size;
    }
    if (rc == 0)
        ret->len = header; /* what came behind it is payload */
    return rc;
}

/* Is this header that of the place that the view gives it? */
static int check_header(const struct vel_pulling *p,
                        const struct vel_pull_member *member, struct vel_err *err)
{
    const struct vel_red_header *h = &member->header;
    const struct vel_view_dataset *d = p->what->dataset;

    if (memcmp(h->id, d->encoding, sizeof h->id) == 0 && h->member == member->place &&
        h->layout.n == p->set->places.n && h->layout.m == p->set->m &&
        h->layout.scheme == d->scheme && h->set == p->set_number &&
        h->sets == d->sets.n && h->list[0].rank == (uint32_t)member->rank)
        return 0;
    return vel_fail(err, VEL_ECORRUPT, "%s is not the one that the view names",
                    member->name);
}

static int add_segments(struct vel_pull_member *member, struct vel_err *err)
{
    const struct vel_red_header *h = &member->header;
    const struct vel_manifest *list = &h->list[0];
    uint64_t left = vel_layout_payload(&h->layout, h->member), at = 0;
    int rc = 0;

    member->start = calloc(list->files.n + 1, sizeof *member->start);
    if (!member->start)
        return vel_out_of_memory(err, "pulling a part");
    for (size_t i = 0; rc == 0 && i < list->files.n; i++) {
        member->start[i] = at;
        at += vel_manifest_file(list, i)->size;
        rc = vel_crcmap_segment(&member->lofi_crc, vel_manifest_file(list, i)->size,
                                err);
    }
    member->start[list->files.n] = at;
    for (size_t i = 0; rc == 0 && i < h->crcs; i++) {
        uint64_t len = (uint64_t)1 << h->crc_shift;

        len = len < left ? len : left;
        rc = vel_crcmap_segment(&member->payload_crc, len, err);
        left -= len;
    }
    return rc;
}

/* What its redundancy file is called. */
static char *redundancy_name(const struct vel_pulling *p,
                             const struct vel_pull_member *member)
{
    const struct vel_view_dataset *d = p->what->dataset;
    struct vel_manifest list = {.rank = (uint32_t)member->rank};
    struct vel_red_header header = {
        .layout = {.scheme = d->scheme, .n = p->set->places.n, .m = p->set->m},
        .member = (uint32_t)member->place,
        .set = p->set_number,
        .sets = (uint32_t)d->sets.n,
        .list = &list,
    };

    memcpy(header.id, d->encoding, sizeof header.id);
    return vel_red_file_name(&header, VEL_CACHE_LABEL);
}

int vel_pull_member_open(struct vel_pulling *p, size_t place, const char *node,
                         struct vel_pull_member *ret, struct vel_err *err)
{
    struct vel_pull_member member = {
        .place = place,
        .rank = ((struct vel_view_place *)vel_vec_at(&p->set->places, place))->rank,
        .node = node,
        .is_here = !p->how->asks_itself && strcmp(node, p->how->node) == 0,
    };
    struct vel_buf bytes;
    uint64_t size = 0;
    int rc;

    vel_buf_init(&bytes);
    vel_crcmap_init(&member.lofi_crc);
    vel_crcmap_init(&member.payload_crc);
    member.name = redundancy_name(p, &member);
    rc = member.name ? read_header(p, &member, &bytes, &size, err)
                     : vel_out_of_memory(err, "pulling a part");
    if (rc == 0)
        rc = vel_red_header_decode(bytes.data, bytes.len, size, &member.header, err);
    member.has_header = rc == 0;
    member.begin = bytes.len;
    if (rc == 0)
        rc = check_header(p, &member, err);
    if (rc == 0)
        rc = add_segments(&member, err);
    vel_buf_fini(&bytes);
    if (rc < 0)
        vel_pull_member_close(&member);
    else
        *ret = member;
    return rc;
}

void vel_pull_member_close(struct vel_pull_member *member)
{
    if (member->has_header)
        vel_red_header_fini(&member->header);
    vel_crcmap_fini(&member->lofi_crc);
    vel_crcmap_fini(&member->payload_crc);
    free(member->start);
    free(member->name);
    *member = (struct vel_pull_member){0};
}

int vel_pull_member_check(struct vel_pull_member *member, struct vel_err *err)
{
    const struct vel_red_header *h = &member->header;
    uint32_t crc;

    vel_crcmap_close(&member->lofi_crc);
    vel_crcmap_close(&member->payload_crc);
    for (size_t i = 0; i < h->list[0].files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(&h->list[0], i);

        if (file->is_dated)
            continue;
        if (!vel_crcmap_get(&member->lofi_crc, i, &crc) || crc != file->crc)
            return vel_fail(err, VEL_ECORRUPT,
                            "%s of rank %d on node %s has changed (checksum mismatch)",
                            file->name, member->rank, member->node);
    }
    for (size_t i = 0; i < h->crcs; i++)
        if (!vel_crcmap_get(&member->payload_crc, i, &crc) || crc != h->payload_crc[i])
            return vel_fail(err, VEL_ECORRUPT,
                            "%s on node %s has changed (checksum mismatch)",
                            member->name, member->node);
    return 0;
}
