/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "engine/background.h"

/* A process has one leader to speak to, as it has one session of the API. */
static struct vel_background *the_one;

void vel_background_offer(struct vel_background *background)
{
    the_one = background;
}

struct vel_background *vel_background_offered(void)
{
    return the_one;
}
