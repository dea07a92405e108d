/* SPDX-License-Identifier: BSD-3-Clause */
/* A store that is a small file system: what does not fit goes elsewhere, and what is
 * kept of datasets that cannot be restored makes way. Four ranks on nodes of their own,
 * which are virtual: their stores lie on one file system, as large as the test says. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"
#include "engine/health.h"
#include "process/attend.h"
#include "sys/host.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { SIZE = 10000 };

static int me;
static uint64_t capacity; /* for the files of so many ranks */

/* --- a file system of that size --- */

static int add_size(void *arg, enum vel_fs_visit what, const char *below,
                    const struct stat *st, struct vel_err *err)
{
    (void)below, (void)err;
    if (what == VEL_FS_FILE && st->st_size > SIZE / 2) /* no records */
        *(uint64_t *)arg += (uint64_t)st->st_size;
    return 0;
}

static int space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    uint64_t used = 0, size = capacity * SIZE;

    if (strncmp(path, apilab_at("cache"), strlen(apilab_at("cache"))) != 0)
        return vel_fs_posix()->ops->space(vel_fs_posix(), path, ret);
    vel_fs_walk(fs, apilab_at("cache"), add_size, &used, NULL);
    memset(ret, 0, sizeof *ret);
    ret->f_frsize = ret->f_bsize = 1;
    ret->f_bavail = size > used ? size - used : 0;
    return 0;
}

static struct vel_fs *small_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs;

    fs = *vel_fs_posix();
    ops = *fs.ops;
    ops.space = space;
    fs.ops = &ops;
    return &fs;
}

/* --- a program --- */

static struct vel_session *session;

static bool begin(void)
{
    struct vel_session_setup setup = {.fs = small_fs(), .clock = vel_clock_system()};
    struct vel_err err = {0};

    MPI_Barrier(MPI_COMM_WORLD);
    if (vel_comm_mpi(MPI_COMM_WORLD, &setup.world, &err) < 0 ||
        vel_conf_create(&setup.conf, &err) < 0)
        return false;
    setup.user_file = apilab_at("veloc.conf");
    setup.background = vel_attend();
    session = NULL;
    if (vel_session_open(&setup, &session, &err) == 0)
        return true;
    mtap_note("%s", err.text);
    return false;
}

static void end(void)
{
    vel_session_wait(session, NULL);
    vel_session_close(session, NULL, NULL);
}

static const char *name_of(int version)
{
    return apilab_at("prefix/v%d.%d", version, me);
}

static char *content(int version)
{
    static char text[SIZE];

    memset(text, 'a' + version, sizeof text);
    text[0] = (char)('a' + me);
    return text;
}

static bool save(int version)
{
    struct vel_err err = {0};
    char *path = NULL;
    int rc = vel_session_start(session, "v", version, VEL_USE_CHECKPOINT, &err);

    if (rc == 0)
        rc = vel_session_route(session, name_of(version), &path, &err);
    if (rc == 0)
        tap_put_bytes(path, content(version), SIZE);
    free(path);
    if (rc == 0)
        rc = vel_session_complete(session, true, &err);
    if (rc < 0)
        mtap_note("version %d: %s", version, err.text);
    return rc == 0;
}

static bool restores(int version)
{
    struct vel_err err = {0};
    char *path = NULL, *got;
    size_t len = 0;
    bool fine;
    int rc = vel_session_restart_begin(session, "v", version, &err);

    if (rc == 0)
        rc = vel_session_route(session, name_of(version), &path, &err);
    got = rc == 0 ? tap_get_file(path, &len) : NULL;
    fine = got && len == SIZE && memcmp(got, content(version), SIZE) == 0;
    free(got);
    free(path);
    return vel_session_restart_end(session, true, &err) == 0 && fine;
}

static enum vel_session_where where(void)
{
    enum vel_session_where where = VEL_WHERE_NONE;

    vel_session_where(session, "v", &where, NULL);
    return where;
}

/* --- */

/* XOR over four takes a third more: all ranks' parts together as much as 5.3 files. */
static void is_full(void)
{
    int status = 7;

    apilab_case("full", 4, "FLUSH=0\nCACHE_SIZE=5\nLOG_FILE=$/log\n");
    capacity = 8;
    begin();
    mok(save(1) && where() == VEL_WHERE_CACHE, "the first goes where there is room");
    mok(save(2) && where() == VEL_WHERE_PREFIX && apilab_files("prefix", "v2.*") == 4,
        "the next, for which there is none, straight to the prefix");
    capacity = 5;
    mok(vel_health_storage(session, apilab_at("cache"), &status, NULL) == 0 &&
            status == VELOC_NO_ENOUGH_SPACE,
        "a check of the store says when it has no room");
    capacity = 8;
    mok(save(3) && restores(1) && restores(2) && restores(3),
        "all of them can be restored");
    capacity = 16;
    mok(save(4) && where() == VEL_WHERE_CACHE && save(5),
        "once it has room the store is used again");
    mok(apilab_lines("log", "has no room") == 2, "each time it is told once");
    end();
}

