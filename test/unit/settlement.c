/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/settlement.h"
#include "record/record.h"
#include "tap/tap.h"

/* Two sets of two on two nodes. */
static struct vel_seat seats[] = {{0, 0, 0}, {0, 1, 0}, {1, 0, 1}, {1, 1, 1}};
static char first[] = "n0", second[] = "n1", name[] = "ck";
static char *nodes[] = {first, second};

static struct vel_settlement made(void)
{
    return (struct vel_settlement){.dataset = {.id = 7,
                                               .name = name,
                                               .version = 3,
                                               .use = 1,
                                               .ranks = 4,
                                               .nodes = 2,
                                               .files = 4,
                                               .bytes = 99,
                                               .checkpoint = 7},
                                   .level = 1,
                                   .scheme = VEL_XOR,
                                   .m = 1,
                                   .is_encoded = true,
                                   .nodes = nodes,
                                   .n_nodes = 2,
                                   .seats = seats};
}

static int encode(const struct vel_settlement *s, struct vel_buf *ret)
{
    vel_buf_init(ret);
    return vel_settlement_encode(s, ret, NULL);
}

static void comes_back(void)
{
    struct vel_settlement s = made(), got = {0};
    struct vel_buf bytes;
    struct vel_err err = {0};

    is_int(encode(&s, &bytes), 0, "a settlement becomes bytes");
    is_int(vel_settlement_decode(bytes.data, bytes.len, &got, &err), 0,
           "and comes back");
    ok(got.dataset.id == 7 && got.level == 1 && got.scheme == VEL_XOR && got.m == 1 &&
           got.is_encoded && !got.is_flushed,
       "with its level");
    ok(got.n_nodes == 2 && strcmp(got.nodes[1], "n1") == 0 && got.sets == 2 &&
           memcmp(got.seats, seats, sizeof seats) == 0,
       "and every seat");
    vel_settlement_fini(&got);
    for (size_t i = 0; i < bytes.len; i++) {
        int rc = vel_settlement_decode(bytes.data, i, &got, NULL);

        if (rc == 0)
            bail_out("%zu bytes of %zu are taken for all", i, bytes.len);
    }
    ok(true, "cut short anywhere it is refused");
    vel_buf_fini(&bytes);
}

static void refused(struct vel_seat seat, const char *words, const char *what)
{
    struct vel_settlement s = made(), got = {0};
    struct vel_seat bad[4];
    struct vel_buf bytes;
    struct vel_err err = {0};

    memcpy(bad, seats, sizeof bad);
    bad[3] = seat;
    s.seats = bad;
    if (encode(&s, &bytes) < 0)
        bail_out("it does not become bytes");
    ok(vel_settlement_decode(bytes.data, bytes.len, &got, &err) == VEL_ECORRUPT &&
           strstr(err.text, words),
       "%s is refused: %s", what, err.text);
    vel_buf_fini(&bytes);
}

/* What is said to be more than it is takes no memory. */
static void ranks_without_seats(void)
{
    struct vel_settlement s = made(), got = {0};
    struct vel_buf bytes, changed;
    struct vel_err err = {0};
    struct vel_node *body = NULL, *dataset;
    int version;

    encode(&s, &bytes);
    vel_buf_init(&changed);
    if (vel_record_decode(bytes.data, bytes.len, "settlement", 1, &version, &body,
                          NULL) < 0)
        bail_out("it is no record");
    s.dataset.ranks = VEL_RANKS_MAX;
    dataset = vel_dataset_to_node(&s.dataset);
    vel_node_adopt(body, "dataset", dataset);
    vel_record_encode("settlement", 1, body, &changed, NULL);
    ok(vel_settlement_decode(changed.data, changed.len, &got, &err) == VEL_ECORRUPT &&
           strstr(err.text, "4 of 1073741824 ranks"),
       "more ranks than seats are refused: %s", err.text);
    vel_node_destroy(body);
    vel_buf_fini(&changed);
    vel_buf_fini(&bytes);
}

int main(void)
{
    comes_back();
    refused((struct vel_seat){1, 1, 0}, "there twice", "a place that two have");
    refused((struct vel_seat){1, 1, 3}, "place 1 is missing", "a place of nobody");
    refused((struct vel_seat){1, 3, 0}, "set 2 is missing", "a set of nobody");
    refused((struct vel_seat){2, 1, 1}, "node", "a node without a name");
    ranks_without_seats();
    return done_testing();
}
