/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"

static char *take_text(struct vel_buf *buf)
{
    size_t len;

    return vel_buf_take(buf, &len);
}

char *vel_path_join(const char *dir, const char *name)
{
    struct vel_buf buf;

    vel_buf_init(&buf);
    if (name[0] != '/' && dir[0]) {
        vel_buf_puts(&buf, dir);
        if (dir[strlen(dir) - 1] != '/')
            vel_buf_putc(&buf, '/');
    }
    vel_buf_puts(&buf, name);
    return take_text(&buf);
}

char *vel_path_level(const char *home, int64_t index)
{
    struct vel_buf buf;

    vel_buf_init(&buf);
    vel_buf_printf(&buf, "%s/index.%" PRId64, home, index);
    return take_text(&buf);
}

/* one component of a path onto an absolute normalised one that lacks its trailing slash
 */
static void walk(struct vel_buf *to, const char *part, size_t len)
{
    if (len == 0 || (len == 1 && part[0] == '.'))
        return;
    if (len == 2 && memcmp(part, "..", 2) == 0) {
        const char *slash = to->len ? strrchr(to->data, '/') : NULL;
        if (slash) {
            to->len = (size_t)(slash - to->data);
            to->data[to->len] = '\0';
        }
        return;
    }
    vel_buf_putc(to, '/');
    vel_buf_append(to, part, len);
}

static void walk_all(struct vel_buf *to, const char *path)
{
    while (*path) {
        size_t len = strcspn(path, "/");

        walk(to, path, len);
        path += len;
        path += *path == '/';
    }
}

char *vel_path_absolute(const char *cwd, const char *path)
{
    struct vel_buf buf;

    vel_buf_init(&buf);
    if (path[0] != '/')
        walk_all(&buf, cwd);
    walk_all(&buf, path);
    if (buf.len == 0)
        vel_buf_putc(&buf, '/');
    return take_text(&buf);
}

bool vel_path_is_same(const char *a, const char *b)
{
    char *x = vel_path_absolute("/", a), *y = vel_path_absolute("/", b);
    bool is_same = x && y && strcmp(x, y) == 0;

    free(x);
    free(y);
    return is_same;
}

bool vel_path_is_inner(const char *path)
{
    size_t total = strlen(path);

    if (total == 0 || total >= VEL_PATH_MAX || path[0] == '/' || path[total - 1] == '/')
        return false;
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    for (const char *part = path;;) {
        size_t len = strcspn(part, "/");

        if (len == 0 || (len == 1 && part[0] == '.') ||
            (len == 2 && memcmp(part, "..", 2) == 0))
            return false;
        if (!part[len])
            return true;
        part += len + 1;
    }
}

const char *vel_path_below(const char *dir, const char *path)
{
    size_t len = strlen(dir);

    if (strcmp(dir, "/") == 0)
        return path + 1;
    if (strncmp(dir, path, len) != 0)
        return NULL;
    if (path[len] == '\0')
        return path + len;
    return path[len] == '/' ? path + len + 1 : NULL;
}

const char *vel_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *vel_path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    if (slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}
