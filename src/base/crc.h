/* SPDX-License-Identifier: BSD-3-Clause */
/* crc - CRC-32C (Castagnoli) by ISA-L: the checksum of every record, block and file. */
#ifndef VEL_BASE_CRC_H
#define VEL_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of `len` bytes that follow bytes with checksum `crc`; begin with 0.
 * vel_crc32c(0, "123456789", 9) is 0xe3069283. */
uint32_t vel_crc32c(uint32_t crc, const void *bytes, size_t len);

/* Checksum of A followed by B, from those of A and B and the length of B. */
uint32_t vel_crc32c_join(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

#endif
