/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as they are read back: every line is input, and one that is no event is
 * counted and skipped. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "record/node.h"
#include "tap/eventlab.h"

enum { CHUNK = 65536 };

#define TIME_MOST 253402300800.0 /* the end of the year 9999 */
#define SECONDS_MOST 1e10

static const char *const words[] = {
#define X(name, word) [VEL_EVENT_##name] = (word),
    VEL_EVENT_MAP(X)
#undef X
};

enum { NWORDS = sizeof words / sizeof words[0] };

/* One line, and what it owns. */
struct line {
    struct vel_event event;
    struct vel_node *node;
    char *owned[4];
};

static int get_int(const struct vel_node *node, const char *key, int64_t *ret_value,
                   struct vel_err *err)
{
    return vel_node_has(node, key)
               ? vel_node_get_int(node, key, 0, INT64_MAX, ret_value, err)
               : 0;
}

static int get_seconds(const struct vel_node *node, double *ret_value,
                       struct vel_err *err)
{
    return vel_node_has(node, "seconds")
               ? vel_node_get_real(node, "seconds", 0, SECONDS_MOST, ret_value, err)
               : 0;
}

static int get_text(const struct vel_node *node, const char *key, const char **ret_text,
                    char **ret_owned, struct vel_err *err)
{
    if (!vel_node_has(node, key))
        return 0;
    int rc = vel_node_get_name(node, key, ret_owned, err);
    if (rc == 0)
        *ret_text = *ret_owned;
    return rc;
}

static int get_word(const struct vel_node *node, struct vel_event *event,
                    struct vel_err *err)
{
    int rc = vel_node_get_text(node, "event", &event->word, err);

    if (rc < 0)
        return rc;
    event->kind = VEL_EVENT_OTHER;
    for (int i = 1; i < NWORDS; i++)
        if (strcmp(words[i], event->word) == 0)
            event->kind = (enum vel_event_kind)i;
    return 0;
}

static int get_result(const struct vel_node *node, struct vel_event *event,
                      struct vel_err *err)
{
    bool is_ok;

    if (!vel_node_has(node, "ok"))
        return 0;
    int rc = vel_node_get_bool(node, "ok", &is_ok, err);
    if (rc == 0)
        event->result = is_ok ? VEL_EVENT_OK : VEL_EVENT_FAILED;
    return rc;
}

static int decode(const struct vel_node *node, struct line *line, struct vel_err *err)
{
    struct vel_event *event = &line->event;
    int rc = get_word(node, event, err);

    if (rc == 0)
        rc = vel_node_get_real(node, "time", 0, TIME_MOST, &event->time, err);
    if (rc == 0)
        rc = get_result(node, event, err);
    if (rc == 0)
        rc = get_int(node, "id", &event->id, err);
    if (rc == 0)
        rc = get_int(node, "files", &event->files, err);
    if (rc == 0)
        rc = get_int(node, "bytes", &event->bytes, err);
    if (rc == 0)
        rc = get_seconds(node, &event->seconds, err);
    if (rc == 0)
        rc = get_int(node, "ranks", &event->ranks, err);
    if (rc == 0)
        rc = get_int(node, "nodes", &event->nodes, err);
    if (rc == 0)
        rc = get_int(node, "compared", &event->compared, err);
    if (rc == 0)
        rc = get_int(node, "cloned", &event->cloned, err);
    if (rc == 0)
        rc = get_int(node, "written", &event->written, err);
    if (rc == 0)
        rc = get_text(node, "name", &event->name, &line->owned[0], err);
    if (rc == 0)
        rc = get_text(node, "text", &event->text, &line->owned[1], err);
    if (rc == 0)
        rc = get_text(node, "job", &event->job, &line->owned[2], err);
    if (rc == 0)
        rc = get_text(node, "user", &event->user, &line->owned[3], err);
    return rc;
}

static void line_fini(struct line *line)
{
    for (size_t i = 0; i < sizeof line->owned / sizeof line->owned[0]; i++)
        free(line->owned[i]);
    vel_node_destroy(line->node);
    *line = (struct line){.node = NULL};
}

