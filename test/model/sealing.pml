/* SPDX-License-Identifier: BSD-3-Clause */
/* sealing - a launch whose older dataset is encoded seals and encodes a newer one on three nodes,
 * while a node vanishes or a leader dies, a chair is taken for dead that is only slow, and the next
 * launch begins at any time, with leaders of this one still at work (they were frozen, or cut off).
 * The rules are those of doc/protocol.txt and doc/life.txt; each -DFAULT_... takes one of them away.
 *
 * Claims: what the next launch calls restorable has all expected members, and stays restorable; of
 * what the program was told nothing newer is lost; without a loss everything comes to its end. */
#define NODES 3
#define TERMS 2
#define ALL 7
#define BIT(i) (1 << (i))
#define NEXT(i) (((i) + 1) % NODES)

/* the prefix: a record is made once, and never replaced. Node 0 is the first chair. */
byte term = 1;           /* chairs claimed so far; one takes over at most */
byte chair2;             /* node of the second one */
byte seal;               /* the dataset that the generation became; 0: no record */
byte members;            /* that the record names */
bool entry;              /* in the index: encoded */
bool ended;              /* a seal that is made later does not count */

/* caches, gone with their node. Bit i: node i has its part; a copy of the part of the node before */
byte old_part = ALL, old_copy = ALL;
byte part = ALL, copy;
byte taken[NODES];       /* the dataset that its part was made part of */
byte locked;             /* bit i: a leader works on the caches of node i */

/* leaders: what they know is gone with them */
byte alive = ALL;        /* nodes */
bool is_chair[TERMS + 1]; /* who claimed the term lives */
byte heard[TERMS + 1];   /* by the chair: members whose part is complete; after the seal, nodes
                            that have encoded */
byte tells[TERMS + 1];   /* the chair to the others: it became that dataset */
bool is_told_sealed, is_told_encoded; /* the program */

byte absent;             /* nodes that could not tell the next launch what they have */
bool is_lost, is_lost_late; /* a node; after the next launch had begun to ask */
byte view;               /* 1: the older one can be restored, 2: the newer one */

#ifdef FAULT_SEAL_MISSING
#define is_whole(t) ((heard[t] & 3) == 3)
#else
#define is_whole(t) (heard[t] == ALL)
#endif
#ifdef FAULT_EVICT_EARLY
#define has_newer(i) (taken[i] != 0)
#else
#define has_newer(i) (entry)
#endif
#ifdef FAULT_TELL_BLIND
#define may_tell true
#else
#define may_tell (!ended)
#endif
#define lives(i) (alive & BIT(i))
#define leads(i, t) (is_chair[t] && (t == 1 && i == 0 || t == 2 && chair2 == i))

/* Reports go to whom a node takes for the chair: any who lives. */
inline report(i, t) {
    if
    :: tells[t] == 0 -> heard[t] = heard[t] | BIT(i)
    :: else -> heard[t] = heard[t] | (copy & BIT(i))
    fi
}
#define may_report(i, t) \
    (lives(i) && is_chair[t] && !(heard[t] & BIT(i)) && (tells[t] == 0 || copy & BIT(i)))

inline make_seal(t) {
#ifdef FAULT_SEAL_REPLACED
    seal = 0;
#endif
    if
    :: seal == 0 ->
        seal = t;
        members = heard[t]
    :: else
    fi;
    tells[t] = seal;
    heard[t] = 0
}
/* The launch may have been ended since. */
inline tell(i, is_told) {
    if
    :: d_step { (leads(i, 1) || leads(i, 2)) && may_tell -> is_told = true }
    :: d_step { !leads(i, 1) && !leads(i, 2) || !may_tell -> skip }
    fi
}

proctype leader(byte i) {
end_idle:
    do
    :: !lives(i) -> break
    /* the chair is gone, or only slow: then it goes on without knowing */
    :: d_step { lives(i) && term == 1 && (i != 0 || !is_chair[1]) ->
        term = 2;
        chair2 = i;
        is_chair[2] = true }
    :: d_step { may_report(i, 1) -> report(i, 1) }
    :: d_step { may_report(i, 2) -> report(i, 2) }

    :: d_step { lives(i) && leads(i, 1) && is_whole(1) && tells[1] == 0 -> make_seal(1) }
        tell(i, is_told_sealed)
    :: d_step { lives(i) && leads(i, 2) && is_whole(2) && tells[2] == 0 -> make_seal(2) }
        tell(i, is_told_sealed)
    :: d_step { lives(i) && !entry && (leads(i, 1) && tells[1] != 0 && heard[1] == ALL ||
                leads(i, 2) && tells[2] != 0 && heard[2] == ALL) ->
        entry = true }
        tell(i, is_told_encoded)

    /* the part becomes the dataset's, and is copied to the next node */
    :: d_step { lives(i) && lives(NEXT(i)) && taken[i] == 0 && tells[1] != 0 ->
        taken[i] = tells[1];
        copy = copy | BIT(NEXT(i)) }
    :: d_step { lives(i) && lives(NEXT(i)) && taken[i] == 0 && tells[2] != 0 ->
        taken[i] = tells[2];
        copy = copy | BIT(NEXT(i)) }

    /* the older one goes, under the lock of the caches, and not for a launch that was ended */
    :: d_step { lives(i) && has_newer(i) && (old_part & BIT(i)) && !ended && !(locked & BIT(i)) ->
#ifndef FAULT_EVICT_UNLOCKED
        locked = locked | BIT(i)
#endif
        }
        d_step { true ->
            old_part = old_part & ~BIT(i);
            old_copy = old_copy & ~BIT(i);
            locked = locked & ~BIT(i) }
    od
}

