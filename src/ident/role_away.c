/* SPDX-License-Identifier: BSD-3-Clause */
/* Roles seen from outside: is anybody there, and removing those where nobody is. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/path.h"
#include "ident/role_in.h"
#include "sys/user_dir.h"

enum {
    REMOVALS = 20, /* attempts */
    LOOKS = 3,     /* more at a lock, apart by 1, 2, 4 ms */
};

static const char dir_prefix[] = VEL_ROLE_PREFIX;

/* --- is anybody there? --- */

/* Could we have that lock now? Nothing is made. Who asks at the same moment has it for
 * that moment: he is nobody. */
static bool is_locked(struct vel_fs *fs, const char *path, int how)
{
    int fd = fs->ops->open(fs, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);

    if (fd < 0)
        return fd != -ENOENT;
    int rc = fs->ops->flock(fs, fd, how | LOCK_NB);
    for (uint64_t i = 0; rc == -EAGAIN && how == LOCK_EX && i < LOOKS; i++) {
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS << i);
        rc = fs->ops->flock(fs, fd, how | LOCK_NB);
    }
    if (rc == 0)
        fs->ops->flock(fs, fd, LOCK_UN);
    fs->ops->close(fs, fd);
    return rc != 0;
}

bool vel_role_is_taken(const struct vel_role *role)
{
    return role->lock || is_locked(role->fs, role->lock_path, LOCK_SH);
}

bool vel_role_is_deserted(const struct vel_role *role)
{
    return role->alive < 0 && !is_locked(role->fs, role->alive_path, LOCK_EX);
}

static enum vel_role_life ask(const struct vel_role *role)
{
    if (!vel_role_is_deserted(role))
        return VEL_ROLE_LIVING;
    bool is_agents = vel_role_is_agents(role); /* it says so while it has the lock */
    if (!vel_role_is_taken(role))
        return VEL_ROLE_DEAD;
    return is_agents ? VEL_ROLE_LED : VEL_ROLE_LIVING;
}

bool vel_role_is_alive(struct vel_fs *fs, const struct vel_host *host, const char *base,
                       const char *launch)
{
    struct vel_role *role = NULL;

    if (vel_role_find(fs, host, base, launch, &role, NULL) < 0)
        return true;
    bool is_alive = ask(role) == VEL_ROLE_LIVING;
    vel_role_close(role);
    return is_alive;
}

/* Is that where the leader of the record has listened? */
static bool is_its_role(const struct vel_role *role, const struct vel_endpoint *of)
{
    size_t len = strlen(role->endpoint);

    return strncmp(of->endpoints, role->endpoint, len) == 0 &&
           (of->endpoints[len] == ' ' || !of->endpoints[len]);
}

enum vel_role_life vel_role_ask(const struct vel_role_here *here, const char *launch,
                                const struct vel_endpoint *endpoint)
{
    struct vel_host host = {.node = endpoint->node};
    enum vel_role_life life = VEL_ROLE_UNKNOWN;
    struct vel_role *role = NULL;

    if (!here->host ||
        !(here->is_virtual ? vel_host_is_beside(here->host->node, endpoint->node)
                           : strcmp(here->host->node, endpoint->node) == 0))
        return life;
    host.user = here->host->user;
    if (vel_role_find(here->fs, &host, here->base, launch, &role, NULL) < 0)
        return life;
    if (is_its_role(role, endpoint))
        life = ask(role);
    vel_role_close(role);
    return life;
}

/* --- removing --- */

/* Both locks are ours: nobody is here, and who comes begins anew. */
static int remove_held(struct vel_role *role, struct vel_err *err)
{
    static const char *const names[] = {"name", "about", "agent"};
    int rc = vel_fs_once_sweep(role->fs, role->dir, err);

    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof names[0]; i++) {
        char *path = vel_path_join(role->dir, names[i]);

        rc = path ? vel_fs_unlink(role->fs, path, err)
                  : vel_out_of_memory(err, role->dir);
        free(path);
    }
    if (rc == 0)
        rc = vel_fs_unlink(role->fs, role->endpoint + strlen("unix:"), err);
    if (rc == 0)
        rc = vel_fs_unlink(role->fs, role->alive_path, err);
    if (rc == 0) {
        vel_lock_remove(role->lock);
        role->lock = NULL;
        rc = role->fs->ops->rmdir(role->fs, role->dir);
        /* someone has come: it is theirs */
        rc = rc == 0 || rc == -ENOTEMPTY || rc == -EEXIST || rc == -ENOENT
                 ? 0
                 : vel_fail_errno(err, -rc, "cannot remove %s", role->dir);
    }
    return rc;
}

