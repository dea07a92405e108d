/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory on its way from one rank to another: what arrives, and that a side whose
 * files fail, or that is lied to, neither waits nor keeps the other waiting. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "meta/filelist.h"
#include "recover/stream.h"
#include "recover/stream_wire.h"
#include "tap/fs_fault.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { SENDER, RECEIVER, RANKS, BIG = 10000 };

#define FROM tap_path("from")
#define TO tap_path("to")

struct scene {
    char from[1100], to[1100];
    size_t piece;
    struct vel_throttle *throttle[RANKS];
    int culprit; /* whose files fail: SENDER, RECEIVER or -1 */
    struct vel_fs_fault_plan plan;
    const void *lie; /* what is sent instead: messages of these lengths */
    size_t lie_lens[2];

    bool fired;
    int came;   /* what the receiver has in the end */
    int broken; /* the streams themselves */
    char text[VEL_ERR_TEXT];
};

/* --- the two sides --- */

static int send_all(struct vel_comm *comm, struct scene *s, struct vel_fs *fs,
                    struct vel_err *err)
{
    struct vel_stream_out *out = NULL;
    struct vel_req *req;
    size_t done;
    int rc = vel_stream_out_open(comm, RECEIVER, fs, s->from, s->piece,
                                 s->throttle[SENDER], &out, err);

    while (rc == 0 && !vel_stream_out_is_done(out)) {
        req = vel_stream_out_pending(out);
        rc = vel_comm_wait_any(comm, &req, 1, &done, err);
        if (rc == 0)
            rc = vel_stream_out_step(out, err);
    }
    vel_stream_out_close(out);
    return rc;
}

static int send_lie(struct vel_comm *comm, const struct scene *s, struct vel_err *err)
{
    const char *at = s->lie;
    int rc = 0;

    for (int i = 0; rc == 0 && i < 2 && s->lie_lens[i]; i++) {
        rc = vel_comm_send(comm, RECEIVER, VEL_STREAM_TAG, at, s->lie_lens[i], err);
        at += s->lie_lens[i];
    }
    return rc;
}

static int receive_all(struct vel_comm *comm, struct scene *s, struct vel_fs *fs,
                       struct vel_err *err)
{
    struct vel_stream_in *in = NULL;
    struct vel_req *req;
    struct vel_err why = {0};
    size_t done;
    int rc =
        vel_stream_in_open(comm, SENDER, fs, s->to, s->throttle[RECEIVER], &in, err);

    while (rc == 0 && !vel_stream_in_is_done(in)) {
        req = vel_stream_in_pending(in);
        rc = vel_comm_wait_any(comm, &req, 1, &done, err);
        if (rc == 0)
            rc = vel_stream_in_step(in, err);
    }
    s->came = rc == 0 ? vel_stream_in_finish(in, &why) : rc;
    snprintf(s->text, sizeof s->text, "%s", rc < 0 ? err->text : why.text);
    vel_stream_in_close(in);
    return rc;
}

static int side(struct vel_comm *comm, void *arg)
{
    struct scene *s = arg;
    struct vel_fs_fault *fault = NULL;
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    int rc;

    if (comm->rank == s->culprit) {
        if (vel_fs_fault_create(fs, NULL, &fault, NULL) < 0)
            bail_out("no memory");
        vel_fs_fault_arm(fault, &s->plan);
        fs = vel_fs_fault_fs(fault);
    }
    if (comm->rank == RECEIVER)
        rc = receive_all(comm, s, fs, &err);
    else if (s->lie)
        rc = send_lie(comm, s, &err);
    else
        rc = send_all(comm, s, fs, &err);
    if (comm->rank == RECEIVER)
        s->broken = rc;
    if (fault) {
        s->fired = vel_fs_fault_fired(fault);
        vel_fs_fault_destroy(fault);
    }
    return rc;
}

/* --- the directory --- */

static char big[BIG];

static void put(const char *dir, const char *name, const void *bytes, size_t len,
                mode_t mode)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000, .tv_nsec = 7},
                                      {.tv_sec = 1000000000, .tv_nsec = 7}};
    char path[1200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    tap_put_bytes(path, bytes, len);
    if (chmod(path, mode) < 0 || utimensat(AT_FDCWD, path, times, 0) < 0)
        bail_out("%s cannot be made", path);
}

