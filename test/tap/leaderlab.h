/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab - a world for leaders (brain/leader.h): nodes with caches, one prefix in
 * memory, messages that take their time, processes that make checkpoints, and whatever
 * may befall them. Time is virtual and chance is seeded: a run repeats exactly.
 *
 * Rank r is at home on node r; sets are of four ranks, one of which may be lost.
 */
#ifndef TEST_TAP_LEADERLAB_H
#define TEST_TAP_LEADERLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "tap/rng.h"
#include "base/vec.h"
#include "brain/leader.h"

enum {
    LAB_NODES = 64,
    LAB_LAUNCHES = 3,
    LAB_DATASETS = 64, /* bits */
    LAB_OWNERS = 64,
    LAB_LEADERS = 512,
    LAB_TERMS = 256,
    LAB_GROUPS = 2, /* datasets of one group have the same names on the prefix */
    LAB_SET = 4,
    LAB_NAME = 48,
    LAB_STEPS = 8,
};

#define LAB_T UINT64_C(1000000000) /* PEER_TIMEOUT */
#define LAB_MS UINT64_C(1000000)
#define LAB_BIT(i) (UINT64_C(1) << (i))

/* A rule of the protocol, taken away. */
enum lab_fault {
    LAB_RIGHT,
    LAB_END_BLIND,   /* nobody looks for the end of its launch */
    LAB_LIST_FIRST,  /* seals are listed before the end is made */
    LAB_SHARES_NOT,  /* nobody knows which datasets have the same names */
    LAB_TEMP_SHARED, /* temporary names without the owner's number */
};

struct lab_cache { /* of a node, of one dataset: bits are ranks */
    uint64_t here, red;
    unsigned owed;
};

/* What a key says (struct vel_leader_key), with room for its texts. */
struct lab_key {
    char template[LAB_NAME], step[LAB_NAME];
    int64_t generation;
    bool is_alone, is_late;
};

/* A file of the connector: in a batch of a node, or of a dataset. What is in it is a
 * number that grows with each create: its size. */
struct lab_file {
    int launch;
    struct lab_key key;
    int64_t part, rank, order, stamp;
    char name[LAB_NAME];
};

/* What stands at a path of the prefix. */
struct lab_name {
    char name[LAB_NAME];
    int64_t stamp; /* that was published; 0: none */
    bool is_native;
    int64_t closed;  /* the newest whose close was answered with yes */
    int64_t removed; /* all up to this */
};

struct lab_node {
    bool is_alive;
    struct vel_vec files; /* struct lab_file */
    struct vel_vec parts; /* struct lab_key: keys of batches 1, 2 ... */
    struct lab_cache caches[LAB_DATASETS];
};

struct lab_launch {
    bool is_begun, is_ended, has_view;
    int chairs[LAB_TERMS]; /* node + 1 */
    int64_t beat;
    bool is_new;           /* as the beat tells */
    uint64_t living;       /* nodes, for its chair */
    uint64_t nodes, left;  /* that have an endpoint, or had until they left */
    uint64_t lost;         /* of those, that a rank has vanished from */
    uint64_t listed, view; /* bits are datasets */
};

struct lab_entry {
    bool is_there, is_encoded;
    enum vel_place_on_prefix place;
    int64_t by;
};

struct lab_dataset {
    int launch;
    bool is_sealed, is_dropped;
    bool is_keyed; /* of the connector */
    enum vel_verdict verdict;
    struct lab_key key;
    struct vel_vec files; /* struct lab_file, of all its parts */
    struct vel_buf seal;
    int64_t owner;
    int owner_launch;
    struct lab_entry entries[LAB_OWNERS];
    uint64_t temps[LAB_OWNERS], renamed; /* bits are ranks */
    bool is_complete;                    /* the program was told so */
    bool is_refused;
    bool is_awaited; /* by a close that has made it whole */
    uint64_t told;   /* to nodes that it is encoded */
    uint64_t events; /* bits are kinds: that people were told of */
};

struct lab_leader {
    struct lab *lab;
    int node, launch;
    uint64_t epoch;
    struct vel_leader *leader;
    bool is_alive, has_left;
    uint64_t thaws; /* frozen until then */
};

