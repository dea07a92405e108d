/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger of an earlier launch cannot be read: leaders make no view without it. Who
 * opens a file waits, and is told; nobody hears that it is not there. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/launch.h"
#include "view/view.h"
#include "tap/files.h"
#include "tap/filelab.h"
#include "tap/fs_fault.h"
#include "tap/tap.h"

#define LINES                                                                          \
    "COPY_TYPE=SINGLE\nPEER_TIMEOUT=1\nVIEW_WAIT=0\nDATASET=ck PATTERN=ck.{step}\n"

static char heard[8192];
static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    pthread_mutex_lock(&hearing);
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%.*s", (int)len,
             line);
    pthread_mutex_unlock(&hearing);
}

static bool has_view(const struct filelab *lab)
{
    char *path = vel_view_path(lab->dir, lab->launch);
    bool has = vel_fs_exists(vel_fs_posix(), path);

    free(path);
    return has;
}

/* Launch "a" has left a file in the cache, or on the prefix, and then its seals are not
 * needed any more. Launch "b" begins while the ledger of "a" cannot be read. */
static void begin_unread(struct filelab *lab, bool is_published,
                         struct vel_fs_fault **ret_fault)
{
    static char dir[300];
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_LASTING, .kinds = VEL_FS_KIND_OPEN, .at = 1, .below = dir};
    struct vel_err err = {0};

    filelab_init(lab, is_published ? "published" : "cached", 1, 1,
                 is_published ? LINES "FLUSH=1\n" : LINES "FLUSH=0\n");
    filelab_begin(lab, "a");
    if (filelab_write(lab, 0, "ck.1", "one", &err) < 0)
        bail_out("%s", err.text);
    filelab_drain(lab);
    filelab_end(lab);
    if (is_published)
        tap_put_file(filelab_path(lab, ".veloc/past.a"), "");
    snprintf(dir, sizeof dir, "%s/launch.a", lab->dir);
    if (vel_fs_fault_create(vel_fs_posix(), NULL, ret_fault, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_fault_arm(*ret_fault, &plan);
    lab->fs = vel_fs_fault_fs(*ret_fault);
    heard[0] = '\0';
    filelab_begin(lab, "b");
}

static bool has_heard(const char *text)
{
    bool has = false;

    for (int i = 0; i < 1000 && !has; i++) {
        if (i > 0)
            vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
        pthread_mutex_lock(&hearing);
        has = strstr(heard, text);
        pthread_mutex_unlock(&hearing);
    }
    return has;
}

static void unread(bool is_published)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};
    struct vel_fs_fault *fault;
    struct filelab lab;
    struct vel_err err = {0};
    char *text;

    vel_log_open(&sink);
    begin_unread(&lab, is_published, &fault);
    text = filelab_read(&lab, 0, "ck.1", &err);
    note("%s", text ? text : err.text);
    ok((text || err.status == VEL_EIO) && has_heard("cannot decide") && !has_view(&lab),
       "%s: without the ledger no view is made",
       is_published ? "on the prefix" : "in the cache");
    ok(has_heard("launch.a") && has_heard("Input/output error") && has_heard("away"),
       "people are told what cannot be read, why, and what to do");
    vel_fs_fault_arm(fault, &none);
    free(text);
    ok(filelab_reads(&lab, 0, "ck.1", "one"), "when it can be read the file is there");
    filelab_end(&lab);
    vel_log_open(NULL);
    filelab_fini(&lab);
    vel_fs_fault_destroy(fault);
}

int main(void)
{
    unread(false);
    unread(true);
    return done_testing();
}
