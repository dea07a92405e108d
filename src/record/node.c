/* SPDX-License-Identifier: BSD-3-Clause */
/* A node is a jansson value; the opaque type keeps jansson out of everybody else's
 * headers. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "record/json.h"
#include "record/name.h"
#include "record/node.h"

static json_t *json_of(const struct vel_node *node)
{
    return (json_t *)(uintptr_t)node;
}

static struct vel_node *node_of(json_t *json)
{
    return (struct vel_node *)json;
}

struct vel_node *vel_node_object(void)
{
    return node_of(json_object());
}

struct vel_node *vel_node_list(void)
{
    return node_of(json_array());
}

void vel_node_destroy(struct vel_node *node)
{
    json_decref(json_of(node));
}

struct vel_node *vel_node_copy(const struct vel_node *node)
{
    return node_of(json_deep_copy(json_of(node)));
}

/* jansson takes the reference also when it fails, and fails on NULL */
static int put(struct vel_node *object, const char *key, json_t *value)
{
    return json_object_set_new(json_of(object), key, value) < 0 ? VEL_ENOMEM : 0;
}

static int add(struct vel_node *list, json_t *value)
{
    return json_array_append_new(json_of(list), value) < 0 ? VEL_ENOMEM : 0;
}

static json_t *json_name(const char *name)
{
    char *text = vel_name_encode(name);
    json_t *json = text ? json_string(text) : NULL;

    free(text);
    return json;
}

int vel_node_set_int(struct vel_node *object, const char *key, int64_t value)
{
    return put(object, key, json_integer(value));
}

int vel_node_set_bool(struct vel_node *object, const char *key, bool value)
{
    return put(object, key, json_boolean(value));
}

int vel_node_set_real(struct vel_node *object, const char *key, double value)
{
    return isfinite(value) ? put(object, key, json_real(value)) : VEL_EINVAL;
}

int vel_node_set_text(struct vel_node *object, const char *key, const char *text)
{
    json_t *json = json_string(text);

    return json ? put(object, key, json) : VEL_EINVAL;
}

int vel_node_set_bytes(struct vel_node *object, const char *key, const void *bytes,
                       size_t n)
{
    char *text = malloc(VEL_HEX_ROOM(n));
    int rc = VEL_ENOMEM;

    if (text) {
        vel_hex(bytes, n, text);
        rc = vel_node_set_text(object, key, text);
    }
    free(text);
    return rc;
}

int vel_node_set_name(struct vel_node *object, const char *key, const char *name)
{
    return put(object, key, json_name(name));
}

int vel_node_adopt(struct vel_node *object, const char *key, struct vel_node *child)
{
    return put(object, key, json_of(child));
}

int vel_node_append(struct vel_node *list, struct vel_node *child)
{
    return add(list, json_of(child));
}

int vel_node_append_int(struct vel_node *list, int64_t value)
{
    return add(list, json_integer(value));
}

int vel_node_append_text(struct vel_node *list, const char *text)
{
    json_t *json = json_string(text);

    return json ? add(list, json) : VEL_EINVAL;
}

int vel_node_append_name(struct vel_node *list, const char *name)
{
    return add(list, json_name(name));
}

bool vel_node_has(const struct vel_node *object, const char *key)
{
    return json_object_get(json_of(object), key) != NULL;
}

/* where a value stands, for the sentence: a key of an object or an item of a list */
struct place {
    const char *key;
    size_t item;
};

static int wrong(struct place at, const char *want, struct vel_err *err)
{
    if (at.key)
        return vel_fail(err, VEL_ECORRUPT, "key '%s': expected %s", at.key, want);
    return vel_fail(err, VEL_ECORRUPT, "item %zu: expected %s", at.item, want);
}

static int as_int(json_t *json, struct place at, int64_t least, int64_t most,
                  int64_t *ret_value, struct vel_err *err)
{
    if (!json_is_integer(json) || json_integer_value(json) < least ||
        json_integer_value(json) > most) {
        char want[80];

        snprintf(want, sizeof want, "an integer from %" PRId64 " to %" PRId64, least,
                 most);
        return wrong(at, want, err);
    }
    *ret_value = json_integer_value(json);
    return 0;
}

static int as_text(json_t *json, struct place at, const char **ret_text,
                   struct vel_err *err)
{
    if (!json_is_string(json))
        return wrong(at, "a text", err);
    *ret_text = json_string_value(json);
    return 0;
}

static int as_name(json_t *json, struct place at, char **ret_name, struct vel_err *err)
{
    if (!json_is_string(json))
        return wrong(at, "the name of a file", err);
    return vel_name_decode(json_string_value(json), ret_name, err);
}

