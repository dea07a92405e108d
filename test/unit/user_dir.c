/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a user's things lie below a directory in which others may write: in the first
 * of eight names that is his own, and nowhere else, whoever else was there. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/user_dir.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { STRANGER = 12345, NAMES = 8 };

static char base[1024], heard[4096];
static struct vel_err err;

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    snprintf(heard, sizeof heard, "%.*s", (int)len, line);
}

static void fresh(const char *name)
{
    snprintf(base, sizeof base, "%s", tap_path(name));
    tap_fresh_dir(base);
    memset(&err, 0, sizeof err);
    heard[0] = '\0';
}

static const char *at(const char *name)
{
    static char path[1200];

    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void mine(const char *name, mode_t mode)
{
    if (mkdir(at(name), 0700) < 0 || chmod(at(name), mode) < 0)
        bail_out("cannot make %s", at(name));
}

static void strangers(const char *name)
{
    mine(name, 0700);
    if (chown(at(name), STRANGER, STRANGER) < 0)
        bail_out("cannot give %s away", at(name));
}

/* Its name, or "" when there is none. */
static const char *found(void)
{
    static char name[64];
    char *dir = vel_user_dir(vel_fs_posix(), base, "u");

    snprintf(name, sizeof name, "%s", dir ? strrchr(dir, '/') + 1 : "");
    free(dir);
    return name;
}

static const char *made(void)
{
    static char name[64];
    char *dir = NULL;
    int rc = vel_user_dir_make(vel_fs_posix(), base, "u", &dir, &err);

    snprintf(name, sizeof name, "%s", rc == 0 ? strrchr(dir, '/') + 1 : "");
    free(dir);
    return name;
}

static void ours(void)
{
    struct stat st;

    fresh("ours");
    is_str(found(), "u", "where there is nothing it will be USER");
    ok(lstat(at("u"), &st) < 0, "and who only looks makes nothing");
    is_str(made(), "u", "it is made");
    ok(lstat(at("u"), &st) == 0 && (st.st_mode & 07777) == 0700, "for ourselves alone");
    is_str(made(), "u", "once");
    is_str(heard, "", "and nothing is told of that");
    chmod(at("u"), 0755);
    is_str(made(), "u", "others may look into it");
    strcat(base, "/deep/er");
    is_str(made(), "u", "and what is above it is made with it");
}

static void not_ours(void)
{
    fresh("not-ours");
    mine("there", 0700);
    if (symlink("there", at("u")) < 0 || symlink("nowhere", at("u.1")) < 0)
        bail_out("no link");
    tap_put_file(at("u.2"), "a file");
    mine("u.3", 0770);
    is_str(made(), "u.4",
           "links, files, and directories in which others may write are passed over");
    ok(strstr(heard, "u.4 is used in the place of") && strstr(heard, "is a link"),
       "which is told, with the reason: %s", heard);
    is_str(found(), "u.4", "who looks looks there");
    heard[0] = '\0';
    made();
    is_str(heard, "", "it is told once");
    if (unlink(at("u")) < 0)
        bail_out("no unlink");
    is_str(made(), "u.4", "and it stays there when an earlier name becomes free");
    chmod(at("u.3"), 0700);
    is_str(found(), "u.3", "of two that are ours it is the first");
}

static void another_users(void)
{
    char name[16] = "u";

    if (geteuid() != 0) {
        skip(5, "only root can give a directory away");
        return;
    }
    fresh("strangers");
    strangers("u");
    chmod(at("u"), 0777);
    is_str(found(), "u.1", "another user's directory is passed over");
    is_str(made(), "u.1", "and ours is made beside it");
    fresh("all");
    for (int i = 0; i < NAMES; i++) {
        strangers(name);
        snprintf(name, sizeof name, "u.%d", i + 1);
    }
    is_str(made(), "", "where all names are taken there is none: %s", err.text);
    is_int(err.status, VEL_EUNSAFE, "and the status says so");
    is_str(found(), "u", "who looks is shown one that is not ours");
}

/* Who can see nothing of a base does not say that others have taken it. */
static void no_base(void)
{
    fresh("base");
    tap_put_file(at("file"), "");
    strcat(base, "/file");
    is_str(made(), "", "below a file there is none");
    ok(strstr(err.text, "ot a directory") != NULL, "which is what is said: %s",
       err.text);
}

/* Processes that all begin when the last of them is there. */
static void together(void)
{
    enum { PROCESSES = 16, ROUNDS = 20 };
    int same = 0;

    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid[PROCESSES];
        int begin[2], status, good = 0;
        char byte;

        fresh("together");
        if (geteuid() == 0)
            strangers("u");
        if (pipe(begin) < 0)
            bail_out("no pipe");
        for (int i = 0; i < PROCESSES; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                close(begin[1]);
                (void)!read(begin[0], &byte, 1);
                _exit(strcmp(made(), geteuid() == 0 ? "u.1" : "u") != 0);
            }
        }
        close(begin[0]);
        close(begin[1]);
        for (int i = 0; i < PROCESSES; i++)
            good += waitpid(pid[i], &status, 0) == pid[i] && status == 0;
        same += good == PROCESSES;
    }
    is_int(same, ROUNDS, "processes that begin together take the same one");
}

int main(void)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};

    vel_log_open(&sink);
    ours();
    not_ours();
    another_users();
    no_base();
    together();
    vel_log_open(NULL);
    return done_testing();
}
