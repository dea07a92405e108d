/* SPDX-License-Identifier: BSD-3-Clause */
/* Seals of launches that are over: whoever begins reads all that there are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "jobs/sweep_in.h"
#include "meta/entry.h"
#include "meta/paths.h"
#include "record/record.h"
#include "view/evidence.h"

/* So many are removed of a launch at a time, for a program that has ended waits for it:
 * the next sweep goes on. */
enum { AT_ONCE = 256, FORMAT = 1 };

struct candidate {
    char *name, *template;
    int64_t id;
};

struct launch {
    struct vel_sweeping *s;
    const char *dir;
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

/* On the prefix, replaced, dropped, or given up. */
static bool is_settled(const struct vel_sweeping *s, int64_t id)
{
    char *dir = vel_dataset_dir(s->of->dir, id);
    char *claim = dir ? vel_path_join(dir, "launch") : NULL;
    bool is = is_dropped(s, id) || vel_sweep_is_absent(s, claim);
    struct vel_entry entry = {0};

    if (!is && vel_entry_load(s->of->fs, s->of->dir, id, &entry, NULL) == 0) {
        is = entry.place == VEL_ON_PREFIX || entry.replaced > 0;
        vel_entry_fini(&entry);
    }
    free(dir);
    free(claim);
    return is;
}

/* Does anybody still want this seal? The caches may give what it sealed, here or on a
 * node that is away; or it is still to be flushed. */
static bool is_wanted(struct vel_sweeping *s, const struct vel_seal *seal)
{
    const struct vel_view_dataset *dataset =
        vel_view_find_dataset(s->of->view, seal->id);
    bool is_away = !are_all_here(s, seal), is = true;

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
    free(c->name);
    free(c->template);
}

/* The newest of its template says who is to write the next one; but who wrote a file
 * of a name of its own says nothing. */
static int note_newest(struct launch *l, const struct vel_seal *seal)
{
    int64_t *newest;

    if (!strchr(seal->template, '{'))
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

/* One that cannot be read now is needed; one that nobody can read is not, and stays. */
static int look_at(struct launch *l, const char *name)
{
    struct vel_sweeping *s = l->s;
    char *path = vel_path_join(l->dir, name);
    struct candidate c = {0};
    struct vel_seal seal;
    int rc = path ? vel_evidence_seal(s->of->fs, path, &seal, NULL) : VEL_ENOMEM;

    free(path);
    if (rc < 0) {
        l->is_needed = l->is_needed || (rc != VEL_ENOENT && rc != VEL_ECORRUPT);
        return rc == VEL_ENOMEM ? rc : 0;
    }
    rc = note_newest(l, &seal);
    if (is_wanted(s, &seal)) {
        l->is_needed = true;
        if (rc == 0 && !vel_vec_push(&s->sealed, &seal.id))
            rc = VEL_ENOMEM;
    } else if (rc == 0) {
        c = (struct candidate){strdup(name), strdup(seal.template), seal.id};
        if (!c.name || !c.template || !vel_vec_push(&l->unwanted, &c)) {
            candidate_fini(&c);
            rc = VEL_ENOMEM;
        }
    }
    vel_seal_fini(&seal);
    return rc;
}

static int look_at_all(struct launch *l, struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(l->s->of->fs, l->dir, &names, NULL);
    l->is_needed = rc < 0;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);

        if (!vel_evidence_is_seal(name))
            continue;
        if (l->unwanted.n >= AT_ONCE && l->is_needed) {
            l->s->is_cut = true;
            break;
        }
        rc = look_at(l, name);
    }
    vel_fs_names_fini(&names);
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

static bool is_unwanted(const struct launch *l, const char *name)
{
    for (size_t i = 0; i < l->unwanted.n; i++)
        if (strcmp(((struct candidate *)vel_vec_at(&l->unwanted, i))->name, name) == 0)
            return true;
    return false;
}

/* First from the list of those that count: a seal on it that is missing is a loss. */
static int shorten_list(const struct launch *l, struct vel_err *err)
{
    struct vel_fs *fs = l->s->of->fs;
    char *path = vel_path_join(l->dir, "seals");
    struct vel_node *before = NULL, *body = vel_node_object(), *kept = vel_node_list();
    const struct vel_node *list = NULL;
    int version, rc = path && body && kept ? vel_record_load(fs, path, "seals", FORMAT,
                                                             &version, &before, err)
                                           : vel_out_of_memory(err, "seals");

    if (rc == 0)
        rc = vel_node_get_list(before, "seals", &list, err);
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        char *name = NULL;

        rc = vel_node_name_at(list, i, &name, err);
        if (rc == 0 && !is_unwanted(l, name) && vel_node_append_name(kept, name))
            rc = vel_out_of_memory(err, "seals");
        free(name);
    }
    if (rc == 0) {
        rc = vel_node_adopt(body, "seals", kept) ? vel_out_of_memory(err, "seals") : 0;
        kept = NULL;
    }
    if (rc == 0)
        rc = vel_record_save(fs, path, "seals", FORMAT, body, err);
    vel_node_destroy(kept);
    vel_node_destroy(body);
    vel_node_destroy(before);
    free(path);
    return rc;
}

static int remove_unwanted(const struct launch *l, struct vel_err *err)
{
    int rc = l->unwanted.n > 0 ? shorten_list(l, err) : 0;

    for (size_t i = 0; rc == 0 && i < l->unwanted.n; i++) {
        const struct candidate *c = vel_vec_at(&l->unwanted, i);
        char *path = vel_path_join(l->dir, c->name);

        rc = path ? vel_fs_unlink(l->s->of->fs, path, err)
                  : vel_out_of_memory(err, "seals");
        free(path);
    }
    return rc;
}

int vel_sweep_seals(struct vel_sweeping *s, const char *dir, bool *ret_needed,
                    struct vel_err *err)
{
    struct launch l = {.s = s, .dir = dir, .newest = vel_map_create()};
    int rc;

    vel_vec_init(&l.unwanted, sizeof(struct candidate));
    rc = l.newest ? look_at_all(&l, err) : vel_out_of_memory(err, "seals");
    if (rc == 0 && l.is_needed)
        rc = spare_newest(&l, err);
    if (rc == 0 && l.is_needed)
        rc = remove_unwanted(&l, err);
    for (size_t i = 0; i < l.unwanted.n; i++)
        candidate_fini(vel_vec_at(&l.unwanted, i));
    vel_vec_fini(&l.unwanted);
    vel_map_destroy(l.newest, free);
    *ret_needed = l.is_needed;
    return rc;
}
