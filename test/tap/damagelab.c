/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* nftw */
#include "config.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/damagelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { FILES_MOST = 500, PATH = 600 };

/* What nftw() finds; it has no argument to hand on. */
static struct found {
    char path[PATH], name[PATH]; /* name: the same whenever the seed is run */
    struct timespec written;
} found[FILES_MOST];
static int n_found;
static const char *wanted[3];

static char kept[FILES_MOST][PATH]; /* names */
static char kept_dir[PATH];
static int n_kept;

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Without the numbers in it that are drawn, of directories that are no dataset yet and
 * of encodings. */
static void put_name(const char *path, char ret[PATH])
{
    const char *at = strstr(path, "/new."), *end = at ? strchr(at + 1, '/') : NULL;
    size_t len = strlen(path), of_end = strlen(".01234567.h5vr");

    if (end)
        snprintf(ret, PATH, "%.*s/new%s", (int)(at - path), path, end);
    else if (len > of_end && strcmp(path + len - strlen(".h5vr"), ".h5vr") == 0)
        snprintf(ret, PATH, "%.*s.h5vr", (int)(len - of_end), path);
    else
        snprintf(ret, PATH, "%s", path);
}

static int note_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    size_t len = strlen(path);

    (void)ftw;
    for (int i = 0; type == FTW_F && wanted[i]; i++) {
        size_t of_end = strlen(wanted[i]);

        if (len > of_end && strcmp(path + len - of_end, wanted[i]) == 0 &&
            n_found < FILES_MOST) {
            found[n_found].written = st->st_mtim;
            put_name(path, found[n_found].name);
            snprintf(found[n_found++].path, PATH, "%s", path);
        }
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order)
        return order;
    if (x->written.tv_sec != y->written.tv_sec)
        return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
    return (x->written.tv_nsec > y->written.tv_nsec) -
           (x->written.tv_nsec < y->written.tv_nsec);
}

static void find(const char *dir, const char *end, const char *other)
{
    wanted[0] = end;
    wanted[1] = other;
    wanted[2] = NULL;
    n_found = 0;
    nftw(dir, note_file, 16, FTW_PHYS);
    qsort(found, (size_t)n_found, sizeof found[0], by_name);
}

/* --- as they were --- */

static const char *copy_of(int i)
{
    static char path[PATH + 20];

    snprintf(path, sizeof path, "%s/%d", kept_dir, i);
    return path;
}

void damage_keep(const char *dir, const char *to)
{
    if (strcmp(kept_dir, to) != 0 || access(copy_of(0), F_OK) < 0)
        n_kept = 0;
    snprintf(kept_dir, sizeof kept_dir, "%s", to);
    find(dir, ".h5", NULL);
    for (int i = 0; i < n_found && n_kept < FILES_MOST; i++) {
        size_t len;
        char *bytes = tap_get_file(found[i].path, &len);

        if (!bytes)
            continue;
        snprintf(kept[n_kept], PATH, "%.*s", PATH - 1, name_in(found[i].path));
        tap_put_bytes(copy_of(n_kept++), bytes, len);
        free(bytes);
    }
}

bool damage_is_kept(const char *path)
{
    size_t len, of_other;
    char *bytes = tap_get_file(path, &len);
    bool is = false;

    for (int i = 0; bytes && !is && i < n_kept; i++) {
        char *other = strcmp(kept[i], name_in(path)) == 0
                          ? tap_get_file(copy_of(i), &of_other)
                          : NULL;

        is = other && of_other == len && memcmp(bytes, other, len) == 0;
        free(other);
    }
    free(bytes);
    return is;
}

bool damage_is_stub(const char *path)
{
    char *text = tap_get_file(path, NULL);
    bool is = text && strstr(text, "\nh5veloc stub 2\n");

    free(text);
    return is;
}

/* --- damage --- */

/* Of which node; 0 where there is but one. */
static int node_of(const char *path, const char *dir)
{
    const char *at = strstr(path + strlen(dir), ".v");

    return at ? atoi(at + 2) % DAMAGE_NODES : 0;
}

static void hit(struct damage_plan *plan, int node)
{
    plan->n_hit += !plan->is_hit[node];
    plan->is_hit[node] = true;
}

static void say(struct damage_plan *plan, const char *what, const char *where)
{
    size_t len = strlen(plan->what);

    snprintf(plan->what + len, sizeof plan->what - len, "%s%s %s", len > 0 ? ", " : "",
             where, what);
}

