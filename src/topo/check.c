/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/path.h"
#include "topo/check.h"
#include "topo/level.h"

/* The STORE line of a directory; NULL: it has none. */
static const struct vel_store_line *store_at(const struct vel_conf *conf,
                                             const char *dir)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, dir))
            return line->data;
    return NULL;
}

static enum vel_topo_fault check_level(const struct vel_conf *conf,
                                       const struct vel_ckpt *level,
                                       struct vel_err *err)
{
    enum vel_scheme scheme = vel_level_scheme(level);
    const char *type = vel_scheme_name(scheme);
    const struct vel_store_line *store = store_at(conf, level->store);
    char name[VEL_LEVEL_NAME];

    vel_level_name(level, name);
    if (store && !store->enabled) {
        vel_fail(err, VEL_ECONFIG, "%s: the store %s is not enabled: give it ENABLED=1",
                 name, level->store);
        return VEL_TOPO_OTHER;
    }
    if (scheme == VEL_SINGLE)
        return VEL_TOPO_VALID;
    if (store && store->type == VEL_STORE_PFS) {
        vel_fail(err, VEL_ECONFIG,
                 "%s: %s on the parallel file system %s: only SINGLE makes sense there",
                 name, type, level->store);
        return VEL_TOPO_SCHEME_AND_STORE;
    }
    if (scheme == VEL_RS && level->set_failures == 0 && level->set_size % 4 != 0) {
        vel_fail(
            err, VEL_ECONFIG,
            "%s: RS without SET_FAILURES bears the loss of half of a set, and then "
            "SET_SIZE=%lld must be a multiple of 4: change it or give SET_FAILURES",
            name, (long long)level->set_size);
        return VEL_TOPO_RS_GROUP_SIZE;
    }
    if (strcmp(level->group, "WORLD") == 0) {
        vel_fail(err, VEL_ECONFIG,
                 "%s: all ranks are in one failure group under GROUP=WORLD, so %s has "
                 "nowhere to put redundancy: use another GROUP, or SINGLE",
                 name, type);
        return VEL_TOPO_SCHEME_AND_GROUP;
    }
    return VEL_TOPO_VALID;
}

enum vel_topo_fault vel_topo_check(const struct vel_conf *conf, struct vel_err *err)
{
    enum vel_topo_fault fault = VEL_TOPO_VALID;
    struct vel_ckpt level;

    for (size_t i = 0; fault == VEL_TOPO_VALID && vel_level_at(conf, i, &level); i++)
        /* what could not be read has not all its texts */
        if (level.enabled && level.type >= 0 && level.group && level.store)
            fault = check_level(conf, &level, err);
    return fault;
}
