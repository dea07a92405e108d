/* SPDX-License-Identifier: BSD-3-Clause */
/* leader_in - what the brain's files share: leader (links, time, messages), launch (its
 * table), look (for chairs and ends), round (to the view), tree (up and down), lead
 * (datasets), chair (who leads one), part (every node), serve (processes). */
#ifndef VEL_BRAIN_LEADER_IN_H
#define VEL_BRAIN_LEADER_IN_H

#include "base/buf.h"
#include "base/map.h"
#include "brain/leader.h"
#include "brain/links_in.h"
#include "brain/roster.h"

#define VEL_NEVER UINT64_MAX
#define VEL_LOOK_EVERY UINT64_C(100000000) /* ns: for a chair */

/* Stands for the template of datasets of the API: no file has this cached name. */
#define VEL_API_TEMPLATE "@dataset"

enum { VEL_ATTEMPTS = 5 }; /* to encode, before it is flushed instead */
/* What nodes are done with; a message has 1 more, 4 is failed. */
enum vel_step_done { VEL_DID_ENCODE, VEL_DID_COPY, VEL_DID_RENAME, VEL_DID_STEPS };
enum { VEL_DONE_FAILED = 4 };

/* As in the message `step`. */
enum vel_step_told {
    VEL_TELL_ENCODED = 1,
    VEL_TELL_FLUSH = 2,
    VEL_TELL_PUBLISH = 3,
    VEL_TELL_FLUSHED = 4,
    VEL_TELL_RETREAT = 5,
    VEL_TELL_SUPERSEDED = 6,
    VEL_TELL_EVICT = 7,
    VEL_TELL_SHARE = 8,
    VEL_TELL_TAKEN = 9,
};

/* What is to be told to the parent. */
struct vel_lead_up {
    struct vel_buf nodes;
    uint64_t attempt; /* what is said of an older one is void */
    unsigned reports; /* of children, and of this node */
};

/* A dataset, as this leader knows it. */
struct vel_lead {
    int64_t id;
    enum vel_dataset_state state;
    struct vel_seal seal;
    bool has_seal;
    struct vel_map *nodes; /* of its members */

    /* this node's part */
    bool is_here;
    bool is_aside;   /* cannot be restored in this launch: nothing is done for it */
    bool is_taken;   /* nor for what a newer owner has, of another launch */
    bool has_parts;  /* of the connector: TAKE is done */
    bool has_more;   /* it is done again: more parts belong here now */
    bool is_removed; /* its parts go, or are gone */
    unsigned owed;   /* bits of enum vel_owed that are promised here */
    bool did[VEL_DID_STEPS];
    struct vel_vec sets; /* int64_t: that are to be encoded in this attempt */
    size_t sets_left;    /* of those */
    int64_t attempt;     /* that was begun; -1: none */
    int64_t copy_owner;  /* for whom it was copied */
    int64_t upto;
    uint64_t rate;
    uint64_t bytes, moved;
    int status; /* of what failed last */
    char *text;

    /* when it leads */
    bool is_led;
    bool is_introduced; /* all who were here have been told of it */
    bool is_staged;
    bool is_told;    /* its state, to all */
    bool is_broken;  /* an attempt to encode has failed, or a member is lost */
    bool is_retreat; /* it is encoded since a flush was taken back; all are told */
    bool is_evicted;
    int64_t by;                          /* the dataset that replaces it */
    struct vel_map *done[VEL_DID_STEPS]; /* nodes */
    unsigned attempts, failures;         /* as the chair has heard of */
    uint64_t retry_at, delay, since;     /* that it is in its state; 0: not known */
    int64_t copying;                     /* nodes that were last told a share */

    struct vel_lead_up up[VEL_DID_STEPS];
};

struct vel_leader_task {
    uint64_t number;
    enum vel_leader_work work;
    int64_t id;
    int64_t attempt;
    char *node;    /* RENAME for another */
    uint64_t file; /* of the connector's; how as in the job */
    int how;
};

