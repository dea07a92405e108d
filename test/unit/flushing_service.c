/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushing by a vendor's service, which goes on when the leader's process is killed:
 * the next leader takes the transfer over, or stops it. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/conf.h"
#include "jobs/copying.h"
#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

/* The service: it has the files there when it was asked often enough. */
static struct {
    int started, resumed, cancelled, looks;
    bool forgets;
    const struct veloc_transport_batch *batch;
} service;

static int service_open(unsigned rank, void **ret_instance, char *text)
{
    (void)rank, (void)text;
    *ret_instance = &service;
    return 0;
}

static void service_close(void *instance)
{
    (void)instance;
}

static int service_start(void *instance, const struct veloc_transport_batch *batch,
                         void **ret_transfer, char *text)
{
    (void)instance, (void)text;
    service.started++;
    service.batch = batch;
    *ret_transfer = &service;
    return 0;
}

static int service_test(void *instance, void *transfer,
                        struct veloc_transport_progress *ret_progress, char *text)
{
    (void)instance, (void)transfer, (void)text;
    ret_progress->is_done = service.looks-- <= 0;
    ret_progress->bytes = 0;
    for (size_t i = 0; ret_progress->is_done && i < service.batch->n; i++) {
        size_t len;
        char *bytes = tap_get_file(service.batch->files[i].source, &len);

        if (!bytes)
            return -ENOENT;
        tap_put_bytes(service.batch->files[i].destination, bytes, len);
        free(bytes);
    }
    return 0;
}

static int service_cancel(void *instance, void *transfer, char *text)
{
    (void)instance, (void)transfer, (void)text;
    service.cancelled++;
    return 0;
}

static void service_free(void *instance, void *transfer)
{
    (void)instance, (void)transfer;
}

static int service_save(void *instance, void *transfer, void *bytes, size_t *len,
                        char *text)
{
    (void)instance, (void)transfer, (void)text;
    if (*len < 3)
        return -ENOSPC;
    memcpy(bytes, "\0id", 3);
    *len = 3;
    return 0;
}

static int service_resume(void *instance, const struct veloc_transport_batch *batch,
                          const void *bytes, size_t len, void **ret_transfer,
                          char *text)
{
    (void)instance, (void)text;
    if (service.forgets || len != 3 || memcmp(bytes, "\0id", 3) != 0)
        return -ENOENT;
    service.resumed++;
    service.batch = batch;
    *ret_transfer = &service;
    return 0;
}

static const struct veloc_transport_ops ops = {
    .abi = VELOC_TRANSPORT_ABI,
    .size = sizeof ops,
    .name = "SERVICE",
    .version = "1",
    .open = service_open,
    .close = service_close,
    .start = service_start,
    .test = service_test,
    .cancel = service_cancel,
    .free = service_free,
    .save = service_save,
    .resume = service_resume,
};

/* --- */

static struct flushlab lab;
static struct vel_transport *transport;

static void begin(const char *name)
{
    flushlab_init(&lab, name, 50000);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    memset(&service, 0, sizeof service);
}

static void node_of(int64_t owner, struct flushlab_node *ret)
{
    flushlab_node(&lab, vel_fs_posix(), 1, owner, 0, ret);
    ret->flushing.transport = transport;
}

static bool die(void *arg, uint64_t bytes)
{
    (void)arg, (void)bytes;
    raise(SIGKILL);
    return false;
}

/* The leader's process is killed while it waits for the service. */
static void kill_owner(int64_t owner)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        const struct vel_watch watch = {die, NULL};
        struct vel_flush_copied copied;
        struct flushlab_node node;

        service.looks = 1000000;
        node_of(owner, &node);
        node.job.watch = &watch;
        vel_flushing_copy(&node.flushing, &node.job, &copied, NULL);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
        bail_out("the owner was not killed");
}

/* As owner K: copy, stage and name. */
static bool finishes(int64_t owner)
{
    struct flushlab_node node;
    struct vel_flush_copied copied;
    struct vel_entry entry;
    struct vel_err err = {0};
    bool is;

    node_of(owner, &node);
    is = vel_flushing_copy(&node.flushing, &node.job, &copied, &err) == 0 &&
         indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err) == 0;
    if (is) {
        entry.owner = owner;
        is = vel_flushing_stage(&node.flushing, &entry, &err) == 0 &&
             vel_flushing_name(&node.flushing, &node.job, &err) == 0;
        vel_entry_fini(&entry);
    }
    if (!is)
        note("%s", err.text);
    return is && flushlab_shows(&lab, 1, 0) == 1 && flushlab_strays(&lab) == 0;
}

int main(void)
{
    struct vel_transport_setup setup = {.type = VEL_FLUSH_BBAPI,
                                        .clock = vel_clock_system()};
    struct flushlab_node node;
    struct vel_err err = {0};
    char path[1200];

    snprintf(path, sizeof path, "%s/test/sdk/.libs/fake.so", getenv("top_builddir"));
    sdk_set_ops(&ops);
    setup.plugin = path;
    if (vel_transport_open(&setup, &transport, &err) < 0)
        bail_out("%s", err.text);
    ok(vel_transport_is_service(transport), "the files are moved by a service");

    begin("moved");
    service.looks = 3;
    ok(finishes(1) && service.started == 1,
       "it moves a node's files, and they are named");

    begin("killed");
    kill_owner(1);
    flushlab_claim(&lab, 1, 2);
    ok(finishes(2) && service.started == 0 && service.resumed == 1,
       "what it moves for a leader that was killed the next owner takes over");

    begin("forgotten");
    kill_owner(1);
    service.forgets = true;
    ok(finishes(1) && service.started == 1, "what it knows nothing of is begun anew");

    begin("stopped");
    kill_owner(1);
    flushlab_claim(&lab, 1, 2);
    node_of(2, &node);
    ok(vel_flushing_retreat(&node.flushing, &node.job, &err) == 0 &&
           service.cancelled == 1 && flushlab_strays(&lab) == 0,
       "a flush that is taken back is stopped there, too");
    vel_transport_close(transport);
    return done_testing();
}
