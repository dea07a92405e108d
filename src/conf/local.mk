# conf - the table of settings and the files and variables that fill it.
core_sources += \
	%D%/check.c \
	%D%/conf.c %D%/conf.h \
	%D%/field.c %D%/field.h \
	%D%/file.c %D%/file.h \
	%D%/lex.c %D%/lex.h %D%/lex_ini.c \
	%D%/lines.c %D%/lines.h \
	%D%/load.c %D%/load.h \
	%D%/near.c %D%/near.h \
	%D%/rules.c %D%/rules.h \
	%D%/schema.c %D%/schema.def %D%/schema.h \
	%D%/shared.c %D%/shared.h \
	%D%/texts.c %D%/texts.h
# End of conf
