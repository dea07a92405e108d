/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>

#include "brain/launch_state.h"
#include "tap/machinelab.h"
#include "tap/tap.h"

static const struct vel_machine *const m = &vel_launch_machine;

#define TO(event, facts, state)                                                        \
    vel_machine_step(m, VEL_LAUNCH_##state, VEL_LAUNCH_ON_##event, facts)
#define IF(fact) VEL_LAUNCH_IF(fact)

static void one_view(void)
{
    const struct vel_machine_row *row = TO(COUNTED, IF(CHAIR) | IF(LIVE), VIEW);
    bool only_by_record = true, only_by_chair = true;

    ok(row && row->record == VEL_LAUNCH_RECORD_VIEW && row->next == VEL_LAUNCH_RUNNING,
       "the chair makes the view when all have told or are gone");
    for (size_t i = 0; i < m->nrows; i++) {
        row = &m->rows[i];
        if (row->next == VEL_LAUNCH_RUNNING && row->state < VEL_LAUNCH_RUNNING)
            only_by_record &= row->record == VEL_LAUNCH_RECORD_VIEW ||
                              row->event == VEL_LAUNCH_ON_THERE;
        if (row->record == VEL_LAUNCH_RECORD_VIEW ||
            row->record == VEL_LAUNCH_RECORD_ENDS)
            only_by_chair &=
                (row->facts & (IF(CHAIR) | IF(LIVE))) == (IF(CHAIR) | IF(LIVE));
    }
    ok(only_by_record, "nobody runs without the view's record");
    ok(only_by_chair, "only the chair of a launch that was not ended makes it");
    row = TO(ROLL, IF(CHAIR) | IF(LIVE), JOINING);
    ok(row && row->record == VEL_LAUNCH_RECORD_ENDS &&
           row->action == VEL_LAUNCH_DO_TELL_GATHER,
       "older launches are ended before anyone is asked what it holds");
    ok(!TO(JOINED, 0, VIEW) && TO(JOINED, IF(CHAIR), VIEW)->next == VEL_LAUNCH_VIEW,
       "who joins late is taken in and changes nothing");
}

/* Whatever happens to its chair, a leader that lives can come to a view and to an end.
 */
static void no_dead_end(void)
{
    bool is_open = true;

    for (unsigned s = VEL_LAUNCH_JOINING; s < VEL_LAUNCH_STATES; s++)
        is_open &= vel_machine_step(m, s, VEL_LAUNCH_ON_GONE, 0) &&
                   vel_machine_step(m, s, VEL_LAUNCH_ON_ENDED, 0) &&
                   machine_leads(m, s, VEL_LAUNCH_NONE);
    ok(is_open, "in every state a chair may vanish and a launch may be ended");
    ok(TO(FREE, IF(LIVE), RUNNING)->record == VEL_LAUNCH_RECORD_CLAIM &&
           TO(FREE, IF(LIVE), ENDING)->record == VEL_LAUNCH_RECORD_CLAIM,
       "a chair is replaced at any time, by a record");
    ok(!TO(FREE, 0, RUNNING), "but not in a launch that was ended");
    is_int(TO(LEFT, IF(OWED) | IF(CHAIR), VIEW)->next, VEL_LAUNCH_VIEW,
           "a node without processes stays while it owes something");
    is_int(TO(DRAINED, IF(CHAIR) | IF(LIVE), ENDING)->record, VEL_LAUNCH_RECORD_NONE,
           "a chair that leaves others behind does not end the launch");
    is_int(TO(DRAINED, IF(CHAIR) | IF(LIVE) | IF(ALONE) | IF(COME), ENDING)->record,
           VEL_LAUNCH_RECORD_END, "the last one does");
    is_int(TO(DRAINED, IF(CHAIR) | IF(LIVE) | IF(ALONE), ENDING)->record,
           VEL_LAUNCH_RECORD_NONE, "but not while ranks may come");
}

int main(void)
{
    machine_check(m);
    one_view();
    no_dead_end();
    return done_testing();
}
