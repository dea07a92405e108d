/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/delta_past.h"
#include "meta/index.h"

/* the hashes of one dataset */
struct known {
    int64_t id;
    struct vel_vec hashes; /* struct vel_hashed */
};

struct vel_past {
    struct vel_fs *fs;
    const char *dir;
    int64_t id;
    int list;
    struct vel_vec entries; /* struct vel_entry, newest first */
    size_t next;            /* the first that was not looked at */
    struct vel_vec known; /* struct known *, newest first: what is found in it stays */
};

int vel_past_open(struct vel_index *index, int64_t id, int list,
                  struct vel_past **ret_past, struct vel_err *err)
{
    struct vel_past *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return vel_out_of_memory(err, "flushing");
    *p = (struct vel_past){
        .fs = vel_index_fs(index), .dir = vel_index_dir(index), .id = id, .list = list};
    vel_vec_init(&p->known, sizeof(struct known *));
    rc = vel_index_load(index, NULL, &p->entries, err);
    if (rc == 0)
        *ret_past = p;
    else
        free(p);
    return rc;
}

void vel_past_close(struct vel_past *past)
{
    if (!past)
        return;
    for (size_t i = 0; i < past->known.n; i++) {
        struct known *k = *(struct known **)vel_vec_at(&past->known, i);

        vel_hashes_fini(&k->hashes);
        free(k);
    }
    vel_vec_fini(&past->known);
    vel_index_fini(&past->entries);
    free(past);
}

static const struct vel_hashed *find_in(const struct known *known, const char *name)
{
    for (size_t i = 0; i < known->hashes.n; i++) {
        const struct vel_hashed *h = vel_vec_at(&known->hashes, i);

        if (strcmp(h->name, name) == 0)
            return h;
    }
    return NULL;
}

/* The hashes of one more dataset; *ret_known is NULL when it has none. */
static int learn(struct vel_past *p, int64_t id, struct known **ret_known,
                 struct vel_err *err)
{
    struct known *k = calloc(1, sizeof *k);
    struct vel_err why = {0};
    int rc;

    *ret_known = NULL;
    if (!k)
        return vel_out_of_memory(err, "flushing");
    k->id = id;
    rc = vel_hashes_load(p->fs, p->dir, id, p->list, &k->hashes, &why);
    if (rc < 0) {
        free(k);
        if (rc != VEL_ENOENT)
            vel_log(VEL_LOG_INFO,
                    "files of dataset %" PRId64
                    " are written whole over those of %" PRId64 ": %s",
                    p->id, id, why.text);
        return 0;
    }
    if (!vel_vec_push(&p->known, &k)) {
        vel_hashes_fini(&k->hashes);
        free(k);
        return vel_out_of_memory(err, "flushing");
    }
    *ret_known = k;
    return 0;
}

int vel_past_find(struct vel_past *past, const char *name,
                  const struct vel_hashed **ret, int64_t *ret_id, struct vel_err *err)
{
    const struct vel_hashed *found = NULL;
    int rc = 0;

    for (size_t i = 0; !found && i < past->known.n; i++) {
        struct known *k = *(struct known **)vel_vec_at(&past->known, i);

        found = find_in(k, name);
        *ret_id = k->id;
    }
    while (rc == 0 && !found && past->next < past->entries.n) {
        const struct vel_entry *e = vel_vec_at(&past->entries, past->next++);
        struct known *k;

        if (e->dataset.id >= past->id || e->place != VEL_ON_PREFIX || e->replaced)
            continue;
        rc = learn(past, e->dataset.id, &k, err);
        if (rc == 0 && k) {
            found = find_in(k, name);
            *ret_id = k->id;
        }
    }
    if (rc == 0)
        *ret = found;
    return rc;
}

bool vel_past_is_last(const struct vel_past *past, int64_t id)
{
    for (size_t i = 0; i < past->entries.n; i++) {
        const struct vel_entry *e = vel_vec_at(&past->entries, i);

        if (e->dataset.id > id && e->dataset.id < past->id &&
            e->place != VEL_ON_PREFIX && !e->replaced)
            return false;
    }
    return true;
}
