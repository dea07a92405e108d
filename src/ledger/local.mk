# ledger - files of facts, one after the other: who writes, what counts, what is carried on.
core_sources += \
	%D%/again.c \
	%D%/carry.c %D%/carry.h \
	%D%/ledger.c %D%/ledger.h %D%/ledger_in.h \
	%D%/line.c %D%/line.h \
	%D%/name.c \
	%D%/read.c %D%/read.h \
	%D%/title.c
# End of ledger
