# unit tests of the leader's rooms: brain ident view link work pull node process
node_tests = test/unit/about.t \
	test/unit/anchor.t \
	test/unit/placeholders.t \
	test/unit/family.t \
	test/unit/attend.t \
	test/unit/backup.t \
	test/unit/beside.t \
	test/unit/books.t \
	test/unit/client.t \
	test/unit/client_lost.t \
	test/unit/compose.t \
	test/unit/sweep.t \
	test/unit/sweepmany.t \
	test/unit/sweepunseen.t \
	test/unit/mended.t \
	test/unit/staged.t \
	test/unit/filecost.t \
	test/unit/unfinished.t \
	test/unit/upkeep.t \
	test/unit/connector.t \
	test/unit/connpatch.t \
	test/unit/dataset_state.t \
	test/unit/delta.t \
	test/unit/deltakill.t \
	test/unit/encode.t \
	test/unit/encodekill.t \
	test/unit/endpoint.t \
	test/unit/find.t \
	test/unit/flushing.t \
	test/unit/mark.t \
	test/unit/flushing_owner.t \
	test/unit/unwanted.t \
	test/unit/flushing_service.t \
	test/unit/packing.t \
	test/unit/packkill.t \
	test/unit/inventory.t \
	test/unit/launch_state.t \
	test/unit/launcher.t \
	test/unit/launchid.t \
	test/unit/leader.t \
	test/unit/leaderfiles.t \
	test/unit/leadersync.t \
	test/unit/leaderpage.t \
	test/unit/leaderpartial.t \
	test/unit/leaderunread.t \
	test/unit/leaderview.t \
	test/unit/left.t \
	test/unit/link.t \
	test/unit/link_flood.t \
	test/unit/link_hostile.t \
	test/unit/link_relay.t \
	test/unit/messages.t \
	test/unit/muster.t \
	test/unit/once.t \
	test/unit/prerunplace.t \
	test/unit/point.t \
	test/unit/promise.t \
	test/unit/promised.t \
	test/unit/pull.t \
	test/unit/pulllinks.t \
	test/unit/pullwire.t \
	test/unit/role.t \
	test/unit/names.t \
	test/unit/batches.t \
	test/unit/batchturns.t \
	test/unit/roster.t \
	test/unit/scale.t \
	test/unit/seal.t \
	test/unit/seals.t \
	test/unit/tally.t \
	test/unit/template.t \
	test/unit/view.t \
	test/unit/viewunseen.t \
	test/unit/work.t
unit_tests += $(node_tests)
bosslab = test/tap/bosslab.c test/tap/bosslab.h
linklab = test/tap/linklab.c test/tap/linklab.h
machinelab = test/tap/machinelab.c test/tap/machinelab.h

test_unit_about_t_SOURCES = %D%/about.c
test_unit_about_t_CPPFLAGS = $(test_cppflags)
test_unit_about_t_LDADD = $(test_ldadd)
test_unit_find_t_SOURCES = %D%/find.c
test_unit_find_t_CPPFLAGS = $(test_cppflags)
test_unit_find_t_LDADD = $(test_ldadd)

test_unit_placeholders_t_SOURCES = %D%/placeholders.c
test_unit_placeholders_t_CPPFLAGS = $(test_cppflags)
test_unit_placeholders_t_LDADD = $(test_ldadd)

test_unit_anchor_t_SOURCES = %D%/anchor.c test/tap/recordlab.c test/tap/recordlab.h
test_unit_anchor_t_CPPFLAGS = $(test_cppflags)
test_unit_anchor_t_LDADD = $(test_ldadd)

test_unit_dataset_state_t_SOURCES = %D%/dataset_state.c $(machinelab)
test_unit_dataset_state_t_CPPFLAGS = $(test_cppflags)
test_unit_dataset_state_t_LDADD = $(test_ldadd)

deltalab = test/tap/deltalab.c test/tap/deltalab.h test/tap/flushlab.c test/tap/flushlab.h

test_unit_delta_t_SOURCES = %D%/delta.c $(deltalab)
test_unit_delta_t_CPPFLAGS = $(test_cppflags)
test_unit_delta_t_LDADD = $(test_ldadd)

test_unit_deltakill_t_SOURCES = %D%/deltakill.c $(deltalab)
test_unit_deltakill_t_CPPFLAGS = $(test_cppflags)
test_unit_deltakill_t_LDADD = $(test_ldadd)

test_unit_inventory_t_SOURCES = %D%/inventory.c test/tap/pulllab.c \
	test/tap/pulllab.h test/tap/redlab.c test/tap/redlab.h
