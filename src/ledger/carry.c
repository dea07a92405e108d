/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ledger/carry.h"
#include "ledger/ledger_in.h"

void vel_carry_init(struct vel_carry *carry, const struct vel_ledger_dir *dir,
                    struct vel_ledger_name own)
{
    *carry = (struct vel_carry){.dir = dir, .own = own};
    vel_vec_init(&carry->texts, sizeof(struct vel_ledger_text));
}

void vel_carry_fini(struct vel_carry *carry)
{
    vel_ledger_texts_fini(&carry->texts);
}

/* --- what is carried --- */

/* By what was read: such a launch has nothing that counts. */
static bool was_carried(const struct vel_carry *carry, int64_t launch)
{
    bool was = false;

    for (size_t i = 0; !was && i < carry->texts.n; i++)
        was = vel_ledger_carries(vel_vec_at(&carry->texts, i), launch);
    return was;
}

bool vel_carry_has(const struct vel_carry *carry, int64_t launch)
{
    bool has = was_carried(carry, launch);

    for (size_t i = 0; !has && i < carry->texts.n; i++)
        has = ((struct vel_ledger_text *)vel_vec_at(&carry->texts, i))->name.launch ==
              launch;
    return has && launch != carry->own.launch;
}

static int compare_texts(const void *a, const void *b)
{
    const struct vel_ledger_text *x = a, *y = b;

    return (x->name.launch > y->name.launch) - (x->name.launch < y->name.launch);
}

static int keep(struct vel_carry *carry, struct vel_ledger_text *text,
                struct vel_err *err)
{
    bool is_there;
    size_t i = vel_vec_place(&carry->texts, text, compare_texts, &is_there);

    if (!is_there && vel_vec_insert(&carry->texts, i, text))
        return 0;
    vel_ledger_text_fini(text);
    return vel_out_of_memory(err, "ledgers");
}

/* --- to take --- */

int vel_carry_own(struct vel_carry *carry, struct vel_err *err)
{
    struct vel_ledger_text text;
    struct vel_vec list;
    bool has = false;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc == 0)
        rc = vel_ledger_counting(carry->dir, &list, carry->own, &text, &has, err);
    vel_vec_fini(&list);
    if (rc == VEL_ENOENT || (rc == 0 && !has))
        return vel_fail(err, VEL_ECANCEL, "launch %" PRId64 " in %s is over",
                        carry->own.launch, carry->dir->path);
    return rc == 0 ? keep(carry, &text, err) : rc;
}

static bool is_listed(const struct vel_vec *list, struct vel_ledger_name name)
{
    bool is = false;

    for (size_t i = 0; !is && i < list->n; i++) {
        const struct vel_ledger_name *item = vel_vec_at(list, i);

        is = item->launch == name.launch && item->term == name.term;
    }
    return is;
}

/* Is the end that a launch has one that this ledger goes on from? */
static int check_end(const struct vel_carry *carry, struct vel_ledger_name name,
                     bool *ret_is_end, bool *ret_is_mine, struct vel_err *err)
{
    struct vel_ledger_text text;
    int rc = vel_ledger_load(carry->dir, name, &text, err);

    if (rc < 0)
        return rc;
    *ret_is_end = text.heir > 0;
    *ret_is_mine = text.heir == carry->own.launch || vel_carry_has(carry, text.heir);
    vel_ledger_text_fini(&text);
    return 0;
}

/* Whoever has the end of a launch carries it. VEL_ENOENT: its ledgers change; look
 * again. */
static int take_end(const struct vel_carry *carry, const struct vel_ledger_self *self,
                    struct vel_ledger_name highest, bool *ret_is_mine,
                    struct vel_err *err)
{
    const struct vel_ledger_name end = {highest.launch, highest.term + 1};
    struct vel_vec list;
    bool is_end, is_there;
    int rc = check_end(carry, highest, &is_end, ret_is_mine, err);

    if (rc < 0 || is_end)
        return rc;
    rc = vel_ledger_end(carry->dir, end, self, carry->own.launch, err);
    if (rc == VEL_EEXIST)
        return VEL_ENOENT;
    if (rc == 0)
        rc = vel_ledger_list(carry->dir, &list, err);
    if (rc < 0)
        return rc;
    is_there = is_listed(&list, highest);
    vel_vec_fini(&list);
    *ret_is_mine = true;
    return is_there ? 0 : VEL_ENOENT;
}

/* What counts of a launch whose end is this ledger's. */
static int take_facts(struct vel_carry *carry, int64_t launch, struct vel_err *err)
{
    const struct vel_ledger_name any = {launch, INT64_MAX}, first = {launch, 0};
    struct vel_ledger_text text;
    struct vel_vec list;
    bool has = false;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc < 0)
        return rc;
    rc = vel_ledger_counting(carry->dir, &list, any, &text, &has, err);
    if (rc == 0 && !has)
        text = (struct vel_ledger_text){.name = first};
    if (rc == 0 && (has || is_listed(&list, first))) /* else others have carried it */
        rc = keep(carry, &text, err);
    vel_vec_fini(&list);
    return rc;
}

