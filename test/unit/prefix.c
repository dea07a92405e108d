/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meta/prefix.h"
#include "record/record.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

static bool is_uuid(const char *id)
{
    size_t hyphens = 0, digits = strspn(id, "0123456789abcdef-");

    for (const char *c = id; *c; c++)
        hyphens += *c == '-';
    return digits == VEL_PREFIX_ID - 1 && !id[digits] && hyphens == 4 &&
           id[14] == '4' && strchr("89ab", id[19]);
}

static void made_once(void)
{
    struct vel_fs *fs = vel_fs_posix();
    char id[VEL_PREFIX_ID] = "untouched", again[VEL_PREFIX_ID] = "",
         other[VEL_PREFIX_ID];
    char dir[1100], unit[1200];
    struct vel_err err = {0};

    snprintf(dir, sizeof dir, "%s", tap_path("p/.veloc"));
    snprintf(unit, sizeof unit, "%s/unit.3", dir);
    is_int(vel_prefix_look(fs, dir, id, &err), VEL_ENOENT,
           "looking at a prefix that was never used finds nothing");
    ok(strcmp(id, "untouched") == 0 && !vel_fs_exists(fs, tap_path("p")),
       "and leaves no trace");
    is_int(vel_prefix_open(fs, dir, id, &err), 0, "opening it makes its identity");
    ok(is_uuid(id), "a random uuid: %s", id);
    ok(vel_prefix_open(fs, dir, again, &err) == 0 && strcmp(id, again) == 0,
       "which it keeps");
    ok(vel_prefix_look(fs, dir, again, &err) == 0 && strcmp(id, again) == 0,
       "and which can be looked at");
    ok(vel_prefix_open(fs, unit, other, &err) == 0 && is_uuid(other) &&
           strcmp(id, other) != 0,
       "a unit of the job has another one");
}

static void hostile(void)
{
    static const char *const ids[] = {
        "",
        "../../../../../../../../../../../etc",
        "00000000-0000-4000-8000-00000000000",
        "00000000-0000-4000-8000-0000000000000",
        "00000000-0000-4000-8000-00000000000G",
        "00000000-0000-4000-8000-00000000000A",
        "000000000000-4000-8000-0000-00000000",
        "00000000/0000/4000/8000/000000000000",
    };
    struct vel_fs *fs = vel_fs_posix();
    char id[VEL_PREFIX_ID] = "untouched";
    struct vel_err err = {0};

    tap_put_file(tap_path("id"), "0000\n");
    is_int(vel_prefix_open(fs, tap_dir(), id, &err), VEL_ECORRUPT,
           "a damaged identity is an error, not a reason for a new one");
    ok(strstr(err.text, "/id"), "the sentence names its file: %s", err.text);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct vel_node *body = vel_node_object();

        vel_node_set_text(body, "id", ids[i]);
        vel_record_save(fs, tap_path("id"), "prefix", 2, body, NULL);
        vel_node_destroy(body);
        is_int(vel_prefix_open(fs, tap_dir(), id, &err), VEL_ECORRUPT,
               "'%s' is no identity", ids[i]);
    }
    is_str(id, "untouched", "and nothing is returned");
}

/* --- what is left of those that died --- */

static void swept(void)
{
    static const char *const files[] = {
        "id.00000000-0000-4000-8000-000000000000",
        ".id.00000000-0000-4000-8000-000000000000.h5v-tmp",
        "id.me",
        ".halt.h5v-tmp",
    };
    enum { FILES = sizeof files / sizeof *files, GOES = 2 };
    char id[VEL_PREFIX_ID], again[VEL_PREFIX_ID] = "", dir[1100], path[1200];
    struct vel_fs *fs = vel_fs_posix();
    int left = 0, gone = 0;

    snprintf(dir, sizeof dir, "%s/.veloc", tap_path("swept"));
    if (vel_prefix_open(fs, dir, id, NULL) < 0)
        bail_out("no prefix");
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        tap_put_file(path, "half");
    }
    vel_prefix_sweep(fs, dir);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        left += i < GOES && vel_fs_exists(fs, path);
        gone += i >= GOES && !vel_fs_exists(fs, path);
    }
    is_int(left, 0, "what was half written is swept away");
    is_int(gone, 0, "and nothing else");
    ok(vel_prefix_open(fs, dir, again, NULL) == 0 && strcmp(id, again) == 0,
       "the prefix keeps its identity");
}

/* --- many at once --- */

enum { RACERS = 16, ROUNDS = 12 };

struct race {
    pthread_barrier_t start;
    char dir[1100];
    char ids[RACERS][VEL_PREFIX_ID];
    int rc[RACERS];
};

static void race_one(struct race *race, int i)
{
    struct vel_err err = {0};

    pthread_barrier_wait(&race->start);
    race->rc[i] = vel_prefix_open(vel_fs_posix(), race->dir, race->ids[i], &err);
    vel_prefix_sweep(vel_fs_posix(), race->dir);
}

