/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "meta/over.h"

void vel_over_init(struct vel_over *over)
{
    pthread_mutex_init(&over->lock, NULL);
    vel_vec_init(&over->ids, sizeof(int64_t));
}

void vel_over_fini(struct vel_over *over)
{
    pthread_mutex_destroy(&over->lock);
    vel_vec_fini(&over->ids);
}

/* The place of the first that is not below `id`. */
static size_t place_of(const struct vel_over *over, int64_t id)
{
    const int64_t *ids = over->ids.items;
    size_t low = 0, high = over->ids.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct vel_over *over, size_t at, int64_t id)
{
    return at < over->ids.n && ((const int64_t *)over->ids.items)[at] == id;
}

void vel_over_add(struct vel_over *over, int64_t id)
{
    pthread_mutex_lock(&over->lock);
    size_t at = place_of(over, id);

    if (!is_at(over, at, id))
        (void)vel_vec_insert(&over->ids, at, &id);
    pthread_mutex_unlock(&over->lock);
}

bool vel_over_has(struct vel_over *over, int64_t id)
{
    pthread_mutex_lock(&over->lock);
    bool has = is_at(over, place_of(over, id), id);

    pthread_mutex_unlock(&over->lock);
    return has;
}

size_t vel_over_count(struct vel_over *over)
{
    pthread_mutex_lock(&over->lock);
    size_t n = over->ids.n;

    pthread_mutex_unlock(&over->lock);
    return n;
}

void vel_over_keep(struct vel_over *over, const int64_t *ids, size_t n)
{
    size_t kept = 0;

    pthread_mutex_lock(&over->lock);
    int64_t *own = over->ids.items;

    for (size_t i = 0; i < over->ids.n; i++) {
        while (n > 0 && ids[n - 1] < own[i])
            n--;
        if (n > 0 && ids[n - 1] == own[i])
            own[kept++] = own[i];
    }
    over->ids.n = kept;
    pthread_mutex_unlock(&over->lock);
}

void vel_over_oldest(struct vel_over *over, size_t newest, struct vel_vec *ret)
{
    vel_vec_init(ret, sizeof(int64_t));
    pthread_mutex_lock(&over->lock);
    for (size_t i = 0; i + newest < over->ids.n; i++)
        (void)vel_vec_push(ret, vel_vec_at(&over->ids, i));
    pthread_mutex_unlock(&over->lock);
}
