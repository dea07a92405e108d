/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the connector on this node: what the settings say of a name, and the
 * batches (doc/life.txt, 2 and 3). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/rules.h"
#include "jobs/compose.h"
#include "meta/cachename.h"
#include "meta/ids.h"
#include "node/service_in.h"
#include "node/service_room.h"
#include "topo/seats.h"

enum { PARTS_MANY = 256 };

/* --- what the settings say --- */

/* "NAME PATTERN": two lines of one name are two templates. */
static char *template_of(const struct vel_line *line)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s %s", line->name,
                   ((const struct vel_dataset_rule *)line->data)->pattern);
    return vel_buf_take(&text, NULL);
}

const struct vel_line *vel_service_line(const struct vel_service *service,
                                        const char *template)
{
    return vel_compose_line(service->conf, template);
}

/* In whose store new files of a rule (NULL: of none) are, if that has room. */
static int choose_level(const struct vel_service *service,
                        const struct vel_dataset_rule *rule, size_t *ret_level,
                        struct vel_err *err)
{
    int rc = vel_compose_first_level(service->conf, rule, ret_level, err);

    return rc == 0 && vel_seats_is_bypass(service->conf, *ret_level)
               ? vel_fail(err, VEL_ESTATE,
                          "its level goes straight to the prefix (BYPASS=1)")
               : rc;
}

static bool has_home(const struct vel_service *service, size_t level)
{
    size_t store;

    for (size_t k = 0; vel_seats_spill(service->conf, level, k, &store); k++)
        if (vel_seats_home(service->conf, store, service->homes, service->n_homes) <
            service->n_homes)
            return true;
    return false;
}

/* Without a cache on this node alone it is a part of its key all the same. */
static void decide(const struct vel_service *service,
                   const struct vel_dataset_rule *rule, struct vel_leader_rule *ret)
{
    struct vel_err why = {0};
    size_t level;

    if (!rule && service->conf->unlisted == VEL_UNLISTED_LIVE) {
        ret->is_native = true;
        snprintf(ret->why, sizeof ret->why, "no DATASET line has it (UNLISTED=LIVE)");
    } else if (rule && rule->kind == VEL_KIND_NONE) {
        ret->is_native = true;
        snprintf(ret->why, sizeof ret->why, "its DATASET line says KIND=NONE");
    } else if (choose_level(service, rule, &level, &why) < 0) {
        ret->is_native = true;
        snprintf(ret->why, sizeof ret->why, "%.*s", (int)sizeof ret->why - 1, why.text);
    } else if (!rule && !has_home(service, level)) {
        ret->is_native = true;
        snprintf(ret->why, sizeof ret->why, "this node has no cache for its level");
    }
}

int vel_service_rule(void *arg, const char *name, struct vel_leader_rule *ret,
                     struct vel_err *err)
{
    const struct vel_service *service = arg;
    struct vel_leader_rule rule = {.is_alone = true};
    struct vel_rule_fit fit;
    const char *below;

    if (*name != '/')
        return vel_fail(err, VEL_EINVAL, "'%s' is no whole path of a file", name);
    below = vel_path_below(service->prefix, name);
    rule.plain = below ? (size_t)(below - name) : 0;
    rule.is_there = vel_rules_find(service->conf, service->prefix, name, &fit);
    if (rule.is_there) {
        rule.is_alone = !fit.has_rank && !strchr(fit.rule->pattern, '*');
        rule.template = template_of(fit.line);
        rule.step = strdup(fit.step);
        if (!rule.template || !rule.step) {
            free(rule.template);
            free(rule.step);
            return vel_out_of_memory(err, "a rule");
        }
    }
    rule.is_live = !rule.is_there && service->conf->unlisted != VEL_UNLISTED_BEHIND;
    decide(service, rule.is_there ? fit.rule : NULL, &rule);
    *ret = rule;
    return 0;
}

bool vel_service_is_promise(void *arg, const char *template)
{
    const struct vel_line *line = vel_service_line(arg, template);

    return line &&
           ((const struct vel_dataset_rule *)line->data)->kind != VEL_KIND_OUTPUT;
}

/* --- lines that nothing fits --- */

