/* SPDX-License-Identifier: BSD-3-Clause */
/* Seals of launches that are over: whoever begins reads all that there are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "jobs/sweep_in.h"
#include "meta/index.h"
#include "meta/paths.h"
#include "view/seals.h"

struct candidate {
    char *key, *template;
    int64_t id;
};

struct launch {
    struct vel_sweeping *s;
    const char *name;
    const struct vel_seals *seals;
    struct vel_vec unwanted; /* struct candidate */
    struct vel_map *newest;  /* by template: of which a copy is in `ids` */
    bool is_needed;
};

/* --- is it wanted? --- */

static bool are_all_here(const struct vel_sweeping *s, const struct vel_seal *seal)
{
    for (size_t i = 0; i < seal->members.n; i++)
        if (!vel_view_has_node(s->of->view, vel_seal_member(seal, i)->node))
            return false;
    return true;
}

static bool is_dropped(const struct vel_sweeping *s, int64_t id)
{
    char *dropped = vel_dropped_path(s->of->dir, id);
    bool is = vel_sweep_is_there(s, dropped);

    free(dropped);
    return is;
}

/* The prefix gives it, or newer files have its names; or it was dropped, or given up.
 * What lies on the prefix and could not be read there the caches may still give. */
static bool is_settled(const struct vel_sweeping *s, int64_t id)
{
    bool is = is_dropped(s, id) || vel_index_is_gone(s->of->index, id);
    struct vel_index_where where;

    if (!is && vel_index_where(s->of->index, id, &where, NULL) == 0)
        is = (where.place == VEL_ON_PREFIX && where.is_fetchable) || where.is_replaced;
    return is;
}

/* Does anybody still want this seal? The caches may give what it sealed, here or where
 * nobody looked; or it is still to be flushed. */
static bool is_wanted(struct vel_sweeping *s, const struct vel_seal *seal, bool is_away)
{
    const struct vel_view_dataset *dataset =
        vel_view_find_dataset(s->of->view, seal->id);
    bool is = true;

    if (seal->verdict == VEL_VERDICT_VOID)
        is = false;
    else if (seal->verdict == VEL_VERDICT_PARTIAL)
        is = !vel_seal_gives_way(seal) &&
             !is_dropped(s, seal->id); /* who has only its entry would restore it */
    else if (!dataset || !dataset->is_cached)
        is = !is_settled(s, seal->id) &&
             (is_away || !vel_view_find_lost(s->of->view, seal->id));
    if (is_away && !vel_vec_push(&s->away, &seal->id))
        is = true;
    return is;
}

/* --- those of a launch --- */

static void candidate_fini(struct candidate *c)
{
    free(c->key);
    free(c->template);
}

/* A brace may as well be part of a name. */
static bool is_pattern(const char *template)
{
    return strstr(template, "{step}") || strstr(template, "{rank}");
}

/* The newest of its template says who is to write the next one, as service_compose
 * reads it: of those that were sealed and that the view has. Who wrote a file of a name
 * of its own says nothing. */
static int note_newest(struct launch *l, const struct vel_seal *seal)
{
    int64_t *newest;

    if (seal->verdict != VEL_VERDICT_SEALED || !is_pattern(seal->template) ||
        !vel_view_find_dataset(l->s->of->view, seal->id))
        return 0;
    newest = vel_map_get(l->newest, seal->template);
    if (newest) {
        *newest = *newest < seal->id ? seal->id : *newest;
        return 0;
    }
    newest = malloc(sizeof *newest);
    if (!newest)
        return VEL_ENOMEM;
    *newest = seal->id;
    if (vel_map_set(l->newest, seal->template, newest, NULL) == 0)
        return 0;
    free(newest);
    return VEL_ENOMEM;
}

/* One that cannot be read now is needed; one that nobody can read is not. */
static int look_at(struct launch *l, size_t i)
{
    struct vel_sweeping *s = l->s;
    char key[VEL_SEALS_KEY] = "";
    struct candidate c = {0};
    struct vel_seal seal;
    int rc = vel_seals_at(l->seals, i, &seal, NULL);

    if (rc < 0) {
        l->is_needed = l->is_needed || rc != VEL_ECORRUPT;
        return rc == VEL_ENOMEM ? rc : 0;
    }
    bool is_away = !are_all_here(s, &seal) || vel_view_is_unseen(s->of->view, seal.id);
    bool is_needed = is_wanted(s, &seal, is_away);

    rc = note_newest(l, &seal);
    l->is_needed = l->is_needed || is_needed;
    /* who comes back with files of it must find that it is over: while its launch is
     * there, what has no seal is sealed again */
    if (is_needed || is_away) {
        if (rc == 0 && !vel_vec_push(&s->sealed, &seal.id))
            rc = VEL_ENOMEM;
    } else if (rc == 0) {
        vel_seals_key_of(vel_seals_item(l->seals, i), key);
        c = (struct candidate){strdup(key), strdup(seal.template), seal.id};
        if (!c.key || !c.template || !vel_vec_push(&l->unwanted, &c)) {
            candidate_fini(&c);
            rc = VEL_ENOMEM;
        }
    }
    vel_seal_fini(&seal);
    return rc;
}

