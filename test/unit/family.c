/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of two nodes write files of a family that no line has, one write after the
 * other, while leaders are replaced in good order, or one has looked for its file
 * before: each write is whole, and comes to its path on both. */
#include "config.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { WRITES = 9, NODES = 2, OTHERS = 400, LIMIT_S = 40, KNOWN = 3 };

struct scene {
    const char *what;
    bool has_steps;    /* in its names; else they are made anew */
    unsigned replaced; /* leaders of these nodes (bits), one after the other, */
    int after;         /* after that write; 0: none is */
    bool looks;        /* rank 0 opens what is not there, first */
};

static const char *name_of(const struct scene *scene, int write, int rank)
{
    static char name[64];

    if (scene->has_steps)
        snprintf(name, sizeof name, "ck.%d.%d.h5", write, rank);
    else
        snprintf(name, sizeof name, "st.%d.h5", rank);
    return name;
}

static void look(struct filelab *lab, const struct scene *scene)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    if (vel_client_file_create(lab->client[0], VEL_CREATE_OPEN,
                               filelab_path(lab, name_of(scene, 1, 0)), &place,
                               &err) < 0)
        bail_out("%s", err.text);
    vel_place_fini(&place);
}

/* Live, it is at its path at once, and nothing of it is in a cache any more. Has it a
 * place in the cache? */
static bool write_one(struct filelab *lab, const struct scene *scene, int write,
                      int rank)
{
    const char *name = name_of(scene, write, rank);
    struct vel_place place = {0};
    struct vel_err err = {0};
    char text[40];
    int rc = filelab_create(lab, rank, name, &place, &err);
    bool is_cached = place.where == 1;

    snprintf(text, sizeof text, "write %d", write);
    if (rc == 0 && is_cached) {
        rc = filelab_close(lab, rank, &place, text, &err);
    } else if (rc == 0) {
        vel_client_file_remove(lab->client[rank], filelab_path(lab, name), NULL);
        unlink(filelab_path(lab, name));
        tap_put_file(filelab_path(lab, name), text);
    }
    if (rc < 0)
        bail_out("%s", err.text);
    vel_place_fini(&place);
    return is_cached;
}

/* Behind, it comes there when it is whole. */
static bool await_all(const struct filelab *lab, const struct scene *scene, int write)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    char text[40];

    snprintf(text, sizeof text, "write %d", write);
    for (int i = 0; i < LIMIT_S * 200; i++) {
        int stand = 0;

        for (int rank = 0; rank < NODES; rank++)
            stand += filelab_stands(lab, name_of(scene, write, rank), text);
        if (stand == NODES)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void play(const struct scene *scene)
{
    struct filelab lab;
    int write = 0, live = 0;
    bool is_well = true;

    filelab_init(&lab, "family", NODES, NODES, "");
    filelab_begin(&lab, "first");
    if (scene->looks)
        look(&lab, scene);
    while (is_well && write < WRITES) {
        write++;
        for (int rank = 0; rank < NODES; rank++)
            live += !write_one(&lab, scene, write, rank) && write > KNOWN;
        is_well = await_all(&lab, scene, write);
        for (int node = 0; write == scene->after && node < NODES; node++)
            if (scene->replaced & 1U << node)
                filelab_lead_again(&lab, node);
    }
    ok(is_well, "%s: %d writes", scene->what, write);
    is_int(live, 0, "those after the third are protected");
    filelab_drop(&lab);
    filelab_fini(&lab);
}

/* More names than a chair remembers, of which no two are alike, do not make it forget
 * what it hears now and then: rank 0 is three writes ahead. */
static void play_many(void)
{
    static const struct scene scene = {.has_steps = true};
    struct filelab lab;
    bool is_well = true;

    filelab_init(&lab, "family", NODES, NODES, "");
    filelab_begin(&lab, "first");
    write_one(&lab, &scene, 1, 0);
    write_one(&lab, &scene, 2, 0);
    for (int i = 0; i < OTHERS; i++) {
        char name[] = {'x',
                       (char)('a' + i / 676),
                       (char)('a' + i / 26 % 26),
                       (char)('a' + i % 26),
                       '.',
                       '1',
                       0};
        struct vel_place place = {0};
        struct vel_err err = {0};

        if (filelab_create(&lab, 0, name, &place, &err) < 0 ||
            vel_client_file_remove(lab.client[0], filelab_path(&lab, name), &err) < 0)
            bail_out("%s", err.text);
        vel_place_fini(&place);
        if (i == OTHERS / 2)
            write_one(&lab, &scene, 3, 0);
    }
    write_one(&lab, &scene, 1, 1);
    write_one(&lab, &scene, 2, 1);
    write_one(&lab, &scene, 3, 1);
    for (int write = 1; is_well && write <= 3; write++)
        is_well = await_all(&lab, &scene, write);
    ok(is_well, "after %d files of other names each write comes to its paths", OTHERS);
    filelab_drop(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    static const struct scene scenes[] = {
        {"files of steps come to their paths on all ranks", true, 0, 0, false},
        {"so are files that are made anew", false, 0, 0, false},
        {"also when a rank has looked for its file before", false, 0, 0, true},
        {"when a leader is replaced", false, 2, 4, false},
        {"or the other", false, 1, 4, false},
        {"or all of them", false, 3, 4, false},
        {"or of steps", true, 1, 4, false},
        {"or all of steps", true, 3, 4, false},
        {"or before it is known that they are a family", true, 1, 1, false},
    };

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        play(&scenes[i]);
    play_many();
    return done_testing();
}
