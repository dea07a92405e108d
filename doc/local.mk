# doc - architecture, formats, man pages.
dist_man_MANS += %D%/h5veloc-schema.1 %D%/veloc.conf.5
EXTRA_DIST += %D%/architecture.md %D%/format-record.txt %D%/style.md
# End of doc
