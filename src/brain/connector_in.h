/* SPDX-License-Identifier: BSD-3-Clause */
/* connector_in - what the brain knows of the connector's files: generation (files of a
 * key on this node), create, look (requests), announce (what is told upwards), expect
 * (what the chair expects of a key, and its seal).
 */
#ifndef VEL_BRAIN_CONNECTOR_IN_H
#define VEL_BRAIN_CONNECTOR_IN_H

#include "brain/ending_in.h"
#include "brain/leader_in.h"
#include "brain/names.h"
#include "brain/tally.h"
#include "brain/template.h"

/* --- this node --- */

enum vel_file_state {
    VEL_FILE_NATIVE,  /* at its own path: its key is never whole */
    VEL_FILE_OPENING, /* its place is being made */
    VEL_FILE_OPEN,
    VEL_FILE_CLOSING,
    VEL_FILE_CLOSED,
    VEL_FILE_GIVEN, /* another rank has closed it later, and has it then */
    VEL_FILE_TAKEN, /* a part of its dataset now: only its name counts */
};

struct vel_file {
    uint64_t number;
    enum vel_file_state state;
    uint64_t link; /* of the process that has it; 0: of nobody */
    int64_t rank;
    char *name, *path;
    int64_t part, order, size;
    int64_t id;          /* TAKEN: by this dataset */
    bool is_from_others; /* another node may have closed it before */
    bool is_given;       /* and has closed it later */
    struct vel_generation *generation;
};

/* Files of a key. */
struct vel_generation {
    char *template, *step;
    int64_t number;
    bool is_alone, is_late;
    int64_t part;          /* N of new files; 0: none yet */
    struct vel_vec files;  /* struct vel_file * */
    struct vel_lead *lead; /* until it is sealed */
    bool is_decided;       /* sealed, or void */
    int64_t id;            /* 0: void */
    bool is_taken;         /* what is still in a batch came too late */
    uint64_t retry_at;
    bool is_dirty; /* to be reported */
    char *told;    /* what was */
};

struct vel_leader_report { /* to be told to the parent */
    char *template, *step;
    int64_t generation;
    unsigned how;
    unsigned reports; /* of children, and of this node */
    struct vel_buf nodes;
};

/* As in the message `report`: bits. */
enum vel_report_how {
    VEL_REPORT_ALONE = 1,
    VEL_REPORT_LATE = 2,
};

enum { VEL_GENERATIONS_MANY = 256 };

struct vel_rank_gone {
    int64_t rank;
    enum vel_leaving how;
};

struct vel_connector {
    struct vel_vec generations; /* struct vel_generation *, as they came */
    size_t many;                /* so many are looked through for what is over */
    struct vel_names counts;    /* of creates: a key, rank and name */
    struct vel_map *families;   /* inferred: template with {n}; struct
                                   vel_leader_family * */
    struct vel_names in_turn; /* files that ranks of several nodes write: one of them */
    struct vel_vec gone;      /* struct vel_rank_gone */
    bool has_last; /* a process has left that says that no rank begins any more */
    bool has_work; /* processes here have not only read */
    uint64_t last_file, last_order;
    struct vel_vec reports; /* struct vel_leader_report */
    char *present_told;     /* to this chair */
    bool left_told;
    bool has_refused; /* a file for want of room or the like */

    /* as the chair */
    uint64_t present_at;       /* somebody said who is there */
    struct vel_vec expects;    /* struct vel_expect *, as they were heard of */
    size_t many_expects;       /* so many are looked through for decided ones */
    struct vel_map *templates; /* struct vel_expect_template * */
    struct vel_map *guesses;   /* template with {n}; struct vel_guess * */
    bool has_changed;          /* something may be whole now */
    bool may_evict;            /* something is safe now */
    bool has_made;     /* a process of this node has made or removed a file that is no
                          part of a dataset */
    uint64_t check_at; /* or quiet then */
};

/* --- connector --- */

/* many: as in the settings of the leader. */
struct vel_connector *vel_connector_create(size_t many);
void vel_connector_destroy(struct vel_connector *connector);
void vel_connector_gone(struct vel_leader *leader, const struct vel_leader_link *link);
void vel_connector_advance(struct vel_leader *leader);

