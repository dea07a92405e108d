/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "meta/paths.h"
#include "pull/pull_in.h"
#include "red/redfile.h"
#include "view/batch.h"
#include "view/view_in.h"

/* --- where it goes --- */

static int set_level(struct vel_pulling *p, const char *home, struct vel_err *err)
{
    const struct vel_view_dataset *d = p->what->dataset;
    struct vel_buf fresh;

    free(p->level);
    free(p->dir);
    free(p->fresh);
    vel_buf_init(&fresh);
    p->level = vel_path_level(home, d->index);
    p->dir = p->level ? vel_cache_rank_dir(p->level, d->about.id, p->what->rank) : NULL;
    if (p->dir)
        vel_buf_printf(&fresh, "%s" VEL_CACHE_NEW, p->dir);
    p->fresh = p->dir ? vel_buf_take(&fresh, NULL) : NULL;
    return p->fresh ? 0 : vel_out_of_memory(err, "pulling a part");
}

/* The dataset's directory here, ours alone. */
static int make_room(struct vel_pulling *p, struct vel_err *err)
{
    char *dir = vel_cache_dataset_dir(p->level, p->what->dataset->about.id);
    int rc = dir ? vel_cache_make_dir(p->how->fs, dir, err)
                 : vel_out_of_memory(err, "pulling a part");

    free(dir);
    p->is_spoilt |= rc < 0;
    return rc;
}

/* What other encodings of the same files are there stay. */
static void keep_redundancy(struct vel_pulling *p)
{
    struct vel_vec names = {0};

    if (vel_fs_list(p->how->fs, p->dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *from = vel_path_join(p->dir, name);
        char *to = vel_path_join(p->fresh, name);

        if (from && to && vel_red_is_file_name(name) && !vel_fs_exists(p->how->fs, to))
            vel_fs_link(p->how->fs, from, to, NULL);
        free(from);
        free(to);
    }
    vel_fs_names_fini(&names);
}

int vel_pull_put_dir(struct vel_pulling *p, struct vel_err *err)
{
    struct vel_fs *fs = p->how->fs;
    int rc;

    keep_redundancy(p);
    rc = vel_fs_remove_tree(fs, p->dir, err);
    if (rc == 0)
        rc = vel_fs_rename(fs, p->fresh, p->dir, err);
    if (rc == 0)
        rc = vel_fs_sync_parent(fs, p->dir, err);
    return rc < 0 ? rc
                  : vel_cache_set_aside(fs, p->level, p->what->dataset->about.id, false,
                                        err);
}

/* Is what a redundancy file says of this part? */
static int check_map(const struct vel_pulling *p, const struct vel_red_header *header,
                     struct vel_err *err)
{
    const struct vel_buf *brief = &header->list[0].descriptor;
    int64_t id = p->what->dataset->about.id;
    struct vel_filemap map;
    int rc = vel_filemap_decode(brief->data, brief->len, &map, err);

    if (rc < 0)
        return rc;
    if (map.rank != p->what->rank || map.dataset.id != id)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "its file map is of rank %d of dataset %" PRId64, map.rank,
                      map.dataset.id);
    vel_filemap_fini(&map);
    return rc;
}

int vel_pull_put(struct vel_pulling *p, const struct vel_red_header *header,
                 struct vel_err *err)
{
    int rc = check_map(p, header, err);

    return rc < 0 ? rc : vel_pull_put_dir(p, err);
}

/* --- the first way --- */

/* Is this part whole, every byte of it, or as far as its sizes tell? */
static int verify(struct vel_pulling *p, const struct vel_redfile *redfile,
                  struct vel_err *err)
{
    const struct vel_red_header *header = &redfile->header;
    struct vel_member member;
    int rc = vel_redfile_check_files(p->how->fs, p->dir, header, err);

    if (p->how->trusts_sizes)
        return rc;
    if (rc == 0)
        rc = vel_member_open(&member, p->how->fs, p->dir, redfile->path,
                             vel_red_header_size(header), header, NULL, VEL_MEMBER_READ,
                             err);
    if (rc < 0)
        return rc;
    rc = vel_member_read_rest(&member, err);
    if (rc == 0)
        rc = vel_member_check_crcs(&member, header, err);
    p->are_files_right =
        rc == VEL_ECORRUPT && vel_member_check_files(&member, header, NULL) == 0;
    if (rc == 0)
        p->bytes += vel_lofi_size(member.lofi) + member.payload_size;
    vel_member_close(&member);
    return rc;
}

