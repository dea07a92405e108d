# doc - architecture, formats, protocols, man pages. One line per file.
dist_man_MANS += \
	%D%/H5VLveloc.3 \
	%D%/h5veloc-agent.1 \
	%D%/h5veloc-ls.1 \
	%D%/h5veloc-prerun.1 \
	%D%/h5veloc-rebuild.1 \
	%D%/h5veloc-schema.1 \
	%D%/h5veloc-unpack.1 \
	%D%/veloc.conf.5 \
	%D%/veloc_transport.7
api_pages = \
	%D%/VELOC_Check_Backend_Aliveness.3 \
	%D%/VELOC_Check_Backup_Nodes.3 \
	%D%/VELOC_Check_Configuration.3 \
	%D%/VELOC_Check_Storage_Availability.3 \
	%D%/VELOC_Checkpoint.3 \
	%D%/VELOC_Checkpoint_begin.3 \
	%D%/VELOC_Checkpoint_end.3 \
	%D%/VELOC_Checkpoint_finished.3 \
	%D%/VELOC_Checkpoint_mem.3 \
	%D%/VELOC_Checkpoint_selective.3 \
	%D%/VELOC_Checkpoint_wait.3 \
	%D%/VELOC_Cleanup.3 \
	%D%/VELOC_Complete_checkpoint.3 \
	%D%/VELOC_Complete_output.3 \
	%D%/VELOC_Current.3 \
	%D%/VELOC_Delete.3 \
	%D%/VELOC_Drop.3 \
	%D%/VELOC_Error.3 \
	%D%/VELOC_Exit_test.3 \
	%D%/VELOC_Finalize.3 \
	%D%/VELOC_Get_version.3 \
	%D%/VELOC_Init.3 \
	%D%/VELOC_Init_single.3 \
	%D%/VELOC_Mem_clear.3 \
	%D%/VELOC_Mem_protect.3 \
	%D%/VELOC_Mem_recover.3 \
	%D%/VELOC_Mem_save.3 \
	%D%/VELOC_Mem_type.3 \
	%D%/VELOC_Mem_unprotect.3 \
	%D%/VELOC_Need_checkpoint.3 \
	%D%/VELOC_Recover_mem.3 \
	%D%/VELOC_Recover_selective.3 \
	%D%/VELOC_Recover_size.3 \
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
	%D%/VELOC_Region_clear.3 \
	%D%/VELOC_Region_protect.3 \
	%D%/VELOC_Region_unprotect.3 \
	%D%/VELOC_Restart.3 \
	%D%/VELOC_Restart_begin.3 \
	%D%/VELOC_Restart_end.3 \
	%D%/VELOC_Restart_test.3 \
	%D%/VELOC_Route_file.3 \
	%D%/VELOC_Route_through.3 \
	%D%/VELOC_Start_checkpoint.3 \
	%D%/VELOC_Start_output.3 \
	%D%/VELOC_Status.3 \
	%D%/veloc_redset.3 \
	%D%/veloc.7
if HAVE_MPI
dist_man_MANS += $(api_pages)
endif
dist_doc_DATA += %D%/migrating.md %D%/format-ls.txt %D%/h5veloc-ls.schema.json
EXTRA_DIST += $(api_pages) \
	%D%/architecture.md \
	%D%/engine.txt \
	%D%/facts.txt \
	%D%/format-descriptor.txt \
	%D%/format-events.txt \
	%D%/format-journal.txt \
	%D%/format-ledger.txt \
	%D%/format-mem.txt \
	%D%/format-meta.txt \
	%D%/format-parity.txt \
	%D%/format-record.txt \
	%D%/format-view.txt \
	%D%/life.txt \
	%D%/performance.md \
	%D%/protocol-comm.txt \
	%D%/protocol.txt \
	%D%/style.md \
	%D%/topology.txt \
	%D%/transport.txt
# End of doc
