/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "meta/cache.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

static char heard[4096];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", (int)len,
             line);
}

static void put(const char *dir, const char *below)
{
    char path[1300], parent[1300];
    struct vel_err err = {0};

    snprintf(path, sizeof path, "%s/%s", dir, below);
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (vel_fs_make_dirs(vel_fs_posix(), parent, 0700, &err) < 0)
        bail_out("%s", err.text);
    tap_put_file(path, "x");
}

static bool is_there(const char *dir, const char *below)
{
    char path[1300];

    snprintf(path, sizeof path, "%s/%s", dir, below);
    return vel_fs_exists(vel_fs_posix(), path);
}

/* --- scan --- */

/* What is found, as text: "<level>/<id>.<rank>", with "!" when it is aside. */
static const char *found(const char *home)
{
    static char text[1024];
    struct vel_vec parts;
    struct vel_err err = {0};
    const struct vel_part *p;

    vel_vec_init(&parts, sizeof(struct vel_part));
    text[0] = '\0';
    if (vel_cache_scan(vel_fs_posix(), home, &parts, &err) < 0)
        snprintf(text, sizeof text, "failed: %.900s", err.text);
    p = parts.items;
    for (size_t i = 0; i < parts.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s/%d.%d%s ",
                 strrchr(p[i].level, '/') + 1, (int)p[i].id, p[i].rank,
                 p[i].is_aside ? "!" : "");
    vel_parts_fini(&parts);
    return text;
}

static void scanning(void)
{
    char home[1200];
    char *made = vel_cache_home(vel_fs_posix(), "/s", "u", "id");

    is_str(made, "/s/u/id", "a cache lies below store, user and prefix");
    free(made);
    snprintf(home, sizeof home, "%s", tap_path("scan"));
    is_str(found(home), "", "where there is no cache there is nothing in it");
    put(home, "index.1/dataset.7/rank.0/x");
    put(home, "index.1/dataset.7/rank.3"); /* it had no file yet */
    put(home, "index.1/dataset.7/rank.2/x");
    put(home, "index.1/dataset.10/rank.0/x");
    put(home, "index.1/dataset.10/aside");
    put(home, "index.12/dataset.9/rank.1/x");
    is_str(found(home),
           "index.1/10.0! index.1/7.0 index.1/7.2 index.1/7.3 index.12/9.1 ",
           "each part is found");
    put(home, "index.01/dataset.7/rank.0/x");
    put(home, "other/dataset.7/rank.0/x");
    put(home, "index.2"); /* no directory */
    put(home, "index.12/dataset.11");
    put(home, "index.3/dataset.0/rank.0/x");
    put(home, "index.3/dataset.-1/rank.0/x");
    put(home, "index.3/dataset.7x/rank.0/x");
    put(home, "index.3/dataset.8/rank.00/x");
    put(home, "index.3/dataset.8/rank.0.new/x");
    put(home, "index.3/dataset.8/rank.99999999999/x");
    put(home, "index.3/dataset.8/rank.1073741825/x");
    put(home, "index.3/dataset.8/map.0");
    is_str(found(home),
           "index.1/10.0! index.1/7.0 index.1/7.2 index.1/7.3 index.12/9.1 ",
           "names that we do not write are passed over");
}

static void unsafe(void)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};
    char home[1200], link[1200];
    struct vel_err err = {0};

    snprintf(home, sizeof home, "%s", tap_path("scan"));
    snprintf(link, sizeof link, "%s", tap_path("link"));
    if (symlink(home, link) < 0)
        bail_out("no link");
    vel_log_open(&sink);
    is_str(found(link), "", "a cache behind a link is left alone");
    ok(strstr(heard, "cache left alone") && strstr(heard, "link"), "and that is told");
    chmod(home, 0770);
    heard[0] = '\0';
    is_str(found(home), "", "so is one in which others may write");
    ok(strstr(heard, "chmod 700") != NULL, "with the remedy");
    vel_log_open(NULL);
    is_int(vel_cache_make_dir(vel_fs_posix(), home, &err), VEL_EUNSAFE,
           "nor is it made ours");
    chmod(home, 0700);
    is_int(vel_cache_make_dir(vel_fs_posix(), link, &err), VEL_EUNSAFE,
           "nor is a link");
    is_int(vel_cache_make_dir(vel_fs_posix(), tap_path("made/a/b"), &err), 0,
           "a directory is made with those above it");
    struct stat st;
    ok(stat(tap_path("made/a/b"), &st) == 0 && (st.st_mode & 0777) == 0700,
       "for its owner only");
}

