/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls over connections that carry messages, with peers that answer in any order, die
 * in the middle of one, or talk nonsense; and what else a pull has to do with others:
 * the prefix, a second opener, whoever stops it. */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "tap/files.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"
#include "tap/wirelab.h"

enum { FILE_MOST = 300000 };

/* --- the tests --- */

static bool pulls(struct pulllab *lab, struct vel_pull_source *source, size_t to,
                  int rank, enum vel_pull_way way)
{
    struct vel_pulled pulled = {0};
    struct vel_err err = {0};
    int rc = pulllab_pull(lab, source, to, rank, &pulled, &err);
    bool is_right =
        rc == 0 && pulled.way == way && redlab_state_of(pulled.dir) == lab->state[rank];

    if (!is_right)
        note("way %d: %s", pulled.way, err.text);
    vel_pulled_fini(&pulled);
    return is_right;
}

static void over_messages(void)
{
    static const size_t moments[] = {1, 2, 3, 4, 6};
    struct pulllab lab;
    struct wirelab w;
    size_t right = 0, tried = 0;

    pulllab_make(&lab, tap_path("wire"), VEL_RS, 5, 2, 5, FILE_MOST);
    pulllab_look(&lab);
    wirelab_connect(&w, &lab, 1);
    wirelab_start(&w);
    ok(pulls(&lab, &w.source, lab.n, 3, VEL_PULL_OWNER),
       "a part comes as messages, answered in any order");
    wirelab_close(&w);
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        for (int lies = 0; lies < 2; lies++, tried++) {
            pulllab_lose(&lab, lab.n);
            wirelab_connect(&w, &lab, i);
            w.peer[3].dies_at = moments[i];
            w.peer[3].lies = lies;
            wirelab_start(&w);
            right += pulls(&lab, &w.source, lab.n, 3, VEL_PULL_REBUILT);
            wirelab_close(&w);
        }
    is_int(
        right, tried,
        "an owner who dies in the middle of an answer, or answers with something else, "
        "is followed by those of its set");
    right = tried = 0;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++, tried++) {
        pulllab_lose(&lab, lab.n);
        wirelab_connect(&w, &lab, i);
        w.peer[3].dies_at = 1;
        w.peer[(i + 4) % 5 == 3 ? 0 : (i + 4) % 5].dies_at = moments[i] + 1;
        wirelab_start(&w);
        right += pulls(&lab, &w.source, lab.n, 3, VEL_PULL_REBUILT);
        wirelab_close(&w);
    }
    is_int(right, tried, "and one of those who dies by another");
    pulllab_fini(&lab);
}

/* --- a second opener --- */

struct opener {
    struct pulllab *lab;
    atomic_int *begun;
    struct vel_pulls *pulls;
    struct vel_pulled pulled;
    int rc;
};

enum { OPENERS = 4 };

/* The first answer comes when all are there, and have had time to get in each other's
 * way. */
struct patient {
    struct pulllab_source inner;
    const struct vel_pull_source_ops *plain;
    atomic_int *begun;
};

static struct vel_get *patient_next(struct vel_pull_source *source)
{
    struct patient *patient = (struct patient *)source;

    for (int turns = 0; turns < 1000; turns += *patient->begun == OPENERS)
        sched_yield();
    return patient->plain->next(source);
}

static void *open_part(void *arg)
{
    struct opener *o = arg;
    struct pulllab *lab = o->lab;
    struct patient source = {.begun = o->begun};
    struct vel_err err = {0};

    pulllab_source_init(&source.inner, lab, 1);
    const struct vel_pull_source_ops *plain = source.inner.source.ops;
    struct vel_pull_source_ops ops = *plain;
    ops.next = patient_next;
    source.inner.source.ops = &ops;
    source.plain = plain;
    ++*o->begun;
    struct vel_pull_how how = {.fs = redlab_fs(),
                               .node = lab->node[lab->n],
                               .homes = &lab->home[lab->n],
                               .n_homes = 1,
                               .source = &source.inner.source,
                               .pulls = o->pulls};
    struct vel_pull what = {.view = &lab->view,
                            .dataset =
                                vel_view_find_dataset(&lab->view, PULLLAB_DATASET),
                            .rank = 2,
                            .home = lab->home[lab->n]};
    o->rc = vel_pull(&how, &what, &o->pulled, &err);
    if (o->rc < 0)
        note("%s", err.text);
    pulllab_source_fini(&source.inner);
    return NULL;
}

static void together(void)
{
    struct pulllab lab;
    atomic_int begun = 0;
    struct opener opener[OPENERS];
    pthread_t thread[OPENERS];
    struct vel_pulls *table = vel_pulls_create();
    size_t brought = 0, found = 0;

    pulllab_make(&lab, tap_path("wire"), VEL_XOR, 4, 1, 5, FILE_MOST);
    pulllab_look(&lab);
    for (size_t i = 0; i < OPENERS; i++) {
        opener[i] = (struct opener){.lab = &lab, .begun = &begun, .pulls = table};
        if (pthread_create(&thread[i], NULL, open_part, &opener[i]) != 0)
            bail_out("no thread");
    }
    for (size_t i = 0; i < OPENERS; i++) {
        pthread_join(thread[i], NULL);
        brought += opener[i].rc == 0 && opener[i].pulled.way == VEL_PULL_OWNER;
        found += opener[i].rc == 0 && opener[i].pulled.way == VEL_PULL_HERE;
        vel_pulled_fini(&opener[i].pulled);
    }
    ok(brought == 1 && found == OPENERS - 1,
       "of several openers of one part one brings it, and the others wait and find it");
    vel_pulls_destroy(table);
    pulllab_fini(&lab);
}

