/* SPDX-License-Identifier: BSD-3-Clause */
/* The chair's keys: what is heard of them, and what is due. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/expect_in.h"

enum { GUESSES_MOST = 256 };

/* --- keys and templates --- */

struct vel_expect *vel_expect_at(const struct vel_leader *leader, size_t i)
{
    return *(struct vel_expect **)vel_vec_at(&leader->connector->expects, i);
}

static void destroy(struct vel_expect *expect)
{
    vel_tally_fini(&expect->tally);
    free(expect->template);
    free(expect->step);
    free(expect);
}

static void destroy_template(void *template)
{
    vel_vec_fini(&((struct vel_expect_template *)template)->previous.ones);
    free(template);
}

static void destroy_guess(void *guess)
{
    vel_guess_fini(guess);
    free(guess);
}

void vel_expect_reset(struct vel_leader *leader)
{
    struct vel_connector *connector = leader->connector;

    for (size_t i = 0; i < connector->expects.n; i++)
        destroy(vel_expect_at(leader, i));
    connector->expects.n = 0;
    vel_map_destroy(connector->templates, destroy_template);
    vel_map_destroy(connector->guesses, destroy_guess);
    connector->templates = connector->guesses = NULL;
}

struct vel_expect_template *vel_expect_template(struct vel_leader *leader,
                                                const char *name)
{
    struct vel_connector *connector = leader->connector;
    struct vel_expect_template *template;

    if (!connector->templates)
        connector->templates = vel_map_create();
    template = connector->templates ? vel_map_get(connector->templates, name) : NULL;
    if (template)
        return template;
    template = calloc(1, sizeof *template);
    if (!connector->templates || !template ||
        vel_map_set(connector->templates, name, template, NULL) < 0) {
        free(template);
        vel_leader_fail(leader, "a template");
        return NULL;
    }
    vel_vec_init(&template->previous.ones, sizeof(struct vel_leader_one));
    return template;
}

/* NULL: it is not known; else *ret_i is its place. */
static struct vel_expect *find(const struct vel_leader *leader,
                               const struct vel_msg_report *report, size_t *ret_i)
{
    for (size_t i = leader->connector->expects.n; i > 0; i--) {
        struct vel_expect *expect = vel_expect_at(leader, i - 1);

        if (expect->generation != (int64_t)report->generation ||
            strcmp(expect->template, report->template) != 0 ||
            strcmp(expect->step, report->step) != 0)
            continue;
        *ret_i = i - 1;
        return expect;
    }
    return NULL;
}

static struct vel_expect *make(struct vel_leader *leader,
                               const struct vel_msg_report *report)
{
    struct vel_expect *made = calloc(1, sizeof *made);

    if (made) {
        vel_tally_init(&made->tally);
        made->template = strdup(report->template);
        made->step = strdup(report->step);
        made->generation = (int64_t)report->generation;
    }
    if (made && made->template && made->step &&
        vel_vec_push(&leader->connector->expects, &made))
        return made;
    if (made)
        destroy(made);
    vel_leader_fail(leader, "a report");
    return NULL;
}

/* Has a chair before this one decided it? */
static void recall(struct vel_leader *leader, struct vel_expect *expect)
{
    enum vel_verdict verdict = VEL_VERDICT_VOID;
    int64_t id = 0;
    int rc = leader->ops->sealed(leader->arg, expect->template, expect->step,
                                 expect->generation, &id, &verdict, NULL);

    expect->is_looked = rc == 0 || rc == VEL_ENOENT;
    if (rc < 0)
        return;
    expect->is_decided = true;
    expect->id = verdict == VEL_VERDICT_VOID ? 0 : id;
}

/* --- what is heard --- */

void vel_expect_hear(struct vel_leader *leader, uint64_t link,
                     const struct vel_msg_report *report)
{
    size_t i;
    struct vel_expect *expect = find(leader, report, &i);
    struct vel_expect_template *template =
        vel_expect_template(leader, report->template);

    if (!expect)
        expect = make(leader, report);
    if (!expect || !template)
        return;
    expect->is_alone = expect->is_alone || report->how & VEL_REPORT_ALONE;
    expect->is_late = expect->is_late || report->how & VEL_REPORT_LATE;
    /* of leaders of ours: memory, and said again when asked for */
    vel_tally_hear(&expect->tally, report->nodes);
    expect->heard_at = leader->now;
    leader->connector->has_changed = true;
    leader->steps++;
    if (!expect->is_looked)
        recall(leader, expect);
    if (expect->is_decided)
        vel_expect_answer(leader, expect, link);
}

