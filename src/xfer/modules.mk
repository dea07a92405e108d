# Transfer plug-ins: a module each, so that no vendor's library is linked to the engine. They are
# built where configure found the SDK; test/sdk builds all of them with stand-ins.
transportdir = $(libdir)/h5veloc/transport
transport_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared $(H5V_SOFLAGS) -no-undefined \
	-Wl,--version-script=$(srcdir)/%D%/plugin.map
EXTRA_DIST += %D%/bbapi.c %D%/cppr.c %D%/datawarp.c %D%/plugin.map

# libtool links a module again when it installs it, against the installed core (see src/api)
transport_install = install-transportLTLIBRARIES
$(transport_install): install-libLTLIBRARIES

if HAVE_BBAPI
transport_LTLIBRARIES += %D%/bbapi.la
%C%_bbapi_la_SOURCES = %D%/bbapi.c
%C%_bbapi_la_CPPFLAGS = $(AM_CPPFLAGS) $(BBAPI_CFLAGS)
%C%_bbapi_la_LIBADD = src/libveloc_core.la $(BBAPI_LIBS)
%C%_bbapi_la_LDFLAGS = $(transport_ldflags)
EXTRA_%C%_bbapi_la_DEPENDENCIES = %D%/plugin.map
endif

if HAVE_CPPR
transport_LTLIBRARIES += %D%/cppr.la
%C%_cppr_la_SOURCES = %D%/cppr.c
%C%_cppr_la_CPPFLAGS = $(AM_CPPFLAGS) $(CPPR_CFLAGS)
%C%_cppr_la_LIBADD = src/libveloc_core.la $(CPPR_LIBS)
%C%_cppr_la_LDFLAGS = $(transport_ldflags)
EXTRA_%C%_cppr_la_DEPENDENCIES = %D%/plugin.map
endif

if HAVE_DATAWARP
transport_LTLIBRARIES += %D%/datawarp.la
%C%_datawarp_la_SOURCES = %D%/datawarp.c
%C%_datawarp_la_CPPFLAGS = $(AM_CPPFLAGS) $(DATAWARP_CFLAGS)
%C%_datawarp_la_LIBADD = src/libveloc_core.la $(DATAWARP_LIBS)
%C%_datawarp_la_LDFLAGS = $(transport_ldflags)
EXTRA_%C%_datawarp_la_DEPENDENCIES = %D%/plugin.map
endif
# End of xfer modules
