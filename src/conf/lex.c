/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "conf/lex.h"
#include "conf/schema.h"

struct lexer {
    const char *file;
    const char *at;
    const char *end;
    int line;
    vel_variable_f *variable;
    void *arg;
    struct vel_err *err;
};

void vel_lexed_fini(struct vel_lexed *lexed)
{
    for (size_t i = 0; i < lexed->pairs.n; i++) {
        struct vel_pair *pair = vel_vec_at(&lexed->pairs, i);

        free(pair->key);
        free(pair->value);
    }
    vel_vec_fini(&lexed->pairs);
}

int vel_lexed_add(struct vel_lexed *lexed, const char *key, size_t key_len,
                  const char *value, size_t value_len, int line, bool is_first,
                  struct vel_err *err)
{
    struct vel_pair pair = {.key = strndup(key, key_len),
                            .value = strndup(value, value_len),
                            .line = line,
                            .is_first = is_first};

    if (pair.key && pair.value && lexed->pairs.n < VEL_CONF_PAIRS_MAX &&
        vel_vec_push(&lexed->pairs, &pair))
        return 0;
    free(pair.key);
    free(pair.value);
    return vel_out_of_memory(err, "reading settings");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct lexer *lex)
{
    while (lex->at < lex->end && is_blank(*lex->at))
        lex->at++;
}

static void skip_line(struct lexer *lex)
{
    while (lex->at < lex->end && *lex->at != '\n')
        lex->at++;
}

static bool ends_token(const struct lexer *lex)
{
    return lex->at == lex->end || is_blank(*lex->at) || *lex->at == '\n' ||
           *lex->at == '=';
}

static int expand(struct lexer *lex, struct vel_buf *token)
{
    char name[128];
    size_t n = 0;

    lex->at++;
    while (lex->at < lex->end && n < sizeof name - 1 &&
           (isalpha((unsigned char)*lex->at) || *lex->at == '_'))
        name[n++] = *lex->at++;
    name[n] = '\0';
    if (n == 0)
        return vel_fail(
            lex->err, VEL_ECONFIG,
            "%s:%d: no name follows '$': write \\$ for the character itself", lex->file,
            lex->line);
    const char *value = lex->variable ? lex->variable(lex->arg, name) : NULL;
    if (!value)
        return vel_fail(lex->err, VEL_ECONFIG,
                        "%s:%d: $%s is not set in the environment", lex->file,
                        lex->line, name);
    vel_buf_puts(token, value);
    return 0;
}

static int escape(struct lexer *lex, struct vel_buf *token)
{
    lex->at++;
    if (lex->at == lex->end || *lex->at == '\n' || *lex->at == '\r')
        return vel_fail(lex->err, VEL_ECONFIG,
                        "%s:%d: a line cannot be continued with '\\'", lex->file,
                        lex->line);
    char c = *lex->at++;
    vel_buf_putc(token, (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c));
    return 0;
}

static int read_token(struct lexer *lex, struct vel_buf *token)
{
    int rc = 0;

    vel_buf_clear(token);
    while (rc == 0 && !ends_token(lex)) {
        char c = *lex->at;

        if (c == '$') {
            rc = expand(lex, token);
        } else if (c == '\\') {
            rc = escape(lex, token);
        } else if ((unsigned char)c < 0x20 || c == 0x7f) {
            rc = vel_fail(lex->err, VEL_ECONFIG,
                          "%s:%d: a byte (0x%02x) that is no text", lex->file,
                          lex->line, (unsigned char)c);
        } else {
            vel_buf_putc(token, c);
            lex->at++;
        }
        if (rc == 0 && token->len > VEL_CONF_TOKEN_MAX)
            rc = vel_fail(lex->err, VEL_ECONFIG, "%s:%d: a word of more than %d bytes",
                          lex->file, lex->line, VEL_CONF_TOKEN_MAX);
    }
    return rc < 0 ? rc : vel_buf_status(token, lex->err);
}

