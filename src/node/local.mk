# node - the node leader: who it is, how it is reached, what it decides, what it does.
core_sources += \
	%D%/about.c %D%/about.h \
	%D%/affairs.c %D%/affairs.h \
	%D%/agent.c %D%/agent.h \
	%D%/agent_led.c %D%/agent_led.h \
	%D%/anchor.c %D%/anchor.h \
	%D%/anchor_follow.c \
	%D%/attend.c %D%/attend.h \
	%D%/chair.c \
	%D%/client.c %D%/client.h %D%/client_in.h \
	%D%/client_calls.c \
	%D%/client_turn.c \
	%D%/copying.c %D%/copying.h \
	%D%/dataset_state.c %D%/dataset_state.h \
	%D%/delta.c %D%/delta.h \
	%D%/delta_past.c %D%/delta_past.h \
	%D%/encode.c %D%/encode.h \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/flush.c \
	%D%/flushing.c %D%/flushing.h %D%/flushing_in.h \
	%D%/flushing_name.c \
	%D%/flushing_owner.c \
	%D%/flushing_service.c \
	%D%/flushing_share.c \
	%D%/give.c %D%/give.h \
	%D%/hashes.c %D%/hashes.h \
	%D%/hex.c %D%/hex.h \
	%D%/evidence.c %D%/evidence.h \
	%D%/inventory.c %D%/inventory.h \
	%D%/inventory_pieces.c \
	%D%/inventory_record.c \
	%D%/job.c \
	%D%/key.c %D%/key.h \
	%D%/launch.c \
	%D%/launch_state.c %D%/launch_state.h \
	%D%/launchid.c %D%/launchid.h \
	%D%/lead.c \
	%D%/leader.c %D%/leader.h %D%/leader_in.h \
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
	%D%/promise.c %D%/promise.h \
	%D%/pull.c %D%/pull.h %D%/pull_in.h \
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
	%D%/service_call.c \
	%D%/service_dataset.c \
	%D%/service_encode.c \
	%D%/service_find.c \
	%D%/service_job.c \
	%D%/service_launch.c \
	%D%/service_link.c \
	%D%/service_ops.c \
	%D%/service_seal.c \
	%D%/service_stock.c \
	%D%/service_view.c \
	%D%/stub.c %D%/stub.h \
	%D%/tell.c \
	%D%/tree.c \
	%D%/view.c %D%/view.h %D%/view_in.h \
	%D%/view_make.c \
	%D%/view_names.c \
	%D%/view_record.c \
	%D%/view_weigh.c \
	%D%/work.c %D%/work.h
# End of node
