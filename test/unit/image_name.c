/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/image_name.h"
#include "tap/tap.h"

/* the name, or the sentence of a refusal; good until the next call */
static const char *named(const char *name, const char *region, int rank, int version)
{
    static char *made;
    static struct vel_err err;

    free(made);
    made = NULL;
    err = (struct vel_err){0};
    int rc = vel_image_name(name, region, rank, version, &made, &err);
    if (rc < 0)
        return made ? "an output was touched"
                    : (rc == VEL_EINVAL ? err.text : "another status");
    return made;
}

int main(void)
{
    char most[300];

    memset(most, 'x', sizeof most);
    is_str(named("heatdis", NULL, 3, 50), "heatdis-3-50.dat",
           "a checkpoint has its name, rank and version");
    is_str(named("heatdis", "mesh", 0, 0), "heatdis-mesh-0-0.dat",
           "a named region has its name in between");
    is_str(named("a b-\xc3\xa4.x", NULL, INT_MAX, INT_MAX),
           "a b-\xc3\xa4.x-2147483647-2147483647.dat", "names may be any other text");
    is_str(named("..", NULL, 0, 1), "..-0-1.dat", "and lead nowhere");
    is_str(named("", NULL, 0, 0), "the name of a checkpoint is empty",
           "an empty name is refused");
    is_str(named(NULL, NULL, 0, 0), "the name of a checkpoint is empty",
           "so is none at all");
    is_str(named("a", "", 0, 0), "the name of a region is empty",
           "so is an empty region");
    is_str(named("../a", NULL, 0, 0),
           "the name of a checkpoint, \"../a\", has a slash: use another letter",
           "so is a slash");
    is_str(named("a", "b/c", 0, 0),
           "the name of a region, \"b/c\", has a slash: use another letter",
           "of a region, too");
    is_str(named("a\nb", NULL, 0, 0),
           "the name of a checkpoint has the control character 0x0a as byte 2",
           "so is a control character");
    is_str(named("a/\x7f", NULL, 0, 0),
           "the name of a checkpoint has the control character 0x7f as byte 3",
           "which no sentence shows");
    is_str(named("a", NULL, 0, -1),
           "checkpoint \"a\" with version -1: versions begin at 0",
           "so is a negative version");
    most[VEL_IMAGE_NAME_MOST - strlen("-0-0.dat")] = '\0';
    ok(strlen(named(most, NULL, 0, 0)) == VEL_IMAGE_NAME_MOST,
       "a file name may be as long as there is room for");
    ok(strstr(named(most, NULL, 10, 0), "a file name of 241 bytes, more than 240: "
                                        "shorten the name of the checkpoint (xxx"),
       "and no longer");
    ok(strstr(named(most, "r", 0, 0), "shorten the name of the checkpoint or the "
                                      "region (xxx"),
       "with a region neither");
    memset(most, 'x', sizeof most - 1);
    most[sizeof most - 1] = '\0';
    ok(strstr(named(most, NULL, 0, 0), "has 299 bytes, and a file name has room for"),
       "a name that is too long alone is told as such");
    named("a", NULL, 0, 0);
    return done_testing();
}
