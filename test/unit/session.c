/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session keeps when something fails: prefixes that cannot be written, names
 * that are used again, files that are no files, and another launch at the same time. */
#include "config.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/comm.h"
#include "meta/cache.h"
#include "meta/current.h"
#include "meta/entry.h"
#include "meta/filemap.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "red/set.h"
#include "sys/host.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/seslab.h"
#include "tap/tap.h"

/* --- launches of one rank ------------------------------------------------------- */

static struct vel_comm *self;

static struct vel_session *launch(const struct seslab *lab, struct vel_fs *fs)
{
    struct vel_session *s = NULL;
    struct vel_err err = {0};

    if (!self && vel_comm_self(&self, &err) < 0)
        bail_out("%s", err.text);
    if (seslab_open(lab, self, fs, &s, &err) < 0)
        note("%s", err.text);
    return s;
}

static void end(struct vel_session *s, const char *reason)
{
    struct vel_err err = {0};

    if (vel_session_close(s, reason, &err) < 0)
        note("%s", err.text);
}

/* A dataset of one file, which lies below the prefix when it is flushed. */
static int save(const struct seslab *lab, struct vel_session *s, unsigned use,
                int64_t version, const char *name, const char *text)
{
    char original[1024], *path = NULL;
    struct vel_err err = {0};
    int rc = vel_session_start(s, name, version, use, &err);

    snprintf(original, sizeof original, "%s/%s", lab->prefix, name);
    if (rc == 0)
        rc = vel_session_route(s, original, &path, &err);
    if (rc == 0) {
        tap_put_file(path, text);
        rc = vel_session_complete(s, true, &err);
    }
    if (rc < 0)
        note("%s %" PRId64 ": %s", name, version, err.text);
    free(path);
    return rc;
}

static const char *on_prefix(const struct seslab *lab, const char *name)
{
    static char path[1024];

    snprintf(path, sizeof path, "%s/%s", lab->prefix, name);
    return path;
}

static int64_t newest(struct vel_session *s)
{
    int64_t version = -1;
    struct vel_err err = {0};

    if (seslab_newest(s, &version, &err) < 0)
        note("%s", err.text);
    return version;
}

/* Every file of the cache and nothing else. */
static void lose_cache(const struct seslab *lab)
{
    tap_fresh_dir(lab->cache);
}

/* --- failures ----------------------------------------------------------------------
 */

static void mend(struct vel_fs_fault *fault)
{
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};

    vel_fs_fault_arm(fault, &none);
}

static void break_below(struct vel_fs_fault *fault, const char *dir, unsigned kinds)
{
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_LASTING,
                                           .kinds = kinds,
                                           .at = 1,
                                           .errnum = 28 /* ENOSPC */,
                                           .below = dir};

    vel_fs_fault_arm(fault, &plan);
}

/* A file system that fails in one directory. */
static struct vel_fs_fault *fault_below(const char *dir, unsigned kinds)
{
    struct vel_fs_fault *fault = NULL;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        bail_out("no twin");
    break_below(fault, dir, kinds);
    return fault;
}

static void no_index(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    char dir[600];

    seslab_init(&lab, 1);
    snprintf(dir, sizeof dir, "%s/.veloc", lab.prefix);
    struct vel_fs_fault *fault = fault_below(dir, 0);
    mend(fault);
    lab.leaders_fs = vel_fs_fault_fs(fault);
    s = launch(&lab, vel_fs_fault_fs(fault));
    break_below(fault, dir, VEL_FS_KIND_LINK);
    is_int(seslab_checkpoint(&lab, s, 1, &err), 0,
           "a prefix without room for an entry fails no checkpoint in the cache");
    is_int(seslab_checkpoint(&lab, s, 2, &err), 0, "nor the next one");
    is_int(newest(s), 2, "and they can be restored");
    end(s, NULL);
    lab.leaders_fs = NULL;
    s = launch(&lab, vel_fs_posix());
    is_int(newest(s), 2, "by the next launch as well");
    end(s, NULL);
    vel_fs_fault_destroy(fault);
}

