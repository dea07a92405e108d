/* SPDX-License-Identifier: BSD-3-Clause */
/* Where leaders listen, and the key by which they know each other. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ident/endpoint.h"
#include "ident/key.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_err err;

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

/* --- endpoints --- */

static int save(const char *dir, const char *node, const char *ranks,
                const char *endpoints, int64_t *epoch)
{
    struct vel_endpoint endpoint = {.node = (char *)node,
                                    .epoch = *epoch,
                                    .ranks = (char *)ranks,
                                    .endpoints = (char *)endpoints};
    int rc = vel_endpoint_save(fs(), dir, &endpoint, &err);

    *epoch = endpoint.epoch;
    return rc;
}

static void records(const char *dir)
{
    struct vel_endpoint got = {0};
    int64_t epoch = 0;
    struct vel_vec list;

    ok(vel_endpoint_list(fs(), dir, &list, &err) == 0 && list.n == 0,
       "a launch without a directory has no leaders");
    ok(save(dir, "n1", "0-3 7", "unix:/a/s tcp:1.2.3.4:5", &epoch) == 0 && epoch == 1,
       "the first leader of a node has epoch 1");
    ok(save(dir, "n1", "0-4 7", "unix:/a/s tcp:1.2.3.4:5", &epoch) == 0 && epoch == 1,
       "it writes its record again and keeps it");
    epoch = 0;
    ok(save(dir, "n1", "", "unix:/b/s", &epoch) == 0 && epoch == 2,
       "the next one has a higher one");
    ok(vel_endpoint_load(fs(), dir, "n1", &got, &err) == 0 && got.epoch == 2 &&
           strcmp(got.ranks, "") == 0 && strcmp(got.endpoints, "unix:/b/s") == 0,
       "and is the one that is found");
    vel_endpoint_fini(&got);
    epoch = 0;
    is_int(save(dir, "n2", "a-b", "unix:/b/s", &epoch), VEL_EINVAL, "ranks are ranges");
    is_int(save(dir, "n/2", "", "unix:/b/s", &epoch), VEL_EINVAL,
           "a node's name is part of a path");
    is_int(save(dir, "n2", "", "", &epoch), VEL_EINVAL, "a leader listens somewhere");
    is_int(epoch, 0, "what failed is no leader");
}

static void lists(const char *dir)
{
    struct vel_endpoint got = {0};
    struct vel_vec list;
    char path[9000];
    int64_t epoch = 0;

    save(dir, "n3", "4", "unix:/c/s", &epoch);
    snprintf(path, sizeof path, "%s/node.n2", dir);
    tap_put_file(path, "broken");
    snprintf(path, sizeof path, "%s/node.-x", dir);
    tap_put_file(path, "no node");
    ok(vel_endpoint_list(fs(), dir, &list, &err) == 0 && list.n == 3, "all are listed");
    const struct vel_endpoint *e = list.items;
    ok(strcmp(e[0].node, "n1") == 0 && strcmp(e[1].node, "n2") == 0 &&
           e[1].epoch == 0 && e[1].endpoints[0] == '\0' &&
           strcmp(e[2].node, "n3") == 0 && e[2].epoch == 1,
       "by name; one that is broken is known and cannot be reached");
    vel_endpoint_list_fini(&list);
    snprintf(path, sizeof path, "cp '%s/node.n3' '%s/node.n4'", dir, dir);
    if (system(path) != 0)
        bail_out("no cp");
    is_int(vel_endpoint_load(fs(), dir, "n4", &got, &err), VEL_ECORRUPT,
           "a record of another node is refused: %s", err.text);
    ok(vel_endpoint_leave(fs(), dir, "n3", &err) == 0 &&
           vel_endpoint_leave(fs(), dir, "n3", &err) == 0 &&
           vel_endpoint_load(fs(), dir, "n3", &got, &err) == VEL_ENOENT,
       "a leader that has left is not found");
}

static void ranks(void)
{
    ok(vel_endpoint_has_rank("0-3 7", 0) && vel_endpoint_has_rank("0-3 7", 3) &&
           vel_endpoint_has_rank("0-3 7", 7) && !vel_endpoint_has_rank("0-3 7", 4) &&
           !vel_endpoint_has_rank("", 0),
       "a rank is found in ranges");
    ok(!vel_endpoint_has_rank("3-1", 2) && !vel_endpoint_has_rank("1-", 1) &&
           !vel_endpoint_has_rank("x", 1) && !vel_endpoint_has_rank("99999999999 1", 1),
       "what is no list of ranks has none");
}

