/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are written in the cache, from the answer to their last close. HDF5 opens
 * a file more than once to look at it, and has one file open for several programs'
 * opens: what counts is that the driver has closed it and nobody is about to open it.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "conf/rules.h"
#include "process/files_open_in.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vel_vec files = {.item_size = sizeof(struct vel_file *)}; /* under it */

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

static double seconds(uint64_t since)
{
    return (double)(now() - since) / (double)VEL_CLOCK_S;
}

/* --- the table --- */

static void file_free(struct vel_file *file)
{
    vel_file_end_points(file);
    vel_hold_end(file->hold);
    free(file->path);
    free(file->place);
    free(file->name);
    free(file->why);
    free(file);
}

static struct vel_file *file_at(size_t i)
{
    return *(struct vel_file **)vel_vec_at(&files, i);
}

/* Under the lock. Who holds what stands there has the file, whatever that was called
 * when it was opened. Else something has come to its name since, as a version does; if
 * nothing stands there, the name was taken away. */
static struct vel_file *find_at(const char *path, const struct stat *there)
{
    struct vel_file *named = NULL;

    for (size_t i = 0; i < files.n; i++) {
        struct vel_file *file = file_at(i);

        if (file->is_removed)
            continue;
        if (there && vel_hold_is(file->hold, there))
            return file;
        if (strcmp(file->path, path) == 0 && (there || !file->hold))
            named = file;
    }
    return named;
}

struct vel_file *vel_file_find(const char *path)
{
    struct stat st;
    bool is_there = vel_fs_lstat(vel_fs_posix(), path, &st, NULL) == 0;
    struct vel_file *found;

    pthread_mutex_lock(&lock);
    found = find_at(path, is_there ? &st : NULL);
    if (found)
        found->answers++;
    pthread_mutex_unlock(&lock);
    return found;
}

bool vel_file_has_gone(const char *path)
{
    struct stat st;
    bool is_open = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < files.n; i++)
        is_open = is_open || (!file_at(i)->is_removed && file_at(i)->hold &&
                              strcmp(file_at(i)->path, path) == 0);
    pthread_mutex_unlock(&lock);
    return is_open && vel_fs_lstat(vel_fs_posix(), path, &st, NULL) == VEL_ENOENT;
}

void vel_file_forget(const char *path)
{
    struct vel_file *file = vel_file_find(path);

    if (!file)
        return;
    file->is_removed = true;
    vel_file_settle(file, false);
}

struct vel_file *vel_file_add(const struct vel_file_name *name,
                              const struct vel_place *place, bool is_new)
{
    struct vel_file *file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    *file = (struct vel_file){.path = strdup(name->path),
                              .place = strdup(place->path),
                              .why = strdup(place->why ? place->why : ""),
                              .name = strdup(name->name),
                              .handle = place->file,
                              .pid = getpid(),
                              .answers = 1,
                              .was = is_new ? VEL_FILE_WRITTEN : VEL_FILE_READ,
                              .begun = now()};
    pthread_mutex_lock(&lock);
    bool is_kept = file->path && file->place && file->why && file->name &&
                   vel_vec_push(&files, &file);
    pthread_mutex_unlock(&lock);
    if (is_kept)
        return file;
    file_free(file);
    return NULL;
}

const char *vel_file_place(const struct vel_file *file)
{
    return file->place;
}

void vel_file_holds(struct vel_file *file, struct vel_hold *hold)
{
    file->hold = hold;
}

void vel_file_is_of(struct vel_file *file, int64_t dataset, bool is_fresh)
{
    file->dataset = dataset;
    file->is_fresh = is_fresh;
}

char *vel_file_open_of(int64_t dataset)
{
    char *path = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; !path && i < files.n; i++)
        if (file_at(i)->dataset == dataset && file_at(i)->is_used &&
            file_at(i)->pid == getpid())
            path = strdup(file_at(i)->path);
    pthread_mutex_unlock(&lock);
    return path;
}

/* Under the lock. True: it is nobody's any more, and the caller's. */
static bool take_out(struct vel_file *file)
{
    if (file->opens > 0 || file->answers > 0)
        return false;
    for (size_t i = 0; i < files.n; i++)
        if (file_at(i) == file) {
            vel_vec_remove(&files, i);
            break;
        }
    return true;
}

/* --- the end of a file --- */

/* Does another leader know it? We wait where the answer to the close would have. */
static bool is_led(const struct vel_file *file, struct vel_client *client)
{
    struct vel_place place = {0};

    if (!client ||
        vel_client_file_look(client, VEL_LOOK_THERE, file->path, &place, NULL) < 0)
        return false;
    bool is = place.where == 1 || place.where == 2;
    vel_place_fini(&place);
    return is;
}

/* Its leader died, or does not answer, while we waited for it. A place that is gone is
 * gone into the dataset: nobody but a leader moves it, and the file is complete. */
static bool is_taken(const struct vel_file *file, struct vel_client *client)
{
    struct stat st;

    if (vel_fs_lstat(vel_fs_posix(), file->place, &st, NULL) != VEL_ENOENT)
        return false;
    if (is_led(file, client))
        vel_log(
            VEL_LOG_WARN,
            "%s: its leader ended while it was closed; another one has gone on, and "
            "the file is complete",
            file->path);
    else
        vel_log(
            VEL_LOG_WARN,
            "%s: its leader does not answer; the file is complete in the cache, and "
            "comes to its own path when there is one that does",
            file->path);
    return true;
}

