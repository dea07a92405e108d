#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Conditions for a halt in a program of HDF5 files: its checkpoints count, what is asked for is told once in the log and
# among the events, ends no program, and how the program has ended well is on record.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}" "${PARALLEL_HDF5:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO
export VELOC_PEER_TIMEOUT=20 VELOC_VIEW_WAIT=5 VELOC_QUIET=1
line='ck PATTERN=ck.{step}.{rank}.h5'
launches=0

# ranks "SETTINGS" OPS...: both, each on a node of its own; @ is the rank
ranks() {
    local r settings
    read -ra settings <<<"$1"
    shift
    launches=$((launches + 1))
    {
        for r in 0 1; do
            env VELOC_VIRTUAL_NODES=2 ${line:+"VELOC_DATASET=$line"} "${settings[@]}" HDF5_VOL_CONNECTOR=veloc PMI_RANK=$r PMI_SIZE=2 VELOC_LAUNCH="run$launches" \
                timeout -s KILL 120 "${memcheck[@]}" "$top_builddir/test/vol/point" "${@//@/$r}" >"$dir/said.$r" 2>&1 &
        done
        wait
    } 2>/dev/null
}
fresh() {
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir -p "$dir/cache" "$dir/p/.veloc"
    cd "$dir/p" || bail_out "no directory"
}
# ask BODY: the record of h5veloc-halt
cat >"$dir/ask" <<'EOF'
import os, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
rest = '"body":%s}\n' % sys.argv[1]
head = '{"h5veloc":"halt","version":1,"length":%d,' % len(rest)
with open('.veloc/halt.new', 'w') as f:
    f.write('%s"crc32c":"%08x",\n%s' % (head, crc32c((head + rest).encode()), rest))
os.rename('.veloc/halt.new', '.veloc/halt')
EOF
ask() { python3 "$dir/ask" "$1"; }
two='{"checkpoints":2,"request":"0123456789abcdef"}'
steps=()
for i in 1 2 3; do steps+=("create=ck.$i.@.h5" "write=$i" close "complete=ck.$i.@.h5" "meet=m$i"); done

halts() { grep -c '"event":"halt"' .veloc/events; }
# what came before the halt, as "EVENT ID"
before() { sed -n '/"event":"halt"/q; s/.*"event":"\([a-z_]*\)","ok":true,"id":\([0-9]*\).*/\1 \2/p' .veloc/events | grep -E '^(checkpoint|output)' | paste -sd,; }
noted() { [ ! -e .veloc/halt-run ] || sed -n 's/.*"body":\(.*\)}$/\1/p' .veloc/halt-run; }
files() { find . -name '*.h5' -size +1k | wc -l; }

# --- so many checkpoints ---

fresh
ask "$two"
ranks '' "${steps[@]}"
is "$(halts),$(before)" '1,checkpoint 1,checkpoint 2' 'a halt that is asked for after two checkpoints is told when the second one is complete, once'
like "$(grep 'asked to end' "$dir/log")" '*the program is asked to end: a halt was asked for after 2 checkpoints, which are done' 'in the log, too'
is "$(files),$(<"$dir/said.0")" 6, 'and the program goes on as it likes'
like "$(noted)" '{"done":2,"request":"0123456789abcdef",*' 'two are on record as done, and no more'
fresh
ask "$two"
ranks '' "${steps[@]:0:5}" kill
ranks VELOC_LOG_ENABLE=0 create=ck.4.@.h5 write=4 close complete=ck.4.@.h5 meet=n
is "$(noted | grep -o '"done":[0-9]*'),$(halts),$(grep -c 'asked to end' "$dir/log")" '"done":2,0,1' \
    'checkpoints of several launches count together, and without the log of events, too'
