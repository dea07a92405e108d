/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/runs.h"

static int64_t at(const struct vel_vec *numbers, size_t i)
{
    return *(int64_t *)vel_vec_at(numbers, i);
}

/* How many from i on go up by `step` each. */
static size_t run_at(const struct vel_vec *numbers, size_t i, int64_t step)
{
    size_t n = 1;

    while (i + n < numbers->n && at(numbers, i + n) - step == at(numbers, i + n - 1))
        n++;
    return n;
}

void vel_runs_put(const struct vel_vec *numbers, struct vel_buf *ret)
{
    for (size_t i = 0; i < numbers->n;) {
        size_t same = run_at(numbers, i, 0), up = run_at(numbers, i, 1);

        vel_buf_printf(ret, "%s%" PRId64, i > 0 ? " " : "", at(numbers, i));
        if (same > 1)
            vel_buf_printf(ret, "*%zu", same);
        else if (up > 1)
            vel_buf_printf(ret, "..%" PRId64, at(numbers, i + up - 1));
        i += same > 1 ? same : up;
    }
    vel_buf_puts(ret, "");
}

/* Digits, and no zero in front of others. */
static bool get_number(const char **text, int64_t *ret)
{
    const char *c = *text;
    int64_t n = 0;

    if (*c < '0' || *c > '9' || (*c == '0' && c[1] >= '0' && c[1] <= '9'))
        return false;
    for (; *c >= '0' && *c <= '9'; c++) {
        if (n > (INT64_MAX - (*c - '0')) / 10)
            return false;
        n = n * 10 + (*c - '0');
    }
    *text = c;
    *ret = n;
    return true;
}

struct run {
    int64_t first, step;
    int64_t n;
};

static bool get_run(const char **text, struct run *ret)
{
    int64_t last;

    *ret = (struct run){.n = 1};
    if (!get_number(text, &ret->first))
        return false;
    if (**text == '*') {
        (*text)++;
        return get_number(text, &ret->n) && ret->n > 1 && ret->n <= VEL_RUNS_MOST;
    }
    if (strncmp(*text, "..", 2) != 0)
        return true;
    *text += 2;
    if (!get_number(text, &last) || last <= ret->first ||
        last - ret->first >= VEL_RUNS_MOST)
        return false;
    ret->step = 1;
    ret->n = last - ret->first + 1;
    return true;
}

/* What would have been written as one is not two. */
static bool goes_on(const struct run *run, const struct run *before)
{
    int64_t last = before->first + before->step * (before->n - 1);

    return (before->step == 0 && run->first == last) ||
           ((before->step == 1 || before->n == 1) && run->first - 1 == last);
}

static int add(const struct run *run, size_t count, int64_t least, int64_t most,
               struct vel_vec *ret, struct vel_err *err)
{
    int64_t last = run->first + run->step * (run->n - 1);

    if (run->first < least || last > most || (uint64_t)run->n > count - ret->n)
        return vel_fail(err, VEL_ECORRUPT,
                        "%" PRId64 " numbers from %" PRId64 " on are too many, or not "
                        "from %" PRId64 " to %" PRId64,
                        run->n, run->first, least, most);
    for (int64_t i = 0; i < run->n; i++) {
        int64_t number = run->first + run->step * i;

        if (!vel_vec_push(ret, &number))
            return vel_out_of_memory(err, "numbers");
    }
    return 0;
}

int vel_runs_parse(const char *text, size_t count, int64_t least, int64_t most,
                   struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec numbers;
    struct run run, before = {0};
    int rc = 0;

    if (count > VEL_RUNS_MOST)
        count = VEL_RUNS_MOST;
    vel_vec_init(&numbers, sizeof(int64_t));
    for (bool is_first = true; rc == 0 && *text; is_first = false) {
        const char *begin = text;

        if ((!is_first && *text++ != ' ') || !get_run(&text, &run) ||
            (!is_first && goes_on(&run, &before)))
            rc = vel_fail(err, VEL_ECORRUPT, "'%.20s' is no list of numbers", begin);
        else
            rc = add(&run, count, least, most, &numbers, err);
        before = run;
    }
    if (rc < 0)
        vel_vec_fini(&numbers);
    else
        *ret = numbers;
    return rc;
}

bool vel_runs_rise(const struct vel_vec *numbers)
{
    for (size_t i = 1; i < numbers->n; i++)
        if (at(numbers, i) <= at(numbers, i - 1))
            return false;
    return true;
}
