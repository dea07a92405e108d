/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a digest: of launches that are there, and marked, entries whose lines
 * are whole, or nothing; blocks of ids that there can be, one from each id on. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "meta/digest.h"
#include "meta/ids.h"
#include "meta/launch.h"

static struct vel_index_launch *add(struct vel_index *index, const char *name,
                                    bool is_past)
{
    struct vel_index_launch *launch;

    if (vel_index_get_launch(index, &index->halves[0], name, &launch, NULL) < 0)
        abort();
    launch->is_past = is_past;
    return launch;
}

static void look_at_launch(const struct vel_index_launch *launch)
{
    if (launch->told == 0 && (launch->spots.n > 0 || launch->kept > 0 ||
                              launch->gone.of.n > 0 || launch->is_done))
        abort();
    for (size_t i = 0; i < launch->spots.n; i++) {
        const struct vel_index_spot *spot = vel_vec_at(&launch->spots, i);
        struct vel_said said;

        if (!spot->is_kept ||
            strlen(*(char **)vel_vec_at(&launch->lines, spot->at)) != spot->len)
            abort();
        if (vel_index_load_spot(launch, spot, &said, NULL) == 0)
            vel_said_fini(&said);
    }
}

static void look_at_blocks(const struct vel_vec *blocks)
{
    int64_t before = 0;

    for (size_t i = 0; i < blocks->n; i++) {
        const struct vel_ids_block *block = vel_vec_at(blocks, i);

        if (block->first <= before || block->last < block->first ||
            block->last - block->first >= VEL_IDS_MOST ||
            !vel_launch_is_name(block->launch))
            abort();
        before = block->first;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct vel_index_launch *past, *other;
    struct vel_index *index;

    if (vel_index_open(vel_fs_posix(), "/nowhere", &index, NULL) < 0)
        return 0;
    past = add(index, "L1", true);
    other = add(index, "L2", false);
    vel_digest_take(&index->halves[0], (const char *)bytes, len);
    look_at_launch(past);
    look_at_launch(other);
    if (other->told > 0 || vel_map_count(index->halves[0].launches) != 2)
        abort();
    look_at_blocks(&index->halves[0].blocks);
    vel_index_close(index);
    return 0;
}
