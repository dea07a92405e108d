/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { NCOPIES = 256, NPLANS = 8, MEMORY = 8 << 20 };

struct copy {
    char from[1200], to[1200];
    enum sdk_state state;
    bool is_lost; /* when it ends */
    bool is_spoilt;
    int looks; /* that it still needs */
    unsigned long size;
};

/* Of the service, which lives on when a process dies: in memory that a process shares
 * with those that it forks. */
struct service {
    pthread_mutex_t lock; /* guards the list of calls */
    char calls[65536];
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
    _Alignas(16) char memory[MEMORY];
};

static struct service *sdk;
static const struct veloc_transport_ops *the_ops;
static bool is_spared; /* this process */

__attribute__((constructor)) static void begin_service(void)
{
    pthread_mutexattr_t attr;

    sdk = mmap(NULL, sizeof *sdk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
               -1, 0);
    if (sdk == MAP_FAILED)
        bail_out("no memory for a stand-in");
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&sdk->lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Its holder may have been killed. */
static void lock(void)
{
    if (pthread_mutex_lock(&sdk->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&sdk->lock);
}

void sdk_reset(void)
{
    memset(sdk->calls, 0, sizeof *sdk - offsetof(struct service, calls));
}

void *sdk_memory(size_t size)
{
    if (size > MEMORY)
        bail_out("a stand-in wants %zu bytes", size);
    return sdk->memory;
}

void sdk_fail(const char *function, int nth, int rc)
{
    if (sdk->nplans == NPLANS)
        bail_out("too many plans");
    sdk->plans[sdk->nplans].function = function;
    sdk->plans[sdk->nplans].nth = sdk_count(function) + nth;
    sdk->plans[sdk->nplans++].rc = rc;
}

void sdk_delay(int looks, bool is_lost)
{
    sdk->looks = looks;
    sdk->is_lost = is_lost;
}

void sdk_spoil(void)
{
    for (int i = 0; i < sdk->ncopies; i++)
        sdk->copies[i].is_spoilt = true;
}

void sdk_spare(void)
{
    is_spared = true;
}

void sdk_heal(void)
{
    sdk->nplans = 0;
}

const char *sdk_calls(void)
{
    return sdk->calls;
}

int sdk_count(const char *function)
{
    size_t len = strlen(function);
    int n = 0;

    for (const char *at = sdk->calls; *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, function, len) == 0 && (at[len] == ' ' || at[len] == '\n');
    return n;
}

void sdk_set_ops(const struct veloc_transport_ops *ops)
{
    the_ops = ops;
}

const struct veloc_transport_ops *sdk_ops(void)
{
    return the_ops;
}

/* What was planned for the call that was noted last; nobody is killed twice. */
static int planned(const char *function)
{
    int n = sdk_count(function);

    for (int i = 0; i < sdk->nplans; i++) {
        if (strcmp(sdk->plans[i].function, function) != 0)
            continue;
        if (sdk->plans[i].rc != SDK_KILL && n == sdk->plans[i].nth)
            return sdk->plans[i].rc;
        if (sdk->plans[i].rc == SDK_KILL && n >= sdk->plans[i].nth && !is_spared) {
            sdk->plans[i].nth = INT_MAX;
            return SDK_KILL;
        }
    }
    return 0;
}

int sdk_call(const char *function, const char *fmt, ...)
{
    char told[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(told, sizeof told, fmt, ap);
    va_end(ap);
    lock();
    size_t room = sizeof sdk->calls - sdk->len;
    int n = snprintf(sdk->calls + sdk->len, room, "%s%s%s\n", function,
                     told[0] ? " " : "", told);
    if ((size_t)n >= room)
        bail_out("too many calls");
    sdk->len += (size_t)n;
    int rc = planned(function);
    pthread_mutex_unlock(&sdk->lock);
    if (rc == SDK_KILL)
        kill(getpid(), SIGKILL);
    return rc;
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
    if (c->is_spoilt && parts == 2 && len > 0)
        bytes[len / 3] ^= 1;
    FILE *to = fopen(c->to, "w"); /* its directory may be gone */
    bool is_written = to && fwrite(bytes, 1, len * parts / 2, to) == len * parts / 2;

    is_written = to && fclose(to) == 0 && is_written;
    free(bytes);
    return is_written;
}

int sdk_begin(const char *from, const char *to)
{
    int i = __atomic_fetch_add(&sdk->ncopies, 1, __ATOMIC_RELAXED);

    if (i >= NCOPIES)
        bail_out("too many copies");
    struct copy *c = &sdk->copies[i];
    snprintf(c->from, sizeof c->from, "%s", from);
    snprintf(c->to, sizeof c->to, "%s", to);
    c->looks = sdk->looks;
    c->is_lost = sdk->is_lost;
    return write_copy(c, 1) ? i : -1;
}

enum sdk_state sdk_look(int copy)
{
    struct copy *c = &sdk->copies[copy];

    if (c->state == SDK_PENDING && c->looks-- <= 0)
        c->state = !c->is_lost && write_copy(c, 2) ? SDK_DONE : SDK_LOST;
    return c->state;
}

enum sdk_state sdk_state(int copy)
{
    return sdk->copies[copy].state;
}

unsigned long sdk_size(int copy)
{
    return sdk->copies[copy].size;
}

void sdk_cancel(int copy)
{
    if (sdk->copies[copy].state == SDK_PENDING)
        sdk->copies[copy].state = SDK_CANCELLED;
}

int sdk_find(const char *from)
{
    for (int i = sdk->ncopies - 1; i >= 0; i--)
        if (strcmp(sdk->copies[i].from, from) == 0)
            return i;
    return -1;
}
