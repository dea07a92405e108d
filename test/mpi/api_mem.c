/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory mode of veloc.h: which regions are saved, under which names, and what a
 * restart puts where. */
#include "config.h"

#include <string.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { N = 1000 };

static int me;

/* Values that tell whose they are, and when and in which region they were written. */
static void fill(int *a, size_t n, int version, int region)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (version * 100 + region * 10 + me) * 10000 + (int)i;
}

static bool is_filled(const int *a, size_t n, int version, int region)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != (version * 100 + region * 10 + me) * 10000 + (int)i)
            return false;
    return true;
}

static bool is_zero(const int *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != 0)
            return false;
    return true;
}

/* --- a program that saves all it has --- */

static void whole(void)
{
    static int a[N];
    static double b[7];

    apilab_case("whole", 4, "");
    mok(apilab_begin() && VELOC_Restart_test("heat", 0) == VELOC_FAILURE &&
            apilab_says("no checkpoint 'heat'"),
        "at first there is nothing to restart from");
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    VELOC_Mem_protect(1, b, 7, VELOC_DBLE);
    for (int v = 1; v <= 2; v++) {
        fill(a, N, v, 0);
        b[6] = v + me / 8.0;
        mok(VELOC_Checkpoint("heat", v) == VELOC_SUCCESS, "checkpoint %d is made", v);
    }
    mok(VELOC_Checkpoint_wait() == VELOC_SUCCESS && VELOC_Checkpoint_finished() == 1,
        "there is nothing left to wait for");
    apilab_end(0);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    apilab_lose(2);
    mok(apilab_begin() && VELOC_Restart_test("heat", 0) == 2,
        "after the loss of a node the newest one is offered");
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    VELOC_Mem_protect(1, b, 7, VELOC_DBLE);
    mok(VELOC_Restart("heat", 2) == VELOC_SUCCESS && is_filled(a, N, 2, 0) &&
            b[6] == 2 + me / 8.0,
        "and memory is again as it was saved");
    apilab_end(1);
    mok(apilab_files("prefix", "heat-?-2.dat") == 4,
        "at the end its images lie on the prefix under VELOC's names");
}

static void registers(void)
{
    static int a[N], b[N];

    apilab_case("registers", 4, "");
    mok(VELOC_Mem_protect(3, b, N, VELOC_INTG) == VELOC_SUCCESS,
        "memory may be protected before VELOC_Init");
    mok(apilab_begin() && VELOC_Mem_protect(3, a, N, VELOC_INTG) == VELOC_SUCCESS,
        "an id that is protected again has the new memory");
    VELOC_Mem_protect(4, b, N, VELOC_INTG);
    mok(VELOC_Mem_unprotect(4) == VELOC_SUCCESS &&
            VELOC_Mem_unprotect(4) == VELOC_FAILURE && apilab_says("region 4"),
        "an id is forgotten once, and the second time is told");
    VELOC_Mem_protect(5, b, N, VELOC_INTG);
    mok(VELOC_Mem_protect(5, b, 0, VELOC_INTG) == VELOC_SUCCESS,
        "protecting nothing forgets an id");
    mok(VELOC_Mem_protect(6, NULL, 1, VELOC_INTG) == VELOC_FAILURE &&
            apilab_says("NULL") &&
            VELOC_Mem_protect(6, b, 1, (VELOC_type)0) == VELOC_FAILURE &&
            apilab_says("0 bytes") &&
            VELOC_Mem_protect(6, b, (size_t)-1, VELOC_DBLE) == VELOC_FAILURE &&
            apilab_says("more than memory"),
        "memory that cannot be is refused");
    fill(a, N, 1, 3);
    mok(VELOC_Checkpoint("r", 1) == VELOC_SUCCESS &&
            VELOC_Restart_begin("r", 1) == VELOC_SUCCESS &&
            VELOC_Recover_size(3) == N * (int)sizeof(int) &&
            VELOC_Recover_size(4) == VELOC_FAILURE && apilab_says("no region 4"),
        "only what was protected was saved, and its size is told");
    memset(a, 0, sizeof a);
    mok(VELOC_Recover_mem() == VELOC_SUCCESS && is_filled(a, N, 1, 3) &&
            VELOC_Restart_end(1) == VELOC_SUCCESS,
        "from the memory that was protected last");
    VELOC_Mem_clear();
    mok(VELOC_Checkpoint("r", 2) == VELOC_SUCCESS &&
            VELOC_Restart_begin("r", 2) == VELOC_SUCCESS &&
            VELOC_Recover_size(3) == VELOC_FAILURE &&
            VELOC_Restart_end(1) == VELOC_SUCCESS,
        "after a clear nothing is saved, and that is a checkpoint, too");
    apilab_end(0);
}

