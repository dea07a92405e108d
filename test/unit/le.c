/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/le.h"
#include "tap/tap.h"

static const uint8_t image[] = {0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0xff, 0xee,
                                0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 'h',  'i'};

static void writing(void)
{
    uint8_t bytes[sizeof image + 1];
    struct vel_le_writer w;

    memset(bytes, 0x55, sizeof bytes);
    vel_le_write_init(&w, bytes, sizeof image);
    vel_le_put8(&w, 0x01);
    vel_le_put16(&w, 0x0203);
    vel_le_put32(&w, 0x04050607);
    vel_le_put64(&w, UINT64_C(0x8899aabbccddeeff));
    vel_le_put_bytes(&w, "hi", 2);
    vel_le_put_bytes(&w, NULL, 0);
    ok(!w.is_short && w.left == 0, "everything fits");
    ok(memcmp(bytes, image, sizeof image) == 0, "little-endian, without gaps");
    vel_le_put8(&w, 9);
    ok(w.is_short && bytes[sizeof image] == 0x55, "nothing is written beyond the end");
    vel_le_write_init(&w, bytes, 3);
    vel_le_put32(&w, 1);
    vel_le_put8(&w, 9);
    ok(w.is_short && bytes[0] == 0x01,
       "what is short stays so, though a byte would fit");
}

static void reading(void)
{
    struct vel_le_reader r;

    vel_le_read_init(&r, image, sizeof image);
    is_int(vel_le_get8(&r), 1, "8 bits");
    is_int(vel_le_get16(&r), 0x0203, "16 bits");
    is_int(vel_le_get32(&r), 0x04050607, "32 bits");
    ok(vel_le_get64(&r) == UINT64_C(0x8899aabbccddeeff), "64 bits");
    const char *bytes = vel_le_get_bytes(&r, 2);
    ok(bytes && memcmp(bytes, "hi", 2) == 0, "bytes in place");
    ok(!r.is_short && r.left == 0, "and that was all");
    is_int(vel_le_get8(&r), 0, "behind the end there are zeros");
    ok(r.is_short, "and that is remembered");
    vel_le_read_init(&r, image, 3);
    is_int(vel_le_get32(&r), 0, "half an integer is none");
    is_int(vel_le_get8(&r), 0, "what is short stays so");
    ok(!vel_le_get_bytes(&r, 0) && r.is_short, "for bytes too");
    vel_le_read_init(&r, image, sizeof image);
    ok(!vel_le_get_bytes(&r, SIZE_MAX) && r.is_short, "a huge length is only too long");
    vel_le_read_init(&r, NULL, 0);
    vel_le_get_bytes(&r, 0);
    ok(!r.is_short, "nothing can be read from nothing");
}

int main(void)
{
    writing();
    reading();
    return done_testing();
}
