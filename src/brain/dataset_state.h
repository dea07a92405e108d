/* SPDX-License-Identifier: BSD-3-Clause */
/* dataset_state - the life of a dataset as a leader sees it, from the first file of it
 * to the prefix (doc/life.txt, 1 and 16).
 *
 * Every leader that holds a part runs one; the one that leads the dataset (the chair,
 * or for the API the leader of rank 0) has the fact `chair`, decides, and tells the
 * others, for whom its tellings are events.
 */
#ifndef VEL_BRAIN_DATASET_STATE_H
#define VEL_BRAIN_DATASET_STATE_H

#include <stdbool.h>

#include "brain/machine.h"
#include "meta/index.h"

#define VEL_DATASET_STATE_MAP(X)                                                       \
    X(NONE, "none")                                                                    \
    X(ANNOUNCED, "announced")                                                          \
    X(SEALED, "sealed")                                                                \
    X(ENCODED, "encoded")                                                              \
    X(FLUSHING, "flushing")                                                            \
    X(FLUSHED, "flushed")                                                              \
    X(SUPERSEDED, "superseded")                                                        \
    X(LOST, "lost")

/* name, word, what has happened */
#define VEL_DATASET_EVENT_MAP(X)                                                       \
    X(CREATE, "create", "a process creates a file of it, or opens one to write")       \
    X(CLOSE, "close", "a process has closed its last file of it")                      \
    X(REPORT, "report", "it is told who else has closed")                              \
    X(QUIET, "quiet", "nothing was heard of it for SEAL_AFTER, no file of it open")    \
    X(LEFT, "left", "all processes of the launch have left, or are about to")          \
    X(ENDED, "ended", "another launch has ended this one")                             \
    X(SEAL, "seal", "its seal record is there; or is told anew, for another attempt")  \
    X(PART, "part", "this node's parts are encoded, or rebuilt")                       \
    X(COPIED, "copied", "this node's files are on the prefix under temporary names")   \
    X(RENAMED, "renamed", "this node's files have their names")                        \
    X(DONE, "done", "it is told how many nodes are done with the step")                \
    X(ENCODED, "encoded", "the chair tells: encoded everywhere")                       \
    X(FLUSH, "flush", "it is due; or the chair tells to begin")                        \
    X(PUBLISH, "publish", "the chair tells: staged everywhere, rename")                \
    X(FLUSHED, "flushed", "the chair tells: renamed everywhere")                       \
    X(RETREAT, "retreat", "the chair tells: the flush has failed")                     \
    X(NEWER, "newer", "a newer dataset makes it needless, or its names are removed")   \
    X(FAIL, "fail", "a node cannot do its step")                                       \
    X(GONE, "gone", "a node is lost")                                                  \
    X(EVICT, "evict", "its room is wanted: COUNT, by the chair; or a store is full")   \
    X(DROP, "drop", "its tombstone is there: a person or the program has dropped it")

#define VEL_DATASET_FACT_MAP(X)                                                        \
    X(CHAIR, "chair", "this leader leads the dataset")                                 \
    X(LIVE, "live", "nobody has ended the launch")                                     \
    X(WHOLE, "whole", "nobody who is expected is missing")                             \
    X(FIRST, "first", "its template has no older sealed dataset")                      \
    X(MEMBER, "member", "the seal names a part of this node")                          \
    X(ROOM, "room", "a store has room for one more")                                   \
    X(SPARE, "spare", "the lost node held no file of it")                              \
    X(OWED, "owed", "it must be flushed")                                              \
    X(ENCODED, "encoded", "its redundancy is applied everywhere")                      \
    X(STAGED, "staged", "all of it is on the prefix and synced")

/* name, word, which record */
#define VEL_DATASET_RECORD_MAP(X)                                                      \
    X(NONE, "-", "")                                                                   \
    X(MAP, "map", "CACHE: the fact batch, before the first file")                      \
    X(CLOSED, "closed", "CACHE: the fact closed, sizes and the order of closing")      \
    X(SEAL, "seal", ".veloc: launch.L/1.K, once of a key: id, members, sets")          \
    X(VOID, "void", "the same, made once: never complete")                             \
    X(REDSET, "redset", "CACHE: the redundancy files")                                 \
    X(ENTRY, "entry", ".veloc: launch.L/1.K, the entry, place CACHE")                  \
    X(FLUSHING, "flushing", "the entry, place FLUSHING")                               \
    X(FILES, "files", ".veloc: dataset.D/files.N")                                     \
    X(STAGED, "staged", "the entry, place STAGED")                                     \
    X(PREFIX, "prefix", "the entry, place PREFIX")                                     \
    X(REPLACED, "replaced", "the entry, replaced by a dataset, or by itself")

