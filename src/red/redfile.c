/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/log.h"
#include "base/path.h"
#include "red/redfile.h"
#include "sys/host.h"

enum { PIECE = 1 << 20 };

static int read_header(struct vel_fs *fs, int fd, const char *path,
                       struct vel_buf *bytes, uint64_t file_size,
                       struct vel_red_header *ret, struct vel_err *err)
{
    uint8_t prefix[VEL_RED_PREFIX];
    uint64_t size, payload;
    int rc;

    if (file_size < sizeof prefix)
        return vel_fail(err, VEL_ECORRUPT, "cut short");
    rc = vel_fs_read_at(fs, fd, prefix, sizeof prefix, 0, path, err);
    if (rc == 0)
        rc = vel_red_header_peek(prefix, sizeof prefix, &size, &payload, err);
    if (rc < 0)
        return rc;
    if (size > file_size)
        return vel_fail(err, VEL_ECORRUPT, "cut short");
    if (vel_buf_reserve(bytes, size) < 0)
        return vel_out_of_memory(err, path);
    rc = vel_fs_read_at(fs, fd, bytes->data, size, 0, path, err);
    return rc < 0 ? rc : vel_red_header_decode(bytes->data, size, file_size, ret, err);
}

static int load(struct vel_fs *fs, const char *path, struct vel_red_header *ret,
                struct vel_err *err)
{
    struct vel_buf bytes;
    struct stat st;
    int fd, rc;

    vel_buf_init(&bytes);
    rc = vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc < 0)
        return rc;
    rc = fs->ops->fstat(fs, fd, &st);
    if (rc < 0)
        rc = vel_fail_errno(err, -rc, "%s", path);
    else if (!S_ISREG(st.st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s: not a regular file", path);
    else
        rc = read_header(fs, fd, path, &bytes, (uint64_t)st.st_size, ret, err);
    vel_fs_close(fs, fd, path, NULL);
    vel_buf_fini(&bytes);
    return rc;
}

static void redfile_fini(struct vel_redfile *redfile)
{
    free(redfile->path);
    vel_red_header_fini(&redfile->header);
}

void vel_redfiles_fini(struct vel_vec *redfiles)
{
    for (size_t i = 0; i < redfiles->n; i++)
        redfile_fini(vel_redfile_at(redfiles, i));
    vel_vec_fini(redfiles);
}

static int newest_first(const void *a, const void *b)
{
    const struct vel_red_header *x = &((const struct vel_redfile *)a)->header;
    const struct vel_red_header *y = &((const struct vel_redfile *)b)->header;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? 1 : -1;
    return memcmp(x->id, y->id, sizeof x->id);
}

static int add_one(struct vel_fs *fs, const char *dir, const char *name,
                   struct vel_vec *ret, struct vel_err *err)
{
    struct vel_redfile redfile = {.path = vel_path_join(dir, name)};
    struct vel_err why = {0};

    if (!redfile.path)
        return vel_out_of_memory(err, name);
    int rc = load(fs, redfile.path, &redfile.header, &why);
    if (rc < 0) {
        if (rc != VEL_ENOENT) /* it was removed just now */
            vel_log(VEL_LOG_WARN, "%s: %s; it counts as lost", redfile.path, why.text);
        free(redfile.path);
        return rc == VEL_ENOMEM ? vel_out_of_memory(err, name) : 0;
    }
    if (!vel_vec_push(ret, &redfile)) {
        redfile_fini(&redfile);
        return vel_out_of_memory(err, name);
    }
    return 0;
}

static bool has_label(const char *name, const char *label)
{
    size_t len = strlen(label);

    return strncmp(name, label, len) == 0 && name[len] == '.';
}

static int scan(struct vel_fs *fs, const char *dir, const char *label,
                struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(ret, sizeof(struct vel_redfile));
    rc = vel_fs_list(fs, dir, &names, err);
    if (rc == VEL_ENOENT)
        return 0;
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        if (vel_red_is_file_name(name) && (!label || has_label(name, label)))
            rc = add_one(fs, dir, name, ret, err);
    }
    vel_fs_names_fini(&names);
    if (rc < 0)
        vel_redfiles_fini(ret);
    else
        vel_vec_sort(ret, newest_first);
    return rc;
}

