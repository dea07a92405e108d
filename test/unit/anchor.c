/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/anchor.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

/* A directory of a program, with a file of it and what stands there. */
struct place {
    struct vel_anchor anchor;
    struct vel_anchor_hold hold;
    const char *path, *temporary;
};

static int n_lists; /* of directories */

static int count_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    (void)fs;
    n_lists++;
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret_names);
}

static struct vel_fs *fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs counting = {&ops};

    ops = *vel_fs_posix()->ops;
    ops.list = count_list;
    return &counting;
}

static const char *in(const char *name)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];

    snprintf(path, sizeof paths[0], "%s/dir/%s", tap_dir(), name);
    return path;
}

static struct vel_stub_maker maker = {.launch = "L"};

static void begin(struct place *place, const char *before)
{
    struct vel_err err = {0};

    tap_fresh_dir(tap_path("dir"));
    *place = (struct place){.path = strdup(in("ck")), .temporary = strdup(in(".tmp"))};
    if (before)
        tap_put_file(place->path, before);
    tap_put_file(place->temporary, "new");
    if (vel_anchor_set(fs(), place->path, "ck", &maker, &place->anchor, &err) < 0)
        bail_out("%s", err.text);
    vel_anchor_hold(fs(), &place->anchor, &place->hold);
}

static void end(struct place *place)
{
    vel_anchor_release(fs(), &place->hold);
    vel_anchor_fini(&place->anchor);
    free((char *)place->path);
    free((char *)place->temporary);
}

/* As whoever adopts it: nobody has held it. */
static void forget_hold(struct place *place)
{
    vel_anchor_release(fs(), &place->hold);
}

static enum vel_anchor_end publish(struct place *place, char **ret_path)
{
    enum vel_anchor_end how = VEL_ANCHOR_LEFT;
    struct vel_err err = {0};
    char *path = NULL;
    int rc =
        vel_anchor_publish(fs(), &place->hold, 7, place->temporary, &how, &path, &err);

    if (rc < 0)
        note("%s", err.text);
    if (ret_path)
        *ret_path = path;
    else
        free(path);
    return rc < 0 ? (enum vel_anchor_end) - 1 : how;
}

static void stubs(void)
{
    struct place place;
    struct vel_stub stub;
    struct vel_err err = {0};
    struct stat st;
    bool removed = false;

    begin(&place, NULL);
    ok(place.anchor.is_stub && vel_stub_read(fs(), place.path, &stub, &err) == 0 &&
           strcmp(stub.launch, "L") == 0 && stub.mark == place.anchor.mark,
       "a new name has a stub, which is known again");
    stat(place.path, &st);
    ok((st.st_mode & 0777) == 0600 && st.st_size <= VEL_STUB_MOST,
       "of its owner alone, and small");
    is_int(vel_stub_make(fs(), place.path, &maker, &stub, &err), VEL_EEXIST,
           "a stub never replaces anything");
    ok(vel_stub_remove(fs(), place.path, "M", &removed, &err) == 0 && !removed &&
           access(place.path, F_OK) == 0,
       "the stub of another launch stays");
    ok(vel_stub_remove(fs(), place.path, "L", &removed, &err) == 0 && removed &&
           access(place.path, F_OK) != 0,
       "one whose file is lost is removed");
    tap_put_file(place.path,
                 "\211HDF\r\n\032\n\377\nh5veloc stub 2\nlaunch L\nmark 0123\n");
    ok(vel_stub_read(fs(), place.path, &stub, &err) == VEL_EINVAL &&
           vel_stub_remove(fs(), place.path, "L", &removed, &err) == 0 && !removed,
       "what only looks like one is a file of the user's");
    unlink(place.path);
    ok(symlink("/etc/passwd", place.path) == 0 &&
           vel_stub_read(fs(), place.path, &stub, &err) == VEL_EINVAL,
       "a link is no stub");
    struct vel_anchor other;
    is_int(vel_anchor_set(fs(), place.path, "ck", &maker, &other, &err), VEL_EINVAL,
           "and can be no anchor");
    end(&place);
}

/* Killed before any operation: what stands at the name then is a stub or nothing, and
 * whoever comes next makes one. */
