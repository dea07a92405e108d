/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of services, killed at any moment; and records of them that are damaged,
 * strange, stale, or cannot be written. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/sdk.h"
#include "tap/files.h"
#include "tap/takelab.h"
#include "tap/tap.h"

/* --- records that are none --------------------------------------------------------
 */

/* One byte of the record's body is another one, and so on. */
static void garbage(void)
{
    char path[1200], other[1300], *bytes;
    struct seslab lab;
    size_t len;

    takelab_die(&lab, "bbapi");
    takelab_records(path);
    bytes = tap_get_file(path, &len);
    bytes[len / 2] ^= 1;
    tap_put_bytes(path, bytes, len);
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_lines("warn") == 1 &&
           takelab_lines(path) == 1,
       "a damaged record is told in one line");
    ok(seslab_is_flushed(&lab, 2) && strstr(sdk_calls(), ".h5v-2-1.tmp"),
       "its files are flushed again under other names");
    ok(takelab_records(NULL) == 0, "and it goes");
    free(bytes);

    takelab_die(&lab, "bbapi");
    takelab_records(path);
    snprintf(other, sizeof other, "%s0", path); /* "....2.0.00": no such number */
    tap_put_file(other, "anything");
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_lines("warn") == 1 &&
           takelab_lines("is no record") == 1 && takelab_records(NULL) == 1 &&
           seslab_is_flushed(&lab, 2),
       "what is no record is told, and left alone");
    unlink(other);

    takelab_die(&lab, "bbapi");
    takelab_records(path);
    bytes = tap_get_file(path, &len);
    snprintf(other, sizeof other, "%.*s7", (int)strlen(path) - 1, path);
    tap_put_bytes(other, bytes, len);
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) &&
           takelab_lines("record of another transfer") == 1 &&
           takelab_lines("warn") == 1 && takelab_is_clean(&lab) &&
           seslab_is_flushed(&lab, 2),
       "nor is the record of another transfer believed");
    free(bytes);

    takelab_die(&lab, "bbapi");
    takelab_records(path);
    tap_put_file(path, "{\"h5veloc\":\"transfer\",\"version\":9,\"length\":3,"
                       "\"crc32c\":\"00000000\",\n\"body\":{}}\n");
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_lines("warn") == 1 &&
           seslab_is_flushed(&lab, 2),
       "a header that lies is told as well");
}

/* The record of a transfer that had ended, as a loss of power may bring it back. */
static void stale(void)
{
    char path[1200], *bytes;
    struct seslab lab;
    size_t len;

    takelab_die(&lab, "bbapi");
    takelab_records(path);
    bytes = tap_get_file(path, &len);
    takelab_plays(&lab, 1, 3, 2);
    tap_put_bytes(path, bytes, len);
    int before = takelab_said("bbapi");
    takelab_forget();
    ok(takelab_plays(&lab, 1, 3, 2) && takelab_said("bbapi") == before &&
           takelab_is_clean(&lab) && takelab_lines("warn") == 0 &&
           takelab_is_on_prefix(&lab, 1, 2),
       "a record that its flush has outlived goes, and stops nothing");
    free(bytes);
}

/* --- at any moment ----------------------------------------------------------------
 */

/* Killed at the n-th call of that function, by one of so many ranks. */
static bool survives(const char *service, const char *function, int n, int ranks,
                     bool *ret_killed)
{
    struct seslab lab;

    takelab_init(&lab, service);
    if (ranks > 1) {
        seslab_set(&lab, "VIRTUAL_NODES", "2");
        seslab_set(&lab, "COPY_TYPE", "PARTNER");
        seslab_set(&lab, "SET_SIZE", "2");
    }
    sdk_delay(1, false);
    sdk_fail(function, n, SDK_KILL);
    takelab_plays(&lab, ranks, 1, 2);
    *ret_killed = !takelab_told->is_over;
    sdk_heal();
    bool fine = takelab_plays(&lab, ranks, takelab_told->is_over ? 3 : 1, 3) &&
                seslab_is_flushed(&lab, 3) && takelab_is_clean(&lab) &&
                takelab_is_on_prefix(&lab, ranks, 3);
    if (!fine) {
        note("%s killed at call %d of %s", service, n, function);
        takelab_show();
    }
    return fine;
}

static void sweep(const char *service, const char *function, int ranks)
{
    bool fine = true, is_killed = true;
    int n = 1;

    /* of many ranks every third call, which is in turn one of each */
    for (; fine && is_killed; n += ranks > 1 ? 3 : 1)
        fine = survives(service, function, n, ranks, &is_killed);
    ok(fine && n > 2, "%s: killed at any of %d calls of %s, one of %d ranks", service,
       n - 1, function, ranks);
}

/* A record that cannot be written or removed, or whose writer dies there: at any of its
 * operations, while it is made and while it is found. */
static void faults(bool is_fatal)
{
    bool fine = true, has_fault = true;
    uint64_t n;

    for (n = 1; fine && has_fault; n += is_fatal ? 2 : 1) {
        struct seslab lab;
        struct takelab_play play = {
            .lab = &lab, .first = 1, .last = 2, .victim = -1, .is_fatal = is_fatal};

        takelab_init(&lab, "bbapi");
        sdk_delay(1, false);
        sdk_fail("BB_GetTransferInfo", 4, SDK_KILL);
        takelab_run(&play, 1);
        play.first = 3;
        play.last = 4;
        play.fault = n;
        /* without knowing what is under way nothing is begun */
        fine = takelab_run(&play, 1) || is_fatal ||
               strstr(takelab_told->why[0], "cannot list");
        has_fault = takelab_told->has_fault;
        fine = fine && takelab_plays(&lab, 1, 5, 5) && seslab_is_flushed(&lab, 5) &&
               takelab_is_clean(&lab) && takelab_is_on_prefix(&lab, 1, 5);
        if (!fine) {
            note("at operation %d on records", (int)n);
            takelab_show();
        }
    }
    ok(fine && n > 20, "%s at any of %d operations on records",
       is_fatal ? "killed" : "failing", (int)n - 1);
}

int main(void)
{
    garbage();
    stale();
    faults(false);
    faults(true);
    sweep("bbapi", "BB_StartTransfer", 1);
    sweep("bbapi", "BB_GetTransferInfo", 1);
    sweep("datawarp", "dw_stage_file_out", 1);
    sweep("datawarp", "dw_query_file_stage", 1);
    sweep("bbapi", "BB_StartTransfer", 4);
    sweep("bbapi", "BB_GetTransferInfo", 4);
    sweep("datawarp", "dw_stage_file_out", 4);
    return done_testing();
}
