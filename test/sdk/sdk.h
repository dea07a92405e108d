/* SPDX-License-Identifier: BSD-3-Clause */
/* sdk - what the stand-ins for the vendors' services share: a list of the calls made,
 * the failures that a test wants, and copies that really arrive, after a while.
 *
 * A copy begins with the first half of the file and ends, whole or as a failure, when
 * it was looked at as often as the test said. All of it is shared by a process and
 * those that it forks: a service goes on when one of them is killed.
 */
#ifndef TEST_SDK_SDK_H
#define TEST_SDK_SDK_H

#include <stdbool.h>
#include <stddef.h>

#include "veloc_transport.h"

/* --- for tests --- */

/* Forget all calls, plans and copies. */
void sdk_reset(void);

/* The n-th call of a function from now on (the first is 1) fails with rc; or says that
 * all is well when it is not; or kills its process before it does anything, which is
 * that of the first call from the n-th on that may be killed. */
enum { SDK_LIE = -123456, SDK_KILL = -654321 };
void sdk_fail(const char *function, int nth, int rc);

/* Copies that begin from now on arrive when they are looked at so often (0: at the
 * first look), or are lost then. */
void sdk_delay(int looks, bool is_lost);

/* Those under way arrive with a byte that is none of their file's. */
void sdk_spoil(void);

/* This process is not killed. */
void sdk_spare(void);

/* Nothing fails any more. */
void sdk_heal(void);

/* The calls since the reset, a line each: the function and what was told, files by the
 * last part of their names. Belongs to the stand-ins. */
const char *sdk_calls(void);
int sdk_count(const char *function);

/* What the plug-in test/sdk/fake answers. */
void sdk_set_ops(const struct veloc_transport_ops *ops);

/* --- for stand-ins --- */

enum sdk_state { SDK_PENDING, SDK_DONE, SDK_LOST, SDK_CANCELLED };

/* Note a call; what it must return when the test wants it to fail, else 0. */
int sdk_call(const char *function, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

const char *sdk_base(const char *path);

/* So many bytes for the one stand-in of a program that remembers something, zero after
 * a reset. */
void *sdk_memory(size_t size);

/* A copy's number; -1 when it cannot begin. */
int sdk_begin(const char *from, const char *to);
enum sdk_state sdk_look(int copy);
enum sdk_state sdk_state(int copy);
unsigned long sdk_size(int copy);
void sdk_cancel(int copy);

/* The latest copy from that file; -1: there is none. */
int sdk_find(const char *from);

/* As for a plug-in's entry. */
const struct veloc_transport_ops *sdk_ops(void);

#endif
