/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tap/crowd.h"
#include "tap/tap.h"

enum { STACK = 512 << 10 };

struct letter {
    struct letter *next;
    unsigned context; /* of the communicator */
    int from;
    uint32_t tag;
    size_t len;
    char bytes[];
};

struct vel_req {
    bool is_receive;
    unsigned context;
    int from;
    uint32_t tag;
    void *into;
    size_t len;
};

struct crowd;
struct seat;

/* A member's end of a communicator: of all, or of a part. */
struct hall {
    struct vel_comm comm;
    struct seat *seat;
    unsigned context, splits;
    int *seats; /* of its members; NULL: all */
};

/* The parts that came of the same split and color have the same context. */
struct part {
    unsigned of, split;
    int color;
};

struct seat {
    struct hall all;
    struct crowd *crowd;
    pthread_t thread;
    pthread_cond_t news;
    bool is_waiting;
    struct letter *letters; /* oldest first */
    unsigned sent;
    uint64_t sent_bytes;
    int result;
};

struct crowd {
    pthread_mutex_t lock; /* guards all that follows, and the seats */
    struct seat *seats;
    int here, waiting; /* members that have not returned; those of them that wait */
    struct vel_err broken;
    struct vel_vec parts; /* struct part */
    const struct crowd_fault *fault;
    int (*member)(struct vel_comm *comm, void *arg);
    void *arg;
};

static void crowd_break(struct crowd *crowd, const struct vel_err *cause, int n)
{
    if (crowd->broken.status == 0)
        crowd->broken = *cause;
    for (int i = 0; i < n; i++)
        pthread_cond_signal(&crowd->seats[i].news);
}

static int crowd_broken(const struct crowd *crowd, struct vel_err *err)
{
    return vel_fail(err, crowd->broken.status, "%s", crowd->broken.text);
}

/* Does nobody write to those who wait? */
static void crowd_watch(struct crowd *crowd, int n)
{
    struct vel_err cause = {0};

    if (crowd->here > 0 && crowd->waiting == crowd->here) {
        vel_fail(&cause, VEL_ESTATE, "all wait for each other");
        crowd_break(crowd, &cause, n);
    }
}

static int seat_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct hall *hall = (struct hall *)comm;
    struct seat *seat = hall->seat;
    struct crowd *crowd = seat->crowd;
    struct seat *other = &crowd->seats[hall->seats ? hall->seats[to] : to];
    const struct crowd_fault *fault = crowd->fault;

    if (++seat->sent && fault && seat->all.comm.rank == fault->rank &&
        seat->sent == fault->nth)
        return vel_out_of_memory(err, "a letter");
    seat->sent_bytes += len;
    struct vel_req *req = calloc(1, sizeof *req);
    struct letter *letter = malloc(sizeof *letter + len);
    if (!req || !letter)
        bail_out("out of memory");
    *letter = (struct letter){
        .context = hall->context, .from = comm->rank, .tag = tag, .len = len};
    if (len > 0)
        memcpy(letter->bytes, bytes, len);
    pthread_mutex_lock(&crowd->lock);
    struct letter **end = &other->letters;
    while (*end)
        end = &(*end)->next;
    *end = letter;
    crowd->waiting -= other->is_waiting;
    other->is_waiting = false;
    pthread_cond_signal(&other->news);
    pthread_mutex_unlock(&crowd->lock);
    *ret_req = req;
    return 0;
}

static int seat_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct vel_req *req = malloc(sizeof *req);

    (void)err;
    if (!req)
        bail_out("out of memory");
    *req =
        (struct vel_req){true, ((struct hall *)comm)->context, from, tag, bytes, len};
    *ret_req = req;
    return 0;
}

