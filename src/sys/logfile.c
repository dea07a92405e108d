/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "sys/logfile.h"

struct vel_logfile {
    struct vel_fs *fs;
    char *path;
    int fd;
    struct vel_err failure; /* the first one; from then on standard error is used */
};

/* A writer that was stopped in the middle of a line must not spoil our first one. */
static int end_torn_line(struct vel_logfile *file, struct vel_err *err)
{
    struct stat st;
    char last;
    int rc = vel_fs_stat(file->fs, file->fd, file->path, &st, err);

    if (rc < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return rc;
    rc = vel_fs_read_at(file->fs, file->fd, &last, 1, st.st_size - 1, file->path, err);
    if (rc < 0 || last == '\n')
        return rc;
    return vel_fs_append(file->fs, file->fd, "\n", 1, file->path, err);
}

int vel_logfile_open(struct vel_fs *fs, const char *path, struct vel_logfile **ret_file,
                     struct vel_err *err)
{
    struct vel_logfile *file = calloc(1, sizeof *file);
    int rc;

    if (!file)
        return vel_out_of_memory(err, path);
    *file = (struct vel_logfile){.fs = fs, .path = strdup(path), .fd = -1};
    if (!file->path) {
        rc = vel_out_of_memory(err, path);
        goto out;
    }
    /* a pipe without reader fails, and does not make us wait */
    rc = vel_fs_open(fs, path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY,
                     0644, &file->fd, err);
    if (rc < 0)
        goto out;
    rc = end_torn_line(file, err);
    if (rc < 0)
        goto out;
    *ret_file = file;
    file = NULL;
out:
    if (file)
        vel_logfile_close(file, NULL);
    return rc;
}

int vel_logfile_close(struct vel_logfile *file, struct vel_err *err)
{
    if (!file)
        return 0;
    int rc = vel_fs_close(file->fs, file->fd, file->path, err);
    if (file->failure.status) {
        rc = file->failure.status;
        if (err)
            *err = file->failure;
    }
    free(file->path);
    free(file);
    return rc;
}

static void give_up(struct vel_logfile *file)
{
    struct vel_buf line;

    vel_buf_init(&line);
    vel_buf_printf(&line, "h5veloc: warn: %s; log lines go here from now on\n",
                   file->failure.text);
    if (vel_buf_status(&line, NULL) == 0)
        vel_log_write_stderr(NULL, VEL_LOG_WARN, line.data, line.len);
    vel_buf_fini(&line);
}

void vel_logfile_write(void *arg, enum vel_log_level level, const char *line,
                       size_t len)
{
    struct vel_logfile *file = arg;

    if (!file->failure.status) {
        if (vel_fs_append(file->fs, file->fd, line, len, file->path, &file->failure) ==
            0)
            return;
        give_up(file);
    }
    vel_log_write_stderr(NULL, level, line, len);
}
