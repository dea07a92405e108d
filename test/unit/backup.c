/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaders answer to VELOC_Check_Backup_Nodes: how many nodes do not answer that
 * should. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { NODES = 4, BACKUP = 3 };

static uint64_t ask(struct filelab *lab, int rank)
{
    struct vel_err err = {0};
    uint64_t dead = 99;

    if (vel_client_ping(lab->client[rank], BACKUP, &dead, &err) < 0)
        note("%s", err.text);
    return dead;
}

/* The chair counts: when it dies itself the next one begins with those that are left.
 */
static int find_chair(const struct filelab *lab)
{
    char path[400], *text;
    int node = 0;

    snprintf(path, sizeof path, "%s/launch.A/1.0", lab->dir);
    text = tap_get_file(path, NULL);
    for (int i = 0; i < NODES; i++)
        if (strstr(text, (const char[]){' ', 'n', (char)('0' + i), ' ', '\0'}))
            node = i;
    free(text);
    return node;
}

int main(void)
{
    struct filelab lab;
    uint64_t dead;
    int chair;

    filelab_init(&lab, "lab", NODES, NODES, "");
    filelab_begin(&lab, "A");
    for (int rank = 0; rank < NODES; rank++)
        is_int((long)ask(&lab, rank), 0, "all nodes are there, as rank %d hears", rank);
    chair = find_chair(&lab);
    filelab_end_node(&lab, (chair + 3) % NODES, true);
    is_int((long)ask(&lab, chair), 0, "a node that left in order is not missed");
    is_int((long)ask(&lab, (chair + 1) % NODES), 0, "on no node");
    filelab_end_node(&lab, (chair + 2) % NODES, false);
    do
        dead = ask(&lab, chair);
    while (dead == 0);
    is_int((long)dead, 1, "one that died is");
    is_int((long)ask(&lab, (chair + 1) % NODES), 1, "on every node");
    filelab_drop(&lab);
    filelab_fini(&lab);
    return done_testing();
}
