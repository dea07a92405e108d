/* SPDX-License-Identifier: BSD-3-Clause */
/* Record "family": launch.L/family.KEY, what the chair has learned of files that no
 * line has. A chair after it must not take them for files of their own. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/template.h"
#include "ident/once.h"
#include "node/service_in.h"
#include "view/seals.h"
#include "record/record.h"

enum { FORMAT = 1 };

static const char type[] = "family";

static char *path_of(const struct vel_service *service, const char *template)
{
    char name[64];

    snprintf(name, sizeof name, "family.%016" PRIx64, vel_seals_hash(template, ""));
    return vel_launch_path(service->dir, service->launch, name);
}

static int read_body(const struct vel_node *body, const char *path,
                     const char *template, struct vel_leader_family *ret,
                     struct vel_err *err)
{
    const char *steps;
    char *name = NULL;
    int64_t place;
    int rc = vel_node_get_name(body, "template", &name, err);

    if (rc == 0 && strcmp(name, template) != 0)
        rc = vel_fail(err, VEL_ENOENT, "%s is of %s", path, name);
    if (rc == 0)
        rc = vel_node_get_int(body, "place", 1, VEL_TEMPLATE_NUMBERS, &place, err);
    if (rc == 0)
        rc = vel_node_get_text(body, "steps", &steps, err);
    free(name);
    if (rc < 0)
        return rc;
    *ret = (struct vel_leader_family){(int)place, strdup(steps)};
    return ret->steps ? 0 : vel_out_of_memory(err, "a family");
}

static int load(const struct vel_service *service, const char *path,
                const char *template, struct vel_leader_family *ret,
                struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version,
        rc = vel_record_load(service->fs, path, type, FORMAT, &version, &body, err);

    if (rc == 0)
        rc = read_body(body, path, template, ret, err);
    vel_node_destroy(body);
    return rc;
}

int vel_service_family(void *arg, const char *template, struct vel_leader_family *ret,
                       struct vel_err *err)
{
    const struct vel_service *service = arg;
    char *path = path_of(service, template);
    int rc = path ? load(service, path, template, ret, err)
                  : vel_out_of_memory(err, "a family");

    free(path);
    return rc;
}

int vel_service_make_family(void *arg, const char *template,
                            struct vel_leader_family *family, struct vel_err *err)
{
    const struct vel_service *service = arg;
    struct vel_leader_family other = {0};
    struct vel_node *body = vel_node_object();
    char *path = path_of(service, template);
    bool is_mine = false;
    int rc = !path || !body || vel_node_set_name(body, "template", template) < 0 ||
                     vel_node_set_int(body, "place", family->place) < 0 ||
                     vel_node_set_text(body, "steps", family->steps) < 0
                 ? vel_out_of_memory(err, "a family")
                 : vel_once(service->fs, path, type, FORMAT, body, &is_mine, err);

    if (rc == 0 && !is_mine)
        rc = load(service, path, template, &other, err);
    if (rc == 0 && !is_mine) {
        free(family->steps);
        *family = other;
    }
    vel_node_destroy(body);
    free(path);
    return rc;
}