static int look_at_all(struct launch *l, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->seals->items.n; i++)
        rc = look_at(l, i);
    return rc == VEL_ENOMEM ? vel_out_of_memory(err, "seals") : 0;
}

/* Those that stay although nobody wants them leave the candidates. */
static int spare_newest(struct launch *l, struct vel_err *err)
{
    for (size_t i = l->unwanted.n; i-- > 0;) {
        struct candidate *c = vel_vec_at(&l->unwanted, i);
        const int64_t *newest = vel_map_get(l->newest, c->template);

        if (!newest || *newest != c->id)
            continue;
        if (!vel_vec_push(&l->s->sealed, &c->id))
            return vel_out_of_memory(err, "seals");
        candidate_fini(c);
        vel_vec_remove(&l->unwanted, i);
    }
    return 0;
}

/* Lines of facts without the seals of keys that nobody wants. */
static int leave_out(void *arg, const struct vel_ledger_text *now,
                     struct vel_buf *facts, struct vel_err *err)
{
    const struct vel_map *unwanted = arg;
    char key[VEL_SEALS_KEY];
    struct vel_buf kept;
    bool is_less = false;

    (void)now;
    vel_buf_init(&kept);
    for (const char *at = vel_buf_text(facts), *feed; (feed = strchr(at, '\n')) != NULL;
         at = feed + 1) {
        const struct vel_ledger_line line = {at, (size_t)(feed - at)};

        if (vel_seals_is(&line, key) && vel_map_has(unwanted, key))
            is_less = true;
        else
            vel_buf_append(&kept, at, line.len + 1);
    }
    vel_buf_fini(facts);
    *facts = kept;
    return vel_buf_status(facts, err) < 0 ? VEL_ENOMEM : is_less;
}

static int begin_without(struct launch *l, struct vel_err *err)
{
    const struct vel_terms_self self = {.launch = l->s->of->launch, .node = "sweep"};
    struct vel_map *unwanted = vel_map_create();
    bool is_changed = false;
    int rc = unwanted ? 0 : vel_out_of_memory(err, "seals");

    for (size_t i = 0; rc == 0 && i < l->unwanted.n; i++)
        if (vel_map_set(unwanted,
                        ((struct candidate *)vel_vec_at(&l->unwanted, i))->key,
                        unwanted, NULL) < 0)
            rc = vel_out_of_memory(err, "seals");
    if (rc == 0)
        rc = vel_terms_change(l->s->of->fs, l->seals->follow.launch_dir, &self,
                              leave_out, unwanted, &is_changed, err);
    if (rc == 0 && is_changed)
        vel_index_look_anew(l->s->of->index, l->name);
    if (unwanted)
        vel_map_destroy(unwanted, NULL);
    return rc;
}

/* They are there for whoever asks which are. */
static int keep_rest(struct launch *l, struct vel_err *err)
{
    for (size_t i = 0; i < l->unwanted.n; i++)
        if (!vel_vec_push(&l->s->sealed,
                          &((struct candidate *)vel_vec_at(&l->unwanted, i))->id))
            return vel_out_of_memory(err, "seals");
    return 0;
}

/* Whoever begins reads all, so a term without them is begun when they are as many as
 * the others. */
static int remove_many(struct launch *l, struct vel_err *err)
{
    size_t n = l->unwanted.n;

    int rc = n > 0 && n >= l->seals->items.n - n ? begin_without(l, err) : 0;

    if (rc == 0 && n >= l->seals->items.n - n)
        return 0;
    return keep_rest(l, err) < 0 ? VEL_ENOMEM : rc;
}

int vel_sweep_seals(struct vel_sweeping *s, const char *launch, uint64_t most,
                    bool *ret_needed, struct vel_err *err)
{
    struct launch l = {.s = s, .name = launch, .newest = vel_map_create()};
    struct vel_seals *seals = NULL;
    int rc = l.newest ? vel_seals_load_by(s->of->index, launch, &seals, err)
                      : vel_out_of_memory(err, "seals");

    l.seals = seals;
    vel_vec_init(&l.unwanted, sizeof(struct candidate));
    if (rc == 0)
        rc = look_at_all(&l, err);
    if (rc == 0 && l.is_needed)
        rc = spare_newest(&l, err);
    if (rc == 0 && (l.is_needed || seals->size > most))
        rc = remove_many(&l, err);
    for (size_t i = 0; i < l.unwanted.n; i++)
        candidate_fini(vel_vec_at(&l.unwanted, i));
    vel_vec_fini(&l.unwanted);
    if (l.newest)
        vel_map_destroy(l.newest, free);
    vel_seals_destroy(seals);
    *ret_needed = rc < 0 || l.is_needed;
    return rc;
}
