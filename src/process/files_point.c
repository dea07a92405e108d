/* SPDX-License-Identifier: BSD-3-Clause */
/* H5Fflush is a version point: what has been written until then is found when the
 * program is killed (doc/life.txt, 4). Nothing is done that the program
 * waits for but when it goes on to write, and of that a small share of the time. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "process/files_open_in.h"
#include "view/batch.h"

/* For copies there is one part in SHARE of the time, and some at the beginning: so
 * little that files of usual sizes lose no point. */
#define BEGIN (VEL_CLOCK_S / 10)
enum {
    SHARE = 20,
    ROOM = 2, /* as many times its size must be free */
};

/* What HDF5 writes while it closes a file is worth no copy of what was flushed. */
static _Thread_local bool is_closing;

void vel_files_closing(bool is_so)
{
    is_closing = is_so;
}

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

static bool is_ours(const struct vel_file *file)
{
    return !file->is_home && !file->is_removed && !file->is_astray && !file->dataset &&
           file->pid == getpid();
}

/* --- the first one --- */

/* "BATCH/rank.R/NAME"; a file of a dataset is in none. */
static int begin_at(struct vel_file *file, struct vel_err *err)
{
    size_t len = strlen(file->place), tail = strlen(file->name);
    char *of_rank = NULL, *dir = NULL;
    int64_t rank = 0;
    int rc = VEL_EUNSUP;

    if (len > tail && strcmp(file->place + len - tail, file->name) == 0)
        of_rank = strndup(file->place, len - tail - 1);
    dir = of_rank ? vel_path_dir(of_rank) : NULL;
    if (dir && vel_number_behind(vel_path_base(of_rank), "rank.", &rank) &&
        vel_batch_is_dir(dir))
        rc = vel_point_begin(vel_fs_posix(), dir, rank, file->name,
                             vel_fs_overwrites_in_place(dir), &file->points.point, err);
    else
        vel_fail(err, VEL_EUNSUP, "%s is no place of a new file", file->place);
    free(dir);
    free(of_rank);
    return rc;
}

/* From now on something stands at its name, as it would without us. */
static bool begin(struct vel_file *file, uint64_t size)
{
    struct vel_client *client = vel_files_client();
    struct vel_err why = {0};
    int rc = client ? vel_client_file_close(client, file->handle, VEL_CLOSE_VERSION,
                                            size, NULL, &why)
                    : VEL_ESTATE;

    if (rc == 0)
        rc = begin_at(file, &why);
    if (rc == 0)
        return true;
    vel_log(VEL_LOG_INFO, "%s: what is flushed is not kept: %s", file->path,
            *why.text ? why.text : "nobody leads here any more");
    file->points.retry_at =
        now() + (uint64_t)(vel_files_conf()->seal_after * (double)VEL_CLOCK_S);
    return false;
}

/* Of what format a file is does not change. */
static int read_head(const struct vel_file *file, vel_file_head_f *head,
                     struct vel_point_is *ret)
{
    struct vel_fs *fs = vel_fs_posix();
    int fd, rc = vel_fs_open(fs, file->place, O_RDONLY | O_NOFOLLOW, 0, &fd, NULL);

    if (rc < 0)
        return rc;
    rc = vel_fs_read_at(fs, fd, ret->bytes, sizeof ret->bytes, 0, file->place, NULL);
    vel_fs_close(fs, fd, file->place, NULL);
    if (rc == 0)
        ret->head = head(ret->bytes, sizeof ret->bytes);
    return rc;
}

static int look(struct vel_file *file, vel_file_head_f *head, struct vel_point_is *ret)
{
    struct stat st;
    int rc = vel_fs_lstat(vel_fs_posix(), file->place, &st, NULL);

    if (rc < 0)
        return rc;
    *ret = (struct vel_point_is){.number = file->points.flushes,
                                 .size = (uint64_t)st.st_size};
    if (!file->points.has_no_head && ret->size >= sizeof ret->bytes)
        rc = read_head(file, head, ret);
    file->points.has_no_head = ret->head == 0;
    return rc;
}

bool vel_file_point(struct vel_file *file, vel_file_head_f *head)
{
    struct vel_file_points *points = &file->points;
    struct vel_point_is is;

    if (points->is_at_one) {
        vel_point_renumber(points->point, points->flushes);
        return true;
    }
    if (look(file, head, &is) < 0 ||
        (!points->point && (now() < points->retry_at || !begin(file, is.size))))
        return false;
    vel_point_set(points->point, &is);
    points->is_at_one = true;
    return true;
}

void vel_file_flushed(struct vel_file *file, vel_file_head_f *head)
{
    file->points.flushes++;
    if (!is_ours(file) || !file->points.has_changed)
        return;
    if (vel_file_ends_version(file))
        vel_file_end_version(file, head);
    else
        vel_file_point(file, head);
}

/* --- it goes on --- */

/* The cache is for files, and not for what may never be needed. */
static bool has_room(const struct vel_file *file)
{
    uint64_t room = 0;
    struct stat st;

    return vel_fs_lstat(vel_fs_posix(), file->place, &st, NULL) == 0 &&
           vel_fs_space(vel_fs_posix(), file->place, &room, NULL) == 0 &&
           room / ROOM > (uint64_t)st.st_size;
}

static void keep(struct vel_file *file)
{
    struct vel_file_points *points = &file->points;
    struct vel_err why = {0};
    uint64_t begun = now();

    if (points->spent + points->cost > BEGIN + (begun - file->begun) / SHARE)
        return;
    if (has_room(file) && vel_point_copy(points->point, &why) < 0)
        vel_log(VEL_LOG_DEBUG, "%s: what was flushed is not kept: %s", file->path,
                why.text);
    points->cost = now() - begun;
    points->spent += points->cost;
}

void vel_file_changes(struct vel_file *file)
{
    struct vel_file_points *points = &file->points;

    points->has_changed = true;
    if (!points->is_at_one)
        return;
    points->is_at_one = false;
    if (!points->point || file->pid != getpid())
        return;
    if (!is_closing && is_ours(file))
        keep(file);
    vel_point_leave(points->point);
}

void vel_file_end_points(struct vel_file *file)
{
    vel_point_end(file->points.point, file->pid == getpid());
    file->points.point = NULL;
    file->points.is_at_one = false;
}
