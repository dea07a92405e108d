# SPDX-License-Identifier: BSD-3-Clause
# doors.awk - reads doors.map, then what `nm -A -u` prints of objects below the build tree;
# prints "source name door sources" for each symbol that a source may not use.
function regex(pattern) {
    gsub(/[.+]/, "[&]", pattern)
    gsub(/\*/, ".*", pattern)
    return "^" pattern "$"
}

# The name that stands in the source: without version, fortification and large-file suffix.
function plain(name) {
    sub(/@.*/, "", name)
    if (name ~ /^_Z|^__(asan|ubsan|tsan|msan|lsan|sanitizer|gcov|llvm)/)
        return ""
    if (name !~ /^(ec_|gf_|crc)/) {
        sub(/^__/, "", name)
        sub(/_chk$/, "", name)
        sub(/_2$/, "", name)
        sub(/64$/, "", name)
    }
    return name
}

# src/sys/.libs/libveloc_core_la-fs.o was src/sys/fs.c; "" when that is no longer there
function source_of(object,   dir, base) {
    if (object in source)
        return source[object]
    dir = object
    sub(/[^\/]*$/, "", dir)
    base = substr(object, length(dir) + 1)
    sub(/\.libs\/$/, "", dir)
    sub(/\.o$/, ".c", base)
    source[object] = ""
    do {
        if ((dir base) in is_source)
            source[object] = dir base
    } while (!source[object] && sub(/^[^-]*-/, "", base))
    return source[object]
}

function allowed(door, file,   i, n, where) {
    n = split(places[door], where, " ")
    for (i = 1; i <= n; i++)
        if (file ~ regex(where[i]))
            return 1
    return 0
}

FILENAME == map && /^[^#]/ {
    name[++doors] = $1
    symbols[doors] = "^" $2 "$"
    places[doors] = $0
    sub(/^[^ ]+ +[^ ]+ +/, "", places[doors])
}
FILENAME == map { next }
FILENAME == sources {
    is_source[$0]
    next
}
{
    object = $1
    sub(/:[^:]*$/, "", object)
    file = source_of(object)
    symbol = plain($NF)
    if (file == "" || symbol == "" || symbol ~ /^vel_/ || (file, symbol) in told)
        next
    for (i = 1; i <= doors; i++)
        if (symbol ~ symbols[i] && !allowed(i, file)) {
            told[file, symbol]
            print file, symbol, name[i], places[i]
            next
        }
}
