#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-schema on good and bad files: values with their sources, one exact sentence per fault.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

tool=$TOOLS/h5veloc-schema
data=$top_srcdir/test/data/conf
for name in $(env | sed -n 's/^\(\(VELOC\|SCR\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done

empty=$(tap_dir)/empty.conf
: >"$empty"
show() { "$tool" show --system="$empty" "$@"; }
# one setting as "VALUE FROM"; files without their directory
setting() {
    local key=$1
    shift
    show "$@" | awk -v key="$key" '$1 == key { n = split($3, p, "/"); print $2, p[n] (($3 == "environment") ? " " $4 : "") }'
}
line() {
    local begin=$1
    shift
    show "$@" | grep "^$begin " | sed 's|  (.*/|  (|'
}

# --- good files
f=--file=$data/good-levels.conf
is "$(line CKPT=0 "$f")" \
    'CKPT=0 INTERVAL=1 GROUP=NODE STORE=/tmp TYPE=XOR SET_SIZE=16 SET_FAILURES=0 REPLICAS=1 HOP_DISTANCE=1 ENABLED=1 OUTPUT=0 BYPASS=0  (good-levels.conf:2)' \
    'a level shows all it has, and where it stands'
like "$(line CKPT=2 "$f")" 'CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=/ssd TYPE=PARTNER SET_SIZE=8 * [(]good-levels.conf:4)' \
    'what a level leaves open comes from the settings'

export JOBDIR=job.77
s=--system=$data/good-system.conf
u=--file=$data/good-user.conf
both() { "$tool" show "$s" "$u"; }
both2() { both | awk -v key="$1" '$1 == key { n = split($3, p, "/"); print $2, p[n] }'; }
is "$(both2 CNTL_BASE)" '/dev/shm/job.77 good-system.conf:4' "a variable of the environment is expanded"
is "$(both2 HALT_SECONDS)" '3600 good-user.conf:7' 'a value says the file and line it came from'
is "$(both2 COPY_TYPE)" 'FILE good-user.conf:2' "SCR's names are known"
like "$(both | grep '^STORE=/ssd ')" 'STORE=/ssd GROUP=NODE COUNT=3 TYPE=SSD FLUSH=PTHREAD *' 'a store of the system file'
like "$(both | grep '^STORE=/p/lscratcha ')" '* TYPE=PFS *' 'a store that all share is the parallel file system'
like "$(both | grep '^CKPT=1 ')" '* TYPE=RS SET_SIZE=8 SET_FAILURES=3 * OUTPUT=1 *' 'a level of the user file'
like "$(both | grep '^CKPT=2 ')" '* BYPASS=1 *' 'another one'
like "$(both | grep '^CACHEDIR=/ssd ')" '*BYTES=289910292480 *' 'an older capacity line, its size in bytes'
like "$(both | grep '^GROUPS=host2 ')" 'GROUPS=host2 POWER=psu1 SWITCH=1 *' 'failure groups of a host'
like "$(both | grep '^SCR_MPI_BUF_SIZE=')" '*MEMORY bounds all buffers together*' 'a key without meaning here is told, with the reason'

is "$(show --file="$data/good-groups.conf" | grep -c '^GROUPS=zin')" 4 'four nodes with their groups'
m=--file=$data/good-mtbf.conf
is "$(show "$m" | grep -c '^GROUPS=n')" 2 'hosts beside lines that tell how often groups fail'
like "$(line GROUPS=SWITCH "$m")" 'GROUPS=SWITCH MTBF=1800000 * [(]good-mtbf.conf:4)' 'how often a switch fails'
is "$("$tool" check --no-environment --system="$empty" "$m" 2>&1)" '' 'such a line is no host that lacks groups'
like "$(line CKPT=2 --file="$data/good-schema.conf")" 'CKPT=2 INTERVAL=4 GROUP=POWER STORE=/tmp TYPE=XOR *' 'the checkpoint schema of VELOC parses'

v=--file=$data/good-veloc.cfg
is "$(setting CACHE_BASE "$v")" '/tmp/scratch good-veloc.cfg:1' "VELOC's scratch is the cache"
is "$(setting PREFIX "$v")" '/tmp/persistent good-veloc.cfg:2' "VELOC's persistent is the prefix"
is "$(setting MODE "$v")" 'async good-veloc.cfg:4' "VELOC's mode"
is "$(setting PREFIX_SIZE "$v")" '2 good-veloc.cfg:5' "VELOC's max_versions"
is "$(setting ENCODE_SECONDS "$v")" '-1 good-veloc.cfg:8' 'an interval that is off'
is "$(setting CONTAINERS "$v")" 'false good-veloc.cfg:12' 'a colon and a comment behind the value'
is "$(setting FLUSH "$v")" '1 good-veloc.cfg' 'every checkpoint is flushed, as VELOC does'
is "$(setting WORKERS "$v")" '16 good-veloc.cfg:13' 'a comment without a blank before it is none'
like "$(show "$v")" '*meta=/tmp/meta*records live in PREFIX/.veloc*' 'a key of VELOC without meaning here is told'

t=--file=$data/good-tokens.conf
is "$(setting FLUSH "$t")" '7 good-tokens.conf:2' 'blanks, tabs and CRLF do not matter, nor does the case of a key'
like "$(show "$t" | grep '^LOG_FILE ')" '*/tmp/a b#c#d *' "escapes, and a '#' inside a word"
is "$(setting MEMORY "$t")" '64MB good-tokens.conf:4' 'a size'
like "$(line DATASET=ck "$t")" '*PATTERN=out/ck.{step}/part-{rank}.h5 KIND=BOTH PUBLISH=BEHIND KEEP=2 POINTS=0 LEVEL=-1 *' 'a rule for datasets'
like "$(line CKPT=1 "$t")" '*INTERVAL=90s *TYPE=SINGLE* [(]good-tokens.conf:7)' 'an interval by time, on a last line without newline'

for of in FETCH_WIDTH=VELOC SEAL_AFTER=HDF5 WATCHDOG=nobody MODE=all; do
    like "$(show | grep "^${of%=*} ")" "${of%=*} * default * ${of#*=} *" "${of%=*} is for ${of#*=}"
done

# --- layers
is "$(VELOC_FLUSH=3 setting FLUSH "$t")" '3 environment VELOC_FLUSH' 'the environment overrides files'
is "$(SCR_FLUSH=4 setting FLUSH "$t")" '4 environment SCR_FLUSH' "SCR's variable does as well"
is "$(SCR_FLUSH=4 VELOC_FLUSH=5 setting FLUSH "$t")" '5 environment VELOC_FLUSH' "VELOC_ wins over SCR_"
is "$(VELOC_SCRATCH=/x setting CACHE_BASE "$v")" '/x environment VELOC_SCRATCH' "VELOC's keys in capitals override its file"
is "$(VELOC_FLUSH=5 setting FLUSH --no-environment "$t")" '7 good-tokens.conf:2' 'the environment can be left out'
is "$(cd "$(tap_dir)" && echo FLUSH=9 >.velocconf && setting FLUSH)" '9 .velocconf:1' "the prefix's own file is read"
is "$(cd / && VELOC_PREFIX=$(tap_dir) setting FLUSH)" '9 .velocconf:1' 'wherever the program runs'
is "$(VELOC_CONF_FILE=$data/good-tokens.conf setting FLUSH)" '7 good-tokens.conf:2' 'a variable names the user file'
warn=$(VELOC_FLUHS=1 VELOC_XYZZY=1 show "$t" 2>&1 >/dev/null)
is "$(echo "$warn" | wc -l)" 1 'variables that are no settings give one warning'
like "$warn" '*VELOC_FLUHS (did you mean VELOC_FLUSH?)*' 'which says what was meant'
is "$(VELOC_FLUSH=x "$tool" check --system="$empty" 2>&1)" \
    'h5veloc-schema: environment: VELOC_FLUSH: FLUSH=x: expected a whole number from 0 to 1000000000' \
    'a bad value in the environment names the variable'

# --- a store of a CKPT line alone
c=--file=$data/good-store.conf
like "$("$tool" check --no-environment --system="$empty" "$c" 2>&1)" \
    "h5veloc: warn: */good-store.conf:2: CKPT=0: no line describes STORE=/sdd: did you mean /ssd?" \
    'is no fault, but may be a slip'
"$tool" check --no-environment --system="$empty" "$c" 2>/dev/null
is $? 0 'with which a program runs'
is "$(VELOC_COPY_TYPE=XOR "$tool" check --system="$empty" "$c" 2>&1)" '' 'and nothing where the line is not used'

# --- bad files
cd "$data" || bail_out "no $data"
while IFS=$'\t' read -r file want; do
    got=$("$tool" check --no-environment --system="$empty" --file "$file" 2>&1)
    code=$?
    is "$code: $got" "2: h5veloc-schema: $file:$want" "$file: $want"
done <bad.expected
is "$(find . -name 'bad-*.conf' | wc -l)" "$(wc -l <bad.expected)" 'every bad file has its sentence'

# --- a plug-in that cannot be loaded
printf 'COPY_TYPE=SINGLE\nFLUSH_PLUGIN=/nowhere/mover.so\n' >"$(tap_dir)/plugin.conf"
p=--file=$(tap_dir)/plugin.conf
out=$("$tool" check --no-environment --system="$empty" "$p" 2>&1)
is $? 2 'a plug-in that is not there is a fault'
like "$out" 'h5veloc-schema: */plugin.conf:2: FLUSH_PLUGIN=/nowhere/mover.so: cannot load: */nowhere/mover.so*' 'with its line and the reason'
like "$(VELOC_FLUSH_PLUGIN=$tool "$tool" check --system="$empty" "$p" 2>&1)" \
    "h5veloc-schema: VELOC_FLUSH_PLUGIN: FLUSH_PLUGIN=$tool: *" 'or its variable'
out=$("$tool" show --no-environment --system="$empty" "$p" 2>&1 >/dev/null)
is $? 0 'settings are shown all the same'
like "$out" 'h5veloc: warn: */plugin.conf:2: FLUSH_PLUGIN=/nowhere/mover.so: cannot load: *' 'with a warning'
fake=$top_builddir/test/sdk/.libs/bbapi.so
if [ -f "$fake" ]; then
    is "$(VELOC_FLUSH_PLUGIN=$fake "$tool" check --system="$empty" 2>&1)" '' 'one that can be loaded is none'
else
    skip 1 'there is no stand-in of a plug-in'
fi

# --- the tool
out=$(VELOC_COPY_TYPE=RS VELOC_SET_SIZE=6 "$tool" check --system="$empty" 2>&1)
is $? 2 'a level that VELOC_Init would refuse is a fault'
like "$out" '*RS without SET_FAILURES *: change it or give SET_FAILURES' 'with its sentence'

is "$("$tool" check --file /nonexistent/file 2>&1)" \
    'h5veloc-schema: reading settings: cannot open /nonexistent/file: No such file or directory' 'a file that is not there is named'
"$tool" frobnicate >/dev/null 2>&1
is $? 2 'an unknown command is wrong usage'
"$tool" >/dev/null 2>&1
is $? 2 'so is none'
"$tool" show --nonsense >/dev/null 2>&1
is $? 2 'so is an unknown option'
if [ -c /dev/full ]; then
    "$tool" show >/dev/full 2>/dev/null
    is $? 1 'a full disk behind standard output is a failure'
fi
if command -v python3 >/dev/null; then
    is "$(VELOC_FLUSH=6 show --json "$t" | python3 -c '
import json, sys
j = json.load(sys.stdin)
s = {x["key"]: x for x in j["settings"]}
print(s["FLUSH"]["value"], s["FLUSH"]["source"]["where"], s["MEMORY"]["source"]["line"], j["lines"][0]["keys"]["KIND"])')" \
        '6 VELOC_FLUSH 4 BOTH' 'JSON has the same values and sources'
else
    skip 1 'no python3 to read JSON'
fi
is "$("$tool" --help | wc -l | awk '{ print ($1 <= 24) }')" 1 'the help fits a screen'
is "$("$tool" --version)" "h5veloc-schema (h5veloc) $(sed -n 's/^PACKAGE_VERSION = //p' "$top_builddir/Makefile")" 'the version is told'

# --- the manual
page=$top_srcdir/doc/veloc.conf.5
is "$("$tool" man)" "$(sed -n '/^\.\\" settings begin/,/^\.\\" settings end/{//!p}' "$page")" \
    "veloc.conf(5) has the settings as they are (h5veloc-schema man)"
done_testing
