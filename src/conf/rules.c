/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "conf/near.h"
#include "conf/rules.h"
#include "sys/fs.h"

static const char step_word[] = "{step}", rank_word[] = "{rank}";

enum { WORD = sizeof step_word - 1 };

/* --- what a pattern may be --- */

static int refuse_word(const char *at, struct vel_err *err)
{
    char word[32], hint[VEL_NEAR_HINT];
    size_t len = strcspn(at, "}") + 1;
    struct vel_near near;

    if (len >= sizeof word || !at[len - 1])
        len = sizeof word - 1 < strlen(at) ? sizeof word - 1 : strlen(at);
    memcpy(word, at, len);
    word[len] = 0;
    vel_near_init(&near, word);
    vel_near_try(&near, step_word);
    vel_near_try(&near, rank_word);
    return vel_fail(err, VEL_ECONFIG, "%s stands for nothing; {step} and {rank} do%s",
                    word, vel_near_hint(near.best, hint));
}

int vel_rule_check(const char *pattern, struct vel_err *err)
{
    if (!*pattern || strlen(pattern) >= VEL_PATH_MAX)
        return vel_fail(err, VEL_ECONFIG, "a pattern has 1 to %d characters",
                        VEL_PATH_MAX - 1);
    for (const char *at = strchr(pattern, '{'); at; at = strchr(at + 1, '{'))
        if (strncmp(at, step_word, WORD) != 0 && strncmp(at, rank_word, WORD) != 0)
            return refuse_word(at, err);
    return 0;
}

/* --- does a name fit? --- */

/* Digits of the name; len 0: there were none yet. */
struct number {
    const char *at;
    size_t len;
};

enum { NUMBERS = 8 }; /* of one name that its shape replaces */

/* Where one is in both, and the numbers so far. */
struct spot {
    const char *pattern, *name;
    struct number step, rank;
    struct number all[NUMBERS];
    const char *words[NUMBERS];
    size_t n;
};

static bool take_number(struct spot *spot, struct number *number)
{
    size_t len = strspn(spot->name, "0123456789");

    if (len == 0 || (number->len > 0 &&
                     (number->len != len || memcmp(number->at, spot->name, len) != 0)))
        return false;
    *number = (struct number){spot->name, len};
    if (spot->n < NUMBERS) {
        spot->all[spot->n] = *number;
        spot->words[spot->n++] = number == &spot->step ? step_word : rank_word;
    }
    spot->name += len;
    spot->pattern += WORD;
    return true;
}

/* One step ahead in both, where the pattern has no *. */
static bool take(struct spot *spot)
{
    if (strncmp(spot->pattern, step_word, WORD) == 0)
        return take_number(spot, &spot->step) && spot->step.len <= VEL_RULE_STEP;
    if (strncmp(spot->pattern, rank_word, WORD) == 0)
        return take_number(spot, &spot->rank);
    return *spot->pattern && *spot->pattern++ == *spot->name++;
}

/* Each * takes as little as will do. When the rest does not fit the last one takes
 * more: what one before it could take instead would only be less of the name. */
static bool fits(const char *pattern, const char *name, struct spot *ret)
{
    struct spot spot = {.pattern = pattern, .name = name}, star = {0};

    while (*spot.pattern || *spot.name) {
        if (*spot.pattern == '*') {
            spot.pattern++;
            star = spot;
        } else if (!take(&spot)) {
            if (!star.pattern || !*star.name)
                return false;
            star.name++;
            spot = star;
        }
    }
    *ret = spot;
    return true;
}

/* A pattern from the root on whose directory is reached by links, without them: paths
 * have none. A new string; NULL: it has none, or is nowhere yet. */
static char *without_links(const char *pattern)
{
    size_t plain = strcspn(pattern, "{*");
    char *text = strdup(pattern), *real = NULL, *whole = NULL;

    while (plain > 0 && pattern[plain - 1] != '/')
        plain--;
    if (text && plain > 1) {
        text[plain - 1] = '\0';
        if (vel_fs_real_path(text, &real, NULL) == 0 && strcmp(real, text) != 0)
            whole = vel_path_join(real, pattern + plain);
    }
    free(real);
    free(text);
    return whole;
}

/* As the pattern means it: from the prefix on, or from the root. */
static bool fits_path(const char *pattern, const char *prefix, const char *path,
                      struct spot *ret)
{
    const char *name = *pattern == '/' ? path : vel_path_below(prefix, path);
    char *real = NULL;
    bool is;

    while (strncmp(pattern, "./", 2) == 0)
        pattern += 2;
    is = name && *name && fits(pattern, name, ret);
    if (!is && *pattern == '/' && (real = without_links(pattern)))
        is = fits(real, name, ret);
    free(real);
    return is;
}

bool vel_rule_fits(const char *pattern, const char *prefix, const char *path)
{
    struct spot spot;

    return fits_path(pattern, prefix, path, &spot);
}

bool vel_rule_fits_elsewhere(const char *pattern, const char *path)
{
    char *dir = vel_path_dir(path);
    bool fits = dir && vel_rule_fits(vel_path_base(pattern), dir, path);

    free(dir);
    return fits;
}

bool vel_rules_find(const struct vel_conf *conf, const char *prefix, const char *path,
                    struct vel_rule_fit *ret)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_DATASET, i)); i++) {
        const struct vel_dataset_rule *rule = line->data;
        struct spot spot, other;

        if (!fits_path(rule->pattern, prefix, path, &spot) ||
            (rule->exclude && fits_path(rule->exclude, prefix, path, &other)))
            continue;
        *ret = (struct vel_rule_fit){
            .line = line, .rule = rule, .has_rank = spot.rank.len > 0};
        memcpy(ret->step, spot.step.at ? spot.step.at : "", spot.step.len);
        return true;
    }
    return false;
}

bool vel_rules_shape(const struct vel_conf *conf, const char *prefix, const char *path,
                     struct vel_buf *ret)
{
    struct vel_rule_fit fit;
    struct spot spot;

    if (!vel_rules_find(conf, prefix, path, &fit) || !fit.has_rank ||
        !fits_path(fit.rule->pattern, prefix, path, &spot))
        return false;
    for (size_t i = 0; i < spot.n; i++) {
        vel_buf_append(ret, path, (size_t)(spot.all[i].at - path));
        vel_buf_puts(ret, spot.words[i]);
        path = spot.all[i].at + spot.all[i].len;
    }
    vel_buf_puts(ret, path);
    return true;
}

bool vel_rule_is_live(const struct vel_dataset_rule *rule)
{
    return rule->publish != VEL_PUBLISH_BEHIND;
}
