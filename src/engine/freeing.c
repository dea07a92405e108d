/* SPDX-License-Identifier: BSD-3-Clause */
/* What is removed from a cache loses its names in the call, and its bytes when a thread
 * lets go of it: to free them takes as long as many a checkpoint. Nothing is left to
 * remove when the process dies. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/path.h"
#include "engine/session_in.h"
#include "sys/queue.h"

/* Smaller ones are gone at once, and so are those beyond so many. */
enum { LEAST = 1 << 20, MOST = 64 };

struct vel_freeing {
    struct vel_session *session;
    struct vel_fs *fs;
    const char *dir;
    int fds[MOST];
    size_t n;
};

static int hold_one(void *arg, enum vel_fs_visit what, const char *below,
                    const struct stat *st, struct vel_err *err)
{
    struct vel_freeing *f = arg;
    char *path = what == VEL_FS_FILE && S_ISREG(st->st_mode) && st->st_size >= LEAST &&
                         f->n + atomic_load(&f->session->n_freeing) < MOST
                     ? vel_path_join(f->dir, below)
                     : NULL;

    (void)err;
    if (path &&
        vel_fs_open(f->fs, path, O_RDONLY | O_NOFOLLOW, 0, &f->fds[f->n], NULL) == 0)
        f->n++;
    free(path);
    return 0;
}

static void let_go(void *arg)
{
    struct vel_freeing *f = arg;

    for (size_t i = 0; i < f->n; i++)
        vel_fs_close(f->fs, f->fds[i], "a removed file", NULL);
    atomic_fetch_sub(&f->session->n_freeing, f->n);
    free(f);
}

struct vel_freeing *vel_freeing_begin(struct vel_session *s, const char *dir)
{
    struct vel_freeing *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->session = s;
    f->fs = s->fs;
    f->dir = dir;
    vel_fs_walk(s->fs, dir, hold_one, f, NULL);
    return f;
}

/* Where no thread can be had it is done here. */
void vel_freeing_end(struct vel_session *s, struct vel_freeing *f)
{
    if (!f)
        return;
    atomic_fetch_add(&s->n_freeing, f->n);
    if (f->n == 0 || (!s->freeing && vel_queue_create(1, &s->freeing, NULL) < 0) ||
        vel_queue_submit(s->freeing, let_go, f, NULL) < 0)
        let_go(f);
}

void vel_freeing_wait(struct vel_session *s)
{
    vel_queue_destroy(s->freeing);
    s->freeing = NULL;
}