struct lab_link { /* its number is its place + 1 */
    int ends[2];  /* leaders; the second may be a process: -1 - its place */
    bool is_open[2];
    uint64_t last[2]; /* nothing is delivered to that end before */
};

struct lab_process {
    int launch, node;
    bool is_alive;
    bool is_leaving;             /* when it has met the leader that it waits for */
    int link;                    /* place + 1; 0: none */
    uint64_t owes, owe_answered; /* bits are datasets */
    uint64_t rests;              /* of these it was told that they rest */
    int settles;                 /* dataset that it settles; 0: none */

    /* a writer of files */
    int step, nth;   /* the file that it is at */
    int phase;       /* enum lab_phase */
    bool is_met;     /* its leader; what it asks before waits */
    bool is_telling; /* it which file it has open */
    bool is_asking;
    uint64_t file;  /* that it has open */
    int64_t stamp;  /* 0: native */
    int64_t awaits; /* the dataset that its last close has made whole */
    char name[LAB_NAME];
};

struct lab_job {
    int leader;
    struct vel_leader_job job; /* without its seal */
    struct vel_seal seal;
    uint64_t members; /* ENCODE: nodes of its set */
    struct lab_file file;
    bool is_going;
    bool is_over;
};

struct lab {
    int nnodes;
    bool has_locks; /* that tell who is dead: all nodes are virtual, on one machine */
    enum lab_fault fault;
    struct vel_rng rng;
    uint64_t now, order;
    struct lab_node nodes[LAB_NODES];
    struct lab_launch launches[LAB_LAUNCHES];
    struct lab_dataset datasets[LAB_DATASETS]; /* by id; 0 is none */
    int64_t groups[LAB_GROUPS][LAB_NODES]; /* which of them has the name of a rank */
    struct lab_leader leaders[LAB_LEADERS];
    int nleaders;
    struct vel_vec links;     /* struct lab_link */
    struct vel_vec events;    /* struct lab_event, a heap */
    struct vel_vec jobs;      /* struct lab_job */
    struct vel_vec processes; /* struct lab_process */
    struct vel_leader_conf conf;
    int program;   /* the launch whose processes make checkpoints */
    unsigned what; /* that checkpoints owe */
    bool encodes;  /* the program protects them itself */
    int64_t last_id;
    int64_t making;           /* the dataset that the program makes; 0: none */
    int checkpoints;          /* still to make */
    bool drains;              /* processes wait for what is owed before they leave */
    uint64_t pause;           /* of the program between two, at most */
    int errors;               /* per cent of jobs that fail */
    bool is_promise;          /* what is by a rule is a checkpoint */
    uint64_t failing;         /* nodes whose ranks do not leave in good order */
    bool is_quiet;            /* nobody may tell of trouble while no job fails */
    uint64_t sent[LAB_NODES]; /* messages between leaders, by sender */
    uint64_t heard[LAB_NODES];
    uint64_t unread_until; /* what is found of datasets cannot be read before */
    uint64_t blind_until;  /* nor whether a launch is over */
    uint64_t damaged;      /* datasets whose seals nobody can read any more */
    uint64_t barren;       /* nodes whose claims get a title, and no begin */
    uint64_t rolls; /* how often seals of launches before were read for who is known */

    /* files of the connector */
    struct vel_map *families; /* launch and template; struct vel_leader_family * */
    const struct lab_script *script;
    struct vel_vec names; /* struct lab_name */
    struct vel_vec voids; /* struct lab_file: keys */
    int64_t stamps;
    int surprised;    /* leaders that had more to do when their launch was over */
    int refusals;     /* of closes: their processes copy what is in a cache */
    int unsealed;     /* closes that were told that their dataset cannot be sealed */
    int removes;      /* ranks unlink their file of so many steps before; 0: never */
    int marks_left;   /* that are not answered */
    uint64_t claimed; /* datasets that another launch has claimed: for marks */
    uint64_t marked;  /* datasets of which one is done */
    int vain;         /* waits that have ended by their limit */
    char vainly[160]; /* the first of them */
    char wrong[512];  /* the first property that does not hold; "" */
};

/* --- the world --- */

void lab_create(struct lab *lab, uint64_t seed, int nodes, enum lab_fault fault);
void lab_destroy(struct lab *lab);

