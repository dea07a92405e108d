/* SPDX-License-Identifier: BSD-3-Clause */
/* json - jansson, called through a handle of our own (base/library): include this and
 * not <jansson.h>, and write what jansson's manual says. */
#ifndef VEL_RECORD_JSON_H
#define VEL_RECORD_JSON_H

/* the one that jansson's own inline functions call */
#define json_delete vel_json_delete
#include <jansson.h>

/* A function that is not here is not to be called: the loader would bind it. */
#define VEL_JSON_FUNCTIONS(X)                                                          \
    X(array)                                                                           \
    X(array_append_new)                                                                \
    X(array_get)                                                                       \
    X(array_size)                                                                      \
    X(deep_copy)                                                                       \
    X(dump_callback)                                                                   \
    X(dumpf)                                                                           \
    X(false)                                                                           \
    X(integer)                                                                         \
    X(integer_value)                                                                   \
    X(loadb)                                                                           \
    X(null)                                                                            \
    X(number_value)                                                                    \
    X(object)                                                                          \
    X(object_get)                                                                      \
    X(object_iter)                                                                     \
    X(object_iter_key)                                                                 \
    X(object_iter_next)                                                                \
    X(object_set_new)                                                                  \
    X(pack)                                                                            \
    X(real)                                                                            \
    X(string)                                                                          \
    X(string_value)                                                                    \
    X(true)

#define VEL_JSON_MEMBER(name) __typeof__(json_##name) *do_##name;

struct vel_json {
    VEL_JSON_FUNCTIONS(VEL_JSON_MEMBER)
    __typeof__(json_delete) *do_delete;
};

const struct vel_json *vel_json(void);

#define json_array vel_json()->do_array
#define json_array_append_new vel_json()->do_array_append_new
#define json_array_get vel_json()->do_array_get
#define json_array_size vel_json()->do_array_size
#define json_deep_copy vel_json()->do_deep_copy
#define json_dump_callback vel_json()->do_dump_callback
#define json_dumpf vel_json()->do_dumpf
#define json_false vel_json()->do_false
#define json_integer vel_json()->do_integer
#define json_integer_value vel_json()->do_integer_value
#define json_loadb vel_json()->do_loadb
#define json_null vel_json()->do_null
#define json_number_value vel_json()->do_number_value
#define json_object vel_json()->do_object
#define json_object_get vel_json()->do_object_get
#define json_object_iter vel_json()->do_object_iter
#define json_object_iter_key vel_json()->do_object_iter_key
#define json_object_iter_next vel_json()->do_object_iter_next
#define json_object_set_new vel_json()->do_object_set_new
#define json_pack vel_json()->do_pack
#define json_real vel_json()->do_real
#define json_string vel_json()->do_string
#define json_string_value vel_json()->do_string_value
#define json_true vel_json()->do_true

#endif