static void unflushed_output(unsigned use, const char *what)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    char dir[600];

    seslab_init(&lab, 2);
    snprintf(dir, sizeof dir, "%s/full", lab.prefix);
    struct vel_fs_fault *fault = fault_below(dir, VEL_FS_KIND_OPEN);
    s = launch(&lab, vel_fs_fault_fs(fault));
    is_int(vel_session_start(s, "result", 1, use, &err), 0, "%s begins", what);
    char *path = NULL;
    if (vel_session_route(s, on_prefix(&lab, "full/result"), &path, &err) == 0)
        tap_put_file(path, "the result");
    free(path);
    is_int(vel_session_complete(s, true, &err), 0, "and cannot be flushed");
    for (int64_t v = 1; v <= 3; v++)
        seslab_checkpoint(&lab, s, v, &err);
    mend(fault);
    end(s, "the end");
    ok(tap_file_is(on_prefix(&lab, "full/result"), "the result"),
       "newer checkpoints have not taken its place: it is flushed at the end");
    vel_fs_fault_destroy(fault);
}

static void fifo(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    char *path = NULL;

    seslab_init(&lab, 3);
    s = launch(&lab, vel_fs_posix());
    vel_session_start(s, "pipe", 1, VEL_USE_CHECKPOINT, &err);
    vel_session_route(s, on_prefix(&lab, "pipe"), &path, &err);
    if (!path || mkfifo(path, 0600) != 0)
        bail_out("no FIFO");
    free(path);
    alarm(60);
    ok(vel_session_complete(s, true, &err) < 0 && strstr(err.text, "regular file"),
       "a FIFO is no file of a checkpoint, and nobody waits for its writer");
    alarm(0);
    end(s, NULL);
}

/* --- older ones ----------------------------------------------------------------------
 */

static void fetched_again(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    enum vel_session_where where = VEL_WHERE_NONE;

    seslab_init(&lab, 4);
    s = launch(&lab, vel_fs_posix());
    save(&lab, s, VEL_USE_CHECKPOINT, 1, "a", "one");
    end(s, "it ends and is flushed");
    s = launch(&lab, vel_fs_posix());
    save(&lab, s, VEL_USE_CHECKPOINT, 2, "b", "two");
    is_int(vel_session_restart_begin(s, "a", 1, &err), 0, "an older one is fetched");
    vel_session_restart_end(s, true, &err);
    vel_session_where(s, "b", &where, &err);
    is_int(where, VEL_WHERE_CACHE, "the newest one stays in the cache");
    end(s, "the end");
    ok(tap_file_is(on_prefix(&lab, "b"), "two"),
       "and is the one that is flushed at the end");
}

static int64_t current(const struct seslab *lab)
{
    return indexlab_current(vel_fs_posix(), on_prefix(lab, ".veloc"));
}

static void failed_fetch(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};

    seslab_init(&lab, 5);
    seslab_set(&lab, "FLUSH", "1");
    s = launch(&lab, vel_fs_posix());
    save(&lab, s, VEL_USE_CHECKPOINT, 1, "a", "one");
    save(&lab, s, VEL_USE_CHECKPOINT, 2, "b", "two");
    tap_put_file(on_prefix(&lab, "a"), "oops");
    is_int(current(&lab), 2, "the newest flushed one is current");
    ok(vel_session_restart_begin(s, "a", 1, &err) < 0, "a damaged older one fails");
    is_int(current(&lab), 2, "which says nothing against the current one");
    end(s, NULL);
}

