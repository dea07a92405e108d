#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# layers.t - dependencies point down: each room includes only what layers.map says.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"

# layers TREE: includes that are not allowed
layers() {
    cd "$1" || return
    lint_files . 'src/*.[ch]' 'vol/*.[ch]' 'include/*.h' 'h5examples/*.[ch]' 'test/*.[ch]' |
        xargs awk -v "map=$lint_dir/layers.map" -f "$lint_dir/layers.awk" "$lint_dir/layers.map"
}

# rooms TREE: folders of src/ that the map forgets
rooms() {
    local dir
    for dir in "$1"/src/*/; do
        dir=$(basename "$dir")
        grep -q "^room $dir:" "$lint_dir/layers.map" || [ "$dir" = .deps ] ||
            echo "src/$dir: no room of test/lint/layers.map"
    done
}

# Every room is named once, and what it may include comes before it.
map_is_ordered() {
    awk '$1 == "room" {
        for (i = 3; i <= NF; i++)
            if (!($i ":" in seen)) print FILENAME ":" FNR ": " $i " is no room below " $2
        if ($2 in seen) print FILENAME ":" FNR ": " $2 " is there twice"
        seen[$2]
    }' "$1"
}

clean "rooms include only rooms below them, and foreign headers have one door" layers "$top_srcdir"
clean "every folder of src/ is a room" rooms "$top_srcdir"
clean "dependencies point down" map_is_ordered "$lint_dir/layers.map"

# planted FILE LINE PATTERN TEXT: in a tree of this one file, on its second line
planted() {
    local tree
    tree=$(mktemp -d "$(tap_dir)/XXXXXX")
    plant "$tree" "$1" '/* first */' "$2"
    caught "$1:2: $3" "$4" layers "$tree"
}
allowed() {
    local tree
    tree=$(mktemp -d "$(tap_dir)/XXXXXX")
    plant "$tree" "$1" '/* first */' "$2"
    clean "$1 may say $2" layers "$tree"
}
planted src/sys/fs.c '#include "conf/conf.h"' 'sys/ may not include "conf/conf.h"*' \
    "an include of a room above is caught"
planted src/base/a.h '  #  include "attic/x.h"' '*in no room*' "so is one of an unknown room"
planted src/sys/fs.c '#include "../base/err.h"' '*climbs*' "so is one by ../"
planted src/sys/fs.c '#include "lock.h"' '*write "sys/lock.h"' "so is one without its room"
planted src/engine/e.c '#include <hdf5.h>' '<hdf5.h> is only for *' "so is HDF5 in the engine"
planted src/cmd/e.c '#include <H5VLpublic.h>' '*is only for *' "so is one of HDF5's own headers"
planted src/comm/sock.c '#include <mpi.h>' '<mpi.h> is only for *' "so is MPI in another comm"
planted src/code/matrix.c '#include <isa-l/erasure_code.h>' '*is only for *' "so is ISA-L"
planted src/meta/map.c '#include <jansson.h>' '*is only for *' "so is jansson"
planted src/brain/leader.c '#include "jobs/flushing.h"' 'brain/ may not*' "so is work in the brain"
planted vol/file.c '#include "topo/group.h"' 'vol/ may not*' "so is a hidden room in vol/"
allowed src/comm/comm_mpi.c '#include <mpi.h>'
allowed vol/vfd/driver.c '#include "log/writer.h"'
allowed vol/vfd/driver.c '#include "vfd/driver.h"'
allowed src/process/files.c '#include "engine/session.h"'
done_testing
