/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy by difference from an older version: the same bytes as without, whatever
 * has changed, whatever is wrong with the older one, and whatever fails meanwhile.
 * Everything follows from the seed. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tap/rng.h"
#include "red/set.h"
#include "tap/fs_fault.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/redlab.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum {
    OPS_MOST = 1000,
    MEMBERS = 7,
    VERSIONS = 4,
    MOST = 900000,
    FILES = 3,
    BLOCK = 65536
};

struct member {
    size_t size; /* of all its files */
    uint8_t *bytes;
    size_t files;
    struct vel_red_saved saved;
    char *name; /* of its redundancy file */
    struct vel_err err;
    int rc;
};

struct scene {
    struct vel_rng rng;
    enum vel_scheme scheme;
    size_t n, m;
    struct member member[MEMBERS];
    int version;
    const char *label; /* "set", or "ref": from all bytes */
    size_t special;    /* a member, */
    struct vel_fs *fs; /* and its files, or NULL */
};

static uint64_t below(struct scene *s, uint64_t n)
{
    return vel_rng_below(&s->rng, n);
}

static const char *dir_of(int version, size_t member)
{
    static __thread char dirs[4][600];
    static __thread unsigned next;
    char *dir = dirs[next++ % 4];

    snprintf(dir, sizeof dirs[0], "%s/d%d/m%zu", tap_dir(), version, member);
    return dir;
}

/* --- files --- */

static void put_files(struct scene *s, size_t i)
{
    struct member *m = &s->member[i];
    size_t at = 0;

    vel_fs_make_dirs(redlab_fs(), dir_of(s->version, i), 0700, NULL);
    for (size_t f = 0; f < m->files; f++) {
        size_t len =
            f + 1 < m->files ? (size_t)below(s, m->size - at + 1) : m->size - at;
        char path[700];

        snprintf(path, sizeof path, "%s/v%d.%zu", dir_of(s->version, i), s->version, f);
        tap_put_bytes(path, m->bytes + at, len);
        at += len;
    }
}

static void begin(struct scene *s, uint64_t seed, enum vel_scheme scheme, size_t n,
                  size_t m)
{
    char root[600];

    *s = (struct scene){.scheme = scheme, .n = n, .m = m};
    for (int v = 1; v <= VERSIONS; v++) {
        snprintf(root, sizeof root, "%s/d%d", tap_dir(), v);
        vel_fs_remove_tree(redlab_fs(), root, NULL);
    }
    vel_rng_init(&s->rng, seed);
    s->version = 1;
    for (size_t i = 0; i < n; i++) {
        struct member *one = &s->member[i];

        one->size = below(s, 5) == 0 ? 0 : 1 + (size_t)below(s, MOST);
        one->files = one->size == 0 ? 0 : 1 + (size_t)below(s, FILES);
        one->bytes = malloc(one->size + 1);
        vel_rng_fill(&s->rng, one->bytes, one->size);
        put_files(s, i);
    }
}

static void end(struct scene *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->member[i].bytes);
        free(s->member[i].name);
    }
}

/* As many bytes, cut into files anew; seldom others. */
static void next_version(struct scene *s, bool may_grow)
{
    s->version++;
    for (size_t i = 0; i < s->n; i++) {
        struct member *m = &s->member[i];

        if (may_grow && m->size > 0 && below(s, 20) == 0)
            m->size = 1 + (size_t)below(s, m->size);
        for (uint64_t e = below(s, 3); m->size > 0 && e > 0; e--) {
            size_t at = (size_t)below(s, m->size);
            size_t len = (size_t)below(s, 2) ? 1 : 1 + (size_t)below(s, 2 * BLOCK);

            len = len < m->size - at ? len : m->size - at;
            vel_rng_fill(&s->rng, m->bytes + at, len);
        }
        put_files(s, i);
    }
}

/* --- protecting them --- */

