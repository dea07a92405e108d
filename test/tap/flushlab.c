/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "comm/comm.h"
#include "meta/cache.h"
#include "meta/current.h"
#include "meta/paths.h"
#include "red/set.h"
#include "tap/files.h"
#include "jobs/batches.h"
#include "tap/flushlab.h"
#include "tap/indexlab.h"
#include "tap/tap.h"
#include "xfer/temp.h"

static void make_dirs(const char *path)
{
    if (vel_fs_make_dirs(vel_fs_posix(), path, 0700, NULL) < 0)
        bail_out("cannot make %s", path);
}

void flushlab_init(struct flushlab *lab, const char *name, size_t large)
{
    char path[700];

    *lab = (struct flushlab){.large = large};
    snprintf(lab->prefix, sizeof lab->prefix, "%s/prefix", tap_path(name));
    snprintf(lab->cache, sizeof lab->cache, "%s/index.0", tap_path(name));
    snprintf(lab->dir, sizeof lab->dir, "%s/.veloc", lab->prefix);
    snprintf(path, sizeof path, "%s/index", lab->dir);
    make_dirs(path);
    make_dirs(lab->cache);
}

/* --- files --- */

static size_t size_of(const struct flushlab *lab, int file)
{
    return file == 0 ? 100 : file == 1 ? lab->large : 0;
}

static char *bytes_of(const struct flushlab *lab, int64_t id, int rank, int file,
                      size_t *ret_len)
{
    size_t len = size_of(lab, file);

    if (file == 1 && lab->large_bytes)
        return lab->large_bytes(lab->arg, id, rank, ret_len);
    unsigned char *bytes = malloc(len + 1);
    uint32_t x = (uint32_t)(id * 7919 + rank * 131 + file + 1);

    if (!bytes)
        bail_out("no memory");
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24);
    }
    /* a hole in the middle of the large one */
    if (len > 32768)
        memset(bytes + len / 2 / 4096 * 4096, 0, 8192);
    *ret_len = len;
    return (char *)bytes;
}

/* below the cache's and the prefix's directory */
static void name_of(const struct flushlab *lab, int64_t id, int rank, int file,
                    char name[64])
{
    snprintf(name, 64, "out.%d/r%d.%d", lab->has_same_names ? 0 : (int)id,
             lab->are_ranks_alike ? 0 : rank, file);
}

const char *flushlab_path(const struct flushlab *lab, int64_t id, int rank, int file)
{
    static char paths[8][600];
    static int next;
    char *path = paths[next++ % 8], name[64];

    name_of(lab, id, rank, file, name);
    snprintf(path, sizeof paths[0], "%s/%s", lab->prefix, name);
    return path;
}

static void protect(const struct flushlab *lab, const char *dir, int64_t id, int rank)
{
    char text[FLUSHLAB_FILES][64], *names[FLUSHLAB_FILES];
    struct vel_comm *self;
    struct vel_err err = {0};

    if (vel_comm_self(&self, &err) < 0)
        bail_out("%s", err.text);
    struct vel_red_set set = {.comm = self,
                              .scheme = VEL_SINGLE,
                              .set = (uint32_t)rank,
                              .sets = (uint32_t)rank + 1,
                              .rank = (uint32_t)rank,
                              .fs = vel_fs_posix(),
                              .dir = dir,
                              .label = VEL_CACHE_LABEL};
    for (int i = 0; i < FLUSHLAB_FILES; i++) {
        name_of(lab, id, rank, i, text[i]);
        names[i] = text[i];
    }
    if (vel_red_apply(&set, names, FLUSHLAB_FILES, "", 0, NULL, &err) < 0)
        bail_out("%s", err.text);
    vel_comm_destroy(self);
}

void flushlab_part(const struct flushlab *lab, int64_t id, int rank)
{
    char *dir = vel_cache_rank_dir(lab->cache, id, rank), path[1200], name[64];

    for (int i = 0; i < FLUSHLAB_FILES; i++) {
        size_t len;
        char *bytes = bytes_of(lab, id, rank, i, &len);

        name_of(lab, id, rank, i, name);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        *strrchr(path, '/') = '\0';
        make_dirs(path);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        tap_put_bytes(path, bytes, len);
        free(bytes);
    }
    protect(lab, dir, id, rank);
    free(dir);
}

