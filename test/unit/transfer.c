/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of what a transfer service has been told to move. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/transfer.h"
#include "tap/files.h"
#include "tap/recordlab.h"
#include "tap/tap.h"

static struct vel_transfer_record sample(void)
{
    struct vel_transfer_record r;
    const struct vel_transfer_file files[] = {
        {strdup("/ssd/u/rank.3/a\xff"), strdup("out/a\xff"), 4096},
        {strdup("/ssd/u/rank.3/b"), strdup("@/home/u/b"), 0}};

    vel_transfer_record_init(&r);
    r.id = (struct vel_transfer_id){strdup("node.7.x"), 12, 3, 1};
    r.service = strdup("BBAPI");
    r.store = strdup("/ssd");
    r.has_state = true;
    vel_buf_append(&r.state, "\0\x7f\xff", 3);
    vel_vec_push(&r.files, &files[0]);
    vel_vec_push(&r.files, &files[1]);
    return r;
}

static bool is_same_file(const struct vel_transfer_record *a,
                         const struct vel_transfer_record *b, size_t i)
{
    const struct vel_transfer_file *x = vel_vec_at(&a->files, i);
    const struct vel_transfer_file *y = vel_vec_at(&b->files, i);

    return strcmp(x->from, y->from) == 0 && strcmp(x->name, y->name) == 0 &&
           x->size == y->size;
}

static bool is_same(const struct vel_transfer_record *a,
                    const struct vel_transfer_record *b)
{
    return strcmp(a->id.node, b->id.node) == 0 && a->id.dataset == b->id.dataset &&
           a->id.rank == b->id.rank && a->id.attempt == b->id.attempt &&
           strcmp(a->service, b->service) == 0 && strcmp(a->store, b->store) == 0 &&
           a->has_state == b->has_state && a->state.len == b->state.len &&
           memcmp(a->state.data, b->state.data, a->state.len) == 0 &&
           a->files.n == b->files.n && is_same_file(a, b, 0) && is_same_file(a, b, 1);
}

static int decode(const void *bytes, size_t len, struct vel_err *err)
{
    struct vel_transfer_record r;
    int rc = vel_transfer_record_decode(bytes, len, &r, err);

    if (rc == 0)
        vel_transfer_record_fini(&r);
    return rc;
}

static void as_bytes(void)
{
    static const struct recordlab_damage damages[] = {
        {"\"dataset\":12", "\"dataset\":0", "dataset"},
        {"\"rank\":3", "\"rank\":-3", "rank"},
        {"\"attempt\":1", "\"attempt\":-1", "attempt"},
        {"\"attempt\"", "\"attempts\"", "attempt"},
        {"\"service\":\"BBAPI\"", "\"service\":1", "service"},
        {"\"store\":", "\"stores\":", "store"},
        {"\"state\":\"007fff\"", "\"state\":\"007ff\"", "hex"},
        {"\"state\":\"007fff\"", "\"state\":\"007fFF\"", "hex"},
        {"\"state\":\"007fff\"", "\"state\":7", "state"},
        {"/ssd/u/rank.3/b", "ssd/u/rank.3/b", "no whole path"},
        {"/ssd/u/rank.3/b", "/ssd/../etc/b", "no whole path"},
        {"@/home/u/b", "../home/u/b", "no name of a cached file"},
        {"\"size\":4096", "\"size\":-1", "size"},
        {"\"files\":[{", "\"files\":[[],{", "item 0"},
    };
    struct vel_transfer_record r = sample(), back;
    struct vel_buf bytes;
    struct vel_err err = {0};

    vel_buf_init(&bytes);
    ok(vel_transfer_record_encode(&r, &bytes, &err) == 0 &&
           vel_transfer_record_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           is_same(&r, &back),
       "a record is read as it was written, whatever bytes are in it");
    vel_transfer_record_fini(&back);
    recordlab_refused(&bytes, "transfer", decode, damages,
                      sizeof damages / sizeof *damages);
    vel_buf_clear(&bytes);
    r.has_state = false;
    ok(vel_transfer_record_encode(&r, &bytes, &err) == 0 &&
           vel_transfer_record_decode(bytes.data, bytes.len, &back, &err) == 0 &&
           !back.has_state && back.state.len == 0,
       "one without a state has none");
    vel_transfer_record_fini(&back);
    vel_buf_fini(&bytes);
    vel_transfer_record_fini(&r);
}

