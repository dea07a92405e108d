#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fresh-debian.sh [SUITE [COMMAND...]] - does ./bootstrap check work on a machine that has nothing?
# Makes a minimal Debian root with debootstrap (SUITE: bookworm), clones the last commit of this
# checkout into it, and runs COMMAND (default: ./bootstrap check) there twice (FRESH_ONCE=1: once), as
# .ci would: without a terminal. Reports the times. Not part of make check: it needs root, debootstrap,
# the package archive and some minutes. All of it happens in a mount and PID namespace in a new directory
# below FRESH_DIR (default: /var/tmp), so nothing stays mounted or running; FRESH_KEEP=1 keeps it.
# The archive's address and proxy come from this system's apt configuration.
# shellcheck disable=SC2015  # "a && b || c": c is meant for either failure
set -u

suite=${1:-bookworm}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- ./bootstrap check
top=$(cd -P "$(dirname "$0")/../.." && pwd -P) || exit 1

say() { printf 'fresh: %s\n' "$*"; }

die() {
    say "error: $*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || die "run this as root: it makes a root directory of its own"
command -v debootstrap >/dev/null || die "debootstrap is missing: install it"

if [ "${FRESH_INSIDE:-}" != yes ]; then
    dir=$(mktemp -d "${FRESH_DIR:-/var/tmp}/h5veloc-fresh.XXXXXX") || exit 1
    FRESH_INSIDE=yes FRESH_DIR=$dir unshare --mount --pid --fork --kill-child \
        sh "$0" "$suite" "$@" </dev/null
    rc=$?
    if [ -n "${FRESH_KEEP:-}" ]; then
        say "the root is kept in $dir"
    else
        rm -rf --one-file-system "$dir"
    fi
    exit "$rc"
fi

root=$FRESH_DIR/root
# shellcheck disable=SC2016  # $(REPO_URI) is apt's
archive=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT)' 'Identifier: Packages' |
    grep ' Debian main$' | grep -v security | cut -d ' ' -f 1 | head -n 1)
[ -n "$archive" ] || die "this system's apt lists name no Debian archive: apt-get update"

# timed TEXT COMMAND...: sets took
timed() {
    timed_text=$1 timed_start=$(date +%s)
    shift
    timed_rc=0
    "$@" || timed_rc=$?
    took=$(($(date +%s) - timed_start))
    say "$timed_text: $took s, exit code $timed_rc"
    return "$timed_rc"
}

make_root() {
    # a mount point, as / is on any machine
    mkdir -p "$root" && mount --bind "$root" "$root" || return 1
    # a debootstrap that does not know the suite yet makes it like the newest
    set --
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || set -- /usr/share/debootstrap/scripts/sid
    debootstrap --variant=minbase "$suite" "$root" "$archive" "$@" >"$FRESH_DIR/debootstrap.log" 2>&1 || {
        tail -n 20 "$FRESH_DIR/debootstrap.log" >&2
        return 1
    }
    # how this system reaches the archive: name server, proxy; it may be a frozen one
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    apt-config dump | grep -iE '^Acquire::([a-z]*::proxy|check-valid-until)' >"$root/etc/apt/apt.conf.d/90proxy"
    mount --bind /dev "$root/dev" && mount --bind /dev/pts "$root/dev/pts" &&
        mount -t tmpfs -o size=1g none "$root/dev/shm" && mount -t proc none "$root/proc" &&
        mount -t sysfs -o ro none "$root/sys"
}

# In: a root of its own, an empty environment, no terminal. The root is switched, not only
# changed: tests that enter mount namespaces would find themselves outside of a chroot.
# shellcheck disable=SC2016  # the shells inside expand these
inside() {
    unshare --mount sh -c '
        cd "$1" && shift && mkdir -p .old && pivot_root . .old && exec chroot . /usr/bin/env -i \
            HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin CI=true sh -c "
                umount -l /.old && cd /root/h5veloc && exec \"\$@\"" sh "$@"' \
        sh "$root" "$@" </dev/null 2>&1
}

timed "debootstrap $suite" make_root || die "no root in $root"
git clone -q --no-hardlinks "$top" "$root/root/h5veloc" || die "cannot clone $top"
say "commit $(git -C "$root/root/h5veloc" log -1 --format='%h %s')"
timed "first: $*" inside "$@" || die "the first run failed"
[ -z "${FRESH_ONCE:-}" ] || exit 0
first=$took
timed "second: $*" inside "$@" || die "the second run failed"
say "first $first s, second $took s"