/* Take the oldest letter that the request is for. */
static bool letter_take(struct seat *seat, const struct vel_req *req)
{
    struct letter **at = &seat->letters;

    while (*at && ((*at)->context != req->context || (*at)->from != req->from ||
                   (*at)->tag != req->tag))
        at = &(*at)->next;
    struct letter *letter = *at;
    if (!letter)
        return false;
    if (letter->len != req->len)
        bail_out("%zu bytes came where %zu were expected", letter->len, req->len);
    if (req->len > 0)
        memcpy(req->into, letter->bytes, req->len);
    *at = letter->next;
    free(letter);
    return true;
}

/* The number of a request that is done, n, or -1: there is something to wait for. */
static int64_t requests_try(struct seat *seat, struct vel_req **reqs, size_t n)
{
    int64_t done = (int64_t)n;

    for (size_t i = 0; i < n; i++) {
        if (!reqs[i])
            continue;
        if (!reqs[i]->is_receive || letter_take(seat, reqs[i])) {
            free(reqs[i]);
            reqs[i] = NULL;
            return (int64_t)i;
        }
        done = -1;
    }
    return done;
}

static int seat_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                         size_t *ret_done, struct vel_err *err)
{
    struct seat *seat = ((struct hall *)comm)->seat;
    struct crowd *crowd = seat->crowd;
    int64_t done = -1;
    int rc = 0;

    pthread_mutex_lock(&crowd->lock);
    while (crowd->broken.status == 0 && (done = requests_try(seat, reqs, n)) < 0) {
        if (!seat->is_waiting) {
            seat->is_waiting = true;
            crowd->waiting++;
            crowd_watch(crowd, seat->all.comm.size);
        }
        if (crowd->broken.status == 0)
            pthread_cond_wait(&seat->news, &crowd->lock);
    }
    crowd->waiting -= seat->is_waiting;
    seat->is_waiting = false;
    if (done < 0)
        rc = crowd_broken(crowd, err);
    else
        *ret_done = (size_t)done;
    pthread_mutex_unlock(&crowd->lock);
    return rc;
}

static void seat_cancel(struct vel_comm *comm, struct vel_req *req)
{
    (void)comm;
    free(req);
}

static void seat_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    const struct seat *seat = ((struct hall *)comm)->seat;

    pthread_mutex_lock(&seat->crowd->lock);
    crowd_break(seat->crowd, cause, seat->all.comm.size);
    pthread_mutex_unlock(&seat->crowd->lock);
}

static unsigned context_of(struct crowd *crowd, const struct part *part)
{
    unsigned i;

    pthread_mutex_lock(&crowd->lock);
    const struct part *p = crowd->parts.items;
    for (i = 0; i < crowd->parts.n; i++)
        if (p[i].of == part->of && p[i].split == part->split &&
            p[i].color == part->color)
            break;
    if (i == crowd->parts.n && !vel_vec_push(&crowd->parts, part))
        bail_out("out of memory");
    pthread_mutex_unlock(&crowd->lock);
    return i + 1; /* 0 is all */
}

struct choice {
    int color, key, rank;
};

static int choice_order(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->rank - y->rank;
}

static struct vel_comm *part_create(struct hall *hall, const struct choice *mine,
                                    struct choice *all)
{
    const struct part part = {hall->context, hall->splits, mine->color};
    struct hall *made = calloc(1, sizeof *made);
    int n = 0;

    for (int i = 0; i < hall->comm.size; i++)
        if (all[i].color == mine->color)
            all[n++] = all[i];
    qsort(all, (size_t)n, sizeof *all, choice_order);
    if (made)
        made->seats = calloc((size_t)n, sizeof *made->seats);
    if (!made || !made->seats)
        bail_out("out of memory");
    made->comm = (struct vel_comm){.ops = hall->comm.ops, .size = n};
    made->seat = hall->seat;
    made->context = context_of(hall->seat->crowd, &part);
    for (int i = 0; i < n; i++) {
        made->seats[i] = hall->seats ? hall->seats[all[i].rank] : all[i].rank;
        if (all[i].rank == mine->rank)
            made->comm.rank = i;
    }
    return &made->comm;
}

