/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/path.h"
#include "base/siphash.h"
#include "ident/endpoint.h"
#include "ident/joined.h"
#include "ident/launchid.h"
#include "ident/once.h"
#include "ident/role.h"
#include "sys/entropy.h"
#include "sys/host.h"

enum {
    FORMAT = 1,
    HASH = 16,   /* hex digits */
    ROUNDS = 64, /* launches of the same program that are passed by */
    LOOKS = 20,  /* at a beat within the limit, at least; */
    QUICK = 600, /* the first pause is so much shorter than it, each next one double */
};

static const char meet_type[] = "meet";

static void hash_hex(const void *bytes, size_t len, char ret[HASH + 1])
{
    const uint8_t no_secret[VEL_SIPHASH_KEY] = {0};
    uint8_t hash[VEL_SIPHASH_LEN];

    vel_siphash(no_secret, bytes, len, hash);
    vel_hex(hash, HASH / 2, ret);
}

/* --- named by the launcher --- */

static bool is_given(const char *text)
{
    return text && text[0];
}

/* What cannot be part of a path becomes its beginning and a hash of the whole. */
static void put_name(const char *text, char ret[VEL_LAUNCH_ROOM])
{
    const size_t most = VEL_LAUNCH_MOST - 1 - HASH;
    size_t n = 0;

    if (vel_launch_is_name(text)) {
        snprintf(ret, VEL_LAUNCH_ROOM, "%s", text);
        return;
    }
    for (const char *c = text; *c && n < most; c++) {
        char name[2] = {*c, '\0'};

        ret[n] = *c;
        /* a letter or a digit, or not the first */
        if (!vel_host_is_name(name) && (n == 0 || !strchr("._-", *c)))
            ret[n] = 'x';
        n++;
    }
    ret[n++] = '-';
    hash_hex(text, strlen(text), ret + n);
}

/* Programs that are given the same LAUNCH are still two where their launchers tell them
 * apart; Slurm's step does not: on some nodes it may be that of another launcher. */
static int put_launch(const struct vel_launch_texts *texts, char ret[VEL_LAUNCH_ROOM],
                      struct vel_err *err)
{
    const char *by = is_given(texts->pmix)  ? texts->pmix
                     : is_given(texts->job) ? texts->job
                                            : texts->starter;
    char hash[HASH + 1];
    struct vel_buf name;
    int rc;

    vel_buf_init(&name);
    vel_buf_puts(&name, texts->launch);
    if (is_given(by)) {
        hash_hex(by, strlen(by), hash);
        vel_buf_printf(&name, "-%.8s", hash);
    }
    rc = vel_buf_status(&name, err);
    if (rc == 0)
        put_name(name.data, ret);
    vel_buf_fini(&name);
    return rc;
}

int vel_launchid_named(const struct vel_launch_texts *texts, char ret[VEL_LAUNCH_ROOM],
                       struct vel_err *err)
{
    const char *again = texts->slurm_restart;
    struct vel_buf name;

    if (is_given(texts->launch)) {
        if (!vel_launch_is_name(texts->launch))
            return vel_fail(err, VEL_ECONFIG,
                            "LAUNCH=%s: a launch is named by 1 to %d letters, digits, "
                            "dots, underscores and dashes",
                            texts->launch, VEL_LAUNCH_MOST);
        return put_launch(texts, ret, err);
    }
    vel_buf_init(&name);
    if (is_given(texts->pmix))
        vel_buf_puts(&name, texts->pmix);
    else if (is_given(texts->job))
        vel_buf_puts(&name, texts->job);
    else if (is_given(texts->slurm_job) && is_given(texts->slurm_step))
        vel_buf_printf(&name, "%s.%s", texts->slurm_job, texts->slurm_step);
    else if (is_given(texts->starter))
        vel_buf_puts(&name, texts->starter);
    if (name.len > 0 && is_given(again) && strcmp(again, "0") != 0)
        vel_buf_printf(&name, "-r%s", again); /* the numbers of its steps begin anew */
    int rc = vel_buf_status(&name, err);
    ret[0] = '\0';
    if (rc == 0 && name.len > 0)
        put_name(name.data, ret);
    vel_buf_fini(&name);
    return rc;
}

