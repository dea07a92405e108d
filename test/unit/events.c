/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/manual_clock.h"
#include "tap/eventlab.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static struct vel_manual_clock manual;

static int add(const char *dir, const struct vel_event *event, struct vel_err *err)
{
    struct vel_event_log log;
    int rc = vel_event_log_init(&log, vel_fs_posix(), &manual.clock, dir, "4711",
                                "\xff", err);

    if (rc < 0)
        return rc;
    rc = vel_event_log_add(&log, event, err);
    vel_event_log_fini(&log);
    return rc;
}

/* the events that were read, a line each */
static int print(void *arg, const struct vel_event *e, struct vel_err *err)
{
    char *text = arg;
    size_t len = strlen(text);

    (void)err;
    snprintf(text + len, 4096 - len, "%s/%d%s", e->word, e->kind,
             e->result == VEL_EVENT_OK       ? "+ "
             : e->result == VEL_EVENT_FAILED ? "- "
                                             : " ");
    return 0;
}

static const char *read_back(const char *dir, size_t *ret_damaged)
{
    static char text[4096];
    struct vel_err err = {0};

    text[0] = '\0';
    *ret_damaged = 99;
    if (eventlab_read(dir, print, text, ret_damaged, &err) < 0)
        note("%s", err.text);
    return text;
}

static int keep(void *arg, const struct vel_event *e, struct vel_err *err)
{
    struct vel_event want = {
        .kind = VEL_EVENT_FLUSH,
        .result = VEL_EVENT_FAILED,
        .id = 12,
        .files = 3,
        .bytes = INT64_MAX,
        .seconds = 0.25,
        .ranks = 64,
        .nodes = 4,
        .time = 1700000000.123,
    };

    (void)err;
    *(int *)arg += e->kind == want.kind && e->result == want.result &&
                   e->id == want.id && e->files == want.files &&
                   e->bytes == want.bytes && e->seconds == want.seconds &&
                   e->ranks == want.ranks && e->nodes == want.nodes &&
                   e->compared == 30 && e->cloned == 20 && e->written == 10 &&
                   e->time == want.time && strcmp(e->word, "flush") == 0 &&
                   strcmp(e->name, "a\nb%") == 0 && strcmp(e->text, "full\"") == 0 &&
                   strcmp(e->job, "4711") == 0 && strcmp(e->user, "\xff") == 0;
    return 0;
}

static void lines(void)
{
    const struct vel_event flush = {.kind = VEL_EVENT_FLUSH,
                                    .result = VEL_EVENT_FAILED,
                                    .id = 12,
                                    .name = "a\nb%",
                                    .files = 3,
                                    .bytes = INT64_MAX,
                                    .seconds = 0.25,
                                    .text = "full\"",
                                    .ranks = 64,
                                    .nodes = 4,
                                    .compared = 30,
                                    .cloned = 20,
                                    .written = 10};
    const struct vel_event start = {
        .kind = VEL_EVENT_RUN_START, .id = -1, .seconds = 0.0 / 0.0};
    struct vel_err err = {0};
    size_t damaged;
    int same = 0;

    is_str(read_back(tap_dir(), &damaged), "", "without a file there are no events");
    is_int(damaged, 0, "and no damaged ones");
    is_int(add(tap_dir(), &flush, &err), 0, "an event is appended");
    ok(tap_file_is(tap_path("events"),
                   "{\"time\":1700000000.123,\"event\":\"flush\",\"ok\":false,"
                   "\"id\":12,\"name\":\"a%0Ab%25\",\"files\":3,"
                   "\"bytes\":9223372036854775807,\"seconds\":0.25,"
                   "\"text\":\"full\\\"\",\"ranks\":64,\"nodes\":4,"
                   "\"compared\":30,\"cloned\":20,\"written\":10,"
                   "\"job\":\"4711\",\"user\":\"%FF\"}\n"),
       "as the line that doc/format-events.txt tells");
    eventlab_read(tap_dir(), keep, &same, NULL, &err);
    is_int(same, 1, "and is read back, every member of it");
    add(tap_dir(), &start, &err);
    is_str(read_back(tap_dir(), &damaged), "flush/14- run_start/1 ",
           "further ones follow it; what makes no sense is left out");
    is_int(damaged, 0, "and spoils no line");
}

