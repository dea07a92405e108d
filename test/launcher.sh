# SPDX-License-Identifier: BSD-3-Clause
# launcher.sh - what MPICH and Open MPI must be told to run more ranks than there are cores.
# Sourced by mpirun.sh and cluster/vcluster; knows no time limits, locks or nodes.
# shellcheck shell=bash
launcher_dir=$(cd "${BASH_SOURCE[0]%/*}" && pwd)

# launcher_kind LAUNCHER: prints mpich or openmpi, or says why it cannot tell
launcher_kind() {
    local answer
    answer=$("$1" --version 2>&1) || answer=
    case $answer in
    *HYDRA* | *MPICH* | *"Intel(R) MPI"*) echo mpich ;;
    *"Open MPI"* | *OpenRTE* | *PRRTE* | *OpenMPI*) echo openmpi ;;
    *)
        echo "launcher: '$1 --version' is answered neither like MPICH nor like Open MPI:" \
            "name the launcher of the MPI in use with MPIEXEC=" >&2
        return 1
        ;;
    esac
}

# launcher_flags KIND: fills the array `flags` and exports what the ranks must inherit.
# YIELD_SHIM names the preload of test/yield; without it MPICH is correct, but slow.
launcher_flags() {
    flags=()
    case $1 in
    mpich)
        [ -z "${YIELD_SHIM:-}" ] || flags=(-genv LD_PRELOAD "$YIELD_SHIM")
        # ranks of one machine that wait in MPI_Init for each other over shared memory do so
        # without a pause: they have UCX for each other as for all others
        export MPIR_CVAR_NOLOCAL=1
        # A third of what a short job costs is that its ranks find out what this machine is made of,
        # and which networks it has. Nothing is bound to a core, and no network is InfiniBand.
        export HWLOC_XMLFILE="$launcher_dir/machine.xml" UCX_MODULES="${UCX_MODULES:-^ib,rdmacm}"
        ;;
    openmpi)
        flags=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
        [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
        ;;
    esac
    # ASan wants to be the first library of a program. The preload comes before it, and
    # replaces nothing that ASan intercepts. (libasan first in LD_PRELOAD was the
    # alternative: it puts ASan into every shell and tool that a rank starts, too.)
    [ -z "${SANITIZER:-}" ] || export YIELD_KEEP_LOADED=1
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
}