static void tell_complete(const struct vel_file *file, uint64_t size, uint64_t begun)
{
    struct vel_rule_fit fit;
    bool has_line =
        vel_rules_find(vel_files_conf(), vel_files_prefix(), file->path, &fit);

    vel_log(VEL_LOG_INFO,
            "%s: %" PRIu64 " bytes in the cache by %s%s, written in %.3f s, closed in "
            "%.3f s%s%s",
            file->path, size, has_line ? "DATASET " : "no DATASET line",
            has_line ? fit.line->name : "",
            (double)(begun - file->begun) / (double)VEL_CLOCK_S, seconds(begun),
            *file->why ? ": " : "", file->why);
}

int vel_file_complete(const struct vel_file *file, struct vel_client *client,
                      int64_t *ret_dataset, struct vel_err *err)
{
    uint64_t begun = now(), size;
    struct vel_err why = {0};
    struct stat st;
    int rc = vel_fs_lstat(vel_fs_posix(), file->place, &st, err);

    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_ELOST,
                        "%s is lost: somebody has removed %s while it was open; "
                        "CACHE_BASE must be where nobody cleans up",
                        file->path, file->place);
    if (rc < 0)
        return rc;
    size = (uint64_t)st.st_size;
    rc = client ? vel_client_file_close(client, file->handle, VEL_CLOSE_COMPLETE, size,
                                        ret_dataset, &why)
                : vel_fail(&why, VEL_ESTATE, "nobody leads here any more");
    if (rc == 0) {
        tell_complete(file, size, begun);
        return 0;
    }
    if (is_taken(file, client))
        return 0;
    rc = vel_file_bring_home(file, file->place, size, NULL, err);
    if (rc < 0 && is_taken(file, client)) /* only now, by the next leader */
        return 0;
    if (rc == 0)
        vel_log(VEL_LOG_WARN, "%s is at its own path, and not protected: %s",
                file->path, why.text);
    return rc;
}

/* Its dataset goes on without it, and it has nothing to lose. */
static int leave(const struct vel_file *file, struct vel_client *client,
                 struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(vel_fs_posix(), file->place, &st, err);

    if (rc == 0)
        rc = vel_file_bring_home(file, file->place, (uint64_t)st.st_size, NULL, err);
    if (rc == 0 && client)
        vel_client_file_close(client, file->handle, VEL_CLOSE_GIVEN_UP, 0, NULL, NULL);
    return rc;
}

/* A part of the session's dataset: nobody else is told. */
static int finish_part(const struct vel_file *file, struct vel_err *err)
{
    bool is_wanted = file->is_used && !file->is_removed;

    if (is_wanted && file->was == VEL_FILE_WRITTEN)
        vel_log(VEL_LOG_INFO, "%s: part of dataset %" PRId64 ", written in %.3f s",
                file->path, file->dataset, seconds(file->begun));
    return file->pid == getpid()
               ? vel_files_session_close(file->path, file->dataset, file->is_fresh,
                                         is_wanted ? file->was : VEL_FILE_READ, err)
               : 0;
}

static void give_up(struct vel_file *file, struct vel_client *client)
{
    vel_hold_give_up(file->hold);
    file->hold = NULL;
    if (client)
        vel_client_file_close(client, file->handle, VEL_CLOSE_GIVEN_UP, 0, NULL, NULL);
}

/* What a forked child closes is its parent's. */
static int finish(struct vel_file *file, struct vel_err *err)
{
    struct vel_client *client = vel_files_client();
    int64_t whole = 0;
    int rc = 0;

    if (file->dataset) {
        rc = finish_part(file, err);
    } else if (file->pid == getpid()) {
        if (file->is_used && file->was == VEL_FILE_WRITTEN && !file->is_removed &&
            !file->is_home)
            rc = file->is_astray ? leave(file, client, err)
                                 : vel_file_complete(file, client, &whole, err);
        else
            give_up(file, client);
        if (file->was == VEL_FILE_BROKEN && !file->is_home)
            vel_log(
                VEL_LOG_WARN,
                "%s is given up, because it could not be written: what stood at its "
                "path before stays",
                file->path);
    }
    vel_file_end_points(file);
    vel_hold_end(file->hold); /* others need not wait */
    file->hold = NULL;
    if (rc == 0)
        rc = vel_files_wait_for(client, file->path, whole, err);
    file_free(file);
    return rc;
}

/* --- what happens to it --- */

bool vel_file_settle(struct vel_file *file, bool is_open)
{
    pthread_mutex_lock(&lock);
    file->answers--;
    file->is_used = file->is_used || is_open;
    bool is_fresh = !file->is_used, is_over = take_out(file);
    pthread_mutex_unlock(&lock);
    if (is_over)
        finish(file, NULL);
    return is_fresh && is_over;
}

void vel_file_opened(struct vel_file *file)
{
    pthread_mutex_lock(&lock);
    file->opens++;
    pthread_mutex_unlock(&lock);
}

int vel_file_closed(struct vel_file *file, enum vel_file_was was, struct vel_err *err)
{
    pthread_mutex_lock(&lock);
    file->opens--;
    file->was = was > file->was ? was : file->was;
    bool is_over = take_out(file);
    pthread_mutex_unlock(&lock);
    return is_over ? finish(file, err) : 0;
}

bool vel_file_is_gone(const struct vel_file *file)
{
    struct stat st;

    return file->pid == getpid() && !file->is_home && !file->is_removed &&
           vel_fs_lstat(vel_fs_posix(), file->place, &st, NULL) == VEL_ENOENT;
}