static int as_object(json_t *json, struct place at, const struct vel_node **ret_child,
                     struct vel_err *err)
{
    if (!json_is_object(json))
        return wrong(at, "an object", err);
    *ret_child = node_of(json);
    return 0;
}

int vel_node_get_int(const struct vel_node *object, const char *key, int64_t least,
                     int64_t most, int64_t *ret_value, struct vel_err *err)
{
    return as_int(json_object_get(json_of(object), key), (struct place){.key = key},
                  least, most, ret_value, err);
}

int vel_node_get_bool(const struct vel_node *object, const char *key, bool *ret_value,
                      struct vel_err *err)
{
    const json_t *json = json_object_get(json_of(object), key);

    if (!json_is_boolean(json))
        return wrong((struct place){.key = key}, "true or false", err);
    *ret_value = json_is_true(json);
    return 0;
}

int vel_node_get_real(const struct vel_node *object, const char *key, double least,
                      double most, double *ret_value, struct vel_err *err)
{
    const json_t *json = json_object_get(json_of(object), key);
    char want[80];

    if (!json_is_number(json) || json_number_value(json) < least ||
        json_number_value(json) > most) {
        snprintf(want, sizeof want, "a number from %.15g to %.15g", least, most);
        return wrong((struct place){.key = key}, want, err);
    }
    *ret_value = json_number_value(json);
    return 0;
}

int vel_node_get_text(const struct vel_node *object, const char *key,
                      const char **ret_text, struct vel_err *err)
{
    return as_text(json_object_get(json_of(object), key), (struct place){.key = key},
                   ret_text, err);
}

int vel_node_get_bytes(const struct vel_node *object, const char *key, void *ret,
                       size_t n, struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(object, key, &text, err);

    if (rc == 0 && !vel_unhex(text, ret, n))
        rc = vel_fail(err, VEL_ECORRUPT, "%s: not %zu bytes in hexadecimal", key, n);
    return rc;
}

int vel_node_get_name(const struct vel_node *object, const char *key, char **ret_name,
                      struct vel_err *err)
{
    return as_name(json_object_get(json_of(object), key), (struct place){.key = key},
                   ret_name, err);
}

int vel_node_get_object(const struct vel_node *object, const char *key,
                        const struct vel_node **ret_child, struct vel_err *err)
{
    return as_object(json_object_get(json_of(object), key), (struct place){.key = key},
                     ret_child, err);
}

int vel_node_get_list(const struct vel_node *object, const char *key,
                      const struct vel_node **ret_child, struct vel_err *err)
{
    json_t *json = json_object_get(json_of(object), key);

    if (!json_is_array(json))
        return wrong((struct place){.key = key}, "a list", err);
    *ret_child = node_of(json);
    return 0;
}

size_t vel_node_count(const struct vel_node *list)
{
    return json_array_size(json_of(list));
}

int vel_node_object_at(const struct vel_node *list, size_t i,
                       const struct vel_node **ret_child, struct vel_err *err)
{
    return as_object(json_array_get(json_of(list), i), (struct place){.item = i},
                     ret_child, err);
}

int vel_node_int_at(const struct vel_node *list, size_t i, int64_t least, int64_t most,
                    int64_t *ret_value, struct vel_err *err)
{
    return as_int(json_array_get(json_of(list), i), (struct place){.item = i}, least,
                  most, ret_value, err);
}

int vel_node_text_at(const struct vel_node *list, size_t i, const char **ret_text,
                     struct vel_err *err)
{
    return as_text(json_array_get(json_of(list), i), (struct place){.item = i},
                   ret_text, err);
}

int vel_node_name_at(const struct vel_node *list, size_t i, char **ret_name,
                     struct vel_err *err)
{
    return as_name(json_array_get(json_of(list), i), (struct place){.item = i},
                   ret_name, err);
}

static int append_json(const char *bytes, size_t len, void *buf)
{
    vel_buf_append(buf, bytes, len);
    return 0;
}

void vel_node_print(const struct vel_node *object, struct vel_buf *ret)
{
    if (json_dump_callback(json_of(object), append_json, ret,
                           JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0)
        ret->failed = true;
}

int vel_node_parse(const char *bytes, size_t len, struct vel_node **ret_object,
                   struct vel_err *err)
{
    json_error_t why;
    json_t *json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);

    if (!json)
        return vel_fail(err, VEL_ECORRUPT, "%s", why.text);
    if (!json_is_object(json)) {
        json_decref(json);
        return vel_fail(err, VEL_ECORRUPT, "not an object");
    }
    *ret_object = node_of(json);
    return 0;
}
