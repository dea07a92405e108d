# node - the node leader: who it is, how it is reached, what it decides, what it does.
core_sources += \
	%D%/about.c %D%/about.h \
	%D%/affairs.c %D%/affairs.h \
	%D%/agent.c %D%/agent.h \
	%D%/agent_led.c %D%/agent_led.h \
	%D%/anchor.c %D%/anchor.h \
	%D%/anchor_follow.c \
	%D%/announce.c \
	%D%/attend.c %D%/attend.h \
	%D%/census.c \
	%D%/chair.c \
	%D%/client.c %D%/client.h %D%/client_in.h \
	%D%/client_calls.c \
	%D%/client_turn.c \
	%D%/close.c \
	%D%/compose.c %D%/compose.h \
	%D%/connector.c %D%/connector_in.h \
	%D%/copying.c %D%/copying.h \
	%D%/create.c \
	%D%/dataset_state.c %D%/dataset_state.h \
	%D%/delta.c %D%/delta.h \
	%D%/delta_past.c %D%/delta_past.h \
	%D%/encode.c %D%/encode.h \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/evidence.c %D%/evidence.h \
	%D%/expect.c %D%/expect_in.h \
	%D%/files.c %D%/files.h %D%/files_in.h \
	%D%/files_ask.c %D%/files_ask.h \
	%D%/files_here.c \
	%D%/files_list.c \
	%D%/files_name.c \
	%D%/files_open.c %D%/files_open_in.h %D%/files_session.c \
	%D%/files_point.c \
	%D%/flush.c \
	%D%/flushing.c %D%/flushing.h %D%/flushing_in.h \
	%D%/flushing_names.c \
	%D%/flushing_owner.c \
	%D%/flushing_patch.c \
	%D%/flushing_service.c \
	%D%/flushing_share.c \
	%D%/generation.c \
	%D%/give.c %D%/give.h \
	%D%/hashes.c %D%/hashes.h \
	%D%/hex.c %D%/hex.h \
	%D%/inventory.c %D%/inventory.h \
	%D%/inventory_pieces.c \
	%D%/inventory_record.c \
	%D%/job.c \
	%D%/key.c %D%/key.h \
	%D%/launch.c \
	%D%/launch_state.c %D%/launch_state.h \
	%D%/launcher.c %D%/launcher.h \
	%D%/launchid.c %D%/launchid.h \
	%D%/lead.c \
	%D%/leader.c %D%/leader.h %D%/leader_in.h \
	%D%/left.c %D%/left.h \
	%D%/left_weigh.c \
	%D%/link.c %D%/link.h %D%/link_in.h \
	%D%/links.c \
	%D%/look.c \
	%D%/loop.c \
	%D%/machine.c %D%/machine.h \
	%D%/meetings.c %D%/meetings.h \
	%D%/messages.c %D%/messages.h %D%/messages.def \
	%D%/muster.c %D%/muster.h \
	%D%/once.c %D%/once.h \
	%D%/owe.c \
	%D%/part.c \
	%D%/part_new.c %D%/part_new.h %D%/part_new_in.h \
	%D%/part_new_files.c \
	%D%/placeholders.c %D%/placeholders.h %D%/placeholders_in.h \
	%D%/placeholders_follow.c \
	%D%/point.c %D%/point.h \
	%D%/prerun.c %D%/prerun.h %D%/prerun_in.h \
	%D%/prerun_dataset.c \
	%D%/prerun_meet.c \
	%D%/prerun_owe.c \
	%D%/prerun_place.c \
	%D%/prerun_roll.c \
	%D%/presence.c %D%/presence.h \
	%D%/promise.c %D%/promise.h \
	%D%/pull.c %D%/pull.h %D%/pull_in.h \
	%D%/pull_links.c %D%/pull_links.h \
	%D%/pull_member.c \
	%D%/pull_prefix.c \
	%D%/pull_rebuild.c \
	%D%/pull_run.c \
	%D%/role.c %D%/role.h %D%/role_in.h \
	%D%/role_away.c \
	%D%/roster.c %D%/roster.h \
	%D%/round.c \
	%D%/seal.c %D%/seal.h \
	%D%/serve.c \
	%D%/service.c %D%/service.h %D%/service_in.h \
	%D%/service_beside.c \
	%D%/service_again.c \
	%D%/service_call.c \
	%D%/service_copies.c \
	%D%/service_compose.c \
	%D%/service_dataset.c \
	%D%/service_encode.c \
	%D%/service_files.c \
	%D%/service_find.c \
	%D%/service_home.c \
	%D%/service_job.c \
	%D%/service_launch.c \
	%D%/service_link.c \
	%D%/service_look.c \
	%D%/service_mover.c \
	%D%/service_errand.c \
	%D%/sweep.c %D%/sweep.h \
	%D%/service_names.c %D%/service_native.c \
	%D%/service_ops.c \
	%D%/service_renew.c \
	%D%/service_seal.c \
	%D%/service_stock.c \
	%D%/service_take.c \
	%D%/service_view.c \
	%D%/settle.c \
	%D%/stub.c %D%/stub.h \
	%D%/take.c %D%/take.h %D%/take_in.h \
	%D%/take_map.c \
	%D%/take_protect.c \
	%D%/tally.c %D%/tally.h \
	%D%/tell.c \
	%D%/template.c %D%/template.h \
	%D%/tree.c \
	%D%/view.c %D%/view.h %D%/view_in.h \
	%D%/view_make.c \
	%D%/view_names.c \
	%D%/view_record.c \
	%D%/view_weigh.c \
	%D%/work.c %D%/work.h
# End of node
