/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a program through the leaders of its nodes, on real files: what stands
 * where, and what the next launch has. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/dataset_state.h"
#include "jobs/stub.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"
#include "view/view.h"

#define RULE "DATASET=ck PATTERN=ck.{step}.{rank}.h5\n"

/* So long that a throttled flush takes minutes. */
static const char *text_of(int rank, int step)
{
    static char texts[8][600];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0], "rank %d of step %d %0500d\n", rank, step, 0);
    return text;
}

static const char *name_of(int rank, int step)
{
    static char names[8][64];
    static unsigned next;
    char *name = names[next++ % 8];

    snprintf(name, sizeof names[0], "ck.%d.%d.h5", step, rank);
    return name;
}

static const char *state_of(int rank)
{
    static const char *const names[] = {"state.0", "state.1", "state.2", "state.3"};

    return names[rank];
}

static bool is_stub(const struct filelab *lab, const char *name)
{
    struct vel_stub stub;

    return vel_stub_read(vel_fs_posix(), filelab_path(lab, name), &stub, NULL) == 0;
}

static int save(struct filelab *lab, int step)
{
    struct vel_err err = {0};
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < lab->ranks; rank++)
        rc = filelab_write(lab, rank, name_of(rank, step), text_of(rank, step), &err);
    if (rc < 0)
        note("%s", err.text);
    return rc;
}

static bool all_stand(const struct filelab *lab, int step)
{
    bool all = true;

    for (int rank = 0; rank < lab->ranks; rank++)
        all = filelab_stands(lab, name_of(rank, step), text_of(rank, step)) && all;
    return all;
}

static bool all_read(struct filelab *lab, int step)
{
    bool all = true;

    for (int rank = 0; rank < lab->ranks; rank++)
        all = filelab_reads(lab, rank, name_of(rank, step), text_of(rank, step)) && all;
    return all;
}

static void behind(void)
{
    struct filelab lab;

    filelab_init(&lab, "behind", 2, 4, RULE);
    filelab_begin(&lab, "L1");
    is_int(save(&lab, 1), 0, "a file of each rank is written and closed");
    ok(is_stub(&lab, name_of(0, 1)) || all_stand(&lab, 1),
       "something stands at its name when it is closed");
    ok(all_read(&lab, 1), "and it is read as it was written");
    filelab_drain(&lab);
    ok(all_stand(&lab, 1), "in the end the files stand on the prefix");
    is_int(filelab_published(&lab), 1, "as one dataset");
    filelab_end(&lab);
    filelab_fini(&lab);
}

static int rename_to(const struct filelab *lab, const char *from, const char *to)
{
    return rename(filelab_path(lab, from), filelab_path(lab, to));
}

static bool write_one(struct filelab *lab, int rank, const char *name, const char *text)
{
    struct vel_err err = {0};

    return ok(filelab_write(lab, rank, name, text, &err) == 0, "%s is written: %s",
              name, err.text);
}

/* Written under one name, then renamed, as careful programs do. */
static void renamed(void)
{
    struct filelab lab;

    filelab_init(&lab, "renamed", 2, 2, "DATASET=r PATTERN=*.{rank}\n");
    filelab_begin(&lab, "L1");
    write_one(&lab, 0, "x.tmp.0", "first");
    write_one(&lab, 1, "x.tmp.1", "second");
    ok(rename_to(&lab, "x.tmp.0", "x.0") == 0 && rename_to(&lab, "x.tmp.1", "x.1") == 0,
       "what stands at a name is renamed as any file");
    ok(filelab_reads(&lab, 0, "x.0", "first") &&
           filelab_reads(&lab, 1, "x.1", "second"),
       "the files are read by their new names");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, "x.0", "first") && filelab_stands(&lab, "x.1", "second"),
       "and come to the prefix under them");
    ok(access(filelab_path(&lab, "x.tmp.0"), F_OK) < 0, "and not under the old ones");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* The last three are kept, older ones unlinked while they are still to be flushed. */
static void unlinked(void)
{
    struct filelab lab;
    int stand = 0, gone = 0;

    filelab_init(&lab, "unlinked", 2, 2, RULE);
    filelab_begin(&lab, "L1");
    for (int step = 1; step <= 6; step++) {
        is_int(save(&lab, step), 0, "step %d is written", step);
        for (int rank = 0; step > 3 && rank < 2; rank++)
            unlink(filelab_path(&lab, name_of(rank, step - 3)));
    }
    filelab_drain(&lab);
    for (int step = 1; step <= 6; step++) {
        stand += step > 3 && all_stand(&lab, step);
        gone += step <= 3 && access(filelab_path(&lab, name_of(0, step)), F_OK) < 0 &&
                access(filelab_path(&lab, name_of(1, step)), F_OK) < 0;
    }
    is_int(stand, 3, "the steps that are kept stand on the prefix");
    is_int(gone, 3, "those that were removed do not come back");
    filelab_end(&lab);
    filelab_fini(&lab);
}

