#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Four ranks write their files anew under their names, and only two of them have closed the newest version
# when the program ends. A checkpoint is what all had, however it ended. What nobody restarts from is, after an end
# in order, as the program left it.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_PEER_TIMEOUT=20

list() { "$TOOLS/h5veloc-ls" 2>&1; }
native() { TEST_TIMEOUT=100 "$top_srcdir/test/mpirun.sh" 4 "$top_builddir/test/vol/versions" "$@" 2>>"$dir/said"; }
ranks() { HDF5_VOL_CONNECTOR=veloc native "$@"; }

# ends HOW LINE WANT TEXT: what is found when the program has ended so: at the paths, by the next launch, and by
# one that finds no cache
ends() {
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    [ -z "$2" ] || echo "$2" >.velocconf
    ranks write "$1" >/dev/null
    found="$(native read) $(ranks read)"
    rm -rf "$dir/cache"
    mkdir "$dir/cache"
    is "$found $(ranks read)" "$3 $3 $3" "$4" || note "$(cat "$dir/log")"
}

declare -A lines=([a checkpoint]='DATASET=f PATTERN=f.{rank}.h5 PUBLISH=BEHIND'
    [an output]='DATASET=f PATTERN=f.{rank}.h5 PUBLISH=BEHIND KIND=OUTPUT' [a family]='')
declare -A ways=([in_order]='in order' [abort]='by MPI_Abort' [kill]='by SIGKILL'
    [status]='with an error of one rank' [statuses]='with errors of all' [unfinished]='without MPI_Finalize')
for nodes in 1 2; do
    export VELOC_VIRTUAL_NODES=$nodes
    for what in 'a checkpoint' 'an output' 'a family'; do
        for how in in_order abort kill status statuses unfinished; do
            want=1,1,1,1
            [[ $how != in_order || $what == 'a checkpoint' ]] || want=2,2,1,1
            ends $how "${lines[$what]}" $want "$nodes nodes: of $what, $want is found after an end ${ways[$how]}, also without caches"
        done
    done
done

# --- a person is told, and what was not complete goes
for how in in_order status; do
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    echo "${lines[a checkpoint]}" >.velocconf
    ranks write $how >/dev/null
    like "$(cat "$dir/log")" '*warn:*not all ranks have written their files: what there is stays in the caches*' "a warning tells what stays in the caches ($how)"
    like "$(list)" '*3 f * no: its program ended before all had written their part, and older files of its names are whole*' 'so does h5veloc-ls'
    ranks write in_order >/dev/null
    is "$(find "$dir/cache" -path '*/dataset.3/*' -name 'f.*.h5')" '' 'and it is gone when all have written a newer one'
done
done_testing
