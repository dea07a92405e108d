#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# model.t - every state that the models of the node leader can come to is looked at by spin; and a
# model without one of its rules is found wrong, for the reason that the rule is there for.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"

command -v spin >/dev/null || skip_all "there is no spin"
command -v cc >/dev/null || skip_all "there is no C compiler for what spin makes"
work=$(tap_dir)

# search OPTIMIZE MODEL [-D...]: what spin's checker says of all states
search() {
    local dir
    dir=$(mktemp -d "$work/XXXXXX") && cd "$dir" || return
    spin -a "${@:3}" "$top_srcdir/test/model/$2.pml" >spin.log 2>&1 || { cat spin.log; return; }
    cc -w "$1" -DSAFETY -DMEMLIM=2048 -o pan pan.c 2>&1 || return
    ./pan -m10000 -w22
}

# holds MODEL TEXT [-D...]: no claim is violated, and the search was complete
holds() {
    local said
    said=$(cd "$work" && search -O2 "$1" "${@:3}")
    if grep -q 'errors: 0$' <<<"$said" && ! grep -Eq 'max search depth|out of memory|truncated' <<<"$said"; then
        pass "$1: $2 ($(awk '/states, stored/ { print $1 }' <<<"$said") states)"
    else
        fail "$1: $2"
        note "$said"
    fi
}

# breaks MODEL FAULT CLAIM TEXT [-D...]: without the rule the claim, a pattern of what is said, is violated
breaks() {
    like "$(cd "$work" && search -O0 "$1" "-DFAULT_$2" "${@:5}" | grep -E '^pan:1|^spin:')" "$3" \
        "$1: $4 ($2)"
}

holds sealing "nothing restorable lacks a member, nothing told is lost, all comes to its end"
breaks sealing SEAL_MISSING '*members==7*' \
    "a chair that does not wait for all expected members is found out"
breaks sealing SEAL_REPLACED '*is_told_sealed*view*' \
    "so are two chairs that both decide about one generation"
breaks sealing TELL_BLIND '*is_told_*view*' \
    "so is a chair that thaws and tells without looking whether its launch was ended"
breaks sealing END_LATE '*is_told_*view*' "so is a launch that looks first and ends the old one then"
breaks sealing LIST_AGAIN '*is_listed*' "so is a list of seals that is made anew by a later launch"
breaks sealing EVICT_EARLY '*view*=0*' "so is room that is made before the new dataset is encoded"
breaks sealing EVICT_UNLOCKED '*old_part*' "so is room made by a leader that was frozen on its way"

holds view "there is one view, all opens agree, and nobody waits for ever"
breaks view VIEW_REPLACED '*answer*' "a view that can be replaced is found out"
breaks view VIEW_TORN '*answer*' "so is one that can be read before it is written"
breaks view ANSWER_OWN '*answer*' "so is a node that is cut off and answers from what it holds"
breaks view GUESS '*answer*' "so is a process that takes silence for 'not there'"
breaks view WAIT_FOR_ALL '*invalid end state*' "so is a chair that waits for a node that vanished"
breaks view NO_TAKEOVER '*invalid end state*' "so is a launch that lets nobody replace its chair"

holds publish "no name goes back, none gets half a file, and two names do not end apart"
breaks publish RENAME_BLIND '*is_superseded*' \
    "an owner that thaws and renames without looking for a newer one is found out"
breaks publish READ_FIRST '*name*' "so is one that reads how far the flush is and claims it then"
breaks publish TEMP_SHARED '*name*3*' "so are two owners whose temporary files have the same names"

two=(-DWITH_A1 -DWITH_READER) three=(-DWITH_A1 -DWITH_A2) launches=(-DWITH_A1 -DWITH_C)
holds ledger "what was told counts, of two chairs of one launch, its heir and a reader" "${two[@]}"
holds ledger "of three chairs of one launch and its heir" "${three[@]}"
holds ledger "and of three launches; and whoever freezes, another carries it" "${launches[@]}"
breaks ledger CLAIM_END '*told*' "a chair that takes over from an end is found out" "${two[@]}"
breaks ledger CLAIM_EMPTY '*told*' "so is one that begins where nothing counts" "${launches[@]}"
breaks ledger READ_FIRST '*told*' "so is one that reads first and claims then" "${two[@]}"
breaks ledger END_READ_FIRST '*told*' "also when it ends another launch" "${two[@]}"
breaks ledger HEIR '*at==255*' "so is an end whose heir was carried, and that nobody goes on with" "${launches[@]}"
breaks ledger BEGIN_BLIND '*fixed*' "so is one that does not look behind its begin" "${launches[@]}"
breaks ledger LOOK_OWN '*told*' "so is one that only looks for its own ledger" "${two[@]}"
breaks ledger LOOK_NEXT '*told*' "or only for the next" "${three[@]}"
breaks ledger LOOK_ORDER '*told*' "or for its own one first" "${three[@]}"
breaks ledger TELL_BLIND '*told*' "so is one that thaws and tells" "${two[@]}"
breaks ledger ACT_BLIND '*told*' "so is a reader that acts on what it has read long ago" "${two[@]}"
breaks ledger REMOVE_SOURCE '*told*' "so is a source that goes at once" "${two[@]}"
breaks ledger REMOVE_DOWN '*told*' "or the last one first" "${three[@]}"

holds number "no number is used twice"
breaks number LIST_ONCE '*used*' "one that does not list again is found out"
breaks number OTHER_TERMS '*used*' "so is one that looks for higher numbers alone"
breaks number BEGIN_FIRST '*carried*' "so is a begin that is there before it has listed again"
breaks number REMOVE_HIGHEST '*used*' "so is a highest number that goes"

holds follows "what is sealed later is newer"
breaks follows READ_ONCE '*before*' "a chair that does not read again is found out"
breaks follows SAME_PLACE '*order*' "so are places that two launches share"
done_testing
