/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "topo/group_lines.h"
#include "topo/level.h"
#include "topo/seats.h"
#include "topo/store.h"

/* --- which level --- */

static int wanted_level(const struct vel_conf *conf, int64_t wanted, size_t *ret_level,
                        struct vel_err *err)
{
    struct vel_ckpt level;

    for (size_t i = 0; vel_level_at(conf, i, &level); i++)
        if (level.id == wanted && level.enabled) {
            *ret_level = i;
            return 0;
        }
    return vel_fail(err, VEL_ECONFIG, "LEVEL=%lld: there is no such CKPT line in use",
                    (long long)wanted);
}

int vel_seats_level(const struct vel_conf *conf, const struct vel_seats_use *use,
                    size_t *ret_level, struct vel_err *err)
{
    size_t n = vel_level_count(conf);
    const struct vel_reddesc_use asked = {.id = use->number,
                                          .is_output = use->is_output,
                                          .seconds_since = use->seconds_since};
    struct vel_reddescs descs = {.n = n};
    const struct vel_reddesc *chosen;
    struct vel_ckpt level;
    int rc = 0;

    if (use->wanted >= 0 && vel_conf_has_levels(conf))
        return wanted_level(conf, use->wanted, ret_level, err);
    descs.items = calloc(n + 1, sizeof *descs.items);
    if (!descs.items)
        return vel_out_of_memory(err, "a level");
    for (size_t i = 0; vel_level_at(conf, i, &level); i++)
        descs.items[i] = (struct vel_reddesc){.enabled = level.enabled,
                                              .index = (uint32_t)i,
                                              .interval = level.interval,
                                              .is_output = level.output};
    chosen = vel_reddesc_choose(&descs, &asked);
    if (chosen)
        *ret_level = (size_t)(chosen - descs.items);
    else
        rc = vel_fail(err, VEL_ECONFIG,
                      "no level is for it: one CKPT line needs INTERVAL=1");
    free(descs.items);
    return rc;
}

bool vel_seats_is_bypass(const struct vel_conf *conf, size_t level)
{
    struct vel_ckpt ckpt;

    return vel_level_at(conf, level, &ckpt) && ckpt.bypass;
}

static bool is_same_store(const struct vel_conf *conf, size_t a, size_t b)
{
    struct vel_ckpt first, second;

    return vel_level_at(conf, a, &first) && vel_level_at(conf, b, &second) &&
           vel_path_is_same(first.store, second.store);
}

size_t vel_seats_store_level(const struct vel_conf *conf, size_t level)
{
    size_t first = 0;

    while (first < level && !is_same_store(conf, first, level))
        first++;
    return first;
}

static bool takes_files(const struct vel_conf *conf, size_t level)
{
    struct vel_ckpt ckpt;

    return vel_level_at(conf, level, &ckpt) && ckpt.enabled && !ckpt.bypass;
}

/* The first of those with its store that take files. */
static bool stands_for_store(const struct vel_conf *conf, size_t level)
{
    bool is_first = takes_files(conf, level);

    for (size_t i = 0; is_first && i < level; i++)
        is_first = !takes_files(conf, i) || !is_same_store(conf, i, level);
    return is_first;
}

bool vel_seats_spill(const struct vel_conf *conf, size_t first, size_t k,
                     size_t *ret_level)
{
    struct vel_ckpt level;

    *ret_level = first;
    for (size_t i = 0; k > 0 && vel_level_at(conf, i, &level); i++)
        if (stands_for_store(conf, i) && !is_same_store(conf, i, first)) {
            *ret_level = i;
            k--;
        }
    return k == 0;
}

/* NULL: the directory has no line. */
static const struct vel_line *line_at(const struct vel_conf *conf, const char *dir)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, dir))
            return line;
    return NULL;
}

int64_t vel_seats_count(const struct vel_conf *conf, size_t level)
{
    struct vel_ckpt ckpt;
    const struct vel_line *line =
        vel_level_at(conf, level, &ckpt) ? line_at(conf, ckpt.store) : NULL;

    return line ? ((const struct vel_store_line *)line->data)->count : conf->cache_size;
}

uint64_t vel_seats_limit(const struct vel_conf *conf, size_t level)
{
    struct vel_ckpt ckpt;

    return vel_level_at(conf, level, &ckpt)
               ? (uint64_t)vel_store_limit(conf, ckpt.store)
               : 0;
}