/* --- remove --- */

static void fill(const char *level)
{
    put(level, "dataset.7/rank.0/a");
    put(level, "dataset.7/rank.0/sub/b");
    put(level, "dataset.7/rank.0/set.0-of-2.h5vr");
    put(level, "dataset.7/rank.0/x.h5vr");
    put(level, "dataset.7/rank.0/h5vr"); /* no redundancy file */
    put(level, "dataset.7/rank.1/c");
}

static void removing(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    char level[1200];

    snprintf(level, sizeof level, "%s", tap_path("removing"));
    fill(level);
    vel_cache_set_aside(fs, level, 7, true, &err);
    is_int(vel_cache_remove_part(fs, level, 7, 0, &err), 0, "a part is removed");
    ok(!is_there(level, "dataset.7/rank.0"), "with its files");
    ok(is_there(level, "dataset.7/rank.1/c") && is_there(level, "dataset.7/aside"),
       "those of another rank stay, and so does the mark");
    is_int(vel_cache_remove_part(fs, level, 7, 0, &err), 0,
           "removing what is not there is no failure");
    is_int(vel_cache_remove_part(fs, level, 7, 1, &err), 0, "the last part goes");
    ok(!is_there(level, "dataset.7"), "and the dataset's directory with it");
    put(level, "dataset.8/rank.0/x");
    put(level, "dataset.8/notes");
    is_int(vel_cache_remove_part(fs, level, 8, 0, &err), 0,
           "where somebody else's file lies");
    ok(is_there(level, "dataset.8/notes"), "it stays");
}

/* Fail or crash at every operation: without all of its files a part has no redundancy
 * file either, so that nobody takes it for a dataset. */
static void half_removed(enum vel_fs_fault_mode mode, const char *what)
{
    int restorable = 0, problems = 0;
    unsigned n;

    for (n = 1;; n++) {
        struct vel_fs_fault_plan plan = {.mode = mode, .at = n};
        struct vel_fs_fault *fault;
        struct vel_err err = {0};
        char level[1200];

        tap_fresh_dir(tap_path("half"));
        snprintf(level, sizeof level, "%s", tap_path("half/index.1"));
        fill(level);
        if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
            bail_out("%s", err.text);
        vel_fs_fault_arm(fault, &plan);
        int rc = vel_cache_remove_part(vel_fs_fault_fs(fault), level, 7, 0, &err);
        bool fired = vel_fs_fault_fired(fault);
        bool has_red = is_there(level, "dataset.7/rank.0/set.0-of-2.h5vr") ||
                       is_there(level, "dataset.7/rank.0/x.h5vr");
        bool has_all = is_there(level, "dataset.7/rank.0/a") &&
                       is_there(level, "dataset.7/rank.0/sub/b") &&
                       is_there(level, "dataset.7/rank.0/h5vr");
        restorable += has_red && !has_all;
        problems += rc < 0 && !err.text[0];
        problems += rc == 0 && is_there(level, "dataset.7/rank.0");
        problems += !is_there(level, "dataset.7/rank.1/c");
        vel_fs_fault_destroy(fault);
        problems += vel_cache_remove_part(vel_fs_posix(), level, 7, 0, &err) < 0 ||
                    is_there(level, "dataset.7/rank.0");
        if (!fired)
            break;
    }
    is_int(restorable, 0, "%s at any of %u operations leaves nothing restorable", what,
           n - 1);
    is_int(problems, 0, "and the rest can be removed later");
}

/* --- aside --- */

