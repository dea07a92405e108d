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
	test/unit/absent.t \
	test/unit/staged.t \
	test/unit/begincost.t \
	test/unit/filecost.t \
	test/unit/poweroff.t \
	test/unit/former.t \
	test/unit/room.t \
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
	test/unit/firstterm.t \
	test/unit/flushing.t \
	test/unit/mark.t \
	test/unit/flushing_owner.t \
	test/unit/listloss.t \
	test/unit/lists.t \
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
	test/unit/leaderclaim.t \
	test/unit/leaderheir.t \
	test/unit/leadermark.t \
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
	test/unit/viewunread.t \
	test/unit/viewunseen.t \
	test/unit/work.t
unit_tests += $(node_tests)

test_unit_about_t_SOURCES = %D%/about.c
test_unit_about_t_CPPFLAGS = $(test_cppflags)
test_unit_about_t_LDADD = $(test_ldadd)
test_unit_find_t_SOURCES = %D%/find.c
test_unit_find_t_CPPFLAGS = $(test_cppflags)
test_unit_find_t_LDADD = $(test_ldadd)

test_unit_placeholders_t_SOURCES = %D%/placeholders.c
test_unit_placeholders_t_CPPFLAGS = $(test_cppflags)
test_unit_placeholders_t_LDADD = $(test_ldadd)

test_unit_anchor_t_SOURCES = %D%/anchor.c
test_unit_anchor_t_CPPFLAGS = $(test_cppflags)
test_unit_anchor_t_LDADD = $(test_ldadd)

test_unit_dataset_state_t_SOURCES = %D%/dataset_state.c
test_unit_dataset_state_t_CPPFLAGS = $(test_cppflags)
test_unit_dataset_state_t_LDADD = $(test_ldadd)


test_unit_delta_t_SOURCES = %D%/delta.c
test_unit_delta_t_CPPFLAGS = $(test_cppflags)
test_unit_delta_t_LDADD = $(test_ldadd)

test_unit_deltakill_t_SOURCES = %D%/deltakill.c
test_unit_deltakill_t_CPPFLAGS = $(test_cppflags)
test_unit_deltakill_t_LDADD = $(test_ldadd)

test_unit_inventory_t_SOURCES = %D%/inventory.c
test_unit_inventory_t_CPPFLAGS = $(test_cppflags)
test_unit_inventory_t_LDADD = $(test_ldadd)

test_unit_launch_state_t_SOURCES = %D%/launch_state.c
test_unit_launch_state_t_CPPFLAGS = $(test_cppflags)
test_unit_launch_state_t_LDADD = $(test_ldadd)

test_unit_scale_t_SOURCES = %D%/scale.c
test_unit_scale_t_CPPFLAGS = $(test_cppflags)
test_unit_scale_t_LDADD = $(test_ldadd)
test_unit_leader_t_SOURCES = %D%/leader.c
test_unit_leader_t_CPPFLAGS = $(test_cppflags)
test_unit_leader_t_LDADD = $(test_ldadd)

test_unit_leaderfiles_t_SOURCES = %D%/leaderfiles.c
test_unit_leaderfiles_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderfiles_t_LDADD = $(test_ldadd)
test_unit_leadersync_t_SOURCES = %D%/leadersync.c
test_unit_leadersync_t_CPPFLAGS = $(test_cppflags)
test_unit_leadersync_t_LDADD = $(test_ldadd)
test_unit_leaderpartial_t_SOURCES = %D%/leaderpartial.c
test_unit_leaderpartial_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderpartial_t_LDADD = $(test_ldadd)

test_unit_leaderpage_t_SOURCES = %D%/leaderpage.c
test_unit_leaderpage_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderpage_t_LDADD = $(test_ldadd)

test_unit_leaderclaim_t_SOURCES = %D%/leaderclaim.c
test_unit_leaderclaim_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderclaim_t_LDADD = $(test_ldadd)
test_unit_leaderheir_t_SOURCES = %D%/leaderheir.c
test_unit_leaderheir_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderheir_t_LDADD = $(test_ldadd)
test_unit_leadermark_t_SOURCES = %D%/leadermark.c
test_unit_leadermark_t_CPPFLAGS = $(test_cppflags)
test_unit_leadermark_t_LDADD = $(test_ldadd)
test_unit_leaderunread_t_SOURCES = %D%/leaderunread.c
test_unit_leaderunread_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderunread_t_LDADD = $(test_ldadd)
test_unit_leaderview_t_SOURCES = %D%/leaderview.c
test_unit_leaderview_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderview_t_LDADD = $(test_ldadd)

