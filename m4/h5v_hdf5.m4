# H5V_HDF5 - find HDF5 >= 1.14, serial or parallel:
#   1. --with-hdf5=DIR (or HDF5_DIR)   2. pkg-config   3. h5pcc / h5cc
# What the user names (1, or H5PCC=) decides alone: it fits or configure stops. Otherwise the first
# that is new enough is taken, so a module file's h5pcc beats the system's old pkg-config entry.
# Sets HDF5_CFLAGS, HDF5_LIBS, HDF5_RUNPATH, HDF5_BINDIR, h5v_hdf5_version and the conditional
# PARALLEL_HDF5.

AC_DEFUN([H5V_HDF5_NONE], [AC_MSG_ERROR([$1
  h5veloc needs HDF5 >= 1.14. Tell configure where it is in one of three ways:
    --with-hdf5=DIR    DIR/include/hdf5.h and DIR/lib/libhdf5.so (HDF5_DIR in the environment does the same)
    pkg-config         a module named hdf5, hdf5-mpich, hdf5-openmpi or hdf5-serial (PKG_CONFIG_PATH)
    h5pcc or h5cc      HDF5's compiler wrapper in PATH, or named with H5PCC=
  Or run ./bootstrap, which builds HDF5 once where the system's is too old.])])

# way 1: a prefix, such as /opt/hdf5 or Debian's /usr/lib/TRIPLET/hdf5/mpich
AC_DEFUN([H5V_HDF5_FROM_PREFIX], [
    AS_CASE([$h5v_hdf5_dir], [*[[!A-Za-z0-9_./+@%:=,~-]]*],
        [AC_MSG_ERROR([the path of HDF5, $h5v_hdf5_dir, holds a blank or another character that make and libtool cannot pass on: name it through a symbolic link])])
    AS_IF([test -e "$h5v_hdf5_dir/include/hdf5.h"], [],
        [H5V_HDF5_NONE([$h5v_hdf5_dir has no include/hdf5.h.])])
    h5v_hdf5_dir=$(cd "$h5v_hdf5_dir" && pwd)
    h5v_hdf5_from=$h5v_hdf5_dir
    h5v_hdf5_lib=
    for h5v_lib in "$h5v_hdf5_dir/lib64" "$h5v_hdf5_dir/lib"; do
        AS_IF([test -e "$h5v_lib/libhdf5.so"], [h5v_hdf5_lib=$h5v_lib])
    done
    AS_IF([test -z "$h5v_hdf5_lib"],
        [H5V_HDF5_NONE([$h5v_hdf5_dir has no lib/libhdf5.so (a shared library is needed).])])
    HDF5_CFLAGS="-I$h5v_hdf5_dir/include"
    HDF5_LIBS="-L$h5v_hdf5_lib -lhdf5"
    HDF5_BINDIR=$h5v_hdf5_dir/bin
])

# way 2: h5v_module becomes the first module that is new enough
AC_DEFUN([H5V_HDF5_FIND_MODULE], [
    # prefer the flavour of our MPI, then what calls itself plainly hdf5
    AS_IF([test "x$h5v_mpi" = xno], [h5v_modules="hdf5-serial hdf5"],
        [h5v_modules="hdf5-$h5v_mpi hdf5 hdf5-serial"])
    for h5v_m in $h5v_modules; do
        AS_IF([test -n "$h5v_module"], [],
            [$PKG_CONFIG --atleast-version=1.14 "$h5v_m"], [h5v_module=$h5v_m],
            [$PKG_CONFIG --exists "$h5v_m"],
            [h5v_seen="$h5v_seen pkg-config's $h5v_m is $($PKG_CONFIG --modversion "$h5v_m")."])
    done
])

AC_DEFUN([H5V_HDF5_FROM_MODULE], [
    h5v_hdf5_from="pkg-config $h5v_module"
    HDF5_CFLAGS=$($PKG_CONFIG --cflags "$h5v_module")
    HDF5_LIBS=$($PKG_CONFIG --libs "$h5v_module")
    HDF5_BINDIR=$($PKG_CONFIG --variable=exec_prefix "$h5v_module")/bin
])

# way 3: H5PCC becomes the first wrapper that is new enough; one that does not say is believed
AC_DEFUN([H5V_HDF5_FIND_WRAPPER], [
    AS_IF([test "x$h5v_mpi" = xno], [h5v_wrappers="h5cc h5cc.serial"],
        [h5v_wrappers="h5pcc.$h5v_mpi h5pcc h5cc"])
    for h5v_w in $h5v_wrappers; do
        AS_IF([test -z "$H5PCC" && h5v_path=$(command -v "$h5v_w")], [
            h5v_text=$("$h5v_path" -showconfig 2>/dev/null | sed -n 's/^ *HDF5 Version: *//p')
            AS_CASE([$h5v_text],
                [0.*|1.[[0-9]]|1.[[0-9]].*|1.1[[0-3]]|1.1[[0-3]].*], [h5v_seen="$h5v_seen $h5v_path is $h5v_text."],
                [H5PCC=$h5v_path])
        ])
    done
])

# The prefix it stands in, else what it would pass to the compiler (Debian's wrapper stands in /usr/bin)
AC_DEFUN([H5V_HDF5_FROM_WRAPPER], [
    AC_MSG_CHECKING([what $H5PCC compiles with])
    h5v_path=$(command -v "$H5PCC") || AC_MSG_ERROR([H5PCC=$H5PCC: there is no such command])
    HDF5_BINDIR=$(cd "$(dirname "$h5v_path")" && pwd)
    h5v_up=$(dirname "$HDF5_BINDIR")
    AS_IF([test -e "$h5v_up/include/hdf5.h" && { test -e "$h5v_up/lib/libhdf5.so" || test -e "$h5v_up/lib64/libhdf5.so"; }],
        [AC_MSG_RESULT([$h5v_up])
         h5v_hdf5_dir=$h5v_up
         H5V_HDF5_FROM_PREFIX],
        [h5v_hdf5_from=$h5v_path
         h5v_words=$({ "$h5v_path" -show -c conftest.c; "$h5v_path" -show conftest.o -o conftest; } 2>/dev/null | tr ' ' '\n')
         HDF5_CFLAGS=$(printf '%s\n' "$h5v_words" | grep '^-I' | sort -u | tr '\n' ' ')
         HDF5_LIBS="$(printf '%s\n' "$h5v_words" | grep '^-L' | sort -u | tr '\n' ' ')-lhdf5"
         AC_MSG_RESULT([$HDF5_CFLAGS $HDF5_LIBS])])
])

# HDF5_RUNPATH: the directory of the shared library; in the default search path it needs no -rpath
AC_DEFUN([H5V_HDF5_RUNPATH], [
    HDF5_RUNPATH=
    for h5v_word in $HDF5_LIBS; do
        AS_CASE([$h5v_word], [-L*], [h5v_lib=${h5v_word#-L}
            AS_IF([test -z "$HDF5_RUNPATH" && test -e "$h5v_lib/libhdf5.so"], [HDF5_RUNPATH=$h5v_lib])])
    done
    AS_IF([test -z "$HDF5_RUNPATH"], [h5v_lib=$($CC -print-file-name=libhdf5.so 2>/dev/null)
        AS_IF([test -e "$h5v_lib"], [HDF5_RUNPATH=$(cd "$(dirname "$h5v_lib")" && pwd)])])
    AS_CASE([$HDF5_RUNPATH],
        [''|/lib|/lib64|/usr/lib|/usr/lib64|/usr/lib/*-linux-*], [],
        [HDF5_LIBS="$HDF5_LIBS -Wl,-rpath,$HDF5_RUNPATH"])
])

# What it is, from its own headers. H5pubconf.h is asked first: it needs no mpi.h.
AC_DEFUN([H5V_HDF5_IDENTIFY], [
    h5v_save_cpp=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS $MPI_CFLAGS"
    AC_MSG_CHECKING([whether HDF5 from $h5v_hdf5_from is parallel])
    AC_COMPUTE_INT([h5v_par], [H5V_PAR], [[#include <H5pubconf.h>
#ifdef H5_HAVE_PARALLEL
#define H5V_PAR 1
#else
#define H5V_PAR 0
#endif]], [h5v_par=0])
    AS_IF([test "$h5v_par" = 1], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    AS_IF([test "$h5v_par" = 1 && test "x$h5v_mpi" = xno],
        [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from is parallel and needs its MPI: name that MPI's compiler wrapper with MPICC=, or name a serial HDF5 with --with-hdf5=DIR])])
    AC_MSG_CHECKING([the version of HDF5 from $h5v_hdf5_from])
    AC_COMPUTE_INT([h5v_major], [H5_VERS_MAJOR], [[#include <H5public.h>]], [h5v_major=0])
    AC_COMPUTE_INT([h5v_minor], [H5_VERS_MINOR], [[#include <H5public.h>]], [h5v_minor=0])
    AC_COMPUTE_INT([h5v_release], [H5_VERS_RELEASE], [[#include <H5public.h>]], [h5v_release=0])
    CPPFLAGS=$h5v_save_cpp
    h5v_hdf5_version=$h5v_major.$h5v_minor.$h5v_release
    AC_MSG_RESULT([$h5v_hdf5_version])
    AS_IF([test $h5v_major -eq 0],
        [H5V_HDF5_NONE([The headers of HDF5 from $h5v_hdf5_from do not compile; see config.log.])],
        [test $((h5v_major * 1000 + h5v_minor)) -lt 1014],
        [H5V_HDF5_NONE([HDF5 $h5v_hdf5_version from $h5v_hdf5_from is too old: it lacks the VOL layer h5veloc plugs into.])])
])

# HDF5_SOURCE: where the sources of that version are, whose tests run through the connector.
# bootstrap leaves them beside what it built.
AC_DEFUN([H5V_HDF5_SOURCE], [
    AC_ARG_WITH([hdf5-source], [AS_HELP_STRING([--with-hdf5-source=DIR],
        [HDF5's sources: its own tests run through the connector in make check])],
        [HDF5_SOURCE=$withval],
        [HDF5_SOURCE=$(dirname "${h5v_hdf5_dir:-/nowhere/hdf5}")/hdf5-$h5v_hdf5_version-src])
    AS_IF([test -e "$HDF5_SOURCE/test/API/H5_api_test.c"], [],
        [test -n "$with_hdf5_source" && test "x$with_hdf5_source" != xno],
        [AC_MSG_ERROR([$HDF5_SOURCE has no test/API: name the top directory of HDF5's sources])],
        [HDF5_SOURCE=])
    AC_SUBST([HDF5_SOURCE])
])

# A library built with one MPI and the compiler wrapper of another link, and crash later.
# MPICH's library is libmpich.so.12 on Debian and libmpi.so.12 elsewhere, Open MPI's libmpi.so.40.
AC_DEFUN([H5V_HDF5_SAME_MPI], [
    h5v_needed=
    AS_IF([test -e "$HDF5_RUNPATH/libhdf5.so"],
        [h5v_needed=$(objdump -p "$HDF5_RUNPATH/libhdf5.so" 2>/dev/null | sed -n 's/.*NEEDED *//p' | tr '\n' ' ')])
    AS_CASE([$h5v_mpi:$h5v_needed],
        [mpich:*libmpi.so.[[2-9]]0*], [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from was built with Open MPI, $MPICC is MPICH's: name Open MPI's compiler wrapper (MPICC=mpicc.openmpi) or an HDF5 built with MPICH (--with-hdf5=DIR)])],
        [openmpi:*libmpich*|openmpi:*libmpi.so.12*], [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from was built with MPICH, $MPICC is Open MPI's: name MPICH's compiler wrapper (MPICC=mpicc.mpich) or an HDF5 built with Open MPI (--with-hdf5=DIR)])])
])

AC_DEFUN([H5V_HDF5_LINK], [
    h5v_save_cflags=$CFLAGS h5v_save_libs=$LIBS
    CFLAGS="$CFLAGS $HDF5_CFLAGS" LIBS="$HDF5_LIBS $LIBS"
    AS_IF([test "$h5v_par" = 1], [CFLAGS="$CFLAGS $MPI_CFLAGS" LIBS="$HDF5_LIBS $MPI_LIBS $LIBS"])
    AC_MSG_CHECKING([whether a program links with this HDF5])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hdf5.h>]], [[H5open()]])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         H5V_HDF5_NONE([A program does not link with $HDF5_LIBS; see config.log.])])
    CFLAGS=$h5v_save_cflags LIBS=$h5v_save_libs
])

