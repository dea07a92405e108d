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

int vel_copying_say(struct vel_batches *ledger, struct vel_copying *c, bool is_synced,
                    struct vel_err *err)
{
    const uint8_t *transfer = (const uint8_t *)c->transfer.data;
    char *state = malloc(VEL_HEX_ROOM(c->transfer.len)), nothing[] = "";
    const struct vel_fact fact = {.kind = VEL_FACT_COPYING,
                                  .u.copying = {.id = c->id,
                                                .count = c->count + 1,
                                                .attempt = c->owner,
                                                .rank = c->rank,
                                                .name = c->name ? c->name : nothing,
                                                .at = (int64_t)c->offset,
                                                .crc = c->crc,
                                                .state = state}};
    int rc = state ? 0 : vel_out_of_memory(err, "a note of a copy");

    if (rc == 0)
        vel_hex(transfer, c->transfer.len, state);
    if (rc == 0 && ledger)
        rc = vel_batches_note(ledger, &fact, is_synced, err);
    if (rc == 0)
        c->count++;
    free(state);
    return rc;
}

static int get(const struct vel_fact_copying *fact, struct vel_copying *ret,
               struct vel_err *err)
{
    size_t len = strlen(fact->state) / 2;
    uint8_t *state = malloc(len + 1);

    ret->owner = fact->attempt;
    ret->count = fact->count;
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
    const struct vel_fact subject = {.kind = VEL_FACT_COPYING, .u.copying = {.id = id}};
    struct vel_err why = {0};
    struct vel_fact fact;
    int rc = ledger ? vel_batches_noted(ledger, &subject, with_others, &fact, &why)
                    : VEL_ENOENT;

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
