# node - the node leader: its messages and its state machines, as data.
core_sources += \
	%D%/dataset_state.c %D%/dataset_state.h \
	%D%/launch_state.c %D%/launch_state.h \
	%D%/machine.c %D%/machine.h \
	%D%/messages.c %D%/messages.h %D%/messages.def
# End of node
