/* SPDX-License-Identifier: BSD-3-Clause */
/* What was sealed, and of which too little lies in the caches that were looked at, in
 * the view: the rest may lie in others, or on nodes that did not tell, until a newer
 * one of its template is whole. */
#include "config.h"

#include <string.h>

#include "tap/tap.h"
#include "tap/viewlab.h"

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* Does the record of the view say the same of dataset 1? */
static bool is_kept(const struct vel_view *view)
{
    struct vel_buf bytes;
    struct vel_view other;
    struct vel_err err = {0};
    bool is;

    vel_buf_init(&bytes);
    must(vel_view_encode(view, &bytes, &err), &err);
    must(vel_view_decode(bytes.data, bytes.len, &other, &err), &err);
    is = vel_view_is_unseen(view, 1) == vel_view_is_unseen(&other, 1);
    vel_view_fini(&other);
    vel_buf_fini(&bytes);
    return is;
}

enum { OLD = 1, NEW };

/* Dataset 1 was sealed, and is in no cache that was looked at. */
static void make_unseen(struct viewlab *lab)
{
    viewlab_plain(lab);
    lab->of.nodes = NULL;
    lab->of.n_nodes = 0;
    lab->makers[0] = (struct vel_view_maker){.first = OLD, .last = OLD, .launch = "A"};
    lab->seals[0] =
        (struct vel_view_seal){.launch = "A",
                               .seal = {.id = OLD,
                                        .template = strdup("ck ck.{step}.h5"),
                                        .verdict = VEL_VERDICT_SEALED}};
    lab->of.n_makers = lab->of.n_seals = 1;
}

/* Dataset 2 is newer, of this template, and on the prefix. */
static void add_newer(struct viewlab *lab, const char *template, bool is_leaders)
{
    lab->makers[1] = (struct vel_view_maker){.first = NEW, .last = NEW, .launch = "B"};
    lab->seals[1] = lab->seals[0];
    vel_vec_init(&lab->seals[1].seal.members, sizeof(struct vel_seal_member));
    lab->seals[1].seal.id = NEW;
    lab->seals[1].launch = "B";
    lab->seals[1].seal.template = strdup(template);
    lab->entries[0] = (struct vel_entry){.dataset = {.id = NEW,
                                                     .name = (char *)"ck",
                                                     .use = VEL_USE_CHECKPOINT,
                                                     .ranks = 1,
                                                     .nodes = 1,
                                                     .is_leaders = is_leaders},
                                         .place = VEL_ON_PREFIX};
    lab->of.n_makers = lab->of.n_seals = 2;
    lab->of.n_entries = 1;
}

/* The view is made, and tells of dataset 1 that it is unseen, or lost for good. */
static void says(struct viewlab *lab, bool is_unseen, const char *text)
{
    struct vel_view view;
    struct vel_err err = {0};

    must(vel_view_make(&lab->of, &view, &err), &err);
    ok(vel_view_find_lost(&view, OLD) && !vel_view_find_dataset(&view, OLD) &&
           vel_view_is_unseen(&view, OLD) == is_unseen && is_kept(&view),
       "%s", text);
    vel_view_fini(&view);
    viewlab_fini(lab);
}

static void unseen(void)
{
    struct viewlab lab;

    make_unseen(&lab);
    says(&lab, true, "what was sealed, and nobody has seen, may be in other caches");
    make_unseen(&lab);
    lab.seals[0].seal.verdict = VEL_VERDICT_PARTIAL;
    says(&lab, false, "so is what was no checkpoint");
    make_unseen(&lab);
    lab.of.n_makers = 0;
    says(&lab, false, "and what was removed from its caches");
    make_unseen(&lab);
    lab.dropped[lab.of.n_dropped++] = OLD;
    says(&lab, false, "and what a person has dropped");
    make_unseen(&lab);
    add_newer(&lab, "ck ck.{step}.h5", true);
    says(&lab, false, "and what has a newer one of its template that is whole");
    make_unseen(&lab);
    add_newer(&lab, "out out.{step}.h5", true);
    says(&lab, true, "a newer one of another template is none");
    make_unseen(&lab);
    add_newer(&lab, "ck ck.{step}.h5", true);
    lab.entries[0].place = VEL_ON_FLUSHING;
    says(&lab, true, "nor is one that is not whole");
    make_unseen(&lab);
    strcpy(lab.seals[0].seal.template, "");
    add_newer(&lab, "", false);
    says(&lab, false, "of a session any newer checkpoint of a session is");
    make_unseen(&lab);
    strcpy(lab.seals[0].seal.template, "");
    add_newer(&lab, "ck ck.{step}.h5", true);
    says(&lab, true, "and files of HDF5 programs are none");
}