/* A request that is answered later. */
struct vel_leader_wait {
    uint64_t link, seq;     /* link 0, of MARK: it is answered */
    enum vel_msg_kind kind; /* OWE, SETTLE, DRAIN, PING, MARK, or of a file */
    int64_t id;
    uint64_t passed_on;       /* seq of it to the chair; 0: not */
    uint64_t since, moves_at; /* next sign of life */
    uint64_t patience;        /* DRAIN: while nothing moves */
    uint64_t failures;        /* and until it has failed so often; 0: for ever */
    char *record;             /* SETTLE, MARK; of OWE the directory; a name */
    size_t len;
    struct vel_msg_owe owe;

    /* of files, and how of MARK and DRAIN */
    int how;
    int64_t rank;
    uint64_t size;
    uint64_t file, job;     /* its number, and what it waits for */
    uint64_t again_at;      /* not before; DRAIN: 0, or when it is looked for again */
    bool is_done, is_whole; /* closed, not sealed; the chair says that it will be */
    int64_t count;          /* CREATE: how often the process has done so, with this */
    bool is_noted;          /* and nobody knows of a family: live */
};

/* Who has missed what became of a dataset; link 0: this node. */
struct vel_leader_ask {
    int64_t id;
    uint64_t link;
};

/* To leave in order, the chair is asked. */
struct vel_parting {
    uint64_t since; /* 0: not yet */
    uint64_t link, seq, again_at;
    bool is_let;
};

enum vel_leader_timer {
    VEL_TIMER_LOOK,  /* for a chair */
    VEL_TIMER_BEAT,  /* of the chair */
    VEL_TIMER_CHECK, /* for ends and tombstones */
    VEL_TIMER_ROLL,  /* VIEW_WAIT is over */
    VEL_TIMER_TOLD,  /* who has not told its inventory is not waited for */
    VEL_TIMER_UP,    /* tell the parent */
    VEL_TIMER_SOON,  /* look at everything again */
    VEL_TIMERS
};

struct vel_leader {
    struct vel_leader_conf conf; /* texts are copies */
    const struct vel_leader_ops *ops;
    void *arg;
    uint64_t now;
    uint64_t timers[VEL_TIMERS];
    struct vel_err failure;
    bool is_over; /* it has left, or has failed */

    struct vel_vec links;   /* struct vel_leader_link, as they were met */
    struct vel_vec numbers; /* struct vel_link_number, by number */
    uint64_t last_met;
    struct vel_vec processes; /* uint64_t: the links to these, as they came */
    uint64_t seq;

    /* the launch */
    enum vel_launch_state state;
    bool is_ended;
    bool has_view;
    bool has_served;   /* a process was here */
    bool has_new;      /* the endpoint does not name it yet */
    uint64_t noted_at; /* when that was written */
    uint64_t left_at;  /* the last process */
    bool is_end_told;  /* what its end waits for */
    uint64_t idle_at;  /* nothing was owed since */
    struct vel_parting parting;

    /* its chair */
    int64_t term; /* newest that is known */
    char *chair;  /* node */
    bool is_chair;
    bool is_joined, is_welcome;
    bool is_cut;        /* from the chair, to which there was another connection */
    uint64_t free_at;   /* when its place may be taken, if it does not answer */
    uint64_t sought_at; /* since when it was asked in vain; 0: it was lost */
    uint64_t backoff;   /* of one that was itself replaced */
    int64_t place;
    char *parents;                /* that are to be tried */
    char *parent;                 /* node; NULL: the chair */
    bool is_attached;             /* to it */
    uint64_t join_seq;            /* of the join that was last sent to the chair */
    uint64_t tree_seq;            /* to a parent */
    const struct vel_msg *msg;    /* the one that an event comes from */
    struct vel_leader_link *from; /* and its link */
    uint64_t asker;               /* link of who has missed a state */
    struct vel_vec asks; /* struct vel_leader_ask: whose records cannot be read now */
    enum vel_step_done did; /* what is to be reported */

