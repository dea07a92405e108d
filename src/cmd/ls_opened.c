/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are of no dataset yet: closed by some of those who write it, or open. They
 * have no checksums. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/ls.h"
#include "view/part_new.h"

static void look_at(const struct vel_ls *ls, const struct vel_new_file *file,
                    struct vel_ls_file *ret)
{
    struct stat st = {0};
    bool is_there = vel_fs_lstat(ls->fs, ret->path, &st, NULL) == 0;

    ret->size = (uint64_t)(file->order > 0 ? file->size : st.st_size);
    ret->health = file->order == 0           ? VEL_LS_OPEN
                  : !is_there                ? VEL_LS_MISSING
                  : st.st_size == file->size ? VEL_LS_THERE
                                             : VEL_LS_SHORT;
    if (ret->health == VEL_LS_MISSING)
        ret->why = vel_ls_copy("it is not there");
    else if (ret->health == VEL_LS_SHORT)
        ret->why = vel_ls_copy("it has not the size that it was closed with");
}

static void add_rank(struct vel_ls *ls, struct vel_ls_unit *unit,
                     const struct vel_ls_opened *opened,
                     const struct vel_new_rank *rank)
{
    for (size_t i = 0; i < rank->files.n; i++) {
        const struct vel_new_file *file = vel_vec_at(&rank->files, i);
        struct vel_ls_file *to = vel_ls_push(&unit->files, NULL);

        to->opened = opened;
        to->rank = (int)rank->rank;
        to->index = opened->index;
        to->node = opened->node;
        to->name = vel_ls_copy(file->name);
        if (vel_part_new_path(opened->dir, rank->rank, file->name, &to->path, NULL) ==
            0)
            look_at(ls, file, to);
        else
            to->health = VEL_LS_MISSING;
    }
}

/* A record that cannot be read tells no files. */
void vel_ls_opened_files(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->opened.n; i++) {
        const struct vel_ls_opened *opened = vel_vec_at(&unit->opened, i);
        struct vel_part_new part;

        if (vel_part_new_load(ls->fs, opened->dir, &part, NULL) < 0)
            continue;
        for (size_t k = 0; k < part.ranks.n; k++)
            add_rank(ls, unit, opened, vel_vec_at(&part.ranks, k));
        vel_part_new_fini(&part);
    }
}
