/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are open here to be read. HDF5 knows a file again by where it is, and
 * refuses to write what it reads: it must not be sent to another place then. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "process/files_in.h"

struct vel_reading {
    char *path;
    dev_t device;
    ino_t inode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vel_vec readings = {.item_size = sizeof(struct vel_reading *)};

static struct vel_reading *reading_at(size_t i)
{
    return *(struct vel_reading **)vel_vec_at(&readings, i);
}

struct vel_reading *vel_reading_begin(const char *name, const char *place)
{
    struct vel_reading *reading = calloc(1, sizeof *reading);
    bool is_kept = false;
    struct stat st;

    if (!reading)
        return NULL;
    reading->path = vel_files_real_path(name);
    if (reading->path &&
        vel_fs_lstat(vel_fs_posix(), place ? place : reading->path, &st, NULL) == 0) {
        reading->device = st.st_dev;
        reading->inode = st.st_ino;
        pthread_mutex_lock(&lock);
        is_kept = vel_vec_push(&readings, &reading);
        pthread_mutex_unlock(&lock);
    }
    if (is_kept)
        return reading;
    free(reading->path);
    free(reading);
    return NULL;
}

void vel_reading_end(struct vel_reading *reading)
{
    if (!reading)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < readings.n; i++)
        if (reading_at(i) == reading) {
            vel_vec_remove(&readings, i);
            break;
        }
    pthread_mutex_unlock(&lock);
    free(reading->path);
    free(reading);
}

char *vel_reading_path(const char *name)
{
    char *path = NULL;
    bool is = false;

    pthread_mutex_lock(&lock);
    if (readings.n > 0)
        path = vel_files_real_path(name);
    for (size_t i = 0; path && !is && i < readings.n; i++)
        is = strcmp(reading_at(i)->path, path) == 0;
    pthread_mutex_unlock(&lock);
    if (is)
        return path;
    free(path);
    return NULL;
}

bool vel_reading_is_of(const char *place)
{
    struct stat st;
    bool is = false;

    if (vel_fs_lstat(vel_fs_posix(), place, &st, NULL) < 0)
        return false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !is && i < readings.n; i++)
        is = reading_at(i)->inode == st.st_ino && reading_at(i)->device == st.st_dev;
    pthread_mutex_unlock(&lock);
    return is;
}
