/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/events.h"
#include "record/node.h"
#include "sys/host.h"
#include "sys/lock.h"

static const char *const words[] = {
#define X(name, word) [VEL_EVENT_##name] = (word),
    VEL_EVENT_MAP(X)
#undef X
};

static int copy(const char *text, char **ret_copy, struct vel_err *err)
{
    if (!text)
        return 0;
    *ret_copy = strdup(text);
    return *ret_copy ? 0 : vel_out_of_memory(err, "log of events");
}

int vel_event_log_init(struct vel_event_log *log, struct vel_fs *fs,
                       struct vel_clock *clock, const char *dir, const char *job,
                       const char *user, struct vel_err *err)
{
    struct vel_event_log fresh = {.fs = fs, .clock = clock};
    int rc = 0;

    if (dir) {
        fresh.path = vel_path_join(dir, VEL_EVENT_FILE);
        rc = fresh.path ? 0 : vel_out_of_memory(err, "log of events");
    }
    if (rc == 0)
        rc = copy(job, &fresh.job, err);
    if (rc == 0)
        rc = copy(user, &fresh.user, err);
    if (rc < 0)
        vel_event_log_fini(&fresh);
    else
        *log = fresh;
    return rc;
}

void vel_event_log_fini(struct vel_event_log *log)
{
    free(log->path);
    free(log->job);
    free(log->user);
    *log = (struct vel_event_log){.fs = log->fs, .clock = log->clock};
}

static int put_int(struct vel_node *node, const char *key, int64_t value)
{
    return value > 0 ? vel_node_set_int(node, key, value) : 0;
}

static int put_text(struct vel_node *node, const char *key, const char *text)
{
    return text ? vel_node_set_name(node, key, text) : 0;
}

static int put_result(struct vel_node *node, enum vel_event_result result)
{
    return result != VEL_EVENT_OPEN
               ? vel_node_set_bool(node, "ok", result == VEL_EVENT_OK)
               : 0;
}

void vel_event_about(struct vel_event *event, const struct vel_dataset *dataset)
{
    event->id = dataset->id;
    event->name = dataset->name;
    event->files = event->files ? event->files : dataset->files;
    event->bytes = event->bytes ? event->bytes : dataset->bytes;
}

/* milliseconds are enough for a wall clock, and fit into the digits of a record */
double vel_event_now(struct vel_clock *clock)
{
    return (double)(vel_clock_wall(clock) / (int64_t)VEL_CLOCK_MS) / 1000;
}

static int encode(const struct vel_event_log *log, const struct vel_event *event,
                  struct vel_node *node)
{
    double time = event->time > 0 ? event->time : vel_event_now(log->clock);

    return vel_node_set_real(node, "time", time) ||
           vel_node_set_text(node, "event", words[event->kind]) ||
           put_result(node, event->result) || put_int(node, "id", event->id) ||
           put_text(node, "name", event->name) ||
           put_int(node, "files", event->files) ||
           put_int(node, "bytes", event->bytes) ||
           (event->seconds > 0 && vel_node_set_real(node, "seconds", event->seconds)) ||
           put_text(node, "text", event->text) ||
           put_int(node, "ranks", event->ranks) ||
           put_int(node, "nodes", event->nodes) ||
           put_int(node, "compared", event->compared) ||
           put_int(node, "cloned", event->cloned) ||
           put_int(node, "written", event->written) ||
           put_text(node, "job", log->job) || put_text(node, "user", log->user);
}

/* The line with its newline. */
static int print(const struct vel_event_log *log, const struct vel_event *event,
                 struct vel_buf *ret, struct vel_err *err)
{
    if (event->kind == VEL_EVENT_OTHER ||
        (size_t)event->kind >= sizeof words / sizeof words[0])
        return vel_fail(err, VEL_EINVAL, "no event has the number %d", event->kind);

    struct vel_node *node = vel_node_object();
    int rc = 0;

