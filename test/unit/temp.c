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

/* two long bases that differ at their ends */
static void long_names(void)
{
    char dest[2][300], *name[2] = {NULL, NULL};
    uint64_t id = 0;

    for (int i = 0; i < 2; i++) {
        strcpy(dest[i], "dir/");
        memset(dest[i] + 4, 'x', 254);
        dest[i][258] = (char)('0' + i);
        dest[i][259] = 0;
        if (vel_xfer_temp_name(dest[i], UINT64_MAX, &name[i], NULL) < 0)
            bail_out("no name for %s", dest[i]);
        ok(strlen(vel_path_base(name[i])) == 255 &&
               vel_xfer_temp_parse(vel_path_base(name[i]), &id) && id == UINT64_MAX,
           "the temporary of a long name fits and is one");
    }
    ok(strcmp(name[0], name[1]) != 0, "long names keep apart");
    free(name[0]);
    free(name[1]);
}

static void again(int attempt, const char *want)
{
    char *name = NULL;
    uint64_t id = 0;

    if (vel_xfer_temp_again("/a/b.h5", 7, attempt, &name, NULL) < 0)
        bail_out("no name");
    is_str(name, want, "attempt %d has a name of its own", attempt);
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
    long_names();
    again(0, "/a/.b.h5.h5v-7.tmp");
    again(1, "/a/.b.h5.h5v-7.1.tmp");
    again(INT32_MAX, "/a/.b.h5.h5v-7.2147483647.tmp");
    is_temporary(".x.h5v-7.0.tmp", false, 0);
    is_temporary(".x.h5v-7.01.tmp", false, 0);
    is_temporary(".x.h5v-7.1.1.tmp", false, 0);
    is_temporary(".x.h5v-7..tmp", false, 0);
    is_temporary(".x.h5v-7.2147483648.tmp", false, 0);
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
