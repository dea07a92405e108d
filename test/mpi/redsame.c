/* SPDX-License-Identifier: BSD-3-Clause */
/* The same files protected over MPI, over sockets and in one process give the same
 * redundancy files: every byte, but what is drawn anew for each encoding (its id and
 * sequence, and with them the header's checksum; see doc/format-parity.txt). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "comm/mpi.h"
#include "comm/sock.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/mtap.h"
#include "tap/redlab.h"

enum { LIMIT_MS = 30000, SEED = 31, MOST = 300000 };

struct drawn { /* what differs between two encodings of the same files */
    size_t at;
    size_t len;
};

static const struct drawn drawn[] = {{12, 4}, {32, 16}, {88, 8}};

/* The same members over sockets: MPI tells everyone's endpoint. */
static struct vel_comm *connect_by_sockets(struct vel_comm *mpi)
{
    static const uint8_t token[VEL_COMM_TOKEN] = "redsame";
    struct vel_comm_listener *listener = NULL;
    const char **endpoints = calloc((size_t)mpi->size, sizeof *endpoints), *at;
    struct vel_comm *comm = NULL;
    struct vel_err err = {0};
    struct vel_buf all;
    size_t *lens = NULL;

    vel_buf_init(&all);
    int rc = vel_comm_sock_listen("tcp:127.0.0.1:0", &listener, &err);
    rc = vel_comm_agree(mpi, rc, &err);
    if (rc == 0) {
        at = vel_comm_listener_endpoint(listener);
        rc = vel_comm_allgather(mpi, at, strlen(at) + 1, &all, &lens, &err);
    }
    if (rc == 0) {
        at = vel_buf_text(&all);
        for (int r = 0; r < mpi->size; at += lens[r++])
            endpoints[r] = at;
        rc = vel_comm_sock_create(listener, mpi->rank, mpi->size, endpoints, token,
                                  LIMIT_MS, &comm, &err);
    }
    if (rc < 0)
        mtap_note("%s", err.text);
    vel_comm_listener_destroy(listener);
    vel_buf_fini(&all);
    free(lens);
    free(endpoints);
    return comm;
}

static int protect(struct vel_comm *comm, const char *root, enum vel_scheme scheme,
                   size_t m)
{
    struct vel_red_set set = {.comm = comm,
                              .scheme = scheme,
                              .m = m,
                              .sets = 1,
                              .rank = (uint32_t)comm->rank,
                              .fs = vel_fs_posix(),
                              .dir = redlab_dir(root, (size_t)comm->rank),
                              .label = "same",
                              .memory = 1 << 20};
    struct vel_vec names;
    struct vel_err err = {0};

    redlab_make(root, set.rank, SEED, MOST, &names);
    int rc = vel_red_apply(&set, names.items, names.n, "", 0, NULL, &err);
    if (rc < 0)
        mtap_note("%s", err.text);
    vel_fs_names_fini(&names);
    return rc;
}

/* The redundancy file below a member's directory, with zeros for what is drawn. False
 * when there is not exactly one that counts. */
static bool load(const char *root, size_t member, struct vel_buf *ret)
{
    const char *dir = redlab_dir(root, member);
    struct vel_vec found;

    vel_buf_init(ret);
    if (vel_redfile_scan_all(vel_fs_posix(), dir, &found, NULL) < 0)
        return false;
    bool fine = found.n == 1 &&
                vel_fs_read_file(vel_fs_posix(), vel_redfile_at(&found, 0)->path,
                                 1 << 30, ret, NULL) == 0;
    vel_redfiles_fini(&found);
    for (size_t i = 0; fine && i < sizeof drawn / sizeof drawn[0]; i++)
        memset(ret->data + drawn[i].at, 0, drawn[i].len);
    return fine;
}

static bool is_same(const char *a, const char *b, size_t member)
{
    struct vel_buf x, y;
    bool fine = load(a, member, &x);

    fine = load(b, member, &y) && fine;
    size_t n = x.len < y.len ? x.len : y.len, at = 0;
    while (fine && at < n && x.data[at] == y.data[at])
        at++;
    if (fine && (at < n || x.len != y.len))
        mtap_note("member %zu: %zu and %zu bytes, different from byte %zu on", member,
                  x.len, y.len, at);
    fine = fine && x.len == y.len && at == n;
    vel_buf_fini(&x);
    vel_buf_fini(&y);
    return fine;
}

static void one_case(struct vel_comm *mpi, struct vel_comm *sock,
                     enum vel_scheme scheme, size_t m)
{
    const char *kinds[] = {"mpi", "sock", "alone"};
    const char *name = vel_scheme_name(scheme);
    size_t me = (size_t)mpi->rank;
    char roots[3][1100];

    for (size_t k = 0; k < 3; k++)
        snprintf(roots[k], sizeof roots[k], "%s/%s.%zu.%s", mtap_dir(), name, m,
                 kinds[k]);
    mis_int(protect(mpi, roots[0], scheme, m), 0, "%s m=%zu: protected over MPI", name,
            m);
    mis_int(protect(sock, roots[1], scheme, m), 0, "over sockets");
    int rc = me > 0 ? 0
                    : redlab_apply(roots[2], "same", scheme, (size_t)mpi->size, m, SEED,
                                   MOST);
    mis_int(rc, 0, "and in one process");
    mok(is_same(roots[0], roots[1], me), "over sockets: the same redundancy files");
    mok(is_same(roots[0], roots[2], me), "in one process: the same redundancy files");
}

int main(int argc, char **argv)
{
    struct vel_comm *mpi = NULL, *sock = NULL;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    if (mok(vel_comm_mpi(MPI_COMM_WORLD, &mpi, &err) == 0, "over MPI %s", err.text))
        sock = connect_by_sockets(mpi);
    if (mok(sock != NULL, "the same members over sockets")) {
        one_case(mpi, sock, VEL_XOR, 1);
        one_case(mpi, sock, VEL_RS, 2);
        one_case(mpi, sock, VEL_PARTNER, 2);
    }
    vel_comm_destroy(sock);
    vel_comm_destroy(mpi);
    return mtap_done();
}
