/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a file of settings: an error or settings, never a crash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "conf/file.h"
#include "fuzz/fuzz.h"

/* one variable that is set, so that expansion is reached */
static const char *variable(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "HOME") == 0 ? "/home/fuzz" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    if (vel_conf_create(&conf, NULL) < 0)
        return 0;
    int rc = vel_conf_parse(conf, VEL_LAYER_USER, "fuzz.conf", (const char *)bytes, len,
                            variable, NULL, &err);
    if (rc == 0)
        rc = vel_conf_finish(conf, &err);
    if (rc < 0 && !err.text[0])
        abort(); /* an error without a sentence helps nobody */
    vel_conf_destroy(conf);
    return 0;
}
