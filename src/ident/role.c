/* SPDX-License-Identifier: BSD-3-Clause */
/* role - the directory may be removed by whoever finds nobody alive in it: so who has
 * locked a file looks whether it is still the one in the directory, and begins again
 * when it is not. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>

#include "base/path.h"
#include "base/siphash.h"
#include "ident/role_in.h"
#include "sys/user_dir.h"

enum {
    ROUNDS = 500, /* of VEL_ROLE_RETRY_MS: probes hold a lock for a moment only */
    SOCKET_MOST = sizeof((struct sockaddr_un *)NULL)->sun_path - 1,
};

static const char socket_name[] = "s";

/* --- where --- */

/* "leader.N" or "agent", below the user's directory */
static int role_dir(const struct vel_host *host, const char *above, const char *launch,
                    struct vel_buf *ret, struct vel_err *err)
{
    const uint8_t no_secret[VEL_SIPHASH_KEY] = {0};
    uint8_t hash[VEL_SIPHASH_LEN];
    struct vel_buf words;
    int rc;

    vel_buf_printf(ret, "%s/", above);
    if (!launch) {
        vel_buf_puts(ret, "agent");
        return vel_buf_status(ret, err);
    }
    vel_buf_init(&words);
    vel_buf_append(&words, launch, strlen(launch) + 1);
    vel_buf_puts(&words, host->node);
    rc = vel_buf_status(&words, err);
    if (rc == 0) {
        vel_siphash(no_secret, words.data, words.len, hash);
        vel_buf_puts(ret, VEL_ROLE_PREFIX);
        for (int i = 0; i < 8; i++)
            vel_buf_printf(ret, "%02x", hash[i]);
        rc = vel_buf_status(ret, err);
    }
    vel_buf_fini(&words);
    return rc;
}

