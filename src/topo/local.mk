# topo - which ranks fail together, and how they are divided into redundancy sets.
core_sources += \
	%D%/ask_first.c %D%/ask_first.h \
	%D%/check.c %D%/check.h \
	%D%/deal.c %D%/deal.h \
	%D%/group.c %D%/group.h \
	%D%/group_lines.c %D%/group_lines.h \
	%D%/level.c %D%/level.h \
	%D%/rankstr.c %D%/rankstr.h \
	%D%/reddesc.c %D%/reddesc.h %D%/reddesc_node.c \
	%D%/reddesc_ring.c %D%/reddesc_ring.h \
	%D%/same.c %D%/same.h \
	%D%/seats.c %D%/seats.h \
	%D%/split.c %D%/split.h \
	%D%/store.c %D%/store.h
# End of topo
