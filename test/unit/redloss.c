/* SPDX-License-Identifier: BSD-3-Clause */
/* A member that is lost, or lies, in the middle of an encoding over sockets: the call
 * ends on all others within the time limit, names the member, and leaves nothing
 * behind. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/le.h"
#include "base/log.h"
#include "comm/sock_wire.h"
#include "comm/tags.h"
#include "red/older.h"
#include "red/set.h"
#include "sys/clock.h"
#include "tap/redlab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum {
    N = 4,
    LIAR = 2,
    TILE_LEAST = 1024, /* a message of that length is of the encoding itself */
    LONG_MS = 30000,   /* for what is noticed at once: the limit plays no part */
    SHORT_MS = 1500,   /* for silence */
    /* what members fold first: sizes of all files, of all lists, what to begin with */
    GREETING = (2 * N + VEL_OLDER_WORDS) * 8,
    TAG_LIST = 1,
    LIST = 48,  /* of one file with the name "file" */
    FACTOR = 4, /* of the limit: silence, the news of it, and a busy machine */
};

/* The comm of the liar: the true one, but for one message. */
struct liar {
    struct vel_comm comm;
    struct vel_comm *real;
    const struct lie *lie;
    unsigned left; /* tiles before the lie */
    bool has_lied;
    int done; /* where the others say that they are done */
};

typedef int lie_f(struct liar *liar, int to, uint32_t tag, const void *bytes,
                  size_t len, struct vel_req **ret_req, struct vel_err *err);

/* A message before or behind the tiles, and the numbers in it that are a lie. */
struct words {
    uint32_t tag;
    size_t len;
    size_t at;
    uint64_t value;
    uint64_t next; /* 0: as it is */
};

struct lie {
    const char *name;
    lie_f *tell;
    const struct words *words; /* NULL: the lie is a tile */
    bool is_silent;            /* noticed by the time limit alone */
    enum vel_status status;
    enum vel_status other; /* where it falls into the middle of a message */
};

struct round {
    const struct lie *lie;
    enum vel_scheme scheme;
    size_t m;
    size_t memory;
    unsigned limit_ms;
    const char *root;
    int done[2];
};

static int tell_truth(struct liar *liar, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    return vel_comm_isend(liar->real, to, tag, bytes, len, ret_req, err);
}

static int die(struct liar *liar, int to, uint32_t tag, const void *bytes, size_t len,
               struct vel_req **ret_req, struct vel_err *err)
{
    (void)liar, (void)to, (void)tag, (void)bytes, (void)len, (void)ret_req, (void)err;
    kill(getpid(), SIGKILL);
    return VEL_ELOST;
}

/* Says nothing until all others are done with it. */
static _Noreturn void stand_still(const struct liar *liar)
{
    char word;

    for (int heard = 0; heard < N - 1;)
        heard += read(liar->done, &word, 1) == 1;
    _exit(1);
}

/* with open connections, until the others end it */
static int freeze(struct liar *liar, int to, uint32_t tag, const void *bytes,
                  size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to, (void)tag, (void)bytes, (void)len, (void)ret_req, (void)err;
    stand_still(liar);
}

static int freeze_in_frame(struct liar *liar, int to, uint32_t tag, const void *bytes,
                           size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    static const struct vel_mac none;
    uint8_t header[FRAME_LEN];
    const struct frame frame = {
        .kind = FRAME_DATA, .comm = 1, .from = LIAR, .tag = tag, .len = len};

    vel_frame_encode(&frame, &none, header);
    sockjob_say(header, FRAME_LEN / 2);
    return freeze(liar, to, tag, bytes, len, ret_req, err);
}

/* goes on as if it had sent it, and waits with the others */
static int withhold(struct liar *liar, int to, uint32_t tag, const void *bytes,
                    size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)liar, (void)to, (void)tag, (void)bytes, (void)len, (void)err;
    *ret_req = NULL;
    return 0;
}

static int cut(struct liar *liar, int to, uint32_t tag, const void *bytes, size_t len,
               struct vel_req **ret_req, struct vel_err *err)
{
    return tell_truth(liar, to, tag, bytes, len - 1, ret_req, err);
}