/* A label may begin like another one: of this rank and label is what has just the name
 * that follows from its header. */
static int check_owner(const struct vel_redfile *redfile, const char *label,
                       uint32_t rank, bool *ret_is_own, struct vel_err *err)
{
    char *name = vel_red_file_name(&redfile->header, label);

    if (!name)
        return vel_out_of_memory(err, redfile->path);
    *ret_is_own = redfile->header.list[0].rank == rank &&
                  strcmp(name, vel_path_base(redfile->path)) == 0;
    free(name);
    return 0;
}

int vel_redfile_scan(struct vel_fs *fs, const char *dir, const char *label,
                     uint32_t rank, struct vel_vec *ret, struct vel_err *err)
{
    int rc = scan(fs, dir, label, ret, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < ret->n;) {
        struct vel_redfile *redfile = vel_redfile_at(ret, i);
        bool is_own = false;

        rc = check_owner(redfile, label, rank, &is_own, err);
        if (is_own) {
            i++;
            continue;
        }
        redfile_fini(redfile);
        vel_vec_remove(ret, i);
    }
    if (rc < 0)
        vel_redfiles_fini(ret);
    return rc;
}

int vel_redfile_scan_all(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                         struct vel_err *err)
{
    return scan(fs, dir, NULL, ret, err);
}

const struct vel_redfile *vel_redfile_find(const struct vel_vec *redfiles,
                                           const uint8_t id[VEL_ENCODING_ID])
{
    for (size_t i = 0; i < redfiles->n; i++)
        if (memcmp(vel_redfile_at(redfiles, i)->header.id, id, VEL_ENCODING_ID) == 0)
            return vel_redfile_at(redfiles, i);
    return NULL;
}

/* Called for each file of a list, with its path. */
typedef int file_f(struct vel_fs *fs, const char *path, const struct vel_red_file *file,
                   struct vel_err *err);

static int each_file(struct vel_fs *fs, const char *dir,
                     const struct vel_red_header *header, file_f *each,
                     struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < header->list[0].files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(&header->list[0], i);
        char *path = vel_path_join(dir, file->name);

        rc = path ? each(fs, path, file, err) : vel_out_of_memory(err, file->name);
        free(path);
    }
    return rc;
}

static int check_file(struct vel_fs *fs, const char *path,
                      const struct vel_red_file *file, struct vel_err *err)
{
    struct stat st;
    int rc = fs->ops->lstat(fs, path, &st);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "%s", path);
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != file->size)
        return vel_fail(err, VEL_ECORRUPT, "%s: %lld bytes where %llu were protected",
                        path, (long long)st.st_size, (unsigned long long)file->size);
    if (file->is_dated && (st.st_mtim.tv_sec != file->mtime_s ||
                           st.st_mtim.tv_nsec != (long)file->mtime_ns))
        return vel_fail(err, VEL_ECORRUPT,
                        "%s was written to after it was complete, before its "
                        "checksum was taken",
                        path);
    return 0;
}

static int sum_up(struct vel_fs *fs, int fd, const char *path, uint64_t size,
                  uint32_t *ret_crc, struct vel_err *err)
{
    uint8_t *bytes = malloc(PIECE);
    uint32_t crc = 0;
    int rc = bytes ? 0 : vel_out_of_memory(err, path);

    for (uint64_t at = 0; rc == 0 && at < size;) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

        rc = vel_fs_read_at(fs, fd, bytes, n, (off_t)at, path, err);
        crc = rc == 0 ? vel_crc32c(crc, bytes, n) : crc;
        at += n;
    }
    free(bytes);
    *ret_crc = crc;
    return rc;
}

static int check_bytes(struct vel_fs *fs, const char *path,
                       const struct vel_red_file *file, struct vel_err *err)
{
    uint32_t crc = 0;
    int fd, rc = vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);

    if (rc < 0)
        return rc;
    rc = sum_up(fs, fd, path, file->size, &crc, err);
    vel_fs_close(fs, fd, path, NULL);
    if (rc == 0 && (file->is_dated || crc != file->crc))
        rc = vel_fail(err, VEL_ECORRUPT,
                      "%s has other bytes than were protected: it may not have been on "
                      "the disk yet when its machine stopped",
                      path);
    return rc;
}

