/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as each of the records that leaders read: what is owed, where a copy is,
 * seals and whose launch. An error or what such a record may say, never a crash.
 * Every file is these bytes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz/fuzz.h"
#include "ident/endpoint.h"
#include "record/record.h"
#include "view/evidence.h"

/* --- a file system of one file --- */

static int file = -1;

static int one_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    int fd = fcntl(file, F_DUPFD_CLOEXEC, 0);

    (void)fs, (void)path, (void)flags, (void)mode;
    return fd < 0 ? -errno : fd;
}

static int one_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    (void)path;
    return fs->ops->fstat(fs, file, ret);
}

static int one_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    static const char *const names[] = {"about",  "closed.0", "dataset.1",
                                        "node.n", "rank.0",   "1.0"};

    (void)fs, (void)path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *name = strdup(names[i]);

        if (!name || !vel_vec_push(ret_names, &name))
            abort();
    }
    return 0;
}

/* What is left out is told. */
static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static void begin(const uint8_t *bytes, size_t len, struct vel_fs *ret_fs,
                  struct vel_fs_ops *ret_ops)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_ERROR, .write = hear};

    if (file < 0) {
        vel_log_open(&sink);
        file = memfd_create("record", MFD_CLOEXEC);
    }
    if (file < 0 || ftruncate(file, 0) < 0 ||
        (len > 0 && pwrite(file, bytes, len, 0) != (ssize_t)len))
        abort();
    *ret_ops = *vel_fs_posix()->ops;
    ret_ops->open = one_open;
    ret_ops->lstat = one_lstat;
    ret_ops->list = one_list;
    ret_fs->ops = ret_ops;
}

/* --- its records --- */

static void told(int rc, const struct vel_err *err)
{
    if (rc < 0 && !err->text[0])
        abort();
}

static int load_seal(struct vel_fs *fs, struct vel_seal *ret, struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_buf text;
    int version, rc = vel_record_load(fs, "/p/seal.1", "seal", 1, &version, &body, err);

    vel_buf_init(&text);
    if (rc == 0) {
        vel_node_print(body, &text);
        rc = vel_buf_status(&text, err);
    }
    if (rc == 0)
        rc = vel_seal_decode(text.data, text.len, ret, err);
    vel_buf_fini(&text);
    vel_node_destroy(body);
    return rc;
}

static void seal(struct vel_fs *fs)
{
    struct vel_seal seal, again;
    struct vel_buf written;
    struct vel_err err = {0};
    int rc = load_seal(fs, &seal, &err);

    told(rc, &err);
    if (rc < 0)
        return;
    vel_buf_init(&written);
    if (vel_seal_encode(&seal, &written, NULL) < 0 ||
        vel_seal_decode(written.data, written.len, &again, NULL) < 0 ||
        again.members.n != seal.members.n || again.id != seal.id)
        abort();
    vel_buf_fini(&written);
    vel_seal_fini(&again);
    vel_seal_fini(&seal);
}

static int evidence_of(struct vel_fs *fs, struct vel_vec *over,
                       struct vel_evidence *ret, struct vel_err *err)
{
    struct vel_index *index;
    int rc;

    if (vel_index_open(fs, "/p/.veloc", &index, err) < 0)
        abort();
    rc = vel_evidence_load(index, over, NULL, ret, err);
    vel_index_close(index);
    return rc;
}

static void launch(struct vel_fs *fs)
{
    struct vel_evidence evidence;
    struct vel_vec over, list;
    struct vel_err err = {0};
    char *name = strdup("x");

    vel_vec_init(&over, sizeof(char *));
    if (!name || !vel_vec_push(&over, &name))
        abort();
    int rc = evidence_of(fs, &over, &evidence, &err);
    told(rc, &err);
    if (rc == 0)
        vel_evidence_fini(&evidence);
    rc = vel_endpoint_list(fs, "/p/.veloc/launch.x", &list, &err);
    told(rc, &err);
    if (rc == 0)
        vel_endpoint_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_fs_ops ops;
    struct vel_fs fs;

    begin(bytes, len, &fs, &ops);
    seal(&fs);
    launch(&fs);
    return 0;
}
