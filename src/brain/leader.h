/* SPDX-License-Identifier: BSD-3-Clause */
/* leader - the brain of a node's leader in one launch: what it is told by its processes
 * and by other leaders, what it decides, writes, asks for and answers
 * (doc/protocol.txt, doc/life.txt).
 *
 * Deterministic: no thread, no socket, no file and no clock of its own. A shell
 * (node/service) gives it events, one at a time, and does what the ops say; the
 * simulator of test/unit/leader.c is another shell, with a virtual clock. Both tables
 * of states are driven here, and nowhere else.
 *
 * Names: a link is a connection that is met and proven, under a number of the shell's
 * that it never uses again. A node is reached over any link that leads to its leader.
 */
#ifndef VEL_BRAIN_LEADER_H
#define VEL_BRAIN_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "brain/roster.h"
#include "base/vec.h"
#include "brain/dataset_state.h"
#include "brain/launch_state.h"
#include "brain/messages.h"
#include "brain/seal.h"
#include "meta/index.h"
#include "meta/events.h"

struct vel_leader;

/* Who is at the other end of a link: as `hello` says it. */
enum vel_leader_role {
    VEL_ROLE_PROCESS,
    VEL_ROLE_LEADER,
    VEL_ROLE_TOOL,
};

struct vel_leader_peer {
    enum vel_leader_role role;
    const char *node;
    int64_t rank;   /* VEL_MSG_NO_RANK: none */
    uint64_t epoch; /* of a leader: one that is newer replaces what was there; 0: not
                       known */
};

/* Times are monotonic nanoseconds of one process. */
struct vel_leader_conf {
    const char *launch;
    const char *node;
    const char *named;        /* nodes that the launcher names, by blanks; "": none */
    uint64_t limit;           /* T */
    uint64_t view_limit;      /* VIEW_WAIT */
    uint64_t stall;           /* FLUSH_STALL */
    int64_t flush_width;      /* nodes that copy at a time; 0: all */
    uint64_t flush_bandwidth; /* bytes per second of the job; 0: no limit */
    uint64_t seal_after;      /* SEAL_AFTER */
    int64_t ranks;            /* of the launch; 0: not known */
    bool is_guest;            /* no process need ever be here */
    bool is_agent;            /* it outlives all processes */
    bool is_sync;             /* closes wait for the dataset that they make whole */
    size_t many;              /* so many datasets that are over are known; 0: 64 */
};

/* --- what the shell finds and is asked for --- */

/* The newest record chair.K. */
struct vel_leader_chair {
    int64_t term; /* K; 0: there is none */
    char node[201];
};

/* Another launch that has no end yet. */
struct vel_leader_other {
    char *launch;
    char *nodes;  /* of its node.* records, by blanks */
    char *living; /* where its chair knows processes, by blanks; NULL: not told */
    int64_t beat; /* the counter */
    bool is_new;  /* its chair may not have heard of all its nodes yet */
    bool is_left; /* some nodes have left it in good order, and none is there */
    bool lives;   /* the leader's: it has begun since it was first seen */
};

/* What a node told of its caches: one inventory, put together. */
struct vel_leader_held {
    const char *node;
    const void *record;
    size_t len;
};

/* A dataset that is found in records, when a leader begins or becomes the chair. Its
 * members have the nodes where their parts are now; a set with a part that is nowhere
 * is to be formed again (seal.again), the part's node then is where it is to be. */
struct vel_leader_found {
    struct vel_seal seal; /* the id is always set */
    struct vel_dataset_found found;
    bool is_here;  /* this node has parts of it */
    unsigned owed; /* what this node owes: bits of enum vel_owed */
    bool is_aside; /* of another launch, and not in the view, which is there */
};

/* Where to look for datasets. */
enum vel_leader_look {
    VEL_LOOK_OWED,  /* owed records of this node: what was promised here */
    VEL_LOOK_SEALS, /* seals of this launch, without what its entry says is over */
    VEL_LOOK_VIEW,  /* of the view: of older launches, what is not on the prefix yet */
    VEL_LOOK_ONE,   /* one dataset of this launch or of the view, whatever became of it,
                       or one set aside; none: it has no seal */
};

