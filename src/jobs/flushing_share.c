/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node's share of a flush consists of: files and their names on the prefix, the
 * list of them there, the note of how far they are, and what others left of them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/flushing_in.h"
#include "meta/paths.h"
#include "jobs/part_files.h"
#include "xfer/container.h"
#include "xfer/stands.h"
#include "xfer/temp.h"

static void forget_targets(struct vel_share *s)
{
    for (size_t i = 0; s->targets && i < s->files.n; i++)
        vel_flush_target_fini(&s->targets[i]);
    free(s->targets);
    s->targets = NULL;
}

void vel_share_fini(struct vel_share *s)
{
    forget_targets(s);
    vel_flush_files_fini(&s->files);
    vel_delta_close(s->delta);
    vel_copying_fini(&s->note);
    vel_buf_fini(&s->saved);
}

struct vel_flush_file *vel_share_file(const struct vel_share *s, size_t i)
{
    return vel_vec_at(&s->files, i);
}

int vel_share_target(const struct vel_share *s, int64_t owner, size_t i,
                     struct vel_flush_target *ret, struct vel_err *err)
{
    return vel_flush_target(&s->crew, s->job->id, owner, &vel_share_file(s, i)->listed,
                            ret, err);
}

int64_t vel_share_whose(const struct vel_share *s)
{
    return s->job->staged ? s->job->staged->owner : s->job->owner;
}

int vel_share_find_targets(struct vel_share *s)
{
    int last = -1, rc = 0;

    forget_targets(s);
    s->targets = calloc(s->files.n + 1, sizeof *s->targets);
    if (!s->targets)
        return vel_out_of_memory(s->err, "flushing");
    for (size_t i = s->files.n; rc == 0 && i-- > 0;)
        if (!vel_share_file(s, i)->listed.is_through &&
            vel_container_ends(&vel_share_file(s, i)->listed, &last))
            rc = vel_share_target(s, vel_share_whose(s), i, &s->targets[i], s->err);
    return rc;
}

int vel_share_init(struct vel_share *s, const struct vel_flushing *flushing,
                   const struct vel_flush_job *job, struct vel_err *err)
{
    *s = (struct vel_share){.flushing = flushing,
                            .job = job,
                            .err = err,
                            .crew = {.fs = flushing->fs,
                                     .clock = flushing->clock,
                                     .prefix = flushing->prefix,
                                     .dir = flushing->dir,
                                     .index = flushing->index,
                                     .copy = flushing->copy,
                                     .checks_crc = flushing->checks_crc}};
    s->crew.transport = job->transport ? job->transport : flushing->transport;
    s->crew.copy.throttle = job->throttle;
    s->crew.copy.device = job->device;
    s->crew.copy.watch = job->watch;
    vel_vec_init(&s->files, sizeof(struct vel_flush_file));
    vel_copying_init(&s->note);
    vel_buf_init(&s->saved);
    s->note.id = job->id;
    return 0;
}

/* The files of all parts, by rank. */
static int find_files(struct vel_share *s)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->job->n; i++)
        rc = vel_part_files(s->crew.fs, s->crew.prefix, s->job->parts[i].dir,
                            s->job->parts[i].rank, &s->files, s->err);
    return rc;
}

int vel_share_find(struct vel_share *s)
{
    int rc = find_files(s);

    if (rc == 0)
        rc = vel_stands_sum_up(&s->crew, &s->files, s->err);
    for (size_t i = 0; rc == 0 && i < s->files.n; i++)
        if (vel_share_file(s, i)->listed.is_through)
            rc = vel_stands_check(&s->crew, vel_share_file(s, i)->from,
                                  &vel_share_file(s, i)->listed, s->err);
    return rc < 0 ? rc : vel_share_find_targets(s);
}

int vel_share_guess(struct vel_share *s)
{
    int rc = find_files(s);

    if (rc == 0 && s->job->container_size > 0)
        rc = vel_container_plan(&s->files, s->job->container_size, s->job->list,
                                s->job->lists, s->err);
    return rc == 0 ? vel_share_find_targets(s) : rc;
}

/* The files that are listed: what is renamed, or removed. */
int vel_share_list(struct vel_share *s)
{
    struct vel_vec listed;
    struct vel_listed *l;
    int rc = vel_index_files(s->crew.index, s->job->id, s->job->list, &listed, s->err);

    if (rc < 0)
        return rc;
    l = listed.items;
    for (size_t i = 0; rc == 0 && i < listed.n; i++) {
        struct vel_flush_file file = {.listed = l[i]};

        if (!vel_vec_push(&s->files, &file))
            rc = vel_out_of_memory(s->err, "flushing");
        else
            l[i].name = NULL; /* the other list's now */
    }
    vel_filelist_fini(&listed);
    return rc < 0 ? rc : vel_share_find_targets(s);
}

bool vel_share_find_source(struct vel_share *s, size_t i)
{
    struct vel_flush_file *file = vel_share_file(s, i);

    for (size_t p = 0; !file->from && p < s->job->n; p++)
        if (s->job->parts[p].rank == file->listed.rank)
            file->from = vel_path_join(s->job->parts[p].dir, file->listed.name);
    return file->from != NULL;
}