void vel_expect_gone(struct vel_leader *leader, const char *node)
{
    for (size_t i = 0; i < leader->connector->expects.n; i++)
        vel_tally_doubt(&vel_expect_at(leader, i)->tally, node);
    leader->connector->has_changed = true;
}

static struct vel_guess *guess_of(struct vel_leader *leader, const char *template)
{
    struct vel_connector *connector = leader->connector;
    struct vel_guess *seen = NULL;

    if (!connector->guesses)
        connector->guesses = vel_map_create();
    if (connector->guesses) {
        seen = vel_map_remove(connector->guesses, template);
        /* names of which each has other words in it tell nothing: which was not heard
         * for longest goes */
        if (!seen && vel_map_count(connector->guesses) >= GUESSES_MOST)
            destroy_guess(
                vel_map_remove(connector->guesses, vel_map_key(connector->guesses, 0)));
        seen = seen ? seen : calloc(1, sizeof *seen);
    }
    if (seen && vel_map_set(connector->guesses, template, seen, NULL) == 0)
        return seen;
    if (seen)
        destroy_guess(seen);
    vel_leader_fail(leader, "a family");
    return NULL;
}

/* What an earlier chair has said of it. */
static const struct vel_leader_family *
recall_family(struct vel_leader *leader, struct vel_guess *seen, const char *template)
{
    struct vel_leader_family family = {0};
    int rc = seen->is_looked || leader->term == 1
                 ? VEL_ENOENT
                 : leader->ops->family(leader->arg, template, &family, NULL);

    seen->is_looked = rc == 0 || rc == VEL_ENOENT;
    return rc == 0 ? vel_announce_learn(leader, template, family) : NULL;
}

/* Now it is known: what was noted is none of it, on any rank. */
static const struct vel_leader_family *make_family(struct vel_leader *leader,
                                                   const struct vel_guess *seen,
                                                   const char *template)
{
    struct vel_leader_family family = {.place = vel_guess_place(seen)};
    struct vel_buf steps;

    if (family.place == 0)
        return NULL;
    vel_buf_init(&steps);
    vel_guess_steps(seen, template, family.place, &steps);
    vel_buf_append(&steps, "", 0);
    family.steps = vel_buf_take(&steps, NULL);
    if (family.steps &&
        leader->ops->make_family(leader->arg, template, &family, NULL) < 0) {
        free(family.steps); /* no other chair would know */
        return NULL;
    }
    return vel_announce_learn(leader, template, family);
}

const struct vel_leader_family *vel_expect_guess(struct vel_leader *leader,
                                                 const struct vel_msg_guess *guess)
{
    const struct vel_leader_family *known =
        vel_map_get(leader->connector->families, guess->template);
    struct vel_guess *seen = known ? NULL : guess_of(leader, guess->template);

    if (!seen)
        return known;
    known = recall_family(leader, seen, guess->template);
    if (known)
        return known;
    vel_guess_see(seen, (int64_t)guess->rank, guess->numbers);
    known = make_family(leader, seen, guess->template);
    if (!known)
        vel_guess_note(seen, guess->numbers, (int64_t)guess->count);
    return known;
}

/* --- what is due --- */

static int recall_previous(struct vel_leader *leader, const char *name,
                           struct vel_expect_template *template)
{
    int rc = template->is_looked
                 ? 0
                 : leader->ops->previous(leader->arg, name, &template->previous, NULL);

    if (rc < 0 && rc != VEL_ENOENT)
        return rc;
    template->has_previous = template->is_looked ? template->has_previous : rc == 0;
    template->is_looked = true;
    return 0;
}

static bool is_outdated(const struct vel_leader *leader,
                        const struct vel_expect *expect)
{
    for (size_t i = 0; i < leader->connector->expects.n; i++) {
        const struct vel_expect *newer = vel_expect_at(leader, i);

        if (newer->is_decided && newer->id && newer->generation > expect->generation &&
            strcmp(newer->template, expect->template) == 0 &&
            strcmp(newer->step, expect->step) == 0)
            return true;
    }
    return false;
}

bool vel_expect_is_whole(struct vel_leader *leader, const struct vel_msg_report *report)
{
    size_t i;
    const struct vel_expect *expect = find(leader, report, &i);
    struct vel_expect_template *template =
        vel_expect_template(leader, report->template);
    struct vel_census census = {0};
    bool is = expect && (expect->is_decided || is_outdated(leader, expect));

    if (!expect || !template || is)
        return is;
    if (leader->has_view) /* else this launch is all that is known */
        recall_previous(leader, expect->template, template);
    is = vel_census_may_be_whole(leader, i, template) &&
         vel_census_take(leader, expect, &census) == 0 &&
         vel_census_is_whole(leader, i, template, &census);
    vel_census_fini(&census);
    return is;
}

