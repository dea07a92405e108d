# doc - architecture, formats, protocols, man pages. One line per file.
dist_man_MANS += \
	%D%/h5veloc-rebuild.1 \
	%D%/h5veloc-schema.1 \
	%D%/veloc.conf.5
api_pages = \
	%D%/VELOC_Get_version.3
if HAVE_MPI
dist_man_MANS += $(api_pages)
endif
EXTRA_DIST += $(api_pages) \
	%D%/architecture.md \
	%D%/format-descriptor.txt \
	%D%/format-parity.txt \
	%D%/format-record.txt \
	%D%/protocol-comm.txt \
	%D%/style.md \
	%D%/topology.txt
# End of doc
