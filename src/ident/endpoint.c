/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "brain/messages.h"
#include "ident/endpoint.h"
#include "record/record.h"
#include "sys/host.h"

enum { FORMAT = 1, ENDPOINTS_MOST = 1023, RANKS_MOST = 65535 };

static const char type[] = "endpoint", beat_type[] = "beat";
static const char here[] = "node.", left[] = "left.";

void vel_endpoint_fini(struct vel_endpoint *endpoint)
{
    free(endpoint->node);
    free(endpoint->ranks);
    free(endpoint->endpoints);
    *endpoint = (struct vel_endpoint){0};
}

static char *record_path(const char *dir, const char *prefix, const char *node)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s%s", dir, prefix, node);
    return vel_buf_take(&path, NULL);
}

static int check(const struct vel_endpoint *endpoint, enum vel_status status,
                 struct vel_err *err)
{
    if (!vel_host_is_name(endpoint->node))
        return vel_fail(err, status, "'%s' is no name of a node", endpoint->node);
    if (strlen(endpoint->ranks) > RANKS_MOST ||
        strspn(endpoint->ranks, "0123456789- ") != strlen(endpoint->ranks))
        return vel_fail(err, status, "the ranks of %s are no ranges of numbers",
                        endpoint->node);
    if (strlen(endpoint->endpoints) > ENDPOINTS_MOST || !endpoint->endpoints[0])
        return vel_fail(err, status,
                        "the endpoints of %s have %zu bytes, 1 to %d are allowed",
                        endpoint->node, strlen(endpoint->endpoints), ENDPOINTS_MOST);
    return 0;
}

static int endpoint_to_node(const struct vel_endpoint *endpoint, struct vel_node **ret,
                            struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    int rc = check(endpoint, VEL_EINVAL, err);

    if (rc == 0 && !body)
        rc = vel_out_of_memory(err, "a record");
    if (rc == 0 &&
        ((rc = vel_node_set_text(body, "node", endpoint->node)) < 0 ||
         (rc = vel_node_set_int(body, "epoch", endpoint->epoch)) < 0 ||
         (rc = vel_node_set_text(body, "ranks", endpoint->ranks)) < 0 ||
         (rc = vel_node_set_text(body, "endpoints", endpoint->endpoints)) < 0 ||
         (endpoint->has_lost && (rc = vel_node_set_int(body, "lost", 1)) < 0)))
        vel_fail(err, rc, "the endpoints of %s: %s", endpoint->node,
                 rc == VEL_ENOMEM ? "out of memory" : "a path that is no UTF-8");
    if (rc < 0) {
        vel_node_destroy(body);
        return rc;
    }
    *ret = body;
    return 0;
}

static int endpoint_from_node(const struct vel_node *body, struct vel_endpoint *ret,
                              struct vel_err *err)
{
    const char *node, *ranks, *endpoints;
    struct vel_endpoint found = {0};
    int rc;

    if ((rc = vel_node_get_text(body, "node", &node, err)) < 0 ||
        (rc = vel_node_get_int(body, "epoch", 1, INT64_MAX, &found.epoch, err)) < 0 ||
        (rc = vel_node_get_text(body, "ranks", &ranks, err)) < 0 ||
        (rc = vel_node_get_text(body, "endpoints", &endpoints, err)) < 0)
        return rc;
    found.has_lost = vel_node_has(body, "lost");
    found.node = strdup(node);
    found.ranks = strdup(ranks);
    found.endpoints = strdup(endpoints);
    if (!found.node || !found.ranks || !found.endpoints)
        rc = vel_out_of_memory(err, "an endpoint");
    else
        rc = check(&found, VEL_ECORRUPT, err);
    if (rc < 0) {
        vel_endpoint_fini(&found);
        return rc;
    }
    *ret = found;
    return 0;
}

