/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fs.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void making(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    struct stat st = {0};

    is_int(vel_fs_make_dirs(fs, tap_path("make/a/b"), 0750, &err), 0,
           "directories are made");
    ok(stat(tap_path("make/a"), &st) == 0 && (st.st_mode & 0777) == 0750,
       "with the given mode");
    chmod(tap_path("make/a"), 0700);
    is_int(vel_fs_make_dirs(fs, tap_path("make/a/b/"), 0750, &err), 0,
           "what is there is enough, a slash at the end or not");
    is_int(vel_fs_make_dirs(fs, tap_path("make//a/c"), 0750, &err), 0,
           "double slashes do no harm");
    ok(stat(tap_path("make/a"), &st) == 0 && (st.st_mode & 0777) == 0700,
       "what is there keeps its mode");
    if (symlink(tap_path("make/a"), tap_path("make/link")) < 0 ||
        symlink("nowhere", tap_path("make/dangling")) < 0)
        bail_out("cannot make a link");
    is_int(vel_fs_make_dirs(fs, tap_path("make/link/d"), 0750, &err), 0,
           "a link to a directory is a directory on the way");
    ok(is_dir(tap_path("make/a/d")), "and is followed");
    is_int(vel_fs_make_dirs(fs, tap_path("make/dangling"), 0750, &err), VEL_EINVAL,
           "a dangling link is none");
    tap_put_file(tap_path("make/file"), "");
    is_int(vel_fs_make_dirs(fs, tap_path("make/file"), 0750, &err), VEL_EINVAL,
           "a file in the last place is refused");
    is_int(vel_fs_make_dirs(fs, tap_path("make/file/a/b"), 0750, &err), VEL_EINVAL,
           "a file on the way is refused");
    ok(strstr(err.text, "make/file") != NULL, "the sentence names it");
    is_int(vel_fs_make_dirs(fs, "/", 0750, &err), 0, "the root is there");
    if (chdir(tap_dir()) < 0)
        bail_out("cannot go to %s", tap_dir());
    is_int(vel_fs_make_dirs(fs, "relative/path", 0750, &err), 0,
           "relative directories are made");
    ok(is_dir(tap_path("relative/path")), "in the working directory");
}

/* every child makes the same directories, and fails if it cannot put a file there */
static void race(void)
{
    enum { NPROCS = 4, ROUNDS = 40 };
    int failed = 0, status;

    for (int i = 0; i < NPROCS; i++) {
        pid_t pid = fork();
        if (pid < 0)
            bail_out("cannot fork");
        if (pid > 0)
            continue;
        int bad = 0;
        for (int round = 0; round < ROUNDS; round++) {
            char path[1200];
            snprintf(path, sizeof path, "%s/race/%d/a/b/c/d", tap_dir(), round);
            bad |= vel_fs_make_dirs(vel_fs_posix(), path, 0700, NULL) < 0;
            bad |= !is_dir(path);
        }
        _exit(bad);
    }
    for (int i = 0; i < NPROCS; i++)
        failed += wait(&status) < 0 || status != 0;
    is_int(failed, 0, "several processes make the same directories at once");
}

static void privacy(void)
{
    struct vel_fs *fs = vel_fs_posix();
    const char *dir = tap_path("private");
    struct vel_err err = {0};

    tap_fresh_dir(dir);
    chmod(dir, 0700);
    is_int(vel_fs_check_private_dir(fs, dir, &err), 0,
           "a directory of ours is trusted");
    chmod(dir, 0755);
    is_int(vel_fs_check_private_dir(fs, dir, &err), 0, "others may read");
    chmod(dir, 0720);
    is_int(vel_fs_check_private_dir(fs, dir, &err), VEL_EUNSAFE,
           "the group cannot write");
    chmod(dir, 01777);
    is_int(vel_fs_check_private_dir(fs, dir, &err), VEL_EUNSAFE, "others cannot write");
    chmod(dir, 0700);
    if (symlink(dir, tap_path("private-link")) < 0)
        bail_out("cannot make a link");
    is_int(vel_fs_check_private_dir(fs, tap_path("private-link"), &err), VEL_EUNSAFE,
           "a link is not trusted");
    tap_put_file(tap_path("private-file"), "");
    is_int(vel_fs_check_private_dir(fs, tap_path("private-file"), &err), VEL_EUNSAFE,
           "nor is a file");
    is_int(vel_fs_check_private_dir(fs, tap_path("none"), &err), VEL_ENOENT,
           "what is missing is not found");
    if (geteuid() == 0 && chown(dir, 12345, -1) == 0)
        is_int(vel_fs_check_private_dir(fs, dir, &err), VEL_EUNSAFE,
               "nor is another user's directory");
    else
        skip(1, "only root can give a directory away");
}

