#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpirun.sh: what passes through it, and what it does to a job that hangs.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
mpirun=$top_srcdir/test/mpirun.sh
planted=${top_builddir:?}/test/harness/planted

[ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"

# by name, because no part of the harness should be asked whether the harness works
alive() { grep -lzxF "H5VELOC_TRACE=$1" /proc/[0-9]*/environ 2>/dev/null; }

out=$("$mpirun" 2 sh -c 'echo out; echo err >&2; exit 7' 2>"$(tap_dir)/err")
is $? 7 "the exit status of the program passes through"
is "$out" "out"$'\n'"out" "its output passes through"
is "$(sort -u "$(tap_dir)/err")" "err" "its errors pass through, apart from the output"
"$mpirun" 4 "$planted" exit 3 >/dev/null 2>&1
is $? 3 "so does the status of a program that used MPI"

mkdir "$(tap_dir)/a place"
cat >"$(tap_dir)/a place/pro gram" <<'END'
#!/bin/sh
echo "$# $1"
END
chmod +x "$(tap_dir)/a place/pro gram"
is "$("$mpirun" 1 "$(tap_dir)/a place/pro gram" "two words" '')" "2 two words" \
    "words with blanks and empty words arrive whole"

said=$(H5VELOC_TRACE=hang$$ TEST_TIMEOUT=2 "$mpirun" 4 "$planted" hang 2>&1)
is $? 124 "a job that hangs is ended by its time limit, as an error"
like "$said" "*# the time limit of 2 s (TEST_TIMEOUT) is over*planted hang*" \
    "the limit and the job are named"
for rank in 0 1 2 3; do
    like "$said" "*# rank $rank: process *" "rank $rank is shown"
done
if command -v gdb >/dev/null && ! grep -q 'gdb cannot read it' <<<"$said"; then
    like "$said" "*# rank 2: *planted.c:*# rank 3: *" "with the line where it hangs"
else
    skip 1 "gdb is not here, or not allowed to look"
fi
is "$(alive hang$$)" "" "nothing of it lives on, not even a grandchild with its own session"

# A launcher may take the others down with status 0: then the missing plan is the failure.
said=$(H5VELOC_TRACE=leave$$ TEST_TIMEOUT=2 "$mpirun" 4 "$planted" leave 0 2>&1)
not_ok "a rank that leaves early does not look like success" \
    eval "[ $? -eq 0 ] && grep -q '^1\\.\\.' <<<'$said'"
is "$(alive leave$$)" "" "and its peers do not wait for ever"

said=$(H5VELOC_TRACE=forget$$ "$mpirun" 4 "$planted" forget)
is $? 0 "a job ends well although it forgot a child"
is "$(alive forget$$)" "" "the forgotten child is ended, too"

# the job says that it runs through a pipe, so that it is hit while it hangs
mkfifo "$(tap_dir)/hello"
# shellcheck disable=SC2016  # the rank expands it
H5VELOC_TRACE=int$$ "$mpirun" 2 sh -c 'echo here >"$1"; exec sleep 1000' - "$(tap_dir)/hello" \
    >/dev/null 2>&1 &
runner=$!
read -r _ <"$(tap_dir)/hello"
kill -TERM "$runner"
wait "$runner"
is $? 143 "mpirun.sh can be ended"
is "$(alive int$$)" "" "and takes its job along"

MPIEXEC=/bin/true "$mpirun" 1 true >/dev/null 2>"$(tap_dir)/err"
is $? 99 "a launcher of unknown kind is refused"
like "$(cat "$(tap_dir)/err")" "*'/bin/true --version' is answered neither*MPIEXEC=*" \
    "and the remedy is named"

done_testing
