/* SPDX-License-Identifier: BSD-3-Clause */
/* ledger - three launches on one prefix; some have several chairs, one after the other. Everybody may
 * be frozen before any step, be taken for dead, and thaw. A chair claims the next ledger of its
 * launch, ends launches that it takes to be over, begins with what counts of them, removes what is
 * in two begins by now, and then writes a fact and tells it. The rules are those of
 * doc/format-ledger.txt 4; each -DFAULT_... takes one of them away.
 *
 * Claims: what was told counts for every reader from then on; and what a chair has found of an
 * ended launch when it looked behind its begin is what counts of that launch for good. */
#define LAUNCHES 3
#ifdef WITH_A3
#define TERMS 5
#else
#define TERMS 4
#endif
#define AT(n, k) ((n) * TERMS + (k))
#define BIT(i) (1 << (i))
#define NONE 255

/* the prefix: ledger k of launch n. A name that was removed may be made again, by another. */
#define FREE 0
#define CHAIR 1
#define END 2
byte kind[LAUNCHES * TERMS];
byte heir[LAUNCHES * TERMS];    /* of an END */
byte maker[LAUNCHES * TERMS];
bool begun[LAUNCHES * TERMS];   /* its begin is whole */
byte facts[LAUNCHES * TERMS];   /* bits are writers */
byte carried[LAUNCHES * TERMS]; /* bits are launches: their facts are among these */

byte told;
byte fixed[LAUNCHES]; /* what counts of a launch that was carried */
bool is_fixed[LAUNCHES];
byte of_launch[LAUNCHES]; /* facts that its chairs write */

/* --- reading: each of these is one look at one directory, or at one file --- */

inline find_highest(n, ret) {
    ret = NONE;
    i = 0;
    do
    :: i < TERMS ->
        if
        :: kind[AT(n, i)] != FREE -> ret = i
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}
/* The one that counts below term k: the highest with a whole begin. */
inline find_counting(n, k, ret) {
    ret = NONE;
    i = 0;
    do
    :: i < k ->
        if
        :: kind[AT(n, i)] == CHAIR && begun[AT(n, i)] -> ret = i
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}
/* Its facts, and the launches that they are of. */
inline read_counting(n, k, ret) {
    find_counting(n, k, ret);
    if
    :: ret != NONE ->
        got = facts[AT(n, ret)];
        had = carried[AT(n, ret)]
    :: else
    fi
}

/* --- a chair --- */

#define is_own (kind[AT(n, k)] != FREE && maker[AT(n, k)] == me)
#define is_last (k + 1 == TERMS || kind[AT(n, k + 1)] == FREE)
inline go_on_if(what) {
    if
    :: d_step { (what) -> skip }
    :: d_step { !(what) -> skip }
        goto over
    fi
}
inline look() {
#ifdef FAULT_LOOK_ORDER
    go_on_if(is_own);
    go_on_if(is_last)
#else
#ifndef FAULT_LOOK_OWN /* at its own alone */
    go_on_if(is_last);
#endif
#ifndef FAULT_LOOK_NEXT
    go_on_if(is_own)
#else
    skip
#endif
#endif
}

inline create(n, k, what, ret) {
    if
    :: kind[AT(n, k)] == FREE ->
        kind[AT(n, k)] = what;
        heir[AT(n, k)] = NONE;
        maker[AT(n, k)] = me;
        begun[AT(n, k)] = false;
        facts[AT(n, k)] = 0;
        carried[AT(n, k)] = 0;
        ret = true
    :: else -> ret = false
    fi
}

inline forget(n, k) {
    kind[AT(n, k)] = FREE;
    maker[AT(n, k)] = NONE
}

/* Is the end of launch m this chair's to go on with? */
#ifdef FAULT_HEIR
#define is_heir(of) ((of) == n)
#else
#define is_heir(of) ((of) == n || ((all | old) & BIT(of)) != 0)
#endif

