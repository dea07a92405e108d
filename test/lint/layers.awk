# SPDX-License-Identifier: BSD-3-Clause
# layers.awk - reads layers.map, then sources by their paths in the tree; prints each include
# that the map does not allow.
function regex(pattern) {
    gsub(/[.+]/, "[&]", pattern)
    gsub(/\*/, ".*", pattern)
    return "^" pattern "$"
}

function bad(why) {
    print FILENAME ":" FNR ": " why
}

# a header in "" that is no file of the includer's own folder
function check_room(header,   from, to) {
    from = FILENAME
    if (from ~ /^src\//)
        sub(/^src\//, "", from)
    if (from !~ /\// || !(substr(from, 1, index(from, "/") - 1) in known))
        return
    from = substr(from, 1, index(from, "/") - 1)
    if (header !~ /\//) {
        if (header != "config.h" && !(header in public) && from != "vol")
            bad("\"" header "\" is no header of a room: write \"" from "/" header "\"")
        return
    }
    to = substr(header, 1, index(header, "/") - 1)
    if (from == "vol" && to == "vfd")
        return
    if (!(to in known))
        bad("\"" header "\" is in no room that test/lint/layers.map knows")
    else if (from != to && !((from, to) in may))
        bad(from "/ may not include \"" header "\": test/lint/layers.map")
}

function check_only(header,   i, j, n, where) {
    for (i = 1; i <= onlys; i++) {
        if (header !~ only[i])
            continue
        n = split(places[i], where, " ")
        for (j = 1; j <= n; j++)
            if (FILENAME ~ regex(where[j]))
                break
        if (j > n)
            bad("<" header "> is only for " places[i])
    }
}

FILENAME == map && $1 == "room" {
    room = substr($2, 1, length($2) - 1)
    known[room]
    for (i = 3; i <= NF; i++)
        may[room, $i]
    next
}
FILENAME == map && $1 == "only" {
    header = substr($2, 1, length($2) - 1)
    only[++onlys] = regex(header)
    places[onlys] = $0
    sub(/^[^:]*: */, "", places[onlys])
    public[header]
    next
}
FILENAME == map { next }

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    header = $0
    sub(/^[^<"]*/, "", header)
    quoted = header ~ /^"/
    header = substr(header, 2)
    sub(/[>"].*/, "", header)
    if (header ~ /(^|\/)\.\.\//)
        bad("\"" header "\" climbs: name it from src/, \"room/file.h\"")
    else if (quoted)
        check_room(header)
    check_only(header)
}
