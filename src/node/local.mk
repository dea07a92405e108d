# node - a leader at work: the brain with its thread, connections, records and workers.
core_sources += \
	%D%/about.c %D%/about.h \
	%D%/agent.c %D%/agent.h \
	%D%/agent_led.c %D%/agent_led.h \
	%D%/books.c %D%/books.h \
	%D%/service.c %D%/service.h %D%/service_in.h %D%/service_bring_in.h \
	%D%/service_again.c \
	%D%/service_beside.c \
	%D%/service_call.c %D%/service_call.h \
	%D%/service_compose.c \
	%D%/service_copies.c \
	%D%/service_dataset.c \
	%D%/service_encode.c \
	%D%/service_errand.c \
	%D%/service_family.c \
	%D%/service_files.c \
	%D%/service_find.c \
	%D%/service_give.c %D%/service_give.h \
	%D%/service_home.c \
	%D%/service_job.c \
	%D%/service_launch.c \
	%D%/service_life.c \
	%D%/service_link.c \
	%D%/service_look.c \
	%D%/service_mover.c %D%/service_mover.h \
	%D%/service_names.c \
	%D%/service_native.c \
	%D%/service_writer.c \
	%D%/service_ops.c \
	%D%/service_term.c \
	%D%/service_promise.c \
	%D%/service_pull.c \
	%D%/service_renew.c \
	%D%/service_room.c %D%/service_room.h \
	%D%/service_seal.c \
	%D%/service_stock.c \
	%D%/service_take.c \
	%D%/service_view.c
# End of node