/* Launch m, older than n, is taken to be over. */
inline end_launch(m) {
    d_step {
        find_highest(m, high);
        stop = high == NONE || ((all | old) & BIT(m)) != 0 || high + 1 >= TERMS;
        is_mine = !stop && kind[AT(m, high)] == END && is_heir(heir[AT(m, high)]);
        stop = stop || (kind[AT(m, high)] == END && !is_mine);
#ifdef FAULT_END_READ_FIRST
        read_counting(m, TERMS, at);
#endif
    }
    if
    :: stop || is_mine
    :: !stop && !is_mine ->
        d_step {
            create(m, high + 1, END, is_mine);
            if
            :: is_mine -> heir[AT(m, high + 1)] = n
            :: else
            fi }
#ifndef FAULT_END_GONE
        d_step { is_mine = is_mine && kind[AT(m, high)] != FREE }
#endif
    fi;
    if
    :: !stop && is_mine ->
        skip;
#ifndef FAULT_END_READ_FIRST
        d_step {
            read_counting(m, TERMS, at)
#ifndef FAULT_END_EMPTY
            ; is_mine = at != NONE || kind[AT(m, 0)] != FREE
#endif
        }
#endif
        d_step {
            if
            :: is_mine ->
                mine = mine | got;
                old = old | had;
                all = all | BIT(m);
                from[m] = (at == NONE -> 0 : at)
            :: else
            fi }
    :: else
    fi;
    d_step { got = 0; had = 0; at = 0; high = 0; stop = false; is_mine = false }
}

/* The names of a launch below term `to`. */
inline remove(m, to) {
    step = 0;
    do
    :: step < to ->
        d_step {
#ifdef FAULT_REMOVE_DOWN
            forget(m, to - 1 - step);
#else
            forget(m, step);
#endif
            step++ }
    :: else -> break
    od;
    step = 0
}
/* What its begin comes from stays: of that there are two then. */
inline remove_old() {
    m = 0;
    do
    :: m < n ->
        if
        :: old & BIT(m) -> remove(m, TERMS)
        :: !(old & BIT(m)) && (all & BIT(m)) ->
#ifdef FAULT_REMOVE_SOURCE
            d_step { step = from[m]; forget(m, step); step = 0 }
#else
            remove(m, from[m])
#endif
        :: else
        fi;
        m++
    :: else -> break
    od;
    remove(n, from[n])
}

proctype chair(byte me; byte n; bool is_first) {
    byte k, high, at, i, m, step, got, had;
    byte mine;           /* facts that its begin has */
    byte all, old;       /* launches that it carries, and those that were carried before */
    byte from[LAUNCHES]; /* the terms that its begin comes from */
    bool stop, is_mine;

    if
    :: is_first -> d_step {
        k = 0;
        create(n, 0, CHAIR, is_mine) }
    :: !is_first ->
        d_step {
            find_highest(n, high);
            stop = high == NONE || high + 1 >= TERMS;
#ifndef FAULT_CLAIM_END
            stop = stop || kind[AT(n, high)] == END;
#endif
#ifdef FAULT_READ_FIRST
            read_counting(n, TERMS, at);
#endif
        }
        if
        :: stop -> goto over
        :: else
        fi;
        d_step {
            k = high + 1;
            high = 0;
            create(n, k, CHAIR, is_mine) }
        if
        :: !is_mine -> goto over
        :: else
        fi;
#ifndef FAULT_READ_FIRST
        d_step { read_counting(n, k, at) }
#endif
        if
#ifndef FAULT_CLAIM_EMPTY
        :: at == NONE -> goto over
#endif
        :: else
        fi;
        d_step {
            mine = got;
            old = had;
            from[n] = (at == NONE -> 0 : at);
            got = 0; had = 0; at = 0 }
    fi;
    /* the newest first: of whom that is the heir, it is */
    m = n;
    do
    :: m > 0 ->
        m--;
        if
        :: skip -> end_launch(m)
        :: true
        fi
    :: else -> break
    od;
    skip; /* a loop may not end at a d_step */
#ifdef FAULT_REMOVE_EARLY
    remove_old();
    skip;
#endif
    d_step {
        if
        :: is_own ->
            begun[AT(n, k)] = true;
            facts[AT(n, k)] = mine;
            carried[AT(n, k)] = all | old
        :: else /* its name is gone, the file is nobody's */
        fi }
#ifndef FAULT_BEGIN_BLIND
    look();
#endif
    d_step {
        m = 0;
        do
        :: m < n ->
            if
            :: (all & BIT(m)) && !is_fixed[m] ->
                is_fixed[m] = true;
                fixed[m] = mine & of_launch[m]
            :: (all & BIT(m)) && is_fixed[m] ->
                assert((mine & of_launch[m]) == fixed[m])
            :: else
            fi;
            m++
        :: else -> break
        od;
        m = 0 }
    remove_old();
    d_step {
        if
        :: is_own -> facts[AT(n, k)] = facts[AT(n, k)] | BIT(me)
        :: else
        fi }
#ifndef FAULT_TELL_BLIND
    look();
#endif
    told = told | BIT(me);
over:
    skip;
    d_step {
        k = 0; high = 0; at = 0; i = 0; m = 0; step = 0; got = 0; had = 0;
        mine = 0; all = 0; old = 0; from[0] = 0; from[1] = 0; from[2] = 0;
        stop = false; is_mine = false; n = 0; me = 0; is_first = false }
}

