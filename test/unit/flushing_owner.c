/* SPDX-License-Identifier: BSD-3-Clause */
/* What the owner of a flush decides: what it does that was frozen and thaws, and other
 * datasets of the same names. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "node/service_in.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

enum { LARGE = 100000 };

/* --- fences --- */

static void thawed(void)
{
    struct flushlab lab;
    struct vel_entry entry;
    struct flushlab_node node;
    struct vel_err err = {0};
    int64_t owner = 0;

    flushlab_init(&lab, "thawed", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    /* owner 1 is frozen here; 2 takes over before it has staged, and gives it up */
    flushlab_claim(&lab, 1, 2);
    flushlab_node(&lab, vel_fs_posix(), 1, 2, 0, &node);
    ok(vel_flushing_settle(&node.flushing, &(struct vel_flush_job){.id = 1, .owner = 2},
                           9, &entry, &err) == 0 &&
           entry.place == VEL_ON_CACHE && entry.owner == 2 && entry.replaced == 9,
       "what is not staged is taken back by the next owner");
    vel_entry_fini(&entry);
    is_int(flushlab_strays(&lab), 0, "with all that was copied");
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err), VEL_ESTATE,
           "who thaws then does not stage");
    ok(strstr(err.text, "owner 2") != NULL, "and is told why");
    flushlab_entry(&lab, 1, 1, FLUSHLAB_RANKS, VEL_ON_STAGED);
    ok(flushlab_place(&lab, 1, &owner) == VEL_ON_CACHE && owner == 2,
       "what it had written at that moment counts for nobody");
    is_int(flushlab_name(&lab, 1, 1, 0, &err), VEL_ESTATE, "nor does it rename");
    is_int(flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, NULL, &err), VEL_ESTATE,
           "nor copy");
    ok(flushlab_strays(&lab) == 0 && flushlab_shows_all(&lab, 1, 0),
       "and leaves nothing");
}

/* Owner 1 has looked, and is about to rename, when it freezes: the next one finishes.
 */
static void late_rename(void)
{
    struct flushlab lab;
    struct vel_entry entry;
    struct flushlab_node node;
    struct vel_err err = {0};
    char temp[700];

    flushlab_init(&lab, "late", LARGE);
    lab.has_same_names = true;
    flushlab_parts(&lab, 1);
    flushlab_parts(&lab, 2);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    ok(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) == 0,
       "an older one is staged");
    flushlab_begin(&lab, 2, 1);
    flushlab_copy_all(&lab, 2, 1);
    ok(flushlab_owner(&lab, 2, 1, vel_flushing_stage, &err) == 0,
       "a newer one of the same names, too");
    flushlab_claim(&lab, 1, 2);
    flushlab_node(&lab, vel_fs_posix(), 1, 2, 0, &node);
    ok(vel_flushing_settle(&node.flushing, &(struct vel_flush_job){.id = 1, .owner = 2},
                           2, &entry, &err) == 0 &&
           entry.place == VEL_ON_PREFIX && flushlab_shows_all(&lab, 1, 1) &&
           flushlab_current(&lab) == 1,
       "who comes next finishes what is staged");
    vel_entry_fini(&entry);
    for (int r = 0; r < FLUSHLAB_RANKS; r++)
        flushlab_name(&lab, 2, 1, r, &err);
    ok(flushlab_owner(&lab, 2, 1, vel_flushing_publish, &err) == 0 &&
           flushlab_shows_all(&lab, 2, 2) && flushlab_current(&lab) == 2,
       "then the newer one has the names");
    snprintf(temp, sizeof temp, "%s/out.0/.r0.0.h5v-1.1.tmp", lab.prefix);
    ok(rename(temp, flushlab_path(&lab, 1, 0, 0)) < 0 && flushlab_shows_all(&lab, 2, 2),
       "a rename of the frozen one that comes late finds nothing");
    indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err);
    is_int(entry.replaced, 2, "and the older one is known to be replaced");
    vel_entry_fini(&entry);
    is_int(flushlab_current(&lab), 2, "the current one stays the newest");
}

