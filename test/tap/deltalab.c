/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/deltalab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

/* --- versions --- */

static char *room(size_t size)
{
    char *bytes = malloc(size + 1);

    if (!bytes)
        bail_out("no memory");
    return bytes;
}

static void edit_anywhere(struct vel_rng *rng, char **bytes, size_t *size)
{
    size_t how = vel_rng_below(rng, 5), old = *size;

    if (how == 0) /* shrinks */
        *size -= (size_t)vel_rng_below(rng, *size / 2);
    else if (how == 1) /* grows */
        *size += (size_t)vel_rng_below(rng, *size / 2);
    *bytes = realloc(*bytes, *size + 1);
    if (!*bytes)
        bail_out("no memory");
    if (*size > old)
        vel_rng_fill(rng, *bytes + old, *size - old);
    for (uint64_t n = how == 2 ? 0 : vel_rng_below(rng, 4); n > 0; n--) {
        size_t at = (size_t)vel_rng_below(rng, *size);
        size_t len = (size_t)vel_rng_below(rng, 100000);

        if (len > *size - at)
            len = *size - at;
        if (vel_rng_below(rng, 3) == 0)
            memset(*bytes + at, 0, len);
        else
            vel_rng_fill(rng, *bytes + at, len);
    }
}

static char *version(void *arg, int64_t id, int rank, size_t *ret_len)
{
    const struct deltalab *d = arg;
    struct vel_rng rng;
    size_t size = d->size;
    char *bytes = room(size);

    (void)rank;
    vel_rng_init(&rng, d->seed);
    vel_rng_fill(&rng, bytes, size);
    for (int64_t v = 2; v <= id; v++) {
        if (d->edit == DELTALAB_RANDOM)
            edit_anywhere(&rng, &bytes, &size);
        else if (d->edit == DELTALAB_ALL)
            vel_rng_fill(&rng, bytes, size);
        else
            bytes[size / 2] = (char)(bytes[size / 2] + 1);
    }
    *ret_len = size;
    return bytes;
}

void deltalab_init(struct deltalab *d, const char *name, uint64_t seed, size_t size)
{
    *d = (struct deltalab){
        .seed = seed, .size = size, .can_clone = true, .has_delta = true};
    flushlab_init(&d->lab, name, size);
    d->lab.has_same_names = true;
    d->lab.large_bytes = version;
    d->lab.arg = d;
}

void deltalab_part(const struct deltalab *d, int64_t id)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000 + id},
                                      {.tv_sec = 1000000000 + id}};
    char path[700];

    flushlab_part(&d->lab, id, 0);
    snprintf(path, sizeof path, "%s/dataset.%" PRId64 "/rank.0/out.0/r0.1",
             d->lab.cache, id);
    if (utimensat(AT_FDCWD, path, times, 0) < 0)
        bail_out("cannot set the time of %s", path);
}

/* --- files that share blocks --- */

static int clone_by_copy(struct vel_fs *fs, int from, int to)
{
    struct stat st;

    if (fstat(from, &st) < 0)
        return -errno;
    return vel_fs_copy_at(vel_fs_posix(), from, 0, "base", to, 0, "clone",
                          (size_t)st.st_size, NULL) < 0
               ? -EIO
               : 0;
    (void)fs;
}

/* Nobody pulls the plug of this machine. */
static int no_fsync(struct vel_fs *fs, int fd)
{
    (void)fs, (void)fd;
    return 0;
}

static int clone_never(struct vel_fs *fs, int from, int to)
{
    (void)fs, (void)from, (void)to;
    return -EOPNOTSUPP;
}

struct vel_fs *deltalab_fs(const struct deltalab *d)
{
    static struct vel_fs_ops ops[2];
    static struct vel_fs fs[2] = {{&ops[0]}, {&ops[1]}};

    for (int i = 0; i < 2; i++) {
        ops[i] = *vel_fs_posix()->ops;
        ops[i].fsync = no_fsync;
    }
    ops[0].clone = clone_never;
    if (!deltalab_is_real())
        ops[1].clone = clone_by_copy;
    return &fs[d->can_clone];
}