static int stretch(struct liar *liar, int to, uint32_t tag, const void *bytes,
                   size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    static char more[4 << 20];

    memcpy(more, bytes, len);
    return tell_truth(liar, to, tag, more, sizeof more, ret_req, err);
}

static int rename_it(struct liar *liar, int to, uint32_t tag, const void *bytes,
                     size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    return tell_truth(liar, to, tag ^ 0x80000, bytes, len, ret_req, err);
}

static int rave(struct liar *liar, int to, uint32_t tag, const void *bytes, size_t len,
                struct vel_req **ret_req, struct vel_err *err)
{
    static const char garbage[3 * FRAME_LEN] = "GET / HTTP/1.1";

    sockjob_say(garbage, sizeof garbage);
    return tell_truth(liar, to, tag, bytes, len, ret_req, err);
}

static int boast(const struct liar *liar, const struct frame *frame)
{
    sockjob_say_frame(liar->real, frame, NULL, 1);
    return 0;
}

/* the message that is waited for, with a length that a frame may have */
static int boast_huge(struct liar *liar, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to, (void)bytes, (void)len, (void)err;
    const struct frame frame = {.kind = FRAME_DATA,
                                .comm = 1,
                                .from = LIAR,
                                .tag = tag,
                                .len = FRAME_DATA_MOST};

    *ret_req = NULL;
    return boast(liar, &frame);
}

static int boast_impossible(struct liar *liar, int to, uint32_t tag, const void *bytes,
                            size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to, (void)bytes, (void)len, (void)err;
    const struct frame frame = {
        .kind = FRAME_DATA, .comm = 1, .from = LIAR, .tag = tag, .len = UINT64_MAX};

    *ret_req = NULL;
    return boast(liar, &frame);
}

static int boast_alarm(struct liar *liar, int to, uint32_t tag, const void *bytes,
                       size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to, (void)tag, (void)bytes, (void)len, (void)err;
    const struct frame frame = {
        .kind = FRAME_ALARM, .from = LIAR, .tag = 1, .len = UINT64_C(1) << 40};

    *ret_req = NULL;
    return boast(liar, &frame);
}

static int boast_wait(struct liar *liar, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to, (void)tag, (void)bytes, (void)len, (void)err;
    const struct frame frame = {.kind = FRAME_ALIVE, .from = LIAR, .tag = UINT32_MAX};

    *ret_req = NULL;
    return boast(liar, &frame);
}

/* the message with other numbers in it */
static int alter(struct liar *liar, int to, uint32_t tag, const void *bytes, size_t len,
                 struct vel_req **ret_req, struct vel_err *err)
{
    const struct words *words = liar->lie->words;
    static uint8_t said[GREETING > LIST ? GREETING : LIST];
    struct vel_le_writer w;

    memcpy(said, bytes, len);
    vel_le_write_init(&w, said + words->at, len - words->at);
    vel_le_put64(&w, words->value);
    if (words->next > 0)
        vel_le_put64(&w, words->next);
    return tell_truth(liar, to, tag, said, len, ret_req, err);
}

/* messages that nobody asked for, more than anybody keeps */
static int flood(struct liar *liar, int to, uint32_t tag, const void *bytes, size_t len,
                 struct vel_req **ret_req, struct vel_err *err)
{
    static const uint8_t message[32 << 10];
    const struct frame frame = {.kind = FRAME_DATA,
                                .comm = 1,
                                .from = LIAR,
                                .tag = 0x80000,
                                .len = sizeof message};

    sockjob_say_frame(liar->real, &frame, message, 1000);
    return freeze(liar, to, tag, bytes, len, ret_req, err);
}

static const struct words large_files = {VEL_TAG_FOLD, GREETING, 8 * LIAR, INT64_MAX,
                                         0};
static const struct words large_list = {VEL_TAG_FOLD, GREETING, 8 * (N + LIAR),
                                        UINT64_C(1) << 48, 0};