    /* as the chair */
    struct vel_roster roster;
    uint64_t claimed_at, view_since;
    uint64_t asked_at;  /* what the nodes hold */
    uint64_t again_at;  /* a record could not be written */
    bool has_told_view; /* that it cannot be made now */
    int seal_rc;        /* of the last seal */
    int64_t beat;
    uint64_t others_at, begun_at; /* looked again who of `others` lives, has begun */
    struct vel_vec others;        /* struct vel_leader_other, as they were first seen */
    struct vel_buf known, roll;   /* nodes; that are waited for, as records have told */
    uint64_t roll_at;             /* when they are looked at again */
    bool has_roll;

    struct vel_vec leads;   /* struct vel_lead *, by id */
    size_t many;            /* so many are looked through for what is over */
    uint64_t moved_before;  /* bytes, of those that are forgotten */
    struct vel_vec tasks;   /* struct vel_leader_task */
    struct vel_vec waits;   /* struct vel_leader_wait */
    struct vel_vec resting; /* int64_t: datasets that processes change themselves */
    struct vel_connector *connector; /* its files */
    unsigned unread; /* bits of enum vel_leader_look: to be looked for again */
    uint64_t last_job;
    uint64_t last_attempt; /* to encode any dataset */
    uint64_t moved_at;     /* when bytes were last seen moving */
    unsigned steps;        /* of both machines: to see that something has changed */
};

/* --- leader: links and time --- */

/* Out of memory: the leader cannot go on. */
void vel_leader_fail(struct vel_leader *leader, const char *what);

/* The timer runs at `at` at the latest. */
void vel_leader_at(struct vel_leader *leader, enum vel_leader_timer timer, uint64_t at);

void vel_leader_send(struct vel_leader *leader, uint64_t link, struct vel_msg *msg);
uint64_t vel_leader_next_seq(struct vel_leader *leader);

/* The number of an attempt to encode: above those of this leader and of chairs before
 * it, also for a dataset that was forgotten meanwhile. */
int64_t vel_leader_next_attempt(struct vel_leader *leader);
void vel_leader_yes(struct vel_leader *, uint64_t link, uint64_t seq, uint64_t value);
void vel_leader_no(struct vel_leader *leader, uint64_t link, uint64_t seq, int rc,
                   const char *text);

/* Replace a text of the leader's; NULL: none. */
void vel_leader_text(struct vel_leader *leader, char **text, const char *value);

/* --- launch --- */

bool vel_launch_event(struct vel_leader *leader, enum vel_launch_event event);

/* Join the chair, or connect to it first. */
void vel_launch_reach(struct vel_leader *leader);
void vel_launch_look(struct vel_leader *leader);
void vel_launch_beat(struct vel_leader *leader);
void vel_launch_check(struct vel_leader *leader);
void vel_launch_advance(struct vel_leader *leader);
void vel_launch_gone(struct vel_leader *leader, const char *node);
void vel_launch_unreachable(struct vel_leader *leader, const char *node);
void vel_launch_met(struct vel_leader *leader, struct vel_leader_link *link);
void vel_launch_hear(struct vel_leader *leader, struct vel_leader_link *from,
                     const struct vel_msg *msg);
/* A message says that there is a newer chair. */
void vel_launch_newer(struct vel_leader *leader, int64_t term);

/* What stands against telling: the launch was ended (looks for the record). */
bool vel_launch_may_tell(struct vel_leader *leader);

/* --- round: from taking in to the view --- */

