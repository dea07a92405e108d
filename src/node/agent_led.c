/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ident/role.h"
#include "link/client.h"
#include "node/about.h"
#include "node/agent_led.h"
#include "node/service.h"
#include "sys/thread.h"
#include "topo/store.h"

enum { RETRY_MS = 10 };

struct vel_led {
    struct vel_led_of of;
    char *dir; /* of its role */
    struct vel_about about;
    pthread_t thread;
    int rc; /* read when it is done */
    atomic_bool is_done, is_ending;
    pthread_mutex_t lock; /* guards what follows */
    struct vel_service *service;
};

static uint64_t limit_of(const struct vel_led *led)
{
    return (uint64_t)(led->of.conf->peer_timeout * (double)VEL_CLOCK_S);
}

/* --- the role --- */

/* A process leads: it gives the role back when it is asked, unless it is stopped. */
static int ask_for_role(struct vel_led *led, const char *endpoint, struct vel_err *err)
{
    const struct vel_client_conf conf = {
        .role = VEL_PEER_TOOL,
        .rank = VEL_MSG_NO_RANK,
        .launch = led->about.launch,
        .node = led->about.host.node,
        .leader = endpoint,
        .user = geteuid(),
        .limit_ms = (unsigned)(limit_of(led) / 4 / VEL_CLOCK_MS)};
    struct vel_client *client = NULL;
    int64_t epoch;
    bool is_agent;
    int rc = vel_client_open(&conf, &client, err);

    if (rc == 0 && vel_client_leader(client, &epoch, &is_agent))
        rc = vel_client_resign(client, epoch, err);
    vel_client_close(client);
    return rc;
}

static int wait_for_role(struct vel_led *led, struct vel_role *role,
                         struct vel_err *err)
{
    uint64_t until = vel_clock_deadline(vel_clock_system(), limit_of(led));
    int rc;

    while ((rc = vel_role_take(role, err)) == VEL_EBUSY && !led->is_ending &&
           vel_clock_monotonic(vel_clock_system()) < until)
        vel_clock_sleep(vel_clock_system(), RETRY_MS * VEL_CLOCK_MS);
    return rc;
}

static int take_role(struct vel_led *led, struct vel_role **ret_role,
                     struct vel_err *err)
{
    struct vel_role *role = NULL;
    int rc = vel_store_check_control(led->of.conf, led->of.fs, err);

    if (rc == 0)
        rc = vel_role_open(led->of.fs, &led->about.host, led->of.conf->cntl_base,
                           led->about.launch, &role, err);
    if (rc == 0 && led->of.only_deserted && !vel_role_is_deserted(role))
        rc = vel_fail(err, VEL_EBUSY, "processes of it live here");
    if (rc == 0)
        rc = vel_role_take(role, err);
    if (rc == VEL_EBUSY && !led->of.only_deserted) {
        rc = ask_for_role(led, vel_role_endpoint(role), err);
        if (rc == 0)
            rc = wait_for_role(led, role, err);
    }
    if (rc == 0)
        *ret_role = role;
    else
        vel_role_close(role);
    return rc;
}

/* --- to lead --- */

static int start(struct vel_led *led, struct vel_err *err)
{
    const struct vel_about *about = &led->about;
    const struct vel_service_of of = {.fs = led->of.fs,
                                      .clock = vel_clock_system(),
                                      .host = &about->host,
                                      .conf = about->conf,
                                      .launch = about->launch,
                                      .prefix = about->prefix,
                                      .dir = about->dir,
                                      .prefix_id = about->prefix_id,
                                      .named = about->named,
                                      .ranks = about->ranks,
                                      .homes = about->homes,
                                      .n_homes = about->n_homes,
                                      .is_agent = true,
                                      .is_guest =
                                          about->is_guest && !led->of.only_deserted};
    struct vel_service *service = NULL;
    struct vel_role *role = NULL;
    int rc = take_role(led, &role, err);

    if (rc == 0)
        rc = vel_service_start(&of, role, &service, err);
    pthread_mutex_lock(&led->lock);
    led->service = service;
    pthread_mutex_unlock(&led->lock);
    return rc;
}