static void alone(void)
{
    struct filelab lab;
    struct vel_place place = {0};
    struct vel_err err = {0};

    filelab_init(&lab, "alone", 2, 2, "DATASET=o PATTERN=out.{step}.h5\n");
    filelab_begin(&lab, "L1");
    write_one(&lab, 1, "out.1.h5", "one");
    ok(filelab_reads(&lab, 0, "out.1.h5", "one"),
       "a file without {rank} is read by all ranks when it is closed");
    ok(filelab_create(&lab, 0, "serial.h5", &place, &err) == 0 && place.where == 5,
       "one that no line has is written at its own path");
    vel_place_fini(&place);
    filelab_drain(&lab);
    ok(filelab_stands(&lab, "out.1.h5", "one"), "the first comes to its name");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* The same name each step. */
static void again(void)
{
    struct filelab lab;

    filelab_init(&lab, "again", 2, 2, "DATASET=s PATTERN=state.{rank}\n");
    filelab_begin(&lab, "L1");
    for (int step = 1; step <= 4; step++) {
        write_one(&lab, 0, "state.0", text_of(0, step));
        write_one(&lab, 1, "state.1", text_of(1, step));
        ok(filelab_reads(&lab, 0, "state.0", text_of(0, step)),
           "the newest version is read, %d", step);
    }
    filelab_drain(&lab);
    ok(filelab_stands(&lab, "state.0", text_of(0, 4)) &&
           filelab_stands(&lab, "state.1", text_of(1, 4)),
       "and comes to the prefix");
    filelab_end(&lab);
    filelab_fini(&lab);
}

static void foreign(void)
{
    struct filelab lab;
    struct vel_place place = {0};
    struct vel_err err = {0};

    filelab_init(&lab, "foreign", 2, 2,
                 RULE "DATASET=none PATTERN=*.txt KIND=NONE\n"
                      "DATASET=no PATTERN=no/*\n");
    filelab_begin(&lab, "L1");
    save(&lab, 1);
    unlink(filelab_path(&lab, name_of(0, 1)));
    tap_put_file(filelab_path(&lab, name_of(0, 1)), "somebody else's");
    ok(filelab_reads(&lab, 0, name_of(0, 1), "somebody else's"),
       "what somebody else writes at a name is read");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, name_of(0, 1), "somebody else's") &&
           filelab_stands(&lab, name_of(1, 1), text_of(1, 1)),
       "and stays; the other file comes");
    ok(filelab_create(&lab, 0, "a.txt", &place, &err) == 0 && place.where == 2 &&
           strstr(place.why, "KIND=NONE"),
       "KIND=NONE is written natively");
    vel_place_fini(&place);
    ok(filelab_create(&lab, 0, "no/ck.1.0.h5", &place, &err) == 0 && place.where == 2 &&
           strstr(place.why, "directory"),
       "and what has no directory");
    vel_place_fini(&place);
    ok(!filelab_read(&lab, 0, "nothing.h5", &err), "a name without a file: %s",
       err.text);
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* A rank has written natively when its node gets another leader, which is the chair. */
static void written_natively(void)
{
    struct filelab lab;
    struct vel_place place = {0};
    struct vel_err err = {0};
    char in_the_way[300];
    struct vel_view view;
    char *path;

    filelab_init(&lab, "natively", 2, 2, RULE);
    snprintf(in_the_way, sizeof in_the_way, "%s/ledger", lab.home[0]);
    filelab_begin(&lab, "L1");
    tap_put_file(in_the_way, "no directory");
    filelab_create(&lab, 0, name_of(0, 1), &place, &err);
    is_int(place.where, 2, "a rank has no place in its cache: %s", place.why);
    vel_place_fini(&place);
    unlink(in_the_way);
    filelab_lead_again(&lab, 0);
    filelab_write(&lab, 1, name_of(1, 1), text_of(1, 1), &err);
    filelab_drain(&lab);
    filelab_end(&lab);
    filelab_begin(&lab, "L2");
    free(filelab_read(&lab, 0, name_of(1, 1), &err)); /* until there is a view */
    path = vel_view_path(lab.dir, "L2");
    is_int(vel_view_load(vel_fs_posix(), path, &view, &err), 0, "the next launch");
    ok(!vel_view_find_dataset(&view, 1),
       "cannot restore what lacks its file, although another leader came");
    vel_view_fini(&view);
    free(path);
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* Until a dataset is encoded: it is being flushed then, slowly, or is the next. */
static void wait_encoded(struct filelab *lab, int64_t id)
{
    struct vel_progress now = {0};
    struct vel_err err = {0};

    for (int i = 0; i < 12000 && !now.is_encoded; i++) {
        if (vel_client_ask(lab->client[0], id, &now, &err) < 0)
            bail_out("%s", err.text);
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    }
    ok(now.is_encoded && now.state < VEL_DATASET_FLUSHED,
       "dataset %d is encoded and not flushed: %s", (int)id, now.text);
}

static void rank_files(struct filelab *lab, int step)
{
    is_int(save(lab, step), 0, "step %d is written", step);
}

/* A launch that is killed between encoding and flush; the next one has the files, on
 * other nodes and after the loss of one. */
static void restarted(bool is_lost)
{
    struct filelab lab;

    filelab_init(&lab, is_lost ? "lost" : "restarted", 3, 3,
                 RULE "FLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    rank_files(&lab, 1);
    wait_encoded(&lab, 1);
    filelab_drop(&lab);
    ok(is_stub(&lab, name_of(1, 1)), "a stub stands at a name");
    if (is_lost)
        filelab_lose(&lab, 1);
    filelab_begin(&lab, "L2");
    ok(all_read(&lab, 1), "the next launch reads all files%s",
       is_lost ? ", though a node is lost" : "");
    ok(filelab_reads(&lab, 0, name_of(1, 1), text_of(1, 1)) &&
           filelab_reads(&lab, 2, name_of(0, 1), text_of(0, 1)),
       "also on other nodes");
    rank_files(&lab, 2);
    ok(all_read(&lab, 2), "and writes the next step");
    wait_encoded(&lab, 2);
    filelab_drop(&lab);
    filelab_set(&lab, RULE);
    filelab_begin(&lab, "L3");
    ok(all_read(&lab, 1) && all_read(&lab, 2), "the third launch reads both");
    filelab_drain(&lab);
    ok(all_stand(&lab, 1) && all_stand(&lab, 2),
       "what launches before have not flushed comes to the prefix");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* The node is lost that knew what its file was to replace; what the program has written
 * there since is newer than the file that is made again from the others. */
static void written_since(void)
{
    struct filelab lab;

    filelab_init(&lab, "since", 3, 3,
                 "DATASET=s PATTERN=state.{rank}\nFLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    for (int rank = 0; rank < 3; rank++)
        write_one(&lab, rank, state_of(rank), text_of(rank, 1));
    wait_encoded(&lab, 1);
    filelab_drop(&lab);
    filelab_lose(&lab, 1);
    unlink(filelab_path(&lab, state_of(1)));
    tap_put_file(filelab_path(&lab, state_of(1)), text_of(1, 2));
    filelab_set(&lab, "DATASET=s PATTERN=state.{rank}\nDATASET=o PATTERN=out.h5\n");
    filelab_begin(&lab, "L2");
    write_one(&lab, 0, "out.h5", "who only reads leaves what others owe");
    ok(filelab_reads(&lab, 0, state_of(1), text_of(1, 2)),
       "what was written at the name of a file whose node is lost is read");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, state_of(0), text_of(0, 1)) &&
           filelab_stands(&lab, state_of(2), text_of(2, 1)),
       "files of a dataset of which a node is lost come to the prefix");
    ok(filelab_stands(&lab, state_of(1), text_of(1, 2)),
       "but for one that was written since");
    ok(filelab_stands(&lab, "state.1.h5veloc-1", text_of(1, 1)),
       "which comes beside that");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* A node on which nothing was written stays away: what was sealed needs it for nothing.
 */
static void without_idle(void)
{
    struct filelab lab;

    filelab_init(&lab, "idle", 3, 3, RULE "COPY_TYPE=SINGLE\nFLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    write_one(&lab, 0, name_of(0, 1), text_of(0, 1));
    write_one(&lab, 1, name_of(1, 1), text_of(1, 1));
    wait_encoded(&lab, 1);
    filelab_drop(&lab);
    lab.nodes = lab.ranks = 2;
    filelab_set(&lab, RULE "COPY_TYPE=SINGLE\nPEER_TIMEOUT=6\nVIEW_WAIT=5\n"
                           "FLUSH_STALL=60\n");
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 1, name_of(0, 1), text_of(0, 1)) &&
           filelab_reads(&lab, 0, name_of(1, 1), text_of(1, 1)),
       "a node that has written nothing stays away, and nothing is missed");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, name_of(0, 1), text_of(0, 1)) &&
           filelab_stands(&lab, name_of(1, 1), text_of(1, 1)),
       "it comes to the prefix without that node");
    filelab_end(&lab);
    lab.nodes = lab.ranks = 3;
    filelab_fini(&lab);
}

