# H5V_MPI - find an MPI through its compiler wrapper and learn its flags, so that the same plain
# compiler builds what needs MPI and what must not know it.
#   MPICC=... names the wrapper, --without-mpi does without.
# Sets h5v_mpi (mpich|openmpi|no), MPI_CFLAGS, MPI_LIBS, MPIEXEC and the conditional HAVE_MPI.

# H5V_MPI_IDENTIFY(WRAPPER): h5v_mpi, MPI_CFLAGS and MPI_LIBS of that wrapper
AC_DEFUN([H5V_MPI_IDENTIFY], [
    h5v_mpi=unknown
    AS_IF([h5v_show=$($1 --showme:compile 2>/dev/null)],
        [h5v_mpi=openmpi
         MPI_CFLAGS=$h5v_show
         MPI_LIBS=$($1 --showme:link 2>/dev/null)],
        [h5v_show=$($1 -compile_info 2>/dev/null)],
        [h5v_mpi=mpich
         # the first word is the compiler; what it would optimise or warn of is our business
         MPI_CFLAGS=$(printf '%s\n' "$h5v_show" | tr ' ' '\n' | grep -E '^-[[ID]]' | tr '\n' ' ')
         MPI_LIBS=$($1 -link_info 2>/dev/null | tr ' ' '\n' | grep -E '^-(L|l|Wl,-rpath|Wl,--enable-new-dtags)' | tr '\n' ' ')])
])

AC_DEFUN([H5V_MPI], [
    AC_ARG_VAR([MPICC], [MPI compiler wrapper (default: mpicc)])
    AC_ARG_VAR([MPIEXEC], [MPI launcher used by the tests (default: the one of MPICC's MPI)])
    AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi], [build the engine, the tools and a serial plug-in only])],
        [], [with_mpi=check])
    h5v_mpi=no
    h5v_mpi_text="none: no libveloc (VELOC C API), serial plug-in only"
    AS_IF([test "x$with_mpi" != xno], [
        AS_IF([test -z "$MPICC"], [AC_PATH_PROGS([MPICC], [mpicc mpicc.mpich mpicc.openmpi])])
        AS_IF([test -n "$MPICC"], [
            AS_IF([command -v "$MPICC" >/dev/null], [],
                [AC_MSG_ERROR([MPICC=$MPICC: there is no such command; name an MPI compiler wrapper, or give --without-mpi])])
            AC_MSG_CHECKING([which MPI $MPICC belongs to])
            H5V_MPI_IDENTIFY([$MPICC])
            AC_MSG_RESULT([$h5v_mpi])
            AS_IF([test "x$h5v_mpi" = xunknown],
                [AC_MSG_ERROR([$MPICC answers neither like MPICH (-compile_info) nor like Open MPI (--showme): name a compiler wrapper of one of them with MPICC=, or give --without-mpi])])
        ], [AS_IF([test "x$with_mpi" = xyes],
            [AC_MSG_ERROR([no MPI compiler wrapper was found: name one with MPICC=])])])
    ])
    AS_IF([test "x$h5v_mpi" != xno], [
        h5v_save_cflags=$CFLAGS h5v_save_libs=$LIBS
        CFLAGS="$CFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
        AC_MSG_CHECKING([whether a program links with $h5v_mpi])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Init(0, 0)]])], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no]); AC_MSG_ERROR([cannot link an MPI program with the flags of $MPICC ($MPI_CFLAGS $MPI_LIBS); see config.log])])
        CFLAGS=$h5v_save_cflags LIBS=$h5v_save_libs
        AS_IF([test -z "$MPIEXEC"], [
            # the launcher that stands beside the wrapper and carries the same suffix
            h5v_wrapper=$(command -v "$MPICC")
            h5v_suffix=$(basename "$h5v_wrapper" | sed 's/^mpicc//')
            AS_CASE([$h5v_mpi],
                [mpich], [h5v_launchers="mpiexec.hydra mpiexec$h5v_suffix mpiexec.mpich mpiexec"],
                [h5v_launchers="mpiexec$h5v_suffix mpiexec.openmpi mpirun.openmpi mpirun mpiexec"])
            AC_PATH_PROGS([MPIEXEC], [$h5v_launchers], [mpiexec], [$(dirname "$h5v_wrapper"):$PATH])
        ])
        h5v_mpi_text="$h5v_mpi by $MPICC, launcher $MPIEXEC"
    ])
    AC_SUBST([MPI_CFLAGS])
    AC_SUBST([MPI_LIBS])
    AC_SUBST([MPI_KIND], [$h5v_mpi])
    AM_CONDITIONAL([HAVE_MPI], [test "x$h5v_mpi" != xno])
    AM_CONDITIONAL([HAVE_MPICH], [test "x$h5v_mpi" = xmpich])
])
