/* SPDX-License-Identifier: BSD-3-Clause */
/* Files at their own paths, and the journals by which they are mended when who wrote
 * them has died (doc/format-journal.txt). */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "brain/template.h"
#include "conf/rules.h"
#include "log/journal.h"
#include "log/mend.h"
#include "meta/cache.h"
#include "process/files_in.h"

#define MOST ((uint64_t)256 << 20)

enum { SHARE = 8 }; /* of the free space of the cache */

static void tell_older_word(const struct vel_line *line)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (vel_files_launcher()->rank == 0 && !atomic_flag_test_and_set(&is_told))
        vel_log(VEL_LOG_WARN,
                "DATASET=%s: PUBLISH=THROUGH means LIVE: its files are written to "
                "their own paths, and are not protected; PUBLISH=BEHIND protects them",
                line->name);
}

/* Another rank may have one like it: so its name has a number. */
static bool may_be_of_family(const struct vel_file_name *name)
{
    const char *below = vel_path_below(vel_files_prefix(), name->path);
    struct vel_buf template, numbers;
    bool may;

    if (vel_files_launcher()->ranks < 2 || !below)
        return false;
    vel_buf_init(&template);
    vel_buf_init(&numbers);
    may = vel_template_split(below, &template, &numbers) > 0;
    vel_buf_fini(&template);
    vel_buf_fini(&numbers);
    return may;
}

bool vel_files_is_live(const struct vel_files_of *of, const struct vel_file_name *name)
{
    const struct vel_conf *conf = vel_files_conf();
    struct vel_rule_fit fit;

    if (!vel_rules_find(conf, vel_files_prefix(), name->path, &fit))
        return conf->unlisted == VEL_UNLISTED_LIVE ||
               (conf->unlisted == VEL_UNLISTED_FAMILIES &&
                (of->is_shared || !may_be_of_family(name)));
    if (fit.rule->publish == VEL_PUBLISH_THROUGH)
        tell_older_word(fit.line);
    return vel_rule_is_live(fit.rule);
}

/* --- its journal --- */

static const char journals[] = "journal"; /* beside the caches of prefixes */

static char *journal_dir(void)
{
    return vel_cache_home(vel_fs_posix(), vel_files_conf()->cache_base,
                          vel_files_user(), journals);
}

/* Of this process, made. */
static int make_journal_dir(const char **ret_dir, struct vel_err *err)
{
    static char *dir;
    int rc = dir ? 0
                 : vel_cache_make_home(vel_fs_posix(), vel_files_conf()->cache_base,
                                       vel_files_user(), journals, &dir, err);

    *ret_dir = dir;
    return rc;
}

bool vel_files_may_journal(const struct vel_file_name *name)
{
    struct vel_rule_fit fit;

    return !vel_rules_find(vel_files_conf(), vel_files_prefix(), name->path, &fit) ||
           fit.rule->kind != VEL_KIND_NONE;
}

static uint64_t room_in(const char *dir)
{
    uint64_t room = 0;

    vel_fs_space(vel_fs_posix(), dir, &room, NULL);
    return room / SHARE < MOST ? room / SHARE : MOST;
}

struct vel_journal *vel_files_journal(const char *name, int fd, vel_file_head_f *head)
{
    char *path = vel_files_real_path(name);
    struct vel_err why = {0};
    struct vel_journal *journal = NULL;
    struct vel_journal_of of = {.fs = vel_fs_posix(),
                                .clock = vel_clock_system(),
                                .path = path ? path : name,
                                .fd = fd,
                                .close_head = head};
    static bool is_swept, may_map;
    int rc = make_journal_dir(&of.dir, &why);

    if (rc == 0 && !is_swept) {
        vel_mend_sweep(of.fs, of.dir);
        may_map = vel_fs_overwrites_in_place(of.dir);
        is_swept = true;
    }

    if (rc == 0) {
        of.most = room_in(of.dir);
        of.may_map = may_map;
        rc = vel_journal_create(&of, &journal, &why);
    }
    if (rc < 0)
        vel_journal_tell_none(of.path, why.text);
    free(path);
    return rc < 0 ? NULL : journal;
}

/* --- who opens it --- */

static int mend(const char *path, vel_file_head_f *head, struct vel_err *err)
{
    struct vel_buf replaced_dir;
    char *dir = journal_dir(), *replaced = NULL;
    enum vel_mended mended = VEL_MEND_NOTHING;
    struct vel_mend_of of = {
        .fs = vel_fs_posix(),
        .clock = vel_clock_system(),
        .dir = dir,
        .path = path,
        .limit = (uint64_t)(vel_files_conf()->peer_timeout * (double)VEL_CLOCK_S),
        .close_head = head};
    int rc;

    vel_buf_init(&replaced_dir);
    vel_buf_printf(&replaced_dir, "%s/%ld/replaced", vel_files_dir(), (long)geteuid());
    of.replaced = vel_buf_text(&replaced_dir);
    rc = dir ? vel_buf_status(&replaced_dir, err) : vel_out_of_memory(err, "a journal");
    if (rc == 0)
        rc = vel_mend(&of, &mended, &replaced, err);
    if (rc == 0 && mended == VEL_MEND_DONE)
        vel_log(VEL_LOG_WARN,
                "%s is as at its last H5Fflush: the process that wrote it was killed"
                "%s%s",
                path, replaced ? "; what it wrote since is in " : "",
                replaced ? replaced : "");
    if (rc == 0 && mended == VEL_MEND_HELD)
        vel_log(VEL_LOG_INFO, "%s is being written by another process", path);
    vel_buf_fini(&replaced_dir);
    free(replaced);
    free(dir);
    return rc;
}

int vel_files_mend(const struct vel_files_of *of, const char *name,
                   vel_file_head_f *head, struct vel_err *err)
{
    char *path = vel_files_know(of) ? vel_files_real_path(name) : NULL;
    int rc = path ? mend(path, head, err) : 0;

    free(path);
    return rc;
}

void vel_files_forget_journal(const char *name)
{
    struct vel_fs *fs = vel_fs_posix();
    char *path = vel_files_real_path(name), *dir = journal_dir();
    struct stat st;

    if (path && dir && vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode))
        vel_mend_forget(fs, dir, &st);
    free(path);
    free(dir);
}
