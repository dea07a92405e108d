/* SPDX-License-Identifier: BSD-3-Clause */
/* check - can these settings protect anything? The codes of
 * VELOC_Check_Configuration().
 */
#ifndef VEL_TOPO_CHECK_H
#define VEL_TOPO_CHECK_H

#include "base/err.h"
#include "conf/conf.h"

/* The numbers are part of the API. */
enum vel_topo_fault {
    VEL_TOPO_VALID = 0,
    VEL_TOPO_SCHEME_AND_STORE = 1, /* INCORRECT_COMB_ENC_AND_STORAGE */
    VEL_TOPO_RS_GROUP_SIZE = 2,    /* INCORRECT_RS_GROUP_SIZE */
    VEL_TOPO_SCHEME_AND_GROUP = 3, /* WORLD is one failure group: nothing is outside */
    VEL_TOPO_OTHER = 4,            /* any other fault of the settings */
};

/* The first fault that a level has by itself, with its sentence in *err (status
 * VEL_ECONFIG); VEL_TOPO_VALID leaves *err alone. Settings that vel_conf_finish()
 * refused may be asked for the code. */
enum vel_topo_fault vel_topo_check(const struct vel_conf *conf, struct vel_err *err);

#endif
