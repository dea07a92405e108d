/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "meta/follow.h"
#include "meta/launch.h"

int vel_follow_init(struct vel_follow *follow, struct vel_fs *fs, const char *dir,
                    const char *launch, struct vel_err *err)
{
    *follow = (struct vel_follow){.fs = fs, .launch_dir = vel_launch_dir(dir, launch)};
    return follow->launch_dir ? 0 : vel_out_of_memory(err, "a ledger");
}

void vel_follow_fini(struct vel_follow *follow)
{
    free(follow->launch_dir);
    follow->launch_dir = NULL;
}

/* Terms between may have gone. */
bool vel_follow_is_last(const struct vel_follow *follow)
{
    const struct vel_ledger_dir dir = {.fs = follow->fs, .path = follow->launch_dir};
    struct vel_vec list;
    bool is;

    if (!follow->has_term || vel_ledger_list(&dir, &list, NULL) < 0)
        return false;
    is = vel_ledger_highest(&list, follow->name.launch) == follow->name.term;
    vel_vec_fini(&list);
    return is;
}

bool vel_follow_is_as_read(const struct vel_follow *follow)
{
    const struct vel_ledger_dir dir = {.fs = follow->fs, .path = follow->launch_dir};

    return follow->has_term &&
           vel_ledger_is_as_read(&dir, follow->name, &follow->stamp);
}

static int take_text(struct vel_follow *follow, struct vel_ledger_text *text,
                     bool is_anew, vel_follow_f *take, void *arg, struct vel_err *err)
{
    const struct vel_follow_text read = {
        .text = text, .from = is_anew ? 0 : follow->end, .is_anew = is_anew};
    int rc = take(arg, &read, err);

    follow->name = text->name;
    follow->stamp = text->stamp;
    follow->salt = text->salt;
    follow->end = text->end;
    follow->has_term = rc == 0;
    return rc;
}

/* 1: it was read. 0: all is to be read anew. */
static int read_more(struct vel_follow *follow, vel_follow_f *take, void *arg,
                     struct vel_err *err)
{
    const struct vel_ledger_dir dir = {.fs = follow->fs, .path = follow->launch_dir};
    struct vel_ledger_text text;
    bool is_whole;
    int rc = 0;

    if (!vel_follow_is_last(follow) ||
        vel_ledger_load_more(&dir, follow->name, follow->salt, follow->end, &text,
                             NULL) < 0)
        return 0;
    is_whole = text.wrong == 0; /* else it was read while it was written */
    if (is_whole)
        rc = take_text(follow, &text, false, take, arg, err);
    vel_ledger_text_fini(&text);
    return rc < 0 ? rc : is_whole;
}

/* What was read is not there any more. */
static int take_nothing(struct vel_follow *follow, vel_follow_f *take, void *arg,
                        struct vel_err *err)
{
    struct vel_ledger_text none = {.salt = 0};
    const struct vel_follow_text read = {.text = &none, .is_anew = true};

    follow->has_term = false;
    return take(arg, &read, err);
}

int vel_follow_read(struct vel_follow *follow, vel_follow_f *take, void *arg,
                    struct vel_err *err)
{
    struct vel_ledger_text text;
    bool has = false;
    int rc = read_more(follow, take, arg, err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = vel_terms_load(follow->fs, follow->launch_dir, &text, &has, err);
    if (rc < 0)
        return rc;
    if (!has)
        return follow->has_term ? take_nothing(follow, take, arg, err) : 0;
    rc = take_text(follow, &text, true, take, arg, err);
    vel_ledger_text_fini(&text);
    return rc;
}
