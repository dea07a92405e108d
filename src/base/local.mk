# base - plain data and text; knows no files, no processes, no settings.
core_sources += \
	%D%/buf.c %D%/buf.h \
	%D%/crc.c %D%/crc.h \
	%D%/err.c %D%/err.h \
	%D%/hex.c %D%/hex.h \
	%D%/le.c %D%/le.h \
	%D%/library.c %D%/library.h \
	%D%/log.c %D%/log.h \
	%D%/map.c %D%/map.h \
	%D%/path.c %D%/path.h \
	%D%/proof.c %D%/proof.h \
	%D%/ranges.c %D%/ranges.h \
	%D%/runs.c %D%/runs.h \
	%D%/scheme.c %D%/scheme.h \
	%D%/siphash.c %D%/siphash.h \
	%D%/vec.c %D%/vec.h
# End of base
