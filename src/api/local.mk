# api - the VELOC C API: libveloc, one per MPI, installed beside the plug-in of its flavour.
# The default flavour is also what -lveloc and veloc.pc give.
EXTRA_DIST += %D%/api.map %D%/veloc.pc.in

# protected memory needs no MPI: a library of its own, so that tests can have it without
noinst_LTLIBRARIES += src/libmemory.la
src_libmemory_la_SOURCES = \
	%D%/image.h \
	%D%/image_format.c %D%/image_format.h \
	%D%/image_name.c %D%/image_name.h \
	%D%/image_read.c \
	%D%/image_write.c \
	%D%/regions.c %D%/regions.h \
	%D%/selection.c %D%/selection.h
src_libmemory_la_LDFLAGS = $(AM_LDFLAGS)

if HAVE_MPI
flavour_LTLIBRARIES += src/libveloc.la
src_libveloc_la_SOURCES = \
	src/comm/mpi.c src/comm/mpi.h \
	%D%/checkpoint.c \
	%D%/init.c \
	%D%/memory.c %D%/memory.h \
	%D%/restart.c \
	%D%/state.c %D%/state.h \
	%D%/status.c \
	%D%/redset.c %D%/redset.h %D%/redset_make.c \
	%D%/version.c
src_libveloc_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
src_libveloc_la_LIBADD = src/libmemory.la src/libveloc_core.la $(MPI_LIBS)
src_libveloc_la_LDFLAGS = $(AM_LDFLAGS) $(own_calls) $(H5V_SOFLAGS) -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/%D%/api.map
EXTRA_src_libveloc_la_DEPENDENCIES = %D%/api.map

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = veloc-$(FLAVOUR).pc
CLEANFILES += veloc-$(FLAVOUR).pc
veloc-$(FLAVOUR).pc: veloc.pc
	$(AM_V_GEN)sed '/^Libs:/s|$${libdir}|$${plugindir}|g' veloc.pc > $@.tmp && mv $@.tmp $@

# libtool links libveloc again when it installs it, against the installed core. (Named through
# a variable: written out, the target would replace the rule automake makes for it.)
flavour_install = install-flavourLTLIBRARIES
$(flavour_install): install-libLTLIBRARIES

if DEFAULT_FLAVOUR
nodist_pkgconfig_DATA += veloc.pc

install-exec-hook:
	cd '$(DESTDIR)$(libdir)' && for f in libveloc.so libveloc.so.0; do \
	  rm -f $$f && $(LN_S) 'h5veloc/$(FLAVOUR)'/$$f $$f || exit 1; done
uninstall-local:
	rm -f '$(DESTDIR)$(libdir)/libveloc.so' '$(DESTDIR)$(libdir)/libveloc.so.0'
endif

# the directories that only we make; another flavour may still be there
uninstall-hook:
	-rmdir '$(DESTDIR)$(flavourdir)' '$(DESTDIR)$(transportdir)' \
	  '$(DESTDIR)$(libdir)/h5veloc' 2>/dev/null
endif
# End of api
