/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks - the wall clocks of the processes of a campaign, as those of the nodes of a
 * cluster differ: some hours apart. Monotonic time is that of the machine. */
#ifndef TEST_TAP_CLOCKS_H
#define TEST_TAP_CLOCKS_H

/* From now on the wall clock of this process is that of rank `rank`: rank 0 has the
 * machine's, 1 is some hours ahead, 2 behind, and so on. */
void tap_clock_of(int rank);

#endif
