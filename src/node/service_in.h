/* SPDX-License-Identifier: BSD-3-Clause */
/* service_in - what the files of a service share: service (life and loop), service_link
 * (connections), service_call (questions of workers to other leaders), service_launch
 * and service_dataset (records), service_seal (the records of seals), service_job
 * and service_stock (workers). All but calls is the loop thread's alone.
 */
#ifndef VEL_NODE_SERVICE_IN_H
#define VEL_NODE_SERVICE_IN_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "brain/leader.h"
#include "ident/endpoint.h"
#include "jobs/batches.h"
#include "jobs/encode.h"
#include "jobs/flushing.h"
#include "jobs/muster.h"
#include "jobs/placeholders.h"
#include "jobs/work.h"
#include "link/link.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "node/books.h"
#include "node/service.h"
#include "pull/pull.h"
#include "sys/fs_limit.h"
#include "topo/store.h"
#include "view/evidence.h"
#include "view/batch.h"
#include "view/view.h"
#include "xfer/paced.h"

/* A connection, under the number by which the brain knows it. */
struct vel_service_link {
    uint64_t number;
    struct vel_link *link;
    char *node;  /* that it was made to; NULL: it came */
    bool is_met; /* the brain knows it */
};

/* As in the message `place`. */
enum { VEL_AT_NONE, VEL_AT_HERE, VEL_AT_NATIVE, VEL_AT_LOST, VEL_AT_OTHERS };

/* Where a file is, as in the message `place`. */
struct vel_service_place {
    unsigned where;
    uint64_t
        file; /* of REMOVE its order; of CREATE 1: another node may have closed it */
    int64_t dataset;
    uint64_t size;
    char *path, *why;
};

/* A file that another leader has told of. */
struct vel_service_found {
    char *node, *path;
    int64_t id; /* of its dataset; INT64_MAX: of none yet, so it is newer */
    uint64_t size;
};

/* A copy of such a one, at `path`. */
struct vel_service_copy {
    char *name; /* as programs call it */
    char *node, *from;
    char *path;
};

/* A job that the brain has asked for. */
struct vel_service_job {
    struct vel_service *service;
    uint64_t number; /* the brain's */
    uint64_t work;   /* among the workers' */
    enum vel_leader_work what;
    struct vel_seal seal; /* id 0: no dataset's */
    int64_t owner, set, attempt;
    uint64_t rate;
    char *node; /* of RENAME: whose files; NULL: this one's */
    bool is_cancelled;
    struct vel_buf bytes; /* what it brings back; MARK: its record */
    uint64_t asker, seq;  /* the link whose question it answers, not the brain's; 0 */
    size_t piece;         /* of the answer */

    const struct vel_view *view; /* NULL: not there yet */

    /* of the connector's files */
    char *dir;  /* the batch of the file */
    char *name; /* as the process calls it */
    int64_t rank, order, size;
    int how;
    bool is_of_many; /* its template is known to have {rank}, or has it by a line */
    bool is_from_others;
    enum vel_leader_others others;  /* is it to be looked for on other nodes? */
    struct vel_service_place place; /* what it ends with */
    bool is_placed;
};

/* Who moves what is in a home, and how fast. */
struct vel_service_mover {
    const struct vel_line *line; /* STORE; NULL: it has none */
    int flush;                   /* enum vel_flush_type, or VEL_STORE_PLUGIN */
    struct vel_throttle device;
};

enum { VEL_SERVICE_TRANSPORTS = VEL_FLUSH_DATAWARP - VEL_STORE_PLUGIN + 1 };

/* A batch of this launch, by the number that the brain has for it. */
struct vel_service_part {
    int64_t number;
    char *dir;
    uint64_t bytes;
};

/* The newest sealed dataset of a template. */
struct vel_service_latest {
    char *template;
    struct vel_leader_previous previous;
};

struct vel_service {
    /* what it was told */
    struct vel_fs *fs;          /* where the loop never waits long for the prefix */
    struct vel_fs_limit *limit; /* that */
    struct vel_clock *clock;
    struct vel_host host;
    char *launch, *prefix, *dir, *launch_dir, *prefix_id, *named;
    char **homes;
    size_t n_homes;
    const struct vel_conf *conf;
    bool is_agent, is_guest;
    unsigned n_lonely;   /* looks in succession without a process anywhere */
    bool has_told_about; /* in the launch's directory */
    int64_t ranks;       /* of the launch; 0: not known */
    unsigned limit_ms, busy_ms;
    uint64_t memory; /* of an encoding's buffers */

