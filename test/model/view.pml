/* SPDX-License-Identifier: BSD-3-Clause */
/* view - the leaders of three nodes find each other and decide once what this launch can restore,
 * while a node vanishes or a leader dies, one is cut off from the others but not from the prefix,
 * and any wait may end too early. The rules are those of doc/protocol.txt and doc/life.txt;
 * each -DFAULT_... takes one of them away.
 *
 * Claims: there is one view; every open of every process is answered from it, or fails and says so;
 * every leader that lives comes to the end. */
#define NODES 3
#define TERMS 2
#define ALL 7
#define BIT(i) (1 << (i))
#define SOME 4 /* in a view: it has been made, and says 0 to 3: a bit for each of two datasets */
#define FAILED 8

/* the prefix: records are made once. Node 0 is the first chair; one takes over at most. */
byte term = 1;
byte chair2;             /* node of the second one */
byte view;

/* each node: which datasets it has a part of. With two of three parts one can be restored. */
byte has[NODES];

byte alive = ALL;
byte cut;                /* bit i: node i reaches nobody, and nobody reaches it */

/* chairs: what they know is gone with them */
bool is_chair[TERMS + 1];
byte told[TERMS + 1];    /* nodes that have told what they hold */

byte got[NODES];         /* the view, as the leader knows it */
byte answer[NODES];      /* what a process was told when it opened its file */

#define lives(i) (alive & BIT(i))
#define leads(i, t) (is_chair[t] && (t == 1 && i == 0 || t == 2 && chair2 == i))
#define seat(t) (t == 1 -> 0 : chair2)
#define reaches(i, t) (is_chair[t] && !((cut >> i | cut >> seat(t)) & 1))
#define count(t, d) \
    (((told[t] & 1) && (has[0] & d)) + ((told[t] & 2) && (has[1] & d)) + \
     ((told[t] & 4) && (has[2] & d)))
#define summary(t) (SOME + (count(t, 1) > 1) + 2 * (count(t, 2) > 1))
#ifdef FAULT_WAIT_FOR_ALL
#define is_time(t) (told[t] == ALL)
#else
#define is_time(t) true
#endif

/* The record is made once, with all that is in it. Whoever comes second finds the first. */
inline make_view(t) {
#if defined FAULT_VIEW_REPLACED
    view = summary(t)
#elif defined FAULT_VIEW_TORN
    if
    :: view == 0 ->
        view = SOME;
        torn = t
    :: else
    fi
#else
    if
    :: view == 0 -> view = summary(t)
    :: else
    fi
#endif
}

proctype leader(byte i) {
    byte torn;
    do
    :: !lives(i) -> break
#ifndef FAULT_NO_TAKEOVER
    /* the chair is gone, cut off from here, or only slow: then it goes on without knowing */
    :: d_step { lives(i) && term == 1 && (i != 0 || !is_chair[1]) ->
        term = 2;
        chair2 = i;
        is_chair[2] = true;
        told[2] = BIT(i) }
#endif
    :: d_step { lives(i) && reaches(i, 1) && !(told[1] & BIT(i)) -> told[1] = told[1] | BIT(i) }
    :: d_step { lives(i) && reaches(i, 2) && !(told[2] & BIT(i)) -> told[2] = told[2] | BIT(i) }
    :: d_step { lives(i) && leads(i, 1) && is_time(1) -> make_view(1) }
    :: d_step { lives(i) && leads(i, 2) && is_time(2) -> make_view(2) }
#ifdef FAULT_VIEW_TORN
    :: d_step { lives(i) && torn > 0 ->
        view = summary(torn);
        torn = 0 }
#endif
    :: d_step { lives(i) && view != 0 -> got[i] = view }
        break
    od
}

/* A process asks its leader; where that does not answer it looks for the record itself. */
proctype process(byte i) {
    if
    :: d_step { !lives(i) -> skip }
    :: d_step { lives(i) && got[i] != 0 -> answer[i] = got[i] }
#if defined FAULT_GUESS
    :: d_step { lives(i) && got[i] == 0 -> answer[i] = SOME }
#elif defined FAULT_ANSWER_OWN
    :: d_step { lives(i) && got[i] == 0 && (cut & BIT(i)) -> answer[i] = SOME + has[i] }
#else
    :: d_step { lives(i) && got[i] == 0 -> answer[i] = (view != 0 -> view : FAILED) }
#endif
    fi
}

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
        alive = alive & ~BIT(i) }
    :: d_step { true ->
        is_chair[1] = is_chair[1] && i != 0;
        is_chair[2] = is_chair[2] && i != chair2 }
    :: true
    fi
}

#define agree(i, j) \
    (answer[i] == 0 || answer[i] == FAILED || answer[j] == 0 || answer[j] == FAILED || \
     answer[i] == answer[j])

init {
    /* node 0 has both datasets; what the others have decides */
    has[0] = 3;
    if
    :: has[1] = 3
    :: has[1] = 1
    fi;
    if
    :: has[2] = 2
    :: has[2] = 0
    fi;
    if
    :: cut = 0
    :: cut = 1
    :: cut = 2
    :: cut = 4
    fi;
    atomic {
        is_chair[1] = true;
        told[1] = 1;
        run leader(0);
        run leader(1);
        run leader(2);
        run process(0);
        run process(1);
        run process(2);
        run fate()
    }
    /* all have ended but this one: whoever waits for ever would make the wait one too */
    _nr_pr == 1;
    assert(agree(0, 1) && agree(0, 2) && agree(1, 2));
    assert(alive == 0 || view != 0)
}