/* The directory of a store, above USER/ID. */
static char *base_of(const char *home)
{
    char *user = vel_path_dir(home);
    char *base = user ? vel_path_dir(user) : NULL;

    free(user);
    return base;
}

/* Virtual nodes have a directory of their own below that of the store. */
static bool is_of(const struct vel_conf *conf, const char *store, const char *home)
{
    char *base = base_of(home), *own = vel_path_absolute("/", store);
    const char *below = base && own ? vel_path_below(own, base) : NULL;
    bool is_its =
        below && (!*below || (conf->virtual_nodes > 0 && !strchr(below, '/')));

    free(base);
    free(own);
    return is_its;
}

size_t vel_seats_home(const struct vel_conf *conf, size_t level, char *const *homes,
                      size_t homes_n)
{
    struct vel_ckpt ckpt;
    size_t i = 0;

    if (!vel_level_at(conf, level, &ckpt))
        return homes_n;
    while (i < homes_n && !is_of(conf, ckpt.store, homes[i]))
        i++;
    return i;
}

bool vel_seats_uses(const struct vel_conf *conf, const char *home)
{
    struct vel_ckpt ckpt;

    for (size_t i = 0; vel_level_at(conf, i, &ckpt); i++)
        if (ckpt.enabled && is_of(conf, ckpt.store, home))
            return true;
    return false;
}

const struct vel_line *vel_seats_store(const struct vel_conf *conf, const char *home)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (is_of(conf, line->name, home))
            return line;
    return NULL;
}

/* Where the settings do not say who shares it, all may. */
uint64_t vel_seats_bandwidth(const struct vel_conf *conf, const struct vel_line *line,
                             const char *node, const char *const *nodes, size_t n)
{
    const struct vel_store_line *store = line ? line->data : NULL;
    const char *group = store ? vel_group_value(conf, node, store->group) : NULL;
    uint64_t sharers = 0;

    if (!store || store->bandwidth <= 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *other = vel_group_value(conf, nodes[i], store->group);

        sharers += !group || !other || strcmp(group, other) == 0;
    }
    sharers = sharers > 0 ? sharers : 1;
    return (uint64_t)store->bandwidth > sharers ? (uint64_t)store->bandwidth / sharers
                                                : 1;
}

const char *vel_seats_foreign_store(const struct vel_conf *conf, size_t level)
{
    struct vel_ckpt ckpt;
    const struct vel_line *line =
        vel_level_at(conf, level, &ckpt) ? line_at(conf, ckpt.store) : NULL;

    return !line || ((const struct vel_store_line *)line->data)->mkdir ? NULL
                                                                       : line->name;
}

/* --- who with whom --- */

/* Of RS that bears more than half of a set it is too little; then it is flushed when
 * there is no room for all of it. */
uint64_t vel_seats_protected(const struct vel_conf *conf, size_t level, uint64_t bytes)
{
    struct vel_ckpt ckpt;

    if (!vel_level_at(conf, level, &ckpt) || vel_level_scheme(&ckpt) == VEL_SINGLE)
        return bytes;
    return vel_level_scheme(&ckpt) == VEL_PARTNER
               ? bytes * (vel_level_losses(&ckpt) + 1)
               : bytes * 2;
}

void vel_seats_fini(struct vel_seats *seats)
{
    free(seats->places);
    *seats = (struct vel_seats){0};
}

static void place_alone(struct vel_seats *seats, size_t n)
{
    seats->scheme = VEL_SINGLE;
    seats->m = 0;
    for (size_t i = 0; i < n; i++) {
        seats->places[i] =
            (struct vel_place){.set = (uint32_t)i, .sets = (uint32_t)n, .ranks = 1};
    }
}

/* The failure group of each rank; VEL_EINVAL: nobody has told it. */
static int find_groups(const struct vel_conf *conf, const char *group,
                       const char *const *nodes, size_t n, const char **ret,
                       struct vel_err *why)
{
    const char *first = NULL;
    bool are_more = false;

    for (size_t i = 0; i < n; i++) {
        ret[i] = vel_group_value(conf, nodes[i], group);
        if (ret[i])
            continue;
        are_more = are_more || (first && strcmp(first, nodes[i]) != 0);
        first = first ? first : nodes[i];
    }
    return first ? vel_fail(why, VEL_EINVAL,
                            "GROUP=%s: no GROUPS line says which %s node %s is in%s, "
                            "and every node of the job needs one when any has",
                            group, group, first,
                            are_more ? " (nor those of other nodes)" : "")
                 : 0;
}

