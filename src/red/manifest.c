/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/manifest.h"

enum { FILE_FIXED = 32, LIST_FIXED = 12 };

/* Beside the permission bits. */
#define DATED UINT32_C(0x80000000)

void vel_manifest_init(struct vel_manifest *manifest, uint32_t rank)
{
    *manifest = (struct vel_manifest){.rank = rank};
    vel_buf_init(&manifest->descriptor);
    vel_vec_init(&manifest->files, sizeof(struct vel_red_file));
}

void vel_manifest_fini(struct vel_manifest *manifest)
{
    for (size_t i = 0; i < manifest->files.n; i++)
        free(vel_manifest_file(manifest, i)->name);
    vel_vec_fini(&manifest->files);
    vel_buf_fini(&manifest->descriptor);
}

static int stat_file(struct vel_fs *fs, const char *dir, const char *name,
                     struct stat *st, struct vel_err *err)
{
    char *path = vel_path_join(dir, name);

    if (!path)
        return vel_out_of_memory(err, name);
    int rc = fs->ops->lstat(fs, path, st);
    if (rc < 0)
        rc = vel_fail_errno(err, -rc, "%s", path);
    else if (!S_ISREG(st->st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s: not a regular file", path);
    free(path);
    return rc;
}

static int push_file(struct vel_manifest *manifest, const struct vel_red_file *file,
                     const char *name, size_t name_len, struct vel_err *err)
{
    struct vel_red_file *at = vel_vec_push(&manifest->files, file);

    if (!at)
        return vel_out_of_memory(err, "listing files");
    at->name = strndup(name, name_len);
    if (!at->name) {
        manifest->files.n--;
        return vel_out_of_memory(err, "listing files");
    }
    manifest->total += file->size;
    return 0;
}

int vel_manifest_add(struct vel_manifest *manifest, struct vel_fs *fs, const char *dir,
                     const char *name, struct vel_err *err)
{
    struct stat st;
    int rc;

    if (!vel_path_is_inner(name))
        return vel_fail(
            err, VEL_EINVAL,
            "'%s': a protected file has a name relative to its directory, without .. "
            "in it",
            name);
    if (manifest->files.n == VEL_MANIFEST_FILES_MAX)
        return vel_fail(err, VEL_EINVAL,
                        "%s: more than %d files cannot be protected together", name,
                        VEL_MANIFEST_FILES_MAX);
    rc = stat_file(fs, dir, name, &st, err);
    if (rc < 0)
        return rc;
    struct vel_red_file file = {
        .size = (uint64_t)st.st_size,
        .mtime_s = st.st_mtim.tv_sec,
        .mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
        .mode = st.st_mode & 07777,
    };
    return push_file(manifest, &file, name, strlen(name), err);
}

size_t vel_manifest_encoded_size(const struct vel_manifest *manifest)
{
    size_t size = LIST_FIXED + manifest->descriptor.len;

    for (size_t i = 0; i < manifest->files.n; i++)
        size += FILE_FIXED + strlen(vel_manifest_file(manifest, i)->name);
    return size;
}

void vel_manifest_encode(const struct vel_manifest *manifest, struct vel_le_writer *w)
{
    vel_le_put32(w, manifest->rank);
    vel_le_put32(w, (uint32_t)manifest->descriptor.len);
    vel_le_put32(w, (uint32_t)manifest->files.n);
    vel_le_put_bytes(w, manifest->descriptor.data, manifest->descriptor.len);
    for (size_t i = 0; i < manifest->files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(manifest, i);
        size_t len = strlen(file->name);

        vel_le_put64(w, file->size);
        vel_le_put64(w, (uint64_t)file->mtime_s);
        vel_le_put32(w, file->mtime_ns);
        vel_le_put32(w, file->mode | (file->is_dated ? DATED : 0));
        vel_le_put32(w, file->crc);
        vel_le_put32(w, (uint32_t)len);
        vel_le_put_bytes(w, file->name, len);
    }
}

static int decode_file(struct vel_le_reader *r, struct vel_manifest *manifest,
                       struct vel_err *err)
{
    struct vel_red_file file = {
        .size = vel_le_get64(r),
        .mtime_s = (int64_t)vel_le_get64(r),
        .mtime_ns = vel_le_get32(r),
        .mode = vel_le_get32(r),
        .crc = vel_le_get32(r),
    };
    file.is_dated = file.mode & DATED;
    file.mode &= ~DATED;
    size_t len = vel_le_get32(r);
    const char *bytes = vel_le_get_bytes(r, len);

    if (!bytes || len == 0 || len >= VEL_PATH_MAX)
        return vel_fail(err, VEL_ECORRUPT, "a list of files is cut short");
    if (file.mtime_ns > 999999999 || file.mode > 07777 ||
        file.size > (uint64_t)INT64_MAX - manifest->total)
        return vel_fail(err, VEL_ECORRUPT, "a list of files has impossible numbers");
    char name[VEL_PATH_MAX];
    memcpy(name, bytes, len);
    name[len] = '\0';
    if (memchr(bytes, '\0', len) || !vel_path_is_inner(name))
        return vel_fail(err, VEL_ECORRUPT,
                        "a list of files has a name that leaves its directory");
    return push_file(manifest, &file, name, len, err);
}

int vel_manifest_decode(struct vel_le_reader *r, struct vel_manifest *ret,
                        struct vel_err *err)
{
    struct vel_manifest manifest;
    int rc = 0;

    vel_manifest_init(&manifest, vel_le_get32(r));
    size_t descriptor_len = vel_le_get32(r);
    size_t files = vel_le_get32(r);
    if (descriptor_len > VEL_DESCRIPTOR_MAX || files > VEL_MANIFEST_FILES_MAX)
        rc = vel_fail(err, VEL_ECORRUPT, "a list of files has impossible numbers");
    const void *descriptor = rc == 0 ? vel_le_get_bytes(r, descriptor_len) : NULL;
    if (rc == 0 && !descriptor)
        rc = vel_fail(err, VEL_ECORRUPT, "a list of files is cut short");
    if (rc == 0) {
        vel_buf_append(&manifest.descriptor, descriptor, descriptor_len);
        rc = vel_buf_status(&manifest.descriptor, err);
    }
    for (size_t i = 0; rc == 0 && i < files; i++)
        rc = decode_file(r, &manifest, err);
    if (rc < 0)
        vel_manifest_fini(&manifest);
    else
        *ret = manifest;
    return rc;
}

int vel_manifest_copy(const struct vel_manifest *manifest, struct vel_manifest *ret,
                      struct vel_err *err)
{
    size_t len = vel_manifest_encoded_size(manifest);
    uint8_t *bytes = malloc(len);
    struct vel_le_writer w;
    struct vel_le_reader r;

    if (!bytes)
        return vel_out_of_memory(err, "copying a list of files");
    vel_le_write_init(&w, bytes, len);
    vel_manifest_encode(manifest, &w);
    vel_le_read_init(&r, bytes, len);
    int rc = vel_manifest_decode(&r, ret, err);
    free(bytes);
    return rc;
}
