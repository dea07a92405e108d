/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* the one global: guarded by lock, which also keeps lines whole */
static struct {
    pthread_mutex_t lock;
    struct vel_log_sink sink;
    char who[128];
} state = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .sink = {.level = VEL_LOG_WARN, .is_speaker = true},
};

/* A forked child has one thread, and whoever held the lock is not it. */
static void begin_anew_in_child(void)
{
    state.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, begin_anew_in_child);
}

static void take_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&state.lock);
}

void vel_log_open(const struct vel_log_sink *sink)
{
    static const struct vel_log_sink first = {.level = VEL_LOG_WARN,
                                              .is_speaker = true};

    take_lock();
    state.sink = sink ? *sink : first;
    snprintf(state.who, sizeof state.who, "%s", sink && sink->who ? sink->who : "");
    state.sink.who = state.who;
    pthread_mutex_unlock(&state.lock);
}

void vel_log_write_stderr(void *arg, enum vel_log_level level, const char *line,
                          size_t len)
{
    (void)arg, (void)level;
    fwrite(line, 1, len, stderr);
}

static void emit(enum vel_log_level level, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void emit(enum vel_log_level level, const char *fmt, va_list ap)
{
    struct vel_buf line;

    vel_buf_init(&line);
    vel_buf_printf(&line, "h5veloc: %s: ", level_names[level]);
    if (state.who[0])
        vel_buf_printf(&line, "%s: ", state.who);
    vel_buf_vprintf(&line, fmt, ap);
    vel_buf_putc(&line, '\n');
    if (vel_buf_status(&line, NULL) == 0) {
        vel_log_write_f *write =
            state.sink.write ? state.sink.write : vel_log_write_stderr;
        write(state.sink.arg, level, line.data, line.len);
    }
    vel_buf_fini(&line);
}

void vel_log(enum vel_log_level level, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    va_start(ap, fmt);
    take_lock();
    if (level <= state.sink.level)
        emit(level, fmt, ap);
    pthread_mutex_unlock(&state.lock);
    va_end(ap);
    errno = saved;
}

void vel_log_in_vain(const char *launch, uint64_t ns, const char *whom,
                     const char *which)
{
    vel_log(VEL_LOG_INFO, "launch %s: waited %.1f s in vain for %s%s", launch,
            (double)ns / 1e9, whom, which);
}

void vel_log_shared(enum vel_log_level level, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    va_start(ap, fmt);
    take_lock();
    if (state.sink.is_speaker && level <= state.sink.level)
        emit(level, fmt, ap);
    pthread_mutex_unlock(&state.lock);
    va_end(ap);
    errno = saved;
}
