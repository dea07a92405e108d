/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of which only the leaders of other nodes have told. With --verify they are read
 * through these, file by file, and so is their parity. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "cmd/ls.h"
#include "meta/cache.h"
#include "pull/pull_links.h"
#include "red/header.h"

enum { HEADER_USUAL = 64 << 10 };

/* A part at its node. */
struct away {
    struct vel_ls *ls;
    struct vel_ls_unit *unit;
    const char *node;
    struct vel_stock *held;
    struct vel_pull_source *source; /* NULL: it is not read */
};

static bool is_looked_at(const struct vel_ls_unit *unit, const char *node)
{
    for (size_t i = 0; i < unit->homes.n; i++)
        if (strcmp(((struct vel_ls_home *)vel_vec_at(&unit->homes, i))->node, node) ==
            0)
            return true;
    return false;
}

/* --- bytes --- */

/* One question, and its answer. */
static int get(struct away *a, unsigned what, const char *name, uint64_t at,
               uint32_t len, struct vel_get *ret)
{
    *ret = (struct vel_get){.node = a->node,
                            .want = {.dataset = a->held->id,
                                     .rank = a->held->rank,
                                     .what = what,
                                     .name = name,
                                     .at = at,
                                     .len = len},
                            .bytes = vel_ls_need(malloc(len)),
                            .rc = 1};
    if (a->source->ops->begin(a->source, ret, &ret->err) < 0)
        ret->rc = VEL_ELOST;
    while (ret->rc > 0)
        a->source->ops->next(a->source);
    if (ret->rc == 0)
        vel_ls_progress(ret->got);
    return ret->rc;
}

/* CRC-32C of [at, at+len) of a file of the part. */
static int sum(struct away *a, unsigned what, const char *name, uint64_t at,
               uint64_t len, uint32_t *ret_crc)
{
    uint32_t crc = 0;
    int rc = 0;

    while (rc == 0 && len > 0) {
        uint32_t some = len < VEL_WANT_MOST ? (uint32_t)len : VEL_WANT_MOST;
        struct vel_get one;

        rc = get(a, what, name, at, some, &one);
        if (rc == 0 && one.got == 0)
            rc = VEL_ECORRUPT;
        if (rc == 0) {
            crc = vel_crc32c(crc, one.bytes, one.got);
            at += one.got;
            len -= one.got;
        }
        free(one.bytes);
    }
    *ret_crc = crc;
    return rc;
}

/* What cannot be had stays away; that is no fault of its bytes. */
static void judge(struct vel_ls_file *file, int rc, uint32_t crc, const char *why)
{
    if (rc == 0 && crc == file->crc)
        file->health = VEL_LS_RIGHT;
    else if (rc == 0)
        vel_ls_blame(file, VEL_LS_CORRUPT, why);
    else if (rc != VEL_ELOST)
        vel_ls_blame(file, VEL_LS_UNREAD, "its node cannot read all of it");
}

/* --- a part --- */

static int read_header(struct away *a, const char *name, struct vel_red_header *ret)
{
    uint64_t header = 0, payload = 0;
    struct vel_get one;
    int rc = get(a, VEL_WANT_REDUNDANCY, name, 0, HEADER_USUAL, &one);

    if (rc == 0)
        rc = vel_red_header_peek(one.bytes, one.got, &header, &payload, NULL);
    if (rc == 0 && header > VEL_WANT_MOST)
        rc = VEL_EUNSUP;
    if (rc == 0 && header > one.got) {
        free(one.bytes);
        rc = get(a, VEL_WANT_REDUNDANCY, name, 0, (uint32_t)header, &one);
    }
    if (rc == 0)
        rc = one.got < header
                 ? VEL_ECORRUPT
                 : vel_red_header_decode(one.bytes, header, one.size, ret, NULL);
    free(one.bytes);
    return rc;
}

