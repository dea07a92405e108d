/* SPDX-License-Identifier: BSD-3-Clause */
/* What yesterday's h5veloc has written is restored by today's: four ranks on four nodes
 * read the caches and the prefix that test/data/golden keeps, whole, with nodes lost,
 * and from the prefix alone; and write the same records as then.
 *
 *   golden.np4 make FILE    makes such data with this build (make golden GOLDEN=FILE)
 *
 * versions   1 flushed, file by file; 2 flushed in a container; 3 (RS, two losses) and
 *            4 (XOR) in the caches only; another was dropped, and an operator has asked
 *            for a halt */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/current.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/halt.h"
#include "meta/nodes.h"
#include "meta/prefix.h"
#include "sys/host.h"
#include "tap/apilab.h"
#include "tap/bundle.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/mtap.h"
#include "tap/tap.h"
#include "veloc.h"

/* in paths of the bundle, where the name of this host is */
#define HOST "HOST"

#define NAME "state"
#define SETTINGS                                                                       \
    "USER_NAME=golden\nSTORE=$/cache COUNT=2\nCKPT=0 INTERVAL=1 STORE=$/cache "        \
    "TYPE=XOR SET_SIZE=4\nCKPT=1 INTERVAL=2 STORE=$/cache TYPE=RS SET_SIZE=4 "         \
    "SET_FAILURES=2\n"

enum { NUMBERS = 5, FILES = 3, ASKED = 100 };

static int me;
static int numbers[NUMBERS];
static double others[2];

/* --- what a version holds --- */

static void fill(int version)
{
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = version * 1000 + me * 100 + i;
    others[0] = version + me / 4.0;
    others[1] = -others[0];
}

static bool is_filled(int version)
{
    int got[NUMBERS];
    double more[2];

    memcpy(got, numbers, sizeof got);
    memcpy(more, others, sizeof more);
    fill(version);
    return memcmp(got, numbers, sizeof got) == 0 &&
           memcmp(more, others, sizeof more) == 0;
}

/* A file in a directory, an empty one, and one whose name is no UTF-8 and begins as
 * those of files outside of the prefix do. */
static const char *file_of(int version, int file)
{
    static const char *const names[] = {"deep/er/file", "empty", "@\xe9t\xe9 %"};

    return apilab_at("prefix/%s.v%d.%d", names[file], version, me);
}

static const char *text_of(int version, int file)
{
    static char text[200];
    int len = 0;

    *text = '\0';
    for (int i = 0; file != 1 && i <= me + file; i++)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "version %d, file %d of rank %d\n", version, file, me);
    return text;
}

static bool save(const char *name, int version)
{
    char path[VELOC_MAX_NAME];
    bool good = VELOC_Checkpoint_begin(name, version) == VELOC_SUCCESS;

    fill(version);
    for (int i = 0; good && i < FILES; i++) {
        good = VELOC_Route_file(file_of(version, i), path) == VELOC_SUCCESS;
        if (good)
            tap_put_file(path, text_of(version, i));
    }
    return good && VELOC_Checkpoint_mem() == VELOC_SUCCESS &&
           VELOC_Checkpoint_end(1) == VELOC_SUCCESS;
}

static bool reads(int version)
{
    char path[VELOC_MAX_NAME];
    bool good;

    memset(numbers, 0, sizeof numbers);
    memset(others, 0, sizeof others);
    if (VELOC_Restart_begin(NAME, version) != VELOC_SUCCESS) {
        mtap_note("version %d: %s", version, VELOC_Error());
        return false;
    }
    good = VELOC_Recover_mem() == VELOC_SUCCESS && is_filled(version);
    for (int i = 0; good && i < FILES; i++)
        good = VELOC_Route_file(file_of(version, i), path) == VELOC_SUCCESS &&
               tap_file_is(path, text_of(version, i));
    if (!good)
        mtap_note("version %d is not what was written: %s", version, VELOC_Error());
    return VELOC_Restart_end(1) == VELOC_SUCCESS && good;
}

