/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs as they end, each in a way of its own: exits HOW. They write files of steps,
 * e.STEP.h5, of one group each, know nothing of a connector, and have an exit code of
 * their own. exits NAME... makes files of these names, one after the other. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

enum { CODE = 7, STUB_MOST = 400 };

static hid_t begin(const char *name)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return file;
}

static void save(const char *name)
{
    H5Fclose(begin(name));
}

static void plainly(void)
{
    save("e.1.h5");
    save("e.2.h5");
}

static void leaking(void)
{
    hid_t file = begin("e.2.h5");

    save("e.1.h5");
    H5Gopen2(file, "g", H5P_DEFAULT);
}

static void by_h5close(void)
{
    begin("e.1.h5");
    H5close();
    save("e.2.h5");
    H5close();
}

static void by_exit(void)
{
    begin("e.2.h5");
    save("e.1.h5");
    exit(CODE);
}

static void end_too(void)
{
    save("e.2.h5");
}

/* Handlers run in the other order: this one after HDF5's own. */
static void at_exit(void)
{
    atexit(end_too);
    save("e.1.h5");
}

/* --- children --- */

static void wait_for(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        exit(1);
}

static int is_stub(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 && st.st_size < STUB_MOST;
}

/* With all that a program does at its end, and a file of the parent's open. */
static void with_child(void)
{
    hid_t file = begin("e.2.h5");
    pid_t pid;

    save("e.1.h5");
    pid = fork();
    if (pid == 0)
        exit(0);
    wait_for(pid);
    H5Fclose(file);
}

/* What the child writes is at its path. */
static void with_writing_child(void)
{
    pid_t pid;

    save("e.1.h5");
    pid = fork();
    if (pid == 0) {
        save("e.2.h5");
        exit(is_stub("e.2.h5"));
    }
    wait_for(pid);
}

/* What has not been flushed is not flushed by a child, nor removed. */
static void with_idle_child(void)
{
    pid_t pid;

    save("e.1.h5");
    save("e.2.h5");
    pid = fork();
    if (pid == 0)
        exit(0);
    wait_for(pid);
    _exit(is_stub("e.2.h5") ? CODE : 1);
}

static void as_another(void)
{
    save("e.1.h5");
    save("e.2.h5");
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

/* Somebody has taken it for litter. */
static void without_records(void)
{
    save("e.1.h5");
    if (system("until rm -rf .veloc 2>/dev/null; do :; done") != 0)
        exit(1);
    save("e.2.h5");
}

/* --- MPI --- */

#ifdef H5_HAVE_PARALLEL
static void after_finalize(void)
{
    hid_t file;

    MPI_Init(NULL, NULL);
    save("e.1.h5");
    file = begin("e.2.h5");
    MPI_Finalize();
    H5Fclose(file);
}

static void before_init(void)
{
    H5open();
    save("e.1.h5");
    MPI_Init(NULL, NULL);
    save("e.2.h5");
    MPI_Finalize();
}

static void leaking_mpi(void)
{
    MPI_Init(NULL, NULL);
    save("e.1.h5");
    begin("e.2.h5");
    MPI_Finalize();
}
#endif

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"plainly", plainly},
    {"leaking", leaking},
    {"by_h5close", by_h5close},
    {"by_exit", by_exit},
    {"at_exit", at_exit},
    {"with_child", with_child},
    {"with_writing_child", with_writing_child},
    {"with_idle_child", with_idle_child},
    {"as_another", as_another},
    {"without_records", without_records},
#ifdef H5_HAVE_PARALLEL
    {"after_finalize", after_finalize},
    {"before_init", before_init},
    {"leaking_mpi", leaking_mpi},
#endif
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return CODE;
        }
    for (int i = 1; i < argc; i++)
        save(argv[i]);
    if (argc > 1)
        return CODE;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        printf("%s\n", ways[i].name);
    return 0;
}
