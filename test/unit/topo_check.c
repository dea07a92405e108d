/* SPDX-License-Identifier: BSD-3-Clause */
/* Which settings can protect something. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "conf/file.h"
#include "tap/tap.h"
#include "tap/topolab.h"
#include "topo/check.h"

static void expect(enum vel_topo_fault want, const char *part, const char *text)
{
    struct vel_conf *conf;
    struct vel_err err = {0};

    /* some are refused by vel_conf_finish() already, which knows no codes */
    if (vel_conf_create(&conf, &err) < 0 ||
        vel_conf_parse(conf, VEL_LAYER_USER, "t", text, strlen(text), NULL, NULL,
                       &err) < 0)
        bail_out("%s", err.text);
    vel_conf_finish(conf, NULL);
    err = (struct vel_err){0};
    is_int(vel_topo_check(conf, &err), want, "%s", topolab_line(text));
    ok(want == VEL_TOPO_VALID ? !err.text[0]
                              : err.status == VEL_ECONFIG && strstr(err.text, part),
       "  %s", err.text[0] ? err.text : "and no sentence");
    vel_conf_destroy(conf);
}

static void stores(void)
{
    static const char *const types[] = {"RAMDISK", "XPOINT", "SSD", "BURSTBUFFER"};
    static const char *const schemes[] = {"SINGLE", "PARTNER", "XOR", "RS"};
    char text[128];

    for (size_t s = 0; s < 4; s++) {
        for (size_t t = 0; t < 4; t++) {
            snprintf(text, sizeof text, "STORE=/s TYPE=%s\nCKPT=0 STORE=/s TYPE=%s",
                     types[t], schemes[s]);
            expect(VEL_TOPO_VALID, "", text);
        }
        snprintf(text, sizeof text, "STORE=/p GROUP=WORLD\nCKPT=0 STORE=/p TYPE=%s",
                 schemes[s]);
        expect(s ? VEL_TOPO_SCHEME_AND_STORE : VEL_TOPO_VALID, "parallel file", text);
    }
    expect(VEL_TOPO_SCHEME_AND_STORE, "COPY_TYPE=XOR", "STORE=/tmp TYPE=PFS");
    expect(VEL_TOPO_SCHEME_AND_STORE, "COPY_TYPE=XOR",
           "STORE=/p/ TYPE=PFS\nCACHE_BASE=/p");
    expect(VEL_TOPO_VALID, "",
           "STORE=/p TYPE=PFS\nCKPT=0 TYPE=SINGLE\nCKPT=1 STORE=/p ENABLED=0");
}

int main(void)
{
    stores();
    expect(VEL_TOPO_OTHER, "not enabled", "STORE=/tmp ENABLED=0");
    expect(VEL_TOPO_VALID, "", "COPY_TYPE=RS");
    expect(VEL_TOPO_VALID, "", "COPY_TYPE=RS\nSET_SIZE=12");
    expect(VEL_TOPO_RS_GROUP_SIZE, "SET_SIZE=6", "COPY_TYPE=RS\nSET_SIZE=6");
    expect(VEL_TOPO_VALID, "", "COPY_TYPE=RS\nSET_SIZE=6\nSET_FAILURES=2");
    expect(VEL_TOPO_RS_GROUP_SIZE, "CKPT=3",
           "CKPT=0 TYPE=SINGLE\nCKPT=3 INTERVAL=2 TYPE=RS SET_SIZE=10");
    expect(VEL_TOPO_SCHEME_AND_GROUP, "GROUP=WORLD", "GROUP=WORLD");
    expect(VEL_TOPO_VALID, "", "GROUP=WORLD\nCOPY_TYPE=SINGLE");
    return done_testing();
}
