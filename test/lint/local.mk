# test/lint - what the sources must look like. Each lint is also tried on a planted violation.
lint_tests = \
	%D%/dist.t \
	%D%/docs.t \
	%D%/doors.t \
	%D%/headers.t \
	%D%/layers.t \
	%D%/sizes.t \
	%D%/symbols.t \
	%D%/text.t
TESTS += $(lint_tests)
EXTRA_DIST += $(lint_tests) %D%/lint.sh \
	%D%/docs.awk %D%/doors.awk %D%/doors.map %D%/guards.awk %D%/layers.awk %D%/layers.map \
	%D%/sizes.allow %D%/sizes.awk %D%/text.awk

# What the build knows, for lints that compile or look at what was built.
check_DATA = %D%/build.vars
CLEANFILES += %D%/build.vars
%D%/build.vars: Makefile
	$(AM_V_at)$(MKDIR_P) %D%
	$(AM_V_GEN){ echo "cc='$(CC)'"; \
	  echo "cflags='$(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)'"; \
	  echo "lib_cflags='$(ISAL_CFLAGS) $(JANSSON_CFLAGS) $(MPI_CFLAGS) $(HDF5_CFLAGS)'"; \
	  echo "mpi_kind='$(MPI_KIND)'"; \
	  echo "serial_hdf5='$(lint_serial_hdf5)'"; \
	  echo "libdir='$(libdir)'"; \
	  echo "programs='$(bin_PROGRAMS) $(bin_SCRIPTS)'"; \
	  echo "srcdir='$(srcdir)'"; \
	  echo "distfiles='$(DISTFILES)'"; } > $@.tmp && mv $@.tmp $@
lint_serial_hdf5 =
if !PARALLEL_HDF5
lint_serial_hdf5 += yes
endif
# End of test/lint
