/* SPDX-License-Identifier: BSD-3-Clause */
/* How programs end, and how they are switched: whatever they do, files that were closed
 * are told, those left open are closed by HDF5 and told as well, and nobody notices us.
 * This program runs itself, as a program that sets the environment and nothing else. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>
#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

#include "H5VLveloc.h"
#include "tap/placelab.h"
#include "tap/tap.h"

enum { CODE = 7 }; /* of a program that does not end well */

/* --- the programs --- */

static hid_t leave_open(const char *name)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return file;
}

static void closes(void)
{
    hid_t file = leave_open("e.h5");

    H5Fclose(file);
    H5Fclose(H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

static void leaks(void)
{
    leave_open("e.h5");
}

static void calls_h5close(void)
{
    leave_open("e.h5");
    H5close();
    H5Fclose(H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

static void fails(void)
{
    closes();
    exit(CODE);
}

static void does_nothing(void)
{
    H5open();
}

static void is_killed(void)
{
    leave_open("e.h5");
    _exit(CODE);
}

static void forks(void)
{
    hid_t file = leave_open("e.h5");
    pid_t pid = fork();

    if (pid == 0)
        exit(0); /* with all that a program does at its end */
    waitpid(pid, NULL, 0);
    H5Fclose(file);
}

static void runs_another(void)
{
    H5Fclose(leave_open("e.h5"));
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

static void looks_only(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (H5Fopen("missing.h5", H5F_ACC_RDONLY, H5P_DEFAULT) >= 0)
        _exit(1);
}

#ifdef H5_HAVE_PARALLEL
static void finalizes_first(void)
{
    MPI_Init(NULL, NULL);
    leave_open("e.h5");
    MPI_Finalize();
}

static void never_finalizes(void)
{
    MPI_Init(NULL, NULL);
    closes();
}

static void begins_mpi_late(void)
{
    hid_t file;

    H5open();
    MPI_Init(NULL, NULL);
    file = leave_open("e.h5");
    MPI_Finalize();
    H5Fclose(file);
}
#endif

static const struct program {
    const char *name;
    void (*run)(void);
    const char *variable, *value; /* set for it; NULL: none */
    const char *heard;
    const char *what;
} programs[] = {
    {"closes", closes, NULL, NULL,
     "create e.h5; create f.h5; close0 f.h5; close0 e.h5; leave well; ",
     "a group left open holds its file until the end"},
    {"leaks", leaks, NULL, NULL, "create e.h5; close0 e.h5; leave well; ",
     "what a program leaves open is closed and told at its end"},
    {"calls_h5close", calls_h5close, NULL, NULL,
     "create e.h5; close0 e.h5; create f.h5; close0 f.h5; leave well; ",
     "H5close ends no more than HDF5, which may begin again"},
    {"does_nothing", does_nothing, NULL, NULL, "",
     "a program without files is not noticed"},
    {"is_killed", is_killed, NULL, NULL, "create e.h5; ",
     "a program that dies leaves without a word"},
    {"fails", fails, NULL, NULL,
     "create e.h5; create f.h5; close0 f.h5; close0 e.h5; leave badly; ",
     "what one has closed that fails is told, and that it fails"},
    {"forks", forks, NULL, NULL, "create e.h5; close0 e.h5; leave well; ",
     "the end of a forked child is not that of its parent"},
    {"runs_another", runs_another, NULL, NULL, "create e.h5; ",
     "a program that becomes another has not closed what it has open"},
    {"looks_only", looks_only, NULL, NULL, "pull missing.h5; leave well; ",
     "a program that only looks leaves as well"},
    {"closes", closes, "VELOC_ENABLE", "0", "", "ENABLE=0: we are not there"},
    {"closes", closes, "VELOC_MODE", "SYNC",
     "create e.h5; create f.h5; close0 f.h5; close0 e.h5; leave well; ",
     "MODE=SYNC: leaders are asked as ever"},
    {"closes", closes, "VELOC_SEAL_AFTER", "soon", "",
     "wrong settings: the file is made all the same, and we are not there"},
#ifdef H5_HAVE_PARALLEL
    {"finalizes_first", finalizes_first, NULL, NULL,
     "create e.h5; close0 e.h5; leave last; ",
     "MPI_Finalize closes what is open, and nothing is lost"},
    {"begins_mpi_late", begins_mpi_late, NULL, NULL,
     "create e.h5; close0 e.h5; leave last; ", "MPI may begin after HDF5"},
    {"never_finalizes", never_finalizes, NULL, NULL,
     "create e.h5; create f.h5; close0 f.h5; close0 e.h5; leave badly; ",
     "who has not reached MPI_Finalize fails"},
#endif
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static int run_program(const char *name)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0) {
            programs[i].run();
            return 0;
        }
    return 1;
}

/* --- run as a user would --- */

static struct placelab lab;

static int code_of(const struct program *p)
{
    return p->run == is_killed || p->run == fails || p->run == runs_another ? CODE : 0;
}

/* Which leaks. */
static bool uses_mpi(const struct program *p)
{
#ifdef H5_HAVE_PARALLEL
    return p->run == finalizes_first || p->run == begins_mpi_late ||
           p->run == never_finalizes;
#else
    (void)p;
    return false;
#endif
}

static int run(const char *self, const struct program *p, const char *output)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open(output, O_CREAT | O_TRUNC | O_WRONLY, 0600);

        dup2(fd, 2);
        setenv("HDF5_VOL_CONNECTOR", H5VL_VELOC_NAME, 1);
        if (uses_mpi(p))
            setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        if (p->variable)
            setenv(p->variable, p->value, 1);
        execl(self, self, p->name, (char *)NULL);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check(const char *self, const struct program *p)
{
    const char *output = tap_path("stderr");
    bool is_switched = p->variable;
    struct stat st = {0};

    unlink("e.h5");
    is_int(run(self, p, output), code_of(p), "%s: the program's own exit code",
           p->name);
    is_str(placelab_heard(&lab), p->heard, "%s", p->what);
    stat(output, &st);
    if (!is_switched)
        is_int(st.st_size, 0, "and without a word");
    else if (strcmp(p->variable, "VELOC_SEAL_AFTER") != 0)
        ok(access("e.h5", F_OK) == 0, "the files are where they belong");
}

int main(int argc, char **argv)
{
    char self[1000];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (argc > 1)
        return run_program(argv[1]);
    if (len < 0)
        bail_out("who am I?");
    self[len] = '\0';
    placelab_start(&lab);
    if (chdir(lab.prefix) < 0)
        bail_out("no prefix");
    for (size_t i = 0; i < PROGRAMS; i++)
        check(self, &programs[i]);
    placelab_end(&lab);
    return done_testing();
}