/* Elements of any size, by their type and by their size. */
static void types(void)
{
    struct cell {
        double u[3];
        char name[5];
    } cells[N];
    long double wide[3] = {1, 2, 3};
    VELOC_type type = 0;

    apilab_case("types", 4, "");
    apilab_begin();
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < N; i++)
        cells[i].u[2] = me * N + i;
    mok(VELOC_Mem_type(sizeof *cells, &type) == VELOC_SUCCESS &&
            VELOC_Mem_type(0, &type) == VELOC_FAILURE && type == sizeof *cells,
        "a type of any size but none");
    mok(VELOC_Mem_protect(0, cells, N, type) == VELOC_SUCCESS &&
            VELOC_Mem_protect(1, wide, 3, VELOC_LDBE) == VELOC_SUCCESS &&
            VELOC_Checkpoint("t", 1) == VELOC_SUCCESS &&
            VELOC_Restart_begin("t", 1) == VELOC_SUCCESS &&
            VELOC_Recover_size(0) == (int)sizeof cells &&
            VELOC_Recover_size(1) == (int)sizeof wide,
        "regions of such elements are saved");
    memset(cells, 1, sizeof cells);
    memset(wide, 1, sizeof wide);
    mok(VELOC_Recover_mem() == VELOC_SUCCESS && VELOC_Restart_end(1) == VELOC_SUCCESS &&
            cells[N - 1].u[2] == me * N + N - 1 && wide[2] == 3,
        "and recovered");
    VELOC_Mem_clear();
    apilab_end(0);
}

/* --- selections --- */

static void saved_in_parts(int a[][N])
{
    int some[] = {1, 3}, rest[] = {1, 3}, unknown[] = {7}, twice[] = {2, 2};

    VELOC_Checkpoint_begin("parts", 1);
    mok(VELOC_Checkpoint_selective(VELOC_CKPT_SOME, unknown, 1) == VELOC_FAILURE &&
            apilab_says("region 7") &&
            VELOC_Checkpoint_selective(VELOC_CKPT_SOME, twice, 2) == VELOC_FAILURE &&
            apilab_says("twice") &&
            VELOC_Checkpoint_selective(9, some, 2) == VELOC_FAILURE &&
            apilab_says("no selection 9") &&
            VELOC_Checkpoint_selective(VELOC_CKPT_SOME, NULL, 2) == VELOC_FAILURE,
        "a selection that cannot be is refused, and the checkpoint goes on");
    mok(VELOC_Checkpoint_selective(VELOC_CKPT_SOME, some, 2) == VELOC_SUCCESS,
        "some are saved");
    fill(a[1], N, 9, 1); /* no longer of interest */
    mok(VELOC_Checkpoint_selective(VELOC_CKPT_REST, rest, 2) == VELOC_SUCCESS &&
            VELOC_Checkpoint_end(1) == VELOC_SUCCESS,
        "and the rest after them, as it is by then");
}