static void ranks_are_kept(const char *dir)
{
    struct vel_endpoint endpoint = {
        .node = strdup("n5"), .ranks = strdup(""), .endpoints = strdup("unix:/e/s")};
    struct vel_buf ended;
    struct vel_endpoint got = {0}, next = {.node = strdup("n5"),
                                           .ranks = strdup(""),
                                           .endpoints = strdup("unix:/f/s")};

    ok(vel_endpoint_add_ranks(&endpoint, "3 4-7", &err) == 0 &&
           vel_endpoint_add_ranks(&endpoint, "3- 12 5", &err) == 0,
       "ranks are added");
    is_str(endpoint.ranks, "3 4-7 12", "each once, and those of before stay");
    ok(!endpoint.has_lost, "who has left was not lost");
    ok(vel_endpoint_add_ranks(&endpoint, "3! 12", &err) == 0 && endpoint.has_lost,
       "who has gone without a word was");
    vel_endpoint_save(fs(), dir, &endpoint, &err);
    vel_endpoint_leave(fs(), dir, "n5", &err);
    ok(vel_endpoint_add_ranks(&next, "1", &err) == 0 &&
           vel_endpoint_inherit(fs(), dir, &next, &err) == 0 && next.has_lost &&
           vel_endpoint_has_rank(next.ranks, 12) &&
           vel_endpoint_has_rank(next.ranks, 1),
       "the next leader of the node knows of them, had the last one left or not");
    ok(vel_endpoint_save(fs(), dir, &next, &err) == 0 &&
           vel_endpoint_load(fs(), dir, "n5", &got, &err) == 0 && got.has_lost &&
           vel_endpoint_has_rank(got.ranks, 6),
       "and tells it");
    vel_buf_init(&ended);
    vel_endpoint_put_ended(&got, &ended);
    is_str(vel_buf_text(&ended), "1! 3! 4! 5! 6! 7! 12!",
           "one that has lost a rank does not know which: it may be any");
    vel_buf_clear(&ended);
    got.has_lost = false;
    vel_endpoint_put_ended(&got, &ended);
    is_str(vel_buf_text(&ended), "1- 3- 4- 5- 6- 7- 12-",
           "else all of its ranks have ended in good order when it has left");
    vel_buf_fini(&ended);
    vel_endpoint_fini(&endpoint);
    vel_endpoint_fini(&next);
    vel_endpoint_fini(&got);
}

static void beats(const char *dir)
{
    char path[4200];
    struct vel_beat saved = {5, (char[]){"n1 n2"}, true}, beat = {-1, NULL, false};

    ok(vel_beat_load(fs(), dir, &beat, &err) == 0 && beat.count == 0, "no beat is 0");
    ok(vel_beat_save(fs(), dir, &saved, &err) == 0 &&
           vel_beat_load(fs(), dir, &beat, &err) == 0 && beat.count == 5 &&
           strcmp(beat.living, "n1 n2") == 0 && beat.is_new,
       "a beat is read again, and where processes live");
    vel_beat_fini(&beat);
    snprintf(path, sizeof path, "%s/beat", dir);
    tap_put_file(path, "torn");
    ok(vel_beat_load(fs(), dir, &beat, &err) == 0 && beat.count == VEL_BEAT_DAMAGED &&
           !beat.living,
       "a damaged one keeps nobody from going on: it is one that does not change");
}

/* --- keys --- */

static void refused(const char *dir, uid_t user, const char *why)
{
    struct vel_key key;

    is_int(vel_key_get(fs(), dir, user, &key, &err), VEL_EUNSAFE, "%s is refused: %s",
           why, err.text);
}

static void keys(const char *dir)
{
    uid_t user = geteuid();
    struct vel_key key = {{0}}, again = {{0}};
    struct stat st;
    char path[4200], other[4300];

    snprintf(path, sizeof path, "%s/key.%ld", dir, (long)user);
    mode_t mask = umask(0777);
    ok(vel_key_get(fs(), dir, user, &key, &err) == 0, "a key is made");
    umask(mask);
    ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == VEL_SECRET,
       "for its owner alone, whatever the umask is");
    ok(vel_key_get(fs(), dir, user, &again, &err) == 0 &&
           memcmp(&key, &again, sizeof key) == 0,
       "and stays");
    chmod(path, 0640);
    refused(dir, user, "a key that others may read");
    chmod(path, 0600);
    tap_put_file(path, "short");
    refused(dir, user, "one of another size");
    snprintf(other, sizeof other, "%s/planted", dir);
    tap_put_bytes(other, key.bytes, sizeof key.bytes);
    chmod(other, 0600);
    unlink(path);
    if (symlink(other, path) != 0)
        bail_out("no link");
    refused(dir, user, "a link");
    unlink(path);
    mkfifo(path, 0600);
    refused(dir, user, "a pipe");
    unlink(path);
    snprintf(other, sizeof other, "%s/key.%ld", dir, (long)user + 1);
    tap_put_bytes(other, key.bytes, sizeof key.bytes);
    chmod(other, 0600);
    refused(dir, user + 1, "another user's");
}

int main(void)
{
    char dir[4096];

    snprintf(dir, sizeof dir, "%s", tap_path("launch.L"));
    records(dir);
    lists(dir);
    ranks();
    ranks_are_kept(dir);
    beats(dir);
    snprintf(dir, sizeof dir, "%s", tap_path("veloc"));
    tap_fresh_dir(dir);
    keys(dir);
    return done_testing();
}