static int check_base(const char *base, struct vel_err *err)
{
    if (base[0] != '/')
        return vel_fail(err, VEL_ECONFIG, "CNTL_BASE=%s is no absolute path", base);
    for (const char *c = base; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return vel_fail(err, VEL_ECONFIG,
                            "CNTL_BASE=%s has a blank, which no endpoint may have",
                            base);
    return 0;
}

static int check_length(const char *base, const char *dir, struct vel_err *err)
{
    if (strlen(dir) + sizeof socket_name > SOCKET_MOST)
        return vel_fail(err, VEL_ECONFIG,
                        "CNTL_BASE=%s is too long: the socket %s/%s would have more "
                        "than %zu bytes",
                        base, dir, socket_name, (size_t)SOCKET_MOST);
    return 0;
}

/* One attempt. Nothing below CNTL_BASE outlives the machine. */
static int try_dir(struct vel_role *role, struct vel_err *err)
{
    struct stat st;
    char *above = vel_path_dir(role->dir);
    int rc = above ? vel_fs_make_dirs_unsynced(role->fs, role->dir, 0700, err)
                   : vel_out_of_memory(err, role->dir);

    if (rc == 0)
        rc = vel_fs_check_private_dir(role->fs, above, err);
    if (rc == 0)
        rc = vel_fs_check_private_dir(role->fs, role->dir, err);
    if (rc == 0)
        rc = vel_fs_lstat(role->fs, role->dir, &st, err);
    if (rc == 0 && (st.st_mode & 07777) != 0700)
        rc =
            vel_fail(err, VEL_EUNSAFE, "%s is open to others: chmod 700 it", role->dir);
    free(above);
    return rc;
}

/* Whoever finds it empty may remove it at any moment. */
static int make_dir(struct vel_role *role, struct vel_err *err)
{
    int rc = try_dir(role, err);

    for (int round = 0;
         round < ROUNDS && (rc == VEL_ENOENT ||
                            (rc == VEL_EINVAL && !vel_fs_exists(role->fs, role->dir)));
         round++)
        rc = try_dir(role, err);
    return rc;
}

struct vel_role *vel_role_alloc(struct vel_fs *fs, const struct vel_host *host,
                                const char *launch, const char *dir)
{
    struct vel_role *role = calloc(1, sizeof *role);
    struct vel_buf endpoint;

    if (!role)
        return NULL;
    vel_buf_init(&endpoint);
    vel_buf_printf(&endpoint, "unix:%s/%s", dir, socket_name);
    *role = (struct vel_role){.fs = fs,
                              .host = host,
                              .launch = launch ? strdup(launch) : NULL,
                              .dir = strdup(dir),
                              .lock_path = vel_path_join(dir, "lock"),
                              .alive_path = vel_path_join(dir, "alive"),
                              .mark_path = vel_path_join(dir, "agent"),
                              .endpoint = vel_buf_take(&endpoint, NULL),
                              .alive = -1};
    if ((launch && !role->launch) || !role->dir || !role->lock_path ||
        !role->alive_path || !role->mark_path || !role->endpoint) {
        vel_role_close(role);
        return NULL;
    }
    return role;
}

/* Below `above`, the user's directory in base. */
static int find_below(struct vel_fs *fs, const struct vel_host *host, const char *base,
                      const char *above, const char *launch, struct vel_role **ret_role,
                      struct vel_err *err)
{
    struct vel_role *role = NULL;
    struct vel_buf dir;
    int rc;

    vel_buf_init(&dir);
    rc = role_dir(host, above, launch, &dir, err);
    if (rc == 0)
        rc = check_length(base, dir.data, err);
    if (rc == 0) {
        role = vel_role_alloc(fs, host, launch, dir.data);
        rc = role ? 0 : vel_out_of_memory(err, "a role");
    }
    if (rc == 0)
        *ret_role = role;
    vel_buf_fini(&dir);
    return rc;
}

int vel_role_find(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  const char *launch, struct vel_role **ret_role, struct vel_err *err)
{
    int rc = check_base(base, err);
    char *above;

    if (rc < 0)
        return rc;
    above = vel_user_dir(fs, base, host->user);
    rc = above ? find_below(fs, host, base, above, launch, ret_role, err)
               : vel_out_of_memory(err, "a role");
    free(above);
    return rc;
}

int vel_role_open(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  const char *launch, struct vel_role **ret_role, struct vel_err *err)
{
    struct vel_role *role = NULL;
    char *above = NULL;
    int rc = vel_role_find(fs, host, base, launch, &role, err); /* may it be there? */

    if (rc == 0) {
        rc = vel_user_dir_make(fs, base, host->user, &above, err);
        rc = rc < 0 ? vel_wrap(err, rc, "CNTL_BASE") : 0;
        vel_role_close(role);
        role = NULL;
    }
    if (rc == 0)
        rc = find_below(fs, host, base, above, launch, &role, err);
    free(above);
    if (rc == 0)
        rc = make_dir(role, err);
    if (rc == VEL_ENOENT) /* removed again; who takes a lock in it makes it anew */
        rc = 0;
    if (rc < 0)
        vel_role_close(role);
    else
        *ret_role = role;
    return rc;
}

static void role_free(struct vel_role *role)
{
    vel_fs_close(role->fs, role->alive, role->alive_path, NULL);
    free(role->launch);
    free(role->dir);
    free(role->lock_path);
    free(role->alive_path);
    free(role->mark_path);
    free(role->endpoint);
    free(role);
}

void vel_role_close(struct vel_role *role)
{
    int saved = errno;

    if (!role)
        return;
    if (role->lock)
        vel_role_give(role);
    if (role->alive >= 0) /* a forked child may have it open, too */
        role->fs->ops->flock(role->fs, role->alive, LOCK_UN);
    role_free(role);
    errno = saved;
}

void vel_role_abandon(struct vel_role *role)
{
    int saved = errno;

    if (!role)
        return;
    vel_lock_abandon(role->lock);
    role_free(role);
    errno = saved;
}

const char *vel_role_endpoint(const struct vel_role *role)
{
    return role->endpoint;
}

/* --- alive --- */

int vel_role_open_alive(struct vel_role *role, int flags, int *ret_fd,
                        struct vel_err *err)
{
    return vel_fs_open(role->fs, role->alive_path,
                       O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0600, ret_fd, err);
}

/* Does the path still lead to the file that is open? */
static bool is_in_place(struct vel_role *role, const char *path, int fd)
{
    struct stat mine, there;

    return role->fs->ops->fstat(role->fs, fd, &mine) == 0 &&
           role->fs->ops->lstat(role->fs, path, &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* One attempt. VEL_EBUSY: again. */
static int try_alive(struct vel_role *role, struct vel_err *err)
{
    int fd = -1, rc;

    rc = make_dir(role, err);
    if (rc == 0)
        rc = vel_role_open_alive(role, O_CREAT, &fd, err);
    if (rc < 0)
        return rc == VEL_ENOENT ? VEL_EBUSY : rc;
    int locked = role->fs->ops->flock(role->fs, fd, LOCK_SH | LOCK_NB);
    if (locked == 0 && is_in_place(role, role->alive_path, fd)) {
        role->alive = fd;
        return 0;
    }
    vel_fs_close(role->fs, fd, role->alive_path, NULL);
    return locked == 0 || locked == -EAGAIN
               ? vel_fail(err, VEL_EBUSY, "%s is held by another", role->alive_path)
               : vel_fail_errno(err, -locked, "cannot lock %s", role->alive_path);
}

int vel_role_live(struct vel_role *role, struct vel_err *err)
{
    int rc = VEL_EBUSY;

    if (role->alive >= 0)
        return 0;
    for (int round = 0; round < ROUNDS; round++) {
        rc = try_alive(role, err);
        if (rc != VEL_EBUSY)
            break;
        vel_clock_sleep(vel_clock_system(), VEL_ROLE_RETRY_MS * VEL_CLOCK_MS);
    }
    return rc;
}

/* --- the lock --- */

/* For people who look into the directory. */
static void tell_name(struct vel_role *role)
{
    struct vel_buf text;
    char *path = vel_path_join(role->dir, "name");

    vel_buf_init(&text);
    vel_buf_printf(&text, "launch %s on node %s\n", role->launch ? role->launch : "any",
                   role->host->node);
    if (path && vel_buf_status(&text, NULL) == 0)
        vel_fs_replace_unsynced(role->fs, path, 0, text.data, text.len, 0600, NULL);
    vel_buf_fini(&text);
    free(path);
}

int vel_role_take(struct vel_role *role, struct vel_err *err)
{
    int rc = 0;

    if (role->lock)
        return 0;
    for (int round = 0; round < ROUNDS; round++) {
        rc = make_dir(role, err);
        if (rc == 0)
            rc = vel_lock_try(role->fs, role->host, role->lock_path, &role->lock, err);
        if (rc != VEL_ENOENT) /* else the directory was removed in between */
            break;
    }
    if (rc == 0)
        rc = vel_fs_unlink(role->fs, role->endpoint + strlen("unix:"), err);
    if (rc < 0) {
        vel_lock_release(role->lock);
        role->lock = NULL;
        return rc;
    }
    tell_name(role);
    return 0;
}

int vel_role_wait(struct vel_role *role, struct vel_clock *clock, uint64_t limit,
                  struct vel_err *err)
{
    uint64_t end = vel_clock_deadline(clock, limit);
    int rc;

    while ((rc = vel_role_take(role, err)) == VEL_EBUSY) {
        if (vel_clock_monotonic(clock) >= end) {
            rc = vel_wrap(err, VEL_ETIMEOUT, "waited %.1f s for the role",
                          (double)limit / (double)VEL_CLOCK_S);
            if (err)
                err->status = VEL_ETIMEOUT;
            break;
        }
        vel_clock_sleep(clock, VEL_ROLE_RETRY_MS * VEL_CLOCK_MS);
    }
    return rc;
}

void vel_role_give(struct vel_role *role)
{
    if (!role->lock)
        return;
    vel_fs_unlink(role->fs, role->endpoint + strlen("unix:"), NULL);
    vel_lock_release(role->lock);
    role->lock = NULL;
}

bool vel_role_is_held(const struct vel_role *role)
{
    return role->lock != NULL;
}

int vel_role_mark(struct vel_role *role, bool is_agents, struct vel_err *err)
{
    return is_agents
               ? vel_fs_replace_unsynced(role->fs, role->mark_path, 0, "", 0, 0600, err)
               : vel_fs_unlink(role->fs, role->mark_path, err);
}

bool vel_role_is_agents(const struct vel_role *role)
{
    return vel_fs_exists(role->fs, role->mark_path);
}
