/* SPDX-License-Identifier: BSD-3-Clause */
/* lslab COMMAND ARGS... - makes what h5veloc-ls finds: datasets of four ranks, each on
 * a virtual node of its own, in VELOC_CACHE_BASE and VELOC_PREFIX. The last rank has
 * written nothing.
 *
 *   part ID STEP SCHEME    parts in the caches, protected by SCHEME; begun 5 hours ago
 *   begin ID STEP          the same, of which nothing is complete
 *   new 1                  files of a dataset that has no id yet
 *   publish ID             its files and their list on the prefix; the entry
 *   entry ID PLACE [MARK]  the entry alone: CACHE, FLUSHING, PREFIX; with a mark:
 *                          failed, refused, or the id of what has replaced it
 *   owe ID WHAT [WHY]      encode or flush is promised by all; and has failed
 *   current ID             ID is to be taken first
 *   drop ID                ID has a tombstone
 *   dir ID RANK            tell the directory of a part
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/current.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/filemap.h"
#include "meta/paths.h"
#include "meta/prefix.h"
#include "red/redfile.h"
#include "sys/clock.h"
#include "sys/host.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/redlab.h"
#include "tap/tap.h"
#include "jobs/batches.h"

enum { RANKS = 4, FILES = 3, BYTES = 1000, AGE = 5 * 3600 + 60 };

static struct vel_host host;
static char id[VEL_PREFIX_ID];
static char *prefix, *veloc;

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("lslab: %s", err->text);
}

static char *need(char *text)
{
    if (!text)
        bail_out("lslab: out of memory");
    return text;
}

static int64_t begun(void)
{
    return vel_clock_wall(vel_clock_system()) / (int64_t)VEL_CLOCK_S - AGE;
}

/* --- where --- */

static char *level_of(int rank)
{
    char node[300], *store, *home, *level;

    snprintf(node, sizeof node, "%s.v%d", host.node, rank);
    store = need(vel_path_join(getenv("VELOC_CACHE_BASE"), node));
    home = need(vel_cache_home(vel_fs_posix(), store, host.user, id));
    level = need(vel_path_join(home, "index.0"));
    free(store);
    free(home);
    return level;
}

static char *part_of(int64_t dataset, int rank)
{
    char *level = level_of(rank);
    char *dir = need(vel_cache_rank_dir(level, dataset, rank));

    free(level);
    return dir;
}

/* --- a dataset --- */

struct made {
    int64_t dataset, step;
    const char *scheme;
    bool is_complete;
};

static void map_of(const struct made *made, int rank, struct vel_filemap *ret)
{
    *ret = (struct vel_filemap){.rank = rank,
                                .dataset = {.id = made->dataset,
                                            .name = need(strdup("heat")),
                                            .version = made->step,
                                            .checkpoint = made->dataset,
                                            .use = VEL_USE_CHECKPOINT,
                                            .ranks = RANKS,
                                            .nodes = RANKS,
                                            .files = made->is_complete ? FILES : 0,
                                            .bytes = made->is_complete ? 6 * BYTES : 0,
                                            .created = begun()},
                                .descriptor = vel_node_object()};
    if (vel_node_set_text(ret->descriptor, "scheme", made->scheme))
        bail_out("lslab: out of memory");
}

static void describe(void *arg, size_t member, struct vel_buf *ret)
{
    struct vel_filemap map;
    struct vel_err err = {0};

    map_of(arg, (int)member, &map);
    must(vel_filemap_encode(&map, ret, &err), &err);
    vel_filemap_fini(&map);
}

/* The file of a rank, in its directory of the lab. */
static void write_file(const char *root, int rank, int64_t step, struct vel_vec *names)
{
    static char bytes[RANKS * BYTES];
    char name[100], *path, *dir;
    struct vel_err err = {0};

    vel_vec_init(names, sizeof(char *));
    must(vel_fs_make_dirs(redlab_fs(), redlab_dir(root, (size_t)rank), 0700, &err),
         &err);
    if (rank >= FILES)
        return;
    snprintf(name, sizeof name, "out/step-%d/part-%d.h5", (int)step, rank);
    path = need(vel_path_join(redlab_dir(root, (size_t)rank), name));
    dir = need(vel_path_dir(path));
    must(vel_fs_make_dirs(redlab_fs(), dir, 0700, &err), &err);
    memset(bytes, 'a' + rank, sizeof bytes);
    tap_put_bytes(path, bytes, (size_t)(rank + 1) * BYTES);
    free(dir);
    free(path);
    path = need(strdup(name));
    if (!vel_vec_push(names, &path))
        bail_out("lslab: out of memory");
}

