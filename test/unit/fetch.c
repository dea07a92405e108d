/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets on the prefix come back: to the ranks that wrote them, to fewer, file by
 * file and out of containers; and what is damaged, short or missing there is refused.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meta/cachename.h"
#include "meta/paths.h"
#include "tap/fs_fault.h"
#include "tap/crewlab.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"
#include "xfer/container.h"
#include "xfer/fetch.h"

enum { RANKS = 4, NODES = 2, PATH = 1200, LONG = 2 * PATH + 1200 };

struct scene {
    struct crewlab lab;
    int status;              /* of the fetch, the same on all ranks */
    char text[VEL_ERR_TEXT]; /* and its sentence on rank 0 */
    unsigned got;            /* files that came, of all ranks, when it succeeded */
    bool is_read_only;       /* vel_fetch_check() */
    int culprit;
    uint64_t fail_at;
    bool fired;
};

static int flush(struct vel_comm *comm, void *arg)
{
    struct scene *scene = arg;
    struct crewlab_rank r;
    struct vel_entry entry;
    int rc = crewlab_join(&scene->lab, comm, vel_fs_posix(), &r);

    if (rc < 0)
        return rc;
    rc = crewlab_flush(&r, 1, &entry);
    vel_entry_fini(&entry);
    crewlab_leave(&r);
    return rc;
}

/* How many of the files have come whole; -1: one that should not be there. */
static int count_whole(const struct vel_vec *files, const char *dir)
{
    int whole = 0;

    for (size_t i = 0; i < files->n; i++) {
        const struct vel_listed *f = vel_vec_at(files, i);
        char path[LONG];
        int file = f->name[strlen(f->name) - 1] - '0';

        snprintf(path, sizeof path, "%s/%.600s", dir, f->name);
        if (!crewlab_is_file(path, 1, f->rank, file))
            return -1;
        whole++;
    }
    return whole;
}

static int fetch_all(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry = {0};
    struct vel_vec files = {0};
    char dir[PATH];
    int64_t whole = 0;
    int rc = indexlab_load(vel_fs_posix(), r->crew.dir, 1, &entry, &r->err);

    snprintf(dir, sizeof dir, "%s/fetched.%d", scene->lab.cache, r->crew.world->rank);
    if (rc == 0)
        rc = vel_fetch_lists(&r->crew, &entry, &files, &r->err);
    if (rc == 0 && scene->is_read_only)
        rc = vel_comm_agree(
            r->crew.world, vel_fetch_check(&r->crew, &entry, &files, &r->err), &r->err);
    else if (rc == 0)
        rc = vel_fetch_files(&r->crew, &entry, &files, dir, &r->err);
    if (rc == 0 && !scene->is_read_only)
        whole = count_whole(&files, dir);
    vel_filelist_fini(&files);
    vel_entry_fini(&entry);
    if (rc < 0 && access(dir, F_OK) == 0)
        whole = -1; /* nothing of it stays */
    if (vel_comm_allreduce(r->crew.world, VEL_COMM_SUM, &whole, 1, NULL) < 0)
        return 1;
    if (r->crew.world->rank == 0) {
        scene->status = rc;
        snprintf(scene->text, sizeof scene->text, "%s", r->err.text);
        scene->got = (unsigned)whole;
    }
    return whole < 0;
}

static int fetch(struct vel_comm *comm, void *arg)
{
    struct scene *scene = arg;
    struct vel_fs_fault *fault = NULL;
    struct vel_fs *fs = vel_fs_posix();
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE,
                                           .at = scene->fail_at};
    struct crewlab_rank r;
    int rc;

    if (scene->fail_at && comm->rank == scene->culprit) {
        if (vel_fs_fault_create(fs, NULL, &fault, NULL) < 0)
            bail_out("no memory");
        vel_fs_fault_arm(fault, &plan);
        fs = vel_fs_fault_fs(fault);
    }
    rc = crewlab_join(&scene->lab, comm, fs, &r);
    if (rc == 0) {
        rc = fetch_all(&r, scene);
        crewlab_leave(&r);
    }
    if (fault) {
        scene->fired = vel_fs_fault_fired(fault);
        vel_fs_fault_destroy(fault);
    }
    return rc;
}

/* Into an empty cache; false when something is left of a failure, or wrong. */
static bool fetches(struct scene *scene, int ranks)
{
    tap_fresh_dir(scene->lab.cache);
    return crowd_run(ranks, NULL, fetch, scene, NULL) == 0;
}

static bool refuses(struct scene *scene, int status, const char *words)
{
    bool is_clean = fetches(scene, RANKS);

    if (scene->status != status || !strstr(scene->text, words))
        note("status %d: %s", scene->status, scene->text);
    return is_clean && scene->status == status && strstr(scene->text, words);
}

static void begin(struct scene *scene, bool packs)
{
    *scene = (struct scene){.culprit = -1};
    crewlab_init(&scene->lab, NODES);
    scene->lab.packs = packs;
    if (crowd_run(RANKS, NULL, flush, scene, NULL) != 0)
        bail_out("nothing was flushed");
}

/* --- what is whole --- */

static void test_whole(bool packs)
{
    const char *from = packs ? "out of containers" : "file by file";
    struct scene scene;

    begin(&scene, packs);
    ok(fetches(&scene, RANKS) && scene.status == 0 &&
           scene.got == RANKS * CREWLAB_FILES,
       "all files come back, %s", from);
    ok(fetches(&scene, 2) && scene.status == 0 && scene.got == RANKS * CREWLAB_FILES,
       "to two ranks of them, too");
    scene.is_read_only = true;
    ok(fetches(&scene, RANKS) && scene.status == (packs ? VEL_EUNSUP : 0),
       packs ? "but they cannot be read where they are"
             : "and they can be read where they are");
}

