/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets encoded and rebuilt in one process: every loss that a scheme bears comes back
 * byte for byte, every other one is refused and changes nothing; up to 8 members, all
 * patterns. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "red/rebuild.h"
#include "red/redfile.h"
#include "tap/files.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static const struct vel_rebuild_options plain = {.memory = 1 << 20};

/* Rebuild all that lies below root. Returns the status of the one set. Members of which
 * nothing is left are put where they were. */
static int rebuild(const char *root, size_t n, const bool *is_lost, bool dry_run,
                   char *text)
{
    struct vel_rebuild_options options = plain;
    char *dirs[64];
    size_t n_dirs = 0;
    struct vel_vec sets;
    struct vel_err err = {0};

    options.dry_run = dry_run;
    for (size_t i = 0; i < n; i++)
        if (!is_lost[i])
            dirs[n_dirs++] = strdup(redlab_dir(root, i));
    options.into = redlab_dir(root, n); /* one directory for all that is lost */
    int rc = n_dirs ? vel_rebuild(redlab_fs(), dirs, n_dirs, &options, &sets, &err)
                    : VEL_ENOENT;
    if (rc == 0) {
        const struct vel_rebuilt_set *set = vel_vec_at(&sets, 0);

        rc = set->rc;
        err = set->err;
        vel_rebuilt_fini(&sets);
    }
    snprintf(text, VEL_ERR_TEXT, "%s", err.text);
    for (size_t i = 0; i < n_dirs; i++)
        free(dirs[i]);
    return rc;
}

/* what was rebuilt into a directory of its own, moved to where the member's files were
 */
static void adopt(const char *root, size_t n, size_t lost)
{
    struct vel_err err = {0};
    char rebuilt[1100];

    snprintf(rebuilt, sizeof rebuilt, "%s/rank.%zu", redlab_dir(root, n), lost);
    redlab_lose(root, lost);
    if (vel_fs_exists(redlab_fs(), rebuilt) &&
        vel_fs_rename(redlab_fs(), rebuilt, redlab_dir(root, lost), &err) < 0)
        bail_out("%s", err.text);
}

static bool bears(enum vel_scheme scheme, size_t n, size_t m, unsigned mask)
{
    if (scheme != VEL_PARTNER)
        return (size_t)__builtin_popcount(mask) <= m;
    for (size_t r = 0; r < n; r++) {
        bool left = false;
        for (size_t back = 0; back <= m; back++)
            left = left || !(mask >> (r + back) % n & 1);
        if (!left)
            return false;
    }
    return true;
}

/* Lose the directories of each pattern of members; what the scheme bears comes back
 * into other ones, one pattern after the other. */
static int every_directory(enum vel_scheme scheme, size_t n, size_t m, int *ret_cases)
{
    char root[512], text[VEL_ERR_TEXT];
    uint64_t state[16];
    int bad = 0;

    snprintf(root, sizeof root, "%s/%s-dirs-%zu-%zu", tap_dir(),
             vel_scheme_name(scheme), n, m);
    if (redlab_apply(root, "set", scheme, n, m, m, 5000) < 0)
        return 1;
    for (size_t i = 0; i < n; i++)
        state[i] = redlab_state(root, i);
    for (unsigned mask = 1; mask < 1u << n; mask++) {
        bool is_lost[16] = {false};

        for (size_t i = 0; i < n; i++) {
            is_lost[i] = mask >> i & 1;
            if (is_lost[i])
                redlab_put_aside(root, i);
        }
        int rc = rebuild(root, n, is_lost, false, text);
        if (bears(scheme, n, m, mask))
            bad += rc != 0;
        else
            bad += (rc != VEL_EINVAL && rc != VEL_ENOENT) || redlab_state(root, n);
        for (size_t i = 0; i < n; i++) {
            if (is_lost[i] && rc == 0)
                adopt(root, n, i);
            else if (is_lost[i])
                redlab_put_back(root, i);
            bad += redlab_state(root, i) != state[i];
        }
        (*ret_cases)++;
    }
    return bad;
}

