/* SPDX-License-Identifier: BSD-3-Clause */
/* protect ROOT SCHEME N M - make a redundancy set for test/cmd/rebuild.t. */
#include "config.h"

#include <stdlib.h>

#include "tap/redlab.h"
#include "tap/tap.h"

int main(int argc, char **argv)
{
    enum vel_scheme scheme;

    if (argc != 5 || vel_scheme_parse(argv[2], &scheme, NULL) < 0)
        return 2;
    return redlab_apply(argv[1], "ckpt", scheme, strtoul(argv[3], NULL, 10),
                        strtoul(argv[4], NULL, 10), 3, 100000) < 0;
}