static bool begins(void)
{
    return apilab_begin() &&
           VELOC_Mem_protect(0, numbers, NUMBERS, VELOC_INTG) == VELOC_SUCCESS &&
           VELOC_Mem_protect(7, others, 2, VELOC_DBLE) == VELOC_SUCCESS;
}

/* --- to make it --- */

static void ask_for_halt(void)
{
    struct vel_halt halt;
    struct vel_err err = {0};

    vel_halt_init(&halt);
    if (me == 0 &&
        (vel_halt_set_checkpoints(&halt, ASKED, &err) < 0 ||
         vel_halt_set_after(&halt, 253402300799, &err) < 0 ||
         vel_halt_save(vel_fs_posix(), apilab_at("prefix/.veloc"), &halt, &err) < 0))
        bail_out("%s", err.text);
    vel_halt_fini(&halt);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_down(const char *file)
{
    struct vel_buf text;
    FILE *out;

    vel_buf_init(&text);
    vel_buf_puts(&text, "# made by test/mpi/golden.c; see README\n");
    bundle_pack(apilab_at("."), &text);
    out = fopen(file, "wx");
    if (!out || fwrite(text.data, 1, text.len, out) != text.len || fclose(out) != 0)
        bail_out("%s cannot be made", file);
    vel_buf_fini(&text);
}

/* Of launches that are over their ledgers, and no secret of this user. */
static void keep_what_lasts(const char *dir)
{
    char command[2000];

    snprintf(command, sizeof command,
             "cd '%s' && rm -rf key.* recovery halt-run.lock view.* && "
             "find launch.* -type f ! -name '1.*' -delete",
             dir);
    if (system(command) != 0)
        bail_out("%s cannot be tidied", dir);
}

static void make(const char *file)
{
    struct vel_host host;
    char cache[512];

    apilab_case("golden", 4, SETTINGS "FLUSH=1\n");
    mok(begins() && save(NAME, 1), "a version is flushed");
    ask_for_halt();
    apilab_end(0);
    apilab_settings(SETTINGS "FLUSH=1\nCONTAINERS=1\n");
    mok(begins() && save(NAME, 2), "another in a container");
    apilab_end(0);
    apilab_settings(SETTINGS "FLUSH=0\n");
    mok(begins() && save("gone", 1) && VELOC_Drop("gone", 1) == VELOC_SUCCESS,
        "one is dropped");
    mok(save(NAME, 3) && save(NAME, 4), "two stay in the caches");
    apilab_end(1);
    if (me != 0)
        return;
    unlink(apilab_at("veloc.conf"));
    unlink(apilab_at("prefix/.veloc/events"));
    keep_what_lasts(apilab_at("prefix/.veloc"));
    if (vel_host_init(&host, NULL) < 0)
        bail_out("the host has no name");
    for (int node = 0; node < 4; node++) {
        snprintf(cache, sizeof cache, "cache/%s.v%d", host.node, node);
        if (rename(apilab_at("%s", cache), apilab_at("cache/" HOST ".v%d", node)) < 0)
            bail_out("%s: no such cache", cache);
    }
    vel_host_fini(&host);
    write_down(file);
}

/* --- to read it --- */

/* A copy of the data, as a case of its own. */
static void lay_out(const char *name, const char *settings)
{
    const char *source = getenv("top_srcdir");
    char path[1024], *text;
    struct vel_host host;

    apilab_case(name, 4, settings);
    if (me == 0) {
        snprintf(path, sizeof path, "%s/test/data/golden/v3.txt",
                 source ? source : ".");
        text = tap_get_file(path, NULL);
        if (!text || vel_host_init(&host, NULL) < 0)
            bail_out("%s cannot be read", path);
        bundle_unpack(text, apilab_at("."), HOST, host.node);
        vel_host_fini(&host);
        free(text);
    }
    apilab_settings(settings);
}

static void from_caches(void)
{
    lay_out("caches", SETTINGS "FLUSH=0\n");
    mok(begins() && VELOC_Restart_test(NAME, 0) == 4,
        "the newest is that of the cache");
    mok(reads(4) && reads(3), "both that are in the caches are read");
    mok(reads(1), "one that is on the prefix, too");
    mok(reads(2), "and from its container");
    mok(VELOC_Restart_begin("gone", 1) == VELOC_FAILURE, "what was dropped is gone");
    apilab_end(0);
}

static void rebuilt(void)
{
    lay_out("one", SETTINGS "FLUSH=0\n");
    apilab_lose(2);
    mok(begins() && VELOC_Restart_test(NAME, 0) == 4 && reads(4) && reads(3),
        "a node is lost: a set of XOR and one of RS are rebuilt");
    mok(save(NAME, 5) && reads(5), "the next one is written");
    apilab_end(0);
    lay_out("two", SETTINGS "FLUSH=0\n");
    apilab_lose(0);
    apilab_lose(3);
    mok(begins() && VELOC_Restart_test(NAME, 0) == 3 && reads(3),
        "two are lost: a set of RS bears it");
    mok(VELOC_Restart_begin(NAME, 4) == VELOC_FAILURE, "one of XOR does not");
    apilab_end(0);
}

static void from_prefix(void)
{
    lay_out("lost", SETTINGS);
    apilab_lose_all();
    mok(begins() && VELOC_Restart_test(NAME, 0) == 2 && reads(2) && reads(1),
        "all are lost: what the prefix has is read");
    apilab_end(0);
}

/* --- what today's build makes of the records --- */

static bool is_same(const char *path, const char *again)
{
    size_t len, again_len;
    char *a = tap_get_file(path, &len), *b = tap_get_file(again, &again_len);
    bool same = a && b && len == again_len && memcmp(a, b, len) == 0;

    if (!same)
        note("%s is written otherwise today:\n%s", path, b ? b : "not at all");
    free(a);
    free(b);
    return same;
}

static bool is_entered(int id)
{
    struct vel_entry entry = {0};
    struct vel_err err = {0};
    int rc =
        indexlab_load(vel_fs_posix(), apilab_at("prefix/.veloc"), id, &entry, &err);

    if (rc < 0)
        note("%s", err.text);
    vel_entry_fini(&entry);
    return rc == 0;
}

static bool same_list(int id, int node)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec files;
    struct vel_err err = {0};
    int rc = vel_filelist_load(fs, apilab_at("prefix/.veloc"), id, node, &files, &err);

    if (rc == 0) {
        rc = vel_filelist_save(fs, apilab_at("again"), id, node, &files, true, &err);
        vel_filelist_fini(&files);
    }
    if (rc < 0)
        note("%s", err.text);
    return rc == 0 && is_same(apilab_at("prefix/.veloc/dataset.%d/files.%d", id, node),
                              apilab_at("again/dataset.%d/files.%d", id, node));
}

