/* SPDX-License-Identifier: BSD-3-Clause */
/* obey ID - a process of the VELOC API, without MPI, that does what it is told: a line
 * on standard input is a call, a line on standard output its result. For tests of what
 * happens beside a program, whose next step must wait for them.
 *
 *   init       checkpoint V       wait       restart       finalize       quit
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "veloc.h"

enum { BYTES = 20000 };

static char name[100];

static int byte_of(int version, int i)
{
    return (i * 7 + version * 31) & 0xff;
}

static int write_file(const char *path, int version)
{
    FILE *file = fopen(path, "wb");
    int failed = !file;

    for (int i = 0; !failed && i < BYTES; i++)
        failed = fputc(byte_of(version, i), file) == EOF;
    return file && fclose(file) == 0 && !failed;
}

static int is_right(const char *path, int version)
{
    FILE *file = fopen(path, "rb");
    int right = file != NULL;

    for (int i = 0; right && i < BYTES; i++)
        right = fgetc(file) == byte_of(version, i);
    right = right && fgetc(file) == EOF;
    if (file)
        fclose(file);
    return right;
}

static int checkpoint(int version)
{
    char original[200], path[VELOC_MAX_NAME];
    int good;

    snprintf(original, sizeof original, "%s-%d.dat", name, version);
    if (VELOC_Checkpoint_begin(name, version) != VELOC_SUCCESS)
        return VELOC_FAILURE;
    good =
        VELOC_Route_file(original, path) == VELOC_SUCCESS && write_file(path, version);
    return VELOC_Checkpoint_end(good);
}

/* The version whose file is right; 0: none. */
static int restart(void)
{
    int version = VELOC_Restart_test(name, 0), good;
    char original[200], path[VELOC_MAX_NAME];

    if (version <= 0 || VELOC_Restart_begin(name, version) != VELOC_SUCCESS)
        return 0;
    snprintf(original, sizeof original, "%s-%d.dat", name, version);
    good = VELOC_Route_file(original, path) == VELOC_SUCCESS && is_right(path, version);
    return VELOC_Restart_end(good) == VELOC_SUCCESS && good ? version : 0;
}

int main(int argc, char **argv)
{
    char line[100];
    int result;

    if (argc != 2)
        return 2;
    snprintf(name, sizeof name, "obey%s", argv[1]);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "quit\n") == 0)
            return 0;
        if (strcmp(line, "init\n") == 0)
            result = VELOC_Init_single((unsigned)atoi(argv[1]), NULL);
        else if (strncmp(line, "checkpoint ", 11) == 0)
            result = checkpoint(atoi(line + 11));
        else if (strcmp(line, "wait\n") == 0)
            result = VELOC_Checkpoint_wait();
        else if (strcmp(line, "restart\n") == 0)
            result = restart();
        else if (strcmp(line, "finalize\n") == 0)
            result = VELOC_Finalize(1);
        else
            return 2;
        printf("%d\n", result);
        fflush(stdout);
    }
    return 0;
}
