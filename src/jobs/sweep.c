/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/endpoint.h"
#include "ident/launchid.h"
#include "jobs/forget.h"
#include "jobs/stub.h"
#include "jobs/sweep_in.h"
#include "jobs/sweep_single.h"
#include "jobs/sweep_temps.h"
#include "jobs/writing.h"
#include "meta/cachename.h"
#include "meta/index.h"
#include "meta/filelist.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "meta/prefix.h"
#include "meta/terms.h"
#include "view/evidence.h"

enum { SHORT = 16384 }; /* bytes of a ledger */

/* What is being removed: .launch.L.h5v-tmp */

char *vel_sweep_path(const struct vel_sweeping *s, const char *before, const char *name,
                     const char *behind)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s%s%s", s->of->dir, before, name, behind);
    return vel_buf_take(&path, NULL);
}

bool vel_sweep_is_there(const struct vel_sweeping *s, const char *path)
{
    return path && vel_fs_exists(s->of->fs, path);
}

/* Surely: what cannot be known is there. */
bool vel_sweep_is_absent(const struct vel_sweeping *s, const char *path)
{
    struct stat st;

    return path && vel_fs_lstat(s->of->fs, path, &st, NULL) == VEL_ENOENT;
}

bool vel_sweep_is_over(const struct vel_sweeping *s, const char *launch)
{
    bool is_over = false;

    if (strcmp(launch, s->of->launch) != 0)
        vel_index_is_over(s->of->index, launch, &is_over, NULL);
    return is_over;
}

/* --- launches --- */

/* It vanishes as a whole: without its end it would be one that has just begun. */
static int remove_launch(struct vel_sweeping *s, const char *launch, const char *dir,
                         struct vel_err *err)
{
    char *gone = vel_sweep_path(s, ".launch.", launch, VEL_GONE);
    char *view = vel_view_path(s->of->dir, launch);
    char *past = vel_launch_past_path(s->of->dir, launch);
    int rc = gone && view && past ? vel_fs_rename(s->of->fs, dir, gone, err)
                                  : vel_out_of_memory(err, "launches");

    if (rc == 0)
        rc = vel_fs_unlink(s->of->fs, view, err);
    if (rc == 0)
        rc = vel_fs_unlink(s->of->fs, past, err);
    if (rc == 0) /* a client of NFS may have the directory open by its old name */
        vel_terms_remove(s->of->fs, gone);
    if (rc == 0)
        rc = vel_fs_remove_tree(s->of->fs, gone, err);
    s->ret.launches += rc == 0;
    free(past);
    free(view);
    free(gone);
    return rc;
}

