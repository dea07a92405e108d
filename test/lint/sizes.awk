# SPDX-License-Identifier: BSD-3-Clause
# sizes.awk - reads sizes.allow, then sources; prints files of more than 500 lines and functions of
# more than 80 that are not allowed, and entries that are not needed as they are. A function is
# what clang-format makes of it: a body between { and } in the first column, and the lines of
# its head above, which follow an empty line, a comment or a directive.
function judge(thing, lines, limit, where) {
    seen[thing]
    if (!(thing in allowed)) {
        if (lines > limit)
            print where ": " thing " has " lines " lines, " limit " are allowed: split it"
        return
    }
    if (lines > allowed[thing])
        print where ": " thing " has grown from " allowed[thing] " to " lines " lines"
    else if (lines <= limit)
        print entry[thing] ": " thing " is short enough now: remove the entry"
    else if (lines < allowed[thing])
        print entry[thing] ": " thing " has " lines " lines now: lower the entry"
}

function finish_file() {
    if (last != "")
        judge(last, length_so_far, 500, last ":" length_so_far)
}

FILENAME == allow {
    if ($0 ~ /^#/ || NF == 0)
        next
    if ($1 !~ /^20[0-9][0-9]-[01][0-9]-[0-3][0-9]$/ || $3 !~ /^[0-9]+$/ || NF < 4) {
        print "test/lint/sizes.allow:" FNR ": an entry is DATE PATH[:FUNCTION] LINES WHY"
        next
    }
    allowed[$2] = $3
    entry[$2] = "test/lint/sizes.allow:" FNR
    next
}

FNR == 1 {
    finish_file()
    last = FILENAME
    head = 0
    body = 0
    in_comment = 0
    is_c = FILENAME ~ /\.[ch]$/
}
{ length_so_far = FNR }
!is_c { next }

body && /^[}]/ {
    if (name != "")
        judge(FILENAME ":" name, FNR - body + 1, 80, FILENAME ":" body)
    body = 0
    head = 0
    next
}
body { next }
in_comment || /^\/\*/ {
    in_comment = !/\*\//
    head = 0
    next
}
/^$|^#|^\/\/|;[ \t]*$/ {
    head = 0
    next
}
/^[{]/ {
    body = head ? head : FNR
    next
}
!head && /^[A-Za-z_]/ {
    head = FNR
    name = ""
}
# the name stands before the first parenthesis of the head
head && name == "" && /\(/ {
    name = $0
    sub(/[ \t]*\(.*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
}

END {
    finish_file()
    for (thing in allowed)
        if (!(thing in seen))
            print entry[thing] ": " thing " is no more: remove the entry"
}
