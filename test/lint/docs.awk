# SPDX-License-Identifier: BSD-3-Clause
# docs.awk - reads words that must be documented as lines "word file:line what", then a man page;
# prints those that are not in the page. A word may have - and _ in it.
FILENAME == "-" {
    words[++count] = $1
    where[count] = $2
    what[count] = $0
    sub(/^[^ ]+ [^ ]+ /, "", what[count])
    next
}
/^\.\\"/ { next }
{
    page = FILENAME
    gsub(/\\f[A-Z]/, " ")
    gsub(/\\-/, "-")
    gsub(/\\&/, "")
    gsub(/[^A-Za-z0-9_-]/, " ")
    n = split($0, here, " ")
    for (i = 1; i <= n; i++)
        has[here[i]]
}
END {
    for (i = 1; i <= count; i++)
        if (!(words[i] in has))
            print where[i] ": " what[i] " " words[i] " is not in " page
}
