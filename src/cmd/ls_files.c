/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of datasets: where their bytes are, and whether they are right. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/path.h"
#include "cmd/ls.h"
#include "cmd/tool.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "red/redfile.h"

enum { READ_AT_ONCE = 1 << 20 };

/* --- bytes --- */

/* Progress of --verify, for a person who waits. */
struct progress {
    bool is_shown;
    uint64_t done, begun, shown;
};

static struct progress progress;

void vel_ls_progress(uint64_t more)
{
    uint64_t now = vel_clock_monotonic(vel_clock_system());
    double seconds = (double)(now - progress.begun) / (double)VEL_CLOCK_S;

    progress.done += more;
    if (!progress.is_shown || now - progress.shown < VEL_CLOCK_S / 5)
        return;
    progress.shown = now;
    vel_tool_progress("checked %.1f MiB, %.1f MiB/s", (double)progress.done / 1048576,
                      (double)progress.done / 1048576 / (seconds > 0 ? seconds : 1));
}

/* CRC-32C of [at, at+len) of an open file. */
static int sum_range(struct vel_fs *fs, int fd, const char *path, uint64_t at,
                     uint64_t len, uint32_t *ret_crc, struct vel_err *err)
{
    static char bytes[READ_AT_ONCE];
    uint32_t crc = 0;
    int rc = 0;

    while (rc == 0 && len > 0) {
        size_t some = len < sizeof bytes ? (size_t)len : sizeof bytes;

        rc = vel_fs_read_at(fs, fd, bytes, some, (off_t)at, path, err);
        if (rc == 0)
            crc = vel_crc32c(crc, bytes, some);
        at += some;
        len -= some;
        vel_ls_progress(some);
    }
    *ret_crc = crc;
    return rc;
}

