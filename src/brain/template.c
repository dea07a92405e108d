/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "brain/template.h"

#define DIGITS "0123456789"
#define NUMBER "{n}"

enum {
    DIGITS_MOST = 18, /* that fit a number: what is longer is nobody's rank */
    NOTES_MOST = 2048 /* bytes */
};

/* Digits that say what kind of file it is count nothing. */
static bool is_kind(const char *name, const char *end)
{
    static const char *const kinds[] = {".h5", ".hdf5", ".he5", ".nc4", ".cdf5"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t len = strlen(kinds[i]);

        if ((size_t)(end - name) >= len && strncasecmp(end - len, kinds[i], len) == 0)
            return true;
    }
    return false;
}

int vel_template_split(const char *name, struct vel_buf *ret_template,
                       struct vel_buf *ret_numbers)
{
    const char *begin = name;
    int n = 0;

    while (*name) {
        size_t rest = strcspn(name, DIGITS), len = strspn(name + rest, DIGITS);

        vel_buf_append(ret_template, name, rest);
        name += rest;
        if (len == 0)
            break;
        if (is_kind(begin, name + len)) {
            vel_buf_append(ret_template, name, len);
            name += len;
            continue;
        }
        vel_buf_puts(ret_template, NUMBER);
        if (n > 0)
            vel_buf_putc(ret_numbers, ' ');
        vel_buf_append(ret_numbers, name, len);
        name += len;
        n++;
    }
    return n <= VEL_TEMPLATE_NUMBERS ? n : 0;
}

void vel_template_apply(const char *template, const char *numbers, int place,
                        struct vel_buf *ret_template, struct vel_buf *ret_step)
{
    const char *at;

    for (int i = 1; (at = strstr(template, NUMBER)); i++) {
        size_t len = strspn(numbers, DIGITS);

        vel_buf_append(ret_template, template, (size_t)(at - template));
        vel_buf_puts(ret_template, i == place ? "{rank}" : "{step}");
        template = at + strlen(NUMBER);
        if (i != place) {
            if (ret_step->len > 0)
                vel_buf_putc(ret_step, '.');
            vel_buf_append(ret_step, numbers, len);
        }
        numbers += len + (numbers[len] == ' ');
    }
    vel_buf_puts(ret_template, template);
}

void vel_guess_see(struct vel_guess *guess, int64_t rank, const char *numbers)
{
    bool is_first = guess->n == 0;
    int n = 0;

    for (size_t len; n < VEL_TEMPLATE_NUMBERS && (len = strspn(numbers, DIGITS)) > 0;
         n++) {
        int64_t above =
            len <= DIGITS_MOST ? strtoll(numbers, NULL, 10) - rank : INT64_MAX;

        if (is_first)
            guess->above[n] = above;
        else if (above != guess->above[n])
            guess->is_out[n] = true;
        if (len > DIGITS_MOST)
            guess->is_out[n] = true;
        numbers += len + (numbers[len] == ' ');
    }
    if (is_first) {
        guess->n = n;
        guess->rank = rank;
    }
    guess->has_two = guess->has_two || rank != guess->rank;
}

int vel_guess_place(const struct vel_guess *guess)
{
    int place = 0;

    for (int i = 0; guess->has_two && i < guess->n; i++) {
        if (guess->is_out[i])
            continue;
        if (place > 0)
            return 0;
        place = i + 1;
    }
    return place;
}

/* --- files that were made while nobody knew --- */

void vel_guess_fini(struct vel_guess *guess)
{
    vel_buf_fini(&guess->notes);
}

/* "12 0003#1": numbers, and how often. The oldest go. */
void vel_guess_note(struct vel_guess *guess, const char *numbers, int64_t count)
{
    struct vel_buf *notes = &guess->notes;

    vel_buf_printf(notes, "%s#%" PRId64 "\n", numbers, count);
    while (notes->len > NOTES_MOST) {
        size_t first = strcspn(notes->data, "\n") + 1;

        memmove(notes->data, notes->data + first, notes->len - first + 1);
        notes->len -= first;
    }
}

/* The line of a step. */
static void print_step(struct vel_buf *ret, const char *step, int64_t count)
{
    vel_buf_printf(ret, "%s#%" PRId64 "\n", step, count);
}

void vel_guess_steps(const struct vel_guess *guess, const char *template, int place,
                     struct vel_buf *ret)
{
    const char *note = vel_buf_text(&guess->notes);

    for (size_t len; (len = strcspn(note, "\n")) > 0; note += len + 1) {
        size_t digits = strcspn(note, "#");
        int64_t count = strtoll(note + digits + 1, NULL, 10);
        struct vel_buf ignored, step, numbers;

        vel_buf_init(&ignored);
        vel_buf_init(&step);
        vel_buf_init(&numbers);
        vel_buf_append(&numbers, note, digits);
        vel_template_apply(template, vel_buf_text(&numbers), place, &ignored, &step);
        if (ret->len + step.len + DIGITS_MOST + 3 <= VEL_GUESS_STEPS &&
            !vel_guess_has_step(vel_buf_text(ret), vel_buf_text(&step), count))
            print_step(ret, vel_buf_text(&step), count);
        vel_buf_fini(&numbers);
        vel_buf_fini(&step);
        vel_buf_fini(&ignored);
    }
}

bool vel_guess_has_step(const char *steps, const char *step, int64_t count)
{
    struct vel_buf line;
    bool has = false;

    vel_buf_init(&line);
    print_step(&line, step, count);
    for (const char *at = steps; !has && *at; at += strcspn(at, "\n") + 1)
        has = strncmp(at, vel_buf_text(&line), line.len) == 0;
    vel_buf_fini(&line);
    return has;
}
