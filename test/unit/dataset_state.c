/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "brain/dataset_state.h"
#include "tap/machinelab.h"
#include "tap/tap.h"

enum { WAYS_MOST = 4096 };

static const struct vel_machine *const m = &vel_dataset_machine;

/* A state, and the records that led to it. */
struct way {
    unsigned state;
    struct vel_dataset_found found;
};

/* What a record changes of what is found later. */
static void write_record(struct vel_dataset_found *found, unsigned record)
{
    static const enum vel_place_on_prefix places[VEL_DATASET_RECORDS] = {
        [VEL_DATASET_RECORD_ENTRY] = VEL_ON_FLUSHING,
        [VEL_DATASET_RECORD_FLUSHING] = VEL_ON_FLUSHING,
        [VEL_DATASET_RECORD_STAGED] = VEL_ON_STAGED,
        [VEL_DATASET_RECORD_PREFIX] = VEL_ON_PREFIX,
    };

    switch (record) {
    case VEL_DATASET_RECORD_MAP:
        found->has_map = true;
        break;
    case VEL_DATASET_RECORD_SEAL:
        found->seal = VEL_SEAL_MADE;
        break;
    case VEL_DATASET_RECORD_VOID:
        found->seal = VEL_SEAL_VOID;
        break;
    case VEL_DATASET_RECORD_ENTRY:
    case VEL_DATASET_RECORD_FLUSHING:
    case VEL_DATASET_RECORD_STAGED:
    case VEL_DATASET_RECORD_PREFIX:
        found->has_entry = true;
        found->place = places[record];
        found->is_encoded |= record == VEL_DATASET_RECORD_ENTRY;
        break;
    case VEL_DATASET_RECORD_REPLACED:
        found->has_entry = true;
        found->is_replaced = true;
        break;
    default:
        break;
    }
}

/* What others have written before they caused the event. */
static void others_wrote(struct vel_dataset_found *found,
                         const struct vel_machine_row *row)
{
    static const uint8_t told[VEL_DATASET_EVENTS] = {
        [VEL_DATASET_ON_ENCODED] = VEL_DATASET_RECORD_ENTRY,
        [VEL_DATASET_ON_RETREAT] = VEL_DATASET_RECORD_ENTRY,
        [VEL_DATASET_ON_FLUSH] = VEL_DATASET_RECORD_FLUSHING,
        [VEL_DATASET_ON_PUBLISH] = VEL_DATASET_RECORD_STAGED,
        [VEL_DATASET_ON_FLUSHED] = VEL_DATASET_RECORD_PREFIX,
        [VEL_DATASET_ON_NEWER] = VEL_DATASET_RECORD_REPLACED,
    };

    if (row->event == VEL_DATASET_ON_SEAL)
        found->seal = VEL_SEAL_MADE;
    if (row->event == VEL_DATASET_ON_DROP)
        found->is_dropped = true;
    if (!(row->facts & VEL_DATASET_IF(CHAIR)) && row->next != row->state)
        write_record(found, told[row->event]);
}

static bool add(struct way *ways, size_t *n, const struct way *way)
{
    for (size_t i = 0; i < *n; i++)
        if (ways[i].state == way->state &&
            memcmp(&ways[i].found, &way->found, sizeof way->found) == 0)
            return true;
    if (*n == WAYS_MOST)
        return false;
    memcpy(&ways[(*n)++], way, sizeof *way);
    return true;
}

/* Every row from every way: after its record, and after its action, whoever comes next
 * finds the state that follows. */
static void crash_anywhere(void)
{
    static struct way ways[WAYS_MOST];
    size_t n = 1, steps = 0;
    bool is_found = true, fits = true;

    memset(ways, 0, sizeof ways);
    ways[0].found.owes_encode = true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m->nrows; k++) {
            const struct vel_machine_row *row = &m->rows[k];
            struct way next;

            if (row->state != ways[i].state)
                continue;
            memcpy(&next, &ways[i], sizeof next);
            next.state = row->next;
            others_wrote(&next.found, row);
            write_record(&next.found, row->record);
            if (row->action == VEL_DATASET_DO_RENUMBER)
                next.found.seal = VEL_SEAL_NONE; /* of the next generation */
            /* what is encoded is not known to be copied before it is staged */
            if (vel_dataset_found(&next.found) != row->next &&
                !(next.found.place == VEL_ON_FLUSHING && next.found.is_encoded &&
                  row->next == VEL_DATASET_FLUSHING)) {
                is_found = false;
                note("%s, %s: %s is found, not %s", m->states[row->state],
                     m->events[row->event], m->states[vel_dataset_found(&next.found)],
                     m->states[row->next]);
            }
            fits &= add(ways, &n, &next);
            steps++;
        }
    ok(is_found && fits && steps > m->nrows,
       "after any record the next state is found, with or without its action");
}

