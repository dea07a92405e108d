/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/roster.h"

void vel_roster_init(struct vel_roster *roster)
{
    vel_vec_init(&roster->members, sizeof(struct vel_roster_member));
    roster->numbers = NULL;
}

struct vel_roster_member *vel_roster_at(const struct vel_roster *roster, size_t i)
{
    return vel_vec_at(&roster->members, i);
}

void vel_roster_fini(struct vel_roster *roster)
{
    for (size_t i = 0; i < roster->members.n; i++) {
        struct vel_roster_member *member = vel_roster_at(roster, i);

        free(member->node);
        free(member->present);
        free(member->over);
        vel_buf_fini(&member->held);
    }
    vel_vec_fini(&roster->members);
    vel_map_destroy(roster->numbers, NULL);
    roster->numbers = NULL;
}

struct vel_roster_member *vel_roster_get(const struct vel_roster *roster,
                                         const char *node)
{
    uintptr_t number =
        roster->numbers ? (uintptr_t)vel_map_get(roster->numbers, node) : 0;

    return number > 0 ? vel_roster_at(roster, number - 1) : NULL;
}

static struct vel_roster_member *add(struct vel_roster *roster, const char *node)
{
    struct vel_roster_member fresh = {.node = strdup(node),
                                      .place = (int64_t)roster->members.n};
    struct vel_roster_member *member =
        fresh.node ? vel_vec_push(&roster->members, &fresh) : NULL;
    uintptr_t number = roster->members.n;

    if (member && !roster->numbers)
        roster->numbers = vel_map_create();
    if (member && roster->numbers &&
        vel_map_set(roster->numbers, node, (void *)number, NULL) == 0) {
        vel_buf_init(&member->held);
        return member;
    }
    if (member)
        vel_vec_remove(&roster->members, number - 1);
    free(fresh.node);
    return NULL;
}

static bool knows_rank(const char *present, long rank)
{
    for (const char *at = present; *at;) {
        char *end;

        if (strtol(at, &end, 10) == rank)
            return true;
        at = end + strcspn(end, " ");
        at += strspn(at, " ");
    }
    return false;
}

bool vel_roster_tell(struct vel_roster_member *member, const char *present)
{
    const char *before = member->present ? member->present : "";
    char word[VEL_ROSTER_NAME];
    struct vel_buf all;

    vel_buf_init(&all);
    vel_buf_puts(&all, present);
    while (vel_words_next(&before, word))
        if (strpbrk(word, "-!") && !knows_rank(present, strtol(word, NULL, 10)))
            vel_buf_printf(&all, "%s%s", all.len > 0 ? " " : "", word);
    char *text = vel_buf_take(&all, NULL);
    if (!text)
        return false;
    free(member->present);
    member->present = text;
    return true;
}

bool vel_roster_left(struct vel_roster *roster, const char *node, const char *present,
                     uint64_t now)
{
    struct vel_roster_member *member = vel_roster_get(roster, node);

    if (!member) {
        member = add(roster, node);
        if (!member)
            return false;
        member->has_left = true;
        member->gone_at = now;
    }
    char *told = member->present;

    member->present = strdup(present);
    bool is_well = member->present && vel_roster_tell(member, told ? told : "");
    free(told);
    return is_well;
}

struct vel_roster_member *vel_roster_join(struct vel_roster *roster, const char *node,
                                          const char *present, const char *over)
{
    struct vel_roster_member *member = vel_roster_get(roster, node);
    char *ended = strdup(over);

    if (!member && ended)
        member = add(roster, node);
    if (!member || !ended || !vel_roster_tell(member, present)) {
        free(ended);
        return NULL;
    }
    free(member->over);
    member->over = ended;
    member->is_here = true;
    member->has_left = member->is_dead = false;
    member->looked_at = 0;
    member->is_direct = true;
    return member;
}

bool vel_roster_has(const struct vel_roster *roster, const char *node)
{
    const struct vel_roster_member *member = vel_roster_get(roster, node);

    return member && member->is_here;
}

size_t vel_roster_here(const struct vel_roster *roster)
{
    size_t n = 0;

    for (size_t i = 0; i < roster->members.n; i++)
        n += vel_roster_at(roster, i)->is_here;
    return n;
}

void vel_roster_parents(const struct vel_roster *roster, int64_t place,
                        struct vel_buf *ret)
{
    for (int64_t p = (place - 1) / VEL_ROSTER_FAN; place > 0 && p > 0;
         p = (p - 1) / VEL_ROSTER_FAN) {
        const struct vel_roster_member *member = vel_roster_at(roster, (size_t)p);

        if (member->is_here)
            vel_buf_printf(ret, "%s%s", ret->len > 0 ? " " : "", member->node);
    }
}

bool vel_words_next(const char **words, char ret_word[VEL_ROSTER_NAME])
{
    const char *at = *words + strspn(*words, " ");
    size_t len = strcspn(at, " ");

    if (len == 0 || len >= VEL_ROSTER_NAME)
        return false;
    memcpy(ret_word, at, len);
    ret_word[len] = '\0';
    *words = at + len;
    return true;
}

bool vel_words_have(const char *words, const char *word)
{
    char one[VEL_ROSTER_NAME];

    while (vel_words_next(&words, one))
        if (strcmp(one, word) == 0)
            return true;
    return false;
}

bool vel_roster_has_all(const struct vel_roster *roster, const char *nodes)
{
    char node[VEL_ROSTER_NAME];

    while (vel_words_next(&nodes, node))
        if (!vel_roster_has(roster, node))
            return false;
    return true;
}
