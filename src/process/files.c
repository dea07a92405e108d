/* SPDX-License-Identifier: BSD-3-Clause */
/* Where files are: what a leader answers, and what follows when none does. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/rules.h"
#include "jobs/stub.h"
#include "process/files_in.h"

void vel_file_answer_fini(struct vel_file_answer *answer)
{
    free(answer->path);
    free(answer->why);
    free(answer->changed);
    vel_hold_end(answer->hold);
    *answer = (struct vel_file_answer){0};
}

/* --- what was answered --- */

static char *take(char **text)
{
    char *taken = *text;

    *text = NULL;
    return taken;
}

bool vel_file_join(const struct vel_file_name *name, struct vel_file_answer *ret)
{
    struct vel_file *file = vel_file_find(name->path);
    char *path = file ? strdup(vel_file_place(file)) : NULL;

    if (!file)
        return false;
    if (!path) {
        vel_file_settle(file, false);
        return false;
    }
    *ret = (struct vel_file_answer){.at = VEL_FILE_CACHED, .path = path, .file = file};
    return true;
}

/* To be written at this place. */
static int begin(struct vel_client *client, const struct vel_file_name *name,
                 struct vel_place *place, bool is_new, struct vel_file_answer *ret,
                 struct vel_err *err)
{
    struct vel_file *file = vel_file_add(name, place, is_new);

    if (!file) {
        vel_client_file_close(client, place->file, VEL_CLOSE_GIVEN_UP, 0, NULL, NULL);
        return vel_out_of_memory(err, name->path);
    }
    *ret = (struct vel_file_answer){
        .at = VEL_FILE_CACHED, .path = take(&place->path), .file = file};
    return 0;
}

/* --- create --- */

static int find_to_read(const struct vel_files_of *of, const char *name,
                        enum vel_look how, struct vel_file_answer *ret,
                        struct vel_err *err);

/* It is open here to be read, and not removed or replaced since. HDF5 is sent to the
 * same place: there it finds it, and says itself that it is not to be written. */
static bool is_held(const struct vel_files_of *of, const char *name,
                    struct vel_file_answer *ret)
{
    struct vel_file_answer now = {.at = VEL_FILE_OWN};
    char *place = vel_reading_path(name);

    if (place && find_to_read(of, name, VEL_LOOK_THERE, &now, NULL) == 0 &&
        now.at == VEL_FILE_CACHED) {
        free(place);
        place = take(&now.path);
    }
    bool is = place && (now.at == VEL_FILE_OWN || now.at == VEL_FILE_CACHED) &&
              !now.file && vel_reading_is_of(place);
    if (now.file)
        vel_file_settle(now.file, false);
    vel_file_answer_fini(&now);
    if (is)
        *ret = (struct vel_file_answer){.at = VEL_FILE_HELD, .path = place};
    else
        free(place);
    return is;
}

/* What is in the cache alone is there all the same. */
static bool is_in_cache(struct vel_client *client, const struct vel_file_name *name)
{
    struct vel_place place = {0};
    bool is_there =
        vel_client_file_look(client, VEL_LOOK_THERE, name->path, &place, NULL) == 0 &&
        (place.where == 1 || place.where == 4);

    vel_place_fini(&place);
    return is_there;
}

/* It is written where it belongs: but not what caches have in a newer version, be it of
 * another program. */
static int create_without(const struct vel_file_name *name, enum vel_create how,
                          const struct vel_err *why, struct vel_file_answer *ret,
                          struct vel_err *err)
{
    if (how == VEL_CREATE_OPEN &&
        (why->status == VEL_EBUSY || why->status == VEL_ELOST ||
         vel_files_ask_view(name->name) == 0))
        return vel_fail(err, why->status, "%s cannot be opened to be written: %s",
                        name->path, why->text);
    vel_files_tell_failed(name, why);
    ret->why = strdup(why->text);
    return 0;
}

/* A version that is only in caches is none any more. Its placeholder goes, or the file
 * would have that one's mode and inode, and be taken for it. */
static int replace(struct vel_client *client, const struct vel_file_name *name,
                   struct vel_err *err)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_stub stub;
    int rc = vel_client_file_remove(client, name->path, err);

    if (rc < 0 && rc != VEL_ENOENT && rc != VEL_EUNSUP)
        return vel_wrap(err, rc, "%s cannot be made anew", name->path);
    vel_file_forget(name->path);
    if (vel_stub_read(fs, name->path, &stub, NULL) == 0)
        vel_fs_unlink(fs, name->path, NULL);
    return 0;
}

