/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meta/filelist.h"
#include "tap/files.h"
#include "tap/recordlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"

/* Lists whose names are borrowed. */
static const struct vel_listed samples[] = {
    {.rank = 5,
     .name = (char *)"sub/\xff.dat",
     .size = INT64_MAX / 2,
     .crc = UINT32_MAX,
     .mode = 07777,
     .mtime_s = -1,
     .mtime_ns = 999999999,
     .container = -1},
    {.rank = 6, .name = (char *)"@/home/u/x", .container = 3, .offset = 44},
    {.rank = 6, .name = (char *)"empty", .container = 0},
    {.rank = 7, .name = (char *)"big", .container = -1, .is_through = true},
};

static struct vel_vec listed(size_t n)
{
    struct vel_vec files = {
        .items = (void *)(uintptr_t)samples, .n = n, .item_size = sizeof *samples};

    return files;
}

static int decode(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_vec files;
    int rc;

    vel_vec_init(&files, sizeof(struct vel_listed));
    rc = vel_filelist_decode(bytes, len, &files, err);
    vel_filelist_fini(&files);
    return rc;
}

static bool same(const struct vel_listed *a, const struct vel_listed *b)
{
    return a->rank == b->rank && strcmp(a->name, b->name) == 0 && a->size == b->size &&
           a->crc == b->crc && a->mode == b->mode && a->mtime_s == b->mtime_s &&
           a->mtime_ns == b->mtime_ns && a->container == b->container &&
           a->offset == b->offset && a->is_through == b->is_through;
}

static void both_ways(const struct vel_buf *bytes)
{
    struct vel_vec files;
    struct vel_err err = {0};
    int differ = 0;

    vel_vec_init(&files, sizeof(struct vel_listed));
    is_int(vel_filelist_decode(bytes->data, bytes->len, &files, &err), 0,
           "a list is read as it was written");
    is_int((long long)files.n, 4, "with all its files");
    for (size_t i = 0; i < files.n; i++)
        differ += !same(vel_vec_at(&files, i), &samples[i]);
    is_int(differ, 0, "alone or in a container, whatever their names and sizes");
    vel_filelist_decode(bytes->data, bytes->len, &files, &err);
    is_int((long long)files.n, 8, "the list of another rank is appended");
    vel_filelist_fini(&files);
}

/* Who does not know patches must not take one for the file. */
static void patches(void)
{
    struct vel_listed patch = samples[0];
    struct vel_vec files = {.items = &patch, .n = 1, .item_size = sizeof patch}, back;
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    patch.is_patch = true;
    vel_filelist_encode(&files, &bytes, NULL);
    ok(strstr(vel_buf_text(&bytes), "\"version\":2,"),
       "a list with a patch is of a newer version");
    vel_vec_init(&back, sizeof(struct vel_listed));
    ok(vel_filelist_decode(bytes.data, bytes.len, &back, NULL) == 0 &&
           ((struct vel_listed *)back.items)[0].is_patch,
       "and tells it");
    vel_filelist_fini(&back);
    bytes.len = 0;
    patch.is_patch = false;
    vel_filelist_encode(&files, &bytes, NULL);
    ok(strstr(vel_buf_text(&bytes), "\"version\":1,"), "any other is as ever");
    vel_buf_fini(&bytes);
}

static void hostile(const struct vel_buf *bytes)
{
    static const struct recordlab_damage damages[] = {
        {"\"files\":[", "\"files\":3,\"x\":[", "files"},
        {"\"files\":[", "\"files\":[3,", "item 0"},
        {"\"rank\":5", "\"rank\":-1", "rank"},
        {"\"size\":4611686018427387903", "\"size\":-1", "size"},
        {"\"size\":4611686018427387903", "\"size\":9223372036854775807", "size"},
        {"\"crc\":4294967295", "\"crc\":4294967296", "crc"},
        {"\"mode\":4095", "\"mode\":4096", "mode"},
        {"\"mtime_ns\":999999999", "\"mtime_ns\":1000000000", "mtime_ns"},
        {"\"mtime\":-1", "\"mtime\":null", "mtime"},
        {"\"container\":3", "\"container\":-1", "container"},
        {"\"container\":3", "\"container\":2147483648", "container"},
        {"\"offset\":44", "\"offset\":-1", "offset"},
        {"\"offset\":44", "\"offse\":44", "offset"},
        {"\"through\":true", "\"through\":1", "through"},
        {"\"empty\"", "\"../x\"", "no name of a cached file"},
        {"\"empty\"", "\"/etc/passwd\"", "no name of a cached file"},
        {"\"empty\"", "\"a/../../x\"", "no name of a cached file"},
        {"\"empty\"", "\"a//b\"", "no name of a cached file"},
        {"\"empty\"", "\"\"", "no name of a cached file"},
        {"\"empty\"", "\"a%00b\"", "name"},
        {"\"empty\"", "\"a%0Ab\"", "no name of a cached file"},
    };

    recordlab_refused(bytes, "files", decode, damages,
                      sizeof damages / sizeof *damages);
}

