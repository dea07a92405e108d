/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_alive - who lives, and who waits for whom.
 *
 * A member that waits says so to all others every quarter of the limit; whoever says
 * nothing for the limit is given up. That alone would let members wait for ever that
 * wait for each other: for a message that was never sent, or sent under another tag. So
 * they also say for whom they wait and how much they have moved. A circle of members in
 * which nothing moved for the limit is the end: all of them stood still at one moment,
 * each needing the next, so that nothing can happen any more. Who is to blame cannot be
 * seen from it, but all who are in it are named.
 *
 * What a member says waits behind a message that we do not take yet; then a circle is
 * found by the member that is farthest ahead, for whom nothing is in the way. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "comm/sock_mesh.h"

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

void vel_mesh_count(struct sock_mesh *mesh, size_t n)
{
    mesh->moved += n;
    mesh->moved_at = now();
}

void vel_mesh_say_alive(struct sock_mesh *mesh)
{
    uint64_t t = now();
    if (t - mesh->said < mesh->limit_ms * VEL_CLOCK_MS / 4)
        return;
    mesh->said = t;
    for (int i = 0; i < mesh->size; i++) {
        struct sock_peer *p = &mesh->peers[i];
        if (p->fd >= 0 && p->sends == NULL && !p->has_left) {
            vel_mesh_say(mesh, i, FRAME_ALIVE, mesh->moved,
                         (uint32_t)(mesh->awaits + 1), "");
            vel_mesh_write(mesh, i);
        }
    }
}

int vel_mesh_hear_alive(struct sock_mesh *mesh, int i, struct vel_err *err)
{
    struct sock_peer *p = &mesh->peers[i];
    const struct frame *f = &p->frame;
    if (f->tag > (uint32_t)mesh->size)
        return vel_mesh_blame(mesh, i, VEL_ECORRUPT, "it waits for somebody unknown",
                              err);
    int awaits = (int)f->tag - 1;
    p->told = now();
    if (awaits != p->awaits || f->comm != p->moved)
        p->still_since = p->told;
    p->awaits = awaits;
    p->moved = f->comm;
    return 0;
}

/* Who was frozen, or had no processor, for half of the limit has not listened; the
 * others may have been frozen as well. They have the limit anew. It is noted with each
 * look and once more before anybody is judged: a member may be frozen between the two.
 */
void vel_mesh_note_look(struct sock_mesh *mesh)
{
    uint64_t t = now();

    if (t - mesh->looked >= mesh->limit_ms * VEL_CLOCK_MS / 2)
        mesh->awake = t;
    mesh->looked = t;
}

/* Does this member wait, and has it not moved anything for the limit? Its last word is
 * younger than the limit by more than the time between two of them, so that it came
 * while we were listening. */
static bool stands_still(const struct sock_peer *p, uint64_t t, uint64_t limit)
{
    return p->awaits >= 0 && t - p->told < limit * 3 / 4 && t - p->still_since >= limit;
}

/* Follow who waits for whom, from a peer that we wait for. */
static int circle_check(struct sock_mesh *mesh, int first, uint64_t since,
                        struct vel_err *err)
{
    uint64_t t = now(), limit = mesh->limit_ms * VEL_CLOCK_MS;
    uint64_t still = mesh->moved_at > since ? mesh->moved_at : since;
    char why[VEL_ERR_TEXT] = "nothing moves any more: it waits";
    size_t len = strlen(why);

    if (t - still < limit)
        return 0;
    for (int n = 0, r = first; n < mesh->size && r != mesh->rank; n++) {
        if (!stands_still(&mesh->peers[r], t, limit))
            return 0;
        r = mesh->peers[r].awaits;
        snprintf(why + len, sizeof why - len, "%s for rank %d", n > 0 ? ", that" : "",
                 r);
        len += strlen(why + len);
    }
    return vel_mesh_blame(mesh, first, VEL_ETIMEOUT, why, err);
}

int vel_mesh_expect(struct sock_mesh *mesh, int i, uint64_t since, struct vel_err *err)
{
    const struct sock_peer *p = &mesh->peers[i];
    uint64_t last = p->heard > since ? p->heard : since;
    char why[80];

    vel_mesh_note_look(mesh); /* the last one may be long ago: see there */
    last = mesh->awake > last ? mesh->awake : last;
    if (i != mesh->rank && p->fd < 0)
        return vel_mesh_blame(mesh, i, VEL_ELOST, "it has left", err);
    if (p->is_paused && p->is_mute)
        return vel_mesh_blame(mesh, i, VEL_ELOST, "it sent something else and has left",
                              err);
    if (now() - last < mesh->limit_ms * VEL_CLOCK_MS)
        return circle_check(mesh, i, since, err);
    snprintf(why, sizeof why,
             p->is_paused ? "it sent something else for %u ms"
                          : "nothing was heard for %u ms",
             mesh->limit_ms);
    return vel_mesh_blame(mesh, i, VEL_ETIMEOUT, why, err);
}
