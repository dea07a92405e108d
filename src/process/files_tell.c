/* SPDX-License-Identifier: BSD-3-Clause */
/* What people are told of files: in the log what becomes of each and why, and on the
 * standard error of rank 0 two sentences, at the first file that is made or changed
 * below the prefix and at the end. */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "conf/rules.h"
#include "meta/index.h"
#include "meta/launch.h"
#include "process/files_in.h"
#include "view/seals.h"

enum { NAMES_MOST = 4096 }; /* that are known again */

/* --- the log --- */

void vel_files_tell_own(const struct vel_file_name *name, const char *why)
{
    if (why && *why)
        vel_log(VEL_LOG_INFO, "%s is written where it belongs: %s", name->path, why);
}

void vel_files_tell_failed(const struct vel_file_name *name, const struct vel_err *why)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    bool is_first = !atomic_flag_test_and_set(&told);

    vel_log(is_first ? VEL_LOG_WARN : VEL_LOG_INFO,
            "%s is written where it belongs, and not protected: %s", name->path,
            why->text);
}

void vel_files_tell_live(const struct vel_file_name *name)
{
    struct vel_rule_fit fit;
    bool has_line =
        vel_rules_find(vel_files_conf(), vel_files_prefix(), name->path, &fit);

    vel_log(VEL_LOG_INFO, "%s is written where it belongs: %s%s%s", name->path,
            has_line ? "DATASET=" : "no DATASET line has it",
            has_line ? fit.line->name : "", has_line ? " says so" : "");
}

void vel_files_tell_outside(const char *name)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    const char *prefix = vel_files_prefix();
    char *path = vel_files_real_path(name);
    struct stat st;

    if (path && !vel_path_below(prefix, path)) {
        bool is_there = vel_fs_lstat(vel_fs_posix(), prefix, &st, NULL) == 0;

        vel_log(VEL_LOG_INFO,
                "%s is written where it belongs: it is not below the prefix %s", path,
                prefix);
        if (!is_there && !atomic_flag_test_and_set(&is_told))
            vel_log(VEL_LOG_WARN,
                    "HDF5 files are not protected: the prefix %s is not there; make "
                    "it, or name the directory that they are below with VELOC_PREFIX",
                    prefix);
    }
    free(path);
}

void vel_files_native(const struct vel_files_of *of, const char *name, const char *why,
                      struct vel_file_answer *ret)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    struct vel_rule_fit fit;
    bool speaks = vel_files_know(of) && vel_files_launcher()->rank == 0;
    char *path = speaks ? vel_files_real_path(name) : NULL;
    bool is_below = path && vel_path_below(vel_files_prefix(), path);
    bool is_wanted = is_below &&
                     vel_rules_find(vel_files_conf(), vel_files_prefix(), path, &fit) &&
                     fit.rule->kind != VEL_KIND_NONE;

    if (is_wanted && !atomic_flag_test_and_set(&is_told))
        vel_log(
            VEL_LOG_WARN,
            "%s is written to its own path, and is not protected, though DATASET=%s "
            "has it: %s",
            path, fit.line->name, why);
    else
        vel_log(VEL_LOG_INFO, "%s is written where it belongs: %s", name, why);
    if (is_below) {
        ret->changed = path;
        ret->why = strdup(why);
    } else {
        free(path);
    }
}

void vel_files_tell_elsewhere(const struct vel_file_name *name)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    const struct vel_line *line;
    struct vel_rule_fit fit;

    if (vel_rules_find(vel_files_conf(), vel_files_prefix(), name->path, &fit))
        return;
    for (size_t i = 0; (line = vel_conf_line(vel_files_conf(), VEL_DATASET, i)); i++) {
        const char *pattern = ((const struct vel_dataset_rule *)line->data)->pattern;

        if (vel_rule_fits_elsewhere(pattern, name->path) &&
            vel_files_launcher()->rank == 0 && !atomic_flag_test_and_set(&is_told))
            vel_log(VEL_LOG_WARN,
                    "%s:%d: DATASET=%s PATTERN=%s does not fit %s, which is in another "
                    "directory: patterns begin at the prefix %s, or with /",
                    line->source.where, line->source.line, line->name, pattern,
                    name->path, vel_files_prefix());
    }
}

/* Of what this process has made it knows so many names. */
static bool has_made(const char *path)
{
    static struct vel_map *made;

    if (!made)
        made = vel_map_create();
    if (made && vel_map_has(made, path))
        return true;
    if (made && vel_map_count(made) < NAMES_MOST)
        vel_map_set(made, path, NULL, NULL);
    return false;
}

