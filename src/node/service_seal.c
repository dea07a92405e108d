/* SPDX-License-Identifier: BSD-3-Clause */
/* Seals on disk: launch.L/seal.KEY.G, or seal.D for a dataset of the API; again.KEY.G
 * of what a launch after it has sealed. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/siphash.h"
#include "ident/once.h"
#include "meta/ids.h"
#include "node/service_in.h"
#include "sys/entropy.h"
#include "view/evidence.h"

enum { FORMAT = 1 };

uint64_t vel_service_key(const char *template, const char *step)
{
    static const uint8_t none[VEL_SIPHASH_KEY];
    uint8_t hash[VEL_SIPHASH_LEN];
    struct vel_buf text;
    uint64_t key;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s\n%s", template, step);
    vel_siphash(none, text.data, text.len, hash);
    memcpy(&key, hash, sizeof key);
    vel_buf_fini(&text);
    return key;
}

/* seal: by a chair of the launch; again: by that of a later one. */
static char *path_of(const struct vel_service *service, const char *launch,
                     const char *what, const struct vel_seal *seal)
{
    char name[64];

    if (seal->template && *seal->template)
        snprintf(name, sizeof name, "%s.%016" PRIx64 ".%" PRId64, what,
                 vel_service_key(seal->template, seal->step), seal->generation);
    else
        snprintf(name, sizeof name, "%s.%" PRId64, what, seal->id);
    return vel_launch_path(service->dir, launch, name);
}

char *vel_service_seal_path(const struct vel_service *service, const char *launch,
                            const struct vel_seal *seal)
{
    return path_of(service, launch, "seal", seal);
}

int vel_service_seal_load(struct vel_service *service, const char *path,
                          struct vel_seal *ret, struct vel_err *err)
{
    return vel_evidence_seal(service->fs, path, ret, err);
}

static int save(struct vel_service *service, const char *path,
                const struct vel_seal *seal, bool *ret_is_mine, struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    rc = vel_seal_encode(seal, &text, err);
    if (rc == 0)
        rc = vel_node_parse(text.data, text.len, &body, err);
    if (rc == 0)
        rc = vel_once(service->fs, path, "seal", FORMAT, body, ret_is_mine, err);
    vel_node_destroy(body);
    vel_buf_fini(&text);
    return rc;
}

int vel_service_key_seal(struct vel_service *service, const char *launch,
                         const struct vel_seal *key, struct vel_seal *ret,
                         struct vel_err *err)
{
    static const char *const words[] = {"seal", "again"};
    int rc = VEL_ENOENT;

    for (size_t i = 0; rc == VEL_ENOENT && i < 2; i++) {
        char *path = path_of(service, launch, words[i], key);

        rc = path ? vel_service_seal_load(service, path, ret, err)
                  : vel_out_of_memory(err, "a seal");
        free(path);
    }
    return rc;
}

int vel_service_seal_again(struct vel_service *service, const char *launch,
                           struct vel_seal *seal, bool *ret_is_mine,
                           struct vel_err *err)
{
    char *path = path_of(service, launch, "again", seal);
    int rc = path ? vel_entropy(seal->encoding, sizeof seal->encoding, err)
                  : vel_out_of_memory(err, "a seal");

    if (rc == 0)
        rc = save(service, path, seal, ret_is_mine, err);
    free(path);
    return rc;
}

/* Of files of HDF5 programs; of its own a session tells. */
static void tell(struct vel_service *service, const struct vel_seal *seal)
{
    bool is_checkpoint = vel_service_line(service, seal->template)
                             ? vel_service_is_promise(service, seal->template)
                             : strstr(seal->template, "{rank}") != NULL;
    int64_t nodes = vel_leader_nodes(service->leader);

    if (seal->verdict == VEL_VERDICT_SEALED)
        vel_books_tell(service->books,
                       &(struct vel_event){.kind = is_checkpoint ? VEL_EVENT_CHECKPOINT
                                                                 : VEL_EVENT_OUTPUT,
                                           .result = VEL_EVENT_OK,
                                           .id = seal->id});
    if (service->is_first_chair && nodes > service->nodes)
        vel_books_nodes(service->books, service->nodes = nodes);
}

/* A session's dataset is sealed again by each launch that has it: the first is that
 * which has made it. */
static bool is_first(struct vel_service *service, int64_t id)
{
    char *launch = NULL;
    bool is = id > 0 &&
              vel_id_launch(service->fs, service->dir, id, &launch, NULL, NULL) == 0 &&
              strcmp(launch, service->launch) == 0;

    free(launch);
    return is;
}

int vel_service_seal(void *arg, struct vel_seal *seal, struct vel_err *err)
{
    struct vel_service *service = arg;
    char *path = vel_service_seal_path(service, service->launch, seal);
    struct vel_seal other;
    bool is_mine = false;
    int rc = path ? vel_entropy(seal->encoding, sizeof seal->encoding, err)
                  : vel_out_of_memory(err, "a seal");

    if (rc == 0)
        rc = save(service, path, seal, &is_mine, err);
    seal->owner = rc == 0 && is_mine && is_first(service, seal->id);
    if (is_mine && *seal->template)
        tell(service, seal);
    if (rc == 0 && !is_mine) {
        rc = vel_service_seal_load(service, path, &other, err);
        if (rc == 0) { /* the same dataset, of which other things are owed now */
            memcpy(seal->encoding, other.encoding, sizeof seal->encoding);
            vel_seal_fini(&other);
        }
    }
    if (rc == 0)
        rc = vel_service_note_seal(service, seal, true, err);
    free(path);
    return rc;
}