static void is_name(const char *name, const char *node, int64_t dataset, int rank,
                    int attempt)
{
    struct vel_transfer_id id;
    bool is = vel_transfer_name_parse(name, &id);

    if (!node) {
        ok(!is, "'%s' is no name of a transfer", name);
        return;
    }
    char *again = is ? vel_transfer_name(&id) : NULL;
    ok(is && strcmp(id.node, node) == 0 && id.dataset == dataset && id.rank == rank &&
           id.attempt == attempt && again && strcmp(again, name) == 0,
       "'%s' is one of node %s", name, node);
    free(again);
    if (is)
        vel_transfer_id_fini(&id);
}

static void names(void)
{
    is_name("n.7.3.0", "n", 7, 3, 0);
    is_name("n.d.e.7.3.12", "n.d.e", 7, 3, 12);
    is_name("10.0.0.1.7.3.1", "10.0.0.1", 7, 3, 1);
    is_name("n.99999999999999999999.0.0", NULL, 0, 0, 0);
    is_name("n.7.3", NULL, 0, 0, 0);
    is_name(".7.3.0", NULL, 0, 0, 0);
    is_name("n.0.3.0", NULL, 0, 0, 0);
    is_name("n.7.03.0", NULL, 0, 0, 0);
    is_name("n.7.-3.0", NULL, 0, 0, 0);
    is_name("n.7.3.99999999999", NULL, 0, 0, 0);
    is_name("n.7.3.99999999999999999999999999999999999999", NULL, 0, 0, 0);
    is_name("n.7.3.0x", NULL, 0, 0, 0);
    is_name("", NULL, 0, 0, 0);
}

static void on_disk(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_transfer_record r = sample(), back;
    struct vel_err err = {0};
    struct vel_vec list;
    char dir[600], path[700];

    snprintf(dir, sizeof dir, "%s", tap_path("veloc"));
    tap_fresh_dir(dir);
    ok(vel_transfer_list(fs, dir, &list, &err) == 0 && list.n == 0,
       "where nothing ever was there is nothing");
    vel_fs_names_fini(&list);
    ok(vel_transfer_record_save(fs, dir, &r, &err) == 0 &&
           vel_transfer_record_load(fs, dir, &r.id, &back, &err) == 0 &&
           is_same(&r, &back),
       "a record is found by what it is of");
    vel_transfer_record_fini(&back);
    snprintf(path, sizeof path, "%s/transfers/.left.h5v-tmp", dir);
    tap_put_file(path, "half of one");
    ok(vel_transfer_list(fs, dir, &list, &err) == 0 && list.n == 1 &&
           access(path, F_OK) < 0,
       "what a crash has left is removed when they are listed");
    vel_fs_names_fini(&list);
    r.id.rank = 4;
    is_int(vel_transfer_record_load(fs, dir, &r.id, &back, &err), VEL_ENOENT,
           "another one is not there");
    r.id.rank = 3;
    ok(vel_transfer_record_remove(fs, dir, &r.id, &err) == 0 &&
           vel_transfer_record_load(fs, dir, &r.id, &back, &err) == VEL_ENOENT &&
           vel_transfer_record_remove(fs, dir, &r.id, &err) == 0,
       "once removed it is gone");
    vel_transfer_record_fini(&r);
}

int main(void)
{
    as_bytes();
    names();
    on_disk();
    return done_testing();
}