test_unit_messages_t_SOURCES = %D%/messages.c
test_unit_messages_t_CPPFLAGS = $(test_cppflags)
test_unit_messages_t_LDADD = $(test_ldadd)

test_unit_client_t_SOURCES = %D%/client.c
test_unit_client_t_CPPFLAGS = $(test_cppflags)
test_unit_client_t_LDADD = $(test_ldadd)

test_unit_client_lost_t_SOURCES = %D%/client_lost.c
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
test_unit_link_t_SOURCES = %D%/link.c
test_unit_link_t_CPPFLAGS = $(test_cppflags)
test_unit_link_t_LDADD = $(test_ldadd)

test_unit_link_flood_t_SOURCES = %D%/link_flood.c
test_unit_link_flood_t_CPPFLAGS = $(test_cppflags)
test_unit_link_flood_t_LDADD = $(test_ldadd)

test_unit_link_hostile_t_SOURCES = %D%/link_hostile.c
test_unit_link_hostile_t_CPPFLAGS = $(test_cppflags)
test_unit_link_hostile_t_LDADD = $(test_ldadd)

test_unit_link_relay_t_SOURCES = %D%/link_relay.c
test_unit_link_relay_t_CPPFLAGS = $(test_cppflags)
test_unit_link_relay_t_LDADD = $(test_ldadd)

test_unit_once_t_SOURCES = %D%/once.c
test_unit_once_t_CPPFLAGS = $(test_cppflags)
test_unit_once_t_LDADD = $(test_ldadd)

test_unit_role_t_SOURCES = %D%/role.c
test_unit_role_t_CPPFLAGS = $(test_cppflags)
test_unit_role_t_LDADD = $(test_ldadd)

test_unit_pull_t_SOURCES = %D%/pull.c
test_unit_pull_t_CPPFLAGS = $(test_cppflags)
test_unit_pull_t_LDADD = $(test_ldadd)

test_unit_pulllinks_t_SOURCES = %D%/pulllinks.c
test_unit_pulllinks_t_CPPFLAGS = $(test_cppflags)
test_unit_pulllinks_t_LDADD = $(test_ldadd)

test_unit_pullwire_t_SOURCES = %D%/pullwire.c
test_unit_pullwire_t_CPPFLAGS = $(test_cppflags)
test_unit_pullwire_t_LDADD = $(test_ldadd)

test_unit_view_t_SOURCES = %D%/view.c
test_unit_view_t_CPPFLAGS = $(test_cppflags)
test_unit_view_t_LDADD = $(test_ldadd)
test_unit_viewunread_t_SOURCES = %D%/viewunread.c
test_unit_viewunread_t_CPPFLAGS = $(test_cppflags)
test_unit_viewunread_t_LDADD = $(test_ldadd) -lpthread
test_unit_viewunseen_t_SOURCES = %D%/viewunseen.c
test_unit_viewunseen_t_CPPFLAGS = $(test_cppflags)
test_unit_viewunseen_t_LDADD = $(test_ldadd)

test_unit_mark_t_SOURCES = %D%/mark.c
test_unit_mark_t_CPPFLAGS = $(test_cppflags)
test_unit_mark_t_LDADD = $(test_ldadd)
test_unit_flushing_t_SOURCES = %D%/flushing.c
test_unit_flushing_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_t_LDADD = $(test_ldadd)

test_unit_flushing_owner_t_SOURCES = %D%/flushing_owner.c
test_unit_flushing_owner_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_owner_t_LDADD = $(test_ldadd)
test_unit_listloss_t_SOURCES = %D%/listloss.c
test_unit_listloss_t_CPPFLAGS = $(test_cppflags)
test_unit_listloss_t_LDADD = $(test_ldadd)

test_unit_lists_t_SOURCES = %D%/lists.c
test_unit_lists_t_CPPFLAGS = $(test_cppflags)
test_unit_lists_t_LDADD = $(test_ldadd)
test_unit_unwanted_t_SOURCES = %D%/unwanted.c
test_unit_unwanted_t_CPPFLAGS = $(test_cppflags)
test_unit_unwanted_t_LDADD = $(test_ldadd)

