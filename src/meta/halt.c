/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/halt.h"
#include "record/record.h"
#include "sys/entropy.h"

enum { FORMAT = 1, CHECKPOINTS_MOST = 1000000000, SECONDS_MOST = 31536000 };

#define TIME_MOST INT64_C(253402300799) /* the last second of the year 9999 */

static const char asked_type[] = "halt", run_type[] = "halt-run";

void vel_halt_init(struct vel_halt *halt)
{
    *halt = (struct vel_halt){.checkpoints = -1, .seconds = -1};
}

void vel_halt_fini(struct vel_halt *halt)
{
    free(halt->reason);
    free(halt->finished);
    vel_halt_init(halt);
}

static int check(int64_t value, int64_t none, int64_t most, const char *what,
                 struct vel_err *err)
{
    if (value < none || value > most)
        return vel_fail(err, VEL_EINVAL, "%s: %" PRId64 " is not from 0 to %" PRId64,
                        what, value, most);
    return 0;
}

int vel_halt_set_checkpoints(struct vel_halt *halt, int64_t checkpoints,
                             struct vel_err *err)
{
    uint64_t id;
    int rc = check(checkpoints, -1, CHECKPOINTS_MOST, "checkpoints before a halt", err);

    if (rc == 0)
        rc = vel_entropy(&id, sizeof id, err);
    if (rc < 0)
        return rc;
    halt->checkpoints = checkpoints;
    snprintf(halt->request, sizeof halt->request, "%016" PRIx64, id);
    return 0;
}

int vel_halt_set_before(struct vel_halt *halt, int64_t time, struct vel_err *err)
{
    int rc = check(time, 0, TIME_MOST, "time before which to halt", err);

    if (rc == 0)
        halt->before = time;
    return rc;
}

int vel_halt_set_after(struct vel_halt *halt, int64_t time, struct vel_err *err)
{
    int rc = check(time, 0, TIME_MOST, "time after which to halt", err);

    if (rc == 0)
        halt->after = time;
    return rc;
}

int vel_halt_set_seconds(struct vel_halt *halt, int64_t seconds, struct vel_err *err)
{
    int rc = check(seconds, -1, SECONDS_MOST, "seconds of halt before the end", err);

    if (rc == 0)
        halt->seconds = seconds;
    return rc;
}

static int replace_text(char **text, const char *by, struct vel_err *err)
{
    char *copy = by ? strdup(by) : NULL;

    if (by && !copy)
        return vel_out_of_memory(err, "reason for a halt");
    free(*text);
    *text = copy;
    return 0;
}

int vel_halt_set_reason(struct vel_halt *halt, const char *reason, struct vel_err *err)
{
    if (reason && !*reason)
        return vel_fail(err, VEL_EINVAL, "a reason for a halt cannot be empty");
    return replace_text(&halt->reason, reason, err);
}

/* Write the body, or without one remove the file. */
static int save(struct vel_fs *fs, const char *dir, const char *type,
                const struct vel_node *body, struct vel_err *err)
{
    char *path = vel_path_join(dir, type);
    int rc;

    if (!path)
        return vel_out_of_memory(err, "halt record");
    if (body) {
        rc = vel_record_save(fs, path, type, FORMAT, body, err);
    } else {
        rc = vel_fs_unlink(fs, path, err);
        if (rc == 0 && type == asked_type)
            rc = vel_fs_sync_dir(fs, dir, err);
    }
    free(path);
    return rc;
}

/* *ret_body stays NULL when there is no file. *ret_path is the caller's in any case. */
static int load(struct vel_fs *fs, const char *dir, const char *type, char **ret_path,
                struct vel_node **ret_body, struct vel_err *err)
{
    int version;

    *ret_path = vel_path_join(dir, type);
    if (!*ret_path)
        return vel_out_of_memory(err, "halt record");
    int rc = vel_record_load(fs, *ret_path, type, FORMAT, &version, ret_body, err);
    return rc == VEL_ENOENT ? 0 : rc;
}

static int get_optional(const struct vel_node *body, const char *key, int64_t least,
                        int64_t most, int64_t *value, struct vel_err *err)
{
    return vel_node_has(body, key)
               ? vel_node_get_int(body, key, least, most, value, err)
               : 0;
}

/* The id of an asking: 16 hexadecimal digits. */
static int get_request(const struct vel_node *body, char ret_id[VEL_HALT_ID],
                       struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(body, "request", &text, err);

    if (rc < 0)
        return rc;
    if (strlen(text) != VEL_HALT_ID - 1 ||
        strspn(text, "0123456789abcdef") != VEL_HALT_ID - 1)
        return vel_fail(err, VEL_ECORRUPT, "key 'request': expected %d digits",
                        VEL_HALT_ID - 1);
    memcpy(ret_id, text, VEL_HALT_ID);
    return 0;
}

static int decode_asked(const struct vel_node *body, struct vel_halt *asked,
                        struct vel_err *err)
{
    int rc = get_optional(body, "checkpoints", 0, CHECKPOINTS_MOST, &asked->checkpoints,
                          err);

    if (rc == 0 && asked->checkpoints >= 0)
        rc = get_request(body, asked->request, err);
    if (rc == 0)
        rc = get_optional(body, "before", 1, TIME_MOST, &asked->before, err);
    if (rc == 0)
        rc = get_optional(body, "after", 1, TIME_MOST, &asked->after, err);
    if (rc == 0)
        rc = get_optional(body, "seconds", 0, SECONDS_MOST, &asked->seconds, err);
    if (rc == 0 && vel_node_has(body, "reason"))
        rc = vel_node_get_name(body, "reason", &asked->reason, err);
    return rc;
}