test_unit_inventory_t_CPPFLAGS = $(test_cppflags)
test_unit_inventory_t_LDADD = $(test_ldadd)

test_unit_launch_state_t_SOURCES = %D%/launch_state.c $(machinelab)
test_unit_launch_state_t_CPPFLAGS = $(test_cppflags)
test_unit_launch_state_t_LDADD = $(test_ldadd)

leaderlab = test/tap/leaderfate.c test/tap/leaderfiles.c test/tap/leaderindex.c \
	test/tap/leaderjobs.c test/tap/leaderkeys.c test/tap/leaderlab.c test/tap/leaderlab.h \
	test/tap/leaderrecords.c test/tap/leaderwriter.c
scalelab = test/tap/scalefiles.c test/tap/scalelab.c test/tap/scalelab.h test/tap/scalerecords.c \
	test/tap/scaleturns.c
test_unit_scale_t_SOURCES = %D%/scale.c $(scalelab)
test_unit_scale_t_CPPFLAGS = $(test_cppflags)
test_unit_scale_t_LDADD = $(test_ldadd)
test_unit_leader_t_SOURCES = %D%/leader.c $(leaderlab)
test_unit_leader_t_CPPFLAGS = $(test_cppflags)
test_unit_leader_t_LDADD = $(test_ldadd)

test_unit_leaderfiles_t_SOURCES = %D%/leaderfiles.c $(leaderlab)
test_unit_leaderfiles_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderfiles_t_LDADD = $(test_ldadd)
test_unit_leadersync_t_SOURCES = %D%/leadersync.c $(leaderlab)
test_unit_leadersync_t_CPPFLAGS = $(test_cppflags)
test_unit_leadersync_t_LDADD = $(test_ldadd)
test_unit_leaderpartial_t_SOURCES = %D%/leaderpartial.c $(leaderlab)
test_unit_leaderpartial_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderpartial_t_LDADD = $(test_ldadd)

test_unit_leaderpage_t_SOURCES = %D%/leaderpage.c
test_unit_leaderpage_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderpage_t_LDADD = $(test_ldadd)

test_unit_leaderunread_t_SOURCES = %D%/leaderunread.c $(leaderlab)
test_unit_leaderunread_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderunread_t_LDADD = $(test_ldadd)
test_unit_leaderview_t_SOURCES = %D%/leaderview.c $(leaderlab)
test_unit_leaderview_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderview_t_LDADD = $(test_ldadd)

test_unit_messages_t_SOURCES = %D%/messages.c
test_unit_messages_t_CPPFLAGS = $(test_cppflags)
test_unit_messages_t_LDADD = $(test_ldadd)

test_unit_client_t_SOURCES = %D%/client.c $(bosslab)
test_unit_client_t_CPPFLAGS = $(test_cppflags)
test_unit_client_t_LDADD = $(test_ldadd)

test_unit_client_lost_t_SOURCES = %D%/client_lost.c $(bosslab)
test_unit_client_lost_t_CPPFLAGS = $(test_cppflags)
test_unit_client_lost_t_LDADD = $(test_ldadd)

test_unit_endpoint_t_SOURCES = %D%/endpoint.c
test_unit_endpoint_t_CPPFLAGS = $(test_cppflags)
test_unit_endpoint_t_LDADD = $(test_ldadd)

test_unit_launcher_t_SOURCES = %D%/launcher.c
test_unit_launcher_t_CPPFLAGS = $(test_cppflags)
test_unit_launcher_t_LDADD = $(test_ldadd)

test_unit_launchid_t_SOURCES = %D%/launchid.c
test_unit_launchid_t_CPPFLAGS = $(test_cppflags)
test_unit_launchid_t_LDADD = $(test_ldadd)

test_unit_left_t_SOURCES = %D%/left.c
test_unit_left_t_CPPFLAGS = $(test_cppflags)
test_unit_left_t_LDADD = $(test_ldadd)
test_unit_link_t_SOURCES = %D%/link.c $(linklab)
test_unit_link_t_CPPFLAGS = $(test_cppflags)
test_unit_link_t_LDADD = $(test_ldadd)

test_unit_link_flood_t_SOURCES = %D%/link_flood.c $(linklab)
test_unit_link_flood_t_CPPFLAGS = $(test_cppflags)
test_unit_link_flood_t_LDADD = $(test_ldadd)

test_unit_link_hostile_t_SOURCES = %D%/link_hostile.c $(linklab)
test_unit_link_hostile_t_CPPFLAGS = $(test_cppflags)
test_unit_link_hostile_t_LDADD = $(test_ldadd)