static bool has_line(const struct vel_file_name *name)
{
    struct vel_rule_fit fit;

    return vel_rules_find(vel_files_conf(), vel_files_prefix(), name->path, &fit);
}

static void note_change(const struct vel_files_of *of, struct vel_file_name *name,
                        const struct vel_client *client, struct vel_file_answer *answer)
{
    if (name->path && !client && !answer->why && !vel_files_is_live(of, name))
        answer->why = strdup("no leader is to be had, and the log says why");
    answer->changed = take(&name->path);
}

static int create(struct vel_client *client, const struct vel_file_name *name,
                  enum vel_create how, struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_place place = {0};
    struct vel_err why = {0};
    int rc = vel_client_file_create(client, how, name->path, &place, &why);

    if (rc < 0)
        return create_without(name, how, &why, ret, err);
    if (place.where == 5 && how == VEL_CREATE_NEW) {
        vel_files_tell_live(name);
        rc = replace(client, name, err);
    } else if (place.where == 1) {
        rc = begin(client, name, &place, how == VEL_CREATE_NEW, ret, err);
    } else if (place.where == 3) {
        ret->at = VEL_FILE_MISSING;
        ret->why = take(&place.why);
    } else {
        vel_files_tell_own(name, place.why);
        if (has_line(name) && place.why && *place.why)
            ret->why = take(&place.why);
    }
    vel_place_fini(&place);
    return rc;
}

/* What others have open is refused before a leader hears of it. A file at its own path
 * is HDF5's to make and to lock. */
static int create_held(const struct vel_files_of *of, struct vel_client *client,
                       const struct vel_file_name *name, enum vel_create how,
                       struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_hold *hold = NULL;
    int rc = vel_files_require(err);

    if (rc == 0)
        rc = vel_files_may_write(client, name, err);
    if (rc == 0)
        rc = vel_hold_take(of, name->path,
                           how == VEL_CREATE_NEW ? VEL_HOLD_MAKE : VEL_HOLD_CHANGE,
                           &hold, err);
    if (rc == 0)
        rc = create(client, name, how, ret, err);
    if (rc == 0 && ret->file)
        vel_file_holds(ret->file, hold);
    else
        vel_hold_give_up(hold);
    return rc;
}

/* Who leads here, when the name is one of ours. For any other, and for one that is
 * nowhere or at its own path, nobody begins to lead, and nothing is left behind. */
static struct vel_client *ask(const struct vel_files_of *of, const char *name,
                              bool writes, bool makes, struct vel_file_name *ret_name)
{
    bool is_live;

    if (!vel_files_know(of))
        return NULL;
    if (!vel_files_resolve(name, writes, ret_name)) {
        if (makes)
            vel_files_tell_outside(name);
        return NULL;
    }
    makes = makes || (writes && ret_name->is_there);
    is_live = vel_files_is_live(of, ret_name);
    if (makes)
        vel_files_tell_elsewhere(ret_name);
    if (makes && is_live)
        vel_files_tell_live(ret_name);
    return vel_files_here(of, makes && !is_live ? VEL_FILES_MAKES : VEL_FILES_LOOKS);
}

int vel_files_create(const struct vel_files_of *of, const char *name, bool is_new,
                     struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_file_answer answer = {.at = VEL_FILE_OWN};
    struct vel_file_name n = {0};
    struct vel_client *client;
    bool is_taken;
    int rc = 0;

    if (is_held(of, name, ret))
        return 0;
    rc = vel_files_session_write(of, name, VEL_CREATE_NEW, is_new, &is_taken, ret, err);
    if (rc < 0 || is_taken)
        return rc;
    client = ask(of, name, true, true, &n);
    if (client) {
        bool is_refused = is_new && n.is_there; /* by HDF5, as without us */

        if (!is_refused && !vel_file_join(&n, &answer)) {
            if (vel_files_is_live(of, &n))
                rc = replace(client, &n, err);
            else
                rc = create_held(of, client, &n, VEL_CREATE_NEW, &answer, err);
        }
    }
    if (rc == 0 && answer.at == VEL_FILE_OWN && n.path) {
        answer.has_journal = vel_files_may_journal(&n);
        if (!is_new)
            vel_files_tell_anew(&n);
    }
    if (rc == 0)
        note_change(of, &n, client, &answer);
    vel_file_name_fini(&n);
    answer.is_off = !vel_files_know(of);
    if (rc == 0)
        *ret = answer;
    return rc;
}

/* --- open, look --- */

