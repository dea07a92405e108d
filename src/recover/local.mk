# recover - datasets of earlier launches: found, brought to their ranks, rebuilt.
core_sources += \
	%D%/bring.c %D%/bring_copies.c %D%/bring_in.h %D%/bring_own.c \
	%D%/kept.c %D%/kept.h \
	%D%/look.c \
	%D%/ranks.c %D%/ranks.h \
	%D%/recovery.c %D%/recovery.h \
	%D%/rounds.c %D%/rounds.h %D%/rounds_in.h %D%/rounds_lend.c \
	%D%/scrub.c %D%/scrub.h %D%/scrub_cache.c %D%/scrub_in.h %D%/scrub_prefix.c
# End of recover