#define VEL_DATASET_ACTION_MAP(X)                                                      \
    X(NONE, "-", "")                                                                   \
    X(GIVE_PATH, "give_path", "answer with the path in the cache")                     \
    X(PASS_THROUGH, "pass_through", "answer: write to the prefix; log why")            \
    X(REPORT, "report", "tell the parent, who tells the chair")                        \
    X(PASS_UP, "pass_up", "add it to what the parent is told next")                    \
    X(COUNT, "count", "keep it and wait")                                              \
    X(WAIT, "wait", "nothing now; told again when something changes")                  \
    X(TELL_SEAL, "tell_seal", "is it over? If not: tell the nodes, take parts")        \
    X(TAKE_PARTS, "take_parts",                                                        \
      "files of batches become dataset.D/rank.R, queue encoding")                      \
    X(HOLD_NOTHING, "hold_nothing", "join the sets as a member without files")         \
    X(RENUMBER, "renumber", "the files are late: those of the next generation")        \
    X(TELL_ENCODED, "tell_encoded", "is it over? If not: tell, make room")             \
    X(MAKE_ROOM, "make_room", "evict what COUNT no longer keeps")                      \
    X(ENCODE_AGAIN, "encode_again", "form the sets without the node, queue encoding")  \
    X(TELL_FLUSH, "tell_flush", "tell the nodes in turn, start own copies")            \
    X(START_COPY, "start_copy", "queue the copies")                                    \
    X(TELL_PUBLISH, "tell_publish",                                                    \
      "if no newer owner: settle older ones, tell, rename")                            \
    X(RENAME, "rename", "rename the temporary files, where their placeholders are")    \
    X(TELL_FLUSHED, "tell_flushed", "tell, forget the promise")                        \
    X(FORGET, "forget", "the promise is kept: say so, make room")                      \
    X(REBUILD, "rebuild", "let another node rebuild and copy the lost one's files")    \
    X(RETRY, "retry", "try again later: twice the time, at most FLUSH_STALL/4")        \
    X(TELL_RETREAT, "tell_retreat", "tell; remove temporary files; retry later")       \
    X(REMOVE_TEMPS, "remove_temps", "remove temporary files")                          \
    X(TELL_SUPERSEDED, "tell_superseded", "tell; remove temporary files")              \
    X(REMOVE_PARTS, "remove_parts", "under the caches' lock, if it is not over")       \
    X(TELL_STATE, "tell_state", "whoever asks has missed it: tell the step again")     \
    X(RELEASE, "release", "stop working on it: the launch that ended ours adopts it")

enum vel_dataset_state {
#define X(name, word) VEL_DATASET_##name,
    VEL_DATASET_STATE_MAP(X)
#undef X
        VEL_DATASET_STATES
};

enum vel_dataset_event {
#define X(name, word, text) VEL_DATASET_ON_##name,
    VEL_DATASET_EVENT_MAP(X)
#undef X
        VEL_DATASET_EVENTS
};

enum vel_dataset_fact_bit {
#define X(name, word, text) VEL_DATASET_FACT_##name,
    VEL_DATASET_FACT_MAP(X)
#undef X
        VEL_DATASET_FACTS
};

enum vel_dataset_record {
#define X(name, word, text) VEL_DATASET_RECORD_##name,
    VEL_DATASET_RECORD_MAP(X)
#undef X
        VEL_DATASET_RECORDS
};

enum vel_dataset_action {
#define X(name, word, text) VEL_DATASET_DO_##name,
    VEL_DATASET_ACTION_MAP(X)
#undef X
        VEL_DATASET_ACTIONS
};

/* A fact as a bit of what vel_machine_step() is told. */
#define VEL_DATASET_IF(name) (1U << VEL_DATASET_FACT_##name)

extern const struct vel_machine vel_dataset_machine;

enum vel_seal_found { VEL_SEAL_NONE, VEL_SEAL_MADE, VEL_SEAL_VOID };

/* What whoever comes next finds of a dataset. */
struct vel_dataset_found {
    bool has_map;
    bool is_unlisted; /* its launch was ended, and no seal of it was listed then */
    enum vel_seal_found seal;
    bool owes_encode; /* as it says */
    bool has_entry;
    enum vel_place_on_prefix place; /* of the entry */
    bool is_encoded;                /* as it says */
    bool is_replaced;
    bool is_dropped;
};

/* The state to go on from. */
enum vel_dataset_state vel_dataset_found(const struct vel_dataset_found *found);

#endif