static const struct words other_size = {TAG_LIST, LIST, 12, 1, 0};
/* a name of one letter, and nothing instead of the others */
static const struct words short_name = {TAG_LIST, LIST, 40, 1 | (uint64_t)'f' << 32, 0};

static const struct lie lies[] = {
    {"is killed", die, NULL, false, VEL_ELOST, VEL_ELOST},
    {"stands still", freeze, NULL, true, VEL_ETIMEOUT, VEL_ETIMEOUT},
    {"stands still in a frame", freeze_in_frame, NULL, true, VEL_ETIMEOUT,
     VEL_ETIMEOUT},
    {"does not send a message", withhold, NULL, true, VEL_ETIMEOUT, VEL_ETIMEOUT},
    {"sends it under another tag", rename_it, NULL, true, VEL_ETIMEOUT, VEL_ETIMEOUT},
    {"sends a byte less", cut, NULL, false, VEL_ECORRUPT, VEL_ECORRUPT},
    {"sends too many bytes", stretch, NULL, false, VEL_ECORRUPT, VEL_ECORRUPT},
    {"sends garbage", rave, NULL, false, VEL_ECORRUPT, VEL_ECORRUPT},
    {"announces 256 TiB", boast_huge, NULL, false, VEL_ECORRUPT, VEL_ECORRUPT},
    {"announces more than a frame has", boast_impossible, NULL, false, VEL_ECORRUPT,
     VEL_ECORRUPT},
    {"announces an alarm of 1 TiB", boast_alarm, NULL, false, VEL_ECORRUPT,
     VEL_ECORRUPT},
    {"waits for nobody there is", boast_wait, NULL, false, VEL_ECORRUPT, VEL_ECORRUPT},
    {"sends what nobody asked for", flood, NULL, true, VEL_ETIMEOUT, VEL_ECORRUPT},
    /* the communicator stands these: afterwards only silence breaks it */
    {"claims files of 8 EiB", alter, &large_files, true, VEL_EINVAL, VEL_EINVAL},
    {"claims a list of 256 TiB", alter, &large_list, true, VEL_EINVAL, VEL_EINVAL},
    {"lists a file of another size", alter, &other_size, true, VEL_ECORRUPT,
     VEL_ECORRUPT},
    {"lists less than it announced", alter, &short_name, true, VEL_ECORRUPT,
     VEL_ECORRUPT},
};

static int liar_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct liar *liar = (struct liar *)comm;
    const struct lie *lie = liar->lie;
    bool is_due = !liar->has_lied &&
                  (lie->words ? tag == lie->words->tag && len == lie->words->len
                              : len >= TILE_LEAST && liar->left-- == 0);

    liar->has_lied |= is_due;
    return (is_due ? lie->tell : tell_truth)(liar, to, tag, bytes, len, ret_req, err);
}

static int liar_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    return vel_comm_irecv(((struct liar *)comm)->real, from, tag, bytes, len, ret_req,
                          err);
}

static int liar_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                         size_t *ret_done, struct vel_err *err)
{
    return vel_comm_wait_any(((struct liar *)comm)->real, reqs, n, ret_done, err);
}

static void liar_cancel(struct vel_comm *comm, struct vel_req *req)
{
    vel_comm_cancel_all(((struct liar *)comm)->real, &req, 1);
}

static void liar_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    vel_comm_fail(((struct liar *)comm)->real, cause);
}

static const struct vel_comm_ops liar_ops = {
    .name = "liar",
    .isend = liar_isend,
    .irecv = liar_irecv,
    .wait_any = liar_wait_any,
    .cancel = liar_cancel,
    .fail = liar_fail,
};

static int protect(const struct round *round, struct vel_comm *comm,
                   struct vel_err *err)
{
    struct vel_red_set set = {.comm = comm,
                              .scheme = round->scheme,
                              .m = round->m,
                              .sets = 1,
                              .rank = (uint32_t)comm->rank,
                              .fs = vel_fs_posix(),
                              .dir = redlab_dir(round->root, (size_t)comm->rank),
                              .label = "loss",
                              .memory = round->memory};
    char name[] = "file", *names[] = {name};