static void check_parity(struct away *a, const char *name,
                         const struct vel_red_header *header)
{
    struct vel_ls_file *file =
        vel_ls_add_file(a->unit, a->held->id, a->held->rank, name);
    uint64_t at = vel_red_header_size(header),
             left = vel_layout_payload(&header->layout, header->member);

    file->index = a->held->index;
    file->node = a->node;
    file->is_redundancy = true;
    file->size = at + left;
    file->health = VEL_LS_RIGHT;
    for (size_t i = 0; i < header->crcs && file->health == VEL_LS_RIGHT; i++) {
        uint64_t segment = UINT64_C(1) << header->crc_shift;
        uint32_t crc;
        int rc;

        segment = segment < left ? segment : left;
        rc = sum(a, VEL_WANT_REDUNDANCY, name, at, segment, &crc);
        file->crc = header->payload_crc[i];
        file->health = VEL_LS_AWAY;
        judge(file, rc, crc, "its parity is not what was recorded");
        at += segment;
        left -= segment;
    }
    file->crc = 0;
    if (file->why)
        vel_ls_damaged(a->held, header->id);
}

static void check_files(struct away *a, size_t first,
                        const struct vel_red_header *header)
{
    const struct vel_manifest *list = &header->list[0];

    for (size_t i = 0; i < list->files.n; i++) {
        const struct vel_red_file *f = vel_manifest_file(list, i);

        for (size_t k = first; k < a->unit->files.n; k++) {
            struct vel_ls_file *file = vel_vec_at(&a->unit->files, k);
            uint32_t crc;
            int rc;

            if (strcmp(file->name, f->name) != 0)
                continue;
            file->crc = f->crc;
            file->has_crc = true;
            rc = sum(a, VEL_WANT_FILE, f->name, 0, f->size, &crc);
            judge(file, rc, crc, "its bytes are not those that were recorded");
            if (file->why)
                vel_ls_damaged(a->held, NULL);
        }
    }
}

static void verify(struct away *a, size_t first, const struct vel_stock_encoding *e)
{
    struct vel_manifest list = {.rank = (uint32_t)a->held->rank};
    struct vel_red_header header = {
        .layout = {.scheme = e->scheme, .n = e->n, .m = e->m},
        .member = e->member,
        .set = e->set,
        .sets = e->sets,
        .list = &list};
    char *name;

    memcpy(header.id, e->id, sizeof header.id);
    name = vel_ls_need(vel_red_file_name(&header, VEL_CACHE_LABEL));
    if (read_header(a, name, &header) == 0) {
        check_files(a, first, &header);
        check_parity(a, name, &header);
        vel_red_header_fini(&header);
    }
    free(name);
}

static void add_part(struct away *a)
{
    const struct vel_stock_encoding *e = vel_vec_at(&a->held->encodings, 0);
    const struct vel_stock_list *own = vel_vec_at(&e->lists, 0);
    size_t first = a->unit->files.n;

    for (size_t k = 0; k < own->files.n; k++) {
        const struct vel_stock_file *f = vel_vec_at(&own->files, k);
        struct vel_ls_file *file =
            vel_ls_add_file(a->unit, a->held->id, a->held->rank, f->name);

        file->index = a->held->index;
        file->node = a->node;
        file->size = f->size;
        file->health = VEL_LS_AWAY;
    }
    if (a->source)
        verify(a, first, e);
}

/* --- a node --- */

static struct vel_pull_source *
source_of(const struct vel_ls *ls, const struct vel_ls_unit *unit, const char *node)
{
    struct vel_pull_source *source = NULL;

    for (size_t i = 0; ls->options->verify && !source && i < unit->tellers.n; i++) {
        const struct vel_ls_teller *teller = vel_vec_at(&unit->tellers, i);
        const struct vel_pull_links_of of = {
            .fs = ls->fs,
            .clock = vel_clock_system(),
            .dir = unit->dir,
            .launch = teller->launch,
            .node = ls->host->node,
            .limit_ms = (unsigned)(ls->conf->peer_timeout * 1000)};

        if (strcmp(teller->node, node) == 0)
            vel_pull_links_create(&of, &source, NULL);
    }
    return source;
}

void vel_ls_away(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->nodes.n; i++) {
        struct vel_inventory *in = vel_vec_at(&unit->nodes, i);
        struct away a = {.ls = ls, .unit = unit, .node = in->node};

        if (is_looked_at(unit, in->node))
            continue;
        a.source = source_of(ls, unit, in->node);
        for (size_t k = 0; k < in->held.n; k++) {
            a.held = vel_vec_at(&in->held, k);
            if (vel_ls_wants(ls, a.held->id) && a.held->encodings.n > 0)
                add_part(&a);
        }
        vel_pull_links_destroy(a.source);
    }
}
