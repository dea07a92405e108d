/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "red/layout.h"

static int check_numbers(enum vel_scheme scheme, size_t n, size_t m,
                         struct vel_err *err)
{
    size_t least = scheme == VEL_SINGLE ? 1 : 2;

    if (scheme < VEL_SINGLE || scheme > VEL_RS)
        return vel_fail(err, VEL_EINVAL, "scheme %d is unknown", (int)scheme);
    if (n < least || n > VEL_SET_MAX)
        return vel_fail(err, VEL_EINVAL, "a %s set has %zu to %d members, not %zu",
                        vel_scheme_name(scheme), least, VEL_SET_MAX, n);
    if (scheme == VEL_SINGLE ? m != 0 : scheme == VEL_XOR ? m != 1 : m < 1 || m >= n)
        return vel_fail(err, VEL_EINVAL, "a %s set of %zu members cannot have %zu %s",
                        vel_scheme_name(scheme), n, m,
                        scheme == VEL_PARTNER ? "replicas" : "parity blocks");
    return 0;
}

int vel_layout_init(struct vel_layout *layout, enum vel_scheme scheme, size_t n,
                    size_t m, const uint64_t *lofi_size, struct vel_err *err)
{
    uint64_t longest = 0, total = 0;
    int rc = check_numbers(scheme, n, m, err);

    if (rc < 0)
        return rc;
    for (size_t r = 0; r < n; r++) {
        /* so that no later sum or product of offsets can pass what off_t holds */
        if (lofi_size[r] > INT64_MAX / (4 * VEL_SET_MAX))
            return vel_fail(err, VEL_EINVAL, "member %zu: %llu bytes are too many", r,
                            (unsigned long long)lofi_size[r]);
        if (lofi_size[r] > longest)
            longest = lofi_size[r];
        total += lofi_size[r];
    }
    assert(total <= INT64_MAX);
    uint64_t *sizes = malloc(n * sizeof *sizes);
    if (!sizes)
        return vel_out_of_memory(err, "laying out a redundancy set");
    memcpy(sizes, lofi_size, n * sizeof *sizes);
    *layout = (struct vel_layout){.scheme = scheme, .n = n, .m = m, .lofi_size = sizes};
    if (scheme == VEL_XOR || scheme == VEL_RS)
        layout->block = longest / (n - m) + (longest % (n - m) != 0);
    return 0;
}

void vel_layout_fini(struct vel_layout *layout)
{
    free(layout->lofi_size);
    *layout = (struct vel_layout){.scheme = layout->scheme};
}

uint64_t vel_layout_replica(const struct vel_layout *layout, size_t member, size_t back)
{
    uint64_t at = 0;

    for (size_t i = 1; i < back; i++)
        at += layout->lofi_size[(member + layout->n - i) % layout->n];
    return at;
}

uint64_t vel_layout_payload(const struct vel_layout *layout, size_t member)
{
    if (layout->scheme == VEL_PARTNER)
        return vel_layout_replica(layout, member, layout->m + 1);
    return layout->m * layout->block;
}
