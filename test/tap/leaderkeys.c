/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's keys: what names belong together, and what was decided of them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tap/leaderlab.h"
#include "tap/tap.h"

static struct lab_file *file_at(const struct vel_vec *files, size_t i)
{
    return vel_vec_at(files, i);
}

/* --- keys --- */

void lab_set_key(struct lab_key *ret, const struct vel_leader_key *key)
{
    snprintf(ret->template, sizeof ret->template, "%s", key->template);
    snprintf(ret->step, sizeof ret->step, "%s", key->step);
    ret->generation = key->generation;
    ret->is_alone = key->is_alone;
    ret->is_late = key->is_late;
}

bool lab_is_key(const struct lab_key *key, const char *template, const char *step,
                int64_t generation)
{
    return strcmp(key->template, template) == 0 && strcmp(key->step, step) == 0 &&
           key->generation == generation;
}

/* r: files of all ranks for a step. s: of all ranks, without a step. t: one file. x:
 * none of ours. Others: inferred, or live. */
int lab_rule(void *arg, const char *name, struct vel_leader_rule *ret,
             struct vel_err *err)
{
    char step[LAB_NAME] = "";

    (void)arg, (void)err;
    ret->is_native = name[0] == 'x';
    ret->is_there = strchr("rst", name[0]);
    ret->is_live = !ret->is_there;
    if (!ret->is_there)
        return 0;
    if (name[0] == 'r')
        snprintf(step, sizeof step, "%.*s", (int)strcspn(name + 2, "/"), name + 2);
    ret->is_alone = name[0] == 't';
    ret->template = strdup(name[0] == 't'   ? name
                           : name[0] == 'r' ? "r {step}/*{rank}"
                                            : "s *{rank}");
    ret->step = strdup(step);
    if (!ret->template || !ret->step)
        bail_out("no memory");
    return 0;
}

int lab_part_new(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                 struct vel_err *err)
{
    struct lab_leader *of = arg;
    struct vel_vec *parts = &of->lab->nodes[of->node].parts;
    struct lab_key about;

    lab_set_key(&about, key);
    if (lab_chance(of->lab, 0, 99) < (uint64_t)of->lab->errors / 2)
        return vel_fail(err, VEL_ENOSPC, "the store is full");
    if (!vel_vec_push(parts, &about))
        bail_out("no memory");
    *ret_part = (int64_t)parts->n;
    return 0;
}

int lab_part_renumber(void *arg, int64_t part, const struct vel_leader_key *key,
                      struct vel_err *err)
{
    struct lab_leader *of = arg;
    struct vel_vec *files = &of->lab->nodes[of->node].files;

    if (lab_chance(of->lab, 0, 99) < (uint64_t)of->lab->errors)
        return vel_fail(err, VEL_EIO, "the disk");
    lab_set_key(vel_vec_at(&of->lab->nodes[of->node].parts, (size_t)part - 1), key);
    for (size_t i = 0; i < files->n; i++)
        if (file_at(files, i)->part == part)
            lab_set_key(&file_at(files, i)->key, key);
    return 0;
}

int lab_parts(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    struct lab_leader *of = arg;
    const struct vel_vec *files = &of->lab->nodes[of->node].files;

    (void)err;
    for (size_t i = 0; i < files->n; i++) {
        const struct lab_file *file = file_at(files, i);
        struct vel_leader_part part = {.key = {.template = strdup(file->key.template),
                                               .step = strdup(file->key.step),
                                               .generation = file->key.generation,
                                               .is_alone = file->key.is_alone,
                                               .is_late = file->key.is_late},
                                       .file = {.part = file->part,
                                                .rank = file->rank,
                                                .name = strdup(file->name),
                                                .order = file->order,
                                                .size = file->stamp},
                                       .path = strdup("/cache")};
        if (!part.key.template || !part.key.step || !part.file.name || !part.path)
            bail_out("no memory");
        if (file->launch == of->launch && !vel_vec_push(ret, &part))
            bail_out("no memory");
        if (file->launch != of->launch) {
            free((char *)part.key.template);
            free((char *)part.key.step);
            free((char *)part.file.name);
            free(part.path);
        }
    }
    return 0;
}

/* --- the chair --- */

static void name_family(const struct lab_leader *of, const char *template,
                        struct vel_buf *ret)
{
    vel_buf_init(ret);
    vel_buf_printf(ret, "%d %s", of->launch, template);
}

static void copy_family(const struct vel_leader_family *from,
                        struct vel_leader_family *ret)
{
    *ret = (struct vel_leader_family){from->place, strdup(from->steps)};
    if (!ret->steps)
        bail_out("out of memory");
}

int lab_family(void *arg, const char *template, struct vel_leader_family *ret,
               struct vel_err *err)
{
    const struct lab_leader *of = arg;
    const struct vel_leader_family *known;
    struct vel_buf name;

    name_family(of, template, &name);
    known =
        of->lab->families ? vel_map_get(of->lab->families, vel_buf_text(&name)) : NULL;
    vel_buf_fini(&name);
    if (!known)
        return vel_fail(err, VEL_ENOENT, "no family");
    copy_family(known, ret);
    return 0;
}

int lab_make_family(void *arg, const char *template, struct vel_leader_family *family,
                    struct vel_err *err)
{
    const struct lab_leader *of = arg;
    struct vel_leader_family known, *made = calloc(1, sizeof *made);
    struct vel_buf name;

    if (lab_family(arg, template, &known, err) == 0) {
        free(made);
        free(family->steps);
        *family = known;
        return 0;
    }
    if (!of->lab->families)
        of->lab->families = vel_map_create();
    name_family(of, template, &name);
    if (!made || vel_map_set(of->lab->families, vel_buf_text(&name), made, NULL) < 0)
        bail_out("out of memory");
    copy_family(family, made);
    vel_buf_fini(&name);
    return 0;
}

