#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# configure finds HDF5 and MPI in the promised order, and says what to do when it cannot.
# Knows how to fake an HDF5 (three headers and an empty library), a pkg-config module, an h5pcc and
# an mpicc, so that it needs none of them and no two machines differ. Of configure.ac only the
# macros of m4/ that are asked here are run: libtool's questions would take 10 s more.
set -u
for tool in autoconf aclocal pkg-config objdump; do
    command -v "$tool" >/dev/null || {
        echo "1..0 # SKIP $tool is not here"
        exit
    }
done
# shellcheck disable=SC2154  # automake sets srcdir
top=$(cd "$srcdir" && pwd)
work=$PWD/test/cmd/configure.tmp
rm -rf "$work"
mkdir -p "$work/bin" "$work/path" "$work/pc" "$work/pc-system"
trap 'rm -rf "$work"' EXIT

cat >"$work/configure.ac" <<END
AC_INIT([h5veloc], [0])
AC_USE_SYSTEM_EXTENSIONS
AC_PROG_CC
PKG_PROG_PKG_CONFIG
H5V_MPI
H5V_HDF5
H5V_FLAVOUR
H5V_TRANSPORTS
AC_OUTPUT
AC_MSG_NOTICE([HDF5 \$h5v_hdf5_text; flavour \$h5v_flavour; \$HDF5_LIBS; transports \$h5v_transports;])
END
(cd "$work" && aclocal -I "$top/m4" && autoconf) || exit 1
cc=$(sed -n 's/^CC = //p' Makefile | sed 's/ -std=[^ ]*//')

# hdf5 DIR VERSION [parallel] [LIBRARY]: an HDF5 that is linked with LIBRARY
hdf5() {
    mkdir -p "$work/$1/include" "$work/$1/lib" "$work/$1/bin"
    echo "$2" | sed 's/\([0-9]*\)\.\([0-9]*\)\.\([0-9]*\)/#define H5_VERS_MAJOR \1\
#define H5_VERS_MINOR \2\
#define H5_VERS_RELEASE \3/' >"$work/$1/include/H5public.h"
    : >"$work/$1/include/H5pubconf.h"
    if [ "${3:-}" = parallel ]; then
        echo '#define H5_HAVE_PARALLEL 1' >"$work/$1/include/H5pubconf.h"
        echo '#include <mpi.h>' >>"$work/$1/include/H5public.h"
    fi
    { echo '#include <H5public.h>'; echo 'int H5open(void);'; } >"$work/$1/include/hdf5.h"
    library hdf5 "$work/$1/lib" libhdf5.so ${4:+"$4"}
}

# library NAME DIR SONAME [NEEDED]
library() {
    printf 'int H5open(void) { return 0; }\nint MPI_Init(int *a, char ***b) { return !a || !b; }\n' |
        $cc -w -shared -fPIC -x c - -o "$2/lib$1.so" "-Wl,-soname,$3" -x none -Wl,--no-as-needed ${4:+"$4"}
}

module() { # NAME DIR VERSION
    printf 'Name: %s\nDescription: fake\nVersion: %s\nCflags: -I%s/include\nLibs: -L%s/lib -lhdf5\n' \
        "$1" "$3" "$work/$2" "$work/$2" >"$work/pc/$1.pc"
}

script() { # PATH, its text from stdin
    { echo '#!/bin/sh'; cat; } >"$work/$1"
    chmod +x "$work/$1"
}