/* The same names, of which an older version stands: who reads before it is known what
 * the caches have, because a node does not come, has the newest all the same. */
static void at_once(void)
{
    struct filelab lab;

    filelab_init(&lab, "at_once", 3, 3, "DATASET=s PATTERN=state.{rank}\n");
    for (int step = 1; step <= 2; step++) {
        filelab_begin(&lab, step == 1 ? "L1" : "L2");
        for (int rank = 0; rank < 3; rank++)
            write_one(&lab, rank, state_of(rank), text_of(rank, step));
        if (step == 1)
            filelab_end(&lab);
        else
            wait_encoded(&lab, 2);
        filelab_set(&lab, "DATASET=s PATTERN=state.{rank}\nFLUSH_BANDWIDTH=1\n"
                          "VIEW_WAIT=1\n");
    }
    filelab_drop(&lab);
    ok(filelab_stands(&lab, state_of(2), text_of(2, 1)), "an older version stands");
    lab.nodes = lab.ranks = 2;
    filelab_begin(&lab, "L3");
    ok(filelab_reads(&lab, 0, state_of(2), text_of(2, 2)),
       "who reads at once has the newest, though its node does not come");
    filelab_drop(&lab);
    lab.nodes = lab.ranks = 3;
    filelab_fini(&lab);
}