test_unit_packing_t_SOURCES = %D%/packing.c
test_unit_packing_t_CPPFLAGS = $(test_cppflags)
test_unit_packing_t_LDADD = $(test_ldadd)
test_unit_packkill_t_SOURCES = %D%/packkill.c
test_unit_packkill_t_CPPFLAGS = $(test_cppflags)
test_unit_packkill_t_LDADD = $(test_ldadd)

test_unit_flushing_service_t_SOURCES = %D%/flushing_service.c
test_unit_flushing_service_t_CPPFLAGS = $(test_cppflags)
test_unit_flushing_service_t_LDADD = test/sdk/libsdk.la $(test_ldadd)

test_unit_prerunplace_t_SOURCES = %D%/prerunplace.c
test_unit_prerunplace_t_CPPFLAGS = $(test_cppflags)
test_unit_prerunplace_t_LDADD = $(test_ldadd)
test_unit_point_t_SOURCES = %D%/point.c
test_unit_point_t_CPPFLAGS = $(test_cppflags)
test_unit_point_t_LDADD = $(test_ldadd)
test_unit_promise_t_SOURCES = %D%/promise.c
test_unit_promise_t_CPPFLAGS = $(test_cppflags)
test_unit_promise_t_LDADD = $(test_ldadd)

test_unit_work_t_SOURCES = %D%/work.c
test_unit_work_t_CPPFLAGS = $(test_cppflags)
test_unit_work_t_LDADD = $(test_ldadd) -lpthread


test_unit_encode_t_SOURCES = %D%/encode.c
test_unit_encode_t_CPPFLAGS = $(test_cppflags)
test_unit_encode_t_LDADD = $(test_ldadd)

test_unit_encodekill_t_SOURCES = %D%/encodekill.c
test_unit_encodekill_t_CPPFLAGS = $(test_cppflags)
test_unit_encodekill_t_LDADD = $(test_ldadd)

test_unit_muster_t_SOURCES = %D%/muster.c
test_unit_muster_t_CPPFLAGS = $(test_cppflags)
test_unit_muster_t_LDADD = $(test_ldadd)

test_unit_names_t_SOURCES = %D%/names.c
test_unit_names_t_CPPFLAGS = $(test_cppflags)
test_unit_names_t_LDADD = $(test_ldadd)
test_unit_batches_t_SOURCES = %D%/batches.c
test_unit_batches_t_CPPFLAGS = $(test_cppflags)
test_unit_batches_t_LDADD = $(test_ldadd)
test_unit_batchturns_t_SOURCES = %D%/batchturns.c
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

test_unit_attend_t_SOURCES = %D%/attend.c
test_unit_attend_t_CPPFLAGS = $(test_cppflags)
test_unit_attend_t_LDADD = $(test_ldadd)

slow_tests += test/unit/attendcost.t
test_unit_attendcost_t_SOURCES = %D%/attendcost.c
test_unit_attendcost_t_CPPFLAGS = $(test_cppflags)
test_unit_attendcost_t_LDADD = $(test_ldadd)

test_unit_backup_t_SOURCES = %D%/backup.c
test_unit_backup_t_CPPFLAGS = $(test_cppflags)
test_unit_backup_t_LDADD = $(test_ldadd)
test_unit_beside_t_SOURCES = %D%/beside.c
test_unit_beside_t_CPPFLAGS = $(test_cppflags)
test_unit_beside_t_LDADD = $(test_ldadd)
unit_tests += test/unit/bandwidth.t
test_unit_bandwidth_t_SOURCES = %D%/bandwidth.c
test_unit_bandwidth_t_CPPFLAGS = $(test_cppflags)
test_unit_bandwidth_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/giving.t
test_unit_giving_t_SOURCES = %D%/giving.c
test_unit_giving_t_CPPFLAGS = $(test_cppflags)
test_unit_giving_t_LDADD = $(test_ldadd) -lpthread
test_unit_sweep_t_SOURCES = %D%/sweep.c
test_unit_sweep_t_CPPFLAGS = $(test_cppflags)
test_unit_sweep_t_LDADD = $(test_ldadd)
test_unit_sweepmany_t_SOURCES = %D%/sweepmany.c
test_unit_sweepmany_t_CPPFLAGS = $(test_cppflags)
test_unit_sweepmany_t_LDADD = $(test_ldadd)
test_unit_sweepunseen_t_SOURCES = %D%/sweepunseen.c
test_unit_sweepunseen_t_CPPFLAGS = $(test_cppflags)
test_unit_sweepunseen_t_LDADD = $(test_ldadd)

