/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/path.h"
#include "tap/rng.h"
#include "conf/conf.h"
#include "meta/cache.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "red/redfile.h"
#include "sys/host.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/seslab.h"
#include "tap/standin.h"
#include "tap/tap.h"
#include "xfer/temp.h"

/* --- the lab ------------------------------------------------------------------- */

void seslab_init(struct seslab *lab, uint64_t seed)
{
    memset(lab, 0, sizeof *lab);
    lab->seed = seed;
    lab->most = 20000;
    snprintf(lab->prefix, sizeof lab->prefix, "%s", tap_path("prefix"));
    snprintf(lab->cache, sizeof lab->cache, "%s", tap_path("cache"));
    tap_fresh_dir(lab->prefix);
    tap_fresh_dir(lab->cache);
    seslab_set(lab, "MODE", "SYNC");
    seslab_set(lab, "FILE_BUF_SIZE", "4096");
}

void seslab_set(struct seslab *lab, const char *key, const char *value)
{
    size_t i = 0;

    while (lab->settings[i][0])
        i++;
    if (i + 1 == SESLAB_SETTINGS)
        bail_out("a lab has %d settings at most", SESLAB_SETTINGS - 1);
    lab->settings[i][0] = key;
    lab->settings[i][1] = value;
}

const char *seslab_node(const struct seslab *lab, int node)
{
    struct vel_host host;
    char name[SESLAB_TEXT];

    (void)lab;
    if (vel_host_init(&host, NULL) < 0)
        bail_out("the host has no name");
    snprintf(name, sizeof name, "cache/%s.v%d", host.node, node);
    vel_host_fini(&host);
    return tap_path(name);
}

static int configure(const struct seslab *lab, struct vel_conf **ret_conf,
                     struct vel_err *err)
{
    int rc = vel_conf_create(ret_conf, err);

    if (rc < 0)
        return rc;
    rc = vel_conf_set_by_program(*ret_conf, "PREFIX", lab->prefix, err);
    if (rc == 0)
        rc = vel_conf_set_by_program(*ret_conf, "CACHE_BASE", lab->cache, err);
    for (size_t i = 0; rc == 0 && lab->settings[i][0]; i++)
        rc = vel_conf_set_by_program(*ret_conf, lab->settings[i][0],
                                     lab->settings[i][1], err);
    if (rc < 0)
        vel_conf_destroy(*ret_conf);
    return rc;
}

int seslab_open(const struct seslab *lab, struct vel_comm *comm, struct vel_fs *fs,
                struct vel_session **ret_session, struct vel_err *err)
{
    struct standin *standin = comm->rank == 0 ? standin_create_for(comm->size) : NULL;
    struct vel_buf bytes;
    int rc;

    if (standin && lab->leaders_fs)
        standin_use(standin, lab->leaders_fs);
    vel_buf_init(&bytes);
    vel_buf_append(&bytes, &standin, sizeof standin);
    rc = vel_comm_bcast(comm, 0, &bytes, err);
    if (rc == 0) {
        memcpy(&standin, bytes.data, sizeof standin);
        rc = seslab_open_with(lab, comm, fs, standin_seat(standin, comm->rank),
                              ret_session, err);
        standin_opened(standin, comm->rank, rc == 0);
    }
    vel_buf_fini(&bytes);
    return rc;
}

int seslab_open_with(const struct seslab *lab, struct vel_comm *comm, struct vel_fs *fs,
                     struct vel_background *background,
                     struct vel_session **ret_session, struct vel_err *err)
{
    struct vel_session_setup setup = {.fs = fs,
                                      .clock =
                                          lab->clock ? lab->clock : vel_clock_system(),
                                      .user_file = lab->file,
                                      .background = background};
    int rc = configure(lab, &setup.conf, err);

    if (rc < 0)
        return rc;
    rc = vel_comm_split(comm, 0, comm->rank, &setup.world, err);
    if (rc < 0) {
        vel_conf_destroy(setup.conf);
        return rc;
    }
    return vel_session_open(&setup, ret_session, err);
}