static void decide(struct vel_leader *leader, size_t i,
                   struct vel_expect_template *template)
{
    struct vel_expect *expect = vel_expect_at(leader, i);
    uint64_t quiet_at = expect->heard_at + leader->conf.seal_after;
    struct vel_census census = {0};
    enum vel_dataset_event event;

    if (is_outdated(leader, expect)) {
        vel_expect_void(leader, expect);
        return;
    }
    if (!vel_census_may_be_whole(leader, i, template) &&
        !vel_present_has_left(leader) && leader->now < quiet_at) {
        if (quiet_at < leader->connector->check_at)
            leader->connector->check_at = quiet_at;
        return;
    }
    if (vel_census_take(leader, expect, &census) == 0 &&
        vel_census_event(leader, i, template, &census, &event))
        vel_expect_seal(leader, expect, &census, event);
    vel_census_fini(&census);
}

static void advance_one(struct vel_leader *leader, size_t i)
{
    struct vel_expect *expect = vel_expect_at(leader, i);
    struct vel_expect_template *template =
        vel_expect_template(leader, expect->template);

    if (!template)
        return;
    if (leader->now >= expect->retry_at) {
        expect->retry_at = 0;
        if (!expect->is_looked)
            recall(leader, expect);
        if (!expect->is_looked ||
            recall_previous(leader, expect->template, template) < 0)
            vel_expect_later(leader, expect);
        else if (!expect->is_decided)
            decide(leader, i, template);
    }
    if (expect->retry_at > leader->now &&
        expect->retry_at < leader->connector->check_at)
        leader->connector->check_at = expect->retry_at;
}

void vel_expect_later(struct vel_leader *leader, struct vel_expect *expect)
{
    expect->retry_at = leader->now + leader->conf.limit / 4;
}

/* Its seal tells should a file of it come late; one of the same names that is not
 * decided looks at those that are. */
static bool may_be_forgotten(const struct vel_leader *leader,
                             const struct vel_expect *expect)
{
    for (size_t i = 0; i < leader->connector->expects.n; i++) {
        const struct vel_expect *other = vel_expect_at(leader, i);

        if (!other->is_decided && strcmp(other->template, expect->template) == 0 &&
            strcmp(other->step, expect->step) == 0)
            return false;
    }
    return expect->is_decided;
}

static void forget_template(struct vel_leader *leader, const char *name)
{
    struct vel_expect_template *template =
        vel_map_get(leader->connector->templates, name);

    if (!template)
        return;
    vel_map_remove(leader->connector->templates, name);
    destroy_template(template);
}

static void forget_decided(struct vel_leader *leader)
{
    struct vel_connector *connector = leader->connector;
    struct vel_expect **items = connector->expects.items;
    size_t least = leader->conf.many ? leader->conf.many : VEL_GENERATIONS_MANY, n = 0;

    if (connector->expects.n <=
        (connector->many_expects > least ? connector->many_expects : least))
        return;
    for (size_t i = 0; i < connector->expects.n; i++)
        items[i]->is_over = may_be_forgotten(leader, items[i]);
    for (size_t i = 0; i < connector->expects.n; i++) {
        if (!items[i]->is_over) {
            items[n++] = items[i];
            continue;
        }
        if (items[i]->is_alone) /* a template of its own */
            forget_template(leader, items[i]->template);
        destroy(items[i]);
    }
    connector->expects.n = n;
    connector->many_expects = 2 * n;
}

void vel_expect_advance(struct vel_leader *leader)
{
    struct vel_connector *connector = leader->connector;

    if (!leader->is_chair || leader->is_ended || !leader->has_view ||
        (!connector->has_changed && leader->now < connector->check_at))
        return;
    connector->has_changed = false;
    connector->check_at = VEL_NEVER;
    forget_decided(leader);
    for (size_t i = 0; i < connector->expects.n; i++)
        if (!vel_expect_at(leader, i)->is_decided)
            advance_one(leader, i);
    vel_leader_at(leader, VEL_TIMER_SOON, connector->check_at);
}

bool vel_expect_owes(const struct vel_leader *leader)
{
    for (size_t i = 0; leader->is_chair && i < leader->connector->expects.n; i++) {
        const struct vel_expect *expect = vel_expect_at(leader, i);

        if (!expect->is_decided && vel_tally_files(&expect->tally) > 0)
            return true;
    }
    return false;
}
