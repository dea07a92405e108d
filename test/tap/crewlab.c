/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "tap/rng.h"
#include "conf/conf.h"
#include "meta/prefix.h"
#include "tap/crewlab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "meta/paths.h"
#include "tap/tap.h"
#include "xfer/copy.h"
#include "xfer/flush_in.h"
#include "xfer/temp.h"

enum { PATH = 1200, PATHS = 8, CHUNK = 1000 };

void crewlab_init(struct crewlab *lab, int nodes)
{
    char id[VEL_PREFIX_ID];
    struct vel_err err = {0};

    *lab = (struct crewlab){.nodes = nodes};
    snprintf(lab->prefix, sizeof lab->prefix, "%s", tap_path("prefix"));
    snprintf(lab->dir, sizeof lab->dir, "%s/.veloc", lab->prefix);
    snprintf(lab->cache, sizeof lab->cache, "%s", tap_path("cache"));
    tap_fresh_dir(lab->prefix);
    tap_fresh_dir(lab->cache);
    if (vel_prefix_open(vel_fs_posix(), lab->dir, id, &err) < 0)
        bail_out("%s", err.text);
}

/* --- a rank --- */

int crewlab_join(const struct crewlab *lab, struct vel_comm *comm, struct vel_fs *fs,
                 struct crewlab_rank *ret)
{
    struct crewlab_rank *r = ret;
    int node = comm->rank * lab->nodes / comm->size, rc;
    struct vel_transport_setup setup = {
        .type = VEL_FLUSH_POSIX, .clock = lab->clock ? lab->clock : vel_clock_system()};

    *r = (struct crewlab_rank){.lab = lab};
    vel_throttle_init(&r->throttle, setup.clock, lab->rate);
    r->crew = (struct vel_crew){
        .world = comm,
        .node_id = node,
        .nodes = lab->nodes,
        .fs = fs,
        .clock = setup.clock,
        .prefix = lab->prefix,
        .dir = lab->dir,
        .index = indexlab_keep(fs, lab->dir),
        .copy = {.fs = fs,
                 .chunk = CHUNK,
                 .throttle = &r->throttle,
                 .keeps_metadata = true,
                 .wants_crc = !lab->ignores_crc},
        .fetch_width = lab->fetch_width,
        .checks_crc = !lab->ignores_crc,
    };
    rc = vel_comm_split(comm, node, comm->rank, &r->crew.node, &r->err);
    if (rc == 0)
        rc = vel_comm_split(comm, r->crew.node->rank == 0 ? 0 : -1, node,
                            &r->crew.leaders, &r->err);
    if (rc == 0)
        rc = vel_transport_open(&setup, &r->crew.transport, &r->err);
    if (rc < 0)
        crewlab_leave(r);
    return rc;
}

void crewlab_leave(struct crewlab_rank *rank)
{
    vel_transport_close(rank->crew.transport);
    vel_comm_destroy(rank->crew.leaders);
    vel_comm_destroy(rank->crew.node);
    vel_throttle_fini(&rank->throttle);
}

/* --- files --- */

/* The first is empty; the second lies in directories that nobody has made. */
static void name_file(const struct crewlab *lab, int64_t id, int rank, int file,
                      char *name, size_t len)
{
    static const char *const dirs[CREWLAB_FILES] = {"", "deep/er/", "deep/", ""};

    snprintf(name, len, "%s%s%" PRId64 ".r%d.f%d", dirs[file],
             lab->has_same_names ? "all" : "d", lab->has_same_names ? 0 : id, rank,
             file);
}

static const char *path_of(const char *dir, const char *name)
{
    static __thread char paths[PATHS][PATH];
    static __thread unsigned next;
    char *path = paths[next++ % PATHS];

    snprintf(path, PATH, "%s/%s", dir, name);
    return path;
}

const char *crewlab_cached(const struct crewlab *lab, int64_t id, int rank, int file)
{
    char name[PATH / 2], below[PATH / 2 - 100];

    name_file(lab, id, rank, file, below, sizeof below);
    snprintf(name, sizeof name, "dataset.%" PRId64 "/rank.%d/%s", id, rank, below);
    return path_of(lab->cache, name);
}

