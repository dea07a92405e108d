/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_undo - a file system that remembers what a loss of power could take back.
 *
 * What is on disk. POSIX promises little: the bytes of a file after its fsync, the
 * names in a directory after the directory's fsync, and nothing else. So the fsync of a
 * new file keeps its bytes but not its name, and a rename can lead a durable name to
 * bytes that are not durable. The twin carries every operation out at once, and keeps a
 * log of how to take back those that no fsync has covered yet:
 *
 *   bytes   of each write, append, copy and truncate of a file since its last fsync:
 *           the bytes and the size that were there, and those that came
 *   names   of each create, link, unlink, rename, mkdir and rmdir since the last fsync
 *           of its directory: where the file was. A file that is replaced or removed
 *           gets one more name in the directory aside, which keeps it alive.
 *
 * What is lost is a policy, because a loss of power may take any part of that:
 *
 *   KEEP    nothing is lost: the process was killed, the machine went on
 *   DROP    everything that no fsync covers: the laziest file system that is allowed
 *   RANDOM  what a journaling file system does. Names are lost as a suffix of their
 *           order, chosen by the seed, behind the last one that an fsync covers. Bytes
 *           are lost by a coin for each block of 4 KiB of each write, in any order,
 *           with zeros where only what follows has reached the disk.
 *
 * A rename is one step on every file system worth using: never half of it is lost, and
 * the fsync of either directory covers it and what happened before it in the other one.
 *
 * Not imitated: times and modes are never lost, an fsync does not reach the real disk
 * (nobody pulls the plug of the machine that runs the test), writes through mmap are
 * not seen, and a failed fsync makes nothing durable but loses nothing either.
 */
#ifndef TEST_TAP_FS_UNDO_H
#define TEST_TAP_FS_UNDO_H

#include "sys/fs.h"

enum vel_fs_loss {
    VEL_FS_LOSS_DROP,
    VEL_FS_LOSS_KEEP,
    VEL_FS_LOSS_RANDOM,
};

struct vel_fs_undo;

/* A twin over `under`. `aside` is a directory to be made, see fs_fault.h; removed by
 * destroy. */
int vel_fs_undo_create(struct vel_fs *under, const char *aside,
                       struct vel_fs_undo **ret_undo, struct vel_err *err);
void vel_fs_undo_destroy(struct vel_fs_undo *undo);

struct vel_fs *vel_fs_undo_fs(struct vel_fs_undo *undo);

/* Lose power: what is left is durable. `seed` matters for RANDOM only. */
int vel_fs_undo_power_loss(struct vel_fs_undo *undo, enum vel_fs_loss loss,
                           uint64_t seed, struct vel_err *err);

#endif
