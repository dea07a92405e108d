# engine - the life of a dataset: when, which, where to, what for.
core_sources += \
	%D%/alone.c \
	%D%/calls.c \
	%D%/decide.c \
	%D%/fetch.c \
	%D%/health.c %D%/health.h \
	%D%/held.c \
	%D%/leftovers.c \
	%D%/level.c \
	%D%/logging.c \
	%D%/manage.c \
	%D%/movers.c \
	%D%/place.c \
	%D%/policy.c %D%/policy.h \
	%D%/protect.c \
	%D%/publish.c \
	%D%/recovery.c \
	%D%/replaced.c \
	%D%/restart.c \
	%D%/route.c \
	%D%/session.c %D%/session.h %D%/session_in.h \
	%D%/spill.c \
	%D%/through.c \
	%D%/write.c
# End of engine
