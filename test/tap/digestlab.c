/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/ids.h"
#include "meta/launch.h"
#include "tap/digestlab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

struct digestlab digestlab;

static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static void count(const char *path)
{
    const char *below = strstr(path, digestlab.dir);

    if (below && (strncmp(below + strlen(digestlab.dir), "/launch.", 8) == 0 ||
                  strncmp(below + strlen(digestlab.dir), "/ids/", 5) == 0))
        digestlab.reads++;
}

static int count_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    count(path);
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

static int count_list(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    (void)fs;
    if (strcmp(path + strlen(path) - 5, "ids/.") != 0)
        count(path);
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);
}

const char *digestlab_launch(int64_t id)
{
    static char names[8][16];
    static int next;
    char *name = names[next++ % 8];

    snprintf(name, sizeof names[0], "L%d", (int)id % DIGESTLAB_LAUNCHES);
    return name;
}

void digestlab_save(int64_t id, enum vel_place_on_prefix place)
{
    static char heat[] = "heat";
    const struct vel_entry entry = {.dataset = {.id = id,
                                                .name = heat,
                                                .version = 30,
                                                .use = VEL_USE_CHECKPOINT,
                                                .ranks = 4,
                                                .nodes = 2,
                                                .files = 8,
                                                .bytes = 99},
                                    .owner = 1,
                                    .place = place,
                                    .lists = 2};

    must(indexlab_save(vel_fs_posix(), digestlab.dir, &entry, &err));
}

void digestlab_forget(int64_t id)
{
    must(indexlab_remove(vel_fs_posix(), digestlab.dir, id, &err));
}

void digestlab_mark(const char *launch)
{
    char *path = vel_launch_past_path(digestlab.dir, launch);

    tap_put_file(path, "");
    free(path);
}

void digestlab_remove(const char *launch)
{
    char *past = vel_launch_past_path(digestlab.dir, launch),
         *dir = vel_launch_dir(digestlab.dir, launch);

    must(vel_fs_remove_tree(vel_fs_posix(), dir, &err));
    must(vel_fs_unlink(vel_fs_posix(), past, &err));
    free(dir);
    free(past);
}

void digestlab_give(int64_t first, const char *launch)
{
    const struct vel_id_owner owner = {.launch = launch};
    char path[600];

    snprintf(path, sizeof path, "%s/ids/%" PRId64, digestlab.dir, first);
    must(vel_fs_remove_tree(vel_fs_posix(), path, &err));
    must(vel_ids_claim_late(vel_fs_posix(), digestlab.dir, first, &owner, &err));
}

void digestlab_make(void)
{
    digestlab.ops = *vel_fs_posix()->ops;
    digestlab.ops.open = count_open;
    digestlab.ops.list = count_list;
    digestlab.fs.ops = &digestlab.ops;
    snprintf(digestlab.dir, sizeof digestlab.dir, "%s", tap_path("veloc"));
    snprintf(digestlab.digest, sizeof digestlab.digest, "%s/digest.%ld", digestlab.dir,
             (long)geteuid());
    tap_fresh_dir(digestlab.dir);
    for (int64_t id = 1; id <= 2 * DIGESTLAB_LAUNCHES; id++) {
        const struct vel_id_owner owner = {.launch = digestlab_launch(id)};

        must(vel_ids_claim_late(vel_fs_posix(), digestlab.dir, id, &owner, &err));
        digestlab_save(id, VEL_ON_PREFIX);
    }
    for (int i = 0; i < DIGESTLAB_LAUNCHES; i++)
        digestlab_mark(digestlab_launch(i));
}

struct vel_index *digestlab_begin(void)
{
    struct vel_index *index;

    must(vel_index_open(&digestlab.fs, digestlab.dir, &index, &err));
    digestlab.reads = 0;
    return index;
}

static size_t tell_blocks(struct vel_index *index, char *ret, size_t room)
{
    struct vel_vec blocks;
    size_t len = 0;

    must(vel_index_blocks(index, &blocks, &err));
    for (size_t i = 0; i < blocks.n; i++) {
        const struct vel_ids_block *b = vel_vec_at(&blocks, i);

        if (!b->launch || b->last != b->first ||
            strcmp(b->launch, digestlab_launch(b->first)) != 0)
            len += (size_t)snprintf(ret + len, room - len, "%d=%s ", (int)b->first,
                                    b->launch ? b->launch : "");
    }
    vel_ids_list_fini(&blocks);
    return len;
}

const char *digestlab_tell(struct vel_index *index)
{
    static char text[2][1024];
    static int next;
    char *ret = text[next++ % 2];
    struct vel_vec entries;
    size_t len = 0;

    ret[0] = '\0';
    must(vel_index_load(index, NULL, &entries, &err));
    for (size_t i = 0; i < entries.n; i++) {
        const struct vel_entry *e = vel_vec_at(&entries, i);

        len +=
            (size_t)snprintf(ret + len, sizeof text[0] - len, "%d%s ",
                             (int)e->dataset.id, e->place == VEL_ON_PREFIX ? "" : "?");
    }
    vel_index_fini(&entries);
    tell_blocks(index, ret + len, sizeof text[0] - len);
    return ret;
}

const char *digestlab_hear(bool keeps)
{
    struct vel_index *index = digestlab_begin();
    const char *told = digestlab_tell(index);
    int first = digestlab.reads;

    if (keeps)
        vel_index_digest(index);
    vel_index_close(index);
    digestlab.reads = first;
    return told;
}