/* A silent leader is no reason to say that a file is not there: what the view does not
 * know is no file of ours, the others are not to be had now. But the view does not tell
 * what programs that run have: a leader that has looked in vain knows of something. */
static int look_without(const struct vel_file_name *name, enum vel_look how,
                        const struct vel_err *why, struct vel_err *err)
{
    bool is_there = how == VEL_LOOK_HOME && why->status == VEL_EBUSY;

    if (!is_there &&
        (why->status == VEL_EUNSUP || vel_files_ask_view(name->name) == VEL_ENOENT))
        return 0;
    return vel_fail(err, why->status, "%s cannot be looked for: %s", name->path,
                    why->text);
}

static int look(struct vel_client *client, const struct vel_file_name *name,
                enum vel_look how, struct vel_file_answer *ret, int64_t *ret_dataset,
                struct vel_err *err)
{
    static const enum vel_file_at at[] = {VEL_FILE_OWN,  VEL_FILE_CACHED,
                                          VEL_FILE_OWN,  VEL_FILE_MISSING,
                                          VEL_FILE_AWAY, VEL_FILE_OWN};
    struct vel_place place = {0};
    struct vel_err why = {0};

    if (vel_client_file_look(client, how, name->path, &place, &why) < 0)
        return look_without(name, how, &why, err);
    *ret = (struct vel_file_answer){
        .at = at[place.where], .path = take(&place.path), .why = take(&place.why)};
    *ret_dataset = place.dataset;
    vel_place_fini(&place);
    return 0;
}

/* To be read: what others have open to be written is refused as above. */
static int look_held(const struct vel_files_of *of, struct vel_client *client,
                     const struct vel_file_name *name, enum vel_look how,
                     struct vel_file_answer *ret, int64_t *ret_dataset,
                     struct vel_err *err)
{
    bool is_locked = of->locks && how == VEL_LOOK_HERE && !vel_files_is_live(of, name);
    struct vel_hold *hold = NULL;
    int rc = is_locked ? vel_hold_take(of, name->path, VEL_HOLD_READ, &hold, err) : 0;

    if (rc == 0)
        rc = look(client, name, how, ret, ret_dataset, err);
    if (rc == 0 && ret->at == VEL_FILE_CACHED)
        ret->hold = hold;
    else
        vel_hold_end(hold);
    return rc;
}

/* What is not at its own path yet comes there first; but not while another writes it.
 */
static int bring_home(const struct vel_files_of *of, struct vel_client *client,
                      const struct vel_file_name *name, struct vel_file_answer *ret,
                      struct vel_err *err)
{
    struct vel_progress progress = {0};
    struct vel_hold *hold = NULL;
    int64_t dataset = 0;
    int rc = vel_hold_take(of, name->path, VEL_HOLD_READ, &hold, err);

    vel_hold_give_up(hold);
    if (rc == 0)
        rc = look(client, name, VEL_LOOK_HOME, ret, &dataset, err);
    if (rc < 0 || ret->at == VEL_FILE_OWN || ret->at == VEL_FILE_MISSING)
        return rc;
    vel_file_answer_fini(ret);
    rc = vel_client_drain(client, dataset, 0, &progress, err);
    if (rc == 0 && progress.status < 0)
        rc = vel_fail(err, (enum vel_status)progress.status,
                      "dataset %" PRId64 " does not come to the prefix", dataset);
    return vel_wrap(err, rc, "%s does not come to its path", name->path);
}

static int open_to_write(const struct vel_files_of *of, struct vel_client *client,
                         const struct vel_file_name *name, struct vel_file_answer *ret,
                         struct vel_err *err)
{
    bool is_own = of->is_shared || vel_files_is_live(of, name);
    int rc = is_own ? 0 : create_held(of, client, name, VEL_CREATE_OPEN, ret, err);
    char *why = take(&ret->why);

    if (rc == 0 && ret->at == VEL_FILE_OWN)
        rc = bring_home(of, client, name, ret, err);
    if (rc == 0 && !ret->why)
        ret->why = take(&why);
    free(why);
    return rc;
}