static void lists(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec names;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    tap_fresh_dir(tap_path("list"));
    is_int(vel_fs_list(fs, tap_path("list"), &names, &err), 0,
           "an empty directory is listed");
    is_int((long long)names.n, 0, "and has nothing in it");
    vel_fs_names_fini(&names);
    tap_put_file(tap_path("list/b"), "");
    tap_put_file(tap_path("list/.hidden"), "");
    tap_put_file(tap_path("list/a"), "");
    if (symlink(tap_path("list"), tap_path("list-link")) < 0)
        bail_out("cannot make a link");
    is_int(vel_fs_list(fs, tap_path("list-link"), &names, &err), 0,
           "a link to a directory is listed");
    ok(names.n == 3 && strcmp(*(char **)vel_vec_at(&names, 0), ".hidden") == 0 &&
           strcmp(*(char **)vel_vec_at(&names, 1), "a") == 0 &&
           strcmp(*(char **)vel_vec_at(&names, 2), "b") == 0,
       "names are sorted, without . and ..");
    vel_fs_names_fini(&names);
    is_int(vel_fs_list(fs, tap_path("list/a"), &names, &err), VEL_ENOENT,
           "there is no directory where a file is");
    is_int(vel_fs_list(fs, tap_path("none"), &names, &err), VEL_ENOENT,
           "nor is what is missing");
    struct vel_vec raw;
    vel_vec_init(&raw, sizeof(char *));
    ok(fs->ops->list(fs, tap_path("list-link"), &raw) < 0 && raw.n == 0,
       "the operation itself does not follow a link");
    vel_vec_fini(&raw);
    is_int(tap_open_fds(), fds, "no descriptor is left");
}

static void prepare_tree(const char *root)
{
    char path[1200];

    tap_fresh_dir(root);
    snprintf(path, sizeof path, "%s/sub", root);
    tap_fresh_dir(path);
    snprintf(path, sizeof path, "%s/sub/empty", root);
    tap_fresh_dir(path);
    snprintf(path, sizeof path, "%s/sub/file", root);
    tap_put_file(path, "");
    snprintf(path, sizeof path, "%s/a", root);
    tap_put_file(path, "");
    snprintf(path, sizeof path, "%s/z-link", root);
    if (symlink(tap_path("outside"), path) < 0)
        bail_out("cannot make a link");
}

struct seen {
    struct vel_buf text;
    const char *stop_at;
};

static int see(void *arg, enum vel_fs_visit what, const char *below,
               const struct stat *st, struct vel_err *err)
{
    struct seen *seen = arg;

    vel_buf_printf(&seen->text, "%c%s ", "fel"[what], below);
    if (S_ISDIR(st->st_mode) != (what != VEL_FS_FILE))
        vel_buf_puts(&seen->text, "WRONG ");
    if (seen->stop_at && strcmp(below, seen->stop_at) == 0)
        return vel_fail(err, VEL_ECANCEL, "seen enough");
    return 1; /* only a negative result ends a walk */
}

static void walks(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct seen seen = {0};
    struct vel_err err = {0};
    char root[1200];

    tap_fresh_dir(tap_path("outside"));
    tap_put_file(tap_path("outside/treasure"), "");
    prepare_tree(tap_path("tree"));
    snprintf(root, sizeof root, "%s//", tap_path("tree"));
    is_int(vel_fs_walk(fs, root, see, &seen, &err), 0, "a tree is walked");
    is_str(vel_buf_text(&seen.text),
           "e fa esub esub/empty lsub/empty fsub/file lsub fz-link l ",
           "sorted, directories before and after what is in them, links not followed");
    vel_buf_clear(&seen.text);
    seen.stop_at = "sub/empty";
    is_int(vel_fs_walk(fs, tap_path("tree"), see, &seen, &err), VEL_ECANCEL,
           "a visitor ends the walk");
    is_str(err.text, "seen enough", "with his own sentence");
    is_str(vel_buf_text(&seen.text), "e fa esub esub/empty ", "at once");
    vel_buf_clear(&seen.text);
    is_int(vel_fs_walk(fs, tap_path("tree/a"), see, &seen, &err), 0,
           "a file is walked as itself");
    is_str(vel_buf_text(&seen.text), "f ", "and is all there is");
    is_int(vel_fs_walk(fs, tap_path("none"), see, &seen, &err), VEL_ENOENT,
           "there is nothing to walk without a root");
    vel_buf_fini(&seen.text);
}