void vel_service_note_use(struct vel_service *service, const char *template)
{
    const struct vel_line *used = vel_service_line(service, template), *line;

    if (!used && *template == '/' && !service->stray)
        service->stray = strdup(template);
    for (size_t i = 0;
         used && i < 64 && (line = vel_conf_line(service->conf, VEL_DATASET, i)); i++)
        service->lines_used |= (uint64_t)(line == used) << i;
}

/* Of the same name in another directory it was told when it was made. */
static bool is_told(const char *pattern, const char *stray)
{
    return strcmp(vel_path_base(pattern), vel_path_base(stray)) == 0 ||
           vel_rule_fits_elsewhere(pattern, stray);
}

/* A tool beside the program that the lines are for is no reason to warn. */
void vel_service_tell_unused(struct vel_service *service)
{
    const struct vel_line *line;

    /* one that came later does not know them all */
    if (!service->is_first_chair || !service->stray)
        return;
    for (size_t i = 0; i < 64 && (line = vel_conf_line(service->conf, VEL_DATASET, i));
         i++) {
        const struct vel_dataset_rule *rule = line->data;

        if (service->lines_used >> i & 1 || rule->kind == VEL_KIND_NONE ||
            is_told(rule->pattern, service->stray))
            continue;
        vel_log(
            service->ranks > 1 ? VEL_LOG_WARN : VEL_LOG_INFO,
            "%s:%d: no file that was made fits DATASET=%s PATTERN=%s, and %s has no "
            "line: patterns begin at the prefix %s, or with /",
            line->source.where ? line->source.where : "the settings", line->source.line,
            line->name, rule->pattern, service->stray, service->prefix);
    }
    free(service->stray);
    service->stray = NULL;
}

/* --- batches --- */

struct vel_service_part *vel_service_part(const struct vel_service *service,
                                          int64_t part)
{
    for (size_t i = 0; i < service->parts.n; i++) {
        struct vel_service_part *known = vel_vec_at(&service->parts, i);

        if (known->number == part)
            return known;
    }
    return NULL;
}

/* May other machines have this cache, too? */
static bool is_shared(const struct vel_conf *conf, const char *home)
{
    const struct vel_line *line = vel_seats_store(conf, home);
    const char *group =
        line ? ((const struct vel_store_line *)line->data)->group : NULL;

    return group && strcmp(group, "NODE") != 0;
}

int vel_service_make_batches(struct vel_service *service, struct vel_err *err)
{
    struct vel_batches_of of = {.fs = service->fs,
                                .clock = service->clock,
                                .node = service->host.node,
                                .launch = service->launch,
                                .ranks = service->ranks,
                                .limit = service->limit_ms * VEL_CLOCK_MS};
    int rc = 0;

    service->batches = calloc(service->n_homes + 1, sizeof(struct vel_batches *));
    if (!service->batches)
        return vel_out_of_memory(err, "a leader");
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++) {
        of.home = service->homes[i];
        of.is_shared = is_shared(service->conf, of.home);
        rc = vel_batches_create(&of, &service->batches[i], err);
    }
    return rc;
}

void vel_service_forget_batches(struct vel_service *service)
{
    for (size_t i = 0; service->batches && service->batches[i]; i++)
        vel_batches_destroy(service->batches[i]);
    free(service->batches);
    for (size_t i = 0; i < service->parts.n; i++)
        free(((struct vel_service_part *)vel_vec_at(&service->parts, i))->dir);
    vel_vec_fini(&service->parts);
}

struct vel_batches *vel_service_batches(const struct vel_service *service,
                                        const char *dir)
{
    for (size_t i = 0; i < service->n_homes; i++)
        if (vel_path_below(service->homes[i], dir))
            return service->batches[i];
    return NULL;
}

/* Most are parts of datasets by now, and their directories gone. */
static void forget_taken(struct vel_service *service)
{
    struct vel_service_part *items = service->parts.items;
    size_t n = 0;

    for (size_t i = 0; i < service->parts.n; i++)
        if (vel_batches_has(vel_service_batches(service, items[i].dir), items[i].dir))
            items[n++] = items[i];
        else
            free(items[i].dir);
    service->parts.n = n;
    service->many_parts = n < PARTS_MANY ? PARTS_MANY : 2 * n;
}

