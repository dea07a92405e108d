/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/path.h"
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

static bool is_listed(const struct vel_vec *list, struct vel_ledger_name name)
{
    bool is = false;

    for (size_t i = 0; !is && i < list->n; i++) {
        const struct vel_ledger_name *item = vel_vec_at(list, i);

        is = item->launch == name.launch && item->term == name.term;
    }
    return is;
}

/* VEL_ENOENT: ledgers come and go meanwhile. */
static int take_own(struct vel_carry *carry, struct vel_err *err)
{
    struct vel_ledger_text text;
    struct vel_vec list;
    bool has = false;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc < 0)
        return rc;
    rc = is_listed(&list, carry->own)
             ? vel_ledger_counting(carry->dir, &list, carry->own, &text, &has, err)
             : VEL_ECANCEL;
    vel_vec_fini(&list);
    if (rc == VEL_ECANCEL || (rc == 0 && !has))
        return vel_fail(err, VEL_ECANCEL,
                        "nothing counts of launch %" PRId64
                        " in %s: others have carried it, or it has never begun",
                        carry->own.launch, carry->dir->path);
    return rc == 0 ? keep(carry, &text, err) : rc;
}

int vel_carry_own(struct vel_carry *carry, struct vel_err *err)
{
    int rc, round = 0;

    do
        rc = take_own(carry, err);
    while (rc == VEL_ENOENT && vel_ledger_again(carry->dir, &round, err) == 0);
    return rc;
}

/* Whoever has the end of a launch carries it. VEL_ENOENT: its ledgers change; look
 * again. */
static int take_end(const struct vel_carry *carry, const struct vel_ledger_self *self,
                    struct vel_ledger_name highest, bool *ret_is_mine,
                    struct vel_err *err)
{
    const struct vel_ledger_name end = {highest.launch, highest.term + 1};
    struct vel_vec list;
    int64_t heir;
    int rc = vel_ledger_heir(carry->dir, highest, &heir, err);

    if (rc < 0)
        return rc;
    *ret_is_mine = heir == 0 || heir == carry->own.launch || vel_carry_has(carry, heir);
    if (heir > 0)
        return 0;
    rc = vel_ledger_end(carry->dir, end, self, carry->own.launch, err);
    if (rc == VEL_EEXIST)
        return VEL_ENOENT;
    if (rc == 0)
        rc = vel_ledger_list(carry->dir, &list, err);
    if (rc < 0)
        return rc;
    rc = is_listed(&list, highest) ? 0 : VEL_ENOENT;
    vel_vec_fini(&list);
    return rc;
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

static int take_launch(struct vel_carry *carry, const struct vel_ledger_self *self,
                       int64_t launch, struct vel_err *err)
{
    struct vel_ledger_name highest = {launch, -1};
    struct vel_vec list;
    bool is_mine = false;
    int rc = vel_ledger_list(carry->dir, &list, err);

    if (rc < 0)
        return rc;
    highest.term = vel_ledger_highest(&list, launch);
    vel_vec_fini(&list);
    if (highest.term < 0)
        return 0;
    rc = take_end(carry, self, highest, &is_mine, err);
    return rc == 0 && is_mine ? take_facts(carry, launch, err) : rc;
}

int vel_carry_launch(struct vel_carry *carry, const struct vel_ledger_self *self,
                     int64_t launch, struct vel_err *err)
{
    int rc, round = 0;

    if (launch >= carry->own.launch || vel_carry_has(carry, launch))
        return 0;
    do
        rc = take_launch(carry, self, launch, err);
    while (rc == VEL_ENOENT && vel_ledger_again(carry->dir, &round, err) == 0);
    return rc == VEL_ENOENT ? VEL_EBUSY : rc;
}

/* --- what a begin says --- */

/* A ledger that is a source stays one. */
static int put_from(struct vel_vec *ret, struct vel_ledger_from from,
                    struct vel_err *err)
{
    bool is_there;
    size_t i = vel_vec_place(ret, &from, vel_ledger_from_compare, &is_there);

    return is_there || vel_vec_insert(ret, i, &from)
               ? 0
               : vel_out_of_memory(err, "ledgers");
}

/* The lowest launch that nobody carries, of those that there are. */
static int find_floor(const struct vel_carry *carry, int64_t *ret, struct vel_err *err)
{
    struct vel_vec list;
    int rc = 0;

    *ret = carry->own.launch;
    if (carry->dir->has_all) { /* no list is needed, which may lack one that lives */
        for (*ret = 1; *ret < carry->own.launch && vel_carry_has(carry, *ret);)
            ++*ret;
        return 0;
    }
    rc = vel_ledger_list(carry->dir, &list, err);
    for (size_t i = rc == 0 ? list.n : 0; i-- > 0;) {
        const struct vel_ledger_name *name = vel_vec_at(&list, i);

        if (name->launch < *ret && !vel_carry_has(carry, name->launch))
            *ret = name->launch;
    }
    if (rc == 0)
        vel_vec_fini(&list);
    return rc;
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

/* From the lowest term up, each when those before it are gone, from the disk, too,
 * where others may outlive a loss of power: a chain has no gap. */
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
        if (i > first && carry->dir->is_shared)
            rc = vel_fs_sync_dir(carry->dir->fs, carry->dir->path, err);
        path = vel_ledger_path(carry->dir, *name);
        if (rc == 0)
            rc = path ? vel_fs_unlink(carry->dir->fs, path, err)
                      : vel_out_of_memory(err, "ledgers");
        free(path);
    }
    return rc;
}

/* Of what is torn there is no second copy but in the ledgers that it comes from. */
static bool is_torn(const struct vel_carry *carry)
{
    bool is = false;

    for (size_t i = 0; !is && i < carry->texts.n; i++)
        is = ((struct vel_ledger_text *)vel_vec_at(&carry->texts, i))->is_torn;
    return is;
}

/* Names that crashes have left: of claims, and of looks. */
static int sweep(const struct vel_ledger_dir *dir, struct vel_err *err)
{
    int rc = vel_fs_once_sweep(dir->fs, dir->path, err);

    return rc == 0 ? vel_fs_sweep_looks(dir->fs, dir->path, err) : rc;
}

int vel_carry_remove(const struct vel_carry *carry, struct vel_err *err)
{
    struct vel_vec list;
    int rc;

    if (is_torn(carry))
        return 0;
    rc = sweep(carry->dir, err);
    if (rc == 0)
        rc = vel_ledger_list(carry->dir, &list, err);
    if (rc < 0)
        return rc;
    for (size_t first, i = 0; i < list.n;) {
        struct vel_err why = {0};
        int one;

        vel_ledger_chain(&list,
                         ((struct vel_ledger_name *)vel_vec_at(&list, i))->launch,
                         &first, &i);
        one = remove_chain(carry, &list, first, i, &why);
        if (one < 0 && rc == 0)
            rc = vel_fail(err, (enum vel_status)one, "%s", why.text);
    }
    vel_vec_fini(&list);
    return rc;
}