static int load(struct vel_fs *fs, const char *dir, const char *prefix,
                const char *node, struct vel_endpoint *ret, struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_endpoint found = {0};
    char *path = record_path(dir, prefix, node);
    int version, rc;

    if (!path)
        return vel_out_of_memory(err, node);
    rc = vel_record_load(fs, path, type, FORMAT, &version, &body, err);
    if (rc == 0)
        rc = vel_wrap(err, endpoint_from_node(body, &found, err), "%s", path);
    if (rc == 0 && strcmp(found.node, node) != 0)
        rc =
            vel_fail(err, VEL_ECORRUPT, "%s: it is the record of %s", path, found.node);
    if (rc == 0)
        *ret = found;
    else
        vel_endpoint_fini(&found);
    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_endpoint_load(struct vel_fs *fs, const char *dir, const char *node,
                      struct vel_endpoint *ret, struct vel_err *err)
{
    return load(fs, dir, here, node, ret, err);
}

int vel_endpoint_save(struct vel_fs *fs, const char *dir, struct vel_endpoint *endpoint,
                      struct vel_err *err)
{
    struct vel_endpoint former = {0}, fresh = *endpoint;
    struct vel_node *body = NULL;
    char *path = NULL;
    int rc = 0;

    if (fresh.epoch == 0)
        rc = vel_endpoint_load(fs, dir, endpoint->node, &former, err);
    if (rc == VEL_ENOENT)
        rc = vel_fs_make_own_dir(fs, dir, 0700, err);
    if (rc < 0)
        return rc;
    if (fresh.epoch == 0)
        fresh.epoch = former.epoch + 1;
    vel_endpoint_fini(&former);
    rc = endpoint_to_node(&fresh, &body, err);
    if (rc < 0)
        return rc;
    path = record_path(dir, here, endpoint->node);
    rc = path ? vel_record_save(fs, path, type, FORMAT, body, err)
              : vel_out_of_memory(err, endpoint->node);
    if (rc == 0)
        endpoint->epoch = fresh.epoch;
    free(path);
    vel_node_destroy(body);
    return rc;
}

/* Known by its name alone. */
static int put_unreadable(struct vel_endpoint *ret, const char *node,
                          struct vel_err *err)
{
    *ret = (struct vel_endpoint){
        .node = strdup(node), .ranks = strdup(""), .endpoints = strdup("")};
    return ret->node && ret->ranks && ret->endpoints ? 0 : vel_out_of_memory(err, node);
}

static int list_one(struct vel_fs *fs, const char *dir, const char *prefix,
                    const char *node, struct vel_vec *list, struct vel_err *err)
{
    struct vel_endpoint found = {0};
    int rc = load(fs, dir, prefix, node, &found, err);

    if (rc == VEL_ENOENT)
        return 0; /* gone meanwhile */
    if (rc < 0 && rc != VEL_ENOMEM)
        rc = put_unreadable(&found, node, err);
    if (rc == 0 && !vel_vec_push(list, &found))
        rc = vel_out_of_memory(err, node);
    if (rc < 0)
        vel_endpoint_fini(&found);
    return rc;
}

static int list_all(struct vel_fs *fs, const char *dir, const char *prefix,
                    struct vel_vec *ret, struct vel_err *err)
{
    const size_t len = strlen(prefix);
    struct vel_vec names, list;
    int rc;

    vel_vec_init(&list, sizeof(struct vel_endpoint));
    rc = vel_fs_list(fs, dir, &names, err);
    if (rc == VEL_ENOENT) {
        *ret = list;
        return 0;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        if (strncmp(name, prefix, len) == 0 && vel_host_is_name(name + len))
            rc = list_one(fs, dir, prefix, name + len, &list, err);
    }
    vel_fs_names_fini(&names);
    if (rc < 0)
        vel_endpoint_list_fini(&list);
    else
        *ret = list;
    return rc;
}

int vel_endpoint_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                      struct vel_err *err)
{
    return list_all(fs, dir, here, ret, err);
}

int vel_endpoint_list_left(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                           struct vel_err *err)
{
    return list_all(fs, dir, left, ret, err);
}

void vel_endpoint_list_fini(struct vel_vec *list)
{
    for (size_t i = 0; i < list->n; i++)
        vel_endpoint_fini(vel_vec_at(list, i));
    vel_vec_fini(list);
}

int vel_endpoint_leave(struct vel_fs *fs, const char *dir, const char *node,
                       struct vel_err *err)
{
    char *from = record_path(dir, here, node), *to = record_path(dir, left, node);
    int rc =
        from && to ? vel_fs_rename(fs, from, to, err) : vel_out_of_memory(err, node);

    free(from);
    free(to);
    return rc == VEL_ENOENT ? 0 : rc;
}

/* A number at *at, which moves behind it; -1 when there is none that is a rank. */
static int64_t rank_at(const char **at)
{
    int64_t rank = 0;
    const char *c = *at;

    for (; *c >= '0' && *c <= '9'; c++) {
        rank = rank * 10 + (*c - '0');
        if (rank > (int64_t)VEL_MSG_NO_RANK)
            return -1;
    }
    if (c == *at)
        return -1;
    *at = c;
    return rank;
}

bool vel_endpoint_has_rank(const char *ranks, int64_t rank)
{
    while (*ranks) {
        int64_t first = rank_at(&ranks), last = first;

        if (*ranks == '-') {
            ranks++;
            last = rank_at(&ranks);
        }
        if (first < 0 || last < first || (*ranks && *ranks != ' '))
            return false;
        if (rank >= first && rank <= last)
            return true;
        ranks += *ranks == ' ';
    }
    return false;
}

/* One rank, or a range, and its mark. */
static bool next_ranks(const char **at, int64_t *ret_first, int64_t *ret_last,
                       char *ret_mark)
{
    *ret_first = *ret_last = rank_at(at);
    if ((*at)[0] == '-' && (*at)[1] >= '0' && (*at)[1] <= '9') {
        *at += 1;
        *ret_last = rank_at(at);
    }
    *ret_mark = **at == '!' || **at == '-' ? *(*at)++ : ' ';
    *at += **at == ' ';
    return *ret_first >= 0 && *ret_last >= *ret_first;
}