/* --- files ---------------------------------------------------------------------- */

/* one file of one rank in one version */
struct one {
    const struct seslab *lab;
    int64_t version;
    int rank, file;
};

static void name_file(const struct one *o, char *path, size_t len)
{
    int64_t version = o->lab->has_same_names ? 0 : o->version;

    snprintf(path, len, "%s/%s%" PRId64 "/r%d.f%d.h5", o->lab->prefix,
             o->file == 0 ? "deep/er/v" : "v", version, o->rank, o->file);
}

static size_t content(const struct one *o, char **ret_bytes)
{
    const struct seslab *lab = o->lab;
    struct vel_rng rng;
    uint64_t who = (uint64_t)o->rank * SESLAB_FILES + (uint64_t)o->file;
    uint64_t what = lab->seed * 1000 + who;
    size_t len;

    vel_rng_init(&rng, lab->has_same_names ? what : what + (uint64_t)o->version * 100);
    len = (size_t)vel_rng_below(&rng, lab->most);
    vel_rng_init(&rng, what * 1000 + (uint64_t)o->version);
    *ret_bytes = malloc(len + 1);
    if (!*ret_bytes)
        bail_out("no memory");
    vel_rng_fill(&rng, *ret_bytes, len);
    return len;
}

static int write_file(const struct one *o, struct vel_session *session,
                      struct vel_err *err)
{
    struct vel_fs *fs = vel_session_fs(session);
    char name[SESLAB_TEXT * 2], *path = NULL, *bytes = NULL;
    int fd = -1, rc, closed;

    name_file(o, name, sizeof name);
    rc = vel_session_route(session, name, &path, err);
    if (rc < 0)
        return rc;
    size_t len = content(o, &bytes);
    rc = vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, err);
    if (rc == 0) {
        rc = vel_fs_write_at(fs, fd, bytes, len, 0, path, err);
        closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
        rc = rc < 0 ? rc : closed;
    }
    free(bytes);
    free(path);
    return rc;
}

static int compare_file(const struct one *o, struct vel_session *session,
                        struct vel_err *err)
{
    char name[SESLAB_TEXT * 2], *path = NULL, *wanted = NULL, *got;
    size_t len = 0, want;
    int rc;

    name_file(o, name, sizeof name);
    rc = vel_session_route(session, name, &path, err);
    if (rc < 0)
        return rc;
    want = content(o, &wanted);
    got = tap_get_file(path, &len);
    if (!got || len != want || memcmp(got, wanted, len) != 0)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "%s: %zu bytes, which are not the %zu of version %" PRId64, path,
                      len, want, o->version);
    free(got);
    free(wanted);
    free(path);
    return rc;
}

static int for_files(const struct seslab *lab, struct vel_session *session,
                     int64_t version,
                     int (*act)(const struct one *o, struct vel_session *session,
                                struct vel_err *err),
                     struct vel_err *err)
{
    int rank = vel_session_world(session)->rank, rc = 0;

    for (int file = 0; rc == 0 && file < SESLAB_FILES; file++)
        rc = act(&(struct one){lab, version, rank, file}, session, err);
    return rc;
}

/* --- what a program does ---------------------------------------------------------- */

int seslab_begin(const struct seslab *lab, struct vel_session *session, int64_t version,
                 struct vel_err *err)
{
    (void)lab;
    return vel_session_start(session, SESLAB_NAME, version, VEL_USE_CHECKPOINT, err);
}

int seslab_write(const struct seslab *lab, struct vel_session *session, int64_t version,
                 struct vel_err *err)
{
    struct vel_err why = {0};
    int wrote = for_files(lab, session, version, write_file, &why);
    int rc = vel_session_complete(session, wrote == 0, err);

    if (wrote < 0)
        return vel_fail(err, (enum vel_status)wrote, "%s", why.text);
    return rc;
}

int seslab_checkpoint(const struct seslab *lab, struct vel_session *session,
                      int64_t version, struct vel_err *err)
{
    int rc = seslab_begin(lab, session, version, err);

    return rc < 0 ? rc : seslab_write(lab, session, version, err);
}