/* A launch with a process, and a leader, on each of these nodes (bits). */
void lab_launch(struct lab *lab, int launch, uint64_t nodes);

/* The processes of a launch make so many checkpoints, then they leave. */
void lab_program(struct lab *lab, int launch, int checkpoints, unsigned what);

/* A process leaves; in good order, unless its node is a failing one. */
void lab_end_process(struct lab *lab, int i);

/* A process of a launch asks that a dataset rests. */
void lab_rest(struct lab *lab, int launch, int node, int64_t id);

/* One says what becomes of a dataset (jobs/mark.h): lab->marks_left, lab->marked. */
void lab_mark(struct lab *lab, int launch, int node, int64_t id, bool waits);

/* A connection between two leaders breaks, with what is under way on it. */
void lab_cut(struct lab *lab);

/* Let time pass, at most until then; false: something is wrong. */
bool lab_run(struct lab *lab, uint64_t until);

/* What ranks write: the name of a rank's nth file in a step; false: no such file. */
struct lab_script {
    int steps, most; /* files of a rank in a step, at most */
    bool (*name)(int rank, int step, int nth, char *ret, size_t size);
    uint64_t write, pause; /* time to write one, and before the next, at most */
    bool is_together;      /* nobody leaves before all have written */
};

/* The processes of a launch write files, then they wait for what is owed and leave. */
void lab_write(struct lab *lab, int launch, const struct lab_script *script);

/* No file of a partial dataset of that template is at its path, or it is wrong. */
void lab_none_by_half(struct lab *lab, const char *template);

/* All its names are those of the newest whole dataset of that template. */
void lab_of_newest(struct lab *lab, const char *template);

/* of its requests: and the dataset */
enum { LAB_REST = 1 << 21, LAB_MARK = 1 << 22 };

/* --- what befalls it --- */

/* The leader's process dies, and another of the node takes the role; nothing happens
 * when there is no other. */
void lab_kill_leader(struct lab *lab, int node, int launch);
void lab_kill_node(struct lab *lab, int node);
void lab_freeze(struct lab *lab, int node, int launch, uint64_t time);
/* A node's process; its leader goes on, as an agent's. */
void lab_kill_process(struct lab *lab, int node, int launch);
void lab_kill_processes(struct lab *lab, int launch, bool with_leaders);
void lab_end_launch(struct lab *lab, int launch);
void lab_revive_node(struct lab *lab, int node);

/* --- what became of it --- */