static int seat_split(struct vel_comm *comm, int color, int key,
                      struct vel_comm **ret_comm, struct vel_err *err)
{
    const struct choice mine = {color, key, comm->rank};
    struct hall *hall = (struct hall *)comm;
    struct vel_buf all;
    size_t *lens = NULL;
    int rc;

    vel_buf_init(&all);
    rc = vel_comm_allgather(comm, &mine, sizeof mine, &all, &lens, err);
    if (rc == 0) {
        hall->splits++;
        *ret_comm = color < 0
                        ? NULL
                        : part_create(hall, &mine, (struct choice *)(void *)all.data);
    }
    free(lens);
    vel_buf_fini(&all);
    return rc;
}

static void seat_destroy(struct vel_comm *comm)
{
    struct hall *hall = (struct hall *)comm;

    if (hall == &hall->seat->all)
        return; /* as long as the crowd is there */
    free(hall->seats);
    free(hall);
}

unsigned crowd_sent(const struct vel_comm *comm)
{
    return ((const struct hall *)comm)->seat->sent;
}

uint64_t crowd_sent_bytes(const struct vel_comm *comm)
{
    return ((const struct hall *)comm)->seat->sent_bytes;
}

static void *seat_run(void *arg)
{
    struct seat *seat = arg;
    struct crowd *crowd = seat->crowd;

    seat->result = crowd->member(&seat->all.comm, crowd->arg);
    pthread_mutex_lock(&crowd->lock);
    crowd->here--;
    crowd_watch(crowd, seat->all.comm.size);
    pthread_mutex_unlock(&crowd->lock);
    return NULL;
}

static void seat_init(struct seat *seat, struct crowd *crowd, int rank, int size)
{
    static const struct vel_comm_ops ops = {.name = "crowd",
                                            .isend = seat_isend,
                                            .irecv = seat_irecv,
                                            .wait_any = seat_wait_any,
                                            .cancel = seat_cancel,
                                            .split = seat_split,
                                            .fail = seat_fail,
                                            .destroy = seat_destroy};

    *seat = (struct seat){.all = {.comm = {&ops, rank, size}, .seat = seat},
                          .crowd = crowd};
    pthread_cond_init(&seat->news, NULL);
}

static void seat_fini(struct seat *seat)
{
    while (seat->letters) {
        struct letter *letter = seat->letters;
        seat->letters = letter->next;
        free(letter);
    }
    pthread_cond_destroy(&seat->news);
}

int crowd_run(int n, const struct crowd_fault *fault,
              int (*member)(struct vel_comm *comm, void *arg), void *arg,
              unsigned *ret_sent)
{
    struct crowd crowd = {.seats = calloc((size_t)n, sizeof *crowd.seats),
                          .here = n,
                          .fault = fault,
                          .member = member,
                          .arg = arg};
    pthread_attr_t attr;
    unsigned most = 0;
    int failed = 0;

    vel_vec_init(&crowd.parts, sizeof(struct part));
    pthread_mutex_init(&crowd.lock, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    for (int i = 0; i < n; i++)
        seat_init(&crowd.seats[i], &crowd, i, n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&crowd.seats[i].thread, &attr, seat_run, &crowd.seats[i]))
            bail_out("%d threads cannot be made", n);
    for (int i = 0; i < n; i++) {
        pthread_join(crowd.seats[i].thread, NULL);
        failed += crowd.seats[i].result != 0;
        if (crowd.seats[i].sent > most)
            most = crowd.seats[i].sent;
    }
    for (int i = 0; i < n; i++)
        seat_fini(&crowd.seats[i]);
    pthread_attr_destroy(&attr);
    pthread_mutex_destroy(&crowd.lock);
    free(crowd.seats);
    vel_vec_fini(&crowd.parts);
    if (ret_sent)
        *ret_sent = most;
    return failed;
}
