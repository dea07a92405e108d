# ident - who is who on a prefix: keys, claims, launches, roles, endpoints.
core_sources += \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/joined.c %D%/joined.h \
	%D%/key.c %D%/key.h \
	%D%/launchid.c %D%/launchid.h \
	%D%/once.c %D%/once.h \
	%D%/role.c %D%/role.h %D%/role_in.h \
	%D%/role_above.c %D%/role_away.c
# End of ident
