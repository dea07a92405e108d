# engine - the life of a dataset: when, which, where to, what for.
core_sources += \
	%D%/alone.c \
	%D%/background.c %D%/background.h \
	%D%/behind.c \
	%D%/calls.c \
	%D%/claim.c \
	%D%/closing.c \
	%D%/decide.c \
	%D%/fetch.c \
	%D%/freeing.c \
	%D%/health.c %D%/health.h \
	%D%/held.c \
	%D%/leftovers.c \
	%D%/level.c \
	%D%/logging.c \
	%D%/logsink.c %D%/logsink.h \
	%D%/manage.c \
	%D%/mark.c \
	%D%/meet.c \
	%D%/movers.c \
	%D%/place.c \
	%D%/policy.c %D%/policy.h \
	%D%/promise.c \
	%D%/protect.c \
	%D%/publish.c \
	%D%/rate_watch.c %D%/rate_watch.h \
	%D%/recovery.c \
	%D%/restart.c \
	%D%/route.c \
	%D%/session.c %D%/session.h %D%/session_in.h \
	%D%/settle.c %D%/settle.h \
	%D%/spill.c \
	%D%/through.c \
	%D%/write.c
# End of engine
