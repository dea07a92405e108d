/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that ask what has become of their files, and the next ones that ask which
 * file to restart from, with leaders of their own. This program runs itself as them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "H5VLveloc.h"
#include "tap/tap.h"

/* --- the programs: each tells what it has found by its exit code --- */

enum { WELL = 7, LONG = 1000 };

static hid_t list_of_settings(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    if (H5Pset_fapl_veloc(fapl, getenv("TEST_SETTINGS")) < 0)
        exit(1);
    return fapl;
}

static int is_safe(hid_t fapl, const char *name, H5VL_veloc_safety_t wanted)
{
    H5VL_veloc_status_t status;

    if (H5VL_veloc_wait(name, fapl, wanted, LONG, &status) < 0)
        return 0;
    note("%s: %d %s", name, (int)status.safety, status.why);
    return status.safety >= wanted;
}

/* Two steps. */
static int writes(void)
{
    hid_t fapl = list_of_settings(), file;
    H5VL_veloc_status_t status;

    file = H5Fcreate("ck.9.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (H5VL_veloc_test("ck.9.h5", fapl, &status) < 0 ||
        status.safety != H5VL_VELOC_INCOMPLETE)
        return 2;
    H5Fclose(file);
    if (!is_safe(fapl, "ck.9.h5", H5VL_VELOC_COMPLETE))
        return 3;
    if (!is_safe(fapl, "ck.9.h5", H5VL_VELOC_PROTECTED))
        return 4;
    file = H5Fcreate("ck.10.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Gclose(H5Gcreate2(file, "ten", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    if (!is_safe(fapl, "ck.10.h5", H5VL_VELOC_FLUSHED) ||
        !is_safe(fapl, "ck.9.h5", H5VL_VELOC_FLUSHED))
        return 5;
    H5Pclose(fapl);
    return WELL;
}

struct seen {
    int n;
    char first[500];
};

static herr_t see(const H5VL_veloc_version_t *version, void *data)
{
    struct seen *seen = data;

    note("%s: dataset %lld of %lld, own %d, cached %d, published %d, %s", version->name,
         (long long)version->dataset, (long long)version->created, (int)version->is_own,
         (int)version->is_cached, (int)version->is_published,
         version->why ? version->why : "good");
    if (version->why || !version->is_own || version->created <= 0 ||
        version->size == 0 || !(version->is_cached || version->is_published))
        return 1;
    if (seen->n++ == 0)
        snprintf(seen->first, sizeof seen->first, "%s", version->name);
    return 0;
}

static int restarts(void)
{
    hid_t fapl = list_of_settings(), file, group;
    struct seen seen = {0};
    char name[500], small[4];
    int64_t dataset = 0;

    if (H5VL_veloc_versions("ck.{step}.h5", fapl, see, &seen) != 0 || seen.n != 2)
        return 2;
    if (H5VL_veloc_restart("ck.{step}.h5", fapl, name, sizeof name, &dataset) < 0 ||
        dataset <= 0 || strcmp(name, seen.first) != 0)
        return 3;
    file = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    group = H5Gopen2(file, "ten", H5P_DEFAULT);
    if (group < 0)
        return 4;
    H5Gclose(group);
    H5Fclose(file);
    if (!is_safe(fapl, name, H5VL_VELOC_FLUSHED))
        return 5;
    if (H5VL_veloc_restart("other.{step}.h5", fapl, name, sizeof name, &dataset) < 0 ||
        *name || dataset != 0)
        return 6;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (H5VL_veloc_restart("ck.{step}.h5", fapl, small, sizeof small, NULL) >= 0)
        return 8;
    H5Pclose(fapl);
    return WELL;
}

/* Nothing was written yet. */
static int begins(void)
{
    hid_t fapl = list_of_settings();
    char name[500];
    int64_t dataset = 1;

    if (H5VL_veloc_restart("ck.{step}.h5", fapl, name, sizeof name, &dataset) < 0 ||
        *name || dataset != 0)
        return 2;
    H5Pclose(fapl);
    return access(".veloc", F_OK) < 0 ? WELL : 3;
}

/* The newest step has been removed, and all caches are lost. */
static int goes_back(void)
{
    hid_t fapl = list_of_settings();
    char name[500];

    if (H5VL_veloc_restart("ck.{step}.h5", fapl, name, sizeof name, NULL) < 0 ||
        strcmp(strrchr(name, '/'), "/ck.9.h5") != 0)
        return 2;
    H5Pclose(fapl);
    return WELL;
}

static int is_switched_off(void)
{
    hid_t fapl = list_of_settings();
    char name[500];

    if (H5VL_veloc_restart("ck.{step}.h5", fapl, name, sizeof name, NULL) < 0 || *name)
        return 2;
    if (!is_safe(fapl, "ck.9.h5", H5VL_VELOC_FLUSHED))
        return 3;
    H5Pclose(fapl);
    return WELL;
}

static const struct program {
    const char *name;
    int (*run)(void);
    const char *what;
} programs[] = {
    {"begins", begins, "the first program has nothing to restart from, and no trace"},
    {"writes", writes, "a program waits until a step is complete, safe, flushed"},
    {"restarts", restarts, "the next one finds the newest step, and all versions"},
    {"goes_back", goes_back, "without it and the caches there is the one before"},
    {"is_switched_off", is_switched_off,
     "ENABLE=0 keeps nothing, and sees what stands"},
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static int run_program(const char *name)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0)
            return programs[i].run();
    return 1;
}

/* --- run as a user would --- */

static int run(const char *self, const struct program *p)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (p->run == goes_back) {
            unlink("ck.10.h5");
            setenv("VELOC_CACHE_BASE", getenv("TEST_OTHER_CACHE"), 1);
        }
        if (p->run == is_switched_off)
            setenv("VELOC_ENABLE", "0", 1);
        execl(self, self, p->name, (char *)NULL);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_dir(const char *name, const char *variable)
{
    const char *path = tap_path(name);

    if (mkdir(path, 0700) < 0 || setenv(variable, path, 1) < 0)
        bail_out("no directory %s", path);
}

static void set_up(void)
{
    const char *path = tap_path("settings");
    FILE *file = fopen(path, "w");

    if (!file || fputs("DATASET=ck PATTERN=ck.{step}.h5 PUBLISH=BEHIND\n", file) < 0 ||
        fclose(file) < 0 || setenv("TEST_SETTINGS", path, 1) < 0)
        bail_out("no settings");
    make_dir("prefix", "VELOC_PREFIX");
    make_dir("cache", "VELOC_CACHE_BASE");
    make_dir("other", "TEST_OTHER_CACHE");
    make_dir("k", "VELOC_CNTL_BASE");
    setenv("VELOC_SEAL_AFTER", "0", 1);
    if (chdir(getenv("VELOC_PREFIX")) < 0)
        bail_out("no prefix");
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
    set_up();
    for (size_t i = 0; i < PROGRAMS; i++)
        is_int(run(self, &programs[i]), WELL, "%s", programs[i].what);
    return done_testing();
}
