/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is closed is seen by everybody at once, while something else stands at
 * its path: on other nodes of the launch, and by other programs on the same and on
 * other nodes. Who writes it waits until it is flushed. */
#include "config.h"

#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/stub.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { NODES = 3, MOST = 3 << 20 };

#define RULES                                                                          \
    "DATASET=one PATTERN=one.h5 PUBLISH=BEHIND\nDATASET=ck PATTERN=ck.{rank}.h5\n"
#define SLOWLY RULES "FLUSH_BANDWIDTH=1\n" /* nothing comes to its path */

static bool is_stub(const struct filelab *lab, const char *name)
{
    struct vel_stub stub;

    return vel_stub_read(vel_fs_posix(), filelab_path(lab, name), &stub, NULL) == 0;
}

static void write_it(struct filelab *lab, int rank, const char *name, const char *text)
{
    struct vel_err err = {0};

    if (filelab_write(lab, rank, name, text, &err) < 0)
        bail_out("%s", err.text);
}

static bool all_read(struct filelab *lab, const char *name, const char *text)
{
    bool all = true;

    for (int rank = 0; rank < lab->ranks; rank++)
        all = filelab_reads(lab, rank, name, text) && all;
    return all;
}

static size_t copies(void)
{
    glob_t found;
    char pattern[600];
    size_t n;

    snprintf(pattern, sizeof pattern, "%s", tap_path("lab/cache/*/*/*/beside.*/*"));
    n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

/* More than goes into a message. */
static const char *large(char c)
{
    static char text[MOST + 1];

    memset(text, c, MOST);
    return text;
}

/* At a byte per second it does not come to its path while the test runs. */
static const char *version(char c)
{
    static char text[1001];

    memset(text, c, sizeof text - 1);
    return text;
}

static void other_nodes(struct filelab *lab)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    write_it(lab, 0, "one.h5", version('1'));
    ok(all_read(lab, "one.h5", version('1')) && is_stub(lab, "one.h5"),
       "what rank 0 has closed is read on all nodes, and only a stub stands there");
    write_it(lab, 1, "one.h5", version('2'));
    ok(all_read(lab, "one.h5", version('2')),
       "rank 1 creates it again: that is the one that all read, rank 0 too");
    ok(vel_client_file_look(lab->client[2], VEL_LOOK_THERE, filelab_path(lab, "one.h5"),
                            &place, &err) == 0 &&
           place.where == 4,
       "whether it is there costs no copy");
    vel_place_fini(&place);
    write_it(lab, 2, "ck.2.h5", large('a'));
    ok(filelab_reads(lab, 0, "ck.2.h5", large('a')), "a large one is read as well");
    is_int((long)copies(), 4, "each reader has a copy of the newest");
}

static void other_programs(struct filelab *lab)
{
    struct filelab other = *lab;

    filelab_begin(&other, "B");
    ok(all_read(&other, "one.h5", version('2')),
       "a program that runs beside it reads the same, on every node");
    ok(is_stub(lab, "one.h5"), "with the stub at its path");
    filelab_end(&other);
    is_int((long)copies(), 4, "and leaves no copies behind");
}

static void older_versions(struct filelab *lab)
{
    struct filelab other = *lab;

    filelab_set(lab, SLOWLY);
    filelab_begin(lab, "D");
    write_it(lab, 1, "one.h5", version('3'));
    ok(all_read(lab, "one.h5", version('3')) &&
           filelab_stands(lab, "one.h5", version('2')),
       "the older version stands at its path, and all nodes read the newer one");
    other.conf = lab->conf;
    filelab_begin(&other, "E");
    ok(all_read(&other, "one.h5", version('3')), "other programs do");
    filelab_end(&other);
    filelab_drop(lab);
}