static void marking(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    char level[1200];

    tap_fresh_dir(tap_path("marks"));
    snprintf(level, sizeof level, "%s", tap_path("marks/index.1"));
    put(level, "dataset.7/rank.0/x");
    is_int(vel_cache_set_aside(fs, level, 7, true, &err), 0, "a dataset is set aside");
    is_int(vel_cache_set_aside(fs, level, 7, true, &err), 0, "twice");
    is_str(found(tap_path("marks")), "index.1/7.0! ", "the next launch sees it");
    is_int(vel_cache_set_aside(fs, level, 7, false, &err), 0, "the mark is taken off");
    is_int(vel_cache_set_aside(fs, level, 7, false, &err), 0, "twice");
    is_str(found(tap_path("marks")), "index.1/7.0 ", "and it is one like others");
    ok(vel_cache_set_aside(fs, level, 8, true, &err) < 0 && err.text[0],
       "what is not there cannot be marked");
    symlink(tap_path("elsewhere"), tap_path("marks/index.1/dataset.7/aside"));
    ok(vel_cache_set_aside(fs, level, 7, true, &err) < 0 &&
           !vel_fs_exists(fs, tap_path("elsewhere")),
       "the mark follows no link");
}

/* --- bytes --- */

/* Somebody takes a file between two looks of who counts: at the one at `at`. */
struct taker {
    struct vel_fs fs;
    const char *home, *at;
    void (*step)(const char *home);
};

static int look_and_take(struct vel_fs *fs, const char *path, struct stat *st)
{
    struct taker *taker = (struct taker *)(void *)fs;
    int rc = vel_fs_posix()->ops->lstat(vel_fs_posix(), path, st);

    if (taker->step &&
        strcmp(path + strlen(path) - strlen(taker->at), taker->at) == 0) {
        taker->step(taker->home);
        taker->step = NULL;
    }
    return rc;
}

static void rename_below(const char *home, const char *from, const char *to,
                         int (*how)(const char *from, const char *to))
{
    char source[1300], path[1300];

    snprintf(source, sizeof source, "%s/%s", home, from);
    snprintf(path, sizeof path, "%s/%s", home, to);
    if (how(source, path) != 0)
        bail_out("cannot take %s", source);
}

#define BATCHED "1.0/1/rank.0/ck.h5"
#define TAKEN "index.0/dataset.1/rank.0/ck.h5"

static void take_name(const char *home)
{
    rename_below(home, BATCHED, TAKEN, link);
}

static void take_whole(const char *home)
{
    rename_below(home, BATCHED, TAKEN, rename);
}

static void take_anew(const char *home)
{
    char path[1300];

    snprintf(path, sizeof path, "%s/" TAKEN, home);
    unlink(path);
}

static void take_first(const char *home)
{
    put(home, "index.0/dataset.1/rank.0/other.h5");
    take_whole(home);
}

static void counting(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct {
        const char *what, *at;
        void (*before)(const char *home), (*step)(const char *home);
    } cases[] = {{"nobody takes it", BATCHED, NULL, NULL},
                 {"it has two names", BATCHED, take_name, NULL},
                 {"its second name is made meanwhile", BATCHED, NULL, take_name},
                 {"it is taken meanwhile", BATCHED, NULL, take_whole},
                 {"it is taken anew meanwhile", BATCHED, take_name, take_anew},
                 {"it is in the first dataset meanwhile", "/1.0", NULL, take_first}};

    ops.lstat = look_and_take;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char home[1200], name[16];
        struct taker taker = {{&ops}, home, cases[i].at, cases[i].step};
        uint64_t bytes = 0;
        struct vel_err err = {0};

        snprintf(name, sizeof name, "bytes.%zu", i);
        snprintf(home, sizeof home, "%s", tap_path(name));
        put(home, BATCHED);
        if (cases[i].step != take_first) {
            put(home, "index.0/dataset.1/rank.0/other.h5");
            put(home, "index.0/dataset.1/rank.0/set.h5vr");
        }
        if (cases[i].before)
            cases[i].before(home);
        is_int(vel_cache_bytes(&taker.fs, home, &bytes, &err), 0, "all is seen %s",
               err.text);
        is_int((long)bytes, 2, "a file counts once when %s", cases[i].what);
    }
}

int main(void)
{
    scanning();
    counting();
    unsafe();
    removing();
    half_removed(VEL_FS_FAULT_CRASH, "a crash");
    half_removed(VEL_FS_FAULT_ONCE, "an error");
    marking();
    return done_testing();
}