/* Of five checkpoints the last four were made since the halt was asked for. */
static bool small_ones_are_read(void)
{
    const char *dir = apilab_at("prefix/.veloc");
    struct vel_fs *fs = vel_fs_posix();
    struct vel_halt halt;
    int64_t nodes = 0;
    bool good;

    vel_halt_init(&halt);
    good = vel_halt_load(fs, dir, &halt, NULL) == 0 &&
           vel_halt_load_run(fs, dir, &halt, NULL) == 0 && halt.checkpoints == ASKED &&
           halt.done == 4 && halt.finished && strcmp(halt.request, halt.counted) == 0;
    vel_halt_fini(&halt);
    return good && vel_nodes_load(fs, dir, &nodes, NULL) == 0 && nodes == 4 &&
           indexlab_current(fs, dir) == 2;
}

static void records(void)
{
    lay_out("records", SETTINGS);
    if (me == 0) {
        tap_fresh_dir(apilab_at("again"));
        tap_fresh_dir(apilab_at("again/dataset.1"));
        tap_fresh_dir(apilab_at("again/dataset.2"));
    }
    mok(me != 0 || (is_entered(1) && is_entered(2) && is_entered(4) && is_entered(5)),
        "entries are read");
    mok(me != 0 || (same_list(1, 0) && same_list(2, 3)), "lists of files are");
    mok(me != 0 || small_ones_are_read(),
        "what was noted of halts, nodes and the current one is read");
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        make(argv[2]);
    } else {
        from_caches();
        rebuilt();
        from_prefix();
        records();
    }
    return mtap_done();
}