test_unit_link_relay_t_SOURCES = %D%/link_relay.c $(linklab)
test_unit_link_relay_t_CPPFLAGS = $(test_cppflags)
test_unit_link_relay_t_LDADD = $(test_ldadd)

test_unit_once_t_SOURCES = %D%/once.c
test_unit_once_t_CPPFLAGS = $(test_cppflags)
test_unit_once_t_LDADD = $(test_ldadd)

test_unit_role_t_SOURCES = %D%/role.c
test_unit_role_t_CPPFLAGS = $(test_cppflags)
test_unit_role_t_LDADD = $(test_ldadd)

test_unit_pull_t_SOURCES = %D%/pull.c test/tap/pulllab.c test/tap/pulllab.h \
	test/tap/redlab.c test/tap/redlab.h
test_unit_pull_t_CPPFLAGS = $(test_cppflags)
test_unit_pull_t_LDADD = $(test_ldadd)

test_unit_pulllinks_t_SOURCES = %D%/pulllinks.c test/tap/pulllab.c \
	test/tap/pulllab.h test/tap/redlab.c test/tap/redlab.h
test_unit_pulllinks_t_CPPFLAGS = $(test_cppflags)
test_unit_pulllinks_t_LDADD = $(test_ldadd)

test_unit_pullwire_t_SOURCES = %D%/pullwire.c test/tap/pulllab.c \
	test/tap/pulllab.h test/tap/redlab.c test/tap/redlab.h test/tap/wirelab.c \
	test/tap/wirelab.h
test_unit_pullwire_t_CPPFLAGS = $(test_cppflags)
test_unit_pullwire_t_LDADD = $(test_ldadd)

test_unit_view_t_SOURCES = %D%/view.c test/tap/recordlab.c test/tap/recordlab.h \
	test/tap/viewlab.c test/tap/viewlab.h
test_unit_view_t_CPPFLAGS = $(test_cppflags)
test_unit_view_t_LDADD = $(test_ldadd)
test_unit_viewunseen_t_SOURCES = %D%/viewunseen.c test/tap/viewlab.c test/tap/viewlab.h
test_unit_viewunseen_t_CPPFLAGS = $(test_cppflags)
test_unit_viewunseen_t_LDADD = $(test_ldadd)

test_unit_mark_t_SOURCES = %D%/mark.c
test_unit_mark_t_CPPFLAGS = $(test_cppflags)
test_unit_mark_t_LDADD = $(test_ldadd)
test_unit_flushing_t_SOURCES = %D%/flushing.c test/tap/flushlab.c test/tap/flushlab.h
test_unit_flushing_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_t_LDADD = $(test_ldadd)

test_unit_flushing_owner_t_SOURCES = %D%/flushing_owner.c test/tap/flushlab.c \
	test/tap/flushlab.h
test_unit_flushing_owner_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_owner_t_LDADD = $(test_ldadd)
test_unit_unwanted_t_SOURCES = %D%/unwanted.c test/tap/flushlab.c \
	test/tap/flushlab.h
test_unit_unwanted_t_CPPFLAGS = $(test_cppflags)
test_unit_unwanted_t_LDADD = $(test_ldadd)

packlab = test/tap/flushlab.c test/tap/flushlab.h test/tap/packlab.c test/tap/packlab.h
test_unit_packing_t_SOURCES = %D%/packing.c $(packlab)
test_unit_packing_t_CPPFLAGS = $(test_cppflags)
test_unit_packing_t_LDADD = $(test_ldadd)
test_unit_packkill_t_SOURCES = %D%/packkill.c $(packlab)
test_unit_packkill_t_CPPFLAGS = $(test_cppflags)
test_unit_packkill_t_LDADD = $(test_ldadd)

test_unit_flushing_service_t_SOURCES = %D%/flushing_service.c test/tap/flushlab.c \
	test/tap/flushlab.h
test_unit_flushing_service_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_service_t_LDADD = test/sdk/libsdk.la $(test_ldadd)

test_unit_prerunplace_t_SOURCES = %D%/prerunplace.c
test_unit_prerunplace_t_CPPFLAGS = $(test_cppflags)
test_unit_prerunplace_t_LDADD = $(test_ldadd)
test_unit_point_t_SOURCES = %D%/point.c
test_unit_point_t_CPPFLAGS = $(test_cppflags)
test_unit_point_t_LDADD = $(test_ldadd)
test_unit_promise_t_SOURCES = %D%/promise.c test/tap/batchlab.c test/tap/batchlab.h \
	test/tap/sweep.c test/tap/sweep.h
