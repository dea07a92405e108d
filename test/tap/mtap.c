/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tap/mtap.h"
#include "tap/tap.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* what a rank has to say about its own failure: "file:line: code" */
enum { WORDS = 320 };

static int rank, size;
static char dir[1024];

void mtap_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

int mtap_rank(void)
{
    return rank;
}

int mtap_size(void)
{
    return size;
}

/* Appends "from" or "from-to" to a list of ranks; false when there is no room. */
static bool list_add(char *list, size_t room, int from, int to)
{
    size_t len = strlen(list);
    const char *comma = len > 0 ? "," : "";
    int n = from == to ? snprintf(list + len, room - len, "%s%d", comma, from)
                       : snprintf(list + len, room - len, "%s%d-%d", comma, from, to);

    if (n > 0 && (size_t)n < room - len)
        return true;
    list[len] = '\0';
    return false;
}

/* One line for all ranks from `first` on that say the same; their words are cleared. */
static void name_ranks(char (*words)[WORDS], int first)
{
    char list[256] = "", text[WORDS];
    int count = 0;
    bool whole = true;

    memcpy(text, words[first], WORDS);
    for (int from = first; from < size; from++) {
        int to = from;

        while (to < size && strcmp(words[to], text) == 0)
            words[to++][0] = '\0';
        if (to == from)
            continue;
        count += to - from;
        whole = whole && list_add(list, sizeof list, from, to - 1);
        from = to - 1;
    }
    note("fails on rank%s %s%s of %d: %s", count > 1 ? "s" : "", list,
         whole ? "" : ",...", size, text);
}

/* Brings the words of all ranks to rank 0, which shows each text once. */
static void explain(bool failed, const char *file, int line, const char *code)
{
    char mine[WORDS] = "";
    char(*words)[WORDS] = NULL;

    if (failed)
        snprintf(mine, sizeof mine, "%s:%d: %s", file, line, code);
    if (rank == 0 && !(words = calloc((size_t)size, sizeof *words)))
        bail_out("no memory for the words of %d ranks", size);
    MPI_Gather(mine, WORDS, MPI_CHAR, words, WORDS, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++)
        if (words[r][0])
            name_ranks(words, r);
    free(words);
}

/* A number that two places in the sources hardly share. */
static int place_of(const char *file, int line)
{
    unsigned hash = 2166136261u;

    for (const char *c = file; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (int)((hash ^ (unsigned)line * 2654435761u) & INT_MAX);
}

static bool verdict(bool pass, const char *file, int line, const char *code,
                    const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));
static bool verdict(bool pass, const char *file, int line, const char *code,
                    const char *fmt, va_list ap)
{
    int place = place_of(file, line);
    int mine[3] = {pass, place, -place}, least[3];
    char text[512];

    MPI_Allreduce(mine, least, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    bool same_place = least[1] == -least[2];
    bool all = least[0] && same_place;

    vsnprintf(text, sizeof text, fmt, ap);
    if (rank == 0)
        tap_line(all, "%s", text);
    if (!same_place) {
        if (rank == 0)
            note("the ranks stand at different checks");
        explain(true, file, line, code);
    } else if (!all) {
        explain(!pass, file, line, code);
    }
    return all;
}

bool mtap_ok(bool cond, const char *file, int line, const char *code, const char *fmt,
             ...)
{
    va_list ap;

    va_start(ap, fmt);
    bool all = verdict(cond, file, line, code, fmt, ap);
    va_end(ap);
    return all;
}

bool mtap_is_int(long long got, long long want, const char *file, int line,
                 const char *fmt, ...)
{
    char code[96];
    va_list ap;

    snprintf(code, sizeof code, "got %lld, want %lld", got, want);
    va_start(ap, fmt);
    bool all = verdict(got == want, file, line, code, fmt, ap);
    va_end(ap);
    return all;
}

int mtap_done(void)
{
    int bad = 0;

    /* rank 0 removes the directory that the others may still be looking at */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        bad = done_testing();
    fflush(stdout);
    MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return bad;
}

void mtap_skip_all(const char *fmt, ...)
{
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    MPI_Finalize();
    if (rank == 0)
        skip_all("%s", why);
    exit(0);
}

void mtap_note(const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note("rank %d: %s", rank, text);
}

const char *mtap_dir(void)
{
    if (!dir[0]) {
        if (rank == 0)
            snprintf(dir, sizeof dir, "%s", tap_dir());
        MPI_Bcast(dir, sizeof dir, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    return dir;
}