/* --- files of the connector --- */

/* What the settings say of a name. */
struct vel_leader_rule {
    bool is_native; /* KIND=NONE, or EXCLUDE: none of ours */
    bool is_there;  /* a line has it; else it is inferred what it belongs to */
    bool is_live;   /* if that is nothing: it is written at its own path */
    bool is_alone;  /* one file is all: PATTERN has neither {rank} nor * */
    char *template; /* the line's name and pattern; the leader frees both */
    char *step;     /* the text at {step}, or "" */
    size_t plain;  /* bytes of the name that are the prefix: no number in them counts */
    char why[256]; /* is_native */
};

/* What a launch knows of names that no line has: files of one family. */
struct vel_leader_family {
    int place;   /* of the rank, among the numbers of a name, from 1 */
    char *steps; /* none of the family: vel_guess_steps() */
};

/* What a batch is for. */
struct vel_leader_key {
    const char *template, *step;
    int64_t generation; /* of this launch: from 1 */
    bool is_alone;
    bool is_late; /* of files that came after the one before was sealed */
};

/* As in the message `place`. */
enum vel_leader_where {
    VEL_PLACE_NOWHERE = 0,
    VEL_PLACE_CACHE = 1,
    VEL_PLACE_NATIVE = 2,
    VEL_PLACE_LOST = 3,
    VEL_PLACE_ELSEWHERE = 4,
    VEL_PLACE_LIVE = 5,
};

/* A file in a batch. */
struct vel_leader_file {
    int64_t part;     /* N */
    int64_t rank;     /* whose; 0 for a process without one */
    const char *name; /* as the process calls it */
    int64_t order;    /* of closing, on this node: it only grows; 0: it is open */
    int64_t size;
    bool is_from_others; /* another node may have closed it before */
};

/* One that was found on disk. */
struct vel_leader_part {
    struct vel_leader_key key; /* its texts and those of `file` are the leader's */
    struct vel_leader_file file;
    char *path;     /* in the cache; the leader frees it */
    bool is_native; /* or it was noted: there is no such file */
    bool is_given;  /* a rank of another node has closed it later */
};

/* Who had files in the newest sealed dataset of a template. */
struct vel_leader_previous {
    int64_t id;
    bool is_ours;        /* of this launch; else of the view */
    int64_t ranks;       /* that the dataset has */
    struct vel_vec ones; /* struct vel_leader_one; the leader frees them */
};
struct vel_leader_one {
    int64_t rank, files; /* > 0 */
};

enum vel_leader_work {
    VEL_WORK_HOLD,   /* take the caches' lock (within T), tell what is there: bytes */
    VEL_WORK_ENCODE, /* one set; rebuilds the members that lack their part */
    VEL_WORK_SETTLE_ENCODING, /* told "encoded": older encodings go */
    VEL_WORK_COPY,            /* files of this node to temporary names of owner K */
    VEL_WORK_RENAME,          /* those get their names */
    VEL_WORK_REMOVE_TEMPS,    /* temporary files of this node, of owners up to K */
    VEL_WORK_REMOVE_PARTS,    /* under the caches' lock, if it is not over */
    VEL_WORK_MARK,            /* what a program says of a dataset: how, record */