int vel_launchid_fresh(char ret[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    uint64_t random[2];
    int rc = vel_entropy(random, sizeof random, err);

    if (rc == 0)
        snprintf(ret, VEL_LAUNCH_ROOM, "%016" PRIx64 "%016" PRIx64, random[0],
                 random[1]);
    return rc;
}

/* --- a meeting --- */

static int claim_name(const struct vel_launch_self *self, struct vel_buf *ret,
                      struct vel_err *err)
{
    char hash[HASH + 1];
    struct vel_buf words;
    int rc;

    vel_buf_init(&words);
    vel_buf_printf(&words, "%ld%c", (long)self->user, 0);
    if (is_given(self->name))
        vel_buf_puts(&words, self->name);
    else
        vel_buf_printf(&words, "%s%c%s%c%" PRId64, self->program, 0, self->working_dir,
                       0, self->ranks);
    rc = vel_buf_status(&words, err);
    if (rc == 0) {
        hash_hex(words.data, words.len, hash);
        vel_buf_printf(ret, "meet.%s", hash);
        rc = vel_buf_status(ret, err);
    }
    vel_buf_fini(&words);
    return rc;
}

/* A claim of a meeting, and the launch that it names. */
struct claim {
    const char *name;
    int64_t k;
    char launch[VEL_LAUNCH_ROOM];
};

static int count_beats(struct vel_fs *fs, const char *dir, int64_t *ret,
                       struct vel_err *err)
{
    struct vel_beat beat = {0};
    int rc = vel_beat_load(fs, dir, &beat, err);

    *ret = beat.count;
    vel_beat_fini(&beat);
    return rc;
}

/* Of a meeting nobody knows whether those who have left were of our program. */
static bool may_be_ours(const struct vel_launch_self *self,
                        const struct vel_joined *joined)
{
    if (joined->has_rank || joined->has_lost)
        return false;
    return joined->is_left ? is_given(self->name)
                           : joined->is_alive || !joined->is_dead;
}

/* Can it be our launch? MAY_FIT: only a sign of life tells. */
enum fit { FITS_NOT, FITS, MAY_FIT };

/* Without a directory it has been removed: it was made before the claim, and what was
 * removed meanwhile has told nothing. */
static int ask_launch(struct vel_fs *fs, const struct vel_launch_self *self,
                      const struct claim *claim, const char *dir, enum fit *ret,
                      struct vel_joined *ret_joined, struct vel_err *err)
{
    bool is_over = true;
    int rc = vel_joined_find(fs, self, claim->launch, dir, ret_joined, err);

    if (rc == 0)
        rc = vel_launch_is_over(fs, self->dir, claim->launch, &is_over, err);
    if (rc == VEL_EBUSY) { /* it is just being ended: nobody begins in it */
        is_over = true;
        rc = 0;
    }
    if (is_over)
        *ret_joined = (struct vel_joined){0};
    *ret = is_over || !may_be_ours(self, ret_joined)     ? FITS_NOT
           : ret_joined->is_alive || ret_joined->is_left ? FITS
                                                         : MAY_FIT;
    return rc;
}

/* How long it was waited for a sign of life. */
struct waited {
    uint64_t begun, pause;
    bool has_looked;
    int64_t first; /* its beat then */
};

/* Its beat moves, or comes. One that nobody has joined needs none yet: whoever claimed
 * it has just begun, or has left nothing. Another rank of ours may know better: that it
 * has joined that launch, say, or by the locks of its machine. Then it claims the next
 * one, `newer`. */
static int check_beat(struct vel_fs *fs, const struct vel_launch_self *self,
                      const char *dir, const struct claim *claim, bool is_begun,
                      struct waited *waited, enum fit *ret, struct vel_err *err)
{
    bool is_first = !waited->has_looked;
    int64_t beat = 0, newest = claim->k;
    int rc = count_beats(fs, dir, &beat, err);

    if (rc == 0)
        rc = vel_claim_newest(fs, self->dir, claim->name, &newest, err);
    if (is_first)
        waited->first = beat;
    waited->has_looked = true;
    if (beat != waited->first || (is_first && beat == 0 && !is_begun)) {
        *ret = FITS;
    } else if (newest != claim->k) {
        *ret = FITS_NOT;
    } else if (vel_clock_monotonic(self->clock) - waited->begun >= self->limit) {
        *ret = FITS_NOT;
        vel_log(VEL_LOG_INFO,
                "waited %.1f s in vain for a sign of life of launch %s: this program "
                "begins another one",
                (double)self->limit / (double)VEL_CLOCK_S, claim->launch);
    }
    return rc;
}

static void pause_and_double(const struct vel_launch_self *self, struct waited *waited)
{
    uint64_t most = self->limit / LOOKS;

    vel_clock_sleep(self->clock, waited->pause);
    waited->pause = 2 * waited->pause < most ? 2 * waited->pause : most;
}

/* *ret_is_child: it is that of a process which has started us. */
static int check_launch(struct vel_fs *fs, const struct vel_launch_self *self,
                        const struct claim *claim, bool *ret_fits, bool *ret_is_child,
                        struct vel_err *err)
{
    struct waited waited = {.begun = vel_clock_monotonic(self->clock),
                            .pause = self->limit / QUICK};
    char *dir = vel_launch_dir(self->dir, claim->launch);
    struct vel_joined joined = {0};
    enum fit fit = MAY_FIT;
    int rc = dir ? 0 : vel_out_of_memory(err, claim->launch);

    while (rc == 0 && fit == MAY_FIT) {
        if (waited.has_looked)
            pause_and_double(self, &waited);
        rc = ask_launch(fs, self, claim, dir, &fit, &joined, err);
        if (rc == 0 && fit == MAY_FIT)
            rc = check_beat(fs, self, dir, claim, joined.has_any, &waited, &fit, err);
    }
    *ret_fits = rc == 0 && fit == FITS;
    *ret_is_child = rc == 0 && joined.has_rank && self->host &&
                    vel_role_is_above(fs, self->host, self->cntl_base, claim->launch);
    free(dir);
    return rc;
}

static int load_claim(struct vel_fs *fs, const struct vel_launch_self *self,
                      struct claim *claim, struct vel_err *err)
{
    struct vel_node *record = NULL;
    const char *launch;
    int rc;

    rc = vel_claim_load(fs, self->dir, claim->name, claim->k, meet_type, FORMAT,
                        &record, err);
    if (rc == 0)
        rc = vel_node_get_text(record, "launch", &launch, err);
    if (rc == 0 && !vel_launch_is_name(launch))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a launch", launch);
    if (rc == 0)
        snprintf(claim->launch, sizeof claim->launch, "%s", launch);
    vel_node_destroy(record);
    return rc;
}

/* Of a name that was given: NAME, NAME.2, ... by the number of the claim. */
static int name_next(const struct vel_launch_self *self, int64_t k,
                     char ret[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    if (!is_given(self->name))
        return vel_launchid_fresh(ret, err);
    vel_buf_init(&text);
    vel_buf_puts(&text, self->name);
    if (k > 1)
        vel_buf_printf(&text, ".%" PRId64, k);
    rc = vel_buf_status(&text, err);
    if (rc == 0)
        put_name(text.data, ret);
    vel_buf_fini(&text);
    return rc;
}

/* VEL_EEXIST: another was faster, look again. */
static int claim_launch(struct vel_fs *fs, const struct vel_launch_self *self,
                        const char *name, int64_t above, struct vel_err *err)
{
    char launch[VEL_LAUNCH_ROOM];
    struct vel_node *record = vel_node_object();
    char *dir = NULL;
    int64_t k;
    int rc = name_next(self, above + 1, launch, err);

    if (rc < 0)
        goto out;
    dir = vel_launch_dir(self->dir, launch);
    if (!record || !dir || vel_node_set_text(record, "launch", launch) < 0 ||
        (is_given(self->name) && vel_node_set_text(record, "name", self->name) < 0)) {
        rc = vel_out_of_memory(err, "a meeting");
        goto out;
    }
    rc = vel_fs_make_own_dir(fs, dir, 0700, err);
    if (rc < 0)
        goto out;
    rc = vel_claim(fs, self->dir, name, above, meet_type, FORMAT, record, &k, err);
    if (rc == VEL_EEXIST && !is_given(self->name))
        fs->ops->rmdir(fs, dir);
out:
    free(dir);
    vel_node_destroy(record);
    return rc;
}

int vel_launchid_meet(struct vel_fs *fs, const struct vel_launch_self *self,
                      char ret[VEL_LAUNCH_ROOM], bool *ret_is_child,
                      struct vel_err *err)
{
    struct claim claim = {0};
    struct vel_buf name;
    int64_t past = 0; /* claims up to that are not ours */
    bool fits = false, is_child = false;
    int rc;

    vel_buf_init(&name);
    rc = claim_name(self, &name, err);
    claim.name = vel_buf_text(&name);
    for (int round = 0; rc == 0 && !fits && !is_child; round++) {
        if (round == ROUNDS) {
            rc = vel_fail(err, VEL_EBUSY,
                          "%s: too many launches of the same program at once: set "
                          "VELOC_LAUNCH",
                          self->program);
            break;
        }
        rc = vel_claim_newest(fs, self->dir, claim.name, &claim.k, err);
        if (rc == 0 && claim.k <= past) {
            rc = claim_launch(fs, self, claim.name, past, err);
            if (rc == VEL_EEXIST)
                rc = 0;
            continue; /* the claim that is there now is looked at like any */
        }
        if (rc == 0)
            rc = load_claim(fs, self, &claim, err);
        if (rc == VEL_ENOENT) { /* there is a newer one, and it was removed */
            rc = 0;
            continue;
        }
        if (rc == 0)
            rc = check_launch(fs, self, &claim, &fits, &is_child, err);
        past = claim.k;
    }
    if (rc == 0 && is_child)
        rc = vel_launchid_fresh(ret, err);
    else if (rc == 0)
        snprintf(ret, VEL_LAUNCH_ROOM, "%s", claim.launch);
    if (rc == 0)
        *ret_is_child = is_child;
    vel_buf_fini(&name);
    return rc;
}
