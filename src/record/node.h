/* SPDX-License-Identifier: BSD-3-Clause */
/* node - the values inside a record: objects, lists, texts, numbers, booleans.
 *
 * Only the file that maps a record touches its nodes; everybody else sees that file's
 * struct. Setters return 0 or VEL_ENOMEM, so that a mapping is one chain of ||. Getters
 * check type and range, since what is on disk is input, and say which key is wrong.
 */
#ifndef VEL_RECORD_NODE_H
#define VEL_RECORD_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct vel_node;

/* NULL when out of memory. */
struct vel_node *vel_node_object(void);
struct vel_node *vel_node_list(void);
void vel_node_destroy(struct vel_node *node);

/* The node with all that is in it; NULL when out of memory, and for NULL. */
struct vel_node *vel_node_copy(const struct vel_node *node);

int vel_node_set_int(struct vel_node *object, const char *key, int64_t value);
int vel_node_set_bool(struct vel_node *object, const char *key, bool value);

/* Kept to 15 digits when it is printed; VEL_EINVAL when it is not finite. */
int vel_node_set_real(struct vel_node *object, const char *key, double value);

/* `text` is UTF-8; VEL_EINVAL when it is not. */
int vel_node_set_text(struct vel_node *object, const char *key, const char *text);

/* The name of a file, any bytes (doc/format-record.txt, 3). */
int vel_node_set_name(struct vel_node *object, const char *key, const char *name);

/* As hexadecimal digits. */
int vel_node_set_bytes(struct vel_node *object, const char *key, const void *bytes,
                       size_t n);

/* Put a child into an object or at the end of a list, which takes it also when that
 * fails; a NULL child is VEL_ENOMEM, so that creation and adoption are one expression.
 */
int vel_node_adopt(struct vel_node *object, const char *key, struct vel_node *child);
int vel_node_append(struct vel_node *list, struct vel_node *child);
int vel_node_append_int(struct vel_node *list, int64_t value);
int vel_node_append_text(struct vel_node *list, const char *text);
int vel_node_append_name(struct vel_node *list, const char *name);

bool vel_node_has(const struct vel_node *object, const char *key);

/* The value of a key that must be there, else VEL_ECORRUPT. */
int vel_node_get_int(const struct vel_node *object, const char *key, int64_t least,
                     int64_t most, int64_t *ret_value, struct vel_err *err);
int vel_node_get_bool(const struct vel_node *object, const char *key, bool *ret_value,
                      struct vel_err *err);

/* An integer will do, too. */
int vel_node_get_real(const struct vel_node *object, const char *key, double least,
                      double most, double *ret_value, struct vel_err *err);

/* The text belongs to the node. */
int vel_node_get_text(const struct vel_node *object, const char *key,
                      const char **ret_text, struct vel_err *err);

/* A new string that the caller frees. */
int vel_node_get_name(const struct vel_node *object, const char *key, char **ret_name,
                      struct vel_err *err);

/* Exactly `n` of them; some are written also when that fails. */
int vel_node_get_bytes(const struct vel_node *object, const char *key, void *ret,
                       size_t n, struct vel_err *err);

/* The child belongs to the object. */
int vel_node_get_object(const struct vel_node *object, const char *key,
                        const struct vel_node **ret_child, struct vel_err *err);
int vel_node_get_list(const struct vel_node *object, const char *key,
                      const struct vel_node **ret_child, struct vel_err *err);

/* Items of a list; the same checks, and the same ownership. */
size_t vel_node_count(const struct vel_node *list);
int vel_node_object_at(const struct vel_node *list, size_t i,
                       const struct vel_node **ret_child, struct vel_err *err);
int vel_node_int_at(const struct vel_node *list, size_t i, int64_t least, int64_t most,
                    int64_t *ret_value, struct vel_err *err);
int vel_node_text_at(const struct vel_node *list, size_t i, const char **ret_text,
                     struct vel_err *err);
int vel_node_name_at(const struct vel_node *list, size_t i, char **ret_name,
                     struct vel_err *err);

/* Append an object as JSON text on one line, without its newline; what fails is
 * remembered by *ret (vel_buf_status). */
void vel_node_print(const struct vel_node *object, struct vel_buf *ret);

/* The object that these bytes are, which the caller destroys: VEL_ECORRUPT for anything
 * else, and for a key that is there twice. */
int vel_node_parse(const char *bytes, size_t len, struct vel_node **ret_object,
                   struct vel_err *err);

#endif