/* It is on its way, and comes soon. */
static void writers(struct filelab *lab)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    filelab_set(lab, RULES "FLUSH_BANDWIDTH=4M\n");
    filelab_begin(lab, "F");
    write_it(lab, 0, "one.h5", large('b'));
    is_int(vel_client_file_create(lab->client[1], VEL_CREATE_OPEN,
                                  filelab_path(lab, "one.h5"), &place, &err),
           0, "who opens it on another node to write gets it when it is flushed: %s",
           err.text);
    ok(place.where == 1 && tap_file_is(place.path, large('b')) &&
           filelab_stands(lab, "one.h5", large('b')),
       "and goes on with what was written last");
    is_int(filelab_close(lab, 1, &place, "b and more\n", &err), 0, "closes it");
    vel_place_fini(&place);
    filelab_drain(lab);
    ok(filelab_stands(lab, "one.h5", "b and more\n"), "and what it adds is not lost");
    filelab_end(lab);
}

/* --- a program ends while another one looks what is left of it --- */

static struct {
    atomic_int left;     /* looks whether it is over, until it ends */
    struct filelab *lab; /* which does that */
    struct vel_place place;
    char path[700];    /* the record of its end */
    atomic_int behind; /* how often its leaders left something undone */
    atomic_int told;
} ending;

static void watch(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)len;
    if (strstr(line, "of launch Y") && strstr(line, "no whole dataset"))
        atomic_fetch_add(&ending.told, 1);
}

/* In a thread of the other program's leader, while main makes checks. */
static int end_at_look(struct vel_fs *self, const char *path, struct stat *ret)
{
    struct vel_err err = {0};

    (void)self;
    if (strcmp(path, ending.path) == 0 && atomic_fetch_sub(&ending.left, 1) == 1) {
        if (filelab_close(ending.lab, 0, &ending.place, "all of it", &err) < 0)
            bail_out("%s", err.text);
        if (filelab_leave(ending.lab) >= 0)
            atomic_fetch_add(&ending.behind, 1);
    }
    return vel_fs_posix()->ops->lstat(vel_fs_posix(), path, ret);
}

/* false: it was looked for less often. */
static bool ends_at(struct filelab *lab, int look)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct filelab other = *lab;
    struct vel_err err = {0};
    char launch[20], name[20];

    ops = *vel_fs_posix()->ops;
    ops.lstat = end_at_look;
    snprintf(launch, sizeof launch, "Y%d", look);
    snprintf(name, sizeof name, "ck.%d.h5", look);
    filelab_begin(lab, launch);
    if (filelab_create(lab, 0, "one.h5", &ending.place, &err) < 0)
        bail_out("%s", err.text);
    ending.lab = lab;
    snprintf(ending.path, sizeof ending.path, "%s/launch.%s", lab->dir, launch);
    atomic_store(&ending.left, look);
    other.fs = &fs;
    snprintf(launch, sizeof launch, "Z%d", look);
    filelab_begin(&other, launch);
    write_it(&other, 0, name, "of the other");
    filelab_end(&other);
    if (atomic_load(&ending.left) <= 0) {
        vel_place_fini(&ending.place);
        return true;
    }
    if (filelab_close(lab, 0, &ending.place, "all of it", &err) < 0)
        bail_out("%s", err.text);
    vel_place_fini(&ending.place);
    filelab_end(lab);
    return false;
}

static void ends_beside(struct filelab *lab)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = watch};
    int looks = 1;

    filelab_set(lab, RULES);
    vel_log_open(&sink);
    while (looks < 30 && ends_at(lab, looks))
        looks++;
    vel_log_open(NULL);
    ok(looks > 2, "a program ends when another one looks for it for the n-th time: %d",
       looks - 1);
    is_int(atomic_load(&ending.behind), 0, "its leaders leave nothing undone");
    is_int(atomic_load(&ending.told), 0, "nobody says that it has lost anything");
}

int main(void)
{
    struct filelab lab;

    filelab_init(&lab, "lab", NODES, NODES, SLOWLY);
    filelab_begin(&lab, "A");
    other_nodes(&lab);
    other_programs(&lab);
    filelab_drop(&lab);
    filelab_set(&lab, RULES);
    filelab_begin(&lab, "C");
    ok(all_read(&lab, "one.h5", version('2')), "the next launch reads the newest, too");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, "one.h5", version('2')), "and brings it to its path");
    is_int((long)copies(), 0, "and takes away the copies of one that was killed");
    filelab_end(&lab);
    older_versions(&lab);
    writers(&lab);
    ends_beside(&lab);
    filelab_fini(&lab);
    return done_testing();
}
