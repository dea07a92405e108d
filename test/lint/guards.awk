# SPDX-License-Identifier: BSD-3-Clause
# guards.awk - prints headers whose guard is not named after their path: src/sys/fs.h has
# VEL_SYS_FS_H, vol/x.h VEL_VOL_X_H, test/tap/x.h TEST_TAP_X_H, include/veloc.h VELOC_H.
function finish() {
    if (guard != "") print last ":1: no #ifndef " guard ", #define " guard " before all else"
}
FNR == 1 {
    finish()
    last = FILENAME
    guard = FILENAME
    if (!sub(/^include\//, "", guard) && !sub(/^src\//, "VEL_", guard))
        sub(/^vol\//, "VEL_VOL_", guard)
    gsub(/[^A-Za-z0-9]/, "_", guard)
    guard = toupper(guard)
    opened = 0
}
guard != "" && /^#/ {
    if (!opened && $1 == "#ifndef" && $2 == guard && NF == 2) opened = 1
    else if (opened && $1 == "#define" && $2 == guard && NF == 2) guard = ""
    else { print FILENAME ":" FNR ": the first line is not #ifndef " guard; guard = "" }
}
END { finish() }
