/* SPDX-License-Identifier: BSD-3-Clause */
/* shift CONF PREFIX BOARD EVENTS
 *
 * One launch of a program whose ranks checkpoint a file and memory of each, with node
 * leaders behind them. It restarts from the newest checkpoint, compares every byte, and
 * makes those that the board wants. At an operation on files that the board names, of
 * its own or of the leader's threads, it is killed. At each step it writes a byte to
 * the FIFO EVENTS.
 *
 * The C library's functions that change files are replaced by ones that count.
 */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>
#include <veloc.h>

#include "tap/board.h"
#include "tap/clocks.h"

enum { MEMORY = 5000 };

static struct board *board;
static int rank = -1, events = -1;
static const char *prefix;
static char name[16]; /* of the checkpoints */
static unsigned char memory[MEMORY];

/* --- the end ------------------------------------------------------------------------
 */

static void tell(char what)
{
    ssize_t n = write(events, &what, 1);

    (void)n;
}

static void die(void)
{
    board->has_died = true;
    if (board->death == BOARD_FROZEN) {
        board->frozen = getpid();
        tell('D');
        raise(SIGSTOP);
        return;
    }
    tell('D');
    if (board->death == BOARD_AGENT && board->agent > 0)
        kill(board->agent, SIGKILL);
    for (int i = 0; board->death != BOARD_LEADER && i < board->ranks; i++)
        if (i != rank && board->pid[i] > 0)
            kill(board->pid[i], SIGKILL);
    raise(SIGKILL);
}

/* Before each operation that changes a file. */
static void operation(void)
{
    int node;
    uint64_t n;

    if (rank < 0)
        return;
    n = __atomic_add_fetch(&board->operations[rank], 1, __ATOMIC_SEQ_CST);
    if ((board->death == BOARD_ALL || board->death == BOARD_AGENT) &&
        rank == board->victim && n == board->at)
        die();
    if (syscall(SYS_gettid) == getpid())
        return;
    node = rank * BOARD_NODES / board->ranks;
    n = __atomic_add_fetch(&board->background[node], 1, __ATOMIC_SEQ_CST);
    if ((board->death == BOARD_LEADER || board->death == BOARD_FROZEN) &&
        node == board->victim && n == board->at)
        die();
}

/* dlsym gives a data pointer; C has no cast from it to a function */
#define COUNTED(type, name, params, args)                                              \
    type name params;                                                                  \
    type name params                                                                   \
    {                                                                                  \
        static type(*real) params;                                                     \
        if (!real) {                                                                   \
            void *address = dlsym(RTLD_NEXT, #name);                                   \
            memcpy(&real, &address, sizeof address);                                   \
        }                                                                              \
        operation();                                                                   \
        return real args;                                                              \
    }

COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, linkat, (int a, const char *from, int b, const char *to, int flags),
        (a, from, b, to, flags))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(int, rmdir, (const char *path), (path))
COUNTED(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at),
        (fd, bytes, len, at))
COUNTED(ssize_t, copy_file_range,
        (int in, off_t *from, int out, off_t *to, size_t len, unsigned flags),
        (in, from, out, to, len, flags))

/* A lock that each node has for itself, of a file that other nodes see. */
int flock(int fd, int how)
{
    char link[64], path[PATH_MAX] = "";
    size_t len = prefix ? strlen(prefix) : 0;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (len > 0 && board->has_no_locks && readlink(link, path, sizeof path - 1) > 0 &&
        strncmp(path, prefix, len) == 0)
        return 0;
    return (int)syscall(SYS_flock, fd, how);
}

/* --- what it saves -------------------------------------------------------------------
 */

static bool well(int rc, const char *what)
{
    if (rc == VELOC_SUCCESS)
        return true;
    snprintf(board->why[rank], BOARD_TEXT, "%s: %s", what, VELOC_Error());
    return false;
}

static bool wrong(const char *what, int64_t version)
{
    snprintf(board->why[rank], BOARD_TEXT, "%s of version %" PRId64, what, version);
    return false;
}

static void fill_memory(int64_t version, unsigned char *bytes)
{
    uint64_t x = board_mix(board->seed + 31 * (uint64_t)rank);

    for (size_t i = 0; i < MEMORY; i++)
        bytes[i] = (unsigned char)board_mix(x + (uint64_t)version * MEMORY + i);
}

static bool route(int64_t version, char ret[VELOC_MAX_NAME])
{
    char file[64], path[VELOC_MAX_NAME];

    board_name(board, rank, version, file);
    snprintf(path, sizeof path, "%s/%s", prefix, file);
    return well(VELOC_Route_file(path, ret), "VELOC_Route_file");
}