int vel_endpoint_add_ranks(struct vel_endpoint *endpoint, const char *present,
                           struct vel_err *err)
{
    struct vel_buf ranks;
    int64_t first, last;
    char mark;

    vel_buf_init(&ranks);
    vel_buf_puts(&ranks, endpoint->ranks);
    while (*present && next_ranks(&present, &first, &last, &mark)) {
        endpoint->has_lost = endpoint->has_lost || mark == '!';
        if (vel_endpoint_has_rank(vel_buf_text(&ranks), first) &&
            vel_endpoint_has_rank(vel_buf_text(&ranks), last))
            continue;
        vel_buf_printf(&ranks, "%s%" PRId64, ranks.len > 0 ? " " : "", first);
        if (last > first)
            vel_buf_printf(&ranks, "-%" PRId64, last);
    }
    char *text = vel_buf_take(&ranks, NULL);
    if (!text)
        return vel_out_of_memory(err, "ranks");
    free(endpoint->ranks);
    endpoint->ranks = text;
    return 0;
}

void vel_endpoint_put_ended(const struct vel_endpoint *endpoint, struct vel_buf *ret)
{
    const char *at = endpoint->ranks;
    int64_t first, last;
    char mark;

    while (*at && next_ranks(&at, &first, &last, &mark))
        for (int64_t rank = first; rank <= last && ret->len < RANKS_MOST; rank++)
            vel_buf_printf(ret, "%s%" PRId64 "%c", ret->len > 0 ? " " : "", rank,
                           endpoint->has_lost ? '!' : '-');
}

int vel_endpoint_inherit(struct vel_fs *fs, const char *dir,
                         struct vel_endpoint *endpoint, struct vel_err *err)
{
    struct vel_endpoint former = {0};
    int rc = load(fs, dir, here, endpoint->node, &former, NULL);

    if (rc == VEL_ENOENT)
        rc = load(fs, dir, left, endpoint->node, &former, NULL);
    if (rc < 0)
        return 0;
    endpoint->has_lost = endpoint->has_lost || former.has_lost;
    rc = vel_endpoint_add_ranks(endpoint, former.ranks, err);
    vel_endpoint_fini(&former);
    return rc;
}

/* --- the beat --- */

int vel_beat_save(struct vel_fs *fs, const char *dir, const struct vel_beat *beat,
                  struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = vel_path_join(dir, "beat");
    int64_t writer; /* a chair that is none any more may beat as well */
    int rc = vel_fs_writer(&writer, err);

    if (rc < 0)
        goto out;
    if (!body || !path || vel_node_set_int(body, "beat", beat->count) < 0 ||
        vel_node_set_text(body, "living", beat->living) < 0 ||
        (beat->is_new && vel_node_set_int(body, "new", 1) < 0))
        rc = vel_out_of_memory(err, "the beat of a launch");
    else
        rc = vel_record_save_unsynced(fs, path, writer, beat_type, FORMAT, body, err);
out:
    free(path);
    vel_node_destroy(body);
    return rc;
}

/* One of an older version does not tell who lives. */
static int get_beat(const struct vel_node *body, struct vel_beat *ret,
                    struct vel_err *err)
{
    const char *living = NULL;
    int rc = vel_node_get_int(body, "beat", 1, INT64_MAX, &ret->count, err);

    if (rc == 0 && vel_node_has(body, "living"))
        rc = vel_node_get_text(body, "living", &living, err);
    if (rc == 0 && living && !(ret->living = strdup(living)))
        rc = vel_out_of_memory(err, "the beat of a launch");
    ret->is_new = vel_node_has(body, "new");
    return rc;
}

int vel_beat_load(struct vel_fs *fs, const char *dir, struct vel_beat *ret,
                  struct vel_err *err)
{
    struct vel_node *body = NULL;
    char *path = vel_path_join(dir, "beat");
    struct vel_beat beat = {0};
    int version, rc;

    if (!path)
        return vel_out_of_memory(err, "the beat of a launch");
    rc = vel_record_load(fs, path, beat_type, FORMAT, &version, &body, err);
    if (rc == 0)
        rc = vel_wrap(err, get_beat(body, &beat, err), "%s", path);
    if (rc == VEL_ECORRUPT) {
        vel_log(VEL_LOG_WARN, "%s is damaged: its launch is over unless it is replaced",
                path);
        beat.count = VEL_BEAT_DAMAGED;
    }
    if (rc == VEL_ENOENT || rc == VEL_ECORRUPT)
        rc = 0;
    if (rc == 0)
        *ret = beat;
    vel_node_destroy(body);
    free(path);
    return rc;
}

void vel_beat_fini(struct vel_beat *beat)
{
    free(beat->living);
}