int vel_carry_launch(struct vel_carry *carry, const struct vel_ledger_self *self,
                     int64_t launch, struct vel_err *err)
{
    int rc = VEL_ENOENT;

    while (rc == VEL_ENOENT && launch < carry->own.launch &&
           !vel_carry_has(carry, launch)) {
        struct vel_ledger_name highest = {launch, -1};
        struct vel_vec list;
        bool is_mine = false;

        rc = vel_ledger_list(carry->dir, &list, err);
        if (rc < 0)
            return rc;
        highest.term = vel_ledger_highest(&list, launch);
        vel_vec_fini(&list);
        if (highest.term < 0)
            return 0;
        rc = take_end(carry, self, highest, &is_mine, err);
        if (rc == 0 && is_mine)
            rc = take_facts(carry, launch, err);
    }
    return rc == VEL_ENOENT ? 0 : rc;
}

/* --- what a begin says --- */

static int compare_from(const void *a, const void *b)
{
    const struct vel_ledger_from *x = a, *y = b;

    return (x->launch > y->launch) - (x->launch < y->launch);
}

/* A ledger that is a source stays one. */
static int put_from(struct vel_vec *ret, struct vel_ledger_from from,
                    struct vel_err *err)
{
    bool is_there;
    size_t i = vel_vec_place(ret, &from, compare_from, &is_there);

    return is_there || vel_vec_insert(ret, i, &from)
               ? 0
               : vel_out_of_memory(err, "ledgers");
}

/* The lowest launch that there is and nobody carries. */
static int find_floor(const struct vel_carry *carry, int64_t *ret, struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc < 0)
        return rc;
    *ret = carry->own.launch;
    for (size_t i = list.n; i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(&list, i);

        if (name->launch < *ret && !vel_carry_has(carry, name->launch))
            *ret = name->launch;
    }
    vel_vec_fini(&list);
    return 0;
}

static int put_old(const struct vel_ledger_text *text, int64_t floor,
                   struct vel_vec *ret, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < text->from.n; i++) {
        const struct vel_ledger_from *from = vel_vec_at(&text->from, i);

        if (from->launch >= floor && from->launch != text->name.launch)
            rc = put_from(ret, (struct vel_ledger_from){from->launch, -1}, err);
    }
    return rc;
}

int vel_carry_list(const struct vel_carry *carry, int64_t *ret_floor,
                   struct vel_vec *ret, struct vel_err *err)
{
    int rc = find_floor(carry, ret_floor, err);

    vel_vec_init(ret, sizeof(struct vel_ledger_from));
    for (size_t i = 0; rc == 0 && i < carry->texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&carry->texts, i);

        rc = put_from(ret,
                      (struct vel_ledger_from){text->name.launch,
                                               text->has_begin ? text->name.term : -1},
                      err);
    }
    for (size_t i = 0; rc == 0 && i < carry->texts.n; i++)
        rc = put_old(vel_vec_at(&carry->texts, i), *ret_floor, ret, err);
    if (rc < 0)
        vel_vec_fini(ret);
    return rc;
}

/* --- to remove --- */

/* Terms of a launch below this one are needed by nobody. */
static int64_t find_needed(const struct vel_carry *carry, int64_t launch)
{
    const struct vel_ledger_text key = {.name.launch = launch};
    bool is_there;
    size_t i = vel_vec_place(&carry->texts, &key, compare_texts, &is_there);
    const struct vel_ledger_text *text = is_there ? vel_vec_at(&carry->texts, i) : NULL;

    if (text)
        return text->has_begin ? text->name.term : 0;
    return launch != carry->own.launch && was_carried(carry, launch) ? INT64_MAX : 0;
}

/* Items `first` to behind the last of a launch, from the lowest term up. */
static int remove_chain(const struct vel_carry *carry, const struct vel_vec *list,
                        size_t first, size_t behind, struct vel_err *err)
{
    const struct vel_ledger_name *name = vel_vec_at(list, first);
    int64_t needed = find_needed(carry, name->launch);
    int rc = 0;

    for (size_t i = first; rc == 0 && i < behind; i++) {
        char *path;

        name = vel_vec_at(list, i);
        if (name->term >= needed)
            break;
        if (i + 1 == behind) /* a chain without its lowest names has no gap */
            rc = vel_fs_sync_dir(carry->dir->fs, carry->dir->path, err);
        path = vel_ledger_path(carry->dir, *name);
        if (rc == 0)
            rc = path ? vel_fs_unlink(carry->dir->fs, path, err)
                      : vel_out_of_memory(err, "ledgers");
        free(path);
    }
    return rc;
}

int vel_carry_remove(const struct vel_carry *carry, struct vel_err *err)
{
    struct vel_vec list;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc < 0)
        return rc;
    for (size_t first = 0, i = 0; i < list.n; first = i) {
        const struct vel_ledger_name *name = vel_vec_at(&list, first);
        struct vel_err why = {0};
        int64_t launch = name->launch;

        while (i < list.n &&
               ((struct vel_ledger_name *)vel_vec_at(&list, i))->launch == launch)
            i++;
        int one = remove_chain(carry, &list, first, i, &why);
        if (one < 0 && rc == 0)
            rc = vel_fail(err, (enum vel_status)one, "%s", why.text);
    }
    vel_vec_fini(&list);
    return rc;
}
