/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "ident/once.h"
#include "record/record.h"
#include "sys/entropy.h"

static const char suffix[] = ".h5v-tmp"; /* vel_fs_is_temporary() knows it */

enum {
    MAKER = 16, /* hex digits of the random number in a temporary name */
    TAIL = 1 + MAKER + (int)sizeof suffix - 1,
    ROUNDS = 8, /* each means that a sweep took the temporary away */
};

/* --- a file, once --- */

static int random_hex(char ret[MAKER + 1], struct vel_err *err)
{
    uint64_t number;
    int rc = vel_entropy(&number, sizeof number, err);

    if (rc == 0)
        snprintf(ret, MAKER + 1, "%016" PRIx64, number);
    return rc;
}

/* "DIR/.NAME.RANDOM.h5v-tmp" */
static int temporary_path(const char *path, struct vel_buf *ret, struct vel_err *err)
{
    const char *base = vel_path_base(path);
    char random[MAKER + 1];
    int rc = random_hex(random, err);

    if (rc < 0)
        return rc;
    vel_buf_append(ret, path, (size_t)(base - path));
    vel_buf_printf(ret, ".%s.%s%s", base, random, suffix);
    return vel_buf_status(ret, err);
}

static int write_temporary(struct vel_fs *fs, const char *path, const void *bytes,
                           size_t len, struct vel_err *err)
{
    int fd = -1, rc;

    rc =
        vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &fd, err);
    if (rc < 0)
        return rc;
    rc = fs->ops->set_mode(fs, fd, 0600); /* whatever the umask is */
    if (rc < 0)
        rc = vel_fail_errno(err, -rc, "cannot set the mode of %s", path);
    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, bytes, len, 0, path, err);
    if (rc == 0)
        rc = vel_fs_sync(fs, fd, path, err);
    int closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

/* 1: these bytes are there, 0: others are, VEL_ENOENT: none. */
static int is_there(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                    struct vel_err *err)
{
    struct vel_buf found;
    int rc;

    vel_buf_init(&found);
    rc = vel_fs_read_file(fs, path, len, &found, err);
    if (rc == 0)
        rc = found.len == len && memcmp(found.data, bytes, len) == 0;
    else if (rc == VEL_ECORRUPT || rc == VEL_EINVAL)
        rc = 0; /* longer, or no file: another's in any case */
    vel_buf_fini(&found);
    return rc;
}

/* The answer of link(2) may be lost and the question repeated by the system, as NFS
 * does: whatever it said, what is there decides. */
static int settle(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                  int linked, bool *ret_is_mine, struct vel_err *err)
{
    int rc = linked == 0 ? 1 : is_there(fs, path, bytes, len, err);

    if (rc >= 0) {
        *ret_is_mine = rc == 1;
        return 0;
    }
    if (rc != VEL_ENOENT)
        return rc;
    if (linked == -EPERM || linked == -EOPNOTSUPP || linked == -ENOSYS ||
        linked == -EMLINK)
        return vel_fail(err, VEL_EUNSUP,
                        "cannot make %s: its file system has no hard links, which "
                        "MODE=ASYNC and MODE=AGENT need: use MODE=SYNC",
                        path);
    return vel_fail_errno(err, -linked, "cannot make %s", path);
}

static int attempt(struct vel_fs *fs, const char *temporary, const char *path,
                   const void *bytes, size_t len, bool *ret_is_mine,
                   bool *ret_was_swept, struct vel_err *err)
{
    int rc = write_temporary(fs, temporary, bytes, len, err);

    if (rc == 0) {
        int linked = fs->ops->link(fs, temporary, path);

        rc = settle(fs, path, bytes, len, linked, ret_is_mine, err);
        *ret_was_swept = rc == VEL_ENOENT && !vel_fs_exists(fs, temporary);
    }
    /* also another's: who acts on it must find it after a loss of power */
    if (rc == 0)
        rc = vel_fs_sync_parent(fs, path, err);
    vel_fs_unlink(fs, temporary, NULL); /* it is decided; a sweep will do as well */
    return rc;
}

int vel_once_bytes(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                   bool *ret_is_mine, struct vel_err *err)
{
    bool is_mine = false, was_swept = true;
    int rc = 0;

    for (int round = 0; round < ROUNDS && was_swept; round++) {
        struct vel_buf temporary;

        was_swept = false;
        vel_buf_init(&temporary);
        rc = temporary_path(path, &temporary, err);
        if (rc == 0)
            rc = attempt(fs, temporary.data, path, bytes, len, &is_mine, &was_swept,
                         err);
        vel_buf_fini(&temporary);
    }
    if (rc == 0)
        *ret_is_mine = is_mine;
    return rc;
}

