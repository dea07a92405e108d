/* SPDX-License-Identifier: BSD-3-Clause */
/* le - little-endian integers in bounded bytes.
 *
 * A reader or writer that meets its end is marked short and stays so: reads give 0,
 * writes do nothing. Decode everything, then ask once.
 */
#ifndef VEL_BASE_LE_H
#define VEL_BASE_LE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vel_le_reader {
    const uint8_t *at;
    size_t left;
    bool is_short;
};

void vel_le_read_init(struct vel_le_reader *r, const void *bytes, size_t len);
uint8_t vel_le_get8(struct vel_le_reader *r);
uint16_t vel_le_get16(struct vel_le_reader *r);
uint32_t vel_le_get32(struct vel_le_reader *r);
uint64_t vel_le_get64(struct vel_le_reader *r);

/* The next `len` bytes in place, or NULL. They belong to whoever owns the input. */
const void *vel_le_get_bytes(struct vel_le_reader *r, size_t len);

struct vel_le_writer {
    uint8_t *at;
    size_t left;
    bool is_short;
};

void vel_le_write_init(struct vel_le_writer *w, void *bytes, size_t len);
void vel_le_put8(struct vel_le_writer *w, uint8_t value);
void vel_le_put16(struct vel_le_writer *w, uint16_t value);
void vel_le_put32(struct vel_le_writer *w, uint32_t value);
void vel_le_put64(struct vel_le_writer *w, uint64_t value);
void vel_le_put_bytes(struct vel_le_writer *w, const void *bytes, size_t len);

#endif