/* Empties a list of launches that may be over (struct vel_leader_other). */
void vel_round_forget_others(struct vel_vec *others);
void vel_round_open(struct vel_leader *leader);
void vel_round_joined(struct vel_leader *leader);
void vel_round_parted(struct vel_leader *leader);
void vel_round_gone(struct vel_leader *leader, const char *node, bool is_lost);
void vel_round_welcome(struct vel_leader *leader, bool is_late);
bool vel_round_is_ready(struct vel_leader *leader);
/* It is ready: for whom it has waited in vain. */
void vel_round_tell_missed(struct vel_leader *leader);
int vel_round_end_others(struct vel_leader *leader, struct vel_err *err);
void vel_round_gather(struct vel_leader *leader);
void vel_round_keep(struct vel_leader *leader);
bool vel_round_is_counted(const struct vel_leader *leader);
/* It is counted: who has not said what it holds. */
void vel_round_tell_silent(const struct vel_leader *leader);
int vel_round_make_view(struct vel_leader *leader, struct vel_err *err);
void vel_round_tell_view(struct vel_leader *leader);

/* What this node holds, to be told. */
void vel_round_held(struct vel_leader *leader, const void *bytes, size_t len);

/* --- tree --- */

void vel_tree_reset(struct vel_leader *leader);
void vel_tree_attach(struct vel_leader *leader);
void vel_tree_met(struct vel_leader *leader, struct vel_leader_link *link);
void vel_tree_gone(struct vel_leader *leader, const char *node);

/* One of several connections is gone, and what was said on it: steps may be missed. */
void vel_tree_cut(struct vel_leader *leader, const char *node);
void vel_tree_joined(struct vel_leader *leader, struct vel_leader_link *link,
                     uint64_t seq);
void vel_tree_welcome(struct vel_leader *leader, const struct vel_msg_welcome *welcome);

/* Chair: to all. Others: what came from above, to those below. */
void vel_tree_down(struct vel_leader *leader, struct vel_msg *msg, uint64_t except);

/* The link upwards, or NULL. */
struct vel_leader_link *vel_tree_up(const struct vel_leader *leader);

/* So many reports wait for the parent: told when all children's are there, or soon. */
void vel_tree_tell_soon(struct vel_leader *leader, unsigned reports);
void vel_tree_add(struct vel_leader *leader, struct vel_lead *lead,
                  const struct vel_msg_done *done);
void vel_tree_flush(struct vel_leader *leader);

/* --- lead --- */

struct vel_lead *vel_lead_at(const struct vel_leader *leader, size_t i);
struct vel_lead *vel_lead_get(const struct vel_leader *leader, int64_t id);
struct vel_lead *vel_lead_make(struct vel_leader *leader, int64_t id);
/* One that is not in the table yet; NULL: out of memory. */
struct vel_lead *vel_lead_create(int64_t id);
/* Into the table, which has none of its id; false: gone, out of memory. */
bool vel_lead_insert(struct vel_leader *leader, struct vel_lead *lead);
void vel_lead_destroy(struct vel_lead *lead);
/* Its seal is there now, or another one. */
void vel_lead_sealed(struct vel_leader *leader, struct vel_lead *lead);
/* Forget it: it is not there afterwards. */
void vel_lead_remove(struct vel_leader *leader, struct vel_lead *lead);

/* Facts beside those that the leader knows. False: the table has no row, or its record
 * could not be written. */
bool vel_lead_event(struct vel_leader *leader, struct vel_lead *lead,
                    enum vel_dataset_event event, unsigned facts);
bool vel_lead_is_over(const struct vel_lead *lead);
/* A program may make datasets for weeks: those that are over, and of which this node
 * has nothing, are found again by records when somebody asks. */
void vel_lead_forget_over(struct vel_leader *leader);
uint64_t vel_lead_left(const struct vel_lead *lead);
void vel_lead_failed(struct vel_leader *leader, struct vel_lead *lead, int rc,
                     const char *text);
/* Is that a set that breaks, as sets do when nodes come and go? It is formed again, and
 * nobody needs to know. */
bool vel_lead_is_broken(const struct vel_lead *lead, int rc);

/* What records say of it. False: that cannot be read now. A record that nobody can read
 * is as none. */
bool vel_lead_find(struct vel_leader *leader, enum vel_leader_look where, int64_t id,
                   struct vel_err *err);