fresh
ask "$two"
line='' ranks '' "${steps[@]}"
is "$(halts),$(before)" '1,checkpoint 1,checkpoint 2' 'files of all ranks that no line has are checkpoints like any'
fresh
ask "$two"
line="$line KIND=OUTPUT" ranks '' "${steps[@]}"
is "$(halts),$(noted | grep -c '"done"')" 0,0 'outputs are none'

# --- time ---

now=$(date +%s)
fresh
ranks "VELOC_HALT_SECONDS=600 VELOC_END_TIME=$((now + 500))" "${steps[@]:0:5}"
is "$(halts),$(before)" 1, 'a program that begins when less than HALT_SECONDS are left is told so at once'
like "$(grep 'asked to end' "$dir/log")" '* s are left of the allocation; 600 s are kept to end in *' 'with how much is left'
fresh
ranks "VELOC_HALT_SECONDS=600 VELOC_END_TIME=$((now + 10600))" "${steps[@]:0:5}" ahead=10000000 "${steps[@]:5:5}"
is "$(halts),$(before)" '1,checkpoint 1,checkpoint 2' 'so is one whose checkpoint is complete then'
fresh
ranks "VELOC_HALT_SECONDS=600 VELOC_END_TIME=$((now + 10600))" "${steps[@]:0:5}"
is "$(halts)" 0 'and nothing is told while there is time'
fresh
ranks "VELOC_END_TIME=$((now + 1)) VELOC_HALT_SECONDS=0" "${steps[@]:0:5}"
is "$(halts)" 0 'or without HALT_SECONDS'
fresh
ranks "VELOC_HALT_SECONDS=600 SLURM_JOB_END_TIME=$((now + 500))" "${steps[@]:0:5}"
is "$(halts)" 1 'the end is that of the scheduler where END_TIME is not set'
fresh
declare -f await await_of >"$dir/await"
ranks VELOC_PEER_TIMEOUT=4 "${steps[@]:0:5}" "run=python3 '$dir/ask' '{\"reason\":\"maintenance\"}'" \
    "run=bash -c \". '$dir/await'; await grep -q '\\\"halt\\\"' .veloc/events\"" meet=n
is "$(halts),$(<"$dir/said.0")" 1, 'what is asked for between two checkpoints is told while the program computes'

# --- how it ended ---

fresh
ranks '' "${steps[@]:0:5}"
is "$(noted)" '{"finished":"all processes have ended in good order"}' 'that a program has ended well is on record'
like "$(tail -n 1 .veloc/events)" '*"event":"run_end",*"text":"all processes have ended in good order"*' 'and stands in the line of its end'
ranks '' read=ck.1.@.h5
is "$(noted | grep -c finished)" 1 'who only reads does not take that back'
ranks '' create=ck.2.@.h5 write=2 "run=bash -c \". '$dir/await'; await test ! -e .veloc/halt-run\"" meet=n kill
is "$(noted)" '' 'the next program does as soon as it makes a file of a dataset'
ranks '' read=ck.1.@.h5
is "$(noted)" '' 'and who only reads records nothing'
fresh
ranks '' "${steps[@]:0:5}" run=false
is "$(noted),$(grep -c 'run_end.*"text"' .veloc/events)" ,0 'one that fails has not ended well'

# --- a session counts its own ---

[ "$PARALLEL_HDF5" = yes ] || { skip 1 'this HDF5 is serial' && done_testing && exit; }
fresh
ask "$two"
printf '%s\n' VIRTUAL_NODES=3 COPY_TYPE=XOR SET_SIZE=3 FLUSH=1 >"$dir/veloc.conf"
BOTH_CONFIG="$dir/veloc.conf" VELOC_CONF_FILE="$dir/veloc.conf" HDF5_VOL_CONNECTOR=veloc \
    "$top_srcdir/test/mpirun.sh" 3 "$top_builddir/test/vol/both" init write=1 write=2 write=3 finalize >"$dir/said" 2>&1
is "$(halts),$(noted | grep -o '"done":[0-9]*')" '1,"done":2' 'with a session in the background a halt is told as well, once'

done_testing