static int mark_past(struct vel_sweeping *s, const char *launch, struct vel_err *err)
{
    char *past = vel_launch_past_path(s->of->dir, launch);
    int fd, rc = past ? vel_fs_open(s->of->fs, past, O_WRONLY | O_CREAT | O_NOFOLLOW,
                                    0600, &fd, err)
                      : vel_out_of_memory(err, "launches");

    if (rc == 0)
        rc = vel_fs_close(s->of->fs, fd, past, err);
    free(past);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* When this sweep began. */
static bool is_marked(const struct vel_sweeping *s, const char *launch)
{
    char *path = vel_launch_past_path(s->of->dir, launch), *name;
    bool is = false;

    if (path) {
        name = path + strlen(s->of->dir) + 1;
        vel_vec_place(&s->names, &name, by_name, &is);
    }
    free(path);
    return is;
}

/* Only the prefix has datasets of it: of all else that tells of it nothing but its
 * ledger is needed, and that is marked. */
static int trim_launch(struct vel_sweeping *s, const char *launch, const char *dir,
                       struct vel_err *err)
{
    char *view = vel_view_path(s->of->dir, launch);
    struct vel_vec names;
    int rc = 0;

    if (!view)
        rc = vel_out_of_memory(err, "launches");
    else if (!vel_sweep_is_absent(s, view))
        rc = vel_fs_unlink(s->of->fs, view, err);
    vel_vec_init(&names, sizeof(char *));
    if (rc == 0)
        rc = vel_fs_list(s->of->fs, dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = vel_terms_is_name(name) ? NULL : vel_path_join(dir, name);

        if (path)
            rc = vel_fs_remove_tree(s->of->fs, path, err);
        free(path);
    }
    if (rc == 0)
        rc = mark_past(s, launch, err);
    vel_fs_names_fini(&names);
    free(view);
    return rc;
}

/* Has a node of it not told this view what it holds, and not left in good order? It may
 * have files that nobody has sealed, and then only what the launch has recorded tells
 * whether they are whole. */
static bool is_unheard(const struct vel_sweeping *s, const char *dir)
{
    struct vel_vec nodes;
    bool is;

    vel_vec_init(&nodes, sizeof(struct vel_endpoint));
    is = vel_endpoint_list(s->of->fs, dir, &nodes, NULL) < 0;
    for (size_t i = 0; !is && i < nodes.n; i++) {
        const struct vel_endpoint *node = vel_vec_at(&nodes, i);

        is = !vel_view_has_node(s->of->view, node->node);
    }
    vel_endpoint_list_fini(&nodes);
    return is;
}

/* Of one that is marked nobody asks for seals, so they stay when it is short. */
static uint64_t most_of_seals(const struct vel_sweeping *s, const char *dir, bool stays)
{
    return !stays ? UINT64_MAX : is_unheard(s, dir) ? 0 : SHORT;
}

/* What cannot be done for one, with a ledger that nobody can read, or on a full disk,
 * is no reason to do nothing for the others. */
static int sweep_launch(struct vel_sweeping *s, const char *launch, struct vel_err *err)
{
    struct vel_err why = {0};
    char *dir = vel_launch_dir(s->of->dir, launch);
    bool has_ended = vel_sweep_is_over(s, launch),
         is_past = has_ended && is_marked(s, launch);

    if (dir && has_ended && !is_past)
        vel_writing_sweep(s->of->fs, dir);
    bool is_needed = true, has = true;
    int rc = has_ended && dir ? vel_index_has(s->of->index, launch, &has, &why) : 0;

    if (rc == 0 && is_past && !has) { /* a client of NFS hears late of a term */
        vel_index_look_anew(s->of->index, launch);
        rc = vel_index_has(s->of->index, launch, &has, &why);
    }
    if (rc == 0 && is_past)
        is_needed = false;
    else if (rc == 0 && has_ended && dir)
        rc = vel_sweep_seals(s, launch, most_of_seals(s, dir, has), &is_needed, &why);
    if (rc == 0 && !is_needed && has && !s->is_second &&
        !vel_vec_push(&s->trimmed, &launch))
        rc = vel_out_of_memory(&why, "launches");
    if (rc == 0 && !is_needed && !(has && (s->is_second || is_past)) &&
        (is_past || !is_unheard(s, dir)))
        rc = has ? trim_launch(s, launch, dir, &why)
                 : remove_launch(s, launch, dir, &why);
    if (rc < 0 && rc != VEL_ENOMEM)
        vel_log(VEL_LOG_DEBUG, "seals of launch %s stay for now: %s", launch, why.text);

    free(dir);
    return rc == VEL_ENOMEM ? vel_out_of_memory(err, "launches") : 0;
}

/* A view, or a mark, whose launch is gone, by who was interrupted. */
static int sweep_left(struct vel_sweeping *s, const char *name, const char *launch,
                      struct vel_err *err)
{
    char *dir = vel_launch_dir(s->of->dir, launch);
    char *path = vel_sweep_path(s, name, "", "");
    int rc = strcmp(launch, s->of->launch) != 0 && vel_sweep_is_absent(s, dir) && path
                 ? vel_fs_unlink(s->of->fs, path, err)
                 : 0;

    free(dir);
    free(path);
    return rc;
}

static bool is_gone_dir(const char *name)
{
    size_t len = strlen(name), tail = strlen(VEL_GONE);

    return strncmp(name, ".launch.", 8) == 0 && len > tail &&
           strcmp(name + len - tail, VEL_GONE) == 0;
}

/* --- stubs --- */

/* May its file come back? From where nobody looked, or since it is no checkpoint and
 * still on its way. */
static bool may_come(const struct vel_sweeping *s, int64_t id)
{
    const struct vel_view_lost *lost = vel_view_find_lost(s->of->view, id);

    return vel_vec_has_number(&s->away, id) || !lost ||
           lost->reason == VEL_VIEW_PARTIAL;
}

static void sweep_stub(struct vel_sweeping *s, const struct vel_view_name *name)
{
    char *path = NULL;
    struct vel_stub stub;
    struct vel_err why = {0};
    bool is_removed = false;
    int rc;

    if (name->id != 0 || may_come(s, name->lost))
        return;
    rc = vel_cachename_path(s->of->prefix, name->name, &path, &why);
    if (rc == 0 && vel_stub_read(s->of->fs, path, &stub, NULL) == 0 &&
        vel_sweep_is_over(s, stub.launch))
        rc = vel_stub_remove(s->of->fs, path, stub.launch, &is_removed, &why);
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "the placeholder of a file that is lost stays: %s",
                why.text);
    if (is_removed) {
        vel_log(VEL_LOG_WARN, "%s is lost: its placeholder was removed", path);
        s->ret.stubs++;
    }
    free(path);
}

