# sys - files, clock, host, locks, worker threads: the operating system behind tables.
core_sources += \
	%D%/clock.c %D%/clock.h \
	%D%/fs.c %D%/fs.h \
	%D%/fs_dir.c \
	%D%/fs_posix.c \
	%D%/fs_replace.c \
	%D%/host.c %D%/host.h \
	%D%/lock.c %D%/lock.h \
	%D%/logfile.c %D%/logfile.h \
	%D%/queue.c %D%/queue.h
# End of sys
