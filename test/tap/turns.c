/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "tap/turns.h"

struct actor {
    pthread_t thread;
    bool is_done;
    struct vel_vec names; /* what its client remembers of the directory */
    bool has_names;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int turn; /* the actor that goes on; -1: nobody does */
    bool is_over, has_changed;
    struct actor actors[TURNS_MOST];
    int n;
    const char *dir;
    struct vel_rng *rng;
    void (*run)(int i);
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static _Thread_local struct actor *me;

static bool coin(uint64_t of)
{
    return vel_rng_below(all.rng, of) == 0;
}

/* --- turns --- */

bool turns_step(void)
{
    bool goes_on;

    if (!me)
        return true;
    pthread_mutex_lock(&all.lock);
    all.turn = -1;
    pthread_cond_broadcast(&all.moved);
    while (!all.is_over && all.turn != (int)(me - all.actors))
        pthread_cond_wait(&all.moved, &all.lock);
    goes_on = !all.is_over;
    pthread_mutex_unlock(&all.lock);
    return goes_on;
}

static void forget_names(void);

static void *run(void *arg)
{
    me = arg;
    if (turns_step())
        all.run((int)(me - all.actors));
    forget_names();
    pthread_mutex_lock(&all.lock);
    me->is_done = true;
    all.turn = -1;
    pthread_cond_broadcast(&all.moved);
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

void turns_begin(int n, void (*what)(int i), const char *dir, struct vel_rng *rng)
{
    all.n = n;
    all.run = what;
    all.dir = dir;
    all.rng = rng;
    all.is_over = all.has_changed = false;
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < n; i++) {
        all.turn = i;
        all.actors[i] = (struct actor){.is_done = false};
        if (pthread_create(&all.actors[i].thread, NULL, run, &all.actors[i]) != 0)
            bail_out("no thread");
        while (all.turn != -1)
            pthread_cond_wait(&all.moved, &all.lock);
    }
    pthread_mutex_unlock(&all.lock);
}

bool turns_give(int i)
{
    bool goes_on;

    pthread_mutex_lock(&all.lock);
    goes_on = !all.actors[i].is_done;
    if (goes_on) {
        all.turn = i;
        pthread_cond_broadcast(&all.moved);
    }
    while (goes_on && all.turn != -1)
        pthread_cond_wait(&all.moved, &all.lock);
    pthread_mutex_unlock(&all.lock);
    return goes_on;
}

bool turns_are_done(int i)
{
    return all.actors[i].is_done;
}

bool turns_have_changed(void)
{
    bool have = all.has_changed;

    all.has_changed = false;
    return have;
}

void turns_end(void)
{
    pthread_mutex_lock(&all.lock);
    all.is_over = true;
    pthread_cond_broadcast(&all.moved);
    pthread_mutex_unlock(&all.lock);
    for (int i = 0; i < all.n; i++)
        pthread_join(all.actors[i].thread, NULL);
}

/* --- their file system --- */

static void forget_names(void)
{
    if (me && me->has_names)
        vel_fs_names_fini(&me->names);
    if (me)
        me->has_names = false;
}

#define POSIX vel_fs_posix()

static bool has_name(const struct vel_vec *names, const char *name)
{
    bool has = false;

    for (size_t i = 0; !has && i < names->n; i++)
        has = strcmp(*(char **)vel_vec_at(names, i), name) == 0;
    return has;
}

/* Names of temporary files are random, and chance must come from the seed alone. */
static bool is_torn(const char *name, const struct vel_vec *other)
{
    return name[0] != '.' && !has_name(other, name) && coin(2);
}

/* What comes or goes while a directory is listed is in the list, or not. */
static int list_torn(const char *path, struct vel_vec *ret)
{
    struct vel_vec before;
    int rc;

    vel_vec_init(&before, sizeof(char *));
    rc = POSIX->ops->list(POSIX, path, &before);
    if (rc == 0)
        rc = turns_step() ? POSIX->ops->list(POSIX, path, ret) : -EIO;
    for (size_t i = ret->n; rc == 0 && i-- > 0;)
        if (is_torn(*(char **)vel_vec_at(ret, i), &before)) {
            free(*(char **)vel_vec_at(ret, i));
            vel_vec_remove(ret, i);
        }
    for (size_t i = before.n; rc == 0 && i-- > 0;) {
        char **name = vel_vec_at(&before, i);

        if (is_torn(*name, ret) && vel_vec_push(ret, name))
            vel_vec_remove(&before, i);
    }
    vel_fs_names_fini(&before);
    return rc;
}

static int list(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    int rc;

    (void)fs;
    if (!turns_step())
        return -EIO;
    if (me && (!me->has_names || coin(2))) {
        forget_names();
        vel_vec_init(&me->names, sizeof(char *));
        rc = list_torn(path, &me->names);
        if (rc < 0)
            return rc;
        me->has_names = true;
    }
    if (!me)
        return POSIX->ops->list(POSIX, path, ret);
    for (size_t i = 0; i < me->names.n; i++) {
        char *name = strdup(*(char **)vel_vec_at(&me->names, i));

        if (!name || !vel_vec_push(ret, &name))
            bail_out("no memory");
    }
    return 0;
}

/* Does the client remember that there is no such name? */
static bool is_absent(const char *path)
{
    const char *name = path + strlen(all.dir) + 1;

    if (!me || !me->has_names || strlen(path) <= strlen(all.dir) || coin(2))
        return false;
    return !has_name(&me->names, name);
}

static int open_file(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    if (!turns_step())
        return -EIO;
    if (!(flags & O_CREAT) && is_absent(path))
        return -ENOENT;
    if (flags & O_CREAT)
        forget_names();
    return POSIX->ops->open(POSIX, path, flags, mode);
}

static ssize_t read_file(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    (void)fs;
    return turns_step() ? POSIX->ops->pread(POSIX, fd, buf, len, at) : -EIO;
}

static ssize_t write_file(struct vel_fs *fs, int fd, const void *buf, size_t len,
                          off_t at)
{
    (void)fs;
    if (!turns_step())
        return -EIO;
    all.has_changed = true;
    return POSIX->ops->pwrite(POSIX, fd, buf, len, at);
}

static int sync_file(struct vel_fs *fs, int fd)
{
    (void)fs, (void)fd;
    return turns_step() ? 0 : -EIO;
}

/* An answer may be lost: the client asks again, and it is there. */
static int link_file(struct vel_fs *fs, const char *from, const char *to)
{
    int rc;

    (void)fs;
    if (!turns_step())
        return -EIO;
    forget_names();
    all.has_changed = true;
    rc = POSIX->ops->link(POSIX, from, to);
    return rc == 0 && me && coin(8) ? -EEXIST : rc;
}

static int unlink_file(struct vel_fs *fs, const char *path)
{
    (void)fs;
    if (!turns_step())
        return -EIO;
    forget_names();
    all.has_changed = true;
    return POSIX->ops->unlink(POSIX, path);
}

/* Whatever the real one is: nothing is asked of this one that it does not keep. */
static int shows_all(struct vel_fs *fs, const char *path)
{
    (void)fs, (void)path;
    return 0;
}

struct vel_fs *turns_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};

    ops = *POSIX->ops;
    ops.list = list;
    ops.open = open_file;
    ops.pread = read_file;
    ops.pwrite = write_file;
    ops.fsync = sync_file;
    ops.link = link_file;
    ops.unlink = unlink_file;
    ops.shows_all = shows_all;
    return &fs;
}
