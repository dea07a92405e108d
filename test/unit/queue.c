/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/queue.h"
#include "tap/tap.h"

static struct vel_queue *queue;

static void begin(unsigned nthreads)
{
    struct vel_err err = {0};

    if (vel_queue_create(nthreads, &queue, &err) < 0)
        bail_out("%s", err.text);
}

static void submit(vel_queue_f *run, void *arg)
{
    struct vel_err err = {0};

    if (vel_queue_submit(queue, run, arg, &err) < 0)
        bail_out("%s", err.text);
}

/* a gate at which workers stand until it is opened, and that sees them come */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_open;
    int arrived;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void stand_at_gate(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&gate.lock);
    gate.arrived++;
    pthread_cond_broadcast(&gate.moved);
    while (!gate.is_open)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void wait_for_arrival(int n)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.arrived < n)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void set_gate(bool is_open)
{
    pthread_mutex_lock(&gate.lock);
    gate.is_open = is_open;
    gate.arrived = 0;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
}

static void add(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static struct {
    int n, order[50];
} log_of_work;

static void note_order(void *arg)
{
    log_of_work.order[log_of_work.n++] = (int)(intptr_t)arg;
}

static void order(void)
{
    bool is_sorted = true;

    begin(1);
    set_gate(false);
    submit(stand_at_gate, NULL);
    wait_for_arrival(1);
    for (int i = 0; i < 50; i++)
        submit(note_order, (void *)(intptr_t)i);
    set_gate(true);
    vel_queue_destroy(queue);
    for (int i = 0; i < 50; i++)
        is_sorted &= log_of_work.order[i] == i;
    is_int(log_of_work.n, 50, "all that was submitted is done before a queue goes");
    ok(is_sorted, "it is begun in the order of its submission");
    vel_queue_destroy(NULL);
}

static void submit_five(void *arg)
{
    for (int i = 0; i < 5; i++)
        submit(add, arg);
}

static void from_workers(void)
{
    atomic_int sum = 0;

    begin(2);
    for (int i = 0; i < 20; i++)
        submit(submit_five, &sum);
    vel_queue_destroy(queue);
    is_int(sum, 100, "workers submit work, and that is done, too");
}

static void growth(void)
{
    atomic_int sum = 0;
    struct vel_err err = {0};

    begin(1);
    set_gate(false);
    submit(stand_at_gate, NULL);
    submit(stand_at_gate, NULL);
    is_int(vel_queue_grow(queue, &err), 0, "a queue whose workers hang gets one more");
    wait_for_arrival(2);
    set_gate(true);
    submit(add, &sum);
    vel_queue_destroy(queue);
    is_int(sum, 1, "which does what was waiting");
}

static void tell_mask(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
}

static void signals(void)
{
    sigset_t mask, mine;

    sigemptyset(&mask);
    begin(1);
    submit(tell_mask, &mask);
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    vel_queue_destroy(queue);
    ok(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1),
       "workers leave signals to the program");
    ok(!sigismember(&mine, SIGTERM), "whose own mask stays as it was");
}

static int in_child(void)
{
    struct vel_err err = {0};
    int bad = 0;

    bad |= vel_queue_submit(queue, add, NULL, &err) != VEL_ESTATE;
    bad |= vel_queue_grow(queue, &err) != VEL_ESTATE;
    vel_queue_destroy(queue);
    return bad;
}

static void forks(void)
{
    int status = -1;
    atomic_int sum = 0;

    begin(1);
    set_gate(false);
    submit(stand_at_gate, NULL);
    wait_for_arrival(1);
    pid_t pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0)
        _exit(in_child());
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child is refused, and does not hang");
    submit(add, &sum);
    set_gate(true);
    vel_queue_destroy(queue);
    is_int(sum, 1, "its parent goes on");
}

int main(void)
{
    order();
    from_workers();
    growth();
    signals();
    forks();
    return done_testing();
}