/* --- containers --- */

static int64_t size_of(const struct crewlab *lab, int container)
{
    char *path = vel_container_path(lab->dir, 1, container);
    struct stat st;
    int rc = path ? stat(path, &st) : -1;

    free(path);
    return rc < 0 ? -1 : st.st_size;
}

/* A byte of it becomes another one. */
static void damage(const char *path, size_t at)
{
    size_t len;
    char *bytes = tap_get_file(path, &len);

    if (!bytes || at >= len)
        bail_out("%s has no byte %zu", path, at);
    bytes[at] ^= 1;
    tap_put_bytes(path, bytes, len);
    free(bytes);
}

static void test_containers(void)
{
    struct scene scene;
    char *path;
    int n = 0;
    int64_t bytes = 0;

    begin(&scene, true);
    for (n = 0; size_of(&scene.lab, n) >= 0; n++)
        bytes += size_of(&scene.lab, n);
    ok(n > 3 && bytes > 0, "%d containers hold %d bytes", n, (int)bytes);
    ok(access(crewlab_flushed(&scene.lab, 1, 0, 1), F_OK) < 0,
       "and there are no other files");
    ok(fetches(&scene, RANKS) && scene.status == 0 &&
           scene.got == RANKS * CREWLAB_FILES,
       "all come back");
    path = vel_container_path(scene.lab.dir, 1, 1);
    damage(path, (size_t)size_of(&scene.lab, 1) - 1);
    ok(refuses(&scene, VEL_ECORRUPT, "checksum"), "a damaged container is refused");
    scene.lab.ignores_crc = true;
    fetches(&scene, RANKS);
    is_int(scene.status, 0, "but not when nobody looks at checksums");
    scene.lab.ignores_crc = false;
    if (truncate(path, 100) < 0)
        bail_out("%s cannot be cut", path);
    ok(refuses(&scene, VEL_ECORRUPT, "container.1"), "a short one is");
    unlink(path);
    ok(refuses(&scene, VEL_ENOENT, "container.1"), "one that is missing, too");
    free(path);
}

/* --- what is damaged --- */

static void test_damaged(void)
{
    struct scene scene;
    struct stat st;
    const char *file;
    char *path;

    begin(&scene, false);
    file = crewlab_flushed(&scene.lab, 1, 2, 1);
    if (stat(file, &st) < 0)
        bail_out("a file is not there");
    damage(file, 5);
    ok(refuses(&scene, VEL_ECORRUPT, "checksum"), "a damaged file is refused");
    scene.is_read_only = true;
    ok(refuses(&scene, VEL_ECORRUPT, "checksum"),
       "where it is, too, since somebody has written it");
    if (utimensat(AT_FDCWD, file, (struct timespec[]){st.st_atim, st.st_mtim}, 0) < 0)
        bail_out("a file gets no other time");
    ok(fetches(&scene, RANKS) && scene.status == 0,
       "when its time is the old one that cannot be seen without reading it");
    scene.is_read_only = false;
    scene.lab.ignores_crc = true;
    fetches(&scene, RANKS);
    is_int(scene.status, 0, "nor when nobody asks for checksums");
    if (truncate(crewlab_flushed(&scene.lab, 1, 2, 1), 10) < 0)
        bail_out("a file cannot be cut");
    ok(refuses(&scene, VEL_ECORRUPT, "10 bytes") || scene.status == VEL_ECORRUPT,
       "a short one is refused all the same: %s", scene.text);
    scene.is_read_only = true;
    ok(refuses(&scene, VEL_ECORRUPT, "10 bytes"), "where it is, too");
    unlink(crewlab_flushed(&scene.lab, 1, 2, 1));
    ok(refuses(&scene, VEL_ENOENT, "r2.f1"), "one that is missing is missed");
    scene.is_read_only = false;
    ok(refuses(&scene, VEL_ENOENT, "r2.f1"), "by a fetch");
    path = vel_files_path(scene.lab.dir, 1, 1);
    damage(path, 120);
    ok(refuses(&scene, VEL_ECORRUPT, "files.1"), "a damaged list is refused");
    unlink(path);
    ok(refuses(&scene, VEL_ENOENT, "files.1"), "a list that is missing is missed");
    free(path);
}

/* --- failures --- */

static void test_failures(bool packs)
{
    struct scene scene;
    bool fine = true;
    int failed = 0;

    begin(&scene, packs);
    scene.culprit = 1;
    do {
        scene.fail_at++;
        scene.fired = false;
        fine = fetches(&scene, RANKS) &&
               (scene.status < 0 || scene.got == RANKS * CREWLAB_FILES);
        failed += scene.status < 0;
        if (!fine)
            note("operation %d: status %d: %s", (int)scene.fail_at, scene.status,
                 scene.text);
    } while (fine && scene.fired);
    ok(fine && failed > 10,
       "each operation of rank 1 fails%s: all fail, and leave nothing, %d times",
       packs ? ", with containers" : "", failed);
}

int main(void)
{
    test_whole(false);
    test_whole(true);
    test_containers();
    test_damaged();
    test_failures(false);
    test_failures(true);
    return done_testing();
}
