# test/mpi, what yesterday's h5veloc has written: test/data/golden/README.
mpi_tests += test/mpi/golden.np4
test_mpi_golden_np4_SOURCES = %D%/golden.c
test_mpi_golden_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_golden_np4_LDADD = $(api_mpi_ldadd)

# make golden GOLDEN=FILE: new data by this build
golden: test/mpi/golden.np4 $(check_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) $(MPIRUN) 4 test/mpi/golden.np4 make "$(GOLDEN)"
# End of golden
