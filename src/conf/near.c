/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf/near.h"

enum { WORD_MOST = 48 };

/* Letters to insert, delete, replace or swap with their neighbour; '_' is free to
 * forget, since that is what people forget. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][WORD_MOST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= m; j++)
        above[j] = 2 * j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = 2 * i;
        for (size_t j = 1; j <= m; j++) {
            size_t drop = a[i - 1] == '_' ? 1 : 2, add = b[j - 1] == '_' ? 1 : 2;
            bool same =
                toupper((unsigned char)a[i - 1]) == toupper((unsigned char)b[j - 1]);
            size_t best = above[j - 1] + (same ? 0 : 2);

            if (above[j] + drop < best)
                best = above[j] + drop;
            if (row[j - 1] + add < best)
                best = row[j - 1] + add;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 2 < best)
                best = before[j - 2] + 2;
            row[j] = best;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[m];
}

void vel_near_init(struct vel_near *near, const char *word)
{
    *near = (struct vel_near){.word = word};
}

void vel_near_try(struct vel_near *near, const char *candidate)
{
    size_t n = strlen(near->word), m = strlen(candidate);

    if (n == 0 || n > WORD_MOST || m > WORD_MOST)
        return;
    size_t d = distance(near->word, candidate);
    /* a third of the word may be wrong, two letters of a short one */
    size_t bound = n / 3 < 2 ? 4 : n / 3 * 2;
    if (d <= bound && d < 2 * m && (!near->best || d < near->distance)) {
        near->best = candidate;
        near->distance = d;
    }
}

const char *vel_near_hint(const char *best, char text[VEL_NEAR_HINT])
{
    text[0] = '\0';
    if (best)
        snprintf(text, VEL_NEAR_HINT, ": did you mean %.60s?", best);
    return text;
}
