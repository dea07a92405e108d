#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes of a launch that have other settings than the others, by their environment or their files: which files form
# a dataset is the same for all of them, and that they differ is told once.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
export VELOC_CNTL_BASE="$dir/n" VELOC_VIRTUAL_NODES=3 VELOC_SEAL_AFTER=1 VELOC_QUIET=1
host=$(uname -n)
host=${host%%.*}
line='ck PATTERN=ck.{step}.{rank}.h5'

# rank RANK [VARIABLE=VALUE...]: writes its file of a step, on a node of its own; rank FIRST before all others
rank() {
    local ops=("wait=ck.0.$first.h5")
    [ "$1" != "$first" ] || ops=()
    env PMI_RANK="$1" PMI_SIZE=3 VELOC_CACHE_BASE="$dir/c$1" HDF5_VOL_CONNECTOR=veloc "${@:2}" \
        "$top_builddir/test/vol/point" "${ops[@]}" "create=ck.0.$1.h5" meet=../made write=1 close meet=../closed &
}
fresh() { # FIRST
    first=$1
    rm -rf "$dir"/[pcn]* "$dir"/made.* "$dir"/closed.*
    mkdir "$dir/p" "$dir/n" "$dir"/c{0,1,2}
    cd "$dir/p" || bail_out "no $dir/p"
}
lines() { grep '^h5veloc: ' "$dir/said"; }
# FILES RANKS yes (restarts take it), or nothing: no dataset has it
step() { "$TOOLS/h5veloc-ls" "$dir/p" | sed -n 's/.* ck .*B *\([0-9]*\) *\([0-9]*\) .* \(yes\|no\)\>.*/\1 \2 \3/p'; }
files() { for r in 0 1 2; do HDF5_PLUGIN_PATH='' "$top_builddir/test/vol/point" "read=ck.0.$r.h5"; done | grep -c 'all 1,'; }

fresh 0
{
    rank 0 VELOC_DATASET="$line"
    rank 1 VELOC_DATASET="$line"
    rank 2
    wait
} >"$dir/said" 2>&1
is "$(step),$(files)" '3 3 yes,3' 'a rank without the line of the others has its files in their datasets'
is "$(lines)" "h5veloc: warn: rank 2 on $host.v2: this process has other settings than rank 0 on $host.v0, which came first: \
DATASET=ck PATTERN=ck.{step}.{rank}.h5 there, no DATASET line here; all processes of a launch go by the DATASET lines and UNLISTED of the \
first, and each by its own of all else: give all the same files of settings and VELOC_ variables" 'and that it has not is told'

fresh 2
{
    rank 0 VELOC_DATASET="$line" VELOC_LOG_LEVEL=INFO
    rank 1 VELOC_DATASET="$line" VELOC_LOG_LEVEL=INFO
    rank 2
    wait
} >"$dir/said" 2>&1
is "$(step),$(files)" ',3' 'where the first has no line none has: there is no dataset that lacks its files'
like "$(lines | grep warn)" "h5veloc: warn: rank [01] on $host.v[01]: this process has other settings than rank 2 on $host.v2, which came first: \
no DATASET line there, DATASET=ck PATTERN=* here; *" 'which is told'
is "$(lines | grep -c warn),$(lines | grep -c 'other settings')" 1,2 'in one warning, and LOG_LEVEL=INFO names all that differ'

# by files: what is different is no DATASET line
fresh 0
for r in 0 1 2; do
    printf '%s\n' "DATASET=$line" "COPY_TYPE=$([ "$r" = 1 ] && echo SINGLE || echo XOR)" "STORE=$dir/c$r" >"$dir/conf.$r"
done
{
    for r in 0 1 2; do rank "$r" VELOC_CONF_FILE="$dir/conf.$r"; done
    wait
} >"$dir/said" 2>&1
is "$(step),$(files)" '3 3 yes,3' 'ranks that each have a file of settings write a dataset'
like "$(lines)" "h5veloc: warn: rank 1 on $host.v1: this process has other settings than rank 0 *: COPY_TYPE=XOR there, COPY_TYPE=SINGLE here; *" \
    'and which has another scheme is told'

# lines that are of no use to a process
fresh 0
printf '%s\n' "DATASET=$line LEVEL=7" 'CKPT=7' >"$dir/conf.0"
{
    rank 0 VELOC_CONF_FILE="$dir/conf.0"
    rank 1 VELOC_DATASET="$line"
    rank 2 VELOC_DATASET="$line"
    wait
} >"$dir/said" 2>&1
like "$(lines)" "h5veloc: warn: rank [12] on $host.v[12]: this process has other settings than rank 0 *: DATASET=ck PATTERN=* LEVEL=7 there, \
DATASET=ck PATTERN=* here; *of no use here (rank 0 on $host.v0:1: DATASET=ck: LEVEL=7: there is no such CKPT line in use)*may lack its files*" \
    'where lines cannot be taken over that is told, with the reason'

# what each node may have its own of
fresh 0
{
    rank 0 VELOC_DATASET="$line" VELOC_WORKERS=2
    rank 1 VELOC_DATASET="$line" VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO
    rank 2 VELOC_DATASET="$line KIND=CHECKPOINT" VELOC_JOB_ID=7
    wait
} >"$dir/said" 2>&1
is "$(step),$(files)" '3 3 yes,3' 'ranks that mean the same write a dataset'
is "$(lines)$(grep 'other settings' "$dir/log")" '' 'of paths, messages and what else each has its own, nothing is told'
done_testing