    /* of the connector; whoever asks waits for these. Those that answer with a place
     * end by vel_leader_job_placed() */
    VEL_WORK_CREATE, /* map and file of `file` in a batch; how VEL_CREATE_OPEN: with
                        what stands at its name (cloned, pulled). Ends with a place: 1
                        and the path; 2 when it is better native (its directory is not
                        there: whoever opens it natively hears why). A file that is
                        there is begun anew. _IS_OPEN: a file that no batch has: where
                        it was taken to, a place with its dataset, or VEL_ENOENT */
    VEL_WORK_CLOSE,  /* an anchor or a stub at its name; then, how VEL_CLOSE_COMPLETE:
                        note size and order in `closed`. _VERSION: it stays open */
    VEL_WORK_DROP,   /* the file is given up: it goes from its batch, and so does its
                        placeholder, not what stands at its name of a newer one; how
                        VEL_DROP_NAME_STAYS: the process unlinks that itself */
    VEL_WORK_LOOK,   /* what stands at `name`? Ends with a place (0 to 3), or with
                        VEL_EBUSY: again later (no view yet, or a stub of ours) */
    VEL_WORK_REMOVE, /* `name` will be unlinked: whose placeholder stands there? Ends
                        with a place: file is its `order`, of a file in a batch; 0:
                        none of those */
    VEL_WORK_TAKE,   /* of a dataset with a key: what is owed, and all files of its
                        key whose order is not above member.upto become parts of
                        dataset.D, with links to those of seal.after that have no newer
                        one (of several with one name the last counts, the others go);
                        a member whose files are 0 gets an empty part. Then SINGLE
                        redundancy, synced. Other files, and open ones, stay
                        where they are. Done already: 0 */
};

enum { VEL_DROP_NAME_STAYS = 1 };

struct vel_leader_job {
    uint64_t number; /* never used again */
    enum vel_leader_work work;
    int64_t id;                  /* dataset */
    int64_t owner;               /* K: of copies */
    const char *node;            /* RENAME: whose files, its own or a lost node's */
    const struct vel_seal *seal; /* members; good until start() returns */
    int64_t set, attempt;        /* ENCODE */
    uint64_t rate;               /* COPY: bytes per second, 0: no limit */
    const struct vel_leader_file *file; /* CREATE, CLOSE, DROP; good as `seal` is */
    const struct vel_leader_key *key;   /* of it */
    const char *name;                   /* LOOK, REMOVE */
    struct vel_msg_bytes record;        /* MARK */
    int how; /* CREATE, CLOSE, LOOK, MARK: as in the message; DROP: as above */
};

/* Everything here returns at once. A function that fails has written nothing, or what
 * it has written says the same when it is called again. */
struct vel_leader_ops {
    /* --- links --- */

    /* Connect to a node's leader, by its endpoint record: vel_leader_met() follows, or
     * vel_leader_unreachable(). */
    void (*connect)(void *arg, const char *node);

    /* `msg` and what it points to are good until send() returns. */
    void (*send)(void *arg, uint64_t link, const struct vel_msg *msg);

    /* Forget it: no vel_leader_gone() follows. */
    void (*close)(void *arg, uint64_t link);

    /* --- records of the launch; VEL_EEXIST: somebody else has decided --- */

    /* node.NAME with the ranks that are here, or were ("4!": gone without a word). */
    int (*endpoint)(void *arg, const char *present, struct vel_err *err);
    /* Of this leader, once that is written: above all before it on this node. */
    int64_t (*epoch)(void *arg);
    int (*chair)(void *arg, struct vel_leader_chair *ret, struct vel_err *err);
    /* Has a node's leader left this launch in good order, so that it has no endpoint;
     * or do this machine's locks tell that nobody of the launch lives there any more?
     */
    bool (*is_gone)(void *arg, const char *node);
    /* Has no other node an endpoint that is not gone? Else which one has. */
    bool (*is_last)(void *arg, struct vel_buf *ret_other);
    /* Nodes that have left in good order, into the roster; one that has lost a rank is
     * none of them. */
    void (*left)(void *arg, struct vel_roster *ret, uint64_t now);
    /* Begin this term, exactly; VEL_EEXIST: it is there. */
    int (*claim_chair)(void *arg, int64_t term, struct vel_err *err);
    /* `living`: nodes that have processes, by blanks. */
    int (*beat)(void *arg, int64_t count, const char *living, bool is_new,
                struct vel_err *err);
    /* Is this launch over, or its directory gone? */
    int (*is_ended)(void *arg, bool *ret_is_ended, struct vel_err *err);
    int (*end)(void *arg, struct vel_err *err);

