#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a person reads on standard error: at the first file that is made or changed what becomes of it, and at the
# end what has become of all. Nothing else, and nothing to who only reads.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_PEER_TIMEOUT=20 HDF5_VOL_CONNECTOR=veloc
unset VELOC_QUIET
mkdir "$dir/cache" "$dir/p"
cd "$dir/p" || bail_out "no directory"

# what it says on standard error, alone
# shellcheck disable=SC2069
told() { timeout -s KILL 120 "${memcheck[@]}" "$top_builddir/test/vol/point" "$@" 2>&1 >/dev/null; }

said=$(told create=a.h5 close create=a.h5 close create=b.h5 close)
like "$said" "h5veloc: a.h5 is written at its own path, as without h5veloc. *
*h5veloc: 2 files written at their own paths" 'files without a line'
is "$(grep -c '^h5veloc: [ab].h5 is' <<<"$said")" 1 'one sentence is for all of them'
is "$(told open=a.h5 grow=2 close)" "$(grep -v warn <<<"${said/2 files written at their own paths/1 file written at its own path}")" \
    'a file that is changed is told of as well'
is "$(told read=a.h5)" '' 'who only reads hears nothing'
is "$(told create=no/a.h5)" '' 'nor who fails'
is "$(VELOC_QUIET=1 told create=a.h5 close)" '' 'nor who does not want it'
is "$(VELOC_ENABLE=0 told create=a.h5 close)" '' 'nor who does without h5veloc'
is "$(told create="$dir/o.h5" close)" '' 'files outside the prefix are nothing of ours'

export VELOC_DATASET='ck PATTERN=ck.{step}.h5'
said=$(told create=ck.1.h5 close create=ck.2.h5 close create=c.h5 close)
like "$said" "h5veloc: ck.1.h5 is protected (DATASET=ck): *
h5veloc: 2 datasets of 2 files complete at their paths, the newest to restart from is dataset 2 (ck 2); 1 file written at its own path" \
    'files with a line'
is "$(told create=ck.3.h5 close kill)" "$(head -n 1 <<<"${said/ck.1/ck.3}")" 'who is killed has heard what would become of them'
like "$(VELOC_CACHE_BASE=$dir/p/a.h5 told create=ck.4.h5 close)" "*
h5veloc: ck.4.h5 is not protected: *
h5veloc: 1 file not protected: *" 'where nothing can be protected that is told, too'
like "$(VELOC_DATASET="$VELOC_DATASET KIND=NONE" told create=ck.4.h5 close)" "h5veloc: ck.4.h5 is not protected: *KIND=NONE*" \
    'and where nothing shall be'

# --- of two ranks one speaks ---

for r in 0 1; do
    PMI_RANK=$r PMI_SIZE=2 VELOC_LAUNCH=two VELOC_VIRTUAL_NODES=2 VELOC_DATASET='f PATTERN=f.{step}.{rank}.h5' \
        told create=f.1.$r.h5 write=1 close create=own.$r close meet=m >"$dir/told.$r" &
done
wait
is "$(wc -l <"$dir/told.0")" 2 'of two ranks the first speaks'
like "$(<"$dir/told.0")" '*; 1 file of rank 0 written at its own path' 'and tells of its own files'
is "$(<"$dir/told.1")" '' 'and the other does not'

# A launcher that offers no PMI: Flux's variables alone.
for r in 0 1; do
    env -u VELOC_LAUNCH FLUX_TASK_RANK=$r FLUX_JOB_SIZE=2 FLUX_JOB_ID=ƒ3ETxsR9H VELOC_VIRTUAL_NODES=2 \
        VELOC_DATASET='x PATTERN=x.{step}.{rank}.h5' timeout -s KILL 120 "$top_builddir/test/vol/point" \
        create=x.1.$r.h5 write=1 close meet=n 2>"$dir/flux.$r" >&2 &
done
wait
is "$(grep -c ^h5veloc "$dir/flux.0"), $(cat "$dir/flux.1")" '2, ' 'two processes of Flux are ranks of one launch'
like "$("$TOOLS/h5veloc-ls" | grep ' x ')" '*x  *1  *2  *2 *yes, *' 'and their files are one dataset'

# --- and the list, when files were removed ---

listed() { "$TOOLS/h5veloc-ls" | grep " $1 "; }
rm ck.1.h5
like "$(listed 'ck  *1')" '*replaced *no: files of it were removed, or others stand at their paths' \
    'a file that was removed is nothing to restart from'
like "$(listed 'ck  *2')" '*flushed *yes, *' 'one that stands is'

done_testing
