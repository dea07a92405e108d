# link - connections between processes, leaders and tools; threads that wait for their leader.
core_sources += \
	%D%/client.c %D%/client.h %D%/client_in.h \
	%D%/client_calls.c \
	%D%/client_turn.c \
	%D%/conn.c \
	%D%/link.c %D%/link.h %D%/link_in.h \
	%D%/links.c \
	%D%/loop.c \
	%D%/meetings.c %D%/meetings.h
# End of link
