/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: a program that writes a file at its own path, with the settings of a
 * program that has none, is killed without a word at a seeded one of its writes; in
 * some cases so is the one that opens the file afterwards, or goes on with it. The next
 * one finds the file as at its newest H5Fflush or close; so does HDF5 without us,
 * afterwards. What somebody else has changed or put there meanwhile, and what has lost
 * its cache, is not touched. SEEDS=a-b runs other seeds. */
#define _GNU_SOURCE
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "sys/fs.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/tap.h"
#include "vol/writer.h"

static struct writer_told *told;

static void run(void (*what)(uint64_t), uint64_t seed, const char *connector)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (connector)
            setenv("HDF5_VOL_CONNECTOR", connector, 1);
        what(seed);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        bail_out("cannot fork");
    if (!told->wrong[0] && !(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
        !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        snprintf(told->wrong, sizeof told->wrong, "a process ends with status %d",
                 status);
}

/* --- what happens before it is opened again --- */

static void nothing(void)
{
}

static void lose_cache(void)
{
    vel_fs_remove_tree(vel_fs_posix(), tap_path("cache"), NULL);
}

/* As h5clear does, later. */
static void change(void)
{
    const struct timespec later[2] = {{.tv_nsec = UTIME_NOW},
                                      {.tv_sec = time(NULL) + 5}};
    int fd = open("f.h5", O_RDWR);
    char bytes[8];

    if (fd < 0 || pread(fd, bytes, sizeof bytes, 0) != sizeof bytes ||
        write(fd, bytes, sizeof bytes) != sizeof bytes || futimens(fd, later) < 0)
        bail_out("cannot change the file");
    close(fd);
}

static void replace(void)
{
    if (system("cp f.h5 other && mv other f.h5") != 0)
        bail_out("cannot replace the file");
}

static void link_it(void)
{
    if (link("f.h5", "other") < 0 || unlink("f.h5") < 0 || rename("other", "f.h5") < 0)
        bail_out("cannot link the file");
}

static void link_by_name(void)
{
    if (rename("f.h5", "other") < 0 || symlink("other", "f.h5") < 0)
        bail_out("cannot link the file");
}

static const struct event {
    const char *what;
    void (*happens)(void);
    bool is_foreign; /* it is left alone from then on */
} events[] = {
    {"nothing", nothing, false},
    {"its cache is lost", lose_cache, true},
    {"nothing", nothing, false},
    {"somebody changes it", change, true},
    {"it has another link", link_it, false},
    {"another one is there", replace, true},
    {"a symbolic link leads to it", link_by_name, false},
};

static const struct event *event_of(uint64_t seed)
{
    return &events[seed % (sizeof events / sizeof events[0])];
}

/* --- cases --- */

static void is_mended(uint64_t seed)
{
    if (seed % 3 == 0)
        run(writer_open_and_die, seed, "veloc");
    if (seed % 3 == 1 && !told->wrong[0])
        run(writer_go_on, seed, "veloc");
    if (!told->wrong[0])
        run(writer_read, seed, "veloc");
    if (!told->wrong[0])
        run(writer_read, seed, NULL);
}

static void open_it(uint64_t seed)
{
    (void)seed;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Fclose(H5Fopen("f.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
}

static void is_untouched(uint64_t seed)
{
    size_t len = 0, now = 0;
    char *before = tap_get_file("f.h5", &len), *after;

    run(open_it, seed, "veloc");
    after = tap_get_file("f.h5", &now);
    if (!told->wrong[0] && (now != len || memcmp(before, after, len) != 0))
        snprintf(told->wrong, sizeof told->wrong, "it was touched");
    free(before);
    free(after);
}

static bool is_right(uint64_t seed, unsigned *mended)
{
    const struct event *event = event_of(seed);
    char dir[64];

    told = writer_told();
    snprintf(dir, sizeof dir, "%llu", (unsigned long long)seed);
    if (chdir(tap_dir()) < 0 || mkdir(dir, 0700) < 0 || chdir(dir) < 0)
        bail_out("cannot make a directory");
    run(writer_begin, seed, "veloc");
    if (told->points > 0) {
        event->happens();
        (event->is_foreign ? is_untouched : is_mended)(seed);
    }
    *mended += access(".veloc/0/replaced", F_OK) == 0;
    if (told->wrong[0])
        note("seed %llu, %s, point %d: %s", (unsigned long long)seed, event->what,
             told->points, told->wrong);
    return !told->wrong[0];
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(60);
    unsigned wrong = 0, mended = 0;

    setenv("VELOC_CACHE_BASE", tap_path("cache"), 1);
    setenv("VELOC_CNTL_BASE", tap_dir(), 1);
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        wrong += !is_right(seed, &mended);
    note("%u were brought back", mended);
    is_int(wrong, 0,
           "a file whose writer is killed is as at its newest flush, or as somebody "
           "else has left it, seeds %llu to %llu",
           (unsigned long long)seeds.first, (unsigned long long)seeds.last);
    if (seeds.last - seeds.first >= 20)
        ok(mended > 0, "and some needed it");
    return done_testing();
}
