/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is closed is seen by everybody at once, while something else stands at
 * its path: on other nodes of the launch, and by other programs on the same and on
 * other nodes. Who writes it waits until it is flushed. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    is_int(vel_client_file_create(lab->client[1], VEL_CREATE_OPEN, 1,
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
    filelab_fini(&lab);
    return done_testing();
}
