/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions of a part of the job: parts that checkpoint at the same time under the same
 * names, and sessions one after the other in one process. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { N = 500 };

static int me, half; /* half: which of the two */
static MPI_Comm halves;
static int memory[N];

static void fill(int version)
{
    for (int i = 0; i < N; i++)
        memory[i] = (version * 100 + me) * 1000 + i;
}

static bool is_filled(int version)
{
    for (int i = 0; i < N; i++)
        if (memory[i] != (version * 100 + me) * 1000 + i)
            return false;
    return true;
}

/* The session of this half begins; its memory is protected. */
static bool begin_half(void)
{
    return apilab_begin_on(halves) &&
           VELOC_Mem_protect(0, memory, N, VELOC_INTG) == VELOC_SUCCESS;
}

static bool save(int version)
{
    fill(version);
    if (VELOC_Checkpoint("same", version) == VELOC_SUCCESS)
        return true;
    mtap_note("checkpoint %d: %s", version, VELOC_Error());
    return false;
}

static bool restores(int version)
{
    memset(memory, 0, sizeof memory);
    if (VELOC_Restart("same", version) == VELOC_SUCCESS)
        return is_filled(version);
    mtap_note("restart %d: %s", version, VELOC_Error());
    return false;
}

/* --- two halves --- */

static void side_by_side(void)
{
    bool fine;

    apilab_case("halves", 8, "FLUSH=1\n");
    mok(begin_half() && VELOC_Restart_test("same", 0) == VELOC_FAILURE,
        "two halves of a job have a session each");
    /* one makes three in the time of one of the other: nobody waits for anybody */
    fine = save(1);
    if (half == 0)
        fine = fine && save(2) && save(3);
    mok(fine, "they checkpoint under the same name at their own pace");
    mok(VELOC_Restart_test("same", 0) == (half == 0 ? 3 : 1),
        "each half has its own newest version");
    mok(restores(half == 0 ? 3 : 1), "and its own data");
    apilab_end(1);
    mok(begin_half() && VELOC_Restart_test("same", 0) == (half == 0 ? 3 : 1) &&
            restores(half == 0 ? 3 : 1),
        "the next launch finds them apart");
    apilab_end(0);
    apilab_lose(1);
    apilab_lose(6);
    mok(begin_half() && restores(half == 0 ? 3 : 1), "a node of each is lost");
    apilab_end(0);
    apilab_lose_all();
    mok(begin_half() && restores(half == 0 ? 3 : 1),
        "and from the prefix each half has its own data, too");
    apilab_end(0);
    mok(apilab_files("prefix", "same-?-1.dat") == 8, "for which files lie apart");
}

/* One half begins, checkpoints, evicts and ends while the other is in no call of ours:
 * had it to answer anything, this would hang. */
static void alone(void)
{
    bool fine = true;
    char word = 1;

    apilab_case("alone", 8, "FLUSH=1\nCACHE_SIZE=1\n");
    if (half == 1)
        fine = begin_half() && save(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (half == 0) {
        fine = begin_half();
        for (int v = 1; v <= 4; v++)
            fine = fine && save(v);
        fine = fine && VELOC_Cleanup("same") == VELOC_SUCCESS && apilab_end(1);
    }
    MPI_Bcast(&word, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
    mok(fine, "the life of a session in one half needs nothing of the other");
    mok(half == 0 || (restores(1) && apilab_end(0)), "nor does it disturb it");
}

/* Only some ranks take part at all. */
static void some(void)
{
    MPI_Comm few;
    bool fine = true;

    apilab_case("some", 8, "");
    MPI_Comm_split(MPI_COMM_WORLD, me < 3 ? 0 : MPI_UNDEFINED, -me, &few);
    for (int launch = 0; launch < 2 && me < 3; launch++) {
        fine = apilab_begin_on(few) &&
               VELOC_Mem_protect(0, memory, N, VELOC_INTG) == VELOC_SUCCESS;
        fine = fine && (launch == 0 ? save(1) : restores(1));
        fine = apilab_end(0) && fine;
    }
    mok(fine, "three ranks of eight in turned order checkpoint and restart");
    mok(me < 3 || VELOC_Restart_test("same", 0) == VELOC_FAILURE,
        "the others have no session");
    if (me < 3)
        MPI_Comm_free(&few);
}

/* --- one after the other --- */

static void in_turn(void)
{
    apilab_case("turns", 4, "FLUSH=1\n");
    apilab_begin();
    mok(apilab_save("turn", 1) == VELOC_SUCCESS && apilab_end(1),
        "a session of all ranks, two of which share a node");
    mok(begin_half() && VELOC_Restart_test("turn", 0) == VELOC_FAILURE && save(9) &&
            apilab_end(1),
        "then sessions of the halves, which are others");
    apilab_settings("CACHE_SIZE=2\n");
    mok(apilab_begin() && VELOC_Restart_test("turn", 0) == 1 &&
            apilab_restores("turn", 1),
        "then one of all again, with other settings, which has what the first had");
    mok(apilab_save("turn", 2) == VELOC_SUCCESS && apilab_restores("turn", 1) &&
            apilab_restores("turn", 2),
        "and goes on");
    apilab_end(0);
    /* an id for each process */
    mok(VELOC_Init_single((unsigned)me, apilab_at("veloc.conf")) == VELOC_SUCCESS &&
            VELOC_Mem_protect(0, memory, N, VELOC_INTG) == VELOC_SUCCESS && save(me) &&
            apilab_end(1),
        "every process may checkpoint by itself");
    mok(VELOC_Init_single((unsigned)me, apilab_at("veloc.conf")) == VELOC_SUCCESS &&
            VELOC_Mem_protect(0, memory, N, VELOC_INTG) == VELOC_SUCCESS &&
            VELOC_Restart_test("same", 0) == me && restores(me) && apilab_end(0),
        "and restart by itself");
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    me = mtap_rank();
    half = me / 4;
    MPI_Comm_split(MPI_COMM_WORLD, half, me, &halves);
    side_by_side();
    alone();
    some();
    in_turn();
    MPI_Comm_free(&halves);
    return mtap_done();
}
