/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

enum { FILE_MOST = 60000 };

static const struct {
    enum vel_scheme scheme;
    size_t n, m;
} schemes[] = {{VEL_PARTNER, 4, 1}, {VEL_PARTNER, 5, 2}, {VEL_XOR, 4, 1},
               {VEL_RS, 5, 2},      {VEL_RS, 9, 4},      {VEL_XOR, 2, 1}};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

static void make(struct pulllab *lab, size_t scheme, uint64_t seed)
{
    pulllab_make(lab, tap_path("pull"), schemes[scheme].scheme, schemes[scheme].n,
                 schemes[scheme].m, seed, FILE_MOST);
}

/* Pull rank to the node without anything; is it byte for byte what it was? */
static bool comes_back(struct pulllab *lab, struct pulllab_source *source, int rank,
                       enum vel_pull_way way)
{
    struct vel_pulled pulled;
    struct vel_err err = {0};
    bool is_same;

    if (pulllab_pull(lab, &source->source, lab->n, rank, &pulled, &err) < 0) {
        note("%s", err.text);
        return false;
    }
    is_same = pulled.way == way && redlab_state_of(pulled.dir) == lab->state[rank] &&
              strcmp(pulled.dir, pulllab_dir(lab, lab->n, (size_t)rank)) == 0;
    if (!is_same)
        note("way %d, rank %d, %s", pulled.way, rank, pulled.dir);
    vel_pulled_fini(&pulled);
    return is_same;
}

static void from_owner(void)
{
    for (size_t s = 0; s < SCHEMES; s++) {
        struct pulllab lab;
        struct pulllab_source source;
        size_t back = 0, again = 0;

        make(&lab, s, 1 + s);
        pulllab_look(&lab);
        pulllab_source_init(&source, &lab, s);
        for (size_t r = 0; r < lab.n; r++)
            back += comes_back(&lab, &source, (int)r, VEL_PULL_OWNER);
        size_t asked = source.answers;
        for (size_t r = 0; r < lab.n; r++)
            again += comes_back(&lab, &source, (int)r, VEL_PULL_HERE);
        is_int(back, lab.n,
               "%s, %zu members: every part comes from its owner as it was",
               vel_scheme_name(lab.scheme), lab.n);
        ok(again == lab.n && source.answers == asked,
           "and a second opener finds it here, without asking anybody");
        ok(source.most <= 64 << 10, "no more than the window is under way");
        pulllab_source_fini(&source);
        pulllab_fini(&lab);
    }
}

/* The m members from `first` on are lost, the wanted one among them. */
static void rebuilt(void)
{
    for (size_t s = 0; s < SCHEMES; s++) {
        size_t back = 0, refused = 0, clean = 0, tried = 0;

        for (size_t first = 0; first < schemes[s].n; first++) {
            struct pulllab lab;
            struct pulllab_source source;
            struct vel_pulled pulled;
            struct vel_err err = {0};

            make(&lab, s, 100 + s);
            for (size_t k = 0; k < lab.m; k++)
                pulllab_lose(&lab, (first + k) % lab.n);
            pulllab_look(&lab);
            pulllab_source_init(&source, &lab, first);
            for (size_t k = 0; k < lab.m; k++, tried++)
                back += comes_back(&lab, &source, (int)((first + k) % lab.n),
                                   VEL_PULL_REBUILT);
            pulllab_lose(&lab, lab.n);
            pulllab_lose(&lab, (first + lab.m) % lab.n); /* after the view */
            refused += pulllab_pull(&lab, &source.source, lab.n, (int)first, &pulled,
                                    &err) < 0 &&
                       strstr(err.text, "rank") && strstr(err.text, lab.node[lab.n]);
            clean += pulllab_is_clean(&lab, lab.n);
            pulllab_source_fini(&source);
            pulllab_fini(&lab);
        }
        is_int(back, tried,
               "%s, %zu members: with %zu lost, theirs are rebuilt as they were",
               vel_scheme_name(schemes[s].scheme), schemes[s].n, schemes[s].m);
        is_int(refused, schemes[s].n,
               "with one more lost it fails, naming part and node");
        is_int(clean, schemes[s].n, "and leaves nothing half-made");
    }
}

/* The node that gives the k-th answer dies before it, for each k. */
static void dying(size_t s, size_t lost)
{
    size_t tried = 0, right = 0;
    bool has_died = true;

    for (size_t k = 1; has_died; k += 1 + k / 3) {
        struct pulllab lab;
        struct pulllab_source source;
        struct vel_pulled pulled = {0};
        struct vel_err err = {0};
        int rc;

        make(&lab, s, 200 + s);
        for (size_t i = 0; i < lost; i++)
            pulllab_lose(&lab, i);
        pulllab_look(&lab);
        pulllab_source_init(&source, &lab, k);
        source.dies_at = k;
        rc = pulllab_pull(&lab, &source.source, lab.n, 0, &pulled, &err);
        has_died = source.has_died;
        if (lost + has_died <= lab.m)
            right += rc == 0 && redlab_state_of(pulled.dir) == lab.state[0];
        else
            right +=
                rc < 0 && pulllab_is_clean(&lab, lab.n) && strstr(err.text, "is gone");
        tried++;
        vel_pulled_fini(&pulled);
        pulllab_source_fini(&source);
        pulllab_fini(&lab);
    }
    is_int(
        right, tried,
        "%s of %zu, %zu lost: a source that vanishes at any moment is followed by the "
        "next way (%zu moments)",
        vel_scheme_name(schemes[s].scheme), schemes[s].n, lost, tried);
}

