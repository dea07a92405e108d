/* SPDX-License-Identifier: BSD-3-Clause */
/* publish - the owner of a flush copies two files and gives them their names, and may be frozen, or
 * die, at any step. Meanwhile another launch takes the flush over, finishes or supersedes it, and
 * then publishes a newer dataset under the same names. The rules are those of
 * doc/protocol.txt and doc/life.txt; each -DFAULT_... takes one of them away.
 *
 * Claims: no name goes back to the older dataset; what was superseded never appears; a name never
 * gets a file that is not whole; both names end with the same dataset. */
#define FILES 2
#define OWNERS 2

mtype = { FLUSHING, STAGED, ON_PREFIX, SUPERSEDED };

/* the prefix */
byte owner = 1;             /* of the older dataset: claims so far */
mtype entry[OWNERS + 1];    /* of the older dataset, one for each owner; the highest counts */
byte name[FILES];           /* 0: as before both, 1: the older, 2: the newer, 3: half a file */
byte temp[(OWNERS + 1) * FILES]; /* of the older one: 0 none, 1 begun, 2 whole */

bool is_superseded;
bool is_first_alive = true;

#ifdef FAULT_TEMP_SHARED
#define TEMP(k, f) temp[FILES + (f)]
#else
#define TEMP(k, f) temp[(k) * FILES + (f)]
#endif

inline begin_copy(k, f) {
    TEMP(k, f) = 1
}
inline end_copy(k, f) {
    d_step {
        if
        :: TEMP(k, f) != 0 -> TEMP(k, f) = 2
        :: else /* its name was removed; what is written has none */
        fi }
}
/* A rename of what is gone fails, and means that another has done it or taken it away. */
inline give_name(k, f) {
    d_step {
        if
        :: TEMP(k, f) == 2 -> name[f] = 1
        :: TEMP(k, f) == 1 -> name[f] = 3
        :: else
        fi;
        TEMP(k, f) = 0 }
}

proctype first() {
    {
        begin_copy(1, 0);
        end_copy(1, 0);
        begin_copy(1, 1);
        end_copy(1, 1);
        entry[1] = STAGED;
#ifndef FAULT_RENAME_BLIND
        if
        :: owner == 1
        :: owner > 1 -> goto over
        fi;
#endif
        give_name(1, 0);
        give_name(1, 1);
        entry[1] = ON_PREFIX
    } unless { !is_first_alive };
over:
    skip
}

/* The other launch: at any time, since the first owner is gone or seems so. */
proctype second() {
    mtype seen;
#ifdef FAULT_READ_FIRST
    seen = entry[1];
    owner = 2;
#else
    owner = 2;
    seen = entry[1];
#endif
    if
    :: seen == ON_PREFIX
    :: seen == STAGED ->
        give_name(1, 0);
        give_name(1, 1);
        entry[2] = ON_PREFIX
    :: seen == FLUSHING -> /* needless: a newer one has its names */
        entry[2] = SUPERSEDED;
        TEMP(1, 0) = 0;
        TEMP(1, 1) = 0;
        is_superseded = true
    :: seen == FLUSHING -> /* or it is copied anew */
        entry[2] = FLUSHING;
#ifndef FAULT_TEMP_SHARED
        TEMP(1, 0) = 0;
        TEMP(1, 1) = 0;
#endif
        begin_copy(2, 0);
        end_copy(2, 0);
        begin_copy(2, 1);
        end_copy(2, 1);
        entry[2] = STAGED;
        give_name(2, 0);
        give_name(2, 1);
        entry[2] = ON_PREFIX
    fi;
    /* the newer dataset; or it dies before */
    if
    :: true ->
        name[0] = 2;
        name[1] = 2
    :: true
    fi
}

proctype fate() {
    if
    :: is_first_alive = false
    :: true
    fi
}

init {
    atomic {
        entry[1] = FLUSHING;
        run first();
        run second();
        run fate()
    }
    _nr_pr == 1;
    assert(name[0] != 3 && name[1] != 3);
    assert(name[0] == name[1]);
    assert(is_superseded && name[0] != 1 || !is_superseded && name[0] != 0)
}
