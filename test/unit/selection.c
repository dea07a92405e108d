/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "api/selection.h"
#include "tap/tap.h"

/* Which of -3 .. 3 a selection takes, as a text of digits 0 and 1; a refusal as its
 * sentence. */
static const char *taken(int mode, const int *ids, int n)
{
    static char text[8];
    static struct vel_err err;
    struct vel_selection selection;

    err = (struct vel_err){0};
    int rc = vel_selection_init(&selection, mode, ids, n, &err);
    if (rc < 0)
        return rc == VEL_EINVAL ? err.text : "another status";
    for (int id = -3; id <= 3; id++)
        text[id + 3] = vel_selection_takes(&selection, id) ? '1' : '0';
    vel_selection_fini(&selection);
    return text;
}

int main(void)
{
    const int ids[] = {3, -2, 0}, twice[] = {3, INT_MIN, 1, INT_MIN};

    is_str(taken(VEL_SELECT_ALL, NULL, 0), "1111111", "ALL takes every region");
    is_str(taken(VEL_SELECT_ALL, twice, -4), "1111111", "and looks at no ids");
    is_str(taken(VEL_SELECT_SOME, ids, 3), "0101001", "SOME takes those of the ids");
    is_str(taken(VEL_SELECT_REST, ids, 3), "1010110", "REST takes the others");
    is_str(taken(VEL_SELECT_SOME, NULL, 0), "0000000", "SOME of no ids takes none");
    is_str(taken(VEL_SELECT_REST, NULL, 0), "1111111", "REST of no ids takes all");
    ok(strstr(taken(3, ids, 3), "no selection 3"), "another mode is refused");
    ok(strstr(taken(-1, ids, 3), "no selection -1"), "so is a negative one");
    is_str(taken(VEL_SELECT_SOME, twice, 4),
           "the selection has region -2147483648 twice", "so is an id that is twice");
    is_str(taken(VEL_SELECT_REST, ids, -1), "a selection of -1 ids",
           "so is a negative number of ids");
    is_str(taken(VEL_SELECT_SOME, NULL, 2), "a selection of 2 ids, which are NULL",
           "so are ids that are not there");
    return done_testing();
}
