# h5examples - small programs to copy from, built and run by make check.
EXTRA_DIST += %D%/demo.sh
exampledir = $(docdir)/examples
dist_example_DATA = \
	%D%/append.c %D%/checkpoint.c %D%/heat.c %D%/redset.c %D%/serial.c %D%/veloc_heat.c %D%/walk.py
check_PROGRAMS += h5examples/append
h5examples_append_SOURCES = %D%/append.c
h5examples_append_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
h5examples_append_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
check_PROGRAMS += h5examples/serial
h5examples_serial_SOURCES = %D%/serial.c
h5examples_serial_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
h5examples_serial_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
if HAVE_MPI
check_PROGRAMS += h5examples/checkpoint
h5examples_checkpoint_SOURCES = %D%/checkpoint.c
h5examples_checkpoint_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
h5examples_checkpoint_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
check_PROGRAMS += h5examples/heat
h5examples_heat_SOURCES = %D%/heat.c
h5examples_heat_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
h5examples_heat_LDADD = src/libveloc.la $(MPI_LIBS)
check_PROGRAMS += h5examples/redset
h5examples_redset_SOURCES = %D%/redset.c
h5examples_redset_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
h5examples_redset_LDADD = src/libveloc.la $(MPI_LIBS)
check_PROGRAMS += h5examples/veloc_heat
h5examples_veloc_heat_SOURCES = %D%/veloc_heat.c
h5examples_veloc_heat_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
h5examples_veloc_heat_LDADD = src/libveloc.la $(MPI_LIBS)
endif
# End of h5examples