static void disabled(void)
{
    const struct vel_event event = {.kind = VEL_EVENT_INIT};
    struct vel_err err = {0};

    is_int(add(NULL, &event, &err), 0, "LOG_ENABLE=0: an event goes nowhere");
    is_int(add(tap_path("none"), &event, &err), VEL_ENOENT,
           "a log needs its directory");
    ok(strstr(err.text, "recording an event: cannot create") != NULL,
       "says the sentence: %s", err.text);
}

static void refused(void)
{
    char *text = malloc(VEL_EVENT_LINE_MOST + 1);
    struct vel_event event = {.kind = VEL_EVENT_INIT};
    struct vel_err err = {0};
    int fds = tap_open_fds();

    if (!text)
        bail_out("out of memory");
    memset(text, 'x', VEL_EVENT_LINE_MOST);
    text[VEL_EVENT_LINE_MOST] = '\0';
    event.text = text;
    unlink(tap_path("events"));
    is_int(add(tap_dir(), &event, &err), VEL_EINVAL,
           "a line that no reader would take is not written");
    event.text = NULL;
    event.seconds = 1.0 / 0.0;
    is_int(add(tap_dir(), &event, &err), VEL_EINVAL, "nor a number that is none");
    event = (struct vel_event){.kind = VEL_EVENT_OTHER};
    is_int(add(tap_dir(), &event, &err), VEL_EINVAL, "nor an event without a name");
    ok(access(tap_path("events"), F_OK) < 0, "and no file is made for them");
    event.kind = VEL_EVENT_INIT;
    if (symlink("/etc/passwd", tap_path("events")) < 0)
        bail_out("cannot make a link");
    ok(add(tap_dir(), &event, &err) < 0, "a link is not followed");
    unlink(tap_path("events"));
    if (mkfifo(tap_path("events"), 0600) < 0)
        bail_out("cannot make a pipe");
    is_int(add(tap_dir(), &event, &err), VEL_EUNSAFE, "a pipe is no log");
    is_int(eventlab_read(tap_dir(), print, text, NULL, &err), VEL_EUNSAFE,
           "not to be read either");
    unlink(tap_path("events"));
    is_int(tap_open_fds(), fds, "no descriptor is left");
    free(text);
}

static void damaged_lines(void)
{
    static const char zeros[] = "{\0}\n{\"time\":1,\"event\":\"init\"}";
    const struct vel_event event = {.kind = VEL_EVENT_INIT, .result = VEL_EVENT_OK};
    struct vel_err err = {0};
    size_t damaged;

    tap_put_file(tap_path("events"),
                 "{\"time\":1,\"event\":\"run_start\"}\n"
                 "\n"
                 "{\"time\":1,\"event\":\"run_start\",\"id\":-1}\n"
                 "{\"time\":1,\"event\":\"run_start\",\"ok\":1}\n"
                 "{\"time\":\"1\",\"event\":\"run_start\"}\n"
                 "{\"time\":1,\"event\":\"run_start\",\"name\":\"%\"}\n"
                 "{\"time\":1,\"event\":\"run_start\",\"seconds\":1e300}\n"
                 "{\"event\":\"run_start\"}\n"
                 "{\"time\":1}\n"
                 "[]\n"
                 "rubbish\n"
                 "{\"time\":2,\"event\":\"comet\",\"tail\":true}\n"
                 "{\"time\":3.5,\"event\":\"fl");
    is_int(add(tap_dir(), &event, &err), 0, "an event after a torn line");
    is_str(read_back(tap_dir(), &damaged), "run_start/1 comet/0 init/2+ ",
           "is read, as are the others; events of another version come as such");
    is_int(damaged, 10, "and lines that are no events are counted");
    tap_put_bytes(tap_path("events"), zeros, sizeof zeros - 1);
    is_str(read_back(tap_dir(), &damaged), "init/2 ",
           "a last line that only lacks its end is whole");
    is_int(damaged, 1, "zeros are no event");
}

static int stop(void *arg, const struct vel_event *event, struct vel_err *err)
{
    (void)event;
    return ++*(int *)arg == 2 ? vel_fail(err, VEL_ECANCEL, "enough") : 0;
}