static void protect(struct made *made, const char *root, const struct vel_vec *names)
{
    struct redlab_set set = {.m = 1, .seed = (uint64_t)made->dataset};
    struct vel_err err = {0};

    must(vel_scheme_parse(made->scheme, &set.scheme, &err), &err);
    set.n = RANKS;
    if (set.scheme == VEL_SINGLE) {
        set.n = 1;
        set.m = 0;
    }
    set.sets = RANKS / set.n;
    for (; set.first < RANKS; set.first += set.n)
        must(redlab_protect(root, VEL_CACHE_LABEL, &set, names + set.first, describe,
                            made),
             &err);
}

static void make_parts(struct made *made)
{
    char *root = need(vel_path_join(getenv("VELOC_CACHE_BASE"), "lab"));
    struct vel_vec names[RANKS];
    struct vel_err err = {0};

    for (int r = 0; r < RANKS; r++) {
        write_file(root, r, made->step, &names[r]);
    }
    if (made->is_complete)
        protect(made, root, names);
    for (int r = 0; r < RANKS; r++) {
        char *dir = part_of(made->dataset, r), *above = need(vel_path_dir(dir));

        must(vel_cache_make_dir(redlab_fs(), above, &err), &err);
        must(vel_fs_rename(redlab_fs(), redlab_dir(root, (size_t)r), dir, &err), &err);
        vel_fs_names_fini(&names[r]);
        free(above);
        free(dir);
    }
    must(vel_fs_remove_tree(redlab_fs(), root, &err), &err);
    free(root);
}

/* --- the prefix --- */

static void save_entry(int64_t dataset, enum vel_place_on_prefix place,
                       const char *mark)
{
    struct vel_filemap map;
    struct made made = {dataset, dataset * 10, "XOR", true};
    struct vel_entry entry = {.place = place, .lists = place == VEL_ON_PREFIX};
    struct vel_err err = {0};

    map_of(&made, 0, &map);
    entry.dataset = map.dataset;
    entry.flushed = place == VEL_ON_PREFIX ? begun() : 0;
    if (mark && strcmp(mark, "failed") == 0)
        entry.failed = begun();
    else if (mark && strcmp(mark, "refused") == 0)
        entry.refused = begun();
    else if (mark)
        entry.replaced = strtoll(mark, NULL, 10);
    must(indexlab_save(redlab_fs(), veloc, &entry, &err), &err);
    vel_filemap_fini(&map);
}

/* Of a rank's part: its files to the prefix, and into the list. */
static void publish_part(int64_t dataset, int rank, struct vel_vec *files)
{
    char *dir = part_of(dataset, rank);
    struct vel_vec red;
    struct vel_err err = {0};

    must(vel_redfile_scan_all(redlab_fs(), dir, &red, &err), &err);
    const struct vel_manifest *list = &vel_redfile_at(&red, 0)->header.list[0];
    for (size_t i = 0; i < list->files.n; i++) {
        const struct vel_red_file *f = vel_manifest_file(list, i);
        struct vel_listed listed = {.rank = rank,
                                    .name = need(strdup(f->name)),
                                    .size = f->size,
                                    .crc = f->crc,
                                    .mode = 0600,
                                    .container = -1};
        char *from = need(vel_path_join(dir, f->name)),
             *to = need(vel_path_join(prefix, f->name)),
             *above = need(vel_path_dir(to));
        size_t len;
        char *bytes = need(tap_get_file(from, &len));

        must(vel_fs_make_dirs(redlab_fs(), above, 0700, &err), &err);
        tap_put_bytes(to, bytes, len);
        if (!vel_vec_push(files, &listed))
            bail_out("lslab: out of memory");
        free(bytes);
        free(above);
        free(to);
        free(from);
    }
    vel_redfiles_fini(&red);
    free(dir);
}

static void publish(int64_t dataset)
{
    char *dir = need(vel_dataset_dir(veloc, dataset));
    struct vel_vec files;
    struct vel_err err = {0};

    vel_vec_init(&files, sizeof(struct vel_listed));
    must(vel_fs_make_dirs(redlab_fs(), dir, 0700, &err), &err);
    for (int r = 0; r < RANKS; r++)
        publish_part(dataset, r, &files);
    must(vel_filelist_save(redlab_fs(), veloc, dataset, 0, &files, true, &err), &err);
    vel_filelist_fini(&files);
    save_entry(dataset, VEL_ON_PREFIX, NULL);
    free(dir);
}

static enum vel_place_on_prefix place_of(const char *word)
{
    return strcmp(word, "PREFIX") == 0     ? VEL_ON_PREFIX
           : strcmp(word, "FLUSHING") == 0 ? VEL_ON_FLUSHING
                                           : VEL_ON_CACHE;
}