static int read_pair(struct lexer *lex, struct vel_buf *key, struct vel_buf *value)
{
    int rc;

    if (*lex->at == '=')
        return vel_fail(
            lex->err, VEL_ECONFIG,
            "%s:%d: '=' without a key before it (a value has no blank and no '=')",
            lex->file, lex->line);
    rc = read_token(lex, key);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < key->len; i++)
        key->data[i] = (char)toupper((unsigned char)key->data[i]);
    skip_blanks(lex);
    if (lex->at == lex->end || *lex->at != '=')
        return vel_fail(lex->err, VEL_ECONFIG,
                        "%s:%d: expected KEY=VALUE, found '%.80s'", lex->file,
                        lex->line, vel_buf_text(key));
    lex->at++;
    skip_blanks(lex);
    if (ends_token(lex))
        return vel_fail(lex->err, VEL_ECONFIG, "%s:%d: %.80s has no value", lex->file,
                        lex->line, vel_buf_text(key));
    return read_token(lex, value);
}

static int lex_pairs(struct lexer *lex, struct vel_lexed *ret)
{
    struct vel_buf key, value;
    bool is_first = true;
    int rc = 0;

    vel_buf_init(&key);
    vel_buf_init(&value);
    while (rc == 0) {
        skip_blanks(lex);
        if (lex->at == lex->end)
            break;
        if (*lex->at == '#') {
            skip_line(lex);
        } else if (*lex->at == '\n') {
            lex->at++;
            lex->line++;
            is_first = true;
        } else {
            rc = read_pair(lex, &key, &value);
            if (rc == 0)
                rc = vel_lexed_add(ret, vel_buf_text(&key), key.len,
                                   vel_buf_text(&value), value.len, lex->line, is_first,
                                   lex->err);
            is_first = false;
        }
    }
    vel_buf_fini(&key);
    vel_buf_fini(&value);
    return rc;
}

/* Does the first key belong to VELOC's INI form? Comments of either form may stand
 * before it. */
static bool looks_like_ini(const char *at, const char *end)
{
    char key[64];
    size_t n = 0;

    while (at < end) {
        while (at < end && (is_blank(*at) || *at == '\n'))
            at++;
        if (at == end || (*at != '#' && *at != ';'))
            break;
        while (at < end && *at != '\n')
            at++;
    }
    while (at < end && n < sizeof key - 1 &&
           (isalnum((unsigned char)*at) || *at == '_'))
        key[n++] = *at++;
    key[n] = '\0';
    return vel_schema_is_ini(key);
}

static int refuse_zero(const char *file, const char *bytes, size_t len,
                       struct vel_err *err)
{
    const char *zero = memchr(bytes, '\0', len);
    int line = 1;

    for (const char *at = bytes; at < zero; at++)
        line += *at == '\n';
    return vel_fail(err, VEL_ECONFIG, "%s:%d: a zero byte: this is no text", file,
                    line);
}

int vel_lex(const char *file, const char *bytes, size_t len, vel_variable_f *variable,
            void *arg, struct vel_lexed *ret, struct vel_err *err)
{
    struct lexer lex = {.file = file,
                        .at = bytes,
                        .end = bytes + len,
                        .line = 1,
                        .variable = variable,
                        .arg = arg,
                        .err = err};
    struct vel_lexed lexed = {.is_ini = len > 0 && looks_like_ini(bytes, bytes + len)};
    int rc;

    vel_vec_init(&lexed.pairs, sizeof(struct vel_pair));
    if (len > VEL_CONF_FILE_MAX)
        rc = vel_fail(err, VEL_ECONFIG, "%s: more than %d bytes are no settings", file,
                      VEL_CONF_FILE_MAX);
    else if (len > 0 && memchr(bytes, '\0', len))
        rc = refuse_zero(file, bytes, len, err);
    else
        rc = lexed.is_ini ? vel_lex_ini(file, bytes, len, &lexed, err)
                          : lex_pairs(&lex, &lexed);
    if (rc < 0)
        vel_lexed_fini(&lexed);
    else
        *ret = lexed;
    return rc;
}
