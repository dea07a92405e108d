# H5V_HDF5 - find HDF5 >= 1.14, serial or parallel:
#   1. --with-hdf5=DIR (or HDF5_DIR)   2. pkg-config   3. h5pcc / h5cc
# The first that is there decides.  Sets HDF5_CFLAGS, HDF5_LIBS, HDF5_RUNPATH, HDF5_BINDIR,
# h5v_hdf5_version and the conditional PARALLEL_HDF5.

AC_DEFUN([H5V_HDF5_NONE], [AC_MSG_ERROR([$1
  h5veloc needs HDF5 >= 1.14. Tell configure where it is in one of three ways:
    --with-hdf5=DIR    DIR/include/hdf5.h and DIR/lib/libhdf5 (HDF5_DIR in the environment does the same)
    pkg-config         a module named hdf5, hdf5-mpich, hdf5-openmpi or hdf5-serial (PKG_CONFIG_PATH)
    h5pcc or h5cc      HDF5's compiler wrapper in PATH
  Or run ./bootstrap, which builds HDF5 once where the system's is too old.])])

# way 1: a prefix; headers and library may lie where Debian puts them
AC_DEFUN([H5V_HDF5_FROM_PREFIX], [
    h5v_hdf5_from="$h5v_hdf5_dir"
    AS_IF([test -e "$h5v_hdf5_dir/include/hdf5.h"], [HDF5_CFLAGS="-I$h5v_hdf5_dir/include"],
        [H5V_HDF5_NONE([$h5v_hdf5_dir has no include/hdf5.h.])])
    h5v_hdf5_lib=
    for h5v_lib in "$h5v_hdf5_dir/lib" "$h5v_hdf5_dir/lib64"; do
        AS_IF([test -e "$h5v_lib/libhdf5.so" && test -z "$h5v_hdf5_lib"], [h5v_hdf5_lib=$h5v_lib])
    done
    AS_IF([test -z "$h5v_hdf5_lib"], [H5V_HDF5_NONE([$h5v_hdf5_dir has no lib/libhdf5.so (a shared library is needed).])])
    HDF5_LIBS="-L$h5v_hdf5_lib -lhdf5"
    HDF5_RUNPATH=$h5v_hdf5_lib
    HDF5_BINDIR=$h5v_hdf5_dir/bin
])

# way 3: the wrapper's own -show, or the prefix it stands in (CMake-made wrappers lack -show)
AC_DEFUN([H5V_HDF5_FROM_WRAPPER], [
    h5v_hdf5_from="$H5PCC"
    h5v_show=$("$H5PCC" -show 2>/dev/null | head -n 1)
    HDF5_BINDIR=$(dirname "$H5PCC")
    AS_CASE([$h5v_show],
        [*-lhdf5*|*libhdf5*], [
            HDF5_CFLAGS=$(printf '%s\n' "$h5v_show" | tr ' ' '\n' | grep -E '^-[[ID]]' | tr '\n' ' ')
            HDF5_LIBS="$(printf '%s\n' "$h5v_show" | tr ' ' '\n' | grep -E '^-L' | tr '\n' ' ')"
            HDF5_LIBS="$HDF5_LIBS $(printf '%s\n' "$h5v_show" | tr ' ' '\n' | grep -oE '(-lhdf5|libhdf5)[[a-z_]]*' | sed 's/^libhdf5/-lhdf5/' | grep -v _hl | tail -n 1)"
            for h5v_word in $(printf '%s\n' "$h5v_show" | tr ' ' '\n' | sed -n 's/^-L//p'); do
                AS_IF([test -e "$h5v_word/libhdf5.so"], [HDF5_RUNPATH=$h5v_word])
            done
            AS_IF([test -z "$HDF5_RUNPATH" && test -e "$HDF5_BINDIR/../lib/libhdf5.so"],
                [HDF5_RUNPATH=$(cd "$HDF5_BINDIR/../lib" && pwd); HDF5_LIBS="-L$HDF5_RUNPATH -lhdf5"; HDF5_CFLAGS="-I$(cd "$HDF5_BINDIR/../include" && pwd)"])
        ],
        [h5v_hdf5_dir=$(cd "$HDF5_BINDIR/.." && pwd)
         H5V_HDF5_FROM_PREFIX])
])

AC_DEFUN([H5V_HDF5], [
    AC_ARG_WITH([hdf5], [AS_HELP_STRING([--with-hdf5=DIR], [HDF5 >= 1.14 below DIR])], [], [with_hdf5=])
    AC_ARG_VAR([HDF5_DIR], [prefix of HDF5 >= 1.14, like --with-hdf5])
    AC_ARG_VAR([H5PCC], [HDF5's compiler wrapper])
    AS_CASE([$with_hdf5], [yes], [with_hdf5=],
        [no], [AC_MSG_ERROR([h5veloc is an HDF5 connector: --without-hdf5 makes no sense])])
    HDF5_RUNPATH= HDF5_BINDIR=
    h5v_hdf5_dir=${with_hdf5:-$HDF5_DIR}
    h5v_module=
    AS_IF([test -z "$h5v_hdf5_dir"], [
        # prefer the flavour of our MPI, then what calls itself plainly hdf5
        AS_IF([test "x$h5v_mpi" = xno], [h5v_modules="hdf5-serial hdf5"], [h5v_modules="hdf5-$h5v_mpi hdf5 hdf5-serial"])
        for h5v_m in $h5v_modules; do
            AS_IF([test -z "$h5v_module" && $PKG_CONFIG --exists "$h5v_m"], [h5v_module=$h5v_m])
        done
    ])
    AS_IF([test -n "$h5v_hdf5_dir"], [H5V_HDF5_FROM_PREFIX],
        [test -n "$h5v_module"], [
            h5v_hdf5_from="pkg-config $h5v_module"
            HDF5_CFLAGS=$($PKG_CONFIG --cflags "$h5v_module")
            HDF5_LIBS=$($PKG_CONFIG --libs "$h5v_module")
            HDF5_RUNPATH=$($PKG_CONFIG --variable=libdir "$h5v_module")
        ], [
            AS_IF([test -z "$H5PCC"], [AS_IF([test "x$h5v_mpi" = xno], [AC_PATH_PROGS([H5PCC], [h5cc])], [AC_PATH_PROGS([H5PCC], [h5pcc h5cc])])])
            AS_IF([test -z "$H5PCC"], [H5V_HDF5_NONE([HDF5 was not found.])])
            H5V_HDF5_FROM_WRAPPER
        ])

    # what it is, from its own headers
    h5v_save_cpp=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS $MPI_CFLAGS"
    AC_MSG_CHECKING([the version of HDF5 from $h5v_hdf5_from])
    AC_COMPUTE_INT([h5v_major], [H5_VERS_MAJOR], [[#include <H5public.h>]], [h5v_major=0])
    AC_COMPUTE_INT([h5v_minor], [H5_VERS_MINOR], [[#include <H5public.h>]], [h5v_minor=0])
    AC_COMPUTE_INT([h5v_release], [H5_VERS_RELEASE], [[#include <H5public.h>]], [h5v_release=0])
    h5v_hdf5_version=$h5v_major.$h5v_minor.$h5v_release
    AC_MSG_RESULT([$h5v_hdf5_version])
    AS_IF([test $((h5v_major * 1000 + h5v_minor)) -lt 1014],
        [AS_IF([test $h5v_major -eq 0], [H5V_HDF5_NONE([The headers of $h5v_hdf5_from do not compile (a parallel HDF5 needs its MPI: MPICC=); see config.log.])],
            [H5V_HDF5_NONE([HDF5 $h5v_hdf5_version from $h5v_hdf5_from is too old: it has no VOL layer that a connector can use.])])])
    AC_MSG_CHECKING([whether this HDF5 is parallel])
    AC_COMPUTE_INT([h5v_par], [H5V_PAR], [[#include <H5pubconf.h>
#ifdef H5_HAVE_PARALLEL
#define H5V_PAR 1
#else
#define H5V_PAR 0
#endif]], [h5v_par=0])
    AS_IF([test "$h5v_par" = 1], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    CPPFLAGS=$h5v_save_cpp
    AS_IF([test "$h5v_par" = 1 && test "x$h5v_mpi" = xno],
        [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from is parallel, and MPI is missing: name its compiler wrapper with MPICC=])])

    # a library built with one MPI and a compiler wrapper of another link, and then crash
    h5v_needed=
    AS_IF([test -e "$HDF5_RUNPATH/libhdf5.so"], [h5v_needed=$(objdump -p "$HDF5_RUNPATH/libhdf5.so" 2>/dev/null | sed -n 's/.*NEEDED *//p' | tr '\n' ' ')])
    AS_CASE([$h5v_mpi:$h5v_needed],
        [mpich:*libmpi.so*libopen*|mpich:*libmpi.so.40*], [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from was built with Open MPI, $MPICC is MPICH: give MPICC=mpicc.openmpi or another HDF5])],
        [openmpi:*libmpich*], [AC_MSG_ERROR([HDF5 from $h5v_hdf5_from was built with MPICH, $MPICC is Open MPI: give MPICC=mpicc.mpich or another HDF5])])

    AS_IF([test -n "$HDF5_RUNPATH" && test "x$HDF5_RUNPATH" != x/usr/lib], [HDF5_LIBS="$HDF5_LIBS -Wl,-rpath,$HDF5_RUNPATH"])
    h5v_save_cflags=$CFLAGS h5v_save_libs=$LIBS
    CFLAGS="$CFLAGS $HDF5_CFLAGS $MPI_CFLAGS" LIBS="$HDF5_LIBS $LIBS"
    AS_IF([test "$h5v_par" = 1], [LIBS="$HDF5_LIBS $MPI_LIBS $LIBS"])
    AC_MSG_CHECKING([whether a program links with this HDF5])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hdf5.h>]], [[H5open()]])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no]); H5V_HDF5_NONE([A program does not link with $HDF5_LIBS; see config.log.])])
    CFLAGS=$h5v_save_cflags LIBS=$h5v_save_libs
    AS_IF([test "$h5v_par" = 1], [h5v_hdf5_text="$h5v_hdf5_version parallel, $h5v_hdf5_from"],
        [h5v_hdf5_text="$h5v_hdf5_version serial (plug-in without shared files), $h5v_hdf5_from"])
    AC_SUBST([HDF5_CFLAGS])
    AC_SUBST([HDF5_LIBS])
    AC_SUBST([HDF5_BINDIR])
    AC_SUBST([HDF5_VERSION], [$h5v_hdf5_version])
    AM_CONDITIONAL([PARALLEL_HDF5], [test "$h5v_par" = 1])
])

# H5V_FLAVOUR - the directory that keeps builds for several HDF5 libraries and MPIs apart
AC_DEFUN([H5V_FLAVOUR], [
    AC_ARG_WITH([flavour], [AS_HELP_STRING([--with-flavour=NAME],
        [install the plug-in and libveloc below LIBDIR/h5veloc/NAME (default: hdf5-VERSION-MPI)])], [], [with_flavour=])
    AC_ARG_ENABLE([default-flavour], [AS_HELP_STRING([--disable-default-flavour],
        [leave -lveloc and veloc.pc to another flavour that is installed in the same prefix])], [], [enable_default_flavour=yes])
    AS_IF([test "$h5v_par" = 1], [h5v_kind=$h5v_mpi], [h5v_kind=serial])
    h5v_flavour=${with_flavour:-hdf5-$h5v_hdf5_version-$h5v_kind}
    AS_CASE([$h5v_flavour], [*/*|.*|*' '*], [AC_MSG_ERROR([--with-flavour=$h5v_flavour: the name of one directory, without blanks])])
    h5v_default_flavour=$enable_default_flavour
    AC_SUBST([FLAVOUR], [$h5v_flavour])
    AC_SUBST([flavourdir], ['${libdir}/h5veloc/${FLAVOUR}'])
    AM_CONDITIONAL([DEFAULT_FLAVOUR], [test "x$h5v_default_flavour" = xyes])
])