static bool write_file(int64_t version)
{
    static unsigned char bytes[BOARD_FILE_MOST];
    char path[VELOC_MAX_NAME];
    size_t len = board_content(board, rank, version, bytes);
    FILE *file;
    bool ok;

    if (!route(version, path))
        return false;
    file = fopen(path, "wb");
    if (!file)
        return wrong("cannot open the file", version);
    ok = fwrite(bytes, 1, len, file) == len;
    return (fclose(file) == 0 && ok) || wrong("cannot write the file", version);
}

static bool is_file_right(int64_t version)
{
    static unsigned char want[BOARD_FILE_MOST], got[BOARD_FILE_MOST + 1];
    char path[VELOC_MAX_NAME];
    size_t len = board_content(board, rank, version, want);
    FILE *file;
    bool ok;

    if (!route(version, path))
        return false;
    file = fopen(path, "rb");
    if (!file)
        return wrong("there is no file", version);
    ok = fread(got, 1, sizeof got, file) == len && memcmp(got, want, len) == 0;
    fclose(file);
    return ok || wrong("other bytes are in the file", version);
}

/* --- its work ------------------------------------------------------------------------
 */

static bool restart(void)
{
    static unsigned char want[MEMORY];
    int version = VELOC_Restart_test(name, 0);
    bool ok;

    if (version == VELOC_FAILURE) {
        board->found[rank] = 0;
        return true;
    }
    if (!well(VELOC_Restart_begin(name, version), "VELOC_Restart_begin"))
        return false;
    ok = is_file_right(version) && well(VELOC_Recover_mem(), "VELOC_Recover_mem");
    fill_memory(version, want);
    if (ok && memcmp(memory, want, MEMORY) != 0)
        ok = wrong("other bytes are in memory", version);
    ok = well(VELOC_Restart_end(ok), "VELOC_Restart_end") && ok;
    if (ok)
        board->found[rank] = version;
    return ok;
}

static bool checkpoint(int64_t version)
{
    bool ok;

    fill_memory(version, memory);
    if (!well(VELOC_Checkpoint_begin(name, (int)version), "VELOC_Checkpoint_begin"))
        return false;
    tell('b');
    ok = well(VELOC_Checkpoint_mem(), "VELOC_Checkpoint_mem") && write_file(version);
    tell('w');
    if (!well(VELOC_Checkpoint_end(ok), "VELOC_Checkpoint_end") || !ok)
        return false;
    board->reported[rank] = version;
    tell('e');
    return true;
}

static void compute(int64_t version)
{
    struct timespec t = {
        .tv_nsec = (long)(board_mix(board->seed + (uint64_t)version) % 40 * 1000000)};

    if (board->is_idle)
        nanosleep(&t, NULL);
}

static bool work(const char *conf)
{
    tell('i');
    if (!well(VELOC_Init(MPI_COMM_WORLD, conf), "VELOC_Init"))
        return false;
    tell('I');
    VELOC_Mem_protect(0, memory, MEMORY, 1);
    if (!restart())
        return false;
    tell('r');
    for (int64_t v = board->first; v <= board->last; v++) {
        if (!checkpoint(v))
            return false;
        compute(v);
        if (v - board->first < 64 && board->waits >> (v - board->first) & 1) {
            if (!well(VELOC_Checkpoint_wait(), "VELOC_Checkpoint_wait"))
                return false;
            board->waited[rank] = v;
            tell('a');
        }
    }
    tell('f');
    return well(VELOC_Finalize(1), "VELOC_Finalize");
}

int main(int argc, char **argv)
{
    int r, fd = argc == 5 ? open(argv[3], O_RDWR) : -1;
    bool ok;

    if (fd < 0) {
        fprintf(stderr, "shift: see shift.c for its arguments\n");
        return 2;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (board == MAP_FAILED)
        return 2;
    prefix = argv[2];
    snprintf(name, sizeof name, "shift%d", board->program);
    events = open(argv[4], O_RDWR | O_NONBLOCK | O_CLOEXEC);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    tap_clock_of(r);
    board->pid[r] = getpid();
    MPI_Barrier(MPI_COMM_WORLD); /* who is to die is known */
    rank = r;
    ok = work(argv[1]);
    if (!ok) {
        fprintf(stderr, "shift: rank %d: %s\n", r, board->why[r]);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    rank = -1;
    MPI_Finalize();
    board->is_done[r] = true;
    return 0;
}