/* Of the encoding that the view names. */
static int look_in(struct vel_pulling *p, struct vel_err *err)
{
    struct vel_vec red = {0};
    int rc = vel_redfile_scan(p->how->fs, p->dir, VEL_CACHE_LABEL,
                              (uint32_t)p->what->rank, &red, err);
    const struct vel_redfile *redfile;

    if (rc < 0)
        return rc;
    redfile = vel_redfile_find(&red, p->what->dataset->encoding);
    if (redfile)
        rc = verify(p, redfile, err);
    else if (vel_fs_exists(p->how->fs, p->dir))
        rc = vel_fail(err, VEL_ECORRUPT, "%s lacks the checksums of its files", p->dir);
    else
        rc = vel_fail(err, VEL_ENOENT, "it is in no cache here");
    if (redfile && rc == VEL_ENOENT) /* one of its files */
        err->status = rc = VEL_ECORRUPT;
    if (rc == 0)
        rc = check_map(p, &redfile->header, err);
    vel_redfiles_fini(&red);
    return rc;
}

/* What is damaged is replaced where it lies, or it would be found again. */
int vel_pull_here(struct vel_pulling *p, struct vel_err *err)
{
    const struct vel_pull_how *how = p->how;
    const char *home = p->what->home;
    bool are_files_right = false;
    int rc;

    for (size_t i = 0; i < how->n_homes; i++) {
        struct vel_err found = {0};

        p->are_files_right = false;
        rc = set_level(p, how->homes[i], &found);
        if (rc == 0)
            rc = look_in(p, &found);
        if (rc == 0)
            return 0;
        if (rc != VEL_ENOENT && !p->damage.status) {
            home = how->homes[i];
            p->damage = found;
            are_files_right = p->are_files_right;
        }
    }
    p->are_files_right = are_files_right;
    rc = set_level(p, home, err);
    if (rc < 0)
        return rc;
    return p->damage.status ? vel_fail(err, p->damage.status, "%s", p->damage.text)
                            : vel_fail(err, VEL_ENOENT, "it is in no cache here");
}

/* --- all of them --- */

static bool is_over(int rc)
{
    return rc == 0 || rc == VEL_ECANCEL || rc == VEL_ENOMEM;
}

static void note(struct vel_pulling *p, const char *way, const struct vel_err *why)
{
    vel_buf_printf(&p->why, "%s%s: %s", p->why.len ? "; " : "", way, why->text);
}

/* Out of the caches of this node or of others. */
static int try_caches(struct vel_pulling *p, enum vel_pull_way *ret_way,
                      struct vel_err *err)
{
    static const struct {
        enum vel_pull_way way;
        const char *name;
        int (*pull)(struct vel_pulling *p, struct vel_err *err);
    } ways[] = {
        {VEL_PULL_HERE, "its own cache", vel_pull_here},
        {VEL_PULL_OWNER, "its owner", vel_pull_owner},
        {VEL_PULL_REBUILT, "the others of its set", vel_pull_rebuild},
    };
    const struct vel_dataset *about = &p->what->dataset->about;
    int rc = VEL_ENOENT;

    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !p->is_spoilt; i++) {
        struct vel_err why = {0};

        if (i == 1)
            vel_log(VEL_LOG_INFO,
                    "restoring dataset %" PRId64 " (%s %" PRId64 "): the part of rank "
                    "%d comes to this node",
                    about->id, about->name, about->version, p->what->rank);
        rc = i == 1 ? make_room(p, &why) : 0;
        if (rc == 0 && p->what->no_rebuild && ways[i].way == VEL_PULL_REBUILT)
            rc = vel_fail(&why, VEL_ENOENT, "they are not asked by one alone");
        else if (rc == 0)
            rc = ways[i].pull(p, &why);
        if (is_over(rc)) {
            *ret_way = ways[i].way;
            return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
        }
        note(p, ways[i].name, &why);
    }
    return rc;
}

static int try_all(struct vel_pulling *p, enum vel_pull_way *ret_way,
                   struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = VEL_ENOENT;

    if (p->set)
        rc = try_caches(p, ret_way, err);
    else
        rc = set_level(p, p->what->home, err) < 0 ? VEL_ENOMEM : VEL_ENOENT;
    if (is_over(rc))
        return rc;
    if (p->are_files_right) {
        *ret_way = VEL_PULL_HERE;
        return 0;
    }
    rc = vel_pull_prefix(p, ret_way, &why);
    if (rc < 0)
        note(p, "the prefix", &why);
    return is_over(rc) && rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
                                 : rc;
}

/* After a failure: what was begun goes, what was there stays. */
static void leave_nothing(struct vel_pulling *p)
{
    struct vel_fs *fs = p->how->fs;
    int64_t id = p->what->dataset->about.id;
    char *dir;

    if (!p->fresh)
        return;
    vel_fs_remove_tree(fs, p->fresh, NULL);
    dir = vel_cache_dataset_dir(p->level, id);
    if (dir && !vel_fs_exists(fs, p->dir))
        fs->ops->rmdir(fs, dir); /* unless there are others */
    free(dir);
}

