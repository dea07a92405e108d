/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/dataset.h"
#include "tap/tap.h"

static void names(void)
{
    char longest[VEL_DATASET_NAME_MAX + 2];

    memset(longest, 'x', sizeof longest);
    longest[VEL_DATASET_NAME_MAX + 1] = '\0';
    ok(!vel_dataset_is_name(longest), "256 bytes are no name");
    longest[VEL_DATASET_NAME_MAX] = '\0';
    ok(vel_dataset_is_name(longest), "255 are");
    ok(vel_dataset_is_name("heat dis %41"), "blanks and percents are");
    ok(vel_dataset_is_name("\xc3\xa9t\xe9"), "and bytes of any encoding");
    ok(!vel_dataset_is_name(""), "nothing is no name");
    ok(!vel_dataset_is_name(".x") && !vel_dataset_is_name(".."),
       "nor what begins with a dot");
    ok(!vel_dataset_is_name("a/b"), "nor what has a slash");
    ok(!vel_dataset_is_name("a\tb") && !vel_dataset_is_name("a\x7f"),
       "nor what has a control character");
}

static bool same(const struct vel_dataset *a, const struct vel_dataset *b)
{
    return a->id == b->id && strcmp(a->name, b->name) == 0 &&
           a->version == b->version && a->checkpoint == b->checkpoint &&
           a->use == b->use && a->ranks == b->ranks && a->nodes == b->nodes &&
           a->files == b->files && a->bytes == b->bytes && a->created == b->created &&
           a->is_leaders == b->is_leaders;
}

static void both_ways(const struct vel_dataset *d, const char *text)
{
    struct vel_dataset back = {0}, copy = {0};
    struct vel_node *node = vel_dataset_to_node(d);
    struct vel_err err = {0};

    is_int(vel_dataset_from_node(node, &back, &err), 0, "%s: comes back", text);
    ok(back.name && same(d, &back), "as it was");
    ok(vel_dataset_copy(d, &copy, &err) == 0 && same(d, &copy) && copy.name != d->name,
       "and a copy of it has a name of its own");
    vel_dataset_fini(&copy);
    vel_dataset_fini(&back);
    vel_node_destroy(node);
}

static void records(void)
{
    const struct vel_dataset most = {.id = INT64_MAX - 1,
                                     .name = (char[]){"\xff\"\\%"},
                                     .version = INT64_MAX,
                                     .checkpoint = INT64_MAX - 1,
                                     .use = VEL_USE_CHECKPOINT | VEL_USE_OUTPUT,
                                     .ranks = VEL_RANKS_MAX,
                                     .nodes = VEL_RANKS_MAX,
                                     .files = INT64_MAX,
                                     .bytes = INT64_MAX,
                                     .created = INT64_MIN,
                                     .is_leaders = true};
    const struct vel_dataset least = {.id = 1,
                                      .name = (char[]){"n"},
                                      .version = INT32_MIN,
                                      .use = VEL_USE_OUTPUT,
                                      .ranks = 1,
                                      .nodes = 1};

    both_ways(&most, "all at their most");
    both_ways(&least, "all at their least");
}

int main(void)
{
    names();
    records();
    return done_testing();
}