    /* --- other launches, and the view --- */

    /* Launches with a directory here and neither a held `lock` nor a held `alive`,
     * appended by blanks. */
    int (*over)(void *arg, struct vel_buf *ret, struct vel_err *err);
    /* Items struct vel_leader_other; the leader frees them. */
    int (*others)(void *arg, struct vel_vec *ret, struct vel_err *err);
    /* M is over, said for good. Done already: 0; VEL_EBUSY: it may live. */
    int (*end_other)(void *arg, const char *launch, struct vel_err *err);
    /* Nodes that inventories of restorable datasets name, appended by blanks. */
    int (*known)(void *arg, struct vel_buf *ret, struct vel_err *err);
    /* Make view.L of what was told (struct vel_leader_held). */
    int (*make_view)(void *arg, const struct vel_vec *held, struct vel_err *err);
    /* VEL_ENOENT: not there yet. From then on `look` can be answered. */
    int (*load_view)(void *arg, struct vel_err *err);

    /* --- datasets --- */

    /* Fill seal->encoding, make the record; *seal is what counts afterwards, also when
     * another was first; seal->owner: 1 when it is ours, else 0. */
    int (*seal)(void *arg, struct vel_seal *seal, struct vel_err *err);
    /* Items struct vel_leader_found; the leader frees them. LOOK_ONE: that with this id
     * and key; template NULL: its key is not known. */
    int (*find)(void *arg, enum vel_leader_look where, const struct vel_seal *of,
                struct vel_vec *ret, struct vel_err *err);
    /* Become owner K, one above the newest, which is 1 where nobody has. */
    int (*claim_owner)(void *arg, int64_t id, int64_t *ret_owner, struct vel_err *err);
    /* The newest of them, and whether a chair of this launch made it. */
    int (*owner)(void *arg, int64_t id, int64_t *ret_newest, bool *ret_is_ours,
                 struct vel_err *err);
    /* The entry, by owner K; by: the dataset that replaces it, 0: none. */
    int (*entry)(void *arg, const struct vel_seal *seal, enum vel_place_on_prefix place,
                 int64_t by, struct vel_err *err);
    /* Owner K goes on with what another has staged: its files have their names when
     * this returns, and the entry is K's. */
    int (*go_on)(void *arg, const struct vel_seal *seal, struct vel_err *err);
    int (*is_dropped)(void *arg, int64_t id, bool *ret_is_dropped, struct vel_err *err);
    /* Is anything of it in a cache of this node? */
    bool (*is_held)(void *arg, int64_t id);
    /* Has a launch before this one left it, which the view knows? */
    bool (*is_before)(void *arg, int64_t id);
    /* Do two datasets have a name on the prefix in common? By what this node has of
     * both; are_listed: by the lists of who has copied them, too, which are all there.
     */
    bool (*shares)(void *arg, const struct vel_seal *seal, const struct vel_seal *other,
                   bool are_listed);

    /* --- promises of this node --- */

    /* Just this is owed for a rank's part: bits of enum vel_owed; 4: as before. dir
     * ".": where it was. *ret_before: what was owed until now, be it to a launch that
     * is over. */
    int (*owe)(void *arg, const struct vel_msg_owe *owe, unsigned *ret_before,
               struct vel_err *err);
    /* They are kept, these bits of enum vel_owed. */
    int (*forget)(void *arg, int64_t id, unsigned what, struct vel_err *err);
    /* A background error that people must see: kept with what is owed, warned once. */
    void (*failed)(void *arg, int64_t id, const struct vel_err *why);

    /* --- files of the connector: caches and settings of this node --- */