/* --- adopt --- */

/* The chair leads it from now on, unless something stands against that. */
void vel_chair_lead(struct vel_leader *leader, struct vel_lead *lead);
/* All that records tell of; then what could not be led before. */
void vel_chair_adopt(struct vel_leader *leader);
void vel_chair_check(struct vel_leader *leader);
/* Of a seal it had what concerns its node before: read the whole. False: not now. */
bool vel_chair_has_whole(struct vel_leader *leader, struct vel_lead *lead,
                         struct vel_err *err);
/* Does it know how far all is? What it does not lead may be further than it heard. */
bool vel_chair_knows_all(const struct vel_leader *leader);

/* --- chair --- */

bool vel_chair_record(struct vel_leader *leader, struct vel_lead *lead,
                      unsigned record);
void vel_chair_act(struct vel_leader *leader, struct vel_lead *lead, unsigned action);
void vel_chair_resign(struct vel_leader *leader);
void vel_chair_joined(struct vel_leader *leader, const char *node);
void vel_chair_gone(struct vel_leader *leader, const char *node);
/* In good order: it owed nothing, as far as it knew. */
void vel_chair_parted(struct vel_leader *leader, const char *node);
/* So have parts of that set of a launch before; others do not make up for them. */
bool vel_chair_has_left(struct vel_leader *, const struct vel_lead *, int64_t set);
void vel_chair_report(struct vel_leader *leader, int64_t id, uint64_t link);
void vel_chair_done(struct vel_leader *leader, struct vel_lead *lead,
                    const struct vel_msg_done *done);
int vel_chair_settle(struct vel_leader *leader, int64_t id, const void *record,
                     size_t len, struct vel_err *err);
void vel_chair_advance(struct vel_leader *leader);

/* Written, looked, told: tell its state, now or when that is allowed. */
void vel_chair_tell(struct vel_leader *leader, struct vel_lead *lead);
/* Its seal alone, to one link, or to all (0). */
void vel_chair_tell_seal(struct vel_leader *leader, struct vel_lead *lead,
                         uint64_t link);
/* Its parts go. */
void vel_chair_evict(struct vel_leader *leader, struct vel_lead *lead);
void vel_chair_clear(struct vel_leader *leader, struct vel_lead *lead,
                     enum vel_step_done step);

/* Try it again: after twice the time. */
void vel_chair_later(struct vel_leader *leader, struct vel_lead *lead);

/* The claim, and the entry under it; false: not now. */
bool vel_chair_own(struct vel_leader *leader, struct vel_lead *lead);
/* Still? A newer owner of another launch takes it from this one. */
bool vel_chair_is_owner(struct vel_leader *leader, struct vel_lead *lead);
bool vel_chair_entry(struct vel_leader *leader, struct vel_lead *lead,
                     enum vel_place_on_prefix place);
/* The same where another owner has begun to flush it. */
bool vel_chair_go_on(struct vel_leader *leader, struct vel_lead *lead);
void vel_chair_next_attempt(struct vel_leader *leader, struct vel_lead *lead);

/* Another launch has it now. */
void vel_chair_tell_taken(struct vel_leader *leader, struct vel_lead *lead);
void vel_part_taken(struct vel_leader *leader, struct vel_lead *lead);

/* Files of lost nodes, or of all others that have not told that it is done, get their
 * names from here: the temporary ones are on the prefix. */
void vel_chair_rename_for(struct vel_leader *leader, struct vel_lead *lead,
                          bool is_for_all);

/* A part has another node now: its set is formed again, while it is flushed. */
void vel_chair_tell_moved(struct vel_leader *leader, struct vel_lead *lead);

/* Have all nodes that have parts done the step? Are they here? */
bool vel_chair_is_whole(const struct vel_lead *lead);
bool vel_chair_is_all_here(const struct vel_leader *leader,
                           const struct vel_lead *lead);

/* --- flush: whose turn it is, and at which rate --- */

