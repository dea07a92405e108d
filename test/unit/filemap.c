/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "meta/filemap.h"
#include "tap/recordlab.h"
#include "tap/tap.h"

typedef int sample_f(const struct vel_filemap *map, void *arg, struct vel_err *err);

/* The file map of a rank, as it would be written. */
static int with_sample(int rank, sample_f *act, void *arg, struct vel_err *err)
{
    char name[] = "heat";
    struct vel_filemap map = {.rank = rank,
                              .dataset = {.id = 7,
                                          .name = name,
                                          .version = 3,
                                          .checkpoint = 2,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = 4,
                                          .nodes = 2,
                                          .created = 1700000000},
                              .descriptor = vel_node_object()};
    int rc;

    if (!map.descriptor || vel_node_set_text(map.descriptor, "TYPE", "XOR"))
        bail_out("out of memory");
    rc = act(&map, arg, err);
    vel_node_destroy(map.descriptor);
    return rc;
}

static int encode(const struct vel_filemap *map, void *arg, struct vel_err *err)
{
    return vel_filemap_encode(map, arg, err);
}

static int decode(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_filemap map;
    int rc = vel_filemap_decode(bytes, len, &map, err);

    if (rc == 0)
        vel_filemap_fini(&map);
    return rc;
}

static void both_ways(const struct vel_buf *bytes)
{
    struct vel_filemap map = {0};
    struct vel_buf again;
    struct vel_err err = {0};

    is_int(vel_filemap_decode(bytes->data, bytes->len, &map, &err), 0,
           "a file map is read as it was written");
    ok(map.rank == 3 && map.dataset.id == 7 && map.dataset.ranks == 4,
       "with its rank and its dataset");
    is_str(map.dataset.name, "heat", "and its name");
    vel_buf_init(&again);
    ok(vel_filemap_encode(&map, &again, &err) == 0 && again.len == bytes->len &&
           memcmp(again.data, bytes->data, again.len) == 0,
       "and the descriptor in it is untouched");
    vel_buf_fini(&again);
    vel_filemap_fini(&map);
}

static void hostile(const struct vel_buf *bytes)
{
    static const struct recordlab_damage damages[] = {
        {"\"rank\":3", "\"rank\":-1", "rank"},
        {"\"rank\":3", "\"rank\":1073741825", "rank"},
        {"\"rank\":3", "\"rank\":\"3\"", "rank"},
        {"\"rank\"", "\"tank\"", "rank"},
        {"\"id\":7", "\"id\":0", "id"},
        {"\"id\":7", "\"id\":9223372036854775807", "id"},
        {"\"heat\"", "\"../heat\"", "no name of a dataset"},
        {"\"heat\"", "\".\"", "no name of a dataset"},
        {"\"heat\"", "\"\"", "no name of a dataset"},
        {"\"heat\"", "\"%0A\"", "no name of a dataset"},
        {"\"heat\"", "\"%zz\"", "name"},
        {"\"heat\"", "7", "name"},
        {"\"version\":3", "\"version\":-2147483649", "version"},
        {"\"checkpoint\":2", "\"checkpoint\":-1", "checkpoint"},
        {"\"use\":1", "\"use\":0", "use"},
        {"\"use\":1", "\"use\":4", "use"},
        {"\"ranks\":4", "\"ranks\":0", "ranks"},
        {"\"ranks\":4", "\"ranks\":4.5", "ranks"},
        {"\"nodes\":2", "\"nodes\":0", "nodes"},
        {"\"files\":0", "\"files\":-1", "files"},
        {"\"bytes\":0", "\"bytes\":-1", "bytes"},
        {"\"created\":1700000000", "\"created\":true", "created"},
        {"\"created\":", "\"leaders\":1,\"created\":", "leaders"},
        {"\"dataset\":{", "\"dataset\":3,\"x\":{", "dataset"},
        {"\"descriptor\":{", "\"descriptor\":[],\"x\":{", "descriptor"},
        {"\"descriptor\"", "\"descriptors\"", "descriptor"},
    };

    recordlab_refused(bytes, "filemap", decode, damages,
                      sizeof damages / sizeof *damages);
}

int main(void)
{
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    if (with_sample(3, encode, &bytes, NULL) < 0)
        bail_out("out of memory");
    both_ways(&bytes);
    hostile(&bytes);
    vel_buf_fini(&bytes);
    return done_testing();
}