static void selections(void)
{
    static int a[4][N];
    int one[] = {1}, two[] = {2, 0}, unknown[] = {7};

    apilab_case("selections", 4, "");
    apilab_begin();
    for (int i = 0; i < 4; i++) {
        fill(a[i], N, 1, i);
        VELOC_Mem_protect(i, a[i], N, VELOC_INTG);
    }
    saved_in_parts(a);
    memset(a, 0, sizeof a);
    VELOC_Restart_begin("parts", 1);
    mok(VELOC_Recover_selective(VELOC_RECOVER_SOME, one, 1) == VELOC_SUCCESS &&
            is_filled(a[1], N, 1, 1) && is_zero(a[0], 1) && is_zero(a[2], 2 * N),
        "some come back, and nothing else is touched");
    memset(a, 0, sizeof a);
    mok(VELOC_Recover_selective(VELOC_RECOVER_REST, two, 2) == VELOC_SUCCESS &&
            is_filled(a[1], N, 1, 1) && is_filled(a[3], N, 1, 3) && is_zero(a[0], N) &&
            is_zero(a[2], N),
        "the rest comes back");
    mok(VELOC_Mem_recover(VELOC_RECOVER_ALL, NULL, 0) == VELOC_SUCCESS &&
            is_filled(a[0], N, 1, 0) && is_filled(a[2], N, 1, 2),
        "all comes back");
    mok(VELOC_Recover_selective(VELOC_RECOVER_SOME, unknown, 1) == VELOC_FAILURE &&
            apilab_says("no region 7"),
        "an id that was not saved is told");
    VELOC_Restart_end(1);
    apilab_end(0);
}

/* --- sizes that change --- */

static void sizes(void)
{
    static int a[4 * N];
    size_t n = (size_t)(N + me * 100); /* ranks differ */

    apilab_case("sizes", 4, "CACHE_SIZE=3\n");
    apilab_begin();
    for (int v = 1; v <= 3; v++) {
        size_t now = v == 2 ? 3 * n : n;

        fill(a, now, v, 0);
        VELOC_Mem_protect(0, a, now, VELOC_INTG);
        VELOC_Checkpoint("grow", v);
    }
    memset(a, 0, sizeof a);
    VELOC_Restart_begin("grow", 2);
    mok(VELOC_Recover_size(0) == (int)(3 * n * sizeof(int)),
        "a region has the size that it had at that version");
    mok(VELOC_Recover_mem() == VELOC_FAILURE && apilab_says("only") && is_zero(a, n),
        "memory that is too small is left alone, and both sizes are told");
    VELOC_Mem_protect(0, a, 4 * N, VELOC_INTG);
    mok(VELOC_Recover_mem() == VELOC_SUCCESS && is_filled(a, 3 * n, 2, 0) &&
            is_zero(a + 3 * n, 4 * N - 3 * n) && VELOC_Restart_end(1) == 0,
        "a region that is larger now begins with what was saved");
    mok(VELOC_Restart("grow", 3) == VELOC_SUCCESS && is_filled(a, n, 3, 0) &&
            a[n] == (200 + me) * 10000 + (int)n,
        "another version of another size into the same memory");
    VELOC_Mem_unprotect(0);
    mok(VELOC_Restart("grow", 1) == VELOC_FAILURE && apilab_says("not protected"),
        "a saved region without memory for it is told");
    apilab_end(0);
}

/* --- names, and files besides --- */