static void killed(void)
{
    struct vel_fs_fault *fault = NULL;
    struct vel_err err = {0};
    struct place place;
    bool is_over = false, is_right = true;
    int at = 0;

    if (vel_fs_fault_create(fs(), NULL, &fault, &err) < 0)
        bail_out("%s", err.text);
    while (!is_over) {
        struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH,
                                         .at = (uint64_t)++at};
        struct vel_stub stub;

        begin(&place, NULL);
        unlink(place.path);
        tap_fresh_dir(maker.drafts);
        vel_fs_fault_arm(fault, &plan);
        vel_stub_make(vel_fs_fault_fs(fault), place.path, &maker, &stub, &err);
        is_over = !vel_fs_fault_fired(fault);
        if (access(place.path, F_OK) == 0 &&
            vel_stub_read(fs(), place.path, &stub, &err) < 0) {
            note("killed at operation %d: %s", at, err.text);
            is_right = false;
        }
        vel_anchor_fini(&place.anchor);
        is_right &=
            vel_anchor_set(fs(), place.path, "ck", &maker, &place.anchor, &err) == 0 &&
            place.anchor.is_stub;
        end(&place);
    }
    ok(at > 3 && is_right, "a kill leaves a stub or nothing, wherever it comes");
    is_int(rmdir(maker.drafts), 0, "and whoever is not killed leaves no draft");
    vel_fs_fault_destroy(fault);
}

static void elsewhere(void)
{
    const char *drafts = maker.drafts;
    struct place place;

    maker.drafts = tap_path("none");
    begin(&place, NULL);
    ok(place.anchor.is_stub, "one is made also where no draft can be");
    end(&place);
    maker.drafts = drafts;
}

/* the same for a stub and for a previous version */
static void follows(const char *before)
{
    const char *what = before ? "a previous version" : "a stub";
    struct place place;
    char *path;

    begin(&place, before);
    ok(publish(&place, NULL) == VEL_ANCHOR_PUBLISHED && tap_file_is(in("ck"), "new"),
       "%s is replaced by the file", what);
    is_int(publish(&place, NULL), VEL_ANCHOR_CANCELLED, "once");
    end(&place);

    begin(&place, before);
    rename(in("ck"), in("ck.final"));
    ok(publish(&place, &path) == VEL_ANCHOR_PUBLISHED &&
           tap_file_is(in("ck.final"), "new") && access(in("ck"), F_OK) != 0 &&
           strcmp(path, place.path) != 0,
       "%s that was renamed is followed", what);
    free(path);
    end(&place);

    begin(&place, before);
    mkdir(in("sub"), 0700);
    rename(in("ck"), in("sub/ck"));
    tap_put_file(in("ck"), "a new one");
    ok(publish(&place, NULL) == VEL_ANCHOR_PUBLISHED &&
           tap_file_is(in("sub/ck"), "new") && tap_file_is(in("ck"), "a new one"),
       "also into another directory; what has its old name now is left alone");
    end(&place);

    begin(&place, before);
    unlink(in("ck"));
    ok(publish(&place, NULL) == VEL_ANCHOR_CANCELLED && access(in("ck"), F_OK) != 0 &&
           access(place.temporary, F_OK) == 0,
       "%s that was unlinked cancels", what);
    end(&place);

    begin(&place, before);
    tap_put_file(in("other"), "foreign");
    rename(in("other"), in("ck"));
    ok(publish(&place, NULL) == VEL_ANCHOR_CANCELLED &&
           tap_file_is(in("ck"), "foreign"),
       "so does one that was replaced: someone else's write wins");
    end(&place);

    begin(&place, before);
    tap_put_file(in("ck"), "written in place");
    ok(publish(&place, NULL) == VEL_ANCHOR_LEFT &&
           tap_file_is(in("ck"), "written in place"),
       "%s that was written over stays", what);
    end(&place);

    begin(&place, before);
    ok(link(in("ck"), in("ck.1")) == 0 && link(in("ck"), in("ck.2")) == 0 &&
           publish(&place, NULL) == VEL_ANCHOR_PUBLISHED &&
           tap_file_is(in("ck"), "new") && tap_file_is(in("ck.1"), "new") &&
           tap_file_is(in("ck.2"), "new"),
       "further links of %s become links of the file", what);
    end(&place);

    begin(&place, before);
    ok(link(in("ck"), in("ck.1")) == 0 && unlink(in("ck")) == 0 &&
           publish(&place, NULL) == VEL_ANCHOR_PUBLISHED &&
           tap_file_is(in("ck.1"), "new") && access(in("ck"), F_OK) != 0,
       "a link that is left is the name");
    end(&place);

    begin(&place, before);
    mkdir(in("far"), 0700);
    ok(link(in("ck"), in("far/ck")) == 0 && unlink(in("ck")) == 0 &&
           publish(&place, NULL) == VEL_ANCHOR_BESIDE &&
           tap_file_is(in("ck.h5veloc-7"), "new"),
       "one whose name nobody knows is published beside, by the dataset's number");
    end(&place);
}

