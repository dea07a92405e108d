/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "meta/nodes.h"
#include "record/record.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static void saved_and_loaded(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    int64_t nodes = 77;

    is_int(vel_nodes_load(fs, tap_dir(), &nodes, &err), VEL_ENOENT,
           "before the first run nobody knows how many nodes it had");
    is_int(nodes, 77, "and nothing is returned");
    is_int(vel_nodes_save(fs, tap_dir(), 4608, &err), 0, "a run says how many it has");
    ok(vel_nodes_load(fs, tap_dir(), &nodes, &err) == 0 && nodes == 4608,
       "and the launcher of the next one reads it");
    is_int(vel_nodes_save(fs, tap_dir(), 0, &err), VEL_EINVAL,
           "no run is without nodes");
    ok(strstr(err.text, "0 nodes") != NULL, "says the sentence");
    ok(vel_nodes_load(fs, tap_dir(), &nodes, &err) == 0 && nodes == 4608,
       "and the record stands");
}

static void damaged(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_node *body = vel_node_object();
    struct vel_err err = {0};
    int64_t nodes = 77;

    tap_put_file(tap_path("nodes"), "4608\n");
    is_int(vel_nodes_load(fs, tap_dir(), &nodes, &err), VEL_ECORRUPT,
           "a file that is no record is refused");
    vel_node_set_int(body, "nodes", -3);
    vel_record_save(fs, tap_path("nodes"), "nodes", 1, body, NULL);
    is_int(vel_nodes_load(fs, tap_dir(), &nodes, &err), VEL_ECORRUPT,
           "and so is a number that cannot be");
    ok(strstr(err.text, "/nodes: key 'nodes'") != NULL,
       "the sentence names file and key: %s", err.text);
    vel_record_save(fs, tap_path("nodes"), "nodes", 2, body, NULL);
    is_int(vel_nodes_load(fs, tap_dir(), &nodes, &err), VEL_EUNSUP,
           "a record of a newer h5veloc is told apart");
    is_int(nodes, 77, "and nothing is returned");
    vel_node_destroy(body);
}

static void prepare(const char *dir, void *arg)
{
    (void)arg;
    if (vel_nodes_save(vel_fs_posix(), dir, 3, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

static int save(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    (void)arg;
    return vel_nodes_save(fs, dir, 4, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    int64_t nodes = 0;

    (void)arg;
    vel_nodes_load(vel_fs_posix(), dir, &nodes, NULL);
    return nodes == 3 ? SWEEP_OLD : nodes == 4 ? SWEEP_NEW : SWEEP_BROKEN;
}

int main(void)
{
    const struct sweep sweep = {.name = "saving the number of nodes",
                                .prepare = prepare,
                                .action = save,
                                .check = check};

    saved_and_loaded();
    damaged();
    sweep_run(&sweep);
    return done_testing();
}
