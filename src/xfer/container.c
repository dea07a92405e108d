/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/crc.h"
#include "base/path.h"
#include "meta/paths.h"
#include "xfer/container.h"
#include "xfer/copy_in.h"

int vel_container_plan(struct vel_vec *files, uint64_t container_size, int list,
                       int lists, struct vel_err *err)
{
    struct vel_flush_file *f = files->items;
    uint64_t at = 0;

    for (size_t i = 0; i < files->n; i++) {
        uint64_t number = at / container_size;

        if (f[i].listed.is_through)
            continue;
        if (number > (uint64_t)(INT32_MAX - list) / (uint64_t)lists)
            return vel_fail(err, VEL_EUNSUP,
                            "there are no numbers for so many containers: make "
                            "CONTAINER_SIZE, which is %llu, larger",
                            (unsigned long long)container_size);
        f[i].listed.container = (int)number * lists + list;
        f[i].listed.offset = at % container_size;
        at += f[i].listed.size;
    }
    return 0;
}

bool vel_container_ends(const struct vel_listed *file, int *last)
{
    if (file->container < 0)
        return true;
    if (file->container == *last)
        return false;
    *last = file->container;
    return true;
}

/* One end of a copy; nothing is written where there is no other. */
struct end {
    const char *path;
    int fd;
    uint64_t at;
    uint64_t hastened; /* bytes that are on their way to the disk */
};

static int copy_bytes(const struct vel_crew *crew, const struct end *from,
                      struct end *to, const struct vel_listed *file,
                      struct vel_err *err)
{
    const struct vel_copy_how *how = &crew->copy;
    struct vel_copy_run run = {
        .how = how, .to = to ? to->fd : -1, .hastened = to ? to->hastened : 0};
    size_t chunk = how->chunk ? how->chunk : 1 << 20;
    char *bytes = malloc(chunk);
    uint32_t crc = 0;
    int rc = bytes ? 0 : vel_out_of_memory(err, "copying a file");

    for (uint64_t at = 0; rc == 0 && at < file->size;) {
        size_t len = file->size - at < chunk ? (size_t)(file->size - at) : chunk;
        uint64_t begun;

        rc = vel_copy_ask(how, len, err);
        if (rc == 0)
            rc = vel_fs_read_at(how->fs, from->fd, bytes, len, (off_t)(from->at + at),
                                from->path, err);
        if (rc < 0)
            break;
        crc = vel_crc32c(crc, bytes, len);
        begun = vel_copy_now(&run);
        if (to)
            rc = vel_fs_write_at(how->fs, to->fd, bytes, len, (off_t)(to->at + at),
                                 to->path, err);
        at += len;
        if (rc == 0)
            rc = vel_copy_told(&run, len, err);
        if (rc == 0 && to)
            rc = vel_copy_rest(&run, begun, err);
        if (rc == 0 && to)
            vel_copy_hasten(&run, to->at + at);
    }
    if (to)
        to->hastened = run.hastened;
    free(bytes);
    if (rc == 0 && crew->checks_crc && crc != file->crc)
        rc = vel_fail(err, VEL_ECORRUPT, "%s: its checksum is %08x, recorded is %08x",
                      from->path, crc, file->crc);
    return rc;
}

static int set_metadata(const struct vel_crew *crew, const struct end *to,
                        const struct vel_listed *file, struct vel_err *err)
{
    const struct timespec mtime = {.tv_sec = file->mtime_s, .tv_nsec = file->mtime_ns};
    const struct timespec times[2] = {mtime, mtime};
    int rc;

    if (!crew->copy.keeps_metadata)
        return 0;
    rc = crew->fs->ops->set_mode(crew->fs, to->fd, file->mode);
    if (rc == 0)
        rc = crew->fs->ops->set_times(crew->fs, to->fd, times);
    return rc < 0 ? vel_fail_errno(err, -rc, "setting mode and times of %s", to->path)
                  : 0;
}

static int copy_between(const struct vel_crew *crew, struct end *from, struct end *to,
                        int flags, const struct vel_listed *file, struct vel_err *err)
{
    struct vel_fs *fs = crew->fs;
    int rc, rc2;

    from->fd = to->fd = -1;
    rc = vel_fs_open(fs, from->path, O_RDONLY | O_NOFOLLOW, 0, &from->fd, err);
    if (rc == 0)
        rc = vel_fs_open(fs, to->path, O_WRONLY | O_NOFOLLOW | flags, file->mode | 0600,
                         &to->fd, err);
    if (rc == 0)
        rc = copy_bytes(crew, from, to, file, err);
    if (rc == 0)
        rc = vel_fs_sync(fs, to->fd, to->path, err);
    if (rc == 0 && (flags & O_CREAT))
        rc = set_metadata(crew, to, file, err);
    vel_fs_close(fs, from->fd, from->path, NULL);
    rc2 = vel_fs_close(fs, to->fd, to->path, rc < 0 ? NULL : err);
    return rc < 0 ? rc : rc2;
}

