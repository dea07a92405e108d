# SPDX-License-Identifier: BSD-3-Clause
# packages.sh - what the machine must have, and how it gets it. Sourced by bootstrap.
# Everything is found out by trying, not by asking the package manager: what was built by hand or
# comes from a module file counts too, and a machine that has it all is never touched.
# shellcheck shell=sh
# shellcheck disable=SC2015  # "a && b || die": either failure is one too many
# shellcheck disable=SC2034,SC2154  # variables that bootstrap and hdf5.sh read and set

has() { command -v "$1" >/dev/null 2>&1; }

# want PACKAGE TEST...: PACKAGE (a name of Debian's) is missing unless TEST succeeds
missing=
want() {
    want_package=$1
    shift
    "$@" >/dev/null 2>&1 && return
    case " $missing " in
    *" $want_package "*) ;;
    *) missing="$missing $want_package" ;;
    esac
}

# The MPI of a compiler wrapper, told apart as configure does (m4/h5v_mpi.m4)
mpi_of() {
    has "$1" || return 1
    if "$1" --showme:compile >/dev/null 2>&1; then
        echo openmpi
    elif "$1" -compile_info >/dev/null 2>&1; then
        echo mpich
    else
        return 1
    fi
}

# mpi: mpich, openmpi or none; mpicc: its wrapper, empty when that MPI has to be installed
choose_mpi() {
    mpi=${H5VELOC_MPI:-} mpicc=
    case $mpi in
    none) return ;;
    '' | mpich | openmpi) ;;
    *) die "H5VELOC_MPI=$mpi: mpich, openmpi or none" ;;
    esac
    if [ -n "${MPICC:-}" ]; then
        mpi_kind=$(mpi_of "$MPICC") || die "MPICC=$MPICC is no compiler wrapper of MPICH or Open MPI"
        [ "${mpi:-$mpi_kind}" = "$mpi_kind" ] || die "MPICC=$MPICC is $mpi_kind, H5VELOC_MPI asks for $mpi"
        mpi=$mpi_kind mpicc=$(command -v "$MPICC")
        return
    fi
    for mpi_wrapper in mpicc mpicc.mpich mpicc.openmpi; do
        mpi_kind=$(mpi_of "$mpi_wrapper") && [ "${mpi:-$mpi_kind}" = "$mpi_kind" ] || continue
        mpi=$mpi_kind mpicc=$(command -v "$mpi_wrapper")
        return
    done
    mpi=${mpi:-mpich}
}

# A launcher beside the wrapper or in PATH; Debian's Open MPI keeps it in a package of its own.
has_launcher() {
    [ -n "$mpicc" ] || return 1
    [ -x "$(dirname "$mpicc")/mpiexec" ] || has mpiexec || has "mpiexec.$mpi"
}

preprocesses() { printf '#include <%s>\n' "$2" | "$1" -E -x c - >/dev/null 2>&1; }

compiler() { has "${CC:-gcc}" || has cc || has clang; }

c_library() {
    for c_word in ${CC:-gcc cc clang}; do
        has "$c_word" && preprocesses "$c_word" stdlib.h && return
    done
    return 1
}

want_to_build() {
    want gcc compiler
    want libc6-dev c_library
    want make has make
    if [ ! -f "$top/configure" ] || [ -e "$top/.git" ]; then
        want autoconf has autoreconf
        want automake has automake
        want libtool has libtoolize
    fi
    want pkg-config has pkg-config
    want libisal-dev pkg-config --exists libisal
    want libjansson-dev pkg-config --atleast-version=2.10 jansson
    case $mpi in
    mpich)
        want mpich has_launcher
        want libmpich-dev preprocesses "$mpicc" mpi.h
        ;;
    openmpi)
        want openmpi-bin has_launcher
        want libopenmpi-dev preprocesses "$mpicc" mpi.h
        ;;
    esac
}

# Tests make networks, namespaces, man pages and models; without these they would skip.
want_to_check() {
    want iproute2 has ip
    want util-linux has unshare
    want procps has ps
    want groff-base has groff
    want spin has spin
    want xz-utils has xz
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ "$assume_yes" = yes ]; then
        sudo -n "$@"
    else
        sudo "$@"
    fi
}

# Before sudo works behind a progress line, let it ask for its password.
become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    has sudo || die "run this as root first: apt-get update && apt-get install$missing"
    [ "$assume_yes" = yes ] || sudo -v || exit 1
}

apt_do() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@"
}

# The lists are fetched only when they do not know what is wanted (a fresh container has none) or
# when what they name is no longer in the archive.
apt_update() {
    [ "$apt_is_fresh" = no ] || return 0
    become_root
    logged "fetching the package lists" "$cache/log/apt-update.log" apt_do update || return 1
    apt_is_fresh=yes
}

apt_knows() { apt-get -q -s --no-install-recommends install "$@" >/dev/null 2>&1; }

install_packages() {
    # shellcheck disable=SC2086  # a list of words
    set -- $missing
    apt_knows "$@" || apt_update ||
        die "the package archive cannot be reached; missing on this machine: $*"
    logged "installing $# packages" "$cache/log/apt.log" apt_do install "$@" && return
    [ "$apt_is_fresh" = no ] && apt_update &&
        logged "installing $# packages, second try" "$cache/log/apt.log" apt_do install "$@" ||
        die "could not install: $*"
}

ask() {
    [ "$assume_yes" = no ] || return 0
    printf 'bootstrap: go on? [Y/n] ' >&2
    read -r answer || answer=n
    case $answer in
    [nN]*) die "nothing was changed" ;;
    esac
}

# Says in one list what is about to come, asks once, and does it.
provide_dependencies() {
    apt_is_fresh=no
    choose_mpi
    want_to_build
    [ "$command" != check ] || want_to_check
    if [ -n "$missing" ] && ! has apt-get; then
        die "this machine lacks what Debian calls$missing: install it, and HDF5 >= 1.14, by the means of your distribution and run bootstrap again"
    fi
    choose_hdf5
    if [ -z "$missing" ] && [ "$hdf5_plan" != source ]; then
        say "nothing to install; HDF5: ${hdf5_dir:-of the system}, MPI: ${mpicc:-none}"
        return
    fi
    [ -z "$missing" ] || say "to install with apt-get:$missing"
    [ "$hdf5_plan" != source ] ||
        say "to build once, some minutes: HDF5 >= 1.14 ($(mpi_key)) from the source package of $hdf5_suite, in $cache"
    ask
    if [ -n "$missing" ]; then
        become_root
        install_packages
        choose_mpi
        [ "$mpi" = none ] || [ -n "$mpicc" ] || die "no compiler wrapper of $mpi after installing it"
    fi
    provide_hdf5
}
