/* SPDX-License-Identifier: BSD-3-Clause */
/* eventlab - the log of events read back, as whoever evaluates it would. */
#ifndef TEST_TAP_EVENTLAB_H
#define TEST_TAP_EVENTLAB_H

#include "meta/events.h"

/* Called for one event, whose texts are good until it returns. A negative result ends
 * the reading and is returned. */
typedef int eventlab_f(void *arg, const struct vel_event *event, struct vel_err *err);

/* Every event of `dir` in the order of the files; *ret_damaged (may be NULL) is the
 * number of lines that are none. Without a file there is no event. */
int eventlab_read(const char *dir, eventlab_f *each, void *arg, size_t *ret_damaged,
                  struct vel_err *err);

#endif
