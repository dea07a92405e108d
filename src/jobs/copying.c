/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "jobs/copying.h"

void vel_copying_init(struct vel_copying *copying)
{
    *copying = (struct vel_copying){0};
    vel_buf_init(&copying->transfer);
}

void vel_copying_fini(struct vel_copying *copying)
{
    free(copying->name);
    vel_buf_fini(&copying->transfer);
}

static struct vel_fact subject_of(const struct vel_batches *ledger, int64_t id)
{
    char *node = (char *)(uintptr_t)vel_batches_node(ledger);

    return (struct vel_fact){.kind = VEL_FACT_COPYING,
                             .u.copying = {.id = id, .node = node}};
}

int vel_copying_say(struct vel_batches *ledger, const struct vel_copying *c,
                    bool is_synced, struct vel_err *err)
{
    char *state = malloc(VEL_HEX_ROOM(c->transfer.len)), nothing[] = "";
    struct vel_fact fact;
    int rc = state ? 0 : vel_out_of_memory(err, "a note of a copy");

    if (rc == 0 && ledger) {
        vel_hex((const uint8_t *)c->transfer.data, c->transfer.len, state);
        fact = subject_of(ledger, c->id);
        fact.u.copying.attempt = c->owner;
        fact.u.copying.files = c->files;
        fact.u.copying.rank = c->rank;
        fact.u.copying.name = c->name ? c->name : nothing;
        fact.u.copying.at = (int64_t)c->offset;
        fact.u.copying.crc = c->crc;
        fact.u.copying.state = state;
        rc = vel_batches_note(ledger, fact, is_synced, err);
    }
    free(state);
    return rc;
}

static int get(const struct vel_fact_copying *fact, struct vel_copying *ret,
               struct vel_err *err)
{
    size_t len = strlen(fact->state) / 2;
    uint8_t *state = malloc(len + 1);

    ret->owner = fact->attempt;
    ret->files = fact->files;
    ret->rank = (int)fact->rank;
    ret->offset = (uint64_t)fact->at;
    ret->crc = (uint32_t)fact->crc;
    ret->name = *fact->name ? strdup(fact->name) : NULL;
    /* a copy of which nothing can be told is begun anew */
    if (state && vel_unhex(fact->state, state, len))
        vel_buf_append(&ret->transfer, state, len);
    if (!state || (*fact->name && !ret->name) || ret->transfer.failed) {
        free(state);
        return vel_out_of_memory(err, "a note of a copy");
    }
    free(state);
    return 0;
}

int vel_copying_find(struct vel_batches *ledger, int64_t id, bool with_others,
                     struct vel_copying *ret, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_fact subject, fact;
    int rc = VEL_ENOENT;

    if (ledger) {
        subject = subject_of(ledger, id);
        rc = vel_batches_noted(ledger, &subject, with_others, &fact, &why);
    }
    vel_copying_init(ret);
    ret->id = id;
    if (rc == 0) {
        rc = get(&fact.u.copying, ret, &why);
        vel_fact_fini(&fact);
    }
    if (rc == 0 || rc == VEL_ENOENT)
        return 0;
    vel_copying_fini(ret);
    vel_copying_init(ret);
    return vel_fail(err, (enum vel_status)rc, "%s", why.text);
}
