/* SPDX-License-Identifier: BSD-3-Clause */
/* What a newer dataset that is restored means for the one at hand. The newest are
 * decided first. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "view/view_in.h"

static bool is_of_template(const struct vel_view_making *making,
                           const struct vel_seal *seal)
{
    return seal->id > making->id && strcmp(seal->template, making->seal->template) == 0;
}

bool vel_view_has_newer(const struct vel_view_making *making)
{
    const struct vel_view_of *of = making->of;
    const struct vel_view_dataset *d = making->view->datasets.items;

    for (size_t i = 0; *making->seal->template && i < of->n_seals; i++)
        if (is_of_template(making, &of->seals[i].seal) &&
            vel_view_find_dataset(making->view, of->seals[i].seal.id))
            return true;
    for (size_t i = 0; i < making->view->datasets.n; i++)
        if (!*making->seal->template && !d[i].about.is_leaders)
            return true;
    return false;
}

bool vel_view_is_written_anew(const struct vel_view_making *making, struct vel_buf *why)
{
    const struct vel_view_of *of = making->of;

    for (size_t i = 0; making->seal && i < of->n_seals; i++) {
        const struct vel_seal *seal = &of->seals[i].seal;

        if (seal->anew >= making->id && is_of_template(making, seal) &&
            strcmp(seal->step, making->seal->step) == 0 &&
            vel_view_find_dataset(making->view, seal->id)) {
            vel_buf_printf(why,
                           "dataset %" PRId64
                           " was written in its place while it could "
                           "not be restored",
                           seal->id);
            return true;
        }
    }
    return false;
}