/* The storage fails, and not the dataset. */
static void broken_fetch(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    struct vel_entry entry = {0};
    struct vel_fs_fault *fault;
    enum vel_session_where where = VEL_WHERE_NONE;
    char *path = NULL, dir[1024];

    seslab_init(&lab, 9);
    snprintf(dir, sizeof dir, "%s", on_prefix(&lab, "deep"));
    s = launch(&lab, vel_fs_posix());
    vel_session_start(s, "a", 1, VEL_USE_CHECKPOINT, &err);
    if (vel_session_route(s, on_prefix(&lab, "deep/a"), &path, &err) == 0)
        tap_put_file(path, "one");
    free(path);
    vel_session_complete(s, true, &err);
    end(s, "it ends and is flushed");
    lose_cache(&lab);
    fault = fault_below(dir, VEL_FS_KIND_OPEN | VEL_FS_KIND_STAT);
    s = launch(&lab, vel_fs_fault_fs(fault));
    vel_session_where(s, "a", &where, &err);
    ok(vel_fs_fault_fired(fault) && where == VEL_WHERE_PREFIX,
       "what cannot be fetched is still offered");
    end(s, NULL);
    ok(indexlab_load(vel_fs_posix(), on_prefix(&lab, ".veloc"), 1, &entry, &err) == 0 &&
           entry.fetched > 0 && entry.failed == 0 && current(&lab) == 1,
       "that it was tried is recorded, and says nothing against it");
    vel_entry_fini(&entry);
    vel_fs_fault_destroy(fault);
    s = launch(&lab, vel_fs_posix());
    is_int(vel_session_restart_begin(s, "a", 1, &err), 0, "the next launch has it");
    end(s, NULL);
}

/* --- numbers that were given again --------------------------------------------------
 */

static const struct vel_dataset old = {.name = (char[]){"old"},
                                       .version = 7,
                                       .use = VEL_USE_CHECKPOINT,
                                       .ranks = 2,
                                       .nodes = 2,
                                       .is_leaders = true};

/* A node that was away has a part of a dataset of HDF5 files that nothing is recorded
 * of any more. */
static void put_old_part(const struct seslab *lab, int64_t id)
{
    struct vel_filemap map = {
        .rank = 1, .dataset = old, .descriptor = vel_node_object()};
    struct vel_red_set set = {.comm = self,
                              .scheme = VEL_SINGLE,
                              .set = 1,
                              .sets = 2,
                              .rank = 1,
                              .fs = vel_fs_posix(),
                              .label = VEL_CACHE_LABEL};
    struct vel_err err = {0};
    struct vel_buf brief;
    char pattern[1024], *dir;
    glob_t found;

    map.dataset.id = id;
    snprintf(pattern, sizeof pattern, "%s/*/*/index.0", lab->cache);
    if (glob(pattern, 0, NULL, &found) != 0)
        bail_out("no %s", pattern);
    set.dir = dir = vel_cache_rank_dir(found.gl_pathv[0], id, 1);
    vel_buf_init(&brief);
    if (vel_cache_make_dir(set.fs, dir, &err) < 0 ||
        vel_filemap_encode(&map, &brief, &err) < 0 ||
        vel_red_apply(&set, NULL, 0, brief.data, brief.len, NULL, &err) < 0)
        bail_out("%s", err.text);
    vel_buf_fini(&brief);
    free(dir);
    globfree(&found);
    vel_node_destroy(map.descriptor);
}

/* Of leaders, who are about to forget it. */
static void put_old_entry(const struct seslab *lab, int64_t id)
{
    const struct vel_id_owner maker = {.launch = "gone", .is_leaders = true};
    struct vel_entry entry = {.dataset = old, .owner = 1, .place = VEL_ON_PREFIX};
    struct vel_err err = {0};
    char dir[1200];

    entry.dataset.id = id;
    snprintf(dir, sizeof dir, "%s/dataset.%d", on_prefix(lab, ".veloc"), (int)id);
    vel_fs_make_dirs(vel_fs_posix(), dir, 0777, &err);
    if (vel_ids_claim_late(vel_fs_posix(), on_prefix(lab, ".veloc"), id, &maker, &err) <
            0 ||
        indexlab_save(vel_fs_posix(), on_prefix(lab, ".veloc"), &entry, &err) < 0)
        bail_out("%s", err.text);
}

static void old_files(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_entry entry = {0};
    struct vel_err err = {0};

    seslab_init(&lab, 10);
    seslab_set(&lab, "FLUSH", "0");
    s = launch(&lab, vel_fs_posix());
    seslab_checkpoint(&lab, s, 1, &err);
    end(s, NULL);
    put_old_part(&lab, 1);
    put_old_part(&lab, 2);
    put_old_entry(&lab, 3);
    seslab_set(&lab, "PREFIX_PURGE", "1");
    s = launch(&lab, vel_fs_posix());
    ok(newest(s) == 1 && seslab_restart(&lab, s, 1, &err) == 0,
       "a checkpoint that has the number of HDF5 files of long ago is restored");
    seslab_checkpoint(&lab, s, 2, &err);
    is_int(seslab_id(&lab, 2), 4, "their numbers are not given again");
    end(s, NULL);
    is_int(indexlab_load(vel_fs_posix(), on_prefix(&lab, ".veloc"), 3, &entry, &err), 0,
           "nor is the entry touched of those that leaders are about to forget");
    vel_entry_fini(&entry);
}