int64_t flushlab_shows(const struct flushlab *lab, int64_t id, int rank)
{
    int64_t shown = -2;

    for (int i = 0; i < FLUSHLAB_FILES; i++) {
        size_t len, want_len;
        char *is = tap_get_file(flushlab_path(lab, id, rank, i), &len);
        int64_t whose = is ? -1 : 0;

        for (int64_t d = 1; is && size_of(lab, i) && d < 10 && whose < 0; d++) {
            char *want = bytes_of(lab, d, rank, i, &want_len);

            if (len == want_len && memcmp(is, want, len) == 0)
                whose = d;
            free(want);
        }
        if (is && !size_of(lab, i))
            whose = len == 0 && shown > 0 ? shown : -1;
        free(is);
        if (shown != -2 && whose != shown)
            return -1;
        shown = whose;
    }
    return shown;
}

/* --- records --- */

void flushlab_claim(const struct flushlab *lab, int64_t id, int64_t owner)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/dataset.%" PRId64, lab->dir, id);
    make_dirs(path);
    indexlab_claim_up_to(vel_fs_posix(), lab->dir, id, owner);
}

void flushlab_entry(const struct flushlab *lab, int64_t id, int64_t owner, int ranks,
                    enum vel_place_on_prefix place)
{
    char name[] = "heat";
    const struct vel_entry entry = {.dataset = {.id = id,
                                                .name = name,
                                                .version = id,
                                                .use = VEL_USE_CHECKPOINT,
                                                .ranks = ranks,
                                                .nodes = ranks,
                                                .files = ranks * FLUSHLAB_FILES},
                                    .owner = owner,
                                    .place = place,
                                    .lists = ranks};
    struct vel_err err = {0};

    int rc = indexlab_save(vel_fs_posix(), lab->dir, &entry, &err);

    if (rc < 0 && rc != VEL_ESTATE) /* what a former owner says is not heard */
        bail_out("%s", err.text);
}

int flushlab_place(const struct flushlab *lab, int64_t id, int64_t *ret_owner)
{
    struct vel_entry entry = {0};
    int place;

    if (indexlab_load(vel_fs_posix(), lab->dir, id, &entry, NULL) < 0)
        return -1;
    place = (int)entry.place;
    if (ret_owner)
        *ret_owner = entry.owner;
    vel_entry_fini(&entry);
    return place;
}

static struct leader {
    struct vel_batches *ledger;
    char home[512], name[16];
} leaders[FLUSHLAB_RANKS];

void flushlab_leave(void)
{
    for (int i = 0; i < FLUSHLAB_RANKS; i++) {
        vel_batches_destroy(leaders[i].ledger);
        leaders[i].ledger = NULL;
    }
}

static void begin_ledger(const struct flushlab *lab, const char *launch,
                         struct leader *leader)
{
    const struct vel_batches_of of = {.fs = vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .home = leader->home,
                                      .node = leader->name,
                                      .launch = launch ? launch : leader->name};
    struct vel_err err = {0};

    snprintf(leader->home, sizeof leader->home, "%s", lab->cache);
    *strrchr(leader->home, '/') = '\0';
    if (vel_batches_create(&of, &leader->ledger, &err) < 0)
        bail_out("%s", err.text);
    vel_batches_adopt(leader->ledger, NULL);
}

/* The leader of a node is the last one; it takes no faults. */
static struct vel_batches *lead(const struct flushlab *lab, int rank)
{
    struct leader *leader = &leaders[rank];

    vel_batches_destroy(leader->ledger);
    snprintf(leader->name, sizeof leader->name, "node%d", rank);
    begin_ledger(lab, NULL, leader);
    return leader->ledger;
}

void flushlab_other(const struct flushlab *lab, int rank, const char *launch,
                    struct vel_batches **ret)
{
    static struct leader other; /* one at a time */

    snprintf(other.name, sizeof other.name, "node%d", rank);
    begin_ledger(lab, launch, &other);
    *ret = other.ledger;
}

void flushlab_node(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                   int64_t owner, int rank, struct flushlab_node *ret)
{
    *ret = (struct flushlab_node){0};
    snprintf(ret->home, sizeof ret->home, "%s/dataset.%" PRId64, lab->cache, id);
    snprintf(ret->dir, sizeof ret->dir, "%s/rank.%d", ret->home, rank);
    snprintf(ret->name, sizeof ret->name, "node%d", rank);
    ret->flushing = (struct vel_flushing){.fs = fs,
                                          .clock = vel_clock_system(),
                                          .prefix = lab->prefix,
                                          .dir = lab->dir,
                                          .index = indexlab_keep(fs, lab->dir),
                                          .node = ret->name,
                                          .copy = {.fs = fs,
                                                   .clock = vel_clock_system(),
                                                   .chunk = 4096,
                                                   .keeps_metadata = true,
                                                   .wants_crc = true,
                                                   .leaves_dirs = true},
                                          .checks_crc = true,
                                          .resume_every = 16384};
    ret->part = (struct vel_flush_part){.rank = rank, .dir = ret->dir};
    ret->job = (struct vel_flush_job){.id = id,
                                      .owner = owner,
                                      .list = rank,
                                      .lists = FLUSHLAB_RANKS,
                                      .parts = &ret->part,
                                      .n = 1,
                                      .home = ret->home,
                                      .ledger = lead(lab, rank),
                                      .store = lab->cache};
}

