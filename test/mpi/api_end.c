/* SPDX-License-Identifier: BSD-3-Clause */
/* VELOC_Finalize(0) right behind a checkpoint, while leaders encode or flush it: what
 * is complete is protected before anybody leaves, and nobody waits for whoever has
 * left. Four ranks, each on a node of its own. */
#include "config.h"

#include <stdio.h>

#include "sys/clock.h"
#include "tap/apilab.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { ROUNDS = 4, LIMIT = 10 }; /* LIMIT: PEER_TIMEOUT, s */

/* Did it end before any wait for a peer can have ended by its limit? */
static bool ends_soon(void)
{
    uint64_t begun = vel_clock_monotonic(vel_clock_system());

    return apilab_end(0) && vel_clock_monotonic(vel_clock_system()) - begun <
                                LIMIT / 2 * (uint64_t)VEL_CLOCK_S;
}

static void ends(const char *mode, int flush)
{
    bool is_whole = true, is_soon = true;
    char settings[200];

    snprintf(settings, sizeof settings,
             "MODE=%s\nCOPY_TYPE=XOR\nSET_SIZE=4\nFLUSH=%d\nPEER_TIMEOUT=%d\n", mode,
             flush, LIMIT);
    apilab_case(mode, 4, settings);
    for (int v = 1; v <= ROUNDS; v++) {
        is_whole = apilab_begin() && is_whole;
        is_whole = (v == 1 || apilab_restores("e", v - 1)) && is_whole;
        is_whole = apilab_save("e", v) == VELOC_SUCCESS && is_whole;
        if (v % 2)
            is_whole = apilab_restores("e", v) && is_whole;
        is_soon = ends_soon() && is_soon;
        apilab_lose(v % 4);
    }
    mok(is_whole,
        "%s, FLUSH=%d: what a node loses right after VELOC_Finalize(0) can be "
        "restored",
        mode, flush);
    mok(is_soon, "and no rank waits for others that have left");
}

/* At one byte a second: what is on its way stays for the next launch. */
static void leaves_the_flush(void)
{
    bool is_soon;

    apilab_case("slow", 4,
                "MODE=ASYNC\nCOPY_TYPE=XOR\nSET_SIZE=4\nFLUSH=1\nFLUSH_BANDWIDTH=1\n"
                "PEER_TIMEOUT=10\n");
    apilab_begin();
    apilab_save("s", 1);
    is_soon = ends_soon();
    mok(is_soon && apilab_files("prefix", "s.1.*") == 0,
        "VELOC_Finalize(0) does not wait for a flush");
    apilab_lose(2);
    mok(apilab_begin() && apilab_restores("s", 1),
        "but for the redundancy of what is flushed");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    ends("ASYNC", 0);
    ends("ASYNC", 1);
    ends("AGENT", 0);
    leaves_the_flush();
    return mtap_done();
}
