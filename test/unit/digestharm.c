/* SPDX-License-Identifier: BSD-3-Clause */
/* A digest that is damaged, or not ours, is never worse than none: who begins hears
 * the same, and the next one has a whole one again. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/line.h"
#include "meta/index_in.h"
#include "tap/digestlab.h"
#include "tap/files.h"
#include "tap/rng.h"
#include "tap/tap.h"

enum { MUTATIONS = 600, ZEROS = 200, MIB = 1 << 20 };

/* What there is to be heard. */
static const char want[] = "10 9 8 6 5 4 3 2? 1 5=B ";
static char *whole;
static size_t len;

/* Of a past in which all kinds of lines are needed. */
static void prepare(void)
{
    digestlab_make();
    digestlab_hear(true);
    digestlab_forget(7);
    digestlab_save(2, VEL_ON_STAGED);
    digestlab_remove("L0");
    digestlab_give(5, "B");
    digestlab_save(10, VEL_ON_REMOVING);
    digestlab_save(10, VEL_ON_PREFIX);
    digestlab_save(5, VEL_ON_PREFIX);
    unlink(digestlab.digest);
    is_str(digestlab_hear(true), want, "so it is without a digest");
    is_str(digestlab_hear(true), want, "and with one");
    is_int(digestlab.reads, 4, "which spares all but those that are not marked");
    digestlab_mark("L0");
    digestlab_mark("B");
    digestlab_hear(true);
    is_str(digestlab_hear(true), want, "and that when they are");
    is_int(digestlab.reads, 0, "like the others");
    whole = tap_get_file(digestlab.digest, &len);
    if (!whole)
        bail_out("there is no digest");
}

/* --- bytes --- */

static void mutate(struct vel_rng *rng, char *bytes, size_t *n)
{
    size_t at = vel_rng_below(rng, *n), most = *n - at,
           some = 1 + vel_rng_below(rng, ZEROS);

    some = some < most ? some : most;
    switch (vel_rng_below(rng, 5)) {
    case 0:
        bytes[at] = (char)(bytes[at] ^ (1 << vel_rng_below(rng, 8)));
        break;
    case 1:
        memset(bytes + at, 0, some);
        break;
    case 2:
        *n = at;
        break;
    case 3:
        memmove(bytes + at, bytes + at + some, most - some);
        *n -= some;
        break;
    default:
        bytes[at] = '\n';
    }
}

static void mutated(void)
{
    char *bytes = malloc(len);
    int wrong = 0, unhealed = 0;
    struct vel_rng rng;

    vel_rng_init(&rng, 1);
    for (int i = 0; bytes && i < MUTATIONS; i++) {
        size_t n = len;

        memcpy(bytes, whole, len);
        for (int k = 0; n > 0 && k <= i % 3; k++)
            mutate(&rng, bytes, &n);
        tap_put_bytes(digestlab.digest, bytes, n);
        wrong += strcmp(digestlab_hear(true), want) != 0;
        wrong += strcmp(digestlab_hear(false), want) != 0;
        unhealed += digestlab.reads > 0;
    }
    free(bytes);
    is_int(wrong, 0, "whatever is flipped, cut, lost or zero: all is heard");
    is_int(unhealed, 0, "and it is whole for the next one");
}

/* --- lines --- */

static const char *line_of(const char *launch)
{
    char head[32];
    const char *at;

    snprintf(head, sizeof head, " launch %s ", launch);
    at = strstr(whole, head);
    if (!at)
        bail_out("the digest has no line of %s", launch);
    return at + 1;
}

/* Behind the others this line comes, with a checksum that is right. */
static void put_behind(const char *text, size_t n)
{
    struct vel_buf bytes, line;

    vel_buf_init(&bytes);
    vel_buf_init(&line);
    vel_buf_append(&bytes, whole, len);
    vel_line_add(&line, 0, 0, text, n);
    vel_buf_append(&bytes, line.data, line.len);
    tap_put_bytes(digestlab.digest, bytes.data, bytes.len);
    vel_buf_fini(&line);
    vel_buf_fini(&bytes);
}

/* That of a launch, with this before what it says first. */
static void put_with(const char *launch, const char *more, size_t n)
{
    const char *line = line_of(launch), *text = strchr(line, '{'),
               *end = strchr(line, '\n');
    struct vel_buf all;

    vel_buf_init(&all);
    vel_buf_append(&all, line, (size_t)(text - line));
    vel_buf_append(&all, more, n);
    vel_buf_append(&all, text, (size_t)(end - text));
    put_behind(all.data, all.len);
    vel_buf_fini(&all);
}

