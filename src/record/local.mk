# record - typed JSON records on disk, checksummed and replaced whole.
core_sources += \
	%D%/json.c %D%/json.h \
	%D%/name.c %D%/name.h \
	%D%/node.c %D%/node.h \
	%D%/record.c %D%/record.h
# End of record