static int race_lost(const struct race *race)
{
    int lost = 0;

    for (int i = 0; i < RACERS; i++)
        lost += race->rc[i] < 0 || strcmp(race->ids[i], race->ids[0]) != 0;
    return lost;
}

static int leftovers(const char *dir)
{
    struct vel_vec names = {0};
    int n;

    vel_fs_list(vel_fs_posix(), dir, &names, NULL);
    n = (int)names.n;
    vel_fs_names_fini(&names);
    return n - 1; /* id */
}

static struct race *race_prepare(const char *name)
{
    struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;

    if (race == MAP_FAILED)
        bail_out("no shared memory");
    snprintf(race->dir, sizeof race->dir, "%s/.veloc", tap_path(name));
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&race->start, &attr, RACERS);
    pthread_barrierattr_destroy(&attr);
    return race;
}

static void race_end(struct race *race)
{
    pthread_barrier_destroy(&race->start);
    munmap(race, sizeof *race);
}

static void processes(void)
{
    int lost = 0, left = 0;

    for (int round = 0; round < ROUNDS; round++) {
        char name[16];
        snprintf(name, sizeof name, "fork%d", round);
        struct race *race = race_prepare(name);

        fflush(NULL);
        for (int i = 0; i < RACERS; i++)
            if (fork() == 0) {
                race_one(race, i);
                _exit(0);
            }
        while (wait(NULL) > 0 || errno == EINTR)
            continue;
        lost += race_lost(race);
        left += leftovers(race->dir);
        race_end(race);
    }
    is_int(lost, 0, "%d processes at once, %d times, get one identity", RACERS, ROUNDS);
    is_int(left, 0, "and leave nothing else");
}

struct racer {
    struct race *race;
    int i;
};

static void *race_thread(void *arg)
{
    struct racer *racer = arg;

    race_one(racer->race, racer->i);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[RACERS];
    struct racer racers[RACERS];
    int lost = 0;

    for (int round = 0; round < ROUNDS; round++) {
        char name[20];
        snprintf(name, sizeof name, "thread%d", round);
        struct race *race = race_prepare(name);

        for (int i = 0; i < RACERS; i++) {
            racers[i] = (struct racer){race, i};
            if (pthread_create(&ids[i], NULL, race_thread, &racers[i]))
                bail_out("no thread");
        }
        for (int i = 0; i < RACERS; i++)
            pthread_join(ids[i], NULL);
        lost += race_lost(race);
        race_end(race);
    }
    is_int(lost, 0, "and so do %d threads of one process", RACERS);
}

/* --- faults --- */

/* Whatever fails or crashes, and what of it survives a loss of power: the next one
 * opens the prefix, and who was told an identity was told that one. */
static void faults(enum vel_fs_fault_mode mode, enum vel_fs_loss loss, const char *what)
{
    int problems = 0;
    unsigned n;

    for (n = 1;; n++) {
        struct vel_fs_fault_plan plan = {.mode = mode, .at = n};
        struct vel_fs_fault *fault;
        char id[VEL_PREFIX_ID] = "", then[VEL_PREFIX_ID] = "", dir[1100];
        struct vel_err err = {0};
        int rc;

        tap_fresh_dir(tap_path("faulty"));
        snprintf(dir, sizeof dir, "%s", tap_path("faulty/.veloc"));
        if (vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &fault, &err) < 0)
            bail_out("%s", err.text);
        vel_fs_fault_arm(fault, &plan);
        rc = vel_prefix_open(vel_fs_fault_fs(fault), dir, id, &err);
        bool fired = vel_fs_fault_fired(fault);
        problems += rc < 0 && (!err.text[0] || !fired);
        if (mode == VEL_FS_FAULT_CRASH)
            problems += vel_fs_fault_power_loss(fault, loss, n, &err) < 0;
        vel_fs_fault_destroy(fault);
        problems += vel_prefix_open(vel_fs_posix(), dir, then, &err) < 0;
        problems += rc == 0 && strcmp(id, then) != 0;
        if (!fired)
            break;
    }
    ok(problems == 0 && n > 5, "%s at any of %u operations: the next one can open it",
       what, n - 1);
}

int main(void)
{
    made_once();
    hostile();
    swept();
    processes();
    threads();
    faults(VEL_FS_FAULT_ONCE, VEL_FS_LOSS_KEEP, "an error");
    faults(VEL_FS_FAULT_CRASH, VEL_FS_LOSS_KEEP, "a crash");
    faults(VEL_FS_FAULT_CRASH, VEL_FS_LOSS_DROP, "a loss of power");
    faults(VEL_FS_FAULT_CRASH, VEL_FS_LOSS_RANDOM, "a loss of power that spares some");
    return done_testing();
}
