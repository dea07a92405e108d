/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule by which ranks become redundancy sets, in one process. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "base/scheme.h"
#include "tap/seeds.h"
#include "tap/splitlab.h"
#include "tap/tap.h"

/* A rank on each of n nodes, or as many as there are letters: "aab" is three ranks on
 * two nodes. */
struct layout {
    size_t n;
    char (*names)[28];
    const char **groups;
    struct vel_place *places;
};

static struct layout layout_alloc(size_t n)
{
    struct layout l = {n, calloc(n, sizeof *l.names), calloc(n, sizeof *l.groups),
                       calloc(n, sizeof *l.places)};

    if (!l.names || !l.groups || !l.places)
        bail_out("out of memory");
    for (size_t i = 0; i < n; i++)
        l.groups[i] = l.names[i];
    return l;
}

static struct layout layout_nodes(size_t n, size_t width)
{
    struct layout l = layout_alloc(n);

    for (size_t i = 0; i < n; i++)
        snprintf(l.names[i], sizeof l.names[i], "node%zu", i / width);
    return l;
}

static struct layout layout_letters(const char *letters)
{
    struct layout l = layout_alloc(strlen(letters));

    for (size_t i = 0; i < l.n; i++)
        l.names[i][0] = letters[i];
    return l;
}

static void layout_free(struct layout *l)
{
    free(l->names);
    free(l->groups);
    free(l->places);
}

static int split(struct layout *l, size_t least, size_t hop, size_t need,
                 struct vel_err *err)
{
    const struct vel_split_rule rule = {least, hop, need, "NODE"};

    return vel_split_all(l->groups, l->n, &rule, l->places, err);
}

/* The sets as text: "0.2 1.3" are the ranks of two sets in the order of their places;
 * '?' where nobody or more than one has a place. */
static const char *sets_text(const struct layout *l, char *text, size_t room)
{
    size_t at = 0, size = 1;
    uint32_t sets = l->places[0].sets;

    text[0] = '\0';
    for (uint32_t s = 0; s < sets; s++)
        for (size_t r = 0; r < size && at + 24 < room; r++) {
            size_t who = l->n, found = 0;
            for (size_t i = 0; i < l->n; i++)
                if (l->places[i].set == s && l->places[i].rank == r) {
                    who = i;
                    found++;
                }
            const char *before = r > 0 ? "." : s > 0 ? " " : "";
            if (found == 1)
                at += (size_t)snprintf(text + at, room - at, "%s%zu", before, who);
            else
                at += (size_t)snprintf(text + at, room - at, "%s?", before);
            size = found == 1 ? l->places[who].ranks : 0;
        }
    return text;
}

static void examples(void)
{
    static const struct {
        const char *letters;
        size_t least, hop;
        const char *sets;
        const char *promise;
    } cases[] = {
        {"abcdef", 3, 1, "0.1.2 3.4.5", "a set is of neighbours with hop 1"},
        {"abcdef", 3, 2, "0.2.4 1.3.5", "of every other node with hop 2"},
        {"abcdefg", 2, 3, "0.3.6 1.4 2.5", "of every third with hop 3, larger first"},
        {"abcdef", 3, 9, "0.2.4 1.3.5", "a hop beyond the sets is as long as can be"},
        {"abcdef", 6, 2, "0.2.4.1.3.5", "in one set the hop orders the ring"},
        {"abcdef", 6, 65536, "0.3.1.4.2.5", "as far as there are nodes"},
        {"abcdefghi", 3, 2, "0.2.4 6.8.1 3.5.7", "sets go on where others end"},
        {"aabbcc", 3, 1, "0.2.4 1.3.5", "ranks of a node are in different sets"},
        {"abcabc", 3, 1, "0.1.2 3.4.5", "wherever they are"},
        {"aaabcc", 3, 1, "0.3 1.4 2.5", "unequal nodes are dealt out in turn"},
        {"aabbbcccc", 3, 1, "0.4.8 1.5 2.6 3.7", "so that sizes differ by one"},
        {"zzaa", 2, 1, "0.2 1.3", "nodes are ordered by rank, not by name"},
    };
    char text[400];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct layout l = layout_letters(cases[i].letters);
        struct vel_err err = {0};
        if (ok(split(&l, cases[i].least, cases[i].hop, 2, &err) == 0, "%s %s",
               cases[i].letters, err.text))
            is_str(sets_text(&l, text, sizeof text), cases[i].sets, "%s",
                   cases[i].promise);
        layout_free(&l);
    }
}