static int open_regular(struct vel_fs *fs, const char *path, int *ret_fd,
                        struct stat *ret, struct vel_err *err)
{
    int rc = vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, ret_fd, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_stat(fs, *ret_fd, path, ret, err);
    if (rc == 0 && !S_ISREG(ret->st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
    if (rc < 0)
        vel_fs_close(fs, *ret_fd, path, NULL);
    return rc;
}

void vel_ls_blame(struct vel_ls_file *file, enum vel_ls_health health, const char *why)
{
    file->health = health;
    free(file->why);
    file->why = vel_ls_copy(why);
}

static void read_bytes(struct vel_ls *ls, struct vel_ls_file *file, int fd)
{
    struct vel_err err = {0};
    uint32_t crc;

    if (sum_range(ls->fs, fd, file->path, file->at, file->size, &crc, &err) < 0)
        vel_ls_blame(file, VEL_LS_UNREAD, err.text);
    else if (crc != file->crc)
        vel_ls_blame(file, VEL_LS_CORRUPT,
                     "its bytes are not those that were recorded");
    else
        file->health = VEL_LS_RIGHT;
}

/* Look at what file->path has. */
static void look_at(struct vel_ls *ls, struct vel_ls_file *file)
{
    struct vel_err err = {0};
    struct stat st;
    char why[100];
    int fd, rc = open_regular(ls->fs, file->path, &fd, &st, &err);

    if (rc < 0) {
        if (rc == VEL_ENOENT)
            vel_ls_blame(file, VEL_LS_MISSING, "it is not there");
        else
            vel_ls_blame(file, VEL_LS_UNREAD, err.text);
        return;
    }
    if (file->is_contained ? (uint64_t)st.st_size < file->at + file->size
                           : (uint64_t)st.st_size != file->size) {
        snprintf(why, sizeof why, "it has %" PRIu64 " bytes, and had %" PRIu64,
                 (uint64_t)st.st_size, file->at + file->size);
        vel_ls_blame(file, VEL_LS_SHORT, why);
    } else if (ls->options->verify && file->has_crc) {
        read_bytes(ls, file, fd);
    }
    vel_fs_close(ls->fs, fd, file->path, NULL);
}

static bool is_good(const struct vel_ls_file *file)
{
    return file->health == VEL_LS_THERE || file->health == VEL_LS_RIGHT;
}

/* --- in a cache --- */

static struct vel_stock *stock_of(struct vel_ls_unit *unit, const char *node,
                                  const struct vel_part *part, int64_t index)
{
    for (size_t i = 0; i < unit->nodes.n; i++) {
        struct vel_inventory *in = vel_vec_at(&unit->nodes, i);

        if (strcmp(in->node, node) != 0)
            continue;
        for (size_t k = 0; k < in->held.n; k++) {
            struct vel_stock *held = vel_vec_at(&in->held, k);

            if (held->id == part->id && held->rank == part->rank &&
                held->index == index)
                return held;
        }
    }
    return NULL;
}

/* The encoding counts no more: its part has to be rebuilt. */
void vel_ls_damaged(struct vel_stock *stock, const uint8_t *id)
{
    for (size_t i = 0; stock && i < stock->encodings.n; i++) {
        struct vel_stock_encoding *e = vel_vec_at(&stock->encodings, i);

        if (!id || memcmp(e->id, id, sizeof e->id) == 0)
            e->is_whole = false;
    }
}

/* The parity, by the checksums in its header. */
static void check_payload(struct vel_ls *ls, struct vel_ls_file *file,
                          const struct vel_red_header *header)
{
    uint64_t at = vel_red_header_size(header), segment = UINT64_C(1)
                                                         << header->crc_shift;
    struct vel_err err = {0};
    struct stat st;
    uint32_t crc;
    int fd, rc = open_regular(ls->fs, file->path, &fd, &st, &err);

    if (rc < 0) {
        vel_ls_blame(file, VEL_LS_UNREAD, err.text);
        return;
    }
    for (size_t i = 0; i < header->crcs && !file->why; i++) {
        uint64_t left = file->size - at, len = left < segment ? left : segment;

        rc = sum_range(ls->fs, fd, file->path, at, len, &crc, &err);
        if (rc < 0)
            vel_ls_blame(file, VEL_LS_UNREAD, err.text);
        else if (crc != header->payload_crc[i])
            vel_ls_blame(file, VEL_LS_CORRUPT, "its parity is not what was recorded");
        at += len;
    }
    if (!file->why)
        file->health = VEL_LS_RIGHT;
    vel_fs_close(ls->fs, fd, file->path, NULL);
}

struct vel_ls_file *vel_ls_add_file(struct vel_ls_unit *unit, int64_t id, int rank,
                                    const char *name)
{
    struct vel_ls_file *file = vel_ls_push(&unit->files, NULL);

    file->id = id;
    file->rank = rank;
    file->index = -1;
    file->name = vel_ls_copy(name);
    return file;
}

struct part_at_hand {
    struct vel_ls *ls;
    struct vel_ls_unit *unit;
    const struct vel_part *part;
    const char *node, *dir;
    int64_t index;
    struct vel_stock *stock;
};

/* The files of the newest list; the others list the same. */
static void add_listed(struct part_at_hand *p, const struct vel_red_header *header)
{
    const struct vel_manifest *list = &header->list[0];

    for (size_t i = 0; i < list->files.n; i++) {
        const struct vel_red_file *f = vel_manifest_file(list, i);
        struct vel_ls_file *file =
            vel_ls_add_file(p->unit, p->part->id, p->part->rank, f->name);

        file->index = p->index;
        file->node = p->node;
        file->path = vel_ls_join(p->dir, f->name);
        file->size = f->size;
        file->crc = f->crc;
        file->has_crc = !f->is_dated;
        look_at(p->ls, file);
        if (!is_good(file))
            vel_ls_damaged(p->stock, NULL);
    }
}

static void add_redundancy(struct part_at_hand *p, const struct vel_redfile *red)
{
    const char *name = vel_path_base(red->path);
    struct vel_ls_file *file =
        vel_ls_add_file(p->unit, p->part->id, p->part->rank, name);
    struct stat st;

    file->index = p->index;
    file->node = p->node;
    file->path = vel_ls_copy(red->path);
    file->is_redundancy = true;
    if (vel_fs_lstat(p->ls->fs, red->path, &st, NULL) == 0)
        file->size = (uint64_t)st.st_size;
    if (p->ls->options->verify)
        check_payload(p->ls, file, &red->header);
    if (!is_good(file))
        vel_ls_damaged(p->stock, red->header.id);
}

static void read_part(struct part_at_hand *p)
{
    struct vel_vec red = {0};

    if (vel_redfile_scan(p->ls->fs, p->dir, VEL_CACHE_LABEL, (uint32_t)p->part->rank,
                         &red, NULL) < 0)
        return;
    if (red.n > 0)
        add_listed(p, &vel_redfile_at(&red, 0)->header);
    for (size_t i = 0; i < red.n; i++)
        add_redundancy(p, vel_redfile_at(&red, i));
    vel_redfiles_fini(&red);
}

static void read_home(struct vel_ls *ls, struct vel_ls_unit *unit,
                      const struct vel_ls_home *home)
{
    struct vel_vec parts;

    vel_vec_init(&parts, sizeof(struct vel_part));
    vel_cache_scan(ls->fs, home->path, &parts, NULL);
    for (size_t i = 0; i < parts.n; i++) {
        struct part_at_hand p = {.ls = ls, .unit = unit, .node = home->node};
        char *dir;

        p.part = vel_vec_at(&parts, i);
        if (!vel_ls_wants(ls, p.part->id) ||
            !vel_number_behind(vel_path_base(p.part->level), "index.", &p.index))
            continue;
        p.stock = stock_of(unit, p.node, p.part, p.index);
        dir = vel_ls_need(vel_cache_rank_dir(p.part->level, p.part->id, p.part->rank));
        p.dir = dir;
        read_part(&p);
        free(dir);
    }
    vel_parts_fini(&parts);
}

/* --- on no node --- */

static bool is_held(const struct vel_ls_unit *unit, int64_t id, int rank)
{
    for (size_t i = 0; i < unit->nodes.n; i++) {
        const struct vel_inventory *in = vel_vec_at(&unit->nodes, i);

        for (size_t k = 0; k < in->held.n; k++) {
            const struct vel_stock *held = vel_vec_at(&in->held, k);

            if (held->id == id && held->rank == rank)
                return true;
        }
    }
    return false;
}

static bool is_listed(const struct vel_ls_unit *unit, int64_t id, int rank,
                      const char *name)
{
    for (size_t i = 0; i < unit->files.n; i++) {
        const struct vel_ls_file *file = vel_ls_file_at(unit, i);

        if (file->id == id && file->rank == rank && strcmp(file->name, name) == 0)
            return true;
    }
    return false;
}

/* Names of lost parts, as their neighbours list them. */
static void add_lost(struct vel_ls_unit *unit, const struct vel_stock *held)
{
    const struct vel_stock_encoding *e =
        held->encodings.n > 0 ? vel_vec_at(&held->encodings, 0) : NULL;

    for (size_t i = 1; e && i < e->lists.n; i++) {
        const struct vel_stock_list *list = vel_vec_at(&e->lists, i);

        for (size_t k = 0; !is_held(unit, held->id, list->rank) && k < list->files.n;
             k++) {
            const struct vel_stock_file *f = vel_vec_at(&list->files, k);
            struct vel_ls_file *file;

            if (is_listed(unit, held->id, list->rank, f->name))
                continue;
            file = vel_ls_add_file(unit, held->id, list->rank, f->name);
            file->index = held->index;
            file->size = f->size;
            file->health = VEL_LS_LOST;
        }
    }
}

/* --- on the prefix --- */

static void add_published(struct vel_ls *ls, struct vel_ls_unit *unit, int64_t id,
                          const struct vel_listed *listed, bool *ret_is_damaged)
{
    struct vel_ls_file *file = vel_ls_add_file(unit, id, listed->rank, listed->name);

    file->size = listed->size;
    file->crc = listed->crc;
    file->has_crc = true;
    file->is_contained = listed->container >= 0;
    file->at = file->is_contained ? listed->offset : 0;
    if (file->is_contained)
        file->path = vel_ls_need(vel_container_path(unit->dir, id, listed->container));
    else if (vel_cachename_path(unit->prefix, listed->name, &file->path, NULL) < 0) {
        vel_ls_blame(file, VEL_LS_UNREAD, "no path has this name");
        *ret_is_damaged = true;
        return;
    }
    look_at(ls, file);
    *ret_is_damaged |= !is_good(file);
}

static void read_entry(struct vel_ls *ls, struct vel_ls_unit *unit,
                       const struct vel_entry *entry)
{
    int64_t id = entry->dataset.id;
    bool is_damaged = false;

    for (int l = 0; l < entry->lists; l++) {
        struct vel_err err = {0};
        struct vel_vec files;

        if (vel_index_files(unit->index, id, l, &files, &err) < 0) {
            vel_tool_say("%s", err.text);
            is_damaged = true;
            continue;
        }
        for (size_t i = 0; i < files.n; i++)
            add_published(ls, unit, id, vel_vec_at(&files, i), &is_damaged);
        vel_filelist_fini(&files);
    }
    if (is_damaged)
        vel_ls_push(&unit->damaged, &id);
}

/* --- all --- */

static int by_place(const void *a, const void *b)
{
    const struct vel_ls_file *x = a, *y = b;

    if (x->id != y->id)
        return x->id > y->id ? -1 : 1;
    if ((x->index < 0) != (y->index < 0))
        return x->index < 0 ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->is_redundancy != y->is_redundancy)
        return x->is_redundancy ? 1 : -1;
    return strcmp(x->name, y->name);
}

void vel_ls_files(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    progress = (struct progress){
        .is_shown = ls->options->verify && !ls->options->quiet && isatty(STDERR_FILENO),
        .begun = vel_clock_monotonic(vel_clock_system())};
    for (size_t i = 0; i < unit->homes.n; i++)
        read_home(ls, unit, vel_vec_at(&unit->homes, i));
    vel_ls_away(ls, unit);
    for (size_t i = 0; i < unit->nodes.n; i++) {
        const struct vel_inventory *in = vel_vec_at(&unit->nodes, i);

        for (size_t k = 0; k < in->held.n; k++) {
            const struct vel_stock *held = vel_vec_at(&in->held, k);

            if (vel_ls_wants(ls, held->id))
                add_lost(unit, held);
        }
    }
    for (size_t i = 0; i < unit->evidence.entries.n; i++) {
        const struct vel_entry *entry = vel_vec_at(&unit->evidence.entries, i);

        if (entry->place == VEL_ON_PREFIX && !entry->replaced &&
            vel_ls_wants(ls, entry->dataset.id))
            read_entry(ls, unit, entry);
    }
    vel_ls_opened_files(ls, unit);
    vel_vec_sort(&unit->files, by_place);
    for (size_t i = 0; i < unit->files.n; i++)
        ls->has_failed |= ls->options->verify && vel_ls_file_at(unit, i)->why != NULL;
    if (progress.is_shown)
        vel_tool_progress(NULL);
}
