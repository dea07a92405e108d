/* SPDX-License-Identifier: BSD-3-Clause */
/* Any object as a redundancy descriptor: an error or a descriptor that can be written
 * and read again, never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "topo/reddesc.h"

/* What was read, written and read once more. */
static void read_again(const struct vel_reddesc *desc)
{
    struct vel_node *node = vel_reddesc_to_node(desc);
    struct vel_reddesc again;

    if (!node || vel_reddesc_from_node(node, &again, NULL) < 0 ||
        strcmp(again.directory, desc->directory) != 0 || again.m != desc->m)
        abort();
    vel_reddesc_fini(&again);
    vel_node_destroy(node);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_reddesc desc;
    struct vel_node *node = NULL;
    struct vel_err err = {0};
    int rc = vel_node_parse((const char *)bytes, len, &node, &err);

    if (rc == 0)
        rc = vel_reddesc_from_node(node, &desc, &err);
    vel_node_destroy(node);
    if (rc < 0 && !err.text[0])
        abort();
    if (rc == 0) {
        read_again(&desc);
        vel_reddesc_fini(&desc);
    }
    return 0;
}
