/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "vfd/ticket.h"

static int copy_text(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? -1 : 0;
}

struct vel_ticket *vel_ticket_create(hid_t fapl_id, const char *name,
                                     const struct vel_file_answer *answer)
{
    struct vel_ticket *ticket = calloc(1, sizeof *ticket);

    if (!ticket)
        return NULL;
    *ticket = (struct vel_ticket){.uses = 1, .at = answer->at, .file = answer->file};
    ticket->fapl_id = H5Pcopy(fapl_id);
    if (ticket->fapl_id < 0 || copy_text(name, &ticket->name) < 0 ||
        copy_text(answer->path, &ticket->path) < 0 ||
        copy_text(answer->why, &ticket->why) < 0) {
        vel_ticket_release(ticket);
        return NULL;
    }
    return ticket;
}

struct vel_ticket *vel_ticket_share(struct vel_ticket *ticket)
{
    ticket->uses++;
    return ticket;
}

/* At the end of the program HDF5 may have closed the list before. */
void vel_ticket_release(struct vel_ticket *ticket)
{
    hid_t stack;

    if (--ticket->uses > 0)
        return;
    stack = vel_stack_save();
    if (ticket->fapl_id > 0 && H5Iis_valid(ticket->fapl_id) > 0)
        H5Pclose(ticket->fapl_id);
    vel_stack_restore(stack);
    free(ticket->name);
    free(ticket->path);
    free(ticket->why);
    free(ticket);
}
