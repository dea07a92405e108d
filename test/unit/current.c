/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that publish in one directory at the same time note the newest dataset. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meta/entry.h"
#include "tap/tap.h"

enum { PUBLISHERS = 4, EACH = 150 };

static char name[] = "heat";

static int publish(const char *dir, int64_t id, struct vel_err *err)
{
    struct vel_entry entry = {.dataset = {.id = id,
                                          .name = name,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = 1,
                                          .nodes = 1,
                                          .files = 1},
                              .place = VEL_ON_PREFIX,
                              .lists = 1,
                              .flushed = 1,
                              .owner = 1};
    int rc = vel_entry_save(vel_fs_posix(), dir, &entry, err);

    return rc < 0 ? rc : vel_current_raise(vel_fs_posix(), dir, id, err);
}

/* Of all ids those that are `turn` modulo PUBLISHERS. */
static int publish_each(const char *dir, int turn)
{
    for (int i = 0; i < EACH; i++) {
        struct vel_err err = {0};

        if (publish(dir, 1 + i * PUBLISHERS + turn, &err) < 0) {
            note("publisher %d, dataset %d: %s", turn, 1 + i * PUBLISHERS + turn,
                 err.text);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    const char *dir = tap_dir();
    struct vel_err err = {0};
    int64_t current = 0;
    int failed = 0;

    mkdir(tap_path("index"), 0700);
    for (int i = 0; i < PUBLISHERS; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(publish_each(dir, i));
    }
    for (int i = 0, status; i < PUBLISHERS; i++)
        failed += wait(&status) < 0 || status != 0;
    is_int(failed, 0, "programs that publish at once all come to an end of it");
    ok(vel_current_load(vel_fs_posix(), dir, &current, &err) == 0 &&
           current == (int64_t)PUBLISHERS * EACH,
       "and the newest dataset of all is the current one");
    return done_testing();
}
