/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz - the one function of a fuzz target: any bytes, no crash. libFuzzer calls it
 * with bytes it makes up, replay.c with those of the corpus. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#endif
