/* SPDX-License-Identifier: BSD-3-Clause */
/* plain - has the program called nothing that frees space of a file while it is open
 * (doc/format-journal.txt, 5)? Then raw data that is written takes nobody's place, and
 * its old bytes need not be kept.
 *
 * It counts for the process while it has a file that is to be undone: links, mounts and
 * virtual datasets change other files than those that are named. What is not known to
 * be harmless ends it, by vel_call_begin(). */
#ifndef VEL_VOL_PLAIN_H
#define VEL_VOL_PLAIN_H

#include <stdbool.h>

#include <hdf5.h>

/* The first file that is to be undone is open; it is none until then. */
void vel_plain_begin(void);
void vel_plain_end(void);
bool vel_plain_is(void);

/* Each ends it, unless what it is given is harmless. `object` and `id`: below. */
void vel_plain_check_creation(hid_t fcpl_id);
void vel_plain_check_file(void *object, hid_t id);
void vel_plain_check_new_dataset(hid_t type_id, hid_t dcpl_id);
void vel_plain_check_dataset(void *object, hid_t id);
void vel_plain_check_extent(void *object, hid_t id, const hsize_t *size);
void vel_plain_check_attr(hid_t type_id, hid_t space_id);
void vel_plain_check_attr_size(void *object, hid_t id);

#endif