# run ARGUMENTS...: configure with nothing but the fakes; its output in $said, its end in $rc
n=0 said='' rc=0
run() {
    n=$((n + 1))
    mkdir "$work/$n"
    said=$(cd "$work/$n" && env -u HDF5_DIR -u H5PCC -u MPICC -u MPIEXEC "PATH=$work/path:$PATH" \
        "PKG_CONFIG_PATH=$work/pc" "PKG_CONFIG_LIBDIR=$work/pc-system" CONFIG_SHELL=/bin/sh \
        /bin/sh "$work/configure" --no-create --cache-file="$work/cache" "CC=$cc" "$@" 2>&1)
    rc=$?
    rm -f "$work"/pc/* "$work"/path/*
    # what depends on the case must not be remembered for the next
    [ ! -f "$work/cache" ] || sed -i '/ac_cv_env_\|MPICC\|MPIEXEC\|H5PCC\|mpi_h/d' "$work/cache"
}

count=0
check() { # TEXT COMMAND...
    count=$((count + 1))
    check_text=$1
    shift
    if "$@"; then
        echo "ok $count - $check_text"
    else
        echo "not ok $count - $check_text"
        printf '%s\n' "$said" | tail -n 15 | sed 's/^/# /'
    fi
}

stops() { # PART...: configure failed and said every PART
    [ "$rc" -ne 0 ] || return 1
    says "$@"
}

says() {
    for part; do
        printf '%s\n' "$said" | grep -q -F -e "$part" || return 1
    done
}

takes() { # configure was content, and the summary says every PART
    [ "$rc" -eq 0 ] && says "$@"
}

ways="--with-hdf5=DIR"
hdf5 old 1.10.8
hdf5 serial 1.14.5
mkdir -p "$work/openmpi" "$work/mpich/include"
library mpi "$work/openmpi" libmpi.so.40
library mpi "$work/mpich" libmpi.so.12
echo 'int MPI_Init(int *, char ***);' >"$work/mpich/include/mpi.h"
hdf5 ompi 1.14.5 parallel "$work/openmpi/libmpi.so"
hdf5 mpich4 1.14.5 parallel "$work/mpich/libmpi.so"
script bin/mpicc-mpich <<END
[ "\$1" = -compile_info ] || [ "\$1" = -link_info ] || exit 1
echo "gcc -I$work/mpich/include -L$work/mpich -lmpi"
END
script bin/mpicc-openmpi <<END
case \$1 in
--showme:compile) echo "-I$work/mpich/include" ;;
--showme:link) echo "-L$work/openmpi -lmpi" ;;
*) exit 1 ;;
esac
END
old_wrapper() { echo 'echo "   HDF5 Version:   1.10.8"' | script "path/$1"; }
echo 1..17

for w in h5cc h5cc.serial; do old_wrapper $w; done
run --without-mpi
check "without HDF5 the three ways to name it are given" \
    stops "HDF5 >= 1.14 was not found" "$ways" "pkg-config" "h5pcc or h5cc" "./bootstrap"
check "an h5cc that is too old is named with its version" says "path/h5cc is 1.10.8"

run --without-mpi --with-hdf5="$work/nowhere"
check "a directory without HDF5 is named" stops "nowhere has no include/hdf5.h" "$ways"

run --without-mpi --with-hdf5="$work/old"
check "an HDF5 that is too old is named with version and place" stops "HDF5 1.10.8 from $work/old is too old" "$ways"

echo 'echo "HDF5 Version: 1.14.5"' | script serial/bin/h5cc
module hdf5 old 1.10.8
old_wrapper h5cc
run --without-mpi H5PCC="$work/serial/bin/h5cc"
check "H5PCC names the HDF5 it stands in" takes "1.14.5 serial" "$work/serial"

module hdf5-serial old 1.10.8
module hdf5 serial 1.14.5
run --without-mpi
check "a pkg-config module that is too old is passed over" takes "1.14.5 serial" "pkg-config hdf5;"
check "without MPI the flavour is called serial" says "flavour hdf5-1.14.5-serial;"

module hdf5 serial 1.14.5
run --without-mpi HDF5_DIR="$work/old"
check "HDF5_DIR decides before pkg-config" stops "HDF5 1.10.8 from $work/old"

run --with-hdf5="$work/serial" MPICC="$work/bin/mpicc-mpich"
check "with MPI the flavour of a serial HDF5 names both" takes "flavour hdf5-1.14.5-serial-mpich;"

run --without-mpi --with-hdf5="$work/mpich4"
check "a parallel HDF5 without MPI: MPICC is asked for" stops "is parallel and needs its MPI" "MPICC="

run --with-hdf5="$work/ompi" MPICC="$work/bin/mpicc-mpich"
check "an HDF5 built with Open MPI is refused with MPICH" stops "was built with Open MPI" "MPICC=mpicc.openmpi"

run --with-hdf5="$work/mpich4" MPICC="$work/bin/mpicc-openmpi"
check "an HDF5 built with MPICH is refused with Open MPI" stops "was built with MPICH" "MPICC=mpicc.mpich"

run --with-hdf5="$work/serial" MPICC="$work/bin/nothing"
check "an MPICC that is not there is named" stops "MPICC=$work/bin/nothing: there is no such command"

run --without-mpi --with-hdf5="$work/serial" --with-datawarp="$work/nowhere"
check "an SDK that was named and is not there is told" \
    stops "Cray's DataWarp API was not found below $work/nowhere" "include/datawarp.h" "-ldatawarp"

mkdir -p "$work/cppr/include" "$work/cppr/lib"
echo 'int cppr_status(void);' >"$work/cppr/include/cppr.h"
echo 'int cppr_status(void) { return 0; }' |
    $cc -w -shared -fPIC -x c - -o "$work/cppr/lib/libcppr.so"
run --without-mpi --with-hdf5="$work/serial" --with-cppr="$work/cppr"
check "one that is there gives its transfer plug-in" takes "transports posix cppr;"
run --without-mpi --with-hdf5="$work/serial"
check "none is needed" takes "transports posix;"

mkdir -p "$work/a b/include"
run --without-mpi --with-hdf5="$work/a b"
check "a path that make cannot pass on is refused at once" stops "symbolic link"