/* Sizes of the sets of n ranks on nodes of their own, least 8, as text. */
static void sizes_are(size_t n, const char *want)
{
    struct layout l = layout_nodes(n, 1);
    char text[100] = "";
    size_t at = 0;

    if (split(&l, 8, 1, 2, NULL) == 0)
        for (uint32_t s = 0; s < l.places[0].sets; s++)
            for (size_t i = 0; i < n; i++)
                if (l.places[i].set == s && l.places[i].rank == 0)
                    at += (size_t)snprintf(text + at, sizeof text - at, "%s%u",
                                           at ? "," : "", l.places[i].ranks);
    is_str(text, want, "%zu nodes and SET_SIZE 8: sets of %s", n, want);
    layout_free(&l);
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* What holds for every split: a line that does not, or 0. The ranks of a node are in
 * sets that have their members from the same nodes. */
static int invariants(const char *const *groups, size_t n,
                      const struct vel_place *places)
{
    uint32_t sets = places[0].sets;
    size_t *counts = calloc(sets, sizeof *counts);
    int line = 0;

    for (size_t i = 0; line == 0 && i < n; i++) {
        if (places[i].sets != sets || places[i].set >= sets)
            line = __LINE__;
        else if (places[i].rank >= places[i].ranks || places[i].ranks > VEL_SET_MAX)
            line = __LINE__;
        else
            counts[places[i].set]++;
    }
    for (size_t i = 0; line == 0 && i < n; i++) {
        if (places[i].ranks != counts[places[i].set])
            line = __LINE__;
        for (size_t j = 0; line == 0 && j < i; j++)
            if (places[i].set == places[j].set && places[i].rank == places[j].rank)
                line = __LINE__;
            else if (strcmp(groups[i], groups[j]) == 0 &&
                     (places[i].set == places[j].set ||
                      apart(places[i].ranks, places[j].ranks) > 1))
                line = __LINE__;
    }
    free(counts);
    return line;
}

static void chance(struct tap_seeds seeds)
{
    struct vel_place places[120];
    int bad = 0, done = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        struct splitlab lab;
        splitlab_make(&lab, 1 + seed % 120, seed);
        const char *const *groups = (const char *const *)lab.groups;
        int rc = vel_split_all(groups, lab.n, &lab.rule, places, NULL);
        int line = rc == 0 ? invariants(groups, lab.n, places) : 0;
        if (line != 0)
            note("SEEDS=%" PRIu64 ": split.c:%d", seed, line);
        bad += line != 0;
        done += rc == 0;
        for (size_t i = 0; rc == 0 && i < lab.n; i++)
            bad += places[i].ranks < lab.rule.need;
        splitlab_free(&lab);
    }
    is_int(bad, 0,
           "every rank has one place, no set has two of a node, sizes differ by one");
    ok(seeds.first == seeds.last || done > 0, "%d of the layouts can be split", done);
}

/* With more than one set and hop 2 or more. */
static void neighbours(void)
{
    int bad = 0, near = 0;

    for (size_t n = 4; n <= 70; n++) {
        struct layout l = layout_nodes(n, 1);
        for (size_t least = 2; least <= n / 2 && least <= 16; least++)
            for (size_t hop = 2; hop <= 6; hop++) {
                if (split(&l, least, hop, 2, NULL) < 0)
                    bad++;
                size_t far = hop < l.places[0].sets ? hop : l.places[0].sets;
                for (size_t i = 1; i < n; i++)
                    bad += l.places[i].set == l.places[i - 1].set;
                for (size_t i = 0; i < n; i++)
                    for (size_t d = 1; d < far - 1 && i + d < n; d++)
                        near += l.places[i].set == l.places[i + d].set;
            }
        layout_free(&l);
    }
    is_int(bad, 0, "two neighbours never fall into one set when the hop is 2 or more");
    is_int(near, 0,
           "members are as far apart as the hop or the number of sets, less 1");
}

static void partners(void)
{
    int bad = 0;

    for (size_t n = 5; n <= 40; n++) {
        struct layout l = layout_nodes(n, 1);
        for (size_t hop = 2; hop <= 6; hop++) {
            bad += split(&l, n, hop, 2, NULL) < 0;
            for (size_t i = 1; i < n; i++) {
                uint32_t a = l.places[i - 1].rank, b = l.places[i].rank;
                bad += (a + 1) % n == b || (b + 1) % n == a;
            }
        }
        layout_free(&l);
    }
    is_int(bad, 0, "neighbours are no partners in a set of 5 nodes or more with a hop");
}

