/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bench/bench.h"

enum { PAIRS_LEAST = 7, PAIRS_MOST = 99 };

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

bool bench_is_wanted(const char *part)
{
    const char *only = getenv("BENCH_PART");

    return !only || strcmp(only, part) == 0;
}

const char *bench_ram_dir(void)
{
    const char *given = getenv("BENCH_DIR");
    struct stat st;

    if (given)
        return given;
    if (stat("/dev/shm", &st) == 0 && S_ISDIR(st.st_mode))
        return "/dev/shm";
    return getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
}

static double timed(const struct bench_side *side, double (*seconds)(void *arg),
                    void *arg)
{
    if (side->prepare && side->prepare(arg) != 0)
        bench_die("preparing %s failed", side->name);
    double begin = bench_now();
    if (side->work(arg) != 0)
        bench_die("%s failed", side->name);
    return seconds ? seconds(arg) : bench_now() - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int pairs_wanted(void)
{
    const char *text = getenv("BENCH_PAIRS");
    long n = text ? strtol(text, NULL, 10) : PAIRS_LEAST;

    return n < PAIRS_LEAST ? PAIRS_LEAST : n > PAIRS_MOST ? PAIRS_MOST : (int)n;
}

/* So many of n sorted pairs at either end are left out of the spread: the median of
 * pairs without end lies between the others in 95 of 100 cases. */
static int outliers(int n)
{
    double likely = 1, below = 0; /* that k of n pairs are below that median */
    int k = 0;

    for (int i = 0; i < n; i++)
        likely /= 2;
    for (; below + likely <= 0.025; k++) {
        below += likely;
        likely = likely * (n - k) / (k + 1);
    }
    return k > 0 ? k - 1 : 0;
}

static int run(const struct bench *bench, double (*seconds)(void *arg), double more,
               void *arg)
{
    double a[PAIRS_MOST], b[PAIRS_MOST], ratio[PAIRS_MOST];
    int n = pairs_wanted();

    timed(&bench->a, seconds, arg);
    timed(&bench->b, seconds, arg);
    for (int i = 0; i < n; i++) {
        /* alternate, so that a drift of the machine favours nobody */
        if (i % 2 == 0) {
            a[i] = timed(&bench->a, seconds, arg);
            b[i] = timed(&bench->b, seconds, arg);
        } else {
            b[i] = timed(&bench->b, seconds, arg);
            a[i] = timed(&bench->a, seconds, arg);
        }
        ratio[i] = a[i] / b[i];
    }
    double gb = (double)bench->bytes * 1e-9;
    double mid = median(ratio, n);
    double low = ratio[outliers(n)], high = ratio[n - 1 - outliers(n)];
    double yardstick = median(a, n);
    double target = more > 0 ? yardstick / (yardstick + more) : bench->target;
    const char *verdict = target <= 0      ? "-"
                          : low >= target  ? "met"
                          : high >= target ? "not measured"
                                           : "missed";
    printf("%s\t%s\t%llu\t%s\t%.2f\t%s\t%.2f\t%.3f\t%.3f\t%.3f\t%d\t", bench->name,
           bench->params, (unsigned long long)bench->bytes, bench->a.name,
           gb / yardstick, bench->b.name, gb / median(b, n), mid, low, high, n);
    if (target > 0)
        printf("%.2f\t%s\n", target, verdict);
    else
        printf("-\t-\n");
    fflush(stdout);
    return strcmp(verdict, "missed") == 0;
}

int bench_run_part(const struct bench *bench, double (*seconds)(void *arg), void *arg)
{
    return run(bench, seconds, 0, arg);
}

int bench_run_more(const struct bench *bench, double more, void *arg)
{
    return run(bench, NULL, more, arg);
}

int bench_run(const struct bench *bench, void *arg)
{
    return run(bench, NULL, 0, arg);
}
