/* SPDX-License-Identifier: BSD-3-Clause */
/* lines - the lines with keys of their own (CKPT, STORE, DATASET, GROUPS, ...) as text,
 * in the form in which a file has them: what one process was told, told to another. */
#ifndef VEL_CONF_LINES_H
#define VEL_CONF_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"

/* Append one line, without its end, with the keys that were given on it. */
void vel_conf_line_text(const struct vel_line *line, struct vel_buf *text);

/* Append the lines, with the keys that were given on them; what was left open stays
 * open. */
void vel_conf_lines_text(const struct vel_conf *conf, struct vel_buf *text);

/* Take over lines and finish the settings (vel_conf_finish()). `from` is told where
 * they come from in sentences. */
int vel_conf_lines_take(struct vel_conf *conf, const char *from, const char *text,
                        struct vel_err *err);

#endif
