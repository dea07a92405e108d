# meta - what is remembered about datasets and runs: one record, one file.
core_sources += \
	%D%/cache.c %D%/cache.h \
	%D%/cachename.c %D%/cachename.h \
	%D%/current.c %D%/current.h \
	%D%/dataset.c %D%/dataset.h \
	%D%/digest.c %D%/digest.h \
	%D%/entry.c %D%/entry.h \
	%D%/events.c %D%/events.h \
	%D%/filelist.c %D%/filelist.h \
	%D%/filemap.c %D%/filemap.h \
	%D%/follow.c %D%/follow.h \
	%D%/halt.c %D%/halt.h \
	%D%/halt_test.c \
	%D%/halt_watch.c %D%/halt_watch.h \
	%D%/ids.c %D%/ids.h \
	%D%/index.c %D%/index.h %D%/index_all.c %D%/index_in.h \
	%D%/index_launch.c %D%/index_one.c %D%/index_write.c \
	%D%/launch.c %D%/launch.h \
	%D%/nodes.c %D%/nodes.h \
	%D%/over.c %D%/over.h \
	%D%/paths.c %D%/paths.h \
	%D%/prefix.c %D%/prefix.h \
	%D%/terms.c %D%/terms.h %D%/terms_in.h %D%/terms_over.c %D%/terms_write.c
# End of meta