int vel_once(struct vel_fs *fs, const char *path, const char *type, int version,
             const struct vel_node *record, bool *ret_is_mine, struct vel_err *err)
{
    struct vel_node *body = vel_node_copy(record);
    struct vel_buf bytes;
    char maker[MAKER + 1];
    int rc;

    vel_buf_init(&bytes);
    rc = body ? random_hex(maker, err) : vel_out_of_memory(err, path);
    if (rc == 0 && vel_node_set_text(body, "maker", maker) < 0)
        rc = vel_out_of_memory(err, path);
    if (rc == 0)
        rc = vel_record_encode(type, version, body, &bytes, err);
    if (rc == 0)
        rc = vel_once_bytes(fs, path, bytes.data, bytes.len, ret_is_mine, err);
    vel_buf_fini(&bytes);
    vel_node_destroy(body);
    return rc;
}

/* --- claims --- */

static char *claim_path(const char *dir, const char *name, int64_t k)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s.%" PRId64, dir, name, k);
    return vel_buf_take(&path, NULL);
}

/* K of "NAME.K" as we write it, else 0. */
static int64_t claim_number(const char *entry, const char *name)
{
    size_t len = strlen(name);
    int64_t k = 0;

    if (strncmp(entry, name, len) != 0 || entry[len] != '.')
        return 0;
    const char *digit = entry + len + 1;
    if (*digit == '0')
        return 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (k > (INT64_MAX - 9) / 10)
            return 0;
        k = k * 10 + (*digit - '0');
    }
    return *digit == '\0' ? k : 0;
}

int vel_claim_newest(struct vel_fs *fs, const char *dir, const char *name,
                     int64_t *ret_k, struct vel_err *err)
{
    struct vel_vec names;
    int64_t newest = 0;
    int rc;

    rc = vel_fs_list(fs, dir, &names, err);
    if (rc == VEL_ENOENT) {
        *ret_k = 0;
        return 0;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < names.n; i++) {
        int64_t k = claim_number(*(char **)vel_vec_at(&names, i), name);

        if (k > newest)
            newest = k;
    }
    vel_fs_names_fini(&names);
    *ret_k = newest;
    return 0;
}

int vel_claim(struct vel_fs *fs, const char *dir, const char *name, int64_t above,
              const char *type, int version, const struct vel_node *record,
              int64_t *ret_k, struct vel_err *err)
{
    bool is_mine = false;

    if (above < 0 || above == INT64_MAX)
        return vel_fail(err, VEL_EINVAL, "a claim above %" PRId64 " of %s", above,
                        name);
    char *path = claim_path(dir, name, above + 1);
    if (!path)
        return vel_out_of_memory(err, name);
    int rc = vel_once(fs, path, type, version, record, &is_mine, err);
    if (rc == 0 && !is_mine)
        rc = vel_fail(err, VEL_EEXIST, "%s was claimed by another", path);
    if (rc == 0)
        *ret_k = above + 1;
    free(path);
    return rc;
}

int vel_claim_load(struct vel_fs *fs, const char *dir, const char *name, int64_t k,
                   const char *type, int newest, struct vel_node **ret_record,
                   struct vel_err *err)
{
    char *path = claim_path(dir, name, k);
    int version, rc;

    if (!path)
        return vel_out_of_memory(err, name);
    rc = vel_record_load(fs, path, type, newest, &version, ret_record, err);
    free(path);
    return rc;
}

/* --- what crashes leave --- */

/* The name that a temporary was for, as a new string; NULL when it is none of ours. */
static char *decided_name(const char *entry)
{
    size_t len = strlen(entry);

    if (!vel_fs_is_temporary(entry) || len <= 1 + (size_t)TAIL)
        return NULL;
    const char *tail = entry + len - TAIL;
    if (tail[0] != '.' || strspn(tail + 1, "0123456789abcdef") != MAKER)
        return NULL;
    return strndup(entry + 1, len - TAIL - 1);
}

int vel_once_sweep(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    struct vel_vec names;
    int rc = vel_fs_list(fs, dir, &names, err);

    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *entry = *(char **)vel_vec_at(&names, i);
        char *name = decided_name(entry);
        char *path = name ? vel_path_join(dir, name) : NULL;
        char *temporary = vel_path_join(dir, entry);

        if (!temporary || (name && !path))
            rc = vel_out_of_memory(err, dir);
        else if (path && vel_fs_exists(fs, path))
            rc = vel_fs_unlink(fs, temporary, err);
        free(temporary);
        free(path);
        free(name);
    }
    vel_fs_names_fini(&names);
    return rc;
}
