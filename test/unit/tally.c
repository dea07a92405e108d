/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has closed what of a key. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/tally.h"
#include "tap/tap.h"

static void hears(void)
{
    struct vel_tally tally;
    struct vel_vec ones;

    vel_tally_init(&tally);
    is_int(vel_tally_hear(&tally, "n1 0 3:0:2:17:1000 1:0:1:9:5\nn2 1 2:1:0:0:0\n"), 0,
           "lines of two nodes");
    is_int(vel_tally_files(&tally), 3, "three are closed");
    is_int(vel_tally_hear(&tally, "n2 0 2:0:1:3:4\n"), 0, "a newer word");
    is_int(vel_tally_files(&tally), 4, "counts instead of the former");
    vel_vec_init(&ones, sizeof(struct vel_tally_one));
    is_int(vel_tally_collect(&tally, &ones), 0, "they are put together");
    is_int((long long)ones.n, 3, "of three ranks");
    const struct vel_tally_one *one = vel_tally_find(&ones, 3);
    ok(one && strcmp(one->node, "n1") == 0 && one->rank.upto == 17 &&
           one->rank.bytes == 1000,
       "with their nodes");
    ok(vel_tally_has_closed(&ones, 3, 2) && !vel_tally_has_closed(&ones, 3, 3) &&
           !vel_tally_has_closed(&ones, 0, 0),
       "who has closed how many");
    ones.n = 0;
    is_int(vel_tally_hear(&tally, "n2 0 2:2:0:7:0\n"), 0, "one was given away");
    is_int(vel_tally_collect(&tally, &ones), 0, "they are put together again");
    ok(vel_tally_has_closed(&ones, 2, 1), "who has given one away has closed it");
    is_int(vel_tally_hear(&tally, "n2 0 2:0:1:3:4\n"), 0, "it has one again");
    vel_vec_fini(&ones);
    vel_tally_doubt(&tally, "n1");
    ok(!vel_tally_has(&tally, 3) && vel_tally_has(&tally, 2),
       "of a node that is away nothing is closed");
    is_int((long long)tally.nodes.n, 2, "each node is there once");
    vel_tally_fini(&tally);
}

static void is_refused(const char *line)
{
    struct vel_tally tally;

    vel_tally_init(&tally);
    is_int(vel_tally_hear(&tally, line), VEL_ECORRUPT, "'%.*s' is refused",
           (int)strcspn(line, "\n"), line);
    vel_tally_fini(&tally);
}

static void is_printed(void)
{
    struct vel_tally_rank rank = {.rank = 7, .files = 2, .upto = 5, .bytes = 11};
    struct vel_vec ranks;
    struct vel_buf line;

    vel_vec_init(&ranks, sizeof rank);
    vel_buf_init(&line);
    if (!vel_vec_push(&ranks, &rank))
        bail_out("no memory");
    vel_tally_print("node", 3, &ranks, &line);
    is_str(vel_buf_text(&line), "node 3 7:0:2:5:11\n", "a line");
    vel_buf_fini(&line);
    vel_vec_fini(&ranks);
}

int main(void)
{
    hears();
    is_printed();
    is_refused("n1\n");
    is_refused(" 0\n");
    is_refused("n1 0");
    is_refused("n1 x\n");
    is_refused("n1 0 1:0:1:1\n");
    is_refused("n1 0 1:0:1:1:1");
    is_refused("n1 0 2000000000:0:1:1:1\n");
    is_refused("n1 9999999999999999999\n");
    return done_testing();
}
