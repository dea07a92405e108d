/* SPDX-License-Identifier: BSD-3-Clause */
/* Each part here is a member of the set, with a communicator and, when there are
 * several, a thread of its own: they wait for each other as for those elsewhere. */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/log.h"
#include "base/siphash.h"
#include "jobs/encode.h"
#include "red/redfile.h"
#include "red/set.h"
#include "sys/entropy.h"
#include "sys/thread.h"

/* what a member has; the least of all members decides what is done */
enum state {
    LACKS = 1, /* neither files nor an excuse */
    READY = 2, /* files that an earlier encoding lists, or none to have */
    HOLDS = 3, /* all that this encoding gives it */
};

struct member {
    const struct vel_encode *job;
    const struct vel_encode_part *part;
    pthread_t thread;
    bool has_thread;
    enum vel_encode_outcome outcome;
    struct vel_red_saved saved;
    int rc;
    struct vel_err err;
};

static const struct vel_encode_member *self(const struct member *m)
{
    return &m->job->members[m->part->place];
}

/* --- meeting
 * -------------------------------------------------------------------------------- */

static int listen_here(const struct vel_encode *job, struct vel_comm_listener **ret,
                       struct vel_err *err)
{
    struct vel_buf at;
    uint8_t fresh[4];

    if (strncmp(job->listen, "unix:", 5) != 0)
        return vel_comm_sock_listen(job->listen, ret, err);
    int rc = vel_entropy(fresh, sizeof fresh, err);
    if (rc < 0)
        return rc;
    vel_buf_init(&at);
    vel_buf_printf(&at, "%s/e.%02x%02x%02x%02x", job->listen, fresh[0], fresh[1],
                   fresh[2], fresh[3]);
    rc = vel_buf_status(&at, err);
    if (rc == 0)
        rc = vel_comm_sock_listen(vel_buf_text(&at), ret, err);
    vel_buf_fini(&at);
    return rc;
}

/* Cut a text at its blanks: exactly n words, the own one among them at its place. */
static int cut(const struct member *m, char *text, const char *own, const char **words,
               struct vel_err *err)
{
    size_t n = 0;

    for (char *at = text; at; n++) {
        char *blank = strchr(at, ' ');

        if (blank)
            *blank = '\0';
        if (n < m->job->n)
            words[n] = at;
        at = blank ? blank + 1 : NULL;
    }
    if (n == m->job->n && strcmp(words[m->part->place], own) == 0)
        return 0;
    return vel_fail(
        err, VEL_ECORRUPT,
        "node %s: its answer to a meeting of %zu members has %zu endpoints, "
        "or another one for this member",
        m->job->members[0].node, m->job->n, n);
}

static int ask(const struct member *m, const char *endpoint,
               uint8_t token[VEL_COMM_TOKEN], char **ret_endpoints, struct vel_err *err)
{
    const struct vel_encode *job = m->job;
    const struct vel_msg_meet meet = {.dataset = (uint64_t)job->dataset,
                                      .set = job->set,
                                      .attempt = job->attempt,
                                      .member = m->part->place,
                                      .members = job->n,
                                      .endpoint = endpoint};

    return job->ops->meet(job->arg, job->members[0].node, &meet, token, ret_endpoints,
                          err);
}

static int connect_all(const struct member *m, struct vel_comm_listener *listener,
                       char *endpoints, const uint8_t token[VEL_COMM_TOKEN],
                       struct vel_comm **ret_comm, struct vel_err *err)
{
    const struct vel_encode *job = m->job;
    const char *at[VEL_SET_MAX], *names[VEL_SET_MAX];
    const struct vel_comm_sock_conf conf = {.limit_ms = job->limit_ms,
                                            .busy_ms = job->busy_ms,
                                            .names = names,
                                            .goes_on = job->ops->goes_on,
                                            .arg = job->arg};
    int rc = cut(m, endpoints, vel_comm_listener_endpoint(listener), at, err);

    for (size_t i = 0; i < job->n; i++)
        names[i] = job->members[i].node;
    return rc < 0 ? rc
                  : vel_comm_sock_meet(listener, (int)m->part->place, (int)job->n, at,
                                       token, &conf, ret_comm, err);
}

static int meet(const struct member *m, struct vel_comm **ret_comm, struct vel_err *err)
{
    struct vel_comm_listener *listener = NULL;
    uint8_t token[VEL_COMM_TOKEN];
    char *endpoints = NULL;

    if (m->job->n == 1)
        return vel_comm_self(ret_comm, err);
    int rc = listen_here(m->job, &listener, err);
    if (rc == 0)
        rc = ask(m, vel_comm_listener_endpoint(listener), token, &endpoints, err);
    if (rc == 0)
        rc = connect_all(m, listener, endpoints, token, ret_comm, err);
    free(endpoints);
    vel_comm_listener_destroy(listener);
    return rc;
}

/* --- working
 * -------------------------------------------------------------------------------- */

