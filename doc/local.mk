# doc - architecture, formats, protocols, man pages.
dist_man_MANS += %D%/h5veloc-rebuild.1 %D%/h5veloc-schema.1 %D%/veloc.conf.5
if HAVE_MPI
dist_man_MANS += %D%/VELOC_Get_version.3
endif
EXTRA_DIST += %D%/VELOC_Get_version.3 %D%/architecture.md %D%/format-parity.txt \
	%D%/format-record.txt %D%/protocol-comm.txt %D%/style.md
# End of doc