int seslab_newest(struct vel_session *session, int64_t *ret_version,
                  struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_session_restart_test(session, SESLAB_NAME, 0, ret_version, &why);

    if (rc == VEL_ENOENT) {
        *ret_version = 0;
        return 0;
    }
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

int seslab_restart(const struct seslab *lab, struct vel_session *session,
                   int64_t version, struct vel_err *err)
{
    int rc = vel_session_restart_begin(session, SESLAB_NAME, version, err), same, over;

    if (rc < 0)
        return rc;
    same = for_files(lab, session, version, compare_file, err);
    over = vel_session_restart_end(session, true, same == 0 ? err : NULL);
    return same < 0 ? same : over;
}

/* --- what is left ------------------------------------------------------------------
 */

/* One look at everything below the prefix and the cache. */
struct strays {
    const struct seslab *lab;
    const char *root;
    struct vel_vec entries;   /* the index */
    struct vel_map *expected; /* files on the prefix that its lists name */
    int64_t *parts;           /* of each entry in the caches */
    char *first;
    int n;
};

static void count_stray(struct strays *s, const char *below, const char *why)
{
    if (s->n++ == 0)
        snprintf(s->first, SESLAB_TEXT, "%s: %s", below, why);
}

static bool has_ending(const char *name, const char *ending)
{
    size_t len = strlen(name), tail = strlen(ending);

    return len > tail && strcmp(name + len - tail, ending) == 0;
}

static bool is_temporary(const char *name)
{
    return vel_fs_is_temporary(name) || vel_xfer_temp_parse(name, NULL) ||
           has_ending(name, VEL_RED_TEMPORARY) || has_ending(name, VEL_CACHE_NEW);
}

/* The place of an id among the entries, or -1. */
static int find_entry(const struct strays *s, int64_t id)
{
    for (size_t i = 0; i < s->entries.n; i++)
        if (((struct vel_entry *)vel_vec_at(&s->entries, i))->dataset.id == id)
            return (int)i;
    return -1;
}

/* "dataset.D", and below it in a cache "rank.R". */
static void look_at_dataset(struct strays *s, const char *below)
{
    const char *base = vel_path_base(below), *dataset = strstr(below, "dataset.");
    int64_t id = dataset ? strtoll(dataset + strlen("dataset."), NULL, 10) : 0, rank;
    int entry = find_entry(s, id);

    if (vel_number_behind(base, "dataset.", &id)) {
        if (entry < 0)
            count_stray(s, below, "nothing in the index speaks of it");
    } else if (entry >= 0 && vel_number_behind(base, "rank.", &rank)) {
        s->parts[entry]++;
    }
}

/* What leaders write, they sweep: with its launch, or when a newer dataset is there. */
static bool is_leaders(const struct strays *s, const char *below)
{
    bool is_records = strncmp(below, ".veloc/", 7) == 0;

    return s->lab->has_leaders ? is_records || is_temporary(vel_path_base(below))
                               : is_records && strstr(below, "launch");
}

static int look(void *arg, enum vel_fs_visit what, const char *below,
                const struct stat *st, struct vel_err *err)
{
    struct strays *s = arg;
    bool is_ours = s->root == s->lab->cache || strncmp(below, ".veloc", 6) == 0;

    (void)st, (void)err;
    if (is_leaders(s, below))
        return 0;
    if (is_temporary(vel_path_base(below)))
        count_stray(s, below, "temporary");
    else if (what == VEL_FS_ENTER && is_ours)
        look_at_dataset(s, below);
    else if (what == VEL_FS_FILE && !is_ours && !vel_map_get(s->expected, below))
        count_stray(s, below, "a file of no dataset");
    return 0;
}

/* The files on the prefix that an entry speaks of. */
static void expect_files(struct strays *s, const char *dir,
                         const struct vel_entry *entry)
{
    for (int l = 0; entry->place == VEL_ON_PREFIX && l < entry->lists; l++) {
        struct vel_vec files;

        if (indexlab_files(vel_fs_posix(), dir, entry->dataset.id, l, &files, NULL) < 0)
            bail_out("a list of files cannot be read");
        for (size_t i = 0; i < files.n; i++)
            vel_map_set(s->expected, ((struct vel_listed *)vel_vec_at(&files, i))->name,
                        s, NULL);
        vel_filelist_fini(&files);
    }
}

static char *load_index(const struct seslab *lab, struct vel_vec *entries)
{
    char *dir = vel_path_join(lab->prefix, ".veloc");

    if (!dir || indexlab_load_all(vel_fs_posix(), dir, entries, NULL) < 0)
        bail_out("the index cannot be read");
    return dir;
}

/* A dataset is in the caches with all its parts, or not at all. */
static void look_at_parts(struct strays *s)
{
    for (size_t i = 0; i < s->entries.n; i++) {
        const struct vel_dataset *d =
            &((struct vel_entry *)vel_vec_at(&s->entries, i))->dataset;
        char text[64];

        snprintf(text, sizeof text, "dataset.%" PRId64, d->id);
        if (s->parts[i] != 0 && s->parts[i] != d->ranks)
            count_stray(s, text, "a part of it");
    }
}

int seslab_strays(const struct seslab *lab, char ret_first[SESLAB_TEXT])
{
    struct strays s = {.lab = lab, .first = ret_first, .expected = vel_map_create()};
    char *dir = load_index(lab, &s.entries);

    s.parts = calloc(s.entries.n + 1, sizeof *s.parts);
    if (!s.expected || !s.parts)
        bail_out("no memory");
    for (size_t i = 0; i < s.entries.n; i++)
        expect_files(&s, dir, vel_vec_at(&s.entries, i));
    s.root = lab->prefix;
    vel_fs_walk(vel_fs_posix(), s.root, look, &s, NULL);
    s.root = lab->cache;
    vel_fs_walk(vel_fs_posix(), s.root, look, &s, NULL);
    look_at_parts(&s);
    free(s.parts);
    vel_map_destroy(s.expected, NULL);
    vel_index_fini(&s.entries);
    free(dir);
    return s.n;
}

/* Of a directory in the cache without anything in it there is nothing yet. */
static int find_highest(void *arg, enum vel_fs_visit what, const char *below,
                        const struct stat *st, struct vel_err *err)
{
    const char *base = vel_path_base(below), *dataset = strstr(below, "dataset.");
    int64_t *highest = arg, id, rank;

    (void)what, (void)st, (void)err;
    if (vel_number_behind(base, "rank.", &rank))
        id = dataset ? strtoll(dataset + strlen("dataset."), NULL, 10) : 0;
    else if (strncmp(below, ".veloc", 6) != 0 ||
             !vel_number_behind(base, "dataset.", &id))
        return 0;
    if (id > *highest)
        *highest = id;
    return 0;
}

int64_t seslab_last_id(const struct seslab *lab)
{
    int64_t highest = 0;

    vel_fs_walk(vel_fs_posix(), lab->prefix, find_highest, &highest, NULL);
    vel_fs_walk(vel_fs_posix(), lab->cache, find_highest, &highest, NULL);
    return highest;
}

int64_t seslab_id(const struct seslab *lab, int64_t version)
{
    struct vel_vec entries;
    int64_t id = 0;

    free(load_index(lab, &entries));
    for (size_t i = 0; i < entries.n; i++) {
        const struct vel_dataset *d =
            &((struct vel_entry *)vel_vec_at(&entries, i))->dataset;

        if (d->version == version && d->id > id)
            id = d->id;
    }
    vel_index_fini(&entries);
    return id;
}

bool seslab_is_flushed(const struct seslab *lab, int64_t version)
{
    struct vel_vec entries;
    bool is_flushed = false;

    free(load_index(lab, &entries));
    for (size_t i = 0; i < entries.n; i++) {
        const struct vel_entry *e = vel_vec_at(&entries, i);

        is_flushed |= e->dataset.version == version && e->place == VEL_ON_PREFIX;
    }
    vel_index_fini(&entries);
    return is_flushed;
}
