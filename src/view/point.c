/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/host.h"
#include "sys/pages.h"
#include "view/batch.h"
#include "view/point.h"

enum { COPIES = 2 };

static const char magic[] = {'h', '5', 'v', 'p', 'o', 'i', 'n', 't'};

/* What is stored here, in the file, stays when the process is killed. Numbers are the
 * last to be stored, and the first to go. */
struct mark {
    char magic[sizeof magic];
    char boot[VEL_HOST_BOOT];
    _Atomic uint64_t number; /* that the file is at; 0: at none */
    uint64_t size;
    uint64_t head; /* so many bytes are others than those in the file */
    unsigned char bytes[VEL_POINT_HEAD];
    struct {
        _Atomic uint64_t number; /* 0: it is none */
        uint64_t size;
    } copies[COPIES];
};

struct where {
    char *file, *mark, *copies[COPIES];
};

struct vel_point {
    struct vel_fs *fs;
    struct where where;
    struct mark *mark; /* the file's bytes; or a copy of them that is written there */
    int fd;            /* then; else -1 */
    bool has_dirs;
};

/* --- paths --- */

static void where_fini(struct where *where)
{
    free(where->file);
    free(where->mark);
    for (int i = 0; i < COPIES; i++)
        free(where->copies[i]);
}

static char *beside(const char *dir, const char *what, int64_t rank, const char *name)
{
    char *of_rank = vel_batch_numbered(dir, what, rank);
    char *path = of_rank ? vel_path_join(of_rank, name) : NULL;

    free(of_rank);
    return path;
}

static int find_where(const char *dir, int64_t rank, const char *name,
                      struct where *ret, struct vel_err *err)
{
    struct where where = {0};
    int rc = vel_batch_path(dir, rank, name, &where.file, err);

    if (rc < 0)
        return rc;
    where.mark = beside(dir, "mark", rank, name);
    where.copies[0] = beside(dir, "point0", rank, name);
    where.copies[1] = beside(dir, "point1", rank, name);
    if (where.mark && where.copies[0] && where.copies[1]) {
        *ret = where;
        return 0;
    }
    where_fini(&where);
    return vel_out_of_memory(err, name);
}

static int make_above(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *above = vel_path_dir(path);
    int rc =
        above ? vel_fs_make_dirs(fs, above, 0700, err) : vel_out_of_memory(err, path);

    free(above);
    return rc;
}

/* --- the mark --- */

static int make_mark(struct vel_point *point, bool may_map, struct vel_err *err)
{
    struct vel_fs *fs = point->fs;
    struct mark mark = {0};
    int fd = -1, rc = vel_host_boot(fs, mark.boot, err);

    memcpy(mark.magic, magic, sizeof magic);
    if (rc == 0)
        rc = make_above(fs, point->where.mark, err);
    if (rc == 0)
        rc = vel_fs_open(fs, point->where.mark, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW,
                         0600, &fd, err);
    /* written, and not only as long: a full file system fails here, and not a store */
    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, &mark, sizeof mark, 0, point->where.mark, err);
    if (rc == 0) {
        point->mark =
            may_map ? vel_pages_map(fd, sizeof mark) : vel_pages_alloc(sizeof mark);
        rc = point->mark ? 0 : vel_out_of_memory(err, point->where.mark);
    }
    if (rc == 0 && !may_map) {
        memcpy(point->mark, &mark, sizeof mark);
        point->fd = fd;
        return 0;
    }
    vel_fs_close(fs, fd, point->where.mark, NULL);
    return rc;
}

/* The mark has changed. What cannot be written is at no point. */
static void put_mark(struct vel_point *point)
{
    if (point->fd >= 0 &&
        vel_fs_write_at(point->fs, point->fd, point->mark, sizeof *point->mark, 0,
                        point->where.mark, NULL) < 0)
        vel_fs_unlink(point->fs, point->where.mark, NULL);
}