int vel_redfile_check_files(struct vel_fs *fs, const char *dir,
                            const struct vel_red_header *header, struct vel_err *err)
{
    int rc = each_file(fs, dir, header, check_file, err);

    return rc == 0 && header->boot && header->boot != (uint64_t)vel_host_boot_number(fs)
               ? each_file(fs, dir, header, check_bytes, err)
               : rc;
}

static int sync_one(struct vel_fs *fs, const char *path,
                    const struct vel_red_file *file, struct vel_err *err)
{
    int fd, rc = vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);

    (void)file;
    if (rc < 0)
        return rc;
    rc = vel_fs_sync(fs, fd, path, err);
    vel_fs_close(fs, fd, path, NULL);
    return rc < 0 ? rc : vel_fs_sync_parent(fs, path, err);
}

int vel_redfile_sync_files(struct vel_fs *fs, const char *dir,
                           const struct vel_red_header *header, struct vel_err *err)
{
    char *above = vel_path_dir(dir);
    int rc =
        above ? each_file(fs, dir, header, sync_one, err) : vel_out_of_memory(err, dir);

    if (rc == 0)
        rc = vel_fs_sync_dir(fs, above, err);
    if (rc == 0)
        rc = vel_fs_sync_parent(fs, above, err);
    free(above);
    return rc;
}

int vel_redfile_seal(struct vel_member *member, const struct vel_red_header *header,
                     struct vel_err *err)
{
    struct vel_fs *fs = member->fs;
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = vel_red_header_encode(header, &bytes, err);
    if (rc == 0)
        rc = vel_fs_write_at(fs, member->payload_fd, bytes.data, bytes.len, 0,
                             member->payload_path, err);
    if (rc == 0) {
        /* a payload that ends in bytes nobody wrote has its size all the same */
        rc = fs->ops->truncate(fs, member->payload_fd,
                               (off_t)(member->payload_begin + member->payload_size));
        if (rc == 0 && !header->boot)
            rc = fs->ops->fsync(fs, member->payload_fd);
        if (rc < 0)
            rc = vel_fail_errno(err, -rc, "%s: writing it to disk",
                                member->payload_path);
    }
    if (rc == 0) {
        rc = vel_fs_close(fs, member->payload_fd, member->payload_path, err);
        member->payload_fd = -1;
    }
    vel_buf_fini(&bytes);
    return rc;
}

char *vel_red_temporary(const char *dir, const char *name)
{
    char *path = vel_path_join(dir, name);
    char *temporary = NULL;
    size_t len;
    struct vel_buf buf;

    if (path) {
        vel_buf_init(&buf);
        vel_buf_puts(&buf, path);
        vel_buf_puts(&buf, VEL_RED_TEMPORARY);
        temporary = vel_buf_take(&buf, &len);
    }
    free(path);
    return temporary;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len > n && strcmp(text + len - n, end) == 0;
}

/* Is this text SCHEME.grp_..., and not the rest of a longer label? */
static bool is_tail(const char *text)
{
    const char *dot = strchr(text, '.');
    char scheme[16];

    if (!dot || (size_t)(dot - text) >= sizeof scheme || strncmp(dot, ".grp_", 5) != 0)
        return false;
    snprintf(scheme, sizeof scheme, "%.*s", (int)(dot - text), text);
    enum vel_scheme ignored;
    return vel_scheme_parse(scheme, &ignored, NULL) == 0;
}

void vel_redfile_sweep(struct vel_fs *fs, const char *dir, const char *label,
                       uint32_t rank)
{
    struct vel_vec names;
    char begin[256];

    snprintf(begin, sizeof begin, "%s.%" PRIu32 ".", label, rank);
    if (vel_fs_list(fs, dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *path;

        if (strncmp(name, begin, strlen(begin)) != 0 ||
            !is_tail(name + strlen(begin)) ||
            !ends_with(name, VEL_RED_SUFFIX VEL_RED_TEMPORARY))
            continue;
        path = vel_path_join(dir, name);
        if (path)
            vel_fs_unlink(fs, path, NULL);
        free(path);
    }
    vel_fs_names_fini(&names);
}
