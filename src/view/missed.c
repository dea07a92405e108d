/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>

#include "view/missed.h"

enum { NAMED_MOST = 8 };

size_t vel_view_put_away(const struct vel_view *view, const struct vel_seal *seal,
                         struct vel_buf *ret)
{
    struct vel_seal_nodes nodes;
    size_t n = 0;

    if (vel_seal_nodes(seal, &nodes, NULL) < 0)
        return 0;
    for (size_t i = 0; i < nodes.n; i++) {
        if (vel_view_has_node(view, nodes.names[i]))
            continue;
        if (n < NAMED_MOST)
            vel_buf_printf(ret, "%s%s", n ? ", " : "", nodes.names[i]);
        n++;
    }
    if (n > NAMED_MOST)
        vel_buf_printf(ret, " and %zu more", n - NAMED_MOST);
    vel_seal_nodes_fini(&nodes);
    return n;
}

/* Sessions tell of theirs (engine/leftovers.c). */
bool vel_view_find_missed(const struct vel_view *view, struct vel_seals_of *seals,
                          struct vel_seal *ret, size_t *ret_n)
{
    size_t n = 0;

    for (size_t i = 0; i < view->lost.n; i++) {
        int64_t id = ((struct vel_view_lost *)vel_vec_at(&view->lost, i))->id;
        struct vel_seal seal;

        if (!vel_view_is_unseen(view, id) || vel_seals_of_dataset(seals, id, &seal) < 0)
            continue;
        if (seal.about.is_leaders && n++ == 0)
            *ret = seal;
        else
            vel_seal_fini(&seal);
    }
    *ret_n = n;
    return n > 0;
}

bool vel_view_tell_missed(const struct vel_missed_of *of, struct vel_buf *ret)
{
    struct vel_seal seal;
    struct vel_buf away;
    size_t n;

    if (!vel_view_find_missed(of->view, of->seals, &seal, &n))
        return false;
    vel_buf_init(&away);
    vel_buf_printf(ret, "dataset %" PRId64 " (%s %" PRId64 ") ", seal.about.id,
                   seal.about.name, seal.about.version);
    if (vel_view_put_away(of->view, &seal, &away) > 0)
        vel_buf_printf(
            ret,
            "cannot be restored now%s: the caches that were looked at (%s) have too "
            "little of it, and of the nodes that had parts of it, %s did not tell in "
            "%g s (VIEW_WAIT). It comes when the program starts with a rank or "
            "h5veloc-agent on these nodes, too, or when h5veloc-prerun --recover runs "
            "on all of them before; until a newer one is complete it is kept",
            n > 1 ? ", nor can older ones" : "", of->caches, vel_buf_text(&away),
            of->wait);
    else
        vel_buf_printf(ret,
                       "is not found%s: it was in caches only, and none of those that "
                       "were looked at has any of it (%s)",
                       n > 1 ? ", nor are older ones" : "", of->caches);
    vel_buf_fini(&away);
    vel_seal_fini(&seal);
    return true;
}
