/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/pages.h"

/* of x86-64, and of others with small pages of 4 KiB; elsewhere nothing is lost */
enum { HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t len, size_t to)
{
    return (len + to - 1) / to * to;
}

static size_t whole_pages(size_t len)
{
    return round_up(len, (size_t)sysconf(_SC_PAGESIZE));
}

/* A huge page begins at a multiple of its size, and the system places a mapping at any
 * page: so there is more at first, and what lies before and behind goes. */
static void *map_aligned(size_t len)
{
    char *all = mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    size_t before = round_up((uintptr_t)all, HUGE_PAGE) - (uintptr_t)all;
    char *pages = all + before;
    if (before > 0)
        munmap(all, before);
    munmap(pages + len, HUGE_PAGE - before);
    /* advice: where it is refused, small pages do as well */
    madvise(pages, len, MADV_HUGEPAGE);
    return pages;
}

void *vel_pages_alloc(size_t len)
{
    if (len > SIZE_MAX / 2)
        return NULL;
    len = whole_pages(len);
    if (len >= HUGE_PAGE)
        return map_aligned(len);
    void *pages =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void *vel_pages_map(int fd, size_t len)
{
    void *pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

void vel_pages_free(void *pages, size_t len)
{
    int saved = errno;

    if (pages)
        munmap(pages, whole_pages(len));
    errno = saved;
}
