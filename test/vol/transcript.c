/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that looks at the path of its file after each call of HDF5, as programs do
 * beside HDF5: is it there, how large, with which signature, can HDF5 open it without
 * us, who has it locked; and renames, links, removes it and changes its mode. Without a
 * line it sees with the connector what it sees without one, call by call. With a line
 * it sees the same but for what is in the file, which comes to its path later, and but
 * for one thing that veloc(7) tells: a name that was removed is not free for the
 * program itself before it has closed the file. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "tap/files.h"
#include "tap/tap.h"

enum { CELLS = 1000, MORE = 3000 };

static FILE *out;
static ino_t first;  /* inode of the file that was made last */
static int is_later; /* what is in the file comes there later */

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(out, fmt, ap);
    va_end(ap);
}

/* --- what others see --- */

static void see_bytes(const char *path)
{
    unsigned char bytes[8] = {0};
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);

    if (!is_later)
        say(" bytes %zd:", n);
    for (size_t i = 0; i < sizeof bytes && !is_later; i++)
        say(" %02x", bytes[i]);
    say(" shared lock %d", fd < 0 ? -1 : flock(fd, LOCK_SH | LOCK_NB));
    say(" lock %d", fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB));
    if (fd >= 0)
        close(fd);
}

/* From outside, for a process sees its own files as it has them. */
static void see_natively(const char *path)
{
    int status = -1;
    pid_t child;

    fflush(out);
    child = fork();
    if (child == 0) {
        unsetenv("HDF5_VOL_CONNECTOR");
        execl("/proc/self/exe", "transcript", "open", path, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    say(" opens %x", (unsigned)status);
}

static void see(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0) {
        say("  %s: %s\n", path, strerror(errno));
        return;
    }
    if (first == 0)
        first = st.st_ino;
    say("  %s: mode %o links %u%s", path, (unsigned)st.st_mode, (unsigned)st.st_nlink,
        st.st_ino == first ? "" : " another");
    if (!is_later)
        say(" size %lld", (long long)st.st_size);
    see_bytes(path);
    if (!is_later)
        see_natively(path);
    say("\n");
}

static void did(const char *what, long long rc)
{
    say("%s: %s\n", what, rc < 0 ? "fails" : "done");
    see("f.h5");
    see("g.h5");
}

/* --- what the program does --- */

static hid_t data_of(hid_t file)
{
    hsize_t n = CELLS, most = H5S_UNLIMITED, chunk = 100;
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, &most),
          data;

    H5Pset_chunk(how, 1, &chunk);
    data = H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(how);
    return data;
}

static int write_all(hid_t data)
{
    static int values[MORE];

    return H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

static hid_t made(const char *what, const char *name, unsigned flags)
{
    hid_t file;

    first = 0;
    file = H5Fcreate(name, flags, H5P_DEFAULT, H5P_DEFAULT);
    did(what, file);
    return file;
}

static void with_one(void)
{
    hsize_t more = MORE;
    hid_t file = made("create", "f.h5", H5F_ACC_EXCL), data, again;

    data = data_of(file);
    did("create a dataset", data);
    did("write", write_all(data));
    did("flush", H5Fflush(file, H5F_SCOPE_GLOBAL));
    did("chmod", chmod("f.h5", 0600));
    did("resize", H5Dset_extent(data, &more));
    did("write more", write_all(data));
    did("rename", rename("f.h5", "g.h5"));
    did("flush", H5Fflush(file, H5F_SCOPE_GLOBAL));
    did("rename it back", rename("g.h5", "f.h5"));
    again = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    did("open again", again);
    did("close the first", H5Fclose(file));
    did("link", link("f.h5", "g.h5"));
    did("close the dataset", H5Dclose(data));
    did("close", H5Fclose(again));
    did("unlink", unlink("f.h5"));
}

static void with_another(void)
{
    hid_t file = H5Fopen("g.h5", H5F_ACC_RDONLY, H5P_DEFAULT), other;

    did("open to read", file);
    other = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    did("open what is not there", other);
    did("create it over what is open",
        H5Fcreate("g.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    did("close", H5Fclose(file));
    file = made("create anew", "g.h5", H5F_ACC_TRUNC);
    did("write", write_all(data_of(file)));
    did("unlink while it is open", unlink("g.h5"));
    other = made("create another of that name", "g.h5", H5F_ACC_EXCL);
    did("close the first", H5Fclose(file));
    did("close the other", H5Fclose(other));
    did("move away", rename("g.h5", "f.h5"));
    did("is accessible", H5Fis_accessible("f.h5", H5P_DEFAULT) - 1);
    did("was", H5Fis_accessible("g.h5", H5P_DEFAULT) - 1);
    did("delete", H5Fdelete("f.h5", H5P_DEFAULT));
    file = made("create", "f.h5", H5F_ACC_TRUNC);
    did("is left open", file);
}

static int opens(const char *path)
{
    hid_t file;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return file < 0 ? 1 : H5Gget_num_objs(file, &(hsize_t){0}) < 0 ? 2 : 0;
}

static int tell(const char *path)
{
    out = fopen(path, "w");
    if (!out)
        return 1;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    umask(022);
    with_one();
    with_another();
    fclose(out);
    if (is_later)
        raise(SIGKILL); /* it would wait until all has come there */
    return 0;
}

/* --- */

/* In a directory of its own. */
static int run(const char *dir, const char *connector, const char *how)
{
    pid_t child;
    int status = -1;

    tap_fresh_dir(tap_path(dir));
    child = fork();
    if (child == 0) {
        setenv("HDF5_VOL_CONNECTOR", connector, 1);
        if (chdir(tap_path(dir)) < 0)
            _exit(126);
        execl("/proc/self/exe", "transcript", how, "../told", (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return status;
}

/* What is told there is `told` with the connector, as HDF5 alone has it. */
static void same(const char *connector, const char *how)
{
    int status = strcmp(how, "later") == 0 ? SIGKILL : 0;
    char *native, *ours;

    is_int(run("native", "native", how), status,
           "a program that looks at its file's path");
    native = tap_get_file(tap_path("told"), NULL);
    is_int(run("ours", connector, how), status, "runs with '%s'", connector);
    ours = tap_get_file(tap_path("told"), NULL);
    is_str(ours, native, "and sees what it sees without");
    free(native);
    free(ours);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        is_later = strcmp(argv[1], "later") == 0;
        return strcmp(argv[1], "open") == 0 ? opens(argv[2]) : tell(argv[2]);
    }
    setenv("VELOC_CACHE_BASE", tap_path("cache"), 1);
    setenv("VELOC_CNTL_BASE", tap_dir(), 1);
    same("veloc", "now");
    same("veloc live", "now");
    setenv("VELOC_FLUSH_BANDWIDTH", "1", 1); /* nothing comes there before the end */
    same("veloc behind", "later");
    return done_testing();
}