static void strange_lines(void)
{
    static const char *const lines[] = {
        "ids 5 5 0 L0",
        "ids -5 5 0 L0",
        "ids 1 9223372036854775807 0 L0",
        "ids 3 2 1 L0",
        "ids 11 11 0 %00",
        "ids 11 11 0 ../x",
        "ids 9223372036854775807 9223372036854775807 0 L0",
        "ids 12 12 0",
        "launch L1",
        "launch L1 1 1 1 1 1 1",
        "launch L9 1 1 1 1 1 1",
        "launch ../x 1 1 1 1 1 1",
        "launch %00 1 1 1 1 1 1 %00",
        "",
        "other"};
    int wrong = 0;

    put_with("L1", "%00", 3);
    is_str(digestlab_hear(true), want, "a zero byte in a line does no harm");
    put_with("L1", "%0A", 3);
    is_str(digestlab_hear(true), want, "nor does a line feed");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put_behind(lines[i], strlen(lines[i]));
        wrong += strcmp(digestlab_hear(false), want) != 0;
    }
    is_int(wrong, 0, "nor do lines that nobody has written");
}

/* As a loss of power may leave a block. */
static void zeros(void)
{
    const char *at = line_of("L1"), *end = strchr(at, '\n');
    char *bytes = malloc(len);

    if (!bytes)
        bail_out("out of memory");
    memcpy(bytes, whole, len);
    memset(bytes + (at - whole) - 9, 0, (size_t)(end - at) + 10);
    tap_put_bytes(digestlab.digest, bytes, len);
    is_str(digestlab_hear(true), want, "with zeros in its midst all is heard");
    ok(digestlab.reads > 0 && digestlab.reads <= 8,
       "and what stands behind them spares reading: %d", digestlab.reads);
    digestlab_hear(true);
    is_int(digestlab.reads, 0, "and they go");
    free(bytes);
    bytes = tap_get_file(digestlab.digest, &len);
    ok(bytes && !memchr(bytes, '\0', len), "for good");
    free(whole);
    whole = bytes;
}

static void told_often(void)
{
    struct vel_buf bytes;
    size_t n;
    char *now;

    vel_buf_init(&bytes);
    for (int i = 0; i < 200; i++)
        vel_buf_append(&bytes, whole, len);
    tap_put_bytes(digestlab.digest, bytes.data, bytes.len);
    vel_buf_fini(&bytes);
    is_str(digestlab_hear(true), want, "what is told often is told once");
    is_int(digestlab.reads, 0, "without reading");
    now = tap_get_file(digestlab.digest, &n);
    ok(n < 2 * len, "and is written once then: %d bytes", (int)n);
    free(now);
}

/* Lines that one process keeps are bounded, whoever has written them. */
static void much(void)
{
    struct vel_index *index;
    struct vel_buf more;

    vel_buf_init(&more);
    vel_buf_puts(&more, "{}");
    for (int i = 0; i < 40; i++) {
        vel_buf_printf(&more, " entry%%20%d%%201%%201%%20%%25%%20%%25%%20", 100 + i);
        for (int k = 0; k < MIB / 64; k++)
            vel_buf_puts(&more, "0123456789012345678901234567890123456789"
                                "012345678901234567890123");
    }
    vel_buf_puts(&more, " ");
    put_with("L1", more.data, more.len);
    vel_buf_fini(&more);
    index = digestlab_begin();
    is_str(digestlab_tell(index), want, "a long one is read in the ledger");
    ok(index->halves[0].kept < 32 * MIB, "and takes no room: %d bytes",
       (int)index->halves[0].kept);
    vel_index_close(index);
}

/* --- files --- */

static int lstat_other(struct vel_fs *fs, const char *path, struct stat *ret)
{
    int rc = vel_fs_posix()->ops->lstat(vel_fs_posix(), path, ret);

    (void)fs;
    if (strcmp(path, digestlab.digest) == 0)
        ret->st_uid++;
    return rc;
}

static void is_healed(const char *what)
{
    is_str(digestlab_hear(true), want, "%s is not read", what);
    ok(digestlab.reads > 0, "all ledgers are: %d", digestlab.reads);
    digestlab.ops.lstat = vel_fs_posix()->ops->lstat;
    is_str(digestlab_hear(true), want, "there is one of ours then");
    is_int(digestlab.reads, 0, "for the next one");
}

static void of_others(void)
{
    char other[700];

    tap_put_bytes(digestlab.digest, whole, len);
    digestlab.ops.lstat = lstat_other;
    is_healed("another user's digest");
    snprintf(other, sizeof other, "%s", tap_path("other"));
    tap_put_bytes(other, whole, len);
    unlink(digestlab.digest);
    if (symlink(other, digestlab.digest) < 0)
        bail_out("no link can be made");
    is_healed("one behind a link");
    ok(tap_file_is(other, whole), "what the link points to stays as it is");
    unlink(digestlab.digest);
    if (mkfifo(digestlab.digest, 0600) < 0)
        bail_out("no pipe can be made");
    is_healed("a pipe, which nobody writes,");
    unlink(digestlab.digest);
    if (mkdir(digestlab.digest, 0700) < 0)
        bail_out("no directory can be made");
    is_str(digestlab_hear(true), want, "a directory of that name does no harm");
    rmdir(digestlab.digest);
    digestlab_hear(true);
}

int main(void)
{
    prepare();
    zeros();
    strange_lines();
    mutated();
    told_often();
    much();
    of_others();
    free(whole);
    return done_testing();
}