static void begin(struct scene *s, size_t piece)
{
    char path[1200];

    *s = (struct scene){.piece = piece, .culprit = -1};
    snprintf(s->from, sizeof s->from, "%s", FROM);
    snprintf(s->to, sizeof s->to, "%s", TO);
    tap_fresh_dir(s->from);
    tap_fresh_dir(s->to);
    snprintf(path, sizeof path, "%s/a", s->from);
    tap_fresh_dir(path);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 7 + i / 251);
    put(s->from, "a/big", big, BIG, 0640);
    put(s->from, "a/empty", "", 0, 0600);
    put(s->from, "small", "few words", 9, 0400);
    put(s->to, "old", "what was here before", 20, 0600);
}

static bool is_there(const struct scene *s, const char *name, const void *bytes,
                     size_t len, mode_t mode)
{
    char path[1200], *got;
    struct stat st;
    size_t got_len = 0;
    bool same;

    snprintf(path, sizeof path, "%s/%s", s->to, name);
    got = tap_get_file(path, &got_len);
    same = got && got_len == len && memcmp(got, bytes, len) == 0 &&
           stat(path, &st) == 0 && (st.st_mode & 07777) == mode &&
           st.st_mtim.tv_sec == 1000000000 && st.st_mtim.tv_nsec == 7;
    free(got);
    return same;
}

static bool is_gone(const struct scene *s, const char *name)
{
    char path[1200];

    snprintf(path, sizeof path, "%s%s", s->to, name);
    return access(path, F_OK) < 0;
}

static bool is_new(const struct scene *s)
{
    return is_there(s, "a/big", big, BIG, 0640) &&
           is_there(s, "a/empty", "", 0, 0600) &&
           is_there(s, "small", "few words", 9, 0400) && is_gone(s, "/old") &&
           is_gone(s, ".new");
}

static bool is_old(const struct scene *s)
{
    return is_there(s, "old", "what was here before", 20, 0600) && is_gone(s, "/a") &&
           is_gone(s, "/small") && is_gone(s, ".new");
}

static bool streams(struct scene *s)
{
    return crowd_run(RANKS, NULL, side, s, NULL) == 0;
}

/* --- */

static void test_whole(void)
{
    static const size_t pieces[] = {1, 7, 4096, 1 << 20};
    struct scene s;

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        begin(&s, pieces[i]);
        ok(streams(&s) && s.came == 0 && is_new(&s),
           "a directory arrives in pieces of %zu bytes, and takes the old one's place",
           pieces[i]);
    }
    begin(&s, 100);
    tap_fresh_dir(s.from);
    ok(streams(&s) && s.came == 0 && is_gone(&s, "/old") && !is_gone(&s, ""),
       "an empty one, too");
}

/* Each side has a device. */
static void test_throttle(void)
{
    for (int i = 0; i < RANKS; i++) {
        struct vel_manual_clock clock;
        struct vel_throttle throttle;
        struct scene s;

        begin(&s, 500);
        vel_manual_clock_init(&clock, 100 * VEL_CLOCK_S, 0);
        vel_throttle_init(&throttle, &clock.clock, 1000);
        s.throttle[i] = &throttle;
        bool came = streams(&s) && s.came == 0 && is_new(&s);
        double seconds = (double)(clock.monotonic - 100 * VEL_CLOCK_S) / 1e9;
        ok(came && seconds > 9 && seconds < 11,
           "%d bytes at 1000 bytes/s %s take %.2f s", BIG + 9,
           i == SENDER ? "read" : "written", seconds);
        vel_throttle_fini(&throttle);
        vel_manual_clock_fini(&clock);
    }
}

