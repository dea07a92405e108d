/* SPDX-License-Identifier: BSD-3-Clause */
/* number - launches take their numbers from the names of ledgers, may be frozen before any step,
 * and older ones are removed meanwhile, so that a number that is free may have been used; so may one
 * of which only the first name is gone, for its chair has changed twice.
 * The rules are those of doc/format-ledger.txt 3; each -DFAULT_... takes one of them away.
 *
 * Claims: no number is used twice; and of a launch that was carried nothing counts again once its
 * ledgers were removed: a chair of it that was taken for dead would go on from that, and tell what
 * nobody reads. */
#define MOST 5
#define BIT(i) (1 << (i))

byte first = BIT(0); /* launches that have their first ledger, */
byte later;          /* or later ones */
byte used = BIT(0);
byte high;           /* the highest of them */
byte begun = BIT(0); /* those of which a ledger has a begin */
byte carried;        /* those that were carried, and removed */
#define there (first | later)

inline count_high() {
    high = MOST;
    do
    :: high > 0 && !(there & BIT(high)) -> high--
    :: else -> break
    od;
    skip
}

proctype starter() {
    byte mine;
    bool is_made;

    do
    :: mine = high + 1;
        if
        :: mine > MOST -> break
        :: else
        fi;
        /* one of many makes the name */
        d_step {
            is_made = !(first & BIT(mine));
            first = first | BIT(mine);
#ifdef FAULT_BEGIN_FIRST
            begun = begun | (is_made -> BIT(mine) : 0);
#endif
            count_high() }
        assert((begun & carried) == 0);
        if
#ifdef FAULT_LIST_ONCE
        :: is_made ->
#elif defined FAULT_OTHER_TERMS
        :: is_made && high == mine ->
#else
        :: is_made && high == mine && !(later & BIT(mine)) ->
#endif
            assert(!(used & BIT(mine)));
            used = used | BIT(mine);
            /* a file that has lost its name counts for nobody */
            d_step { begun = begun | (first & ~carried & BIT(mine)) }
            break
        :: else /* the name stays: it is ended as that of one who died */
        fi
    od
}

/* Who has carried a launch removes it; the highest stays. */
#ifdef FAULT_REMOVE_HIGHEST
#define may_go(i) (there & BIT(i))
#else
#define may_go(i) ((there & BIT(i)) && (i) < high)
#endif
#define remove(i) \
    d_step { may_go(i) -> first = first & ~BIT(i); later = later & ~BIT(i); begun = begun & ~BIT(i); \
             carried = carried | BIT(i); count_high() }
proctype remover() {
end:
    do
    :: remove(0)
    :: remove(1)
    :: remove(2)
    :: remove(3)
    :: remove(4)
    :: remove(5)
    od
}

/* A launch goes on with a third chair: its first ledger is gone then. */
#define go_on(i) \
    d_step { (begun & BIT(i)) && (first & BIT(i)) -> later = later | BIT(i); first = first & ~BIT(i) }
proctype chairs() {
end:
    do
    :: go_on(1)
    :: go_on(2)
    :: go_on(3)
    :: go_on(4)
    :: go_on(5)
    od
}

init {
    atomic {
        run chairs();
        run starter();
        run starter();
        run starter();
        run remover()
    }
}