static const char *change(struct vel_rng *rng, unsigned char *bytes, size_t *len)
{
    size_t at = vel_rng_below(rng, *len), n = 1 + vel_rng_below(rng, 4096);

    switch (vel_rng_below(rng, 4)) {
    case 0:
        memset(bytes + at, 0, n < *len - at ? n : *len - at);
        return "has zeros";
    case 1:
        memset(bytes, 0, *len);
        return "is zeroed";
    default:
        bytes[at] ^= (unsigned char)(1 << vel_rng_below(rng, 8));
        return "has one bit changed";
    }
}

static const char *resize(struct vel_rng *rng, size_t *len)
{
    if (vel_rng_below(rng, 3) == 0) {
        *len += 1;
        return "is longer";
    }
    *len = vel_rng_below(rng, *len);
    return "is cut";
}

/* Had it a redundancy file beside it? Without one nobody knows what its bytes were. */
static bool is_taken(const char *path)
{
    size_t len = (size_t)(name_in(path) - path), of_end = strlen(".h5vr");
    bool is = false;

    for (int i = 0; !is && i < n_found; i++) {
        size_t of_other = strlen(found[i].path);

        is = strncmp(found[i].path, path, len) == 0 && of_other > len + of_end &&
             strcmp(found[i].path + of_other - of_end, ".h5vr") == 0;
    }
    return is && strstr(path, "/dataset.") != NULL;
}

static void damage_one(struct vel_rng *rng, const char *path, const char *dir,
                       struct damage_plan *plan)
{
    uint64_t kind = vel_rng_below(rng, is_taken(path) ? 6 : 2);
    const char *what = "is removed";
    size_t len = 0, was;
    char *bytes = tap_get_file(path, &len), *copy;

    if (!bytes || len == 0) {
        free(bytes);
        return;
    }
    was = len;
    copy = malloc(len + 2);
    if (!copy)
        bail_out("no memory");
    memcpy(copy, bytes, len + 1);
    if (kind == 0)
        unlink(path);
    else if (kind == 1)
        what = resize(rng, &len);
    else
        what = change(rng, (unsigned char *)copy, &len);
    if (kind > 0)
        tap_put_bytes(path, copy, len);
    if (kind == 0 || len != was || memcmp(copy, bytes, len) != 0) {
        hit(plan, node_of(path, dir));
        say(plan, what, path + strlen(dir));
    }
    free(copy);
    free(bytes);
}

static void lose(const char *dir, int node, struct damage_plan *plan)
{
    char end[20], command[PATH + 60], what[40];

    snprintf(end, sizeof end, ".v%d", node);
    snprintf(command, sizeof command, "rm -rf '%s'/*%s", dir, end);
    if (system(command) != 0)
        bail_out("%s fails", command);
    hit(plan, node);
    snprintf(what, sizeof what, "node %d", node);
    say(plan, "is lost", what);
}

/* What is read next is worth more: newer ones, and data. */
static int worth(const char *path)
{
    const char *at = strstr(path, "/dataset.");
    size_t len = strlen(path);

    return 2 * (at ? atoi(at + strlen("/dataset.")) : 100) +
           (len > 3 && strcmp(path + len - 3, ".h5") == 0);
}

static const char *pick(struct vel_rng *rng)
{
    const char *one = found[vel_rng_below(rng, (uint64_t)n_found)].path,
               *other = found[vel_rng_below(rng, (uint64_t)n_found)].path;

    return worth(one) > worth(other) ? one : other;
}

void damage_do(struct vel_rng *rng, const char *dir, int nodes, struct damage_plan *ret)
{
    int n = 1 + (int)vel_rng_below(rng, 3),
        only = vel_rng_below(rng, 3) ? (int)vel_rng_below(rng, (uint64_t)nodes) : -1;
    char root[PATH];

    *ret = (struct damage_plan){.n_hit = 0};
    snprintf(root, sizeof root, "%s", dir);
    find(root, ".h5", ".h5vr");
    for (int i = 0, tries = 0; n_found > 0 && i < n && tries < 100; tries++) {
        const char *path = pick(rng);

        if (only >= 0 && node_of(path, root) != only)
            continue;
        damage_one(rng, path, root, ret);
        i++;
    }
    if (nodes > 1 && vel_rng_below(rng, 5) == 0)
        lose(root, (int)vel_rng_below(rng, (uint64_t)nodes), ret);
    if (!ret->what[0])
        say(ret, "is damaged", "nothing");
}