    struct vel_role *role;
    struct vel_key key;
    struct vel_links *links;
    struct vel_leader *leader;
    struct vel_work *work;
    struct vel_books *books;
    int64_t nodes; /* that those have of this launch */
    struct vel_muster *muster;
    struct vel_flushing flushing;
    struct vel_over published, replaced; /* what that need not look at again */
    struct vel_service_mover *movers;    /* of each home */
    struct vel_paced_dir *paces;         /* the same homes with their throttles */
    size_t n_movers;
    struct vel_transport *transports[VEL_SERVICE_TRANSPORTS]; /* NULL: not needed */
    struct vel_endpoint endpoint;
    int64_t chair;    /* the number of this one while, or when, it is the chair */
    uint64_t term_at; /* when another term may be begun */
    bool is_out;      /* it is none any more, as it has found when it wanted one */
    struct vel_index *index;
    struct vel_seals *seals; /* of this launch */
    struct vel_view *view;

    struct vel_vec peers; /* struct vel_service_link *, by number */
    uint64_t last_number;
    struct vel_vec unreachable; /* char *: nodes of which the brain is to be told */
    struct vel_vec jobs;        /* struct vel_service_job * that are not over */
    struct vel_vec noted;       /* int64_t: datasets whose trouble was told */

    /* files of the connector */
    struct vel_batches **batches; /* of each home; workers use them, too */
    struct vel_vec parts;         /* struct vel_service_part */
    int64_t last_part;
    size_t many_parts;     /* so many are looked through for what is gone */
    struct vel_vec latest; /* struct vel_service_latest */
    bool has_latest, has_told_exposed, has_told_over; /* all older seals are read */
    bool is_first_chair, takes_jobs;                  /* its workers: not all hang */
    uint64_t told_spills, lines_used; /* bit i: files of level i go to another store;
                                         DATASET line i has had a file */
    char *stray;                      /* the first file that no line has */
    struct vel_vec written; /* char *: shapes of names that this launch may write */
    atomic_bool has_told_stays, has_thinned; /* what launches before left in caches */
    int64_t checkpoints;
    struct vel_ids ids, ids_over; /* of this launch; of one that is over: */
    char ids_launch[VEL_LAUNCH_ROOM];
    uint64_t *last_use; /* of each level, by what this chair has sealed; 0: never */
    int64_t above; /* the newest dataset when its first batch was made; -1: none was */
    uint64_t largest_part;
    struct vel_placeholders *placeholders; /* workers use it, too */
    struct vel_pulls *pulls;
    struct vel_givers *givers;

    uint64_t look_at; /* when: is a process here? */

    /* guards calls, copies, and links when its thread ends */
    pthread_mutex_t lock;
    struct vel_vec calls; /* struct vel_service_call * */
    uint64_t last_call;
    bool is_closed;        /* no more of them */
    struct vel_vec copies; /* struct vel_service_copy */
    uint64_t last_copy;
    uint64_t deaf_until; /* others are not asked before */

    pthread_t thread;
    pthread_cond_t over;
    atomic_bool is_asked_to_stop, is_over;
    bool is_resigning;
};

extern const struct vel_leader_ops vel_service_ops;

/* --- service_link --- */

extern const struct vel_links_ops vel_service_links_ops;
struct vel_service_link *vel_service_peer(const struct vel_service *service,
                                          uint64_t number);
/* A link to the leader of a node that is met or on its way; NULL: it cannot be. */
struct vel_service_link *vel_service_reach(struct vel_service *service,
                                           const char *node, struct vel_err *err);
void vel_service_tell_unreachable(struct vel_service *service);
void vel_service_connect(void *arg, const char *node);
void vel_service_send(void *arg, uint64_t link, const struct vel_msg *msg);
void vel_service_close(void *arg, uint64_t link);
void vel_service_forget_peers(struct vel_service *service);

/* --- service_life: who will not come any more --- */

