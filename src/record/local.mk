# record - typed JSON records on disk, checksummed and replaced whole.
core_sources +=
# End of record
