/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tap/tap.h"
#include "xfer/temp.h"

static void gives(const char *dest, uint64_t id, const char *want)
{
    char *name = NULL;
    struct vel_err err = {0};
    int rc = vel_xfer_temp_name(dest, id, &name, &err);

    if (want)
        is_str(rc == 0 ? name : err.text, want, "the temporary of %s", dest);
    else
        ok(rc == VEL_EINVAL && err.text[0], "'%s' names no file", dest);
    free(name);
}

static void is_temporary(const char *name, bool want, uint64_t want_id)
{
    uint64_t id = 99;
    bool is = vel_xfer_temp_parse(name, &id);

    ok(is == want && id == (want ? want_id : 99), "%s %s a temporary", name,
       want ? "is" : "is not");
}

static void of_owner(const char *dest, uint64_t owner, const char *want)
{
    char *name = NULL;

    ok(vel_xfer_temp_owned(dest, 7, owner, &name, NULL) == 0 &&
           strcmp(name, want) == 0 && vel_xfer_temp_parse(vel_path_base(want), NULL),
       "of owner %d: %s", (int)owner, want);
    free(name);
}

/* two long bases that differ at their ends */
static void long_names(uint64_t owner)
{
    char dest[2][300], *name[2] = {NULL, NULL};
    uint64_t id = 0;

    for (int i = 0; i < 2; i++) {
        strcpy(dest[i], "dir/");
        memset(dest[i] + 4, 'x', 254);
        dest[i][258] = (char)('0' + i);
        dest[i][259] = 0;
        if (vel_xfer_temp_owned(dest[i], UINT64_MAX, owner, &name[i], NULL) < 0)
            bail_out("no name for %s", dest[i]);
        ok(strlen(vel_path_base(name[i])) == 255 &&
               vel_xfer_temp_parse(vel_path_base(name[i]), &id) && id == UINT64_MAX,
           "the temporary of a long name fits and is one");
    }
    ok(strcmp(name[0], name[1]) != 0, "long names keep apart");
    free(name[0]);
    free(name[1]);
}

static void owned(uint64_t owner, const char *want)
{
    char *name = NULL;
    uint64_t id = 0;

    if (vel_xfer_temp_owned("/a/b.h5", 7, owner, &name, NULL) < 0)
        bail_out("no name");
    is_str(name, want, "owner %d has a name of its own", (int)owner);
    ok(vel_xfer_temp_parse(vel_path_base(name), &id) && id == 7,
       "by which it is found");
    free(name);
}

int main(void)
{
    gives("/a/b.h5", 7, "/a/.b.h5.h5v-7.tmp");
    gives("b", 0, ".b.h5v-0.tmp");
    gives("/a/.b.h5v-3.tmp", 12, "/a/..b.h5v-3.tmp.h5v-12.tmp");
    gives("/a/", 7, NULL);
    gives("..", 7, NULL);
    gives("", 7, NULL);
    long_names(0);
    long_names(UINT64_MAX);
    of_owner("/a/b.h5", 0, "/a/.b.h5.h5v-7.tmp");
    of_owner("/a/b.h5", 3, "/a/.b.h5.h5v-7.3.tmp");
    is_temporary(".b.h5.h5v-7.3.tmp", true, 7);
    is_temporary(".b.h5.h5v-7.0.tmp", false, 0);
    is_temporary(".b.h5.h5v-7.03.tmp", false, 0);
    is_temporary(".b.h5.h5v-7.3.4.tmp", false, 0);
    is_temporary(".b.h5.h5v-7..tmp", false, 0);
    is_temporary(".b.h5.h5v-7.3", false, 0);
    is_temporary(".b.h5.h5v-7.99999999999999999999.tmp", false, 0);
    owned(0, "/a/.b.h5.h5v-7.tmp");
    owned(3, "/a/.b.h5.h5v-7.3.tmp");
    is_temporary(".x.h5v-7-0.tmp", false, 0);
    is_temporary(".x.h5v-7-01.tmp", false, 0);
    is_temporary(".x.h5v-7-1-1.tmp", false, 0);
    is_temporary(".x.h5v-7-1.1.tmp", false, 0);
    is_temporary(".x.h5v-7-.tmp", false, 0);
    is_temporary(".x.h5v-7-2147483648.tmp", false, 0);
    is_temporary(".b.h5.h5v-7.tmp", true, 7);
    is_temporary("..b.h5v-3.tmp.h5v-12.tmp", true, 12);
    is_temporary(".x.h5v-18446744073709551615.tmp", true, UINT64_MAX);
    is_temporary(".x.h5v-18446744073709551616.tmp", false, 0);
    is_temporary(".x.h5v-07.tmp", false, 0);
    is_temporary(".x.h5v-+7.tmp", false, 0);
    is_temporary(".x.h5v- 7.tmp", false, 0);
    is_temporary(".x.h5v-.tmp", false, 0);
    is_temporary(".x.h5v-7.tmp.bak", false, 0);
    is_temporary(".x.h5v-7", false, 0);
    is_temporary(".h5v-7.tmp", false, 0);
    is_temporary("x.h5v-7.tmp", false, 0);
    is_temporary(".x.h5v-tmp", false, 0);
    is_temporary("", false, 0);
    return done_testing();
}