    return vel_red_apply(&set, names, 1, "", 0, NULL, err);
}

static int member(struct vel_comm *comm, void *arg)
{
    struct round *round = arg;
    struct liar liar = {.comm = *comm,
                        .real = comm,
                        .lie = round->lie,
                        .left = 5,
                        .done = round->done[0]};
    struct vel_err err = {0}, again = {0};
    unsigned most_ms = (round->lie->is_silent ? FACTOR : 1) * round->limit_ms;
    char name[2][16];

    alarm(most_ms / 1000 + 1); /* a wait that does not end is a failure too */
    if (comm->rank == LIAR) {
        liar.comm.ops = &liar_ops;
        protect(round, &liar.comm, &err);
        stand_still(&liar); /* what it believes does not matter */
    }
    uint64_t before = redlab_state(round->root, (size_t)comm->rank);
    uint64_t begin = vel_clock_monotonic(vel_clock_system());
    int rc = protect(round, comm, &err);
    uint64_t took = vel_clock_monotonic(vel_clock_system()) - begin;
    if (write(round->done[1], "", 1) != 1)
        return 1;
    fprintf(stderr, "# member %d after %llu ms: %s\n", comm->rank,
            (unsigned long long)(took / VEL_CLOCK_MS), err.text);
    snprintf(name[0], sizeof name[0], "rank %d", LIAR);
    snprintf(name[1], sizeof name[1], "member %d", LIAR);
    if (rc != (int)round->lie->status && rc != (int)round->lie->other)
        return 2;
    if (strstr(err.text, name[0]) == NULL && strstr(err.text, name[1]) == NULL)
        return 3;
    if (took > most_ms * VEL_CLOCK_MS)
        return 4;
    if (redlab_state(round->root, (size_t)comm->rank) != before)
        return 5;
    return vel_comm_barrier(comm, &again) < 0 ? 0 : 6;
}

static void make_files(const char *root)
{
    enum { SIZE = 600000 };
    struct vel_fs *fs = vel_fs_posix();
    char *bytes = calloc(1, SIZE);

    for (size_t i = 0; i < N; i++) {
        const char *dir = redlab_dir(root, i);
        char path[1100];
        int fd;

        snprintf(path, sizeof path, "%s/file", dir);
        memset(bytes, (int)i + 1, SIZE);
        if (vel_fs_make_dirs(fs, dir, 0700, NULL) < 0 ||
            vel_fs_open(fs, path, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, NULL) < 0 ||
            vel_fs_write_at(fs, fd, bytes, SIZE, 0, path, NULL) < 0)
            bail_out("cannot make %s", path);
        vel_fs_close(fs, fd, path, NULL);
    }
    free(bytes);
}

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    static const struct {
        const char *kind;
        enum vel_scheme scheme;
        size_t m;
        size_t memory; /* tiles that a peer keeps before it asks, or ones that wait */
    } cases[] = {{"unix", VEL_XOR, 1, 128 << 10},
                 {"tcp", VEL_RS, 2, 1 << 20},
                 {"unix", VEL_PARTNER, 2, 2 << 20}};
    const struct vel_log_sink quiet = {.write = nobody_listens};

    vel_log_open(&quiet);
    make_files(tap_dir());
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
            struct round round = {.lie = &lies[k],
                                  .scheme = cases[i].scheme,
                                  .m = cases[i].m,
                                  .memory = cases[i].memory,
                                  .limit_ms = lies[k].is_silent ? SHORT_MS : LONG_MS,
                                  .root = tap_dir()};
            if (pipe(round.done) < 0)
                bail_out("pipe failed");
            int lost =
                sockjob_run_limit(N, cases[i].kind, round.limit_ms, member, &round);
            close(round.done[0]);
            close(round.done[1]);
            /* the liar itself */
            is_int(lost, 1, "%s over %s: a member that %s ends the call on all others",
                   vel_scheme_name(round.scheme), cases[i].kind, lies[k].name);
        }
    return done_testing();
}