/* A node vanishes; or a leader dies, and another process of its node takes the role. */
proctype fate() {
    byte i;
    if
    :: i = 0
    :: i = 1
    :: i = 2
    fi;
    if
    :: d_step { true ->
        is_chair[1] = is_chair[1] && i != 0;
        is_chair[2] = is_chair[2] && i != chair2;
        alive = alive & ~BIT(i);
        part = part & ~BIT(i);
        copy = copy & ~BIT(i);
        old_part = old_part & ~BIT(i);
        old_copy = old_copy & ~BIT(i);
        locked = locked & ~BIT(i);
        taken[i] = 0;
        is_lost = true;
        is_lost_late = ended }
    :: d_step { true ->
        is_chair[1] = is_chair[1] && i != 0;
        is_chair[2] = is_chair[2] && i != chair2 }
    :: true
    fi
}

/* The part of node i as the next launch was told of it, and as it is. */
#define had_new(i) \
    ((parts & BIT(i)) && (as[i] == 0 || as[i] == seal) || (copies & BIT(NEXT(i))))
#define had_old(i) ((old_parts & BIT(i)) || (old_copies & BIT(NEXT(i))))
#define has_new(i) ((part & BIT(i)) || (copy & BIT(NEXT(i))))
#define has_old(i) ((old_part & BIT(i)) || (old_copy & BIT(NEXT(i))))

proctype next_launch() {
    byte parts, copies, old_parts, old_copies, as[NODES];
    byte i;
    bool is_listed, is_listed_later;

    /* now, or when there is nothing left to do */
    if
    :: true
    :: timeout -> assert(is_lost || !is_chair[1] && !is_chair[2] || entry && !old_part && !old_copy)
    fi;
#ifdef FAULT_END_LATE
    is_listed = seal != 0;
#endif
    ended = true;
    /* each node tells what its caches hold, unless somebody is at work on them */
    do
    :: d_step { i < NODES && lives(i) && !(locked & BIT(i)) ->
        parts = parts | (part & BIT(i));
        copies = copies | (copy & BIT(i));
        old_parts = old_parts | (old_part & BIT(i));
        old_copies = old_copies | (old_copy & BIT(i));
        as[i] = taken[i];
        i++ }
    :: d_step { i < NODES && (!lives(i) || (locked & BIT(i))) ->
        absent++;
        i++ }
    :: i == NODES -> break
    od;
    i = 0;
    d_step {
#ifndef FAULT_END_LATE
        is_listed = seal != 0;
#endif
        if
        :: is_listed && (had_new(0) || !(members & 1)) && (had_new(1) || !(members & 2)) &&
            (had_new(2) || !(members & 4)) -> view = 2
        :: else
        fi;
        if
        :: had_old(0) && had_old(1) && had_old(2) -> view = view | 1
        :: else
        fi };

    /* leaders of the old launch thaw, and do what they still can */
    timeout;
#ifdef FAULT_LIST_AGAIN
    is_listed_later = seal != 0;
#else
    is_listed_later = is_listed; /* the list is a record, too */
#endif
    assert(!is_listed_later || is_listed);
    assert(!(view & 2) || members == ALL);
    assert(!(view & 2) || is_lost_late || absent > 0 || has_new(0) && has_new(1) && has_new(2));
    assert(!(view & 1) || is_lost_late || absent > 0 || has_old(0) && has_old(1) && has_old(2));
    assert(!is_told_encoded || absent > 1 || (view & 2));
    assert(!is_told_sealed || absent > 0 || (view & 2));
    assert(absent > 1 || view != 0)
}

init {
    atomic {
        is_chair[1] = true;
        run leader(0);
        run leader(1);
        run leader(2);
        run fate();
        run next_launch()
    }
}
