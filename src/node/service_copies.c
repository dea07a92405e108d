/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of files that other nodes have in their caches, for who reads them here: in
 * CACHE/USER/ID/beside.LAUNCH, of the last few names the version that was read last,
 * until the launch ends. They are nobody's: no dataset has them. Who has one open goes
 * on with it when it is removed. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "node/service_bring_in.h"
#include "node/service_mover.h"

enum { WINDOW = 4, COPIES_MOST = 16 };

/* A copy that is made. */
struct copying {
    struct vel_fs *fs;
    const struct vel_service_found *from;
    struct vel_pull_source *source;
    const struct vel_watch *watch;
    int fd;
    const char *path;
    struct vel_get gets[WINDOW];
    uint64_t asked, at;
    size_t first, n; /* of the gets that are under way */
};

/* --- its bytes --- */

static void ask_more(struct copying *c)
{
    while (c->n < WINDOW && c->asked < c->from->size) {
        struct vel_get *get = &c->gets[(c->first + c->n++) % WINDOW];
        uint64_t len = c->from->size - c->asked;

        len = len < VEL_WANT_MOST ? len : VEL_WANT_MOST;
        get->node = c->from->node;
        get->want = (struct vel_want){.what = VEL_WANT_PLACE,
                                      .name = c->from->path,
                                      .at = c->asked,
                                      .len = (uint32_t)len};
        get->rc = 1;
        if (c->source->ops->begin(c->source, get, &get->err) < 0)
            get->rc = VEL_ELOST;
        c->asked += len;
    }
}

static int take(struct copying *c, struct vel_err *err)
{
    struct vel_get *get = &c->gets[c->first];
    int rc;

    while (get->rc > 0)
        c->source->ops->next(c->source);
    if (get->rc < 0)
        return vel_fail(err, VEL_EBUSY, "%s", get->err.text);
    if (get->size != c->from->size || get->got != get->want.len)
        return vel_fail(err, VEL_EBUSY, "it changes on node %s", c->from->node);
    rc =
        vel_fs_write_at(c->fs, c->fd, get->bytes, get->got, (off_t)c->at, c->path, err);
    if (rc == 0 && !vel_watch_step(c->watch, get->got))
        rc = vel_fail(err, VEL_ECANCEL, "told to stop");
    c->at += get->got;
    c->first = (c->first + 1) % WINDOW;
    c->n--;
    return rc;
}

/* A few questions are always under way; they are taken in their order. */
static int copy_bytes(struct copying *c, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < WINDOW; i++)
        if (!(c->gets[i].bytes = malloc(VEL_WANT_MOST)))
            rc = vel_out_of_memory(err, "a copy");
    while (rc == 0 && c->at < c->from->size) {
        ask_more(c);
        rc = take(c, err);
    }
    c->source->ops->drop(c->source);
    for (size_t i = 0; i < WINDOW; i++)
        free(c->gets[i].bytes);
    return rc;
}

static char *copies_dir(const char *home, const char *launch)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/beside.%s", home, launch);
    return vel_buf_take(&path, NULL);
}

static char *name_copy(struct vel_service *service, const char *dir)
{
    struct vel_buf path;

    vel_buf_init(&path);
    pthread_mutex_lock(&service->lock);
    vel_buf_printf(&path, "%s/%" PRIu64, dir, ++service->last_copy);
    pthread_mutex_unlock(&service->lock);
    return vel_buf_take(&path, NULL);
}

static int copy_to(struct copying *c, struct vel_err *err)
{
    int closed,
        rc = vel_fs_open(c->fs, c->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                         &c->fd, err);

    if (rc < 0)
        return rc;
    rc = copy_bytes(c, err);
    closed = vel_fs_close(c->fs, c->fd, c->path, rc == 0 ? err : NULL);
    rc = rc < 0 ? rc : closed;
    if (rc < 0)
        vel_fs_unlink(c->fs, c->path, NULL);
    return rc;
}

/* --- copies that are kept --- */

static void copy_fini(struct vel_service_copy *copy)
{
    free(copy->name);
    free(copy->node);
    free(copy->from);
    free(copy->path);
}

/* copies.n: none. With the lock. */
static size_t copy_of_name(const struct vel_service *service, const char *name)
{
    size_t i = 0;

    while (i < service->copies.n &&
           strcmp(((struct vel_service_copy *)vel_vec_at(&service->copies, i))->name,
                  name) != 0)
        i++;
    return i;
}