/* Of a dataset two nodes are lost, and XOR bears one. */
static void makes_way(void)
{
    apilab_case("way", 4, "FLUSH=1\nLOG_FILE=$/log\nLOG_LEVEL=INFO\n");
    capacity = 8;
    begin();
    save(1);
    end();
    apilab_lose(1);
    apilab_lose(2);
    mok(begin() && where() == VEL_WHERE_CACHE && restores(1),
        "what is fetched gets the room of what could not be rebuilt");
    mok(apilab_lines("log", "removed for space") == 1, "and it is told");
    end();
    capacity = 4;
    apilab_lose_all();
    mok(begin() && where() == VEL_WHERE_PREFIX && restores(1),
        "what fits nowhere is read where it is");
    end();
}

static int storage(const char *dir)
{
    int status = 7;

    vel_health_storage(session, apilab_at("%s", dir), &status, NULL);
    return status;
}

/* A third more for XOR, and four ranks have one file system. */
static void is_asked(void)
{
    apilab_case("asked", 4, "FLUSH=0\n");
    capacity = 5;
    begin();
    mok(storage("cache") == VELOC_VALID, "before anything is known all fits");
    vel_session_expect(session, SIZE);
    mok(storage("cache") == VELOC_NO_ENOUGH_SPACE,
        "before the first checkpoint a check of the store knows what will not fit");
    capacity = 6;
    mok(storage("cache") == VELOC_VALID, "and what will");
    mok(save(1) && where() == VEL_WHERE_CACHE, "so it does");
    end();
}

/* What a STORE line lets it hold is what counts, however much is free; and a level that
 * is not used needs no room. */
static void is_bounded(void)
{
    apilab_case("bounded", 4,
                "FLUSH=0\nCOPY_TYPE=FILE\nSTORE=$/cache BYTES=14000\nSTORE=$/other\n"
                "CKPT=0 INTERVAL=1 STORE=$/cache TYPE=XOR\n"
                "CKPT=1 INTERVAL=2 STORE=$/cache TYPE=PARTNER ENABLED=0\n");
    capacity = 100;
    begin();
    mok(storage("cache") == VELOC_VALID, "before anything is known all fits");
    vel_session_expect(session, SIZE);
    mok(storage("cache") == VELOC_NO_ENOUGH_SPACE,
        "a check of a store knows the BYTES that it may hold");
    mok(save(1) && where() == VEL_WHERE_PREFIX, "so the first goes elsewhere");
    end();
    apilab_settings("FLUSH=0\nCOPY_TYPE=FILE\nSTORE=$/cache BYTES=30000\n"
                    "CKPT=0 INTERVAL=1 STORE=$/cache TYPE=XOR\n"
                    "CKPT=1 INTERVAL=2 STORE=$/cache TYPE=PARTNER ENABLED=0\n");
    begin();
    vel_session_expect(session, SIZE);
    mok(storage("cache") == VELOC_VALID, "and there is room where they are enough");
    mok(save(2) && where() == VEL_WHERE_CACHE, "for it, and no level that is not used");
    end();
}

/* A check finds the name of its file taken. */
static void is_polite(void)
{
    struct vel_host host = {0};
    const char *name[2];
    char *text;
    bool is_mine = true;

    apilab_case("polite", 4, "FLUSH=0\n");
    capacity = 8;
    begin();
    vel_host_init(&host, NULL);
    for (int i = 0; i < 2; i++) {
        name[i] = apilab_at("prefix/.veloc-check.%d.%s.v%d%s", me, host.node, me,
                            i ? ".0" : "");
        tap_put_file(name[i], "mine");
    }
    mok(storage("prefix") == VELOC_VALID &&
            apilab_files("prefix", ".veloc-check*") == 8,
        "a check makes a file that was not there, and removes it");
    for (int i = 0; i < 2; i++) {
        text = tap_get_file(name[i], NULL);
        is_mine = is_mine && strcmp(text, "mine") == 0;
        free(text);
    }
    mok(is_mine, "those that were there stay as they are");
    vel_host_fini(&host);
    end();
}

/* How large the first one is nobody knows before it has failed. */
static void is_first(void)
{
    struct vel_err err = {0};
    char *path = NULL;

    apilab_case("first", 4, "FLUSH=0\n");
    capacity = 5;
    begin();
    if (vel_session_start(session, "v", 1, VEL_USE_CHECKPOINT, &err) == 0 &&
        vel_session_route(session, name_of(1), &path, &err) == 0)
        tap_put_bytes(path, content(1), SIZE);
    free(path);
    mok(vel_session_complete(session, me != 1, &err) == VEL_ECANCEL,
        "the program could not write all");
    mok(save(1) && where() == VEL_WHERE_PREFIX && restores(1),
        "then another try goes elsewhere");
    end();
}

static const struct apilab_test tests[] = {
    {is_full, APILAB_ALL},     {makes_way, APILAB_ALL},  {is_asked, APILAB_SYNC},
    {is_bounded, APILAB_SYNC}, {is_polite, APILAB_SYNC}, {is_first, APILAB_SYNC}};

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    apilab_run(tests, sizeof tests / sizeof *tests);
    return mtap_done();
}
