/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies in the caches of encodelab's nodes: made, counted, compared. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc.h"
#include "base/path.h"
#include "comm/comm.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/encodelab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("encodelab: %s", err->text);
}

static void protect(const struct encodelab *lab, const struct encodelab_set *s,
                    size_t place, const char *dir, const struct vel_vec *names)
{
    uint8_t id[VEL_ENCODING_ID] = "commit";
    struct vel_comm *alone = NULL;
    struct vel_err err = {0};
    uint32_t ranks = 0;

    id[15] = (uint8_t)s->dataset;
    for (size_t k = 0; k < lab->n_sets; k++)
        ranks += lab->sets[k].dataset == s->dataset ? (uint32_t)lab->sets[k].n : 0;
    must(vel_comm_self(&alone, &err), &err);
    const struct vel_red_set set = {.comm = alone,
                                    .scheme = VEL_SINGLE,
                                    .set = s->rank[place],
                                    .sets = ranks,
                                    .rank = s->rank[place],
                                    .fs = redlab_fs(),
                                    .dir = dir,
                                    .label = ENCODELAB_LABEL,
                                    .id = id};
    must(vel_red_apply(&set, names->items, names->n, "map", 3, NULL, &err), &err);
    vel_comm_destroy(alone);
}

static void commit_part(const struct encodelab *lab, const struct encodelab_set *s,
                        size_t place)
{
    char root[1100], *dir = encodelab_dir(lab, s->dataset, s->rank[place]);
    struct vel_err err = {0};
    struct vel_vec names;

    snprintf(root, sizeof root, "%s/d%d", lab->root, (int)s->dataset);
    must(vel_fs_remove_tree(redlab_fs(), dir, &err), &err);
    if (!s->is_empty[place]) {
        redlab_make(root, s->rank[place], lab->seed + (uint64_t)s->dataset, lab->most,
                    &names);
        protect(lab, s, place, dir, &names);
        vel_fs_names_fini(&names);
    }
    free(dir);
}

void encodelab_commit(const struct encodelab *lab)
{
    for (size_t s = 0; s < lab->n_sets; s++)
        for (size_t i = 0; i < lab->sets[s].n; i++)
            commit_part(lab, &lab->sets[s], i);
}

void encodelab_commit_again(const struct encodelab *lab,
                            const struct encodelab_set *set, size_t place)
{
    char *dir = encodelab_dir(lab, set->dataset, set->rank[place]);
    struct vel_err err = {0};
    struct vel_vec found, names;

    vel_vec_init(&names, sizeof(char *));
    must(vel_redfile_scan_all(redlab_fs(), dir, &found, &err), &err);
    for (size_t i = 0; i < found.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&found, i);
        const struct vel_manifest *list = &redfile->header.list[0];

        for (size_t k = 0; i == 0 && k < list->files.n; k++) {
            char *name = strdup(vel_manifest_file(list, k)->name);

            if (!name || !vel_vec_push(&names, &name))
                bail_out("no memory");
        }
        must(vel_fs_unlink(redlab_fs(), redfile->path, &err), &err);
    }
    protect(lab, set, place, dir, &names);
    vel_fs_names_fini(&names);
    vel_redfiles_fini(&found);
    free(dir);
}

struct sum {
    const char *dir;
    bool is_all;
    uint64_t value;
};

static int add_to_sum(void *arg, enum vel_fs_visit what, const char *below,
                      const struct stat *st, struct vel_err *err)
{
    struct sum *sum = arg;
    bool ours = vel_red_is_file_name(below);
    struct vel_buf bytes;

    /* what a crash has left unfinished is nobody's */
    if (what != VEL_FS_FILE || (ours && !sum->is_all) || strstr(below, ".h5vtmp"))
        return 0;
    char *path = vel_path_join(sum->dir, below);
    vel_buf_init(&bytes);
    int rc = vel_fs_read_file(redlab_fs(), path, 1 << 30, &bytes, err);
    uint64_t meta[4] = {st->st_mode, ours ? 0 : (uint64_t)st->st_mtim.tv_sec,
                        ours ? 0 : (uint64_t)st->st_mtim.tv_nsec, bytes.len};
    uint32_t crc = vel_crc32c(0, vel_buf_text(&bytes), bytes.len);
    crc = vel_crc32c(crc, meta, sizeof meta);
    crc = vel_crc32c(crc, below, strlen(below));
    sum->value = sum->value * 1099511628211u + crc + 1;
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

static uint64_t state(const struct encodelab *lab, bool is_all)
{
    uint64_t value = 0;

    for (size_t s = 0; s < lab->n_sets; s++)
        for (size_t i = 0; i < lab->sets[s].n; i++) {
            char *dir = encodelab_dir(lab, lab->sets[s].dataset, lab->sets[s].rank[i]);
            struct sum sum = {.dir = dir, .is_all = is_all};
            struct vel_err err = {0};

            if (vel_fs_exists(redlab_fs(), dir))
                must(vel_fs_walk(redlab_fs(), dir, add_to_sum, &sum, &err), &err);
            value = value * 31 + sum.value;
            free(dir);
        }
    return value;
}

uint64_t encodelab_files(const struct encodelab *lab)
{
    return state(lab, false);
}

uint64_t encodelab_all(const struct encodelab *lab)
{
    return state(lab, true);
}

size_t encodelab_count(const struct encodelab *lab, const uint8_t *id, bool is_other)
{
    size_t n = 0;

    for (size_t s = 0; s < lab->n_sets; s++)
        for (size_t i = 0; i < lab->sets[s].n; i++) {
            char *dir = encodelab_dir(lab, lab->sets[s].dataset, lab->sets[s].rank[i]);
            struct vel_vec found;
            struct vel_err err = {0};

            must(vel_redfile_scan_all(redlab_fs(), dir, &found, &err), &err);
            for (size_t k = 0; k < found.n; k++)
                n += (memcmp(vel_redfile_at(&found, k)->header.id, id,
                             VEL_ENCODING_ID) != 0) == is_other;
            vel_redfiles_fini(&found);
            free(dir);
        }
    return n;
}