static int protect(struct vel_comm *comm, void *arg)
{
    struct scene *s = arg;
    size_t me = (size_t)comm->rank;
    struct member *m = &s->member[me];
    char *names[FILES], text[FILES][32], *older[3] = {0};
    uint8_t id[16] = "version";
    struct vel_red_set set = {.comm = comm,
                              .scheme = s->scheme,
                              .m = s->m,
                              .sets = 1,
                              .rank = (uint32_t)me,
                              .fs = s->fs && me == s->special ? s->fs : redlab_fs(),
                              .dir = strdup(dir_of(s->version, me)),
                              .label = s->label,
                              .memory = 1 << 20,
                              .id = id,
                              .saved = &m->saved};

    id[15] = (uint8_t)s->version;
    for (size_t f = 0; f < m->files; f++) {
        snprintf(text[f], sizeof text[f], "v%d.%zu", s->version, f);
        names[f] = text[f];
    }
    for (int k = 0; k < 2 && s->version - k > 1; k++)
        older[k] = strdup(dir_of(s->version - 1 - k, me));
    if (strcmp(s->label, "set") == 0)
        set.older = older;
    free(m->name);
    m->name = NULL;
    m->err = (struct vel_err){0};
    m->saved = (struct vel_red_saved){0};
    m->rc = vel_red_apply(&set, names, m->files, "d", 1, &m->name, &m->err);
    free(older[0]);
    free(older[1]);
    free((char *)set.dir);
    return m->rc < 0;
}

/* How many fail. */
static int apply(struct scene *s, const char *label)
{
    s->label = label;
    return crowd_run((int)s->n, NULL, protect, s, NULL);
}

static char *take_redundancy(const struct scene *s, size_t i, size_t *ret_len)
{
    char path[900];

    snprintf(path, sizeof path, "%s/%s", dir_of(s->version, i),
             s->member[i].name ? s->member[i].name : "none");
    return tap_get_file(path, ret_len);
}

struct image {
    char *bytes[MEMBERS];
    size_t len[MEMBERS];
};

/* What it is without an older version. */
static void make_reference(struct scene *s, struct image *ret)
{
    *ret = (struct image){0};
    if (apply(s, "ref") != 0)
        bail_out("%s", s->member[0].err.text);
    for (size_t i = 0; i < s->n; i++)
        ret->bytes[i] = take_redundancy(s, i, &ret->len[i]);
}

static bool is_reference(const struct scene *s, struct image *reference)
{
    bool is = true;

    for (size_t i = 0; i < s->n; i++) {
        size_t len = 0;
        char *bytes = take_redundancy(s, i, &len);

        is = is && bytes && reference->bytes[i] && len == reference->len[i] &&
             memcmp(bytes, reference->bytes[i], len) == 0;
        free(bytes);
    }
    return is;
}

static void image_fini(struct image *image)
{
    for (size_t i = 0; i < MEMBERS; i++)
        free(image->bytes[i]);
    *image = (struct image){0};
}

static struct vel_red_saved saved_by(const struct scene *s)
{
    struct vel_red_saved sum = {0};

    for (size_t i = 0; i < s->n; i++) {
        sum.compared += s->member[i].saved.compared;
        sum.same += s->member[i].saved.same;
        sum.copied += s->member[i].saved.copied;
        sum.computed += s->member[i].saved.computed;
    }
    return sum;
}

/* --- whatever has changed --- */