/* --- on disk --- */

static void make_room(const char *dir)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/dataset.7", dir);
    mkdir(path, 0700);
}

static int save_some(struct vel_fs *fs, const char *dir, size_t n, struct vel_err *err)
{
    struct vel_vec files = listed(n);

    return vel_filelist_save(fs, dir, 7, 0, &files, true, err);
}

static void prepare(const char *dir, void *arg)
{
    (void)arg;
    make_room(dir);
    if (save_some(vel_fs_posix(), dir, 1, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

static int save(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    (void)arg;
    return save_some(fs, dir, 4, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    struct vel_vec files;

    (void)arg;
    if (vel_filelist_load(vel_fs_posix(), dir, 7, 0, &files, NULL) < 0)
        return SWEEP_BROKEN;
    size_t n = files.n;
    vel_filelist_fini(&files);
    return n == 1 ? SWEEP_OLD : n == 4 ? SWEEP_NEW : SWEEP_BROKEN;
}

/* What a crash leaves of one goes with the dataset's directory. */
static bool is_none(const char *name)
{
    (void)name;
    return false;
}

static void on_disk(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec files = {.n = 77};
    struct vel_err err = {0};

    is_int(vel_filelist_load(fs, tap_dir(), 7, 0, &files, &err), VEL_ENOENT,
           "a list that is not there is told apart");
    make_room(tap_dir());
    tap_put_file(tap_path("dataset.7/files.0"), "files\n");
    is_int(vel_filelist_load(fs, tap_dir(), 7, 0, &files, &err), VEL_ECORRUPT,
           "from one that is damaged");
    ok(files.n == 77 && strstr(err.text, "dataset.7/files.0"),
       "which the sentence names, and nothing is returned");
    ok(save_some(fs, tap_dir(), 0, &err) == 0 &&
           vel_filelist_load(fs, tap_dir(), 7, 0, &files, &err) == 0 && files.n == 0,
       "a list may be empty");
    vel_filelist_fini(&files);
}

/* A node, and the chair that takes it for lost and renames for it. */
static void saved_by_two(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec files = {0};
    int bad = 0, status;

    fflush(stdout);
    for (int k = 0; k < 2; k++)
        if (fork() == 0) {
            int failed = 0;

            for (int i = 0; i < 500; i++)
                failed += save_some(fs, tap_dir(), k ? 4 : 1, NULL) < 0;
            _exit(failed > 0);
        }
    while (wait(&status) > 0)
        bad += status != 0;
    ok(bad == 0 && vel_filelist_load(fs, tap_dir(), 7, 0, &files, NULL) == 0 &&
           (files.n == 1 || files.n == 4),
       "two processes save one list at once: none fails, and it is whole");
    vel_filelist_fini(&files);
}

int main(void)
{
    const struct sweep sweep = {.name = "saving a list of files",
                                .prepare = prepare,
                                .action = save,
                                .check = check,
                                .is_temporary = is_none};
    struct vel_vec files = listed(4);
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    if (vel_filelist_encode(&files, &bytes, NULL) < 0)
        bail_out("out of memory");
    both_ways(&bytes);
    hostile(&bytes);
    on_disk();
    saved_by_two();
    sweep_run(&sweep);
    vel_buf_fini(&bytes);
    patches();
    return done_testing();
}