int vel_container_put(const struct vel_crew *crew, int64_t id, const char *from,
                      struct vel_listed *file, struct vel_err *err)
{
    char *path = vel_container_path(crew->dir, id, file->container);
    struct end in = {.path = from},
               out = {.path = path, .at = file->offset, .hastened = file->offset};
    int rc = path ? copy_between(crew, &in, &out, 0, file, err)
                  : vel_out_of_memory(err, "containers");

    free(path);
    return rc;
}

/* A file of the cache, behind those before it. */
static int append(const struct vel_crew *crew, struct end *to,
                  const struct vel_flush_file *file, struct vel_err *err)
{
    struct end from = {.path = file->from};
    struct stat st;
    int rc = vel_fs_open(crew->fs, from.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0,
                         &from.fd, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_stat(crew->fs, from.fd, from.path, &st, err);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s is no regular file", from.path);
    if (rc == 0 && (uint64_t)st.st_size != file->listed.size)
        rc = vel_fail(err, VEL_ECORRUPT, "%s has %lld bytes, recorded are %llu",
                      from.path, (long long)st.st_size,
                      (unsigned long long)file->listed.size);
    to->at = file->listed.offset;
    if (rc == 0)
        rc = copy_bytes(crew, &from, to, &file->listed, err);
    vel_fs_close(crew->fs, from.fd, from.path, NULL);
    return rc;
}

int vel_container_fill(const struct vel_crew *crew, const char *to,
                       const struct vel_flush_file *files, size_t n,
                       struct vel_err *err)
{
    const struct vel_copy_run run = {.how = &crew->copy};
    struct end end = {.path = to};
    uint64_t begun;
    int rc = vel_fs_unlink(crew->fs, to, err); /* what a crash left behind */

    if (rc == 0)
        rc = vel_fs_open(crew->fs, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                         &end.fd, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (files[i].listed.container == files[n - 1].listed.container)
            rc = append(crew, &end, &files[i], err);
    begun = vel_copy_now(&run);
    if (rc == 0)
        rc = vel_fs_sync(crew->fs, end.fd, to, err);
    if (rc == 0)
        rc = vel_copy_rest(&run, begun, err);
    int closed = vel_fs_close(crew->fs, end.fd, to, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

/* An empty file needs nothing, wherever it is said to lie. */
int vel_container_stands(const struct vel_crew *crew, const char *path,
                         const struct vel_listed *last, struct vel_err *err)
{
    uint64_t least = last->size > 0 ? last->offset + last->size : 0;
    struct stat st;
    int rc = vel_fs_lstat(crew->fs, path, &st, err);

    if (rc == 0 && (uint64_t)st.st_size < least)
        rc = vel_fail(err, VEL_ECORRUPT, "%s has %lld bytes, its files need %llu", path,
                      (long long)st.st_size, (unsigned long long)least);
    return rc;
}

int vel_container_get(const struct vel_crew *crew, int64_t id,
                      const struct vel_listed *file, const char *to,
                      struct vel_err *err)
{
    char *path = vel_container_path(crew->dir, id, file->container);
    char *parent = vel_path_dir(to);
    struct end in = {.path = path, .at = file->offset}, out = {.path = to};
    int rc;

    if (!path || !parent)
        rc = vel_out_of_memory(err, "containers");
    else
        rc = vel_fs_make_dirs(crew->fs, parent, 0700, err);
    if (rc == 0)
        rc = copy_between(crew, &in, &out, O_CREAT | O_EXCL, file, err);
    free(parent);
    free(path);
    return rc;
}

int vel_container_check(const struct vel_crew *crew, int64_t id,
                        const struct vel_listed *file, struct vel_err *err)
{
    char *path = vel_container_path(crew->dir, id, file->container);
    struct end in = {.path = path, .at = file->offset, .fd = -1};
    int rc = path ? vel_fs_open(crew->fs, path, O_RDONLY | O_NOFOLLOW, 0, &in.fd, err)
                  : vel_out_of_memory(err, "containers");

    if (rc == 0)
        rc = copy_bytes(crew, &in, NULL, file, err);
    vel_fs_close(crew->fs, in.fd, path, NULL);
    free(path);
    return rc;
}