const char *crewlab_flushed(const struct crewlab *lab, int64_t id, int rank, int file)
{
    char name[PATH / 2];

    name_file(lab, id, rank, file, name, sizeof name);
    return path_of(lab->prefix, name);
}

static size_t content(int64_t id, int rank, int file, char bytes[CREWLAB_MOST])
{
    struct vel_rng rng;
    size_t len;

    vel_rng_init(&rng, (uint64_t)(rank * CREWLAB_FILES + file));
    len = file == 0 ? 0 : 1 + (size_t)vel_rng_below(&rng, CREWLAB_MOST - 1);
    vel_rng_init(&rng, (uint64_t)(id * 1000 + rank * CREWLAB_FILES + file));
    vel_rng_fill(&rng, bytes, len);
    return len;
}

bool crewlab_is_file(const char *path, int64_t id, int rank, int file)
{
    char wanted[CREWLAB_MOST], *got;
    size_t want = content(id, rank, file, wanted), len = 0;
    bool same;

    got = tap_get_file(path, &len);
    same = got && len == want && memcmp(got, wanted, want) == 0;
    free(got);
    return same;
}

static void write_file(struct crewlab_rank *rank, int64_t id, int file,
                       struct vel_vec *files)
{
    int me = rank->crew.world->rank;
    char name[PATH / 2], bytes[CREWLAB_MOST];
    const char *path = crewlab_cached(rank->lab, id, me, file);
    size_t len = content(id, me, file, bytes);
    char *parent = vel_path_dir(path);
    struct vel_flush_file item = {.from = strdup(path),
                                  .listed = {.rank = me,
                                             .size = len,
                                             .crc = vel_crc32c(0, bytes, len),
                                             .mode = 0640,
                                             .container = -1}};

    name_file(rank->lab, id, me, file, name, sizeof name);
    item.listed.name = strdup(name);
    if (!parent || vel_fs_make_dirs(vel_fs_posix(), parent, 0700, NULL) < 0 ||
        !vel_vec_push(files, &item))
        bail_out("%s cannot be made", path);
    free(parent);
    tap_put_bytes(path, bytes, len);
}

void crewlab_write(struct crewlab_rank *rank, int64_t id, struct vel_vec *ret_files)
{
    vel_vec_init(ret_files, sizeof(struct vel_flush_file));
    for (int i = 0; i < CREWLAB_FILES; i++)
        write_file(rank, id, i, ret_files);
}

/* Small files of a rank in a container of its own. */
static void pack(struct crewlab_rank *rank, struct vel_vec *files, int64_t id)
{
    const struct vel_crew *crew = &rank->crew;
    struct vel_flush_file *file = files->items;
    char *path = vel_container_path(crew->dir, id, crew->world->rank);
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    for (size_t i = 0; i < files->n; i++) {
        size_t len;
        char *one = tap_get_file(file[i].from, &len);

        file[i].listed.container = crew->world->rank;
        file[i].listed.offset = bytes.len;
        vel_buf_append(&bytes, one, len);
        free(one);
    }
    if (!path || vel_buf_status(&bytes, NULL) < 0)
        bail_out("no memory");
    tap_put_bytes(path, vel_buf_text(&bytes), bytes.len);
    vel_buf_fini(&bytes);
    free(path);
}

static int save_list(struct crewlab_rank *rank, const struct vel_vec *files, int64_t id)
{
    const struct vel_crew *crew = &rank->crew;
    const struct vel_flush_file *file = files->items;
    struct vel_vec listed; /* borrows */
    int rc = 0;

    vel_vec_init(&listed, sizeof(struct vel_listed));
    for (size_t i = 0; rc == 0 && i < files->n; i++)
        rc = vel_vec_push(&listed, &file[i].listed) ? 0 : VEL_ENOMEM;
    if (rc == 0)
        rc = vel_filelist_save(crew->fs, crew->dir, id, crew->world->rank, &listed,
                               true, &rank->err);
    vel_vec_fini(&listed);
    return rc;
}