static struct vel_red_set set_of(const struct vel_encode *job,
                                 const struct vel_encode_part *part,
                                 struct vel_comm *comm)
{
    return (struct vel_red_set){.comm = comm,
                                .scheme = job->scheme,
                                .m = job->m,
                                .set = job->set,
                                .sets = job->sets,
                                .rank = job->members[part->place].rank,
                                .fs = job->fs,
                                .dir = part->dir,
                                .label = job->label,
                                .memory = job->memory,
                                .id = job->id,
                                .older = part->older};
}

static int look(const struct member *m, const struct vel_red_set *set,
                enum state *ret_state, struct vel_err *err)
{
    struct vel_vec found;
    bool holds = false;
    int rc = vel_fs_make_dirs(set->fs, set->dir, 0700, err);

    if (rc == 0)
        rc = vel_red_holds(set, &holds, err);
    *ret_state = holds ? HOLDS : m->part->is_empty ? READY : LACKS;
    if (rc < 0 || *ret_state != LACKS)
        return rc;
    rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &found, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < found.n; i++)
        if (vel_redfile_check_files(set->fs, set->dir,
                                    &vel_redfile_at(&found, i)->header, NULL) == 0)
            *ret_state = READY;
    vel_redfiles_fini(&found);
    return 0;
}

/* What all members must have been told alike, as a number. */
static int64_t sum_of(const struct vel_encode *job)
{
    static const uint8_t no_secret[VEL_SIPHASH_KEY] = "velocset";
    uint8_t words[64 + 4 * VEL_SET_MAX], mac[VEL_SIPHASH_LEN];
    struct vel_le_writer w;
    struct vel_le_reader r;

    vel_le_write_init(&w, words, sizeof words);
    vel_le_put_bytes(&w, job->id, VEL_ENCODING_ID);
    vel_le_put64(&w, (uint64_t)job->dataset);
    vel_le_put32(&w, job->set);
    vel_le_put32(&w, job->sets);
    vel_le_put32(&w, job->scheme);
    vel_le_put32(&w, (uint32_t)job->m);
    for (size_t i = 0; i < job->n; i++)
        vel_le_put32(&w, job->members[i].rank);
    vel_siphash(no_secret, words, sizeof words - w.left, mac);
    vel_le_read_init(&r, mac, sizeof mac);
    return (int64_t)(vel_le_get64(&r) >> 2);
}

/* What the least and the most of all have; *ret_who is the last of those that lack
 * their part. */
static int compare(const struct member *m, const struct vel_red_set *set,
                   enum state *ret_least, enum state *ret_most, size_t *ret_who,
                   struct vel_err *err)
{
    enum state mine = LACKS;
    int rc = look(m, set, &mine, err);
    int64_t sum = sum_of(m->job);
    int64_t all[] = {sum, -sum, -(int64_t)mine,
                     mine == LACKS ? (int64_t)m->part->place : -1, (int64_t)mine};

    rc = vel_comm_agree_fold(set->comm, rc, VEL_COMM_MAX, all, sizeof all / sizeof *all,
                             err);
    if (rc < 0)
        return rc;
    if (all[0] != sum || all[1] != -sum)
        return vel_fail(err, VEL_EINVAL,
                        "its members were told different things about it: identity, "
                        "scheme or ranks");
    *ret_least = (enum state) - all[2];
    *ret_most = (enum state)all[4];
    *ret_who = *ret_least == LACKS ? (size_t)all[3] % m->job->n : 0;
    return 0;
}

static int rebuild(const struct member *m, const struct vel_red_set *set, size_t who,
                   struct vel_err *err)
{
    bool is_ours = self(m) == &m->job->members[who];
    int rc;

    if (is_ours)
        vel_log(VEL_LOG_INFO,
                "restoring dataset %" PRId64 ": the part of rank %" PRIu32
                " from the others of its set",
                m->job->dataset, self(m)->rank);
    rc = vel_red_recover(set, NULL, err);
    if (rc == 0 && is_ours)
        vel_log(VEL_LOG_INFO,
                "restored the part of rank %" PRIu32 " of dataset %" PRId64
                ": it was rebuilt from the others of its set",
                self(m)->rank, m->job->dataset);
    /* of which there is nothing at all, more is lost than it bears as well */
    if (rc == VEL_ENOENT)
        rc = vel_fail(err, VEL_EINVAL, "no member has this encoding yet");
    return rc < 0
               ? vel_wrap(err, rc, "node %s lacks its part, and it cannot be rebuilt",
                          m->job->members[who].node)
               : 0;
}

static int work(struct member *m, struct vel_comm *comm, struct vel_err *err)
{
    const struct vel_encode_part *part = m->part;
    struct vel_red_set set = set_of(m->job, part, comm);
    enum state least = LACKS, most = LACKS;
    size_t who = 0;
    int rc = compare(m, &set, &least, &most, &who, err);

    set.saved = &m->saved;
    if (rc < 0)
        return rc;
    m->outcome = least == HOLDS   ? VEL_ENCODE_STOOD
                 : least == READY ? VEL_ENCODE_APPLIED
                                  : VEL_ENCODE_REBUILT;
    if (least == LACKS)
        return rebuild(m, &set, who, err);
    if (least == READY)
        rc = vel_red_apply_again(&set, 0, part->descriptor, part->descriptor_len, NULL,
                                 err);
    /* files that have changed since: those that hold the encoding know what they were
     */
    if (rc == VEL_ECORRUPT && most == HOLDS && vel_red_recover(&set, NULL, NULL) == 0) {
        m->outcome = VEL_ENCODE_REBUILT;
        rc = 0;
    }
    return rc;
}