void vel_files_tell_anew(const struct vel_file_name *name)
{
    static bool is_told;
    const char *below = vel_path_below(vel_files_prefix(), name->path);
    struct vel_rule_fit fit;

    if (is_told || vel_files_launcher()->rank > 0 || !below ||
        vel_rules_find(vel_files_conf(), vel_files_prefix(), name->path, &fit) ||
        !has_made(name->path))
        return;
    is_told = true;
    vel_log(
        VEL_LOG_WARN,
        "%s is written anew in its place: if this program dies meanwhile, there is "
        "no whole version of it. VELOC_DATASET='%s PATTERN=%s' keeps the one before "
        "until the new one is complete, and protects it",
        name->path, vel_path_base(below), below);
}

/* --- the two sentences --- */

static struct told {
    pthread_mutex_t lock;
    pid_t pid;             /* who has said the first; 0: nobody */
    int64_t above;         /* datasets that are there by then are not ours */
    struct vel_map *names; /* files that are counted, NAMES_MOST of them */
    uint64_t behind, live, bare;
    char *why; /* of the first that is not protected */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(struct vel_buf *text)
{
    struct vel_buf line;

    vel_buf_init(&line);
    vel_buf_printf(&line, "h5veloc: %s\n", vel_buf_text(text));
    if (!text->failed && !line.failed)
        vel_log_write_stderr(NULL, VEL_LOG_INFO, line.data, line.len);
    vel_buf_fini(&line);
}

static const char *why_bare(const struct vel_file_answer *answer)
{
    return answer->why ? answer->why : "its DATASET line says so (KIND=NONE)";
}

static void say_behind(const char *name, const char *path, struct vel_buf *text)
{
    const struct vel_conf *conf = vel_files_conf();
    struct vel_rule_fit fit;
    bool has_line = vel_rules_find(conf, vel_files_prefix(), path, &fit);

    vel_buf_printf(text,
                   "%s is protected (%s%s): it is written to the cache of its node, "
                   "kept on other nodes where there are any, and copied to its path in "
                   "the background",
                   name, has_line ? "DATASET=" : "no line has it",
                   has_line ? fit.line->name : "");
}

static void say_first(const struct vel_file_answer *answer)
{
    const char *name = vel_path_below(vel_files_prefix(), answer->changed);
    struct vel_buf text;

    vel_buf_init(&text);
    if (answer->file)
        say_behind(name, answer->changed, &text);
    else if (answer->has_journal && !answer->why)
        vel_buf_printf(&text,
                       "%s is written at its own path, as without h5veloc. If this "
                       "program dies, the next open brings the file back to its newest "
                       "flush. A DATASET line keeps older versions, and copies on "
                       "other nodes",
                       name);
    else
        vel_buf_printf(&text, "%s is not protected: %s", name, why_bare(answer));
    say(&text);
    vel_buf_fini(&text);
}

/* Of more names than it can know each open counts. */
static bool is_counted(const char *path)
{
    if (!told.names)
        told.names = vel_map_create();
    if (told.names && vel_map_has(told.names, path))
        return true;
    if (told.names && vel_map_count(told.names) < NAMES_MOST)
        vel_map_set(told.names, path, NULL, NULL);
    return false;
}

static void count(const struct vel_file_answer *answer)
{
    if (is_counted(answer->changed))
        return;
    if (answer->file) {
        told.behind++;
    } else if (answer->has_journal && !answer->why) {
        told.live++;
    } else {
        told.bare++;
        if (!told.why)
            told.why = strdup(why_bare(answer));
    }
}

void vel_files_tell(const struct vel_file_answer *answer)
{
    if (!answer->changed || vel_files_launcher()->rank > 0 || vel_files_conf()->quiet)
        return;
    pthread_mutex_lock(&told.lock);
    if (!told.pid) {
        told.pid = getpid();
        if (vel_index_last(vel_files_index(), &told.above, NULL) < 0)
            told.above = 0;
        say_first(answer);
    }
    if (told.pid == getpid())
        count(answer);
    pthread_mutex_unlock(&told.lock);
}

void vel_files_tell_home(const char *path, const char *why)
{
    vel_log(VEL_LOG_WARN,
            "%s goes on at its own path, and is not protected from now on: %s", path,
            why);
    pthread_mutex_lock(&told.lock);
    if (told.pid == getpid() && told.behind > 0) {
        told.behind--;
        told.bare++;
        if (!told.why)
            told.why = strdup(why);
    }
    pthread_mutex_unlock(&told.lock);
}

/* What of the user's settings does nothing for the files that are made: once. */
void vel_files_tell_unheeded(void)
{
    static bool is_told;
    struct vel_buf keys;
    bool was_told = is_told;

    is_told = true;
    if (was_told || vel_files_has_session()) /* that obeys them */
        return;
    vel_buf_init(&keys);
    vel_conf_list_unheeded(vel_files_conf(), VEL_WHOM_HDF5, &keys);
    if (keys.len > 0 && !keys.failed)
        vel_log_shared(VEL_LOG_WARN,
                       "HDF5 files do not obey these settings: %s (veloc.conf(5) says "
                       "whom each is for)",
                       vel_buf_text(&keys));
    vel_buf_fini(&keys);
}

/* --- the end --- */

struct datasets {
    int64_t there, files, coming, staying;
    int64_t newest, version;
    char *name; /* of the newest that can be restored */
    struct vel_seals_of seals;
};

/* Not all of its ranks have written their files, or the settings do not ask for it. */
static bool stays_in_caches(struct vel_seals_of *of, int64_t id)
{
    struct vel_seal seal;
    bool stays = false;

    if (vel_seals_of_dataset(of, id, &seal) == 0) {
        stays = !(seal.what & VEL_OWED_FLUSH);
        vel_seal_fini(&seal);
    }
    return stays;
}

static int add(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    struct datasets *all = arg;

    (void)err;
    if (entry->place != VEL_ON_PREFIX && !entry->replaced) {
        bool stays = entry->place == VEL_ON_CACHE &&
                     stays_in_caches(&all->seals, entry->dataset.id);

        all->staying += stays;
        all->coming += !stays;
    } else if (entry->place == VEL_ON_PREFIX) {
        all->there++;
        all->files += entry->dataset.files;
        if (!all->name && vel_entry_is_fetchable(entry)) { /* newest first */
            all->newest = entry->dataset.id;
            all->version = entry->dataset.version;
            all->name = strdup(entry->dataset.name);
        }
    }
    vel_entry_fini(entry);
    return 0;
}

static void say_datasets(struct vel_buf *text)
{
    char *dir = vel_files_launch_dir();
    size_t left_out = 0;
    const struct vel_index_range newer = {
        .above = told.above,
        .below = INT64_MAX,
        .launch = dir ? vel_launch_of(vel_path_base(dir)) : NULL,
        .left_out = &left_out};
    struct datasets all = {.seals = {.fs = vel_fs_posix(), .dir = vel_files_dir()}};

    if (newer.launch)
        vel_index_each(vel_files_index(), &newer, add, &all, NULL);
    vel_buf_printf(text, "%" PRId64 " dataset%s of %" PRId64 " file%s complete at %s",
                   all.there, all.there == 1 ? "" : "s", all.files,
                   all.files == 1 ? "" : "s",
                   all.files == 1 ? "its path" : "their paths");
    if (all.name)
        vel_buf_printf(text,
                       ", the newest to restart from is dataset %" PRId64
                       " (%s %" PRId64 ")",
                       all.newest, all.name, all.version);
    if (all.coming)
        vel_buf_printf(text, ", %" PRId64 " more in the caches, on the way there",
                       all.coming);
    if (all.staying)
        vel_buf_printf(text,
                       ", %" PRId64 " more in the caches alone (h5veloc-ls tells why)",
                       all.staying);
    vel_seals_of_fini(&all.seals);
    free(all.name);
    free(dir);
}

void vel_files_tell_end(void)
{
    const char *whose = vel_files_launcher()->ranks > 1 ? " of rank 0" : "";
    const char *between = "";
    struct vel_buf text;

    if (told.pid != getpid())
        return;
    vel_buf_init(&text);
    if (told.behind) {
        say_datasets(&text);
        between = "; ";
    }
    if (told.live) {
        vel_buf_printf(&text, "%s%" PRIu64 " file%s%s written at %s", between,
                       told.live, told.live == 1 ? "" : "s", whose,
                       told.live == 1 ? "its own path" : "their own paths");
        between = "; ";
    }
    if (told.bare)
        vel_buf_printf(&text, "%s%" PRIu64 " file%s%s not protected: %s", between,
                       told.bare, told.bare == 1 ? "" : "s", whose,
                       told.why ? told.why : "");
    say(&text);
    vel_buf_fini(&text);
}
