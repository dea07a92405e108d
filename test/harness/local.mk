# test/harness - tests of what tests are made with: the launcher, the TAP libraries, the
# virtual cluster's own promises are in test/cluster.
harness_tests = \
	%D%/mpirun.t \
	%D%/mtap.t \
	%D%/summary.t
TESTS += $(harness_tests)
EXTRA_DIST += $(harness_tests)
if HAVE_MPI
check_PROGRAMS += test/harness/planted
test_harness_planted_SOURCES = %D%/planted.c
test_harness_planted_CPPFLAGS = $(test_mpi_cppflags)
test_harness_planted_LDADD = $(test_mpi_ldadd)
endif
# End of test/harness