test_unit_promise_t_CPPFLAGS = $(test_cppflags)
test_unit_promise_t_LDADD = $(test_ldadd)

test_unit_work_t_SOURCES = %D%/work.c
test_unit_work_t_CPPFLAGS = $(test_cppflags)
test_unit_work_t_LDADD = $(test_ldadd) -lpthread

encodelab = test/tap/encodelab.c test/tap/encodelab.h test/tap/encodelab_parts.c test/tap/encodelab_task.c \
	test/tap/redlab.c test/tap/redlab.h

test_unit_encode_t_SOURCES = %D%/encode.c $(encodelab)
test_unit_encode_t_CPPFLAGS = $(test_cppflags)
test_unit_encode_t_LDADD = $(test_ldadd)

test_unit_encodekill_t_SOURCES = %D%/encodekill.c $(encodelab) test/tap/crowd.c test/tap/crowd.h
test_unit_encodekill_t_CPPFLAGS = $(test_cppflags)
test_unit_encodekill_t_LDADD = $(test_ldadd)

test_unit_muster_t_SOURCES = %D%/muster.c
test_unit_muster_t_CPPFLAGS = $(test_cppflags)
test_unit_muster_t_LDADD = $(test_ldadd)

test_unit_names_t_SOURCES = %D%/names.c
test_unit_names_t_CPPFLAGS = $(test_cppflags)
test_unit_names_t_LDADD = $(test_ldadd)
test_unit_batches_t_SOURCES = %D%/batches.c test/tap/batchlab.c test/tap/batchlab.h
test_unit_batches_t_CPPFLAGS = $(test_cppflags)
test_unit_batches_t_LDADD = $(test_ldadd)
test_unit_batchturns_t_SOURCES = %D%/batchturns.c test/tap/batchlab.c test/tap/batchlab.h
test_unit_batchturns_t_CPPFLAGS = $(test_cppflags)
test_unit_batchturns_t_LDADD = $(test_ldadd)
test_unit_roster_t_SOURCES = %D%/roster.c
test_unit_roster_t_CPPFLAGS = $(test_cppflags)
test_unit_roster_t_LDADD = $(test_ldadd)

test_unit_seal_t_SOURCES = %D%/seal.c
test_unit_seal_t_CPPFLAGS = $(test_cppflags)
test_unit_seal_t_LDADD = $(test_ldadd)

test_unit_tally_t_SOURCES = %D%/tally.c
test_unit_tally_t_CPPFLAGS = $(test_cppflags)
test_unit_tally_t_LDADD = $(test_ldadd)

test_unit_template_t_SOURCES = %D%/template.c
test_unit_template_t_CPPFLAGS = $(test_cppflags)
test_unit_template_t_LDADD = $(test_ldadd)

test_unit_attend_t_SOURCES = %D%/attend.c $(seslab_sources) \
	test/tap/sockjob.c test/tap/sockjob.h
test_unit_attend_t_CPPFLAGS = $(test_cppflags)
test_unit_attend_t_LDADD = $(test_ldadd)

slow_tests += test/unit/attendcost.t
test_unit_attendcost_t_SOURCES = %D%/attendcost.c $(seslab_sources) \
	test/tap/sockjob.c test/tap/sockjob.h
test_unit_attendcost_t_CPPFLAGS = $(test_cppflags)
test_unit_attendcost_t_LDADD = $(test_ldadd)

test_unit_backup_t_SOURCES = %D%/backup.c test/tap/filelab.c test/tap/filelab.h
test_unit_backup_t_CPPFLAGS = $(test_cppflags)
test_unit_backup_t_LDADD = $(test_ldadd)
test_unit_beside_t_SOURCES = %D%/beside.c test/tap/filelab.c test/tap/filelab.h
test_unit_beside_t_CPPFLAGS = $(test_cppflags)
test_unit_beside_t_LDADD = $(test_ldadd)
unit_tests += test/unit/bandwidth.t
test_unit_bandwidth_t_SOURCES = %D%/bandwidth.c test/tap/filelab.c test/tap/filelab.h
test_unit_bandwidth_t_CPPFLAGS = $(test_cppflags)
test_unit_bandwidth_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/giving.t
test_unit_giving_t_SOURCES = %D%/giving.c test/tap/filelab.c test/tap/filelab.h
test_unit_giving_t_CPPFLAGS = $(test_cppflags)
test_unit_giving_t_LDADD = $(test_ldadd) -lpthread
test_unit_sweep_t_SOURCES = %D%/sweep.c
test_unit_sweep_t_CPPFLAGS = $(test_cppflags)
test_unit_sweep_t_LDADD = $(test_ldadd)
test_unit_sweepmany_t_SOURCES = %D%/sweepmany.c test/tap/sweeplab.c \
	test/tap/sweeplab.h
