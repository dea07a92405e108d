/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "jobs/stub.h"
#include "sys/entropy.h"

/* The signature of HDF5, for programs that look for it before they open a file; then a
 * version of the superblock that there is not: no library takes it for a file without
 * anything in it. */
#define HEAD "\211HDF\r\n\032\n\377\n" VEL_STUB_LINE "launch "
#define MARK "\nmark "
#define REST                                                                           \
    "\nThe file of this name is written, but not in this place yet: h5veloc keeps "    \
    "it in the caches of\nthe nodes that wrote it and will put it here. Programs "     \
    "with HDF5_VOL_CONNECTOR=veloc read it\nalready. h5veloc-ls tells more.\n"

enum { MARK_DIGITS = 16 };

static void put_text(const struct vel_stub *stub, struct vel_buf *ret)
{
    vel_buf_printf(ret, HEAD "%s" MARK "%016" PRIx64 REST, stub->launch, stub->mark);
}

static int write_new(struct vel_fs *fs, const char *path, mode_t mode,
                     const struct vel_buf *text, struct vel_err *err)
{
    int fd, closed;
    int rc =
        vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &fd, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_write_at(fs, fd, text->data, text->len, 0, path, err);
    if (rc == 0 && mode) /* what the file system refuses is nothing to fail for */
        fs->ops->set_mode(fs, fd, mode);
    closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    rc = rc < 0 ? rc : closed;
    if (rc < 0)
        vel_fs_unlink(fs, path, NULL);
    return rc;
}

static int write_linked(struct vel_fs *fs, const char *path, const char *draft,
                        mode_t mode, const struct vel_buf *text)
{
    int rc = write_new(fs, draft, mode, text, NULL);

    if (rc < 0)
        return rc;
    rc = vel_fs_link(fs, draft, path, NULL);
    vel_fs_unlink(fs, draft, NULL);
    return rc;
}

/* A new one of that launch, and its text. */
static int begin(const char *launch, struct vel_stub *ret, struct vel_buf *ret_text,
                 struct vel_err *err)
{
    int rc;

    *ret = (struct vel_stub){0};
    if (strlen(launch) > VEL_STUB_LAUNCH || strchr(launch, '\n'))
        return vel_fail(err, VEL_EINVAL, "'%s' is no name of a launch", launch);
    memcpy(ret->launch, launch, strlen(launch));
    rc = vel_entropy(&ret->mark, sizeof ret->mark, err);
    if (rc < 0)
        return rc;
    put_text(ret, ret_text);
    return vel_buf_status(ret_text, err);
}

int vel_stub_make(struct vel_fs *fs, const char *path,
                  const struct vel_stub_maker *maker, struct vel_stub *ret,
                  struct vel_err *err)
{
    struct vel_stub stub;
    struct vel_buf text, draft;
    int rc;

    vel_buf_init(&text);
    vel_buf_init(&draft);
    rc = begin(maker->launch, &stub, &text, err);
    if (rc == 0 && maker->drafts)
        vel_buf_printf(&draft, "%s/.stub.%016" PRIx64 ".h5v-tmp", maker->drafts,
                       stub.mark);
    if (rc == 0)
        rc = vel_buf_status(&draft, err);
    if (rc == 0 &&
        (!maker->drafts || write_linked(fs, path, draft.data, maker->mode, &text) < 0))
        rc = write_new(fs, path, maker->mode, &text,
                       err); /* says what is wrong, if anything */
    vel_buf_fini(&draft);
    vel_buf_fini(&text);
    if (rc == 0)
        *ret = stub;
    return rc;
}

int vel_stub_fill(struct vel_fs *fs, const char *path, const char *launch)
{
    struct vel_stub stub;
    struct vel_buf text;
    struct stat st;
    int fd, closed, rc = vel_fs_open(fs, path, O_WRONLY | O_NOFOLLOW, 0, &fd, NULL);

    if (rc < 0)
        return rc;
    vel_buf_init(&text);
    rc = vel_fs_stat(fs, fd, path, &st, NULL);
    if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0))
        rc = VEL_EINVAL;
    if (rc == 0)
        rc = begin(launch, &stub, &text, NULL);
    if (rc == 0) {
        rc = vel_fs_write_at(fs, fd, text.data, text.len, 0, path, NULL);
        if (rc < 0) /* not half of one */
            vel_fs_truncate(fs, fd, 0, path, NULL);
    }
    closed = vel_fs_close(fs, fd, path, NULL);
    vel_buf_fini(&text);
    return rc < 0 ? rc : closed;
}

/* Just what put_text() writes: a stub that someone has added a line to is a file of
 * his. */
static bool parse(const struct vel_buf *bytes, struct vel_stub *ret)
{
    const char *text = vel_buf_text(bytes), *launch, *end;
    struct vel_stub stub = {0};
    struct vel_buf same;
    uint8_t mark[MARK_DIGITS / 2];
    char digits[MARK_DIGITS + 1] = {0};
    bool is_same;

    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return false;
    launch = text + strlen(HEAD);
    end = strchr(launch, '\n');
    if (!end || end - launch > VEL_STUB_LAUNCH || strncmp(end, MARK, strlen(MARK)) != 0)
        return false;
    memcpy(stub.launch, launch, (size_t)(end - launch));
    strncpy(digits, end + strlen(MARK), MARK_DIGITS);
    if (!vel_unhex(digits, mark, sizeof mark))
        return false;
    for (size_t i = 0; i < sizeof mark; i++)
        stub.mark = stub.mark << 8 | mark[i];
    vel_buf_init(&same);
    put_text(&stub, &same);
    is_same = same.len == bytes->len && memcmp(same.data, bytes->data, same.len) == 0;
    vel_buf_fini(&same);
    if (is_same)
        *ret = stub;
    return is_same;
}

int vel_stub_read(struct vel_fs *fs, const char *path, struct vel_stub *ret,
                  struct vel_err *err)
{
    struct vel_buf bytes;
    struct stat st;
    int rc = vel_fs_lstat(fs, path, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode) || st.st_size > VEL_STUB_MOST)
        return vel_fail(err, VEL_EINVAL, "%s is no stub", path);
    vel_buf_init(&bytes);
    rc = vel_fs_read_file(fs, path, VEL_STUB_MOST, &bytes, err);
    if (rc == VEL_ECORRUPT || (rc == 0 && !parse(&bytes, ret)))
        rc = vel_fail(err, VEL_EINVAL, "%s is no stub", path);
    vel_buf_fini(&bytes);
    return rc;
}

int vel_stub_remove(struct vel_fs *fs, const char *path, const char *launch,
                    bool *ret_removed, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_stub stub;
    bool is_ours = false;
    int rc = vel_stub_read(fs, path, &stub, &why);

    if (rc == 0)
        is_ours = strcmp(stub.launch, launch) == 0;
    else if (rc != VEL_ENOENT && rc != VEL_EINVAL)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    rc = is_ours ? vel_fs_unlink(fs, path, err) : 0;
    if (rc == 0 && ret_removed)
        *ret_removed = is_ours;
    return rc;
}