static void removals(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};

    is_int(vel_fs_remove_tree(fs, tap_path("tree"), &err), 0, "a tree is removed");
    ok(access(tap_path("tree"), F_OK) < 0, "all of it");
    ok(access(tap_path("outside/treasure"), F_OK) == 0,
       "but nothing behind a link in it");
    is_int(vel_fs_remove_tree(fs, tap_path("tree"), &err), 0,
           "removing what is not there succeeds");
    if (symlink(tap_path("outside"), tap_path("root-link")) < 0)
        bail_out("cannot make a link");
    is_int(vel_fs_remove_tree(fs, tap_path("root-link"), &err), 0, "a link is removed");
    ok(access(tap_path("root-link"), F_OK) < 0 &&
           access(tap_path("outside/treasure"), F_OK) == 0,
       "and not what it leads to");
    is_int(vel_fs_remove_tree(fs, tap_path("outside/treasure"), &err), 0,
           "a file is removed");
}

/* deeper than any path buffer, made and removed step by step */
static void depth(void)
{
    struct vel_buf path;
    struct vel_err err = {0};

    vel_buf_init(&path);
    vel_buf_puts(&path, tap_path("deep"));
    for (int i = 0; i < 15; i++)
        vel_buf_printf(&path, "/%0*d", 200, i);
    is_int(vel_fs_make_dirs(vel_fs_posix(), path.data, 0700, &err), 0,
           "a path of %zu bytes is made", path.len);
    ok(is_dir(path.data), "and is there");
    is_int(vel_fs_remove_tree(vel_fs_posix(), tap_path("deep"), &err), 0,
           "and removed");
    while (path.len < 5000)
        vel_buf_printf(&path, "/%0*d", 200, 0);
    is_int(vel_fs_make_dirs(vel_fs_posix(), path.data, 0700, &err), VEL_EINVAL,
           "a path beyond the system's limit is refused");
    vel_buf_fini(&path);
}

static int make_three(struct vel_fs *fs, const char *dir, void *arg,
                      struct vel_err *err)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/a/b/c", dir);
    return vel_fs_make_dirs(fs, path, 0700, err);
}

/* another process has made the first one and died before it could sync it */
static int make_two_more(struct vel_fs *fs, const char *dir, void *arg,
                         struct vel_err *err)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/a", dir);
    fs->ops->mkdir(fs, path, 0700);
    return make_three(fs, dir, arg, err);
}

/* the same, and it made all of them */
static int make_none(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/a", dir);
    fs->ops->mkdir(fs, path, 0700);
    return vel_fs_make_dirs(fs, path, 0700, err);
}

static int make_own(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/a", dir);
    fs->ops->mkdir(fs, path, 0700);
    return vel_fs_make_own_dir(fs, path, 0700, err);
}

static void prepare_nothing(const char *dir, void *arg)
{
    (void)dir, (void)arg;
}

static enum sweep_state check_dirs(const char *dir, void *arg)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/%s", dir, (const char *)arg);
    return is_dir(path) ? SWEEP_NEW : SWEEP_OLD;
}

static void sweeps(void)
{
    char three[] = "a/b/c", one[] = "a";
    const struct sweep making_three = {.name = "making three directories",
                                       .prepare = prepare_nothing,
                                       .action = make_three,
                                       .check = check_dirs,
                                       .arg = three};
    const struct sweep adopting = {.name = "making directories in an unsynced one",
                                   .prepare = prepare_nothing,
                                   .action = make_two_more,
                                   .check = check_dirs,
                                   .arg = three};
    struct sweep finding = {.name = "finding an unsynced directory",
                            .prepare = prepare_nothing,
                            .action = make_none,
                            .check = check_dirs,
                            .arg = one};

    sweep_run(&making_three);
    sweep_run(&adopting);
    sweep_run(&finding);
    finding.name = "finding an own directory that is empty";
    finding.action = make_own;
    sweep_run(&finding);
}

static int made;

static int count_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    made += (flags & O_CREAT) != 0;
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

static int show_all(struct vel_fs *fs, const char *path)
{
    (void)fs, (void)path;
    return 1;
}

static int show_some(struct vel_fs *fs, const char *path)
{
    (void)fs, (void)path;
    return 0;
}

static void looks(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {&ops};
    struct timespec now = {0};
    struct vel_err err = {0};

    ops.open = count_open;
    ops.shows_all = show_some;
    ok(vel_fs_see_anew(&fs, tap_dir(), NULL, &err) == 0 && made == 1,
       "a name that comes and goes shows what others have done");
    ops.shows_all = show_all;
    ok(vel_fs_see_anew(&fs, tap_dir(), NULL, &err) == 0 && made == 1,
       "where all is seen at once none is needed");
    ok(vel_fs_see_anew(&fs, tap_dir(), &now, &err) == 0 && made == 2 && now.tv_sec > 0,
       "but to tell the time");
}

int main(void)
{
    umask(022);
    looks();
    making();
    race();
    privacy();
    lists();
    walks();
    removals();
    depth();
    sweeps();
    return done_testing();
}
