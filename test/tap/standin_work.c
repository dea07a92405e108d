/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stand-in does, one dataset after the other. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cache.h"
#include "meta/entry.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/crewlab.h"
#include "tap/crowd.h"
#include "tap/standin_in.h"
#include "tap/tap.h"

unsigned standin_owed(const struct standin *st, const struct one *d)
{
    (void)st;
    unsigned all = 0;

    for (int i = 0; i < RANKS_MOST; i++)
        all |= d->owed[i];
    return all;
}

/* --- promises on disk: a file of each rank, and of rank 0 the settlement --- */

static void promise_path(const char *dir, char path[TEXT])
{
    char *parent = vel_path_dir(dir);

    if (!parent)
        bail_out("no memory");
    snprintf(path, TEXT, "%s.owed.%s", parent, vel_path_base(dir));
    free(parent);
}

unsigned standin_load_promise(const char *dir)
{
    char path[TEXT];
    unsigned what = 0;
    FILE *f;

    promise_path(dir, path);
    f = fopen(path, "r");
    if (!f)
        return 0;
    if (fscanf(f, "%u", &what) != 1)
        what = 0;
    fclose(f);
    return what;
}

int standin_save_promise(struct standin *st, const char *dir, unsigned what,
                         struct vel_err *err)
{
    char path[TEXT], text[WORDS];

    promise_path(dir, path);
    if (!what)
        return vel_fs_unlink(st->fs, path, err);
    snprintf(text, sizeof text, "%u", what);
    return vel_fs_replace(st->fs, path, text, strlen(text), 0600, err);
}

/* --- the work --- */

struct job {
    struct standin *st;
    struct one *d;
    struct crewlab lab;
    struct vel_err err; /* rank 0's */
};

static int load(const struct job *job, int rank, struct vel_vec *red,
                struct vel_err *err)
{
    int rc = vel_redfile_scan(job->st->fs, job->d->dir[rank], VEL_CACHE_LABEL,
                              (uint32_t)rank, red, err);

    if (rc == 0 && !red->n)
        rc = vel_fail(err, VEL_ENOENT, "%s has no redundancy file", job->d->dir[rank]);
    return rc;
}

/* As the call would have done it. */
static int apply(const struct job *job, struct vel_comm *comm, struct vel_comm *set,
                 struct vel_err *err)
{
    const struct vel_seal *w = &job->d->whole;
    const struct vel_seal_member *own = vel_seal_member(w, (size_t)comm->rank);
    struct vel_red_set red = {.comm = set,
                              .all = comm,
                              .scheme = (enum vel_scheme)own->scheme,
                              .m = (size_t)own->failures,
                              .set = (uint32_t)own->set,
                              .sets = (uint32_t)vel_seal_sets(w),
                              .rank = (uint32_t)comm->rank,
                              .fs = job->st->fs,
                              .dir = job->d->dir[comm->rank],
                              .label = VEL_CACHE_LABEL};
    struct vel_vec before = {0};
    char **names = NULL;
    const struct vel_manifest *list;
    size_t n = 0;
    int rc = load(job, comm->rank, &before, err);

    if (rc == 0) {
        list = &vel_redfile_at(&before, 0)->header.list[0];
        names = calloc(list->files.n + 1, sizeof *names);
        for (size_t i = 0; names && i < list->files.n; i++)
            names[n++] = vel_manifest_file(list, i)->name;
        rc = names ? 0 : vel_out_of_memory(err, "encoding");
    } else {
        rc = vel_comm_agree(comm, rc, err);
        return rc;
    }
    rc = vel_comm_agree(comm, rc, err);
    if (rc == 0)
        rc = vel_red_apply(&red, names, n, list->descriptor.data, list->descriptor.len,
                           NULL, err);
    free(names);
    vel_redfiles_fini(&before);
    return rc;
}

static void note_why(struct job *job, const struct vel_comm *comm, int rc,
                     const struct vel_err *err)
{
    if (comm->rank == 0 && rc < 0)
        job->err = *err;
}

static int encode_member(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    const struct vel_seal_member *seat =
        vel_seal_member(&job->d->whole, (size_t)comm->rank);
    struct vel_comm *set = NULL;
    struct vel_err err = {0};
    int rc = vel_comm_split(comm, (int)seat->set, (int)seat->place, &set, &err);

    if (rc == 0)
        rc = apply(job, comm, set, &err);
    note_why(job, comm, rc, &err);
    vel_comm_destroy(set);
    return rc;
}