bool deltalab_is_real(void)
{
    const char *from = tap_path("clone.from"), *to = tap_path("clone.to");
    int a = open(from, O_RDWR | O_CREAT, 0600), b = open(to, O_RDWR | O_CREAT, 0600);
    bool is = vel_fs_clone(vel_fs_posix(), a, from, b, to, NULL) == 0;

    close(a);
    close(b);
    return is;
}

/* --- steps --- */

static void node_of(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                    int64_t owner, struct flushlab_node *ret)
{
    flushlab_node(&d->lab, fs, id, owner, 0, ret);
    ret->flushing.has_delta = d->has_delta;
    ret->flushing.copy.chunk = 150000; /* no multiple of a block */
    ret->flushing.may_patch = d->may_patch;
    ret->job.may_resume = true;
}

static int owner_does(const struct flushlab_node *node, const struct deltalab *d,
                      int (*act)(const struct vel_flushing *, struct vel_entry *,
                                 struct vel_err *),
                      struct vel_err *err)
{
    struct vel_entry entry;
    int rc = indexlab_load(vel_fs_posix(), d->lab.dir, node->job.id, &entry, err);

    if (rc < 0)
        return rc;
    entry.owner = node->job.owner;
    rc = act(&node->flushing, &entry, err);
    vel_entry_fini(&entry);
    return rc;
}

int deltalab_stage(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                   int64_t owner, struct vel_flush_copied *ret_copied,
                   struct vel_err *err)
{
    struct flushlab_node node;
    int rc;

    flushlab_claim(&d->lab, id, owner);
    flushlab_entry(&d->lab, id, owner, 1, VEL_ON_FLUSHING);
    node_of(d, fs, id, owner, &node);
    rc = vel_flushing_copy(&node.flushing, &node.job, ret_copied, err);
    return rc == 0 ? owner_does(&node, d, vel_flushing_stage, err) : rc;
}

int deltalab_name(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err)
{
    struct flushlab_node node;
    int rc;

    node_of(d, fs, id, owner, &node);
    node.job.watch = d->watch;
    rc = vel_flushing_name(&node.flushing, &node.job, err);
    return rc == 0 ? owner_does(&node, d, vel_flushing_publish, err) : rc;
}

int deltalab_flush(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                   int64_t owner, struct vel_flush_copied *ret_copied,
                   struct vel_err *err)
{
    int rc = deltalab_stage(d, fs, id, owner, ret_copied, err);

    return rc == 0 ? deltalab_name(d, fs, id, owner, err) : rc;
}

int deltalab_settle(const struct deltalab *d, int64_t id, int64_t owner,
                    struct vel_err *err)
{
    struct flushlab_node node;
    struct vel_entry entry;
    int rc, place;

    flushlab_claim(&d->lab, id, owner);
    node_of(d, deltalab_fs(d), id, owner, &node);
    rc = vel_flushing_settle(&node.flushing,
                             &(struct vel_flush_job){.id = id, .owner = owner}, 0,
                             &entry, err);
    if (rc < 0)
        return rc;
    place = (int)entry.place;
    vel_entry_fini(&entry);
    return place;
}

const char *deltalab_path(const struct deltalab *d)
{
    return flushlab_path(&d->lab, 1, 0, 1);
}

bool deltalab_is(const struct deltalab *d, int64_t id)
{
    size_t len, want_len;
    char *is = tap_get_file(deltalab_path(d), &len);
    char *want = version((void *)d, id, 0, &want_len);
    bool same = is && len == want_len && memcmp(is, want, len) == 0;

    free(is);
    free(want);
    return same;
}

int64_t deltalab_shows(const struct deltalab *d)
{
    int64_t shown = access(deltalab_path(d), F_OK) == 0 ? -1 : 0;

    for (int64_t v = 1; shown < 0 && v < 10; v++)
        if (deltalab_is(d, v))
            shown = v;
    return shown;
}
