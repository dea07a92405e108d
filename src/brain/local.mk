# brain - the leader's decisions: messages, states, rules; no input or output.
core_sources += \
	%D%/adopt.c \
	%D%/announce.c \
	%D%/census.c \
	%D%/chair.c \
	%D%/close.c \
	%D%/connector.c %D%/connector_in.h \
	%D%/create.c \
	%D%/dataset_state.c %D%/dataset_state.h \
	%D%/ending.c %D%/ending_in.h \
	%D%/expect.c %D%/expect_in.h \
	%D%/flush.c \
	%D%/generation.c \
	%D%/job.c \
	%D%/launch.c \
	%D%/launch_state.c %D%/launch_state.h \
	%D%/lead.c \
	%D%/leader.c %D%/leader.h %D%/leader_in.h \
	%D%/links.c %D%/links_in.h \
	%D%/look.c \
	%D%/machine.c %D%/machine.h \
	%D%/mark.c %D%/mark_in.h \
	%D%/messages.c %D%/messages.h %D%/messages.def \
	%D%/owe.c \
	%D%/part.c \
	%D%/names.c %D%/names.h \
	%D%/roster.c %D%/roster.h \
	%D%/parting.c \
	%D%/progress.c %D%/progress_in.h \
	%D%/present.c \
	%D%/round.c \
	%D%/seal.c %D%/seal.h \
	%D%/seal_text.c \
	%D%/serve.c \
	%D%/settle.c \
	%D%/sync.c \
	%D%/tally.c %D%/tally.h \
	%D%/tell.c \
	%D%/template.c %D%/template.h \
	%D%/tree.c
# End of brain