/* Is it a dataset of launches before, and have this node's processes, who are all gone,
 * only read? Readers owe nothing: it stays on record for whoever comes next. */
bool vel_connector_hands_back(const struct vel_leader *leader, int64_t id);

/* --- generation --- */

struct vel_generation *vel_generation_at(const struct vel_leader *leader, size_t i);
/* The one of that name and number, or a new one; NULL: out of memory. */
struct vel_generation *vel_generation_make(struct vel_leader *leader,
                                           const struct vel_leader_key *key);
struct vel_leader_key vel_generation_key(const struct vel_generation *generation);
void vel_generation_destroy(struct vel_generation *generation);

/* The lowest number that is not decided, as far as this node knows. */
int64_t vel_generation_next(const struct vel_leader *leader, const char *template,
                            const char *step);

struct vel_file *vel_generation_file(const struct vel_generation *generation, size_t i);
struct vel_file *vel_file_make(struct vel_leader *leader,
                               struct vel_generation *generation, int64_t rank,
                               const char *name);
/* Forget it: it is not there afterwards. */
void vel_file_remove(struct vel_leader *leader, struct vel_file *file);
struct vel_file *vel_file_get(const struct vel_leader *leader, uint64_t number);
int64_t vel_file_next_order(struct vel_leader *leader);
/* Ranks that write one file in turn: who has closed it last has it. What others have
 * closed before stays until their dataset is decided. */
void vel_file_take_over(struct vel_leader *leader, const struct vel_file *last);

/* A rank of another node has closed it later. */
int vel_file_give(struct vel_leader *leader, struct vel_file *file,
                  struct vel_err *err);
/* Do ranks of several nodes write it in turn? As far as this leader was told. */
bool vel_file_is_in_turn(const struct vel_leader *leader, const char *name);
void vel_file_set_in_turn(struct vel_leader *leader, const char *name);

/* The generation that its process is in by it: what it creates anew is of the next. */
void vel_file_count(struct vel_leader *leader, const struct vel_file *file);

/* Start a job of a file. */
uint64_t vel_file_start(struct vel_leader *leader, enum vel_leader_work work,
                        const struct vel_file *file, int how);
/* Or of the name that is waited for. */
uint64_t vel_name_start(struct vel_leader *leader, enum vel_leader_work work,
                        const struct vel_leader_wait *wait);

/* It is decided: what its seal says. */
void vel_generation_sealed(struct vel_leader *leader, const struct vel_seal *seal);
/* The dataset of a seal: what was announced, or a new one. */
struct vel_lead *vel_generation_lead(struct vel_leader *leader,
                                     const struct vel_seal *seal);
/* The parts have been taken: what is left came too late. */
void vel_generation_taken(struct vel_leader *leader, const struct vel_lead *lead);

/* What is on disk. */
void vel_generation_load(struct vel_leader *leader);
void vel_generation_advance(struct vel_leader *leader);

/* Bytes that are in no dataset yet. */
uint64_t vel_generation_left(const struct vel_leader *leader);

/* --- create, look: requests --- */

bool vel_create_try(struct vel_leader *leader, struct vel_leader_wait *wait);
bool vel_close_try(struct vel_leader *leader, struct vel_leader_wait *wait);
bool vel_look_try(struct vel_leader *leader, struct vel_leader_wait *wait);
/* What looks wait for is there, maybe: the view. */
void vel_look_again(struct vel_leader *leader);
void vel_file_gone(struct vel_leader *leader, uint64_t link);

/* A job of a file is done; rc < 0: why. */
void vel_file_done(struct vel_leader *leader, const struct vel_leader_task *task,
                   int rc, const char *text);

void vel_file_placed(struct vel_leader *leader, const struct vel_leader_task *task,
                     const struct vel_msg_place *place);
void vel_create_placed(struct vel_leader *leader, const struct vel_leader_task *task,
                       const struct vel_leader_wait *wait,
                       const struct vel_msg_place *place);
void vel_create_undo(struct vel_leader *leader, const struct vel_leader_task *task);
/* It was not created at all, or nothing was changed: it is no create that counts. */
void vel_create_forget(struct vel_leader *leader, struct vel_file *file);
void vel_create_failed(struct vel_leader *leader, const struct vel_leader_task *task,
                       const struct vel_leader_wait *wait, int rc, const char *text);
