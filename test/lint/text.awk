# SPDX-License-Identifier: BSD-3-Clause
# text.awk - reads texts by their paths in the tree; prints lines that look wrong. The patterns are
# written so that they do not match themselves.
function bad(why) {
    print FILENAME ":" FNR ": " why
}

function finish_file() {
    if (needs_spdx)
        print last ":1: no SPDX-License-Identifier in the first lines"
}

FNR == 1 {
    finish_file()
    last = FILENAME
    is_c = FILENAME ~ /\.[ch]$/
    is_make = FILENAME ~ /(\.mk|Makefile.am)$/
    is_script = /^#!/ || FILENAME ~ /\.(sh|awk)$/
    is_prose = FILENAME ~ /\.(md|txt)$/
    needs_spdx = is_c || is_script
}
FNR <= 3 && /SPDX-License-Identifier: [A-Za-z0-9]/ { needs_spdx = 0 }

# control characters mean data, not text
/[\001-\010\016-\037]/ { next }
/[ \t\r]$/ { bad("blanks at the end of the line") }
is_c && /\t/ { bad("a tab: C is indented by spaces") }
is_c && length($0) > 100 { bad(length($0) " columns, 100 are allowed") }
!is_prose && /(^|[^A-Za-z0-9_.])(TO[D]O|FIX[M]E|XX[X])([^A-Za-z0-9_]|$)/ &&
        !/issue [0-9]|#[0-9]/ {
    bad("something is left to do and no issue says so")
}
/(debian|ubuntu|canonical|centos|fedoraproject|rockylinux|opensuse|archlinux|alpinelinux|launchpad|pypi|pythonhosted|npmjs|conda|anaconda)[.](org|com|net|io)/ {
    bad("a package host: which one a machine uses is its own affair")
}
/(^|[^A-Za-z0-9_.}])[/]work[/]/ { bad("a path of the machine it was written on") }
END { finish_file() }
