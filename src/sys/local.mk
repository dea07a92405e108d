# sys - files, clock, host, locks, worker threads: the operating system behind tables.
core_sources += \
	%D%/clock.c %D%/clock.h \
	%D%/entropy.c %D%/entropy.h \
	%D%/fs.c %D%/fs.h \
	%D%/fs_dir.c \
	%D%/fs_limit.c %D%/fs_limit.h %D%/fs_limit_in.h \
	%D%/fs_limit_call.c \
	%D%/fs_once.c \
	%D%/fs_posix.c \
	%D%/fs_replace.c \
	%D%/fs_twin.c %D%/fs_twin.h \
	%D%/fs_watch.c %D%/fs_watch.h \
	%D%/host.c %D%/host.h \
	%D%/lock.c %D%/lock.h \
	%D%/logfile.c %D%/logfile.h \
	%D%/pages.c %D%/pages.h \
	%D%/queue.c %D%/queue.h \
	%D%/sock.c %D%/sock.h \
	%D%/thread.c %D%/thread.h \
	%D%/user_dir.c %D%/user_dir.h
# End of sys
