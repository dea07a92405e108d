/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that does with files what it is told, line by line, and says of each line
 * how it went: "ok", with what was read, or "no", with the errno that HDF5 names.
 *
 *   trunc NAME TAG     H5Fcreate, be it there or not; excl NAME TAG: only if it is not
 *   append NAME GROUP  as h5py's mode "a": opened to write, else created; a new group
 *   add NAME GROUP     opened to write, a new group; touch NAME: nothing is written
 *   hold NAME GROUP    as add, but it stays open until `release`
 *   points NAME TAG    created, and flushed twice before it is closed
 *   link NAME TARGET   an external link "to" in NAME, which leads to TARGET
 *   via NAME GROUP     a new group in the file to which the link leads; from NAME: the
 *                      groups there
 *   read NAME          opened to read: tag and groups
 *   drop NAME          H5Fdelete; unlink NAME: the system's
 *   die                killed; dieflush NAME TAG: with an open file that was flushed
 */
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD_MOST = 8 };

static hid_t held[HELD_MOST];
static int n_held;
static char said[4000];

/* --- errors --- */

static herr_t find_errno(unsigned n, const H5E_error2_t *error, void *arg)
{
    const char *at = error->desc ? strstr(error->desc, "errno = ") : NULL;

    (void)n;
    if (at && *(int *)arg == 0)
        *(int *)arg = atoi(at + strlen("errno = "));
    return 0;
}

static int seen; /* the errno of the call that failed */

static int failed(void)
{
    seen = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_errno, &seen);
    return -1;
}

/* --- what is in a file --- */

static int put_tag(hid_t file, int tag)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t at = H5Acreate2(file, "tag", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t rc = H5Awrite(at, H5T_NATIVE_INT, &tag);

    H5Aclose(at);
    H5Sclose(space);
    return rc;
}

/* One that is there already is as good. */
static int put_group(hid_t file, const char *name)
{
    hid_t group;

    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        return 0;
    group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return group < 0 ? failed() : H5Gclose(group);
}

static herr_t tell(hid_t file, const char *name, const H5L_info2_t *info, void *arg)
{
    size_t len = strlen(said);

    (void)file, (void)info, (void)arg;
    snprintf(said + len, sizeof said - len, " %s", name);
    return 0;
}

static int tell_groups(hid_t in)
{
    return H5Literate2(in, H5_INDEX_NAME, H5_ITER_INC, NULL, tell, NULL) < 0 ? failed()
                                                                             : 0;
}

static int tell_all(hid_t file)
{
    int tag = -1;
    hid_t at;

    if (H5Aexists(file, "tag") > 0) {
        at = H5Aopen(file, "tag", H5P_DEFAULT);
        H5Aread(at, H5T_NATIVE_INT, &tag);
        H5Aclose(at);
    }
    snprintf(said, sizeof said, " %d:", tag);
    return tell_groups(file);
}

/* --- what is done --- */

static int close_it(hid_t file, int rc)
{
    if (rc < 0) { /* why is known already */
        H5Fclose(file);
        return rc;
    }
    return H5Fclose(file) < 0 ? failed() : 0;
}

static int create(const char *name, unsigned flags, int tag, int flushes)
{
    hid_t file = H5Fcreate(name, flags, H5P_DEFAULT, H5P_DEFAULT);
    int rc = file < 0 ? failed() : put_tag(file, tag);

    for (int i = 0; rc >= 0 && i < flushes; i++) {
        char group[20];

        snprintf(group, sizeof group, "f%d", i);
        if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
            rc = failed();
        else
            rc = put_group(file, group);
    }
    return file < 0 ? rc : close_it(file, rc);
}

static int append(const char *name, const char *group)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);

    if (file < 0)
        file = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    return file < 0 ? failed() : close_it(file, put_group(file, group));
}

static int change(const char *what, const char *name, const char *arg)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    char path[100];
    int rc = 0;

    if (file < 0)
        return failed();
    snprintf(path, sizeof path, "to/%s", arg);
    if (strcmp(what, "add") == 0 || strcmp(what, "hold") == 0)
        rc = put_group(file, arg);
    else if (strcmp(what, "via") == 0)
        rc = put_group(file, path);
    else if (strcmp(what, "link") == 0 && H5Lexists(file, "to", H5P_DEFAULT) <= 0)
        rc = H5Lcreate_external(arg, "/", file, "to", H5P_DEFAULT, H5P_DEFAULT) < 0
                 ? failed()
                 : 0;
    if (strcmp(what, "hold") != 0 || rc < 0 || n_held == HELD_MOST)
        return close_it(file, rc);
    held[n_held++] = file;
    return 0;
}

static int release(void)
{
    int rc = 0;

    while (n_held > 0)
        if (H5Fclose(held[--n_held]) < 0)
            rc = failed();
    return rc;
}

static int look(const char *what, const char *name)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), to;
    int rc;

    if (file < 0)
        return failed();
    if (strcmp(what, "read") == 0)
        return close_it(file, tell_all(file));
    to = H5Gopen2(file, "to", H5P_DEFAULT);
    rc = to < 0 ? failed() : tell_groups(to);
    if (to >= 0)
        H5Gclose(to);
    return close_it(file, rc);
}

static void die_flushed(const char *name, int tag)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    if (file >= 0 && put_tag(file, tag) >= 0)
        H5Fflush(file, H5F_SCOPE_GLOBAL);
    raise(SIGKILL);
}

static int obey(const char *what, const char *name, const char *arg)
{
    if (strcmp(what, "trunc") == 0)
        return create(name, H5F_ACC_TRUNC, atoi(arg), 0);
    if (strcmp(what, "excl") == 0)
        return create(name, H5F_ACC_EXCL, atoi(arg), 0);
    if (strcmp(what, "points") == 0)
        return create(name, H5F_ACC_TRUNC, atoi(arg), 2);
    if (strcmp(what, "append") == 0)
        return append(name, arg);
    if (strcmp(what, "read") == 0 || strcmp(what, "from") == 0)
        return look(what, name);
    if (strcmp(what, "drop") == 0)
        return H5Fdelete(name, H5P_DEFAULT) < 0 ? failed() : 0;
    if (strcmp(what, "unlink") == 0) {
        seen = unlink(name) < 0 ? errno : 0;
        return seen ? -1 : 0;
    }
    if (strcmp(what, "die") == 0)
        raise(SIGKILL);
    if (strcmp(what, "dieflush") == 0)
        die_flushed(name, atoi(arg));
    return strcmp(what, "release") == 0 ? release() : change(what, name, arg);
}

int main(void)
{
    char line[200], what[20], name[100], arg[100];

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    while (fgets(line, sizeof line, stdin)) {
        what[0] = name[0] = arg[0] = said[0] = '\0';
        seen = 0;
        sscanf(line, "%19s %99s %99s", what, name, arg);
        if (obey(what, name, arg) < 0)
            printf("no %d\n", seen);
        else
            printf("ok%s\n", said);
        fflush(stdout);
    }
    return 0;
}