static void found_later(void)
{
    struct vel_dataset_found found = {.has_map = true, .is_unlisted = true};
    bool is_left = true;

    is_int(vel_dataset_found(&found), VEL_DATASET_LOST,
           "what was not sealed when its launch was ended never will be");
    found.seal = VEL_SEAL_MADE;
    found.has_entry = true;
    is_int(vel_dataset_found(&found), VEL_DATASET_LOST,
           "nor is what was sealed too late");
    found.is_unlisted = false;
    is_int(vel_dataset_found(&found), VEL_DATASET_ENCODED,
           "what was sealed in time goes on");
    found.is_dropped = true;
    is_int(vel_dataset_found(&found), VEL_DATASET_LOST, "a tombstone is obeyed");
    for (unsigned s = 0; s < VEL_DATASET_STATES; s++) {
        const struct vel_machine_row *row =
            vel_machine_step(m, s, VEL_DATASET_ON_ENDED, VEL_DATASET_IF(CHAIR));
        if (row && (row->action != VEL_DATASET_DO_RELEASE || row->next != s))
            is_left = false;
    }
    ok(is_left, "a leader whose launch was ended leaves all as it is");
}

#define TO(event, facts, state)                                                        \
    vel_machine_step(m, VEL_DATASET_##state, VEL_DATASET_ON_##event, facts)
#define IF(fact) VEL_DATASET_IF(fact)

static void sealing(void)
{
    const struct vel_machine_row *row =
        TO(REPORT, IF(CHAIR) | IF(LIVE) | IF(WHOLE), ANNOUNCED);
    bool only_by_seal = true;

    ok(row && row->record == VEL_DATASET_RECORD_SEAL && row->next == VEL_DATASET_SEALED,
       "what all have closed is sealed by its chair");
    is_int(TO(REPORT, IF(CHAIR) | IF(LIVE), ANNOUNCED)->next, VEL_DATASET_ANNOUNCED,
           "while an expected member is missing it is not");
    is_int(TO(QUIET, IF(CHAIR) | IF(LIVE), ANNOUNCED)->next, VEL_DATASET_ANNOUNCED,
           "nor when it is quiet, if an older one tells who is expected");
    is_int(TO(REPORT, IF(CHAIR) | IF(WHOLE), ANNOUNCED)->record,
           VEL_DATASET_RECORD_NONE, "a launch that was ended seals nothing");
    is_int(TO(REPORT, IF(WHOLE) | IF(LIVE), ANNOUNCED)->record, VEL_DATASET_RECORD_NONE,
           "nor does a leader that is not the chair");
    for (size_t i = 0; i < m->nrows; i++)
        if (m->rows[i].next == VEL_DATASET_SEALED &&
            m->rows[i].state < VEL_DATASET_SEALED)
            only_by_seal &= m->rows[i].record == VEL_DATASET_RECORD_SEAL ||
                            m->rows[i].event == VEL_DATASET_ON_SEAL;
    ok(only_by_seal, "nothing is sealed without its record");
}

static void keeping(void)
{
    bool is_kept = true;

    is_int(TO(EVICT, IF(CHAIR) | IF(LIVE), SEALED)->action, VEL_DATASET_DO_WAIT,
           "what is not encoded yet makes no room");
    is_int(TO(FLUSH, IF(CHAIR) | IF(LIVE), ENCODED)->record,
           VEL_DATASET_RECORD_FLUSHING,
           "who flushes says so before it touches what an owner before has copied");
    is_int(TO(EVICT, IF(LIVE) | IF(OWED), ENCODED)->action, VEL_DATASET_DO_WAIT,
           "nor does what must still be flushed");
    for (unsigned s = 0; s < VEL_DATASET_STATES; s++) {
        const struct vel_machine_row *row =
            vel_machine_step(m, s, VEL_DATASET_ON_EVICT, IF(CHAIR) | IF(WHOLE));
        is_kept &= !row || row->action == VEL_DATASET_DO_WAIT;
    }
    ok(is_kept, "a launch that was ended removes nothing");
    is_int(TO(NEWER, IF(CHAIR) | IF(STAGED), FLUSHING)->next, VEL_DATASET_FLUSHING,
           "what is staged goes forward only, also for a newer one");
    is_int(TO(FAIL, IF(CHAIR) | IF(STAGED) | IF(ENCODED), FLUSHING)->next,
           VEL_DATASET_FLUSHING, "and when a rename fails");
    is_int(TO(FAIL, IF(CHAIR), FLUSHING)->next, VEL_DATASET_FLUSHING,
           "what is not protected is flushed until it works");
    ok(!machine_leads(m, VEL_DATASET_FLUSHED, VEL_DATASET_ENCODED) &&
           !machine_leads(m, VEL_DATASET_ENCODED, VEL_DATASET_SEALED) &&
           !machine_leads(m, VEL_DATASET_SEALED, VEL_DATASET_ANNOUNCED),
       "nobody goes back behind sealed, encoded or flushed");
    ok(!machine_leads(m, VEL_DATASET_LOST, VEL_DATASET_SEALED) &&
           !machine_leads(m, VEL_DATASET_SUPERSEDED, VEL_DATASET_FLUSHED),
       "what is lost or superseded stays so");
}

int main(void)
{
    machine_check(m);
    sealing();
    keeping();
    crash_anywhere();
    found_later();
    return done_testing();
}