    if (!node || encode(log, event, node))
        rc = vel_fail(err, VEL_EINVAL, "event %s cannot be written as a line",
                      words[event->kind]);
    else
        vel_node_print(node, ret);
    vel_node_destroy(node);
    vel_buf_putc(ret, '\n');
    if (rc == 0)
        rc = vel_buf_status(ret, err);
    if (rc == 0 && ret->len > VEL_EVENT_LINE_MOST)
        rc = vel_fail(err, VEL_EINVAL, "event %s has a line of %zu bytes, %d can be",
                      words[event->kind], ret->len, VEL_EVENT_LINE_MOST);
    return rc;
}

/* Is the last line unfinished? Its writer was killed, or wrote to a full disk. */
static int is_torn(struct vel_fs *fs, int fd, const char *path, bool *ret_torn,
                   struct vel_err *err)
{
    struct stat st;
    char last;
    int rc = vel_fs_stat(fs, fd, path, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode))
        return vel_fail(err, VEL_EUNSAFE, "%s is no regular file: remove it", path);
    if (st.st_size == 0) {
        *ret_torn = false;
        return 0;
    }
    rc = vel_fs_read_at(fs, fd, &last, 1, st.st_size - 1, path, err);
    if (rc == 0)
        *ret_torn = last != '\n';
    return rc;
}

/* Is it so long that a new one is to begin? */
static bool is_long(struct vel_fs *fs, const char *path)
{
    struct stat st;

    return vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
           st.st_size >= VEL_EVENT_FILE_MOST;
}

/* One of several writers that find it too long does it; whoever has it open still
 * writes there, which loses nothing. Where it cannot be done it grows. */
static void put_aside(const struct vel_event_log *log)
{
    char *dir = vel_path_dir(log->path);
    char *past = dir ? vel_path_join(dir, VEL_EVENT_PAST) : NULL;
    char *path = dir ? vel_path_join(dir, VEL_EVENT_FILE ".lock") : NULL;
    struct vel_lock *lock = NULL;
    struct vel_host host = {0};

    if (past && path && vel_host_init(&host, NULL) == 0 &&
        vel_lock_try(log->fs, &host, path, &lock, NULL) == 0) {
        if (is_long(log->fs, log->path))
            vel_fs_rename(log->fs, log->path, past, NULL);
        vel_lock_remove(lock);
    }
    vel_host_fini(&host);
    free(path);
    free(past);
    free(dir);
}

/* A newline in front keeps our line apart from a torn one. When two writers see the
 * same torn line there is an empty one between theirs, which readers skip. */
static int append(const struct vel_event_log *log, struct vel_buf *line,
                  struct vel_err *err)
{
    bool torn = false;
    int fd = -1;
    int rc =
        vel_fs_open(log->fs, log->path,
                    O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                    0600, &fd, err);

    if (rc < 0)
        return rc;
    rc = is_torn(log->fs, fd, log->path, &torn, err);
    if (rc == 0) {
        const char *bytes = torn ? line->data : line->data + 1;
        size_t len = torn ? line->len : line->len - 1;

        rc = vel_fs_append(log->fs, fd, bytes, len, log->path, err);
    }
    int close_rc = vel_fs_close(log->fs, fd, log->path, rc < 0 ? NULL : err);
    return rc < 0 ? rc : close_rc;
}

int vel_event_log_add(const struct vel_event_log *log, const struct vel_event *event,
                      struct vel_err *err)
{
    struct vel_buf line;
    int rc;

    if (!log->path)
        return 0;
    if (is_long(log->fs, log->path))
        put_aside(log);
    vel_buf_init(&line);
    vel_buf_putc(&line, '\n');
    rc = print(log, event, &line, err);
    if (rc == 0)
        rc = append(log, &line, err);
    vel_buf_fini(&line);
    return rc < 0 ? vel_wrap(err, rc, "recording an event") : 0;
}
