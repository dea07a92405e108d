/* SPDX-License-Identifier: BSD-3-Clause */
/* ender DIR: another launch ends the one whose directory that is, .veloc/launch.L. */
#include "config.h"

#include "tap/launchlab.h"

int main(int argc, char **argv)
{
    if (argc == 2)
        tap_end_launch(argv[1]);
    return argc == 2 ? 0 : 2;
}