/* What this machine's locks are asked by. */
struct vel_role_here vel_service_locks(const struct vel_service *service);
/* Has a node no endpoint in this launch? */
bool vel_service_has_left(struct vel_service *service, const char *node);
bool vel_service_is_gone(void *arg, const char *node);
bool vel_service_is_last(void *arg, struct vel_buf *ret_other);
void vel_service_left_nodes(void *arg, struct vel_roster *ret, uint64_t now);

/* --- service_launch: records of launches --- */

int vel_service_endpoint(void *arg, const char *present, struct vel_err *err);
int64_t vel_service_epoch(void *arg);
int vel_service_chair(void *arg, struct vel_leader_chair *ret, struct vel_err *err);
int vel_service_claim_chair(void *arg, int64_t term, struct vel_err *err);
/* Of the chair: can its term be written? Else it begins another one. */
int vel_service_keep_term(void *arg, struct vel_err *err);
int vel_service_beat(void *arg, int64_t count, const char *living, bool is_new,
                     struct vel_err *err);
int vel_service_is_ended(void *arg, bool *ret_is_ended, struct vel_err *err);
int vel_service_end(void *arg, struct vel_err *err);

/* A file or a dataset of that template was made. */
void vel_service_note_use(struct vel_service *service, const char *template);
/* Lines that had none, while there were files without a line: once, by the chair. */
void vel_service_tell_unused(struct vel_service *service);
int vel_service_over(void *arg, struct vel_buf *ret, struct vel_err *err);
int vel_service_others(void *arg, struct vel_vec *ret, struct vel_err *err);
int vel_service_end_other(void *arg, const char *launch, struct vel_err *err);
/* Has a launch an end, or is its directory gone? */
int vel_service_is_launch_over(struct vel_service *service, const char *launch,
                               bool *ret_is_over, struct vel_err *err);
/* Other launches that have an end, or have none, char *. */
int vel_service_ended(struct vel_service *service, struct vel_vec *ret,
                      struct vel_err *err);
int vel_service_living(struct vel_service *service, struct vel_vec *ret,
                       struct vel_err *err);
/* Seals of this verdict of other launches whose datasets are in caches only, but those
 * that give way, struct vel_seal. */
int vel_service_old_seals(struct vel_service *service, enum vel_verdict verdict,
                          struct vel_vec *ret, struct vel_err *err);

/* --- service_view --- */

int vel_service_make_view(void *arg, const struct vel_vec *held, struct vel_err *err);
int vel_service_load_view(void *arg, struct vel_err *err);
/* The sentence for a path where a stub of `launch` stands and the view has no name,
 * while it has datasets of which nobody has seen enough. */
void vel_service_say_unseen(const struct vel_service *service,
                            const struct vel_view *view, const char *path,
                            const char *launch, struct vel_buf *ret);
int vel_service_known(void *arg, struct vel_buf *ret, struct vel_err *err);

/* --- service_seal --- */

/* What is sealed of this launch, up to now. */
int vel_service_seals(struct vel_service *service, const struct vel_seals **ret,
                      struct vel_err *err);
/* For a launch that is over: of a key one counts, as of any. */
int vel_service_seal_again(struct vel_service *service, const char *launch,
                           struct vel_seal *const *seals, size_t n, bool *ret_are_ours,
                           struct vel_err *err);
int vel_service_seal(void *arg, struct vel_seal *seal, struct vel_err *err);

/* --- service_dataset, service_find: records of datasets --- */

int vel_service_owner(void *arg, int64_t id, int64_t *ret_newest, bool *ret_is_ours,
                      struct vel_err *err);
int vel_service_claim_owner(void *arg, int64_t id, int64_t *ret_owner,
                            struct vel_err *err);
int vel_service_entry(void *arg, const struct vel_seal *seal,
                      enum vel_place_on_prefix place, int64_t by, struct vel_err *err);
int vel_service_go_on(void *arg, const struct vel_seal *seal, struct vel_err *err);
/* Files that are staged get their names, on a worker: this node's share, or that of the
 * node that the job is for. */
int vel_service_name(const struct vel_service_job *job, struct vel_flush_job *flush,
                     struct vel_err *err);
int vel_service_is_dropped(void *arg, int64_t id, bool *ret_is_dropped,
                           struct vel_err *err);
