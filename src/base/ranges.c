/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>

#include "base/ranges.h"

void vel_ranges_init(struct vel_ranges *ranges)
{
    vel_vec_init(&ranges->of, sizeof(struct vel_range));
}

void vel_ranges_fini(struct vel_ranges *ranges)
{
    vel_vec_fini(&ranges->of);
}

static struct vel_range *range_at(const struct vel_ranges *ranges, size_t i)
{
    return vel_vec_at(&ranges->of, i);
}

static int compare_last(const void *key, const void *item)
{
    int64_t number = *(const int64_t *)key;
    const struct vel_range *range = item;

    return (number > range->last) - (number < range->last);
}

/* The first range that does not end below the number. */
static size_t place_of(const struct vel_ranges *ranges, int64_t number)
{
    bool is_there;

    return vel_vec_place(&ranges->of, &number, compare_last, &is_there);
}

static bool is_in(const struct vel_ranges *ranges, size_t i, int64_t number)
{
    return i < ranges->of.n && range_at(ranges, i)->first <= number;
}

bool vel_ranges_has(const struct vel_ranges *ranges, int64_t number)
{
    return is_in(ranges, place_of(ranges, number), number);
}

static int insert(struct vel_ranges *ranges, size_t i, int64_t first, int64_t last,
                  struct vel_err *err)
{
    const struct vel_range range = {first, last};

    return vel_vec_insert(&ranges->of, i, &range) ? 0 : vel_out_of_memory(err, "ranks");
}

int vel_ranges_add_range(struct vel_ranges *ranges, const struct vel_range *range,
                         struct vel_err *err)
{
    struct vel_range all = *range;
    size_t i = place_of(ranges, range->first);

    if (i > 0 && range_at(ranges, i - 1)->last == range->first - 1)
        i--;
    while (i < ranges->of.n && range_at(ranges, i)->first - 1 <= all.last) {
        const struct vel_range *one = range_at(ranges, i);

        all.first = one->first < all.first ? one->first : all.first;
        all.last = one->last > all.last ? one->last : all.last;
        vel_vec_remove(&ranges->of, i);
    }
    return insert(ranges, i, all.first, all.last, err);
}

int vel_ranges_add(struct vel_ranges *ranges, int64_t number, struct vel_err *err)
{
    const struct vel_range one = {number, number};

    return vel_ranges_has(ranges, number) ? 0 : vel_ranges_add_range(ranges, &one, err);
}

int vel_ranges_remove(struct vel_ranges *ranges, int64_t number, struct vel_err *err)
{
    size_t i = place_of(ranges, number);
    struct vel_range *range;

    if (!is_in(ranges, i, number))
        return 0;
    range = range_at(ranges, i);
    if (range->first == range->last) {
        vel_vec_remove(&ranges->of, i);
    } else if (range->first == number) {
        range->first++;
    } else if (range->last == number) {
        range->last--;
    } else {
        int rc = insert(ranges, i, range->first, number - 1, err);

        if (rc < 0)
            return rc;
        range_at(ranges, i + 1)->first = number + 1;
    }
    return 0;
}

void vel_ranges_put(const struct vel_ranges *ranges, struct vel_buf *ret)
{
    for (size_t i = 0; i < ranges->of.n; i++) {
        const struct vel_range *range = range_at(ranges, i);

        vel_buf_printf(ret, "%s%" PRId64, i > 0 ? " " : "", range->first);
        if (range->last > range->first)
            vel_buf_printf(ret, "-%" PRId64, range->last);
    }
}

/* -1: there is none, or it is above `most`. */
static int64_t number_at(const char **at, int64_t most)
{
    const char *begin = *at;
    int64_t number = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (number > (most - (**at - '0')) / 10)
            return -1;
        number = number * 10 + (**at - '0');
    }
    return *at == begin || (*begin == '0' && *at - begin > 1) ? -1 : number;
}

static bool next_range(const char **at, int64_t most, struct vel_range *ret)
{
    ret->first = ret->last = number_at(at, most);
    if (ret->first >= 0 && **at == '-') {
        *at += 1;
        ret->last = number_at(at, most);
        if (ret->last <= ret->first)
            return false;
    }
    return ret->first >= 0;
}

int vel_ranges_parse(const char *text, int64_t most, struct vel_ranges *ret,
                     struct vel_err *err)
{
    const char *at = text;
    struct vel_range range = {0};
    bool is_first = true, is_good = true;
    int64_t last = -1;

    vel_ranges_init(ret);
    while (is_good && *at) {
        is_good = (is_first || *at++ == ' ') && next_range(&at, most, &range) &&
                  (is_first || range.first > last + 1);
        if (is_good && !vel_vec_push(&ret->of, &range)) {
            vel_ranges_fini(ret);
            return vel_out_of_memory(err, "ranks");
        }
        last = range.last;
        is_first = false;
    }
    if (is_good)
        return 0;
    vel_ranges_fini(ret);
    return vel_fail(err, VEL_ECORRUPT, "'%.60s' are no ranges of numbers", text);
}