/* more than one chunk, and a line that is too long between */
static void long_file(void)
{
    FILE *file = fopen(tap_path("events"), "we");
    struct vel_err err = {0};
    size_t damaged;
    int n = 0;

    if (!file)
        bail_out("cannot write events");
    for (int i = 0; i < 30; i++)
        fprintf(file, "{\"time\":1,\"event\":\"init\",\"text\":\"%0*d\"}\n", 7000, i);
    fprintf(file, "{\"time\":1,\"event\":\"init\"%*s}\n", 3 * VEL_EVENT_LINE_MOST, "");
    fprintf(file, "{\"time\":1,\"event\":\"halt\"}\n");
    fclose(file);
    const char *text = read_back(tap_dir(), &damaged);
    ok(damaged == 1 && strlen(text) == 30 * strlen("init/2 ") + strlen("halt/15 "),
       "a line of any length hides no other");
    is_int(eventlab_read(tap_dir(), stop, &n, NULL, &err), VEL_ECANCEL,
           "whoever reads may stop");
    ok(n == 2 && strcmp(err.text, "enough") == 0, "and says why");
    unlink(tap_path("events"));
}

static int count(void *arg, const struct vel_event *event, struct vel_err *err)
{
    (void)err;
    *(int *)arg += event->kind == VEL_EVENT_COMPUTE;
    return 0;
}

static off_t size_of(const char *name)
{
    struct stat st;

    return stat(tap_path(name), &st) < 0 ? 0 : st.st_size;
}

/* Two generations are kept. */
static void grows_no_further(void)
{
    const struct vel_event event = {.kind = VEL_EVENT_COMPUTE, .text = "tick"};
    int bad = 0, status, n = 0;
    size_t damaged = 0;

    add(tap_dir(), &event, NULL);
    for (int i = 0; i < 2; i++) {
        if (truncate(tap_path("events"), VEL_EVENT_FILE_MOST) < 0)
            bail_out("events cannot grow");
        fflush(stdout);
        for (int k = 0; k < 4; k++)
            if (fork() == 0)
                _exit(add(tap_dir(), &event, NULL) < 0);
        while (wait(&status) > 0)
            bad += status != 0;
    }
    is_int(bad, 0, "events are written when there are too many");
    ok(size_of("events") < 4096 && size_of("events.1") >= VEL_EVENT_FILE_MOST &&
           size_of("events.1") < VEL_EVENT_FILE_MOST + 4096,
       "those of before are put aside, and what was there goes");
    eventlab_read(tap_dir(), count, &n, &damaged, NULL);
    /* of the first four all but the one that puts them aside may write there still */
    ok(n >= 4 + 1 && n <= 8, "and %d of the last 8 are read", n);
    unlink(tap_path("events"));
    unlink(tap_path("events.1"));
}

static void many_writers(void)
{
    enum { WRITERS = 4, EACH = 50 };
    const struct vel_event event = {.kind = VEL_EVENT_COMPUTE, .text = "tick"};
    size_t damaged = 0;
    int bad = 0, n = 0, status;

    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            for (int k = 0; k < EACH; k++)
                bad += add(tap_dir(), &event, NULL) < 0;
            _exit(bad != 0);
        }
    while (wait(&status) > 0)
        bad += status != 0;
    is_int(bad, 0, "several processes write at once");
    eventlab_read(tap_dir(), count, &n, &damaged, NULL);
    is_int(n, WRITERS * EACH, "and every event is there");
    is_int(damaged, 0, "whole");
}

static void prepare(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/events", dir);
    tap_put_file(path, "{\"time\":1,\"event\":\"run_start\"}\n{\"time\":2,\"ev");
}

static int act(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    const struct vel_event event = {.kind = VEL_EVENT_INIT, .result = VEL_EVENT_OK};
    struct vel_event_log log;

    (void)arg;
    int rc = vel_event_log_init(&log, fs, &manual.clock, dir, NULL, NULL, err);
    if (rc < 0)
        return rc;
    rc = vel_event_log_add(&log, &event, err);
    vel_event_log_fini(&log);
    return rc;
}

/* the event may be there twice: a write that failed at its end, and the repetition */
static enum sweep_state check(const char *dir, void *arg)
{
    size_t damaged;
    const char *text = read_back(dir, &damaged);

    (void)arg;
    if (strncmp(text, "run_start/1 ", 12) != 0)
        return SWEEP_BROKEN;
    return strcmp(text, "run_start/1 ") == 0 ? SWEEP_OLD : SWEEP_NEW;
}

int main(void)
{
    const struct sweep sweep = {.name = "an event",
                                .prepare = prepare,
                                .action = act,
                                .check = check,
                                .is_lazy = true};

    vel_manual_clock_init(&manual, 0, INT64_C(1700000000123456789));
    lines();
    disabled();
    refused();
    damaged_lines();
    long_file();
    many_writers();
    grows_no_further();
    sweep_run(&sweep);
    return done_testing();
}