bool vel_service_is_held(void *arg, int64_t id);
bool vel_service_is_before(void *arg, int64_t id);
bool vel_service_shares(void *arg, const struct vel_seal *seal,
                        const struct vel_seal *other, bool are_listed);
int vel_service_find(void *arg, enum vel_leader_look where, const struct vel_seal *of,
                     struct vel_vec *ret, struct vel_err *err);

/* --- service_promise: what this node owes --- */

/* All of it for a dataset: bits of enum vel_owed. */
unsigned vel_service_promised(struct vel_service *service, int64_t id);
int vel_service_owe(void *arg, const struct vel_msg_owe *owe, unsigned *ret_before,
                    struct vel_err *err);
int vel_service_forget(void *arg, int64_t id, unsigned what, struct vel_err *err);
void vel_service_failed(void *arg, int64_t id, const struct vel_err *why);

/* --- service_files, service_compose: files of the connector --- */

int vel_service_rule(void *arg, const char *name, struct vel_leader_rule *ret,
                     struct vel_err *err);
int vel_service_part_new(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                         struct vel_err *err);
int vel_service_part_renumber(void *arg, int64_t part, const struct vel_leader_key *key,
                              struct vel_err *err);
int vel_service_part_give(void *arg, const struct vel_leader_file *file, int64_t id,
                          struct vel_err *err);
/* What a leader of this launch before has had in the caches, before anything is asked.
 */
void vel_service_adopt(struct vel_service *service);
int vel_service_parts(void *arg, struct vel_vec *ret, struct vel_err *err);

/* --- service_family.c --- */
int vel_service_make_family(void *arg, const char *template,
                            struct vel_leader_family *family, struct vel_err *err);
int vel_service_family(void *arg, const char *template, struct vel_leader_family *ret,
                       struct vel_err *err);

/* --- service_writer.c --- */
int vel_service_writer(void *arg, const char *name, struct vel_err *err);

/* --- service_native.c --- */
int vel_service_note_native(void *arg, const struct vel_leader_key *key, int64_t rank,
                            const char *name, struct vel_err *err);
/* Those that were noted, appended to *ret as struct vel_leader_part. */
int vel_service_natives(const struct vel_service *service, struct vel_vec *ret,
                        struct vel_err *err);
/* The DATASET line of a template; NULL: none has it. */
const struct vel_line *vel_service_line(const struct vel_service *service,
                                        const char *template);
/* NULL: no such batch is known. */
struct vel_service_part *vel_service_part(const struct vel_service *service,
                                          int64_t part);
int vel_service_make_batches(struct vel_service *service, struct vel_err *err);
void vel_service_forget_batches(struct vel_service *service);
/* Those of the cache that a directory is in; NULL: it is in none of ours. */
struct vel_batches *vel_service_batches(const struct vel_service *service,
                                        const char *dir);

int vel_service_sealed(void *arg, const char *template, const char *step,
                       int64_t generation, int64_t *ret_id,
                       enum vel_verdict *ret_verdict, struct vel_err *err);
int vel_service_has_whole(void *arg, const char *template, const char *step,
                          int64_t generation, bool *ret_has, struct vel_err *err);
bool vel_service_is_promise(void *arg, const char *template);
int vel_service_previous(void *arg, const char *template,
                         struct vel_leader_previous *ret, struct vel_err *err);
int vel_service_compose(void *arg, struct vel_seal *seal,
                        const struct vel_leader_key *key, struct vel_err *err);
/* The same for a launch that is over. */
int vel_service_compose_for(struct vel_service *service, const char *launch,
                            struct vel_seal *seal, struct vel_err *err);
int vel_service_note_seal(struct vel_service *service, const struct vel_seal *seal,
                          bool is_ours, struct vel_err *err);
void vel_service_forget_latest(struct vel_service *service);

/* --- service_names, service_look, service_take: on a worker --- */

enum vel_beside {
    VEL_BESIDE_LOOK,
    VEL_BESIDE_READ,
    VEL_BESIDE_WRITE,
    VEL_BESIDE_HOME, /* to write it at its own path: nothing comes here */
    VEL_BESIDE_TURN, /* to write what a rank of another node has written in its turn */
};

extern const struct vel_flushing_names vel_service_names;
/* By the loop, before: where its file is, and what is told of it. */
int vel_service_note_file(struct vel_service_job *job,
                          const struct vel_leader_job *asked, struct vel_err *err);