static int find(const struct vel_files_of *of, const char *name, bool writes,
                enum vel_look how, struct vel_session_found *found,
                struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_file_answer answer = {.at = VEL_FILE_OWN};
    struct vel_file_name n = {0};
    struct vel_client *client = ask(of, name, writes, false, &n);
    int64_t dataset = 0;
    bool asks = client && !vel_file_join(&n, &answer) && !vel_file_has_gone(n.path);
    int rc = asks && how == VEL_LOOK_HERE ? vel_files_restart(client, &n, err) : 0;

    if (rc == 0 && asks)
        rc = writes ? open_to_write(of, client, &n, &answer, err)
                    : look_held(of, client, &n, how, &answer, &dataset, err);
    if (rc == 0 && writes && answer.at == VEL_FILE_OWN && n.path)
        answer.has_journal = vel_files_may_journal(&n);
    if (rc == 0 && writes)
        note_change(of, &n, client, &answer);
    vel_file_name_fini(&n);
    if (rc < 0 && !found->path)
        return rc;
    vel_files_session_read(found, dataset, &answer);
    answer.is_off = !vel_files_know(of);
    *ret = answer;
    return 0;
}

/* The session's own dataset comes first, whoever else has the name. */
static int find_to_read(const struct vel_files_of *of, const char *name,
                        enum vel_look how, struct vel_file_answer *ret,
                        struct vel_err *err)
{
    struct vel_session_found found = {0};
    struct vel_file_answer answer = {.at = VEL_FILE_OWN};
    int rc = 0;

    if (vel_files_know(of) && vel_files_session_find(name, &found) &&
        found.is_under_way)
        vel_files_session_read(&found, 0, &answer);
    if (answer.at == VEL_FILE_OWN)
        rc = find(of, name, false, how, &found, &answer, err);
    free(found.path);
    if (rc == 0)
        *ret = answer;
    return rc;
}

static int find_to_write(const struct vel_files_of *of, const char *name,
                         struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_session_found none = {0};
    bool is_taken;
    int rc;

    if (is_held(of, name, ret))
        return 0;
    rc = vel_files_session_write(of, name, VEL_CREATE_OPEN, false, &is_taken, ret, err);
    return rc < 0 || is_taken ? rc
                              : find(of, name, true, VEL_LOOK_HERE, &none, ret, err);
}

int vel_files_open(const struct vel_files_of *of, const char *name, bool writes,
                   struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_file_answer answer = {.at = VEL_FILE_OWN};
    int rc = writes ? find_to_write(of, name, &answer, err)
                    : find_to_read(of, name, VEL_LOOK_HERE, &answer, err);

    if (rc == 0 && answer.at == VEL_FILE_OWN)
        rc = vel_files_check_own(name, err);
    if (rc == 0)
        *ret = answer;
    else
        vel_file_answer_fini(&answer);
    return rc;
}

int vel_files_open_own(const struct vel_files_of *of, const char *name, bool joins,
                       struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_file_answer answer = {.at = VEL_FILE_OWN};
    struct vel_file_name n = {0};
    struct vel_client *client = ask(of, name, false, false, &n);
    bool is_open = client && vel_file_join(&n, &answer);
    int rc = 0;

    if (client && !is_open && !vel_file_has_gone(n.path))
        rc = bring_home(of, client, &n, &answer, err);
    if (is_open && !joins) {
        vel_file_settle(answer.file, false);
        rc = vel_fail(err, VEL_EBUSY, "%s is open in this process, in the cache",
                      n.path);
    } else if (rc == 0 && answer.at == VEL_FILE_MISSING) {
        rc = vel_fail(err, VEL_ELOST, "%s", answer.why);
    } else if (rc == 0 && answer.at == VEL_FILE_OWN) {
        rc = vel_files_check_own(name, err);
    }
    vel_file_name_fini(&n);
    if (rc == 0)
        *ret = answer;
    else
        vel_file_answer_fini(&answer);
    return rc;
}

int vel_files_look(const struct vel_files_of *of, const char *name,
                   struct vel_file_answer *ret, struct vel_err *err)
{
    return find_to_read(of, name, VEL_LOOK_THERE, ret, err);
}

/* --- remove --- */

int vel_files_remove(const struct vel_files_of *of, const char *name, bool *ret_is_gone,
                     struct vel_err *err)
{
    struct vel_file_name n = {0};
    struct vel_client *client = ask(of, name, false, false, &n);
    struct vel_err why = {0};
    bool is_gone = false, is_of_session = vel_files_session_remove(name);
    int rc = 0;

    if (client) {
        is_gone = !n.is_there && is_in_cache(client, &n);
        rc = vel_client_file_remove(client, n.path, &why);
        if (rc == VEL_ENOENT || rc == VEL_EUNSUP) /* no file of ours */
            rc = 0;
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s cannot be removed: %s", n.path,
                     why.text);
        else
            vel_file_forget(n.path);
    }
    vel_file_name_fini(&n);
    if (rc == 0)
        *ret_is_gone = is_gone || is_of_session;
    return rc;
}