static void random_edits(void)
{
    struct tap_seeds seeds = tap_seeds(12);
    struct vel_red_saved all = {0};
    int wrong = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        struct vel_rng rng;
        struct scene s;
        struct image reference = {0};

        vel_rng_init(&rng, seed);
        enum vel_scheme scheme = VEL_PARTNER + (enum vel_scheme)vel_rng_below(&rng, 3);
        size_t n = 2 + (size_t)vel_rng_below(&rng, MEMBERS - 1);
        size_t m = scheme == VEL_XOR ? 1 : 1 + (size_t)vel_rng_below(&rng, n - 1);
        begin(&s, seed, scheme, n, m);
        for (int v = 1; v <= VERSIONS; v++) {
            struct vel_red_saved saved;

            if (v > 1)
                next_version(&s, true);
            make_reference(&s, &reference);
            if ((apply(&s, "set") != 0 || !is_reference(&s, &reference)) &&
                ++wrong == 1)
                note("seed %" PRIu64 ": %s of %zu, m %zu, version %d: %s", seed,
                     vel_scheme_name(scheme), n, m, v, s.member[0].err.text);
            saved = saved_by(&s);
            all.compared += saved.compared;
            all.same += saved.same;
            all.copied += saved.copied;
            image_fini(&reference);
        }
        end(&s);
    }
    is_int(wrong, 0, "the redundancy is what it is from all bytes");
    ok(all.compared > all.same && all.same > 0 && all.copied > 0,
       "of %" PRIu64 " bytes %" PRIu64 " were not sent, %" PRIu64
       " of redundancy copied",
       all.compared, all.same, all.copied);
}

/* --- whatever is wrong with the older one --- */

/* Version 1 is protected, version 2 is there: one byte of each member has changed. */
static void two_versions(struct scene *s, enum vel_scheme scheme, size_t m,
                         struct image *reference)
{
    begin(s, 5, scheme, 4, m);
    for (size_t i = 0; i < s->n; i++) {
        struct member *one = &s->member[i];

        free(one->bytes);
        one->size = 40 * BLOCK + 10 * i;
        one->files = 1;
        one->bytes = malloc(one->size);
        vel_rng_fill(&s->rng, one->bytes, one->size);
        put_files(s, i);
    }
    if (apply(s, "set") != 0)
        bail_out("%s", s->member[0].err.text);
    s->version = 2;
    for (size_t i = 0; i < s->n; i++) {
        s->member[i].bytes[2 * BLOCK + 77 * i] ^= 1;
        put_files(s, i);
    }
    make_reference(s, reference);
}

static void saves(enum vel_scheme scheme, size_t m)
{
    struct image reference;
    struct vel_red_saved saved;
    struct scene s;

    two_versions(&s, scheme, m, &reference);
    ok(apply(&s, "set") == 0 && is_reference(&s, &reference),
       "%s, m %zu: one block of "
       "each member has changed",
       vel_scheme_name(scheme), m);
    saved = saved_by(&s);
    is_int((long long)(saved.compared - saved.same), 4 * BLOCK,
           "and nothing else is sent");
    ok(saved.copied > saved.computed,
       "%" PRIu64 " bytes of redundancy were copied, "
       "%" PRIu64 " computed",
       saved.copied, saved.computed);
    image_fini(&reference);
    end(&s);
}

static void flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+");
    int c = f && fseek(f, at, SEEK_SET) == 0 ? fgetc(f) : EOF;

    if (c == EOF || fseek(f, at, SEEK_SET) < 0 || fputc(c ^ 1, f) == EOF ||
        fclose(f) != 0)
        bail_out("cannot damage %s", path);
}

static char *older_redundancy(const struct scene *s, size_t i)
{
    static char path[900];

    snprintf(path, sizeof path, "%s/set.%zu.%s.grp_0_of_1.mem_%zu_of_%zu.%s.h5vr",
             dir_of(1, i), i, vel_scheme_name(s->scheme), i, s->n, "76657273");
    return path;
}

enum harm { FILE_ROTS, PARITY_ROTS, HEADER_ROTS, FILE_GOES, PARITY_GOES, ALL_CHANGE };