/* A leader that ends has removed its socket: one that died may owe something. */
static int check_given(const struct vel_role *role, struct vel_err *err)
{
    if (!vel_fs_exists(role->fs, role->endpoint + strlen("unix:")))
        return 0;
    return vel_fail(err, VEL_ECANCEL, "the leader of %s has died before it was done",
                    role->dir);
}

/* One attempt. */
static int try_remove(struct vel_role *role, bool is_over, struct vel_err *err)
{
    int rc = vel_lock_try(role->fs, role->host, role->lock_path, &role->lock, err);

    if (rc == 0 && !is_over)
        rc = check_given(role, err);
    if (rc == 0)
        rc = vel_role_open_alive(role, O_CREAT, &role->alive, err);
    if (rc == 0) {
        rc = role->fs->ops->flock(role->fs, role->alive, LOCK_EX | LOCK_NB);
        if (rc == -EAGAIN)
            rc = vel_fail(err, VEL_EBUSY, "processes live in %s", role->dir);
        else if (rc < 0)
            rc = vel_fail_errno(err, -rc, "cannot lock %s", role->alive_path);
    }
    if (rc == 0)
        rc = remove_held(role, err);
    vel_fs_close(role->fs, role->alive, role->alive_path, NULL);
    role->alive = -1;
    vel_lock_release(role->lock);
    role->lock = NULL;
    return rc;
}

/* Who is the last to end may find another just looking whether it is he: he looks
 * again, unless somebody lives there or an agent leads. */
static int remove_dir(struct vel_role *role, bool is_over, struct vel_err *err)
{
    int rc = 0;

    for (int round = 0; rc == 0 && vel_fs_exists(role->fs, role->dir); round++) {
        rc = vel_fs_check_private_dir(role->fs, role->dir, err);
        if (rc == 0)
            rc = try_remove(role, is_over, err);
        if (rc == 0)
            break;
        if (rc != VEL_ENOENT &&
            (rc != VEL_EBUSY || round == REMOVALS || !vel_role_is_deserted(role) ||
             vel_role_is_agents(role)))
            break;
        rc = 0;
        vel_clock_sleep(vel_clock_system(), VEL_ROLE_RETRY_MS * VEL_CLOCK_MS);
    }
    return rc;
}

int vel_role_remove(struct vel_fs *fs, const struct vel_host *host, const char *base,
                    const char *launch, struct vel_err *err)
{
    struct vel_role *role = NULL;
    int rc = vel_role_find(fs, host, base, launch, &role, err);

    if (rc == 0)
        rc = remove_dir(role, false, err);
    vel_role_close(role);
    return rc;
}

int vel_role_remove_dir(struct vel_fs *fs, const struct vel_host *host, const char *dir,
                        struct vel_err *err)
{
    struct vel_role *role = vel_role_alloc(fs, host, NULL, dir);
    int rc = role ? remove_dir(role, true, err) : vel_out_of_memory(err, "a role");

    vel_role_close(role);
    return rc;
}

int vel_role_list(struct vel_fs *fs, const struct vel_host *host, const char *base,
                  struct vel_vec *ret, struct vel_err *err)
{
    char *above = vel_user_dir(fs, base, host->user);
    struct vel_vec names;
    int rc = above ? 0 : vel_out_of_memory(err, "roles");

    vel_vec_init(&names, sizeof(char *));
    if (rc == 0 && vel_fs_exists(fs, above)) {
        rc = vel_fs_check_private_dir(fs, above, err);
        if (rc == 0)
            rc = vel_fs_list(fs, above, &names, err);
    }
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *dir;

        if (strncmp(name, dir_prefix, strlen(dir_prefix)) != 0)
            continue;
        dir = vel_path_join(above, name);
        if (!dir || !vel_vec_push(ret, &dir)) {
            free(dir);
            rc = vel_out_of_memory(err, "roles");
        }
    }
    vel_fs_names_fini(&names);
    free(above);
    return rc;
}
