/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes of encodelab do with all sets that they are members of. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sys/clock.h"
#include "tap/fs_fault.h"
#include "tap/encodelab.h"

static bool names_it(const char *text, const char *name)
{
    char a[32], b[32];

    snprintf(a, sizeof a, "(%s)", name);
    snprintf(b, sizeof b, "node %s", name);
    return strstr(text, a) || strstr(text, b);
}

static int judge(const struct encodelab_node *node, const struct encodelab_task *t,
                 int rc, enum vel_encode_outcome outcome, const struct vel_err *err)
{
    bool fine = rc == t->want && (rc < 0 || outcome == t->outcome) &&
                (rc == 0 || !t->name || names_it(err->text, t->name));

    if (!fine)
        fprintf(stderr, "# node %zu: %d, outcome %d: %s\n", node->node, rc,
                rc == 0 ? (int)outcome : -1, err->text);
    return !fine;
}

static int slow_fsync(struct vel_fs *fs, int fd)
{
    (void)fs, (void)fd;
    vel_clock_sleep(vel_clock_system(), 1200 * VEL_CLOCK_MS);
    return 0;
}

int encodelab_encode_all(struct encodelab_node *node, void *arg)
{
    const struct encodelab *lab = node->lab;
    const struct encodelab_task *t = arg;
    bool is_special = node->node == t->special;
    struct vel_fs_ops slow_ops = *node->fs->ops;
    struct vel_fs slow = {.ops = &slow_ops};
    struct vel_fs_fault *fault = NULL;
    int bad = 0;

    if (is_special && t->at > 0) {
        const struct vel_fs_fault_plan plan = {
            .mode = VEL_FS_FAULT_ONCE, .kinds = t->kinds, .at = t->at, .errnum = 28};
        if (vel_fs_fault_create(node->fs, NULL, &fault, NULL) < 0)
            return 1;
        node->fs = vel_fs_fault_fs(fault);
        vel_fs_fault_arm(fault, &plan);
    }
    slow_ops.fsync = slow_fsync;
    if (is_special && t->is_slow)
        node->fs = &slow;
    for (size_t s = node->worker; s < lab->n_sets;
         s += lab->workers ? lab->workers : 1) {
        enum vel_encode_outcome outcome = VEL_ENCODE_STOOD;
        struct vel_err err = {0};
        int rc = VEL_EBUSY;

        if (!encodelab_has(&lab->sets[s], node->node))
            continue;
        while (rc == VEL_EBUSY) {
            err = (struct vel_err){0};
            rc = encodelab_encode(node, &lab->sets[s],
                                  is_special && t->other ? t->other : t->id, t->attempt,
                                  &outcome, &err);
        }
        bad += judge(node, t, rc, outcome, &err);
    }
    vel_fs_fault_destroy(fault);
    return bad;
}

int encodelab_settle_all(struct encodelab_node *node, void *arg)
{
    const struct encodelab_task *t = arg;
    int bad = 0;

    for (size_t s = 0; s < node->lab->n_sets; s++)
        if (encodelab_has(&node->lab->sets[s], node->node))
            bad += encodelab_settle(node, &node->lab->sets[s], t->id, NULL) != t->want;
    return bad;
}