static int know_part(struct vel_service *service, const char *dir, int64_t *ret_number,
                     struct vel_err *err)
{
    struct vel_service_part part = {.number = ++service->last_part, .dir = strdup(dir)};

    if (service->parts.n > service->many_parts)
        forget_taken(service);
    *ret_number = part.number;
    if (part.dir && vel_vec_push(&service->parts, &part))
        return 0;
    free(part.dir);
    return vel_out_of_memory(err, "a batch");
}

static struct vel_batch_key key_of(const struct vel_service *service,
                                   const struct vel_leader_key *key)
{
    return (struct vel_batch_key){.launch = service->launch,
                                  .template = (char *)(uintptr_t)key->template,
                                  .step = (char *)(uintptr_t)key->step,
                                  .generation = key->generation,
                                  .is_alone = key->is_alone,
                                  .is_late = key->is_late,
                                  .ranks = service->ranks,
                                  .above = service->above};
}

/* Of a line, as facts say it. */
static int kind_of(const struct vel_line *line, const char *template)
{
    static const int kinds[] = {[VEL_KIND_CHECKPOINT] = VEL_LINE_IS_CHECKPOINT,
                                [VEL_KIND_OUTPUT] = VEL_LINE_IS_OUTPUT,
                                [VEL_KIND_BOTH] =
                                    VEL_LINE_IS_CHECKPOINT | VEL_LINE_IS_OUTPUT,
                                [VEL_KIND_NONE] = 0};

    if (!line)
        return strstr(template, "{rank}") ? VEL_LINE_IS_FAMILY : 0;
    return kinds[((const struct vel_dataset_rule *)line->data)->kind];
}

/* In the store of a level, the files of which are of another one, maybe. */
static int make_batch(struct vel_service *service, const struct vel_leader_key *key,
                      size_t level, size_t store, char **ret_dir, struct vel_err *err)
{
    const struct vel_batch_key borrowed = key_of(service, key);
    const struct vel_line *line = vel_service_line(service, key->template);
    size_t home = 0;
    int rc =
        vel_service_find_room(service, level, store, service->largest_part, &home, err);

    return rc < 0 ? rc
                  : vel_batches_make(service->batches[home], &borrowed, (int64_t)level,
                                     kind_of(line, key->template), ret_dir, err);
}

/* In its own store, or the next one that takes it. When none does the first says why,
 * but for one that may have room later. */
static int make_somewhere(struct vel_service *service, const struct vel_leader_key *key,
                          size_t level, char **ret_dir, struct vel_err *err)
{
    struct vel_err first = {0}, why = {0};
    size_t store;
    int rc = VEL_ENOENT;

    for (size_t k = 0; rc < 0 && rc != VEL_ECANCEL && rc != VEL_ENOMEM &&
                       vel_seats_spill(service->conf, level, k, &store);
         k++) {
        rc = make_batch(service, key, level, store, ret_dir, &why);
        if (rc < 0 && (k == 0 || (rc == VEL_ENOSPC && first.status != VEL_ENOSPC)))
            first = why;
        if (rc == 0 && service->last_part == 0)
            vel_service_tell_unused_stores(service, level, store);
        if (rc == 0 && k > 0)
            vel_service_tell_spill(service, level, store, &first);
    }
    return rc < 0 ? vel_fail(err, first.status, "%s", first.text) : 0;
}

int vel_service_part_new(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                         struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_line *line = vel_service_line(service, key->template);
    char *dir = NULL;
    size_t level = 0;
    int rc = choose_level(service, line ? line->data : NULL, &level, err);

    if (rc == 0 && service->above < 0)
        rc = vel_index_last(service->index, &service->above, err);
    if (rc == 0)
        rc = make_somewhere(service, key, level, &dir, err);
    if (rc == 0)
        rc = know_part(service, dir, ret_part, err);
    if (rc == 0)
        vel_service_note_use(service, key->template);
    free(dir);
    return rc;
}