int vel_halt_load(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                  struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_halt asked;
    char *path;
    int rc;

    vel_halt_init(&asked);
    rc = load(fs, dir, asked_type, &path, &body, err);
    if (rc < 0)
        goto out;
    if (body)
        rc = decode_asked(body, &asked, err);
    if (rc < 0) {
        rc = vel_wrap(err, rc, "%s", path);
        goto out;
    }
    halt->checkpoints = asked.checkpoints;
    memcpy(halt->request, asked.request, sizeof halt->request);
    halt->before = asked.before;
    halt->after = asked.after;
    halt->seconds = asked.seconds;
    free(halt->reason);
    halt->reason = asked.reason;
    asked.reason = NULL;
out:
    vel_halt_fini(&asked);
    vel_node_destroy(body);
    free(path);
    return rc;
}

static bool is_asked(const struct vel_halt *halt)
{
    return halt->checkpoints >= 0 || halt->before > 0 || halt->after > 0 ||
           halt->seconds >= 0 || halt->reason;
}

static int encode_asked(const struct vel_halt *halt, struct vel_node *body)
{
    int rc = 0;

    if (halt->checkpoints >= 0)
        rc = vel_node_set_int(body, "checkpoints", halt->checkpoints) ||
             vel_node_set_text(body, "request", halt->request);
    if (halt->before > 0)
        rc = rc || vel_node_set_int(body, "before", halt->before);
    if (halt->after > 0)
        rc = rc || vel_node_set_int(body, "after", halt->after);
    if (halt->seconds >= 0)
        rc = rc || vel_node_set_int(body, "seconds", halt->seconds);
    if (halt->reason)
        rc = rc || vel_node_set_name(body, "reason", halt->reason);
    return rc;
}

int vel_halt_save(struct vel_fs *fs, const char *dir, const struct vel_halt *halt,
                  struct vel_err *err)
{
    if (!is_asked(halt))
        return save(fs, dir, asked_type, NULL, err);

    struct vel_node *body = vel_node_object();
    int rc = !body || encode_asked(halt, body) ? vel_out_of_memory(err, "halt record")
                                               : save(fs, dir, asked_type, body, err);

    vel_node_destroy(body);
    return rc;
}

static int decode_run(const struct vel_node *body, struct vel_halt *run,
                      struct vel_err *err)
{
    int rc = get_optional(body, "done", 1, CHECKPOINTS_MOST, &run->done, err);

    if (rc == 0 && run->done > 0)
        rc = get_request(body, run->counted, err);
    if (rc == 0 && vel_node_has(body, "finished"))
        rc = vel_node_get_name(body, "finished", &run->finished, err);
    return rc;
}

int vel_halt_load_run(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                      struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_halt run;
    char *path;
    int rc;

    vel_halt_init(&run);
    rc = load(fs, dir, run_type, &path, &body, err);
    if (rc < 0)
        goto out;
    if (body)
        rc = decode_run(body, &run, err);
    if (rc < 0) {
        rc = vel_wrap(err, rc, "%s", path);
        goto out;
    }
    memcpy(halt->counted, run.counted, sizeof halt->counted);
    halt->done = run.done;
    free(halt->finished);
    halt->finished = run.finished;
    run.finished = NULL;
out:
    vel_halt_fini(&run);
    vel_node_destroy(body);
    free(path);
    return rc;
}

static int encode_run(const struct vel_halt *halt, struct vel_node *body)
{
    int rc = 0;

    if (halt->done > 0)
        rc = vel_node_set_int(body, "done", halt->done) ||
             vel_node_set_text(body, "request", halt->counted);
    if (halt->finished)
        rc = rc || vel_node_set_name(body, "finished", halt->finished);
    return rc;
}

static int save_run(struct vel_fs *fs, const char *dir, const struct vel_halt *halt,
                    struct vel_err *err)
{
    if (halt->done == 0 && !halt->finished) /* what comes back tells of an older run */
        return save(fs, dir, run_type, NULL, err);

    struct vel_node *body = vel_node_object();
    int rc = !body || encode_run(halt, body) ? vel_out_of_memory(err, "halt record")
                                             : save(fs, dir, run_type, body, err);

    vel_node_destroy(body);
    return rc;
}

int vel_halt_begin(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                   struct vel_err *err)
{
    if (!halt->finished)
        return 0;
    free(halt->finished);
    halt->finished = NULL;
    return save_run(fs, dir, halt, err);
}

int vel_halt_count(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                   struct vel_err *err)
{
    if (vel_halt_left(halt) <= 0)
        return 0;
    if (strcmp(halt->counted, halt->request) != 0) {
        memcpy(halt->counted, halt->request, sizeof halt->counted);
        halt->done = 0;
    }
    halt->done++;
    return save_run(fs, dir, halt, err);
}

int vel_halt_finish(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                    const char *reason, struct vel_err *err)
{
    int rc = replace_text(&halt->finished, reason, err);

    return rc < 0 ? rc : save_run(fs, dir, halt, err);
}

int64_t vel_halt_left(const struct vel_halt *halt)
{
    if (halt->checkpoints < 0)
        return -1;
    if (strcmp(halt->counted, halt->request) != 0)
        return halt->checkpoints;
    return halt->done < halt->checkpoints ? halt->checkpoints - halt->done : 0;
}
