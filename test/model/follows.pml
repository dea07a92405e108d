/* SPDX-License-Identifier: BSD-3-Clause */
/* follows - chairs of three launches that live at the same time seal versions of one key, and each
 * may be frozen before any step. The rules are those of doc/format-ledger.txt 5; each -DFAULT_...
 * takes one of them away.
 *
 * Claims: what is sealed after another version was told is newer than that; and no two versions
 * have the same place. */
#define LAUNCHES 3
#define SEALS 2

byte order[LAUNCHES]; /* of the newest version that a launch has sealed; 0: none */
byte top;             /* of all that were told */

proctype chair(byte n) {
    byte known, before, seals;

#ifdef FAULT_READ_ONCE
    d_step { known = order[0]; known = (order[1] > known -> order[1] : known);
             known = (order[2] > known -> order[2] : known) }
#endif
    do
    :: seals < SEALS ->
        seals++;
        before = top; /* the program has been told so much when it closes its files */
#ifndef FAULT_READ_ONCE
        /* ledger by ledger */
        known = (order[0] > known -> order[0] : known);
        known = (order[1] > known -> order[1] : known);
        known = (order[2] > known -> order[2] : known);
#endif
#ifdef FAULT_SAME_PLACE
        order[n] = known + 1;
#else
        order[n] = known + LAUNCHES - known % LAUNCHES + n; /* above it, and of this launch */
#endif
        known = order[n];
        assert(order[n] > before);
        assert(order[0] == 0 || (order[0] != order[1] && order[0] != order[2]));
        assert(order[1] == 0 || order[1] != order[2]);
        d_step { top = (order[n] > top -> order[n] : top) } /* told */
    :: else -> break
    od
}

init {
    atomic {
        run chair(0);
        run chair(1);
        run chair(2)
    }
}
