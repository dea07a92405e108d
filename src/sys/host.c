/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/siphash.h"
#include "sys/host.h"

enum { STAT_MOST = 4096 };

bool vel_host_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    size_t len = strlen(name);

    return len > 0 && len <= 200 && name[0] != '.' && name[0] != '-' &&
           strspn(name, letters) == len;
}

/* Without what makes it the name of a virtual node. */
static size_t machine_len(const char *node)
{
    size_t len = strlen(node), n = len;

    while (n > 0 && node[n - 1] >= '0' && node[n - 1] <= '9')
        n--;
    return n < len && n > 2 && node[n - 1] == 'v' && node[n - 2] == '.' ? n - 2 : len;
}

bool vel_host_is_beside(const char *node, const char *other)
{
    size_t len = machine_len(node);

    return len == machine_len(other) && strncmp(node, other, len) == 0;
}

static int set_name(char **name, const char *to, const char *what, struct vel_err *err)
{
    if (!vel_host_is_name(to))
        return vel_fail(err, VEL_EINVAL,
                        "'%.200s' cannot name a %s: give one of up to 200 letters, "
                        "digits, dots, dashes and underscores",
                        to, what);
    char *copy = strdup(to);
    if (!copy)
        return vel_out_of_memory(err, "a name");
    free(*name);
    *name = copy;
    return 0;
}

int vel_host_set_node(struct vel_host *host, const char *node, struct vel_err *err)
{
    return set_name(&host->node, node, "node", err);
}

int vel_host_set_user(struct vel_host *host, const char *user, struct vel_err *err)
{
    return set_name(&host->user, user, "user", err);
}

static int find_node(struct vel_host *host, struct vel_err *err)
{
    char name[256]; /* what POSIX promises to be enough, and a zero byte */

    if (gethostname(name, sizeof name) < 0)
        return vel_fail_errno(err, errno, "cannot ask for the name of this machine");
    name[sizeof name - 1] = '\0';
    int rc = vel_host_set_node(host, name, err);
    return rc < 0 ? vel_wrap(err, rc, "the name of this machine") : 0;
}

/* The name of `uid` into *name when the user database knows it: containers and diskless
 * nodes often do not. */
static int look_up_user(uid_t uid, struct vel_buf *name)
{
    struct passwd entry, *found = NULL;
    struct vel_buf room;
    int rc;

    vel_buf_init(&room);
    do {
        rc = vel_buf_reserve(&room, room.cap + 1024) < 0
                 ? ENOMEM
                 : getpwuid_r(uid, &entry, room.data, room.cap, &found);
    } while (rc == ERANGE && room.cap < (1 << 20));
    if (found && vel_host_is_name(found->pw_name))
        vel_buf_puts(name, found->pw_name);
    vel_buf_fini(&room);
    return rc == ENOMEM ? VEL_ENOMEM : 0;
}

static int find_user(struct vel_host *host, struct vel_err *err)
{
    struct vel_buf name;
    size_t len;

    vel_buf_init(&name);
    int rc = look_up_user(geteuid(), &name);
    if (name.len == 0)
        vel_buf_printf(&name, "uid%ld", (long)geteuid());
    host->user = vel_buf_take(&name, &len);
    return rc < 0 || !host->user ? vel_out_of_memory(err, "looking up the user") : 0;
}

int vel_host_init(struct vel_host *ret_host, struct vel_err *err)
{
    struct vel_host host = {0};
    int rc = find_node(&host, err);

    if (rc == 0)
        rc = find_user(&host, err);
    if (rc < 0) {
        vel_host_fini(&host);
        return rc;
    }
    *ret_host = host;
    return 0;
}

void vel_host_fini(struct vel_host *host)
{
    free(host->node);
    free(host->user);
    *host = (struct vel_host){0};
}

int vel_host_boot(struct vel_fs *fs, char ret[VEL_HOST_BOOT], struct vel_err *err)
{
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char boot[VEL_HOST_BOOT]; /* no process lives longer */
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    pthread_mutex_lock(&lock);
    if (!boot[0]) {
        rc = vel_fs_read_file(fs, path, sizeof boot - 1, &text, err);
        if (rc == 0)
            memcpy(boot, vel_buf_text(&text), text.len);
    }
    memcpy(ret, boot, sizeof boot);
    pthread_mutex_unlock(&lock);
    vel_buf_fini(&text);
    return rc;
}

int64_t vel_host_boot_number(struct vel_fs *fs)
{
    static const uint8_t key[VEL_SIPHASH_KEY];
    uint8_t hash[VEL_SIPHASH_LEN];
    char boot[VEL_HOST_BOOT];
    struct vel_le_reader r;

    if (vel_host_boot(fs, boot, NULL) < 0)
        return 0;
    vel_siphash(key, boot, sizeof boot, hash);
    vel_le_read_init(&r, hash, sizeof hash);
    return (int64_t)vel_le_get64(&r);
}

/* /proc/PID/stat: "PID (NAME) STATE PARENT ... UTIME STIME ... START ...". */
static bool parse_process(const char *text, struct vel_process *ret)
{
    const char *name = strchr(text, '('), *rest = name ? strrchr(name, ')') : NULL;
    uint64_t user, system;

    if (!rest)
        return false;
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)(rest - name - 1), name + 1);
    if (sscanf(rest + 1,
               " %*c %" SCNd64 " %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
               " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64,
               &ret->parent, &user, &system, &ret->start) != 4)
        return false;
    ret->worked = user + system;
    return true;
}

int vel_host_process(struct vel_fs *fs, int64_t pid, struct vel_process *ret,
                     struct vel_err *err)
{
    struct vel_process process = {0};
    struct vel_buf text;
    char path[64];
    int rc;

    vel_buf_init(&text);
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    rc = vel_fs_read_file(fs, path, STAT_MOST, &text, err);
    if (rc == 0 && !parse_process(vel_buf_text(&text), &process))
        rc = vel_fail(err, VEL_EUNSUP, "%s says nothing that is known here", path);
    vel_buf_fini(&text);
    if (rc == 0)
        *ret = process;
    return rc;
}

bool vel_host_is_above(struct vel_fs *fs, int64_t pid)
{
    struct vel_process process;
    int64_t above = getppid();

    for (int i = 0; i < VEL_HOST_ABOVE && above > 1; i++, above = process.parent) {
        if (above == pid)
            return true;
        if (vel_host_process(fs, above, &process, NULL) < 0)
            return false;
    }
    return false;
}