    int (*rule)(void *arg, const char *name, struct vel_leader_rule *ret,
                struct vel_err *err);
    /* This launch is to write such a file, of all ranks and steps. VEL_EBUSY: another
     * one does so, and is not over. NULL: there are no others. */
    int (*writer)(void *arg, const char *name, struct vel_err *err);
    /* Make a batch. VEL_ENOSPC: no store has room now. */
    int (*part_new)(void *arg, const struct vel_leader_key *key, int64_t *ret_part,
                    struct vel_err *err);
    /* The batch belongs to this key now. */
    int (*part_renumber)(void *arg, int64_t part, const struct vel_leader_key *key,
                         struct vel_err *err);
    /* A rank of another node has closed this file later, of dataset `id` or (0) of none
     * yet. NULL: there are no others. */
    int (*part_give)(void *arg, const struct vel_leader_file *file, int64_t id,
                     struct vel_err *err);
    /* Items struct vel_leader_part: files of this launch in batches of this node. */
    int (*parts)(void *arg, struct vel_vec *ret, struct vel_err *err);
    /* A file of this key is written natively; parts() tells of it from now on. NULL: no
     * other leader will come. */
    int (*note_native)(void *arg, const struct vel_leader_key *key, int64_t rank,
                       const char *name, struct vel_err *err);

    /* --- what the chair of the connector's datasets writes and reads --- */

    /* Make it known to all chairs of this launch. When an earlier one has said
     * something of this template *family is replaced: that counts. */
    int (*make_family)(void *arg, const char *template,
                       struct vel_leader_family *family, struct vel_err *err);
    /* VEL_ENOENT: none has. */
    int (*family)(void *arg, const char *template, struct vel_leader_family *ret,
                  struct vel_err *err);

    /* The seal of a key of this launch: its id and verdict. VEL_ENOENT: none yet. */
    int (*sealed)(void *arg, const char *template, const char *step, int64_t generation,
                  int64_t *ret_id, enum vel_verdict *ret_verdict, struct vel_err *err);
    /* VEL_ENOENT: its first dataset. */
    int (*previous)(void *arg, const char *template, struct vel_leader_previous *ret,
                    struct vel_err *err);
    /* Is there a whole dataset of the same names, older than this generation: of this
     * launch, or of the view? */
    int (*has_whole)(void *arg, const char *template, const char *step,
                     int64_t generation, bool *ret_has, struct vel_err *err);
    /* Is it of a DATASET line that is a checkpoint: whole, or not there at all? */
    bool (*is_promise)(void *arg, const char *template);
    /* Claim an id: fills id, about, what, and of each member set, place, level, scheme,
     * failures. All else of the seal is there: a member for each rank, with its node,
     * files and bytes. PARTIAL: `what` says whether it is flushed; it is not encoded.
     */
    int (*compose)(void *arg, struct vel_seal *seal, const struct vel_leader_key *key,
                   struct vel_err *err);
    /* How many of the newest datasets of its template stay in its store when they are
     * safe; which store that is, by number. */
    int64_t (*keep)(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                    bool *ret_has_line);

    /* --- work: vel_leader_job_done() follows, unless it was cancelled --- */

    void (*start)(void *arg, const struct vel_leader_job *job);
    void (*cancel)(void *arg, uint64_t job);
    /* Does any job of the dataset still run, be it cancelled? */
    bool (*is_busy)(void *arg, int64_t id);
    void (*rate)(void *arg, uint64_t job, uint64_t rate);

    /* Something has happened that people may read; by the chair. NULL: nobody does. */
    void (*tell)(void *arg, const struct vel_event *event);

    /* --- this node --- */

    /* ping 1 and 2: a status. */
    int (*health)(void *arg, int what);
    /* Another wants the role: give the lock back after this turn. */
    void (*resign)(void *arg);
    /* Nothing is left to do: remove socket and endpoint, give the lock back. */
    void (*leave)(void *arg);
};

/* --- life --- */

/* `conf` is copied; `ops` and `arg` are borrowed. */
int vel_leader_create(const struct vel_leader_conf *conf,
                      const struct vel_leader_ops *ops, void *arg,
                      struct vel_leader **ret, struct vel_err *err);
