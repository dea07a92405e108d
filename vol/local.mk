# vol - the HDF5 plug-in of this flavour. That of a serial HDF5 has no shared files and links no
# MPI; both share the engine of the process through libveloc_core.
flavour_LTLIBRARIES += %D%/libh5veloc.la
%C%_libh5veloc_la_SOURCES = \
	%D%/any.c \
	%D%/ask.c %D%/ask.h \
	%D%/attr.c \
	%D%/blob.c \
	%D%/classes.h \
	%D%/dataset.c \
	%D%/datatype.c \
	%D%/forward.h \
	%D%/group.c \
	%D%/head.c %D%/head.h \
	%D%/info.c %D%/info.h \
	%D%/info_text.c %D%/info_text.h \
	%D%/introspect.c \
	%D%/link.c \
	%D%/mpi_rank.c %D%/mpi_rank.h \
	%D%/object.c %D%/object.h \
	%D%/plain.c %D%/plain.h \
	%D%/push.c %D%/push.h \
	%D%/request.c \
	%D%/route.c %D%/route.h \
	%D%/veloc_file.c \
	%D%/veloc_plugin.c \
	%D%/vfd/driver.c %D%/vfd/driver.h \
	%D%/vfd/home.c %D%/vfd/home.h \
	%D%/vfd/live.c %D%/vfd/live.h \
	%D%/vfd/opened.c %D%/vfd/opened.h \
	%D%/vfd/track.c %D%/vfd/track.h \
	%D%/wrap.c
%C%_libh5veloc_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D% $(HDF5_CFLAGS)
%C%_libh5veloc_la_LIBADD = src/libveloc_core.la
if PARALLEL_HDF5
%C%_libh5veloc_la_CPPFLAGS += $(MPI_CFLAGS)
%C%_libh5veloc_la_LIBADD += src/libveloc.la $(MPI_LIBS)
endif
%C%_libh5veloc_la_LIBADD += $(HDF5_LIBS)
%C%_libh5veloc_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version $(H5V_SOFLAGS) -no-undefined \
	-Wl,--version-script=$(srcdir)/%D%/plugin.map
EXTRA_%C%_libh5veloc_la_DEPENDENCIES = %D%/plugin.map
EXTRA_DIST += %D%/plugin.map
# End of vol