AC_DEFUN([H5V_HDF5], [
    AC_ARG_WITH([hdf5], [AS_HELP_STRING([--with-hdf5=DIR], [HDF5 >= 1.14 below DIR])], [], [with_hdf5=])
    AC_ARG_VAR([HDF5_DIR], [prefix of HDF5 >= 1.14, like --with-hdf5])
    AC_ARG_VAR([H5PCC], [HDF5's compiler wrapper])
    AS_CASE([$with_hdf5], [yes], [with_hdf5=],
        [no], [AC_MSG_ERROR([h5veloc is an HDF5 connector: --without-hdf5 makes no sense])])
    HDF5_BINDIR= h5v_module= h5v_seen=
    h5v_hdf5_dir=${with_hdf5:-$HDF5_DIR}
    AS_IF([test -z "$h5v_hdf5_dir$H5PCC"], [H5V_HDF5_FIND_MODULE])
    AS_IF([test -z "$h5v_hdf5_dir$H5PCC$h5v_module"], [H5V_HDF5_FIND_WRAPPER])
    AS_IF([test -n "$h5v_hdf5_dir"], [H5V_HDF5_FROM_PREFIX],
        [test -n "$h5v_module"], [H5V_HDF5_FROM_MODULE],
        [test -n "$H5PCC"], [H5V_HDF5_FROM_WRAPPER],
        [H5V_HDF5_NONE([HDF5 >= 1.14 was not found.$h5v_seen])])
    H5V_HDF5_RUNPATH
    H5V_HDF5_IDENTIFY
    H5V_HDF5_SOURCE
    H5V_HDF5_SAME_MPI
    H5V_HDF5_LINK
    AS_IF([test "$h5v_par" = 1], [h5v_hdf5_text="$h5v_hdf5_version parallel, $h5v_hdf5_from"],
        [h5v_hdf5_text="$h5v_hdf5_version serial (plug-in without shared files), $h5v_hdf5_from"])
    AC_SUBST([HDF5_CFLAGS])
    AC_SUBST([HDF5_LIBS])
    AC_SUBST([HDF5_BINDIR])
    AC_SUBST([HDF5_VERSION], [$h5v_hdf5_version])
    AM_CONDITIONAL([PARALLEL_HDF5], [test "$h5v_par" = 1])
])

# H5V_FLAVOUR - the directory that keeps builds for several HDF5 libraries and MPIs apart.
# Beside a serial HDF5 libveloc still belongs to one MPI, so that is part of the name too.
AC_DEFUN([H5V_FLAVOUR], [
    AC_ARG_WITH([flavour], [AS_HELP_STRING([--with-flavour=NAME],
        [install the plug-in and libveloc below LIBDIR/h5veloc/NAME (default: hdf5-VERSION-MPI)])], [], [with_flavour=])
    AC_ARG_ENABLE([default-flavour], [AS_HELP_STRING([--disable-default-flavour],
        [leave -lveloc and veloc.pc to another flavour that is installed in the same prefix])], [], [enable_default_flavour=yes])
    AS_CASE([$h5v_par:$h5v_mpi], [1:*], [h5v_kind=$h5v_mpi],
        [*:no], [h5v_kind=serial], [h5v_kind=serial-$h5v_mpi])
    h5v_flavour=${with_flavour:-hdf5-$h5v_hdf5_version-$h5v_kind}
    AS_CASE([$h5v_flavour], [yes|no|*/*|.*|*' '*],
        [AC_MSG_ERROR([--with-flavour=$h5v_flavour: give the name of one directory, without blanks])])
    h5v_default_flavour=$enable_default_flavour
    AC_SUBST([FLAVOUR], [$h5v_flavour])
    AC_SUBST([flavourdir], ['${libdir}/h5veloc/${FLAVOUR}'])
    AM_CONDITIONAL([DEFAULT_FLAVOUR], [test "x$h5v_default_flavour" = xyes])
])
