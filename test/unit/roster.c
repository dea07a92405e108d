/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "brain/roster.h"
#include "tap/tap.h"

enum { MANY = 300 };

static void join(struct vel_roster *roster, int i)
{
    char node[16];

    snprintf(node, sizeof node, "n%d", i);
    if (!vel_roster_join(roster, node, "0", ""))
        bail_out("no memory");
}

static void parents(const struct vel_roster *roster, int64_t place, const char *want,
                    const char *text)
{
    struct vel_buf got;

    vel_buf_init(&got);
    vel_roster_parents(roster, place, &got);
    is_str(vel_buf_text(&got), want, "%s", text);
    vel_buf_fini(&got);
}

static void words(void)
{
    const char *rest = "  a bc ";
    char word[VEL_ROSTER_NAME];

    ok(vel_words_next(&rest, word) && word[0] == 'a' && vel_words_next(&rest, word) &&
           word[1] == 'c' && !vel_words_next(&rest, word),
       "names are divided by blanks");
    ok(vel_words_have("n1 n12", "n12") && !vel_words_have("n1 n12", "n2"),
       "and are whole words");
}

/* Whoever has ended stays known, though the leader that met it has ended, too. */
static void ranks(void)
{
    struct vel_roster roster;
    struct vel_roster_member *member;

    vel_roster_init(&roster);
    member = vel_roster_join(&roster, "n1", "4 5", "");
    ok(vel_roster_tell(member, "4- 5! 6 7"), "a node tells of its ranks");
    member = vel_roster_join(&roster, "n1", "6", "");
    is_str(member->present, "6 4- 5!",
           "ranks that have ended stay known under a new leader of their node");
    ok(vel_roster_tell(member, "6 4"), "and tells again");
    is_str(member->present, "6 4 5!", "what is said now counts");
    ok(vel_roster_left(&roster, "n2", "8- 9-", 5) &&
           vel_roster_left(&roster, "n1", "10- 6-", 5),
       "a new chair learns who had left before");
    is_str(member->present, "6 4 5! 10-", "also of a node that is here again");
    member = vel_roster_get(&roster, "n2");
    ok(!member->is_here && member->has_left && strcmp(member->present, "8- 9-") == 0 &&
           vel_roster_here(&roster) == 1,
       "a node that had left is not here, and its ranks have been");
    vel_roster_fini(&roster);
}

int main(void)
{
    struct vel_roster roster;

    vel_roster_init(&roster);
    for (int i = 0; i < MANY; i++)
        join(&roster, i);
    is_int((long long)vel_roster_here(&roster), MANY, "all who joined are here");
    parents(&roster, 16, "", "the chair has sixteen children of its own");
    parents(&roster, 17, "n1", "who comes then has a parent");
    parents(&roster, 273, "n17 n1", "and that one too: the nearest is first");
    vel_roster_get(&roster, "n17")->is_here = false;
    parents(&roster, 273, "n1", "who is gone is nobody's parent");
    ok(!vel_roster_has(&roster, "n17") && !vel_roster_has(&roster, "x"),
       "nor is it here, nor is who never came");
    ok(vel_roster_has_all(&roster, " n1 n299") &&
           !vel_roster_has_all(&roster, "n1 n17"),
       "lists of nodes are here when all of them are");
    join(&roster, 17);
    is_int(vel_roster_get(&roster, "n17")->place, 17,
           "who comes back has its old place");
    vel_roster_fini(&roster);
    words();
    ranks();
    return done_testing();
}
