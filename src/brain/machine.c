/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>

#include "brain/machine.h"

int vel_machine_step(const struct vel_machine *machine, unsigned state, unsigned event,
                     unsigned facts, const struct vel_machine_row **ret_row,
                     struct vel_err *err)
{
    assert(state < machine->nstates && event < machine->nevents);
    for (size_t i = 0; i < machine->nrows; i++) {
        const struct vel_machine_row *row = &machine->rows[i];

        if (row->state == state && row->event == event && !(row->facts & ~facts)) {
            *ret_row = row;
            return 0;
        }
    }
    return vel_fail(err, VEL_ESTATE, "%s: '%s' is not expected while it is '%s'",
                    machine->name, machine->events[event], machine->states[state]);
}