/* The same names: one version stands, the next is sealed, and of the one behind that a
 * rank alone has closed its file when the program is killed. */
static void half_closed(void)
{
    struct filelab lab;

    filelab_init(&lab, "half_closed", 2, 2, "DATASET=s PATTERN=state.{rank}\n");
    filelab_begin(&lab, "L1");
    for (int rank = 0; rank < 2; rank++)
        write_one(&lab, rank, state_of(rank), text_of(rank, 1));
    filelab_end(&lab);
    filelab_set(&lab, "DATASET=s PATTERN=state.{rank}\nFLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L2");
    for (int rank = 0; rank < 2; rank++)
        write_one(&lab, rank, state_of(rank), text_of(rank, 2));
    wait_encoded(&lab, 2);
    write_one(&lab, 0, state_of(0), text_of(0, 3));
    filelab_drop(&lab);
    filelab_begin(&lab, "L3");
    for (int rank = 0; rank < 2; rank++)
        ok(filelab_reads(&lab, rank, state_of(rank), text_of(rank, 2)),
           "rank %d has the newest version that all have closed", rank);
    filelab_drop(&lab);
    filelab_fini(&lab);
}

/* The next launch writes the same step again, before it has adopted the old one. */
static void same_step(void)
{
    struct vel_err err = {0};
    struct filelab lab;
    int rc = 0;

    filelab_init(&lab, "same_step", 1, 2, RULE "FLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    rank_files(&lab, 1);
    wait_encoded(&lab, 1);
    filelab_drop(&lab);
    filelab_set(&lab, RULE);
    filelab_begin(&lab, "L2");
    for (int rank = 0; rc == 0 && rank < lab.ranks; rank++)
        rc = filelab_write(&lab, rank, name_of(rank, 1), text_of(rank, 99), &err);
    is_int(rc, 0, "a step of the launch before is written again at once: %s", err.text);
    filelab_drain(&lab);
    for (int rank = 0; rank < lab.ranks; rank++)
        ok(filelab_reads(&lab, rank, name_of(rank, 1), text_of(rank, 99)) &&
               filelab_stands(&lab, name_of(rank, 1), text_of(rank, 99)),
           "rank %d has what it wrote last", rank);
    filelab_end(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    same_step();
    behind();
    renamed();
    unlinked();
    alone();
    again();
    foreign();
    written_natively();
    restarted(false);
    restarted(true);
    written_since();
    without_idle();
    at_once();
    half_closed();
    return done_testing();
}