/* --- the whole
 * ------------------------------------------------------------------------------ */

/* The place that a sentence of a communicator or a meeting names. In front of a cause
 * that was agreed on twice stands who told of it, and then whose it is. */
static bool find_place(const char *text, size_t n, size_t *ret_place)
{
    const char *at = strstr(text, "rank ");
    char *end = NULL;
    bool is_found = false;

    if (!at)
        at = strstr(text, "member ");
    for (; at && isdigit((unsigned char)at[strcspn(at, " ") + 1]);
         at = strncmp(end, ": rank ", 7) == 0 ? end + 2 : NULL) {
        *ret_place = strtoul(at + strcspn(at, " ") + 1, &end, 10);
        is_found = *ret_place < n;
    }
    return is_found;
}

/* Sentences name places in the set, or nobody when the failure is this member's; people
 * know nodes. */
static int tell(struct member *m)
{
    const struct vel_encode *job = m->job;
    const struct vel_encode_member *who = self(m);
    size_t place;

    if (find_place(m->err.text, job->n, &place))
        who = &job->members[place];
    if (!strstr(m->err.text, who->node) && !strstr(m->err.text, "node "))
        vel_wrap(&m->err, m->rc, "node %s (rank %u)", who->node, who->rank);
    return vel_wrap(&m->err, m->rc, "encoding set %u of dataset %lld", job->set,
                    (long long)job->dataset);
}

static void *take_part(void *arg)
{
    struct member *m = arg;
    struct vel_comm *comm = NULL;

    m->rc = meet(m, &comm, &m->err);
    if (m->rc == 0)
        m->rc = work(m, comm, &m->err);
    if (m->rc < 0)
        tell(m);
    vel_comm_destroy(comm);
    return NULL;
}

static int check(const struct vel_encode *job, struct vel_err *err)
{
    bool is_here[VEL_SET_MAX] = {false};

    if (job->n < 1 || job->n > VEL_SET_MAX || job->n_parts < 1 || job->n_parts > job->n)
        return vel_fail(err, VEL_EINVAL,
                        "set %u of dataset %lld: %zu members with %zu parts here; a "
                        "set has 1 to %d, and one of them here",
                        job->set, (long long)job->dataset, job->n, job->n_parts,
                        VEL_SET_MAX);
    for (size_t i = 0; i < job->n_parts; i++) {
        size_t place = job->parts[i].place;

        if (place >= job->n || is_here[place])
            return vel_fail(err, VEL_EINVAL,
                            "set %u of dataset %lld: place %zu of %zu is here twice, "
                            "or is none",
                            job->set, (long long)job->dataset, place, job->n);
        is_here[place] = true;
    }
    return 0;
}

static void start(struct member *m)
{
    int rc = vel_thread_start(&m->thread, take_part, m);

    m->has_thread = rc == 0;
    if (rc == 0)
        return;
    m->rc = vel_fail_errno(&m->err, rc, "starting a thread for a member");
    tell(m);
}

static void add_saved(struct vel_red_saved *to, const struct vel_red_saved *what)
{
    to->compared += what->compared;
    to->same += what->same;
    to->copied += what->copied;
    to->computed += what->computed;
}

int vel_encode_set(const struct vel_encode *job, enum vel_encode_outcome *ret_outcome,
                   struct vel_err *err)
{
    int rc = check(job, err);
    struct member *members = rc < 0 ? NULL : calloc(job->n_parts, sizeof *members);

    if (rc < 0)
        return rc;
    if (!members)
        return vel_out_of_memory(err, "encoding a set");
    for (size_t i = 0; i < job->n_parts; i++)
        members[i] = (struct member){.job = job, .part = &job->parts[i]};
    for (size_t i = 1; i < job->n_parts; i++)
        start(&members[i]);
    take_part(&members[0]);
    for (size_t i = 0; i < job->n_parts; i++) {
        if (members[i].has_thread)
            pthread_join(members[i].thread, NULL);
        if (rc == 0 && members[i].rc < 0)
            rc = vel_fail(err, (enum vel_status)members[i].rc, "%s",
                          members[i].err.text);
    }
    for (size_t i = 0; rc == 0 && job->saved && i < job->n_parts; i++)
        add_saved(job->saved, &members[i].saved);
    if (rc == 0)
        *ret_outcome = members[0].outcome;
    free(members);
    return rc;
}

int vel_encode_settle(const struct vel_encode *job, struct vel_err *err)
{
    int rc = check(job, err);
    int first = rc;

    for (size_t i = 0; rc == 0 && i < job->n_parts; i++) {
        const struct vel_red_set set = set_of(job, &job->parts[i], NULL);
        int one = vel_red_drop_older(&set, first == 0 ? err : NULL);

        first = first == 0 ? one : first;
    }
    return first;
}