static int copy_one(struct crewlab_rank *rank, struct vel_flush_file *file,
                    const struct vel_entry *entry)
{
    struct vel_flush_target target = {0};
    struct vel_xfer_copied copied;
    struct stat st;
    int rc = vel_flush_target(&rank->crew, entry->dataset.id, entry->owner,
                              &file->listed, &target, &rank->err);

    if (rc == 0) {
        const struct vel_xfer_file what = {.from = file->from,
                                           .to = target.temporary,
                                           .size = file->listed.size,
                                           .crc = file->listed.crc,
                                           .has_crc = rank->crew.checks_crc};

        rc = vel_copy_file(&rank->crew.copy, &what, &copied, &rank->err);
    }
    if (rc == 0)
        rc = vel_fs_lstat(rank->crew.fs, target.temporary, &st, &rank->err);
    if (rc == 0) {
        file->listed.mtime_s = st.st_mtim.tv_sec;
        file->listed.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    }
    vel_flush_target_fini(&target);
    return rc;
}

static int copy_all(struct crewlab_rank *rank, struct vel_vec *files,
                    struct vel_entry *entry)
{
    int64_t id = entry->dataset.id;
    int rc;

    if (rank->lab->packs)
        pack(rank, files, id);
    rc = save_list(rank, files, id); /* by which a crash is undone */
    for (size_t i = 0; rc == 0 && !rank->lab->packs && i < files->n; i++)
        rc = copy_one(rank, vel_vec_at(files, i), entry);
    return rc == 0 ? save_list(rank, files, id) : rc;
}

/* By rank 0, when all are there. */
static int mark(struct crewlab_rank *rank, struct vel_entry *entry,
                enum vel_place_on_prefix place)
{
    const struct vel_crew *crew = &rank->crew;
    enum vel_place_on_prefix before = entry->place;
    int rc = 0;

    entry->place = place;
    if (place == VEL_ON_PREFIX)
        entry->flushed = 1;
    if (crew->world->rank == 0)
        rc = indexlab_save(crew->fs, crew->dir, entry, &rank->err);
    rc = vel_comm_agree(crew->world, rc, &rank->err);
    if (rc < 0)
        entry->place = before;
    return rc;
}

int crewlab_move(struct crewlab_rank *rank, struct vel_vec *files,
                 struct vel_entry *entry)
{
    const struct vel_crew *crew = &rank->crew;
    char *dir = vel_dataset_dir(crew->dir, entry->dataset.id);
    struct vel_flush_file *file = files->items;
    int rc;

    entry->lists = crew->world->size;
    rc = mark(rank, entry, VEL_ON_FLUSHING);
    if (rc == 0)
        rc = dir ? vel_fs_make_dirs(crew->fs, dir, 0777, &rank->err) : VEL_ENOMEM;
    free(dir);
    rc = vel_comm_agree(crew->world, rc == 0 ? copy_all(rank, files, entry) : rc,
                        &rank->err);
    if (rc == 0)
        rc = mark(rank, entry, VEL_ON_STAGED);
    for (size_t i = 0; rc == 0 && !rank->lab->packs && i < files->n; i++)
        rc = vel_flush_name_one(crew, entry, &file[i].listed, &rank->err);
    rc = vel_comm_agree(crew->world, rc, &rank->err);
    if (rc == 0)
        return mark(rank, entry, VEL_ON_PREFIX);
    if (entry->place == VEL_ON_FLUSHING && crew->world->rank == 0)
        vel_flush_take_back(crew, entry, NULL);
    else if (entry->place == VEL_ON_FLUSHING)
        entry->place = VEL_ON_CACHE;
    vel_comm_barrier(crew->world, NULL);
    return rc;
}

int crewlab_flush(struct crewlab_rank *rank, int64_t id, struct vel_entry *entry)
{
    struct vel_vec files;
    int ranks = rank->crew.world->size, rc;

    *entry = (struct vel_entry){.dataset = {.id = id,
                                            .name = strdup("lab"),
                                            .version = id,
                                            .checkpoint = id,
                                            .use = VEL_USE_CHECKPOINT,
                                            .ranks = ranks,
                                            .nodes = rank->lab->nodes,
                                            .files = (int64_t)ranks * CREWLAB_FILES,
                                            .created = 1}};
    crewlab_write(rank, id, &files);
    rc = crewlab_move(rank, &files, entry);
    vel_flush_files_fini(&files);
    return rc;
}