int vel_service_part_renumber(void *arg, int64_t part, const struct vel_leader_key *key,
                              struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_service_part *known = vel_service_part(service, part);
    const struct vel_batch_key borrowed = key_of(service, key);

    if (!known)
        return vel_fail(err, VEL_ENOENT, "there is no batch %lld", (long long)part);
    return vel_batches_renumber(vel_service_batches(service, known->dir), known->dir,
                                &borrowed, err);
}

/* Of no dataset yet nobody finds it here any more; the stub at its name is that of who
 * has it now. */
int vel_service_part_give(void *arg, const struct vel_leader_file *file, int64_t id,
                          struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_service_part *known = vel_service_part(service, file->part);
    struct vel_placeholder_file of = {.rank = file->rank};
    char *name = NULL;
    int rc;

    if (!known) /* its dataset is gone */
        return 0;
    rc = vel_cachename_of(service->prefix, file->name, &name, err);
    of.dir = known->dir;
    of.name = name;
    if (rc == 0)
        rc = vel_batches_give(vel_service_batches(service, known->dir), known->dir,
                              file->rank, name, id == 0, err);
    if (rc == 0 && id == 0)
        rc = vel_placeholders_give_up(service->placeholders, &of, false, err);
    free(name);
    return rc;
}

/* --- those that are found --- */

static void part_fini(struct vel_leader_part *part)
{
    free((char *)(uintptr_t)part->key.template);
    free((char *)(uintptr_t)part->key.step);
    free((char *)(uintptr_t)part->file.name);
    free(part->path);
}

static int add_file(struct vel_service *service, const struct vel_batch *from,
                    int64_t number, int64_t rank, const struct vel_batch_file *file,
                    struct vel_vec *ret, struct vel_err *err)
{
    struct vel_leader_part part = {.key = {.template = strdup(from->key.template),
                                           .step = strdup(from->key.step),
                                           .generation = from->key.generation,
                                           .is_alone = from->key.is_alone,
                                           .is_late = from->key.is_late},
                                   .file = {.part = number,
                                            .rank = rank,
                                            .order = file->order,
                                            .size = file->size},
                                   .is_given = vel_batch_is_given(file)};
    char *name = NULL;
    int rc = vel_cachename_path(service->prefix, file->name, &name, err);

    part.file.name = name;
    if (rc == 0)
        rc = vel_batch_path(from->dir, rank, file->name, &part.path, err);
    if (rc == 0 && (!part.key.template || !part.key.step || !vel_vec_push(ret, &part)))
        rc = vel_out_of_memory(err, "batches");
    if (rc < 0)
        part_fini(&part);
    return rc;
}

static int add_part(struct vel_service *service, const struct vel_batch *from,
                    struct vel_vec *ret, struct vel_err *err)
{
    int64_t number = 0;
    int rc = know_part(service, from->dir, &number, err);

    for (size_t i = 0; rc == 0 && i < from->ranks.n; i++) {
        const struct vel_batch_rank *rank = vel_vec_at(&from->ranks, i);

        for (size_t k = 0; rc == 0 && k < rank->files.n; k++)
            rc = add_file(service, from, number, rank->rank,
                          vel_vec_at(&rank->files, k), ret, err);
    }
    return rc;
}

void vel_service_adopt(struct vel_service *service)
{
    struct vel_err why = {0};

    for (size_t i = 0; i < service->n_homes; i++)
        if (vel_batches_adopt(service->batches[i], &why) < 0)
            vel_log(VEL_LOG_WARN, "what a leader before had in %s is not known: %s",
                    service->homes[i], why.text);
}

int vel_service_parts(void *arg, struct vel_vec *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_err why = {0};
    struct vel_vec found;
    int rc = 0;

    vel_vec_init(&found, sizeof(struct vel_batch));
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++)
        rc = vel_batches_list(service->batches[i], &found, err);
    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        const struct vel_batch *part = vel_vec_at(&found, i);

        if (strcmp(part->key.launch, service->launch) == 0)
            rc = add_part(service, part, ret, err);
    }
    vel_batch_list_fini(&found);
    if (rc == 0 && vel_service_natives(service, ret, &why) < 0)
        vel_log(VEL_LOG_WARN, "files that were written natively are not known: %s",
                why.text);
    return rc;
}
