/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "engine/health.h"
#include "engine/session_in.h"
#include "topo/check.h"

enum { NAMES = 100 }; /* that a check tries for its file */

static int worst(struct vel_session *s, int status, int *ret_status,
                 struct vel_err *err)
{
    int64_t all = status;
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &all, 1, err);

    if (rc == 0)
        *ret_status = (int)all;
    return rc;
}

int vel_health_configuration(struct vel_session *session, const char *dir,
                             int *ret_status, struct vel_err *err)
{
    struct vel_err why = {0};
    enum vel_topo_fault fault = vel_topo_check(session->conf, &why);

    (void)dir;
    if (fault != VEL_TOPO_VALID)
        vel_log_shared(VEL_LOG_WARN, "%s", why.text);
    return worst(session, (int)fault, ret_status, err);
}

/* A file of that name, which was not there. */
static int make_file(const struct vel_session *s, const char *dir, int64_t number,
                     struct vel_buf *path, int *ret_fd, struct vel_err *err)
{
    int rc;

    vel_buf_clear(path);
    vel_buf_printf(path, "%s/.veloc-check.%d.%s.%" PRId64, dir, s->world->rank, s->node,
                   number);
    rc = vel_buf_status(path, err);
    return rc < 0 ? rc
                  : vel_fs_open(s->fs, path->data,
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, ret_fd,
                                err);
}

/* Only writing tells whether one can write. What has its name already is somebody's, or
 * was left by a check that was killed. */
int vel_health_try(const struct vel_session *s, const char *dir, struct vel_err *err)
{
    struct vel_buf path;
    struct vel_err why = {0};
    int fd, rc = VEL_EEXIST;

    vel_buf_init(&path);
    for (int64_t n = 0; rc == VEL_EEXIST && n < NAMES; n++)
        rc = make_file(s, dir, n, &path, &fd, &why);
    if (rc == 0) {
        rc = vel_fs_write_at(s->fs, fd, "check", 5, 0, path.data, &why);
        vel_fs_close(s->fs, fd, path.data, NULL);
        vel_fs_unlink(s->fs, path.data, NULL);
    }
    vel_buf_fini(&path);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

static enum vel_health_storage_status try_file(const struct vel_session *s,
                                               const char *dir)
{
    struct vel_err why = {0};
    int rc = vel_health_try(s, dir, &why);

    if (rc < 0)
        vel_log(VEL_LOG_WARN, "%s", why.text);
    switch (rc) {
    case 0:
        return VEL_STORAGE_GOOD;
    case VEL_EACCESS:
        return VEL_STORAGE_NO_PERMISSION;
    case VEL_ENOSPC:
        return VEL_STORAGE_NO_SPACE;
    default:
        return VEL_STORAGE_OTHER;
    }
}

int vel_health_storage(struct vel_session *session, const char *dir, int *ret_status,
                       struct vel_err *err)
{
    enum vel_health_storage_status status = VEL_STORAGE_GOOD;
    char *real = NULL;
    struct stat st;

    if (!dir || vel_fs_real_path(dir, &real, NULL) < 0 ||
        vel_fs_lstat(session->fs, real, &st, NULL) < 0 || !S_ISDIR(st.st_mode))
        status = VEL_STORAGE_NO_DIRECTORY;
    else
        status = try_file(session, real);
    if (status == VEL_STORAGE_GOOD && !vel_session_fits(session, real))
        status = VEL_STORAGE_NO_SPACE;
    free(real);
    return worst(session, (int)status, ret_status, err);
}

/* 0 when the leader does not answer at all. */
static int64_t ping(const struct vel_session *s, enum vel_background_ping what)
{
    struct vel_err why = {0};
    int64_t value = 0;

    if (s->background->ops->ping(s->background, what, &value, &why) < 0) {
        vel_log(VEL_LOG_WARN, "%s", why.text);
        return 0;
    }
    return value;
}

int vel_health_listeners(struct vel_session *session, const char *dir, int *ret_status,
                         struct vel_err *err)
{
    int status = VEL_LISTENERS_ALIVE;

    (void)dir;
    if (!ping(session, VEL_PING_WORKER))
        status = VEL_LISTENER_OF_CHECKPOINTS_DEAD;
    else if (!ping(session, VEL_PING_STORAGE))
        status = VEL_LISTENER_OF_RESTARTS_DEAD;
    return worst(session, status, ret_status, err);
}

int vel_health_nodes(struct vel_session *session, const char *dir, int *ret_status,
                     struct vel_err *err)
{
    int64_t dead = ping(session, VEL_PING_BACKUP);

    (void)dir;
    return worst(session, (int)(dead < INT32_MAX ? dead : INT32_MAX), ret_status, err);
}