/* What happens while owner 1 is frozen between its look and its first rename. */
static int takeover(void *arg, const struct vel_flush_job *job, const char *temporary,
                    const struct vel_listed *file, char **ret_path, struct vel_err *err)
{
    struct flushlab *frozen = arg;
    struct flushlab_node node;
    struct vel_entry entry;

    (void)job, (void)temporary, (void)file, (void)ret_path;
    if (flushlab_place(frozen, 2, NULL) != VEL_ON_PREFIX) {
        flushlab_claim(frozen, 1, 2);
        flushlab_node(frozen, vel_fs_posix(), 1, 2, 0, &node);
        if (vel_flushing_settle(&node.flushing,
                                &(struct vel_flush_job){.id = 1, .owner = 2}, 0, &entry,
                                err) < 0)
            bail_out("%s", err->text);
        vel_entry_fini(&entry);
        if (!flushlab_flush(frozen, 2, 1))
            bail_out("the newer one is not flushed");
    }
    return VEL_ENOENT;
}

static bool want_all(void *arg, const struct vel_flush_job *job,
                     const struct vel_listed *file)
{
    (void)arg, (void)job, (void)file;
    return true;
}

static char *know_none(void *arg, const struct vel_flush_job *job,
                       const struct vel_listed *file)
{
    (void)arg, (void)job, (void)file;
    return NULL;
}

static const struct vel_flushing_names takeover_names = {
    .is_wanted = want_all, .publish = takeover, .recorded = know_none};

static void frozen(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};

    flushlab_init(&lab, "frozen", LARGE);
    lab.has_same_names = true;
    flushlab_parts(&lab, 1);
    flushlab_parts(&lab, 2);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err);
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.flushing.names = &takeover_names;
    node.flushing.arg = &lab;
    ok(vel_flushing_name(&node.flushing, &node.job, &err) < 0,
       "an owner that thaws at its first rename is told that it is late: %s", err.text);
    ok(flushlab_shows_all(&lab, 1, 2) && flushlab_current(&lab) == 2,
       "and the newer dataset keeps the names");
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_publish, &err), VEL_ESTATE,
           "nor does it publish");
}

static void dropped(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char path[700];

    flushlab_init(&lab, "dropped", 100);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    snprintf(path, sizeof path, "%s/dataset.1", lab.dir);
    vel_fs_remove_tree(vel_fs_posix(), path, NULL);
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err), VEL_ENOENT,
           "an owner whose dataset was removed stops");
}

/* --- others of the same names --- */

static void rivals(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_entry entry = {0};
    struct vel_vec found;
    struct vel_flush_rival *r;
    struct vel_err err = {0};

    flushlab_init(&lab, "rivals", 100);
    lab.has_same_names = true;
    for (int64_t id = 1; id <= 6; id++)
        flushlab_parts(&lab, id);
    flushlab_flush(&lab, 1, 1); /* on the prefix, older */
    flushlab_begin(&lab, 2, 1);
    flushlab_copy_all(&lab, 2, 1); /* flushing, older */
    flushlab_begin(&lab, 3, 1);
    flushlab_copy_all(&lab, 3, 1);
    flushlab_owner(&lab, 3, 1, vel_flushing_stage, &err); /* staged, older */
    flushlab_begin(&lab, 4, 1);
    flushlab_copy_all(&lab, 4, 1);
    flushlab_owner(&lab, 4, 1, vel_flushing_stage, &err); /* the one that asks */
    flushlab_begin(&lab, 5, 1);
    flushlab_copy_all(&lab, 5, 1); /* flushing, newer: will see 4 */
    flushlab_begin(&lab, 6, 3);
    flushlab_copy_all(&lab, 6, 3);
    flushlab_owner(&lab, 6, 3, vel_flushing_stage, &err); /* staged, newer */
    lab.has_same_names = false;
    flushlab_parts(&lab, 7);
    flushlab_begin(&lab, 7, 1);
    flushlab_copy_all(&lab, 7, 1);
    flushlab_owner(&lab, 7, 1, vel_flushing_stage, &err); /* of other names */
    flushlab_node(&lab, vel_fs_posix(), 4, 1, 0, &node);
    indexlab_load(vel_fs_posix(), lab.dir, 4, &entry, &err);
    is_int(vel_flushing_rivals(&node.flushing, &entry, &found, &err), 0,
           "others of the same names are found");
    r = found.items;
    ok(found.n == 3 && r[0].id == 2 && r[0].place == VEL_ON_FLUSHING && r[1].id == 3 &&
           r[1].place == VEL_ON_STAGED && r[2].id == 6 && r[2].owner == 3,
       "older ones on their way, and newer ones that will have the names");
    vel_vec_fini(&found);
    vel_entry_fini(&entry);
}

int main(void)
{
    thawed();
    late_rename();
    frozen();
    dropped();
    rivals();
    return done_testing();
}
