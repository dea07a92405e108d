#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doors.t - files, sockets, MPI and so on have one door each: the functions that the objects ask
# for are only for the sources that doors.map names.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"
# shellcheck source=/dev/null
. "$lint_vars"

# objects BUILD: what the build left of src/ and vol/; libtool's own are in .libs
objects() {
    (cd "$1" && find src vol -name '*.o' 2>/dev/null | sort)
}

# doors TREE BUILD: functions that are not for the source that asks for them
doors() {
    local file symbol door places line
    (cd "$1" && find src vol -name '*.c' 2>/dev/null) >"$(tap_dir)/sources"
    (cd "$2" && objects . | xargs nm -A -u) |
        awk -v "map=$lint_dir/doors.map" -v "sources=$(tap_dir)/sources" \
            -f "$lint_dir/doors.awk" "$lint_dir/doors.map" "$(tap_dir)/sources" - |
        while read -r file symbol door places; do
            line=$(grep -nw -m1 "$symbol" "$1/$file")
            [ "$places" != - ] || places=nobody
            echo "$file:${line%%:*}: $symbol() has the door \"$door\" and is only for $places"
        done
}

# built BUILD SOURCE: there is an object of it, by whatever name
built() {
    find "$1/${2%/*}" -name "*${2##*/}" | grep -q .
}

ok "there are objects to look at" built "$top_builddir" src/base/err.o
clean "what has one door is used by nobody else" doors "$top_srcdir" "$top_builddir"

# planted FILE CALL PATTERN TEXT: what the compiler makes of a call on the file's second line
planted() {
    local tree
    tree=$(mktemp -d "$(tap_dir)/XXXXXX")
    plant "$tree" "$1" "void *${2%%(*}();" "void *x(void) { return $2; }"
    (cd "$tree" && mkdir -p "${1%/*}/.libs" &&
        ${cc:?} -w -fno-builtin -c "$1" -o "${1%/*}/.libs/libplanted_la-$(basename "$1" .c).o") ||
        bail_out "cannot compile $tree/$1"
    plant "$tree" "$1" '/* without the declaration */' "void *x(void) { return $2; }"
    if [ -n "$3" ]; then
        caught "$1:2: ${2%%(*}() has the door \"$3\" and is only for *" "$4" doors "$tree" "$tree"
    else
        clean "$4" doors "$tree" "$tree"
    fi
}
planted src/meta/map.c 'open("x", 0)' files "a file opened outside sys/fs is caught"
planted src/meta/map.c 'fopen("x", "r")' files "so is one of stdio"
planted src/sys/lock.c 'stat("x", 0)' files "so is a look at one"
planted src/comm/sock.c 'connect(0, 0, 0)' sockets "so is a socket outside sys/sock"
planted src/comm/self.c 'MPI_Barrier(0)' mpi "so is MPI in another comm"
planted src/code/matrix.c 'ec_init_tables(0)' isal "so is ISA-L outside its two files"
planted src/engine/route.c 'H5Fopen(0)' hdf5 "so is HDF5 below vol/"
planted src/topo/group.c 'getenv("X")' environ "so is a look into the environment"
planted vol/file.c 'dlopen("x", 0)' dlopen "so is a library that is loaded"
planted src/base/vec.c 'abort()' exit "so is an end of the process"
planted src/xfer/list.c 'puts("x")' stdout "so is printing"
planted src/xfer/list.c 'perror("x")' stderr "so is a message past the log"
planted src/xfer/list.c 'pthread_create(0)' threads "so is a thread"
planted src/pull/pull.c 'fork()' process "so is a process"
planted src/pull/pull.c 'json_object()' json "so is JSON as a style"
planted src/cmd/index.c 'strcpy(x, x)' unsafe "nobody may use an unsafe function"
planted src/sys/fs_posix.c 'open("x", 0)' '' "sys/fs may open files"
planted src/cmd/index.c 'printf("x")' '' "a tool may print"
planted src/base/vec.c 'vel_open(0)' '' "what is ours has no door"
planted src/base/vec.c 'memcpy(x, x, 1)' '' "the rest of the C library is open to all"
done_testing