/* A bit of each file and redundancy file of each member in turn. */
static void lying(size_t s, size_t lost)
{
    size_t tried = 0, right = 0;

    for (size_t liar = lost; liar < schemes[s].n; liar++)
        for (size_t file = 0; file <= REDLAB_FILES; file++) {
            struct pulllab lab;
            struct pulllab_source source;
            struct vel_pulled pulled = {0};
            struct vel_err err = {0};
            int rc;

            make(&lab, s, 300 + s);
            for (size_t i = 0; i < lost; i++)
                pulllab_lose(&lab, i);
            pulllab_look(&lab);
            if (pulllab_damage(&lab, liar, file, liar * 7919 + file * 104729)) {
                pulllab_source_init(&source, &lab, file);
                rc = pulllab_pull(&lab, &source.source, lab.n, 0, &pulled, &err);
                tried++;
                /* it may be that nothing of what was damaged is needed */
                if (rc == 0)
                    right += redlab_state_of(pulled.dir) == lab.state[0];
                else
                    right += lost + 1 > lab.m && pulllab_is_clean(&lab, lab.n);
                if (rc < 0 && lost + 1 <= lab.m)
                    note("%s", err.text);
                vel_pulled_fini(&pulled);
                pulllab_source_fini(&source);
            }
            pulllab_fini(&lab);
        }
    ok(tried > 0 && right == tried,
       "%s of %zu, %zu lost: a source that lies is found and left out, or the pull "
       "fails "
       "(%zu of %zu)",
       vel_scheme_name(schemes[s].scheme), schemes[s].n, lost, right, tried);
}

static void damaged_here(void)
{
    struct pulllab lab;
    struct pulllab_source source;
    struct vel_pulled pulled = {0};
    struct vel_err err = {0};
    size_t right = 0, tried = 0;

    make(&lab, 3, 11);
    pulllab_look(&lab);
    pulllab_source_init(&source, &lab, 1);
    for (size_t file = 0; file <= REDLAB_FILES; file++)
        if (pulllab_damage(&lab, 1, file, 12345 + file)) {
            tried++;
            right += pulllab_pull(&lab, &source.source, 1, 1, &pulled, &err) == 0 &&
                     pulled.way == VEL_PULL_REBUILT &&
                     redlab_state_of(pulled.dir) == lab.state[1];
            vel_pulled_fini(&pulled);
        }
    ok(tried > 0 && right == tried,
       "a damaged part in the own cache is replaced by one that is right");
    pulllab_source_fini(&source);
    pulllab_fini(&lab);
}

/* The n-th file operation of the opener fails. */
static void failing_here(size_t lost)
{
    size_t tried = 0, right = 0;
    bool is_done = false;

    for (unsigned k = 1; !is_done; k += 1 + k / 10) {
        struct pulllab lab;
        struct pulllab_source source;
        struct vel_pulled pulled = {0};
        struct vel_err err = {0};
        const struct vel_fs_fault_plan plan = {
            .mode = VEL_FS_FAULT_ONCE, .at = k, .errnum = ENOSPC};
        struct vel_fs_fault *fault;

        make(&lab, 3, 400);
        if (lost)
            pulllab_lose(&lab, 0);
        pulllab_look(&lab);
        pulllab_source_init(&source, &lab, k);
        if (vel_fs_fault_create(redlab_fs(), NULL, &fault, &err) < 0)
            bail_out("%s", err.text);
        vel_fs_fault_arm(fault, &plan);
        struct vel_pull_how how = {.fs = vel_fs_fault_fs(fault),
                                   .node = lab.node[lab.n],
                                   .homes = &lab.home[lab.n],
                                   .n_homes = 1,
                                   .source = &source.source};
        struct vel_pull what = {.view = &lab.view,
                                .dataset =
                                    vel_view_find_dataset(&lab.view, PULLLAB_DATASET),
                                .home = lab.home[lab.n]};
        int rc = vel_pull(&how, &what, &pulled, &err);
        is_done = !vel_fs_fault_fired(fault);
        tried++;
        bool is_there = redlab_state_of(pulllab_dir(&lab, lab.n, 0)) == lab.state[0];
        right += is_there || (rc < 0 && pulllab_is_clean(&lab, lab.n));
        if (!is_there && !(rc < 0 && pulllab_is_clean(&lab, lab.n)))
            note("operation %u: %s", k, rc < 0 ? err.text : "told to be there");
        vel_pulled_fini(&pulled);
        vel_fs_fault_destroy(fault);
        pulllab_source_fini(&source);
        pulllab_fini(&lab);
    }
    is_int(
        right, tried,
        "an operation of this node that fails (%s): the part is right, or nothing is "
        "there (%zu operations)",
        lost ? "rebuilding" : "copying", tried);
}

int main(void)
{
    from_owner();
    rebuilt();
    for (size_t s = 1; s < 4; s++) {
        dying(s, 0);
        dying(s, 1);
        lying(s, 0);
        lying(s, 1);
    }
    damaged_here();
    failing_here(0);
    failing_here(1);
    return done_testing();
}
