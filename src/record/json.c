/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>

#include "base/library.h"
#include "record/json.h"

static struct vel_json functions;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void bind(void)
{
#define FIND(name)                                                                     \
    functions.do_##name = vel_library_find(VEL_LIBRARY_JANSSON, "json_" #name);
    VEL_JSON_FUNCTIONS(FIND)
    FIND(delete)
}

const struct vel_json *vel_json(void)
{
    pthread_once(&once, bind);
    return &functions;
}

void vel_json_delete(json_t *json)
{
    vel_json()->do_delete(json);
}
