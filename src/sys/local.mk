# sys - files, clock, host, locks, worker threads: the operating system behind tables.
core_sources += \
	%D%/fs.h
# End of sys
