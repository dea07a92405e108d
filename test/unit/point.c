/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of a file whose process is killed: where the mark's stores are in the file,
 * and where they are written there. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/tap.h"
#include "view/point.h"

/* What the process does before it is killed. */
enum act { AT_POINT, CHANGED, COPIED, CHANGED_ONCE_COPIED };

static const char *file_of(const char *dir)
{
    static char path[500];

    snprintf(path, sizeof path, "%s/rank.3/x.h5", dir);
    return path;
}

static void set(struct vel_point *point, int64_t number, const char *text)
{
    const struct vel_point_is is = {.number = number, .size = strlen(text)};

    vel_point_set(point, &is);
}

static void play(const char *dir, bool may_map, enum act act)
{
    struct vel_point *point = NULL;

    tap_put_file(file_of(dir), "first");
    if (vel_point_begin(vel_fs_posix(), dir, 3, "x.h5", may_map, &point, NULL) < 0)
        _exit(2);
    set(point, 1, "first");
    if (act >= COPIED && vel_point_copy(point, NULL) < 0)
        _exit(3);
    if (act == CHANGED || act == CHANGED_ONCE_COPIED) {
        vel_point_leave(point);
        tap_put_file(file_of(dir), "other");
    }
    kill(getpid(), SIGKILL);
}

static bool has_point(const char *dir, enum act act)
{
    int64_t size = 0, number = 0;
    struct vel_err err = {0};
    struct vel_vec numbers;
    bool has;

    vel_vec_init(&numbers, sizeof(int64_t));
    if (vel_point_list(vel_fs_posix(), dir, 3, "x.h5", &numbers, &err) < 0)
        bail_out("%s", err.text);
    has = numbers.n > 0;
    if (has)
        number = *(int64_t *)vel_vec_at(&numbers, 0);
    vel_vec_fini(&numbers);
    if (!has)
        return false;
    is_int(number, 1, "it is the first");
    ok(vel_point_restore(vel_fs_posix(), dir, 3, "x.h5", number, &size, &err) == 0 &&
           size == 5 && tap_file_is(file_of(dir), "first"),
       "and the file is what it was then%s", act >= COPIED ? ", by its copy" : "");
    return true;
}

static void kill_one(bool may_map, enum act act, const char *what)
{
    const char *dir = tap_path("batch");
    char above[500];
    int status;
    pid_t child;

    tap_fresh_dir(dir);
    snprintf(above, sizeof above, "%s/rank.3", dir);
    tap_fresh_dir(above);
    child = fork();
    if (child == 0)
        play(dir, may_map, act);
    ok(waitpid(child, &status, 0) == child && WIFSIGNALED(status),
       "%s, a process is killed %s", may_map ? "mapped" : "written", what);
    ok(has_point(dir, act) == (act != CHANGED), "the file has %s point",
       act == CHANGED ? "no" : "its");
}

int main(void)
{
    for (int may_map = 0; may_map < 2; may_map++) {
        kill_one(may_map, AT_POINT, "at a point");
        kill_one(may_map, CHANGED, "when it has changed the file since");
        kill_one(may_map, COPIED, "when it has copied the file");
        kill_one(may_map, CHANGED_ONCE_COPIED,
                 "when it has changed what it had copied");
    }
    return done_testing();
}
