# doc - architecture, formats, protocols, man pages. One line per file.
dist_man_MANS += \
	%D%/h5veloc-rebuild.1 \
	%D%/h5veloc-schema.1 \
	%D%/veloc.conf.5 \
	%D%/veloc_transport.7
api_pages = \
	%D%/VELOC_Get_version.3 \
	%D%/VELOC_Redset_add.3 \
	%D%/VELOC_Redset_apply.3 \
	%D%/VELOC_Redset_clear.3 \
	%D%/VELOC_Redset_create.3 \
	%D%/VELOC_Redset_delete.3 \
	%D%/VELOC_Redset_error.3 \
	%D%/VELOC_Redset_files.3 \
	%D%/VELOC_Redset_place.3 \
	%D%/VELOC_Redset_protected.3 \
	%D%/VELOC_Redset_recover.3 \
	%D%/VELOC_Redset_report.3 \
	%D%/VELOC_Redset_unapply.3 \
	%D%/veloc_redset.3
if HAVE_MPI
dist_man_MANS += $(api_pages)
endif
EXTRA_DIST += $(api_pages) \
	%D%/architecture.md \
	%D%/engine.txt \
	%D%/format-descriptor.txt \
	%D%/format-events.txt \
	%D%/format-mem.txt \
	%D%/format-meta.txt \
	%D%/format-parity.txt \
	%D%/format-record.txt \
	%D%/protocol-comm.txt \
	%D%/style.md \
	%D%/topology.txt \
	%D%/transport.txt
# End of doc
