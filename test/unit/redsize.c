/* SPDX-License-Identifier: BSD-3-Clause */
/* What protection costs: bytes on disk, to the byte, and memory, which does not grow
 * with the files. And the other end: files and members without any bytes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "red/redfile.h"
#include "red/set.h"
#include "tap/files.h"
#include "tap/redlab.h"
#include "tap/sockjob.h"
#include "tap/sparse.h"
#include "tap/tap.h"

enum { FIXED_MOST = 64 << 10, PER_FILE = 256 };

/* --- bytes on disk
 * ---------------------------------------------------------------------- */

static uint64_t names_of(const struct vel_red_header *h, size_t *ret_files)
{
    uint64_t bytes = 0;

    *ret_files = 0;
    for (size_t i = 0; i < h->lists; i++)
        for (size_t f = 0; f < h->list[i].files.n; f++, (*ret_files)++)
            bytes += strlen(vel_manifest_file(&h->list[i], f)->name);
    return bytes;
}

/* Is a member's redundancy file as large as it must be, and its header no larger? */
static bool is_right_size(const char *root, size_t member, uint64_t payload)
{
    struct vel_vec found;
    struct stat st;
    size_t files = 0;

    if (vel_redfile_scan_all(redlab_fs(), redlab_dir(root, member), &found, NULL) < 0)
        return false;
    bool is_right = found.n == 1 && stat(vel_redfile_at(&found, 0)->path, &st) == 0;
    if (is_right) {
        uint64_t names = names_of(&vel_redfile_at(&found, 0)->header, &files);
        uint64_t header = (uint64_t)st.st_size - payload;

        is_right = (uint64_t)st.st_size > payload && header % 4096 == 0 &&
                   header <= FIXED_MOST + PER_FILE * files + names;
        if (!is_right)
            note("member %zu: %lld bytes, of them %llu payload, for %zu files", member,
                 (long long)st.st_size, (unsigned long long)payload, files);
    }
    vel_redfiles_fini(&found);
    return is_right;
}

/* the sum of a member's files, by what stat says */
static uint64_t files_of(const char *root, size_t member)
{
    char path[1200];
    uint64_t sum = 0;
    struct stat st;

    for (int i = 0; i < REDLAB_FILES; i++) {
        snprintf(path, sizeof path, "%s/%sfile-%d.h5", redlab_dir(root, member),
                 i % 2 ? "sub/" : "", i);
        sum += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    }
    return sum;
}

static int wrong_sizes(enum vel_scheme scheme, size_t n, size_t m)
{
    char root[600];
    uint64_t most = 0;
    int wrong = 0;

    snprintf(root, sizeof root, "%s/%s-%zu-%zu", tap_dir(), vel_scheme_name(scheme), n,
             m);
    if (redlab_apply(root, "size", scheme, n, m, n + m, 50000) < 0)
        return 1;
    for (size_t i = 0; i < n; i++)
        most = files_of(root, i) > most ? files_of(root, i) : most;
    for (size_t i = 0; i < n; i++) {
        uint64_t payload = m * ((most + n - m - 1) / (n - m));

        if (scheme == VEL_PARTNER) {
            payload = 0;
            for (size_t back = 1; back <= m; back++)
                payload += files_of(root, (i + n - back) % n);
        }
        wrong += !is_right_size(root, i, payload);
    }
    for (size_t i = 0; i < n; i++)
        redlab_lose(root, i);
    return wrong;
}

/* What is announced for a list of files is what it takes: no byte of the memory behind
 * it goes to other members. */
static void bytes_of_a_list(void)
{
    struct vel_manifest list;
    struct vel_le_writer w;
    struct vel_err err = {0};
    uint8_t bytes[500];

    vel_manifest_init(&list, 7);
    vel_buf_puts(&list.descriptor, "what belongs to whoever protects");
    for (int i = 0; i < 3; i++) {
        char name[] = "list-0";

        name[5] = (char)('0' + i);
        tap_put_file(tap_path(name), "content");
        if (vel_manifest_add(&list, redlab_fs(), tap_dir(), name, &err) < 0)
            bail_out("%s", err.text);
    }
    size_t size = vel_manifest_encoded_size(&list);
    vel_le_write_init(&w, bytes, sizeof bytes);
    vel_manifest_encode(&list, &w);
    is_int(sizeof bytes - w.left, size, "a list of files takes the bytes it announces");
    vel_manifest_fini(&list);
}

static void bytes_on_disk(void)
{
    static const size_t sizes[] = {2, 3, 4, 7, 8, 17, 256};
    int xor = 0, rs = 0, partner = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = sizes[i];

        xor += wrong_sizes(VEL_XOR, n, 1);
        for (size_t m = n > 99 ? 4 : 1; m <= 4 && m < n; m++)
            rs += wrong_sizes(VEL_RS, n, m);
        for (size_t k = 1; k <= 3 && k < n && n < 99; k++)
            partner += wrong_sizes(VEL_PARTNER, n, k);
    }
    is_int(xor, 0, "XOR keeps B/(n-1) bytes of parity, and a small header");
    is_int(rs, 0, "RS keeps mB/(n-m)");
    is_int(partner, 0, "PARTNER keeps what its partners have");
}

/* --- memory
 * ----------------------------------------------------------------------------- */

enum { SET_MEMORY = 4 << 20, MIB = 1 << 20, GROWTH_MOST = MIB };

struct costly {
    enum vel_scheme scheme;
    size_t m;
    uint64_t size; /* of each member's file */
};

/* the most memory that this process ever had, in bytes; 0: not told here */
static long long peak(void)
{
    char *status = tap_get_file("/proc/self/status", NULL);
    const char *line = status ? strstr(status, "VmHWM:") : NULL;
    long long kib = line ? strtoll(line + strlen("VmHWM:"), NULL, 10) : 0;

    free(status);
    return kib * 1024;
}