static void test_sender_fails(void)
{
    const struct vel_fs_fault_plan reads = {.mode = VEL_FS_FAULT_LASTING,
                                            .kinds = VEL_FS_KIND_READ};
    struct scene s;
    bool fine = true;

    begin(&s, 500);
    vel_fs_remove_tree(vel_fs_posix(), s.from, NULL);
    ok(streams(&s) && s.came == VEL_EREMOTE && is_old(&s),
       "a directory that cannot be read is told: %s", s.text);
    for (uint64_t n = 1; fine && (n == 1 || s.fired); n += 3) {
        begin(&s, 500);
        s.culprit = SENDER;
        s.plan = reads;
        s.plan.at = n;
        fine = streams(&s) && (s.fired ? s.came == VEL_EREMOTE && is_old(&s)
                                       : s.came == 0 && is_new(&s));
        if (!fine)
            note("reading for the %dth time: %d %s", (int)n, s.came, s.text);
    }
    ok(fine, "files that cannot be read any more leave what the receiver had");
}

/* The streams go on, so that the sender is not kept, and what was there is replaced
 * whole or not at all. */
static void test_receiver_fails(void)
{
    struct scene s;
    bool fine = true;
    int failed = 0;

    for (uint64_t n = 1; fine && (n == 1 || s.fired); n++) {
        begin(&s, 2000);
        s.culprit = RECEIVER;
        s.plan =
            (struct vel_fs_fault_plan){.mode = VEL_FS_FAULT_LASTING,
                                       .kinds = VEL_FS_KIND_ALL & ~VEL_FS_KIND_CLOSE,
                                       .errnum = 28, /* ENOSPC */
                                       .at = n};
        fine = streams(&s);
        failed += s.came < 0;
        /* the half that came cannot be removed either */
        vel_fs_remove_tree(vel_fs_posix(), tap_path("to.new"), NULL);
        fine = fine && (s.came == 0 ? is_new(&s) : *s.text != '\0');
        fine = fine && (s.came == 0 || is_old(&s) || is_gone(&s, "/old"));
        fine = fine && (s.came == 0 || is_gone(&s, "/small") || is_new(&s));
        if (!fine)
            note("operation %d: %d %s", (int)n, s.came, s.text);
    }
    ok(fine && failed > 10,
       "a receiver that cannot write takes all, and says so (%d times)", failed);
}

/* --- a sender that is not to be believed --- */

static void lie(struct scene *s, uint64_t list, uint64_t piece, const void *bytes,
                size_t len)
{
    static char message[4096];
    struct vel_le_writer w;

    begin(s, 1);
    vel_le_write_init(&w, message, VEL_STREAM_HEAD);
    vel_le_put64(&w, list);
    vel_le_put64(&w, piece);
    memcpy(message + VEL_STREAM_HEAD, bytes, len);
    s->lie = message;
    s->lie_lens[0] = VEL_STREAM_HEAD;
    s->lie_lens[1] = len;
    streams(s);
}

static void lie_of_list(struct scene *s, const char *name, uint64_t size)
{
    struct vel_listed file = {
        .name = (char *)(uintptr_t)name, .size = size, .container = -1};
    struct vel_vec files = {.items = &file, .n = 1, .item_size = sizeof file};
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    if (vel_filelist_encode(&files, &bytes, NULL) < 0)
        bail_out("no memory");
    lie(s, bytes.len, 100, bytes.data, bytes.len);
    vel_buf_fini(&bytes);
}

static void test_lies(void)
{
    struct scene s;

    lie(&s, UINT64_MAX, 100, "", 0);
    ok(s.broken == VEL_ECORRUPT && is_old(&s), "a list that is too long: %s", s.text);
    lie(&s, 10, 0, "", 0);
    ok(s.broken == VEL_ECORRUPT && is_old(&s), "pieces of no bytes: %s", s.text);
    lie(&s, 10, UINT64_MAX, "", 0);
    ok(s.broken == VEL_ECORRUPT && is_old(&s), "pieces that are too long: %s", s.text);
    lie(&s, 9, 100, "no record", 9);
    ok(s.broken == VEL_ECORRUPT && is_old(&s), "a list that is none: %s", s.text);
    lie_of_list(&s, "../outside", 0);
    ok(s.broken == VEL_ECORRUPT && is_old(&s), "a name that leads away: %s", s.text);
    lie_of_list(&s, "inside", 0);
    ok(s.broken == 0 && s.came == 0 && !is_gone(&s, "/inside"),
       "and one that does not is taken");
}

int main(void)
{
    test_whole();
    test_throttle();
    test_sender_fails();
    test_receiver_fails();
    test_lies();
    return done_testing();
}