void vel_leader_destroy(struct vel_leader *leader);

/* The lock is held: begin. What this node owes is looked for. */
void vel_leader_begin(struct vel_leader *leader, uint64_t now);

/* --- events; nothing is called while another call runs ---
 *
 * The process that a leader is a thread of counts as any other: there is a link to it,
 * by which it is met and gone. A leader whose last process is gone drains and leaves.
 */

/* What the time is; does what is due. Before every other event. */
void vel_leader_tick(struct vel_leader *leader, uint64_t now);

/* When vel_leader_tick() has something to do at the latest. */
uint64_t vel_leader_due(const struct vel_leader *leader);

void vel_leader_met(struct vel_leader *leader, uint64_t link,
                    const struct vel_leader_peer *peer);
void vel_leader_unreachable(struct vel_leader *leader, const char *node);

/* Who is there has pulled a piece of a part from here, and will go on. */
void vel_leader_asked(struct vel_leader *leader, uint64_t link);
void vel_leader_gone(struct vel_leader *leader, uint64_t link);

/* No process of the launch lives on this node: none will say that it leaves. Nothing
 * when one has been here; it may be said again and again. */
void vel_leader_deserted(struct vel_leader *leader);

/* Of the kinds of the way `peer` the shell keeps what is its own (meet, want). */
void vel_leader_message(struct vel_leader *leader, uint64_t link,
                        const struct vel_msg *msg);

/* rc and its sentence; bytes: of HOLD. */
void vel_leader_job_done(struct vel_leader *leader, uint64_t job, int rc,
                         const struct vel_err *why, const void *bytes, size_t len);

/* A job has ended with a place (CREATE, LOOK, REMOVE). */
void vel_leader_job_placed(struct vel_leader *leader, uint64_t job,
                           const struct vel_msg_place *place);

/* A job has moved so many bytes since it was last told. */
void vel_leader_job_moved(struct vel_leader *leader, uint64_t job, uint64_t bytes);

/* It is stopped, and not because it has left: nothing is called for it any more. */
void vel_leader_stop(struct vel_leader *leader);

/* --- to look at --- */

/* 0; or why it cannot go on (out of memory): the shell gives the role up. */
int vel_leader_status(const struct vel_leader *leader, struct vel_err *err);
enum vel_launch_state vel_leader_state(const struct vel_leader *leader);
bool vel_leader_is_chair(const struct vel_leader *leader);
/* Nobody here needs it, and this node owes nothing: that the launch ends is no loss. */
bool vel_leader_is_done(const struct vel_leader *leader);
int64_t vel_leader_term(const struct vel_leader *leader);
/* Of its nodes, as the chair knows them, those that processes were on. */
int64_t vel_leader_nodes(const struct vel_leader *leader);
/* Have all ranks of which the chair knows left in good order? */
bool vel_leader_has_ended_well(struct vel_leader *leader);

/* May other nodes of the launch have a file of this name that is closed and not yet on
 * the prefix? As far as this leader was told. */
enum vel_leader_others {
    VEL_OTHERS_NONE,
    VEL_OTHERS_ELSE, /* if this node has none */
    VEL_OTHERS_ALSO, /* a newer one, for any of them may write it */
};
enum vel_leader_others vel_leader_others(const struct vel_leader *leader,
                                         const char *name);
/* A rank of another node closes a file of this name now, and has it: what ranks of this
 * node have closed of it is none of its dataset; if that is decided, none of one after
 * it. */
int vel_leader_give(struct vel_leader *leader, const char *name, struct vel_err *err);
/* So many files that are datasets by themselves, the newest, stay in the caches when
 * they are on the prefix. */
int64_t vel_leader_by_itself(int64_t ranks);
/* Has a process of this node ended without a word? */
bool vel_leader_has_lost(const struct vel_leader *leader);
enum vel_dataset_state vel_leader_dataset(const struct vel_leader *leader, int64_t id);

#endif
