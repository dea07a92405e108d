# pull - a part comes here: given, read, rebuilt, fetched.
core_sources += \
	%D%/give.c %D%/give.h \
	%D%/pull.c %D%/pull.h %D%/pull_in.h \
	%D%/pull_links.c %D%/pull_links.h \
	%D%/pull_member.c \
	%D%/pull_prefix.c \
	%D%/pull_rebuild.c \
	%D%/pull_run.c \
	%D%/pulls.c
# End of pull
