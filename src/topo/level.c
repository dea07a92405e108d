/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>

#include "topo/level.h"

/* how many levels come before this line */
static size_t level_place(const struct vel_conf *conf, const struct vel_line *line)
{
    const struct vel_ckpt *own = line->data;
    const struct vel_line *other;
    bool is_behind = false;
    size_t before = 0;

    for (size_t i = 0; (other = vel_conf_line(conf, VEL_CKPT, i)); i++) {
        const struct vel_ckpt *ckpt = other->data;

        is_behind = is_behind || other == line;
        before += ckpt->id < own->id || (ckpt->id == own->id && !is_behind);
    }
    return before;
}

static struct vel_ckpt implied(const struct vel_conf *conf)
{
    return (struct vel_ckpt){.id = VEL_LEVEL_IMPLIED,
                             .interval = 1,
                             .group = conf->group,
                             .store = conf->cache_base,
                             .type = conf->copy_type - VEL_COPY_SINGLE,
                             .set_size = conf->set_size,
                             .set_failures = conf->set_failures,
                             .replicas = conf->replicas,
                             .hop_distance = conf->hop_distance,
                             .enabled = true,
                             .bypass = conf->cache_bypass};
}

bool vel_level_at(const struct vel_conf *conf, size_t i, struct vel_ckpt *ret)
{
    const struct vel_line *line;

    if (!vel_conf_has_levels(conf)) {
        *ret = implied(conf);
        return i == 0;
    }
    for (size_t k = 0; (line = vel_conf_line(conf, VEL_CKPT, k)); k++)
        if (level_place(conf, line) == i) {
            *ret = *(const struct vel_ckpt *)line->data;
            return true;
        }
    return false;
}

size_t vel_level_count(const struct vel_conf *conf)
{
    size_t n = 0;

    if (!vel_conf_has_levels(conf))
        return 1;
    while (vel_conf_line(conf, VEL_CKPT, n))
        n++;
    return n;
}

enum vel_scheme vel_level_scheme(const struct vel_ckpt *level)
{
    static const enum vel_scheme schemes[] = {[VEL_CKPT_SINGLE] = VEL_SINGLE,
                                              [VEL_CKPT_PARTNER] = VEL_PARTNER,
                                              [VEL_CKPT_XOR] = VEL_XOR,
                                              [VEL_CKPT_RS] = VEL_RS};

    return schemes[level->type];
}

size_t vel_level_losses(const struct vel_ckpt *level)
{
    switch (vel_level_scheme(level)) {
    case VEL_PARTNER:
        return (size_t)level->replicas;
    case VEL_XOR:
        return 1;
    case VEL_RS:
        return (size_t)level->set_failures;
    default:
        return 0;
    }
}

const char *vel_level_name(const struct vel_ckpt *level, char name[VEL_LEVEL_NAME])
{
    if (level->id == VEL_LEVEL_IMPLIED)
        snprintf(name, VEL_LEVEL_NAME, "COPY_TYPE=%s",
                 vel_scheme_name(vel_level_scheme(level)));
    else
        snprintf(name, VEL_LEVEL_NAME, "CKPT=%lld", (long long)level->id);
    return name;
}
