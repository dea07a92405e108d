/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/host.h"
#include "tap/files.h"
#include "tap/shiftlab.h"
#include "tap/tap.h"

enum { TEXT = SHIFTLAB_TEXT, NAME = 32 };

bool shiftlab_bad(struct shiftlab *lab, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!lab->why[0])
        vsnprintf(lab->why, sizeof lab->why, fmt, args);
    va_end(args);
    return false;
}

void shiftlab_pause(uint64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000),
                         .tv_nsec = (long)(ms % 1000 * 1000000)};

    nanosleep(&t, NULL);
}

/* --- what it is made of -------------------------------------------------------------
 */

/* "<tap_dir>/<what>.<program>" */
static const char *own_path(const struct shiftlab *lab, const char *what)
{
    char name[NAME];

    snprintf(name, sizeof name, "%s.%d", what, lab->program);
    return tap_path(name);
}

static struct board *map_board(const struct shiftlab *lab)
{
    int fd = open(own_path(lab, "board"), O_RDWR | O_CREAT, 0600);
    struct board *board;

    if (fd < 0 || ftruncate(fd, sizeof *board) < 0)
        bail_out("no board");
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (board == MAP_FAILED)
        bail_out("no board");
    return board;
}

void shiftlab_open(struct shiftlab *lab, int program)
{
    *lab = (struct shiftlab){.program = program,
                             .ranks = 4,
                             .flush = "1",
                             .scheme = "XOR",
                             .base = "c",
                             .peer_seconds = SHIFTLAB_PEER_SECONDS};
    lab->board = map_board(lab);
    if (mkfifo(own_path(lab, "events"), 0600) < 0)
        bail_out("no FIFO");
    lab->events = open(own_path(lab, "events"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

void shiftlab_fresh(void)
{
    static const char *const names[] = {"prefix", "cache", "c", "d"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tap_fresh_dir(tap_path(names[i]));
    unlink(tap_path("said"));
}

static void put_settings(const struct shiftlab *lab, const char *mode)
{
    char text[4 * TEXT];

    snprintf(text, sizeof text,
             "PREFIX=%s\nCACHE_BASE=%s\nCNTL_BASE=%s\nVIRTUAL_NODES=%d\nMODE=%s\n"
             "FLUSH=%s\nCOPY_TYPE=%s\nSET_SIZE=4\nPEER_TIMEOUT=%d\nVIEW_WAIT=%d\n"
             "FILE_BUF_SIZE=4096\nLOG_LEVEL=DEBUG\n",
             tap_path("prefix"), tap_path("cache"), tap_path(lab->base), BOARD_NODES,
             mode, lab->flush, lab->scheme, lab->peer_seconds, lab->peer_seconds);
    tap_put_file(own_path(lab, "conf"), text);
}

void shiftlab_order(struct shiftlab *lab, const char *mode, int64_t first, int64_t last)
{
    struct board *b = lab->board;

    memset(b, 0, sizeof *b);
    b->seed = lab->seed;
    b->program = lab->program;
    b->ranks = lab->ranks;
    b->first = first;
    b->last = last;
    b->has_same_names = lab->has_same_names;
    b->has_no_locks = lab->seed % 2 == 1;
    b->agent = lab->agent;
    for (int i = 0; i < lab->ranks; i++)
        b->found[i] = -1;
    put_settings(lab, mode);
}

/* --- processes ----------------------------------------------------------------------
 */

static const char *need(const char *variable)
{
    const char *text = getenv(variable);

    if (!text)
        bail_out("%s is not set: run it by make check", variable);
    return text;
}

static pid_t start(char *const *argv, const char *flags)
{
    pid_t pid = fork();

    if (pid < 0)
        bail_out("no process");
    if (pid > 0)
        return pid;
    int fd = open(tap_path("said"), O_WRONLY | O_CREAT | O_APPEND, 0600);

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* nothing outlives a test that is ended */
    dup2(fd, 1);
    dup2(fd, 2);
    if (flags)
        setenv("MPIEXEC_FLAGS", flags, 1);
    execv(argv[0], argv);
    _exit(127);
}

pid_t shiftlab_start(struct shiftlab *lab, bool outlives)
{
    const char *kind = getenv("MPI_KIND");
    char run[TEXT], program[TEXT], ranks[NAME], conf[TEXT], prefix[TEXT], board[TEXT],
        events[TEXT], limit[NAME];
    char *argv[] = {run, ranks, program, conf, prefix, board, events, NULL};

    snprintf(run, sizeof run, "%s/test/mpirun.sh", need("top_srcdir"));
    snprintf(ranks, sizeof ranks, "%d", lab->ranks);
    snprintf(program, sizeof program, "%s/test/fault/shift", need("top_builddir"));
    snprintf(conf, sizeof conf, "%s", own_path(lab, "conf"));
    snprintf(prefix, sizeof prefix, "%s", tap_path("prefix"));
    snprintf(board, sizeof board, "%s", own_path(lab, "board"));
    snprintf(events, sizeof events, "%s", own_path(lab, "events"));
    snprintf(limit, sizeof limit, "%" PRId64,
             SHIFTLAB_LIMIT * lab->peer_seconds +
                 SHIFTLAB_VERSION * (lab->board->last - lab->board->first));
    setenv("TEST_TIMEOUT", limit, 1);
    return start(argv, outlives && kind && strcmp(kind, "mpich") == 0
                           ? "-disable-auto-cleanup"
                           : NULL);
}

void shiftlab_kill_ranks(const struct shiftlab *lab)
{
    for (int i = 0; i < lab->ranks; i++)
        if (lab->board->pid[i] > 0)
            kill(lab->board->pid[i], SIGKILL);
}

/* The launcher may end before the system has done with all ranks: what they have locked
 * is free then. */
bool shiftlab_have_ended(struct shiftlab *lab)
{
    const pid_t *pid = lab->board->pid;

    for (int i = 0; i < lab->ranks; i++)
        for (int round = 0; pid[i] > 0 && kill(pid[i], 0) == 0; round++) {
            if (round == 1000)
                return shiftlab_bad(lab, "rank %d lives on after its launch", i);
            shiftlab_pause(10);
        }
    return true;
}

int shiftlab_wait(struct shiftlab *lab, pid_t job)
{
    int status;

    waitpid(job, &status, 0);
    if (!shiftlab_have_ended(lab))
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- what a launch has told ---------------------------------------------------------
 */

int64_t shiftlab_lowest(const struct shiftlab *lab, const int64_t *of)
{
    int64_t least = of[0];

    for (int i = 1; i < lab->ranks; i++)
        least = of[i] < least ? of[i] : least;
    return least;
}

bool shiftlab_found(struct shiftlab *lab, int64_t least)
{
    const struct board *b = lab->board;
    int64_t found = -1;

    for (int i = 0; i < lab->ranks; i++) {
        if (b->found[i] < 0)
            continue;
        if (found >= 0 && b->found[i] != found)
            return shiftlab_bad(lab,
                                "rank %d finds version %" PRId64 ", others %" PRId64, i,
                                b->found[i], found);
        found = b->found[i];
    }
    if (found >= 0 && found < least)
        return shiftlab_bad(lab,
                            "version %" PRId64 " is found, %" PRId64 " was to be there",
                            found, least);
    return true;
}

bool shiftlab_was_slow(const struct shiftlab *lab)
{
    static const char *const sentences[] = {
        "does not answer in", "have not decided what can be restored",
        "as one that does not answer", "no answer for"};
    bool is = false;

    for (int i = 0; i < lab->ranks; i++)
        for (size_t k = 0; k < sizeof sentences / sizeof sentences[0]; k++)
            is = is || strstr(lab->board->why[i], sentences[k]);
    return is && !lab->board->has_died;
}

bool shiftlab_slow_down(struct shiftlab *lab)
{
    if (lab->peer_seconds >= SHIFTLAB_PEER_MOST)
        return false;
    lab->peer_seconds *= 2;
    return true;
}

bool shiftlab_went_well(struct shiftlab *lab, int status)
{
    const struct board *b = lab->board;

    if (status == 124)
        return shiftlab_bad(lab, "a launch hangs");
    for (int i = 0; i < lab->ranks; i++)
        if (b->why[i][0] && !b->has_died)
            return shiftlab_bad(lab, "rank %d: %s", i, b->why[i]);
    return status == 0 || b->has_died ||
           shiftlab_bad(lab, "a launch fails, with status %d", status);
}

/* --- the agent ----------------------------------------------------------------------
 */

static pid_t start_tool(const struct shiftlab *lab, const char *option)
{
    char program[TEXT], words[NAME], seconds[NAME];
    char *argv[] = {program, option ? words : NULL, NULL};
    pid_t pid;

    snprintf(program, sizeof program, "%s/h5veloc-agent", need("TOOLS"));
    snprintf(words, sizeof words, "%s", option ? option : "");
    snprintf(seconds, sizeof seconds, "%d", lab->peer_seconds);
    /* programs have these from their file */
    setenv("VELOC_CNTL_BASE", tap_path(lab->base), 1);
    setenv("VELOC_CACHE_BASE", tap_path("cache"), 1);
    setenv("VELOC_PEER_TIMEOUT", seconds, 1);
    pid = start(argv, NULL);
    unsetenv("VELOC_CNTL_BASE");
    unsetenv("VELOC_CACHE_BASE");
    unsetenv("VELOC_PEER_TIMEOUT");
    return pid;
}

void shiftlab_start_agent(struct shiftlab *lab)
{
    lab->agent = start_tool(lab, NULL);
}

void shiftlab_end_agent(struct shiftlab *lab, int signal)
{
    if (lab->agent <= 0)
        return;
    kill(lab->agent, signal);
    waitpid(lab->agent, NULL, 0);
    lab->agent = 0;
}

bool shiftlab_drain(struct shiftlab *lab)
{
    pid_t pid = start_tool(lab, "--drain");
    struct pollfd ended = {.events = POLLIN};
    int status;

    ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (poll(&ended, 1, SHIFTLAB_LIMIT * 1000 * lab->peer_seconds) != 1)
        kill(pid, SIGKILL);
    close(ended.fd);
    waitpid(pid, &status, 0);
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           shiftlab_bad(lab, "the agent does not do what is left");
}

/* --- what lies where ----------------------------------------------------------------
 */

int shiftlab_is_on_prefix(const struct shiftlab *lab, int rank, int64_t version)
{
    static unsigned char want[BOARD_FILE_MOST];
    char name[64], path[TEXT];
    size_t want_len = board_content(lab->board, rank, version, want), len;
    char *got;
    int is;

    board_name(lab->board, rank, version, name);
    snprintf(path, sizeof path, "%s/%s", tap_path("prefix"), name);
    got = tap_get_file(path, &len);
    is = !got ? -1 : len == want_len && memcmp(got, want, len) == 0;
    free(got);
    return is;
}

int shiftlab_count_on_prefix(const struct shiftlab *lab, int64_t version)
{
    int n = 0;

    for (int i = 0; i < lab->ranks; i++) {
        int is = shiftlab_is_on_prefix(lab, i, version);

        if (is == 0)
            return -1;
        n += is > 0;
    }
    return n;
}

bool shiftlab_is_whole(struct shiftlab *lab, int64_t version, bool must_be_there)
{
    int n = shiftlab_count_on_prefix(lab, version);

    if (n < 0)
        return shiftlab_bad(lab, "version %" PRId64 " is not right on the prefix",
                            version);
    if (n == 0 && must_be_there)
        return shiftlab_bad(lab, "version %" PRId64 " is not on the prefix", version);
    return n == 0 || n == lab->ranks ||
           shiftlab_bad(lab, "of version %" PRId64 " %d ranks have files on the prefix",
                        version, n);
}

static char stray[TEXT];

static int look_for_stray(const char *path, const struct stat *st, int type,
                          struct FTW *ftw)
{
    (void)st;
    if (type == FTW_D && strcmp(path + ftw->base, ".veloc") == 0)
        return FTW_SKIP_SUBTREE;
    if (strstr(path + ftw->base, ".h5v-"))
        snprintf(stray, sizeof stray, "%s", path);
    return 0;
}

/* Of a program or an agent. */
static bool has_report(void)
{
    char *said = tap_get_file(tap_path("said"), NULL);
    bool has = said && strstr(said, "Sanitizer:");

    free(said);
    return has;
}

bool shiftlab_is_clean(struct shiftlab *lab)
{
    if (has_report())
        return shiftlab_bad(lab, "a sanitizer reports: %s", tap_path("said"));
    stray[0] = '\0';
    nftw(tap_path("prefix"), look_for_stray, 16, FTW_PHYS | FTW_ACTIONRETVAL);
    return !stray[0] || shiftlab_bad(lab, "%s is left", stray);
}

void shiftlab_lose_node(int node)
{
    struct vel_host host;
    char name[512];

    if (vel_host_init(&host, NULL) < 0)
        bail_out("the host has no name");
    snprintf(name, sizeof name, "cache/%s.v%d", host.node, node);
    vel_host_fini(&host);
    tap_fresh_dir(tap_path(name));
}

void shiftlab_keep(const struct shiftlab *lab)
{
    char command[TEXT];

    snprintf(command, sizeof command,
             "cd '%s' && mkdir kept.%" PRIu64
             " && cp -a prefix cache c d said kept.%" PRIu64,
             tap_dir(), lab->seed, lab->seed);
    if (system(command) != 0)
        note("the files of seed %" PRIu64 " could not be kept", lab->seed);
}