static int split(const struct vel_conf *conf, const struct vel_ckpt *level,
                 const char *const *nodes, size_t n, struct vel_seats *seats,
                 struct vel_err *why)
{
    size_t losses = vel_level_losses(level);
    const struct vel_split_rule rule = {.least = (size_t)level->set_size,
                                        .hop = (size_t)level->hop_distance,
                                        .need = losses ? losses + 1 : 2,
                                        .what = level->group};
    const char **groups = calloc(n + 1, sizeof *groups);
    int rc = groups ? find_groups(conf, level->group, nodes, n, groups, why)
                    : vel_out_of_memory(why, "sets");

    if (rc == 0)
        rc = vel_split_all(groups, n, &rule, seats->places, why);
    seats->m = losses;
    for (size_t i = 0; rc == 0 && losses == 0 && i < n; i++) {
        uint32_t ranks = seats->places[i].ranks;

        if (seats->m == 0 || ranks / 2 < seats->m)
            seats->m = ranks / 2;
        if (ranks % 4 != 0)
            rc = vel_fail(why, VEL_EINVAL,
                          "RS without SET_FAILURES needs sets of a multiple of 4 "
                          "members, and one has %u: give SET_FAILURES",
                          ranks);
    }
    free(groups);
    return rc;
}

int vel_seats_deal(const struct vel_conf *conf, size_t level, const char *const *nodes,
                   size_t n, struct vel_seats *ret, struct vel_err *ret_why,
                   struct vel_err *err)
{
    struct vel_seats seats = {.places = calloc(n + 1, sizeof *seats.places)};
    struct vel_ckpt ckpt;
    int rc = seats.places ? 0 : vel_out_of_memory(err, "sets");

    if (rc == 0 && !vel_level_at(conf, level, &ckpt))
        rc = vel_fail(err, VEL_EINVAL, "there is no level %zu", level);
    if (rc == 0) {
        seats.scheme = vel_level_scheme(&ckpt);
        if (seats.scheme == VEL_SINGLE)
            place_alone(&seats, n);
        else
            rc = split(conf, &ckpt, nodes, n, &seats, ret_why);
    }
    if (rc == VEL_EINVAL && ret_why->status == VEL_EINVAL) {
        place_alone(&seats, n);
        seats.is_exposed = true;
        rc = 0;
    } else if (rc == VEL_ENOMEM) {
        vel_out_of_memory(err, "sets");
    }
    if (rc == 0)
        *ret = seats;
    else
        vel_seats_fini(&seats);
    return rc;
}

/* --- as it is kept --- */

/* The store that a cache is in: that of the level, unless it stayed where it was. */
static const char *store_of(const struct vel_conf *conf, const struct vel_ckpt *level,
                            const char *home)
{
    struct vel_ckpt other;

    if (is_of(conf, level->store, home))
        return level->store;
    for (size_t i = 0; vel_level_at(conf, i, &other); i++)
        if (is_of(conf, other.store, home))
            return other.store;
    return conf->cache_base;
}

int vel_seats_describe(const struct vel_conf *conf, size_t level, const char *home,
                       struct vel_reddesc *ret, struct vel_err *err)
{
    struct vel_reddesc desc;
    struct vel_ckpt ckpt;

    if (!vel_level_at(conf, level, &ckpt))
        return vel_fail(err, VEL_EINVAL, "there is no level %zu", level);
    vel_reddesc_init(&desc);
    desc.enabled = ckpt.enabled;
    desc.index = (uint32_t)level;
    desc.interval = ckpt.interval;
    desc.set_size = (size_t)ckpt.set_size;
    desc.hop_distance = (size_t)ckpt.hop_distance;
    desc.is_output = ckpt.output;
    desc.is_bypass = ckpt.bypass;
    desc.store_name = vel_path_absolute("/", store_of(conf, &ckpt, home));
    desc.group_name = strdup(ckpt.group);
    desc.base = base_of(home);
    desc.directory = vel_path_level(home, (int64_t)level);
    if (!desc.store_name || !desc.group_name || !desc.base || !desc.directory) {
        vel_reddesc_fini(&desc);
        return vel_out_of_memory(err, "a level");
    }
    *ret = desc;
    return 0;
}
