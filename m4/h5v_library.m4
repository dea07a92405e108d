# H5V_LIBRARY(VARIABLE, NAME, FUNCTION, PACKAGE) - how the loader finds lib<NAME>, which pkg-config
# has found: the file that a program linked with it asks for. The engine loads it by that
# name itself (src/base/library.h), so that a program's own functions never take its place.
AC_DEFUN([H5V_LIBRARY], [
    AC_CACHE_CHECK([how the loader finds lib$2], [h5v_cv_soname_$2], [
        h5v_save_libs=$LIBS
        LIBS="$[]$1[]_LIBS $LIBS"
        h5v_cv_soname_$2=
        AC_LINK_IFELSE([AC_LANG_CALL([], [$3])],
            [h5v_cv_soname_$2=$($OBJDUMP -p conftest$ac_exeext | sed -n 's/^ *NEEDED *\(lib$2[[.]][[^ ]]*\).*/\1/p')])
        LIBS=$h5v_save_libs])
    AS_IF([test -z "$h5v_cv_soname_$2"],
        [AC_MSG_ERROR([lib$2 is not there as a shared library, or no program can be linked with it: install $4])])
    AC_DEFINE_UNQUOTED([$1_SONAME], ["$h5v_cv_soname_$2"], [How the loader finds lib$2.])
])