/* A bit in the redundancy file or a file of each member of the mask, or back again. */
static void damage(const char *root, size_t n, unsigned mask, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        bool damaged = !(mask >> i & 1);

        for (size_t f = seed + mask; !damaged; f++)
            damaged = redlab_damage(root, i, f % (REDLAB_FILES + 1), mask);
    }
}

/* Damage every pattern of members: they are rebuilt in place, so that several at once
 * can be compared. */
static int every_loss(enum vel_scheme scheme, size_t n, size_t m, uint64_t seed,
                      int *ret_cases)
{
    char root[512], text[VEL_ERR_TEXT];
    uint64_t state[16];
    int bad = 0;

    snprintf(root, sizeof root, "%s/%s-%zu-%zu", tap_dir(), vel_scheme_name(scheme), n,
             m);
    if (redlab_apply(root, "set", scheme, n, m, seed, 20000) < 0)
        return 1;
    for (size_t i = 0; i < n; i++)
        state[i] = redlab_state(root, i);
    for (unsigned mask = 1; mask < 1u << n; mask++) {
        bool none[16] = {false};
        uint64_t before[16];
        bool survives = bears(scheme, n, m, mask);

        damage(root, n, mask, seed);
        for (size_t i = 0; i < n; i++)
            before[i] = redlab_state(root, i);
        int rc = rebuild(root, n, none, false, text);
        bad += survives ? rc != 0 : rc != VEL_EINVAL || !text[0];
        for (size_t i = 0; i < n; i++)
            bad += redlab_state(root, i) != (survives ? state[i] : before[i]);
        if (!survives)
            damage(root, n, mask, seed);
        (*ret_cases)++;
    }
    for (size_t i = 0; i < n; i++)
        redlab_lose(root, i);
    return bad;
}

static void all_schemes(void)
{
    static const struct {
        enum vel_scheme scheme;
        size_t m_least, m_most;
    } schemes[] = {{VEL_XOR, 1, 1}, {VEL_RS, 1, 4}, {VEL_PARTNER, 1, 3}};

    for (size_t s = 0; s < 3; s++)
        for (size_t n = 2; n <= 8; n++) {
            int bad = 0, cases = 0;

            for (size_t m = schemes[s].m_least; m <= schemes[s].m_most && m < n; m++)
                bad += n < 8 ? every_loss(schemes[s].scheme, n, m, n * 10 + m, &cases)
                             : every_directory(schemes[s].scheme, n, m, &cases);
            is_int(bad, 0, "%s, %zu members: all %d %s come back or change nothing",
                   vel_scheme_name(schemes[s].scheme), n, cases,
                   n < 8 ? "damages" : "losses of directories, one after the other,");
        }
}

/* After a bit has flipped at one member: found, and repaired? */
static bool is_repaired(const char *root, size_t member, uint64_t state)
{
    char text[VEL_ERR_TEXT];
    bool none[8] = {false};
    bool is_hit = redlab_state(root, member) != state;
    int rc = rebuild(root, 8, none, false, text);

    if (rc == 0 && is_hit && redlab_state(root, member) == state)
        return true;
    note("member %zu: rebuild returned %d: %s", member, rc, text);
    return false;
}

/* Bits of all files, and every byte of the fixed part of the headers with a sample of
 * the rest. */
static int flip_bits(enum vel_scheme scheme, size_t m, int *ret_cases)
{
    enum { EACH = 6, FIXED = 96, REST = 37 };
    char root[512];
    uint64_t state[8];
    int bad = 0;

    snprintf(root, sizeof root, "%s/flip-%s-%zu", tap_dir(), vel_scheme_name(scheme),
             m);
    if (redlab_apply(root, "set", scheme, 8, m, 11 + m, 20000) < 0)
        return 1;
    for (size_t i = 0; i < 8; i++)
        state[i] = redlab_state(root, i);
    for (size_t i = 0; i < 8; i++)
        for (size_t f = 0; f <= REDLAB_FILES; f++)
            for (uint64_t seed = 1; seed <= EACH; seed++)
                if (redlab_damage(root, i, f, seed)) {
                    bad += !is_repaired(root, i, state[i]);
                    (*ret_cases)++;
                }
    for (uint64_t byte = 0;; byte += byte < FIXED ? 1 : REST) {
        size_t i = (size_t)byte % 8;

        if (!redlab_damage_header(root, i, byte * 8 + byte / 8 % 8))
            break;
        bad += !is_repaired(root, i, state[i]);
        (*ret_cases)++;
    }
    return bad;
}

