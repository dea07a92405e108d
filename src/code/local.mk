# code - erasure codes as mathematics: no files, no ranks.
core_sources += \
	%D%/gf.c %D%/gf.h \
	%D%/matrix.c %D%/matrix.h
# End of code