static struct vel_red_set set_of(struct vel_comm *comm, enum vel_scheme scheme,
                                 size_t m)
{
    return (struct vel_red_set){.comm = comm,
                                .scheme = scheme,
                                .m = m,
                                .sets = 1,
                                .rank = (uint32_t)comm->rank,
                                .fs = sparse_fs(),
                                .dir = redlab_dir(tap_dir(), (size_t)comm->rank),
                                .label = "cost",
                                .memory = SET_MEMORY};
}

/* Each member leaves its peak in a file beside its directory. */
static int protect_and_recover(struct vel_comm *comm, void *arg)
{
    const struct costly *c = arg;
    struct vel_red_set set = set_of(comm, c->scheme, c->m);
    char name[] = "data", path[1200], text[32], *names[] = {name};
    struct vel_err err = {0};

    if (vel_fs_make_dirs(set.fs, set.dir, 0700, &err) < 0)
        return 1;
    snprintf(path, sizeof path, "%s/%s", set.dir, name);
    if (!sparse_make(path, c->size, set.rank))
        return 2;
    int rc = vel_red_apply(&set, names, 1, NULL, 0, NULL, &err);
    if (rc == 0 && comm->rank == 1)
        redlab_lose(tap_dir(), 1);
    if (rc == 0)
        rc = vel_red_recover(&set, NULL, &err);
    snprintf(path, sizeof path, "%s.peak", set.dir);
    snprintf(text, sizeof text, "%lld", peak());
    tap_put_file(path, text);
    redlab_lose(tap_dir(), set.rank);
    return rc;
}

static long long highest_peak(struct costly *c, int n)
{
    long long most = 0;

    if (sockjob_run(n, "unix", protect_and_recover, c) != 0)
        return -1;
    for (int i = 0; i < n; i++) {
        char path[1200];

        snprintf(path, sizeof path, "%s.peak", redlab_dir(tap_dir(), (size_t)i));
        char *text = tap_get_file(path, NULL);
        long long bytes = text ? strtoll(text, NULL, 10) : 0;
        most = bytes > most ? bytes : most;
        free(text);
    }
    return most;
}

static void memory(void)
{
    struct costly cases[] = {{VEL_XOR, 1, 0}, {VEL_RS, 2, 0}, {VEL_PARTNER, 1, 0}};
    const char *sanitizer = getenv("SANITIZER");

    if (peak() == 0 || (sanitizer && sanitizer[0])) {
        skip(3, "the memory of a process is not told here, or not its own");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct costly *c = &cases[i];

        c->size = 8 * MIB;
        long long small = highest_peak(c, 4);
        c->size = 128 * MIB + 5;
        long long large = highest_peak(c, 4);

        note("%s: %lld KiB with 8 MiB, %lld KiB with 128 MiB per member",
             vel_scheme_name(c->scheme), small / 1024, large / 1024);
        ok(small > 0 && large > 0 && large - small < GROWTH_MOST,
           "%s: protecting and recovering 128 MiB per member takes no more memory than "
           "8 MiB",
           vel_scheme_name(c->scheme));
    }
}

/* --- nothing
 * ----------------------------------------------------------------------------- */

struct hollow {
    enum vel_scheme scheme;
    size_t m;
    int files;     /* per member */
    int with_byte; /* this member's first file has a byte; -1: nobody's */
};

static int protect_nothing(struct vel_comm *comm, void *arg)
{
    const struct hollow *h = arg;
    struct vel_red_set set = set_of(comm, h->scheme, h->m);
    char first[] = "first", second[] = "second", *names[] = {first, second};
    struct vel_red_report report = {.lost = 0};
    struct vel_err err = {0};
    char path[1200];

    if (vel_fs_make_dirs(set.fs, set.dir, 0700, &err) < 0)
        return 1;
    for (int i = 0; i < h->files; i++) {
        snprintf(path, sizeof path, "%s/%s", set.dir, names[i]);
        tap_put_file(path, i == 0 && comm->rank == h->with_byte ? "!" : "");
    }
    int rc = vel_red_apply(&set, names, (size_t)h->files, NULL, 0, NULL, &err);
    uint64_t state = redlab_state(tap_dir(), set.rank);
    if (rc == 0 && comm->rank == 2)
        redlab_lose(tap_dir(), 2);
    if (rc == 0)
        rc = vel_red_recover(&set, &report, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    bool is_back =
        rc == 0 && report.lost == 1 && redlab_state(tap_dir(), set.rank) == state;
    if (rc == 0)
        vel_red_report_fini(&report);
    redlab_lose(tap_dir(), set.rank);
    return !is_back;
}

static void nothing(void)
{
    static const struct {
        enum vel_scheme scheme;
        size_t m;
    } schemes[] = {{VEL_XOR, 1}, {VEL_RS, 2}, {VEL_PARTNER, 1}, {VEL_PARTNER, 2}};
    int bad[3] = {0};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        for (int byte = -1; byte < 4; byte++) {
            struct hollow h = {schemes[i].scheme, schemes[i].m, 2, byte};

            bad[byte >= 0] += sockjob_run(4, "unix", protect_nothing, &h) != 0;
            h.files = 0;
            if (byte < 0)
                bad[2] += sockjob_run(4, "unix", protect_nothing, &h) != 0;
        }
    is_int(bad[0], 0, "files without a byte come back");
    is_int(bad[1], 0, "also when there is one byte in the whole set");
    is_int(bad[2], 0, "a set without files comes back");
}

int main(void)
{
    bytes_of_a_list();
    bytes_on_disk();
    memory();
    nothing();
    return done_testing();
}
