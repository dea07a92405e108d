#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# link.sh COMMAND ... - link a program that runs where it was built: the compiler alone, with
# libtool's libraries in the command as the files that they stand for. libtool itself makes the
# same command in six times the time that this takes.
for word; do
    shift
    case $word in
    *.la)
        dir=$PWD/${word%/*}/.libs name=${word##*/}
        if [ -e "$dir/${name%.la}.so" ]; then
            set -- "$@" "$dir/${name%.la}.so" "-Wl,-rpath,$dir"
        else
            set -- "$@" "$dir/${name%.la}.a"
        fi
        ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec "$@"