/* --- straight to the prefix
 * ----------------------------------------------------------- */

static void bypass(void)
{
    struct seslab lab;
    struct vel_session *s;
    struct vel_err err = {0};
    char *path = NULL, first[SESLAB_TEXT];

    seslab_init(&lab, 6);
    seslab_set(&lab, "CACHE_BYPASS", "1");
    s = launch(&lab, vel_fs_posix());
    is_int(save(&lab, s, VEL_USE_CHECKPOINT, 1, "state", "good"), 0,
           "a checkpoint goes straight to the prefix");
    ok(tap_file_is(on_prefix(&lab, "state"), "good"), "where it has its name");
    vel_session_start(s, "state", 2, VEL_USE_CHECKPOINT, &err);
    vel_session_route(s, on_prefix(&lab, "state"), &path, &err);
    if (path)
        tap_put_file(path, "half");
    free(path);
    ok(tap_file_is(on_prefix(&lab, "state"), "good"),
       "the next one of that name does not destroy it while it is written");
    is_int(vel_session_complete(s, false, &err), VEL_ECANCEL, "nor when it fails");
    ok(tap_file_is(on_prefix(&lab, "state"), "good"), "the old file stands");
    is_int(seslab_strays(&lab, first), 0, "alone");
    end(s, NULL);
    s = launch(&lab, vel_fs_posix());
    is_int(vel_session_restart_begin(s, "state", 1, &err), 0, "it can be restored");
    vel_session_restart_end(s, true, &err);
    vel_session_start(s, "state", 3, VEL_USE_CHECKPOINT, &err);
    vel_session_route(s, on_prefix(&lab, "state"), &path, &err);
    vel_session_complete(s, false, &err);
    free(path);
    ok(tap_file_is(on_prefix(&lab, "state"), "good"),
       "one that never wrote the file does not remove it");
    is_int(save(&lab, s, VEL_USE_CHECKPOINT, 4, "state", "better"), 0,
           "one that succeeds");
    ok(tap_file_is(on_prefix(&lab, "state"), "better"), "replaces it");
    end(s, NULL);
    seslab_set(&lab, "FETCH_BYPASS", "1");
    s = launch(&lab, vel_fs_posix());
    is_int(vel_session_restart_begin(s, "state", 4, &err), 0,
           "the new one is restored");
    vel_session_restart_end(s, true, &err);
    end(s, NULL);
}

static void open_cache(void)
{
    struct seslab lab;
    struct vel_host host;
    struct vel_session *s;
    struct vel_err err = {0};
    char dir[1024];

    seslab_init(&lab, 8);
    if (vel_host_init(&host, &err) < 0)
        bail_out("%s", err.text);
    snprintf(dir, sizeof dir, "%s/%s", lab.cache, host.user);
    vel_host_fini(&host);
    if (mkdir(dir, 0700) != 0 || chmod(dir, 0777) != 0)
        bail_out("no %s", dir);
    s = launch(&lab, vel_fs_posix());
    seslab_checkpoint(&lab, s, 1, &err);
    ok(rmdir(dir) == 0, "a cache whose directory others can exchange is not used");
    end(s, NULL);
    s = launch(&lab, vel_fs_posix());
    is_int(newest(s), 1, "but one beside it, which the next launch finds");
    end(s, NULL);
    lose_cache(&lab);
}

int main(void)
{
    no_index();
    unflushed_output(VEL_USE_OUTPUT, "an output");
    unflushed_output(VEL_USE_OUTPUT | VEL_USE_CHECKPOINT, "a checkpoint for people");
    fifo();
    fetched_again();
    failed_fetch();
    broken_fetch();
    old_files();
    bypass();
    open_cache();
    vel_comm_destroy(self);
    return done_testing();
}
