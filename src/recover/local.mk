# recover - datasets of earlier launches: found, moved to their ranks, rebuilt.
core_sources += \
	%D%/caches.c %D%/caches.h \
	%D%/move.c %D%/move.h \
	%D%/ranks.c %D%/ranks.h \
	%D%/revive.c %D%/revive.h %D%/revive_foreign.c %D%/revive_in.h \
	%D%/scrub.c %D%/scrub.h %D%/scrub_cache.c %D%/scrub_in.h %D%/scrub_prefix.c \
	%D%/stream.h %D%/stream_in.c %D%/stream_out.c %D%/stream_wire.h
# End of recover
