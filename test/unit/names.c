/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdio.h>

#include "brain/names.h"
#include "tap/tap.h"

enum { MOST = 100 };

static int64_t *number_of(struct vel_names *names, int i)
{
    char name[20];

    snprintf(name, sizeof name, "name %d", i);
    return vel_names_number(names, name);
}

int main(void)
{
    struct vel_names names;
    int wrong = 0, known = 0;

    vel_names_init(&names, MOST);
    for (int i = 0; i < MOST; i++)
        *number_of(&names, i) = i + 1;
    for (int i = 0; i < MOST; i++)
        wrong += *number_of(&names, i) != i + 1;
    is_int(wrong, 0, "as many names as it takes have their numbers");

    for (int i = MOST; i < 10 * MOST; i++) {
        *number_of(&names, i) = i + 1;
        wrong += *number_of(&names, 0) != 1 || *number_of(&names, i - MOST / 4) == 0;
    }
    is_int(wrong, 0, "and keep them while they are asked for, and for as many others");
    ok(names.newer.n <= MOST && names.older.n <= MOST, "of many names most are gone");
    for (int i = 1; i < 5 * MOST; i++)
        known += *number_of(&names, i) != 0;
    is_int(known, 0, "those that nobody has asked for: they begin anew, at 0");
    vel_names_fini(&names);
    return done_testing();
}