static int list_files(const struct job *job, int rank, struct vel_vec *files,
                      struct vel_err *err)
{
    struct vel_vec red = {0};
    int rc = load(job, rank, &red, err);

    for (size_t i = 0; rc == 0 && i < vel_redfile_at(&red, 0)->header.list[0].files.n;
         i++) {
        const struct vel_red_file *f =
            vel_manifest_file(&vel_redfile_at(&red, 0)->header.list[0], i);
        struct vel_flush_file file = {.from = vel_path_join(job->d->dir[rank], f->name),
                                      .listed = {.rank = rank,
                                                 .name = strdup(f->name),
                                                 .size = f->size,
                                                 .crc = f->crc,
                                                 .mode = 0644,
                                                 .container = -1}};

        if (!file.from || !file.listed.name || !vel_vec_push(files, &file))
            rc = vel_out_of_memory(err, "flushing");
    }
    vel_redfiles_fini(&red);
    return rc;
}

static int flush_member(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct crewlab_rank rank;
    struct vel_entry entry = {.dataset = job->d->whole.about};
    struct vel_vec files;
    struct vel_err err = {0};
    int rc = crewlab_join(&job->lab, comm, job->st->fs, &rank);

    vel_vec_init(&files, sizeof(struct vel_flush_file));
    if (rc < 0)
        return rc;
    rc = vel_comm_agree(comm, list_files(job, comm->rank, &files, &err), &err);
    if (rc == 0)
        rc = crewlab_move(&rank, &files, &entry);
    note_why(job, comm, rc, rank.err.status ? &rank.err : &err);
    vel_flush_files_fini(&files);
    crewlab_leave(&rank);
    return rc;
}

static int run(struct standin *st, struct one *d, bool is_flush, struct vel_err *err)
{
    struct job job = {.st = st,
                      .d = d,
                      .lab = {.nodes = 1, .packs = st->packs && !d->whole.is_plain}};
    int *failing = is_flush ? &st->failing_flushes : &st->failing_encodings;
    int rc = 0;

    if (*failing > 0) {
        --*failing;
        return vel_fail(err, VEL_EIO, "the stand-in was told to fail");
    }
    snprintf(job.lab.prefix, sizeof job.lab.prefix, "%s", st->prefix);
    snprintf(job.lab.dir, sizeof job.lab.dir, "%s", st->dir);
    pthread_mutex_unlock(&st->lock);
    if (crowd_run(d->whole.about.ranks, NULL, is_flush ? flush_member : encode_member,
                  &job, NULL) != 0)
        rc = vel_fail(err, job.err.status ? job.err.status : VEL_EIO, "%s",
                      job.err.status ? job.err.text : "a rank has failed");
    pthread_mutex_lock(&st->lock);
    return rc;
}

/* What was owed is done by all. */
static void keep(struct standin *st, struct one *d, unsigned what)
{
    for (int i = 0; i < d->whole.about.ranks; i++) {
        d->owed[i] &= ~what;
        standin_save_promise(st, d->dir[i], d->owed[i], NULL);
    }
    d->is_encoded |= what == VEL_OWE_ENCODE;
    d->is_flushed |= what == VEL_OWE_FLUSH;
    st->done.encoded += what == VEL_OWE_ENCODE;
    st->done.flushed += what == VEL_OWE_FLUSH;
}

static struct one *next(struct standin *st)
{
    struct one *least = NULL;

    for (size_t i = 0; !st->is_held && !st->is_dead && i < st->n; i++) {
        struct one *d = &st->all[i];

        if (standin_owed(st, d) && d->is_settled && !d->is_resting && !d->err.status &&
            (!st->is_lazy || d->waiters) && (!least || d->id < least->id))
            least = d;
    }
    return least;
}

void *standin_work(void *arg)
{
    struct standin *st = arg;

    pthread_mutex_lock(&st->lock);
    while (!st->is_over) {
        struct one *d = next(st);
        bool is_flush;
        int rc;

        if (!d) {
            pthread_cond_wait(&st->news, &st->lock);
            continue;
        }
        is_flush = !(standin_owed(st, d) & VEL_OWE_ENCODE);
        st->under_way = d;
        rc = run(st, d, is_flush, &d->err);
        st->under_way = NULL;
        if (rc == 0)
            keep(st, d, is_flush ? VEL_OWE_FLUSH : VEL_OWE_ENCODE);
        pthread_cond_broadcast(&st->news);
    }
    pthread_mutex_unlock(&st->lock);
    return NULL;
}
