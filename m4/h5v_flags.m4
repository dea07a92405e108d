# H5V_FLAGS - warnings, --enable-werror, --enable-sanitizer=LIST, --enable-coverage.
# Flags go to AM_CFLAGS through H5V_CFLAGS / H5V_LDFLAGS; CFLAGS stays the user's.
AC_DEFUN([H5V_FLAGS], [
    H5V_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes"
    H5V_CFLAGS="$H5V_CFLAGS -Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wwrite-strings"
    H5V_LDFLAGS=

    # A developer's checkout stops at a warning; a user's compiler may know new ones.
    AS_IF([test -e "$srcdir/.git"], [h5v_werror=yes], [h5v_werror=no])
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [stop at compiler warnings (default: in a git checkout)])],
        [h5v_werror=$enableval])
    AS_IF([test "x$h5v_werror" = xyes], [H5V_CFLAGS="$H5V_CFLAGS -Werror"])

    h5v_sanitizer=
    AC_ARG_ENABLE([sanitizer],
        [AS_HELP_STRING([--enable-sanitizer=LIST], [build with -fsanitize=LIST, e.g. address,undefined])],
        [AS_IF([test "x$enableval" != xno], [h5v_sanitizer=$enableval])])
    AS_IF([test -n "$h5v_sanitizer"], [
        AS_IF([test "x$h5v_sanitizer" = xyes], [h5v_sanitizer=address,undefined])
        h5v_san="-fsanitize=$h5v_sanitizer -fno-omit-frame-pointer -fno-sanitize-recover=all"
        H5V_CFLAGS="$H5V_CFLAGS $h5v_san"
        H5V_LDFLAGS="$H5V_LDFLAGS $h5v_san"
        h5v_save_cflags=$CFLAGS
        CFLAGS="$CFLAGS $h5v_san"
        AC_MSG_CHECKING([whether $CC can link with -fsanitize=$h5v_sanitizer])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([$CC cannot link with -fsanitize=$h5v_sanitizer: install the compiler's sanitizer runtime or name other sanitizers])])
        CFLAGS=$h5v_save_cflags
    ])
    AM_CONDITIONAL([SANITIZED], [test -n "$h5v_sanitizer"])

    h5v_coverage=no
    AC_ARG_ENABLE([coverage],
        [AS_HELP_STRING([--enable-coverage], [count executed lines: clang source coverage, or gcov with gcc])],
        [h5v_coverage=$enableval])
    AS_IF([test "x$h5v_coverage" = xyes], [
        AS_CASE([$($CC --version 2>/dev/null)],
            [*clang*], [h5v_cov="-fprofile-instr-generate -fcoverage-mapping"],
            [h5v_cov="--coverage"])
        H5V_CFLAGS="$H5V_CFLAGS $h5v_cov"
        H5V_LDFLAGS="$H5V_LDFLAGS $h5v_cov"
    ])
    # every library names all it needs; sanitizers leave their symbols to the program
    AS_IF([test -z "$h5v_sanitizer"], [H5V_SOFLAGS="-Wl,-z,defs"])
    AC_SUBST([H5V_SOFLAGS])
    AC_SUBST([H5V_CFLAGS])
    AC_SUBST([H5V_LDFLAGS])
    AC_SUBST([SANITIZER], [$h5v_sanitizer])
])
