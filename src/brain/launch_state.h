/* SPDX-License-Identifier: BSD-3-Clause */
/* launch_state - a launch as one of its leaders sees it: who is here, what can be
 * restored, who decides, and the end (doc/protocol.txt, 10).
 */
#ifndef VEL_BRAIN_LAUNCH_STATE_H
#define VEL_BRAIN_LAUNCH_STATE_H

#include <stdbool.h>

#include "brain/machine.h"

#define VEL_LAUNCH_STATE_MAP(X)                                                        \
    X(NONE, "none")                                                                    \
    X(JOINING, "joining")                                                              \
    X(VIEW, "view")                                                                    \
    X(RUNNING, "running")                                                              \
    X(ENDING, "ending")

#define VEL_LAUNCH_EVENT_MAP(X)                                                        \
    X(LEAD, "lead", "this process has the lock of the role")                           \
    X(CHAIR, "chair", "a chair's record is there, newer than the last")                \
    X(FREE, "free", "there is no chair, or the last one is gone")                      \
    X(WELCOME, "welcome", "the chair has taken this leader in")                        \
    X(JOINED, "joined", "another leader asks to be taken in")                          \
    X(GONE, "gone", "the chair is gone; to the chair: a leader is")                    \
    X(ROLL, "roll", "all nodes that are known have joined, or VIEW_WAIT is over")      \
    X(GATHER, "gather", "the chair asks what this node holds")                         \
    X(HELD, "held", "a leader has told what its node holds")                           \
    X(COUNTED, "counted", "all who joined have told, or are gone")                     \
    X(THERE, "there", "the view's record is there")                                    \
    X(PROCESS, "process", "a process of this node connects")                           \
    X(LEFT, "left", "no process is here any more; again whenever the state changes")   \
    X(ENDED, "ended", "another launch has made the record of our end")                 \
    X(DRAINED, "drained", "no process is here, nothing is owed or others will do it")

#define VEL_LAUNCH_FACT_MAP(X)                                                         \
    X(CHAIR, "chair", "this leader is the chair")                                      \
    X(LIVE, "live", "nobody has ended the launch")                                     \
    X(OWED, "owed", "something of this node is not sealed or not flushed")             \
    X(ALONE, "alone", "all other leaders have left")                                   \
    X(COME, "come",                                                                    \
      "all ranks have been here, or none begins any more, or their number is not "     \
      "known")

#define VEL_LAUNCH_RECORD_MAP(X)                                                       \
    X(NONE, "-", "")                                                                   \
    X(ENDPOINT, "endpoint", ".veloc: launch.L/node.N, where this leader listens")      \
    X(CLAIM, "claim", ".veloc: launch.L/1.K, made once, K one above the last")         \
    X(ENDS, "ends", ".veloc: each M that is over is ended, for good")                  \
    X(VIEW, "view", ".veloc: view.L, made once")                                       \
    X(END, "end", ".veloc: L is over, said for good")

#define VEL_LAUNCH_ACTION_MAP(X)                                                       \
    X(NONE, "-", "")                                                                   \
    X(LOOK, "look", "look for the newest chair, every 100 ms; is it gone?")            \
    X(JOIN, "join", "connect to it and say who is here")                               \
    X(OPEN_ROLL, "open_roll", "take leaders in; begin VIEW_WAIT if there is no view")  \
    X(WELCOME, "welcome", "give it a place and its parents")                           \
    X(WELCOME_LATE, "welcome_late", "the same, with the view once it is there")        \
    X(COUNT, "count", "one less, or more, to wait for")                                \
    X(TELL_GATHER, "tell_gather", "ask all who joined what they hold")                 \
    X(TELL_HELD, "tell_held", "take the caches' lock, tell what is there")             \
    X(KEEP, "keep", "keep it for the view")                                            \
    X(TELL_VIEW, "tell_view", "tell it to all, answer processes")                      \
    X(ADOPT, "adopt", "read it, answer processes")                                     \
    X(REPORT_ALL, "report_all", "report all that is not flushed, begin with parts")    \
    X(SERVE, "serve", "take requests")                                                 \
    X(WAIT, "wait", "nothing now")                                                     \
    X(DRAIN, "drain", "do what is owed")                                               \
    X(RELEASE, "release", "seal and evict nothing more; one warning")                  \
    X(LEAVE, "leave", "remove socket and endpoint, give the lock back")

enum vel_launch_state {
#define X(name, word) VEL_LAUNCH_##name,
    VEL_LAUNCH_STATE_MAP(X)
#undef X
        VEL_LAUNCH_STATES
};

enum vel_launch_event {
#define X(name, word, text) VEL_LAUNCH_ON_##name,
    VEL_LAUNCH_EVENT_MAP(X)
#undef X
        VEL_LAUNCH_EVENTS
};

enum vel_launch_fact_bit {
#define X(name, word, text) VEL_LAUNCH_FACT_##name,
    VEL_LAUNCH_FACT_MAP(X)
#undef X
        VEL_LAUNCH_FACTS
};

enum vel_launch_record {
#define X(name, word, text) VEL_LAUNCH_RECORD_##name,
    VEL_LAUNCH_RECORD_MAP(X)
#undef X
        VEL_LAUNCH_RECORDS
};

enum vel_launch_action {
#define X(name, word, text) VEL_LAUNCH_DO_##name,
    VEL_LAUNCH_ACTION_MAP(X)
#undef X
        VEL_LAUNCH_ACTIONS
};

/* A fact as a bit of what vel_machine_step() is told. */
#define VEL_LAUNCH_IF(name) (1U << VEL_LAUNCH_FACT_##name)

extern const struct vel_machine vel_launch_machine;

#endif
