# log - journals of live files: what undoes their changes, and who mends.
core_sources += \
	%D%/journal.c %D%/journal.h %D%/journal_in.h \
	%D%/journal_format.c \
	%D%/mend.c %D%/mend.h
# End of log