test_unit_begincost_t_SOURCES = %D%/begincost.c
test_unit_begincost_t_CPPFLAGS = $(test_cppflags)
test_unit_begincost_t_LDADD = $(test_ldadd) -lpthread
test_unit_filecost_t_SOURCES = %D%/filecost.c
test_unit_filecost_t_CPPFLAGS = $(test_cppflags)
test_unit_filecost_t_LDADD = $(test_ldadd)

test_unit_poweroff_t_SOURCES = %D%/poweroff.c
test_unit_poweroff_t_CPPFLAGS = $(test_cppflags)
test_unit_poweroff_t_LDADD = $(test_ldadd)

test_unit_former_t_SOURCES = %D%/former.c
test_unit_former_t_CPPFLAGS = $(test_cppflags)
test_unit_former_t_LDADD = $(test_ldadd)

test_unit_room_t_SOURCES = %D%/room.c
test_unit_room_t_CPPFLAGS = $(test_cppflags)
test_unit_room_t_LDADD = $(test_ldadd)

test_unit_firstterm_t_SOURCES = %D%/firstterm.c
test_unit_firstterm_t_CPPFLAGS = $(test_cppflags)
test_unit_firstterm_t_LDADD = $(test_ldadd)
test_unit_promised_t_SOURCES = %D%/promised.c
test_unit_promised_t_CPPFLAGS = $(test_cppflags)
test_unit_promised_t_LDADD = $(test_ldadd)
test_unit_seals_t_SOURCES = %D%/seals.c
test_unit_seals_t_CPPFLAGS = $(test_cppflags)
test_unit_seals_t_LDADD = $(test_ldadd)
test_unit_absent_t_SOURCES = %D%/absent.c
test_unit_absent_t_CPPFLAGS = $(test_cppflags)
test_unit_absent_t_LDADD = $(test_ldadd)

test_unit_staged_t_SOURCES = %D%/staged.c
test_unit_staged_t_CPPFLAGS = $(test_cppflags)
test_unit_staged_t_LDADD = $(test_ldadd)
test_unit_unfinished_t_SOURCES = %D%/unfinished.c
test_unit_unfinished_t_CPPFLAGS = $(test_cppflags)
test_unit_unfinished_t_LDADD = $(test_ldadd)
test_unit_mended_t_SOURCES = %D%/mended.c
test_unit_mended_t_CPPFLAGS = $(test_cppflags)
test_unit_mended_t_LDADD = $(test_ldadd)

test_unit_books_t_SOURCES = %D%/books.c
test_unit_books_t_CPPFLAGS = $(test_cppflags)
test_unit_books_t_LDADD = $(test_ldadd)
test_unit_upkeep_t_SOURCES = %D%/upkeep.c
test_unit_upkeep_t_CPPFLAGS = $(test_cppflags)
test_unit_upkeep_t_LDADD = $(test_ldadd)

test_unit_family_t_SOURCES = %D%/family.c
test_unit_family_t_CPPFLAGS = $(test_cppflags)
test_unit_family_t_LDADD = $(test_ldadd)

test_unit_connector_t_SOURCES = %D%/connector.c
test_unit_connector_t_CPPFLAGS = $(test_cppflags)
test_unit_connector_t_LDADD = $(test_ldadd)

test_unit_connpatch_t_SOURCES = %D%/connpatch.c
test_unit_connpatch_t_CPPFLAGS = $(test_cppflags)
test_unit_connpatch_t_LDADD = $(test_ldadd)

test_unit_compose_t_SOURCES = %D%/compose.c
test_unit_compose_t_CPPFLAGS = $(test_cppflags)
test_unit_compose_t_LDADD = $(test_ldadd)

slow_tests += test/unit/take.t
test_unit_take_t_SOURCES = %D%/take.c
test_unit_take_t_CPPFLAGS = $(test_cppflags)
test_unit_take_t_LDADD = $(test_ldadd)

slow_tests += test/unit/connkill.t
test_unit_connkill_t_SOURCES = %D%/connkill.c
test_unit_connkill_t_CPPFLAGS = $(test_cppflags)
test_unit_connkill_t_LDADD = $(test_ldadd)
# End of test/unit/node
