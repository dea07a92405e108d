/* SPDX-License-Identifier: BSD-3-Clause */
/* What is sealed of a launch, as it is followed: while its chair writes, when others
 * add to it, and when much of it is left out. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/files.h"
#include "tap/launchlab.h"
#include "view/seals.h"

enum { RANKS = 200 };

static struct vel_fs *fs;
static char dir[300], launch_dir[320];
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static void fresh(const char *name)
{
    fs = vel_fs_posix();
    snprintf(dir, sizeof dir, "%s", tap_path(name));
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.L", dir);
    tap_fresh_dir(dir);
    tap_fresh_dir(launch_dir);
}

/* Of so many ranks, each on a node of its own; template "" for a dataset of the API. */
static struct vel_seal make(const char *template, int64_t id, int ranks)
{
    struct vel_seal seal;
    char node[32];

    vel_seal_init(&seal);
    seal.id = id;
    seal.verdict = VEL_VERDICT_SEALED;
    seal.template = strdup(template);
    seal.step = strdup("1");
    seal.generation = 1;
    for (int r = 0; r < ranks; r++) {
        struct vel_seal_member member = {
            .rank = r, .place = r, .scheme = VEL_XOR, .bytes = r * r};

        snprintf(node, sizeof node, "node-%d", r * 7 % ranks);
        member.node = node;
        must(vel_seal_add(&seal, &member, &err));
    }
    return seal;
}

static struct vel_ledger *chair(void)
{
    const struct vel_terms_self self = {.launch = "L", .node = "n0"};
    struct vel_ledger *term;
    bool is_first;

    must(vel_terms_claim(fs, launch_dir, 1, &self, &term, &is_first, &err));
    return term;
}

static void tell(struct vel_ledger *term, const char *template, int64_t id, int ranks)
{
    struct vel_seal seal = make(template, id, ranks);
    struct vel_buf line;

    vel_buf_init(&line);
    must(vel_seals_put(&seal, &line, &err));
    must(vel_ledger_tell(term, line.data, line.len, &err));
    vel_buf_fini(&line);
    vel_seal_fini(&seal);
}

static void add(const char *template, int64_t id, int ranks)
{
    struct vel_seal seal = make(template, id, ranks);

    tap_put_seal(launch_dir, &seal);
    vel_seal_fini(&seal);
}

/* How many, and how many ranks the one of `id` has; -1: it is none. */
static const char *has(struct vel_seals *seals, int64_t id)
{
    static char text[64];
    struct vel_seal seal;
    int ranks = -1;

    must(vel_seals_read(seals, &err));
    if (vel_seals_find_id(seals, id, &seal, &err) == 0) {
        ranks = (int)seal.members.n;
        vel_seal_fini(&seal);
    }
    snprintf(text, sizeof text, "%zu, %d", seals->items.n, ranks);
    return text;
}

static void followed(void)
{
    struct vel_seals *seals, *late;
    struct vel_ledger *term;

    fresh("followed");
    must(vel_seals_create(fs, dir, "L", &seals, &err));
    is_str(has(seals, 1), "0, -1", "a launch without a chair has sealed nothing");
    term = chair();
    tell(term, "a", 1, 2);
    is_str(has(seals, 1), "1, 2", "what its chair has sealed is found");
    tell(term, "b", 2, RANKS);
    tell(term, "", 3, 1);
    is_str(has(seals, 2), "3, 200", "and what it seals then, of however many ranks");
    is_str(has(seals, 3), "3, 1", "be it of the API");
    must(vel_seals_load(fs, dir, "L", &late, &err));
    is_str(has(late, 2), "3, 200", "who begins to read later finds the same");
    tell(term, "b", 4, 1);
    is_str(has(seals, 4), "3, -1", "of one key the first counts");
    tap_end_launch(launch_dir);
    add("c", 5, RANKS);
    is_str(has(seals, 5), "4, 200", "what another launch has sealed of it is found");
    is_str(has(seals, 2), "4, 200", "and so is what was there before");
    is_str(has(late, 1), "4, 2", "by all who read it");
    vel_ledger_close(term);
    vel_seals_destroy(late);
    vel_seals_destroy(seals);
}

/* Who follows a launch keeps only where a seal stands. */
static void removed(void)
{
    struct vel_seals *seals;
    struct vel_ledger *term;
    struct vel_seal seal;

    fresh("removed");
    term = chair();
    tell(term, "a", 1, RANKS);
    must(vel_seals_create(fs, dir, "L", &seals, &err));
    must(vel_seals_read(seals, &err));
    add("b", 2, 1);
    add("c", 3, 1); /* the first term is gone now */
    is_int(vel_seals_find_id(seals, 1, &seal, &err), VEL_EBUSY,
           "what has moved to a newer term is not taken for absent");
    is_str(has(seals, 1), "3, 200", "and is found there");
    vel_ledger_close(term);
    vel_seals_destroy(seals);
}

static void absent(void)
{
    struct vel_seals *seals;
    char path[360];

    fresh("absent");
    is_int(vel_seals_load(fs, dir, "M", &seals, &err), VEL_ENOENT,
           "of a launch without a directory nothing is known");
    snprintf(path, sizeof path, "%s/1.0", launch_dir);
    tap_put_file(path, "garbage\n");
    is_int(vel_seals_load(fs, dir, "L", &seals, &err), VEL_ECORRUPT,
           "nor of one whose ledger nobody can read: %s", err.text);
}

int main(void)
{
    followed();
    removed();
    absent();
    return done_testing();
}
