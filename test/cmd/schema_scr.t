#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SCR's whole list of parameters, in files and in the environment: each is obeyed, or listed as
# without meaning; none stops a program.
: "${top_srcdir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

tool=$TOOLS/h5veloc-schema
data=$top_srcdir/test/data/conf
for name in $(env | sed -n 's/^\(\(VELOC\|SCR\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
empty=$(tap_dir)/empty.conf
: >"$empty"
show() { "$tool" show --system="$empty" "$@"; }
# field KEY LINE: the value of a key on a line
field() {
    local key=$1
    shift
    echo "$*" | tr ' ' '\n' | sed -n "s/^$key=//p"
}

# untold FILE: lines of the file that nothing in `show` comes from
untold() {
    local told
    told=$(show --file="$data/$1" | grep -o "$1:[0-9]*" | sed 's/.*://' | sort -u)
    awk '/^[A-Z]/ { print FNR }' "$data/$1" | sort | comm -23 - <(echo "$told") | sort -n |
        sed "s|.*|$1:&|"
}

for file in good-scr.conf good-scr-old.conf; do
    is "$("$tool" check --system="$empty" --file="$data/$file" 2>&1)" '' "$file has no fault"
    is "$(untold $file)" '' "and each of its lines is obeyed or told"
    is "$(show --file="$data/$file" | grep -c 'secret-12345')" 0 'but no password is shown'
done

# --- what has a meaning here
new=$(show --file="$data/good-scr.conf")
old=$(show --file="$data/good-scr-old.conf")
row() { grep "^$1 " <<<"$2"; }
is "$(field FLUSH "$(row STORE=/dev/shm "$new")")" POSIX "FLUSH=DEFAULT is ours"
is "$(field FLUSH "$(row STORE=/p/bb "$new")") $(field TYPE "$(row STORE=/p/bb "$new")")" 'POSIX PFS' \
    "TYPE of a store was SCR's name of FLUSH, and is the kind of device here"
is "$(field FLUSH "$(row STORE=/ssd "$old")") $(field FLUSH "$(row STORE=/bb "$old")")" 'PTHREAD DATAWARP' \
    "so it was, pthread and DW among its values"
is "$(row COPY_TYPE "$old" | awk '{ print $2 }')" SINGLE 'LOCAL is SINGLE'
is "$(row CKPT=0 "$old" | sed 's|  (.*||')" \
    'CKPT=0 INTERVAL=1 GROUP=NODE STORE=/ssd TYPE=SINGLE SET_SIZE=8 SET_FAILURES=2 REPLICAS=1 HOP_DISTANCE=2 ENABLED=1 OUTPUT=0 BYPASS=0' \
    'CKPTDESC, FREQUENCY, BASE, DISTANCE and SIZE are CKPT, INTERVAL, STORE, HOP_DISTANCE and SET_SIZE'
is "$(field SET_FAILURES "$(row CKPT=1 "$old")")" 3 'NUM_ENCS is SET_FAILURES'
is "$(row SET_SIZE "$old" | awk '{ print $2 }')" 16 'XOR_SIZE is SET_SIZE'

# --- what has none
like "$(grep '^VIEW=PRIVATE' <<<"$new")" '*good-scr.conf:*: *GROUP*' 'a key of a line without meaning is told, with the reason'
like "$(grep '^CACHE=/dev/shm' <<<"$new")" '*good-scr.conf:*: *STORE*' 'a line without meaning, too'
like "$(grep '^SIZE=2' <<<"$new")" '*good-scr.conf:*: *STORE*' 'and its keys'
like "$(grep '^TYPE=LOCAL' <<<"$old")" '*good-scr-old.conf:*' 'a value without meaning as well'
like "$(grep '^SCR_DB_PASS=' <<<"$old")" 'SCR_DB_PASS=(not shown)  (*' 'a password is named'
printf 'CKPT=0\nckpt=0\n' >"$(tap_dir)/twice.conf"
like "$("$tool" check --system="$empty" --file="$(tap_dir)/twice.conf" 2>&1)" \
    '*:2: CKPT=0 is given twice, first on line 1' 'two lines of a name are a fault, whatever the case of their key'
printf 'STORE=/ssd VEIW=PRIVATE\n' >"$(tap_dir)/bad.conf"
like "$("$tool" check --system="$empty" --file="$(tap_dir)/bad.conf" 2>&1)" \
    '*:1: unknown key VEIW on a line of STORE*' 'a key that nobody ever had is a fault'

# --- in the environment
while IFS='=' read -r key value; do
    export "$key=$value"
done < <(sed -n 's/^\(SCR_[A-Z_]*=.*\)/\1/p' "$data/good-scr-old.conf" "$data/good-scr.conf")
unset SCR_COPY_TYPE
is "$("$tool" check --system="$empty" 2>&1)" '' 'variables of these names are no fault, and unknown to nobody'
all=$(show)
like "$(grep '^SCR_CURRENT=' <<<"$all")" 'SCR_CURRENT=timestep.20  (environment SCR_CURRENT): *' \
    'those without meaning are told as well'
is "$(grep -c 'secret-12345' <<<"$all")" 0 'without passwords'
untold=
for name in $(env | sed -n 's/^\(SCR_[A-Z_]*\)=.*/\1/p'); do
    grep -q "environment $name\b" <<<"$all" || untold="$untold $name"
done
# of two names of a setting one counts
is "$(for name in $untold; do
    case $name in
    SCR_SET_SIZE | SCR_XOR_SIZE | SCR_NUM_ENCS | SCR_SET_FAILURES | SCR_PARTNER_DISTANCE) ;;
    SCR_HOP_DISTANCE | SCR_CHECKPOINT_FREQUENCY | SCR_CHECKPOINT_INTERVAL) ;;
    SCR_HANG_TIMEOUT | SCR_WATCHDOG_TIMEOUT | SCR_RETRIES | SCR_RUNS) ;;
    *) echo "$name" ;;
    esac
done)" '' 'and all others are obeyed'
is "$(SCR_COPY_TYPE=local show | row_of=COPY_TYPE awk '$1 == ENVIRON["row_of"] { print $2 }')" SINGLE \
    'a value that has another name here is read there, too'
done_testing
