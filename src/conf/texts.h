/* SPDX-License-Identifier: BSD-3-Clause */
/* texts - the files of settings that one process has found, as bytes for all others:
 * thousands of ranks never read the same small file. */
#ifndef VEL_CONF_TEXTS_H
#define VEL_CONF_TEXTS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "conf/conf.h"

struct vel_conf_text {
    enum vel_layer layer;
    char *file;
    struct vel_buf bytes;
};

/* A vector of them. */
void vel_conf_texts_init(struct vel_vec *texts);
void vel_conf_texts_fini(struct vel_vec *texts);

/* As one string of bytes, appended to *ret; and back, into an empty vector. */
int vel_conf_texts_encode(const struct vel_vec *texts, struct vel_buf *ret,
                          struct vel_err *err);
int vel_conf_texts_decode(const void *bytes, size_t len, struct vel_vec *texts,
                          struct vel_err *err);

#endif
