# doc - architecture, formats, man pages.
EXTRA_DIST += %D%/architecture.md %D%/format-record.txt %D%/style.md
if HAVE_MPI
dist_man_MANS += %D%/VELOC_Get_version.3
endif
# End of doc