static void wait_for_end(struct vel_led *led)
{
    struct vel_service *service = led->service;

    while (!led->is_ending && !vel_service_is_over(service))
        vel_service_wait(service, limit_of(led));
    pthread_mutex_lock(&led->lock);
    led->service = NULL;
    pthread_mutex_unlock(&led->lock);
    vel_service_stop(service);
}

/* A launch that is over, or that nobody can lead, has no use for a role. */
static int lead(struct vel_led *led, struct vel_err *err)
{
    int rc = vel_about_load(led->of.fs, led->dir, &led->about, err);

    if (rc == VEL_ENOENT || rc == VEL_ECORRUPT)
        return vel_role_remove_dir(led->of.fs, led->of.host, led->dir, err);
    if (rc < 0)
        return rc;
    if (strcmp(led->about.host.user, led->of.host->user) != 0)
        return vel_fail(err, VEL_EUNSAFE, "it is a launch of %s", led->about.host.user);
    if (vel_about_is_over(led->of.fs, &led->about) &&
        vel_role_remove_dir(led->of.fs, led->of.host, led->dir, NULL) == 0)
        return 0;
    rc = start(led, err);
    if (rc < 0)
        return rc;
    vel_log(VEL_LOG_INFO, "leads launch %s on %s, in %s", led->about.launch,
            led->about.host.node, led->about.prefix);
    wait_for_end(led);
    vel_log(VEL_LOG_INFO, "launch %s on %s is %s", led->about.launch,
            led->about.host.node, led->is_ending ? "given back" : "over");
    /* its last process removes it when it is still there */
    if (!led->is_ending || led->about.is_guest)
        vel_role_remove_dir(led->of.fs, led->of.host, led->dir, NULL);
    return 0;
}

static void *run(void *arg)
{
    struct vel_led *led = arg;
    void (*done)(void *) = led->of.done;
    void *done_arg = led->of.arg;
    struct vel_err err = {0};

    led->rc = lead(led, &err);
    if (led->rc < 0)
        vel_log(VEL_LOG_DEBUG, "the role in %s was not taken: %s", led->dir, err.text);
    led->is_done = true;
    done(done_arg);
    return NULL;
}

/* --- life --- */

static void led_free(struct vel_led *led)
{
    vel_about_fini(&led->about);
    pthread_mutex_destroy(&led->lock);
    free(led->dir);
    free(led);
}

int vel_led_start(const struct vel_led_of *of, const char *dir,
                  struct vel_led **ret_led, struct vel_err *err)
{
    struct vel_led *led = calloc(1, sizeof *led);
    int rc;

    if (!led)
        return vel_out_of_memory(err, "a launch");
    led->of = *of;
    pthread_mutex_init(&led->lock, NULL);
    led->dir = strdup(dir);
    if (!led->dir) {
        led_free(led);
        return vel_out_of_memory(err, "a launch");
    }
    rc = vel_thread_start(&led->thread, run, led);
    if (rc != 0) {
        led_free(led);
        return vel_fail_errno(err, rc, "cannot start a thread for a launch");
    }
    *ret_led = led;
    return 0;
}

const char *vel_led_dir(const struct vel_led *led)
{
    return led->dir;
}

bool vel_led_is_done(const struct vel_led *led, int *ret_rc)
{
    if (!led->is_done)
        return false;
    *ret_rc = led->rc;
    return true;
}

void vel_led_ask_end(struct vel_led *led)
{
    led->is_ending = true;
    pthread_mutex_lock(&led->lock);
    if (led->service)
        vel_service_ask_stop(led->service);
    pthread_mutex_unlock(&led->lock);
}

void vel_led_destroy(struct vel_led *led)
{
    if (!led)
        return;
    vel_led_ask_end(led);
    pthread_join(led->thread, NULL);
    led_free(led);
}