static void flipped_bits(void)
{
    static const struct {
        enum vel_scheme scheme;
        size_t m;
    } schemes[] = {
        {VEL_XOR, 1}, {VEL_RS, 2}, {VEL_RS, 4}, {VEL_PARTNER, 1}, {VEL_PARTNER, 3}};

    for (size_t s = 0; s < sizeof schemes / sizeof schemes[0]; s++) {
        int cases = 0, bad = flip_bits(schemes[s].scheme, schemes[s].m, &cases);

        is_int(bad, 0,
               "%s m=%zu, 8 members: %d flipped bits in files, redundancy and headers "
               "are found and repaired",
               vel_scheme_name(schemes[s].scheme), schemes[s].m, cases);
    }
}

static void whole_directories(void)
{
    char root[512], text[VEL_ERR_TEXT];
    int bad = 0;

    snprintf(root, sizeof root, "%s/dirs", tap_dir());
    redlab_apply(root, "set", VEL_RS, 6, 2, 4, 50000);
    for (size_t lost = 0; lost < 6; lost++) {
        uint64_t state = redlab_state(root, lost);
        bool is_lost[6] = {false};

        is_lost[lost] = true;
        redlab_lose(root, lost);
        bad += rebuild(root, 6, is_lost, false, text) != 0;
        adopt(root, 6, lost);
        bad += redlab_state(root, lost) != state;
    }
    is_int(bad, 0,
           "a member whose directory is gone is rebuilt into another one, six in turn");
}

static void a_dry_run_writes_nothing(void)
{
    char root[512], text[VEL_ERR_TEXT];
    bool none[5] = {false};
    uint64_t before, after;

    snprintf(root, sizeof root, "%s/dry", tap_dir());
    redlab_apply(root, "set", VEL_XOR, 5, 1, 9, 30000);
    redlab_damage(root, 2, 0, 1);
    before = redlab_state(root, 2);
    is_int(rebuild(root, 5, none, true, text), 0,
           "a dry run finds that all can be rebuilt");
    after = redlab_state(root, 2);
    ok(before == after, "and writes nothing");
    redlab_damage(root, 3, 0, 1);
    is_int(rebuild(root, 5, none, true, text), VEL_EINVAL,
           "it finds as well what cannot be");
    note("%s", text);
}

/* "a" and "a.1" in one directory: rank 1 of the one begins like rank 0 of the other */
static void labels_that_begin_alike(void)
{
    char root[1024], path[1200];
    struct vel_vec found;

    snprintf(root, sizeof root, "%s/labels", tap_dir());
    redlab_apply(root, "a", VEL_XOR, 3, 1, 1, 1000);
    redlab_apply(root, "a.1", VEL_XOR, 3, 1, 1, 1000);
    const char *dir = redlab_dir(root, 1);
    int rc = vel_redfile_scan(vel_fs_posix(), dir, "a", 1, &found, NULL);
    ok(rc == 0 && found.n == 1 && strstr(vel_redfile_at(&found, 0)->path, "/a.1.XOR."),
       "a label finds its own redundancy files alone");
    vel_redfiles_fini(&found);
    snprintf(path, sizeof path, "%s/a.1.0.XOR.grp_0_of_1.h5vr.h5vtmp", dir);
    tap_put_file(path, "of a.1");
    vel_redfile_sweep(vel_fs_posix(), dir, "a", 1);
    ok(vel_fs_exists(vel_fs_posix(), path), "and sweeps its own unfinished ones");
    vel_redfile_sweep(vel_fs_posix(), dir, "a.1", 0);
    ok(!vel_fs_exists(vel_fs_posix(), path),
       "which the other label does with the rest");
}

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    /* thousands of damages, each with its warning */
    const struct vel_log_sink sink = {.write = nobody_listens};

    vel_log_open(&sink);
    all_schemes();
    flipped_bits();
    whole_directories();
    a_dry_run_writes_nothing();
    labels_that_begin_alike();
    return done_testing();
}