test_unit_sweepmany_t_CPPFLAGS = $(test_cppflags)
test_unit_sweepmany_t_LDADD = $(test_ldadd)
test_unit_sweepunseen_t_SOURCES = %D%/sweepunseen.c test/tap/sweeplab.c test/tap/sweeplab.h
test_unit_sweepunseen_t_CPPFLAGS = $(test_cppflags)
test_unit_sweepunseen_t_LDADD = $(test_ldadd)

test_unit_filecost_t_SOURCES = %D%/filecost.c test/tap/filelab.c test/tap/filelab.h
test_unit_filecost_t_CPPFLAGS = $(test_cppflags)
test_unit_filecost_t_LDADD = $(test_ldadd)

test_unit_promised_t_SOURCES = %D%/promised.c test/tap/filelab.c test/tap/filelab.h
test_unit_promised_t_CPPFLAGS = $(test_cppflags)
test_unit_promised_t_LDADD = $(test_ldadd)
test_unit_seals_t_SOURCES = %D%/seals.c
test_unit_seals_t_CPPFLAGS = $(test_cppflags)
test_unit_seals_t_LDADD = $(test_ldadd)
test_unit_staged_t_SOURCES = %D%/staged.c test/tap/filelab.c test/tap/filelab.h
test_unit_staged_t_CPPFLAGS = $(test_cppflags)
test_unit_staged_t_LDADD = $(test_ldadd)
test_unit_unfinished_t_SOURCES = %D%/unfinished.c test/tap/filelab.c test/tap/filelab.h
test_unit_unfinished_t_CPPFLAGS = $(test_cppflags)
test_unit_unfinished_t_LDADD = $(test_ldadd)
test_unit_mended_t_SOURCES = %D%/mended.c test/tap/filelab.c test/tap/filelab.h
test_unit_mended_t_CPPFLAGS = $(test_cppflags)
test_unit_mended_t_LDADD = $(test_ldadd)

test_unit_books_t_SOURCES = %D%/books.c test/tap/hangfs.c test/tap/hangfs.h
test_unit_books_t_CPPFLAGS = $(test_cppflags)
test_unit_books_t_LDADD = $(test_ldadd)
test_unit_upkeep_t_SOURCES = %D%/upkeep.c test/tap/filelab.c test/tap/filelab.h \
	test/tap/hangfs.c test/tap/hangfs.h
test_unit_upkeep_t_CPPFLAGS = $(test_cppflags)
test_unit_upkeep_t_LDADD = $(test_ldadd)

test_unit_family_t_SOURCES = %D%/family.c test/tap/filelab.c test/tap/filelab.h
test_unit_family_t_CPPFLAGS = $(test_cppflags)
test_unit_family_t_LDADD = $(test_ldadd)

test_unit_connector_t_SOURCES = %D%/connector.c test/tap/filelab.c test/tap/filelab.h
test_unit_connector_t_CPPFLAGS = $(test_cppflags)
test_unit_connector_t_LDADD = $(test_ldadd)

test_unit_connpatch_t_SOURCES = %D%/connpatch.c test/tap/filelab.c test/tap/filelab.h
test_unit_connpatch_t_CPPFLAGS = $(test_cppflags)
test_unit_connpatch_t_LDADD = $(test_ldadd)

test_unit_compose_t_SOURCES = %D%/compose.c test/tap/topolab.c test/tap/topolab.h
test_unit_compose_t_CPPFLAGS = $(test_cppflags)
test_unit_compose_t_LDADD = $(test_ldadd)

slow_tests += test/unit/take.t
test_unit_take_t_SOURCES = %D%/take.c test/tap/partlab.c test/tap/partlab.h test/tap/sweep.c test/tap/sweep.h
test_unit_take_t_CPPFLAGS = $(test_cppflags)
test_unit_take_t_LDADD = $(test_ldadd)

slow_tests += test/unit/connkill.t
test_unit_connkill_t_SOURCES = %D%/connkill.c test/tap/filelab.c test/tap/filelab.h
test_unit_connkill_t_CPPFLAGS = $(test_cppflags)
test_unit_connkill_t_LDADD = $(test_ldadd)
# End of test/unit/node