/* --- what is left --- */

static int count(void *arg, enum vel_fs_visit what, const char *below,
                 const struct stat *st, struct vel_err *err)
{
    const char *base = strrchr(below, '/');

    (void)st, (void)err;
    base = base ? base + 1 : below;
    if (what == VEL_FS_FILE && strncmp(below, ".veloc", 6) != 0)
        *(int *)arg += vel_fs_is_temporary(base) || vel_xfer_temp_parse(base, NULL);
    return 0;
}

int flushlab_strays(const struct flushlab *lab)
{
    int n = 0;

    if (vel_fs_walk(vel_fs_posix(), lab->prefix, count, &n, NULL) < 0)
        bail_out("cannot walk %s", lab->prefix);
    return n;
}

/* --- steps --- */

int flushlab_copy(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, int rank, bool may_resume, uint64_t *ret_resumed,
                  struct vel_err *err)
{
    struct flushlab_node node;
    struct vel_flush_copied copied = {0};
    int rc;

    flushlab_node(lab, fs, id, owner, rank, &node);
    node.job.may_resume = may_resume;
    rc = vel_flushing_copy(&node.flushing, &node.job, &copied, err);
    if (ret_resumed)
        *ret_resumed = copied.resumed;
    return rc;
}

int flushlab_name(const struct flushlab *lab, int64_t id, int64_t owner, int rank,
                  struct vel_err *err)
{
    struct flushlab_node node;

    flushlab_node(lab, vel_fs_posix(), id, owner, rank, &node);
    return vel_flushing_name(&node.flushing, &node.job, err);
}

/* The owner's step, with its entry. */
int flushlab_owner(const struct flushlab *lab, int64_t id, int64_t owner,
                   int (*act)(const struct vel_flushing *, struct vel_entry *,
                              struct vel_err *),
                   struct vel_err *err)
{
    struct flushlab_node node;
    struct vel_entry entry;
    int rc;

    flushlab_node(lab, vel_fs_posix(), id, owner, 0, &node);
    rc = indexlab_load(vel_fs_posix(), lab->dir, id, &entry, err);
    if (rc < 0)
        return rc;
    entry.owner = owner;
    rc = act(&node.flushing, &entry, err);
    vel_entry_fini(&entry);
    return rc;
}

void flushlab_begin(const struct flushlab *lab, int64_t id, int64_t owner)
{
    flushlab_claim(lab, id, owner);
    flushlab_entry(lab, id, owner, FLUSHLAB_RANKS, VEL_ON_FLUSHING);
}

void flushlab_parts(const struct flushlab *lab, int64_t id)
{
    for (int r = 0; r < FLUSHLAB_RANKS; r++)
        flushlab_part(lab, id, r);
}

bool flushlab_copy_all(const struct flushlab *lab, int64_t id, int64_t owner)
{
    struct vel_err err = {0};
    bool is = true;

    for (int r = 0; r < FLUSHLAB_RANKS; r++)
        is &= flushlab_copy(lab, vel_fs_posix(), id, owner, r, false, NULL, &err) == 0;
    if (!is)
        note("%s", err.text);
    return is;
}

bool flushlab_flush(const struct flushlab *lab, int64_t id, int64_t owner)
{
    struct vel_err err = {0};
    bool is;

    flushlab_begin(lab, id, owner);
    is = flushlab_copy_all(lab, id, owner) &&
         flushlab_owner(lab, id, owner, vel_flushing_stage, &err) == 0;
    for (int r = 0; is && r < FLUSHLAB_RANKS; r++)
        is = flushlab_name(lab, id, owner, r, &err) == 0;
    is = is && flushlab_owner(lab, id, owner, vel_flushing_publish, &err) == 0;
    if (!is)
        note("%s", err.text);
    return is;
}

bool flushlab_shows_all(const struct flushlab *lab, int64_t id, int64_t want)
{
    bool is = true;

    for (int r = 0; r < FLUSHLAB_RANKS; r++)
        is &= flushlab_shows(lab, id, r) == want;
    return is;
}

int64_t flushlab_current(const struct flushlab *lab)
{
    return indexlab_current(vel_fs_posix(), lab->dir);
}
