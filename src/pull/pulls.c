/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that a node pulls now, each by one at a time, and those that it has
 * compared with their checksums. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pull/pull_in.h"

struct pulled_now {
    int64_t id;
    int rank;
};

/* It was compared with its checksums, byte for byte. */
struct verified {
    int64_t id;
    int rank;
    char *dir;
};

struct vel_pulls {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct vel_vec now;      /* struct pulled_now */
    struct vel_vec verified; /* struct verified */
};

struct vel_pulls *vel_pulls_create(void)
{
    struct vel_pulls *pulls = malloc(sizeof *pulls);

    if (!pulls)
        return NULL;
    pthread_mutex_init(&pulls->lock, NULL);
    pthread_cond_init(&pulls->changed, NULL);
    vel_vec_init(&pulls->now, sizeof(struct pulled_now));
    vel_vec_init(&pulls->verified, sizeof(struct verified));
    return pulls;
}

void vel_pulls_destroy(struct vel_pulls *pulls)
{
    if (!pulls)
        return;
    for (size_t i = 0; i < pulls->verified.n; i++)
        free(((struct verified *)vel_vec_at(&pulls->verified, i))->dir);
    vel_vec_fini(&pulls->verified);
    vel_vec_fini(&pulls->now);
    pthread_cond_destroy(&pulls->changed);
    pthread_mutex_destroy(&pulls->lock);
    free(pulls);
}

/* its place among those that are pulled; their number when it is not */
static size_t find(const struct vel_pulls *pulls, const struct vel_pull *what)
{
    const struct pulled_now *now = pulls->now.items;
    size_t i = 0;

    while (i < pulls->now.n &&
           (now[i].id != what->dataset->about.id || now[i].rank != what->rank))
        i++;
    return i;
}

int vel_pulls_enter(struct vel_pulls *pulls, const struct vel_pull *what,
                    struct vel_err *err)
{
    struct pulled_now now = {.id = what->dataset->about.id, .rank = what->rank};
    bool is_noted;

    if (!pulls)
        return 0;
    pthread_mutex_lock(&pulls->lock);
    while (find(pulls, what) < pulls->now.n)
        pthread_cond_wait(&pulls->changed, &pulls->lock);
    is_noted = vel_vec_push(&pulls->now, &now);
    pthread_mutex_unlock(&pulls->lock);
    return is_noted ? 0 : vel_out_of_memory(err, "pulling a part");
}

void vel_pulls_leave(struct vel_pulls *pulls, const struct vel_pull *what)
{
    if (!pulls)
        return;
    pthread_mutex_lock(&pulls->lock);
    vel_vec_remove(&pulls->now, find(pulls, what));
    pthread_cond_broadcast(&pulls->changed);
    pthread_mutex_unlock(&pulls->lock);
}

/* With the lock; verified.n: it was not. */
static size_t find_verified(const struct vel_pulls *pulls, const struct vel_pull *what)
{
    const struct verified *verified = pulls->verified.items;
    size_t i = 0;

    while (i < pulls->verified.n && (verified[i].id != what->dataset->about.id ||
                                     verified[i].rank != what->rank))
        i++;
    return i;
}

char *vel_pulls_recall(const struct vel_pull_how *how, const struct vel_pull *what)
{
    struct vel_pulls *pulls = how->pulls;
    char *dir = NULL;
    size_t i;

    if (!pulls || what->is_suspect)
        return NULL;
    pthread_mutex_lock(&pulls->lock);
    i = find_verified(pulls, what);
    if (i < pulls->verified.n)
        dir = strdup(((struct verified *)vel_vec_at(&pulls->verified, i))->dir);
    pthread_mutex_unlock(&pulls->lock);
    if (dir && vel_fs_exists(how->fs, dir))
        return dir;
    free(dir);
    return NULL;
}

void vel_pulls_remember(struct vel_pulls *pulls, const struct vel_pull *what,
                        const char *dir)
{
    struct verified verified = {
        .id = what->dataset->about.id, .rank = what->rank, .dir = strdup(dir)};
    size_t i;

    pthread_mutex_lock(&pulls->lock);
    i = find_verified(pulls, what);
    if (verified.dir && i < pulls->verified.n) {
        struct verified *known = vel_vec_at(&pulls->verified, i);

        free(known->dir);
        *known = verified;
    } else if (verified.dir && !vel_vec_push(&pulls->verified, &verified)) {
        free(verified.dir);
    }
    pthread_mutex_unlock(&pulls->lock);
}