/* However many files are there. */
static void looks_nowhere(const char *before)
{
    struct place place;

    begin(&place, before);
    n_lists = 0;
    ok(publish(&place, NULL) == VEL_ANCHOR_PUBLISHED && n_lists == 0,
       "%s that has one name is replaced without a look at what else is there",
       before ? "a previous version" : "a stub");
    end(&place);
}

static void adopted(const char *before)
{
    const char *what = before ? "a previous version" : "a stub";
    struct place place;

    begin(&place, before);
    forget_hold(&place);
    ok(publish(&place, NULL) == VEL_ANCHOR_PUBLISHED && tap_file_is(in("ck"), "new"),
       "adopted: %s that nobody held is replaced", what);
    end(&place);

    begin(&place, before);
    forget_hold(&place);
    rename(in("ck"), in("ck.final"));
    ok(publish(&place, NULL) == VEL_ANCHOR_PUBLISHED &&
           tap_file_is(in("ck.final"), "new"),
       "and found by its inode when it was renamed");
    end(&place);

    begin(&place, before);
    forget_hold(&place);
    unlink(in("ck"));
    is_int(publish(&place, NULL), VEL_ANCHOR_CANCELLED, "unlinked, it cancels");
    tap_put_file(in("ck"), "foreign");
    ok(publish(&place, NULL) == VEL_ANCHOR_LEFT && tap_file_is(in("ck"), "foreign"),
       "and what someone else has put there stays");
    end(&place);
}

/* A name that is written twice before the first file is flushed. */
static void twice(void)
{
    struct place first;
    struct vel_anchor second;
    struct vel_anchor_hold hold;
    struct vel_err err = {0};
    bool renewed = false;
    enum vel_anchor_end how;
    char *path = NULL, *at;

    begin(&first, NULL);
    if (vel_anchor_set(fs(), first.path, "ck", &maker, &second, &err) < 0)
        bail_out("%s", err.text);
    vel_anchor_hold(fs(), &second, &hold);
    is_int(publish(&first, &at), VEL_ANCHOR_PUBLISHED, "the older file comes first");
    ok(vel_anchor_renew(fs(), &first.anchor, at, &second, &hold, &renewed, &err) == 0 &&
           renewed,
       "and is the anchor of the newer one now");
    tap_put_file(in(".tmp2"), "newer");
    ok(vel_anchor_publish(fs(), &hold, 8, in(".tmp2"), &how, &path, &err) == 0 &&
           how == VEL_ANCHOR_PUBLISHED && tap_file_is(in("ck"), "newer"),
       "which replaces it in its turn");
    free(path);
    free(at);
    vel_anchor_release(fs(), &hold);
    vel_anchor_fini(&second);
    end(&first);
}

int main(void)
{
    int open = tap_open_fds();

    maker.drafts = strdup(tap_path("drafts"));
    stubs();
    killed();
    elsewhere();
    follows(NULL);
    follows("before");
    looks_nowhere(NULL);
    looks_nowhere("before");
    adopted(NULL);
    adopted("before");
    twice();
    free((char *)maker.drafts);
    is_int(tap_open_fds(), open, "no descriptor is left open");
    return done_testing();
}