/* VEL_ENOENT: there is none that counts. */
static int load_mark(struct vel_fs *fs, const struct where *where, struct mark *ret,
                     struct vel_err *err)
{
    char boot[VEL_HOST_BOOT];
    struct vel_buf bytes;
    int rc = vel_host_boot(fs, boot, err);

    vel_buf_init(&bytes);
    if (rc == 0)
        rc = vel_fs_read_file(fs, where->mark, sizeof *ret, &bytes, err);
    if (rc == 0 && bytes.len == sizeof *ret)
        memcpy(ret, bytes.data, sizeof *ret);
    if (rc == 0 &&
        (bytes.len != sizeof *ret || memcmp(ret->magic, magic, sizeof magic) != 0 ||
         memcmp(ret->boot, boot, sizeof boot) != 0))
        rc = vel_fail(err, VEL_ENOENT, "%s is no mark of now", where->mark);
    vel_buf_fini(&bytes);
    return rc;
}

/* --- the process that writes --- */

void vel_point_end(struct vel_point *point, bool removes)
{
    if (!point)
        return;
    vel_fs_close(point->fs, point->fd, point->where.mark, NULL);
    vel_pages_free(point->mark, sizeof *point->mark);
    for (int i = 0; removes && i < COPIES; i++)
        vel_fs_unlink(point->fs, point->where.copies[i], NULL);
    if (removes)
        vel_fs_unlink(point->fs, point->where.mark, NULL);
    where_fini(&point->where);
    free(point);
}

int vel_point_begin(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                    bool may_map, struct vel_point **ret, struct vel_err *err)
{
    struct vel_point *point = calloc(1, sizeof *point);
    int rc = point ? find_where(dir, rank, name, &point->where, err)
                   : vel_out_of_memory(err, name);

    if (rc < 0) {
        free(point);
        return rc;
    }
    point->fs = fs;
    point->fd = -1;
    rc = make_mark(point, may_map, err);
    if (rc == 0)
        *ret = point;
    else
        vel_point_end(point, true);
    return rc;
}

void vel_point_set(struct vel_point *point, const struct vel_point_is *is)
{
    point->mark->size = is->size;
    point->mark->head = is->head;
    memcpy(point->mark->bytes, is->bytes, sizeof is->bytes);
    vel_point_renumber(point, is->number);
}

void vel_point_renumber(struct vel_point *point, int64_t number)
{
    atomic_store(&point->mark->number, (uint64_t)number);
    put_mark(point);
}

void vel_point_leave(struct vel_point *point)
{
    atomic_store(&point->mark->number, 0);
    put_mark(point);
}

static int make_dirs(struct vel_point *point, struct vel_err *err)
{
    int rc = 0;

    for (int i = 0; !point->has_dirs && rc == 0 && i < COPIES; i++)
        rc = make_above(point->fs, point->where.copies[i], err);
    point->has_dirs = rc == 0;
    return rc;
}

/* As if it had been closed. */
static int set_head(struct vel_fs *fs, const char *path, const struct mark *mark,
                    struct vel_err *err)
{
    int fd = -1, rc = 0, closed;

