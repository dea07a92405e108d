# H5V_TRANSPORTS - the vendors' services for which a transfer plug-in is built, where their SDK is.
# --with-bbapi=DIR, --with-cppr=DIR, --with-datawarp=DIR; without the option the compiler's own
# directories are tried, and the plug-in is left out when nothing is there.

# H5V_TRANSPORT(VARIABLE, option, header, library, function, what it is)
# Sets VARIABLE_CFLAGS, VARIABLE_LIBS and the conditional HAVE_VARIABLE.
AC_DEFUN([H5V_TRANSPORT], [
    AC_ARG_WITH([$2], [AS_HELP_STRING([--with-$2=DIR], [$6 below DIR, for its transfer plug-in])],
        [], [with_$2=check])
    $1_CFLAGS= $1_LIBS= h5v_found=no
    AS_CASE([$with_$2], [no|yes|check], [],
        [$1_CFLAGS="-I$with_$2/include" h5v_lib=$with_$2/lib
         AS_IF([test -d "$with_$2/lib64"], [h5v_lib=$with_$2/lib64])
         $1_LIBS="-L$h5v_lib -Wl,-rpath,$h5v_lib"])
    AS_IF([test "x$with_$2" != xno], [
        h5v_save_cflags=$CFLAGS h5v_save_libs=$LIBS
        CFLAGS="$CFLAGS $$1_CFLAGS" LIBS="$$1_LIBS -l$4 $LIBS"
        AC_MSG_CHECKING([for $6])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[return !($5)]])],
            [h5v_found=yes $1_LIBS="$$1_LIBS -l$4"])
        AC_MSG_RESULT([$h5v_found])
        CFLAGS=$h5v_save_cflags LIBS=$h5v_save_libs
    ])
    AS_CASE([$with_$2:$h5v_found],
        [no:*|check:*|*:yes], [],
        [AC_MSG_ERROR([$6 was not found below $with_$2: a program with $3 and -l$4 does not link, see config.log. DIR has include/$3 and lib/lib$4.so])])
    AS_IF([test "$h5v_found" = yes], [h5v_transports="$h5v_transports $2"])
    AC_SUBST([$1_CFLAGS])
    AC_SUBST([$1_LIBS])
    AM_CONDITIONAL([HAVE_$1], [test "$h5v_found" = yes])
])

AC_DEFUN([H5V_TRANSPORTS], [
    h5v_transports=posix
    H5V_TRANSPORT([BBAPI], [bbapi], [bbapi.h], [bbAPI], [BB_InitLibrary], [IBM's burst buffer API])
    H5V_TRANSPORT([CPPR], [cppr], [cppr.h], [cppr], [cppr_status], [Intel's CPPR])
    H5V_TRANSPORT([DATAWARP], [datawarp], [datawarp.h], [datawarp], [dw_stage_file_out],
        [Cray's DataWarp API])
])