/* One node has told, and has too little of it. */
static void make_seen(struct viewlab *lab)
{
    make_unseen(lab);
    lab->of.nodes = lab->told;
    lab->of.n_nodes = 1;
    lab->told[0].held.n = 1;
    ((struct vel_stock_encoding *)((struct vel_stock *)lab->told[0].held.items)
         ->encodings.items)
        ->is_whole = false;
}

/* These nodes had parts when it was sealed. */
static void add_members(struct viewlab *lab, const char *const *nodes)
{
    struct vel_seal *seal = &lab->seals[0].seal;
    struct vel_err err = {0};

    vel_vec_init(&seal->members, sizeof(struct vel_seal_member));
    for (int64_t i = 0; nodes[i]; i++) {
        const struct vel_seal_member member = {
            .rank = i, .node = (char *)nodes[i], .scheme = VEL_SINGLE, .files = 1};

        must(vel_seal_add(seal, &member, &err), &err);
    }
}

static void seen(void)
{
    struct viewlab lab;

    make_seen(&lab);
    says(&lab, false, "of what was seen, and is not enough, no more is expected");
    make_seen(&lab);
    add_members(&lab, (const char *[]){lab.told[0].node, lab.told[0].node, NULL});
    says(&lab, false, "nor when all of its nodes have told");
    make_seen(&lab);
    add_members(&lab, (const char *[]){lab.told[0].node, "away", NULL});
    says(&lab, true, "a node that did not tell may have more of it");
    make_seen(&lab);
    add_members(&lab, (const char *[]){lab.told[0].node, "away", NULL});
    add_newer(&lab, "ck ck.{step}.h5", true);
    says(&lab, false, "which nobody waits for when a newer one is whole");
}

/* Dataset 1 is whole again. */
static void anew(void)
{
    struct viewlab lab;
    struct vel_view view;
    struct vel_err err = {0};

    for (int is_anew = 0; is_anew < 2; is_anew++) {
        make_unseen(&lab);
        lab.of.nodes = lab.told;
        lab.of.n_nodes = lab.n_came;
        add_newer(&lab, "ck ck.{step}.h5", true);
        lab.seals[0].seal.step = strdup("7");
        lab.seals[1].seal.step = strdup("7");
        lab.seals[1].seal.anew = is_anew ? OLD : 0;
        must(vel_view_make(&lab.of, &view, &err), &err);
        ok((vel_view_find_dataset(&view, OLD) != NULL) == !is_anew &&
               vel_view_find_dataset(&view, NEW),
           is_anew ? "one whose step was written anew while it was unseen is lost"
                   : "one that comes back is restored beside a newer one");
        vel_view_fini(&view);
        viewlab_fini(&lab);
    }
}

/* Twelve nodes had parts, and one has told. */
static void names(void)
{
    static const char *const nodes[] = {"a", "b", "c", "d", "e", "f", "g",
                                        "h", "i", "j", "k", "l", NULL};
    struct viewlab lab;
    struct vel_view view;
    struct vel_err err = {0};

    make_seen(&lab);
    add_members(&lab, nodes);
    must(vel_view_make(&lab.of, &view, &err), &err);
    ok(strstr(vel_view_find_lost(&view, OLD)->why,
              "; a, b, c, d, e, f, g, h and 4 more did not tell") != NULL,
       "it is said which nodes those are, the first eight of them");
    vel_view_fini(&view);
    viewlab_fini(&lab);
}

int main(void)
{
    unseen();
    seen();
    anew();
    names();
    return done_testing();
}