static int list_files(const struct vel_share *s, struct vel_vec *ret)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++)
        if (!vel_vec_push(ret, &vel_share_file(s, i)->listed))
            rc = vel_out_of_memory(s->err, "flushing");
    return rc;
}

static bool is_saved(const struct vel_share *s, const struct vel_buf *text, bool lasts)
{
    return text->len == s->saved.len && (s->has_lasting || !lasts) &&
           memcmp(text->data, s->saved.data, text->len) == 0;
}

int vel_share_save(struct vel_share *s, bool must_last)
{
    bool lasts = false;
    struct vel_vec listed;
    struct vel_buf text;
    int rc;

    vel_vec_init(&listed, sizeof(struct vel_listed));
    vel_buf_init(&text);
    rc = list_files(s, &listed);
    if (rc == 0)
        rc = vel_filelist_encode(&listed, &text, s->err);
    lasts = must_last || !vel_filelist_is_short(text.len, s->job->lists);
    if (rc == 0 && !is_saved(s, &text, lasts)) {
        rc = vel_filelist_save(s->crew.fs, s->crew.dir, s->job->id, s->job->list,
                               &listed, lasts, s->err);
        vel_buf_fini(&s->saved);
        s->has_lasting = lasts;
        if (rc == 0) {
            s->saved = text;
            vel_buf_init(&text);
        }
    }
    vel_buf_fini(&text);
    vel_vec_fini(&listed); /* borrowed names */
    return rc;
}

/* --- what owners before us have left --- */

static int remove_names(struct vel_share *s, size_t i, int64_t first, int64_t last)
{
    return s->targets[i].temporary
               ? vel_flush_remove_temporaries(&s->crew, s->job->id,
                                              &vel_share_file(s, i)->listed, first,
                                              last, s->err)
               : 0;
}

int vel_share_remove_file(struct vel_share *s, size_t i)
{
    return remove_names(s, i, 1, s->job->owner);
}

int vel_share_remove_of(struct vel_share *s, int64_t owner)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++)
        rc = remove_names(s, i, owner, owner);
    return rc;
}

/* Containers of theirs, of any number: those follow from how many nodes there were, and
 * from CONTAINER_SIZE. Nobody goes on with one, so who else had made it is the same. */
static int remove_containers(struct vel_share *s)
{
    char *dir = vel_dataset_dir(s->crew.dir, s->job->id);
    struct vel_vec names;
    uint64_t id, owner;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = dir ? vel_fs_list(s->crew.fs, dir, &names, s->err)
             : vel_out_of_memory(s->err, "flushing");
    if (rc == VEL_ENOENT) /* nor any of ours yet */
        rc = 0;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path;

        if (!vel_xfer_temp_parse_owned(name, &id, &owner) ||
            owner >= (uint64_t)s->job->owner || owner == (uint64_t)vel_share_whose(s))
            continue;
        path = vel_path_join(dir, name);
        rc = path ? vel_fs_unlink(s->crew.fs, path, s->err)
                  : vel_out_of_memory(s->err, "flushing");
        free(path);
    }
    vel_fs_names_fini(&names);
    free(dir);
    return rc;
}

int vel_share_remove_past(struct vel_share *s)
{
    int64_t whose = vel_share_whose(s);
    bool has_past = false;
    int rc = 0;

    for (int64_t k = 1; rc == 0 && k < s->job->owner; k++)
        if (k != whose) {
            rc = vel_share_remove_of(s, k);
            has_past = true;
        }
    return rc == 0 && has_past ? remove_containers(s) : rc;
}

int vel_share_note(struct vel_share *s, size_t i, uint64_t offset, uint32_t crc)
{
    const struct vel_listed *listed = &vel_share_file(s, i)->listed;
    bool is_moved = s->note.transfer.len > 0;
    int rc = vel_flushing_check_owner(s->flushing, s->job->id, s->job->owner, s->err);

    if (rc < 0)
        return rc;
    free(s->note.name);
    s->note.name = strdup(listed->name);
    if (!s->note.name)
        return vel_out_of_memory(s->err, "flushing");
    s->note.owner = s->job->owner;
    s->note.files = (int64_t)s->files.n;
    s->note.rank = listed->rank;
    s->note.offset = offset;
    s->note.crc = crc;
    s->since = 0;
    rc = vel_copying_say(s->job->ledger, &s->note, is_moved, is_moved ? s->err : NULL);
    return is_moved || rc == VEL_ECANCEL ? rc : 0; /* what was said before holds */
}

int vel_share_noted(struct vel_share *s, struct vel_copying *ret)
{
    return vel_copying_find(s->job->ledger, s->job->id, s->job->owner > 1, ret, s->err);
}

int vel_share_forget(struct vel_share *s)
{
    const struct vel_copying nothing = {.id = s->job->id, .owner = s->job->owner};
    struct vel_copying old;
    int rc = vel_share_noted(s, &old);

    if (rc == 0 && old.name)
        rc = vel_copying_say(s->job->ledger, &nothing, true, s->err);
    vel_copying_fini(&old);
    return rc;
}