static void named(void)
{
    static int a[N], b[N], c[N];
    int none[] = {0};

    apilab_case("named", 4, "");
    apilab_begin();
    fill(a, N, 1, 0);
    fill(b, N, 1, 1);
    fill(c, N, 1, 2);
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    mok(VELOC_Region_protect(0, b, N, VELOC_INTG, "mesh") == VELOC_SUCCESS &&
            VELOC_Region_protect(0, c, N, VELOC_INTG, "field") == VELOC_SUCCESS &&
            VELOC_Region_protect(0, c, N, VELOC_INTG, "a/b") == VELOC_FAILURE &&
            apilab_says("slash") &&
            VELOC_Region_protect(0, c, N, VELOC_INTG, NULL) == VELOC_FAILURE,
        "the same id under several names, which have no slash");
    VELOC_Checkpoint("n", 1);
    mok(apilab_again() && VELOC_Restart_test("n", 0) == 1, "they are saved");
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(c, 0, sizeof c);
    VELOC_Region_protect(0, b, N, VELOC_INTG, "mesh");
    mok(VELOC_Restart_begin("n", 1) == VELOC_SUCCESS &&
            VELOC_Recover_selective(VELOC_RECOVER_REST, none, 0) == VELOC_FAILURE,
        "unnamed regions without memory are missed");
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    mok(VELOC_Recover_mem() == VELOC_SUCCESS && is_filled(a, N, 1, 0) &&
            is_filled(b, N, 1, 1) && is_zero(c, N) && VELOC_Restart_end(1) == 0,
        "names come back that are asked for, each its own");
    mok(VELOC_Region_clear("mesh") == VELOC_SUCCESS &&
            VELOC_Region_unprotect(0, "mesh") == VELOC_FAILURE &&
            apilab_says("\"mesh\""),
        "a name that was cleared has no region");
    VELOC_Region_protect(0, c, N, VELOC_INTG, "field");
    mok(VELOC_Restart("n", 1) == VELOC_SUCCESS && is_filled(c, N, 1, 2),
        "and another may follow");
    apilab_end(0);
}

static void mixed(void)
{
    static int a[N];
    char path[VELOC_MAX_NAME];
    int rc;

    apilab_case("mixed", 4, "");
    apilab_begin();
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    fill(a, N, 5, 0);
    VELOC_Checkpoint_begin("mix", 5);
    rc = VELOC_Route_file(apilab_at("prefix/extra.%d", me), path);
    tap_put_file(path, apilab_text("extra", 5, me));
    rc += VELOC_Mem_save();
    mok(rc == 0 && VELOC_Checkpoint_end(1) == VELOC_SUCCESS,
        "memory and files are one checkpoint");
    apilab_end(0);
    apilab_lose(0);
    memset(a, 0, sizeof a);
    apilab_begin();
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    mok(VELOC_Restart_begin("mix", 5) == VELOC_SUCCESS &&
            VELOC_Route_file(apilab_at("prefix/extra.%d", me), path) == VELOC_SUCCESS &&
            tap_file_is(path, apilab_text("extra", 5, me)) &&
            VELOC_Recover_mem() == VELOC_SUCCESS && is_filled(a, N, 5, 0) &&
            VELOC_Restart_end(1) == VELOC_SUCCESS,
        "and come back together");
    apilab_end(0);
}

/* A checkpoint of memory that was begun by routes alone has no image. */
static void failed(void)
{
    static int a[N];
    int unknown[] = {7};

    apilab_case("failed", 4, "");
    apilab_begin();
    VELOC_Mem_protect(0, a, N, VELOC_INTG);
    fill(a, N, 1, 0);
    VELOC_Checkpoint("f", 1);
    fill(a, N, 2, 0);
    VELOC_Checkpoint_begin("f", 2);
    int rc = VELOC_Checkpoint_selective(me == 1 ? VELOC_CKPT_SOME : VELOC_CKPT_ALL,
                                        unknown, 1);
    mok((rc == VELOC_SUCCESS) == (me != 1), "one rank cannot save");
    mok(VELOC_Checkpoint_end(rc == VELOC_SUCCESS) == VELOC_FAILURE &&
            apilab_says("not valid"),
        "so the checkpoint fails on all");
    mok(VELOC_Restart_test("f", 0) == 1 && VELOC_Restart("f", 1) == VELOC_SUCCESS &&
            is_filled(a, N, 1, 0),
        "and the one before is there");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    whole();
    registers();
    types();
    selections();
    sizes();
    named();
    mixed();
    failed();
    return mtap_done();
}
