/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>

#include "brain/machine.h"

const struct vel_machine_row *vel_machine_step(const struct vel_machine *machine,
                                               unsigned state, unsigned event,
                                               unsigned facts)
{
    assert(state < machine->nstates && event < machine->nevents);
    for (size_t i = 0; i < machine->nrows; i++) {
        const struct vel_machine_row *row = &machine->rows[i];

        if (row->state == state && row->event == event && !(row->facts & ~facts))
            return row;
    }
    return NULL;
}