/* Anybody reads what counts of a launch that lives, and acts on a fact that it was not told. */
proctype reader(byte n) {
    byte i, at, seen, by;

    d_step {
        find_counting(n, TERMS, at);
        if
        :: at != NONE ->
            seen = facts[AT(n, at)] & of_launch[n];
            by = maker[AT(n, at)]
        :: else
        fi }
#ifndef FAULT_ACT_BLIND
    if
    :: at != NONE && at + 1 < TERMS && kind[AT(n, at + 1)] != FREE -> seen = 0
    :: else
    fi;
    if
    :: at != NONE && (kind[AT(n, at)] == FREE || maker[AT(n, at)] != by) -> seen = 0
    :: else
    fi;
#endif
    d_step {
        told = told | seen;
        seen = 0; at = 0; i = 0; by = 0; n = 0 }
}

/* What counts for somebody who reads all now; and what a launch would have that begins now, if
 * nobody else did anything any more. */
proctype monitor() {
    byte i, n, m, at, high, sum, mine, got, had, all, old;

end:
    do
    :: d_step {
        m = LAUNCHES;
        do
        :: m > 0 ->
            m--;
            find_counting(m, TERMS, at);
            if
            :: at != NONE && !(old & BIT(m)) ->
                old = old | carried[AT(m, at)];
                sum = sum | facts[AT(m, at)]
            :: else
            fi
        :: else -> break
        od;
        assert((told & ~sum) == 0);
        do
        :: m < LAUNCHES ->
            assert(!is_fixed[m] || (sum & of_launch[m]) == fixed[m]);
            m++
        :: else -> break
        od;
        n = LAUNCHES;
        old = 0;
        do
        :: m > 0 ->
            m--;
            find_highest(m, high);
            if
            :: high != NONE && !((all | old) & BIT(m)) &&
                (kind[AT(m, high)] != END || is_heir(heir[AT(m, high)])) ->
                read_counting(m, TERMS, at);
                mine = mine | got;
                old = old | had;
                all = all | BIT(m)
            :: else
            fi;
            got = 0;
            had = 0
        :: else -> break
        od;
        assert((told & ~mine) == 0);
        do
        :: m < LAUNCHES ->
            find_counting(m, TERMS, at);
            assert(at == NONE || ((all | old) & BIT(m)) != 0);
            m++
        :: else -> break
        od;
        n = 0; m = 0; at = 0; i = 0; high = 0; sum = 0; mine = 0; all = 0; old = 0 }
    od
}

init {
    atomic {
        of_launch[0] = BIT(0) | BIT(1) | BIT(5) | BIT(6);
        of_launch[1] = BIT(2) | BIT(3);
        of_launch[2] = BIT(4);
        run monitor();
        run chair(0, 0, true);
#ifdef WITH_A1
        run chair(1, 0, false);
#endif
#ifdef WITH_A2
        run chair(5, 0, false);
#endif
#ifdef WITH_A3
        run chair(6, 0, false);
#endif
        run chair(2, 1, true);
#ifdef WITH_B1
        run chair(3, 1, false);
#endif
#ifdef WITH_C
        run chair(4, 2, true);
#endif
#ifdef WITH_READER
        run reader(0)
#endif
    }
}
