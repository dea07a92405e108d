/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets encoded and rebuilt in one process: every loss that a scheme bears comes back
 * byte for byte, every other one is refused and changes nothing. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "red/rebuild.h"
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
    int rc = n_dirs ? vel_rebuild(vel_fs_posix(), dirs, n_dirs, &options, &sets, &err)
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
    if (vel_fs_exists(vel_fs_posix(), rebuilt) &&
        vel_fs_rename(vel_fs_posix(), rebuilt, redlab_dir(root, lost), &err) < 0)
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

/* Damage the redundancy file or a file of each member of the mask in turn: members are
 * then rebuilt in place, so several at once can be compared. */
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

        for (size_t i = 0; i < n; i++) {
            bool damaged = false;
            if (!(mask >> i & 1))
                continue;
            for (size_t f = seed + mask; !damaged; f++)
                damaged = redlab_damage(root, i, f % (REDLAB_FILES + 1), mask);
        }
        for (size_t i = 0; i < n; i++)
            before[i] = redlab_state(root, i);
        int rc = rebuild(root, n, none, false, text);
        bad += survives ? rc != 0 : rc != VEL_EINVAL || !text[0];
        for (size_t i = 0; i < n; i++)
            bad += redlab_state(root, i) != (survives ? state[i] : before[i]);
        if (!survives && redlab_apply(root, "set", scheme, n, m, seed, 20000) < 0)
            return bad + 1;
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
        for (size_t n = 2; n <= 7; n++) {
            int bad = 0, cases = 0;

            for (size_t m = schemes[s].m_least; m <= schemes[s].m_most && m < n; m++)
                bad += every_loss(schemes[s].scheme, n, m, n * 10 + m, &cases);
            is_int(bad, 0,
                   "%s, %zu members: all %d damages come back or change nothing",
                   vel_scheme_name(schemes[s].scheme), n, cases);
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
    whole_directories();
    a_dry_run_writes_nothing();
    return done_testing();
}
