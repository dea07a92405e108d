/* SPDX-License-Identifier: BSD-3-Clause */
/* lex - the pairs in a file of settings, in either of two forms.
 *
 * SCR's form: KEY=VALUE KEY=VALUE on a line, the first pair the parent of the others;
 * '#' begins a comment where a token begins; blanks may surround '='; keys become upper
 * case; '\' takes the next character as it is (\n and \t a newline and a tab); $NAME is
 * the value of a variable of the environment, NAME being letters and '_'.
 *
 * VELOC's INI form: one `key = value` or `key: value` on a line; ';' or '#' begins a
 * comment at the beginning of a line, ' ;' behind a value. A file whose first key is
 * one of VELOC's has it.
 */
#ifndef VEL_CONF_LEX_H
#define VEL_CONF_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

enum {
    VEL_CONF_FILE_MAX = 1 << 24,
    VEL_CONF_TOKEN_MAX = 4096,
    VEL_CONF_PAIRS_MAX = 1 << 20,
};

struct vel_pair {
    char *key;
    char *value;
    int line;
    bool is_first; /* of its line */
};

/* The value of a variable of the environment, or NULL. */
typedef const char *vel_variable_f(void *arg, const char *name);

struct vel_lexed {
    struct vel_vec pairs; /* of struct vel_pair */
    bool is_ini;
};

/* VEL_ECONFIG: the sentence begins with "FILE:LINE: ". */
int vel_lex(const char *file, const char *bytes, size_t len, vel_variable_f *variable,
            void *arg, struct vel_lexed *ret, struct vel_err *err);
void vel_lexed_fini(struct vel_lexed *lexed);

/* For lex_ini.c: keep a pair; the texts are copied. */
int vel_lexed_add(struct vel_lexed *lexed, const char *key, size_t key_len,
                  const char *value, size_t value_len, int line, bool is_first,
                  struct vel_err *err);
int vel_lex_ini(const char *file, const char *bytes, size_t len, struct vel_lexed *ret,
                struct vel_err *err);

#endif
