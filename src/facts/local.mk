# facts - what lines of ledgers say, and what they say together: the catalog.
core_sources += \
	%D%/catalog.c %D%/catalog.h \
	%D%/facts.c %D%/facts.h %D%/facts.def
# End of facts