    if (mark->head == 0 || mark->head > sizeof mark->bytes)
        return 0;
    rc = vel_fs_open(fs, path, O_WRONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, mark->bytes, mark->head, 0, path, err);
    closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

int vel_point_copy(struct vel_point *point, struct vel_err *err)
{
    struct mark *mark = point->mark;
    int older = mark->copies[0].number > mark->copies[1].number;
    int rc;

    atomic_store(&mark->copies[older].number, 0);
    put_mark(point);
    rc = make_dirs(point, err);
    if (rc == 0)
        rc = vel_fs_copy(point->fs, point->where.file, point->where.copies[older], err);
    if (rc == 0)
        rc = set_head(point->fs, point->where.copies[older], mark, err);
    if (rc < 0) {
        vel_fs_unlink(point->fs, point->where.copies[older], NULL);
        return rc;
    }
    mark->copies[older].size = mark->size;
    atomic_store(&mark->copies[older].number, mark->number);
    atomic_store(&mark->copies[!older].number, 0);
    put_mark(point);
    return vel_fs_unlink(point->fs, point->where.copies[!older], err);
}

int vel_point_part(struct vel_point *point, const char *to, struct vel_err *err)
{
    const struct mark *mark = point->mark;
    const struct where *where = &point->where;
    int newer = mark->copies[1].number > mark->copies[0].number;
    int rc = mark->number == 0 || mark->copies[newer].number != mark->number
                 ? vel_fail(err, VEL_ESTATE, "%s is not at a point that was copied",
                            where->file)
                 : vel_fs_rename(point->fs, where->file, to, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_rename(point->fs, where->copies[newer], where->file, err);
    if (rc < 0)
        vel_fs_rename(point->fs, to, where->file, NULL);
    return rc;
}

/* --- who finds it --- */

static bool is_as_long(struct vel_fs *fs, const char *path, uint64_t size)
{
    struct stat st;

    return vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == size;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

static int add(struct vel_vec *ret, uint64_t number, struct vel_err *err)
{
    int64_t is = (int64_t)number;

    return is <= 0 || vel_vec_push(ret, &is) ? 0 : vel_out_of_memory(err, "a point");
}

int vel_point_list(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                   struct vel_vec *ret, struct vel_err *err)
{
    struct where where;
    struct mark mark;
    int rc = find_where(dir, rank, name, &where, err);

    if (rc < 0)
        return rc;
    rc = load_mark(fs, &where, &mark, err);
    if (rc == 0 && is_as_long(fs, where.file, mark.size))
        rc = add(ret, mark.number, err);
    for (int i = 0; rc == 0 && i < COPIES; i++)
        if (is_as_long(fs, where.copies[i], mark.copies[i].size))
            rc = add(ret, mark.copies[i].number, err);
    vel_vec_sort(ret, newest_first);
    where_fini(&where);
    return rc == VEL_ENOMEM ? rc : 0;
}

/* A copy that is not there has become the file before. */
static int restore(struct vel_fs *fs, const struct where *where,
                   const struct mark *mark, int64_t number, int64_t *ret_size,
                   struct vel_err *err)
{
    bool is_there =
        (int64_t)mark->number == number && is_as_long(fs, where->file, mark->size);

    *ret_size = (int64_t)mark->size;
    if (is_there)
        return set_head(fs, where->file, mark, err);
    for (int i = 0; !is_there && i < COPIES; i++) {
        if ((int64_t)mark->copies[i].number != number)
            continue;
        *ret_size = (int64_t)mark->copies[i].size;
        if (vel_fs_exists(fs, where->copies[i]))
            return vel_fs_rename(fs, where->copies[i], where->file, err);
        is_there = is_as_long(fs, where->file, mark->copies[i].size);
    }
    return is_there ? 0
                    : vel_fail(err, VEL_ENOENT, "%s has no version point %" PRId64,
                               where->file, number);
}

int vel_point_restore(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, int64_t number, int64_t *ret_size,
                      struct vel_err *err)
{
    struct where where;
    struct mark mark;
    int rc = find_where(dir, rank, name, &where, err);

    if (rc < 0)
        return rc;
    rc = load_mark(fs, &where, &mark, err);
    if (rc == 0)
        rc = restore(fs, &where, &mark, number, ret_size, err);
    where_fini(&where);
    return rc;
}

int vel_point_remove(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                     struct vel_err *err)
{
    struct where where;
    int rc = find_where(dir, rank, name, &where, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_unlink(fs, where.mark, err);
    for (int i = 0; rc == 0 && i < COPIES; i++)
        rc = vel_fs_unlink(fs, where.copies[i], err);
    where_fini(&where);
    return rc;
}
