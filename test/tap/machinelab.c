/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdbool.h>

#include "tap/machinelab.h"
#include "tap/tap.h"

enum { STATES_MOST = 32, WORDS_MOST = 64 };

bool machine_leads(const struct vel_machine *machine, unsigned from, unsigned to)
{
    bool reached[STATES_MOST] = {false};
    bool has_grown = true;

    reached[from] = true;
    while (has_grown) {
        has_grown = false;
        for (size_t i = 0; i < machine->nrows; i++) {
            const struct vel_machine_row *row = &machine->rows[i];
            if (reached[row->state] && !reached[row->next])
                has_grown = reached[row->next] = true;
        }
    }
    return reached[to];
}

static bool makes_sense(const struct vel_machine *m, const struct vel_machine_row *row)
{
    return row->state < m->nstates && row->next < m->nstates &&
           row->event < m->nevents && row->facts < 1U << m->nfacts &&
           row->record < m->nrecords && row->action < m->nactions;
}

/* A row is never taken when one before it fits whenever it does. */
static bool is_hidden(const struct vel_machine *m, size_t at)
{
    return vel_machine_step(m, m->rows[at].state, m->rows[at].event,
                            m->rows[at].facts) != &m->rows[at];
}

/* The first word that no row uses, or NULL. */
static const char *unused(const struct vel_machine *m)
{
    bool events[WORDS_MOST] = {false}, records[WORDS_MOST] = {true},
         actions[WORDS_MOST] = {true};
    unsigned facts = 0;

    for (size_t i = 0; i < m->nrows; i++) {
        events[m->rows[i].event] = true;
        records[m->rows[i].record] = true;
        actions[m->rows[i].action] = true;
        facts |= m->rows[i].facts;
    }
    for (size_t i = 0; i < m->nevents; i++)
        if (!events[i])
            return m->events[i];
    for (size_t i = 0; i < m->nrecords; i++)
        if (!records[i])
            return m->records[i];
    for (size_t i = 0; i < m->nactions; i++)
        if (!actions[i])
            return m->actions[i];
    for (size_t i = 0; i < m->nfacts; i++)
        if (!(facts & 1U << i))
            return m->facts[i];
    return NULL;
}

static void refuses(const struct vel_machine *m)
{
    size_t refused = 0;
    bool are_right = true;

    for (unsigned s = 0; s < m->nstates; s++)
        for (unsigned e = 0; e < m->nevents; e++) {
            const struct vel_machine_row *row = vel_machine_step(m, s, e, 0);

            refused += !row;
            are_right &= !row || (row->state == s && row->event == e);
        }
    ok(are_right && refused > 0, "%s: what is not in the table is refused", m->name);
}

void machine_check(const struct vel_machine *m)
{
    bool is_sound = true, is_ordered = true;
    const char *hidden = NULL, *lonely = NULL;

    for (size_t i = 0; i < m->nrows; i++) {
        is_sound &= makes_sense(m, &m->rows[i]);
        is_ordered &= i == 0 || m->rows[i - 1].state <= m->rows[i].state;
    }
    ok(is_sound && is_ordered, "%s: rows are about its own words, by state", m->name);
    if (!is_sound)
        return;
    for (size_t i = 0; i < m->nrows; i++)
        if (is_hidden(m, i)) {
            hidden = m->events[m->rows[i].event];
            note("the row %zu, %s while %s, is never taken", i, hidden,
                 m->states[m->rows[i].state]);
        }
    ok(!hidden, "%s: every row is taken some time", m->name);
    for (unsigned s = 0; s < m->nstates; s++)
        if (!machine_leads(m, 0, s))
            lonely = m->states[s];
    is_str(lonely ? lonely : "", "", "%s: every state can be reached", m->name);
    is_str(unused(m) ? unused(m) : "", "", "%s: every word is used", m->name);
    refuses(m);
}