/* --- stopped, and the prefix --- */

static bool stop_later(void *arg, uint64_t bytes)
{
    uint64_t *left = arg;

    *left -= bytes < *left ? bytes : *left;
    return *left > 0;
}

static void stopped(void)
{
    struct pulllab lab;
    struct pulllab_source source;
    struct vel_pulled pulled;
    struct vel_err err = {0};
    uint64_t left = 100000;

    pulllab_make(&lab, tap_path("wire"), VEL_XOR, 4, 1, 5, FILE_MOST);
    pulllab_look(&lab);
    pulllab_source_init(&source, &lab, 1);
    const struct vel_watch watch = {stop_later, &left};
    struct vel_pull_how how = {.fs = redlab_fs(),
                               .node = lab.node[4],
                               .homes = &lab.home[4],
                               .n_homes = 1,
                               .source = &source.source,
                               .window = 8192,
                               .watch = &watch};
    struct vel_pull what = {.view = &lab.view,
                            .dataset =
                                vel_view_find_dataset(&lab.view, PULLLAB_DATASET),
                            .rank = 1,
                            .home = lab.home[4]};
    ok(vel_pull(&how, &what, &pulled, &err) == VEL_ECANCEL && pulllab_is_clean(&lab, 4),
       "a pull that is told to stop does, and leaves nothing");
    pulllab_source_fini(&source);
    pulllab_fini(&lab);
}

static void publish(const char *prefix, int container)
{
    static const char text[] = "as it was flushed";
    struct vel_listed file = {.rank = 1,
                              .name = (char *)"out/ck.1",
                              .size = sizeof text - 1,
                              .crc = vel_crc32c(0, text, sizeof text - 1),
                              .mode = 0640,
                              .mtime_s = 1000000000,
                              .container = container};
    struct vel_vec files;
    struct vel_err err = {0};
    char path[1024], *dir = vel_veloc_dir(prefix), *packed;

    vel_vec_init(&files, sizeof file);
    vel_vec_push(&files, &file);
    tap_fresh_dir(prefix);
    snprintf(path, sizeof path, "%s/dataset.7", dir);
    vel_fs_make_dirs(redlab_fs(), path, 0700, &err);
    snprintf(path, sizeof path, "%s/out", prefix);
    vel_fs_make_dirs(redlab_fs(), path, 0700, &err);
    snprintf(path, sizeof path, "%s/out/ck.1", prefix);
    packed = vel_container_path(dir, 7, 0);
    tap_put_file(container < 0 ? path : packed, text);
    if (vel_filelist_save(redlab_fs(), dir, 7, 0, &files, true, &err) < 0)
        bail_out("%s", err.text);
    vel_vec_fini(&files);
    free(packed);
    free(dir);
}

static void from_prefix(void)
{
    struct pulllab lab;
    struct vel_pulled pulled = {0};
    struct vel_err err = {0};
    struct vel_entry entry = {.dataset = {.id = 7, .name = (char *)"heat"},
                              .place = VEL_ON_PREFIX,
                              .lists = 1};
    const char *prefix = tap_path("prefix");
    char path[1100], *dir = vel_veloc_dir(prefix);
    struct vel_index *index;

    if (vel_index_open(redlab_fs(), dir, &index, &err) < 0)
        bail_out("%s", err.text);
    pulllab_make(&lab, tap_path("wire"), VEL_XOR, 4, 1, 5, 1000);
    pulllab_look(&lab);
    pulllab_lose(&lab, 1);
    pulllab_lose(&lab, 2);
    struct vel_pull_how how = {.fs = redlab_fs(),
                               .node = lab.node[4],
                               .homes = &lab.home[4],
                               .n_homes = 1,
                               .prefix = prefix,
                               .index = index};
    struct vel_pull what = {.view = &lab.view,
                            .dataset =
                                vel_view_find_dataset(&lab.view, PULLLAB_DATASET),
                            .entry = &entry,
                            .rank = 1,
                            .home = lab.home[4]};
    publish(prefix, -1);
    ok(vel_pull(&how, &what, &pulled, &err) == 0 && pulled.way == VEL_PULL_NATIVE &&
           !pulled.dir,
       "what no cache gives is opened on the prefix");
    snprintf(path, sizeof path, "%s/out/ck.1", prefix);
    tap_put_file(path, "written by others");
    ok(vel_pull(&how, &what, &pulled, &err) < 0 && pulllab_is_clean(&lab, 4),
       "unless it is not what was flushed");
    publish(prefix, 0);
    ok(vel_pull(&how, &what, &pulled, &err) < 0 && strstr(err.text, "FETCH=0") &&
           pulllab_is_clean(&lab, 4),
       "with FETCH=0 nothing comes out of a container");
    how.may_fetch = true;
    ok(vel_pull(&how, &what, &pulled, &err) == 0 && pulled.way == VEL_PULL_FETCHED,
       "out of a container it comes into the cache");
    snprintf(path, sizeof path, "%s/out/ck.1", pulled.dir ? pulled.dir : "");
    ok(tap_file_is(path, "as it was flushed"), "under its cached name");
    vel_pulled_fini(&pulled);
    entry.failed = 1;
    pulllab_lose(&lab, 4);
    ok(vel_pull(&how, &what, &pulled, &err) < 0 && strstr(err.text, "rank 1") &&
           strstr(err.text, "n4") && strstr(err.text, "the prefix"),
       "with nothing left it fails, naming part, node and each way");
    pulllab_fini(&lab);
    vel_index_close(index);
    free(dir);
}

int main(void)
{
    over_messages();
    together();
    stopped();
    from_prefix();
    return done_testing();
}
