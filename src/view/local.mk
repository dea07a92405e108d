# view - what there is: in a node's caches, of no dataset yet, and what a launch can restore from all of it.
core_sources += \
	%D%/batch.c %D%/batch.h \
	%D%/batch_read.c \
	%D%/evidence.c %D%/evidence.h \
	%D%/inventory.c %D%/inventory.h \
	%D%/inventory_record.c \
	%D%/keeper.c \
	%D%/left.c %D%/left.h \
	%D%/left_weigh.c \
	%D%/missed.c %D%/missed.h \
	%D%/point.c %D%/point.h \
	%D%/seals.c %D%/seals.h \
	%D%/view.c %D%/view.h %D%/view_in.h \
	%D%/view_make.c \
	%D%/view_names.c \
	%D%/view_newer.c \
	%D%/view_record.c \
	%D%/view_weigh.c
# End of view
