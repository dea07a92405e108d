/* SPDX-License-Identifier: BSD-3-Clause */
/* Record "native": files of a key that this node has written natively, and that are
 * nowhere in its caches. The next leader here must know of them: without, the key would
 * seem to lack nothing (doc/life.txt, 3). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/service_in.h"
#include "record/record.h"

enum { FORMAT = 1, MOST = 4096 }; /* more are of keys that were decided long ago */

static const char type[] = "native";

static char *path_of(const struct vel_service *service)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/native.%s", service->launch_dir, service->host.node);
    return vel_buf_take(&path, NULL);
}

/* --- noted --- */

static struct vel_node *node_of(const struct vel_leader_key *key, int64_t rank,
                                const char *name)
{
    struct vel_node *file = vel_node_object();

    if (file && vel_node_set_name(file, "template", key->template) == 0 &&
        vel_node_set_text(file, "step", key->step) == 0 &&
        vel_node_set_int(file, "generation", key->generation) == 0 &&
        vel_node_set_bool(file, "alone", key->is_alone) == 0 &&
        vel_node_set_bool(file, "late", key->is_late) == 0 &&
        vel_node_set_int(file, "rank", rank) == 0 &&
        vel_node_set_name(file, "name", name) == 0)
        return file;
    vel_node_destroy(file);
    return NULL;
}

/* What was noted before, as far as it is wanted. */
static int keep_others(const struct vel_service *service, const char *path,
                       struct vel_node *list)
{
    const struct vel_node *old, *file;
    struct vel_node *body;
    int version, rc = 0;

    if (vel_record_load(service->fs, path, type, FORMAT, &version, &body, NULL) < 0)
        return 0;
    if (vel_node_get_list(body, "files", &old, NULL) == 0) {
        size_t n = vel_node_count(old);

        for (size_t i = n >= MOST ? n - MOST + 1 : 0; rc == 0 && i < n; i++)
            if (vel_node_object_at(old, i, &file, NULL) == 0)
                rc = vel_node_append(list, vel_node_copy(file));
    }
    vel_node_destroy(body);
    return rc;
}

int vel_service_note_native(void *arg, const struct vel_leader_key *key, int64_t rank,
                            const char *name, struct vel_err *err)
{
    const struct vel_service *service = arg;
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    char *path = path_of(service);
    int rc = body && list && path ? keep_others(service, path, list) : VEL_ENOMEM;

    if (rc == 0)
        rc = vel_node_append(list, node_of(key, rank, name));
    if (rc == 0) {
        rc = vel_node_adopt(body, "files", list);
        list = NULL;
    }
    rc = rc < 0 ? vel_out_of_memory(err, "a file that is written natively")
                : vel_record_save(service->fs, path, type, FORMAT, body, err);
    vel_node_destroy(list);
    vel_node_destroy(body);
    free(path);
    return rc;
}

/* --- found --- */

static int read_file(const struct vel_node *node, struct vel_leader_part *ret,
                     struct vel_err *err)
{
    struct vel_leader_key *key = &ret->key;
    char *template = NULL, *name = NULL;
    const char *step;
    int rc = vel_node_get_text(node, "step", &step, err);

    if (rc == 0)
        rc = vel_node_get_int(node, "generation", 1, INT64_MAX, &key->generation, err);
    if (rc == 0)
        rc = vel_node_get_bool(node, "alone", &key->is_alone, err);
    if (rc == 0)
        rc = vel_node_get_bool(node, "late", &key->is_late, err);
    if (rc == 0)
        rc = vel_node_get_int(node, "rank", 0, VEL_MSG_NO_RANK, &ret->file.rank, err);
    if (rc == 0)
        rc = vel_node_get_name(node, "template", &template, err);
    if (rc == 0)
        rc = vel_node_get_name(node, "name", &name, err);
    key->template = template;
    ret->file.name = name;
    key->step = rc == 0 ? strdup(step) : NULL;
    return rc < 0 || key->step ? rc : vel_out_of_memory(err, "a native file");
}

int vel_service_natives(const struct vel_service *service, struct vel_vec *ret,
                        struct vel_err *err)
{
    const struct vel_node *list, *node;
    struct vel_node *body = NULL;
    char *path = path_of(service);
    int version, rc = path ? vel_record_load(service->fs, path, type, FORMAT, &version,
                                             &body, err)
                           : vel_out_of_memory(err, "native files");

    if (rc == 0)
        rc = vel_node_get_list(body, "files", &list, err);
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_leader_part part = {.is_native = true};

        rc = vel_node_object_at(list, i, &node, err);
        if (rc == 0)
            rc = read_file(node, &part, err);
        if (rc == 0 && vel_vec_push(ret, &part))
            continue;
        free((char *)(uintptr_t)part.key.template);
        free((char *)(uintptr_t)part.key.step);
        free((char *)(uintptr_t)part.file.name);
        rc = rc < 0 ? rc : vel_out_of_memory(err, "native files");
    }
    vel_node_destroy(body);
    free(path);
    return rc == VEL_ENOENT ? 0 : rc;
}
