/* SPDX-License-Identifier: BSD-3-Clause */
/* missed - what a launch would restore if it could: datasets of HDF5 files that were
 * sealed, that it cannot give, and of which nothing newer is whole.
 */
#ifndef VEL_VIEW_MISSED_H
#define VEL_VIEW_MISSED_H

#include "base/buf.h"
#include "view/seals.h"
#include "view/view.h"

/* Nodes that had parts when it was sealed, and have not told the view what they hold.
 * Their names are appended to *ret, the first eight of them; returns how many there
 * are, 0 also when out of memory. */
size_t vel_view_put_away(const struct vel_view *view, const struct vel_seal *seal,
                         struct vel_buf *ret);

/* The newest of them. Its seal is to be finished by the caller; *ret_n: how many there
 * are. False: none is missed. */
bool vel_view_find_missed(const struct vel_view *view, struct vel_seals_of *seals,
                          struct vel_seal *ret, size_t *ret_n);

/* For people: which it is, why it cannot be given, and what would bring it. Appended to
 * *ret; false: none is missed. */
struct vel_missed_of {
    const struct vel_view *view;
    struct vel_seals_of *seals;
    const char *caches; /* that were looked at */
    double wait;        /* VIEW_WAIT, in seconds */
};
bool vel_view_tell_missed(const struct vel_missed_of *of, struct vel_buf *ret);

#endif
