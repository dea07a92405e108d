/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* mincore */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/pages.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { HUGE_PAGE = 2 << 20 };

/* What the system says about the mapping that holds `at`: its lines in smaps, to be
 * freed; NULL when it is mapped nowhere. */
static char *mapping_of(const void *at)
{
    char *all = tap_get_file("/proc/self/smaps", NULL), *found = NULL;
    uintptr_t begin, end;

    for (char *line = all; line && *line; line = strchr(line, '\n') + 1) {
        bool is_head = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2;

        if (is_head && found) {
            *line = '\0';
            break;
        }
        if (is_head && (uintptr_t)at >= begin && (uintptr_t)at < end)
            found = line;
    }
    found = found ? strdup(found) : NULL;
    free(all);
    return found;
}

/* Asked of the system without memory of its own, which could come to lie there. */
static bool is_mapped(const char *at, size_t page)
{
    unsigned char is_in_memory;
    uintptr_t begin = (uintptr_t)at / page * page;

    return mincore((void *)begin, page, &is_in_memory) == 0;
}

static bool is_zeros(const char *bytes, size_t len)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static void of_length(size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = vel_pages_alloc(len);

    if (!ok(pages != NULL, "%zu bytes", len))
        return;
    ok(is_zeros(pages, len), "%zu bytes are zeros", len);
    ok((uintptr_t)pages % (len < HUGE_PAGE ? page : HUGE_PAGE) == 0,
       "%zu bytes begin with a page%s", len, len < HUGE_PAGE ? "" : ", a huge one");
    memset(pages, 1, len);
    ok(is_mapped(pages + len - 1, page), "%zu bytes can be written", len);
    vel_pages_free(pages, len);
    ok(!is_mapped(pages, page) && !is_mapped(pages + len - 1, page),
       "%zu bytes go back to the system", len);
}

static void on_huge_pages(void)
{
    char *pages = vel_pages_alloc(2 * HUGE_PAGE), *mapping = mapping_of(pages);
    const char *flags = mapping ? strstr(mapping, "VmFlags:") : NULL;

    if (!flags || access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0)
        skip(1, "this system does not tell of huge pages");
    else
        ok(strstr(flags, " hg") != NULL, "a large buffer may lie on huge pages");
    free(mapping);
    vel_pages_free(pages, 2 * HUGE_PAGE);
}

static void too_much(void)
{
    ok(!vel_pages_alloc(SIZE_MAX), "more than there are addresses is not there");
    ok(!vel_pages_alloc(SIZE_MAX - HUGE_PAGE / 2), "nor is nearly as much");
    errno = E2BIG;
    vel_pages_free(NULL, 0);
    is_int(errno, E2BIG, "freeing nothing keeps errno");
}

int main(void)
{
    of_length(1);
    of_length(1 << 20);
    of_length(HUGE_PAGE);
    of_length(3 * HUGE_PAGE + 1);
    on_huge_pages();
    too_much();
    return done_testing();
}
