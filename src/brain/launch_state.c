/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "brain/launch_state.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define X(name, word, ...) word,
static const char *const states[] = {VEL_LAUNCH_STATE_MAP(X)};
static const char *const events[] = {VEL_LAUNCH_EVENT_MAP(X)};
static const char *const facts[] = {VEL_LAUNCH_FACT_MAP(X)};
static const char *const records[] = {VEL_LAUNCH_RECORD_MAP(X)};
static const char *const actions[] = {VEL_LAUNCH_ACTION_MAP(X)};
#undef X

/* clang-format off */
#define ROW(state, event, facts, record, action, next)                                 \
    {VEL_LAUNCH_##state, VEL_LAUNCH_ON_##event, facts, VEL_LAUNCH_RECORD_##record,     \
     VEL_LAUNCH_DO_##action, VEL_LAUNCH_##next}
#define CHAIR VEL_LAUNCH_IF(CHAIR)
#define LIVE VEL_LAUNCH_IF(LIVE)
#define OWED VEL_LAUNCH_IF(OWED)
#define ALONE VEL_LAUNCH_IF(ALONE)
#define COME VEL_LAUNCH_IF(COME)

static const struct vel_machine_row rows[] = {
    ROW(NONE, LEAD, 0, ENDPOINT, LOOK, JOINING),

    ROW(JOINING, CHAIR, 0, NONE, JOIN, JOINING),
    ROW(JOINING, FREE, LIVE, CLAIM, OPEN_ROLL, JOINING),
    ROW(JOINING, WELCOME, 0, NONE, NONE, JOINING),
    ROW(JOINING, JOINED, CHAIR, NONE, WELCOME, JOINING),
    ROW(JOINING, GONE, CHAIR, NONE, COUNT, JOINING),
    ROW(JOINING, GONE, 0, NONE, LOOK, JOINING),
    ROW(JOINING, ROLL, CHAIR | LIVE, ENDS, TELL_GATHER, VIEW),
    ROW(JOINING, GATHER, 0, NONE, TELL_HELD, VIEW),
    ROW(JOINING, THERE, 0, NONE, ADOPT, RUNNING),
    ROW(JOINING, PROCESS, 0, NONE, SERVE, JOINING),
    ROW(JOINING, LEFT, OWED, NONE, WAIT, JOINING),
    ROW(JOINING, LEFT, 0, NONE, LEAVE, NONE),
    ROW(JOINING, ENDED, 0, NONE, RELEASE, ENDING),

    ROW(VIEW, CHAIR, 0, NONE, JOIN, JOINING),
    ROW(VIEW, JOINED, CHAIR, NONE, WELCOME_LATE, VIEW),
    ROW(VIEW, HELD, CHAIR, NONE, KEEP, VIEW),
    ROW(VIEW, GATHER, 0, NONE, TELL_HELD, VIEW),
    ROW(VIEW, GONE, CHAIR, NONE, COUNT, VIEW),
    ROW(VIEW, GONE, 0, NONE, LOOK, JOINING),
    ROW(VIEW, COUNTED, CHAIR | LIVE, VIEW, TELL_VIEW, RUNNING),
    ROW(VIEW, THERE, 0, NONE, ADOPT, RUNNING),
    ROW(VIEW, PROCESS, 0, NONE, SERVE, VIEW),
    ROW(VIEW, LEFT, OWED, NONE, WAIT, VIEW),
    ROW(VIEW, LEFT, 0, NONE, LEAVE, NONE),
    ROW(VIEW, ENDED, 0, NONE, RELEASE, ENDING),

    ROW(RUNNING, CHAIR, 0, NONE, JOIN, RUNNING),
    ROW(RUNNING, FREE, LIVE, CLAIM, OPEN_ROLL, RUNNING),
    ROW(RUNNING, WELCOME, 0, NONE, REPORT_ALL, RUNNING),
    ROW(RUNNING, JOINED, CHAIR, NONE, WELCOME_LATE, RUNNING),
    ROW(RUNNING, GONE, CHAIR, NONE, COUNT, RUNNING),
    ROW(RUNNING, GONE, 0, NONE, LOOK, RUNNING),
    ROW(RUNNING, PROCESS, 0, NONE, SERVE, RUNNING),
    ROW(RUNNING, LEFT, 0, NONE, DRAIN, ENDING),
    ROW(RUNNING, ENDED, 0, NONE, RELEASE, ENDING),

    ROW(ENDING, CHAIR, 0, NONE, JOIN, ENDING),
    ROW(ENDING, FREE, LIVE, CLAIM, OPEN_ROLL, ENDING),
    ROW(ENDING, WELCOME, 0, NONE, REPORT_ALL, ENDING),
    ROW(ENDING, JOINED, CHAIR, NONE, WELCOME_LATE, ENDING),
    ROW(ENDING, GATHER, 0, NONE, TELL_HELD, ENDING),
    ROW(ENDING, GONE, CHAIR, NONE, COUNT, ENDING),
    ROW(ENDING, GONE, 0, NONE, LOOK, ENDING),
    ROW(ENDING, PROCESS, LIVE, NONE, SERVE, RUNNING),
    ROW(ENDING, PROCESS, 0, NONE, SERVE, ENDING),
    ROW(ENDING, THERE, 0, NONE, ADOPT, ENDING),
    ROW(ENDING, ENDED, 0, NONE, RELEASE, ENDING),
    ROW(ENDING, DRAINED, CHAIR | ALONE | COME | LIVE, END, LEAVE, NONE),
    ROW(ENDING, DRAINED, 0, NONE, LEAVE, NONE),
};
/* clang-format on */

const struct vel_machine vel_launch_machine = {
    .name = "launch",
    .states = states,
    .nstates = COUNT_OF(states),
    .events = events,
    .nevents = COUNT_OF(events),
    .facts = facts,
    .nfacts = COUNT_OF(facts),
    .records = records,
    .nrecords = COUNT_OF(records),
    .actions = actions,
    .nactions = COUNT_OF(actions),
    .rows = rows,
    .nrows = COUNT_OF(rows),
};
