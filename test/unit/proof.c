/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "base/proof.h"
#include "tap/tap.h"

static struct vel_err err;

static void proofs(void)
{
    static const char words[] = "words", others[] = "wordt";
    uint8_t key[VEL_SECRET] = {1, 2, 3}, first[VEL_SECRET] = {1, 2, 4},
            last[VEL_SECRET];
    uint8_t want[VEL_PROOF], got[6][VEL_PROOF];
    int differ = 0;

    memcpy(last, key, sizeof last);
    last[VEL_SECRET - 1] = 1;
    vel_proof_make(key, VEL_PROOF_ACCEPTS, words, 5, want);
    vel_proof_make(key, VEL_PROOF_ACCEPTS, words, 5, got[0]);
    vel_proof_make(key, VEL_PROOF_CONNECTS, words, 5, got[1]);
    vel_proof_make(first, VEL_PROOF_ACCEPTS, words, 5, got[2]);
    vel_proof_make(last, VEL_PROOF_ACCEPTS, words, 5, got[3]);
    vel_proof_make(key, VEL_PROOF_ACCEPTS, others, 5, got[4]);
    vel_proof_make(key, VEL_PROOF_KNOCKS, words, 5, got[5]);
    is_int(vel_proof_check(got[0], want, &err), 0, "who knows the key can prove it");
    for (int i = 1; i < 6; i++)
        differ += vel_proof_check(got[i], want, &err) == VEL_EUNSAFE;
    is_int(differ, 5, "key, side and words are all part of it");
}

static void frames(void)
{
    static const uint8_t key[VEL_SECRET] = {9};
    uint8_t frame[40] = "frame", mac[2][VEL_MAC];
    struct vel_mac says, hears, says_back, hears_back, other, unused;
    int taken = 0;

    vel_mac_begin(&says, &hears_back, key, VEL_PROOF_CONNECTS, "words", 5);
    vel_mac_begin(&says_back, &hears, key, VEL_PROOF_ACCEPTS, "words", 5);
    vel_mac_begin(&other, &unused, key, VEL_PROOF_CONNECTS, "wordt", 5);
    for (int i = 0; i < 2; i++) {
        vel_mac_make(&says, frame, sizeof frame, mac[i]);
        says.n++;
    }
    is_int(vel_mac_check(&hears, frame, sizeof frame, mac[1], &err), VEL_ECORRUPT,
           "a frame that comes too early is none");
    for (size_t i = 0; i < 8 * sizeof frame; i++) {
        frame[i / 8] ^= (uint8_t)(1 << i % 8);
        taken += vel_mac_check(&hears, frame, sizeof frame, mac[0], &err) == 0;
        frame[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    is_int(taken, 0, "nor is one with any bit changed");
    is_int(vel_mac_check(&hears_back, frame, sizeof frame, mac[0], &err), VEL_ECORRUPT,
           "nor one that comes back");
    is_int(vel_mac_check(&other, frame, sizeof frame, mac[0], &err), VEL_ECORRUPT,
           "nor one of another connection");
    is_int(vel_mac_check(&hears, frame, sizeof frame, mac[0], &err), 0,
           "the next one is");
    is_int(vel_mac_check(&hears, frame, sizeof frame, mac[0], &err), VEL_ECORRUPT,
           "but not twice");
    is_int(vel_mac_check(&hears, frame, sizeof frame, mac[1], &err), 0,
           "the one behind it is");
    ok(vel_mac_bytes(&says, frame, 8) == vel_mac_bytes(&hears, frame, 8) &&
           vel_mac_bytes(&says, frame, 8) != vel_mac_bytes(&says_back, frame, 8) &&
           vel_mac_bytes(&says, frame, 8) != vel_mac_bytes(&says, frame, 9),
       "bytes that a frame announces are those of its side");
}

int main(void)
{
    proofs();
    frames();
    return done_testing();
}