static void wide(void)
{
    struct layout l = layout_nodes(256, 1);

    ok(split(&l, 256, 1, 2, NULL) == 0 && l.places[0].sets == 1, "256 nodes: one set");
    layout_free(&l);
    l = layout_nodes(257 * 2, 2);
    ok(split(&l, 200, 3, 2, NULL) == 0 && l.places[0].sets == 4 &&
           l.places[0].ranks == 129 && l.places[2].ranks == 128 &&
           invariants(l.groups, l.n, l.places) == 0,
       "257 nodes are two sets for each rank of a node, though SET_SIZE would make "
       "one");
    layout_free(&l);
}

static void many(void)
{
    enum { N = 100000, WIDTH = 16 };
    struct layout l = layout_nodes(N, WIDTH);
    int bad = 0;

    is_int(split(&l, 8, 2, 2, NULL), 0, "100000 ranks are split");
    uint32_t sets = l.places[0].sets;
    size_t *counts = calloc(sets, sizeof *counts);
    for (size_t i = 0; i < N; i++)
        counts[l.places[i].set]++;
    for (size_t i = 0; i < N; i++)
        bad += counts[l.places[i].set] != l.places[i].ranks || l.places[i].ranks < 8 ||
               l.places[i].ranks > 9;
    is_int(bad, 0, "and every set is complete");
    is_int(sets, N / WIDTH / 8 * WIDTH, "as many sets as there are 8 nodes, per rank");
    free(counts);
    layout_free(&l);
}

static void refused(const char *letters, size_t least, size_t hop, size_t need,
                    const char *words, const char *promise)
{
    struct layout l = layout_letters(letters);
    struct vel_place untouched = {77, 77, 77, 77};
    struct vel_err err = {0};

    for (size_t i = 0; i < l.n; i++)
        l.places[i] = untouched;
    is_int(split(&l, least, hop, need, &err), VEL_EINVAL, "%s", promise);
    ok(strstr(err.text, words) != NULL, "and the sentence tells: %s", err.text);
    int touched = 0;
    for (size_t i = 0; i < l.n; i++)
        touched += memcmp(&l.places[i], &untouched, sizeof untouched) != 0;
    is_int(touched, 0, "and no place is given");
    layout_free(&l);
}

static void refusals(void)
{
    struct layout l = layout_letters("aa");
    struct vel_err err = {0};

    refused("aaa", 2, 1, 2,
            "over 1 of 1 failure groups (GROUP=NODE), 3 ranks with 3 in the largest "
            "group, would be of size 1, and the scheme needs 2: use more nodes",
            "one node cannot protect itself");
    refused("aaabbc", 3, 1, 3,
            "over 3 of 3 failure groups (GROUP=NODE), 6 ranks with 3 in the largest "
            "group, would be of size 2, and the scheme needs 3",
            "one crowded node can make sets too small");
    refused("ababcdcccd", 2, 1, 2,
            "over 2 of 4 failure groups (GROUP=NODE), 6 ranks with 4 in the largest",
            "so can one of many, and the sentence is about its neighbours");
    refused("ab", 0, 1, 1, "SET_SIZE is 0", "a set of nobody is no set");
    refused("ab", 2, 0, 1, "HOP_DISTANCE is 0", "nor is a hop of nothing a hop");
    refused("ab", 2, 1, 0, "needs is 0", "nor does a scheme need nobody");
    is_int(split(&l, 2, 1, 1, NULL), 0, "SINGLE needs nobody else");
    l.groups[1] = "";
    is_int(split(&l, 2, 1, 1, &err), VEL_EINVAL, "a group without name is refused");
    ok(strncmp(err.text, "rank 1: ", 8) == 0, "and its rank named: %s", err.text);
    is_int(
        vel_split_all(NULL, 0, &(struct vel_split_rule){2, 1, 1, "NODE"}, NULL, NULL),
        0, "nobody is split into nothing");
    layout_free(&l);
}

int main(void)
{
    examples();
    sizes_are(16, "8,8");
    sizes_are(17, "9,8");
    sizes_are(15, "15");
    sizes_are(7, "7");
    chance(tap_seeds(1500));
    neighbours();
    partners();
    wide();
    many();
    refusals();
    return done_testing();
}
