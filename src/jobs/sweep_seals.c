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

/* The prefix gives it, or newer files have its names; or it was dropped, or given up.
 * What lies on the prefix and could not be read there the caches may still give. */
static bool is_settled(const struct vel_sweeping *s, int64_t id)
{
    char *dir = vel_dataset_dir(s->of->dir, id);
    char *claim = dir ? vel_path_join(dir, "launch") : NULL;
    bool is = is_dropped(s, id) || vel_sweep_is_absent(s, claim);
    struct vel_entry entry = {0};

    if (!is && vel_entry_load(s->of->fs, s->of->dir, id, &entry, NULL) == 0) {
        is = (entry.place == VEL_ON_PREFIX && vel_entry_is_fetchable(&entry)) ||
             entry.replaced > 0;
        vel_entry_fini(&entry);
    }
    free(dir);
    free(claim);
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
    free(c->name);
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

        if (vel_evidence_is_seal(name))
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

static bool is_among(const struct launch *l, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(((struct candidate *)vel_vec_at(&l->unwanted, i))->name, name) == 0)
            return true;
    return false;
}

/* *ret: a new list. */
static int load_list(const struct launch *l, const char *path, struct vel_node **ret,
                     const struct vel_node **ret_list, struct vel_err *err)
{
    int version;
    int rc = vel_record_load(l->s->of->fs, path, "seals", FORMAT, &version, ret, err);

    return rc == 0 ? vel_node_get_list(*ret, "seals", ret_list, err) : rc;
}

/* Is the list still the one that was read? Another sweep may have shortened it: what
 * that has removed would be listed again. */
static int check_same(const struct launch *l, const char *path,
                      const struct vel_node *before, struct vel_err *err)
{
    struct vel_node *now = NULL;
    const struct vel_node *list;
    struct vel_buf texts[2];
    int rc = load_list(l, path, &now, &list, err);

    vel_buf_init(&texts[0]);
    vel_buf_init(&texts[1]);
    if (rc == 0) {
        vel_node_print(before, &texts[0]);
        vel_node_print(now, &texts[1]);
        rc = vel_buf_status(&texts[0], err);
    }
    if (rc == 0)
        rc = vel_buf_status(&texts[1], err);
    if (rc == 0 && (texts[0].len != texts[1].len ||
                    memcmp(texts[0].data, texts[1].data, texts[0].len) != 0))
        rc = vel_fail(err, VEL_EBUSY, "another sweep has changed %s", path);
    vel_buf_fini(&texts[0]);
    vel_buf_fini(&texts[1]);
    vel_node_destroy(now);
    return rc;
}

/* Under a temporary name of its own: two programs may sweep at once. What a sweep that
 * was killed leaves of it goes with the launch. */
static int save_list(const struct launch *l, const char *path,
                     const struct vel_node *body, const struct vel_node *before,
                     struct vel_err *err)
{
    int64_t writer;
    int rc = vel_fs_writer(&writer, err);

    if (rc == 0)
        rc = check_same(l, path, before, err);
    if (rc == 0)
        rc = vel_record_save_by(l->s->of->fs, path, writer, "seals", FORMAT, body, err);
    return rc;
}

/* The first n go from the list of those that count: a seal on it that is missing is a
 * loss. */
static int shorten_list(const struct launch *l, size_t n, struct vel_err *err)
{
    char *path = vel_path_join(l->dir, "seals");
    struct vel_node *before = NULL, *body = vel_node_object(), *kept = vel_node_list();
    const struct vel_node *list = NULL;
    int rc = path && body && kept ? load_list(l, path, &before, &list, err)
                                  : vel_out_of_memory(err, "seals");

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        char *name = NULL;

        rc = vel_node_name_at(list, i, &name, err);
        if (rc == 0 && !is_among(l, n, name) && vel_node_append_name(kept, name))
            rc = vel_out_of_memory(err, "seals");
        free(name);
    }
    if (rc == 0) {
        rc = vel_node_adopt(body, "seals", kept) ? vel_out_of_memory(err, "seals") : 0;
        kept = NULL;
    }
    if (rc == 0)
        rc = save_list(l, path, body, before, err);
    vel_node_destroy(kept);
    vel_node_destroy(body);
    vel_node_destroy(before);
    free(path);
    return rc;
}

/* Those that stay, for now, are there for whoever asks which are. */
static int remove_some(struct launch *l, struct vel_err *err)
{
    size_t most = l->unwanted.n < AT_ONCE ? l->unwanted.n : AT_ONCE, n = 0;
    int rc = most > 0 ? shorten_list(l, most, err) : 0;

    while (rc == 0 && n < most) {
        const struct candidate *c = vel_vec_at(&l->unwanted, n);
        char *path = vel_path_join(l->dir, c->name);

        rc = path ? vel_fs_unlink(l->s->of->fs, path, err)
                  : vel_out_of_memory(err, "seals");
        n += rc == 0;
        free(path);
    }
    if (n > 0 && n < l->unwanted.n)
        l->s->is_cut = true;
    for (; n < l->unwanted.n; n++)
        if (!vel_vec_push(&l->s->sealed,
                          &((struct candidate *)vel_vec_at(&l->unwanted, n))->id))
            return vel_out_of_memory(err, "seals");
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
        rc = remove_some(&l, err);
    for (size_t i = 0; i < l.unwanted.n; i++)
        candidate_fini(vel_vec_at(&l.unwanted, i));
    vel_vec_fini(&l.unwanted);
    vel_map_destroy(l.newest, free);
    *ret_needed = l.is_needed;
    return rc;
}