static int line_decode(const char *text, size_t len, struct line *ret,
                       struct vel_err *err)
{
    struct line line = {.node = NULL};
    int rc = vel_node_parse(text, len, &line.node, err);

    if (rc == 0)
        rc = decode(line.node, &line, err);
    if (rc < 0)
        line_fini(&line);
    else
        *ret = line;
    return rc;
}

struct reading {
    eventlab_f *each;
    void *arg;
    struct vel_buf line; /* what of the present line has come */
    bool is_long;        /* too much of it: none of it is kept */
    size_t damaged;
};

static int deliver(struct reading *r, struct vel_err *err)
{
    struct line line;
    int rc = line_decode(r->line.data, r->line.len, &line, NULL);

    if (rc == VEL_ECORRUPT) {
        r->damaged++;
        return 0;
    }
    if (rc < 0)
        return vel_out_of_memory(err, "event");
    rc = r->each(r->arg, &line.event, err);
    line_fini(&line);
    return rc;
}

static int end_line(struct reading *r, struct vel_err *err)
{
    int rc = 0;

    if (r->is_long)
        r->damaged++;
    else if (r->line.len > 0)
        rc = deliver(r, err);
    vel_buf_clear(&r->line);
    r->is_long = false;
    return rc;
}

static int add_piece(struct reading *r, const char *piece, size_t len,
                     struct vel_err *err)
{
    if (r->is_long || r->line.len + len > VEL_EVENT_LINE_MOST) {
        r->is_long = true;
        vel_buf_clear(&r->line);
        return 0;
    }
    vel_buf_append(&r->line, piece, len);
    return vel_buf_status(&r->line, err);
}

static int add_chunk(struct reading *r, const char *chunk, size_t len,
                     struct vel_err *err)
{
    int rc = 0;

    while (rc == 0 && len > 0) {
        const char *newline = memchr(chunk, '\n', len);
        size_t n = newline ? (size_t)(newline - chunk) : len;

        rc = add_piece(r, chunk, n, err);
        if (!newline)
            break;
        if (rc == 0)
            rc = end_line(r, err);
        chunk += n + 1;
        len -= n + 1;
    }
    return rc;
}

static int read_all(int fd, const char *path, struct reading *r, struct vel_err *err)
{
    struct stat st;
    char *chunk = NULL;
    int rc = vel_fs_stat(vel_fs_posix(), fd, path, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode))
        return vel_fail(err, VEL_EUNSAFE, "%s is no regular file: remove it", path);
    chunk = malloc(CHUNK);
    if (!chunk)
        return vel_out_of_memory(err, path);
    for (off_t at = 0; rc == 0 && at < st.st_size; at += CHUNK) {
        size_t n = st.st_size - at < CHUNK ? (size_t)(st.st_size - at) : CHUNK;

        rc = vel_fs_read_at(vel_fs_posix(), fd, chunk, n, at, path, err);
        if (rc == 0)
            rc = add_chunk(r, chunk, n, err);
    }
    if (rc == 0)
        rc = end_line(r, err);
    free(chunk);
    return rc;
}

static int read_file(const char *dir, const char *name, struct reading *r,
                     struct vel_err *err)
{
    char *path = vel_path_join(dir, name);
    int fd = -1;
    int rc =
        path ? vel_fs_open(vel_fs_posix(), path,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, &fd, err)
             : vel_out_of_memory(err, "log of events");

    if (rc == 0)
        rc = read_all(fd, path, r, err);
    else if (rc == VEL_ENOENT)
        rc = 0;
    vel_fs_close(vel_fs_posix(), fd, path, NULL); /* nothing was written */
    free(path);
    return rc;
}

int eventlab_read(const char *dir, eventlab_f *each, void *arg, size_t *ret_damaged,
                  struct vel_err *err)
{
    struct reading r = {.each = each, .arg = arg};
    int rc;

    vel_buf_init(&r.line);
    rc = read_file(dir, VEL_EVENT_PAST, &r, err);
    if (rc == 0)
        rc = read_file(dir, VEL_EVENT_FILE, &r, err);
    if (rc == 0 && ret_damaged)
        *ret_damaged = r.damaged;
    vel_buf_fini(&r.line);
    return rc;
}