bool vel_sweep_has_unseen_files(struct vel_fs *fs, const char *dir,
                                const struct vel_view *view)
{
    for (size_t i = 0; i < view->lost.n; i++) {
        int64_t id = ((struct vel_view_lost *)vel_vec_at(&view->lost, i))->id;

        if (vel_view_is_unseen(view, id) && vel_id_is_of_leaders(fs, dir, id))
            return true;
    }
    return false;
}

/* --- all --- */

static int sweep_name(struct vel_sweeping *s, const char *name, struct vel_err *err)
{
    char *path;
    int rc = 0;

    if (vel_launch_of(name))
        return sweep_launch(s, vel_launch_of(name), err);
    if (strncmp(name, "view.", 5) == 0 && vel_launch_is_name(name + 5))
        return sweep_left(s, name, name + 5, err);
    if (vel_launch_past_of(name))
        return sweep_left(s, name, vel_launch_past_of(name), err);
    path = vel_sweep_path(s, name, "", "");
    if (!path)
        return vel_out_of_memory(err, "launches");
    if (vel_sweep_is_claim(name)) {
        rc = vel_sweep_claim(s, name, path, err);
    } else if (is_gone_dir(name)) {
        rc = vel_fs_remove_tree(s->of->fs, path, err);
    }
    free(path);
    return rc;
}

int vel_sweep(const struct vel_sweep *sweep, struct vel_swept *ret, struct vel_err *err)
{
    struct vel_sweeping s = {.of = sweep,
                             .seals = {.fs = sweep->fs, .dir = sweep->dir}};
    int rc;

    vel_vec_init(&s.over, sizeof(int64_t));
    vel_vec_init(&s.trimmed, sizeof(char *));
    vel_vec_init(&s.away, sizeof(int64_t));
    vel_vec_init(&s.known, sizeof(int64_t));
    vel_vec_init(&s.sealed, sizeof(int64_t));
    vel_vec_init(&s.names, sizeof(char *));
    vel_prefix_sweep(sweep->fs, sweep->dir);
    rc = vel_index_blocks(sweep->index, &s.blocks, err);
    if (rc == 0)
        rc = vel_fs_list(sweep->fs, sweep->dir, &s.names, err);
    vel_index_stand_still(sweep->index);
    for (size_t i = 0; rc == 0 && i < s.names.n; i++)
        rc = sweep_name(&s, *(char **)vel_vec_at(&s.names, i), err);
    if (rc == 0)
        rc = vel_sweep_look(&s, err);
    vel_index_go_on(sweep->index);
    if (rc == 0)
        rc = vel_sweep_datasets(&s, err);
    s.is_second = true;
    for (size_t i = 0; rc == 0 && i < s.trimmed.n; i++) { /* with the last of them */
        const char *launch = *(char **)vel_vec_at(&s.trimmed, i);

        if (s.over.n > 0 || !is_marked(&s, launch))
            rc = sweep_launch(&s, launch, err);
    }
    if (rc == 0 && !s.is_cut)
        rc = vel_sweep_blocks(&s, err);
    if (!s.is_cut && !sweep->leaves_stubs &&
        !vel_sweep_has_unseen_files(sweep->fs, sweep->dir, sweep->view))
        for (size_t i = 0; rc == 0 && i < sweep->view->names.n; i++)
            sweep_stub(&s, vel_vec_at(&sweep->view->names, i));
    if (rc == 0)
        vel_index_digest(sweep->index);
    vel_fs_names_fini(&s.names);
    vel_ids_list_fini(&s.blocks);
    vel_vec_fini(&s.over);
    vel_vec_fini(&s.trimmed);
    vel_vec_fini(&s.away);
    vel_vec_fini(&s.known);
    vel_vec_fini(&s.sealed);
    vel_seals_of_fini(&s.seals);
    *ret = s.ret;
    return rc;
}
