/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { NCOPIES = 64, NPLANS = 8 };

struct copy {
    char from[1200], to[1200];
    enum sdk_state state;
    bool is_lost; /* when it ends */
    int looks;    /* that it still needs */
    unsigned long size;
};

static struct {
    char calls[16384];
    size_t len;
    struct {
        const char *function;
        int nth, rc;
    } plans[NPLANS];
    int nplans;
    int looks;
    bool is_lost;
    struct copy copies[NCOPIES];
    int ncopies;
    const struct veloc_transport_ops *ops;
} sdk;

void sdk_reset(void)
{
    memset(&sdk, 0, sizeof sdk);
}

void sdk_fail(const char *function, int nth, int rc)
{
    if (sdk.nplans == NPLANS)
        bail_out("too many plans");
    sdk.plans[sdk.nplans].function = function;
    sdk.plans[sdk.nplans].nth = sdk_count(function) + nth;
    sdk.plans[sdk.nplans++].rc = rc;
}

void sdk_delay(int looks, bool is_lost)
{
    sdk.looks = looks;
    sdk.is_lost = is_lost;
}

const char *sdk_calls(void)
{
    return sdk.calls;
}

int sdk_count(const char *function)
{
    size_t len = strlen(function);
    int n = 0;

    for (const char *at = sdk.calls; *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, function, len) == 0 && (at[len] == ' ' || at[len] == '\n');
    return n;
}

void sdk_set_ops(const struct veloc_transport_ops *ops)
{
    sdk.ops = ops;
}

const struct veloc_transport_ops *sdk_ops(void)
{
    return sdk.ops;
}

int sdk_call(const char *function, const char *fmt, ...)
{
    char told[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(told, sizeof told, fmt, ap);
    va_end(ap);
    size_t room = sizeof sdk.calls - sdk.len;
    int n = snprintf(sdk.calls + sdk.len, room, "%s%s%s\n", function,
                     told[0] ? " " : "", told);
    if ((size_t)n >= room)
        bail_out("too many calls");
    sdk.len += (size_t)n;
    for (int i = 0; i < sdk.nplans; i++)
        if (strcmp(sdk.plans[i].function, function) == 0 &&
            sdk_count(function) == sdk.plans[i].nth)
            return sdk.plans[i].rc;
    return 0;
}

const char *sdk_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* the first `parts` halves of the file */
static bool write_copy(struct copy *c, unsigned long parts)
{
    size_t len;
    char *bytes = tap_get_file(c->from, &len);

    if (!bytes)
        return false;
    c->size = len;
    tap_put_bytes(c->to, bytes, len * parts / 2);
    free(bytes);
    return true;
}

int sdk_begin(const char *from, const char *to)
{
    if (sdk.ncopies == NCOPIES)
        bail_out("too many copies");
    struct copy *c = &sdk.copies[sdk.ncopies];
    memset(c, 0, sizeof *c);
    snprintf(c->from, sizeof c->from, "%s", from);
    snprintf(c->to, sizeof c->to, "%s", to);
    c->looks = sdk.looks;
    c->is_lost = sdk.is_lost;
    return write_copy(c, 1) ? sdk.ncopies++ : -1;
}

enum sdk_state sdk_look(int copy)
{
    struct copy *c = &sdk.copies[copy];

    if (c->state == SDK_PENDING && c->looks-- <= 0)
        c->state = !c->is_lost && write_copy(c, 2) ? SDK_DONE : SDK_LOST;
    return c->state;
}

enum sdk_state sdk_state(int copy)
{
    return sdk.copies[copy].state;
}

unsigned long sdk_size(int copy)
{
    return sdk.copies[copy].size;
}

void sdk_cancel(int copy)
{
    if (sdk.copies[copy].state == SDK_PENDING)
        sdk.copies[copy].state = SDK_CANCELLED;
}

int sdk_find(const char *from)
{
    for (int i = sdk.ncopies - 1; i >= 0; i--)
        if (strcmp(sdk.copies[i].from, from) == 0)
            return i;
    return -1;
}
