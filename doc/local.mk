# doc - architecture, formats, man pages.
EXTRA_DIST += %D%/architecture.md %D%/format-record.txt %D%/style.md
# End of doc