/* What was lost or damaged and how it came back, or that it did not all come back. */
static void tell_mended(const struct vel_pulling *p, enum vel_pull_way way)
{
    const struct vel_dataset *about = &p->what->dataset->about;
    const char *lost = p->damage.status ? p->damage.text : "no node has it any more";

    if (way == VEL_PULL_HERE && p->damage.status)
        vel_log(VEL_LOG_WARN,
                "the redundancy of the part of rank %d of dataset %" PRId64
                " (%s %" PRId64
                ") is damaged and cannot be made again: %s; its files are as "
                "they were written",
                p->what->rank, about->id, about->name, about->version,
                vel_buf_text(&p->why));
    else if (way == VEL_PULL_REBUILT)
        vel_log(VEL_LOG_WARN,
                "restored the part of rank %d of dataset %" PRId64 " (%s %" PRId64
                "): %s; it was rebuilt from the other parts of its %s set",
                p->what->rank, about->id, about->name, about->version, lost,
                vel_scheme_name(p->what->dataset->scheme));
    else if (way != VEL_PULL_HERE && p->damage.status)
        vel_log(VEL_LOG_WARN,
                "restored the part of rank %d of dataset %" PRId64 " (%s %" PRId64
                "): %s; it was read from %s instead",
                p->what->rank, about->id, about->name, about->version, lost,
                way == VEL_PULL_OWNER ? "another node" : "the prefix");
}

/* It was pulled already, or is now: by one at a time. */
static int pull(struct vel_pulling *p, enum vel_pull_way *ret_way, struct vel_err *err)
{
    const struct vel_pull_how *how = p->how;
    const struct vel_pull *what = p->what;
    int rc;

    *ret_way = VEL_PULL_HERE;
    p->dir = vel_pulls_recall(how, what);
    if (p->dir)
        return 0;
    rc = try_all(p, ret_way, err);
    if (rc == 0)
        tell_mended(p, *ret_way);
    if (rc == 0 && how->pulls && *ret_way != VEL_PULL_NATIVE)
        vel_pulls_remember(how->pulls, what, p->dir);
    return rc;
}

int vel_pull(const struct vel_pull_how *how, const struct vel_pull *what,
             struct vel_pulled *ret, struct vel_err *err)
{
    struct vel_pulling p = {.how = how, .what = what};
    enum vel_pull_way way;
    size_t set;
    int rc = vel_pulls_enter(how->pulls, what, err);

    if (rc < 0)
        return rc;
    vel_buf_init(&p.why);
    if (what->dataset->is_cached &&
        vel_view_find_place(what->dataset, what->rank, &set, &p.place)) {
        p.set = vel_vec_at(&what->dataset->sets, set);
        p.set_number = (uint32_t)set;
    }
    rc = pull(&p, &way, err);
    if (rc == 0) {
        *ret = (struct vel_pulled){.way = way, .bytes = p.bytes};
        if (way != VEL_PULL_NATIVE) {
            ret->dir = p.dir;
            p.dir = NULL;
        }
    } else if (!is_over(rc)) {
        vel_fail(err, (enum vel_status)rc,
                 "the part of rank %d of dataset %" PRId64
                 " cannot be had on node %s: %s",
                 what->rank, what->dataset->about.id, how->node, vel_buf_text(&p.why));
    }
    if (rc < 0)
        leave_nothing(&p);
    vel_buf_fini(&p.why);
    free(p.level);
    free(p.dir);
    free(p.fresh);
    vel_pulls_leave(how->pulls, what);
    return rc;
}

void vel_pulled_fini(struct vel_pulled *pulled)
{
    free(pulled->dir);
    pulled->dir = NULL;
}

int vel_pull_check_part(struct vel_fs *fs, const char *home, int64_t rank,
                        struct vel_err *err)
{
    char *dir = vel_batch_numbered(home, "rank", rank);
    struct vel_vec red = {0};
    int rc = dir ? vel_redfile_scan(fs, dir, VEL_CACHE_LABEL, (uint32_t)rank, &red, err)
                 : vel_out_of_memory(err, "a part");

    if (rc == 0 && red.n == 0)
        rc = vel_fail(err, VEL_ENOENT, "%s lacks the list of its files", dir);
    if (rc == 0)
        rc = vel_redfile_check_files(fs, dir, &vel_redfile_at(&red, 0)->header, err);
    vel_redfiles_fini(&red);
    free(dir);
    return rc;
}