int lab_sealed(void *arg, const char *template, const char *step, int64_t generation,
               int64_t *ret_id, enum vel_verdict *ret_verdict, struct vel_err *err)
{
    struct lab_leader *of = arg;
    const struct lab *lab = of->lab;

    for (int64_t id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];
        if (!dataset->is_keyed || !dataset->is_sealed ||
            dataset->launch != of->launch ||
            !lab_is_key(&dataset->key, template, step, generation))
            continue;
        *ret_id = id;
        *ret_verdict = dataset->verdict;
        return 0;
    }
    for (size_t i = 0; i < lab->voids.n; i++)
        if (file_at(&lab->voids, i)->launch == of->launch &&
            lab_is_key(&file_at(&lab->voids, i)->key, template, step, generation)) {
            *ret_id = 0;
            *ret_verdict = VEL_VERDICT_VOID;
            return 0;
        }
    return vel_fail(err, VEL_ENOENT, "no seal");
}

int lab_previous(void *arg, const char *template, struct vel_leader_previous *ret,
                 struct vel_err *err)
{
    struct lab_leader *of = arg;
    const struct lab *lab = of->lab;

    for (int64_t id = LAB_DATASETS - 1; id > 0; id--) {
        const struct lab_dataset *dataset = &lab->datasets[id];
        struct vel_seal seal;
        if (!dataset->is_keyed || !dataset->is_sealed ||
            dataset->verdict != VEL_VERDICT_SEALED ||
            strcmp(dataset->key.template, template) != 0)
            continue;
        if (dataset->launch != of->launch &&
            !(lab->launches[of->launch].view & LAB_BIT(id)))
            continue;
        lab_get_seal(lab, id, &seal);
        ret->id = id;
        ret->is_ours = dataset->launch == of->launch;
        ret->ranks = (int64_t)seal.members.n;
        for (size_t i = 0; i < seal.members.n; i++) {
            const struct vel_seal_member *member = vel_seal_member(&seal, i);
            struct vel_leader_one one = {member->rank, member->files};
            if (member->files > 0 && !vel_vec_push(&ret->ones, &one))
                bail_out("no memory");
        }
        vel_seal_fini(&seal);
        return 0;
    }
    return vel_fail(err, VEL_ENOENT, "its first");
}

bool lab_is_promise(void *arg, const char *template)
{
    (void)template;
    return ((const struct lab_leader *)arg)->lab->is_promise;
}

int lab_has_whole(void *arg, const char *template, const char *step, int64_t generation,
                  bool *ret_has, struct vel_err *err)
{
    const struct lab_leader *of = arg;
    const struct lab *lab = of->lab;

    (void)err;
    *ret_has = false;
    for (int64_t id = 1; id < LAB_DATASETS; id++) {
        const struct lab_dataset *dataset = &lab->datasets[id];

        *ret_has |= dataset->is_keyed && dataset->is_sealed &&
                    dataset->verdict == VEL_VERDICT_SEALED &&
                    strcmp(dataset->key.template, template) == 0 &&
                    strcmp(dataset->key.step, step) == 0 &&
                    (dataset->launch == of->launch
                         ? dataset->key.generation < generation
                         : (lab->launches[of->launch].view & LAB_BIT(id)) > 0);
    }
    return 0;
}

int lab_compose(void *arg, struct vel_seal *seal, const struct vel_leader_key *key,
                struct vel_err *err)
{
    struct lab *lab = ((struct lab_leader *)arg)->lab;

    if (lab->last_id + 1 >= LAB_DATASETS)
        bail_out("too many datasets");
    if (lab_chance(lab, 0, 99) < (uint64_t)lab->errors)
        return vel_fail(err, VEL_EIO, "the prefix");
    seal->id = ++lab->last_id;
    if (seal->verdict == VEL_VERDICT_SEALED)
        seal->what = VEL_OWED_FLUSH | VEL_OWED_ENCODE;
    lab->datasets[seal->id].is_keyed = true;
    lab_set_key(&lab->datasets[seal->id].key, key);
    for (size_t i = 0; i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        member->set = member->rank / LAB_SET;
        member->place = member->rank % LAB_SET;
        member->scheme = VEL_XOR;
        member->failures = 1;
    }
    return 0;
}

int64_t lab_keep(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                 bool *ret_has_line)
{
    (void)arg;
    *ret_store = 0;
    *ret_has_line = false;
    return seal->template[0] == 't' ? 0 : 2;
}

/* True: another was first, and *seal is its now, or it is void. */
bool lab_file_seal(struct lab_leader *of, struct vel_seal *seal)
{
    struct lab *lab = of->lab;
    enum vel_verdict verdict;
    int64_t id;

    if (lab_sealed(of, seal->template, seal->step, seal->generation, &id, &verdict,
                   NULL) == 0) {
        if (id) {
            vel_seal_fini(seal);
            lab_get_seal(lab, id, seal);
        }
        seal->id = id;
        seal->verdict = verdict;
        return true;
    }
    if (seal->id) {
        lab->datasets[seal->id].verdict = seal->verdict;
        lab->datasets[seal->id].is_complete = true;
        return false;
    }
    struct lab_file key = {.launch = of->launch};
    lab_set_key(&key.key, &(struct vel_leader_key){.template = seal->template,
                                                   .step = seal->step,
                                                   .generation = seal->generation});
    if (!vel_vec_push(&lab->voids, &key))
        bail_out("no memory");
    return true;
}