int vel_service_create(struct vel_service_job *job, const struct vel_watch *watch,
                       struct vel_err *err);
int vel_service_close_file(struct vel_service_job *job, struct vel_err *err);
int vel_service_drop(struct vel_service_job *job, struct vel_err *err);
int vel_service_remove(struct vel_service_job *job, struct vel_err *err);
void vel_service_place_fini(struct vel_service_place *place);
/* Where is what stands at job->name? READ: it is brought here if need be; WRITE: also
 * that, but not what another leader has, who is about to replace it. */
int vel_service_look(struct vel_service_job *job, enum vel_beside how,
                     const struct vel_watch *watch, struct vel_service_place *ret,
                     struct vel_err *err);
/* The closed file of this node that is to replace what stands at `name`. VEL_ENOENT:
 * there is none. Any thread; the view may be NULL. */
int vel_service_here(struct vel_service *service, const struct vel_view *view,
                     const char *name, struct vel_service_place *ret,
                     struct vel_err *err);
int vel_service_take(struct vel_service_job *job, struct vel_err *err);
/* What launches that are over have left without having taken it. */
void vel_service_take_old(struct vel_service *service);

/* --- service_again: files that were never sealed --- */

/* On a worker: all on this node; struct vel_left. */
int vel_service_opened(struct vel_service *service, struct vel_vec *ret,
                       struct vel_err *err);
/* Batches of launches that are over, as those have left them: struct vel_batch. */
int vel_service_list_over(struct vel_service *service, struct vel_vec *ret,
                          struct vel_err *err);

/* Of launches that are over. */
int vel_service_left(struct vel_service *service, struct vel_vec *ret,
                     struct vel_err *err);
/* Of such, struct vel_batch *, those go that newer ones have replaced. */
int vel_service_drop_replaced(struct vel_service *service, const struct vel_vec *parts,
                              struct vel_err *err);
/* The chair: seal what is whole. nodes: struct vel_inventory. *ret_made: so many
 * datasets there are more, which nodes must take before they tell what they hold. */
int vel_service_again(struct vel_service *service, const struct vel_vec *nodes,
                      const struct vel_evidence *evidence, unsigned *ret_made,
                      struct vel_err *err);

/* --- service_job --- */

/* The parts that its seal names here, unless another has ended the launch. */
int vel_service_remove_parts(struct vel_service_job *job, struct vel_err *err);
void vel_service_start_job(void *arg, const struct vel_leader_job *asked);
void vel_service_cancel_job(void *arg, uint64_t number);
bool vel_service_is_busy(void *arg, int64_t id);
void vel_service_set_rate(void *arg, uint64_t number, uint64_t rate);
void vel_service_take_results(struct vel_service *service);
void vel_service_forget_jobs(struct vel_service *service);
/* Where the parts of a dataset are on this node, with what is promised for them; a new
 * string. NULL: nowhere (or no memory). */
char *vel_service_home_of(const struct vel_service *service, int64_t id);
/* Is it in one of this node's caches of the prefix? */
bool vel_service_is_ours(const struct vel_service *service, const char *dir);

/* --- service_errand: what launches before have left; by the loop --- */

/* A view was made. */
void vel_service_sweep(struct vel_service *service);
/* This dataset has come to the prefix: those of its name that launches before have kept
 * in the caches go, but for KEEP. */
void vel_service_evict_older(struct vel_service *service, int64_t id);

/* What is replaced, and not in the caches of this node any more, leaves no records. */
void vel_service_tidy(struct vel_service *service);

/* --- service_stock: what this node holds, for who tells people --- */

void vel_service_stock(struct vel_service *service, uint64_t link,
                       const struct vel_msg *ask);
void vel_service_stock_answer(struct vel_service_job *job, int rc,
                              const struct vel_err *why);

/* --- service_encode: on a worker --- */

int vel_service_encode(struct vel_service_job *job, const struct vel_work_job *how,
                       struct vel_err *err);
/* What a program says of a dataset. */
int vel_service_mark(struct vel_service_job *job, struct vel_err *err);
int vel_service_settle_encoding(struct vel_service_job *job, struct vel_err *err);

#endif