static void do_harm(struct scene *s, enum harm harm)
{
    char path[700];
    struct stat st;

    snprintf(path, sizeof path, "%s/v1.0", dir_of(1, 2));
    if (harm == FILE_ROTS)
        flip(path, 5000);
    else if (harm == FILE_GOES)
        unlink(path);
    else if (harm == PARITY_ROTS && stat(older_redundancy(s, 2), &st) == 0)
        flip(older_redundancy(s, 2), (long)st.st_size - 3);
    else if (harm == HEADER_ROTS)
        flip(older_redundancy(s, 2), 40);
    else if (harm == PARITY_GOES && unlink(older_redundancy(s, 2)) < 0)
        bail_out("%s is not there", older_redundancy(s, 2));
}

static void harmed(enum harm harm, const char *how)
{
    struct image reference;
    struct scene s;

    two_versions(&s, VEL_RS, 2, &reference);
    do_harm(&s, harm);
    if (harm == ALL_CHANGE) {
        image_fini(&reference);
        vel_rng_fill(&s.rng, s.member[1].bytes, s.member[1].size);
        put_files(&s, 1);
        make_reference(&s, &reference);
    }
    ok(apply(&s, "set") == 0 && is_reference(&s, &reference), "%s: the same redundancy",
       how);
    is_int((long long)saved_by(&s).compared, 0, "made from all bytes");
    image_fini(&reference);
    end(&s);
}

/* --- whatever fails --- */

/* An operation of one member fails, or all from then on. */
static bool fail_at(enum vel_fs_fault_mode mode, uint64_t at, int *wrong)
{
    const struct vel_fs_fault_plan plan = {.mode = mode, .at = at};
    struct image reference;
    struct vel_fs_fault *fault;
    struct scene s;
    bool fired, stays = true;
    int failed;

    two_versions(&s, VEL_RS, 2, &reference);
    if (vel_fs_fault_create(redlab_fs(), NULL, &fault, NULL) < 0)
        bail_out("no memory");
    vel_fs_fault_arm(fault, &plan);
    s.special = 1;
    s.fs = vel_fs_fault_fs(fault);
    failed = apply(&s, "set");
    fired = vel_fs_fault_fired(fault);
    vel_fs_fault_destroy(fault);
    s.fs = NULL;
    for (size_t i = 0; i < s.n; i++)
        stays = stays && access(older_redundancy(&s, i), F_OK) == 0 &&
                (s.member[i].rc == 0 || s.member[i].err.text[0]);
    if (!stays || (failed != 0 && failed != (int)s.n) ||
        (failed == 0 && !is_reference(&s, &reference)) || apply(&s, "set") != 0 ||
        !is_reference(&s, &reference)) {
        if ((*wrong)++ == 0)
            note("mode %d, operation %" PRIu64 ": %d fail: %s", mode, at, failed,
                 s.member[0].err.text);
    }
    image_fini(&reference);
    end(&s);
    return fired;
}

static void failures(enum vel_fs_fault_mode mode, const char *how)
{
    uint64_t step = getenv("SEEDS") ? 1 : 7, at = 1 + mode;
    int wrong = 0;

    while (at < OPS_MOST && fail_at(mode, at, &wrong))
        at += step;
    ok(wrong == 0 && at > 30 && OPS_MOST > at,
       "%s at each %s of %d operations: done, or as it was, and done again", how,
       step > 1 ? "7th" : "one", (int)at);
}

static void swallow(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    const struct vel_log_sink deaf = {.level = VEL_LOG_DEBUG, .write = swallow};

    vel_log_open(&deaf);
    random_edits();
    saves(VEL_XOR, 1);
    saves(VEL_RS, 2);
    saves(VEL_PARTNER, 1);
    harmed(FILE_ROTS, "an older file has rotted");
    harmed(PARITY_ROTS, "older redundancy has rotted");
    harmed(HEADER_ROTS, "its header has");
    harmed(FILE_GOES, "an older file is gone");
    harmed(PARITY_GOES, "older redundancy is gone");
    harmed(ALL_CHANGE, "all of one member has changed");
    failures(VEL_FS_FAULT_ONCE, "a failure");
    failures(VEL_FS_FAULT_CRASH, "a crash of a member");
    return done_testing();
}
