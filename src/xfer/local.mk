# xfer - bytes between the caches and the prefix: files copied and checked, and who moves them.
core_sources += \
	%D%/container.c %D%/container.h \
	%D%/copy.c %D%/copy.h %D%/copy_in.h \
	%D%/copy_bytes.c \
	%D%/crew.c %D%/crew.h \
	%D%/fetch.c %D%/fetch.h \
	%D%/flush.c %D%/flush.h %D%/flush_in.h \
	%D%/flush_lists.c \
	%D%/names.c %D%/names.h \
	%D%/paced.c %D%/paced.h \
	%D%/patch.c %D%/patch.h \
	%D%/patch_apply.c \
	%D%/plugin.c %D%/plugin.h \
	%D%/stands.c %D%/stands.h \
	%D%/temp.c %D%/temp.h \
	%D%/throttle.c %D%/throttle.h \
	%D%/transport.c %D%/transport.h \
	%D%/watch.h
# End of xfer
