/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "tap/tap.h"

static void sentences(void)
{
    struct vel_err err = {0};

    is_int(vel_fail(&err, VEL_ECORRUPT, "block %d: checksum mismatch", 3), VEL_ECORRUPT,
           "a failure returns its status");
    vel_wrap(&err, VEL_ECORRUPT, "%s", "/ssd/c/7.map");
    is_int(vel_wrap(&err, VEL_ECORRUPT, "reading filemap"), VEL_ECORRUPT,
           "wrapping passes the status on");
    is_str(err.text, "reading filemap: /ssd/c/7.map: block 3: checksum mismatch",
           "a sentence reads outside-in");
    is_int(vel_fail_errno(&err, ENOSPC, "%s: write", "/tmp/x"), VEL_ENOSPC,
           "an errno gives its status");
    is_str(err.text, "/tmp/x: write: No space left on device",
           "the system's reason ends the sentence");
    is_int(vel_fail(NULL, VEL_EIO, "nobody listens"), VEL_EIO, "err may be NULL");
    is_int(vel_wrap(NULL, VEL_EIO, "nobody"), VEL_EIO, "err may be NULL when wrapping");
}

static void the_cause_is_kept(void)
{
    struct vel_err err = {0};
    char longer[900];

    memset(longer, 'p', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    vel_fail(&err, VEL_EIO, "the disk burns");
    vel_wrap(&err, VEL_EIO, "/%s", longer);
    vel_wrap(&err, VEL_EIO, "/%s", longer);
    vel_wrap(&err, VEL_EIO, "saving dataset 7");
    ok(strncmp(err.text, "saving dataset 7: ", 18) == 0,
       "a long sentence keeps its beginning");
    const char *end = strstr(err.text, ": the disk burns");
    ok(end && strlen(end) == 16, "a long sentence keeps its cause");
}

static void every_status_has_words(void)
{
    for (int rc = 0; rc >= VEL_EUNSAFE; rc--)
        ok(strcmp(vel_status_text(rc), "unknown status") != 0, "status %d is '%s'", rc,
           vel_status_text(rc));
    is_str(vel_status_text(-999), "unknown status", "an unknown status is called so");
}

int main(void)
{
    sentences();
    the_cause_is_kept();
    every_status_has_words();
    return done_testing();
}