/* It was copied already: a new string. */
static char *find_copy(struct vel_service *service, const char *name,
                       const struct vel_service_found *from)
{
    const struct vel_service_copy *copy;
    char *path = NULL;
    size_t i;

    pthread_mutex_lock(&service->lock);
    i = copy_of_name(service, name);
    copy = i < service->copies.n ? vel_vec_at(&service->copies, i) : NULL;
    if (copy && strcmp(copy->node, from->node) == 0 &&
        strcmp(copy->from, from->path) == 0)
        path = strdup(copy->path);
    pthread_mutex_unlock(&service->lock);
    return path;
}

/* With the lock. */
static void drop_copy(struct vel_service *service, size_t i)
{
    struct vel_service_copy *copy = vel_vec_at(&service->copies, i);

    vel_fs_unlink(service->fs, copy->path, NULL);
    copy_fini(copy);
    vel_vec_remove(&service->copies, i);
}

static void keep_copy(struct vel_service *service, const char *name,
                      const struct vel_service_found *from, const char *path)
{
    struct vel_service_copy fresh = {.name = strdup(name),
                                     .node = strdup(from->node),
                                     .from = strdup(from->path),
                                     .path = strdup(path)};
    bool is_kept = fresh.name && fresh.node && fresh.from && fresh.path;
    size_t old;

    pthread_mutex_lock(&service->lock);
    old = is_kept ? copy_of_name(service, name) : service->copies.n;
    if (old < service->copies.n)
        drop_copy(service, old);
    else if (service->copies.n >= COPIES_MOST)
        drop_copy(service, 0);
    if (!is_kept || !vel_vec_push(&service->copies, &fresh))
        copy_fini(&fresh);
    pthread_mutex_unlock(&service->lock);
}

void vel_service_forget_copies(struct vel_service *service)
{
    for (size_t i = 0; i < service->copies.n; i++)
        copy_fini(vel_vec_at(&service->copies, i));
    vel_vec_fini(&service->copies);
    for (size_t i = 0; i < service->n_homes && service->launch; i++) {
        char *dir = copies_dir(service->homes[i], service->launch);

        if (dir)
            vel_fs_remove_tree(service->fs, dir, NULL);
        free(dir);
    }
}

void vel_service_forget_old_copies(struct vel_service *service)
{
    for (size_t i = 0; i < service->n_homes; i++) {
        struct vel_vec names;

        vel_vec_init(&names, sizeof(char *));
        vel_fs_list(service->fs, service->homes[i], &names, NULL);
        for (size_t k = 0; k < names.n; k++) {
            const char *name = *(char **)vel_vec_at(&names, k);
            bool is_over = false;
            char *dir;

            if (strncmp(name, "beside.", 7) != 0 ||
                strcmp(name + 7, service->launch) == 0 ||
                vel_service_is_launch_over(service, name + 7, &is_over, NULL) < 0 ||
                !is_over)
                continue;
            dir = vel_path_join(service->homes[i], name);
            if (dir)
                vel_fs_remove_tree(service->fs, dir, NULL);
            free(dir);
        }
        vel_fs_names_fini(&names);
    }
}

int vel_service_copy(struct vel_service *service, const char *name,
                     const struct vel_service_found *from,
                     struct vel_pull_source *source, const struct vel_watch *watch,
                     char **ret_path, struct vel_err *err)
{
    struct vel_paced paced;
    struct copying c = {
        .fs = &paced.twin.fs, .from = from, .source = source, .watch = watch};
    char *dir, *path = find_copy(service, name, from);
    int rc;

    if (path) {
        *ret_path = path;
        return 0;
    }
    if (service->n_homes == 0)
        return vel_fail(err, VEL_ENOENT, "this node has no cache");
    dir = copies_dir(service->homes[0], service->launch);
    c.path = path = dir ? name_copy(service, dir) : NULL;
    rc = path ? vel_fs_make_dirs(service->fs, dir, 0700, err)
              : vel_out_of_memory(err, "a copy");
    vel_service_pace(service, watch, &paced);
    if (rc == 0)
        rc = copy_to(&c, err);
    vel_paced_fini(&paced);
    if (rc == 0)
        keep_copy(service, name, from, path);
    free(dir);
    if (rc == 0)
        *ret_path = path;
    else
        free(path);
    return rc;
}