void vel_place_send(struct vel_leader *leader, const struct vel_leader_wait *wait,
                    const struct vel_msg_place *place);

/* The wait for a job, or NULL; end it, answered. */
uint64_t vel_mark_start(struct vel_leader *leader, const struct vel_leader_wait *wait);
struct vel_leader_wait *vel_serve_wait_of(struct vel_leader *leader, uint64_t job);
void vel_serve_end(struct vel_leader *leader, struct vel_leader_wait *wait);

/* --- announce --- */

void vel_announce_changed(struct vel_leader *leader, struct vel_generation *generation);
void vel_announce_all(struct vel_leader *leader);
void vel_announce_reset(struct vel_leader *leader);
void vel_announce_flush(struct vel_leader *leader);
void vel_announce_advance(struct vel_leader *leader);
void vel_announce_hear(struct vel_leader *leader, const struct vel_leader_link *from,
                       const struct vel_msg *msg);

/* The family's steps are the map's then, or freed. NULL: out of memory. */
const struct vel_leader_family *vel_announce_learn(struct vel_leader *leader,
                                                   const char *template,
                                                   struct vel_leader_family family);

/* A rank makes a file of these numbers. NULL: nobody knows which is the rank, and all
 * files of its step are live; *ret_waits: the chair was asked. */
const struct vel_leader_family *
vel_announce_guess(struct vel_leader *leader, struct vel_leader_wait *wait,
                   const char *template, const char *numbers, bool *ret_waits);

/* The chair has answered what vel_announce_guess() has asked. */
void vel_announce_answered(struct vel_leader *leader, struct vel_leader_wait *wait,
                           const struct vel_msg *msg);

/* --- sync: closes wait for the dataset that they make whole --- */

/* What the chair says of a key; UNKNOWN: a leader has just changed, and it may not have
 * heard of all that was closed. */
enum vel_sync_verdict { VEL_SYNC_LACKS, VEL_SYNC_WHOLE, VEL_SYNC_UNKNOWN };

/* Is the chair there, to be told? */
bool vel_sync_can_tell(const struct vel_leader *leader);

/* A line of this node, to the chair itself, for whose answer the closes of that
 * generation wait. */
void vel_sync_tell(struct vel_leader *leader, const struct vel_generation *generation,
                   const struct vel_msg_report *report);
void vel_sync_answered(struct vel_leader *leader, struct vel_leader_wait *wait,
                       const struct vel_msg *msg);

/* By the chair: of the key of a report that it has heard. */
enum vel_sync_verdict vel_sync_judge(struct vel_leader *leader,
                                     const struct vel_msg_report *report);

/* The file of that wait is closed. True: answered. */
bool vel_sync_try(struct vel_leader *leader, struct vel_leader_wait *wait,
                  const struct vel_file *file);

/* --- present: who is here --- */

/* Are all processes of this node gone, or on their way out? */
bool vel_present_has_left(const struct vel_leader *leader);

/* The ranks that have been here, by blanks; with `-` who leaves or has left, with `!`
 * who has vanished. */
void vel_present_print(const struct vel_leader *leader, struct vel_buf *ret);

/* Tell the chair what has changed of that; hear it from a node. */
void vel_present_tell(struct vel_leader *leader);
void vel_present_hear(struct vel_leader *leader, const struct vel_leader_link *from,
                      const struct vel_msg_present *present);

/* --- expect: the chair --- */

void vel_expect_hear(struct vel_leader *leader, uint64_t link,
                     const struct vel_msg_report *report);
/* Is what was heard so all that is expected, as far as is known, or decided? */
bool vel_expect_is_whole(struct vel_leader *leader,
                         const struct vel_msg_report *report);
/* NULL: it is not known, and the file is noted. */
const struct vel_leader_family *vel_expect_guess(struct vel_leader *leader,
                                                 const struct vel_msg_guess *guess);
void vel_expect_gone(struct vel_leader *leader, const char *node);
void vel_expect_reset(struct vel_leader *leader);
void vel_expect_advance(struct vel_leader *leader);
void vel_expect_evict(struct vel_leader *leader);
bool vel_expect_owes(const struct vel_leader *leader);

#endif