void lab_is_wrong(struct lab *lab, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* No wait has ended by its limit, where locks tell who is dead. */
void lab_nobody_awaited(struct lab *lab);

/* The leader of a launch on a node that lives, or NULL. */
struct lab_leader *lab_leader_of(struct lab *lab, int node, int launch);
const struct lab_entry *lab_entry(const struct lab *lab, int64_t id);
bool lab_is_over(const struct lab *lab, int64_t id);
int lab_go_on(void *leader, const struct vel_seal *seal, struct vel_err *err);
/* A copy that begins. */
void lab_check_copy(struct lab *lab, const struct vel_leader_job *job);

/* With what is in the caches of these nodes, or on the prefix. */
bool lab_is_restorable(struct lab *lab, int64_t id, uint64_t nodes);

/* --- between the lab's own files --- */

enum lab_event_kind {
    LAB_DELIVER,
    LAB_GONE,
    LAB_MET,
    LAB_UNREACHABLE,
    LAB_DONE,
    LAB_BEGIN,
    LAB_CONNECT,
    LAB_CHECKPOINT,
    LAB_WRITER,
};

struct lab_event {
    uint64_t at, order;
    enum lab_event_kind kind;
    int leader, link, end, node, launch; /* what of these it needs */
    uint64_t job;
    void *bytes;
    size_t len;
};

extern const struct vel_leader_ops lab_ops;
void lab_get_seal(const struct lab *lab, int64_t id, struct vel_seal *ret);

/* Does it count: is its seal listed, or does its launch live on? */
bool lab_is_listed(const struct lab *lab, int64_t id);
int lab_find(void *arg, enum vel_leader_look where, const struct vel_seal *of,
             struct vel_vec *ret, struct vel_err *err);
bool lab_is_held(void *arg, int64_t id);
bool lab_is_before(void *arg, int64_t id);
struct lab_link *lab_link_at(const struct lab *lab, int number);
bool lab_has_process(const struct lab *lab, int node, int launch);
bool lab_is_gone(void *arg, const char *node);
bool lab_is_last(void *arg, struct vel_buf *ret_other);
void lab_listen(struct lab *lab);
/* Another launch has claimed what the job is for. */
bool lab_is_rivalled(const struct lab *lab, const struct lab_job *job);
void lab_left(void *arg, struct vel_roster *ret, uint64_t now);
int lab_over(void *arg, struct vel_buf *ret, struct vel_err *err);

/* The leader is gone, and the others see it after a while. */
void lab_bury(struct lab_leader *of, uint64_t delay);
void lab_post(struct lab *lab, const struct lab_event *event, uint64_t delay);
uint64_t lab_chance(struct lab *lab, uint64_t least, uint64_t most);
void lab_send(struct lab *lab, int link, int from, const struct vel_msg *msg);
void lab_close(struct lab *lab, int link, int end, uint64_t delay);
void lab_connect(struct lab_leader *from, const char *node);
void lab_start(struct lab_leader *of, const struct vel_leader_job *job);
void lab_cancel(struct lab_leader *of, uint64_t job);
void lab_job_event(struct lab *lab, const struct lab_event *event);
void lab_job_lost(struct lab *lab, int leader);
void lab_next_checkpoint(struct lab *lab);
void lab_process_hear(struct lab *lab, int process, const struct vel_msg *msg);
void lab_process_connect(struct lab *lab, int process);
void lab_process_met(struct lab *lab, int process, int link);
void lab_process_lost(struct lab *lab, int process);

/* files */
void lab_set_key(struct lab_key *ret, const struct vel_leader_key *key);
bool lab_is_key(const struct lab_key *key, const char *template, const char *step,
                int64_t generation);
struct lab_name *lab_name(struct lab *lab, const char *name);
void lab_publish(struct lab *lab, int64_t id, int64_t rank);
bool lab_shares(const struct lab *lab, int64_t id, int64_t other);
bool lab_is_taken(const struct lab *lab, int64_t id, int64_t rank);
void lab_file_copy(struct lab_file *ret, const struct vel_leader_job *job);
int lab_file_work(struct lab *lab, struct lab_job *job, struct vel_msg_place *ret);
void lab_take_old(struct lab *lab, int node, int launch);
bool lab_file_seal(struct lab_leader *of, struct vel_seal *seal);
void lab_files_fini(struct lab *lab);
void lab_writer_event(struct lab *lab, int process);
bool lab_writer_hear(struct lab *lab, int process, const struct vel_msg *msg);
void lab_writer_met(struct lab *lab, int process);
void lab_leave_one(struct lab *lab, int process);

int lab_rule(void *arg, const char *name, struct vel_leader_rule *ret,
             struct vel_err *err);
int lab_part_new(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                 struct vel_err *err);
int lab_part_renumber(void *arg, int64_t part, const struct vel_leader_key *key,
                      struct vel_err *err);
int lab_parts(void *arg, struct vel_vec *ret, struct vel_err *err);
int lab_make_family(void *arg, const char *template, struct vel_leader_family *family,
                    struct vel_err *err);
int lab_family(void *arg, const char *template, struct vel_leader_family *ret,
               struct vel_err *err);
int lab_sealed(void *arg, const char *template, const char *step, int64_t generation,
               int64_t *ret_id, enum vel_verdict *ret_verdict, struct vel_err *err);
int lab_previous(void *arg, const char *template, struct vel_leader_previous *ret,
                 struct vel_err *err);
bool lab_is_promise(void *arg, const char *template);
int lab_has_whole(void *arg, const char *template, const char *step, int64_t generation,
                  bool *ret_has, struct vel_err *err);
int lab_compose(void *arg, struct vel_seal *seal, const struct vel_leader_key *key,
                struct vel_err *err);
int64_t lab_keep(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                 bool *ret_has_line);

const char *lab_node_name(int node);
int lab_node_of(const char *name);

#endif