static struct vel_batches *begin_ledger(const char *cache, const char *node)
{
    const struct vel_batches_of of = {.fs = redlab_fs(),
                                      .clock = vel_clock_system(),
                                      .home = cache,
                                      .node = node,
                                      .launch = "L"};
    struct vel_batches *made;
    struct vel_err err = {0};

    must(vel_batches_create(&of, &made, &err), &err);
    return made;
}

static void owe(int64_t dataset, const char *what, const char *why)
{
    unsigned bits =
        strcmp(what, "encode") == 0 ? VEL_PROMISE_ENCODE : VEL_PROMISE_FLUSH;
    struct vel_err err = {0}, failed = {0};
    bool is_new;

    for (int r = 0; r < RANKS; r++) {
        char *level = level_of(r), *cache = need(vel_path_dir(level));
        char *home = need(vel_cache_dataset_dir(level, dataset));
        char node[300];
        struct vel_batches *ledger;

        snprintf(node, sizeof node, "%s.v%d", host.node, r);
        ledger = begin_ledger(cache, node);
        must(vel_batches_adopt(ledger, &err), &err);
        must(vel_promise_owe(ledger, home, "L", r, bits, &err), &err);
        if (why) {
            vel_fail(&failed, VEL_ENOSPC, "%s", why);
            must(vel_promise_failed(ledger, home, &failed, &is_new, &err), &err);
        }
        vel_batches_destroy(ledger);
        free(home);
        free(cache);
        free(level);
    }
}

/* Rank 0 has a file of a dataset that has no id yet; of rank 1 it is open. */
static void make_new(void)
{
    const struct vel_batch_key key = {.launch = (char *)"L",
                                      .template = (char *)"ck ck.{step}.{rank}.h5",
                                      .step = (char *)"7",
                                      .generation = 1};
    char *level = level_of(0), *home = need(vel_path_dir(level)), *dir, *path = NULL;
    struct vel_batches *batches;
    struct vel_err err = {0};

    must(vel_fs_make_dirs(redlab_fs(), level, 0700, &err), &err);
    batches = begin_ledger(home, "n0");
    must(vel_batches_make(batches, &key, 0, 0, &dir, &err), &err);
    must(vel_batches_open(batches, dir, 0, "ck.7.0.h5", &path, &err), &err);
    tap_put_file(path, "closed");
    free(path);
    must(vel_batches_close(batches, dir, 0, "ck.7.0.h5", 1, 6, &err), &err);
    must(vel_batches_open(batches, dir, 1, "ck.7.1.h5", &path, &err), &err);
    tap_put_file(path, "op");
    free(path);
    vel_batches_destroy(batches);
    free(dir);
    free(home);
    free(level);
}

/* --- commands --- */

static void obey(int argc, char **argv)
{
    const char *command = argv[1], *third = argc > 3 ? argv[3] : "",
               *fourth = argc > 4 ? argv[4] : NULL;
    int64_t dataset = strtoll(argv[2], NULL, 10);
    struct made made = {.dataset = dataset,
                        .step = strtoll(third, NULL, 10),
                        .scheme = fourth ? fourth : "XOR",
                        .is_complete = fourth != NULL};
    struct vel_err err = {0};

    if (strcmp(command, "part") == 0 || strcmp(command, "begin") == 0) {
        make_parts(&made);
    } else if (strcmp(command, "new") == 0) {
        make_new();
    } else if (strcmp(command, "publish") == 0) {
        publish(dataset);
    } else if (strcmp(command, "entry") == 0) {
        save_entry(dataset, place_of(third), fourth);
    } else if (strcmp(command, "owe") == 0) {
        owe(dataset, third, fourth);
    } else if (strcmp(command, "current") == 0) {
        must(indexlab_choose(redlab_fs(), veloc, dataset, &err), &err);
    } else if (strcmp(command, "drop") == 0) {
        must(vel_dropped_save(redlab_fs(), veloc, dataset, &err), &err);
    } else {
        char *dir = part_of(dataset, (int)made.step);

        puts(dir);
        free(dir);
    }
}

int main(int argc, char **argv)
{
    struct vel_err err = {0};

    if (argc < 3)
        bail_out("lslab: see its first lines");
    prefix = getenv("VELOC_PREFIX");
    veloc = need(vel_veloc_dir(prefix));
    must(vel_host_init(&host, &err), &err);
    must(vel_prefix_open(redlab_fs(), veloc, id, &err), &err);
    obey(argc, argv);
    vel_host_fini(&host);
    free(veloc);
    return 0;
}