int64_t vel_flush_upto(const struct vel_leader *leader, const struct vel_lead *lead,
                       int64_t *ret_copying);
uint64_t vel_flush_rate(const struct vel_leader *leader, int64_t copying);
void vel_flush_share(struct vel_leader *leader, struct vel_lead *lead);

/* Begin the flush if it is this one's turn. */
void vel_flush_begin(struct vel_leader *leader, struct vel_lead *lead);

/* Settle older ones of the same names; false while one of them must come first. */
bool vel_flush_may_publish(struct vel_leader *leader, struct vel_lead *lead);

/* Is it an empty part of a node that has left, or one that this has not taken and that
 * has nothing of its own? It can be anywhere: who takes it instead, empty. */
bool vel_flush_may_move(struct vel_leader *leader, const struct vel_lead *lead,
                        const struct vel_seal_member *member);
void vel_flush_move(struct vel_leader *leader, const struct vel_lead *lead,
                    struct vel_seal_member *member);

/* Let others have the parts of nodes that are lost for too long. */
void vel_flush_rebuild(struct vel_leader *leader, struct vel_lead *lead);

/* Has a newer one of the same names been published? */
bool vel_flush_is_outdated(struct vel_leader *leader, struct vel_lead *lead);

/* --- part --- */

void vel_part_act(struct vel_leader *leader, struct vel_lead *lead, unsigned action);
void vel_part_hear(struct vel_leader *leader, struct vel_leader_link *from,
                   const struct vel_msg *msg);
void vel_part_take(struct vel_leader *leader, struct vel_lead *lead);

/* Files of the connector become parts first. False: not yet. */
bool vel_part_parts(struct vel_leader *leader, struct vel_lead *lead);

/* The seal as it is told now, instead of what was known of it; takes it. */
void vel_part_learn(struct vel_leader *leader, struct vel_lead *lead,
                    struct vel_seal *seal);
/* Promises, bits of enum vel_owed, are kept: their records go. */
void vel_part_forget(struct vel_leader *leader, struct vel_lead *lead, unsigned what);
void vel_part_rename(struct vel_leader *leader, struct vel_lead *lead);
void vel_part_copy(struct vel_leader *leader, struct vel_lead *lead);
uint64_t vel_part_start(struct vel_leader *leader, struct vel_lead *lead,
                        enum vel_leader_work work, int64_t set, const char *node);

/* What this node says of a step; rc: why it failed. */
struct vel_msg_done vel_part_done(const struct vel_leader *leader,
                                  const struct vel_lead *lead, unsigned step);
bool vel_part_leads(const struct vel_leader *leader, const struct vel_lead *lead);
void vel_part_fail(struct vel_leader *leader, struct vel_lead *lead, int rc,
                   const char *text);

/* The number of a job for this node's own files, or 0. */
uint64_t vel_part_job(const struct vel_leader *leader, int64_t id,
                      enum vel_leader_work work);
bool vel_part_has(const struct vel_leader *leader, int64_t id,
                  enum vel_leader_work work);
void vel_part_stop(struct vel_leader *leader, int64_t id, unsigned works);
void vel_part_report_all(struct vel_leader *leader);

/* --- owe --- */

/* Does a process change it, or is nothing owed of it any more? Then what others tell of
 * it is not for us. */
bool vel_owe_rests(const struct vel_leader *leader, int64_t id);
/* A process's request. True: answered. */
bool vel_owe_try(struct vel_leader *leader, const struct vel_leader_wait *wait);

/* --- serve --- */

void vel_serve_hear(struct vel_leader *leader, struct vel_leader_link *from,
                    const struct vel_msg *msg);
void vel_serve_answer(struct vel_leader *leader, const struct vel_msg *msg);
void vel_serve_gone(struct vel_leader *leader, uint64_t link);
void vel_serve_lost_chair(struct vel_leader *leader);
void vel_serve_advance(struct vel_leader *leader);
uint64_t vel_serve_due(const struct vel_leader *leader);

#endif
